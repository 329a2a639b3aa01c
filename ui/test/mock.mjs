// Answers with measured load for tests of pages: a fabric of 20 tenants whose rates are known. A test serves them in
// place of the controller's answers; the product never does.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

const TENANTS = Array.from({ length: 20 }, (_, at) => `tenant-${String(at + 1).padStart(2, '0')}`);
const LINKS = ['leaf1->spine1', 'leaf1->spine2', 'leaf2->spine1', 'leaf2->spine2', 'spine1->leaf1', 'spine2->leaf2', 'leaf2->h8', 'leaf1->h1'];
const HOSTS = ['h1', 'h2', 'h3', 'h4', 'h5', 'h6', 'h7', 'h8'];

/** Points until now, with a gap of four minutes in each twelve. */
function history(url) {
  const to = Date.now();
  const from = new Date(url.searchParams.get('from') ?? to - 3_600_000).getTime();
  const stepSeconds = Math.max(10, Math.ceil((to - from) / 300_000));
  const points = [];
  for (let at = from; at < to; at += stepSeconds * 1000) {
    const minute = new Date(at).getUTCMinutes();
    const isKnown = ((to - at) / 60_000) % 12 < 4 || ((to - at) / 60_000) % 12 > 8;
    const mean = Math.round(3e9 + 1.2e9 * Math.sin(at / 600_000) + 2e8 * Math.sin(at / 17_000));
    points.push({ at: new Date(at).toISOString(), meanBps: isKnown ? mean : null, maxBps: isKnown ? Math.round(mean * 1.3) : null, reservedBps: minute < 5 ? 4_500_000_000 : 6_713_432_280, unreported: 0 });
  }
  return { from: new Date(from).toISOString(), to: new Date(to).toISOString(), stepSeconds, since: new Date(to - 7_200_000).toISOString(), points };
}

function flows(url) {
  const only = url.searchParams.get('tenant');
  const edges = [];
  const perLink = new Map();
  TENANTS.filter((name) => !only || name === only).forEach((name, at) => {
    for (const link of [LINKS[at % LINKS.length], LINKS[(at * 3 + 1) % LINKS.length]]) {
      const rate = 2e9 / (at + 1);
      edges.push({ from: { kind: 'tenant', name }, to: { kind: 'link', name: link }, rateBps: at === 17 ? null : Math.round(rate), reservedBps: Math.round(rate * 1.4) });
      perLink.set(link, (perLink.get(link) ?? 0) + rate);
    }
  });
  for (const [link, rate] of perLink) {
    const at = LINKS.indexOf(link);
    for (const host of [HOSTS[at], HOSTS[(at + 3) % HOSTS.length]]) edges.push({ from: { kind: 'link', name: link }, to: { kind: 'host', name: host }, rateBps: Math.round(rate / 2), reservedBps: Math.round(rate * 0.7) });
  }
  return { edges, omitted: 12, measured: 340, contracts: 355 };
}

function statement(tenant, url) {
  const month = url.searchParams.get('month') ?? new Date().toISOString().slice(0, 7);
  const [from, to] = [`${month}-01T00:00:00Z`, new Date(Date.UTC(Number(month.slice(0, 4)), Number(month.slice(5)), 1)).toISOString()];
  const event = (at, kind, text) => ({ at: `${month}-${at}Z`, kind, text });
  return {
    tenant, month, from, to, since: `${month}-02T00:00:00Z`, until: `${month}-20T10:00:00Z`, minutes: { kept: 24_400, broken: 26, unknown: 3_400 }, omitted: 0,
    notCovered: [
      { from, to: `${month}-02T00:00:00Z`, reason: `before the record began on ${month}-02T00:00:00Z` },
      { from: `${month}-20T10:00:00Z`, to, reason: 'not yet over' },
    ],
    contracts: [
      { contract: 'plant:robot', from: `${month}-02T00:00:00Z`, to: `${month}-20T10:00:00Z`, minutes: { kept: 27_001, broken: 25, unknown: 907 }, unknown: [{ reason: 'rate-above-rule', minutes: 7 }, { reason: 'not-observed', minutes: 900 }], events: [event('03T08:12:00', 'degraded', 'link h1->leaf1 is down: cut by an excavator'), event('03T08:37:00', 'enforced', 'link h1->leaf1 is up')] },
      { contract: 'plant:camera', from: `${month}-02T00:00:00Z`, to: `${month}-20T10:00:00Z`, minutes: { kept: 26_999, broken: 1, unknown: 933 }, unknown: [{ reason: 'agent-silent', minutes: 33 }, { reason: 'not-observed', minutes: 900 }], events: [event('11T19:02:30', 'violated', 'a packet took 2.31 ms; the bound is 1.9 ms')] },
    ],
  };
}

const ALERTS = {
  rules: 11,
  items: [
    { name: 'WayleaveAgentSilent', severity: 'critical', since: new Date(Date.now() - 300_000).toISOString(), summary: 'Nodes with silent agents: 1.', labels: {} },
    { name: 'WayleaveRepairs', severity: 'warning', since: null, summary: 'Rules and queues of the agent on h4 are changed repeatedly by another program.', labels: { node: 'h4' } },
  ],
  unknown: [{ name: 'WayleaveControllerGone', reason: 'a controller cannot observe its own absence' }],
};

const MEASURED = new Map([['plant:robot', 18_300_000], ['plant:camera', 502_100_000], ['shop:db', 3_980_000_000], ['shop:copy', 1_204_000_000], ['web:search', 611_000_000]]);

/** Adds measured rates to an answer of the controller. */
function measured(path, body, tenant) {
  const link = (one, at) => Object.assign(one, { measured: at % 5 === 4 ? null : { rateBps: Math.round(one.rateBps * ((at % 7) / 8)), at: new Date().toISOString(), source: 'sender', dropped: at % 3 ? 0 : 17 } });
  const contract = (one) => Object.assign(one.status, { rateBps: MEASURED.get(one.id) ?? null, reportingHosts: MEASURED.has(one.id) ? one.status.countingHosts : 0 });
  if (/^\/v1\/links\/[^/]+$/.test(path)) link(body, 5);
  if (path === '/v1/links') body.items.forEach(link);
  if (path === '/v1/contracts') body.items.forEach(contract);
  if (/^\/v1\/contracts\/[^/]+$/.test(path)) contract(body);
  if (/^\/v1\/contracts\/[^/]+\/traffic$/.test(path)) Object.assign(body, { rateBps: MEASURED.get(decodeURIComponent(path.split('/')[3])) ?? null });
  if (path === '/v1/topology/summary') {
    body.linkGroups.forEach((one, at) => Object.assign(one, { measuredPpm: at % 6 === 5 ? null : (at * 137_000) % 1_000_000 }));
    body.busiest.forEach((one, at) => Object.assign(one, { measuredPpm: at === 3 ? null : Math.round(one.ratePpm * 0.8) }));
  }
  if (path === '/v1/traffic') {
    body.items.forEach((one) => Object.assign(one, { rateBps: MEASURED.get(one.contract.id) ?? null, reporting: MEASURED.has(one.contract.id) ? one.hosts : 0 }));
    body.items.sort((a, b) => (b.rateBps ?? -1) - (a.rateBps ?? -1));
    const known = [...MEASURED].filter(([id]) => !tenant || id.startsWith(`${tenant}:`)).map(([, rate]) => rate);
    Object.assign(body, { measured: known.length, rateBps: known.length ? known.reduce((sum, rate) => sum + rate, 0) : null });
  }
  return body;
}

/** Returns the invented answer for a path, or `undefined` if the controller's is used. */
function invented(url) {
  const parts = url.pathname.split('/').slice(2).map(decodeURIComponent);
  if (parts[2] === 'history') return history(url);
  if (parts[2] === 'statement') return statement(parts[1], url);
  if (parts[0] === 'flows') return flows(url);
  if (parts[0] === 'alerts') return ALERTS;
  return undefined;
}

/** Hands a request on to the controller. A page that was closed meanwhile has no requests left, which is no fault. */
export const pass = (route) => route.continue().catch(() => {});

/** Asks the controller, and gives the page what `change` makes of the text and whether it is JSON without an error: a body, and more headers. */
export async function answer(route, change) {
  const response = await route.fetch().catch(() => undefined);
  const text = await response?.text().catch(() => undefined);
  if (text === undefined) return route.abort().catch(() => {});
  const isJson = response.ok() && (response.headers()['content-type'] ?? '').includes('json');
  const { body, headers } = change(text, isJson);
  return route.fulfill({ status: response.status(), headers: { ...response.headers(), ...headers }, body }).catch(() => {});
}

/** Serves invented measurements to all pages of a context. */
export async function mock(context) {
  await context.route('**/v1/**', async (route) => {
    const request = route.request();
    const url = new URL(request.url());
    if (request.method() !== 'GET' || url.pathname === '/v1/events') return pass(route);
    const made = invented(url);
    if (made) {
      const [contentType, body] = url.searchParams.get('format') === 'csv' ? ['text/csv', 'a,b\n1,2\n'] : ['application/json', JSON.stringify(made)];
      return route.fulfill({ contentType, body }).catch(() => {});
    }
    if (!['links', 'contracts', 'tenants', 'topology', 'traffic'].includes(url.pathname.split('/')[2])) return pass(route);
    return answer(route, (text, isJson) => ({ body: isJson ? JSON.stringify(measured(url.pathname, JSON.parse(text), url.searchParams.get('tenant'))) : text }));
  });
}

const TYPES = { html: 'text/html; charset=utf-8', js: 'text/javascript; charset=utf-8', css: 'text/css; charset=utf-8', svg: 'image/svg+xml' };

/** Serves the files of a folder in place of those in the binary, with the binary's policy: no build of it is needed. */
export async function files(context, folder) {
  await context.route('**/ui/**', (route) => {
    const name = new URL(route.request().url()).pathname.slice('/ui/'.length) || 'index.html';
    return route.fulfill({
      contentType: TYPES[name.split('.').pop()], body: readFileSync(join(folder, name)),
      headers: { 'content-security-policy': "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'" },
    });
  });
}
