// What has happened, and how things stood at any event that is kept.

import { useEffect, useMemo, useState } from 'preact/hooks';
import type uPlot from 'uplot';
import { path, type WayleaveEvent } from '../api';
import { Chart, colour } from '../chart';
import { many, when } from '../format';
import { Badge, ContractLink, Empty, Loading, Shown } from '../parts';
import { to, useRead, type Read } from '../state';
import type { Moment, Timeline } from '../types';

const SHOWN_STATES = ['enforced', 'admitted', 'pending', 'released', 'degraded', 'violated', 'unknown'];
/** Events that are shown before the chosen one. */
const BEFORE = 30;

export function TimelinePage({ at }: { at: string | undefined }) {
  const timeline = useRead<Timeline>(path(['timeline']));
  return (
    <>
      <h1>Timeline</h1>
      <Shown of={timeline} what="what has happened">
        {(timeline) => (timeline.stretches.length === 0 ? <Empty>Nothing has happened yet.</Empty> : <Whole timeline={timeline} at={at} />)}
      </Shown>
    </>
  );
}

function Whole({ timeline: { stretches, shortened }, at }: { timeline: Timeline; at: string | undefined }) {
  const last = stretches[stretches.length - 1]?.last ?? 0;
  const asked = at === undefined || !/^\d+$/.test(at) ? last : Number(at);
  const [number, setNumber] = useState(asked);
  useEffect(() => setNumber(asked), [asked]);
  // The slider moves at once, and what it stands for is read when it rests.
  const [settled, setSettled] = useState(number);
  useEffect(() => {
    const timer = window.setTimeout(() => setSettled(number), 150);
    return () => window.clearTimeout(timer);
  }, [number]);
  const moment = useRead<Moment>(path(['timeline', String(settled)]));
  const around = useRead<{ items: WayleaveEvent[] }>(path(['events'], { after: Math.max(0, settled - BEFORE), limit: BEFORE + 10 }));
  const place = Math.max(0, stretches.findIndex((stretch) => stretch.last >= number));
  const go = (number: number) => location.replace(to(['timeline', String(number)]));
  const data = useMemo(() => chart(stretches), [JSON.stringify(stretches)]);
  const events = stretches.reduce((sum, stretch) => sum + Object.values(stretch.events).reduce((sum, count) => sum + count, 0), 0);
  return (
    <>
      <p>{many(events, 'event')} until {when(stretches[stretches.length - 1]?.until ?? '')}.{shortened && ' Older ones were forgotten: of contracts of which nothing is told since, the state then is not known.'}</p>
      <figure>
        <Chart data={data} height={200} label="Contracts that were not kept, links and nodes down, and events, over time. The slider below moves through them." options={() => ({
          legend: { live: false },
          cursor: { drag: { x: false, y: false } },
          scales: { events: { range: (_plot, _low, high) => [0, Math.max(high * 2.5, 4)] }, y: { range: (_plot, _low, high) => [0, Math.max(high * 1.1, 4)] } },
          series: [
            {},
            { label: 'not kept', stroke: colour('--bad'), width: 2, points: { show: false } },
            { label: 'down', stroke: colour('--warn'), width: 2, dash: [6, 4], points: { show: false } },
            { label: 'events', scale: 'events', stroke: colour('--dim'), fill: colour('--line'), width: 1, points: { show: false } },
          ],
          axes: [{ values: (_plot, values) => values.map((value) => clock(value, values)), space: 90 }, { size: 44 }, { scale: 'events', side: 1, size: 50, grid: { show: false } }],
        })} />
      </figure>
      <div class="scrub">
        <label for="scrub" class="hidden">Point in time</label>
        <input id="scrub" type="range" min="0" max={stretches.length - 1} value={place} aria-valuetext={when(stretches[place]?.until ?? '')}
          onInput={(event) => {
            // A stretch without an event is as the one before it.
            const at = Number(event.currentTarget.value);
            const known = stretches.slice(0, at + 1).reverse().find((stretch) => stretch.last > 0) ?? stretches.find((stretch) => stretch.last > 0);
            if (known) setNumber(known.last);
          }} onChange={() => go(number)} />
        <button type="button" onClick={() => go(Math.max(1, number - 1))}>Event before</button>
        <button type="button" disabled={number >= last} onClick={() => go(number + 1)}>Event after</button>
        <button type="button" disabled={number === last} onClick={() => go(last)}>Now</button>
      </div>
      <Then moment={moment} />
      <h2>Events until then</h2>
      {!around.value && <Loading what="events" />}
      <ol class="log">
        {[...(around.value?.items ?? [])].reverse().map((event) => (
          <li class={event.number === settled ? 'chosen' : ''}>
            <a href={to(['timeline', String(event.number)])}><time dateTime={event.at}>{when(event.at)}</time></a> <Badge of={event.type} /> {event.object.includes(' ') ? event.object : <ContractLink id={event.object} />} <span class="dim">{event.detail}</span>
          </li>
        ))}
      </ol>
    </>
  );
}

/** A time of day; with the date where the axis is of days. */
function clock(seconds: number, all: number[]): string {
  const at = new Date(seconds * 1000);
  const span = (all[all.length - 1] ?? 0) - (all[0] ?? 0);
  return span > 86_400 ? at.toLocaleDateString('en-CA') : at.toLocaleTimeString('en-GB');
}

function chart(stretches: Timeline['stretches']): uPlot.AlignedData {
  return [
    stretches.map((stretch) => new Date(stretch.until).getTime() / 1000),
    stretches.map((stretch) => (stretch.contracts.degraded ?? 0) + (stretch.contracts.violated ?? 0)),
    stretches.map((stretch) => stretch.down),
    stretches.map((stretch) => Object.values(stretch.events).reduce((sum, count) => sum + count, 0)),
  ];
}

function Then({ moment }: { moment: Read<Moment> }) {
  return (
    <Shown of={moment} what="how things stood">
      {(moment) => (
        <section>
          <h2>At {when(moment.event.at)}, after event {moment.event.number.toLocaleString('en')}</h2>
          <p><Badge of={moment.event.type} /> {moment.event.object} <span class="dim">{moment.event.detail}</span></p>
          <ul class="counts">
            {SHOWN_STATES.filter((state) => moment.contracts[state]).map((state) => <li><Badge of={state} /> <strong>{(moment.contracts[state] ?? 0).toLocaleString('en')}</strong></li>)}
            {SHOWN_STATES.every((state) => !moment.contracts[state]) && <li class="dim">no contract</li>}
          </ul>
          {moment.down.length > 0 && <p><Badge of="down" /> {moment.down.join(', ')}</p>}
          {moment.notKept.length > 0 && <>
            <h3>Not kept then</h3>
            <ul class="plain-list">{moment.notKept.map((one) => <li><ContractLink id={one.id} /> <Badge of={one.state} /> since {when(one.since)} <span class="why">{one.detail}</span></li>)}</ul>
            {moment.omitted > 0 && <p class="dim">and {moment.omitted.toLocaleString('en')} more</p>}
          </>}
        </section>
      )}
    </Shown>
  );
}
