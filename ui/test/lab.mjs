// Opens every page of the dashboard of a running lab, in both sizes and themes: node test/lab.mjs [PICTURES]. The lab is up,
// and `wayleave lab run` sends traffic (root). Fails if a page has an error, or if no measured rate is above zero.
// UI=FOLDER tests the files of a folder in place of the binary's.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { chromium } from 'playwright-core';
import { files } from './mock.mjs';

const pictures = process.argv[2];
const folder = process.env.LAB ?? '/run/wayleave/lab/lab';
const token = readFileSync(join(folder, 'operator.token'), 'utf8').trim();
// Agents log the address of the controller.
const log = process.env.AGENT_LOG ?? 'agent-nvr.log';
const [server] = /http:\/\/127\.0\.0\.1:\d+/.exec(readFileSync(join(folder, log), 'utf8'));
const headers = { authorization: `Bearer ${token}` };
const get = async (path) => (await fetch(`${server}${path}`, { headers })).json();

const { items } = await get('/v1/links?limit=1000');
const measured = items.filter((link) => link.measured !== null && link.measured.rateBps > 0);
const [fullest] = measured.toSorted((one, other) => other.measured.rateBps - one.measured.rateBps);
if (!fullest) throw new Error(`no link of ${items.length} has a measured rate above zero: is \`wayleave lab run\` running?`);
const [talker] = (await get('/v1/traffic?limit=1')).items;
const name = `${talker.contract.tenant}:${talker.contract.name}`;
const ids = [`link/${encodeURIComponent(fullest.id ?? fullest.name)}`, `contract/${encodeURIComponent(name)}`];
const { tenant } = talker.contract;
const pages = ['', 'network', 'traffic', 'contracts', `what-if?fail=${encodeURIComponent(fullest.to)}`, 'alerts', 'timeline', 'agents', 'tenants', `tenant/${tenant}`, 'policies', `statement/${tenant}`, `node/${fullest.from}`, ...ids];

const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium', args: ['--no-sandbox'] });
const faults = [];
for (const colorScheme of ['light', 'dark']) {
  for (const [width, height] of [[1440, 900], [390, 844]]) {
    const context = await browser.newContext({ colorScheme, viewport: { width, height } });
    if (process.env.UI) await files(context, process.env.UI);
    const tab = await context.newPage();
    tab.on('pageerror', (error) => faults.push(`${tab.url()}: ${error.message}`));
    tab.on('console', (message) => message.type() === 'error' && faults.push(`${tab.url()}: ${message.text()}`));
    await tab.goto(`${server}/ui/#token=${token}`);
    await tab.waitForSelector('h1');
    for (const page of pages) {
      await tab.evaluate((page) => { location.hash = `#/${page}`; }, page);
      // The next frame has the new page, which is complete once nothing is loading.
      await tab.waitForTimeout(100);
      await tab.waitForFunction(() => document.querySelector('h1') && !document.body.innerText.includes('Loading '), undefined, { timeout: 30_000 });
      // On a busy machine, reports are late, and rates are unknown for seconds.
      if (page === 'traffic') await tab.waitForFunction(() => / measured on \d/.test(document.body.innerText), undefined, { timeout: 30_000 }).catch(() => undefined);
      const [wide, text] = await tab.evaluate(() => [document.documentElement.scrollWidth > innerWidth, document.body.innerText]);
      if (wide) faults.push(`${page || 'the first page'}: wider than ${width} pixels`);
      if (page === 'traffic' && !/[1-9][\d.]* [kMG]?bit\/s\s+measured/.test(text)) faults.push('traffic: no measured rate');
      if (pictures) await tab.screenshot({ path: join(pictures, `${page.replace(/\W+/g, '-') || 'first'}-${colorScheme}-${width}.png`), fullPage: true });
    }
    await context.close();
  }
}
await browser.close();
console.log(`${measured.length} of ${items.length} links have traffic; ${4 * pages.length} pages, ${faults.length} faults`);
for (const fault of faults) console.log(fault);
process.exitCode = faults.length ? 1 : 0;
