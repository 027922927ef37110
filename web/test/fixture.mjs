// Reproducible data documents for the tests: a realistic study, a large one, and unusual ones.
import {readFileSync} from 'node:fs';

/// A report file, as the program writes it.
export function pageOf(document) {
  const template = readFileSync(new URL('../dist/report.html', import.meta.url), 'utf8');
  return template.replace('LEHI_REPORT_DATA', () => JSON.stringify(document).replaceAll('<', '\\u003c'));
}

function randomNumbers(seed) {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
}

const digits = (value, count) => (Number.isFinite(value) ? Number(value.toPrecision(count)) : null);
const mean = (values) => values.reduce((a, b) => a + b, 0) / values.length;
const std = (values) => Math.sqrt(values.reduce((a, v) => a + (v - mean(values)) ** 2, 0) / Math.max(1, values.length - 1));

const rates = [1e-4, 3e-4, 1e-3, 3e-3, 1e-2, 3e-2, 1e-1];
// The best rate of each, its lowest loss (relative), its speed, and the passes of a step.
const kinds = {
  lehi: {best: 3e-2, floor: 1.0, speed: 1.1, forward: 1, backward: 2, eps: 0.9},
  lehibrid: {best: 3e-2, floor: 0.96, speed: 1.3, forward: 1, backward: 2, eps: 0.7},
  adam: {best: 1e-3, floor: 1.05, speed: 1.8, forward: 1, backward: 1, eps: 0.01},
  adamw: {best: 1e-3, floor: 1.09, speed: 1.7, forward: 1, backward: 1, eps: 0.012},
  'sophia-g': {best: 3e-4, floor: 1.14, speed: 0.8, forward: 1.1, backward: 1.1, eps: 0.3},
  'lehi-gn': {best: 1e-3, floor: 0.93, speed: 2.1, forward: 1, backward: 1.12, eps: 0.04},
};

const configText = (task, optimizer, lr, seed, epochs) => `task = "${task}"
seed = ${seed}

[model]
hidden = [50]

[train]
epochs = ${epochs}
batch_size = 128

[optimizer]
name = "${optimizer}"
lr = ${lr}
b1 = 0.9
b2 = 0.999
eps = 0.01
weight_decay = 0.0
`;

function run(task, optimizer, lr, seed, random) {
  const kind = kinds[optimizer];
  const distance = Math.log10(lr / kind.best);
  const diverges = task.diverges && distance > 1.9;
  const evaluations = diverges ? Math.max(3, Math.floor(task.epochs / 6)) : task.epochs;
  const speed = task.speed * kind.speed * 10 ** Math.min(0, distance * 0.6);
  const end = task.low * kind.floor * (1 + 0.12 * distance ** 2 * (distance > 0 ? 1.6 : 1)) * (1 + 0.008 * (random() - 0.5));
  const noise = task.noise * 10 ** Math.max(0, distance * 0.5);
  const spikes = distance > 1.2;
  const series = {step: [], epoch: [], seconds: [], train_loss: [], test_loss: [], grad_inf_norm: [], eps_dominated: []};
  if (task.accuracy) Object.assign(series, {validation_accuracy: [], test_accuracy: []});
  for (let e = 1; e <= evaluations; ++e) {
    const progress = 1 / (1 + speed * e) ** 1.1;
    const blowUp = diverges ? 10 ** (e / 3) : 1;
    const loss = (end + (task.high - end) * progress) * (1 + noise * (random() - 0.5)) * blowUp;
    series.step.push(e * task.steps);
    series.epoch.push(e);
    series.seconds.push(digits(e * task.steps * 2.4e-4 * (kind.forward + kind.backward) * (1 + 0.03 * random()), 5));
    series.train_loss.push(digits(loss * (0.8 + 0.2 * progress), 5));
    series.test_loss.push(digits(diverges && e === evaluations ? NaN : loss * (1 + 0.4 * noise * (random() - 0.5)), 5));
    series.grad_inf_norm.push(digits((spikes && random() < 0.2 ? 14 : 0.8) * (0.4 + random()) * blowUp, 3));
    series.eps_dominated.push(digits(Math.min(1, kind.eps * (0.2 + 0.8 * e / evaluations) * (1 + 0.05 * random())), 3));
    if (task.accuracy) {
      const accuracy = 100 * Math.exp(-0.32 * loss);
      series.validation_accuracy.push(digits(accuracy * (1 - 0.002 * random()), 4));
      series.test_accuracy.push(digits(accuracy * (1 - 0.003 * random()), 4));
    }
  }
  const steps = series.step.at(-1);
  return {
    name: `${task.name}-${optimizer}-lr${lr}-seed${seed}`, optimizer, lr, seed,
    status: diverges ? 'diverged' : 'done',
    message: diverges ? `test_loss is not finite at step ${steps}; largest parameter: fc1.weight` : '',
    config: configText(task.name, optimizer, lr, seed, task.epochs),
    result: {
      steps, epochs: evaluations, seconds: series.seconds.at(-1), forward_passes: Math.round(steps * kind.forward),
      backward_passes: Math.round(steps * kind.backward), step_seconds_min: 0.000231, step_seconds_max: 0.00044,
      peak_memory_bytes: 613416960, split: {forward: 0.31, backward: 0.52, update: 0.17},
    },
    forward_per_step: kind.forward, backward_per_step: kind.backward, series,
  };
}

function judge(task, lr, indices, runs) {
  const own = indices.map((i) => runs[i]);
  const diverged = own.filter(({status}) => status === 'diverged').length;
  const window = (r) => r.series[task.selectedBy].slice(-task.window);
  const means = own.map((r) => mean(window(r)));
  const spreads = own.map((r) => 2 * std(window(r)));
  const gradients = own.flatMap((r) => r.series.grad_inf_norm);
  const spikes = gradients.filter((g) => g > 10).length;
  const sign = task.accuracy ? -1 : 1;
  return {
    lr,
    score: diverged ? null : digits(mean(means) + sign * mean(spreads), 6),
    mean: diverged ? null : digits(mean(means), 6),
    two_std: diverged ? null : digits(mean(spreads), 4),
    paper: task.paper && !diverged ? {mean: digits(mean(means) * (1 + 0.012 * Math.sin(99 * lr)), 4), two_std: digits(mean(spreads) * 1.1, 2)} : null,
    stability: diverged ? 'FAILED' : spikes ? 'NOISY' : 'STABLE',
    largest_gradient: digits(Math.max(...gradients), 3),
    spike_evaluations: spikes / own.length,
    spike_steps: digits(spikes * 3.4 / own.length, 3),
    diverged,
    runs: indices,
  };
}

function section(task, names) {
  const random = randomNumbers(task.seed);
  const runs = [];
  const better = (a, b) => b.score === null || (a.score !== null && (task.accuracy ? a.score > b.score : a.score < b.score));
  const optimizers = names.map((name) => {
    const add = (lr, seed) => runs.push(run(task, name, lr, seed, random)) - 1;
    const indices = rates.map((lr) => task.seeds.slice(0, task.grid ? undefined : 1).map((seed) => add(lr, seed)));
    const picked = rates.map((lr, i) => judge(task, lr, indices[i], runs)).reduce((best, r, i, all) => (better(r, all[best]) ? i : best), 0);
    if (!task.grid) for (const seed of task.seeds.slice(1)) indices[picked].push(add(rates[picked], seed));
    return {name, picked, rates: rates.map((lr, i) => judge(task, lr, indices[i], runs))};
  });
  const number = (value) => (value === null ? 'diverged' : value.toFixed(task.accuracy ? 2 : 4));
  const chosen = optimizers.map(({name, picked, rates: own}) => ({name, ...own[picked]}));
  const base = chosen.find(({name}) => name === 'adam');
  const metric = task.accuracy ? 'test_accuracy' : 'test_loss';
  const final = (r) => r.runs.map((i) => mean(runs[i].series[metric].slice(-task.window)));
  return {
    id: `${task.name}-paper`, title: `${task.name} (paper preset)`, task: task.name, metric,
    larger_is_better: task.accuracy, selected_by: task.selectedBy, window: task.window, baseline: 'adam',
    smoothing: task.smoothing, cut_epochs: task.cut,
    summary: [
      {type: 'paragraph', text: `lehi-gn does best on ${task.name}: ${number(mean(final(chosen.at(-1))))} against ${number(mean(final(base)))} of adam, with ${task.seeds.length} seeds.`},
      {type: 'table', left: ['verdict'], rows: [
        ['optimizer', 'rate', ...task.seeds.map((s) => `seed ${s}`), 'mean ± std', 'difference', 'verdict', 'diverged runs'],
        ...chosen.map((r) => [r.name, String(r.lr), ...final(r).map(number), `${number(mean(final(r)))} ± ${number(std(final(r)))}`,
          r.name === 'adam' ? '' : (mean(final(r)) < mean(final(base)) ? '-' : '+') + number(Math.abs(mean(final(r)) - mean(final(base)))),
          r.name === 'adam' ? 'the baseline' : `no clear difference from adam with ${task.seeds.length} seeds`, '0 of 9']),
      ]},
    ],
    blocks: [
      {type: 'heading', level: 2, text: 'Learning rates'},
      {type: 'paragraph', text: `${metric} with seed 0: mean ± 2 std over the last ${task.window} evaluations, beside the paper's.`},
      {type: 'table', left: ['within'], rows: [
        ['optimizer', 'rate', 'measured', 'paper', 'difference', 'within'],
        ...optimizers.slice(0, 4).flatMap(({name, rates: own}) => own.map((r) => [name, String(r.lr), r.mean === null ? 'diverged' : `${number(r.mean)} ± ${number(r.two_std)}`,
          r.paper ? `${number(r.paper.mean)} ± ${number(r.paper.two_std)}` : '-', r.paper ? `${r.mean < r.paper.mean ? '-' : '+'}${number(Math.abs(r.mean - r.paper.mean))}` : '-', r.paper ? 'yes' : '-'])),
      ]},
      {type: 'list', items: ['lehi does best at 0.03, next to the largest rate of the grid.']},
      {type: 'heading', level: 2, text: 'Runtime'},
      {type: 'table', left: [], rows: [
        ['optimizer', 'step time', 'forward', 'backward', 'peak memory', 'eps dominates'],
        ...names.map((name, i) => [name, (1 + 0.031 * i).toFixed(3), '10550', String(Math.round(10550 * kinds[name].backward)), '585 MB', `${(100 * kinds[name].eps).toFixed(1)} %`]),
      ]},
    ],
    optimizers, runs,
  };
}

const mnist = {name: 'mnist', seed: 1, epochs: 25, speed: 1.2, noise: 0.05, steps: 469, window: 3, smoothing: 0.6, cut: 2, seeds: [0, 1, 2], low: 0.09, high: 0.9,
  accuracy: true, selectedBy: 'validation_accuracy', paper: false, diverges: true};
const protein = {name: 'protein', seed: 2, epochs: 200, speed: 0.3, noise: 0.02, steps: 286, window: 10, smoothing: 0.3, cut: 0, seeds: [0, 1, 2], low: 0.24, high: 0.62,
  accuracy: false, selectedBy: 'test_loss', paper: true, diverges: false};

const report = (sections, more = {}) => ({
  schema: 1, title: "The paper's tasks, measured again", lehi_version: '0.3.0', written: '2026-11-16T08:00:00Z', live: false,
  commands: ['lehi sweep protein mnist --out runs/paper', "lehi report runs/paper --title 'The paper'\\''s tasks, measured again'"],
  problems: [], sections, ...more,
});

export function realisticReport() {
  const study = report([section(mnist, Object.keys(kinds)), section(protein, ['lehi', 'lehibrid', 'adam', 'adamw', 'lehi-gn'])]);
  study.problems = ['runs/old: study.json is damaged: unexpected end of input at line 12'];
  study.sections[0].runs.push({
    name: 'mnist-adam-lr0.003-seed7', optimizer: 'adam', lr: 0.003, seed: 7, status: 'failed', message: 'run.json is damaged: expected "}" in line 3',
    config: '', result: {}, forward_per_step: null, backward_per_step: null, series: {step: []},
  });
  return study;
}

/// 210 runs with 300 evaluations each.
export function bigReport() {
  return report([section({...mnist, epochs: 300, grid: true, seeds: [0, 1, 2, 3, 4], diverges: false}, Object.keys(kinds))], {title: 'A large study'});
}

export const attack = '<script>window.attacked = true</script><img src=x onerror="window.attacked = true">';

/// Appends the attack to every string except ids and types that decide what is shown.
export function hostileReport() {
  const keep = new Set(['id', 'type', 'metric', 'selected_by', 'stability']);
  const poison = (value, key) => {
    if (typeof value === 'string') return keep.has(key) ? value : value + attack;
    if (Array.isArray(value)) return value.map((item) => poison(item, key));
    if (typeof value !== 'object' || value === null) return value;
    return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, poison(item, name)]));
  };
  const study = poison(realisticReport(), '');
  study.sections[0].runs[0].series[`${attack}_loss`] = study.sections[0].runs[0].series.train_loss;
  study.sections[0].runs[0].result[attack] = attack;
  return study;
}

const nulls = (value) => (Array.isArray(value) ? value.map(nulls)
  : typeof value === 'object' && value !== null ? Object.fromEntries(Object.entries(value).map(([name, item]) => [name, nulls(item)])) : null);

/// Unusual documents; none may break the page.
export function oddReports() {
  const waiting = {name: 'a', optimizer: 'lehi', lr: 0.01, seed: 0, status: 'waiting', message: '', config: '', result: {}, forward_per_step: null,
    backward_per_step: null, series: {step: []}};
  const unfinished = {lr: 0.01, score: null, mean: null, two_std: null, paper: null, stability: null, largest_gradient: null, spike_evaluations: 0,
    spike_steps: 0, diverged: 0, runs: [0]};
  const bare = {id: 's', title: 's', task: 's', metric: 'test_loss', larger_is_better: false, selected_by: 'test_loss', window: 1, baseline: '',
    smoothing: 0.5, cut_epochs: 3, summary: [], blocks: [], optimizers: [{name: 'lehi', picked: null, rates: [unfinished]}], runs: [waiting]};
  const oneValue = {...waiting, status: 'running', series: {step: [1], train_loss: [0.5]}};
  const gaps = {...waiting, status: 'running', series: {step: [1, 2, 3, 4], epoch: [1, 2, 3, 4], test_loss: [null, 0.5, null, -1], grad_inf_norm: [0, null, null, null]}};
  return {
    'no sections': report([]),
    'nothing finished': report([bare]),
    'one value': report([{...bare, runs: [oneValue]}]),
    'gaps and values that no logarithm has': report([{...bare, runs: [gaps]}]),
    'nulls everywhere': nulls(realisticReport()),
    'an empty document': {},
    'not even an object': [1, 'two'],
    'another schema': report([], {schema: 99}),
    'empty tables and unknown blocks': report([{...bare, blocks: [{type: 'table', rows: []}, {type: 'table', rows: [['a'], []]}, {type: 'video'}, null]}]),
    'runs that are not there': report([{...bare, optimizers: [{name: 'lehi', picked: 5, rates: [{...unfinished, runs: [0, 7, -1, 'x']}]}]}]),
  };
}
