// Chromium for the tests, and helpers.
import {mkdtempSync, rmSync, writeFileSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {pathToFileURL} from 'node:url';
import {chromium} from 'playwright-core';
import {pageOf} from './fixture.mjs';

export const launch = () => chromium.launch({
  executablePath: process.env.LEHI_CHROMIUM ?? '/usr/bin/chromium',
  args: process.getuid() === 0 ? ['--no-sandbox'] : [],
});

/// A page with its console messages and its requests.
export async function open(browser, url, options = {}) {
  const context = await browser.newContext({viewport: {width: 1280, height: 900}, reducedMotion: 'reduce', ...options});
  const page = await context.newPage();
  const complaints = [];
  const requests = [];
  page.on('console', (message) => ['error', 'warning'].includes(message.type()) && complaints.push(message.text()));
  page.on('pageerror', (error) => complaints.push(String(error)));
  page.on('request', (request) => request.url() !== url && !request.url().startsWith('data:') && requests.push(request.url()));
  await page.goto(url);
  return {page, complaints, requests, close: () => context.close()};
}

/// Opens the document as a report file on disk.
export async function openReport(browser, document, options) {
  const directory = mkdtempSync(join(tmpdir(), 'lehi-web-'));
  const file = join(directory, 'report.html');
  writeFileSync(file, pageOf(document));
  try {
    return await open(browser, pathToFileURL(file).href, options);
  } finally {
    rmSync(directory, {recursive: true});
  }
}

export const figure = (page, section, metric, part = 'curves') => page.locator(`[id="${section}-${part}"] figure[data-metric="${metric}"]`);

// The pixels of a canvas, read from a copy: Chromium warns about reading the canvas itself.
const readCanvas = (canvas) => {
  const copy = new OffscreenCanvas(canvas.width, canvas.height).getContext('2d', {willReadFrequently: true});
  copy.drawImage(canvas, 0, 0);
  return copy.getImageData(0, 0, canvas.width, canvas.height).data;
};

const twoFrames = () => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));

async function drawnCanvas(chart) {
  await chart.scrollIntoViewIfNeeded();
  await chart.locator('canvas').waitFor();
  await chart.page().evaluate(twoFrames);
  return chart.locator('canvas');
}

/// The number of pixels of each colour ("#rrggbb") in a chart, with a small tolerance.
export async function pixels(chart, colors) {
  const data = await (await drawnCanvas(chart)).evaluateHandle(readCanvas);
  return data.evaluate((bytes, names) => Object.fromEntries(names.map((name) => {
    const wanted = [1, 3, 5].map((i) => parseInt(name.slice(i, i + 2), 16));
    let count = 0;
    for (let i = 0; i < bytes.length; i += 4) {
      if (bytes[i + 3] >= 250 && wanted.every((value, c) => Math.abs(value - bytes[i + c]) <= 3)) ++count;
    }
    return [name, count];
  })), colors);
}

/// The drawing as a string, to detect changes.
export const drawing = async (chart) => (await drawnCanvas(chart)).evaluate((canvas) => canvas.toDataURL());

/// Whether a canvas is empty.
export async function isBlank(canvas) {
  const data = await canvas.evaluateHandle(readCanvas);
  return data.evaluate((bytes) => !bytes.some((value) => value !== 0));
}

/// Scrolls to every chart, so that all are drawn.
export async function drawAll(page) {
  for (const chart of await page.locator('.plot').all()) {
    if (!(await chart.isVisible())) continue;
    await chart.scrollIntoViewIfNeeded();
    await chart.locator('canvas').waitFor();
  }
  await page.evaluate(twoFrames);
}
