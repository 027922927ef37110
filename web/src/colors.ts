// A colour for each optimizer, in a light and a dark variant with at least 3:1 contrast to the page.

export interface Color {
  light: string;
  dark: string;
}

// The colours of the paper's figures, and one for lehi-gn.
const known: Record<string, Color> = {
  lehi: {light: '#15803d', dark: '#4ade80'},
  lehibrid: {light: '#7e3fc4', dark: '#c08cff'},
  adam: {light: '#cf2f36', dark: '#ff7b7b'},
  adamw: {light: '#1f5fbf', dark: '#6ea8ff'},
  'sophia-g': {light: '#c75f00', dark: '#ffa64d'},
  'lehi-gn': {light: '#0a8299', dark: '#35d0e0'},
};

const others: Color[] = [
  {light: '#b83280', dark: '#ff8ac6'},
  {light: '#7a5a2e', dark: '#d2ac74'},
  {light: '#71760a', dark: '#cdd34a'},
  {light: '#56657a', dark: '#a9b8cc'},
  {light: '#3f3fb0', dark: '#a0a0ff'},
  {light: '#a0442c', dark: '#f29a80'},
  {light: '#3d7a63', dark: '#8fd3b6'},
  {light: '#87458c', dark: '#dda0e2'},
];

/// Assigns a colour to each name: its own if it has one, else the next of the palette.
export function assignColors(names: string[]): Map<string, Color> {
  const colors = new Map<string, Color>();
  let next = 0;
  for (const name of names) {
    if (colors.has(name)) continue;
    colors.set(name, Object.hasOwn(known, name) ? known[name]! : others[next++ % others.length]!);
  }
  return colors;
}

/// A CSS colour that follows the theme.
export const cssColor = (color: Color): string => `light-dark(${color.light}, ${color.dark})`;
