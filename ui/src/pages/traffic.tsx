// Measured traffic: the contracts that send most, and the flow from tenants over links to hosts.

import { useEffect, useState } from 'preact/hooks';
import { get, path } from '../api';
import { count, many, rate, short } from '../format';
import { Combo } from '../combo';
import { ContractLink, Empty, Failed, Field, Load, LoadLegend, Loading, NotMeasured, OwnOnly, Shown, Table, word } from '../parts';
import { SUMMED, measured, ofAll, ofCounters, ofEdge, ofTenant } from '../sum';
import { Sankey, address as pageOf, type Width } from '../sankey';
import { RATES_MS, readsAll, to, useRead, useWorld, type Address } from '../state';
import { reservedOf } from './contracts';
import type { FlowEdge, Flows, TopTraffic } from '../types';

/** Number of contracts, and of paths from a tenant over a link to a host in the flow view. */
const TALKERS = 20;
const FLOWS = 40;

export function Traffic({ address }: { address: Address }) {
  const { about } = useWorld();
  const asked = address.query.get('tenant') ?? undefined;
  const tenant = about.tenant ?? asked;
  const by = address.query.get('width');
  const go = (change: Record<string, string | undefined>) => location.replace(to(['traffic'], { tenant, width: by ?? undefined, ...change }));
  const [typed, setTyped] = useState(tenant ?? '');
  useEffect(() => setTyped(tenant ?? ''), [tenant]);
  const flows = useRead<Flows>(path(['flows'], { limit: FLOWS, tenant }), get, RATES_MS);
  return (
    <>
      <h1>Traffic{tenant && <> of <span class="name">{tenant}</span></>}</h1>
      {asked !== undefined && asked !== tenant && <OwnOnly what="traffic" />}
      {about.tenant === undefined && (
        <form class="controls" role="search" onSubmit={(event) => { event.preventDefault(); go({ tenant: typed || undefined }); }}>
          <Field label="Tenant">{(id) => <Combo id={id} kinds={['tenant']} value={typed} onChange={setTyped} onDone={(name) => { if (name !== (tenant ?? '')) go({ tenant: name || undefined }); }} placeholder="all" />}</Field>
        </form>
      )}
      <h2>Top talkers</h2>
      <Talkers tenant={tenant} limit={TALKERS} />
      <h2>Flows</h2>
      {flows.trouble?.status === 404 || flows.trouble?.status === 403 ? <p class="notice">Not measured: {flows.trouble.status === 403 ? flows.trouble.message : 'this controller reports no flows.'}</p> : (
        <Shown of={flows} what="flows">{(flows) => <FlowView flows={flows} tenant={tenant} by={by} setBy={(by) => go({ width: by })} />}</Shown>
      )}
    </>
  );
}

/** Contracts by measured rate, the highest first. */
export function Talkers({ tenant, limit }: { tenant: string | undefined; limit: number }) {
  const top = useRead<TopTraffic>(path(['traffic'], { limit, tenant }), get, RATES_MS);
  if (top.trouble) return <Failed trouble={top.trouble} again={top.again} />;
  if (!top.value) return <Loading what="counters" />;
  const { items, contracts, measured: known } = top.value;
  const total = ofAll(top.value);
  const shown = items.filter((item) => ofCounters(item).bps !== null);
  if (contracts === 0) return <Empty>No contracts.</Empty>;
  if (known === 0) return <NotMeasured nobody="Not measured: no agent has reported a current rate of a contract." />;
  return (
    <>
      <p>{total.bps !== null && <><strong>{measured(total)}</strong> measured on </>}{count(known)} of {many(contracts, 'contract')}{known < contracts && '; the rate of the others is unknown'}{total.isLeast && known === contracts && '; not all their hosts report'}.</p>
      <LoadLegend />
      <Table caption="Contracts with the highest measured rate" items={shown} rowKey={(item) => item.contract.id} columns={[
        { head: 'Contract', cell: (item) => <ContractLink id={item.contract.id} /> },
        { head: 'Kind', cell: (item) => word(item.contract.status.kind ?? '') },
        { head: 'Load', cell: (item) => { const reserved = reservedOf(item.contract); return <Load of={ofCounters(item)} reservedBps={reserved.bps} words={reserved.words} />; } },
        { head: 'Reported by', cell: (item) => `${item.reporting} of ${many(item.hosts, 'host')}`, isNumber: true },
      ]} />
    </>
  );
}

function FlowView({ flows, tenant, by, setBy }: { flows: Flows; tenant: string | undefined; by: string | null; setBy: (by: Width) => void }) {
  const { about } = useWorld();
  const { edges, omitted, contracts } = flows;
  const isMeasured = edges.some((edge) => edge.rateBps !== null);
  const width: Width = by === 'reserved' || !isMeasured ? 'reserved' : 'measured';
  // Bands have the rates whose destination is known; the total of a tenant has those of all its contracts.
  const top = useRead<TopTraffic>(isMeasured ? path(['traffic'], { limit: SUMMED, tenant }) : null, get, RATES_MS);
  if (edges.length === 0) return <Empty>{contracts === 0 ? 'No contracts.' : 'No flows to show.'}</Empty>;
  return (
    <>
      <fieldset class="choice">
        <legend>Width of the bands</legend>
        <label><input type="radio" name="width" checked={width === 'measured'} disabled={!isMeasured} onChange={() => setBy('measured')} /> Measured rate</label>
        <label><input type="radio" name="width" checked={width === 'reserved'} onChange={() => setBy('reserved')} /> Reserved rate</label>
      </fieldset>
      {!isMeasured && <p class="notice">Not measured: the bands show reserved rates.</p>}
      <figure>
        <Sankey edges={edges} width={width} hasLinkPages={readsAll(about)} totalOf={(tenant) => ofTenant(top.value, tenant)} hasAll={omitted === 0} />
        <figcaption class="dim">{width === 'measured' && 'Bands have the rates of contracts of which all hosts report. '}A contract passes the link of its route on which most is reserved; other links of its route do not show it. {width === 'measured' ? 'Agents count at the sender: the rates of hoses and objectives to each host are not measured. Rates of links and hosts are therefore lower bounds.' : 'Reservations of links are therefore lower bounds.'} The page of a link has its whole load.{omitted > 0 && ` ${many(omitted, 'path')} with lower rates omitted.`} Select a name for its page.</figcaption>
      </figure>
      <details>
        <summary>Flows as a table</summary>
        <Table caption="Flows" items={[...edges].sort((a, b) => size(b, width) - size(a, width))} rowKey={(edge) => `${edge.from.kind} ${edge.from.name} ${edge.to.kind} ${edge.to.name}`} columns={[
          { head: 'From', cell: (edge) => <End end={edge.from} isLinked={readsAll(about)} /> },
          { head: 'To', cell: (edge) => <End end={edge.to} isLinked={readsAll(about)} /> },
          { head: 'Measured', cell: (edge) => measured(ofEdge(edge)), isNumber: true },
          { head: 'Reserved', cell: (edge) => (edge.reservedBps === null ? 'unknown' : rate(edge.reservedBps)), isNumber: true },
        ]} />
      </details>
    </>
  );
}

function size(edge: FlowEdge, width: Width): number {
  return (width === 'measured' ? edge.rateBps : edge.reservedBps) ?? 0;
}

function End({ end, isLinked }: { end: FlowEdge['from']; isLinked: boolean }) {
  const name = short(end.name).replace('->', ' → ');
  return <>{isLinked || end.kind !== 'link' ? <a class="name" href={pageOf(end)} title={end.name}>{name}</a> : name} <span class="dim">{end.kind}</span></>;
}
