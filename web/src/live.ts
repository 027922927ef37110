// A study that is still running: asks the server for the data every few seconds and says how fresh the page is.
import {readReport, type Report} from './data';
import {clock} from './format';

const pause = 3000;

export function follow(status: HTMLElement, update: (report: Report) => void): void {
  let before = '';
  let updated = new Date();
  const say = (text: string, gone: boolean): void => {
    status.hidden = false;
    status.textContent = text;
    status.classList.toggle('gone', gone);
    if (gone) status.setAttribute('role', 'status');  // worth an announcement; a fresh time is not
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
      say(live ? `live, updated ${clock(updated)}` : `finished, updated ${clock(updated)}`, false);
    } catch {
      say(`The server is gone; this is from ${clock(updated)}. Trying again.`, true);
    }
    if (live) setTimeout(ask, pause);
  };

  say(`live, updated ${clock(updated)}`, false);
  setTimeout(ask, pause);
}
