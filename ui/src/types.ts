// The documents of the interface, as far as pages show them (docs/api/openapi.json).

export type State = 'pending' | 'admitted' | 'enforced' | 'degraded' | 'violated' | 'released';
export type HealthLevel = 'violated' | 'at-risk' | 'pending' | 'best-estimate' | 'ok';
export type Kind = 'latency' | 'bandwidth' | 'objective' | 'best-effort';

export interface ContractHealth {
  id: string; level: HealthLevel; kind: Kind; state: State; reason?: string; message?: string; certainty?: string;
  boundNs?: number; deadlineNs?: number; worstNs?: number; min?: string; hosts: string[]; members: number; priority: number;
}
export interface HealthPage { items: ContractHealth[]; levels: Record<HealthLevel, number>; next?: string }

export interface Use { ratePpm: number; delayPpm: number; bufferPpm: number }
export interface NodeGroup { id: number; name: string; nodes: number; down: number; silent: number; node?: string; group?: string; outside?: boolean }
export interface LinkGroup extends Use { from: number; to: number; links: number; down: number; meanRatePpm: number; busiest: string }
export interface Down { element: string; reason: string }
export interface TopologySummary {
  name: string; within: { name: string; group?: string }[]; tiers: { tier: number; name: string; nodeGroups: NodeGroup[] }[];
  linkGroups: LinkGroup[]; busiest: ({ link: string } & Use)[]; linksNotMeasured: number; down: Down[];
}

export interface Queue { link: string; queue: number; budgetNs?: number; delayNs?: number; bufferBytes: number; backlogBytes?: number }
export interface Link {
  name: string; from: string; to: string; rateBps: number; propagationNs: number; mtuBytes: number; state: 'up' | 'down'; reason?: string;
  reservedBps: number; routes: number; guaranteedBps?: number; objectiveBps?: number; queues: Queue[];
}
export interface CurveQueue {
  link: string; queue: number; budgetNs: number; bufferBytes: number; flows: number;
  arrival: { rateBps: number; burstBytes: number }[]; service: { rateBps: number; latencyNs: number | null }[];
  delayBoundNs: number | null; delayNs: number | null; backlogBoundBytes: number | null;
}
export interface Curves { link: string; queues: CurveQueue[] }

export interface Hop { link: string; queue: number }
export interface ContractStatus {
  state: State; kind: Kind; reason?: string; message?: string; certainty?: string; withinNs?: number; boundNs?: number; deadlineNs?: number;
  fromHost?: string; toHost?: string; hosts?: string[]; routes: { hops: Hop[]; boundNs?: number }[]; revision: number; decision: number;
  created: string; configured?: number; effective?: number; measured?: { packets: number; worstNs: number; at: string }; pendingReleases?: number;
}
export interface ContractSpec {
  name?: string; tenant?: string; from?: string; to?: string; rate?: string; burst?: string; deadline?: string; protection?: number; excess?: string; priority?: number;
  starts?: string; ends?: string;
  bandwidth?: { from?: string; to?: string; hose?: string[]; min: string; max?: string; weight?: number; within?: string };
  objective?: { aim?: string; deadline?: string; members: string[]; min: string };
  bestEffort?: { members: string[] };
}
export interface Contract extends ContractSpec { id: string; status: ContractStatus }

export interface Term { kind: string; at?: string; queue?: number; delayNs: number }
export interface Explanation {
  request?: { terms: Term[]; route?: Hop[]; copies?: { route: Hop[]; boundNs?: number; terms?: Term[] }[]; longestWaitNs?: number };
  queues?: CurveQueue[];
  message?: string; assumption?: string;
  links?: { link: string; class: string; lineBps: number; reservedBps: number; promisedBps?: number; leftBps?: number; [key: string]: unknown }[];
}
export interface Traffic {
  packets: number; bytes: number; delayed: number; waiting: number; queueFull: number; oversized: number;
  followed?: { packets: number; lost: number; timed: number; late: number; worstNs: number; clockErrorNs: number; lostBehind?: Record<string, number> };
}

export interface Status {
  ready: boolean; message?: string; contracts: Record<State, number>; configured: number; effective: number; late: number; vms: number; tenants: number;
  down: number; agents: number; silent: string[]; troubles: string[];
}
export interface Agent { node: string; kind: string; state: 'up' | 'down'; epoch: number; open: boolean; setUp: boolean; silent: boolean; troubles?: string[] }
export interface Host { name: string; kind: string; state: 'up' | 'down'; reason?: string; links: string[]; agent?: { epoch: number; open: boolean; setUp: boolean; silent: boolean }; vms?: string[] }

export interface WhatIfResult {
  rerouted: { id: string; boundNs?: number; certainty?: string; routes: string[][] }[]; degraded: { id: string; reason: string; message: string }[];
  restored: { id: string; boundNs?: number; certainty?: string; routes: string[][] }[]; admitted: { id: string; boundNs?: number; certainty?: string; routes: string[][] }[];
  refused: { id: string; reason: string; message: string }[]; deleted: string[]; placed: { id: string; from: string; to?: string }[]; omitted?: Record<string, number>;
}

export interface TimelineBucket { until: string; last: number; events: Record<string, number>; contracts: Record<string, number>; down: number }
export interface Timeline { buckets: TimelineBucket[]; shortened: boolean }
export interface Snapshot {
  event: { number: number; at: string; type: string; object: string; detail?: string };
  contracts: Record<string, number>; unmet: { id: string; state: State; since: string; detail?: string }[]; omitted: number; down: string[];
}

export interface Tenant {
  name: string; quota: { rate?: string; burst?: string; contracts?: number }; usage: { rate: string; burst: string; contracts: number };
}
export interface Vm { id: string; name: string; tenant: string; host: string; mac: string }
