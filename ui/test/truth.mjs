// Tests of pages that must not claim more than was observed: sums with missing parts, followers of a cluster, silence,
// predictions on a network with faults, statements, and long names. Answers are changed on their way to the page where a
// test needs a state that one controller without agents does not have.

import { answer, pass } from './mock.mjs';

const LONG = 'n'.repeat(63);

/** Changes JSON answers of paths that match. `change` has the path and the body. */
async function altered(page, change, headers = {}) {
  await page.route('**/v1/**', async (route) => {
    const url = new URL(route.request().url());
    if (url.pathname === '/v1/events') return pass(route);
    return answer(route, (text, isJson) => {
      const next = isJson ? change(url.pathname, JSON.parse(text)) : undefined;
      return { headers: typeof headers === 'function' ? headers() : headers, body: next === undefined ? text : JSON.stringify(next) };
    });
  });
}

/** Functions of sums and names, without a page. */
export function sums({ check }, { sum, ofAll, ofContract, ofCounters, ofEdge, ofPoint, ofTenant, measured }, { short, remaining }) {
  const item = (id, rateBps, reporting, hosts) => ({ contract: { id }, rateBps, reporting, hosts });
  check(measured(sum([{ bps: 3e6, isLeast: false }, { bps: 4e6, isLeast: false }])) === '7 Mbit/s', 'a complete sum is exact');
  check(measured(sum([{ bps: 1_000_900, isLeast: false }, { bps: null, isLeast: false }])) === '≥ 1 Mbit/s', 'a sum with an unknown part is a lower bound, rounded down');
  check(measured(sum([{ bps: 0, isLeast: true }])) === 'not measured', 'a lower bound of 0 is no measurement');
  check(measured(ofCounters(item('shop:db', 372_300_000, 3, 4))) === '≥ 372.3 Mbit/s', 'three of four hosts are a lower bound');
  const listed = (rateBps, reportingHosts, countingHosts) => measured(ofContract({ status: { rateBps, reportingHosts, countingHosts } }));
  check(listed(5e6, 4, 4) === '5 Mbit/s' && listed(5e6, 3, 4) === '≥ 5 Mbit/s' && listed(5e6) === '≥ 5 Mbit/s', 'a rate in a list is exact if all its hosts report');
  check(measured(ofEdge({ rateBps: 5e6, unmeasured: 0 })) === '5 Mbit/s' && measured(ofEdge({ rateBps: 5e6, unmeasured: 1 })) === '≥ 5 Mbit/s' && measured(ofEdge({ rateBps: null, unmeasured: 1 })) === 'not measured', 'a flow with an unknown part is a lower bound');
  check(measured(ofPoint(0, { unreported: 2 })) === 'not measured' && measured(ofPoint(0, { unreported: 0 })) === '0 bit/s', 'a mean of 0 without reports is no measurement');
  const top = { items: [item('plant:a', 1e6, 1, 1), item('plant:b', 2e6, 1, 1), item('shop:db', 4e6, 3, 4)], contracts: 4, measured: 3, partial: 1, omitted: 0, rateBps: 7e6 };
  check(measured(ofTenant(top, 'plant')) === '3 Mbit/s' && measured(ofTenant(top, 'shop')) === '≥ 4 Mbit/s' && measured(ofTenant(top, 'web')) === 'not measured', 'a tenant whose hosts all report has an exact sum');
  check(measured(ofTenant({ ...top, omitted: 1 }, 'plant')) === '≥ 3 Mbit/s', 'contracts beyond the answer make a lower bound');
  check(measured(ofAll(top)) === '≥ 7 Mbit/s' && measured(ofAll({ ...top, items: top.items.slice(0, 1), contracts: 2, measured: 2, partial: 0, omitted: 1, rateBps: 3e6 })) === '3 Mbit/s' && measured(ofAll({ ...top, items: [], contracts: 3, omitted: 3 })) === '≥ 7 Mbit/s', 'the total is a lower bound if a host is silent, shown or not');
  check(short(`${LONG}:${'C'.repeat(100)}`).length === 45 && short('plant:robot') === 'plant:robot' && short(`${LONG}:robot`).endsWith(':robot'), `a tenant and a contract are shortened each: ${short(`${LONG}:robot`)}`);
  check(remaining(196_000) === '19.6\u00a0%' && remaining(199_999) === '19.9\u00a0%', 'a margin is rounded down');
}

/** A failure is predicted while guarantees are lost already. */
export async function prediction({ browser, open, go, says, text, check, look }, server) {
  const page = await open(browser);
  await server.ask('PUT', '/v1/links/h1-%3Eleaf1/state', { state: 'down', reason: 'cut by an excavator' });
  await page.goto(`${server.address}/ui/#token=${server.token}`);
  await go(page, '#/what-if?fail=h1-%3Eleaf1');
  await says(page, 'No further guarantee would be lost', 'a prediction counts changes');
  const said = await text(page);
  check(/Before the change, 2 guarantees are violated or lost already/.test(said) && !said.includes('would hold'), `guarantees that are lost already are counted: ${said.slice(-500)}`);
  await look(page, 'what if with lost guarantees');
  await server.ask('PUT', '/v1/links/h1-%3Eleaf1/state', { state: 'up' });
  await page.context().close();
}

/** A leader that becomes a follower while its pages are open. */
export async function follower({ browser, open, go, says, text, check, look, settle }, server) {
  for (const [scheme, width] of [['light', 1440], ['dark', 390]]) {
    const page = await open(browser, { scheme, width });
    let role = 'leader';
    const agents = Array.from({ length: 3 }, (_, at) => ({ node: `h${at + 1}`, kind: 'host', state: 'up', epoch: 1, connection: 'open', open: true, setUp: false, silent: false }));
    await altered(page, (path, body) => {
      if (path === '/v1/agents') return { items: agents };
      if (decodeURIComponent(path) === '/v1/contracts/plant:robot' && role !== 'leader') return { ...body, status: { ...body.status, state: 'admitted', reason: 'FOLLOWER', message: 'admitted; recorded as enforced' } };
      if (path !== '/v1/status') return undefined;
      const cluster = { role, commit: 9, epoch: 1, leaseRemainingMs: 0, ...(role === 'follower' ? { leader: 'http://127.0.0.1:7601' } : {}) };
      return { ...body, enforcement: 'hosts', agents: role === 'leader' ? 3 : null, silent: role === 'leader' ? [] : null, problems: role === 'leader' ? [] : null, effective: role === 'leader' ? body.effective : null, cluster };
    }, () => ({ 'x-wayleave-role': role }));
    await page.goto(`${server.address}/ui/#token=${server.token}`);
    await says(page, 'Live', 'a leader is live');
    await go(page, '#/agents');
    await says(page, '3 sessions open, none silent', 'a leader knows its agents');
    role = 'follower';
    await says(page, 'This controller is a follower; the leader is http://127.0.0.1:7601', 'an open page turns to the state of a follower');
    await settle(page);
    const agentsPage = await text(page);
    check(!/stopped|none silent|0 sessions|Request failed/.test(agentsPage) && agentsPage.includes('Sessions and silence of agents are unknown here'), `agents of another controller are unknown: ${agentsPage.slice(0, 600)}`);
    check(!(await page.textContent('header')).includes('Live'), 'a follower is not live');
    await look(page, `a follower agents ${scheme} ${width}`);
    for (const at of ['#/', '#/network', '#/traffic', '#/contract/plant%3Arobot', '#/link/leaf2-%3Eh8', '#/node/h1', '#/alerts', '#/statement/plant']) {
      await go(page, at);
      await settle(page);
      const said = await text(page);
      check(said.includes('This controller is a follower'), `a follower ${at}: the page has the role`);
      check(!said.includes('Request failed') && !said.includes('current alerts are unknown'), `a follower ${at}: what it cannot know is no failure: ${said.slice(0, 600)}`);
      if (at.startsWith('#/contract/')) check(said.includes('? unknown') && said.includes('unknown here: agents report to the leader') && !said.includes('have confirmed'), `a follower ${at}: confirmations are unknown: ${said.slice(0, 600)}`);
      // Reasons of alerts are those of the controller, which is a single one here.
      check(at === '#/alerts' || !/no (connected )?agent (is connected|reports|counts|enforces|has|observes)/i.test(said), `a follower ${at}: it does not know that no agent reports: ${/.{0,60}no (connected )?agent .{0,60}/i.exec(said)?.[0]}`);
      await look(page, `a follower ${at} ${scheme} ${width}`);
    }
    role = 'unknown';
    await says(page, 'does not know its role', 'a controller without a role says so');
    await page.context().close();
  }
}

/** Rates of which parts are missing, on all pages that add them up. */
export async function partial({ browser, open, go, text, check, look, settle, says }, server) {
  const page = await open(browser);
  const rates = { 'plant:robot': [114_700_000, 1, 1], 'plant:camera': [128_900_000, 1, 1], 'shop:db': [372_300_000, 3, 4], 'web:index': [458_400_000, 4, 4] };
  await altered(page, (path, body) => {
    if (path === '/v1/flows') return { ...body, measured: 4, edges: body.edges.map((edge) => ({ ...edge, unmeasured: 1, rateBps: edge.from.name === 'plant' || edge.to.name === 'h8' ? 114_700_000 : null })) };
    if (path !== '/v1/traffic') return undefined;
    const items = body.items.map((one) => {
      const [rateBps = null, reporting = 0, hosts = one.hosts] = rates[one.contract.id] ?? [];
      return { ...one, rateBps, reporting, hosts };
    }).sort((a, b) => (b.rateBps ?? -1) - (a.rateBps ?? -1));
    const known = items.flatMap(({ rateBps }) => (rateBps === null ? [] : [rateBps]));
    const partial = items.filter((one) => one.rateBps !== null && one.reporting < one.hosts).length;
    return { ...body, items, measured: known.length, partial, rateBps: known.length ? known.reduce((sum, one) => sum + one, 0) : null };
  });
  await page.goto(`${server.address}/ui/#token=${server.token}`);
  const visit = async (at) => {
    await go(page, at);
    await settle(page);
    return text(page);
  };
  await visit('#/tenants');
  await says(page, '243.6 Mbit/s', 'tenants have their sums');
  const tenants = await text(page);
  check(/\n243\.6 Mbit\/s/.test(tenants) && tenants.includes('≥ 372.3 Mbit/s') && tenants.includes('≥ 458.4 Mbit/s'), `a sum is a lower bound only where a part is missing: ${tenants.slice(0, 500)}`);
  check(/243\.6 Mbit\/s/.test(await visit('#/tenant/plant')) && !/≥ 243\.6/.test(await text(page)), 'the page of a tenant has the sum of the list');
  const traffic = await visit('#/traffic');
  check((traffic.match(/\d+ of \d+ contracts/g) ?? []).length === 1, `measured contracts are counted once: ${traffic.match(/.{0,20}\d+ of \d+ contracts/g)}`);
  check(traffic.includes('≥ 1.074 Gbit/s'), `a total with silent hosts is a lower bound: ${traffic.slice(0, 300)}`);
  // Flows and traffic are two requests.
  await page.waitForSelector('.sankey .node[aria-label^="tenant web, ≥ 458.4"]', { timeout: 10_000 }).catch(() => undefined);
  const labels = await page.evaluate(() => [...document.querySelectorAll('.sankey .node')].map((one) => one.getAttribute('aria-label')));
  check(labels.some((label) => /^tenant web, ≥ 458\.4/.test(label)), `a tenant has its measured total in the flow view: ${labels.filter((label) => label.startsWith('tenant'))}`);
  const links = labels.filter((label) => label.startsWith('link'));
  check(links.length > 0 && links.every((label) => label.includes('≥') || label.includes('not measured per contract')), `a link of the flow view has a lower bound: ${links}`);
  await look(page, 'traffic with silent hosts');
  await page.context().close();
}

/** Statements: shares with unknown minutes, and months without a record. */
export async function statements({ browser, open, go, says, text, check, settle, look }, server) {
  const page = await open(browser);
  let minutes = { kept: 7, broken: 2, unknown: 40_100 };
  let since = '2026-11-28T20:11:00Z';
  await altered(page, (path, body) => (path === '/v1/tenants/plant/statement' ? { ...body, since, until: since && '2026-11-28T20:20:00Z', minutes, contracts: [] } : undefined));
  await page.goto(`${server.address}/ui/#token=${server.token}`);
  await go(page, '#/statement/plant');
  await settle(page);
  const some = await text(page);
  // 7 of 40,109 are 0.0175 %, and 2 of them 0.005 %.
  check(some.includes('≥ 0.01 %') && some.includes('> 0 %') && !some.includes('0.02 %'), `a lower bound is rounded down: ${some.slice(0, 900)}`);
  check(some.includes('Minutes until 2026-11-28 20:20 UTC: those before 2026-11-28 20:11'), 'the minutes of the totals are named');
  minutes = { kept: 3, broken: 0, unknown: 41_001 };
  await go(page, '#/statement/plant?month=2026-09');
  await says(page, '41,001 min of 41,004 min', 'a statement of the first minutes');
  check(/< 100 %\s+41,001 min/.test(await text(page)), `a part is less than the whole: ${(await text(page)).slice(700, 1300)}`);
  minutes = { kept: 0, broken: 0, unknown: 43_200 };
  since = null;
  await go(page, '#/statement/plant?month=2026-10');
  await says(page, 'Unknown: nothing is recorded of this month', 'events of a month without a record are unknown');
  check(!(await text(page)).includes('None in this month'), 'a month without a record has no list of events');
  await look(page, 'a statement without a record');
  await page.context().close();
}

/** Long names of tenants, contracts and VMs: no page is wider than the screen, and tables show all their columns. */
export async function longNames({ browser, open, go, check, look, settle }, server) {
  const id = (name) => encodeURIComponent(`${LONG}:${name}`);
  await server.ask('PUT', `/v1/tenants/${LONG}`, {});
  await server.ask('PUT', `/v1/vms/${id('v'.repeat(100))}`, { placement: { host: 'h1' } });
  for (const name of ['C'.repeat(100), 'c'.repeat(63)]) await server.ask('PUT', `/v1/contracts/${id(name)}`, { from: 'h1', to: 'h4', rate: '1Mbit', burst: '3kB', deadline: '5ms' });
  const long = id('C'.repeat(100));
  for (const [scheme, width] of [['light', 1440], ['dark', 390]]) {
    const page = await open(browser, { scheme, width, isInvented: true });
    const event = { at: new Date().toISOString(), kind: 'degraded', text: 'link h1->leaf1 is down' };
    await page.route(`**/v1/tenants/${LONG}/statement*`, (route) => route.fulfill({ json: { tenant: LONG, month: '2026-11', since: event.at, until: event.at, notCovered: [], omitted: 0, minutes: { kept: 1, broken: 0, unknown: 2 }, contracts: [{ contract: `${LONG}:${'C'.repeat(100)}`, from: event.at, to: event.at, minutes: { kept: 1, broken: 0, unknown: 2 }, unknown: [{ reason: 'agent-silent', minutes: 2 }], events: [event] }] } }));
    await page.goto(`${server.address}/ui/#token=${server.token}`);
    for (const at of ['#/', '#/?level=not-enforced', '#/contracts', `#/contracts?tenant=${LONG}`, '#/traffic', `#/traffic?tenant=${LONG}`, '#/link/h1-%3Eleaf1', '#/node/h1', '#/tenants', `#/tenant/${LONG}`, `#/statement/${LONG}`, `#/contract/${long}`, '#/timeline', '#/what-if?fail=leaf1']) {
      await go(page, at);
      await look(page, `long names ${at.replace(LONG, 'long').replace(long, 'long')} ${scheme} ${width}`);
      const hidden = await page.evaluate(() => [...document.querySelectorAll('.table')].filter((one) => one.scrollWidth > one.clientWidth + 1).map((one) => `${one.getAttribute('aria-label')}: ${one.scrollWidth} of ${one.clientWidth}`));
      check(hidden.length === 0, `long names ${at.slice(0, 40)} ${width}: tables show all columns: ${hidden}`);
    }
    await go(page, '#/contracts');
    await settle(page);
    check((await page.getAttribute('tbody th .name[title]', 'title'))?.startsWith(LONG), 'a shortened name has its full name as title');
    await page.context().close();
  }
  await server.ask('DELETE', `/v1/contracts/${long}`);
  await server.ask('DELETE', `/v1/contracts/${id('c'.repeat(63))}`);
}

/** Agents that are silent, and a controller that expects agents. */
export async function agents({ browser, open, go, says, text, check, look }, server) {
  const page = await open(browser);
  let items = [];
  await altered(page, (path, body) => {
    if (path === '/v1/agents') return { items };
    return path === '/v1/status' ? { ...body, enforcement: 'hosts', silent: ['h1'], agents: 1 } : undefined;
  });
  await page.goto(`${server.address}/ui/#token=${server.token}`);
  await go(page, '#/agents');
  await says(page, 'wayleave agent init', 'agents are missing');
  check(!(await text(page)).includes('--enforcement'), 'an option that is set is not advised');
  items = [{ node: 'h1', kind: 'host', state: 'unknown', epoch: 1, connection: 'silent', open: false, setUp: false, silent: true }, { node: 'h2', kind: 'host', state: 'up', epoch: 1, connection: 'open', open: true, setUp: false, silent: false }];
  await go(page, '#/agents?problems=true');
  await says(page, '✕ silent', 'a silent agent is named');
  const rows = await page.locator('tbody tr').allInnerTexts();
  check(/\? unknown/.test(rows[0]) && !/✓/.test(rows[0]) && /✓ up/.test(rows[1]), `the state of a node with a silent agent is unknown: ${rows}`);
  await look(page, 'silent agents');
  await page.context().close();
}

/** Addresses that name nothing, and a token that is none. */
export async function addresses({ browser, open, go, says, text, check, settle, look }, server) {
  const page = await open(browser);
  await page.goto(`${server.address}/ui/#token=<img src=x>`);
  await says(page, 'The token in the address is malformed', 'a malformed token is an error');
  check(!(await page.evaluate(() => location.href)).includes('token='), 'the address does not keep it');
  page.wrong.length = 0;
  await page.goto(`${server.address}/ui/#token=${server.token}`);
  await says(page, 'Live', 'a good token in an open page is used');
  for (const number of ['abc', '1e30', '9'.repeat(30)]) {
    await go(page, `#/timeline/${number}`);
    await says(page, 'No such event', `an event that is no number does not exist: ${number}`);
  }
  await look(page, 'no such event');
  await page.context().close();
  const tenant = await open(browser, { width: 390 });
  await tenant.goto(`${server.address}/ui/#token=${server.tenant}`);
  for (const at of ['#/statement/shop', '#/traffic?tenant=shop']) {
    await go(tenant, at);
    await says(tenant, 'Your token is limited to tenant plant', `a tenant ${at}: the page names the token's tenant`);
    await settle(tenant);
    check(!/shop/.test(await text(tenant)) || at.includes('traffic'), `a tenant ${at}: nothing of others`);
    check((await tenant.textContent('h1')).includes('plant'), `a tenant ${at}: the title has its own tenant`);
    await look(tenant, `a tenant at another's page ${at}`);
  }
  await tenant.context().close();
}

/** A controller that stops without closing its connections. */
export async function silence({ browser, open, says, check, settle }, server) {
  const page = await open(browser);
  await page.clock.install();
  await page.goto(`${server.address}/ui/#token=${server.token}`);
  await says(page, 'Live', 'the page is live');
  await settle(page);
  process.kill(server.pid, 'SIGSTOP');
  try {
    // In small steps: what was sent before the controller stopped is read between the first of them, and starts the wait again.
    const header = () => page.textContent('header');
    for (let step = 0; step < 15 && !(await header()).includes('Stale'); step += 1) await page.clock.fastForward(2_000);
    await says(page, 'Stale: no message since', 'a page without a message for longer than a heartbeat is stale');
    await says(page, 'its present state is unknown', 'and so are its values');
    check(!(await page.textContent('header')).includes('Live'), 'it is not live');
  } finally {
    process.kill(server.pid, 'SIGCONT');
  }
  await says(page, 'Live', 'an answer makes it live again');
  await page.context().close();
}

/** Contracts whose state is unknown, and contracts whose route has failed. */
export async function reasons({ browser, open, go, text, check, look, settle }, server) {
  const page = await open(browser);
  const states = { 'plant:robot': ['SILENT', 'agents of h1 are silent'], 'plant:camera': ['UNCONFIRMED', 'h2 has not confirmed it'], 'shop:db': ['FAILURE', 'link h1->leaf1 is down'] };
  const requested = [];
  const changed = (one) => (states[one.id] ? { ...one, status: { ...one.status, state: 'degraded', reason: states[one.id][0], message: states[one.id][1] } } : one);
  await altered(page, (path, body) => {
    requested.push(decodeURIComponent(path));
    if (path === '/v1/contracts') return { ...body, items: body.items.map(changed) };
    return /^\/v1\/contracts\/[^/]+$/.test(path) ? changed(body) : undefined;
  });
  await page.goto(`${server.address}/ui/#token=${server.token}`);
  await go(page, '#/contracts');
  await settle(page);
  const row = (id) => page.evaluate((id) => [...document.querySelectorAll('tbody tr')].find((row) => row.textContent.includes(id))?.innerText ?? '', id);
  for (const [id, [reason]] of Object.entries(states)) {
    const said = await row(id);
    check(reason === 'FAILURE' ? said.includes('degraded') : said.includes('? unknown') && !said.includes('degraded'), `the state of a contract with ${reason} in the list: ${said}`);
  }
  states['plant:robot'] = ['FAILURE', 'link h1->leaf1 is down'];
  await go(page, '#/contract/plant%3Arobot');
  await settle(page);
  const said = await text(page);
  check(said.includes('The admitted route is not in use; its bound was') && said.includes('Admitted route, not in use') && !said.includes('delay bound is'), `a failed route has no bound now: ${said.slice(0, 900)}`);
  check(!requested.includes('/v1/contracts/plant:robot/explanation'), 'the proof of a failed route is not requested');
  await look(page, 'a contract with a failed route');
  await page.context().close();
}

/** Words for states, events and problems: each is named once, by its place, and as on other pages. */
export async function names({ browser, open, go, says, text, check, look }, server) {
  const page = await open(browser);
  const levels = { violated: 0, unknown: 0, unconfirmed: 0, 'at-risk': 0, pending: 0, 'not-enforced': 0, 'best-estimate': 4, ok: 3 };
  const text36 = 'its clock was set, or its reports were delayed: reports without `traffic`';
  const problems = [...Array.from({ length: 36 }, (_, at) => `n${at}: ${text36}`), 'h1: no program is attached'];
  const event = (number, type, object, detail) => ({ number, at: '2026-11-29T11:07:15Z', type, object, revision: 1, detail });
  await altered(page, (path, body) => {
    if (path === '/v1/health') return { ...body, levels };
    if (path === '/v1/status') return { ...body, enforcement: 'hosts', agents: 36, silent: [], problems };
    if (/^\/v1\/timeline\/\d+$/.test(path)) return { ...body, event: event(body.event.number, 'agent-silent', 'h4', 'agent silent for 5 s') };
    return undefined;
  });
  await page.goto(`${server.address}/ui/#token=${server.token}`);
  await says(page, '3 of 7 guarantees are proven and in force; 4 are enforced in part or measured', 'the first page says how many guarantees are kept, and what the others are');
  await says(page, '36 nodes (n0, n1, n2, n3, n4 …): its clock was set', 'a problem of many nodes is named once');
  const said = await text(page);
  check(said.split('its clock was set').length === 2 && said.includes('h1: no program is attached') && !said.includes('`'), `problems are grouped by their text: ${said.slice(0, 900)}`);
  check((await page.locator('.notice a[href="#/node/h1"]').count()) === 1, 'a problem of one node leads to the node');
  await look(page, 'the first page with problems of many nodes');
  await go(page, '#/timeline');
  await says(page, 'agent silent for 5 s', 'the past has events of agents');
  check((await page.locator('a[href="#/node/h4"]').count()) === 1 && (await text(page)).includes('✕ agent silent'), 'an event of an agent is bad, and leads to its node');
  await look(page, 'an event of an agent');
  await go(page, '#/link/h1-%3Eleaf1');
  await says(page, 'buffer unlimited', 'the buffer of a host has no limit');
  check(!(await text(page)).includes('100 GB'), 'it has no size');
  await look(page, 'a link of a host');
  await page.context().close();
}
