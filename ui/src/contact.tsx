// Contact with the controller: state of the event stream, role in the cluster, and the banners for both.

import { useEffect, useState } from 'preact/hooks';
import { path, type Connection } from './api';
import { when } from './format';
import { RATES_MS, isReplica, readsAll, useRead, useWorld } from './state';
import type { ClusterRole, Status } from './types';

/** State of the event stream in the header: live only at a controller to which agents report. */
export function Live({ connection, role }: { connection: Connection; role: ClusterRole | undefined }) {
  const [now, setNow] = useState(Date.now());
  useEffect(() => {
    if (connection.state !== 'lost') return;
    const timer = window.setInterval(() => setNow(Date.now()), 1000);
    return () => window.clearInterval(timer);
  }, [connection]);
  if (connection.state === 'connecting') return <span class="live dim" role="status">Connecting …</span>;
  if (connection.state === 'stale') return <span class="live warn" role="status"><span aria-hidden="true">? </span>Stale: no message since {clock(connection.lastAt)}</span>;
  if (connection.state === 'live') {
    if (role === 'follower') return <span class="live warn" role="status"><span aria-hidden="true">◌ </span>Follower</span>;
    if (role === 'unknown') return <span class="live warn" role="status"><span aria-hidden="true">? </span>Role unknown</span>;
    return <span class="live good" role="status"><span aria-hidden="true">●</span> Live</span>;
  }
  const seconds = Math.max(0, Math.ceil((connection.retryAt - now) / 1000));
  return (
    <span class="live bad" title={connection.why}>
      <span role="status"><span aria-hidden="true">○</span> Disconnected: {connection.why}.</span> <span aria-hidden="true">Retrying in {seconds} s.</span>
    </span>
  );
}

function clock(at: number): string {
  return when(new Date(at).toISOString());
}

/** Limits of the figures on all pages: their age without contact, and their source at a follower. */
export function Banners() {
  const world = useWorld();
  const { connection } = world;
  const lastAt = connection.state === 'stale' || connection.state === 'lost' ? connection.lastAt : undefined;
  return (
    <>
      {lastAt !== undefined && <p class="notice bad">No message from the controller since {clock(lastAt)}: its present state is unknown. Values below may be older than that.</p>}
      {world.role !== undefined && <Role isShown={isReplica(world)} />}
    </>
  );
}

/** The role of a controller of a cluster, requested often: a leader may be replaced at any time. */
function Role({ isShown }: { isShown: boolean }) {
  const { about, role } = useWorld();
  const status = useRead<Status>(path(['status']), undefined, RATES_MS);
  if (!isShown) return null;
  const leader = status.value?.cluster?.leader;
  const url = leader !== undefined && /^https?:\/\//.test(leader) ? leader : undefined;
  const name = url ? <>the leader is <a href={`${url}/ui/`}>{url}</a></> : leader ? `the leader is ${leader}` : 'the leader is not named here';
  return (
    <p class="notice warn">
      {role === 'follower' ? <strong>This controller is a follower; {name}.</strong> : <strong>This controller does not know its role: another one may have written since.</strong>}
      {' '}Agents report to the leader only. Contracts are copies of its records{readsAll(about) ? '; sessions of agents, measured rates and alerts about them are unknown here' : '; measured rates are unknown here'}.
    </p>
  );
}
