//! Nodes, links and queues as they are now.

use std::sync::Arc;

use bytes::Bytes;
use wayleave_controller::{ElementName, Id};
use wayleave_explain::shapes;
use wayleave_protocol::network::{AgentState, Down, Host, Link, Node, Queue, Topology, UpDown};
use wayleave_topology::{LinkId, Network, NodeId, NodeKind};

use crate::answer::{Answer, Outcome, not_found};
use crate::http::call::Call;
use crate::shared::Shared;
use crate::view::Tables;
use crate::work::Executor;

pub(crate) fn json(value: &impl serde::Serialize) -> Bytes {
    serde_json::to_vec(value).unwrap_or_default().into()
}

fn state(reason: Option<&String>) -> UpDown {
    if reason.is_some() { UpDown::Down } else { UpDown::Up }
}

/// Why a node is down, if it is.
fn node_down<'a>(tables: &'a Tables, name: &str) -> Option<&'a String> {
    tables.down.get(&ElementName::Node(name.to_owned()))
}

pub(crate) fn node_shape(network: &Network, tables: &Tables, id: NodeId) -> Node {
    let node = network.node(id);
    let reason = node_down(tables, &node.name);
    let agent = tables.nodes.get(&id).map(|state| AgentState {
        epoch: state.epoch,
        open: state.is_there(),
        set_up: state.is_set_up,
        silent: state.is_silent,
    });
    Node {
        name: node.name.clone(),
        kind: if node.kind == NodeKind::Host { "host" } else { "switch" }.to_owned(),
        state: state(reason),
        reason: reason.cloned(),
        links: network.links_from(id).iter().map(|&link| network.link(link).name.clone()).collect(),
        agent,
    }
}

pub(crate) fn host_shape(network: &Network, tables: &Tables, id: NodeId, tenant: Option<&str>) -> Host {
    let is_shown = |vm: &&Id| tenant.is_none_or(|tenant| vm.tenant == tenant);
    let vms = tables.vms_on.get(&id).into_iter().flatten().filter(is_shown).map(ToString::to_string).collect();
    Host { node: node_shape(network, tables, id), vms }
}

pub(crate) fn link_shape(network: &Network, tables: &Tables, id: LinkId) -> Link {
    let link = network.link(id);
    let (from, to) = (&network.node(link.from).name, &network.node(link.to).name);
    let cable = ElementName::Link(network.link(network.cable(id)).name.clone());
    let of_node = |name: &String| node_down(tables, name).map(|why| format!("node {name} is down: {why}"));
    let reason = tables.down.get(&cable).cloned().or_else(|| of_node(from)).or_else(|| of_node(to));
    let figures = tables.links.get(id.0 as usize);
    Link {
        name: link.name.clone(),
        from: from.clone(),
        to: to.clone(),
        rate_bps: link.rate.bits_per_second(),
        propagation_ns: link.propagation.as_nanos(),
        mtu_bytes: link.mtu.get(),
        state: state(reason.as_ref()),
        reason,
        reserved_bps: figures.map_or(0, |figures| figures.reserved_bps),
        routes: figures.map_or(0, |figures| figures.routes),
        guaranteed_bps: figures.and_then(|figures| Some(figures.promised_bps?.0)),
        objective_bps: figures.and_then(|figures| Some(figures.promised_bps?.1)),
        queues: queue_shapes(network, tables, id),
    }
}

pub(crate) fn queue_shapes(network: &Network, tables: &Tables, id: LinkId) -> Vec<Queue> {
    let figures = tables.links.get(id.0 as usize);
    let shape = |(at, queue): (usize, &wayleave_topology::PortQueue)| {
        let known = figures.and_then(|figures| figures.queues.get(at));
        Queue {
            link: network.link(id).name.clone(),
            queue: u8::try_from(at).unwrap_or(u8::MAX),
            budget_ns: known.map(|known| known.budget.as_nanos()),
            delay_ns: known.and_then(|known| known.delay).map(|delay| delay.as_nanos()),
            buffer_bytes: queue.buffer.get(),
            backlog_bytes: known.and_then(|known| known.backlog_bytes),
        }
    };
    network.queues(id).iter().enumerate().map(shape).collect()
}

pub(crate) async fn host(shared: Arc<Shared>, call: Call) -> Outcome {
    let found = shared.network().find_node(call.name());
    let host = found.filter(|&node| shared.network().node(node).kind == NodeKind::Host);
    let Some(host) = host else { return Err(not_found("host", call.name())) };
    let shape = host_shape(shared.network(), &shared.view.read(), host, call.only_tenant());
    Ok(Answer::json(200, &shape))
}

pub(crate) async fn node(shared: Arc<Shared>, call: Call) -> Outcome {
    let node = shared.node(call.name())?;
    let shape = node_shape(shared.network(), &shared.view.read(), node);
    Ok(Answer::json(200, &shape))
}

pub(crate) async fn link(shared: Arc<Shared>, call: Call) -> Outcome {
    let link = shared.link(call.name())?;
    let shape = link_shape(shared.network(), &shared.view.read(), link);
    Ok(Answer::json(200, &shape))
}

pub(crate) async fn curves(shared: Arc<Shared>, call: Call) -> Outcome {
    let link = shared.link(call.name())?;
    let work = move |executor: &mut Executor<'_>| {
        let (network, ledger) = (executor.controller.network(), executor.controller.ledger());
        let reports = ledger.report(link);
        let queues: Vec<_> = reports.iter().map(|report| shapes::queue(network, report)).collect();
        Ok(Answer::explained(&serde_json::json!({ "link": network.link(link).name, "queues": queues })))
    };
    shared.look_up(&call, work).await
}

pub(crate) async fn topology(shared: Arc<Shared>, _call: Call) -> Outcome {
    let network = shared.network();
    let down = |(element, why): (&ElementName, &String)| Down { element: element.to_string(), reason: why.clone() };
    let topology = Topology {
        name: shared.name.clone(),
        hosts: network.hosts().count(),
        switches: network.switches().count(),
        links: network.links().len(),
        down: shared.view.read().down.iter().map(down).collect(),
        document: shared.document.clone(),
    };
    Ok(Answer::json(200, &topology))
}
