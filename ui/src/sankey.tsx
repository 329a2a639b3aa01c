// Flow view: rates from tenants over links to hosts as bands between columns, as an SVG.

import { useState } from 'preact/hooks';
import { middle, rate } from './format';
import { to, useRoom } from './state';
import { atLeast, measured, ofEdge, type Measured } from './sum';
import type { FlowEdge, FlowElement as FlowEnd } from './types';

export type Width = 'measured' | 'reserved';

const COLUMN: Record<FlowEnd['kind'], number> = { tenant: 0, link: 1, host: 2 };
const TITLES: Record<FlowEnd['kind'], string> = { tenant: 'Tenants', link: 'Links', host: 'Hosts' };
/** Width of a node, and height that its label needs. */
const NODE = 10;
const LINE = 15;
const HEAD = 24;
/** Share of its bands from which on the total of a tenant is more than their sum, and not its rounding or a later answer. */
const PART = 1.1;
/** Width below which labels of links have two lines. */
const NARROW = 620;

/** A node with the sums of its edges; `known` and `unknown` count edges with and without a value. */
interface Node { end: FlowEnd; in: number; out: number; known: number; unknown: number; y: number; height: number; slot: number }
interface Band { edge: FlowEdge; from: Node; to: Node; y0: number; y1: number; height: number }

const key = (end: FlowEnd) => `${end.kind} ${end.name}`;

function valueOf(edge: FlowEdge, width: Width): number | null {
  return width === 'measured' ? edge.rateBps : edge.reservedBps;
}

/** Value of an edge as a width: an unknown one has none. */
function value(edge: FlowEdge, width: Width): number {
  return valueOf(edge, width) ?? 0;
}

/** Values beside the edges: the measured total of a tenant, and `true` if the edges are all there are. */
interface Totals { totalOf: (tenant: string) => Measured; hasAll: boolean }

/** Sum of a node in words. Edges have only the traffic whose link and host are known. */
function sum(node: Node, width: Width, { totalOf, hasAll }: Totals): string {
  const { end, known } = node;
  const bps = Math.max(node.in, node.out);
  // A link has the contracts that reserve most on it, not all that cross it.
  if (width === 'reserved') return bps === 0 ? 'no reservation' : `${hasAll && end.kind !== 'link' ? '' : '≥ '}${rate(bps, Math.floor)}`;
  const total = end.kind === 'tenant' ? totalOf(end.name) : undefined;
  // Bands are lower than the total of a tenant that has contracts without a known destination.
  if (total && total.bps !== null && total.bps >= bps) return `${measured(total)}${total.bps > PART * bps ? `, in bands ${bps === 0 ? 'none' : rate(bps, Math.round)}` : ''}`;
  const least = atLeast(known > 0 ? bps : null);
  return least.bps === null && end.kind !== 'tenant' ? 'not measured per contract' : measured(least);
}

export function address(end: FlowEnd): string {
  return to([end.kind === 'host' ? 'node' : end.kind, end.name]);
}

/** Places nodes in columns by their rate, the highest first. A slot is at least as high as its label. */
function layout(edges: FlowEdge[], width: Width, lines: number): { nodes: Node[]; bands: Band[]; height: number } {
  const all = new Map<string, Node>();
  const node = (end: FlowEnd) => {
    const known = all.get(key(end)) ?? { end, in: 0, out: 0, known: 0, unknown: 0, y: 0, height: 0, slot: 0 };
    all.set(key(end), known);
    return known;
  };
  const ends = edges.map((edge) => {
    const [from, into] = [node(edge.from), node(edge.to)];
    from.out += value(edge, width);
    into.in += value(edge, width);
    for (const end of [from, into]) end[valueOf(edge, width) === null ? 'unknown' : 'known'] += 1;
    return { edge, from, to: into };
  });
  const size = (node: Node) => Math.max(node.in, node.out);
  const nodes = [...all.values()].sort((a, b) => size(b) - size(a) || a.end.name.localeCompare(b.end.name));
  const columns = [0, 1, 2].map((at) => nodes.filter((node) => COLUMN[node.end.kind] === at));
  const slots = Math.max(...columns.map((column) => column.length), 1);
  const tallest = Math.max(...columns.map((column) => column.reduce((sum, node) => sum + size(node), 0)), 1);
  const scale = Math.max(160, slots * LINE) / tallest;
  let height = 0;
  for (const [at, column] of columns.entries()) {
    const least = at === 1 ? lines * LINE : LINE;
    let y = HEAD;
    for (const node of column) {
      node.height = Math.max(2, size(node) * scale);
      node.slot = Math.max(least, node.height);
      node.y = y + (node.slot - node.height) / 2;
      y += node.slot + 4;
    }
    height = Math.max(height, y);
  }
  // Shorter columns are centred.
  for (const column of columns) {
    const last = column[column.length - 1];
    const shift = last ? (height - (last.y + (last.height + last.slot) / 2)) / 2 - 2 : 0;
    for (const node of column) node.y += Math.max(0, shift);
  }
  const used = new Map<Node, { in: number; out: number }>();
  const of = (node: Node) => {
    const known = used.get(node) ?? { in: 0, out: 0 };
    used.set(node, known);
    return known;
  };
  const bands = ends.sort((a, b) => a.from.y - b.from.y || a.to.y - b.to.y).map(({ edge, from, to }) => {
    const high = value(edge, width) * scale;
    const [start, end] = [of(from), of(to)];
    const band = { edge, from, to, y0: from.y + start.out, y1: to.y + end.in, height: Math.max(1, high) };
    start.out += high;
    end.in += high;
    return band;
  });
  return { nodes, bands, height: height + 2 };
}

/** Returns the path of a curve between two columns. */
function curve(x0: number, y0: number, x1: number, y1: number): string {
  const half = (x0 + x1) / 2;
  return `M${x0} ${y0} C${half} ${y0} ${half} ${y1} ${x1} ${y1}`;
}

/** Returns the outline of a band, which is as high everywhere as at its nodes. A thick line would leave its nodes. */
function shape(x0: number, x1: number, { y0, y1, height }: Band): string {
  return `${curve(x0, y0, x1, y1)} L${x1} ${y1 + height} ${curve(x1, y1 + height, x0, y0 + height).slice(1).replace(/^[^C]+/, '')} Z`;
}

/** The flow view; without `hasLinkPages`, links have no pages. */
export function Sankey({ edges, width, hasLinkPages, ...totals }: { edges: FlowEdge[]; width: Width; hasLinkPages: boolean } & Totals) {
  const [box, room] = useRoom();
  const [chosen, setChosen] = useState<string>();
  return <div class="flows"><div ref={box}>{room > 0 && <Drawing edges={edges} width={width} hasLinkPages={hasLinkPages} totals={totals} room={room} chosen={chosen} choose={setChosen} />}</div></div>;
}

function Drawing({ edges, width, hasLinkPages, totals, room, chosen, choose }: { edges: FlowEdge[]; width: Width; hasLinkPages: boolean; totals: Totals; room: number; chosen: string | undefined; choose: (key: string | undefined) => void }) {
  const isNarrow = room < NARROW;
  const { nodes, bands, height } = layout(edges, width, isNarrow ? 2 : 1);
  const hasLinks = nodes.some((node) => node.end.kind === 'link');
  const x = (end: FlowEnd) => (end.kind === 'tenant' ? 0 : end.kind === 'host' ? room - NODE : Math.round(room * (isNarrow ? 0.36 : 0.42)));
  const isLit = (band: Band) => chosen === undefined || key(band.edge.from) === chosen || key(band.edge.to) === chosen;
  const kinds = (['tenant', 'link', 'host'] as const).filter((kind) => kind !== 'link' || hasLinks);
  return (
    <svg width={room} height={height} class="sankey" role="group" aria-label="Flows from tenants over links to hosts; the table below has the same values">
      {kinds.map((kind) => <text class="column" x={kind === 'host' ? room : x({ kind, name: '' })} y="13" text-anchor={kind === 'host' ? 'end' : 'start'}>{TITLES[kind]}</text>)}
      {bands.map((band) => {
        const isUnknown = width === 'measured' && band.edge.rateBps === null;
        return (
          <path class={`band ${band.edge.from.kind}${isLit(band) ? '' : ' faint'}${isUnknown ? ' unknown' : ''}`} d={isUnknown ? curve(x(band.edge.from) + NODE, band.y0, x(band.edge.to), band.y1) : shape(x(band.edge.from) + NODE, x(band.edge.to), band)}>
            <title>{`${band.edge.from.name} to ${band.edge.to.name}: ${measured(ofEdge(band.edge))}${band.edge.rateBps === null ? '' : ' measured'}, ${rate(band.edge.reservedBps ?? 0)} reserved`}</title>
          </path>
        );
      })}
      {nodes.map((node) => <Mark key={key(node.end)} node={node} href={hasLinkPages || node.end.kind !== 'link' ? address(node.end) : undefined} x={x(node.end)} most={isNarrow ? Math.floor(room / 27) : Math.floor(room / 30)} isNarrow={isNarrow} choose={choose} sum={sum(node, width, totals)} width={width} />)}
    </svg>
  );
}

function Mark({ node, href, x, most, isNarrow, choose, sum, width }: { node: Node; sum: string; href: string | undefined; x: number; most: number; isNarrow: boolean; choose: (key: string | undefined) => void; width: Width }) {
  const { end, y, height } = node;
  const isLast = end.kind === 'host';
  const [left = '', right] = end.kind === 'link' ? end.name.split('->') : [end.name];
  const centre = y + height / 2;
  const at = isLast ? { x: x - 5, 'text-anchor': 'end' as const } : { x: x + NODE + 5, 'text-anchor': 'start' as const };
  const content = (
    <>
      <title>{`${end.name}: ${sum}`}</title>
      <rect class={`node-bar ${end.kind}`} x={x} y={y} width={NODE} height={height} />
      {right !== undefined && isNarrow
        ? <text {...at} y={centre - 3}><tspan x={at.x}>{middle(left, most - 2)} →</tspan><tspan x={at.x} dy="13">{middle(right, most)}</tspan></text>
        : <text {...at} y={centre + 4}>{right === undefined ? middle(left, most) : `${middle(left, Math.floor(most * 0.55))} → ${middle(right, Math.floor(most * 0.55))}`}{!isNarrow && <tspan class="sum"> {sum}</tspan>}</text>}
    </>
  );
  const lit = { onMouseEnter: () => choose(key(end)), onMouseLeave: () => choose(undefined), onFocus: () => choose(key(end)), onBlur: () => choose(undefined) };
  return href === undefined
    ? <g class="node" {...lit}>{content}</g>
    : <a href={href} class="node" {...lit} aria-label={`${end.kind} ${end.name}, ${sum}${node.known > 0 ? ` ${width}` : ''}`}>{content}</a>;
}
