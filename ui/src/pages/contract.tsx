// A contract: its promise, its delay hop by hop, measurements, and the explanation.

import { useState } from 'preact/hooks';
import { get, path, text } from '../api';
import { allowed, bytes, count, many, percent, quantity, rate, remaining, time, when } from '../format';
import { History } from '../history';
import { Badge, Bar, Empty, Facts, LinkLink, Load, LoadLegend, Message, NotMeasured, Shown, StateBadge, Table, isUnknown } from '../parts';
import { measured, ofCounters } from '../sum';
import { RATES_MS, readsAll, to, useRead, useWorld } from '../state';
import type { CurveQueue, Explanation, Term } from '../explanation';
import type { Contract, ContractTraffic, Hop } from '../types';
import { reservedOf } from './contracts';

const KINDS = { latency: 'Latency contract', bandwidth: 'Bandwidth contract', objective: 'Objective', 'best-effort': 'Best effort' };

export function ContractPage({ id }: { id: string }) {
  const contract = useRead<Contract>(path(['contracts', id]));
  return <Shown of={contract} what={id}>{(contract) => <Whole key={contract.id} contract={contract} />}</Shown>;
}

function Whole({ contract }: { contract: Contract }) {
  const { status } = contract;
  const reserved = reservedOf(contract);
  const isOut = isOutOfUse(contract);
  const explanation = useRead<Explanation>(isOut ? null : path(['contracts', contract.id, 'explanation']));
  const traffic = useRead<ContractTraffic>(path(['contracts', contract.id, 'traffic']), get, RATES_MS);
  return (
    <>
      <h1><span class="name">{contract.id}</span> <StateBadge of={status} /></h1>
      {status.message && <p class={`notice ${!isUnknown(status) && (status.state === 'degraded' || status.state === 'violated') ? 'bad' : ''}`}>{status.reason && <strong>{status.reason}: </strong>}<Message text={status.message} /></p>}
      <Terms contract={contract} />
      {status.kind === 'latency'
        ? <Latency contract={contract} explanation={explanation.value} seen={traffic.value?.traffic?.followed?.timed ? traffic.value.traffic.followed.worstNs : status.measured?.worstNs} />
        : <Other explanation={explanation.value} />}
      {explanation.trouble && <p class="notice">{explanation.trouble.message}</p>}
      <h2>Load</h2>
      <p><Load of={ofCounters(traffic.value)} reservedBps={reserved.bps} words={reserved.words} /></p>
      <LoadLegend />
      <History of="contracts" name={contract.id} />
      <h2>Measurements</h2>
      <Shown of={traffic} what="counters">{(counters) => <Measured counters={counters} contract={contract} />}</Shown>
      {!isOut && <Text id={contract.id} />}
    </>
  );
}

/** Returns `true` if the admitted route has failed, no longer fits, or is given up: its proof does not hold now. */
function isOutOfUse({ status: { reason, state } }: Contract): boolean {
  return reason === 'FAILURE' || reason === 'UNFIT' || state === 'released';
}

/** Reasons for which an admitted contract is not known to be in force. */
const NOT_IN_FORCE: { [reason: string]: string } = { FOLLOWER: 'unknown here: agents report to the leader', NOT_ENFORCED: 'no: no agent enforces it', RATE_EXCEEDED: 'unknown: counters show more than its rule lets through' };

function Terms({ contract }: { contract: Contract }) {
  const { status, bandwidth, objective, bestEffort } = contract;
  const members = bandwidth?.hose ?? objective?.members ?? bestEffort?.members;
  const share = bandwidth ?? objective;
  const max = bandwidth?.max ?? bestEffort?.max;
  const end = (host: string | undefined, name: string | undefined) => host && <a href={to(['node', host])}>{name && name !== host ? `${name} on ${host}` : host}</a>;
  return (
    <Facts facts={[
      ['Kind', `${KINDS[status.kind ?? 'latency']}${bandwidth?.hose ? ' (hose)' : ''}`],
      ['From', end(status.fromHost, contract.from ?? bandwidth?.from)],
      ['To', end(status.toHost, contract.to ?? bandwidth?.to)],
      ['Members', members && <>{members.slice(0, 12).join(', ')}{members.length > 12 ? ` and ${members.length - 12} more` : ''}</>],
      ['Rate', quantity(contract.rate)],
      ['Burst', quantity(contract.burst)],
      ['Deadline', quantity(contract.deadline ?? objective?.deadline, Math.floor)],
      ['Goal', objective && (objective.goal ?? 'deadline')],
      [objective ? 'Weight' : 'Minimum', share && quantity(objective ? objective.weight : bandwidth?.min)],
      ['Maximum', max && quantity(max, Math.floor)],
      ['Delivery within', status.withinNs !== undefined && time(status.withinNs)],
      ['Certainty', status.certainty && <Badge of={status.certainty} />],
      ['Disjoint routes', contract.protection],
      ['Priority', contract.priority ?? 50],
      ['Starts', contract.starts && when(contract.starts)],
      ['Ends', contract.ends && when(contract.ends)],
      ['Admitted', when(status.created)],
      ['In force', status.state === 'enforced' ? 'yes: all of its hosts have confirmed the present terms' : status.state === 'admitted' && (NOT_IN_FORCE[status.reason ?? ''] ?? 'unknown: not all of its hosts have confirmed it')],
    ].filter(([, value]) => value !== false && value !== undefined) as [string, preact.ComponentChildren][]} />
  );
}

/** A part of the bound, with the present limit of the queue. */
interface Part { kind: string; at: string; queue?: number | undefined; ns: number; now?: number | undefined }

function partsOf(terms: Term[], queues: CurveQueue[]): Part[] {
  return terms.map((term) => {
    const queue = term.kind === 'queue' ? queues.find((one) => one.link === term.at && one.queue === term.queue) : undefined;
    return { kind: term.kind, at: term.at ?? '', queue: term.queue, ns: term.delayNs, now: queue?.delayBoundNs ?? undefined };
  });
}

const PARTS: Record<string, string> = { queue: 'Queue', processing: 'Processing', propagation: 'Propagation' };

function Latency({ contract, explanation, seen }: { contract: Contract; explanation: Explanation | undefined; seen: number | undefined }) {
  const { status } = contract;
  const isOut = isOutOfUse(contract);
  const parts = partsOf(explanation?.request?.terms ?? [], explanation?.queues ?? []);
  const { deadlineNs } = status;
  const boundNs = isOut ? status.routes[0]?.boundNs : status.boundNs;
  return (
    <section>
      <h2>Delay bound by hop</h2>
      {boundNs !== undefined && deadlineNs !== undefined && (
        <p>{isOut ? 'The admitted route is not in use; its bound was' : 'The proven delay bound is'} <strong>{time(boundNs)}</strong>. The deadline is {allowed(deadlineNs)}, which {isOut ? 'left' : 'leaves'} a margin of {allowed(deadlineNs - boundNs)} ({remaining(((deadlineNs - boundNs) / deadlineNs) * 1e6)}).{seen !== undefined && <> The slowest packet took <strong>{time(seen)}</strong>.</>}</p>
      )}
      {parts.length > 0 && boundNs !== undefined && deadlineNs !== undefined && <Fall parts={parts} bound={boundNs} deadline={deadlineNs} seen={seen} />}
      {parts.length === 0 && status.routes.map((route, at) => (
        <div>
          <h3>{isOut ? 'Admitted route, not in use' : 'Route'}{status.routes.length > 1 ? ` ${at + 1}` : ''}{route.boundNs !== undefined && `: bound ${time(route.boundNs)}`}</h3>
          <Route hops={route.hops} />
        </div>
      ))}
      {parts.length > 0 && status.routes.length > 1 && <>
        <h3>Packets are duplicated over {status.routes.length} disjoint routes</h3>
        {status.routes.slice(1).map((route) => <><p>{route.boundNs !== undefined && `Bound ${time(route.boundNs)}:`}</p><Route hops={route.hops} /></>)}
      </>}
      {status.routes.length === 0 && <Empty>It has no route in the network now. {status.message}</Empty>}
    </section>
  );
}

function Route({ hops }: { hops: Hop[] }) {
  const { about } = useWorld();
  return <ol class="route">{hops.map((hop) => <li>{readsAll(about) ? <LinkLink name={hop.link} /> : hop.link.replace('->', ' → ')} <span class="dim">queue {hop.queue}</span></li>)}</ol>;
}

/** The parts of the bound in order, from sender to receiver, up to the deadline. */
function Fall({ parts, bound, deadline, seen }: { parts: Part[]; bound: number; deadline: number; seen: number | undefined }) {
  // A distant deadline would leave no space for the parts.
  const all = Math.max(bound, seen ?? 0, deadline > 3 * bound ? bound * 1.2 : deadline) * 1.005;
  const place = (ns: number) => (1000 * ns) / all;
  const rows = parts.map((part, at) => ({ ...part, row: at, from: parts.slice(0, at).reduce((sum, before) => sum + before.ns, 0) }));
  const mark = (kind: string, ns: number) => <rect class={kind} x={Math.min(place(ns), 996) - 1.5} y="0" width="4" height="30" />;
  return (
    <>
      <Table caption="Parts of the bound, from sender to receiver" items={rows} rowKey={(part) => String(part.row)} columns={[
        { head: 'Part', cell: (part) => `${PARTS[part.kind] ?? part.kind}${part.queue === undefined ? '' : ` ${part.queue}`}` },
        { head: 'At', cell: (part) => (part.kind === 'processing' ? <a href={to(['node', part.at])}>{part.at}</a> : part.at.includes('->') ? <LinkLink name={part.at} /> : part.at) },
        { head: 'Guaranteed', cell: (part) => time(part.ns), isNumber: true },
        { head: 'Worst case today', cell: (part) => (part.now === undefined ? '' : `${time(part.now)} (${percent((part.now / part.ns) * 1e6)})`), isNumber: true },
        { head: 'Position in the bound', isWide: true, cell: (part) => (
          <svg class="fall" viewBox="0 0 1000 30" preserveAspectRatio="none" aria-hidden="true">
            <rect class="track" y="7" width="1000" height="16" />
            <rect class={`part ${part.kind}`} x={place(part.from)} y="7" width={Math.max(place(part.ns), 2)} height="16" />
            {part.now !== undefined && <rect class="now" x={place(part.from)} y="7" width={Math.max(place(Math.min(part.now, part.ns)), 2)} height="16" />}
            {mark('bound-line', bound)}
            {seen !== undefined && mark('seen', seen)}
            {deadline <= all && mark('deadline-line', deadline)}
          </svg>
        ) },
      ]} />
      <p class="legend">
        <span><i class="swatch part queue" /> guaranteed: delay budget of a queue, whatever else is admitted</span>
        <span><i class="swatch now" /> worst case today, with the present contracts</span>
        <span><i class="swatch part" /> propagation, processing</span>
        <span><i class="swatch bound-line" /> bound {time(bound)}</span>
        {seen !== undefined && <span><i class="swatch seen" /> slowest packet {time(seen)}</span>}
        <span><i class="swatch deadline-line" /> deadline {allowed(deadline)}{deadline > all && ' (beyond the right edge)'}</span>
      </p>
    </>
  );
}

function Other({ explanation }: { explanation: Explanation | undefined }) {
  if (!explanation) return null;
  const links = explanation.links ?? [];
  return (
    <section>
      <h2>Reservations</h2>
      {explanation.message && <p>{explanation.message}</p>}
      {explanation.assumption && <p class="dim">Assumption: {explanation.assumption}.</p>}
      {links.length > 0 && (
        <Table caption="Fullest links" items={links} rowKey={(link) => link.link} columns={[
          { head: 'Link', cell: (link) => <LinkLink name={link.link} /> },
          { head: 'Latency contracts', cell: (link) => rate(link.reservedBps), isNumber: true },
          { head: 'Reserved for its class', cell: (link) => rate(link.promisedBps ?? 0), isNumber: true },
          { head: 'Available to its class', cell: (link) => rate(link.leftBps ?? 0, Math.floor), isNumber: true },
          { head: 'Class usage', cell: (link) => <Bar ppm={((link.promisedBps ?? 0) / Math.max(1, (link.promisedBps ?? 0) + (link.leftBps ?? 0))) * 1e6} label="Class usage" /> },
        ]} />
      )}
    </section>
  );
}

function Measured({ counters: { hosts, reporting, traffic, rateBps }, contract }: { counters: ContractTraffic; contract: Contract }) {
  if (!traffic) {
    if (hosts === 0) return <Empty>Best effort is not counted.</Empty>;
    return <NotMeasured nobody="Unknown: no agent reports its counters." />;
  }
  const { followed } = traffic;
  return (
    <Facts facts={[
      ['Counted by', reporting < hosts && `${reporting} of ${many(hosts, 'host')}; the traffic of the others is unknown`],
      ['Sending rate', measured(ofCounters({ hosts, reporting, rateBps }))],
      ['Packets', count(traffic.packets)],
      ['Bytes on the wire', bytes(traffic.bytes)],
      ['Waited for tokens', count(traffic.delayed)],
      ['Queued now', count(traffic.waiting)],
      ['Dropped: queue full', count(traffic.queueFull)],
      ['Dropped: too large', count(traffic.oversized)],
      ['Traced to the receiver', followed && count(followed.packets)],
      ['Lost of these', followed && <>{count(followed.lost)}{followed.lostBehind && Object.entries(followed.lostBehind).map(([node, lost]) => `, ${lost} behind ${node}`)}</>],
      ['Late of these', followed && (followed.timed > 0 ? `${count(followed.late)} of ${count(followed.timed)} that were timed` : 'unknown: none of them was timed')],
      ['Slowest', followed && followed.timed > 0 && `${time(followed.worstNs)} (clock error up to ${time(followed.clockErrorNs)})`],
      ['Late, reported by the receiver', contract.status.measured && `${many(contract.status.measured.packets, 'packet')}, the slowest ${time(contract.status.measured.worstNs)}`],
    ].filter(([, value]) => value !== undefined && value !== false) as [string, preact.ComponentChildren][]} />
  );
}

/** The explanation as `wayleave explain` prints it. */
function Text({ id }: { id: string }) {
  const [isOpen, setOpen] = useState(false);
  const explained = useRead<string>(isOpen ? path(['contracts', id, 'explanation']) : null, text);
  return (
    <details onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>Full proof, as printed by <code>wayleave explain</code></summary>
      {isOpen && <Shown of={explained} what="the proof">{(text) => <pre tabIndex={0}>{text}</pre>}</Shown>}
    </details>
  );
}
