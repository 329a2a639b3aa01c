// Client of the controller's REST interface: the token, requests, problems, and the event stream.

const KEY = 'wayleave-token';

/** The token of this tab; it is removed when the tab is closed. */
export const token = {
  get: (): string | null => sessionStorage.getItem(KEY),
  set: (secret: string): void => sessionStorage.setItem(KEY, secret),
  forget: (): void => sessionStorage.removeItem(KEY),
};

/** Reads a token from the address behind the #, and removes it from the address. */
export function takeTokenFromAddress(): void {
  const found = /^#token=([A-Za-z0-9_-]+)$/.exec(location.hash);
  if (!found?.[1]) return;
  token.set(found[1]);
  history.replaceState(null, '', location.pathname + '#/');
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

export type Connection = { state: 'connecting' } | { state: 'live' } | { state: 'lost'; why: string; retryAt: number };

/** Silence after which a stream is broken: the controller sends a message every 15 s. */
const SILENCE_MS = 40_000;

/** Follows the events until it is stopped; reconnects after the last received event. */
export function follow(onEvent: (event: WayleaveEvent) => void, onState: (state: Connection) => void): () => void {
  const stop = new AbortController();
  let last: string | undefined;
  let failures = 0;

  async function once(): Promise<void> {
    const attempt = new AbortController();
    const give = () => attempt.abort();
    stop.signal.addEventListener('abort', give);
    let watch = window.setTimeout(give, SILENCE_MS);
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
      onState({ state: 'live' });
      const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
      let rest = '';
      for (;;) {
        const { value, done } = await reader.read();
        if (done) return;
        window.clearTimeout(watch);
        watch = window.setTimeout(give, SILENCE_MS);
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
      const wait = Math.min(1000 * 2 ** (failures - 1), 15_000);
      onState({ state: 'lost', why, retryAt: Date.now() + wait });
      await new Promise((done) => window.setTimeout(done, wait));
    }
  })();
  return () => stop.abort();
}
