// Types that docs/api/openapi.json does not describe: explanations, and curves of links.

import type { Hop } from './types';

export interface CurveQueue {
  link: string; queue: number; budgetNs: number; bufferBytes: number; flows: number;
  arrival: { rateBps: number; burstBytes: number }[]; service: { rateBps: number; latencyNs: number | null }[];
  delayBoundNs: number | null; delayNs: number | null; backlogBoundBytes: number | null;
}
export interface Curves { link: string; queues: CurveQueue[] }

export interface Term { kind: string; at?: string; queue?: number; delayNs: number }
export interface Explanation {
  request?: { terms: Term[]; route?: Hop[]; copies?: { route: Hop[]; boundNs?: number; terms?: Term[] }[]; longestWaitNs?: number };
  queues?: CurveQueue[];
  message?: string; assumption?: string;
  links?: { link: string; class: string; lineBps: number; reservedBps: number; promisedBps?: number; leftBps?: number; [key: string]: unknown }[];
}
