// Takes pictures of pages for inspection: node test/shots.mjs URL-WITH-TOKEN FOLDER PAGE... (dark and light, wide and
// narrow). MOCK=1 invents measured load; UI=FOLDER takes the dashboard from a folder.
import { mkdirSync } from 'node:fs';
import { chromium } from 'playwright-core';
import { files, mock } from './mock.mjs';

const [url, folder, ...pages] = process.argv.slice(2);
mkdirSync(folder, { recursive: true });
const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium', args: ['--no-sandbox'] });
const only = process.env.ONLY?.split(',');
for (const [scheme, width] of [['light', 1440], ['dark', 1440], ['light', 390], ['dark', 390]]) {
  if (only && !only.includes(`${scheme}-${width}`)) continue;
  const context = await browser.newContext({ colorScheme: scheme, viewport: { width, height: width > 1000 ? 900 : 844 } });
  if (process.env.MOCK) await mock(context);
  if (process.env.UI) await files(context, process.env.UI);
  const page = await context.newPage();
  page.on('console', (message) => { if (message.type() === 'error') console.log(`console: ${message.text()}`); });
  page.on('pageerror', (error) => console.log(`error: ${error.message}`));
  await page.goto(url);
  await page.waitForSelector('h1');
  for (const at of pages) {
    await page.evaluate((at) => { location.hash = `#/${at}`; }, at);
    await page.waitForTimeout(1200);
    const wide = await page.evaluate(() => document.documentElement.scrollWidth > document.documentElement.clientWidth);
    if (wide) console.log(`${at} at ${width}: wider than the screen`);
    await page.screenshot({ path: `${folder}/${at.replace(/[^a-z0-9]+/gi, '-') || 'home'}-${scheme}-${width}.png`, fullPage: true });
  }
  await context.close();
}
await browser.close();
