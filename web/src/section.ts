// One section: summary, charts, stability, tables and runs of a task. It is updated in place, so that a live page keeps
// focus, zoom and open folds.
import {blockElement} from './blocks';
import {Choices} from './choices';
import type {Color} from './colors';
import {curveControls, curveControlsKey, legend, legendKey, rateControls, showStates} from './controls';
import {diagnosticsOf, drawCurves, metricsOf} from './curves';
import type {Section} from './data';
import {el, fill, keyed} from './dom';
import {metricName, plural} from './format';
import {Plot} from './plot';
import {drawRates, hasDiverged, hasPaper, hasRates} from './rates';
import {RunList} from './runs';
import {hasStability, stabilityKey, stabilityTable} from './stability';

/// A part with a heading, hidden while it is empty.
class Part {
  readonly body = el('div', {class: 'part-body'});
  readonly note = el('p', {class: 'note'});
  readonly element: HTMLElement;

  constructor(readonly id: string, readonly title: string) {
    this.element = el('section', {class: 'part', id, 'aria-labelledby': `${id}-title`, hidden: true},
      el('h3', {id: `${id}-title`}, title), this.note, this.body);
  }

  show(visible: boolean, note: string): void {
    this.element.hidden = !visible;
    this.note.textContent = note;
    this.note.hidden = note === '';
  }
}

interface Figure {
  element: HTMLElement;
  plot: Plot;
}

export class SectionView {
  readonly element: HTMLElement;
  private readonly choices = new Choices();
  private readonly title = el('h2');
  private readonly summary = el('div', {class: 'summary'});
  private readonly legend = el('div', {class: 'legend', role: 'group', 'aria-label': 'Optimizers in the charts'});
  private readonly curves: Part;
  private readonly rates: Part;
  private readonly stability: Part;
  private readonly diagnostics: Part;
  private readonly tables: Part;
  private readonly runs: Part;
  private readonly curveControls = el('div', {class: 'controls'});
  private readonly rateControls = el('div', {class: 'controls'});
  private readonly figures = new Map<string, Figure>();
  private readonly diagnosticFigures = new Map<string, Figure>();
  private readonly rateFigures = new Map<string, Figure>();
  private readonly curveGrid = el('div', {class: 'charts'});
  private readonly diagnosticGrid = el('div', {class: 'charts'});
  private readonly rateGrid = el('div', {class: 'charts wide'});
  private readonly list = new RunList();

  constructor(private section: Section, private colors: Map<string, Color>) {
    const id = section.id;
    this.curves = new Part(`${id}-curves`, 'Curves');
    this.rates = new Part(`${id}-rates`, 'Learning rates');
    this.stability = new Part(`${id}-stability`, 'Stability');
    this.diagnostics = new Part(`${id}-diagnostics`, 'Diagnostics');
    this.tables = new Part(`${id}-tables`, 'Tables');
    this.runs = new Part(`${id}-runs`, 'Runs');
    this.curves.body.append(this.curveControls, this.curveGrid);
    this.rates.body.append(this.rateControls, this.rateGrid);
    this.diagnostics.body.append(this.diagnosticGrid);
    this.runs.body.append(this.list.element);
    const charts = el('div', {class: 'with-legend'},
      this.legend, this.curves.element, this.rates.element, this.diagnostics.element);
    this.element = el('section', {class: 'study', id, 'aria-labelledby': `${id}-title`},
      this.title, this.summary, charts, this.stability.element, this.tables.element, this.runs.element);
    this.title.id = `${id}-title`;
    this.choices.onChange(() => this.redraw());
  }

  /// The visible parts, for the table of contents.
  parts(): {id: string; title: string}[] {
    return [this.curves, this.rates, this.diagnostics, this.stability, this.tables, this.runs].filter((part) => !part.element.hidden);
  }

  update(section: Section, colors: Map<string, Color>): void {
    this.section = section;
    this.colors = colors;
    const {choices} = this;
    const metrics = metricsOf(section);
    const diagnostics = diagnosticsOf(section);
    fill(this.title, section.title, () => [section.title]);
    fill(this.summary, [section.summary, [...colors]], () => section.summary.map((block) => blockElement(block, 3, colors)));
    fill(this.legend, [legendKey(section), [...colors]], () => legend(section, choices, colors));
    this.legend.hidden = section.optimizers.length === 0 || metrics.length + diagnostics.length === 0;

    fill(this.curveControls, curveControlsKey(section), () => curveControls(section, choices));
    this.figuresFor(this.curveGrid, this.figures, metrics);
    this.curves.show(metrics.length > 0, curvesNote(section));

    fill(this.rateControls, section.selectedBy, () => rateControls(section, choices));
    this.figuresFor(this.rateGrid, this.rateFigures, hasRates(section) ? [section.selectedBy] : []);
    this.rates.show(hasRates(section), ratesNote(section));

    this.figuresFor(this.diagnosticGrid, this.diagnosticFigures, diagnostics);
    this.diagnostics.show(diagnostics.length > 0, 'Where eps sets the scale of most weights, an optimizer is little more than momentum.');

    const stable = hasStability(section);
    fill(this.stability.body, [stable, stabilityKey(section), [...colors]], () => (stable ? [stabilityTable(section, colors)] : []));
    this.stability.show(stable, 'FAILED: a run diverged. NOISY: a gradient had an entry above 10. STABLE: neither. max: the largest entry. ' +
      'spikes: evaluations / steps with an entry above 10, mean over seeds. Framed: the picked rate.');

    fill(this.tables.body, [section.blocks, [...colors]], () => section.blocks.map((block) => blockElement(block, 4, colors)));
    this.tables.show(section.blocks.length > 0, '');

    this.list.update(section, colors);
    this.runs.show(section.runs.length > 0, '');
    this.redraw();
  }

  private figuresFor(parent: HTMLElement, figures: Map<string, Figure>, metrics: string[]): void {
    const isRates = figures === this.rateFigures;
    for (const [metric, {plot}] of figures) if (!metrics.includes(metric)) plot.dispose();
    keyed(parent, figures, metrics, (metric) => metric, (metric) => {
      const draw = isRates
        ? () => drawRates(this.section, this.choices, this.colors)
        : () => drawCurves(this.section, this.choices, this.colors, metric);
      const plot = new Plot(draw, isRates);
      const unit = metric.endsWith('accuracy') ? ' (%)' : '';
      return {plot, element: el('figure', {'data-metric': metric}, el('figcaption', {}, metricName(metric) + unit), plot.element)};
    }, () => {});
  }

  private redraw(): void {
    showStates(this.element);
    for (const figures of [this.figures, this.rateFigures, this.diagnosticFigures]) {
      for (const {plot} of figures.values()) plot.refresh();
    }
  }
}

function curvesNote(section: Section): string {
  const smoothing = section.smoothing < 1 ? `, smoothed (weight ${section.smoothing} for the new value)` : '';
  const cut = section.cutEpochs > 0 ? ` Without the first ${plural(section.cutEpochs, 'epoch')}.` : '';
  return `Bold: mean over seeds at the picked rate${smoothing}; faded: single seeds.${cut}`;
}

function ratesNote(section: Section): string {
  const window = section.window ? ` over the last ${plural(section.window, 'evaluation')}` : '';
  const edge = section.largerIsBetter ? 'lower' : 'upper';
  return `${metricName(section.selectedBy)}${window}, mean over seeds, with a band of ±2 std; the score is the band’s ${edge} edge. Large dot: picked.` +
    (hasPaper(section) ? ' Diamonds: the paper.' : '') + (hasDiverged(section) ? ' Crosses at the edge: diverged.' : '');
}
