// State shared by all pages: identity, event stream, the address behind the #, and answers.

import { createContext } from 'preact';
import { useCallback, useContext, useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { Trouble, get, type Connection, type WayleaveEvent } from './api';
import type { ClusterRole } from './types';

export interface About {
  version: string;
  role: 'operator' | 'tenant' | 'agent' | 'reader';
  tenant?: string;
  topology: string;
  scheme: string;
}

export interface World {
  about: About;
  connection: Connection;
  /** Role of the controller in its cluster; `undefined` for a single controller. */
  role: ClusterRole | undefined;
  /** Incremented by events; pages reload when it changes. */
  version: number;
  /** Latest events of this tab, the latest first. */
  events: WayleaveEvent[];
  signOut: (why?: string) => void;
}

export const WorldContext = createContext<World | null>(null);

export function useWorld(): World {
  const world = useContext(WorldContext);
  if (!world) throw new Error('no world');
  return world;
}

/** True if the token may read data of all tenants: the network, agents, policies. */
export function readsAll(about: About): boolean {
  return about.tenant === undefined && (about.role === 'operator' || about.role === 'reader');
}

/** Returns `true` if agents report to another controller, or may do: their sessions and counters are unknown here. */
export function isReplica({ role }: World): boolean {
  return role === 'follower' || role === 'unknown';
}

export interface Address {
  parts: string[];
  query: URLSearchParams;
}

function read(): Address {
  const [path = '', query = ''] = location.hash.replace(/^#\/?/, '').split('?');
  const decode = (part: string) => {
    try {
      return decodeURIComponent(part);
    } catch {
      return part;
    }
  };
  return { parts: path.split('/').filter(Boolean).map(decode), query: new URLSearchParams(query) };
}

/** A reference to an element, and the element's width in pixels; 0 before it is measured. */
export function useRoom() {
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
  return [box, room] as const;
}

export function useAddress(): Address {
  const [address, setAddress] = useState(read);
  // Before the page is painted: a change of the address during the first rendering would be missed otherwise.
  useLayoutEffect(() => {
    const changed = () => setAddress(read());
    window.addEventListener('hashchange', changed);
    return () => window.removeEventListener('hashchange', changed);
  }, []);
  return address;
}

/** Returns the address of a page. */
export function to(parts: string[], query: Record<string, string | undefined> = {}): string {
  const given = Object.entries(query).filter((pair): pair is [string, string] => Boolean(pair[1]));
  const search = new URLSearchParams(given).toString();
  return '#/' + parts.map(encodeURIComponent).join('/') + (search ? `?${search}` : '');
}

export interface Read<T> {
  value: T | undefined;
  trouble: Trouble | undefined;
  /** True if the value belongs to an earlier request or an earlier time. */
  isOld: boolean;
  again: () => void;
}

/** Interval of reloads without events: measured values change without an event. */
const AGAIN_MS = 15_000;
/** Interval of reloads of measured rates, which agents report every second. */
export const RATES_MS = 5_000;

/** Paths of reports of agents, which a controller refuses unless it leads. */
const OF_REPORTS = /^\/v1\/(traffic|flows|agents|(contracts|links|tenants)\/[^/?]+\/(traffic|history|statement))(\?|$)/;
/** Code of the trouble that reports are unknown at this controller. */
export const ELSEWHERE = 'ELSEWHERE';

/** Answer of a path, reloaded after events, at intervals, and on request. Without a path nothing is requested. */
export function useRead<T>(path: string | null, read: (path: string, signal: AbortSignal) => Promise<T> = get, everyMs = AGAIN_MS): Read<T> {
  const world = useWorld();
  const { version, signOut } = world;
  // The controller is not asked for what it cannot know.
  const isElsewhere = path !== null && isReplica(world) && OF_REPORTS.test(path);
  const [got, setGot] = useState<{ path: string; value: T }>();
  const [trouble, setTrouble] = useState<Trouble>();
  const [asked, setAsked] = useState(0);
  const again = useCallback(() => setAsked((count) => count + 1), []);
  useEffect(() => {
    const timer = window.setInterval(() => { if (!document.hidden) again(); }, everyMs);
    return () => window.clearInterval(timer);
  }, [again, everyMs]);
  useEffect(() => {
    if (path === null) return;
    if (isElsewhere) return setTrouble(new Trouble('Unknown here: agents report to the leader only.', 421, ELSEWHERE));
    const stop = new AbortController();
    read(path, stop.signal).then(
      (value) => {
        if (stop.signal.aborted) return;
        setGot({ path, value });
        setTrouble(undefined);
      },
      (error: unknown) => {
        if (stop.signal.aborted) return;
        const trouble = error instanceof Trouble ? error : new Trouble(String(error), 0, 'UNKNOWN');
        if (trouble.status === 401) signOut(trouble.message);
        setTrouble(trouble);
      },
    );
    return () => stop.abort();
  }, [path, version, asked, isElsewhere]);
  const value = got && got.path === path && !isElsewhere ? got.value : undefined;
  return { value, trouble, isOld: trouble !== undefined && value !== undefined, again };
}

/** A list that is loaded page by page. */
export function usePages<T>(path: string | null): { items: T[] | undefined; next: string | undefined; trouble: Trouble | undefined; more: () => void } {
  const first = useRead<{ items: T[]; next?: string }>(path);
  const [further, setFurther] = useState<{ path: string; items: T[]; next: string | undefined }>();
  const [trouble, setTrouble] = useState<Trouble>();
  const busy = useRef(false);
  const mine = further && further.path === path ? further : undefined;
  const next = mine ? mine.next : first.value?.next;
  const more = () => {
    if (!next || !path || busy.current) return;
    busy.current = true;
    get<{ items: T[]; next?: string }>(`${path}${path.includes('?') ? '&' : '?'}after=${encodeURIComponent(next)}`)
      .then((page) => setFurther({ path, items: [...(mine?.items ?? []), ...page.items], next: page.next }), (error) => setTrouble(error as Trouble))
      .finally(() => { busy.current = false; });
  };
  const items = first.value ? [...first.value.items, ...(mine?.items ?? [])] : undefined;
  return { items, next, trouble: first.trouble ?? trouble, more };
}
