// A report file: what it shows, and that it makes no requests.
import assert from 'node:assert/strict';
import {after, before, test} from 'node:test';
import {drawAll, figure, isBlank, launch, open, openReport, pixels} from './browser.mjs';
import {attack, hostileReport, oddReports, realisticReport} from './fixture.mjs';

const green = '#15803d';
const purple = '#7e3fc4';
const red = '#cf2f36';
const darkGreen = '#4ade80';

let browser;
before(async () => (browser = await launch()));
after(() => browser.close());

test('a report opens from disk without warnings and without requests', async () => {
  const {page, complaints, requests, close} = await openReport(browser, realisticReport());
  await drawAll(page);
  assert.equal(await page.title(), "The paper's tasks, measured again");
  assert.equal(await page.locator('h1').textContent(), "The paper's tasks, measured again");
  assert.deepEqual(complaints, []);
  assert.deepEqual(requests, []);
  await close();
});

test('every chart is drawn, in the colours of its optimizers', async () => {
  const {page, close} = await openReport(browser, realisticReport(), {colorScheme: 'light'});
  await drawAll(page);
  const canvases = await page.locator('.plot canvas').all();
  assert.equal(canvases.length, 4 + 1 + 2 + 2 + 1 + 2);  // curves, rates and diagnostics of the two sections
  for (const canvas of canvases) assert.equal(await isBlank(canvas), false);
  for (const chart of [figure(page, 'mnist-paper', 'test_accuracy'), figure(page, 'protein-paper', 'test_loss'),
    figure(page, 'protein-paper', 'test_loss', 'rates'), figure(page, 'mnist-paper', 'eps_dominated', 'diagnostics')]) {
    for (const [color, count] of Object.entries(await pixels(chart, [green, purple]))) assert.ok(count > 50, `${color}: ${count} pixels`);
  }
  await close();
});

test('charts are drawn when they come near the window, not before', async () => {
  const {page, close} = await openReport(browser, realisticReport());
  await figure(page, 'mnist-paper', 'train_loss').locator('canvas').waitFor();
  assert.equal(await figure(page, 'protein-paper', 'train_loss').locator('canvas').count(), 0);
  await close();
});

test('tables show the data, numbers aligned right', async () => {
  const study = realisticReport();
  const {page, close} = await openReport(browser, study);
  const {rows} = study.sections[1].summary[1];
  const table = page.locator('#protein-paper .summary table');
  const shown = await table.locator('tr').evaluateAll((lines) => lines.map((line) => [...line.children].map((cell) => cell.textContent)));
  assert.deepEqual(shown, rows);
  const sides = await table.locator('tbody tr').first().locator('th, td').evaluateAll((cells) => cells.map((cell) => getComputedStyle(cell).textAlign));
  assert.deepEqual(sides, ['left', 'right', 'right', 'right', 'right', 'right', 'right', 'left', 'right']);
  await close();
});

test('the heat map shows the stability in words, too', async () => {
  const study = realisticReport();
  const {page, close} = await openReport(browser, study);
  for (const {id, optimizers} of study.sections) {
    const lines = await page.locator(`[id="${id}-stability"] tbody tr`).evaluateAll((all) => all.map((line) => [...line.children].map((cell) => cell.textContent)));
    optimizers.forEach(({name, rates, picked}, i) => {
      assert.equal(lines[i][0], name);
      rates.forEach(({stability, largest_gradient}, k) => {
        assert.ok(lines[i][k + 1].includes(stability), lines[i][k + 1]);
        assert.ok(lines[i][k + 1].includes(`max ${largest_gradient.toLocaleString('en')}`), lines[i][k + 1]);
        assert.equal(lines[i][k + 1].includes('picked'), k === picked);
      });
    });
  }
  await close();
});

test('a run opens to its result and configuration; a damaged one is listed with its problem', async () => {
  const study = realisticReport();
  const {page, close} = await openReport(browser, study);
  assert.match(await page.locator('.notice').textContent(), /runs\/old: study.json is damaged/);
  assert.match(await page.locator('#mnist-paper .broken').textContent(), /failed mnist-adam-lr0\.003-seed7: run\.json is damaged/);
  const group = page.locator('#mnist-paper .group-of-runs').first();
  await group.locator('> summary').click();
  const run = group.locator('.run').first();
  assert.equal(await run.locator('pre').count(), 0);  // not built before it is opened
  await run.locator('> summary').click();
  assert.equal(await run.locator('pre').textContent(), study.sections[0].runs[0].config);
  assert.match(await run.locator('dl').first().textContent(), /peak memory bytes613,416,960/);
  await close();
});

test('hostile strings are shown, never executed', async () => {
  const {page, complaints, requests, close} = await openReport(browser, hostileReport());
  await drawAll(page);
  for (const summary of await page.locator('.group-of-runs > summary').all()) await summary.click();
  await page.locator('.run > summary').first().click();
  assert.equal(await page.evaluate(() => window.attacked), undefined);
  assert.equal(await page.locator('body img, body script:not(#data):not(#data ~ script)').count(), 0);
  for (const place of ['h1', '#mnist-paper > h2', '.legend button >> nth=0', '.summary td >> nth=0', '.run-name >> nth=0', '.run pre', '.notice li', 'nav a >> nth=0', '.commands']) {
    assert.ok((await page.locator(place).first().textContent()).includes(attack), place);
  }
  assert.deepEqual(complaints, []);
  assert.deepEqual(requests, []);
  await close();
});

for (const [name, document] of Object.entries(oddReports())) {
  test(`odd data: ${name}`, async () => {
    const {page, complaints, close} = await openReport(browser, document);
    await drawAll(page);
    for (const button of await page.locator('main button').all()) if (await button.isVisible()) await button.click();
    for (const summary of await page.locator('summary').all()) if (await summary.isVisible()) await summary.click();
    assert.ok((await page.locator('h1').textContent()).length > 0);
    assert.deepEqual(complaints, []);
    await close();
  });
}

test('a file without data shows an error', async () => {
  const {page, complaints, close} = await open(browser, new URL('../dist/report.html', import.meta.url).href);
  assert.match(await page.locator('.notice').textContent(), /damaged or missing/);
  assert.deepEqual(complaints, []);
  await close();
});

test('light and dark: the system\'s theme is the default, the button changes it', async () => {
  const {page, close} = await openReport(browser, realisticReport(), {colorScheme: 'dark'});
  const chart = figure(page, 'mnist-paper', 'train_loss');
  const background = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  assert.equal(await background(), 'rgb(20, 23, 26)');
  const dark = await pixels(chart, [green, darkGreen]);
  assert.ok(dark[darkGreen] > 50 && dark[green] === 0, JSON.stringify(dark));
  await page.locator('#theme').click();
  assert.equal(await background(), 'rgb(251, 251, 249)');
  const light = await pixels(chart, [green, darkGreen]);
  assert.ok(light[green] > 50 && light[darkGreen] === 0, JSON.stringify(light));
  await close();
});

test('text has the contrast of WCAG AA in both themes', async () => {
  for (const colorScheme of ['light', 'dark']) {
    const {page, close} = await openReport(browser, realisticReport(), {colorScheme});
    for (const summary of await page.locator('.group-of-runs > summary').all()) await summary.click();
    await page.locator('.run > summary').first().click();
    const poor = await page.evaluate(() => {
      const parse = (color) => color.match(/[\d.]+/g).map(Number);
      const luminance = ([r, g, b]) => [r, g, b].map((v) => v / 255).map((v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4))
        .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
      const behind = (element) => {
        for (let e = element; e; e = e.parentElement) {
          const color = parse(getComputedStyle(e).backgroundColor);
          if (color[3] !== 0) return color;
        }
      };
      return [...document.body.querySelectorAll('*')].filter((e) => e.checkVisibility() && [...e.childNodes].some((n) => n.nodeType === 3 && n.data.trim())).flatMap((e) => {
        const [a, b] = [luminance(parse(getComputedStyle(e).color)), luminance(behind(e))].sort((x, y) => y - x);
        const contrast = (a + 0.05) / (b + 0.05);
        return contrast < 4.5 ? [`${e.tagName}.${e.className} ${contrast.toFixed(2)} ${e.textContent.slice(0, 30)}`] : [];
      });
    });
    assert.deepEqual(poor, [], colorScheme);
    await close();
  }
});

test('no horizontal scroll at 380 px', async () => {
  for (const document of [realisticReport(), hostileReport()]) {
    const {page, close} = await openReport(browser, document, {viewport: {width: 380, height: 800}});
    await drawAll(page);
    for (const summary of await page.locator('.group-of-runs > summary').all()) await summary.click();
    await page.locator('.run > summary').first().click();
    assert.ok(await page.evaluate(() => document.documentElement.scrollWidth) <= 380);
    assert.ok((await pixels(figure(page, 'protein-paper', 'test_loss'), [red]))[red] > 50 || document.title.includes(attack));
    await close();
  }
});

test('printing: light, every chart, runs open, no controls; then as before', async () => {
  const {page, complaints, close} = await openReport(browser, realisticReport(), {colorScheme: 'dark'});
  await page.emulateMedia({media: 'print', colorScheme: 'dark'});
  const last = figure(page, 'protein-paper', 'grad_inf_norm', 'diagnostics');
  await last.locator('canvas').waitFor();
  assert.ok((await pixels(last, [green]))[green] > 50);
  assert.equal(await page.locator('.controls:visible, nav:visible, #theme:visible').count(), 0);
  assert.equal(await page.locator('.group-of-runs:not([open])').count(), 0);
  await page.emulateMedia({media: 'screen', colorScheme: 'dark'});
  await page.waitForFunction(() => !document.querySelector('.group-of-runs[open]'));
  assert.ok((await pixels(last, [darkGreen]))[darkGreen] > 50);
  assert.ok((await page.pdf()).length > 50000);
  assert.deepEqual(complaints, []);
  await close();
});
