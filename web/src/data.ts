// Reads the report's data (DATA.md). Missing and invalid values get defaults, so the rest of the page can rely on the types.

export interface Report {
  schema: number | null;
  title: string;
  version: string;
  written: string;
  live: boolean;
  commands: string[];
  problems: string[];
  sections: Section[];
}

export interface Section {
  id: string;
  title: string;
  task: string;
  metric: string;
  largerIsBetter: boolean;
  selectedBy: string;
  window: number | null;
  baseline: string;
  smoothing: number;
  cutEpochs: number;
  summary: Block[];
  blocks: Block[];
  optimizers: Optimizer[];
  runs: Run[];
}

export type Block =
  | {type: 'heading'; level: number; text: string}
  | {type: 'paragraph'; text: string}
  | {type: 'commands'; lines: string[]}
  | {type: 'list'; items: string[]}
  | {type: 'table'; rows: string[][]; left: string[]};

export interface Optimizer {
  name: string;
  picked: number | null;
  rates: Rate[];
}

export interface Rate {
  lr: number;
  score: number | null;
  mean: number | null;
  twoStd: number | null;
  paper: {mean: number; twoStd: number | null} | null;
  stability: Stability | null;
  largestGradient: number | null;
  spikeEvaluations: number | null;
  spikeSteps: number | null;
  diverged: number;
  runs: Run[];
}

export type Stability = 'STABLE' | 'NOISY' | 'FAILED';

export type Values = (number | null)[];

export interface Run {
  name: string;
  optimizer: string;
  lr: number | null;
  seed: number | null;
  status: string;
  message: string;
  config: string;
  result: [string, unknown][];
  passesPerStep: number | null;
  series: Map<string, Values>;
}

type Fields = Record<string, unknown>;

const fields = (value: unknown): Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Fields) : {};
const list = (value: unknown): unknown[] => (Array.isArray(value) ? value : []);
const text = (value: unknown): string =>
  typeof value === 'string' ? value : typeof value === 'number' ? String(value) : '';
const strings = (value: unknown): string[] => list(value).map(text);
const number = (value: unknown): number | null => (typeof value === 'number' && Number.isFinite(value) ? value : null);

export function readReport(value: unknown): Report {
  const from = fields(value);
  return {
    schema: number(from['schema']),
    title: text(from['title']) || 'lehi report',
    version: text(from['lehi_version']),
    written: text(from['written']),
    live: from['live'] === true,
    commands: strings(from['commands']),
    problems: strings(from['problems']),
    sections: list(from['sections']).map(readSection),
  };
}

function readSection(value: unknown, index: number): Section {
  const from = fields(value);
  const runs = list(from['runs']).map(readRun);
  const metric = text(from['metric']);
  return {
    id: text(from['id']) || `section-${index + 1}`,
    title: text(from['title']) || text(from['task']) || `Section ${index + 1}`,
    task: text(from['task']),
    metric,
    largerIsBetter: from['larger_is_better'] === true,
    selectedBy: text(from['selected_by']) || metric,
    window: number(from['window']),
    baseline: text(from['baseline']),
    smoothing: Math.min(1, Math.max(0.01, number(from['smoothing']) ?? 1)),
    cutEpochs: number(from['cut_epochs']) ?? 0,
    summary: list(from['summary']).flatMap(readBlock),
    blocks: list(from['blocks']).flatMap(readBlock),
    optimizers: list(from['optimizers']).map((optimizer) => readOptimizer(optimizer, runs)),
    runs,
  };
}

function readBlock(value: unknown): Block[] {
  const from = fields(value);
  switch (from['type']) {
    case 'heading':
      return [{type: 'heading', level: number(from['level']) ?? 2, text: text(from['text'])}];
    case 'paragraph':
      return [{type: 'paragraph', text: text(from['text'])}];
    case 'commands':
      return [{type: 'commands', lines: strings(from['lines'])}];
    case 'list':
      return [{type: 'list', items: strings(from['items'])}];
    case 'table':
      return [{type: 'table', rows: list(from['rows']).map(strings), left: strings(from['left'])}];
    default:
      return [];
  }
}

function readOptimizer(value: unknown, runs: Run[]): Optimizer {
  const from = fields(value);
  const rates = list(from['rates']).flatMap((rate) => readRate(rate, runs));
  const picked = number(from['picked']);
  return {name: text(from['name']), picked: picked !== null && picked in rates ? picked : null, rates};
}

function readRate(value: unknown, runs: Run[]): Rate[] {
  const from = fields(value);
  const lr = number(from['lr']);
  if (lr === null) return [];
  const paper = fields(from['paper']);
  const paperMean = number(paper['mean']);
  const stability = from['stability'];
  return [
    {
      lr,
      score: number(from['score']),
      mean: number(from['mean']),
      twoStd: number(from['two_std']),
      paper: paperMean === null ? null : {mean: paperMean, twoStd: number(paper['two_std'])},
      stability: stability === 'STABLE' || stability === 'NOISY' || stability === 'FAILED' ? stability : null,
      largestGradient: number(from['largest_gradient']),
      spikeEvaluations: number(from['spike_evaluations']),
      spikeSteps: number(from['spike_steps']),
      diverged: number(from['diverged']) ?? 0,
      runs: list(from['runs']).flatMap((index) => runs[number(index) ?? -1] ?? []),
    },
  ];
}

function readRun(value: unknown, index: number): Run {
  const from = fields(value);
  const forward = number(from['forward_per_step']);
  const backward = number(from['backward_per_step']);
  return {
    name: text(from['name']) || `run ${index + 1}`,
    optimizer: text(from['optimizer']),
    lr: number(from['lr']),
    seed: number(from['seed']),
    status: text(from['status']) || 'unknown',
    message: text(from['message']),
    config: text(from['config']),
    result: Object.entries(fields(from['result'])),
    passesPerStep: forward === null || backward === null ? null : forward + backward,
    series: readSeries(fields(from['series'])),
  };
}

// All lists get the length of the list of steps.
function readSeries(from: Fields): Map<string, Values> {
  const length = list(from['step']).length;
  const series = new Map<string, Values>();
  for (const [name, values] of Object.entries(from)) {
    if (!Array.isArray(values)) continue;
    series.set(name, Array.from({length}, (_, i) => number(values[i])));
  }
  return series;
}
