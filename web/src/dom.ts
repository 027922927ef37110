// Builds elements. Strings become text nodes; nothing is parsed as HTML.

export type Child = Node | string | null;

type Attributes = Record<string, string | number | boolean | null | ((event: Event) => void)>;

/// An element with children and attributes. A function becomes an event listener; null and false are skipped.
export function el<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  attributes: Attributes = {},
  ...children: Child[]
): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === 'function') element.addEventListener(name, value);
    else if (value !== null && value !== false) element.setAttribute(name, value === true ? '' : String(value));
  }
  element.append(...children.filter((child): child is Node | string => child !== null));
  return element;
}

const focusable = 'a[href], button, select, summary, [tabindex="0"]';

/// Rebuilds the children of `parent` if `value` differs from the last call, and restores the keyboard focus.
export function fill(parent: HTMLElement, value: unknown, build: () => Child[]): void {
  const key = JSON.stringify(value);
  if (filled.get(parent) === key) return;
  filled.set(parent, key);
  const focus = [...parent.querySelectorAll<HTMLElement>(focusable)].findIndex((e) => e === document.activeElement);
  parent.replaceChildren(...build().filter((child): child is Node | string => child !== null));
  if (focus >= 0) parent.querySelectorAll<HTMLElement>(focusable)[focus]?.focus({preventScroll: true});
}

const filled = new WeakMap<HTMLElement, string>();

/// Matches the children of `parent` to `items` by key: existing children are kept, with focus and open state.
export function keyed<T, C extends {element: HTMLElement}>(
  parent: HTMLElement,
  cache: Map<string, C>,
  items: T[],
  key: (item: T, index: number) => string,
  make: (item: T) => C,
  update: (child: C, item: T) => void,
): void {
  const old = new Map(cache);
  cache.clear();
  items.forEach((item, index) => {
    const name = key(item, index);
    const child = old.get(name) ?? make(item);
    cache.set(name, child);
    old.delete(name);
    update(child, item);
    if (parent.children[index] !== child.element) parent.insertBefore(child.element, parent.children[index] ?? null);
  });
  for (const child of old.values()) child.element.remove();
}
