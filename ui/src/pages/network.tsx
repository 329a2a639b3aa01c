// The network by tier: blocks in fixed rows, and the links between them by utilisation.

import { useState } from 'preact/hooks';
import { path } from '../api';
import { count, many, network, percent } from '../format';
import { Badge, LinkLink, MaybeBar, STEPS, ShortBuffers, Shown, Subject, Table, WhatIf, step } from '../parts';
import { isReplica, to, useRead, useRoom, useWorld } from '../state';
import type { LinkGroup, NodeGroup, TopologySummary } from '../types';

type Measure = 'measuredPpm' | 'ratePpm' | 'delayPpm' | 'bufferPpm';
const MEASURES: [Measure, string][] = [['measuredPpm', 'Measured rate'], ['ratePpm', 'Reserved rate'], ['delayPpm', 'Delay budget used'], ['bufferPpm', 'Backlog bound / buffer']];

/** Minimum width of a block in pixels. If a tier needs several rows, lines are drawn between tiers, not blocks. */
const NARROWEST = 88;
/** Width from which on a block shows full words. */
const ROOMY = 140;
const HEIGHT = 66;
const GAP = 8;
/** Height of the lines between two tiers. */
const SPACE = 92;
/** Height of the line between two tiers that have several rows. */
const TRUNK = 46;
/** Width of the names of tiers, beside the blocks so that no line crosses them; on a narrow screen they are turned. */
const GUTTER = 124;
const NARROW_GUTTER = 34;
const NARROW = 640;

export function Network({ group }: { group: string | undefined }) {
  const isElsewhere = isReplica(useWorld());
  const [chosen, setMeasure] = useState<Measure>();
  const summary = useRead<TopologySummary>(path(['topology', 'summary'], { group }));
  return (
    <Shown of={summary} what="the network">
      {(summary) => {
        const isMeasured = summary.linkGroups.some((group) => typeof group.measuredPpm === 'number');
        const unknown = summary.tiers.flatMap((tier) => tier.nodeGroups).reduce((sum, block) => sum + (block.outside ? 0 : block.unknown), 0);
        const measure = chosen ?? (isMeasured ? 'measuredPpm' : 'ratePpm');
        return <>
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
                <label><input type="radio" name="measure" checked={measure === key} disabled={key === 'measuredPpm' && !isMeasured} onChange={() => setMeasure(key)} /> {name}{key === 'measuredPpm' && !isMeasured && ' (not measured)'}</label>
              ))}
            </fieldset>
            <ul class="legend" aria-label="Legend">
              {STEPS.map((text, at) => <li><svg width="34" height="12" aria-hidden="true"><line class={`line use-${at}`} x1="1" x2="33" y1="6" y2="6" stroke-width={width(at)} /></svg> {text}</li>)}
              {(measure === 'measuredPpm' || summary.linksNotMeasured > 0) && <li><svg width="34" height="12" aria-hidden="true"><line class="line unknown" x1="1" x2="33" y1="6" y2="6" stroke-width="1.5" /></svg> {measure === 'measuredPpm' ? 'not measured' : 'unknown'}</li>}
              <li><svg width="34" height="12" aria-hidden="true"><line class="line down" x1="1" x2="33" y1="6" y2="6" stroke-width="2.5" /></svg> at least one link down</li>
            </ul>
          </div>
          <Picture summary={summary} measure={measure} />
          {summary.linksNotMeasured > 0 && <p class="notice">Reservations on {many(summary.linksNotMeasured, 'link')} here are not computed yet since the controller started: they are unknown, and drawn as dotted lines.</p>}
          <p class="dim">Each line is the fullest link between two blocks, or between two tiers on a narrow screen, in either direction. Select a block to open it.</p>
          {summary.busiest.length > 0 && <>
            <h2>Fullest links by reservations</h2>
            <p class="dim">By the highest of reserved rate, delay budget and backlog bound. Measured rates do not count.</p>
            <Table caption="Fullest links by reservations" items={summary.busiest} rowKey={(link) => link.link} columns={[
              { head: 'Link', cell: (link) => <LinkLink name={link.link} /> },
              ...MEASURES.map(([key, head]) => ({ head, cell: (link: TopologySummary['busiest'][number]) => <MaybeBar ppm={link[key]} label={head} isMeasured={key === 'measuredPpm'} /> })),
            ]} />
            {summary.busiest.some((link) => (link.bufferPpm ?? 0) > 1e6) && <ShortBuffers />}
          </>}
          {summary.busiest.length === 0 && summary.linksNotMeasured === 0 && <p class="notice">No reservations on these links.</p>}
          {summary.down.length > 0 && <>
            <h2>Down</h2>
            <ul>{summary.down.map(({ element, state, reason }) => <li><Badge of={state} /> <Subject object={element} />: {reason}</li>)}</ul>
          </>}
          {unknown > 0 && <p class="notice">{many(unknown, 'node')} here: up or down is unknown{isElsewhere ? ', because agents report to the leader only' : `. No connected agent observes ${unknown === 1 ? 'it' : 'them'}`}.</p>}
        </>;
      }}
    </Shown>
  );
}

function width(step: number): number {
  return 1.5 + step * 1.1;
}

/** Returns the larger of two values of which one or both may be unknown. */
function larger(one: number | null, other: number | null | undefined): number | null {
  return typeof other === 'number' ? Math.max(one ?? 0, other) : one;
}

/** Utilisation of the links of a block, as shown on it; `null` if it is unknown. */
function useOf(block: NodeGroup, groups: LinkGroup[], measure: Measure): number | null {
  return groups.reduce<number | null>((most, group) => (group.from === block.id || group.to === block.id ? larger(most, group[measure]) : most), null);
}

interface Line { a: number; b: number; use: number | null; down: number; links: number }

/** Merges both directions between two blocks, or two tiers, into one line; the fullest is drawn last. */
function lines(groups: LinkGroup[], measure: Measure, end: (block: number) => number = (block) => block): Line[] {
  const all = new Map<string, Line>();
  for (const group of groups) {
    const [a = 0, b = 0] = [end(group.from), end(group.to)].sort((a, b) => a - b);
    if (a === b) continue;
    const known = all.get(`${a} ${b}`) ?? { a, b, use: null, down: 0, links: 0 };
    all.set(`${a} ${b}`, { a, b, use: larger(known.use, group[measure]), down: known.down + group.down, links: known.links + group.links });
  }
  return [...all.values()].sort((one, other) => (one.use ?? -1) - (other.use ?? -1));
}

/** Class of a line by its utilisation. */
function look({ use, down }: { use: number | null; down: number }): { class: string; 'stroke-width': number } {
  if (use === null) return { class: `line ${down ? 'down' : 'unknown'}`, 'stroke-width': 1.5 };
  return { class: `line ${down ? 'down' : `use-${step(use)}`}`, 'stroke-width': width(step(use)) };
}

function share(use: number | null): string {
  return use === null ? 'not measured' : percent(use);
}

function Picture({ summary, measure }: { summary: TopologySummary; measure: Measure }) {
  const [box, room] = useRoom();
  return <div class="map" ref={box}>{room > 0 && <Drawing summary={summary} measure={measure} room={room} />}</div>;
}


function Drawing({ summary, measure, room }: { summary: TopologySummary; measure: Measure; room: number }) {
  const gutter = room < NARROW ? NARROW_GUTTER : GUTTER;
  const wide = room - gutter;
  const perLine = Math.max(1, Math.floor((wide + GAP) / (NARROWEST + GAP)));
  const fits = summary.tiers.every((tier) => tier.nodeGroups.length <= perLine);
  const space = fits ? SPACE : TRUNK;
  const places = new Map<number, { x: number; y: number; width: number }>();
  const tierOf = new Map<number, number>();
  const heads: { name: string; nodes: string; y: number; height: number }[] = [];
  let y = 0;
  summary.tiers.forEach((tier, number) => {
    const inLine = Math.min(tier.nodeGroups.length, perLine);
    const block = Math.min((wide + GAP) / inLine - GAP, 200);
    const start = gutter + (fits ? (wide - inLine * (block + GAP) + GAP) / 2 : 0);
    const height = Math.ceil(tier.nodeGroups.length / inLine) * (HEIGHT + GAP) - GAP;
    const nodes = tier.nodeGroups.reduce((sum, block) => sum + block.nodes, 0);
    heads.push({ name: `${tier.name.charAt(0).toUpperCase()}${tier.name.slice(1)}`, nodes: gutter !== GUTTER ? count(nodes) : tier.tier === 0 ? many(nodes, 'host') : many(nodes, 'switch', 'switches'), y, height });
    tier.nodeGroups.forEach((one, at) => {
      places.set(one.id, { x: start + (at % inLine) * (block + GAP), y: y + Math.floor(at / inLine) * (HEIGHT + GAP), width: block });
      tierOf.set(one.id, number);
    });
    y += height + space;
  });
  const height = Math.max(y - space, 0) + 2;
  const trunks = fits ? [] : lines(summary.linkGroups, measure, (block) => tierOf.get(block) ?? 0).filter(({ a, b }) => b === a + 1);
  const bottom = (tier: number) => (heads[tier]?.y ?? 0) + (heads[tier]?.height ?? 0);
  return (
    <>
      <svg class="lines" width={room} height={height} aria-hidden="true">
        {fits && lines(summary.linkGroups, measure).map((line) => {
          const [one, other] = [places.get(line.a), places.get(line.b)];
          if (!one || !other) return null;
          const [top, low] = one.y < other.y ? [one, other] : [other, one];
          if (top.y === low.y) {
            const [left, right] = top.x < low.x ? [top, low] : [low, top];
            const [x1, x2, base] = [left.x + left.width / 2, right.x + right.width / 2, top.y + HEIGHT];
            return <path {...look(line)} fill="none" d={`M${x1} ${base} Q${(x1 + x2) / 2} ${base + 44} ${x2} ${base}`} />;
          }
          return <line {...look(line)} x1={top.x + top.width / 2} y1={top.y + HEIGHT} x2={low.x + low.width / 2} y2={low.y} />;
        })}
        {trunks.map((line) => {
          const shape = look(line);
          return <line {...shape} stroke-width={shape['stroke-width'] + 2} x1={gutter + 24} y1={bottom(line.a)} x2={gutter + 24} y2={heads[line.b]?.y ?? 0} />;
        })}
      </svg>
      <div class="tiers" style={{ height: `${height}px` }}>
        {heads.map(({ name, nodes, y, height }) => <h2 class={`tier-name${gutter === GUTTER ? '' : ' turned'}`} style={{ top: `${y}px`, height: `${height}px`, width: `${gutter - 8}px` }}><span>{name}: <br />{nodes}</span></h2>)}
        {trunks.map((line) => (
          <p class="trunk" style={{ top: `${bottom(line.a)}px`, left: `${gutter + 38}px`, height: `${TRUNK}px` }}>
            {many(line.links, 'link')}, fullest {share(line.use)}{line.down > 0 && <span class="bad">, {line.down} down</span>}
          </p>
        ))}
        {summary.tiers.flatMap((tier) => tier.nodeGroups).map((block) => {
          const place = places.get(block.id);
          return place && <Cell key={block.id} block={block} use={useOf(block, summary.linkGroups, measure)} place={place} />;
        })}
      </div>
    </>
  );
}

function Cell({ block, use, place }: { block: NodeGroup; use: number | null; place: { x: number; y: number; width: number } }) {
  const href = block.group ? to(['network', block.group]) : block.node ? to(['node', block.node]) : undefined;
  const state = [block.down > 0 ? `${block.down} down` : '', (block.silent ?? 0) > 0 ? `${block.silent} silent` : ''].filter(Boolean).join(', ');
  // The tier names the kind of its nodes where space is scarce.
  const name = place.width < ROOMY ? block.name.replace(/^hosts of /, '') : block.name;
  const nodes = place.width < ROOMY ? count(block.nodes) : many(block.nodes, block.name.startsWith('hosts of ') ? 'host' : 'node');
  const content = (
    <>
      <span class="cell-name">{name !== block.name && <span class="hidden">hosts of </span>}{name}</span>
      {state
        ? <span class="cell-state"><span aria-hidden="true">✕ </span>{state}</span>
        : <span class="cell-line">{block.nodes > 1 && <span>{nodes}<span class="hidden">, </span></span>} <span><span class="hidden">fullest link </span>{use === null ? <><span aria-hidden="true">–</span><span class="hidden">not measured</span></> : percent(use)}</span></span>}
      <svg class="cell-bar" viewBox="0 0 100 6" preserveAspectRatio="none" aria-hidden="true"><rect class="track" width="100" height="6" />{use !== null && <rect class={`use-${step(use)}`} width={Math.min(100, use / 10_000)} height="6" />}</svg>
    </>
  );
  const title = `${block.name}: ${many(block.nodes, 'node')}, fullest link ${share(use)}${block.unknown > 0 ? `, ${block.unknown} not observed` : ''}${state ? `, ${state}` : ''}`;
  const style = { left: `${place.x}px`, top: `${place.y}px`, width: `${place.width}px`, height: `${HEIGHT}px` };
  const kind = `cell${block.down ? ' down' : ''}${block.outside ? ' outside' : ''}`;
  return href
    ? <a class={kind} style={style} href={href} title={title}>{content}</a>
    : <div class={kind} style={style} title={title}>{content}</div>;
}
