// A page that follows a running study.
import assert from 'node:assert/strict';
import {createServer} from 'node:http';
import {after, before, test} from 'node:test';
import {drawing, figure, launch, open} from './browser.mjs';
import {pageOf, realisticReport} from './fixture.mjs';

let browser, server, study, address;

const begin = (port = 0) => new Promise((ready) => {
  server = createServer((request, response) => {
    const data = request.url === '/data.json';
    response.writeHead(200, {'content-type': data ? 'application/json' : 'text/html; charset=utf-8'});
    response.end(data ? JSON.stringify(study) : pageOf(study));
  }).listen(port, '127.0.0.1', () => ready(server.address().port));
});

const end = () => new Promise((done) => {
  server.close(done);
  server.closeAllConnections();
});

before(async () => {
  browser = await launch();
  study = {...realisticReport(), live: true};
  const {runs} = study.sections[0];
  for (const run of runs) {
    run.status = 'running';
    for (const name of Object.keys(run.series)) run.series[name] = run.series[name].slice(0, 12);
  }
  address = await begin();
});
after(async () => {
  await browser.close();
  await end();
});

test('new data is drawn, the reader\'s choices are kept, a lost server is reported and found again', async () => {
  const {page, complaints, requests, close} = await open(browser, `http://127.0.0.1:${address}/`, {colorScheme: 'light'});
  const chart = figure(page, 'mnist-paper', 'train_loss');
  const section = page.locator('#mnist-paper');
  const button = (name) => section.getByRole('button', {name, exact: true}).first();
  assert.match(await page.locator('.live').textContent(), /^live, updated \d\d:\d\d:\d\d$/);

  await button('seconds').click();
  await button('log').click();
  await button('adam').click();
  await section.locator('.legend select').first().selectOption('all');
  await section.locator('.group-of-runs > summary').first().click();
  await section.locator('.run > summary').first().click();
  await button('lehibrid').focus();
  const before = await drawing(chart);

  const finished = realisticReport();
  study = {...finished, live: true, title: 'Further on'};
  study.sections[0].summary[0].text = 'It goes on.';
  await page.getByText('It goes on.').waitFor({timeout: 20000});
  assert.equal(await page.title(), 'Further on');
  assert.notEqual(await drawing(chart), before);
  assert.equal(await button('seconds').getAttribute('aria-pressed'), 'true');
  assert.equal(await button('log').getAttribute('aria-pressed'), 'true');
  assert.equal(await button('adam').getAttribute('aria-pressed'), 'false');
  assert.equal(await section.locator('.legend select').first().inputValue(), 'all');
  assert.equal(await page.evaluate(() => document.activeElement.textContent), 'lehibrid');
  assert.ok(await section.locator('.run').first().locator('pre').isVisible());
  assert.match(await section.locator('.run').first().textContent(), /Last of 25 evaluations/);
  assert.deepEqual(complaints, []);
  assert.ok(requests.length > 0 && requests.every((url) => url === `http://127.0.0.1:${address}/data.json`));

  await end();
  await page.locator('.live.gone').waitFor({timeout: 20000});
  assert.match(await page.locator('.live').textContent(), /^The server does not respond; data from \d\d:\d\d:\d\d\. Retrying\.$/);
  study = {...study, live: false};
  await begin(address);
  await page.getByText(/^finished, updated/).waitFor({timeout: 20000});
  await close();
});
