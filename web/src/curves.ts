// A metric during training: for each optimizer the smoothed mean over seeds, and the single seeds, faded.
import {axisOf, chosenRates, mainRate, type Axis, type Choices} from './choices';
import type {Color} from './colors';
import type {Section} from './data';
import {metricName, metricNumber, rate, short} from './format';
import type {Layer} from './paint';
import type {Drawing, TooltipLine} from './plot';
import {bulk, meanLine, seedLines, within, type Line} from './series';
import {isDark} from './theme';
import {linearTicks, logTicks, tickLabels} from './ticks';

interface Curve {
  name: string;
  lr: number;
  color: string;
  mean: Line;
  seeds: Line[];
  main: boolean;
}

const order = ['train_loss', 'train_accuracy', 'validation_loss', 'validation_accuracy', 'test_loss', 'test_accuracy'];
const rank = (metric: string): number => (order.indexOf(metric) + 1 || order.length + 1);

const hasValues = (section: Section, metric: string): boolean =>
  section.runs.some((run) => run.series.get(metric)?.some((value) => value !== null));

/// The losses and accuracies that at least one run has.
export function metricsOf(section: Section): string[] {
  const names = new Set(section.runs.flatMap((run) => [...run.series.keys()]));
  return [...names].filter((name) => /_(loss|accuracy)$/.test(name) && hasValues(section, name)).sort((a, b) => rank(a) - rank(b));
}

export const diagnosticsOf = (section: Section): string[] =>
  ['eps_dominated', 'grad_inf_norm'].filter((name) => hasValues(section, name));

export const axisNames: Record<Axis, string> = {
  step: 'steps',
  epoch: 'epochs',
  seconds: 'seconds',
  passes: 'passes (forward and backward)',
};

const describe: Record<Axis, (x: string) => string> = {
  step: (x) => `step ${x}`,
  epoch: (x) => `epoch ${x}`,
  seconds: (x) => `${x} s`,
  passes: (x) => `${x} passes`,
};

/// Whether cutting the first epochs would leave no evaluation. If so, none are cut.
export const cutsAll = (section: Section): boolean =>
  !section.runs.some((run) => (run.series.get('epoch') ?? []).some((epoch) => epoch !== null && epoch > section.cutEpochs));

function curvesOf(section: Section, choices: Choices, colors: Map<string, Color>, metric: string): Curve[] {
  const axis = axisOf(section, choices);
  const cut = choices.uncut || cutsAll(section) ? -Infinity : section.cutEpochs;
  const dark = isDark();
  return section.optimizers.flatMap((optimizer) => {
    if (choices.hidden.has(optimizer.name)) return [];
    const color = colors.get(optimizer.name)![dark ? 'dark' : 'light'];
    const rates = chosenRates(optimizer, choices);
    return rates.map(({lr, runs}) => ({
      name: optimizer.name,
      lr,
      color,
      mean: meanLine(runs, metric, axis, cut, section.smoothing),
      seeds: choices.raw && rates.length === 1 ? seedLines(runs, metric, axis, cut) : [],
      main: rates.length === 1 || lr === mainRate(optimizer)?.lr,
    }));
  }).filter((curve) => curve.mean.x.length > 0);
}

function xRange(curves: Curve[], choices: Choices): [number, number] {
  if (choices.zoom && choices.zoom !== 'last tenth') return [choices.zoom.min, choices.zoom.max];
  const xs = curves.flatMap((curve) => [curve.mean, ...curve.seeds].flatMap(({x}) => [x[0]!, x.at(-1)!]));
  if (xs.length === 0) return [0, 1];
  const min = Math.min(...xs);
  const max = Math.max(...xs);
  if (min === max) return [min - 1, max + 1];
  return choices.zoom === 'last tenth' ? [max - (max - min) / 10, max] : [min, max];
}

function yRange(curves: Curve[], [min, max]: [number, number], log: boolean): [number, number] {
  const usable = (values: number[]): number[] => (log ? values.filter((v) => v > 0) : values);
  const means = usable(curves.flatMap((curve) => within(curve.mean, min, max)));
  const seeds = bulk(usable(curves.flatMap((curve) => curve.seeds.flatMap((line) => within(line, min, max)))));
  const values = [...(bulk(means) ?? []), ...(seeds ?? [])];
  if (values.length === 0) return log ? [0.1, 1] : [0, 1];
  const low = Math.min(...values);
  const high = Math.max(...values);
  if (log) {
    const pad = Math.max(1.02, (high / low) ** 0.05);
    return [low / pad, high * pad];
  }
  const pad = (high - low) * 0.05 || Math.abs(high) * 0.05 || 0.05;
  return [low - pad, high + pad];
}

function layersOf(curves: Curve[]): Layer[] {
  const seeds = curves.flatMap(({seeds, color}) => seeds.map((line): Layer => ({kind: 'line', ...line, color, alpha: 0.25, width: 1})));
  const means = curves.map(({mean, color, main}): Layer =>
    ({kind: 'line', ...mean, color, alpha: main ? 1 : 0.55, width: main ? 2.25 : 1.25, dash: main ? [] : [5, 3]}));
  return [...seeds, ...means];
}

function valueOf(metric: string, value: number | null): string {
  if (metric === 'eps_dominated') return value === null ? '–' : `${(100 * value).toFixed(1)} %`;
  return metric === 'grad_inf_norm' ? short(value) : metricNumber(metric, value);
}

export function drawCurves(section: Section, choices: Choices, colors: Map<string, Color>, metric: string): Drawing {
  const axis = axisOf(section, choices);
  const curves = curvesOf(section, choices, colors, metric);
  const log = metric === 'grad_inf_norm' || (choices.log && metric.endsWith('_loss'));
  const [xMin, xMax] = xRange(curves, choices);
  const [yMin, yMax] = yRange(curves, [xMin, xMax], log);
  const ends = curves.map(({name, lr, mean}) => `${name} at rate ${rate(lr)} ends at ${valueOf(metric, mean.y.findLast((y) => y !== null) ?? null)}`);
  const percent = metric === 'eps_dominated';
  return {
    x: {log: false, min: xMin, max: xMax, label: axisNames[axis], ticks: linearTicks, labels: tickLabels},
    y: {
      log,
      min: yMin,
      max: yMax,
      label: '',
      ticks: log ? logTicks : linearTicks,
      labels: (ticks) => (percent ? tickLabels(ticks.map((t) => 100 * t)).map((t) => `${t} %`) : tickLabels(ticks)),
    },
    layers: layersOf(curves),
    tooltip: curves.map(({name, lr, color, mean}): TooltipLine => ({
      label: `${name} · ${rate(lr)}`,
      color,
      ...mean,
      text: (i) => valueOf(metric, mean.y[i] ?? null),
    })),
    largestFirst: metric.endsWith('accuracy'),
    at: (x) => describe[axis](short(x)),
    description: `${metricName(metric)} by ${axis}. ${ends.join('; ')}`,
    empty: curves.length > 0 ? '' : 'Nothing to draw: there are no evaluations, or all optimizers are hidden.',
    onSelect: ([min, max]) => choices.change((c) => (c.zoom = {min, max})),
    onReset: () => choices.change((c) => (c.zoom = null)),
  };
}
