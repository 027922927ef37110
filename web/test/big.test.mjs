// A report of 210 runs with 300 evaluations each opens, draws and stays small. Times are printed, not tested.
import assert from 'node:assert/strict';
import {after, before, test} from 'node:test';
import {drawAll, figure, isBlank, launch, openReport, pixels} from './browser.mjs';
import {bigReport, pageOf} from './fixture.mjs';

let browser;
before(async () => (browser = await launch()));
after(() => browser.close());

test('a large report', async (context) => {
  const study = bigReport();
  assert.equal(study.sections[0].runs.length, 210);
  const size = Buffer.byteLength(pageOf(study));
  assert.ok(size < 8e6, `${size} bytes`);
  const start = Date.now();
  const {page, complaints, close} = await openReport(browser, study, {colorScheme: 'light'});
  const chart = figure(page, 'mnist-paper', 'train_loss');
  assert.ok((await pixels(chart, ['#15803d']))['#15803d'] > 50);
  context.diagnostic(`${(size / 1e6).toFixed(1)} MB, first chart after ${Date.now() - start} ms`);
  const all = Date.now();
  for (const select of await page.locator('.legend select').all()) await select.selectOption('all');
  await page.getByRole('button', {name: 'seconds', exact: true}).click();
  await drawAll(page);
  context.diagnostic(`all rates in all charts after another ${Date.now() - all} ms`);
  for (const canvas of await page.locator('.plot canvas').all()) assert.equal(await isBlank(canvas), false);
  await page.locator('.group-of-runs > summary').first().click();
  await page.locator('.run').first().waitFor();
  assert.equal(await page.locator('.run').count(), 35);
  assert.deepEqual(complaints, []);
  await close();
});
