// Types of measured load that pages use: history, flows, statements and alerts.

/** Measured and reserved rate in one step of a history; `null` is unknown. */
export interface HistoryPoint { at: string; meanBps: number | null; maxBps: number | null; reservedBps: number | null; unreported: number }
export interface History { from: string; to: string; stepSeconds: number; since?: string | null; points: HistoryPoint[] }

export interface FlowEnd { kind: 'tenant' | 'link' | 'host'; name: string }
export interface FlowEdge { from: FlowEnd; to: FlowEnd; rateBps: number | null; reservedBps: number | null }
export interface Flows { edges: FlowEdge[]; omitted: number; measured: number; contracts: number }

export interface Minutes { kept: number; broken: number; unknown: number }
export interface StatementEvent { at: string; kind: string; text: string }
export interface Statement {
  tenant: string; month: string; from: string; to: string; until?: string | null;
  minutes: Minutes;
  omitted: number;
  contracts: { contract: string; minutes: Minutes; events: StatementEvent[] }[];
}

export interface Alert { name: string; severity: string; since?: string | null; summary: string; description?: string; labels?: Record<string, string> }
export interface Alerts { items: Alert[]; rules: number; unknown: { name: string; reason: string }[] }

export interface TopTraffic {
  contracts: number; measured: number; omitted: number; rateBps: number | null;
  items: { contract: import('./types').Contract; rateBps: number | null; reporting: number; hosts: number }[];
}

declare module './types' {
  interface Link { measured?: { rateBps: number; at: string; source: 'sender' | 'receiver'; dropped: number | null } | null }
  interface ContractStatus { rateBps?: number | null }
  interface Tenant { measured?: { rateBps: number; reservedBps: number } | null }
  interface LinkGroup { measuredPpm?: number | null }
  interface LinkUse { measuredPpm?: number | null }
}
