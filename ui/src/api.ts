// Client of the controller's REST interface: the token, requests, problems, and the event stream.

import type { ClusterRole } from './types';

const KEY = 'wayleave-token';

/** The token of this tab; it is removed when the tab is closed. */
export const token = {
  get: (): string | null => sessionStorage.getItem(KEY),
  set: (secret: string): void => sessionStorage.setItem(KEY, secret),
  forget: (): void => sessionStorage.removeItem(KEY),
};

/** Reads a token from the address behind the #, and removes it from the address. Returns `false` if it is malformed. */
export function takeTokenFromAddress(): boolean {
  if (!location.hash.startsWith('#token=')) return true;
  const found = /^#token=([A-Za-z0-9_-]+)$/.exec(location.hash)?.[1];
  history.replaceState(null, '', location.pathname + '#/');
  if (found) token.set(found);
  else token.forget();
  return found !== undefined;
}

/** Role of the controller in its cluster, as named by its latest answer; `undefined` for a single controller. */
export const role = {
  now: undefined as ClusterRole | undefined,
  changed: (_role: ClusterRole | undefined): void => {},
};

/** Time of the latest message of the controller: an answer, an event or a heartbeat. */
const contact = {
  lastAt: undefined as number | undefined,
  renewed: (): void => {},
};

function renewContact(): void {
  contact.lastAt = Date.now();
  contact.renewed();
}

function readRole(answer: Response): void {
  const named = answer.headers.get('x-wayleave-role');
  const next = named === 'leader' || named === 'follower' ? named : named === null ? undefined : 'unknown';
  // Answers of proxies and refused requests may lack the header.
  if (next === role.now || (next === undefined && !answer.ok)) return;
  role.now = next;
  role.changed(next);
}

/** A failed request, with a message and advice. */
export class Trouble extends Error {
  constructor(
    message: string,
    readonly status: number,
    readonly code: string,
    readonly errors: { field?: string; detail: string }[] = [],
  ) {
    super(message);
  }
}

function headers(accept: string, body?: unknown): Record<string, string> {
  const secret = token.get();
  return {
    accept,
    ...(secret ? { authorization: `Bearer ${secret}` } : {}),
    ...(body === undefined ? {} : { 'content-type': 'application/json' }),
  };
}

async function send(path: string, accept: string, method = 'GET', body?: unknown, signal?: AbortSignal): Promise<Response> {
  let answer: Response;
  try {
    answer = await fetch(path, {
      method,
      headers: headers(accept, body),
      cache: 'no-store',
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      ...(signal ? { signal } : {}),
    });
  } catch (error) {
    if (signal?.aborted) throw error;
    throw new Trouble('Cannot reach the controller. Check that it is running and that the network is up.', 0, 'UNREACHABLE');
  }
  readRole(answer);
  renewContact();
  if (answer.ok) return answer;
  const problem = await answer.json().catch(() => ({}));
  const detail = typeof problem.detail === 'string' ? problem.detail : `HTTP status ${answer.status}`;
  throw new Trouble(detail, answer.status, problem.code ?? 'UNKNOWN', problem.errors ?? []);
}

/** Answers that were requested before a page needs them; each is used once. */
const early = new Map<string, Promise<unknown>>();

/** Requests an answer of the first page while the identity is still requested. */
export function prefetch(path: string): void {
  if (!token.get()) return;
  const answer = get<unknown>(path);
  early.set(path, answer);
  answer.catch(() => early.delete(path));
}

export async function get<T>(path: string, signal?: AbortSignal): Promise<T> {
  const started = early.get(path);
  early.delete(path);
  if (started) return started as Promise<T>;
  return (await send(path, 'application/json', 'GET', undefined, signal)).json() as Promise<T>;
}

export async function text(path: string, signal?: AbortSignal): Promise<string> {
  return (await send(path, 'text/plain', 'GET', undefined, signal)).text();
}

export async function ask<T>(method: string, path: string, body: unknown, signal?: AbortSignal): Promise<T> {
  const answer = await send(path, 'application/json', method, body, signal);
  return answer.status === 204 ? ({} as T) : (answer.json() as Promise<T>);
}

/** Returns a path with encoded parts, and a query without empty parameters. */
export function path(parts: string[], query: Record<string, string | number | boolean | undefined> = {}): string {
  const given = Object.entries(query).filter(([, value]) => value !== undefined && value !== '' && value !== false);
  const search = new URLSearchParams(given.map(([key, value]) => [key, String(value)])).toString();
  return '/' + ['v1', ...parts.map(encodeURIComponent)].join('/') + (search ? `?${search}` : '');
}

export interface WayleaveEvent {
  number: number;
  at: string;
  type: string;
  object: string;
  tenant?: string;
  revision: number;
  detail?: string;
}

/** State of the contact with the controller; `lastAt` is the time of its latest message in ms. */
export type Connection = { state: 'connecting' } | { state: 'live' } | { state: 'stale'; lastAt: number } | { state: 'lost'; lastAt: number | undefined; why: string; retryAt: number };

/** Silence after which the state is unknown: pages request an answer every 15 s, and an answer may be late. */
const STALE_MS = 20_000;
/** Silence after which a stream is broken. */
const SILENCE_MS = 40_000;

/** Follows the events until it is stopped; reconnects after the last received event. */
export function follow(onEvent: (event: WayleaveEvent) => void, onState: (state: Connection) => void): () => void {
  const stop = new AbortController();
  let last: string | undefined;
  let failures = 0;
  let isSilent = false;
  let shown: Connection['state'] = 'connecting';
  let stale: number | undefined;
  const show = (state: Connection) => {
    shown = state.state;
    onState(state);
  };
  contact.renewed = () => {
    window.clearTimeout(stale);
    if (shown === 'stale') show({ state: 'live' });
    if (shown === 'live') stale = window.setTimeout(() => show({ state: 'stale', lastAt: contact.lastAt ?? 0 }), STALE_MS);
  };

  async function once(): Promise<void> {
    const attempt = new AbortController();
    const give = () => attempt.abort();
    const giveUp = () => {
      isSilent = true;
      give();
    };
    isSilent = false;
    stop.signal.addEventListener('abort', give);
    let watch = window.setTimeout(giveUp, SILENCE_MS);
    const received = () => {
      renewContact();
      window.clearTimeout(watch);
      watch = window.setTimeout(giveUp, SILENCE_MS);
    };
    try {
      const answer = await fetch('/v1/events', {
        headers: { ...headers('text/event-stream'), ...(last === undefined ? {} : { 'last-event-id': last }) },
        cache: 'no-store',
        signal: attempt.signal,
      });
      if (!answer.ok || !answer.body) {
        const problem = await answer.json().catch(() => ({}));
        throw new Error(problem.detail ?? `HTTP status ${answer.status}`);
      }
      failures = 0;
      readRole(answer);
      show({ state: 'live' });
      received();
      const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
      let rest = '';
      for (;;) {
        const { value, done } = await reader.read();
        if (done) return;
        received();
        const blocks = (rest + value).split('\n\n');
        rest = blocks.pop() ?? '';
        for (const block of blocks) {
          const field = (name: string) => block.split('\n').find((line) => line.startsWith(name))?.slice(name.length).trim();
          const data = field('data:');
          last = field('id:') ?? last;
          if (data) onEvent(JSON.parse(data) as WayleaveEvent);
        }
      }
    } finally {
      window.clearTimeout(watch);
      stop.signal.removeEventListener('abort', give);
    }
  }

  void (async () => {
    while (!stop.signal.aborted) {
      let why = 'the controller closed the stream';
      try {
        await once();
      } catch (error) {
        why = error instanceof TypeError || error instanceof DOMException ? 'cannot reach the controller' : String((error as Error).message);
      }
      if (stop.signal.aborted) return;
      failures += 1;
      window.clearTimeout(stale);
      const wait = Math.min(1000 * 2 ** (failures - 1), 15_000);
      // Only the stream is silent if the controller has answered since: it is opened again, and pages stay live.
      const isStreamOnly = isSilent && contact.lastAt !== undefined && Date.now() - contact.lastAt < STALE_MS;
      if (!isStreamOnly) show({ state: 'lost', lastAt: contact.lastAt, why, retryAt: Date.now() + wait });
      await new Promise((done) => window.setTimeout(done, wait));
    }
  })();
  return () => {
    window.clearTimeout(stale);
    contact.renewed = () => {};
    stop.abort();
  };
}
