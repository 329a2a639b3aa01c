// A host or a switch, its agent and its links.

import { path } from '../api';
import { Badge, Facts, LinkLink, NotObserved, Shown, WhatIf, agentBadge, nodeBadge } from '../parts';
import { isReplica, readsAll, to, useRead, useWorld } from '../state';
import type { Host } from '../types';

export function NodePage({ name }: { name: string }) {
  const world = useWorld();
  const { about } = world;
  const isElsewhere = isReplica(world);
  const isForAll = readsAll(about);
  const node = useRead<Host>(path([isForAll ? 'nodes' : 'hosts', name]));
  const host = useRead<Host>(node.value?.kind === 'host' ? path(['hosts', name]) : null);
  return (
    <Shown of={node} what={name}>
      {(node) => (
        <>
          <h1>{node.kind === 'host' ? 'Host' : 'Switch'} <span class="name">{node.name}</span> <Badge of={nodeBadge(node.state, isElsewhere)} /></h1>
          {node.reason && <p class="notice bad">{node.reason}</p>}
          {nodeBadge(node.state, isElsewhere) === 'unknown' && <NotObserved />}
          <p class="buttons">
            {isForAll && <WhatIf fail={node.name} />}
            {isForAll && node.kind === 'switch' && <a class="button" href={to(['network', `switch:${node.name}`])}>Neighbours</a>}
            {node.kind === 'host' && <a class="button" href={to(['contracts'], { host: node.name })}>Its contracts</a>}
          </p>
          <Facts facts={[
            ['Agent', node.agent ? <Badge of={agentBadge(node.agent, isElsewhere)} /> : isElsewhere ? <Badge of="unknown" /> : 'never connected'],
            ['Session', node.agent?.epoch],
            ['Tag forwarding', node.kind === 'switch' && node.agent && agentBadge(node.agent, isElsewhere) !== 'unknown' ? (node.agent.setUp ? 'yes' : 'not yet') : undefined],
            ['VMs', host.value && (host.value.vms?.length ? host.value.vms.slice(0, 50).join(', ') : 'none')],
          ]} />
          <h2>Outgoing links</h2>
          <ul class="columns">{node.links.map((link) => <li>{isForAll ? <LinkLink name={link} /> : link.replace('->', ' → ')}</li>)}</ul>
        </>
      )}
    </Shown>
  );
}
