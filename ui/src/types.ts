// Types of the REST interface. Written by tools/types.mjs from docs/api/openapi.json: do not edit.

/** An agent, as the controller knows it. */
export interface Agent {
  connection: Connection | null;
  epoch: number;
  kind: string;
  node: string;
  open: boolean | null;
  problems?: string[];
  setUp: boolean;
  silent: boolean | null;
  state: ObservedState;
}

/** The agent of a node. */
export interface AgentState {
  connection: Connection | null;
  epoch: number;
  open: boolean | null;
  setUp: boolean;
  silent: boolean | null;
}

/** An alert that fires. */
export interface Alert {
  description: string;
  expression: string;
  labels: Record<string, string>;
  name: string;
  severity: Severity;
  since: string | null;
  summary: string;
}

/** Alerts that fire now, critical ones first. */
export interface Alerts {
  items: Alert[];
  rules: number;
  unknown: UnknownAlert[];
}

/** A minimum rate: `from` and `to`, or `hose`. */
export interface BandwidthSpec {
  from?: string;
  hose?: string[];
  max?: string;
  min: string;
  to?: string;
  weight?: number;
  within?: string;
}

/** Hosts whose traffic has a name and no promise. */
export interface BestEffortSpec {
  max?: string;
  members: string[];
}

/** A contract that would not be kept. */
export interface BrokenContract {
  id: string;
  message: string;
  reason: string;
}

/** Rate of a link for one class of contracts. */
export interface ClassCapacity {
  availableBps: number;
  class: QueueClass;
  reservedBps: number;
}

/** State of a controller in its cluster. */
export interface Cluster {
  commit: number;
  epoch: number;
  leader?: string;
  leaseRemainingMs: number;
  role: ClusterRole;
}

/** Role of a controller in its cluster. */
export type ClusterRole = 'leader' | 'follower' | 'unknown';

/** Connection of an agent to the controller. */
export type Connection = 'open' | 'silent' | 'not-since-start' | 'ended';

/** A contract that exists. */
export interface Contract {
  accounting?: string;
  bandwidth?: BandwidthSpec;
  bestEffort?: BestEffortSpec;
  burst?: string;
  deadline?: string;
  ends?: string;
  excess?: string;
  from?: string;
  id: string;
  labels?: Record<string, string>;
  match?: Match;
  maxFrame?: string;
  minFrame?: string;
  name?: string;
  objective?: ObjectiveSpec;
  priority?: number;
  protection?: number;
  rate?: string;
  route?: string[];
  starts?: string;
  status: ContractStatus;
  tenant?: string;
  to?: string;
}

/** A contract with its counters. */
export interface ContractCounters {
  contract: Contract;
  hosts: number;
  rateBps: number | null;
  reporting: number;
  traffic: Traffic | null;
  waitedNs: number | null;
}

/** A contract that promises something, with its health. */
export interface ContractHealth {
  boundNs?: number;
  certainty?: string;
  deadlineNs?: number;
  hosts: string[];
  id: string;
  kind: Kind;
  level: HealthLevel;
  members: number;
  message?: string;
  min?: string;
  priority: number;
  reason?: string;
  state: State;
  worstNs?: number;
}

/** A contract as it is asked for; the same keys as in a file of `kind: Contracts`. */
export interface ContractSpec {
  accounting?: string;
  burst?: string;
  deadline?: string;
  ends?: string;
  excess?: string;
  from?: string;
  labels?: Record<string, string>;
  match?: Match;
  maxFrame?: string;
  minFrame?: string;
  name?: string;
  priority?: number;
  protection?: number;
  rate?: string;
  route?: string[];
  starts?: string;
  tenant?: string;
  to?: string;
  bandwidth?: BandwidthSpec;
  objective?: ObjectiveSpec;
  bestEffort?: BestEffortSpec;
}

/** Statement of a contract. */
export interface ContractStatement {
  contract: string;
  events: StatementEvent[];
  from: string;
  minutes: StatementMinutes;
  to: string;
  unknown: UnknownMinutes[];
}

/** Status of a contract. */
export interface ContractStatus {
  boundNs?: number;
  certainty?: string;
  configured?: number;
  countingHosts?: number;
  created: string;
  deadlineNs?: number;
  decision: number;
  effective?: number;
  fromHost?: string;
  hosts?: string[];
  kind?: Kind;
  measured?: LatePackets;
  message?: string;
  pendingReleases?: number;
  rateBps?: number;
  reason?: string;
  reportingHosts?: number;
  revision: number;
  routes: Route[];
  serial?: number;
  state: State;
  toHost?: string;
  withinNs?: number;
}

/** Counters of a contract. Figures that no agent has reported are `null`: unknown, not zero. */
export interface ContractTraffic {
  hosts: number;
  rateBps: number | null;
  reporting: number;
  traffic: Traffic | null;
  waitedNs: number | null;
}

/** End of a link whose agent has counted a rate. */
export type CountedAt = 'sender' | 'receiver';

/** An element that was reported down. */
export interface Down {
  element: string;
  reason: string;
  state: ObservedState;
}

/** Something that has happened. In a stream the number is its `id:` and the type its `event:`. */
export interface Event {
  at: string;
  detail?: string;
  number: number;
  object: string;
  revision: number;
  tenant?: string;
  type: string;
}

/** Rate of all shown contracts from one element to the next. */
export interface FlowEdge {
  from: FlowElement;
  rateBps: number | null;
  reservedBps: number;
  to: FlowElement;
  unmeasured: number;
}

/** Element of a flow. */
export interface FlowElement {
  kind: FlowElementKind;
  name: string;
}

/** Kind of an element of a flow. */
export type FlowElementKind = 'tenant' | 'link' | 'host';

/** Rates from tenants over links to hosts. A contract passes the link of its route on which most is reserved, and ends */
export interface Flows {
  contracts: number;
  edges: FlowEdge[];
  measured: number;
  omitted: number;
}

/** A part of the network that can be asked for. */
export interface Group {
  group?: string;
  name: string;
}

/** Health of a contract. */
export type HealthLevel = 'violated' | 'unknown' | 'unconfirmed' | 'at-risk' | 'pending' | 'not-enforced' | 'best-estimate' | 'ok';

/** A page of contracts by health, the worst first. Best-effort contracts promise nothing and are not among them. */
export interface HealthPage {
  items: ContractHealth[];
  levels: Record<string, number>;
  next?: string;
}

/** One link of a route. */
export interface Hop {
  link: string;
  queue: number;
}

/** A host with its VMs. */
export interface Host {
  agent?: AgentState;
  kind: string;
  links: string[];
  name: string;
  reason?: string;
  state: ObservedState;
  vms: string[];
}

/** Guarantee of a contract. */
export type Kind = 'latency' | 'bandwidth' | 'objective' | 'best-effort';

/** Packets that came too late. */
export interface LatePackets {
  at: string;
  packets: number;
  worstNs: number;
}

/** The ledger on disk. */
export interface Ledger {
  path: string;
  records: number;
  revision: number;
  sequence: number;
}

/** One direction of a cable. */
export interface Link {
  capacity: ClassCapacity[] | null;
  downReason?: string;
  from: string;
  measured: MeasuredLoad | null;
  mtuBytes: number;
  name: string;
  propagationNs: number;
  queues: Queue[];
  rateBps: number;
  routes: number | null;
  state: ObservedState;
  to: string;
  usedPpm: number | null;
}

/** The links from one group of nodes to another, or within one. */
export interface LinkGroup {
  bufferPpm: number | null;
  busiest: string;
  delayPpm: number | null;
  down: number;
  from: number;
  links: number;
  meanRatePpm: number | null;
  measuredPpm: number | null;
  ratePpm: number | null;
  to: number;
  unknown: number;
}

/** A link and its use. */
export interface LinkUse {
  bufferPpm: number | null;
  delayPpm: number | null;
  link: string;
  measuredPpm: number | null;
  ratePpm: number | null;
}

/** Measured and reserved rate over time. */
export interface LoadHistory {
  from: string;
  points: LoadPoint[];
  since: string | null;
  stepSeconds: number;
  to: string;
}

/** Load of an interval. */
export interface LoadPoint {
  at: string;
  maxBps: number | null;
  meanBps: number | null;
  reservedBps: number | null;
  unreported: number;
}

/** Header fields of a contract's packets; at least one key. */
export interface Match {
  destinationAddress?: string;
  destinationPort?: number;
  protocol?: string;
  sourceAddress?: string;
  sourcePort?: number;
}

/** Measured load of a link between the last two reports of an agent. */
export interface MeasuredLoad {
  at: string;
  dropped: number | null;
  rateBps: number;
  source: CountedAt;
}

/** A contract with the place that it would have. */
export interface MovedContract {
  boundNs?: number;
  certainty?: string;
  id: string;
  routes: string[][];
}

/** Kind of a named object. */
export type NameKind = 'link' | 'host' | 'switch' | 'tenant' | 'contract';

/** Names that fit a text: first those that begin with it, then those that contain it. At most 20. */
export interface Names {
  items: ObjectName[];
  more: boolean;
}

/** A node, or several that are shown as one. */
export interface NodeGroup {
  down: number;
  group?: string;
  id: number;
  name: string;
  node?: string;
  nodes: number;
  outside?: boolean;
  silent: number | null;
  unknown: number;
}

/** The name of an object. */
export interface ObjectName {
  kind: NameKind;
  name: string;
}

/** Objective of flows: `deadline` or `goal`. */
export interface ObjectiveSpec {
  deadline?: string;
  goal?: string;
  members: string[];
  weight: string;
}

/** State of a link or a node, as far as it is observed. */
export type ObservedState = 'up' | 'down' | 'unknown';

/** A VM with the host that it would be on. */
export interface PlacedContract {
  from: string;
  id: string;
  to?: string;
}

/** A queue in front of a link. */
export interface Queue {
  backlogBytes?: number;
  budgetNs?: number;
  bufferBytes: number;
  class: QueueClass;
  delayNs?: number;
  link: string;
  queue: number;
}

/** Class of the contracts that use a queue. */
export type QueueClass = 'latency' | 'guaranteed' | 'objective' | 'best-effort' | 'unknown';

/** The most that a tenant's contracts may add up to; what is not given is not limited. */
export interface Quota {
  burst?: string;
  contracts?: number;
  rate?: string;
}

/** A contract whose promise would be known with another certainty. */
export interface Recertified {
  from: string;
  id: string;
  to: string;
}

/** A route with its bound. */
export interface Route {
  boundNs?: number;
  hops: Hop[];
}

/** Outcome of packets that were sampled at their sender's host and at their receiver's. */
export interface SampledPackets {
  clockErrorNs: number;
  late: number;
  lost: number;
  lostBehind?: Record<string, number>;
  packets: number;
  timed: number;
  worstNs: number;
}

/** Urgency of an alert. */
export type Severity = 'critical' | 'warning';

/** Snapshot of the state right after an event, as far as events are kept. */
export interface Snapshot {
  contracts: Record<string, number>;
  down?: string[];
  event: Event;
  omitted: number;
  unmet: UnmetContract[];
}

/** The state of an admitted contract. */
export type State = 'pending' | 'admitted' | 'enforced' | 'degraded' | 'violated' | 'released';

/** Statement of a tenant for a month (UTC). */
export interface Statement {
  contracts: ContractStatement[];
  from: string;
  minutes: StatementMinutes;
  month: string;
  notCovered: UncoveredPart[];
  omitted: number;
  since: string | null;
  tenant: string;
  to: string;
  until: string | null;
}

/** Change of a contract's state. */
export interface StatementEvent {
  at: string;
  kind: string;
  text: string;
}

/** Number of minutes by observation. */
export interface StatementMinutes {
  broken: number;
  kept: number;
  unknown: number;
}

/** Status of the controller; for a tenant's token, restricted to the tenant. */
export interface Status {
  agents: number | null;
  clockAheadNs?: number;
  cluster?: Cluster;
  configured: number;
  contracts: Record<string, number>;
  down: number | null;
  effective: number | null;
  enforcement?: string;
  generation: number;
  kinds?: Record<string, number>;
  late: number | null;
  ledger: Ledger;
  message?: string;
  problems: string[] | null;
  ready: boolean;
  silent: string[] | null;
  tenants: number;
  unprotected?: number;
  version: string;
  vms: number;
}

/** A tenant that exists. */
export interface Tenant {
  name: string;
  quota: Quota;
  revision: number;
  usage: Usage;
}

/** Nodes with the same distance to the nearest host. */
export interface Tier {
  name: string;
  nodeGroups: NodeGroup[];
  tier: number;
}

/** The events that are kept, in buckets of equal time. */
export interface Timeline {
  buckets: TimelineBucket[];
  shortened: boolean;
}

/** Events and state of one part of the timeline. */
export interface TimelineBucket {
  contracts: Record<string, number>;
  down?: number;
  events: Record<string, number>;
  last: number;
  until: string;
}

/** The contracts that send most. */
export interface TopTraffic {
  contracts: number;
  items: ContractCounters[];
  measured: number;
  omitted: number;
  partial: number;
  rateBps: number | null;
}

/** Summary of the network, of a part (a pod), or of a switch with its neighbouring hosts and switches. */
export interface TopologySummary {
  busiest: LinkUse[];
  down: Down[];
  linkGroups: LinkGroup[];
  linksNotMeasured: number;
  name: string;
  tiers: Tier[];
  within: Group[];
}

/** Packets of a contract counted by its sender's host since the contract was installed. */
export interface Traffic {
  bytes: number;
  contract?: string;
  delayed: number;
  followed?: SampledPackets;
  oversized: number;
  packets: number;
  queueFull: number;
  serial: number;
  waitedNs: number;
  waiting: number;
  waits: number[];
}

/** Part of a month that the record does not cover. */
export interface UncoveredPart {
  from: string;
  reason: string;
  to: string;
}

/** A rule that the controller cannot evaluate. */
export interface UnknownAlert {
  name: string;
  reason: string;
}

/** Number of unknown minutes with one reason. */
export interface UnknownMinutes {
  minutes: number;
  reason: UnknownReason;
}

/** Reason for which a minute of a contract is unknown: the last one of those that apply. */
export type UnknownReason = 'counters-incomplete' | 'rate-above-rule' | 'rules-changed' | 'not-confirmed' | 'agent-silent' | 'not-in-force' | 'maybe-broken' | 'not-observed';

/** A contract that was not kept. */
export interface UnmetContract {
  detail?: string;
  id: string;
  since: string;
  state: State;
}

/** Total of all contracts of a tenant; every copy of a protected contract counts. */
export interface Usage {
  burst: string;
  contracts: number;
  rate: string;
}

/** A VM that exists. */
export interface Vm {
  host: string;
  id: string;
  mac: string;
  name: string;
  revision: number;
  tenant: string;
}

/** A what-if query: its steps are taken in the order of the keys here. */
export interface WhatIfQuery {
  apply?: ContractSpec[];
  delete?: string[];
  drain?: string[];
  fail?: string[];
  restore?: string[];
}

/** Effect that the steps of a query would have. */
export interface WhatIfResult {
  admitted: MovedContract[];
  certainty?: Recertified[];
  degraded: BrokenContract[];
  deleted: string[];
  omitted?: Record<string, number>;
  placed: PlacedContract[];
  refused: BrokenContract[];
  rerouted: MovedContract[];
  restored: MovedContract[];
}
