// Pictures of docs/guide/first-plant.md: node test/tutorial.mjs WAYLEAVE [--lab]. With --lab, that of a
// lab after its run (root).
import { execFileSync, spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { chromium } from 'playwright-core';

const [wayleave, option] = process.argv.slice(2);
if (!wayleave) throw new Error('usage: node test/tutorial.mjs WAYLEAVE [--lab]');
const root = resolve(import.meta.dirname, '../..');
const example = (name) => join(root, 'docs/examples', name);
const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium', args: ['--no-sandbox'] });

/** Keeps the first `height` pixels of a page of the dashboard. */
async function picture(name, server, tokenFile, page, width, height) {
  const context = await browser.newContext({ colorScheme: 'light', viewport: { width, height } });
  const tab = await context.newPage();
  await tab.goto(`${server}/ui/#token=${readFileSync(tokenFile, 'utf8').trim()}`);
  await tab.waitForSelector('h1');
  await tab.evaluate((page) => { location.hash = `#/${page}`; }, page);
  await tab.waitForTimeout(2000);
  await tab.screenshot({ path: join(root, 'docs/pictures', `${name}.png`) });
  await context.close();
}

async function ofPlan() {
  const folder = mkdtempSync(join(tmpdir(), 'wayleave-tutorial-'));
  const [ledger, listen] = [join(folder, 'ledger.db'), '127.0.0.1:47412'];
  const [server, token] = [`http://${listen}`, `${ledger}-operator`];
  const child = spawn(wayleave, ['serve', '-t', example('network-plant.yaml'), '--ledger', ledger, '--listen', listen], { stdio: 'ignore' });
  try {
    const isUp = () => existsSync(token) && fetch(`${server}/healthz`).then((answer) => answer.ok, () => false);
    for (let tries = 0; tries < 100 && !await isUp(); tries += 1) await new Promise((done) => { setTimeout(done, 100); });
    execFileSync(wayleave, ['apply', '-f', example('contracts-plant.yaml'), '--server', server, '--token-file', token]);
    await picture('plant-network', server, token, 'network', 1100, 560);
  } finally {
    child.kill('SIGTERM');
    rmSync(folder, { recursive: true });
  }
}

async function ofLab() {
  const folder = '/run/wayleave/lab/lab';
  // An agent logs the address of the controller.
  const [server] = /http:\/\/127\.0\.0\.1:\d+/.exec(readFileSync(join(folder, 'agent-nvr.log'), 'utf8'));
  await picture('plant-lab', server, join(folder, 'operator.token'), '', 1440, 800);
}

try {
  await (option === '--lab' ? ofLab() : ofPlan());
} finally {
  await browser.close();
}
