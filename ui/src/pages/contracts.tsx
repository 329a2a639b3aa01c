// All contracts, filtered and sorted by the controller; the address has the filter and the order.

import { useEffect, useRef, useState } from 'preact/hooks';
import { path } from '../api';
import { Combo } from '../combo';
import { ContractLink, Empty, Failed, Field, Loading, More, Name, StateBadge, Table, sortingOf, word, type Column, type Sorting } from '../parts';
import { allowed, bitrate, quantity, remaining, time } from '../format';
import { Csv } from '../history';
import { measured, ofContract } from '../sum';
import { readsAll, to, usePages, useWorld, type Address } from '../state';
import type { Contract, Kind, State } from '../types';

const STATES: State[] = ['pending', 'admitted', 'enforced', 'degraded', 'violated', 'released'];
/** States of the controller whose contracts the list shows with several states. */
const CHOICES: Record<string, string> = { admitted: 'admitted, enforced or not', degraded: 'degraded or unknown' };
const KINDS: Kind[] = ['latency', 'bandwidth', 'objective', 'best-effort'];

export function terms(contract: Contract): string {
  const { status, bandwidth, objective, bestEffort } = contract;
  if (bandwidth) return `minimum ${quantity(bandwidth.min)}${bandwidth.max ? `, maximum ${quantity(bandwidth.max)}` : ''}`;
  if (objective) return `${objective.deadline ? `deadline ${quantity(objective.deadline)}` : objective.goal ?? ''}, weight ${quantity(objective.weight)}`;
  if (bestEffort) return 'no guarantee';
  return `${quantity(contract.rate)}, deadline ${allowed(status.deadlineNs ?? 0)}`;
}

export function ends(contract: Contract): string {
  const { fromHost, toHost, hosts = [] } = contract.status;
  if (fromHost && toHost) return `${fromHost} → ${toHost}`;
  return hosts.length > 4 ? `${hosts.slice(0, 3).join(', ')} and ${hosts.length - 3} more` : hosts.join(', ');
}

/** Reserved rate of all members of a contract, in bit/s and in words; nothing for best effort. */
export function reservedOf({ rate, bandwidth, objective }: Contract): { bps?: number; words?: string } {
  const text = rate ?? bandwidth?.min ?? objective?.weight;
  const [each, members] = [bitrate(text), bandwidth?.hose?.length ?? objective?.members.length ?? 1];
  if (each === undefined) return {};
  return { bps: each * members, words: `${members > 1 ? `${members} × ` : ''}${quantity(text)} reserved` };
}

/** Returns the proven part of the guarantee. */
export function proven({ status: { kind, boundNs, certainty } }: Contract): string {
  if (boundNs !== undefined) return `delay ${time(boundNs)}`;
  if (certainty !== 'proven') return certainty === 'measured' ? 'nothing: measured' : '';
  return kind === 'objective' ? 'share of each link' : 'minimum rate';
}

/** Share of the deadline that the bound leaves. */
function margin({ status: { boundNs, deadlineNs } }: Contract): string {
  return boundNs === undefined || !deadlineNs ? '' : `${allowed(deadlineNs - boundNs)} (${remaining(((deadlineNs - boundNs) / deadlineNs) * 1e6)})`;
}

const COLUMNS: Column<Contract>[] = [
  { head: 'Contract', sort: 'id', cell: (contract) => <ContractLink id={contract.id} /> },
  { head: 'State', sort: 'state', cell: (contract) => <StateBadge of={contract.status} /> },
  { head: 'Kind', sort: 'kind', cell: (contract) => word(contract.status.kind ?? '') },
  { head: 'Endpoints', cell: (contract) => <span class="name">{ends(contract)}</span> },
  { head: 'Terms', sort: 'rate', cell: terms },
  { head: 'Measured', sort: 'measured', cell: (contract) => { const rate = ofContract(contract); return <span class={rate.bps === null ? 'dim' : ''}>{measured(rate)}</span>; }, isNumber: true },
  { head: 'Proven', sort: 'bound', cell: proven, isNumber: true },
  { head: 'Margin', sort: 'headroom', cell: margin, isNumber: true },
];

export function ContractTable({ items, caption, sorting }: { items: Contract[]; caption: string; sorting?: Sorting }) {
  return <Table caption={caption} items={items} rowKey={(contract) => contract.id} columns={COLUMNS} {...(sorting ? { sorting } : {})} />;
}

/** Parameters of the list; the address of the page has the same ones. */
const FILTERS = ['text', 'tenant', 'kind', 'state', 'host', 'link'];

export function Contracts({ address }: { address: Address }) {
  const { about } = useWorld();
  const isForAll = readsAll(about);
  const query = Object.fromEntries(address.query) as Record<string, string | undefined>;
  const [typed, setTyped] = useState(query);
  const sent = useRef<string | undefined>(undefined);
  const go = (change: Record<string, string | undefined>) => location.replace(to(['contracts'], { ...query, ...change }));
  const filterBy = (change: Record<string, string | undefined>) => {
    if (FILTERS.every((name) => (change[name] ?? '') === (query[name] ?? ''))) return;
    sent.current = new URLSearchParams(Object.entries({ ...query, ...change }).filter((pair): pair is [string, string] => Boolean(pair[1]))).toString();
    go(change);
  };
  // Part of a name is a filter while one types; hosts, links and tenants are filters once their names are complete.
  const early = { ...query, text: typed.text, kind: typed.kind, state: typed.state };
  useEffect(() => {
    const timer = window.setTimeout(() => filterBy(early), 300);
    return () => window.clearTimeout(timer);
  }, [JSON.stringify(early)]);
  // An address that was opened, such as a link from another page, replaces what was typed; one's own does not.
  useEffect(() => { if (address.query.toString() !== sent.current) setTyped(query); }, [address.query.toString()]);
  const filter = Object.fromEntries(FILTERS.map((name) => [name, query[name]]));
  const list = { ...filter, sort: query.sort, order: query.order };
  const { items, next, trouble, more } = usePages<Contract>(path(['contracts'], { limit: 50, ...list }));
  const set = (name: string, value: string) => setTyped({ ...typed, [name]: value });
  const choose = (name: string, values: string[], label: string) => (
    <Field label={label}>{(id) => (
      <select id={id} value={typed[name] ?? ''} onChange={(event) => set(name, event.currentTarget.value)}>
        <option value="">any</option>
        {values.map((value) => <option value={value}>{CHOICES[value] ?? word(value)}</option>)}
      </select>
    )}</Field>
  );
  const name = (key: string, kinds: string[], label: string) => (
    <Field label={label}>{(id) => <Combo id={id} kinds={kinds} value={typed[key] ?? ''} onChange={(value) => set(key, value)} onDone={(value) => filterBy({ ...typed, [key]: value.trim() })} placeholder="any" />}</Field>
  );
  const isFiltered = FILTERS.some((name) => query[name]);
  return (
    <>
      <h1>Contracts{query.tenant && <> of <Name of={query.tenant} /></>}</h1>
      <form class="controls" role="search" onSubmit={(event) => { event.preventDefault(); filterBy(typed); }}>
        <Field label="Name contains">{(id) => <input id={id} type="search" value={typed.text ?? ''} placeholder="tenant:name" onInput={(event) => set('text', event.currentTarget.value)} />}</Field>
        {isForAll && name('tenant', ['tenant'], 'Tenant')}
        {choose('kind', KINDS, 'Kind')}
        {choose('state', STATES, 'State')}
        {name('host', ['host'], 'Host')}
        {isForAll && name('link', ['link'], 'Link')}
      </form>
      <p class="buttons">
        {isFiltered && <button type="button" onClick={() => location.replace(to(['contracts'], { sort: query.sort, order: query.order }))}>Clear filters</button>}
        <Csv parts={['contracts']} query={list} name="contracts" />
      </p>
      {trouble && <Failed trouble={trouble} />}
      {!items && !trouble && <Loading what="contracts" />}
      {items?.length === 0 && <Empty>{isFiltered ? 'No matching contracts: change the filter.' : <>No contracts yet. <a href="#/what-if">Try one</a>, or run <code>wayleave apply -f contracts.yaml</code>.</>}</Empty>}
      {items && items.length > 0 && <ContractTable items={items} caption="Contracts" sorting={sortingOf(address, 'id', go)} />}
      <More next={next} more={more} />
    </>
  );
}
