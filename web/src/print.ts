// Printing: the light theme, all charts drawn, folds opened; afterwards as before.
import {drawForPaper} from './plot';
import {openFolds} from './runs';
import {setOnPaper} from './theme';

export function preparePrinting(): void {
  let onPaper = false;
  const prepare = (value: boolean): void => {
    if (value === onPaper) return;
    onPaper = value;
    setOnPaper(value);
    openFolds(value);
    drawForPaper(value);
  };
  addEventListener('beforeprint', () => prepare(true));
  addEventListener('afterprint', () => prepare(false));
  matchMedia('print').addEventListener('change', (event) => prepare(event.matches));
}
