// Past events, and the state of the network at any kept event.

import { useEffect, useMemo, useState } from 'preact/hooks';
import uPlot from 'uplot';
import { path, type WayleaveEvent } from '../api';
import { Chart, colour, timeAxis, timeRange } from '../chart';
import { many, short, when } from '../format';
import { Badge, ContractLink, Empty, Loading, Shown, Subject } from '../parts';
import { to, useRead, type Read } from '../state';
import type { Snapshot, Timeline } from '../types';

const SHOWN_STATES = ['enforced', 'admitted', 'pending', 'released', 'degraded', 'violated', 'unknown'];
/** Number of events shown before the chosen one. */
const BEFORE = 30;
/** Steps of axes that count. */
const WHOLE = [1, 2, 5].flatMap((one) => [1, 10, 100, 1000, 10_000, 100_000].map((ten) => one * ten)).sort((a, b) => a - b);

export function TimelinePage({ at }: { at: string | undefined }) {
  const timeline = useRead<Timeline>(path(['timeline']));
  return (
    <>
      <h1>Timeline</h1>
      <Shown of={timeline} what="events">
        {(timeline) => <>{at !== undefined && !isNumber(at) && <p class="notice bad" role="alert">No such event: <span class="name">{short(at)}</span>. Expected the number of an event. The latest event is shown.</p>}{(timeline.buckets.length === 0 ? <Empty>No events yet.</Empty> : <Whole timeline={timeline} at={at} />)}</>}
      </Shown>
    </>
  );
}

function isNumber(at: string): boolean {
  return /^\d+$/.test(at) && Number.isSafeInteger(Number(at));
}

function Whole({ timeline: { buckets, shortened }, at }: { timeline: Timeline; at: string | undefined }) {
  const last = buckets[buckets.length - 1]?.last ?? 0;
  const asked = at === undefined || !isNumber(at) ? last : Number(at);
  const [number, setNumber] = useState(asked);
  useEffect(() => setNumber(asked), [asked]);
  // The slider moves at once; its state is read when it stops.
  const [settled, setSettled] = useState(number);
  useEffect(() => {
    const timer = window.setTimeout(() => setSettled(number), 150);
    return () => window.clearTimeout(timer);
  }, [number]);
  const snapshot = useRead<Snapshot>(path(['timeline', String(settled)]));
  const around = useRead<{ items: WayleaveEvent[] }>(path(['events'], { after: Math.max(0, settled - BEFORE), limit: BEFORE + 10 }));
  const place = Math.max(0, buckets.findIndex((bucket) => bucket.last >= number));
  const go = (number: number) => location.replace(to(['timeline', String(number)]));
  // Tenants do not read the state of the network.
  const showsDown = buckets.some((bucket) => bucket.down !== undefined);
  const data = useMemo(() => chart(buckets, showsDown), [JSON.stringify(buckets)]);
  const events = buckets.reduce((sum, bucket) => sum + Object.values(bucket.events).reduce((sum, count) => sum + count, 0), 0);
  return (
    <>
      <p>{many(events, 'event')} until {when(buckets[buckets.length - 1]?.until ?? '')}.{shortened && ' Older events are no longer stored: contracts without later events are shown as unknown.'}</p>
      <figure>
        <Chart data={data} height={220} label={`Degraded or violated contracts, ${showsDown ? 'links and nodes that were reported down, ' : ''}and events, over time. The slider below selects a point in time.`} options={() => ({
          legend: { live: false },
          cursor: { drag: { x: false, y: false } },
          scales: { x: { range: timeRange }, events: { range: (_plot, _low, high) => [0, Math.max(high * 2.5, 4)] }, y: { range: (_plot, _low, high) => [0, Math.max(high * 1.1, 4)] } },
          series: [
            {},
            { label: 'degraded or violated', stroke: colour('--bad'), width: 2, points: { show: false } },
            ...(showsDown ? [{ label: 'reported down', stroke: colour('--warn'), width: 2, dash: [6, 4], points: { show: false } }] : []),
            { label: 'events', scale: 'events', stroke: colour('--dim'), fill: colour('--line'), width: 1, points: { show: false }, paths: uPlot.paths.bars?.({ size: [0.8, 12, 3] }) as uPlot.Series.PathBuilder },
          ],
          axes: [timeAxis(), { label: showsDown ? 'contracts, elements' : 'contracts', size: 44, incrs: WHOLE }, { label: 'events', scale: 'events', side: 1, size: 50, incrs: WHOLE, grid: { show: false } }],
        })} />
      </figure>
      <div class="scrub">
        <label for="scrub" class="hidden">Point in time</label>
        <input id="scrub" type="range" min="0" max={buckets.length - 1} value={place} aria-valuetext={when(buckets[place]?.until ?? '')}
          onInput={(event) => {
            // A bucket without an event repeats the previous one.
            const at = Number(event.currentTarget.value);
            const known = buckets.slice(0, at + 1).reverse().find((bucket) => bucket.last > 0) ?? buckets.find((bucket) => bucket.last > 0);
            if (known) setNumber(known.last);
          }} onChange={() => go(number)} />
        <button type="button" onClick={() => go(Math.max(1, number - 1))}>Previous event</button>
        <button type="button" disabled={number >= last} onClick={() => go(number + 1)}>Next event</button>
        <button type="button" disabled={number === last} onClick={() => go(last)}>Now</button>
      </div>
      <Then snapshot={snapshot} />
      <h2>Events</h2>
      {!around.value && <Loading what="events" />}
      <ol class="log">
        {[...(around.value?.items ?? [])].reverse().map((event) => (
          <li class={event.number === settled ? 'chosen' : ''}>
            <a href={to(['timeline', String(event.number)])}><time dateTime={event.at}>{when(event.at)}</time></a> <Badge of={event.type} /> <Subject type={event.type} object={event.object} /> <span class="dim">{event.detail}</span>
          </li>
        ))}
      </ol>
    </>
  );
}

function chart(buckets: Timeline['buckets'], showsDown: boolean): uPlot.AlignedData {
  return [
    buckets.map((bucket) => new Date(bucket.until).getTime() / 1000),
    buckets.map((bucket) => (bucket.contracts.degraded ?? 0) + (bucket.contracts.violated ?? 0)),
    ...(showsDown ? [buckets.map((bucket) => bucket.down ?? null)] : []),
    buckets.map((bucket) => Object.values(bucket.events).reduce((sum, count) => sum + count, 0)),
  ];
}

function Then({ snapshot }: { snapshot: Read<Snapshot> }) {
  return (
    <Shown of={snapshot} what="the network state">
      {(snapshot) => (
        <section>
          <h2>At {when(snapshot.event.at)}, after event {snapshot.event.number.toLocaleString('en')}</h2>
          <p><Badge of={snapshot.event.type} /> <Subject type={snapshot.event.type} object={snapshot.event.object} /> <span class="dim">{snapshot.event.detail}</span></p>
          <ul class="counts">
            {SHOWN_STATES.filter((state) => snapshot.contracts[state]).map((state) => <li><Badge of={state} /> <strong>{(snapshot.contracts[state] ?? 0).toLocaleString('en')}</strong></li>)}
            {SHOWN_STATES.every((state) => !snapshot.contracts[state]) && <li class="dim">No contracts</li>}
          </ul>
          <p class="dim">States as the controller recorded them. A contract whose agents are silent is recorded as degraded; other pages show it as unknown.</p>
          {(snapshot.down ?? []).length > 0 && <p><Badge of="down">reported down, and not up again</Badge> {snapshot.down?.map((one, at) => <>{at > 0 && ', '}<Subject object={one} /></>)}</p>}
          {snapshot.unmet.length > 0 && <>
            <h3>Degraded or violated</h3>
            <ul class="plain-list">{snapshot.unmet.map((one) => <li><ContractLink id={one.id} /> <Badge of={one.state} /> since {when(one.since)} <span class="why">{one.detail}</span></li>)}</ul>
            {snapshot.omitted > 0 && <p class="dim">and {snapshot.omitted.toLocaleString('en')} more</p>}
          </>}
        </section>
      )}
    </Shown>
  );
}
