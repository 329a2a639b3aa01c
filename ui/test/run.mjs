// Tests the dashboard in a real Chromium, against a controller that this program starts: a tour through every page.
//
//   node test/run.mjs WAYLEAVE            the short form: a small network with contracts of every kind; seconds
//   node test/run.mjs WAYLEAVE --all      also in both colour schemes and both widths
//   node test/run.mjs WAYLEAVE --many     100,000 contracts on 17,280 hosts; prints the time of the first view
//   PICTURES=FOLDER saves a picture of every page.
//
// A page fails the tour if the console has an error, axe-core finds a violation, or the page is wider than the screen.
import { spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { chromium } from 'playwright-core';

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
  return { address, token, ask, end };
}

async function open(browser, { scheme = 'light', width = 1440 } = {}) {
  const context = await browser.newContext({ colorScheme: scheme, viewport: { width, height: width > 1000 ? 900 : 844 } });
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

async function small(browser, folder) {
  const server = await controller(folder, join(root, 'docs/examples/network-fabric.yaml'));
  try {
    for (const tenant of ['plant', 'shop', 'web']) await server.ask('PUT', `/v1/tenants/${tenant}`, {});
    await server.ask('POST', '/v1/apply', readFileSync(join(root, 'docs/examples/contracts-fabric.yaml'), 'utf8'), 'application/yaml');
    await server.ask('PUT', '/v1/policies/fabric', readFileSync(join(root, 'docs/examples/policy-fabric.yaml'), 'utf8'), 'application/yaml');
    for (const role of ['tenant', 'reader']) {
      server[role] = (await server.ask('POST', '/v1/tokens', role === 'tenant' ? { role, tenant: 'plant' } : { role })).secret;
    }
    const link = encodeURIComponent('leaf2->h8');
    const pages = ['#/', '#/?level=ok', '#/network', '#/network/switch%3Aleaf1', '#/contracts', '#/contracts?kind=bandwidth', '#/contract/plant%3Arobot', '#/contract/shop%3Adb', '#/contract/default%3Abulk',
      `#/link/${link}`, '#/node/leaf1', '#/node/h1', '#/what-if', '#/what-if?fail=spine1', '#/timeline', '#/timeline/3', '#/agents', '#/tenants', '#/tenant/plant', '#/policies', '#/nothing'];
    // Two of the four pairs cover both schemes and both widths; all of them take twice as long.
    const all = [['light', 1440], ['dark', 390], ['dark', 1440], ['light', 390]];
    for (const [scheme, width] of options.includes('--all') ? all : all.slice(0, 2)) {
      const page = await open(browser, { scheme, width });
      await page.goto(`${server.address}/ui/#token=${server.token}`);
      for (const at of pages) {
        await go(page, at);
        await look(page, `${at} ${scheme} ${width}`);
        // Without agents the controller marks rules as enforced.
        if (at === '#/agents') check(!(await text(page)).includes('confirmed'), 'nothing is confirmed where no agent is');
      }
      await page.context().close();
    }
    await signIn(browser, server);
    await early(browser, server);
    await live(browser, server);
    await question(browser, server);
    await past(browser, server);
    await tenant(browser, server);
    await troubles(browser, server);
  } finally {
    await server.end();
  }
  console.log(`the dashboard: ${checks} checks, ${faults.length} failed`);
}

async function signIn(browser, server) {
  const page = await open(browser);
  await page.goto(`${server.address}/ui/`);
  // A request without a token is one line in the console.
  await look(page, 'sign in', { wrong: 1 });
  await page.keyboard.type('wl_wrong');
  await page.keyboard.press('Enter');
  await says(page, 'unknown token', 'a wrong token is refused in words');
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
  await says(page, '2 guarantees of 6 are degraded or violated', 'what breaks is said without being asked');
  await says(page, 'cut by an excavator', 'with the reason');
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
  await page.fill('input.wide', 'nowhere');
  await page.click('button.main');
  await says(page, 'nowhere', 'what is not there is named');
  page.wrong.length = 0;
  await page.fill('input.wide', '');
  await page.check('input[type=checkbox]');
  for (const [label, value] of [['From', 'h1'], ['To', 'h5'], ['Deadline', '1us']]) await page.getByLabel(label, { exact: true }).fill(value);
  await page.click('button.main');
  await says(page, '1 contract would be refused', 'a contract that does not fit is refused');
  await page.getByLabel('Deadline', { exact: true }).fill('50ms');
  await page.click('button.main');
  await says(page, '1 contract would be admitted', 'one that fits is admitted');
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
  await says(page, 'link h1->leaf1', 'and what was down');
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
  for (const at of ['#/', '#/contracts', `#/contract/${own}`, '#/what-if', '#/timeline', '#/tenants', '#/network', '#/agents', '#/policies', '#/link/h1-%3Eleaf1']) {
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
  for (const at of ['#/', '#/network', '#/what-if', '#/policies']) {
    await go(reader, at);
    await look(reader, `as a reader ${at}`);
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
    for (const at of ['#/', '#/network', '#/network/pod%3Apod1-edge1', '#/network/switch%3Apod1-edge1', '#/contracts?text=ptp-99', `#/contract/${encodeURIComponent(contract.id)}`, `#/link/${encodeURIComponent(link)}`, '#/what-if?fail=pod1-agg1', '#/timeline', '#/agents', '#/tenants']) {
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
