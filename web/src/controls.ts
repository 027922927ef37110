// The controls: buttons, and the legend with a choice of rate for each optimizer.
import {axesOf, axisOf, mainRate, type Choices} from './choices';
import {cssColor, type Color} from './colors';
import {axisNames, cutsAll, metricsOf} from './curves';
import type {Optimizer, Section} from './data';
import {el, type Child} from './dom';
import {plural, rate} from './format';

const states = new WeakMap<Element, () => boolean>();

/// A button with an on/off state.
function toggle(choices: Choices, label: string, isOn: () => boolean, press: () => void): HTMLElement {
  const button = el('button', {type: 'button', 'aria-pressed': String(isOn()), click: () => choices.change(press)}, label);
  states.set(button, isOn);
  return button;
}

/// Updates the states of the buttons inside `root`.
export function showStates(root: HTMLElement): void {
  for (const button of root.querySelectorAll('[aria-pressed]')) button.setAttribute('aria-pressed', String(states.get(button)?.() ?? false));
}

const action = (choices: Choices, label: string, press: () => void): HTMLElement =>
  el('button', {type: 'button', click: () => choices.change(press)}, label);

const group = (label: string, ...buttons: Child[]): HTMLElement =>
  el('div', {class: 'group', role: 'group', 'aria-label': label}, el('span', {class: 'group-label', 'aria-hidden': 'true'}, label), el('div', {class: 'segments'}, ...buttons));

const single = (...buttons: Child[]): HTMLElement => el('div', {class: 'group'}, ...buttons);

const hint = (): HTMLElement => el('span', {class: 'note hint'}, 'drag to zoom, double-click to reset');

/// Changes when the curves' controls must be rebuilt.
export const curveControlsKey = (section: Section): unknown => [axesOf(section), metricsOf(section), section.cutEpochs, cutsAll(section)];

export function curveControls(section: Section, choices: Choices): Child[] {
  const axes = axesOf(section);
  const losses = metricsOf(section).some((metric) => metric.endsWith('_loss'));
  return [
    group('x axis', ...axes.map((axis) =>
      toggle(choices, axisNames[axis].split(' ')[0]!, () => axisOf(section, choices) === axis, () => {
        choices.axis = axis;
        if (choices.zoom !== 'last tenth') choices.zoom = null;
      }))),
    losses ? group('loss',
      toggle(choices, 'linear', () => !choices.log, () => (choices.log = false)),
      toggle(choices, 'log', () => choices.log, () => (choices.log = true))) : null,
    single(
      section.cutEpochs > 0 && !cutsAll(section)
        ? toggle(choices, `first ${plural(section.cutEpochs, 'epoch')}`, () => choices.uncut, () => (choices.uncut = !choices.uncut)) : null,
      toggle(choices, 'single seeds', () => choices.raw, () => (choices.raw = !choices.raw))),
    single(
      toggle(choices, 'last tenth', () => choices.zoom === 'last tenth', () => (choices.zoom = choices.zoom === 'last tenth' ? null : 'last tenth')),
      action(choices, 'reset zoom', () => (choices.zoom = null))),
    hint(),
  ];
}

export function rateControls(section: Section, choices: Choices): Child[] {
  return [
    section.selectedBy.endsWith('_loss') ? group('loss',
      toggle(choices, 'linear', () => !choices.rateLog, () => (choices.rateLog = false)),
      toggle(choices, 'log', () => choices.rateLog, () => (choices.rateLog = true))) : null,
    single(
      toggle(choices, 'near the best', () => choices.rateZoom === 'best', () => (choices.rateZoom = choices.rateZoom === 'best' ? null : 'best')),
      action(choices, 'reset zoom', () => (choices.rateZoom = null))),
    hint(),
  ];
}

/// Changes when the legend must be rebuilt.
export const legendKey = (section: Section): unknown =>
  section.optimizers.map((optimizer) => [optimizer.name, mainRate(optimizer)?.lr, optimizer.picked, optimizer.rates.map(({lr}) => lr)]);

export function legend(section: Section, choices: Choices, colors: Map<string, Color>): Child[] {
  return section.optimizers.map((optimizer) => {
    const isOn = (): boolean => !choices.hidden.has(optimizer.name);
    const button = toggle(choices, '', isOn, () => {
      if (isOn()) choices.hidden.add(optimizer.name);
      else choices.hidden.delete(optimizer.name);
    });
    const swatch = el('span', {class: 'swatch', 'aria-hidden': 'true'});
    button.append(swatch, optimizer.name);
    const chip = el('div', {class: 'chip'}, button, rateSelect(optimizer, choices));
    chip.style.setProperty('--color', cssColor(colors.get(optimizer.name)!));
    return chip;
  });
}

function rateSelect(optimizer: Optimizer, choices: Choices): HTMLElement | null {
  if (optimizer.rates.length < 2) return null;
  const chosen = choices.rates.get(optimizer.name) ?? 'picked';
  const option = (value: string, label: string): HTMLElement => el('option', {value, selected: value === String(chosen)}, label);
  const choose = (): void => choices.change(() => {
    const {value} = select;
    choices.rates.set(optimizer.name, value === 'all' || value === 'picked' ? value : Number(value));
  });
  const select = el('select', {'aria-label': `Learning rate of ${optimizer.name} in the curves`, change: choose});
  select.append(
    option('picked', `${rate(mainRate(optimizer)?.lr ?? null)}${optimizer.picked === null ? '' : ' ★'}`),
    ...optimizer.rates.map(({lr}) => option(String(lr), rate(lr))),
    option('all', 'all rates'));
  return select;
}
