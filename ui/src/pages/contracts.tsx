// All contracts, filtered by part of the name, kind and state.

import { useEffect, useState } from 'preact/hooks';
import { path } from '../api';
import { ContractLink, Empty, Failed, Field, Loading, More, StateBadge, Table } from '../parts';
import { allowed, quantity, time } from '../format';
import { to, usePages, type Address } from '../state';
import type { Contract, Kind, State } from '../types';

const STATES: State[] = ['pending', 'admitted', 'enforced', 'degraded', 'violated', 'released'];
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

export function ContractTable({ items, caption }: { items: Contract[]; caption: string }) {
  return (
    <Table caption={caption} items={items} rowKey={(contract) => contract.id} columns={[
      { head: 'Contract', cell: (contract) => <ContractLink id={contract.id} /> },
      { head: 'State', cell: (contract) => <StateBadge of={contract.status} /> },
      { head: 'Kind', cell: (contract) => contract.status.kind },
      { head: 'Endpoints', cell: ends },
      { head: 'Terms', cell: terms },
      { head: 'Delay bound', cell: (contract) => (contract.status.boundNs === undefined ? contract.status.certainty ?? '' : time(contract.status.boundNs)), isNumber: true },
    ]} />
  );
}

export function Contracts({ address }: { address: Address }) {
  const query = Object.fromEntries(address.query) as Record<string, string | undefined>;
  const [text, setText] = useState(query.text ?? '');
  const go = (change: Record<string, string>) => location.replace(to(['contracts'], { ...query, ...change }));
  useEffect(() => {
    if (text === (query.text ?? '')) return;
    const timer = window.setTimeout(() => go({ text }), 300);
    return () => window.clearTimeout(timer);
  }, [text]);
  const { items, next, trouble, more } = usePages<Contract>(path(['contracts'], { limit: 50, text: query.text, state: query.state, kind: query.kind, tenant: query.tenant }));
  const choose = (name: string, values: string[], label: string) => (
    <Field label={label}>{(id) => (
      <select id={id} value={query[name] ?? ''} onChange={(event) => go({ [name]: event.currentTarget.value })}>
        <option value="">any</option>
        {values.map((value) => <option value={value}>{value}</option>)}
      </select>
    )}</Field>
  );
  return (
    <>
      <h1>Contracts{query.tenant ? ` of ${query.tenant}` : ''}</h1>
      <form class="controls" role="search" onSubmit={(event) => { event.preventDefault(); go({ text }); }}>
        <Field label="Name contains">{(id) => <input id={id} type="search" value={text} placeholder="tenant:name" onInput={(event) => setText(event.currentTarget.value)} />}</Field>
        {choose('kind', KINDS, 'Kind')}
        {choose('state', STATES, 'State')}
      </form>
      {trouble && <Failed trouble={trouble} />}
      {!items && !trouble && <Loading what="contracts" />}
      {items?.length === 0 && <Empty>{query.text || query.kind || query.state ? 'No matching contracts: change the filter.' : <>No contracts yet. <a href="#/what-if">Try one</a>, or run <code>wayleave apply -f contracts.yaml</code>.</>}</Empty>}
      {items && items.length > 0 && <ContractTable items={items} caption="Contracts by tenant and name" />}
      <More next={next} more={more} />
    </>
  );
}
