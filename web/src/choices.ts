// The reader's choices for a section. They are kept when a live page gets new data.
import type {Optimizer, Rate, Section} from './data';

export type Axis = 'step' | 'epoch' | 'seconds' | 'passes';
export type Zoom = {min: number; max: number} | 'last tenth' | null;
export type Box = {x: [number, number]; y: [number, number]} | 'best' | null;

/// One rate, all rates, or the picked one.
export type RateChoice = number | 'all' | 'picked';

export class Choices {
  axis: Axis | null = null;  // null: chosen by axisOf()
  log = false;
  uncut = false;
  raw = true;
  zoom: Zoom = null;
  rateLog = false;
  rateZoom: Box = null;
  readonly hidden = new Set<string>();
  readonly rates = new Map<string, RateChoice>();
  private readonly listeners: (() => void)[] = [];

  onChange(listener: () => void): void {
    this.listeners.push(listener);
  }

  change(edit: (choices: this) => void): void {
    edit(this);
    for (const listener of this.listeners) listener();
  }
}

/// The axes for which the section has values.
export function axesOf(section: Section): Axis[] {
  const has = (name: string): boolean => section.runs.some((run) => run.series.get(name)?.some((v) => v !== null));
  const axes: Axis[] = has('step') ? ['step'] : [];
  if (has('epoch')) axes.push('epoch');
  if (has('seconds')) axes.push('seconds');
  if (section.runs.some((run) => run.passesPerStep !== null && run.series.has('step'))) axes.push('passes');
  return axes;
}

export function axisOf(section: Section, choices: Choices): Axis {
  const axes = axesOf(section);
  if (choices.axis && axes.includes(choices.axis)) return choices.axis;
  return axes.includes('epoch') ? 'epoch' : 'step';
}

/// The optimizer's picked rate; if there is none yet, the rate with the most evaluations.
export function mainRate(optimizer: Optimizer): Rate | null {
  if (optimizer.picked !== null) return optimizer.rates[optimizer.picked] ?? null;
  const evaluations = (rate: Rate): number => rate.runs.reduce((sum, run) => sum + (run.series.get('step')?.length ?? 0), 0);
  return optimizer.rates.reduce<Rate | null>((best, rate) => (best && evaluations(best) >= evaluations(rate) ? best : rate), null);
}

export function chosenRates(optimizer: Optimizer, choices: Choices): Rate[] {
  const choice = choices.rates.get(optimizer.name) ?? 'picked';
  if (choice === 'all') return optimizer.rates;
  const rate = choice === 'picked' ? mainRate(optimizer) : optimizer.rates.find((r) => r.lr === choice);
  return rate ? [rate] : [];
}
