// A report written by the program: LEHI_REPORT_HTML=FILE.
import assert from 'node:assert/strict';
import {resolve} from 'node:path';
import {test} from 'node:test';
import {pathToFileURL} from 'node:url';
import {drawAll, isBlank, launch, open} from './browser.mjs';

const file = process.env.LEHI_REPORT_HTML;

test('the given report opens without warnings or requests, and draws its charts', {skip: !file && 'no LEHI_REPORT_HTML'}, async () => {
  const browser = await launch();
  try {
    const {page, complaints, requests} = await open(browser, pathToFileURL(resolve(file)).href);
    await drawAll(page);
    const canvases = await page.locator('.plot canvas').all();
    assert.ok(canvases.length > 0, 'no chart');
    for (const canvas of canvases) assert.equal(await isBlank(canvas), false);
    assert.ok(await page.locator('.study > h2').count() > 0, 'no section');
    await page.setViewportSize({width: 380, height: 800});
    assert.ok(await page.evaluate(() => document.documentElement.scrollWidth) <= 380);
    assert.deepEqual(complaints, []);
    assert.deepEqual(requests, []);
  } finally {
    await browser.close();
  }
});
