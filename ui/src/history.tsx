// Measured load over time beside the reserved rate, and the buttons that save answers as CSV.

import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import type uPlot from 'uplot';
import { Trouble, path, text } from './api';
import { Chart, colour, timeAxis, timeRange } from './chart';
import { many, rate, when } from './format';
import { Failed, Loading, Table } from './parts';
import { useRead } from './state';
import { measured, ofPoint, type Measured } from './sum';
import type { LoadHistory as Answer, LoadPoint } from './types';

const HOURS = [1, 6, 24];

/** Interval at which the first time of a chart moves. */
const MOVES_MS = 60_000;

function start(hours: number): string {
  return new Date(Math.floor(Date.now() / MOVES_MS) * MOVES_MS - hours * 3_600_000).toISOString();
}

/** Saves an answer of the controller as a file. */
export function Csv({ parts, query = {}, name }: { parts: string[]; query?: Record<string, string | undefined>; name: string }) {
  const [trouble, setTrouble] = useState<string>();
  const save = async () => {
    setTrouble(undefined);
    try {
      const url = URL.createObjectURL(new Blob([await text(path(parts, { ...query, format: 'csv' }))], { type: 'text/csv' }));
      const link = document.createElement('a');
      link.href = url;
      link.download = `${name.replace(/[^A-Za-z0-9.-]+/g, '-')}.csv`;
      link.click();
      window.setTimeout(() => URL.revokeObjectURL(url), 10_000);
    } catch (error) {
      setTrouble(error instanceof Trouble ? error.message : String(error));
    }
  };
  return <><button type="button" onClick={() => void save()}>Save as CSV</button>{trouble && <span class="bad" role="alert"> {trouble}</span>}</>;
}

type Of = 'links' | 'contracts' | 'tenants';

export function History({ of, name }: { of: Of; name: string }) {
  const [hours, setHours] = useState(1);
  const [from, setFrom] = useState(() => start(hours));
  useEffect(() => {
    setFrom(start(hours));
    const timer = window.setInterval(() => setFrom(start(hours)), MOVES_MS);
    return () => window.clearInterval(timer);
  }, [hours]);
  const history = useRead<Answer>(path([of, name, 'history'], { from }));
  // The previous answer stays in view while its successor loads.
  const last = useRef<Answer | undefined>(undefined);
  if (history.value) last.current = history.value;
  if (history.trouble?.status === 404) return <p class="notice">Not measured: this controller keeps no history of load.</p>;
  return (
    <section>
      <div class="controls">
        <fieldset class="choice">
          <legend>Period</legend>
          {HOURS.map((one) => <label><input type="radio" name={`hours-${of}`} checked={one === hours} onChange={() => setHours(one)} /> {one} h</label>)}
        </fieldset>
        <Csv parts={[of, name, 'history']} query={{ from }} name={`history-${name}`} />
      </div>
      {history.trouble && <Failed trouble={history.trouble} again={history.again} />}
      {last.current ? <Plot history={last.current} of={of} name={name} /> : !history.trouble && <Loading what="the history" />}
    </section>
  );
}

/** Formats the value of a series under the pointer. */
function value(_plot: uPlot, bps: number | null): string {
  return bps === null ? '–' : rate(bps, Math.round);
}

/** Returns the highest measured value: a lower bound if a value is one. */
function highest(points: LoadPoint[]): Measured {
  const values = points.map((point) => ofPoint(point.maxBps ?? point.meanBps, point));
  return { bps: Math.max(...values.map(({ bps }) => bps ?? 0)), isLeast: values.some(({ isLeast }) => isLeast) };
}

function Plot({ history, of, name }: { history: Answer; of: Of; name: string }) {
  const { points, stepSeconds } = history;
  const data = useMemo<uPlot.AlignedData>(() => [
    points.map((point) => new Date(point.at).getTime() / 1000),
    points.map((point) => ofPoint(point.meanBps, point).bps), points.map((point) => ofPoint(point.maxBps, point).bps), points.map((point) => point.reservedBps),
  ], [JSON.stringify(points)]);
  const known = points.filter((point) => ofPoint(point.meanBps, point).bps !== null);
  const latest = known[known.length - 1];
  const most = highest(known);
  const partial = points.reduce((most, point) => Math.max(most, point.unreported), 0);
  const said = known.length === 0 ? 'No measurement of this period is stored: its load is unknown.'
    : `Latest ${latest ? measured(ofPoint(latest.meanBps, latest)) : ''} at ${when(latest?.at ?? '')}; highest measured value ${measured(most)}.${known.length < points.length ? ' Gaps are unknown: no agent reported, or the controller stopped before it stored them.' : ''}`;
  if (known.length === 0) return <p class="notice">{said}</p>;
  return (
    <figure>
      <Chart data={data} height={240} label={`Measured and reserved rate of ${name}. ${said}`} options={() => ({
        cursor: { drag: { x: false, y: false } },
        scales: { x: { range: timeRange }, y: { range: (_plot, _low, high) => [0, Math.max((high || 0) * 1.1, 1000)] } },
        series: [
          { label: 'time', value: (_plot, second) => (second === null ? '–' : new Date(second * 1000).toLocaleTimeString('en-GB')) },
          { value, label: `measured, mean of ${stepSeconds} s`, stroke: colour('--measured'), fill: colour('--measured-fill'), width: 2, points: { show: known.length < 3, size: 5 } },
          { value, label: 'measured, maximum', stroke: colour('--measured'), width: 1, dash: [2, 3], points: { show: false } },
          { value, label: 'reserved', stroke: colour('--reserved'), width: 2, dash: [8, 4], points: { show: known.length < 3, size: 5 } },
        ],
        axes: [timeAxis(), { label: 'rate on the wire', size: 92, values: (_plot, values) => values.map((value) => rate(value, Math.round)) }],
      })} />
      <figcaption class="dim">{said}{partial > 0 && (of === 'contracts' ? ' At times not all its hosts reported: values are lower bounds.' : ` At times ${many(partial, 'contract')} had no rate: the sum is of the others.`)}{history.since && ` Stored since ${when(history.since)}.`}</figcaption>
      <details>
        <summary>Values as a table</summary>
        <Table caption={`History of ${name}`} items={[...points].reverse().slice(0, 60)} rowKey={(point) => point.at} columns={[
          { head: 'Time', cell: (point) => when(point.at) },
          { head: 'Mean', cell: (point) => measured(ofPoint(point.meanBps, point)), isNumber: true },
          { head: 'Maximum', cell: (point) => measured(ofPoint(point.maxBps, point)), isNumber: true },
          { head: 'Reserved', cell: (point) => (point.reservedBps === null ? 'unknown' : rate(point.reservedBps)), isNumber: true },
        ]} />
        {points.length > 60 && <p class="dim">The latest 60 of {points.length}; the CSV file has all.</p>}
      </details>
    </figure>
  );
}
