// The selection metric against the learning rate: its mean with a band of ±2 std, and the paper's values.
import {mainRate, type Choices} from './choices';
import type {Color} from './colors';
import type {Optimizer, Rate, Section} from './data';
import {metricName, metricNumber, rate} from './format';
import type {Layer} from './paint';
import type {Drawing, TooltipLine} from './plot';
import {isDark} from './theme';
import {linearTicks, logTicks, tickLabels} from './ticks';

interface Shown {
  optimizer: Optimizer;
  color: string;
}

const ratesOf = (optimizers: Optimizer[]): number[] =>
  [...new Set(optimizers.flatMap(({rates}) => rates.map(({lr}) => lr)))].filter((lr) => lr > 0).sort((a, b) => a - b);

/// Whether there is a chart: at least two rates, and a value at one of them.
export const hasRates = (section: Section): boolean =>
  ratesOf(section.optimizers).length > 1 && section.optimizers.some(({rates}) => rates.some(({mean}) => mean !== null));

export const hasPaper = (section: Section): boolean => section.optimizers.some(({rates}) => rates.some(({paper}) => paper));

const diverged = (rate: Rate): boolean => rate.mean === null && rate.diverged > 0;

export const hasDiverged = (section: Section): boolean => section.optimizers.some(({rates}) => rates.some(diverged));

function layersOf(shown: Shown[], largerIsBetter: boolean): Layer[] {
  const bands = shown.map(({optimizer: {rates}, color}): Layer => ({
    kind: 'band',
    x: rates.map(({lr}) => lr),
    low: rates.map(({mean, twoStd}) => (mean === null ? null : mean - (twoStd ?? 0))),
    high: rates.map(({mean, twoStd}) => (mean === null ? null : mean + (twoStd ?? 0))),
    color,
  }));
  const lines = shown.map(({optimizer: {rates}, color}): Layer =>
    ({kind: 'line', x: rates.map(({lr}) => lr), y: rates.map(({mean}) => mean), color, alpha: 1, width: 2}));
  const marks = shown.flatMap(({optimizer, color}) => {
    const picked = mainRate(optimizer);
    return optimizer.rates.flatMap((r): Layer[] => [
      ...(r.paper ? [{kind: 'mark', shape: 'diamond', x: r.lr, y: r.paper.mean, color, size: 6, spread: r.paper.twoStd} as const] : []),
      ...(r.mean !== null ? [{kind: 'mark', shape: 'dot', x: r.lr, y: r.mean, color, size: r === picked ? 5 : 2.5} as const] : []),
    ]);
  });
  return [...bands, ...lines, ...marks, ...crosses(shown, largerIsBetter)];
}

// At the edge on the worse side; crosses of the same rate are stacked.
function crosses(shown: Shown[], largerIsBetter: boolean): Layer[] {
  const taken = new Map<number, number>();
  const edge = largerIsBetter ? 'bottom' : 'top';
  return shown.flatMap(({optimizer: {rates}, color}) => rates.filter(diverged).map(({lr}): Layer => {
    const row = taken.get(lr) ?? 0;
    taken.set(lr, row + 1);
    return {kind: 'mark', shape: 'cross', x: lr, y: {edge, row}, color, size: 4};
  }));
}

// The best 60 % of the values; much worse ones would flatten the rest.
function nearBest(values: number[], largerIsBetter: boolean): number[] {
  const sorted = [...values].sort((a, b) => (largerIsBetter ? b - a : a - b));
  return sorted.slice(0, Math.max(2, Math.ceil(sorted.length * 0.6)));
}

function yRange(shown: Shown[], section: Section, best: boolean, log: boolean): [number, number] {
  const rates = shown.flatMap(({optimizer}) => optimizer.rates);
  const means = rates.flatMap(({mean, paper}) => [mean, paper?.mean ?? null]).filter((v): v is number => v !== null && (!log || v > 0));
  const edges = best ? [] : rates.flatMap(({mean, twoStd}) => (mean === null ? [] : [mean - (twoStd ?? 0), mean + (twoStd ?? 0)]));
  const values = (best ? nearBest(means, section.largerIsBetter) : [...means, ...edges]).filter((v) => !log || v > 0);
  if (values.length === 0) return log ? [0.1, 1] : [0, 1];
  const low = Math.min(...values);
  const high = Math.max(...values);
  if (log) return [low / 1.05, high * 1.05];
  const pad = (high - low) * 0.08 || Math.abs(high) * 0.05 || 0.05;
  return [low - pad, section.selectedBy.endsWith('accuracy') ? Math.min(high + pad, 100.5) : high + pad];
}

// All rates if there is room, else the powers of ten.
function rateLabels(ticks: number[], width: number): string[] {
  const crowded = ticks.length * 48 > width;
  return ticks.map((tick) => (crowded && !Number.isInteger(Number(Math.log10(tick).toFixed(9))) ? '' : rate(tick)));
}

function text(metric: string, r: Rate): string {
  const spread = (mean: number, twoStd: number | null): string =>
    metricNumber(metric, mean) + (twoStd === null ? '' : ` ± ${metricNumber(metric, twoStd)}`);
  const ours = r.mean !== null ? spread(r.mean, r.twoStd) : diverged(r) ? 'diverged' : '–';
  return r.paper ? `${ours} (paper ${spread(r.paper.mean, r.paper.twoStd)})` : ours;
}

export function drawRates(section: Section, choices: Choices, colors: Map<string, Color>): Drawing {
  const metric = section.selectedBy;
  const log = choices.rateLog && metric.endsWith('_loss');
  const shown = section.optimizers
    .filter(({name}) => !choices.hidden.has(name))
    .map((optimizer) => ({optimizer, color: colors.get(optimizer.name)![isDark() ? 'dark' : 'light']}));
  const rates = ratesOf(section.optimizers);
  const zoom = typeof choices.rateZoom === 'object' ? choices.rateZoom : null;
  const [xMin, xMax] = zoom?.x ?? [(rates[0] ?? 1) / 1.4, (rates.at(-1) ?? 1) * 1.4];
  const [yMin, yMax] = zoom?.y ?? yRange(shown, section, choices.rateZoom === 'best', log);
  return {
    x: {log: true, min: xMin, max: xMax, label: 'learning rate', ticks: (min, max) => rates.filter((r) => r >= min && r <= max), labels: rateLabels},
    y: {log, min: yMin, max: yMax, label: '', ticks: log ? logTicks : linearTicks, labels: tickLabels},
    layers: layersOf(shown, section.largerIsBetter),
    tooltip: shown.map(({optimizer, color}): TooltipLine => ({
      label: optimizer.name,
      color,
      x: optimizer.rates.map(({lr}) => lr),
      // Diverged rates are in the tooltip, too.
      y: optimizer.rates.map((r) => r.mean ?? (diverged(r) ? (section.largerIsBetter ? -Infinity : Infinity) : null)),
      text: (i) => text(metric, optimizer.rates[i]!),
    })),
    largestFirst: section.largerIsBetter,
    at: (x) => `rate ${rate(x)}`,
    description: `${metricName(metric)} against learning rate. ` + shown.map(({optimizer}) => bestOf(optimizer, metric)).join('; '),
    empty: shown.length > 0 ? '' : 'All optimizers are hidden.',
    onSelect: (x, y) => choices.change((c) => (c.rateZoom = {x, y})),
    onReset: () => choices.change((c) => (c.rateZoom = null)),
  };
}

function bestOf(optimizer: Optimizer, metric: string): string {
  const picked = mainRate(optimizer);
  return picked ? `${optimizer.name} at ${rate(picked.lr)}: ${text(metric, picked)}` : `${optimizer.name} has no rates`;
}
