// A link: its reservations, its queues with their curves, and its contracts.

import { useMemo, useState } from 'preact/hooks';
import { get, path } from '../api';
import { Chart, colour } from '../chart';
import { bytes, isUnlimited, many, percent, rate, time, when } from '../format';
import { History } from '../history';
import { Badge, Bar, Empty, Facts, Failed, Load, LoadLegend, Loading, More, NotMeasured, NotObserved, ShortBuffers, Shown, Table, WhatIf } from '../parts';
import { exact } from '../sum';
import { RATES_MS, to, usePages, useRead, type Address } from '../state';
import type { CurveQueue, Curves } from '../explanation';
import type { Contract, Link, QueueClass } from '../types';
import { ContractTable } from './contracts';

export function LinkPage({ name }: { name: string; address: Address }) {
  const link = useRead<Link>(path(['links', name]), get, RATES_MS);
  const curves = useRead<Curves>(path(['links', name, 'curves']));
  const contracts = usePages<Contract>(path(['contracts'], { link: name, limit: 20 }));
  return (
    <Shown of={link} what={name}>
      {(link) => (
        <>
          <h1><a href={to(['node', link.from])}>{link.from}</a> → <a href={to(['node', link.to])}>{link.to}</a> <Badge of={link.state} /></h1>
          {link.downReason && <p class="notice bad">{link.downReason}</p>}
          {link.state === 'unknown' && !link.downReason && <NotObserved />}
          <p class="buttons"><WhatIf fail={link.name} /> <a class="button" href={to(['link', reverse(link)])}>Opposite direction</a> <a class="button" href={to(['contracts'], { link: link.name })}>All its contracts</a></p>
          <Facts facts={[
            ['Rate', rate(link.rateBps)], ['Propagation', time(link.propagationNs)], ['MTU', bytes(link.mtuBytes)], ['Routes of latency contracts', link.routes?.toLocaleString('en') ?? 'unknown'],
          ]} />
          <h2>Load</h2>
          <Now link={link} />
          <History of="links" name={link.name} />
          <h2>Reserved rate</h2>
          <Shares link={link} />
          <h2>Queues</h2>
          <Queues link={link} curves={curves.value} />
          {curves.trouble && <Failed trouble={curves.trouble} />}
          <h2>Contracts</h2>
          {contracts.trouble && <Failed trouble={contracts.trouble} />}
          {!contracts.items && !contracts.trouble && <Loading what="contracts" />}
          {contracts.items?.length === 0 && <Empty>No contract uses this link.</Empty>}
          {contracts.items && contracts.items.length > 0 && <ContractTable items={contracts.items} caption={`Contracts on ${link.name}`} />}
          <More next={contracts.next} more={contracts.more} />
        </>
      )}
    </Shown>
  );
}

/** Measured load beside the sum of reservations. */
function Now({ link: { measured: now, rateBps, capacity } }: { link: Link }) {
  const reserved = capacity?.reduce((sum, of) => sum + of.reservedBps, 0);
  if (!now) return <NotMeasured nobody="Not measured: no agent has reported a current rate of this link." />;
  return (
    <>
      <p><Load of={exact(now.rateBps)} reservedBps={reserved} lineBps={rateBps} /></p>
      <LoadLegend />
      <Facts facts={[
        ['Of the line rate', percent((now.rateBps / rateBps) * 1e6)],
        ['Counted', `by the ${now.source}, at ${when(now.at)}`],
        ['Dropped packets', now.dropped === null ? 'unknown' : many(now.dropped, 'packet')],
      ]} />
    </>
  );
}

/** Returns the name of the reverse direction; parallel links have a number behind it. */
function reverse(link: Link): string {
  return `${link.to}->${link.from}${link.name.slice(`${link.from}->${link.to}`.length)}`;
}

const CLASSES: { [of in QueueClass]?: string } = { latency: 'Latency contracts', guaranteed: 'Minima of bandwidth contracts', objective: 'Weights of objectives' };

function Shares({ link }: { link: Link }) {
  const { rateBps, capacity } = link;
  if (!capacity) return <p class="notice">Unknown: not computed yet.</p>;
  let x = 0;
  const reserved = capacity.reduce((sum, of) => sum + of.reservedBps, 0);
  return (
    <figure>
      <svg class="shares" viewBox="0 0 1000 20" preserveAspectRatio="none" role="img" aria-label={capacity.map((of) => `${CLASSES[of.class]} ${rate(of.reservedBps)}`).join(', ')}>
        <rect class="track" width="1000" height="20" />
        {capacity.map((of) => {
          const from = x;
          x += (1000 * of.reservedBps) / rateBps;
          return <rect class={`share ${of.class}`} x={from} width={(1000 * of.reservedBps) / rateBps} height="20" />;
        })}
      </svg>
      <figcaption class="legend">
        {capacity.map((of) => (
          <span><i class={`swatch share ${of.class}`} /> {CLASSES[of.class]}: {rate(of.reservedBps)}, {rate(of.availableBps, Math.floor)} available</span>
        ))}
        <span><i class="swatch track" /> not reserved: {rate(Math.max(0, rateBps - reserved), Math.floor)}. Reservations of one class reduce the rate available to the others.</span>
      </figcaption>
    </figure>
  );
}

const QUEUE_CLASSES: { [of in QueueClass]: string } = { latency: 'latency', guaranteed: 'minima', objective: 'objectives', 'best-effort': 'best effort', unknown: 'unknown' };

function Queues({ link, curves }: { link: Link; curves: Curves | undefined }) {
  const [chosen, setChosen] = useState<number>();
  const used = curves?.queues.filter((queue) => queue.flows > 0) ?? [];
  const shown = used.find((queue) => queue.queue === chosen) ?? used[0];
  const flows = (queue: number) => curves?.queues.find((one) => one.queue === queue)?.flows;
  return (
    <>
      <Table caption="Queues, highest priority first" items={link.queues} rowKey={(queue) => String(queue.queue)} columns={[
        { head: 'Queue', cell: (queue) => <><span class="plain-head">Queue </span>{queue.queue}</> },
        { head: 'Class', cell: (queue) => QUEUE_CLASSES[queue.class] },
        { head: 'Latency contracts', cell: (queue) => (queue.class === 'latency' ? flows(queue.queue) ?? '' : ''), isNumber: true },
        { head: 'Delay budget', cell: (queue) => (queue.budgetNs === undefined ? '' : time(queue.budgetNs)), isNumber: true },
        { head: 'Delay bound', cell: (queue) => (queue.delayNs === undefined ? '' : time(queue.delayNs)), isNumber: true },
        { head: 'Of budget', cell: (queue) => (queue.delayNs === undefined || !queue.budgetNs ? '' : <Bar ppm={(queue.delayNs / queue.budgetNs) * 1e6} label="Delay budget used" />) },
        { head: 'Backlog bound', cell: (queue) => (queue.backlogBytes === undefined ? '' : `${bytes(queue.backlogBytes)}${isUnlimited(queue.bufferBytes) ? ', buffer unlimited' : ` of ${bytes(queue.bufferBytes)}`}`), isNumber: true },
        { head: 'Of buffer', cell: (queue) => (queue.backlogBytes === undefined || isUnlimited(queue.bufferBytes) ? '' : <Bar ppm={(queue.backlogBytes / queue.bufferBytes) * 1e6} label="Backlog bound / buffer" />) },
      ]} />
      {link.queues.some((queue) => (queue.backlogBytes ?? 0) > queue.bufferBytes) && <ShortBuffers />}
      {shown && (
        <>
          <h3>Curves of queue {shown.queue}</h3>
          {used.length > 1 && (
            <fieldset class="choice"><legend>Queue</legend>
              {used.map((queue) => <label><input type="radio" name="queue" checked={queue === shown} onChange={() => setChosen(queue.queue)} /> {queue.queue}</label>)}
            </fieldset>
          )}
          <CurveChart key={shown.queue} queue={shown} />
        </>
      )}
    </>
  );
}

/** Maximum arrivals in a time: the minimum of the token buckets. */
export function arrived(queue: CurveQueue, ns: number): number {
  return Math.min(...queue.arrival.map(({ rateBps, burstBytes }) => burstBytes + (rateBps * ns) / 8e9));
}

/** Minimum service in a time: the maximum of the rate-latency functions. */
export function served(queue: CurveQueue, ns: number): number {
  return Math.max(0, ...queue.service.map(({ rateBps, latencyNs }) => (latencyNs === null ? 0 : (rateBps * Math.max(0, ns - latencyNs)) / 8e9)));
}

function CurveChart({ queue }: { queue: CurveQueue }) {
  const delay = queue.delayBoundNs ?? 0;
  // So that the delay is visible; the budget may be much larger.
  const all = Math.min(Math.max(queue.budgetNs, delay) * 1.25, delay * 5) || 1;
  const data = useMemo(() => {
    const times = Array.from({ length: 241 }, (_, at) => (all * at) / 240);
    return [times.map((ns) => ns / 1000), times.map((ns) => arrived(queue, ns)), times.map((ns) => served(queue, ns))] as [number[], number[], number[]];
  }, [JSON.stringify(queue)]);
  const said = `Solid: arrival curve (maximum). Dashed: service curve (minimum). Their largest horizontal distance is the delay bound, ${time(delay)} of a budget of ${time(queue.budgetNs)}. Their largest vertical distance is the backlog bound, ${bytes(queue.backlogBoundBytes ?? 0)}; the buffer is ${isUnlimited(queue.bufferBytes) ? 'unlimited' : bytes(queue.bufferBytes)}.`;
  return (
    <figure>
      <Chart data={data} height={260} label={`Arrival and service curve. ${said}`} options={() => ({
        scales: { x: { time: false } },
        legend: { live: false },
        cursor: { drag: { x: false, y: false } },
        series: [
          { label: 'time' },
          { label: `arrival curve, ${many(queue.flows, 'contract')}`, stroke: colour('--arrival'), width: 2 },
          { label: 'service curve', stroke: colour('--service'), width: 2, dash: [6, 4] },
        ],
        axes: [{ label: 'time (us)' }, { label: 'data', size: 64, values: (_plot, values) => values.map((value) => bytes(value)) }],
      })} />
      <figcaption class="dim">{said}</figcaption>
    </figure>
  );
}
