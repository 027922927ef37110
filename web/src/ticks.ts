// The ticks of an axis and their labels.

/// About `count` round numbers from min to max.
export function linearTicks(min: number, max: number, count: number): number[] {
  const rough = (max - min) / Math.max(1, count);
  if (!(rough > 0)) return [min];
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = power * ([1, 2, 5, 10].find((m) => m * power >= rough) ?? 10);
  const ticks: number[] = [];
  for (let i = Math.ceil(min / step - 1e-9); i * step <= max + step * 1e-9; ++i) ticks.push(Number((i * step).toPrecision(12)));
  return ticks;
}

/// Powers of ten, with 2 and 5 times them if there is room; linear ticks below one decade.
export function logTicks(min: number, max: number, count: number): number[] {
  const decades = Math.log10(max / min);
  if (decades < 1) return linearTicks(min, max, count).filter((tick) => tick > 0);
  const stride = Math.ceil(decades / Math.max(1, count));
  const factors = decades * 3 <= count ? [1, 2, 5] : [1];
  const ticks: number[] = [];
  for (let power = Math.floor(Math.log10(min)); power <= Math.ceil(Math.log10(max)); ++power) {
    if (power % stride !== 0) continue;
    for (const factor of factors) {
      const tick = Number((factor * 10 ** power).toPrecision(12));
      if (tick >= min && tick <= max) ticks.push(tick);
    }
  }
  return ticks;
}

/// Evenly spaced ticks get the same number of decimals.
export function tickLabels(ticks: number[]): string[] {
  const gaps = ticks.slice(1).map((tick, i) => tick - ticks[i]!);
  const even = gaps.every((gap) => Math.abs(gap - gaps[0]!) < Math.abs(gap) * 1e-6);
  const decimals = Math.max(0, ...ticks.map((tick) => String(tick).split('.')[1]?.length ?? 0));
  return ticks.map((tick) => {
    if (Math.abs(tick) >= 1e7 || (tick !== 0 && Math.abs(tick) < 1e-4)) return exponential(tick);
    if (Math.abs(tick) >= 1e4) return `${Number((tick / 1000).toPrecision(6))}k`;
    return (even ? tick.toFixed(Math.min(decimals, 8)) : String(tick)).replace('-', '−');
  });
}

const exponential = (value: number): string => value.toExponential(1).replace('.0e', 'e').replace('e+', 'e').replace('-', '−');
