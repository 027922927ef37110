// Shows the text and tables of the document.
import {el} from './dom';
import {cssColor, type Color} from './colors';
import type {Block} from './data';

const ranks = {3: 'h3', 4: 'h4', 5: 'h5'} as Record<number, 'h3' | 'h4' | 'h5'>;

/// `top` is the HTML rank of level 2, the highest level of headings inside a section.
export function blockElement(block: Block, top: 3 | 4, colors: Map<string, Color>): HTMLElement | null {
  switch (block.type) {
    case 'heading':
      return el(ranks[Math.min(5, top + Math.max(0, block.level - 2))]!, {}, block.text);
    case 'paragraph':
      return el('p', {}, block.text);
    case 'commands':
      return commandsElement(block.lines);
    case 'list':
      return el('ul', {}, ...block.items.map((item) => el('li', {}, item)));
    case 'table':
      return tableElement(block.rows, block.left, colors);
  }
}

export const commandsElement = (lines: string[]): HTMLElement =>
  el('pre', {class: 'commands', tabindex: 0, role: 'region', 'aria-label': 'Commands'}, el('code', {}, lines.join('\n')));

/// A box in which a wide table scrolls, also by keyboard.
export const scrolling = (label: string, table: HTMLElement): HTMLElement =>
  el('div', {class: 'scroll', tabindex: 0, role: 'region', 'aria-label': label}, table);

/// An optimizer's name with a swatch of its colour.
export function colored(name: string, colors: Map<string, Color>): HTMLElement {
  const color = colors.get(name);
  if (!color) return el('span', {}, name);
  const swatch = el('span', {class: 'swatch', 'aria-hidden': 'true'});
  swatch.style.background = cssColor(color);
  return el('span', {class: 'named'}, swatch, name);
}

// As right_aligned_columns() in report/document.h.
function rightColumns(header: string[], body: string[][], left: string[]): boolean[] {
  return header.map((title, column) => {
    const numbers = body.filter((row) => /^([0-9+\-.±−]|$)/.test(row[column] ?? ''));
    return !left.includes(title) && 2 * numbers.length > body.length;
  });
}

function tableElement(rows: string[][], left: string[], colors: Map<string, Color>): HTMLElement | null {
  const [header, ...body] = rows;
  if (!header) return null;
  const right = rightColumns(header, body, left);
  const side = (column: number): string | null => (right[column] ? 'number' : null);
  const head = el('tr', {}, ...header.map((title, i) => el('th', {scope: 'col', class: side(i)}, title)));
  const repeated = body.map((row, r) => r > 0 && row[0] === body[r - 1]![0]);  // the optimizer of the row above
  const lines = body.map((row, r) => {
    const place = !repeated.includes(true) ? null : repeated[r] ? 'again' : 'starts';
    return el('tr', {class: place}, ...row.map((cell, i) =>
      i === 0 ? el('th', {scope: 'row', class: side(i)}, colored(cell, colors)) : el('td', {class: side(i)}, cell)));
  });
  return scrolling(`Table: ${header.join(', ')}`, el('table', {}, el('thead', {}, head), el('tbody', {}, ...lines)));
}
