// Agents: connected and silent ones, and their reported problems.

import { path } from '../api';
import { many } from '../format';
import { Badge, Empty, Failed, Loading, More, Table } from '../parts';
import { to, usePages, useRead, type Address } from '../state';
import type { Agent, Status } from '../types';

export function Agents({ address }: { address: Address }) {
  const problems = address.query.get('problems') === 'true';
  const status = useRead<Status>(path(['status']));
  const { items, next, trouble, more } = usePages<Agent>(path(['agents'], { problems, limit: 100 }));
  const silent = status.value?.silent?.length ?? 0;
  return (
    <>
      <h1>Agents</h1>
      {status.value?.agents === null && <p class="notice">Unknown here: this controller does not lead, and agents report to the leader{status.value.cluster?.leader && <>, <span class="name">{status.value.cluster.leader}</span></>}.</p>}
      {status.value && status.value.agents !== null && <p>{many(status.value.agents, 'session')} open, {silent > 0 ? <Badge of="silent">{many(silent, 'agent')} silent</Badge> : 'none silent'}. {status.value.agents > 0 && status.value.configured > 0 && `${status.value.effective.toLocaleString('en')} of ${status.value.configured.toLocaleString('en')} rules are confirmed.`}</p>}
      <p><label><input type="checkbox" checked={problems} onChange={(event) => { location.replace(to(['agents'], { problems: event.currentTarget.checked ? 'true' : undefined })); }} /> Only agents with problems</label></p>
      {trouble && <Failed trouble={trouble} />}
      {!items && !trouble && <Loading what="agents" />}
      {items?.length === 0 && <Empty>{problems ? 'No agent reports a problem.' : <>No agent has connected yet: contracts are admitted, not enforced. Set up an agent with <code>wayleave agent init</code>, and start the controller with <code>--enforcement hosts</code>.</>}</Empty>}
      {items && items.length > 0 && (
        <Table caption="Agents by node" items={items} rowKey={(agent) => agent.node} columns={[
          { head: 'Node', cell: (agent) => <a class="name" href={to(['node', agent.node])}>{agent.node}</a> },
          { head: 'Agent', cell: (agent) => <Badge of={agent.silent === null || agent.open === null ? 'unknown' : agent.silent ? 'silent' : !agent.open ? 'stopped' : agent.problems ? 'reports a problem' : 'connected'} /> },
          { head: 'Node state', cell: (agent) => <Badge of={agent.state} /> },
          { head: 'Kind', cell: (agent) => agent.kind },
          { head: 'Session', cell: (agent) => agent.epoch, isNumber: true },
          { head: 'Problems', cell: (agent) => agent.problems && <span class="why">{agent.problems.join('; ')}</span> },
        ]} />
      )}
      <More next={next} more={more} />
    </>
  );
}
