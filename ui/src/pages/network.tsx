// The network by tier: blocks in fixed rows, and the links between them by utilisation.

import { useEffect, useRef, useState } from 'preact/hooks';
import { path } from '../api';
import { count, many, network, percent } from '../format';
import { Badge, Bar, LinkLink, STEPS, Shown, Table, WhatIf, step } from '../parts';
import { to, useRead } from '../state';
import type { LinkGroup, NodeGroup, TopologySummary } from '../types';

type Measure = 'ratePpm' | 'delayPpm' | 'bufferPpm';
const MEASURES: [Measure, string][] = [['ratePpm', 'Reserved rate'], ['delayPpm', 'Delay budget used'], ['bufferPpm', 'Buffer used']];

/** Minimum width of a block in pixels: below it, blocks wrap and no lines are drawn between them. */
const NARROWEST = 78;
const HEIGHT = 62;
const GAP = 8;
/** Height of the lines between two tiers. */
const SPACE = 92;

export function Network({ group }: { group: string | undefined }) {
  const [measure, setMeasure] = useState<Measure>('ratePpm');
  const summary = useRead<TopologySummary>(path(['topology', 'summary'], { group }));
  return (
    <Shown of={summary} what="the network">
      {(summary) => (
        <>
          {summary.within.length > 0 && (
            <nav class="crumbs" aria-label="Within">
              {summary.within.map((part) => <><a href={to(part.group ? ['network', part.group] : ['network'])}>{network(part.name)}</a> / </>)}
            </nav>
          )}
          <h1>{network(summary.name)}</h1>
          {group?.startsWith('switch:') && <p><a href={to(['node', summary.name])}>Details of {summary.name} and its agent</a> <WhatIf fail={summary.name} /></p>}
          <div class="controls">
            <fieldset class="choice">
              <legend>Link colour</legend>
              {MEASURES.map(([key, name]) => (
                <label><input type="radio" name="measure" checked={measure === key} onChange={() => setMeasure(key)} /> {name}</label>
              ))}
            </fieldset>
            <ul class="legend" aria-label="Legend">
              {STEPS.map((text, at) => <li><svg width="34" height="12" aria-hidden="true"><line class={`line use-${at}`} x1="1" x2="33" y1="6" y2="6" stroke-width={width(at)} /></svg> {text}</li>)}
              <li><svg width="34" height="12" aria-hidden="true"><line class="line down" x1="1" x2="33" y1="6" y2="6" stroke-width="2.5" /></svg> at least one link down</li>
            </ul>
          </div>
          <Picture summary={summary} measure={measure} />
          {summary.linksNotMeasured > 0 && <p class="notice">Usage of {many(summary.linksNotMeasured, 'link')} here is unknown since the controller started, and is drawn as zero.</p>}
          <p class="dim">Each line is the fullest link between two blocks, in either direction. Select a block to open it.</p>
          {summary.busiest.length > 0 && <>
            <h2>Fullest links</h2>
            <Table caption="Fullest links" items={summary.busiest} rowKey={(link) => link.link} columns={[
              { head: 'Link', cell: (link) => <LinkLink name={link.link} /> },
              ...MEASURES.map(([key, head]) => ({ head, cell: (link: TopologySummary['busiest'][number]) => <Bar ppm={link[key]} label={head} /> })),
            ]} />
          </>}
          {summary.busiest.length === 0 && summary.linksNotMeasured === 0 && <p class="notice">No reservations on these links.</p>}
          {summary.down.length > 0 && <>
            <h2>Down</h2>
            <ul>{summary.down.map(({ element, reason }) => <li><Badge of="down" /> {element}: {reason}</li>)}</ul>
          </>}
        </>
      )}
    </Shown>
  );
}

function width(step: number): number {
  return 1.5 + step * 1.1;
}

/** Utilisation of the links of a block, as shown on it. */
function useOf(block: NodeGroup, groups: LinkGroup[], measure: Measure): number {
  return groups.reduce((most, group) => (group.from === block.id || group.to === block.id ? Math.max(most, group[measure]) : most), 0);
}

/** Merges both directions between two blocks into one line. */
function lines(groups: LinkGroup[], measure: Measure): { a: number; b: number; use: number; down: number; links: number }[] {
  const all = new Map<string, { a: number; b: number; use: number; down: number; links: number }>();
  for (const group of groups) {
    const [a, b] = group.from < group.to ? [group.from, group.to] : [group.to, group.from];
    if (a === b) continue;
    const known = all.get(`${a} ${b}`) ?? { a, b, use: 0, down: 0, links: 0 };
    all.set(`${a} ${b}`, { a, b, use: Math.max(known.use, group[measure]), down: known.down + group.down, links: known.links + group.links });
  }
  return [...all.values()].sort((one, other) => one.use - other.use);
}

function Picture({ summary, measure }: { summary: TopologySummary; measure: Measure }) {
  const box = useRef<HTMLDivElement>(null);
  const [room, setRoom] = useState(0);
  useEffect(() => {
    const element = box.current;
    if (!element) return;
    const watch = new ResizeObserver(() => setRoom(element.clientWidth));
    watch.observe(element);
    setRoom(element.clientWidth);
    return () => watch.disconnect();
  }, []);
  return <div class="map" ref={box}>{room > 0 && <Drawing summary={summary} measure={measure} room={room} />}</div>;
}


function Drawing({ summary, measure, room }: { summary: TopologySummary; measure: Measure; room: number }) {
  const label = 18;
  const perLine = Math.max(1, Math.floor((room + GAP) / (NARROWEST + GAP)));
  const fits = summary.tiers.every((tier) => tier.nodeGroups.length <= perLine);
  const places = new Map<number, { x: number; y: number; width: number }>();
  const heads: { name: string; y: number }[] = [];
  let y = 0;
  for (const tier of summary.tiers) {
    const inLine = Math.min(tier.nodeGroups.length, perLine);
    const wide = Math.min((room + GAP) / inLine - GAP, 200);
    const start = fits ? (room - inLine * (wide + GAP) + GAP) / 2 : 0;
    heads.push({ name: `${tier.name.charAt(0).toUpperCase()}${tier.name.slice(1)}: ${many(tier.nodeGroups.reduce((sum, block) => sum + block.nodes, 0), tier.tier === 0 ? 'host' : 'switch', tier.tier === 0 ? 'hosts' : 'switches')}`, y });
    tier.nodeGroups.forEach((block, at) => {
      places.set(block.id, { x: start + (at % inLine) * (wide + GAP), y: y + label + Math.floor(at / inLine) * (HEIGHT + GAP), width: wide });
    });
    y += label + Math.ceil(tier.nodeGroups.length / inLine) * (HEIGHT + GAP) - GAP + (fits ? SPACE : 22);
  }
  const height = Math.max(y - (fits ? SPACE : 22), 0) + 2;
  return (
    <>
      <svg class="lines" width={room} height={height} aria-hidden="true">
        {fits && lines(summary.linkGroups, measure).map(({ a, b, use, down }) => {
          const [one, other] = [places.get(a), places.get(b)];
          if (!one || !other) return null;
          const [top, low] = one.y < other.y ? [one, other] : [other, one];
          if (top.y === low.y) {
            const [left, right] = top.x < low.x ? [top, low] : [low, top];
            const [x1, x2, base] = [left.x + left.width / 2, right.x + right.width / 2, top.y + HEIGHT];
            return <path class={`line ${down ? 'down' : `use-${step(use)}`}`} fill="none" stroke-width={width(step(use))} d={`M${x1} ${base} Q${(x1 + x2) / 2} ${base + 44} ${x2} ${base}`} />;
          }
          return <line class={`line ${down ? 'down' : `use-${step(use)}`}`} stroke-width={width(step(use))} x1={top.x + top.width / 2} y1={top.y + HEIGHT} x2={low.x + low.width / 2} y2={low.y} />;
        })}
      </svg>
      <div class="tiers" style={{ height: `${height}px` }}>
        {heads.map(({ name, y }) => <h2 class="tier-name" style={{ top: `${y}px` }}>{name}</h2>)}
        {summary.tiers.flatMap((tier) => tier.nodeGroups).map((block) => {
          const place = places.get(block.id);
          return place && <Cell block={block} use={useOf(block, summary.linkGroups, measure)} place={place} />;
        })}
      </div>
    </>
  );
}

function Cell({ block, use, place }: { block: NodeGroup; use: number; place: { x: number; y: number; width: number } }) {
  const href = block.group ? to(['network', block.group]) : block.node ? to(['node', block.node]) : undefined;
  const state = [block.down > 0 ? `${block.down} down` : '', block.silent > 0 ? `${block.silent} silent` : ''].filter(Boolean).join(', ');
  const content = (
    <>
      <span class="cell-name">{block.name}</span>
      <span class="cell-line">{block.nodes > 1 && <span>{count(block.nodes)}<span class="hidden"> nodes,</span></span>} <span><span class="hidden">fullest link </span>{percent(use)}</span></span>
      {state && <span class="cell-state"><span aria-hidden="true">✕ </span>{state}</span>}
      <svg class="cell-bar" viewBox="0 0 100 6" preserveAspectRatio="none" aria-hidden="true"><rect class="track" width="100" height="6" /><rect class={`use-${step(use)}`} width={Math.min(100, use / 10_000)} height="6" /></svg>
    </>
  );
  const title = `${block.name}: ${many(block.nodes, 'node')}, fullest link ${percent(use)}${state ? `, ${state}` : ''}`;
  const style = { left: `${place.x}px`, top: `${place.y}px`, width: `${place.width}px`, height: `${HEIGHT}px` };
  const kind = `cell${block.down ? ' down' : ''}${block.outside ? ' outside' : ''}`;
  return href
    ? <a class={kind} style={style} href={href} title={title}>{content}</a>
    : <div class={kind} style={style} title={title}>{content}</div>;
}
