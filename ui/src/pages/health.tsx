// The first page: broken and endangered promises with their causes, and faults of the network.

import { Badge, ContractLink, Empty, LinkLink, Loading, MaybeBar, Message, More, ShortBuffers, Shown, Subject, Table, WhatIf } from '../parts';
import { allowed, count, many, quantity, time, when } from '../format';
import { isReplica, readsAll, to, usePages, useRead, useWorld, type Address } from '../state';
import { path } from '../api';
import { Firing, useAlerts } from './alerts';
import { Talkers } from './traffic';
import type { ContractHealth, HealthLevel, HealthPage as Document, Status, TopologySummary } from '../types';

const LEVELS: { level: HealthLevel; title: string; means: string }[] = [
  { level: 'violated', title: 'Violated', means: 'packets were late or lost, or the guarantee is' },
  { level: 'unknown', title: 'Unknown', means: 'agents are silent, or counters exceed its rule' },
  { level: 'unconfirmed', title: 'Not confirmed', means: 'a host or switch has not confirmed it' },
  { level: 'at-risk', title: 'At risk', means: 'a packet took at least 90\u00a0% of its bound' },
  { level: 'pending', title: 'Pending', means: 'admitted, not in force yet' },
  { level: 'not-enforced', title: 'Not enforced', means: 'admitted; not known to be enforced' },
  { level: 'best-estimate', title: 'Best estimate', means: 'enforced in part, or measured; no guarantee' },
  { level: 'ok', title: 'OK', means: 'proven, and confirmed by hosts' },
];

/** Levels of guarantees that are not known to be kept. */
const NOT_KEPT: HealthLevel[] = ['violated', 'unknown', 'unconfirmed'];

/** Share of its deadline from which on a bound is listed as close. */
const CLOSE = 0.9;
/** Number of guarantees that the first page inspects and shows, and of contracts with the highest rate. */
const INSPECTED = 50;
const SHOWN = 8;
const TALKERS = 5;
/** Path of the first answer of the page. */
export const SUMMARY = path(['health'], { limit: INSPECTED });

/** Returns `true` if the bound leaves little of the deadline. */
function isTight({ boundNs, deadlineNs }: ContractHealth): boolean {
  return boundNs !== undefined && deadlineNs !== undefined && boundNs >= CLOSE * deadlineNs;
}

/** Returns `true` for a guarantee that needs a look. Missing enforcement is reported once, above the list. */
function isClose(one: ContractHealth): boolean {
  return NOT_KEPT.includes(one.level) || one.level === 'at-risk' || one.level === 'pending' || isTight(one);
}

/** Returns the promise of a contract in a few words. */
export function promise(one: ContractHealth): string {
  const between = one.members === 2 && one.kind !== 'objective' ? `${one.hosts[0]} → ${one.hosts[1]}` : `${one.members} hosts`;
  if (one.kind === 'latency') return `${between}, deadline ${allowed(one.deadlineNs ?? 0)}`;
  return `${between}, ${one.kind === 'bandwidth' ? 'minimum' : 'weight'} ${quantity(one.min)}`;
}

/** Bound and observed maximum delay within the deadline. */
export function Budget({ one }: { one: Pick<ContractHealth, 'boundNs' | 'deadlineNs' | 'worstNs'> }) {
  const { boundNs, deadlineNs, worstNs } = one;
  if (!deadlineNs) return <span class="dim">no deadline</span>;
  if (boundNs === undefined) return <span class="dim">no bound now, deadline {allowed(deadlineNs)}</span>;
  const all = Math.max(deadlineNs, worstNs ?? 0);
  const place = (ns: number) => (100 * ns) / all;
  const said = `${time(boundNs)} of ${allowed(deadlineNs)}${worstNs === undefined ? '' : `, slowest ${time(worstNs)}`}`;
  return (
    <span class="bar-line">
      <svg class="bar budget" viewBox="0 0 100 10" preserveAspectRatio="none" role="img" aria-label={`Bound ${said}`}>
        <rect class="track" y="1" width={place(deadlineNs)} height="8" />
        <rect class="bound" y="1" width={place(boundNs)} height="8" />
        {worstNs !== undefined && <rect class={worstNs > boundNs ? 'seen late' : 'seen'} x={Math.max(0, place(worstNs) - 1)} width="1.5" height="10" />}
      </svg>
      <span class="number">{said}</span>
    </span>
  );
}

function why(one: ContractHealth): string {
  // Missing enforcement is reported once, above.
  if (one.message && one.reason !== 'NOT_ENFORCED') return one.message.replace(/`/g, '');
  if (one.level === 'at-risk') return `a packet took ${time(one.worstNs ?? 0)}; the bound is ${time(one.boundNs ?? 0)}`;
  if (one.level === 'pending') return 'not confirmed by its sender yet';
  if (isTight(one)) return `margin ${allowed((one.deadlineNs ?? 0) - (one.boundNs ?? 0))} of the deadline`;
  if (one.level === 'not-enforced') return 'admitted, not enforced';
  if (one.level === 'best-estimate') return 'measured, not proven';
  return '';
}

function Verdict({ levels, isEnforced, isCopy }: { levels: Record<HealthLevel, number>; isEnforced: boolean | undefined; isCopy: boolean }) {
  const all = LEVELS.reduce((sum, { level }) => sum + levels[level], 0);
  if (all === 0) return <h1>No guarantees yet</h1>;
  if (levels.violated > 0) return <h1 class="bad"><span aria-hidden="true">✕ </span>{many(levels.violated, 'guarantee')} of {all.toLocaleString('en')} {levels.violated === 1 ? 'is' : 'are'} violated or lost</h1>;
  const unknown = levels.unknown + levels.unconfirmed;
  if (unknown > 0) return <h1 class="warn"><span aria-hidden="true">? </span>{many(unknown, 'guarantee')} of {all.toLocaleString('en')} {unknown === 1 ? 'is' : 'are'} unknown{isCopy ? ' here: agents report to the leader' : <>: agents are silent or have not confirmed {unknown === 1 ? 'it' : 'them'}, or counters exceed {unknown === 1 ? 'its rule' : 'their rules'}</>}</h1>;
  if (levels['at-risk'] > 0) return <h1 class="warn"><span aria-hidden="true">▲ </span>{many(levels['at-risk'], 'guarantee')} of {all.toLocaleString('en')} {levels['at-risk'] === 1 ? 'is' : 'are'} close to the limit</h1>;
  // Until the enforcement mode is known, it is not reported.
  if (!isEnforced && !isCopy) return <h1>{levels['not-enforced'] === all ? `${many(all, 'guarantee')} admitted` : 'No guarantee is known to be violated'}{isEnforced === false && `; no agent enforces ${all === 1 ? 'it' : 'them'}`}</h1>;
  if (isCopy) return <h1>The leader’s records name no violated guarantee of {all.toLocaleString('en')}</h1>;
  if (levels.ok === all) return <h1 class="good"><span aria-hidden="true">✓ </span>{all === 1 ? 'The only guarantee is' : `All ${count(all)} guarantees are`} proven and in force</h1>;
  // None is violated or unknown; what is not proven and in force is named.
  const others = REST.flatMap(({ level, words }) => (levels[level] > 0 ? [`${count(levels[level])} ${words(levels[level])}`] : []));
  const isInForce = levels.ok + levels['best-estimate'] === all;
  return <h1 class={isInForce ? 'good' : ''}>{isInForce && <span aria-hidden="true">✓ </span>}{count(levels.ok)} of {many(all, 'guarantee')} {levels.ok === 1 ? 'is' : 'are'} proven and in force; {others.join(', ')}</h1>;
}

/** Levels of guarantees of which nothing is known to be wrong, besides those in force, in words. */
const REST: { level: HealthLevel; words: (count: number) => string }[] = [
  { level: 'best-estimate', words: (count) => `${count === 1 ? 'is' : 'are'} enforced in part or measured` },
  { level: 'pending', words: (count) => `${count === 1 ? 'is' : 'are'} not in force yet` },
  { level: 'not-enforced', words: (count) => `${count === 1 ? 'is' : 'are'} not known to be enforced` },
];

export function Health({ address }: { address: Address }) {
  const world = useWorld();
  const { about, events } = world;
  const isCopy = isReplica(world);
  const level = (address.query.get('level') ?? '') as HealthLevel | '';
  const isForAll = readsAll(about);
  const summary = useRead<Document>(SUMMARY);
  const chosen = usePages<ContractHealth>(level ? path(['health'], { level, limit: 50 }) : null);
  // The verdict is requested first, the rest after it.
  const topology = useRead<TopologySummary>(isForAll && summary.value ? path(['topology', 'summary']) : null);
  const status = useRead<Status>(path(['status']));
  const isUnenforced = status.value && !isCopy && status.value.agents === 0 && (status.value.contracts.admitted ?? 0) > 0 && !status.value.contracts.enforced;
  const alerts = useAlerts(isForAll && summary.value !== undefined);
  // The list is sorted by level, then by headroom: what is close to its limit comes first in both.
  const items = level ? chosen.items : summary.value?.items.filter(isClose).slice(0, SHOWN);
  return (
    <Shown of={summary} what="guarantees">
      {(page) => (
        <>
          <Verdict levels={page.levels} isEnforced={isUnenforced === undefined ? undefined : !isUnenforced} isCopy={isCopy} />
          <ul class="levels" aria-label="Guarantees by level">
            {LEVELS.map(({ level: one, title, means }) => (
              <li>
                <a class={`card ${(page.levels[one] ?? 0) > 0 ? one : ''}`} href={to([], { level: one === level ? undefined : one })} aria-current={one === level ? 'true' : undefined}>
                  <Badge of={one}>{title}</Badge>
                  <span class="big">{(page.levels[one] ?? 0).toLocaleString('en')}</span>
                  <span class="dim">{isCopy && one === 'unknown' ? 'agents report to the leader' : means}</span>
                </a>
              </li>
            ))}
          </ul>
          {isUnenforced && (
            <p class="notice">No agent is connected: contracts are admitted, not enforced.{isForAll && <> <a href={to(['agents'])}>Agents</a></>}</p>
          )}
          {isForAll && status.value && topology.value && <Wrong status={status.value} topology={topology.value} />}
          {alerts.value && <Firing alerts={alerts.value} />}
          <h2>{level ? LEVELS.find((one) => one.level === level)?.title ?? level : 'Guarantees that need attention'}</h2>
          {items === undefined && <Loading what="guarantees" />}
          {items?.length === 0 && <Empty>{level ? 'No guarantees at this level.' : page.items.length === 0 ? <>No contracts yet. <a href={to(['what-if'])}>Try one</a>, or run <code>wayleave apply -f contracts.yaml</code>.</> : <>None{isCopy && ' by the leader’s records'}: no guarantee is {isCopy && 'recorded as '}violated, unknown, pending or at risk, and no delay bound takes {CLOSE * 100} % of its deadline.{page.next !== undefined && ` The first ${page.items.length} in order of health were inspected.`} <a href={to(['contracts'], { sort: 'headroom', order: 'asc' })}>Contracts by margin</a></>}</Empty>}
          {items && items.length > 0 && (
            <Table caption="Guarantees, least headroom first" items={items} rowKey={(one) => one.id} columns={[
              { head: 'Contract', cell: (one) => <ContractLink id={one.id} /> },
              { head: 'State', cell: (one) => <Badge of={one.level === 'ok' || one.level === 'violated' ? one.state : one.level} /> },
              { head: 'Guarantee', cell: promise },
              { head: 'Delay bound / deadline', cell: (one) => <Budget one={one} /> },
              { head: 'Reason', cell: (one) => why(one) && <span class="why">{why(one)}</span> },
            ]} />
          )}
          {level ? <More next={chosen.next} more={chosen.more} /> : items && items.length > 0 && <p class="dim">Violated, unknown, pending or at risk, or a delay bound of {CLOSE * 100} % of the deadline or more. A bound close to its deadline is no fault: it is proven, and holds whatever else is admitted. <a href={to(['contracts'], { sort: 'headroom', order: 'asc' })}>All contracts by margin</a></p>}
          <section>
            <h2>Top talkers</h2>
            <Talkers tenant={about.tenant} limit={TALKERS} />
            <p><a href={to(['traffic'])}>Traffic and flows</a></p>
          </section>
          {isForAll && topology.value && topology.value.busiest.length > 0 && (
            <section>
              <h2>Fullest links by reservations</h2>
              <Table caption="Fullest links by reservations" items={topology.value.busiest.slice(0, 6)} rowKey={(link) => link.link} columns={[
                { head: 'Link', cell: (link) => <LinkLink name={link.link} /> },
                { head: 'Measured rate', cell: (link) => <MaybeBar ppm={link.measuredPpm} label="Measured rate" isMeasured /> },
                { head: 'Reserved rate', cell: (link) => <MaybeBar ppm={link.ratePpm} label="Reserved rate" /> },
                { head: 'Delay budget used', cell: (link) => <MaybeBar ppm={link.delayPpm} label="Delay budget used" /> },
                { head: 'Backlog bound / buffer', cell: (link) => <MaybeBar ppm={link.bufferPpm} label="Backlog bound / buffer" /> },
                ...(about.role === 'reader' ? [] : [{ head: 'Prediction', cell: (link: TopologySummary['busiest'][number]) => <WhatIf fail={link.link} /> }]),
              ]} />
              {topology.value.busiest.slice(0, 6).some((link) => (link.bufferPpm ?? 0) > 1e6) && <ShortBuffers />}
            </section>
          )}
          <section>
            <h2>Recent events</h2>
            {events.length === 0 ? <p class="dim">No events since this page was opened. See the <a href={to(['timeline'])}>timeline</a> for earlier ones.</p> : (
              <ol class="log">{events.slice(0, 8).map((event) => <li><time dateTime={event.at}>{when(event.at)}</time> <Badge of={event.type} /> <Subject type={event.type} object={event.object} /> <span class="dim">{event.detail}</span></li>)}</ol>
            )}
          </section>
        </>
      )}
    </Shown>
  );
}

/** Maximum number of nodes that are named for one problem. */
const NAMED = 5;

/** Groups problems ("NODE: text") by their text: one cause often affects many nodes. */
export function grouped(problems: string[]): { nodes: string[]; text: string }[] {
  const groups = new Map<string, string[]>();
  for (const problem of problems) {
    const [, node, text = problem] = /^([^\s:]+): (.*)$/s.exec(problem) ?? [];
    groups.set(text, [...(groups.get(text) ?? []), ...(node === undefined ? [] : [node])]);
  }
  return [...groups].map(([text, nodes]) => ({ nodes, text }));
}

/** Faults of the network and of agents. */
function Wrong({ status, topology }: { status: Status; topology: TopologySummary }) {
  const { down } = topology;
  const problems = grouped(status.problems ?? []);
  const silent = status.silent ?? [];
  if (down.length === 0 && silent.length === 0 && problems.length === 0) return null;
  return (
    <section class="notice bad">
      <h2>Problems of links, nodes and agents</h2>
      <ul>
        {down.slice(0, 8).map(({ element, state, reason }) => <li><Badge of={state} /> <Subject object={element} />: {reason}</li>)}
        {(status.down ?? 0) > 8 && <li>and {many((status.down ?? 0) - 8, 'more element')} down</li>}
        {silent.length > 0 && <li><Badge of="silent" /> <a href={to(['agents'], { problems: 'true' })}>{many(silent.length, 'agent')}</a>: {silent.slice(0, 5).join(', ')}{silent.length > 5 ? ' …' : ''}</li>}
        {problems.slice(0, 5).map(({ nodes, text }) => (
          <li><span aria-hidden="true">▲</span> {nodes.length > 0 && <><a href={nodes.length === 1 ? to(['node', nodes[0] ?? '']) : to(['agents'], { problems: 'true' })}>{nodes.length === 1 ? nodes[0] : many(nodes.length, 'node')}</a>{nodes.length > 1 && ` (${nodes.slice(0, NAMED).join(', ')}${nodes.length > NAMED ? ' …' : ''})`}: </>}<Message text={text} /></li>
        ))}
        {problems.length > 5 && <li><a href={to(['agents'], { problems: 'true' })}>and {many(problems.length - 5, 'more problem')}</a></li>}
      </ul>
    </section>
  );
}
