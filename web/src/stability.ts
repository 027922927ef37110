// The stability table as a heat map; each cell has a colour, a shape and a word.
import {colored, scrolling} from './blocks';
import type {Color} from './colors';
import type {Rate, Section, Stability} from './data';
import {el} from './dom';
import {rate, short} from './format';

const shapes: Record<Stability, string> = {STABLE: '●', NOISY: '▲', FAILED: '✕'};

export const hasStability = (section: Section): boolean =>
  section.optimizers.some(({rates}) => rates.some(({stability}) => stability !== null));

/// Changes when the table must be rebuilt.
export const stabilityKey = (section: Section): unknown =>
  section.optimizers.map(({name, picked, rates}) => [name, picked, rates.map(({runs, ...rest}) => [runs.length, rest])]);

export function stabilityTable(section: Section, colors: Map<string, Color>): HTMLElement {
  const rates = [...new Set(section.optimizers.flatMap((o) => o.rates.map(({lr}) => lr)))].sort((a, b) => a - b);
  const head = el('tr', {}, el('th', {scope: 'col'}, 'optimizer'), ...rates.map((lr) => el('th', {scope: 'col'}, rate(lr))));
  const body = section.optimizers.map(({name, picked, rates: own}) =>
    el('tr', {}, el('th', {scope: 'row'}, colored(name, colors)), ...rates.map((lr) => {
      const index = own.findIndex((r) => r.lr === lr);
      return cell(own[index], index >= 0 && index === picked);
    })));
  return scrolling('Stability by optimizer and learning rate', el('table', {class: 'heat'}, el('thead', {}, head), el('tbody', {}, ...body)));
}

function cell(r: Rate | undefined, picked: boolean): HTMLElement {
  if (!r) return el('td', {class: 'none'}, el('span', {class: 'sr'}, 'not run'));
  if (!r.stability) return el('td', {class: 'none'}, r.runs.length > 0 ? 'not finished' : '–');
  return el('td', {class: `${r.stability.toLowerCase()}${picked ? ' picked' : ''}`},
    el('strong', {}, el('span', {'aria-hidden': 'true'}, shapes[r.stability]), ` ${r.stability}`),
    el('span', {}, r.largestGradient === null ? 'gradient not finite' : `max ${short(round(r.largestGradient))}`),
    r.diverged > 0 ? el('span', {}, `${r.diverged} diverged`) : null,
    r.spikeSteps || r.spikeEvaluations ? el('span', {}, spikes(r)) : null,
    picked ? el('span', {class: 'sr'}, 'picked') : null);
}

const spikes = ({spikeEvaluations, spikeSteps}: Rate): string =>
  `spikes ${short(round(spikeEvaluations ?? 0))} / ${short(round(spikeSteps ?? 0))}`;

const round = (value: number): number => Number(value.toPrecision(3));
