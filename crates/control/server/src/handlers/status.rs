//! Status: identity and state of the server, and endpoints for monitoring programs.

use std::collections::BTreeMap;
use std::sync::Arc;

use http::header::ACCEPT;
use wayleave_controller::{NodeState, Principal};
use wayleave_protocol::status::{About, Cluster, Ledger, Status};
use wayleave_protocol::tenant::Role as RoleName;
use wayleave_topology::NodeId;

use wayleave_units::Time;

use crate::VERSION;
use crate::answer::{HttpReply, Outcome};
use crate::down_counts::DownCounts;
use crate::exposition::Exposition;
use crate::handlers::details;
use crate::http::call::AuthorizedRequest;
use crate::listing::contracts;
use crate::load::line_of_host;
use crate::metrics::ClientMemory;
use crate::read_view::{Health, Tables};
use crate::state::{Shared, unready_to_all};

pub(crate) async fn about(shared: Arc<Shared>, call: AuthorizedRequest) -> Outcome {
    let (role, tenant, node) = match call.role().clone() {
        Principal::Operator => (RoleName::Operator, None, None),
        Principal::Tenant { tenant } => (RoleName::Tenant, Some(tenant), None),
        Principal::Agent { node } => (RoleName::Agent, None, Some(node)),
        Principal::Reader { tenant } => (RoleName::Reader, tenant, None),
    };
    let about = About {
        version: VERSION.to_owned(),
        role,
        tenant,
        node,
        topology: shared.name.clone(),
        scheme: shared.scheme.clone(),
        generation: shared.view.read().generation,
    };
    Ok(HttpReply::json(200, &about))
}

pub(crate) fn status(shared: &Arc<Shared>, call: &AuthorizedRequest) -> Outcome {
    let cluster_state = shared.cluster_state();
    let is_known = shared.receives_reports();
    let tables = shared.view.read();
    let only = call.only_tenant();
    // No secret: every answer has the role and the commit, and tenants need the leader for their changes.
    let cluster = cluster_state.map(|cluster_state| Cluster {
        role: cluster_state.role,
        leader: match &tables.health {
            Health::Following(leader) => leader.clone(),
            _ => None,
        },
        commit: cluster_state.commit,
        epoch: cluster_state.generation,
        lease_remaining_ms: cluster_state.lease_left_ns / 1_000_000,
    });
    let why = shared.unready(&tables.health);
    let counts = tables.counts_of(only);
    let is_shown = |tenant: &str| only.is_none_or(|only| only == tenant);
    let ledger = Ledger {
        // Paths of files are hidden from tenants.
        path: if only.is_none() { shared.ledger.clone() } else { String::new() },
        // These count what all tenants do.
        sequence: if only.is_none() { tables.sequence } else { 0 },
        records: if only.is_none() { tables.records } else { 0 },
        revision: if only.is_none() { tables.revision } else { 0 },
    };
    let agents = is_known.then(|| tables.nodes.values().filter(|node| node.is_there()).count() as u64);
    let has_measured = is_known && has_measured(shared, &tables, only);
    let status = Status {
        version: VERSION.to_owned(),
        generation: tables.generation,
        ready: why.is_none(),
        message: why.filter(|_| only.is_none()),
        contracts: counts.by_state(),
        kinds: counts.by_kind(),
        configured: counts.configured,
        effective: (!tables.is_follower()).then_some(counts.effective),
        late: (!tables.is_follower() && (has_measured || counts.late > 0)).then_some(counts.late),
        enforcement: shared.setup.enforced_by.name().to_owned(),
        clock_ahead_ns: shared.metrics.clock_hold_down_seconds().map(Time::as_nanos),
        unprotected: counts.unprotected,
        vms: tables.vms_of(only, None).count() as u64,
        tenants: tables.tenants.keys().filter(|tenant| is_shown(tenant)).count() as u64,
        down: DownCounts::of(&tables, shared.network()).down,
        agents,
        silent: is_known.then(|| silent(shared, &tables, only.is_none())),
        problems: (!tables.is_follower()).then(|| if only.is_none() { problems(shared, &tables) } else { Vec::new() }),
        ledger,
        cluster,
    };
    Ok(HttpReply::json(200, &status))
}

/// Returns `true` if a connected receiver has measured packets: of this tenant, or of any.
pub(crate) fn has_measured(shared: &Shared, tables: &Tables, only: Option<&str>) -> bool {
    let state = |node: &str| tables.nodes.get(&shared.network().find_node(node)?);
    shared.counted.has_measured(only, |node| state(node).is_some_and(NodeState::is_there))
}

/// Returns the problems of nodes, of the disk, and of tokens that no client can use.
fn problems(shared: &Shared, tables: &Tables) -> Vec<String> {
    let of_nodes = of_nodes(shared, tables).into_iter().map(|(node, what)| format!("{node}: {what}"));
    let warnings = tables.tokens.iter().filter_map(|(id, (_, holder))| Some((id, holder.warning.as_ref()?)));
    let warnings = warnings.map(|(id, warning)| format!("token {id}: {warning}"));
    of_nodes.chain(shared.load.disk_problems()).chain(warnings).collect()
}

/// Returns the problems of nodes, with their names: those that agents report, and those that their reports show.
pub(crate) fn of_nodes(shared: &Shared, tables: &Tables) -> Vec<(String, String)> {
    let (network, now) = (shared.network(), shared.load.now().0);
    let name = |node: NodeId| network.node(node).name.clone();
    let mut problems = shared.counted.problems();
    problems.extend(shared.load.problems().into_iter().map(|(node, what)| (name(node), what)));
    problems.extend(unbelievable(shared, tables));
    problems.extend(excess(tables).map(|(node, what)| (name(node), what)));
    // The problem of a silent agent is its silence.
    let is_there = |node: &NodeId| tables.nodes.get(node).is_some_and(NodeState::is_there);
    let uncompared = shared.load.uncompared().into_iter().filter(|(node, _)| is_there(node));
    problems.extend(uncompared.map(|(node, what)| (name(node), what)));
    problems.extend(shared.counted.session_problems(now));
    for (node, serial, run) in shared.counted.cut_off() {
        let Some(contract) = tables.contract_with(serial) else { continue };
        let place = run.last_seen_at.map(|node| format!(", last seen at {node}")).unwrap_or_default();
        let what = format!(
            "contract {}: all of the last {} traced packets were lost{place}: check the receiver's interface (`wayleave agent --config FILE endpoint add` sets it) and the links of the route",
            contract.id(),
            run.packets
        );
        problems.push((node, what));
    }
    problems
}

/// Maximum number of contracts that a problem names.
const NAMES: usize = 4;

/// Returns a problem for each host of which counters of contracts show more than its line rate.
fn unbelievable<'a>(shared: &'a Shared, tables: &'a Tables) -> impl Iterator<Item = (String, String)> + 'a {
    shared.counted.unbelievable().into_iter().map(|(node, serials)| {
        let line = shared.network().find_node(&node).map(|host| line_of_host(shared.network(), host));
        let names = serials.iter().take(NAMES).filter_map(|&serial| Some(tables.contract_with(serial)?.id().to_string()));
        let names = contracts(names.collect(), serials.len());
        let what = format!(
            "the counters of {names} show more than the line rate of this host, {}: their rates are unknown; correct the rate of its links in the topology, or restart its agent",
            line.unwrap_or_default()
        );
        (node, what)
    })
}

/// Returns a problem for each host of which counters of contracts show more than their rules let through.
fn excess(tables: &Tables) -> impl Iterator<Item = (NodeId, String)> + use<> {
    let mut hosts: BTreeMap<NodeId, (Vec<String>, usize)> = BTreeMap::new();
    for (id, excess) in tables.excess().values() {
        let (names, length) = hosts.entry(excess.host).or_default();
        *length += 1;
        if names.len() < NAMES {
            names.push(id.to_string());
        }
    }
    hosts.into_iter().map(|(host, (names, length))| {
        let what = format!(
            "the counters of {} show more than rules let through: no such contract counts as enforced; restart its agent, and look for other programs that change its queues",
            contracts(names, length)
        );
        (host, what)
    })
}

/// The nodes whose agents are silent; what they are called is nothing for tenants.
fn silent(shared: &Shared, tables: &Tables, is_all: bool) -> Vec<String> {
    let silent = tables.nodes.iter().filter(|(_, node)| node.is_silent && is_all);
    silent.map(|(&id, _)| shared.network().node(id).name.clone()).collect()
}

const TEXT: &str = "text/plain; charset=utf-8";

pub(crate) fn healthz(shared: &Arc<Shared>, _call: &AuthorizedRequest) -> Outcome {
    match shared.alive.problem() {
        None => Ok(HttpReply::of(200, TEXT, "ok\n")),
        Some(trouble) => Ok(HttpReply::of(503, TEXT, format!("{trouble}\n"))),
    }
}

pub(crate) async fn readyz(shared: Arc<Shared>, _call: AuthorizedRequest) -> Outcome {
    let health = shared.view.read().health.clone();
    match &health {
        // The client has shown no token: paths, addresses and errors are not revealed.
        Health::Broken(_) | Health::Barred(_) | Health::Apart(_) => {
            Ok(HttpReply::of(503, TEXT, format!("{}\n", unready_to_all(&health))))
        }
        health => match shared.unready(health) {
            None => Ok(HttpReply::of(200, TEXT, "ok\n")),
            Some(why) => Ok(HttpReply::of(503, TEXT, format!("{why}\n"))),
        },
    }
}

pub(crate) fn metrics(shared: &Arc<Shared>, call: &AuthorizedRequest) -> Outcome {
    shared.metrics.keeps(ClientMemory::Requests, shared.open_bytes.all() as u64);
    shared.metrics.waits(shared.jobs.waiting());
    if let (Some(cluster), Some(cluster_state)) = (&shared.cluster, shared.cluster_state()) {
        cluster.update(&cluster_state);
    }
    shared.metrics.is_ready(shared.unready(&shared.view.read().health).is_none());
    let counted = Some(&*shared.counted).filter(|_| shared.receives_reports());
    let sources = (shared.network(), &*shared.view, counted);
    let format = Exposition::of(call.headers.get(ACCEPT).and_then(|accept| accept.to_str().ok()));
    let text =
        format.of_open_metrics(shared.metrics.open_metrics(sources, shared.load.now().0, || details::details(shared)));
    Ok(HttpReply::of(200, format.media(), text))
}

pub(crate) async fn openapi(shared: Arc<Shared>, _call: AuthorizedRequest) -> Outcome {
    Ok(HttpReply::ready(shared.openapi.clone()))
}

pub(crate) async fn docs(_shared: Arc<Shared>, _call: AuthorizedRequest) -> Outcome {
    Ok(HttpReply::of(200, "text/html; charset=utf-8", include_str!("../docs.html")))
}
