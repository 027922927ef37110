// A chart: uPlot does axes, zoom and pointer, paint.ts the contents. It is drawn when it first comes near the window, and
// follows the width of its container.
import uPlot from 'uplot';
import {el} from './dom';
import {paint, type Layer} from './paint';
import {onThemeChange} from './theme';

export interface Scale {
  log: boolean;
  min: number;
  max: number;
  label: string;
  ticks: (min: number, max: number, count: number) => number[];
  labels: (ticks: number[], width: number) => string[];
}

/// A line in the tooltip, which shows `text(i)` for the point nearest to the pointer.
export interface TooltipLine {
  label: string;
  color: string;
  x: number[];
  y: (number | null)[];
  text: (index: number) => string;
}

export interface Drawing {
  x: Scale;
  y: Scale;
  layers: Layer[];
  tooltip: TooltipLine[];
  largestFirst: boolean;
  at: (x: number) => string;  // the tooltip's first line
  description: string;        // for screen readers
  empty: string;              // shown instead of the chart; "" if there is something to draw
  onSelect: (x: [number, number], y: [number, number]) => void;
  onReset: () => void;
}

const height = 290;
const paperWidth = 660;
const all = new Set<Plot>();
const near = new IntersectionObserver(
  (entries) => {
    for (const entry of entries) if (entry.isIntersecting) byElement.get(entry.target)?.appear();
  },
  {rootMargin: '600px 0px'},
);
const widths = new ResizeObserver((entries) => {
  for (const entry of entries) byElement.get(entry.target)?.resize();
});
const byElement = new WeakMap<Element, Plot>();

onThemeChange(() => all.forEach((plot) => plot.refresh()));

/// Draws all charts, also those not yet seen, at the width of a printed page.
export function drawForPaper(onPaper: boolean): void {
  for (const plot of all) plot.print(onPaper);
}

export class Plot {
  readonly element = el('div', {class: 'plot'});
  private readonly tip = el('div', {class: 'tip', hidden: true});
  private readonly notice = el('p', {class: 'nothing', hidden: true});
  private readonly canvas = el('div', {class: 'canvas', role: 'img'});
  private chart: uPlot | null = null;
  private drawing: Drawing | null = null;
  private seen = false;
  private onPaper = false;

  /// Calls `draw` at each refresh. With `keepY`, dragging zooms the y axis, too.
  constructor(private readonly draw: () => Drawing, private readonly keepY: boolean) {
    this.element.append(this.canvas, this.notice, this.tip);
    all.add(this);
    byElement.set(this.element, this);
    near.observe(this.element);
    widths.observe(this.element);
  }

  dispose(): void {
    all.delete(this);
    near.unobserve(this.element);
    widths.unobserve(this.element);
    this.chart?.destroy();
  }

  appear(): void {
    if (this.seen) return;
    this.seen = true;
    near.unobserve(this.element);
    this.refresh();
  }

  refresh(): void {
    if (!this.seen) return;
    const before = this.drawing;
    const drawing = (this.drawing = this.draw());
    this.notice.hidden = drawing.empty === '';
    this.notice.textContent = drawing.empty;
    this.canvas.setAttribute('aria-label', drawing.description);
    if (this.chart && before?.x.log === drawing.x.log && before.y.log === drawing.y.log) {
      this.chart.setData(this.frame());
    } else {
      this.chart?.destroy();
      this.chart = new uPlot(this.options(), this.frame(), this.canvas);
    }
  }

  resize(): void {
    const width = this.width();
    if (this.chart && width > 0 && width !== this.chart.width) this.chart.setSize({width, height});
  }

  print(onPaper: boolean): void {
    this.onPaper = onPaper;
    this.appear();
    this.resize();
  }

  private width(): number {
    return this.onPaper ? paperWidth : this.element.clientWidth;
  }

  // uPlot gets two points without values; the ranges and lines come from the drawing.
  private frame(): uPlot.AlignedData {
    return [[this.drawing!.x.min, this.drawing!.x.max], [null, null]];
  }

  private options(): uPlot.Options {
    const scale = (key: 'x' | 'y'): uPlot.Scale => ({
      time: false,
      distr: this.drawing![key].log ? 3 : 1,
      range: () => [this.drawing![key].min, this.drawing![key].max],
    });
    return {
      width: Math.max(1, this.width()),
      height,
      padding: [10, 14, 0, 0],
      legend: {show: false},
      scales: {x: scale('x'), y: scale('y')},
      series: [{}, {scale: 'y', show: true, paths: () => null, points: {show: false}}],
      axes: [this.axis('x'), this.axis('y')],
      cursor: {
        y: false,
        points: {show: false},
        drag: {x: true, y: this.keepY, uni: this.keepY ? 30 : undefined, setScale: false},
        bind: {dblclick: () => () => {
          this.drawing!.onReset();
          return null;
        }},
      },
      hooks: {
        draw: [(plot) => paint(plot, this.drawing!.layers)],
        setSelect: [(plot) => this.select(plot)],
        setCursor: [(plot) => this.point(plot)],
      },
    };
  }

  private axis(key: 'x' | 'y'): uPlot.Axis {
    const style = (): CSSStyleDeclaration => getComputedStyle(this.canvas);
    const room = key === 'x' ? 64 : 32;
    const font = `12px ${style().fontFamily}`;
    const grid = {stroke: () => style().borderTopColor, width: 1};
    return {
      scale: key,
      font,
      labelFont: font,
      label: key === 'x' ? () => this.drawing!.x.label : undefined,
      labelSize: 20,
      labelGap: 2,
      gap: 6,
      size: key === 'x' ? 30 : (plot, values) => yAxisSize(plot, values ?? []),
      stroke: () => style().color,
      grid: key === 'x' ? {show: false} : grid,
      ticks: {...grid, size: 5},
      space: 1,
      splits: (plot, _axis, min, max) => {
        const length = (key === 'x' ? plot.bbox.width : plot.bbox.height) / devicePixelRatio;
        return this.drawing![key].ticks(min, max, Math.max(2, Math.floor(length / room)));
      },
      filter: (_plot, splits) => splits,
      values: (plot, splits) => this.drawing![key].labels(splits, plot.bbox.width / devicePixelRatio),
    };
  }

  private select(plot: uPlot): void {
    const {left, top, width, height: tall} = plot.select;
    if (width <= 0 && tall <= 0) return;
    const x: [number, number] = [plot.posToVal(left, 'x'), plot.posToVal(left + width, 'x')];
    const y: [number, number] = [plot.posToVal(top + tall, 'y'), plot.posToVal(top, 'y')];
    plot.setSelect({left: 0, top: 0, width: 0, height: 0}, false);
    this.drawing!.onSelect(x, y);
  }

  private point(plot: uPlot): void {
    const {left = -1} = plot.cursor;
    this.tip.hidden = left < 0 || this.drawing!.empty !== '';
    if (this.tip.hidden) return;
    const rows = this.drawing!.tooltip.flatMap((line) => {
      const i = nearest(plot, line, left);
      return i === null ? [] : [{line, i, value: line.y[i] ?? null}];
    });
    const sign = this.drawing!.largestFirst ? -1 : 1;
    rows.sort((a, b) => sign * ((a.value ?? sign * Infinity) - (b.value ?? sign * Infinity)));
    this.tip.hidden = rows.length === 0;
    if (this.tip.hidden) return;
    this.tip.replaceChildren(
      el('div', {class: 'tip-at'}, this.drawing!.at(rows[0]!.line.x[rows[0]!.i]!)),
      ...rows.map(({line, i}) => {
        const swatch = el('span', {class: 'swatch'});
        swatch.style.background = line.color;
        return el('div', {class: 'tip-row'}, swatch, el('span', {}, line.label), el('span', {class: 'number'}, line.text(i)));
      }),
    );
    const inside = plot.over.offsetLeft + left;
    const toTheLeft = inside + this.tip.offsetWidth + 20 > this.element.clientWidth;
    this.tip.style.left = `${Math.max(0, toTheLeft ? inside - this.tip.offsetWidth - 14 : inside + 14)}px`;
  }
}

// The index of the value nearest to the pointer, or null if none is near.
function nearest(plot: uPlot, line: TooltipLine, left: number): number | null {
  let best: number | null = null;
  let distance = Math.max(24, plot.over.clientWidth / 20);
  for (let i = 0; i < line.x.length; ++i) {
    if (line.y[i] == null) continue;
    const away = Math.abs(plot.valToPos(line.x[i]!, 'x') - left);
    if (away < distance) [best, distance] = [i, away];
  }
  return best;
}

function yAxisSize(plot: uPlot, values: string[]): number {
  const longest = values.reduce((a, b) => (b.length > a.length ? b : a), '');
  plot.ctx.font = plot.axes[1]!.font![0] as string;
  return Math.ceil(plot.ctx.measureText(longest).width / devicePixelRatio) + 14;
}
