// Parts of pages: placeholders, badges, bars and tables.

import type { ComponentChildren } from 'preact';
import { useEffect, useId, useState } from 'preact/hooks';
import type { Trouble } from './api';
import { percent, rate, short } from './format';
import { ELSEWHERE, isReplica, readsAll, to, useWorld, type Address } from './state';
import { measured, type Measured } from './sum';
import type { AgentState, Connection, ContractStatus, HealthLevel, ObservedState, State } from './types';

/** Delay after which a loading page shows a message. */
const SLOW_MS = 1500;

export function Loading({ what }: { what: string }) {
  const [isSlow, setSlow] = useState(false);
  useEffect(() => {
    const timer = window.setTimeout(() => setSlow(true), SLOW_MS);
    return () => window.clearTimeout(timer);
  }, []);
  return (
    <p class="notice" role="status">
      Loading {what} …{isSlow && ' The controller is slow to respond.'}
    </p>
  );
}

export function Failed({ trouble, again, advice: given }: { trouble: Trouble; again?: (() => void) | undefined; advice?: string }) {
  if (trouble.code === ELSEWHERE) return <Empty>{trouble.message}</Empty>;
  const advice = given !== undefined ? given
    : trouble.status === 403 ? 'Sign in with a token that has access.'
    : trouble.status === 404 ? 'It may have been deleted: check the list.'
    : trouble.status === 429 || trouble.status === 503 ? 'The page retries automatically.'
    : '';
  return (
    <div class="notice bad" role="alert">
      <p><strong>Request failed.</strong> {trouble.message}</p>
      {trouble.errors.length > 0 && <ul>{trouble.errors.map((error) => <li>{error.field ? `${error.field}: ` : ''}{error.detail}</li>)}</ul>}
      {advice && <p>{advice}</p>}
      {again && <button type="button" onClick={again}>Retry</button>}
    </div>
  );
}

/** The value of a request, or the reason why it is missing. */
export function Shown<T>({ of, what, children }: { of: { value: T | undefined; trouble: Trouble | undefined; again: () => void }; what: string; children: (value: T) => ComponentChildren }) {
  return (
    <>
      {of.trouble && <Failed trouble={of.trouble} again={of.again} />}
      {of.value !== undefined && of.trouble && <p class="dim">Last known values are shown below.</p>}
      {of.value !== undefined ? children(of.value) : !of.trouble && <Loading what={what} />}
    </>
  );
}

export function Empty({ children }: { children: ComponentChildren }) {
  return <p class="notice">{children}</p>;
}

const SIGNS: Record<string, [string, string]> = {
  broken: ['✕', 'bad'], critical: ['✕', 'bad'], warning: ['▲', 'warn'], unknown: ['?', 'dim'], unconfirmed: ['?', 'warn'], degraded: ['✕', 'bad'], violated: ['✕', 'bad'], down: ['✕', 'bad'], refused: ['✕', 'bad'], silent: ['✕', 'bad'], ended: ['–', 'dim'],
  'not connected since this controller started': ['?', 'warn'], 'at-risk': ['▲', 'warn'], pending: ['◷', 'warn'], measured: ['≈', 'warn'], 'best-estimate': ['≈', 'warn'], 'reports a problem': ['▲', 'warn'],
  ok: ['✓', 'good'], enforced: ['✓', 'good'], 'enforced in part': ['✓', 'good'], proven: ['✓', 'good'], up: ['✓', 'good'], 'connected': ['✓', 'good'],
  released: ['–', 'dim'], admitted: ['◷', 'warn'], 'admitted, not enforced': ['◷', 'warn'], 'not-enforced': ['◷', 'warn'],
  'agent-silent': ['✕', 'bad'], 'agent-up': ['✓', 'good'], 'protection-lost': ['✕', 'bad'], 'protection-restored': ['✓', 'good'], repaired: ['▲', 'warn'], rerouted: ['≈', 'warn'],
};

/** Words of levels and events whose names in the API are no words of the dashboard. One state has one name on all pages. */
const WORDS: Record<string, string> = {
  'not-enforced': 'admitted, not enforced', 'at-risk': 'at risk', 'best-estimate': 'best estimate', unconfirmed: 'not confirmed', 'best-effort': 'best effort',
  put: 'created or changed', 'agent-up': 'agent reports', 'agent-silent': 'agent silent', 'protection-lost': 'protection lost', 'protection-restored': 'protection restored',
};

/** Returns the word for a kind, a level or an event. */
export function word(of: string): string {
  return WORDS[of] ?? of;
}

/** A state as a word with a sign, never as a colour alone. */
export function Badge({ of, children }: { of: State | HealthLevel | string; children?: ComponentChildren }) {
  const [sign, tone] = SIGNS[of] ?? ['·', 'dim'];
  return <span class={`badge ${tone}`}><span aria-hidden="true">{sign}</span> {children ?? word(of)}</span>;
}

/** A message of the controller: names between backticks are shown as code. */
export function Message({ text }: { text: string }) {
  return <>{text.split('`').map((part, at) => (at % 2 === 1 ? <code>{part}</code> : part))}</>;
}

/** Returns `true` if a contract may be enforced or not: agents that know it do not report, or not here. */
export function isUnknown({ reason }: ContractStatus): boolean {
  return ['SILENT', 'UNCONFIRMED', 'FOLLOWER'].includes(reason ?? '');
}

/** State of a contract, and whether all its hosts enforce it. */
export function StateBadge({ of }: { of: ContractStatus }) {
  if (isUnknown(of)) return <Badge of="unknown" />;
  if (['NOT_ENFORCED', 'NOT_CONFIRMED', 'RATE_EXCEEDED'].includes(of.reason ?? '')) return <Badge of="admitted, not enforced" />;
  return <Badge of={of.reason === 'ENFORCED_IN_PART' ? 'enforced in part' : of.state} />;
}

/** Returns the state of an agent as a badge: unknown where agents report to another controller. */
export function agentBadge({ connection }: Pick<AgentState, 'connection'>, isElsewhere: boolean): string {
  return isElsewhere || connection === null ? 'unknown' : CONNECTIONS[connection];
}

const CONNECTIONS: Record<Connection, string> = { open: 'connected', silent: 'silent', 'not-since-start': 'not connected since this controller started', ended: 'ended' };

/** Returns the state of a node, which is unknown where agents report to another controller, unless it was reported down. */
export function nodeBadge(state: ObservedState, isElsewhere: boolean): ObservedState {
  return state === 'up' && isElsewhere ? 'unknown' : state;
}

/** Explains missing measurements. `nobody` is the reason if agents report to this controller. */
export function NotMeasured({ nobody }: { nobody: ComponentChildren }) {
  const world = useWorld();
  return <Empty>{isReplica(world) ? 'Not measured here: agents report to the leader only.' : nobody}</Empty>;
}

/** Explains the unknown state of a link or a node. */
export function NotObserved() {
  const isElsewhere = isReplica(useWorld());
  return <p class="notice">{isElsewhere ? 'Up or down is unknown here: agents report to the leader only.' : 'Up or down is unknown: no connected agent observes it, and no report names it as down.'}</p>;
}

/** Explains a page of a token's own tenant in place of the requested one. */
export function OwnOnly({ what }: { what: string }) {
  const { about } = useWorld();
  return <p class="notice">Your token is limited to tenant <Name of={about.tenant ?? ''} />: the {what} of another tenant is not available. This is the {what} of {about.tenant}.</p>;
}

/** A name, shortened in the middle if it is long. The title has the full name. */
export function Name({ of }: { of: string }) {
  const text = short(of);
  return <span class="name" title={text === of ? undefined : of}>{text}</span>;
}

/** Returns the step of the legend for a share: 0 to 4. */
export function step(ppm: number): number {
  return ppm >= 900_000 ? 4 : ppm >= 750_000 ? 3 : ppm >= 500_000 ? 2 : ppm >= 250_000 ? 1 : 0;
}

export const STEPS = ['below 25 %', '25 to 50 %', '50 to 75 %', '75 to 90 %', '90 % or more'];

export function Bar({ ppm, label }: { ppm: number; label: string }) {
  const width = Math.min(ppm / 10_000, 100);
  return (
    <span class="bar-line">
      <svg class="bar" viewBox="0 0 100 8" preserveAspectRatio="none" role="img" aria-label={`${label}: ${percent(ppm)}`}>
        <rect class="track" width="100" height="8" rx="0" />
        <rect class={`use-${step(ppm)}`} width={width} height="8" />
      </svg>
      <span class="number">{percent(ppm)}</span>
    </span>
  );
}

/** Explains a backlog bound above a buffer. */
export function ShortBuffers() {
  return <p class="notice">A backlog bound above 100 % is no reservation: the buffer may be too small for the packets of minima, which then may be dropped, and their times are unknown. Latency contracts are admitted only within their buffers.</p>;
}

/** A bar for a share that may be unknown. */
export function MaybeBar({ ppm, label, isMeasured }: { ppm: number | null | undefined; label: string; isMeasured?: boolean }) {
  return typeof ppm === 'number' ? <Bar ppm={ppm} label={label} /> : <span class="dim">{isMeasured ? 'not measured' : 'unknown'}</span>;
}

/** Measured rate within the reserved rate and the rate of the line, where they are known. */
export function Load({ of, reservedBps, words, lineBps, isAlone }: { of: Measured; reservedBps?: number | null | undefined; words?: string | undefined; lineBps?: number | undefined; isAlone?: boolean }) {
  const { bps } = of;
  const isKnown = bps !== null;
  const all = lineBps ?? Math.max(bps ?? 0, reservedBps ?? 0);
  const place = (of: number) => Math.min(100, (100 * of) / Math.max(1, all));
  const reserved = words ?? (typeof reservedBps === 'number' ? `${rate(reservedBps)} reserved` : '');
  const said = `${measured(of)}${isKnown ? ' measured' : ''}${reserved && `, ${reserved}`}`;
  return (
    <span class="bar-line">
      <svg class="bar load" viewBox="0 0 100 12" preserveAspectRatio="none" role="img" aria-label={said}>
        <rect class={isKnown ? 'track' : 'unknown'} width="100" height="12" />
        {typeof reservedBps === 'number' && <rect class="reserved" width={place(reservedBps)} height="12" />}
        {isKnown && <rect class="measured" y="3" width={Math.max(bps > 0 ? 1 : 0, place(bps))} height="6" />}
      </svg>
      <span class={isKnown ? 'number' : 'dim'}>{measured(of)}{!isAlone && reserved && <span class="dim">, {reserved}</span>}</span>
    </span>
  );
}

export function LoadLegend() {
  return (
    <p class="legend">
      <span><i class="swatch measured" /> measured on the wire</span>
      <span><i class="swatch reserved" /> reserved</span>
    </p>
  );
}

export interface Column<T> {
  head: string;
  cell: (item: T) => ComponentChildren;
  isNumber?: boolean;
  /** A column that takes the remaining width. */
  isWide?: boolean;
  /** Value of the parameter `sort` for this column. */
  sort?: string;
}

/** Order of a list that the controller sorts, as it is in the address. */
export interface Sorting { key: string; order: string; go: (key: string, order: string) => void }

/** Returns the order in the address of a page. */
export function sortingOf(address: Address, first: string, go: (change: Record<string, string>) => void): Sorting {
  return { key: address.query.get('sort') ?? first, order: address.query.get('order') ?? 'asc', go: (sort, order) => go({ sort, order }) };
}

function Head<T>({ column, sorting }: { column: Column<T>; sorting: Sorting | undefined }) {
  const kind = column.isNumber ? 'number' : column.isWide ? 'wide' : undefined;
  if (!sorting || !column.sort) return <th scope="col" class={kind}>{column.head}</th>;
  const key = column.sort;
  const isChosen = sorting.key === key;
  const next = isChosen ? (sorting.order === 'asc' ? 'desc' : 'asc') : column.isNumber ? 'desc' : 'asc';
  return (
    <th scope="col" class={kind} aria-sort={isChosen ? (sorting.order === 'desc' ? 'descending' : 'ascending') : undefined}>
      <button type="button" class="sort" onClick={() => sorting.go(key, next)}>{column.head}<span aria-hidden="true"> {isChosen ? (sorting.order === 'desc' ? '▼' : '▲') : '↕'}</span></button>
      <span class="plain-head">{column.head}</span>
    </th>
  );
}

/** Choice of the order on a narrow screen, where a table has no heads. */
function SortBy<T>({ columns, sorting }: { columns: Column<T>[]; sorting: Sorting }) {
  const sorted = columns.filter((column) => column.sort);
  return (
    <div class="sort-by">
      <Field label="Sort by">{(id) => (
        <select id={id} value={sorting.key} onChange={(event) => sorting.go(event.currentTarget.value, sorting.order)}>
          {sorted.map((column) => <option value={column.sort}>{column.head}</option>)}
        </select>
      )}</Field>
      <button type="button" onClick={() => sorting.go(sorting.key, sorting.order === 'desc' ? 'asc' : 'desc')}>{sorting.order === 'desc' ? '▼ descending' : '▲ ascending'}</button>
    </div>
  );
}

/** A table that becomes a list of cards on a narrow screen. */
export function Table<T>({ caption, columns, items, rowKey, sorting }: { caption: string; columns: Column<T>[]; items: T[]; rowKey: (item: T) => string; sorting?: Sorting }) {
  return (
    <>
      {sorting && <SortBy columns={columns} sorting={sorting} />}
      <div class="table" role="region" aria-label={caption} tabIndex={0}>
        <table>
          <caption class="hidden">{caption}</caption>
          <thead><tr>{columns.map((column) => <Head column={column} sorting={sorting} />)}</tr></thead>
          <tbody>
            {items.map((item) => (
              <tr key={rowKey(item)}>
                {columns.map((column, at) =>
                  at === 0
                    ? <th scope="row">{column.cell(item)}</th>
                    : <td data-head={column.head} class={column.isNumber ? 'number' : undefined}>{column.cell(item)}</td>)}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </>
  );
}

export function More({ next, more }: { next: string | undefined; more: () => void }) {
  return next === undefined ? null : <p><button type="button" onClick={more}>Show more</button></p>;
}

export function Field({ label, hint, children }: { label: string; hint?: string; children: (id: string) => ComponentChildren }) {
  const id = useId();
  return (
    <div class="field">
      <label for={id}>{label}</label>
      {children(id)}
      {hint && <small class="dim">{hint}</small>}
    </div>
  );
}

export function Facts({ facts }: { facts: [string, ComponentChildren][] }) {
  const known = facts.filter(([, value]) => value !== undefined && value !== null && value !== '');
  return <dl class="facts">{known.map(([name, value]) => <div><dt>{name}</dt><dd>{value}</dd></div>)}</dl>;
}

export function ContractLink({ id }: { id: string }) {
  return <a href={to(['contract', id])}><Name of={id} /></a>;
}

export function LinkLink({ name }: { name: string }) {
  const text = short(name);
  return <a class="name" href={to(['link', name])} title={text === name ? undefined : name}>{text.replace('->', ' → ')}</a>;
}

/** Subject of an event or a fault: a contract, the node of an agent, or another object with its kind before it. */
export function Subject({ type = '', object }: { type?: string; object: string }) {
  const { about } = useWorld();
  if (/^(agent-|repaired)/.test(type)) return <a href={to(['node', object])}><Name of={object} /></a>;
  const [, kind = '', name = ''] = /^(\S+) (.+)$/.exec(object) ?? [];
  if (!kind) return <ContractLink id={object} />;
  const hasPage = kind === 'tenant' || (readsAll(about) && (kind === 'link' || kind === 'node'));
  return <>{kind} {!hasPage ? <Name of={name} /> : kind === 'link' ? <LinkLink name={name} /> : <a href={to([kind, name])}><Name of={name} /></a>}</>;
}

/** Leads to the prediction of a failure; nothing for a reader, who may not predict. */
export function WhatIf({ fail, children }: { fail: string; children?: ComponentChildren }) {
  return useWorld().about.role === 'reader' ? null : <a class="button" href={to(['what-if'], { fail })}>{children ?? 'Predict failure'}</a>;
}
