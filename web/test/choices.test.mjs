// The controls of the charts, by mouse and by keyboard.
import assert from 'node:assert/strict';
import {after, before, test} from 'node:test';
import {drawing, figure, launch, openReport, pixels} from './browser.mjs';
import {realisticReport} from './fixture.mjs';

const green = '#15803d';
const red = '#cf2f36';

let browser, opened, page, chart;
before(async () => (browser = await launch()));
after(() => browser.close());

// Each begins with a fresh page and the training loss of mnist.
const withPage = (name, body) => test(name, async () => {
  opened = await openReport(browser, realisticReport(), {colorScheme: 'light'});
  page = opened.page;
  chart = figure(page, 'mnist-paper', 'train_loss');
  await body();
  assert.deepEqual(opened.complaints, []);
  await opened.close();
});

const button = (name) => page.locator('#mnist-paper').getByRole('button', {name, exact: true}).first();

async function drag(from, to) {
  const box = await chart.locator('.u-over').boundingBox();
  await page.mouse.move(box.x + box.width * from, box.y + box.height / 2);
  await page.mouse.down();
  await page.mouse.move(box.x + box.width * to, box.y + box.height / 2, {steps: 5});
  await page.mouse.up();
  await page.mouse.move(0, 0);
}

withPage('a button of the legend hides its optimizer in every chart, and shows it again', async () => {
  const rates = figure(page, 'mnist-paper', 'validation_accuracy', 'rates');
  assert.ok((await pixels(rates, [red]))[red] > 0);
  const before = await drawing(chart);
  await button('adam').click();
  assert.equal(await button('adam').getAttribute('aria-pressed'), 'false');
  assert.notEqual(await drawing(chart), before);
  assert.equal((await pixels(chart, [red]))[red], 0);
  assert.equal((await pixels(rates, [red]))[red], 0);
  assert.ok((await pixels(chart, [green]))[green] > 50);
  await button('adam').click();
  assert.equal(await drawing(chart), before);
});

withPage('the x axis: steps, epochs, seconds, passes', async () => {
  const seen = new Set();
  for (const name of ['steps', 'epochs', 'seconds', 'passes']) {
    await button(name).click();
    assert.equal(await button(name).getAttribute('aria-pressed'), 'true');
    seen.add(await drawing(chart));
  }
  assert.equal(seen.size, 4);
});

withPage('linear and log, for losses only', async () => {
  const accuracy = figure(page, 'mnist-paper', 'test_accuracy');
  const before = [await drawing(chart), await drawing(accuracy)];
  await button('log').click();
  assert.notEqual(await drawing(chart), before[0]);
  assert.equal(await drawing(accuracy), before[1]);
  await button('linear').click();
  assert.equal(await drawing(chart), before[0]);
});

withPage('first epochs, single seeds, last tenth', async () => {
  const before = await drawing(chart);
  for (const name of ['first 2 epochs', 'single seeds', 'last tenth']) {
    await button(name).click();
    assert.notEqual(await drawing(chart), before, name);
    await button(name).click();
    assert.equal(await drawing(chart), before, name);
  }
});

withPage('zoom by dragging, in all curves of the section; reset by button and by double click', async () => {
  const other = figure(page, 'mnist-paper', 'test_loss');
  const before = [await drawing(chart), await drawing(other)];
  await chart.scrollIntoViewIfNeeded();
  await drag(0.5, 0.8);
  assert.notEqual(await drawing(chart), before[0]);
  assert.notEqual(await drawing(other), before[1]);
  await button('reset zoom').click();
  assert.equal(await drawing(chart), before[0]);
  await chart.scrollIntoViewIfNeeded();
  await drag(0.2, 0.4);
  assert.notEqual(await drawing(chart), before[0]);
  await chart.locator('.u-over').dblclick();
  await page.mouse.move(0, 0);
  assert.equal(await drawing(chart), before[0]);
  assert.equal(await drawing(other), before[1]);
});

withPage('another rate, all rates', async () => {
  const select = page.locator('#mnist-paper .legend select').first();
  const before = await drawing(chart);
  await select.selectOption('0.001');
  const other = await drawing(chart);
  assert.notEqual(other, before);
  await select.selectOption('all');
  assert.notEqual(await drawing(chart), other);
  await select.selectOption('picked');
  assert.equal(await drawing(chart), before);
});

withPage('scores near the best', async () => {
  const rates = figure(page, 'mnist-paper', 'validation_accuracy', 'rates');
  const before = await drawing(rates);
  await button('near the best').click();
  assert.notEqual(await drawing(rates), before);
});

withPage('the tooltip shows the smoothed mean of the seeds', async () => {
  const {runs, optimizers, smoothing, cut_epochs} = realisticReport().sections[0];
  const own = optimizers.find(({name}) => name === 'adam');
  const seeds = own.rates[own.picked].runs.map((i) => runs[i].series);
  let level = null;
  seeds[0].epoch.forEach((epoch, i) => {
    if (epoch <= cut_epochs) return;
    const mean = seeds.reduce((sum, series) => sum + series.train_loss[i], 0) / seeds.length;
    level = level === null ? mean : smoothing * mean + (1 - smoothing) * level;
  });
  await chart.scrollIntoViewIfNeeded();
  const box = await chart.locator('.u-over').boundingBox();
  await page.mouse.move(box.x + box.width - 2, box.y + 50);
  const tip = chart.locator('.tip');
  await tip.waitFor();
  assert.equal(await tip.locator('.tip-at').textContent(), 'epoch 25');
  assert.equal(await tip.locator('.tip-row', {hasText: 'adam · '}).locator('.number').textContent(), level.toFixed(4));
});

withPage('by keyboard: skip link, legend, controls, folds, with a visible focus', async () => {
  const focused = () => page.evaluate(() => document.activeElement.textContent);
  const tabTo = async (text) => {
    for (let i = 0; i < 80; ++i) {
      if ((await focused()) === text) return;
      await page.keyboard.press('Tab');
    }
    assert.fail(`${text} is not reached`);
  };
  await page.keyboard.press('Tab');
  assert.equal(await focused(), 'Skip to the results');
  await page.keyboard.press('Enter');
  assert.equal(await page.evaluate(() => document.activeElement.id), 'content');
  const before = await drawing(chart);
  await tabTo('lehibrid');
  const outline = await page.evaluate(() => getComputedStyle(document.activeElement).outline);
  assert.match(outline, /solid 2px/);
  await page.keyboard.press('Space');
  assert.equal(await button('lehibrid').getAttribute('aria-pressed'), 'false');
  assert.notEqual(await drawing(chart), before);
  await tabTo('last tenth');
  await page.keyboard.press('Enter');
  assert.equal(await button('last tenth').getAttribute('aria-pressed'), 'true');
  await page.locator('#mnist-paper .group-of-runs > summary').first().focus();
  await page.keyboard.press('Enter');
  await page.locator('#mnist-paper .run').first().waitFor();
});
