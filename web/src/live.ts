// Follows a running study: asks the server for new data every few seconds and shows the time of the last update.
import {readReport, type Report} from './data';
import {clock} from './format';

const pause = 3000;

export function follow(status: HTMLElement, update: (report: Report) => void): void {
  let before = '';
  let updated = new Date();
  const show = (text: string, gone: boolean): void => {
    status.hidden = false;
    status.textContent = text;
    status.classList.toggle('gone', gone);
    if (gone) status.setAttribute('role', 'status');  // announced by screen readers, unlike a new time
    else status.removeAttribute('role');
  };

  const ask = async (): Promise<void> => {
    let live = true;
    try {
      const answer = await fetch('data.json', {cache: 'no-store'});
      if (!answer.ok) throw new Error(String(answer.status));
      const text = await answer.text();
      const report = readReport(JSON.parse(text));
      if (text !== before) update(report);
      before = text;
      updated = new Date();
      live = report.live;
      show(live ? `live, updated ${clock(updated)}` : `finished, updated ${clock(updated)}`, false);
    } catch {
      show(`The server does not respond; data from ${clock(updated)}. Retrying.`, true);
    }
    if (live) setTimeout(ask, pause);
  };

  show(`live, updated ${clock(updated)}`, false);
  setTimeout(ask, pause);
}
