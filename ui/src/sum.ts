// Measured rates and their sums: the one rule by which a rate is exact, a lower bound, or not measured.

import { rate } from './format';
import type { Contract, ContractTraffic, FlowEdge, LoadPoint, TopTraffic } from './types';

/** A measured rate. With `isLeast`, a part is not measured: the rate may be higher. */
export interface Measured { bps: number | null; isLeast: boolean }

/** Number of contracts whose rates are added up by tenant. */
export const SUMMED = 200;

export const NOT_MEASURED: Measured = { bps: null, isLeast: false };

/** Returns the sum of rates, of which `missing` more are not known. A lower bound of 0 is no measurement. */
export function sum(parts: Measured[], missing = 0): Measured {
  const known = parts.flatMap((part) => (part.bps === null ? [] : [part.bps]));
  const isLeast = missing > 0 || parts.some((part) => part.bps === null || part.isLeast);
  const bps = known.reduce((sum, bps) => sum + bps, 0);
  return known.length === 0 || (isLeast && bps === 0) ? NOT_MEASURED : { bps, isLeast };
}

/** Returns the rate of a link's counter, or of a value that the controller reports as complete. */
export function exact(bps: number | null | undefined): Measured {
  return { bps: bps ?? null, isLeast: false };
}

/** Returns a rate of which parts are missing. */
export function atLeast(bps: number | null | undefined): Measured {
  return sum([{ bps: bps ?? null, isLeast: true }]);
}

/** Returns the rate of a contract: a lower bound if not all its hosts report. */
export function ofCounters(counters: Pick<ContractTraffic, 'rateBps' | 'reporting' | 'hosts'> | undefined): Measured {
  return counters ? sum([{ bps: counters.rateBps, isLeast: counters.reporting < counters.hosts }]) : NOT_MEASURED;
}

/** Returns the rate of a contract in a list: a lower bound unless all its hosts report. */
export function ofContract({ status: { rateBps, reportingHosts, countingHosts } }: Pick<Contract, 'status'>): Measured {
  const isComplete = reportingHosts !== undefined && countingHosts !== undefined && reportingHosts >= countingHosts;
  return isComplete ? exact(rateBps) : atLeast(rateBps);
}

/** Returns the rate of an edge of the flow view: a lower bound if the rate of a contract there is not known. */
export function ofEdge({ rateBps, unmeasured }: Pick<FlowEdge, 'rateBps' | 'unmeasured'>): Measured {
  return unmeasured > 0 ? atLeast(rateBps) : exact(rateBps);
}

/** Returns the total of all contracts that an answer counts, including those beyond its items. */
export function ofAll(top: TopTraffic | undefined): Measured {
  if (!top) return NOT_MEASURED;
  return sum([{ bps: top.rateBps, isLeast: top.partial > 0 }], top.contracts - top.measured);
}

/** Returns the total of a tenant's contracts among those of an answer. */
export function ofTenant(top: TopTraffic | undefined, tenant: string): Measured {
  const own = top?.items.filter((item) => item.contract.id.split(':')[0] === tenant) ?? [];
  return sum(own.map(ofCounters), top?.omitted ?? 0);
}

/** Returns a value of a history: a lower bound while contracts do not report. */
export function ofPoint(bps: number | null, point: LoadPoint): Measured {
  return point.unreported > 0 ? atLeast(bps) : exact(bps);
}

/** Formats a measured rate: a lower bound is rounded down, others to the nearest digit. */
export function measured({ bps, isLeast }: Measured): string {
  if (bps === null) return 'not measured';
  return isLeast ? `≥ ${rate(bps, Math.floor)}` : rate(bps, Math.round);
}
