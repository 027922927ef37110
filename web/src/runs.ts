// The list of runs by optimizer. Each run opens to its result and configuration, which are built when first opened.
import {colored, scrolling} from './blocks';
import type {Color} from './colors';
import type {Run, Section} from './data';
import {el, fill, keyed} from './dom';
import {metricName, metricNumber, plural, rate, short, tally} from './format';

const fewRuns = 12;  // up to this many runs are shown without opening their optimizer

/// A <details> element whose body is built when it is opened.
class Fold {
  readonly summary = el('summary');
  readonly body = el('div', {class: 'fold'});
  readonly element: HTMLDetailsElement;
  build: () => void = () => {};

  constructor(kind: string) {
    this.element = el('details', {class: kind, toggle: () => this.buildIfOpen()}, this.summary, this.body);
    folds.set(this.element, this);
  }

  buildIfOpen(): void {
    if (this.element.open) this.build();
  }
}

class Group extends Fold {
  readonly runs = new Map<string, Fold>();
}

const folds = new WeakMap<Element, Fold>();

const manyRuns = 30;  // with this many runs or more, only the list is printed

/// Opens the folds for printing, and afterwards closes those that were closed.
export function openFolds(onPaper: boolean): void {
  const open = (details: HTMLDetailsElement): void => {
    if (details.open) return;
    details.open = true;
    details.dataset['opened'] = '';
    folds.get(details)?.build();
  };
  if (onPaper) {
    document.querySelectorAll<HTMLDetailsElement>('.group-of-runs').forEach(open);
    const runs = document.querySelectorAll<HTMLDetailsElement>('.run');
    if (runs.length < manyRuns) runs.forEach(open);
  } else {
    for (const details of document.querySelectorAll<HTMLDetailsElement>('details[data-opened]')) {
      details.open = false;
      delete details.dataset['opened'];
    }
  }
}

const normalStatuses = ['waiting', 'running', 'done', 'diverged', 'interrupted'];

export class RunList {
  readonly element = el('div', {class: 'runs'});
  private readonly broken = el('ul', {class: 'broken'});
  private readonly list = el('div', {class: 'runs'});
  private readonly groups = new Map<string, Group>();

  constructor() {
    this.element.append(this.broken, this.list);
  }

  update(section: Section, colors: Map<string, Color>): void {
    const broken = section.runs.filter(({status}) => !normalStatuses.includes(status));
    this.broken.hidden = broken.length === 0;
    fill(this.broken, broken.map(({name, status, message}) => [name, status, message]), () => broken.map(({name, status, message}) =>
      el('li', {}, statusBadge(status), ' ', el('strong', {}, name), message ? `: ${message}` : '')));
    const names = [...new Set(section.runs.map((run) => run.optimizer))];
    const make = (): Group => {
      const group = new Group('group-of-runs');
      group.element.open = section.runs.length <= fewRuns;
      return group;
    };
    keyed(this.list, this.groups, names, (name) => name, make, (group, name) => {
      const runs = section.runs.filter((run) => run.optimizer === name);
      const statuses = runs.map(({status}) => status);
      fill(group.summary, [name, statuses], () =>
        [colored(name || 'unknown optimizer', colors), el('span', {class: 'note'}, `${plural(runs.length, 'run')}: ${tally(statuses)}`)]);
      group.build = () => fillGroup(group, runs, section.metric);
      group.buildIfOpen();
    });
  }
}

function fillGroup(group: Group, runs: Run[], metric: string): void {
  const key = (run: Run, i: number): string => `${run.name} ${runs.findIndex((other) => other.name === run.name) === i ? '' : i}`;
  keyed(group.body, group.runs, runs, key, () => new Fold('run'), (row, run) => {
    const last = run.series.get(metric)?.findLast((value) => value !== null) ?? null;
    fill(row.summary, [run.status, run.lr, run.seed, last, run.message], () => [
      statusBadge(run.status),
      el('span', {class: 'run-name'}, run.name),
      el('span', {class: 'note'}, `rate ${rate(run.lr)}, seed ${run.seed ?? '–'}`),
      last === null ? null : el('span', {class: 'number'}, metricNumber(metric, last)),
      run.message ? el('span', {class: 'message'}, run.message) : null,
    ]);
    row.build = () => fill(row.body, [run.config, run.result, run.series.get('step')?.length], () => details(run));
    row.buildIfOpen();
  });
}

/// A run's status as a word and a shape.
function statusBadge(status: string): HTMLElement {
  const shapes: Record<string, string> = {done: '●', running: '◐', waiting: '○', interrupted: '◌', diverged: '▲', failed: '✕'};
  return el('span', {class: `status ${Object.hasOwn(shapes, status) ? status : 'unknown'}`},
    el('span', {'aria-hidden': 'true'}, Object.hasOwn(shapes, status) ? shapes[status]! : '?'), ` ${status}`);
}

function details(run: Run): HTMLElement[] {
  const parts: HTMLElement[] = [];
  const last = [...run.series].flatMap(([name, values]): [string, unknown][] => {
    const value = values.at(-1);
    return value == null ? [] : [[metricName(name).toLowerCase(), value]];
  });
  const lists = el('div', {class: 'lists'});
  if (run.result.length > 0) lists.append(pairs('Result', run.result.map(([name, value]) => [name.replaceAll('_', ' '), value])));
  if (last.length > 0) lists.append(pairs(`Last of ${plural(run.series.get('step')!.length, 'evaluation')}`, last));
  if (lists.children.length > 0) parts.push(lists);
  if (run.config) parts.push(el('h5', {}, 'Configuration'), scrolling(`Configuration of ${run.name}`, el('pre', {}, run.config)));
  return parts.length > 0 ? parts : [el('p', {class: 'note'}, 'This run has no record.')];
}

function pairs(title: string, values: [string, unknown][]): HTMLElement {
  return el('div', {}, el('h5', {}, title), el('dl', {}, ...values.map(([name, value]) =>
    el('div', {}, el('dt', {}, name), el('dd', {}, shown(value))))));
}

function shown(value: unknown): string {
  if (typeof value === 'number') return short(value);
  if (value === null || value === undefined) return '–';
  if (typeof value !== 'object') return String(value);
  return Object.entries(value).map(([name, part]) => `${name} ${shown(part)}`).join(', ');
}
