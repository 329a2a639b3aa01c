// The frame of all pages: identity, navigation, and the state of the connection.

import { render } from 'preact';
import { useCallback, useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { Trouble, follow, get, prefetch, role as clusterRole, takeTokenFromAddress, token, type Connection, type WayleaveEvent } from './api';
import { Banners, Live } from './contact';
import { network } from './format';
import { Failed, Loading } from './parts';
import { Agents } from './pages/agents';
import { AlertsPage } from './pages/alerts';
import { ContractPage } from './pages/contract';
import { Contracts } from './pages/contracts';
import { LinkPage } from './pages/link';
import { Network } from './pages/network';
import { NodePage } from './pages/node';
import { Policies } from './pages/policies';
import { Health, SUMMARY } from './pages/health';
import { SignIn, type SignedOut } from './pages/signin';
import { StatementPage } from './pages/statement';
import { TenantPage, Tenants } from './pages/tenants';
import { TimelinePage } from './pages/timeline';
import { Traffic } from './pages/traffic';
import { WhatIfPage } from './pages/what-if';
import { WorldContext, readsAll, to, useAddress, type About, type Address, type World } from './state';
import './style.css';

/** Minimum time between two reloads of a page, for any number of events. */
const CALM_MS = 2000;
/** Maximum number of events kept by a tab. */
const REMEMBERED = 200;

interface Page { title: string; at: string; draw: (address: Address) => preact.JSX.Element; forAll?: boolean; inMenu?: boolean; isForReaders?: false }

const PAGES: Page[] = [
  { title: 'Guarantees', at: '', draw: (address) => <Health address={address} />, inMenu: true },
  { title: 'Network', at: 'network', draw: (address) => <Network group={address.parts[1]} />, forAll: true, inMenu: true },
  { title: 'Traffic', at: 'traffic', draw: (address) => <Traffic address={address} />, inMenu: true },
  { title: 'Contracts', at: 'contracts', draw: (address) => <Contracts address={address} />, inMenu: true },
  { title: 'What if', at: 'what-if', draw: (address) => <WhatIfPage address={address} />, inMenu: true, isForReaders: false },
  { title: 'Alerts', at: 'alerts', draw: () => <AlertsPage />, forAll: true, inMenu: true },
  { title: 'Timeline', at: 'timeline', draw: (address) => <TimelinePage at={address.parts[1]} />, inMenu: true },
  { title: 'Agents', at: 'agents', draw: (address) => <Agents address={address} />, forAll: true, inMenu: true },
  { title: 'Tenants', at: 'tenants', draw: () => <Tenants />, inMenu: true },
  { title: 'Policies', at: 'policies', draw: () => <Policies />, forAll: true, inMenu: true },
  { title: 'Statements', at: 'statement', draw: (address) => <StatementPage tenant={address.parts[1]} address={address} />, inMenu: true },
  { title: 'Contract', at: 'contract', draw: (address) => <ContractPage id={address.parts[1] ?? ''} /> },
  { title: 'Link', at: 'link', draw: (address) => <LinkPage name={address.parts[1] ?? ''} address={address} />, forAll: true },
  { title: 'Node', at: 'node', draw: (address) => <NodePage name={address.parts[1] ?? ''} /> },
  { title: 'Tenant', at: 'tenant', draw: (address) => <TenantPage name={address.parts[1] ?? ''} /> },
];

function Theme() {
  const [theme, setTheme] = useState(() => localStorage.getItem('wayleave-theme') ?? 'system');
  useEffect(() => {
    if (theme === 'system') delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = theme;
    localStorage.setItem('wayleave-theme', theme);
    window.dispatchEvent(new Event('wayleave-theme'));
  }, [theme]);
  return (
    <label class="theme">
      <span class="hidden">Theme</span>
      <select value={theme} onChange={(event) => setTheme(event.currentTarget.value)}>
        <option value="system">System theme</option>
        <option value="light">Light</option>
        <option value="dark">Dark</option>
      </select>
    </label>
  );
}

function Menu({ about, current }: { about: About; current: string }) {
  const list = useRef<HTMLUListElement>(null);
  // On a phone the menu is wider than the screen.
  useEffect(() => {
    const [menu, entry] = [list.current?.parentElement, list.current?.querySelector<HTMLElement>('[aria-current]')];
    if (menu && entry) menu.scrollLeft = entry.offsetLeft - (menu.clientWidth - entry.offsetWidth) / 2;
  }, [current]);
  const pages = PAGES.filter((page) => page.inMenu && (!page.forAll || readsAll(about)) && (page.isForReaders !== false || about.role !== 'reader'));
  const name = (page: Page) => (page.at === 'tenants' && about.tenant !== undefined ? 'Tenant' : page.title);
  return (
    <nav aria-label="Pages">
      <ul ref={list}>
        {pages.map((page) => <li key={page.at}><a href={to(page.at ? [page.at] : [])} aria-current={page.at === current ? 'page' : undefined}>{name(page)}</a></li>)}
      </ul>
    </nav>
  );
}

/** Returns the menu entry of a page. */
const MENU: Record<string, string> = { contract: 'contracts', link: 'network', node: 'network', tenant: 'tenants' };

function Frame({ about, signOut }: { about: About; signOut: (why?: string) => void }) {
  const address = useAddress();
  const [connection, setConnection] = useState<Connection>({ state: 'connecting' });
  const [role, setRole] = useState(clusterRole.now);
  const [version, setVersion] = useState(0);
  const [events, setEvents] = useState<WayleaveEvent[]>([]);
  const main = useRef<HTMLElement>(null);
  const at = address.parts[0] ?? '';
  const page = PAGES.find((page) => page.at === at);
  useEffect(() => {
    // Facts of another role replace those on the page at once.
    clusterRole.changed = (next) => {
      setRole(next);
      setVersion((version) => version + 1);
    };
    setRole(clusterRole.now);
    let timer: number | undefined;
    let waiting: WayleaveEvent[] = [];
    let wasLost = false;
    const tell = () => {
      timer = undefined;
      const news = waiting;
      waiting = [];
      setVersion((version) => version + 1);
      setEvents((known) => [...news.reverse(), ...known].slice(0, REMEMBERED));
    };
    const stop = follow(
      (event) => {
        if (event.type !== 'reset') waiting.push(event);
        if (waiting.length > REMEMBERED) waiting.shift();
        timer ??= window.setTimeout(tell, CALM_MS);
      },
      (state) => {
        setConnection(state);
        // The stream may have dropped events while it was disconnected.
        if (state.state === 'live' && wasLost) setVersion((version) => version + 1);
        if (state.state !== 'connecting') wasLost = state.state !== 'live';
      },
    );
    return () => {
      clusterRole.changed = () => {};
      window.clearTimeout(timer);
      stop();
    };
  }, []);
  const title = page?.title ?? 'Not found';
  const isFirst = useRef(true);
  useEffect(() => {
    document.title = `${[title, address.parts[1]].filter(Boolean).join(' ')} · ${network(about.topology)} · Wayleave`;
    if (!isFirst.current) {
      window.scrollTo(0, 0);
      main.current?.focus({ preventScroll: true });
    }
    isFirst.current = false;
  }, [at, address.parts[1]]);
  const world: World = useMemo(() => ({ about, connection, role, version, events, signOut }), [about, connection, role, version, events, signOut]);
  const who = about.tenant !== undefined ? `${about.role === 'reader' ? 'reader of' : 'tenant'} ${about.tenant}` : about.role;
  return (
    <WorldContext.Provider value={world}>
      <a class="skip" href="#main" onClick={(event) => { event.preventDefault(); main.current?.focus(); }}>Skip to content</a>
      <header>
        <a class="brand" href="#/"><strong>Wayleave</strong> <span class="dim">{network(about.topology)}</span></a>
        <Live connection={connection} role={role} />
        <span class="who dim">{who}</span>
        <Theme />
        <button type="button" class="plain" onClick={() => signOut()}>Sign out</button>
      </header>
      <Menu about={about} current={MENU[at] ?? at} />
      <main id="main" tabIndex={-1} ref={main}>
        <Banners />
        {!page && <><h1>Page not found</h1><p>Choose a page from the menu.</p></>}
        {page && (page.forAll && !readsAll(about)
          ? <><h1>{page.title}</h1><p class="notice">This page covers all tenants. Your token is limited to one tenant.</p></>
          : page.draw(address))}
      </main>
    </WorldContext.Provider>
  );
}

const isTokenGood = takeTokenFromAddress();
const MALFORMED: SignedOut = { title: 'Sign-in failed', text: 'The token in the address is malformed: expected letters, digits, "-" and "_". Enter the token below.' };

function App() {
  const [about, setAbout] = useState<About>();
  const [why, setWhy] = useState<SignedOut>();
  const [trouble, setTrouble] = useState<Trouble>();
  const [attempt, setAttempt] = useState(0);
  const [needsToken, setNeedsToken] = useState(false);
  const forget = useCallback((why: SignedOut | undefined) => {
    token.forget();
    setAbout(undefined);
    setNeedsToken(true);
    setWhy(why);
  }, []);
  const signOut = useCallback((text?: string) => forget(text === undefined ? undefined : { title: 'Signed out', text }), []);
  useEffect(() => {
    const failed = (text: string) => forget({ title: 'Sign-in failed', text });
    setTrouble(undefined);
    // Tries without a token, too: a client certificate of the browser may be sufficient.
    get<About>('/v1').then(
      (about) => {
        setNeedsToken(false);
        setWhy(undefined);
        if (about.role === 'agent') failed('This is an agent token. The dashboard requires an operator, reader or tenant token.');
        else setAbout(about);
      },
      (error: unknown) => {
        const trouble = error as Trouble;
        if (trouble.status !== 401) setTrouble(trouble);
        else if (token.get()) failed(trouble.message);
        else forget(attempt === 0 && !isTokenGood ? MALFORMED : undefined);
      },
    );
  }, [attempt]);
  if (about) return <Frame key={`${about.role} ${about.tenant ?? ''}`} about={about} signOut={signOut} />;
  if (needsToken) return <SignIn why={why} done={(secret) => { token.set(secret); setAttempt((count) => count + 1); }} />;
  return <main>{trouble ? <Failed trouble={trouble} again={() => setAttempt((count) => count + 1)} /> : <Loading what="your role" />}</main>;
}

if (/^(#\/?)?(\?|$)/.test(location.hash)) prefetch(SUMMARY);
// A token that is entered into the address of an open page is read by a new start.
window.addEventListener('hashchange', () => { if (location.hash.startsWith('#token=')) location.reload(); });
const root = document.getElementById('app');
if (root) render(<App />, root);
