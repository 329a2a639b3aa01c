//! Nodes, links and queues as they are now.

use std::sync::Arc;

use bytes::Bytes;
use wayleave_controller::{Down, ElementName, Id, NodeState};
use wayleave_explain::shapes;
use wayleave_ledger::Capacity;
use wayleave_protocol::network::{
    AgentState, ClassCapacity, Connection, Host, Link, Node, ObservedState, Queue, QueueClass, Topology,
};
use wayleave_topology::{Class, LinkId, Network, NodeId, NodeKind};

use crate::answer::{HttpReply, Outcome, not_found};
use crate::http::call::AuthorizedRequest;
use crate::links::LinkFigures;
use crate::read_view::Tables;
use crate::state::Shared;
use crate::work::Executor;

pub(crate) fn json(value: &impl serde::Serialize) -> Bytes {
    serde_json::to_vec(value).unwrap_or_default().into()
}

/// Returns the reason that a node is down, if it is: an operator declared it.
fn node_down<'a>(tables: &'a Tables, name: &str) -> Option<&'a str> {
    tables.down.get(&ElementName::Node(name.to_owned())).map(Down::why)
}

/// Returns the name of the cable of a link.
fn cable_name(network: &Network, id: LinkId) -> ElementName {
    ElementName::Link(network.link(network.cable(id)).name.clone())
}

/// Returns the state of a node.
pub(crate) fn node_state(network: &Network, tables: &Tables, id: NodeId) -> ObservedState {
    if !tables.down.is_empty() && node_down(tables, &network.node(id).name).is_some() {
        return ObservedState::Down;
    }
    let is_there = |node: NodeId| tables.nodes.get(&node).is_some_and(NodeState::is_there);
    let has_carrier = |&link: &LinkId| {
        tables.observes(network.link(link).to)
            && (tables.down.is_empty() || !tables.down.contains_key(&cable_name(network, link)))
    };
    match is_there(id) || network.links_from(id).iter().any(has_carrier) {
        true => ObservedState::Up,
        false => ObservedState::Unknown,
    }
}

fn connection(state: &NodeState) -> Connection {
    match state {
        state if state.is_silent => Connection::Silent,
        state if state.is_open => Connection::Open,
        state if state.is_awaited() => Connection::NotSinceStart,
        _ => Connection::Ended,
    }
}

/// Returns a node. `is_known` is `false` at a controller that receives no reports of agents.
pub(crate) fn node_shape(network: &Network, tables: &Tables, id: NodeId, is_known: bool) -> Node {
    let node = network.node(id);
    let reason = node_down(tables, &node.name);
    let agent = tables.nodes.get(&id).map(|state| AgentState {
        epoch: state.epoch,
        connection: is_known.then(|| connection(state)),
        open: is_known.then(|| state.is_there()),
        set_up: state.is_set_up,
        silent: is_known.then_some(state.is_silent),
    });
    Node {
        name: node.name.clone(),
        kind: if node.kind == NodeKind::Host { "host" } else { "switch" }.to_owned(),
        state: node_state(network, tables, id),
        reason: reason.map(str::to_owned),
        links: network.links_from(id).iter().map(|&link| network.link(link).name.clone()).collect(),
        agent,
    }
}

/// Returns a host with the VMs that a tenant may see, or with all. `is_known` as for [`node_shape`].
pub(crate) fn host_shape(network: &Network, tables: &Tables, id: NodeId, tenant: Option<&str>, is_known: bool) -> Host {
    let is_shown = |vm: &&Id| tenant.is_none_or(|tenant| vm.tenant == tenant);
    let vms = tables.vms_on.get(&id).into_iter().flatten().filter(is_shown).map(ToString::to_string).collect();
    let node = node_shape(network, tables, id, is_known);
    // The reason is an operator's text: it may concern others.
    let reason = node.reason.filter(|_| tenant.is_none());
    Host { node: Node { reason, ..node }, vms }
}

/// Returns a link without its measured load.
pub(crate) fn link_shape(network: &Network, tables: &Tables, id: LinkId) -> Link {
    let link = network.link(id);
    let (from, to) = (&network.node(link.from).name, &network.node(link.to).name);
    let of_node = |name: &String| node_down(tables, name).map(|why| format!("node {name} is down: {why}"));
    let of_nodes = of_node(from).or_else(|| of_node(to)).map(|why| (why, true));
    let of_cable = tables.reported_down(network, &cable_name(network, id));
    let reported = of_cable.filter(|(_, is_observed)| *is_observed || of_nodes.is_none()).or(of_nodes);
    let state = match &reported {
        Some((_, true)) => ObservedState::Down,
        None if tables.observes(link.from) || tables.observes(link.to) => ObservedState::Up,
        Some((_, false)) | None => ObservedState::Unknown,
    };
    let down_reason = reported.map(|(why, _)| why);
    let figures = tables.figures(id);
    Link {
        name: link.name.clone(),
        from: from.clone(),
        to: to.clone(),
        rate_bps: link.rate.bits_per_second(),
        propagation_ns: link.propagation.as_nanos(),
        mtu_bytes: link.mtu.get(),
        state,
        down_reason,
        routes: figures.map(|figures| figures.routes),
        used_ppm: figures.map(LinkFigures::used_ppm),
        capacity: figures.map(|figures| figures.capacity.iter().map(class_capacity).collect()),
        measured: None,
        queues: queue_shapes(network, tables, id),
    }
}

fn class_capacity((class, capacity): &(Class, Capacity)) -> ClassCapacity {
    ClassCapacity {
        class: queue_class(*class),
        reserved_bps: capacity.reserved.bits_per_second(),
        available_bps: capacity.available.bits_per_second(),
    }
}

fn queue_class(class: Class) -> QueueClass {
    match class {
        Class::Latency => QueueClass::Latency,
        Class::Guaranteed => QueueClass::Guaranteed,
        Class::Objective => QueueClass::Objective,
        Class::BestEffort => QueueClass::BestEffort,
    }
}

pub(crate) fn queue_shapes(network: &Network, tables: &Tables, id: LinkId) -> Vec<Queue> {
    let figures = tables.figures(id);
    let shape = |(number, queue): (u8, &wayleave_topology::PortQueue)| {
        let known = figures.and_then(|figures| figures.queue(number));
        let class = match (known, figures, network.classes()) {
            (Some(known), ..) => queue_class(known.class),
            (None, Some(_), _) => QueueClass::BestEffort,
            (None, None, Some(classes)) => queue_class(classes.class_of(number)),
            (None, None, None) => QueueClass::Unknown,
        };
        Queue {
            link: network.link(id).name.clone(),
            queue: number,
            class,
            budget_ns: known.and_then(|known| known.budget).map(|budget| budget.as_nanos()),
            delay_ns: known.and_then(|known| known.delay).map(|delay| delay.as_nanos()),
            buffer_bytes: queue.buffer.get(),
            backlog_bytes: known.and_then(|known| known.backlog_bytes),
        }
    };
    (0..).zip(network.queues(id)).map(shape).collect()
}

pub(crate) fn host(shared: &Arc<Shared>, call: &AuthorizedRequest) -> Outcome {
    let found = shared.network().find_node(call.name());
    let host = found.filter(|&node| shared.network().node(node).kind == NodeKind::Host);
    let Some(host) = host else { return Err(not_found("host", call.name())) };
    let is_known = shared.receives_reports();
    let shape = host_shape(shared.network(), &shared.view.read(), host, call.only_tenant(), is_known);
    Ok(HttpReply::json(200, &shape))
}

pub(crate) async fn node(shared: Arc<Shared>, call: AuthorizedRequest) -> Outcome {
    let node = shared.node(call.name())?;
    let is_known = shared.receives_reports();
    let shape = node_shape(shared.network(), &shared.view.read(), node, is_known);
    Ok(HttpReply::json(200, &shape))
}

pub(crate) async fn link(shared: Arc<Shared>, call: AuthorizedRequest) -> Outcome {
    let link = shared.link(call.name())?;
    let shape = link_shape(shared.network(), &shared.view.read(), link);
    let shape = Link { measured: shared.measured(&[link]).pop().flatten(), ..shape };
    Ok(HttpReply::json(200, &shape))
}

pub(crate) async fn curves(shared: Arc<Shared>, call: AuthorizedRequest) -> Outcome {
    let link = shared.link(call.name())?;
    let work = move |executor: &mut Executor<'_>| {
        let (network, ledger) = (executor.controller.network(), executor.controller.ledger());
        let reports = ledger.report(link);
        let queues: Vec<_> = reports.iter().map(|report| shapes::queue(network, report)).collect();
        Ok(HttpReply::explained(&serde_json::json!({ "link": network.link(link).name, "queues": queues })))
    };
    shared.read_view(&call, work).await
}

pub(crate) fn topology(shared: &Arc<Shared>, _call: &AuthorizedRequest) -> Outcome {
    let network = shared.network();
    let tables = shared.view.read();
    let unknown = network.nodes().filter(|&(id, _)| node_state(network, &tables, id) == ObservedState::Unknown);
    let topology = Topology {
        name: shared.name.clone(),
        hosts: network.hosts().count(),
        switches: network.switches().count(),
        links: network.links().len(),
        down: tables.all_reported_down(network).collect(),
        unknown: unknown.map(|(_, node)| node.name.clone()).collect(),
        document: shared.document.clone(),
    };
    Ok(HttpReply::json(200, &topology))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metrics::Metrics;
    use crate::read_view::View;
    use crate::traffic::ReportedTraffic;
    use wayleave_topology::Classes;
    use wayleave_topology::builders::{Cabling, build};

    /// Nothing is known of links before the engine has looked: no reader is given a zero.
    #[test]
    fn unknown_figures_are_null_and_unknown() {
        let without = build::star(2, Cabling::default()).unwrap();
        let with = without.clone().with_classes(Classes::default()).unwrap();
        let view = View::new();
        for (network, class) in [(&without, "unknown"), (&with, "latency")] {
            let (id, _) = network.links().next().unwrap();
            let shown = serde_json::to_value(link_shape(network, &view.read(), id)).unwrap();
            for key in ["capacity", "usedPpm", "routes"] {
                assert_eq!(shown.get(key), Some(&serde_json::Value::Null), "{key}: {shown}");
            }
            let queue = &shown["queues"][0];
            assert_eq!((&queue["class"], queue.get("delayNs")), (&serde_json::json!(class), None), "{queue}");
            let text = Metrics::new(None, 0).text(
                network,
                &view,
                Some(&ReportedTraffic::default()),
                std::time::Instant::now(),
            );
            let is_of_links = |line: &&str| line.starts_with("wayleave_links_") && line.contains("host-up");
            assert_eq!(text.lines().find(is_of_links), None);
        }
    }
}
