// Effects of failures and of additional contracts, computed on a copy of the controller's state. Nothing is changed.

import { useEffect, useState } from 'preact/hooks';
import { Trouble, ask, get, path } from '../api';
import { many, time } from '../format';
import { Badge, ContractLink, Failed, Field, Loading, Message, Name } from '../parts';
import { Combo } from '../combo';
import { to, useWorld, type Address } from '../state';
import type { ContractSpec, HealthPage, Kind, WhatIfResult } from '../types';

/** Maximum length of each list. */
const SHOWN = 50;

interface Form { kind: Kind; name: string; tenant: string; from: string; to: string; rate: string; burst: string; deadline: string; min: string; members: string }

const EMPTY: Form = { kind: 'latency', name: 'try', tenant: '', from: '', to: '', rate: '10Mbit', burst: '3kB', deadline: '5ms', min: '1Gbit', members: '' };

function words(text: string): string[] {
  return text.split(/[\s,]+/).filter(Boolean);
}

function spec(form: Form): ContractSpec {
  const name = { name: form.name, ...(form.tenant ? { tenant: form.tenant } : {}) };
  const members = words(form.members);
  switch (form.kind) {
    case 'latency': return { ...name, from: form.from, to: form.to, rate: form.rate, burst: form.burst, deadline: form.deadline };
    case 'bandwidth': return { ...name, bandwidth: members.length > 0 ? { hose: members, min: form.min } : { from: form.from, to: form.to, min: form.min } };
    case 'objective': return { ...name, objective: { members, weight: form.min, deadline: form.deadline } };
    case 'best-effort': return { ...name, bestEffort: { members } };
  }
}

/** Keys of a contract in the address, by its kind. */
const KEYS: Record<Kind, (keyof Form)[]> = {
  latency: ['from', 'to', 'rate', 'burst', 'deadline'], bandwidth: ['from', 'to', 'min', 'members'],
  objective: ['min', 'deadline', 'members'], 'best-effort': ['members'],
};

/** The query as a command line. */
function command(fail: string[], adds: boolean): string {
  return ['wayleave what-if', ...fail.map((name) => `--fail '${name}'`), ...(adds ? ['--apply contract.yaml'] : [])].join(' ');
}

/** The address of a question. */
function shared(fails: string[], form: Form | undefined): string {
  const keys = form ? (['kind', 'name', 'tenant', ...KEYS[form.kind]] as const) : [];
  return to(['what-if'], { fail: fails.join(' '), ...Object.fromEntries(keys.map((key) => [key, form?.[key]])) });
}

/** The form as an address has it; without a question in it, with examples. */
function filled(query: URLSearchParams): Form {
  if (!query.has('kind')) return EMPTY;
  const given = Object.fromEntries(Object.keys(EMPTY).map((key) => [key, query.get(key) ?? ''])) as unknown as Form;
  return { ...given, kind: given.kind in KEYS ? given.kind : 'latency' };
}

export function WhatIfPage({ address }: { address: Address }) {
  const { about } = useWorld();
  const isOperator = about.role === 'operator';
  const [fail, setFail] = useState(address.query.get('fail') ?? '');
  const [adds, setAdds] = useState(!isOperator || address.query.has('kind'));
  const [form, setForm] = useState<Form>(() => filled(address.query));
  const [result, setResult] = useState<{ of: string; value: WhatIfResult; before: Levels }>();
  const [trouble, setTrouble] = useState<Trouble>();
  const [isAsking, setAsking] = useState(false);

  const put = async (fails: string[], contract: ContractSpec | undefined) => {
    setAsking(true);
    setTrouble(undefined);
    const of = [fails.length ? `${fails.join(' and ')} failed` : '', contract ? `${contract.name} were added` : ''].filter(Boolean).join(' and ');
    try {
      // A prediction has changes only: guarantees that are lost or unknown before it are not among them.
      const [value, health] = await Promise.all([isOperator ? operators(fails, contract) : own(contract), get<HealthPage>(path(['health'], { limit: 1 }))]);
      setResult({ of, value, before: health.levels });
    } catch (error) {
      setResult(undefined);
      setTrouble(error as Trouble);
    } finally {
      setAsking(false);
    }
  };
  // A question in the address is asked at once: an address can be shared.
  const question = address.query.toString();
  useEffect(() => {
    const [fails, hasContract] = [isOperator ? words(address.query.get('fail') ?? '') : [], address.query.has('kind')];
    if ((fails.length === 0 && !hasContract) || about.role === 'reader') return;
    const given = filled(address.query);
    setFail(fails.join(' '));
    setAdds(hasContract || !isOperator);
    if (hasContract) setForm(given);
    void put(fails, hasContract ? spec(given) : undefined);
  }, [question]);
  const run = () => {
    const next = shared(fails, adds ? form : undefined);
    if (next === location.hash) void put(fails, adds ? spec(form) : undefined);
    else location.hash = next;
  };
  const field = (key: keyof Form, label: string, hint?: string) => (
    <Field label={label} {...(hint ? { hint } : {})}>{(id) => <input id={id} value={form[key]} onInput={(event) => setForm({ ...form, [key]: event.currentTarget.value })} />}</Field>
  );
  const ends = (key: 'from' | 'to' | 'members' | 'tenant', label: string, hint?: string) => (
    <Field label={label} {...(hint ? { hint } : {})}>{(id) => (
      <Combo id={id} kinds={key === 'tenant' ? ['tenant'] : ['host']} value={form[key]} isMany={key === 'members'} onChange={(value) => setForm({ ...form, [key]: value })} />
    )}</Field>
  );
  const fails = words(fail);
  if (about.role === 'reader') return <><h1>What if</h1><p class="notice">Not available with a reader token, because predictions use controller time. Sign in as an operator or a tenant.</p></>;
  return (
    <>
      <h1>What if</h1>
      <p>Predictions run on a copy of the controller’s state. Nothing is changed.</p>
      <form onSubmit={(event) => { event.preventDefault(); run(); }}>
        {isOperator && (
          <Field label="Elements that fail" hint="Switches, hosts or links (h1->leaf1), separated by spaces. Names are suggested as you type.">
            {(id) => <Combo id={id} isMany kinds={['node', 'link']} value={fail} onChange={setFail} placeholder="spine1" />}
          </Field>
        )}
        {isOperator && <p><label><input type="checkbox" checked={adds} onChange={(event) => setAdds(event.currentTarget.checked)} /> Add a contract</label></p>}
        {adds && (
          <fieldset class="group">
            <legend>Contract</legend>
            <Field label="Kind">{(id) => (
              <select id={id} value={form.kind} onChange={(event) => setForm({ ...form, kind: event.currentTarget.value as Kind })}>
                <option value="latency">latency</option><option value="bandwidth">bandwidth</option><option value="objective">objective</option><option value="best-effort">best effort</option>
              </select>
            )}</Field>
            {field('name', 'Name')}
            {isOperator && ends('tenant', 'Tenant', 'empty: default tenant')}
            {(form.kind === 'latency' || form.kind === 'bandwidth') && <>{ends('from', 'From', isOperator ? 'a host or a VM' : 'one of your VMs')}{ends('to', 'To')}</>}
            {form.kind === 'latency' && <>{field('rate', 'Rate')}{field('burst', 'Burst')}</>}
            {(form.kind === 'bandwidth' || form.kind === 'objective') && field('min', form.kind === 'objective' ? 'Weight' : 'Minimum')}
            {(form.kind === 'latency' || form.kind === 'objective') && field('deadline', 'Deadline')}
            {form.kind !== 'latency' && ends('members', form.kind === 'bandwidth' ? 'Or hose members' : 'Members', 'separated by spaces')}
          </fieldset>
        )}
        <p><button type="submit" class="main" disabled={isAsking || (fails.length === 0 && !adds)}>{isAsking ? 'Running …' : 'Run'}</button></p>
      </form>
      <div aria-live="polite">
        {isAsking && <Loading what="the prediction" />}
        {trouble && <Failed trouble={trouble} advice={trouble.status === 404 ? 'Check the names: they are suggested as you type.' : ''} />}
        {!isAsking && result && <Answer of={result.of} result={result.value} before={result.before} />}
      </div>
      {isOperator && result && !isAsking && <p class="dim">The address of this page has the question, so that it can be shared. As a command: <code>{command(fails, adds)}</code></p>}
    </>
  );
}

function operators(fail: string[], contract: ContractSpec | undefined): Promise<WhatIfResult> {
  return ask<WhatIfResult>('POST', path(['what-if'], { limit: SHOWN }), { ...(fail.length ? { fail } : {}), ...(contract ? { apply: [contract] } : {}) });
}

/** For a tenant, the query is a dry run of its own contract. */
async function own(contract: ContractSpec | undefined): Promise<WhatIfResult> {
  const none: WhatIfResult = { rerouted: [], degraded: [], restored: [], admitted: [], refused: [], deleted: [], placed: [] };
  if (!contract?.name) return none;
  const { name, ...body } = contract;
  try {
    const done = await ask<{ id: string; boundNs?: number; certainty?: string }>('PUT', path(['contracts', name], { dryRun: true }), body);
    return { ...none, admitted: [{ ...done, routes: [] }] };
  } catch (error) {
    const trouble = error as Trouble;
    if (trouble.status !== 409) throw trouble;
    return { ...none, refused: [{ id: name, reason: trouble.code, message: trouble.message }] };
  }
}

/** Number of guarantees by level. */
type Levels = HealthPage['levels'];

/** States before the change in which a guarantee does not hold, or is not known to hold. */
const BEFORE: [string, (many: number) => string][] = [
  ['violated', (many) => `${many === 1 ? 'is' : 'are'} violated or lost already`],
  ['unknown', (many) => `${many === 1 ? 'is' : 'are'} unknown now, because agents are silent`],
  ['unconfirmed', (many) => `${many === 1 ? 'is' : 'are'} not confirmed by hosts`],
  ['at-risk', (many) => `${many === 1 ? 'is' : 'are'} close to the limit`],
  ['pending', (many) => `${many === 1 ? 'is' : 'are'} pending`],
  ['not-enforced', (many) => `${many === 1 ? 'is' : 'are'} admitted, not enforced`],
  ['best-estimate', (many) => `${many === 1 ? 'is' : 'are'} enforced in part, or measured`],
];

/** Returns the guarantees that do not hold, or are not known to hold, before the change. */
function notHeld(before: Levels): string[] {
  const named = BEFORE.filter(([level]) => before[level]);
  return named.map(([level, words], at) => `${at === 0 ? many(before[level] ?? 0, 'guarantee') : before[level]?.toLocaleString('en')} ${words(before[level] ?? 0)}`);
}

/** Verdict of a prediction without a loss. It covers guarantees that hold before the change. */
function NoLoss({ before }: { before: Levels }) {
  const [all, held] = [Object.values(before).reduce((sum, one) => sum + one, 0), before.ok ?? 0];
  if (all === 0) return <p class="verdict">There are no guarantees</p>;
  if (held === all) return <p class="verdict good"><span aria-hidden="true">✓ </span>All {many(all, 'guarantee')} would hold</p>;
  return <p class="verdict">No {before.violated ? 'further ' : ''}guarantee would be lost</p>;
}

function Answer({ of, result, before }: { of: string; result: WhatIfResult; before: Levels }) {
  const size = (key: keyof WhatIfResult) => (result[key] as unknown[] | undefined ?? []).length + (result.omitted?.[key] ?? 0);
  const [degraded, refused, rerouted, restored, admitted, certainty] = [size('degraded'), size('refused'), size('rerouted'), size('restored'), size('admitted'), size('certainty')];
  const others = notHeld(before);
  const is = (count: number) => (count === 1 ? 'guarantee' : 'guarantees');
  return (
    <section class="answer">
      <h2>If {of}</h2>
      {degraded > 0 && <p class="verdict bad"><span aria-hidden="true">✕ </span>{degraded.toLocaleString('en')} {is(degraded)} would be lost</p>}
      {refused > 0 && <p class="verdict bad"><span aria-hidden="true">✕ </span>{many(refused, 'contract')} would be refused</p>}
      {admitted > 0 && <p class="verdict good"><span aria-hidden="true">✓ </span>{many(admitted, 'contract')} would be admitted</p>}
      {certainty > 0 && <p class="verdict warn"><span aria-hidden="true">≈ </span>Certainty of {many(certainty, 'guarantee')} would change</p>}
      {degraded === 0 && refused === 0 && admitted === 0 && certainty === 0 && <NoLoss before={before} />}
      {others.length > 0 && <p class="notice">Before the change, {others.join('; ')}. The prediction names what would change besides.</p>}
      {rerouted > 0 && <p>{many(rerouted, 'contract')} would be rerouted.</p>}
      {restored > 0 && <p>{many(restored, 'contract')} that a failure has withdrawn would be reserved again.</p>}
      {rerouted === 0 && restored === 0 && degraded === 0 && refused === 0 && admitted === 0 && <p>No contract would be rerouted.</p>}
      <List title="Would lose their guarantee" count={degraded} items={result.degraded} draw={(one) => <><ContractLink id={one.id} /> <Badge of="broken">{one.reason || 'lost'}</Badge> <span class="why"><Message text={one.message} /></span></>} />
      <List title="Certainty would change" count={certainty} items={result.certainty ?? []} draw={(one) => <><ContractLink id={one.id} /> from <Badge of={one.from} /> to <Badge of={one.to} /></>} />
      <List title="Would be refused" count={refused} items={result.refused} draw={(one) => <><Name of={one.id} /> <Badge of="refused">{one.reason}</Badge> <span class="why"><Message text={one.message} /></span></>} />
      <List title="Would be admitted" count={admitted} items={result.admitted} draw={(one) => <><Name of={one.id} /> {one.boundNs !== undefined && <>bound {time(one.boundNs)}</>} {one.certainty && <Badge of={one.certainty} />} <Routes routes={one.routes} /></>} />
      <List title="Would be rerouted" count={rerouted} items={result.rerouted} draw={(one) => <><ContractLink id={one.id} /> {one.boundNs !== undefined && <>bound {time(one.boundNs)}</>} <Routes routes={one.routes} /></>} />
    </section>
  );
}

function Routes({ routes }: { routes: string[][] }) {
  return <>{routes.map((links) => <span class="dim"> {[links[0]?.split('->')[0], ...links.map((link) => link.split('->')[1])].join(' → ')}</span>)}</>;
}

function List<T>({ title, items, count, draw }: { title: string; items: T[]; count: number; draw: (item: T) => preact.ComponentChildren }) {
  if (count === 0) return null;
  return (
    <details open={count <= 12}>
      <summary>{title}: {count.toLocaleString('en')}</summary>
      <ul class="plain-list">{items.map((item) => <li>{draw(item)}</li>)}</ul>
      {count > items.length && <p class="dim">and {(count - items.length).toLocaleString('en')} more</p>}
    </details>
  );
}
