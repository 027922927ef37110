// Turns the runs of one rate into the lines of a chart: one for each seed, and their smoothed mean.
import type {Run, Values} from './data';
import type {Axis} from './choices';

export interface Line {
  x: number[];
  y: Values;
}

interface Point {
  step: number;
  epoch: number | null;
  x: number;
  y: number | null;
}

const divergedOrFailed = (run: Run): boolean => run.status === 'diverged' || run.status === 'failed';

function pointsOf(run: Run, metric: string, axis: Axis): Point[] {
  const y = run.series.get(metric);
  const steps = run.series.get('step');
  if (!y || !steps) return [];
  const epochs = run.series.get('epoch');
  const along = axis === 'passes' ? steps.map((s) => (s === null || run.passesPerStep === null ? null : s * run.passesPerStep)) : run.series.get(axis);
  return steps.flatMap((step, i) => {
    const x = along?.[i] ?? null;
    return step === null || x === null ? [] : [{step, epoch: epochs?.[i] ?? null, x, y: y[i] ?? null}];
  });
}

const afterCut = (points: Point[], cutEpochs: number): Point[] => points.filter((p) => p.epoch === null || p.epoch > cutEpochs);

const toLine = (points: Point[]): Line => ({x: points.map((p) => p.x), y: points.map((p) => p.y)});

export function seedLines(runs: Run[], metric: string, axis: Axis, cutEpochs: number): Line[] {
  return runs.map((run) => toLine(afterCut(pointsOf(run, metric, axis), cutEpochs))).filter((line) => line.x.length > 0);
}

/// The mean over the runs that reached each step, exponentially smoothed from the first value shown (`weight` is that of
/// the new value). It ends where a run diverged or failed: a mean over the remaining runs would be too good.
export function meanLine(runs: Run[], metric: string, axis: Axis, cutEpochs: number, weight: number): Line {
  const all = runs.map((run) => ({run, points: pointsOf(run, metric, axis)}));
  const end = Math.min(...all.filter(({run}) => divergedOrFailed(run)).map(({points}) => points.at(-1)?.step ?? 0));
  const byStep = new Map<number, Point[]>();
  for (const {points} of all) {
    for (const point of points) {
      if (point.step > end) continue;
      const there = byStep.get(point.step);
      if (there) there.push(point);
      else byStep.set(point.step, [point]);
    }
  }
  const means = [...byStep.values()].map(meanPoint).sort((a, b) => a.step - b.step);
  return toLine(smooth(afterCut(means, cutEpochs), weight));
}

function meanPoint(points: Point[]): Point {
  const mean = (of: (point: Point) => number): number => points.reduce((sum, p) => sum + of(p), 0) / points.length;
  return {...points[0]!, x: mean((p) => p.x), y: points.some((p) => p.y === null) ? null : mean((p) => p.y!)};
}

function smooth(points: Point[], weight: number): Point[] {
  let level: number | null = null;
  return points.map((point) => {
    if (point.y === null) return point;
    level = level === null ? point.y : level + weight * (point.y - level);
    return {...point, y: level};
  });
}

/// The smallest and largest value; of 500 or more values, without the outermost 1 % at either end.
export function bulk(values: number[]): [number, number] | null {
  if (values.length === 0) return null;
  const sorted = Float64Array.from(values).sort();
  const skip = sorted.length < 500 ? 0 : Math.floor(sorted.length / 100);
  return [sorted[skip]!, sorted[sorted.length - 1 - skip]!];
}

/// The values of a line whose x is within [min, max].
export function within(line: Line, min: number, max: number): number[] {
  return line.y.filter((y, i): y is number => y !== null && line.x[i]! >= min && line.x[i]! <= max);
}
