// Formats numbers and names, the same in every locale, as in the program's tables.

const minus = '−';

function grouped(digits: string): string {
  return digits.replace(/\B(?=(\d{3})+$)/g, ',');
}

/// Four significant digits; whole numbers in full.
export function short(value: number | null): string {
  if (value === null) return '–';
  const size = Math.abs(value);
  const sign = value < 0 ? minus : '';
  if (size === 0) return '0';
  if (Number.isInteger(size) && size < 1e9) return sign + grouped(String(size));
  if (size >= 1e6 || size < 1e-4) return sign + exponent(size.toExponential(2));
  if (size >= 1e4) return sign + grouped(String(Math.round(size)));
  return sign + String(Number(size.toPrecision(4)));
}

const exponent = (text: string): string => text.replace(/\.?0*e/, 'e').replace('e+', 'e');

/// A metric's value: two decimals for accuracies, four for losses, as in the program's tables.
export function metricNumber(metric: string, value: number | null): string {
  if (value === null) return '–';
  if (Math.abs(value) >= 1e4) return short(value);
  const decimals = metric.endsWith('accuracy') ? 2 : 4;
  return Math.abs(value) < 1e-3 && value !== 0 && decimals === 4 ? short(value) : value.toFixed(decimals).replace('-', minus);
}

export const rate = (lr: number | null): string => (lr === null ? '–' : exponent(String(lr)));

const metricNames: Record<string, string> = {
  eps_dominated: 'Weights whose scale is set by eps',
  grad_inf_norm: 'Largest gradient entry',
};

const parts: Record<string, string> = {train: 'Training', test: 'Test', validation: 'Validation'};

/// "Test loss" for "test_loss".
export function metricName(metric: string): string {
  const known = metricNames[metric];
  if (known) return known;
  const [first = '', ...rest] = metric.split('_');
  return [parts[first] ?? first, ...rest].join(' ');
}

export const plural = (count: number, one: string, many = `${one}s`): string => `${short(count)} ${count === 1 ? one : many}`;

/// "40 done, 2 diverged".
export function tally(statuses: string[]): string {
  const counts = new Map<string, number>();
  for (const status of statuses) counts.set(status, (counts.get(status) ?? 0) + 1);
  return [...counts].map(([status, count]) => `${count} ${status}`).join(', ');
}

/// "2026-11-16 08:00 UTC" for "2026-11-16T08:00:00Z"; other strings are kept.
export function moment(iso: string): string {
  const match = /^(\d{4}-\d\d-\d\d)T(\d\d:\d\d)(:\d\d)?(\.\d+)?Z$/.exec(iso);
  return match ? `${match[1]} ${match[2]} UTC` : iso;
}

export function clock(date: Date): string {
  return [date.getHours(), date.getMinutes(), date.getSeconds()].map((n) => String(n).padStart(2, '0')).join(':');
}
