// Statement of a tenant for a month: minutes kept, broken and unknown, with the events.

import { useState } from 'preact/hooks';
import { path } from '../api';
import { count } from '../format';
import { Combo } from '../combo';
import { Csv } from '../history';
import { Badge, ContractLink, Empty, Field, Name, OwnOnly, Shown, Table } from '../parts';
import { to, usePages, useRead, useWorld, type Address } from '../state';
import type { ContractStatement, Statement, StatementMinutes as Sums, Tenant, UnknownReason } from '../types';

/** Number of months that the page offers. */
const MONTHS = 12;
/** Maximum number of events of a contract in view. */
const EVENTS = 20;

/** Returns a month in UTC as "2026-11", `back` months before the current one. */
function month(back: number): string {
  const now = new Date();
  return new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() - back, 1)).toISOString().slice(0, 7);
}

export function StatementPage({ tenant, address }: { tenant: string | undefined; address: Address }) {
  const { about } = useWorld();
  const name = about.tenant ?? tenant;
  const chosen = address.query.get('month') ?? month(0);
  const go = (name: string | undefined, month: string) => location.replace(to(name ? ['statement', name] : ['statement'], { month }));
  return (
    <>
      <h1>Statement{name && <> of <span class="name">{name}</span></>}</h1>
      {about.tenant !== undefined && tenant !== undefined && tenant !== about.tenant && <OwnOnly what="statement" />}
      <p>A minute is <strong>kept</strong> if the contract was in force, all agents of its ends, and of its switches if these have agents, reported without a gap of more than 3 s, and no violation was observed. It is <strong>broken</strong> if the contract was violated, if it was degraded for another reason than missing reports, or if a sampled packet was lost or late. All other minutes are <strong>unknown</strong>, also those in which the counters of its senders could not be compared with its rule. A rule without an upper bound (a minimum without <code>max</code>, <code>excess: demote</code>) is not compared: a kept minute states only that it was in force.</p>
      <div class="controls">
        {about.tenant === undefined && <Choice tenant={name} go={(name) => go(name, chosen)} />}
        <Field label="Month (UTC)">{(id) => (
          <select id={id} value={chosen} onChange={(event) => go(name, event.currentTarget.value)}>
            {[...new Set([...Array.from({ length: MONTHS }, (_, back) => month(back)), chosen])].map((one) => <option value={one}>{one}</option>)}
          </select>
        )}</Field>
      </div>
      {name === undefined ? <p class="notice">Choose a tenant.</p> : <Whole key={`${name} ${chosen}`} tenant={name} month={chosen} />}
    </>
  );
}

function Choice({ tenant, go }: { tenant: string | undefined; go: (name: string) => void }) {
  const tenants = usePages<Tenant>(path(['tenants'], { limit: 100 }));
  const [typed, setTyped] = useState(tenant ?? '');
  if (tenants.next !== undefined) return <Field label="Tenant">{(id) => <Combo id={id} kinds={['tenant']} value={typed} onChange={setTyped} onDone={(name) => { if (name && name !== tenant) go(name); }} />}</Field>;
  return (
    <Field label="Tenant">{(id) => (
      <select id={id} value={tenant ?? ''} onChange={(event) => go(event.currentTarget.value)}>
        <option value="" disabled>choose</option>
        {[...new Set([...(tenants.items ?? []).map((one) => one.name), ...(tenant ? [tenant] : [])])].map((one) => <option value={one}>{one}</option>)}
      </select>
    )}</Field>
  );
}

function Whole({ tenant, month }: { tenant: string; month: string }) {
  const statement = useRead<Statement>(path(['tenants', tenant, 'statement'], { month }));
  return (
    <Shown of={statement} what="the statement">
      {(statement) => (
        <>
          <p class="buttons"><Csv parts={['tenants', tenant, 'statement']} query={{ month }} name={`statement-${tenant}-${month}`} /></p>
          <Coverage statement={statement} />
          <Total minutes={statement.minutes} />
          <p class="dim">{counted(statement)} A minute is kept if all contracts were kept, and broken if one was broken.</p>
          {statement.contracts.length === 0 ? <Empty>{statement.since === null ? 'Contracts of this month are unknown.' : 'No contract has a recorded minute in this month.'}</Empty> : (
            <Table caption={`Minutes of each contract of ${tenant}`} items={statement.contracts} rowKey={(one) => `${one.contract} ${one.from}`} columns={[
              { head: 'Contract', cell: (one) => <><ContractLink id={one.contract} />{isRepeated(statement, one) && <span class="dim"> from {utc(one.from)}</span>}</> },
              { head: 'Kept', cell: (one) => <Minutes of={one.minutes} part="kept" />, isNumber: true },
              { head: 'Broken', cell: (one) => <span class={one.minutes.broken > 0 ? 'bad' : ''}><Minutes of={one.minutes} part="broken" /></span>, isNumber: true },
              { head: 'Unknown', cell: (one) => many(one.minutes.unknown), isNumber: true },
              { head: 'Unknown because', cell: (one) => one.unknown.map(({ reason, minutes }) => `${WHY[reason]}: ${many(minutes)}`).join('; ') },
              { head: 'Shares', cell: (one) => <Shares minutes={one.minutes} /> },
            ]} />
          )}
          {statement.omitted > 0 && <p class="dim">and {count(statement.omitted)} more contracts in the CSV file</p>}
          <Events statement={statement} />
        </>
      )}
    </Shown>
  );
}

/** Reasons of unknown minutes in words. */
const WHY: Record<UnknownReason, string> = {
  'counters-incomplete': 'counters incomplete', 'rate-above-rule': 'counters above its rule', 'rules-changed': 'rules changed by another program',
  'not-confirmed': 'not confirmed by an agent', 'agent-silent': 'agent silent', 'not-in-force': 'not in force', 'maybe-broken': 'broken shortly after',
  'not-observed': 'not observed',
};

/** Names the minutes that the totals add up: contracts before the record are not known. */
function counted({ since, until }: Statement): string {
  if (since === null || until === null) return 'All minutes of the month, because its contracts are not known.';
  return `Minutes until ${utc(until)} UTC: those before ${utc(since)}, whose contracts are not known, and recorded ones in which the tenant had a contract.`;
}

/** Returns `true` for a contract that was deleted and created again in the month. */
function isRepeated(statement: Statement, { contract }: ContractStatement): boolean {
  return statement.contracts.filter((one) => one.contract === contract).length > 1;
}

/** The recorded part of the month, and the reasons for which the others are unknown. */
function Coverage({ statement: { since, until, notCovered } }: { statement: Statement }) {
  const gaps = notCovered.map((part) => <li>{utc(part.from)} to {utc(part.to)} UTC: {part.reason.replace(/\d{4}-\d\d-\d\dT[0-9:.]+Z/, utc)}</li>);
  return (
    <div class={since === null ? 'notice' : 'dim'}>
      <p>{since === null || until === null ? 'Nothing is recorded of this month: all its minutes are unknown.' : `Recorded from ${utc(since)} to ${utc(until)} UTC.`}</p>
      {gaps.length > 0 && <><p>Not recorded:</p><ul>{gaps}</ul></>}
    </div>
  );
}

/** Number of minutes. None of them, beside unknown ones, is unknown: it may be any of these. */
function Minutes({ of, part }: { of: Sums; part: 'kept' | 'broken' }) {
  return isUnknown(of, part) ? <span class="dim">unknown</span> : <>{many(of[part])}</>;
}

function isUnknown(minutes: Sums, part: keyof Sums): boolean {
  return part !== 'unknown' && minutes[part] === 0 && minutes.unknown > 0;
}

function many(minutes: number): string {
  return `${count(minutes)} min`;
}

function sum({ kept, broken, unknown }: Sums): number {
  return kept + broken + unknown;
}

/** Formats a share: kept minutes are rounded down, others up, so that 100 % kept means all. */
function percent(part: number, all: number, round: (value: number) => number): string {
  if (all === 0) return '–';
  const rounded = round((10_000 * part) / all) / 100;
  return rounded >= 100 && part < all ? '< 100 %' : `${rounded.toLocaleString('en')} %`;
}

/** Formats the share of a part: beside unknown minutes, the others have a lower limit, or are unknown. */
function share(minutes: Sums, part: keyof Sums): string {
  if (isUnknown(minutes, part)) return 'unknown';
  const isLeast = part !== 'unknown' && minutes.unknown > 0;
  if (!isLeast) return percent(minutes[part], sum(minutes), ROUND[part]);
  // A lower limit is rounded down.
  const least = percent(minutes[part], sum(minutes), Math.floor);
  return least === '0 %' ? '> 0 %' : `≥ ${least}`;
}

const ROUND: Record<keyof Sums, (value: number) => number> = { kept: Math.floor, broken: Math.ceil, unknown: Math.ceil };

/** Formats a time in UTC, as months are, with its seconds if it is no whole minute. */
function utc(at: string): string {
  const then = new Date(at);
  return Number.isNaN(then.getTime()) ? at : then.toISOString().slice(0, then.getUTCSeconds() > 0 ? 19 : 16).replace('T', ' ');
}

function Total({ minutes }: { minutes: Sums }) {
  const all = sum(minutes);
  const cards: [keyof Sums, string, string][] = [['kept', 'ok', 'Kept'], ['broken', 'broken', 'Broken'], ['unknown', 'unknown', 'Unknown']];
  return (
    <ul class="levels three" aria-label="Minutes of the tenant">
      {cards.map(([key, badge, title]) => (
        <li><div class="card"><Badge of={badge}>{title}</Badge><span class={isUnknown(minutes, key) ? 'big dim' : 'big'}>{share(minutes, key)}</span><span class="dim">{isUnknown(minutes, key) ? `${many(minutes.unknown)} unknown` : `${many(minutes[key])} of ${many(all)}`}</span></div></li>
      ))}
    </ul>
  );
}

function Shares({ minutes }: { minutes: Sums }) {
  const all = Math.max(1, sum(minutes));
  const [kept, broken] = [(100 * minutes.kept) / all, (100 * minutes.broken) / all];
  const said = (['kept', 'broken', 'unknown'] as const).map((key) => `${key} ${share(minutes, key)}`).join(', ');
  return (
    <svg class="bar minutes" viewBox="0 0 100 8" preserveAspectRatio="none" role="img" aria-label={said}>
      <rect class="unknown" width="100" height="8" />
      <rect class="kept" width={kept} height="8" />
      {broken > 0 && <rect class="broken" x={Math.min(kept, 99)} width={Math.max(1, broken)} height="8" />}
    </svg>
  );
}

function Events({ statement }: { statement: Statement }) {
  const eventful = statement.contracts.filter((one) => one.events.length > 0);
  if (eventful.length === 0) return <><h2>Events</h2><p class="dim">{statement.since === null ? 'Unknown: nothing is recorded of this month.' : 'None in the recorded part of this month.'}</p></>;
  return (
    <>
      <h2>Events (UTC)</h2>
      {eventful.map((one) => (
        <details open={eventful.length <= 5}>
          <summary><Name of={one.contract} />: {count(one.events.length)} {one.events.length === 1 ? 'event' : 'events'}</summary>
          <ol class="log">
            {one.events.slice(0, EVENTS).map((event) => <li><time dateTime={event.at}>{utc(event.at)}</time> <Badge of={event.kind} /> {event.text}</li>)}
          </ol>
          {one.events.length > EVENTS && <p class="dim">and {count(one.events.length - EVENTS)} more in the answer of <code>GET /v1/tenants/…/statement</code></p>}
        </details>
      ))}
    </>
  );
}
