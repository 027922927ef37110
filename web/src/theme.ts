// The theme: the system's until the reader chooses one for this page. Printing is always light.
import {el} from './dom';

const system = matchMedia('(prefers-color-scheme: dark)');
const listeners: (() => void)[] = [];
let chosen: boolean | null = null;
let onPaper = false;

export const isDark = (): boolean => !onPaper && (chosen ?? system.matches);

export const onThemeChange = (listener: () => void): void => void listeners.push(listener);

function apply(): void {
  document.documentElement.style.colorScheme = onPaper ? 'light' : chosen === null ? '' : chosen ? 'dark' : 'light';
  for (const listener of listeners) listener();
}

export function setOnPaper(value: boolean): void {
  onPaper = value;
  apply();
}

export function themeButton(): HTMLElement {
  const button = el('button', {type: 'button', class: 'quiet', id: 'theme', click: () => {
    chosen = !isDark();
    apply();
  }});
  const label = (): void => {
    button.textContent = isDark() ? '☀ Light' : '☾ Dark';
    button.setAttribute('aria-label', isDark() ? 'Switch to the light theme' : 'Switch to the dark theme');
  };
  label();
  onThemeChange(label);
  system.addEventListener('change', apply);
  return button;
}
