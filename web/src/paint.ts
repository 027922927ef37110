// Paints the contents of a chart: lines, bands and marks, in the units of its axes.
import type uPlot from 'uplot';
import type {Values} from './data';

export type Layer =
  | {kind: 'line'; x: number[]; y: Values; color: string; alpha: number; width: number; dash?: number[]}
  | {kind: 'band'; x: number[]; low: Values; high: Values; color: string}
  | {kind: 'mark'; shape: Shape; x: number; y: number | Edge; color: string; size: number; spread?: number | null};

/// At an edge of the chart, with room for `row` other marks between.
export interface Edge {
  edge: 'top' | 'bottom';
  row: number;
}

export type Shape = 'dot' | 'ring' | 'diamond' | 'cross';

export function paint(plot: uPlot, layers: Layer[]): void {
  const {ctx, bbox} = plot;
  const unit = devicePixelRatio;
  ctx.save();
  ctx.beginPath();
  ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
  ctx.clip();
  ctx.lineJoin = 'round';
  for (const layer of layers) {
    if (layer.kind === 'line') line(plot, layer, unit);
    else if (layer.kind === 'band') band(plot, layer);
    else mark(plot, layer, unit);
  }
  ctx.restore();
}

const toCanvas = (plot: uPlot, value: number | null, scale: 'x' | 'y'): number | null =>
  value === null || (plot.scales[scale]!.distr === 3 && value <= 0) ? null : plot.valToPos(value, scale, true);

function line(plot: uPlot, {x, y, color, alpha, width, dash}: Extract<Layer, {kind: 'line'}>, unit: number): void {
  const {ctx} = plot;
  ctx.beginPath();
  let last: [number, number] | null = null;
  let connected = false;
  for (let i = 0; i < x.length; ++i) {
    const px = toCanvas(plot, x[i]!, 'x');
    const py = toCanvas(plot, y[i] ?? null, 'y');
    if (px === null || py === null) {
      if (last && !connected) dot(ctx, last, width * unit);
      last = null;
      continue;
    }
    if (last) ctx.lineTo(px, py);
    else ctx.moveTo(px, py);
    connected = last !== null;
    last = [px, py];
  }
  if (last && !connected) dot(ctx, last, width * unit);
  ctx.strokeStyle = color;
  ctx.globalAlpha = alpha;
  ctx.lineWidth = width * unit;
  ctx.setLineDash((dash ?? []).map((d) => d * unit));
  ctx.stroke();
}

// A line of one point would be invisible.
function dot(ctx: CanvasRenderingContext2D, [x, y]: [number, number], radius: number): void {
  ctx.moveTo(x + radius, y);
  ctx.arc(x, y, radius, 0, 2 * Math.PI);
}

function band(plot: uPlot, {x, low, high, color}: Extract<Layer, {kind: 'band'}>): void {
  const {ctx} = plot;
  ctx.beginPath();
  const floor = plot.bbox.top + plot.bbox.height;
  let open: [number, number, number][] = [];
  const close = (): void => {
    open.forEach(([px, , top], i) => (i === 0 ? ctx.moveTo(px, top) : ctx.lineTo(px, top)));
    for (const [px, bottom] of open.reverse()) ctx.lineTo(px, bottom);
    open = [];
  };
  for (let i = 0; i < x.length; ++i) {
    const px = toCanvas(plot, x[i]!, 'x');
    const top = toCanvas(plot, high[i] ?? null, 'y');
    const bottom = low[i] == null ? null : (toCanvas(plot, low[i]!, 'y') ?? floor);
    if (px === null || top === null || bottom === null) close();
    else open.push([px, bottom, top]);
  }
  close();
  ctx.fillStyle = color;
  ctx.globalAlpha = 0.14;
  ctx.fill();
}

const atEdge = (bbox: uPlot.BBox, {edge, row}: Edge, size: number): number =>
  edge === 'top' ? bbox.top + size * (row + 0.7) : bbox.top + bbox.height - size * (row + 0.7);

function mark(plot: uPlot, {shape, x, y, color, size, spread}: Extract<Layer, {kind: 'mark'}>, unit: number): void {
  const {ctx, bbox} = plot;
  const px = toCanvas(plot, x, 'x');
  const r = size * unit;
  const py = typeof y === 'number' ? toCanvas(plot, y, 'y') : atEdge(bbox, y, 2 * r + 3 * unit);
  if (px === null || py === null) return;
  ctx.globalAlpha = 1;
  ctx.setLineDash([]);
  ctx.strokeStyle = ctx.fillStyle = color;
  ctx.lineWidth = 1.5 * unit;
  ctx.beginPath();
  if (spread && typeof y === 'number') {
    const top = toCanvas(plot, y + spread, 'y');
    const bottom = toCanvas(plot, y - spread, 'y');
    if (top !== null && bottom !== null && bottom - top > 2 * r) {
      ctx.moveTo(px, top);
      ctx.lineTo(px, py - r);
      ctx.moveTo(px, py + r);
      ctx.lineTo(px, bottom);
    }
  }
  if (shape === 'diamond') {
    ctx.moveTo(px, py - r);
    ctx.lineTo(px + r, py);
    ctx.lineTo(px, py + r);
    ctx.lineTo(px - r, py);
    ctx.closePath();
  } else if (shape === 'cross') {
    ctx.moveTo(px - r, py - r);
    ctx.lineTo(px + r, py + r);
    ctx.moveTo(px - r, py + r);
    ctx.lineTo(px + r, py - r);
  } else {
    ctx.moveTo(px + r, py);
    ctx.arc(px, py, r, 0, 2 * Math.PI);
  }
  if (shape === 'dot') ctx.fill();
  else ctx.stroke();
}
