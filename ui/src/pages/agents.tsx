// Agents: connected and silent ones, and their reported problems.

import { path } from '../api';
import { many } from '../format';
import { Badge, Empty, Failed, Loading, Message, More, Name, Table, agentBadge, nodeBadge } from '../parts';
import { isReplica, to, usePages, useRead, useWorld, type Address } from '../state';
import type { Agent, Status } from '../types';

function state(agent: Agent, isElsewhere: boolean): string {
  const badge = agentBadge(agent, isElsewhere);
  return badge === 'connected' && agent.problems ? 'reports a problem' : badge;
}

export function Agents({ address }: { address: Address }) {
  const problems = address.query.get('problems') === 'true';
  const status = useRead<Status>(path(['status']));
  const { items, next, trouble, more } = usePages<Agent>(path(['agents'], { problems, limit: 100 }));
  const isCopy = isReplica(useWorld());
  const isElsewhere = isCopy || status.value?.agents === null;
  const silent = status.value?.silent?.length ?? 0;
  return (
    <>
      <h1>Agents</h1>
      {isElsewhere && <p>Sessions and silence of agents are unknown here: agents report to the leader only.</p>}
      {status.value && !isElsewhere && <p>{many(status.value.agents ?? 0, 'session')} open, {silent > 0 ? <strong class="bad"><span aria-hidden="true">✕ </span>{many(silent, 'agent')} silent</strong> : 'none silent'}. {(status.value.agents ?? 0) > 0 && status.value.configured > 0 && `${(status.value.effective ?? 0).toLocaleString('en')} of ${status.value.configured.toLocaleString('en')} rules are confirmed.`}</p>}
      <p><label><input type="checkbox" checked={problems} onChange={(event) => { location.replace(to(['agents'], { problems: event.currentTarget.checked ? 'true' : undefined })); }} /> Only agents with problems</label></p>
      {trouble && !isElsewhere && <Failed trouble={trouble} />}
      {!items && !trouble && <Loading what="agents" />}
      {items?.length === 0 && <Empty>{isElsewhere ? 'No agent is recorded here.' : problems ? 'No agent reports a problem.' : <>No agent has connected yet: contracts are admitted, not enforced. Set up an agent with <code>wayleave agent init</code>{status.value?.enforcement === 'none' && <>, and start the controller with <code>--enforcement hosts</code></>}.</>}</Empty>}
      {items && items.length > 0 && (
        <Table caption="Agents by node" items={items} rowKey={(agent) => agent.node} columns={[
          { head: 'Node', cell: (agent) => <a href={to(['node', agent.node])}><Name of={agent.node} /></a> },
          { head: 'Agent', cell: (agent) => <Badge of={state(agent, isElsewhere)} /> },
          { head: 'Node state', cell: (agent) => <Badge of={nodeBadge(agent.state, isElsewhere)} /> },
          { head: 'Kind', cell: (agent) => agent.kind },
          { head: 'Session', cell: (agent) => agent.epoch, isNumber: true },
          { head: 'Problems', cell: (agent) => agent.problems && <span class="why"><Message text={agent.problems.join('; ')} /></span> },
        ]} />
      )}
      <More next={next} more={more} />
    </>
  );
}
