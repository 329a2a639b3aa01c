// A contract: what is promised, where the time goes hop by hop, what was measured, and why it is kept.

import { useState } from 'preact/hooks';
import { path, text } from '../api';
import { bytes, count, many, percent, quantity, rate, time, when } from '../format';
import { Badge, Bar, Empty, Facts, LinkLink, Shown, Table } from '../parts';
import { readsAll, to, useRead, useWorld } from '../state';
import type { Contract, CurveQueue, Explanation, Hop, Term, Traffic } from '../types';

const KINDS = { latency: 'Latency contract', bandwidth: 'Bandwidth contract', objective: 'Objective', 'best-effort': 'Best effort' };

export function ContractPage({ id }: { id: string }) {
  const contract = useRead<Contract>(path(['contracts', id]));
  return <Shown of={contract} what={id}>{(contract) => <Whole key={contract.id} contract={contract} />}</Shown>;
}

function Whole({ contract }: { contract: Contract }) {
  const { status } = contract;
  const explanation = useRead<Explanation>(path(['contracts', contract.id, 'explanation']));
  const traffic = useRead<Traffic>(path(['contracts', contract.id, 'traffic']));
  return (
    <>
      <h1><span class="name">{contract.id}</span> <Badge of={status.state} /></h1>
      {status.message && <p class={`notice ${status.state === 'degraded' || status.state === 'violated' ? 'bad' : ''}`}>{status.reason && <strong>{status.reason}: </strong>}{status.message}</p>}
      <Terms contract={contract} />
      {status.kind === 'latency'
        ? <Latency contract={contract} explanation={explanation.value} seen={traffic.value?.followed?.timed ? traffic.value.followed.worstNs : status.measured?.worstNs} />
        : <Other explanation={explanation.value} />}
      {explanation.trouble && <p class="notice">{explanation.trouble.message}</p>}
      <h2>What was measured</h2>
      <Shown of={traffic} what="what hosts have counted">{(traffic) => <Measured traffic={traffic} contract={contract} />}</Shown>
      <Text id={contract.id} />
    </>
  );
}

function Terms({ contract }: { contract: Contract }) {
  const { status, bandwidth, objective, bestEffort } = contract;
  const members = bandwidth?.hose ?? objective?.members ?? bestEffort?.members;
  const share = bandwidth ?? objective;
  const end = (host: string | undefined, name: string | undefined) => host && <a href={to(['node', host])}>{name && name !== host ? `${name} on ${host}` : host}</a>;
  return (
    <Facts facts={[
      ['Kind', `${KINDS[status.kind]}${bandwidth?.hose ? ' (hose)' : ''}`],
      ['From', end(status.fromHost, contract.from ?? bandwidth?.from)],
      ['To', end(status.toHost, contract.to ?? bandwidth?.to)],
      ['Members', members && <>{members.slice(0, 12).join(', ')}{members.length > 12 ? ` and ${members.length - 12} more` : ''}</>],
      ['Rate', quantity(contract.rate)],
      ['Burst', quantity(contract.burst)],
      ['Deadline', contract.deadline ? quantity(contract.deadline) : quantity(objective?.deadline)],
      ['Aim', objective && (objective.aim ?? 'deadline')],
      [objective ? 'Weight' : 'At least', share && quantity(share.min)],
      ['At most', bandwidth?.max && quantity(bandwidth.max)],
      ['Within', status.withinNs !== undefined && time(status.withinNs)],
      ['Certainty', status.certainty && <Badge of={status.certainty} />],
      ['Disjoint routes', contract.protection],
      ['Priority', contract.priority ?? 50],
      ['Starts', contract.starts && when(contract.starts)],
      ['Ends', contract.ends && when(contract.ends)],
      ['Admitted', when(status.created)],
      ['In force', status.configured !== undefined && (status.configured === status.effective ? 'its sender has confirmed the present terms' : 'its sender has not confirmed the present terms')],
    ].filter(([, value]) => value !== false && value !== undefined) as [string, preact.ComponentChildren][]} />
  );
}

/** A part of the bound, with what the queue can hold at present. */
interface Part { kind: string; at: string; queue?: number | undefined; ns: number; now?: number | undefined }

function partsOf(terms: Term[], queues: CurveQueue[]): Part[] {
  return terms.map((term) => {
    const queue = term.kind === 'queue' ? queues.find((one) => one.link === term.at && one.queue === term.queue) : undefined;
    return { kind: term.kind, at: term.at ?? '', queue: term.queue, ns: term.delay_ns, now: queue?.delay_bound_ns ?? undefined };
  });
}

const PARTS: Record<string, string> = { queue: 'Queue', processing: 'Processing', propagation: 'Propagation' };

function Latency({ contract, explanation, seen }: { contract: Contract; explanation: Explanation | undefined; seen: number | undefined }) {
  const { status } = contract;
  const parts = partsOf(explanation?.request?.terms ?? [], explanation?.queues ?? []);
  const { boundNs, deadlineNs } = status;
  return (
    <section>
      <h2>Where the time goes</h2>
      {boundNs !== undefined && deadlineNs !== undefined && (
        <p>No packet takes longer than <strong>{time(boundNs)}</strong> by proof. Its deadline is {time(deadlineNs)}, so {time(deadlineNs - boundNs)} ({percent(((deadlineNs - boundNs) / deadlineNs) * 1e6)}) are to spare.{seen !== undefined && <> The slowest packet that was seen took <strong>{time(seen)}</strong>.</>}</p>
      )}
      {parts.length > 0 && boundNs !== undefined && deadlineNs !== undefined && <Fall parts={parts} bound={boundNs} deadline={deadlineNs} seen={seen} />}
      {parts.length > 0 && (
        <Table caption="Parts of the bound, from sender to receiver" items={parts.map((part, at) => ({ ...part, key: at }))} rowKey={(part) => String(part.key)} columns={[
          { head: 'Part', cell: (part) => `${PARTS[part.kind] ?? part.kind}${part.queue === undefined ? '' : ` ${part.queue}`}` },
          { head: 'At', cell: (part) => (part.kind === 'processing' ? <a href={to(['node', part.at])}>{part.at}</a> : part.at.includes('->') ? <LinkLink name={part.at} /> : part.at) },
          { head: 'At most', cell: (part) => time(part.ns), isNumber: true },
          { head: 'With what is admitted now', cell: (part) => (part.now === undefined ? '' : <Bar ppm={(part.now / part.ns) * 1e6} label={`${time(part.now)} of its budget`} />) },
        ]} />
      )}
      {parts.length === 0 && status.routes.map((route, at) => (
        <div>
          <h3>Route{status.routes.length > 1 ? ` ${at + 1}` : ''}{route.boundNs !== undefined && `: within ${time(route.boundNs)}`}</h3>
          <Route hops={route.hops} />
        </div>
      ))}
      {parts.length > 0 && status.routes.length > 1 && <>
        <h3>Every packet is sent over {status.routes.length} disjoint routes</h3>
        {status.routes.slice(1).map((route) => <><p>{route.boundNs !== undefined && `Within ${time(route.boundNs)}:`}</p><Route hops={route.hops} /></>)}
      </>}
      {status.routes.length === 0 && <Empty>It has no place in the network now. {status.message}</Empty>}
    </section>
  );
}

function Route({ hops }: { hops: Hop[] }) {
  const { about } = useWorld();
  return <ol class="route">{hops.map((hop) => <li>{readsAll(about) ? <LinkLink name={hop.link} /> : hop.link.replace('->', ' → ')} <span class="dim">queue {hop.queue}</span></li>)}</ol>;
}

/** The parts of the bound one behind the other, up to the deadline. */
function Fall({ parts, bound, deadline, seen }: { parts: Part[]; bound: number; deadline: number; seen: number | undefined }) {
  const row = 16;
  const all = Math.max(bound, seen ?? 0, deadline > 4 * bound ? bound * 1.25 : deadline);
  const place = (ns: number) => (1000 * ns) / all;
  const shown = parts.filter((part) => part.ns > 0 && (part.kind === 'queue' || part.ns > bound / 200));
  const height = shown.length * row + 34;
  let from = 0;
  return (
    <figure>
      <svg class="fall" viewBox={`0 0 1000 ${height}`} preserveAspectRatio="none" style={{ height: `${height}px` }} role="img" aria-label={`The bound of ${time(bound)} in ${parts.length} parts; the table below has the same`}>
        {shown.map((part, at) => {
          const [x, y] = [place(from), at * row + 4];
          from += part.ns;
          return (
            <g>
              <rect class="track" x="0" y={y} width="1000" height={row - 4} />
              <rect class={`part ${part.kind}`} x={x} y={y} width={place(part.ns)} height={row - 4} />
              {part.now !== undefined && <rect class="now" x={x} y={y} width={place(Math.min(part.now, part.ns))} height={row - 4} />}
            </g>
          );
        })}
        <rect class="bound-line" x={place(bound) - 1} y="0" width="2.5" height={height - 28} />
        {seen !== undefined && <rect class="seen" x={place(seen)} y="0" width="2.5" height={height - 28} />}
        {deadline <= all && <rect class="deadline-line" x={Math.min(place(deadline), 997)} y="0" width="3" height={height - 28} />}
      </svg>
      <figcaption class="legend">
        <span><i class="swatch part queue" /> budget of a queue</span>
        <span><i class="swatch now" /> of it, reached with what is admitted now</span>
        <span><i class="swatch part propagation" /> propagation, processing</span>
        <span><i class="swatch bound-line" /> bound {time(bound)}</span>
        {seen !== undefined && <span><i class="swatch seen" /> slowest packet seen {time(seen)}</span>}
        <span><i class="swatch deadline-line" /> deadline {time(deadline)}{deadline > all && ', further to the right'}</span>
      </figcaption>
    </figure>
  );
}

function Other({ explanation }: { explanation: Explanation | undefined }) {
  if (!explanation) return null;
  const links = explanation.links ?? [];
  return (
    <section>
      <h2>What it holds</h2>
      {explanation.message && <p>{explanation.message}</p>}
      {explanation.assumption && <p class="dim">This rests on an assumption: {explanation.assumption}.</p>}
      {links.length > 0 && (
        <Table caption="Links where least is left" items={links} rowKey={(link) => link.link} columns={[
          { head: 'Link', cell: (link) => <LinkLink name={link.link} /> },
          { head: 'Latency contracts', cell: (link) => rate(link.reserved_bps), isNumber: true },
          { head: `Promised to its class`, cell: (link) => rate(link.promised_bps ?? 0), isNumber: true },
          { head: 'Left for its class', cell: (link) => rate(link.left_bps ?? 0, Math.floor), isNumber: true },
          { head: 'Of the line', cell: (link) => <Bar ppm={((link.reserved_bps + (link.promised_bps ?? 0)) / link.line_bps) * 1e6} label="Promised" /> },
        ]} />
      )}
    </section>
  );
}

function Measured({ traffic, contract }: { traffic: Traffic; contract: Contract }) {
  const { followed } = traffic;
  if (traffic.packets === 0 && !followed && !contract.status.measured) {
    return <Empty>No agent has counted a packet of it. Agents report every second while they run (<code>wayleave serve --southbound hosts</code>).</Empty>;
  }
  return (
    <Facts facts={[
      ['Packets', count(traffic.packets)],
      ['On the wire', bytes(traffic.bytes)],
      ['Had to wait for tokens', count(traffic.delayed)],
      ['Wait now', count(traffic.waiting)],
      ['Dropped beyond the contract', count(traffic.queueFull)],
      ['Dropped as too large', count(traffic.oversized)],
      ['Followed to the receiver', followed && count(followed.packets)],
      ['Lost of those', followed && <>{count(followed.lost)}{followed.lostBehind && Object.entries(followed.lostBehind).map(([node, lost]) => `, ${lost} behind ${node}`)}</>],
      ['Late of those', followed && count(followed.late)],
      ['Slowest', followed && followed.timed > 0 && `${time(followed.worstNs)} (clocks may be wrong by ${time(followed.clockErrorNs)})`],
      ['Late, as its receiver reports', contract.status.measured && `${many(contract.status.measured.packets, 'packet')}, the slowest ${time(contract.status.measured.worstNs)}`],
    ].filter(([, value]) => value !== undefined && value !== false) as [string, preact.ComponentChildren][]} />
  );
}

/** The explanation as `wayleave explain` prints it. */
function Text({ id }: { id: string }) {
  const [isOpen, setOpen] = useState(false);
  const explained = useRead<string>(isOpen ? path(['contracts', id, 'explanation']) : null, text);
  return (
    <details onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>The whole proof, as <code>wayleave explain</code> prints it</summary>
      {isOpen && <Shown of={explained} what="the proof">{(text) => <pre tabIndex={0}>{text}</pre>}</Shown>}
    </details>
  );
}
