// Tests the dashboard in a real Chromium, against a controller that this program starts: a tour through every page.
//
//   node test/run.mjs WAYLEAVE            the short form: a small network with contracts of every kind; seconds
//   node test/run.mjs WAYLEAVE --all      also in both colour schemes and both widths
//   node test/run.mjs WAYLEAVE --many     100,000 contracts on 17,280 hosts; prints the time of the first view
//   ONLY=PART,PART runs functions of truth.mjs only.
//   PICTURES=FOLDER saves a picture of every page; UI=FOLDER tests the files of a folder in place of the binary's.
//
// A page fails the tour if the console has an error, axe-core finds a violation, the page is wider than the screen, or
// a quantity has more than four digits. Measured load is invented (mock.mjs) where a test needs known rates.
import { spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { chromium } from 'playwright-core';
import { createServer } from 'vite';
import { files, mock } from './mock.mjs';
import * as truth from './truth.mjs';

const root = resolve(import.meta.dirname, '../..');
const [wayleave, ...options] = process.argv.slice(2);
if (!wayleave || !existsSync(wayleave)) throw new Error('usage: node test/run.mjs WAYLEAVE [--all | --many]');
const isMany = options.includes('--many');
const executablePath = process.env.CHROMIUM ?? ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'].find((path) => existsSync(path));
if (!executablePath) throw new Error('no Chromium: install it (apt-get install chromium), or name it in CHROMIUM');
const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
const pictures = process.env.PICTURES;
if (pictures) mkdirSync(pictures, { recursive: true });

let checks = 0;
const faults = [];
function check(holds, claim) {
  checks += 1;
  if (!holds) {
    faults.push(claim);
    console.error(`FAILED  ${claim}`);
  }
}

/** Starts a controller on a free port, with a token of an operator. */
async function controller(folder, topology, ledger = join(folder, 'ledger.db')) {
  const child = spawn(wayleave, ['serve', '-t', topology, '--ledger', ledger, '--listen', '127.0.0.1:0', '--log-level', 'info'], { stdio: ['ignore', 'ignore', 'pipe'] });
  let log = '';
  const address = await new Promise((done, failed) => {
    child.stderr.on('data', (piece) => {
      log += piece;
      const found = /127\.0\.0\.1:(\d+)/.exec(log.replace(/\u001b\[[0-9;]*m/g, ''));
      if (found && found[1] !== '0') done(`http://${found[0]}`);
    });
    child.on('exit', (code) => failed(new Error(`wayleave serve ended with ${code}:\n${log}`)));
  });
  const token = readFileSync(`${ledger}-operator`, 'utf8').trim();
  const ask = async (method, path, body, type = 'application/json') => {
    const answer = await fetch(address + path, { method, headers: { authorization: `Bearer ${token}`, 'content-type': type }, ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }) });
    const text = await answer.text();
    if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${text.slice(0, 300)}`);
    return text ? JSON.parse(text) : {};
  };
  const end = () => new Promise((done) => {
    if (child.exitCode !== null || child.signalCode !== null) return done();
    child.on('exit', done);
    child.kill('SIGTERM');
  });
  return { address, token, ask, end, pid: child.pid };
}

async function open(browser, { scheme = 'light', width = 1440, isInvented = false } = {}) {
  const context = await browser.newContext({ colorScheme: scheme, viewport: { width, height: width > 1000 ? 900 : 844 } });
  if (isInvented) await mock(context);
  if (process.env.UI) await files(context, process.env.UI);
  const page = await context.newPage();
  page.wrong = [];
  page.on('console', (message) => { if (message.type() === 'error') page.wrong.push(message.text()); });
  page.on('pageerror', (error) => page.wrong.push(error.message));
  return page;
}

/** Waits until a page has its contents. */
async function settle(page) {
  await page.waitForSelector('h1', { timeout: 60_000 });
  await page.waitForFunction(() => !document.body.innerText.includes('Loading '), undefined, { timeout: 120_000 });
}

async function look(page, name, { wrong = 0 } = {}) {
  await settle(page);
  check(page.wrong.length <= wrong, `${name}: nothing is wrong in the console, and there is: ${page.wrong.join('; ')}`);
  page.wrong.length = 0;
  const overflow = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
  check(overflow <= 0, `${name}: it is ${overflow} px wider than the screen`);
  const long = [...(await text(page)).matchAll(/(\d[\d,]*(?:\.\d+)?) (?:[kMGT]?bit\/s|[kMG]?B|ns|us|ms|s)\b/g)].map(([all, number]) => [all, number.replace(/[,.]/g, '').replace(/^0+/, '')]);
  check(long.every(([, digits]) => digits.length <= 4), `${name}: quantities with more than four digits: ${long.filter(([, digits]) => digits.length > 4).map(([all]) => all).join()}`);
  // Names of the API have hyphens where words have spaces.
  const raw = await page.evaluate(() => [...document.querySelectorAll('.badge')].map((one) => one.innerText).filter((text) => /^\W*[a-z]+(-[a-z]+)+$/.test(text)));
  check(raw.length === 0, `${name}: states have names of the API: ${raw.join()}`);
  check(!/not measured of /.test(await text(page)), `${name}: a rate that is not measured is no part of another`);
  // Injected from outside, since the page allows no scripts but its own.
  const found = await page.evaluate(`(() => { ${axe}; return axe.run(document, { runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'best-practice'] }); })()`);
  for (const { id, help, nodes } of found.violations) check(false, `${name}: ${id}: ${help}: ${nodes.slice(0, 3).map((node) => node.html.slice(0, 120)).join(' | ')}`);
  if (process.env.TIMES) console.log(`${Math.round(performance.now())} ms ${name}`);
  if (pictures) await page.screenshot({ path: join(pictures, `${name.replace(/[^a-z0-9]+/gi, '-')}.png`), fullPage: true });
}

async function go(page, at) {
  await page.evaluate((at) => { location.hash = at; }, at);
  // Waits one frame, so that the previous contents are not inspected.
  await page.waitForTimeout(100);
}

async function text(page) {
  return page.evaluate(() => document.querySelector('main')?.innerText ?? '');
}

/** Waits until the page contains the words. */
async function says(page, words, claim) {
  const there = await page.waitForFunction((words) => document.body.innerText.includes(words), words, { timeout: 30_000 }).then(() => true, () => false);
  check(there, `${claim} ("${words}")`);
}

/** Functions of formats, without a page. */
async function formats() {
  const vite = await createServer({ root: join(root, 'ui'), server: { middlewareMode: true }, appType: 'custom', logLevel: 'error', optimizeDeps: { noDiscovery: true } });
  const format = await vite.ssrLoadModule('/src/format.ts');
  const { bitrate, quantity, rate, ticks } = format;
  truth.sums({ check }, await vite.ssrLoadModule('/src/sum.ts'), format);
  await vite.close();
  check(quantity('6.71343228Gbit') === '6.714 Gbit/s', `a reserved rate has four digits and is rounded up: ${quantity('6.71343228Gbit')}`);
  check(quantity('6.71343228Gbit', Math.floor) === '6.713 Gbit/s', `a limit is rounded down: ${quantity('6.71343228Gbit', Math.floor)}`);
  check(quantity('10000Mbit') === '10 Gbit/s' && quantity('1500Mbit') === '1500 Mbit/s', 'a rate of at most four digits is shown as it was given');
  check(quantity('12345ns') === '12.35 us' && quantity('12.3456kB') === '12.35 kB', `times and sizes have four digits, too: ${quantity('12345ns')}, ${quantity('12.3456kB')}`);
  check(quantity(undefined) === '' && quantity('1h30m') === '1h30m', 'other text stays');
  check(bitrate('1.5Gbit') === 1.5e9 && bitrate('1.5GB') === undefined, 'a size is no rate');
  check(rate(999_999_999) === '1,000 Mbit/s', `rates are rounded within their unit: ${rate(999_999_999)}`);
  const labels = ticks(Array.from({ length: 7 }, (_, at) => 1_700_000_000 + at));
  check(new Set(labels).size === 7, `no two ticks have the same label: ${labels.join()}`);
  check(labels.filter((label) => label.includes('\n')).length === 1, `only the first one has the date: ${labels.join()}`);
}

/** Parts of truth.mjs. */
const TRUTH = ['prediction', 'follower', 'partial', 'statements', 'agents', 'addresses', 'longNames', 'silence', 'reasons', 'names'];

async function small(browser, folder) {
  await formats();
  const server = await controller(folder, join(root, 'docs/examples/network-fabric.yaml'));
  try {
    for (const tenant of ['plant', 'shop', 'web']) await server.ask('PUT', `/v1/tenants/${tenant}`, {});
    await server.ask('POST', '/v1/apply', readFileSync(join(root, 'docs/examples/contracts-fabric.yaml'), 'utf8'), 'application/yaml');
    await server.ask('PUT', '/v1/policies/fabric', readFileSync(join(root, 'docs/examples/policy-fabric.yaml'), 'utf8'), 'application/yaml');
    for (const role of ['tenant', 'reader']) {
      server[role] = (await server.ask('POST', '/v1/tokens', role === 'tenant' ? { role, tenant: 'plant' } : { role })).secret;
    }
    if (process.env.ONLY) {
      for (const part of process.env.ONLY.split(',')) await truth[part]({ browser, open, go, says, text, check, look, settle }, server);
      return;
    }
    const link = encodeURIComponent('leaf2->h8');
    const pages = ['#/', '#/?level=ok', '#/network', '#/network/switch%3Aleaf1', '#/traffic', '#/traffic?tenant=plant', '#/contracts', '#/contracts?kind=bandwidth&sort=rate&order=desc', '#/contract/plant%3Arobot', '#/contract/shop%3Adb', '#/contract/default%3Abulk',
      `#/link/${link}`, '#/node/leaf1', '#/node/h1', '#/what-if', '#/what-if?fail=spine1', '#/alerts', '#/statement', '#/statement/plant', '#/timeline', '#/timeline/3', '#/agents', '#/tenants', '#/tenant/plant', '#/policies', '#/nothing'];
    // Two of the four pairs cover both schemes and both widths; all of them take twice as long.
    const all = [['light', 1440], ['dark', 390], ['dark', 1440], ['light', 390]];
    for (const [scheme, width] of options.includes('--all') ? all : all.slice(0, 2)) {
      const page = await open(browser, { scheme, width });
      await page.goto(`${server.address}/ui/#token=${server.token}`);
      for (const at of pages) {
        await go(page, at);
        await look(page, `${at} ${scheme} ${width}`);
        // Without agents the controller marks rules as enforced.
        if (at === '#/statement/plant') check(/Kept\s+unknown/.test(await text(page)) && /Broken\s+unknown/.test(await text(page)), `minutes that nobody observed are unknown, not 0: ${(await text(page)).slice(0, 400)}`);
        if (at.startsWith('#/link/') || at.startsWith('#/traffic')) check(/not measured/i.test(await text(page)) && !/0 bit\/s measured/.test(await text(page)), `${at}: load that no agent counts is not 0`);
        if (at === '#/tenant/plant') check(!(await text(page)).includes('the sum is of the others') && (await page.locator('.chart').count()) === 0, `${at}: without a measurement there is no chart, and no sum`);
        if (at === '#/traffic') check(!(await text(page)).includes('rates of contracts of which all hosts report'), `${at}: reserved bands are not explained as measured ones`);
        if (at.startsWith('#/link/') && width === 390) check((await text(page)).includes('Queue 2'), `${at}: a card of a queue names the queue`);
        if (at === '#/agents') check(!(await text(page)).includes('confirmed'), 'nothing is confirmed where no agent is');
      }
      await page.context().close();
    }
    for (const [scheme, width] of options.includes('--all') ? all : all.slice(0, 2)) await measured(browser, server, scheme, width);
    await contracts(browser, server);
    await signIn(browser, server);
    await early(browser, server);
    await live(browser, server);
    await question(browser, server);
    await past(browser, server);
    await tenant(browser, server);
    const tools = { browser, open, go, says, text, check, look, settle };
    for (const part of TRUTH) await truth[part](tools, server);
    await troubles(browser, server);
  } finally {
    await server.end();
    console.log(`the dashboard: ${checks} checks, ${faults.length} failed`);
  }
}

/** Pages with invented rates: measured rates beside reserved ones, and unknown where nothing is measured. */
async function measured(browser, server, scheme, width) {
  const page = await open(browser, { scheme, width, isInvented: true });
  await page.goto(`${server.address}/ui/#token=${server.token}`);
  const visit = async (at) => {
    await go(page, at);
    await look(page, `measured ${at} ${scheme} ${width}`);
    return text(page);
  };
  const first = await visit('#/');
  check(first.includes('2 alerts firing') && first.includes('changed repeatedly'), 'the first page names alerts that fire');
  check(/None: no guarantee is violated/.test(first), 'a contract with a margin needs no attention');
  check(first.includes('502.1 Mbit/s, 500 Mbit/s reserved'), 'top talkers have their reserved rate beside the measured one');
  await visit('#/network');
  const drawn = await page.evaluate(() => {
    const [lines, names] = [[...document.querySelectorAll('.lines .line')], [...document.querySelectorAll('.tier-name')]].map((all) => all.map((one) => one.getBoundingClientRect()));
    const crosses = (a, b) => a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom;
    const clipped = [...document.querySelectorAll('.cell-name, .cell-line')].filter((one) => one.scrollWidth > one.clientWidth || one.scrollHeight > one.clientHeight + 2).map((one) => one.textContent);
    return { lines: lines.length, unknown: document.querySelectorAll('.lines .line.unknown').length, crossed: names.some((name) => lines.some((line) => crosses(line, name))), clipped };
  });
  check(drawn.lines >= 6, `the network has lines at ${width}: ${drawn.lines}`);
  check(drawn.unknown > 0, 'a link that is not measured has its own line');
  check(!drawn.crossed, `no line crosses the name of a tier at ${width}`);
  check(drawn.clipped.length === 0, `names of blocks are complete at ${width}: ${drawn.clipped.join()}`);
  const traffic = await visit('#/traffic');
  check(traffic.includes('≥') || width < 620, 'a sum with an unknown part is a lower limit');
  const flows = await page.evaluate(() => {
    const labels = [...document.querySelectorAll('.sankey a text')].map((one) => ({ text: one.textContent, box: one.getBoundingClientRect() }));
    const tenants = labels.filter(({ text }) => text.startsWith('tenant-'));
    const overlaps = tenants.filter((one, at) => tenants.some((other, to) => to > at && Math.abs(one.box.top - other.box.top) < 11)).map(({ text }) => text);
    const outside = labels.filter(({ box }) => box.left < 0 || box.right > document.documentElement.clientWidth).map(({ text }) => text);
    return { tenants: tenants.length, overlaps, outside };
  });
  check(flows.tenants === 20, `the flow view has all 20 tenants: ${flows.tenants}`);
  check(flows.overlaps.length === 0 && flows.outside.length === 0, `its labels do not overlap, and are on the screen: ${JSON.stringify(flows)}`);
  const thick = await page.evaluate(() => [...document.querySelectorAll('.band:not(.unknown)')].filter((one) => getComputedStyle(one).stroke !== 'none' || !one.getAttribute('d').endsWith('Z')).length);
  check(thick === 0, `bands are outlines between their nodes, not thick lines: ${thick}`);
  await page.click('text=Flows as a table');
  check((await page.locator('table').last().locator('tbody tr').count()) === 56, 'the table has all flows');
  check((await text(page)).includes('not measured'), 'a flow that is not measured is unknown in the table');
  const link = await visit('#/link/leaf2-%3Eh8');
  check(link.includes('by the sender') && link.includes('Gaps are unknown'), 'a link has its counter and its history');
  const charts = await page.evaluate(() => [...document.querySelectorAll('.chart')].map((one) => one.getAttribute('aria-label')));
  check(charts.some((label) => label.startsWith('Measured and reserved rate of leaf2->h8')), `a chart has its values in words: ${charts.join()}`);
  await page.click('text=Values as a table');
  check(/not measured/.test(await page.locator('details table').first().innerText()), 'a gap is unknown in the table');
  check((await visit('#/contract/plant%3Arobot')).includes('18.3 Mbit/s, 20 Mbit/s reserved'), 'a contract has its measured and its reserved rate');
  check((await visit('#/tenants')).includes('not measured'), 'a tenant without reports is not measured');
  check((await visit('#/tenant/plant')).includes('520.4 Mbit/s, 520 Mbit/s reserved'), 'a tenant has its measured rate');
  const statement = await visit('#/statement/plant');
  check(statement.includes('25 min') && statement.includes('cut by an excavator') && statement.includes('not yet over') && /before the record began on \d{4}-\d\d-02 00:00/.test(statement), 'a statement has minutes, events, and the reasons of what is not recorded');
  check((await visit('#/alerts')).includes('a controller cannot observe its own absence'), 'a rule that the controller cannot evaluate is unknown, with the reason');
  const [file] = await Promise.all([page.waitForEvent('download'), go(page, '#/statement/plant').then(() => page.click('text=Save as CSV'))]);
  check(file.suggestedFilename().startsWith('statement-plant-'), `a statement is saved: ${file.suggestedFilename()}`);
  await page.context().close();
}

/** Filters, order and CSV file of the list of contracts. */
async function contracts(browser, server) {
  const page = await open(browser);
  await page.goto(`${server.address}/ui/#token=${server.token}`);
  await go(page, '#/contracts');
  await settle(page);
  const names = () => page.locator('tbody th').allInnerTexts();
  const until = (list, claim) => page.waitForFunction((list) => [...document.querySelectorAll('tbody th')].map((one) => one.innerText).join() === list, list, { timeout: 30_000 }).then(() => check(true, claim), async () => check(false, `${claim}: ${(await names()).join()}`));
  await page.click('th button:has-text("Proven")');
  await page.waitForFunction(() => location.hash.includes('sort=bound') && location.hash.includes('order=desc'));
  await page.waitForFunction(() => document.querySelector('tbody th')?.innerText === 'plant:camera', undefined, { timeout: 30_000 }).then(() => check(true, 'sorted'), async () => check(false, `the list is sorted by its bound: ${(await names()).join()}`));
  check((await page.locator('th[aria-sort="descending"]').innerText()).startsWith('Proven'), 'the head of the column has the order');
  await page.click('th button:has-text("Proven")');
  await page.waitForFunction(() => location.hash.includes('order=asc'));
  await go(page, '#/contracts');
  await page.getByLabel('Host', { exact: true }).fill('h7');
  await page.keyboard.press('Enter');
  await until('default:bulk,shop:copy', 'a host filters contracts');
  check(await page.evaluate(() => location.hash.includes('host=h7')), 'the address has the filter');
  const shared = await open(browser);
  await shared.goto(`${server.address}/ui/#token=${server.token}`);
  await go(shared, await page.evaluate(() => location.hash));
  await shared.waitForFunction(() => document.querySelectorAll('tbody tr').length === 2, undefined, { timeout: 30_000 }).then(() => check(true, 'shared'), () => check(false, 'an address with a filter can be shared'));
  await shared.context().close();
  await page.click('text=Clear filters');
  await page.waitForFunction(() => document.querySelectorAll('tbody tr').length === 7);
  await page.getByLabel('Tenant', { exact: true }).fill('pla');
  await page.waitForSelector('[role=option]');
  await page.keyboard.press('ArrowDown');
  await page.keyboard.press('Enter');
  check((await page.getByLabel('Tenant', { exact: true }).inputValue()) === 'plant', 'a suggestion is chosen with the keyboard');
  await until('plant:camera,plant:robot', 'a tenant filters contracts');
  await look(page, 'filtered contracts');
  const [file] = await Promise.all([page.waitForEvent('download'), page.click('text=Save as CSV')]);
  const lines = readFileSync(await file.path(), 'utf8').trim().split(/\r?\n/);
  check(file.suggestedFilename() === 'contracts.csv' && lines.length === 3 && lines[1].includes('plant:camera'), `the filtered list is saved as CSV: ${lines.join(' | ')}`);
  await page.context().close();
}

async function signIn(browser, server) {
  const page = await open(browser);
  await page.goto(`${server.address}/ui/`);
  // A request without a token is one line in the console.
  await look(page, 'sign in', { wrong: 1 });
  await page.keyboard.type('wl_wrong');
  await page.keyboard.press('Enter');
  await says(page, 'unknown token', 'a wrong token is refused in words');
  await says(page, 'Sign-in failed', 'and it is a sign-in that failed');
  check(!(await page.evaluate(() => document.body.innerText)).includes('Signed out'), 'nobody was signed out by it');
  page.wrong.length = 0;
  await page.fill('input', server.token);
  await page.keyboard.press('Enter');
  await says(page, 'Live', 'a good token opens the page');
  check(!(await page.evaluate(() => document.cookie + JSON.stringify(localStorage) + location.href)).includes('wl_'), 'the token is in no cookie, no address and nothing that outlives the tab');
  // With the keyboard alone: to the content, to the menu, along it, and in.
  await page.keyboard.press('Tab');
  check((await page.evaluate(() => document.activeElement.textContent)) === 'Skip to content', 'the first stop of the keyboard leads to the content');
  await page.focus('nav a[href="#/network"]');
  await page.keyboard.press('Enter');
  const hasFocus = await page.waitForFunction(() => document.activeElement.id === 'main', undefined, { timeout: 30_000 }).then(() => true, () => false);
  check(hasFocus, 'a page that is opened has the focus');
  await page.waitForSelector('a.cell');
  await page.focus('a.cell');
  await page.keyboard.press('Enter');
  await page.waitForSelector('.crumbs');
  await page.click('text=Sign out');
  await says(page, 'Token', 'who signs out is asked for a token');
  check((await page.evaluate(() => sessionStorage.length)) === 0, 'the token is forgotten');
  await page.context().close();
}

/** A change of the address during the first rendering is not missed. */
async function early(browser, server) {
  const page = await open(browser);
  // After the first rendering, before it is painted.
  await page.addInitScript(() => {
    const drawn = new MutationObserver(() => {
      if (!document.getElementById('main')) return;
      drawn.disconnect();
      location.hash = '#/tenants';
    });
    drawn.observe(document, { childList: true, subtree: true });
  });
  await page.goto(`${server.address}/ui/#token=${server.token}`);
  const title = await page.waitForFunction(() => document.querySelector('h1')?.innerText === 'Tenants', undefined, { timeout: 30_000 }).then(() => true, () => false);
  check(title, 'an address that changes while the first page is drawn is followed');
  await page.context().close();
}

async function live(browser, server) {
  const page = await open(browser);
  await page.goto(`${server.address}/ui/#token=${server.token}`);
  await says(page, 'guarantees admitted; no agent enforces them', 'the first view says that nothing is broken, and that nobody enforces anything');
  await says(page, 'Live', 'it is live');
  await server.ask('PUT', '/v1/links/h1-%3Eleaf1/state', { state: 'down', reason: 'cut by an excavator' });
  await says(page, '2 guarantees of 6 are violated or lost', 'what breaks is said without being asked');
  await says(page, 'cut by an excavator', 'with the reason');
  await says(page, 'no bound now, deadline 1 ms', 'a lost contract still has its deadline');
  check((await page.locator('.notice a[href="#/link/h1-%3Eleaf1"]').count()) === 1, 'a link that is down leads to its page');
  await look(page, 'broken promises');
  await go(page, '#/network');
  await look(page, 'a network with a link down');
  await server.ask('PUT', '/v1/links/h1-%3Eleaf1/state', { state: 'up' });
  await go(page, '#/');
  await says(page, 'guarantees admitted', 'and what is kept again as well');
  await page.context().close();
}

async function question(browser, server) {
  const page = await open(browser);
  await page.goto(`${server.address}/ui/#token=${server.token}`);
  await go(page, '#/what-if?fail=leaf2');
  await says(page, 'would be lost', 'a failure that breaks promises is said to');
  await look(page, 'what if leaf2 fails');
  await page.goto(`${server.address}/ui/#/what-if`);
  await page.fill('input.wide', 'h1->nowhere');
  await page.click('button.main');
  await says(page, 'no such link', 'an unknown link is named as one');
  await says(page, 'h1->nowhere', 'with its name');
  await says(page, 'Check the names', 'and with advice');
  page.wrong.length = 0;
  // The first letters and the keyboard are sufficient.
  await page.fill('input.wide', 'spi');
  await page.waitForSelector('[role=option]');
  await look(page, 'what if with suggestions');
  await page.keyboard.press('ArrowDown');
  check((await page.evaluate(() => document.getElementById(document.activeElement.getAttribute('aria-activedescendant'))?.innerText ?? '')).startsWith('spine1'), 'an arrow key chooses the first suggestion');
  await page.keyboard.press('Enter');
  check((await page.inputValue('input.wide')) === 'spine1 ', `Enter accepts it: ${await page.inputValue('input.wide')}`);
  await page.keyboard.press('Escape');
  await page.keyboard.press('Enter');
  await says(page, 'If spine1 failed', 'Enter runs the question');
  check((await page.evaluate(() => location.hash)) === '#/what-if?fail=spine1', 'the address has the question');
  await page.fill('input.wide', '');
  // Suggestions would cover the check box.
  await page.keyboard.press('Escape');
  await page.check('input[type=checkbox]');
  for (const [label, value] of [['From', 'h1'], ['To', 'h5'], ['Deadline', '1us']]) await page.getByLabel(label, { exact: true }).fill(value);
  await page.click('button.main');
  await says(page, '1 contract would be refused', 'a contract that does not fit is refused');
  await page.getByLabel('Deadline', { exact: true }).fill('50ms');
  await page.click('button.main');
  await says(page, '1 contract would be admitted', 'one that fits is admitted');
  const shared = await open(browser);
  await shared.goto(`${server.address}/ui/#token=${server.token}`);
  await go(shared, await page.evaluate(() => location.hash));
  await says(shared, '1 contract would be admitted', 'an address with a contract asks the question again');
  check((await shared.getByLabel('Deadline', { exact: true }).inputValue()) === '50ms', 'and fills the form');
  await shared.context().close();
  await look(page, 'what if a contract were added');
  const known = await server.ask('GET', '/v1/contracts?text=try');
  check(known.items.length === 0, 'and nothing was changed');
  await page.context().close();
}

async function past(browser, server) {
  const page = await open(browser);
  await page.goto(`${server.address}/ui/#token=${server.token}`);
  const { items } = await server.ask('GET', '/v1/events?limit=1000');
  const broken = items.filter((event) => event.type === 'degraded').pop();
  await go(page, `#/timeline/${broken.number}`);
  await says(page, 'Degraded or violated', 'the past has contracts that were degraded');
  await says(page, 'link h1 → leaf1', 'and what was down');
  await look(page, 'a moment of the past');
  await page.click('text=Previous event');
  await page.waitForFunction((number) => location.hash === `#/timeline/${number - 1}`, broken.number);
  await page.focus('#scrub');
  await page.keyboard.press('Home');
  await says(page, 'after event 1', 'the slider goes to the first event by the keyboard');
  await page.context().close();
}

async function tenant(browser, server) {
  const page = await open(browser);
  const asked = [];
  page.on('response', async (answer) => {
    if (answer.url().includes('/v1/') && answer.request().method() === 'GET' && !answer.url().endsWith('/v1/events')) asked.push(answer.text().catch(() => ''));
  });
  await page.goto(`${server.address}/ui/#token=${server.tenant}`);
  await settle(page);
  check(!(await page.textContent('nav')).includes('Network'), 'a tenant is offered no page of the network');
  const own = encodeURIComponent('plant:robot');
  for (const at of ['#/', '#/traffic', '#/contracts', '#/contracts?sort=rate&order=desc', `#/contract/${own}`, '#/what-if', '#/alerts', '#/statement', '#/statement/shop', '#/timeline', '#/tenant/plant', '#/tenants', '#/network', '#/agents', '#/policies', '#/link/h1-%3Eleaf1']) {
    await go(page, at);
    await look(page, `as a tenant ${at}`);
    check(!/shop|web:|default:bulk/.test(await text(page)), `as a tenant ${at}: nothing of others`);
  }
  await go(page, '#/contract/shop%3Adb');
  await says(page, 'no contract shop:db, or you have no access to it', 'the contract of another tenant is not there');
  const all = (await Promise.all(asked)).filter((text) => /shop:db|web:search/.test(text) && !text.includes('NOT_FOUND'));
  check(all.length === 0, `no answer to a tenant has names of others: ${all.map((text) => text.slice(0, 200)).join()}`);
  await page.context().close();
  const reader = await open(browser);
  await reader.goto(`${server.address}/ui/#token=${server.reader}`);
  for (const at of ['#/', '#/network', '#/traffic', '#/contracts', '#/alerts', '#/statement/plant', '#/what-if', '#/policies']) {
    await go(reader, at);
    await look(reader, `as a reader ${at}`);
    check(!(await reader.textContent('body')).includes('Predict failure') && !(await reader.textContent('nav')).includes('What if'), `as a reader ${at}: predictions, which a reader may not run, are not offered`);
  }
  await reader.context().close();
}

/** Views of failures. */
async function troubles(browser, server) {
  const page = await open(browser);
  let delay = 0;
  let fails = false;
  await page.route('**/v1/health*', async (route) => {
    if (fails) return route.fulfill({ status: 503, contentType: 'application/problem+json', body: JSON.stringify({ code: 'UNAVAILABLE', detail: 'the ledger cannot be written' }) });
    if (delay) await new Promise((done) => setTimeout(done, delay));
    return route.continue().catch(() => {});
  });
  delay = 3000;
  await page.goto(`${server.address}/ui/#token=${server.token}`);
  await says(page, 'Loading guarantees …', 'what is read is said');
  await says(page, 'The controller is slow to respond', 'and that it takes long');
  delay = 0;
  await says(page, 'guarantees admitted', 'then it is there');
  fails = true;
  await server.ask('PUT', '/v1/tenants/late', {});
  await says(page, 'the ledger cannot be written', 'what is not answered is said, with the reason');
  await says(page, 'Last known values are shown below', 'and that what is shown is old');
  await look(page, 'an answer that failed', { wrong: 9 });
  fails = false;
  await page.click('button:has-text("Retry")');
  await page.waitForFunction(() => !document.body.innerText.includes('the ledger cannot be written'), undefined, { timeout: 30_000 });
  page.wrong.length = 0;
  await page.context().setOffline(true);
  await page.evaluate(() => window.dispatchEvent(new Event('offline')));
  await server.end();
  await says(page, 'Disconnected', 'a stream that was lost is said to be');
  await page.context().close();
}

async function many(browser, folder) {
  const [topology, ledger] = ['fat-tree:k=12,hosts=240,queues=4,buffer=190kB,rate=10Gbit', process.env.LEDGER ?? join(folder, 'many.db')];
  if (!existsSync(ledger)) {
    const requests = spawnSync(wayleave, ['requests', '-t', topology, '--count', '100000'], { maxBuffer: 1 << 30, encoding: 'utf8' });
    writeFileSync(join(folder, 'many.yaml'), requests.stdout);
    const applied = spawnSync(wayleave, ['apply', '-f', join(folder, 'many.yaml'), '-t', topology, '--ledger', ledger, '-o', 'json'], { maxBuffer: 1 << 30, stdio: ['ignore', 'ignore', 'inherit'] });
    check(applied.status === 0 || applied.status === 3, `the contracts are applied: ${applied.status}`);
  }
  const server = await controller(folder, topology, ledger);
  try {
    const { levels } = await server.ask('GET', '/v1/health?limit=1');
    const promises = Object.values(levels).reduce((sum, count) => sum + count, 0);
    console.log(`${promises.toLocaleString('en')} promises on 17,280 hosts`);
    const times = [];
    for (let round = 0; round < 5; round += 1) {
      const page = await open(browser);
      const began = Date.now();
      await page.goto(`${server.address}/ui/#token=${server.token}`);
      await page.waitForSelector('.levels');
      await page.waitForSelector('tbody tr');
      times.push(Date.now() - began);
      await page.context().close();
    }
    console.log(`first view (verdict and promises, from the address to the drawn page, a new browser profile each time): ${times.sort((a, b) => a - b).join(', ')} ms`);
    const page = await open(browser);
    page.on('response', async (answer) => {
      const bytes = (await answer.body().catch(() => Buffer.alloc(0))).length;
      if (answer.url().includes('/v1/') && bytes > 0) {
        const timing = answer.request().timing();
        console.log(`  ${answer.request().method()} ${answer.url().slice(server.address.length)}: ${(bytes / 1000).toFixed(1)} kB, ${Math.round(timing.responseStart - timing.requestStart)} ms`);
      }
    });
    await page.goto(`${server.address}/ui/#token=${server.token}`);
    const { items: [contract] } = await server.ask('GET', '/v1/health?limit=1');
    const { busiest: [{ link }] } = await server.ask('GET', '/v1/topology/summary');
    for (const at of ['#/', '#/network', '#/network/pod%3Apod1-edge1', '#/network/switch%3Apod1-edge1', '#/traffic', '#/contracts?text=ptp-99', '#/contracts?sort=headroom&order=asc', `#/contract/${encodeURIComponent(contract.id)}`, `#/link/${encodeURIComponent(link)}`, '#/what-if?fail=pod1-agg1', '#/alerts', '#/timeline', '#/agents', '#/tenants', '#/tenant/default', '#/statement/default']) {
      console.log(at);
      await go(page, at);
      await look(page, `many ${at}`);
    }
    await page.context().close();
  } finally {
    await server.end();
  }
  console.log(`the dashboard with many contracts: ${checks} checks, ${faults.length} failed`);
}

const folder = mkdtempSync(join(tmpdir(), 'wayleave-ui-'));
const browser = await chromium.launch({ executablePath, args: ['--no-sandbox', '--use-angle=swiftshader'] });
try {
  await (isMany ? many : small)(browser, folder);
} finally {
  await browser.close();
  rmSync(folder, { recursive: true, force: true });
}
process.exit(faults.length === 0 ? 0 : 1);
