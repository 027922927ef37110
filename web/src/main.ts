// Shows the data inside the page, and follows the server if the page is live.
import {readReport, type Report} from './data';
import {follow} from './live';
import {Page} from './page';
import {preparePrinting} from './print';

function embedded(): Report {
  const text = document.getElementById('data')?.textContent ?? '';
  try {
    return readReport(JSON.parse(text));
  } catch {
    return readReport({schema: 1, problems: ['The data in this file is damaged or missing.']});
  }
}

const report = embedded();
const page = new Page();
page.update(report);
preparePrinting();
if (report.live) follow(page.status, (next) => page.update(next));
