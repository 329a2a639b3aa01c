//! Who sends what to whom.

use std::collections::{BTreeSet, HashSet};

use wayleave_topology::{NodeId, NodeKind};
use wayleave_units::{Bytes, Rate, Time};

use super::reach::Reach;
use super::{MAX_TAGS, TrafficError, WIRE_OVERHEAD};
use crate::{Arrivals, Ends, FlowSpec, OnOff, PacketKind, Reliable, Scenario, Sharing, Traffic, Transport, Workload};

/// The most load that is offered: ten times what the links can carry drowns everything that is to be seen.
const MAX_LOAD: f64 = 10.0;
/// The most flows a second: one per nanosecond.
const MAX_ARRIVALS: f64 = 1e9;

/// Checks one traffic.
pub(super) fn check(traffic: &Traffic, scenario: &Scenario, reach: &mut Reach<'_>) -> Result<(), TrafficError> {
    let (start, duration) = (traffic.start, scenario.duration);
    if start >= duration {
        return Err(TrafficError::StartsLate { key: "start", start, duration });
    }
    if let Some(stop) = traffic.stop.filter(|&stop| stop <= start) {
        return Err(TrafficError::StopsEarly { start, stop });
    }
    check_queue(traffic.queue, scenario)?;
    check_service("service", traffic.service.as_deref(), scenario)?;
    check_service("toService", traffic.to_service.as_deref(), scenario)?;
    match &traffic.workload {
        Workload::Listed { flows, .. } => check_list(flows, scenario, reach)?,
        Workload::Packets { .. } | Workload::Flows(_) => check_ends(&traffic.ends, scenario, reach)?,
    }
    check_route(traffic, scenario)?;
    match &traffic.workload {
        Workload::Packets { kind, frame } => {
            check_packets(kind, *frame)?;
            check_frame(*frame, "frame", traffic, scenario)
        }
        Workload::Flows(reliable) => {
            check_flows(reliable)?;
            if matches!((&reliable.arrivals, &traffic.ends), (Arrivals::Uniform { .. }, Ends::Random(..))) {
                return Err(TrafficError::RandomPairs);
            }
            check_segments(reliable.transport.as_ref(), traffic, scenario)
        }
        Workload::Listed { transport, .. } => check_segments(transport.as_ref(), traffic, scenario),
    }
}

/// Checks a transport.
pub(super) fn check_transport(transport: &Transport) -> Result<(), TrafficError> {
    let zero = |key, what| Err(TrafficError::Zero { key, what });
    if !(64..=65_535).contains(&transport.mtu.get()) {
        return Err(TrafficError::Mtu(transport.mtu));
    }
    if transport.initial_window == 0 {
        return zero("initialWindow", "the first window");
    }
    if transport.initial_window > transport.max_window {
        let (initial, most) = (transport.initial_window, transport.max_window);
        return Err(TrafficError::Windows { initial, most });
    }
    if transport.min_timeout == Time::ZERO {
        return zero("minTimeout", "the shortest time-out");
    }
    transport.congestion.check().map_err(|(parameter, value)| match parameter.kind.is_zero(&value) {
        true => TrafficError::Zero { key: "congestion", what: parameter.noun() },
        false => TrafficError::Congestion {
            parameter: parameter.key,
            value: value.to_string(),
            range: parameter.kind.range(),
        },
    })
}

fn check_queue(queue: u8, scenario: &Scenario) -> Result<(), TrafficError> {
    let network = &scenario.network;
    let most = network.links().map(|(id, _)| network.queues(id).len()).max().unwrap_or(0);
    if usize::from(queue) < most { Ok(()) } else { Err(TrafficError::NoQueue { queue, most }) }
}

/// A service has to be one of the machine policy.
fn check_service(key: &'static str, service: Option<&str>, scenario: &Scenario) -> Result<(), TrafficError> {
    let Some(service) = service else { return Ok(()) };
    let sharing = scenario.sharing.as_ref();
    if sharing.is_some_and(|sharing| sharing.knows(service)) {
        return Ok(());
    }
    let services = |sharing: &Sharing| {
        let all = sharing.policies().flat_map(|policy| policy.services()).map(|service| service.name.clone());
        all.collect::<BTreeSet<_>>().into_iter().collect()
    };
    Err(TrafficError::Service { key, service: service.to_owned(), known: sharing.map(services) })
}

fn check_ends(ends: &Ends, scenario: &Scenario, reach: &mut Reach<'_>) -> Result<(), TrafficError> {
    let is_host = |node: NodeId| scenario.network.node(node).kind == NodeKind::Host;
    let hosts = |nodes: &[NodeId], key| match nodes.iter().find(|&&node| !is_host(node)) {
        Some(&node) => Err(TrafficError::NotAHost { node: name(node, scenario), key }),
        None => Ok(()),
    };
    match ends {
        Ends::Pairs(pairs) => {
            for &(from, to) in pairs {
                hosts(&[from, to], "pairs")?;
                if from == to {
                    return Err(TrafficError::ToItself { host: name(from, scenario), key: "pairs" });
                }
                joined(from, to, scenario, reach)?;
            }
            if pairs.is_empty() { Err(TrafficError::NoPair) } else { Ok(()) }
        }
        Ends::Permutation(nodes) => {
            hosts(nodes, "from")?;
            let mut seen = HashSet::new();
            if let Some(&twice) = nodes.iter().find(|node| !seen.insert(**node)) {
                return Err(TrafficError::Twice(name(twice, scenario)));
            }
            all_joined(nodes, nodes, scenario, reach)
        }
        Ends::AllToAll(from, to) | Ends::Random(from, to) => {
            hosts(from, "from")?;
            hosts(to, "to")?;
            for nodes in [from, to] {
                let mut seen = HashSet::new();
                if let Some(&twice) = nodes.iter().find(|node| !seen.insert(**node)) {
                    return Err(TrafficError::Twice(name(twice, scenario)));
                }
            }
            all_joined(from, to, scenario, reach)
        }
    }
}

fn all_joined(from: &[NodeId], to: &[NodeId], scenario: &Scenario, reach: &mut Reach<'_>) -> Result<(), TrafficError> {
    // A host does not send to itself, so one host on both sides is no pair.
    if !from.iter().any(|from| to.iter().any(|to| to != from)) {
        return Err(TrafficError::NoPair);
    }
    if reach.joins_all(from, to) {
        return Ok(());
    }
    for &to in to {
        for &from in from.iter().filter(|&&from| from != to) {
            joined(from, to, scenario, reach)?;
        }
    }
    Ok(())
}

fn joined(from: NodeId, to: NodeId, scenario: &Scenario, reach: &mut Reach<'_>) -> Result<(), TrafficError> {
    if reach.joins(from, to) {
        return Ok(());
    }
    Err(TrafficError::Unreachable { from: name(from, scenario), to: name(to, scenario) })
}

fn check_list(flows: &[FlowSpec], scenario: &Scenario, reach: &mut Reach<'_>) -> Result<(), TrafficError> {
    let mut before = Time::ZERO;
    for (index, flow) in flows.iter().enumerate() {
        let located = |error| TrafficError::Flow { flow: index, error: Box::new(error) };
        check_flow(flow, before, scenario, reach).map_err(located)?;
        before = flow.start;
    }
    // In order of time: if the first is late, all are.
    let Some(first) = flows.first() else { return Err(TrafficError::NoFlows) };
    if first.start < scenario.duration {
        return Ok(());
    }
    let late = TrafficError::StartsLate { key: "at", start: first.start, duration: scenario.duration };
    Err(TrafficError::Flow { flow: 0, error: Box::new(late) })
}

fn check_flow(flow: &FlowSpec, before: Time, scenario: &Scenario, reach: &mut Reach<'_>) -> Result<(), TrafficError> {
    for (node, key) in [(flow.from, "from"), (flow.to, "to")] {
        if scenario.network.node(node).kind != NodeKind::Host {
            return Err(TrafficError::NotAHost { node: name(node, scenario), key });
        }
    }
    if flow.from == flow.to {
        return Err(TrafficError::ToItself { host: name(flow.from, scenario), key: "to" });
    }
    if flow.size == Bytes::ZERO {
        return Err(TrafficError::Zero { key: "size", what: "the size of a flow" });
    }
    if flow.start < before {
        return Err(TrafficError::FlowOrder { at: flow.start, before });
    }
    if let Some(queue) = flow.queue {
        check_queue(queue, scenario)?;
    }
    joined(flow.from, flow.to, scenario, reach)
}

fn check_route(traffic: &Traffic, scenario: &Scenario) -> Result<(), TrafficError> {
    let Some(route) = &traffic.route else {
        return if traffic.copies.is_some() { Err(TrafficError::Copies) } else { Ok(()) };
    };
    if let Some(copies) = &traffic.copies {
        if !matches!(traffic.workload, Workload::Packets { .. }) {
            return Err(TrafficError::Copies);
        }
        for copy in &copies.routes {
            check_route(&Traffic { route: Some(copy.clone()), copies: None, ..traffic.clone() }, scenario)?;
        }
    }
    match (&traffic.workload, &traffic.ends) {
        (Workload::Listed { flows, .. }, _) => Err(TrafficError::RouteForMany(flows.len())),
        (_, Ends::Pairs(pairs)) if pairs.len() == 1 => {
            let (from, to) = pairs[0];
            route.validate(&scenario.network, from, to).map_err(TrafficError::Route)
        }
        (_, Ends::Pairs(pairs)) => Err(TrafficError::RouteForMany(pairs.len())),
        (_, Ends::Permutation(nodes)) => Err(TrafficError::RouteForMany(nodes.len())),
        (_, Ends::AllToAll(from, to) | Ends::Random(from, to)) => match (&from[..], &to[..]) {
            (&[from], &[to]) => route.validate(&scenario.network, from, to).map_err(TrafficError::Route),
            _ => Err(TrafficError::RouteForMany(from.len().saturating_mul(to.len()))),
        },
    }
}

fn check_packets(kind: &PacketKind, frame: Bytes) -> Result<(), TrafficError> {
    let zero = |key, what| Err(TrafficError::Zero { key, what });
    if frame == Bytes::ZERO {
        return zero("frame", "a frame");
    }
    match *kind {
        PacketKind::TokenBucket { rate: Rate::ZERO, .. } => zero("tokenBucket", "the rate"),
        PacketKind::TokenBucket { burst, .. } if burst < frame => Err(TrafficError::Burst { burst, frame }),
        PacketKind::ConstantRate { rate: Rate::ZERO } => zero("constantRate", "the rate"),
        PacketKind::Poisson { rate: Rate::ZERO } => zero("poisson", "the rate"),
        PacketKind::OnOff(OnOff { rate: Rate::ZERO, .. }) => zero("onOff", "the rate"),
        PacketKind::OnOff(OnOff { on: Time::ZERO, .. }) => zero("onOff", "the time of being on"),
        _ => Ok(()),
    }
}

fn check_flows(reliable: &Reliable) -> Result<(), TrafficError> {
    let zero = |key, what| Err(TrafficError::Zero { key, what });
    match &reliable.sizes {
        None if reliable.arrivals != Arrivals::Once => return Err(TrafficError::Endless),
        None => {}
        Some(sizes) => sizes.validate().map_err(|error| TrafficError::Sizes { key: "sizes", error })?,
    }
    if reliable.deadline == Some(Time::ZERO) {
        return zero("deadline", "a deadline");
    }
    let within = |key, value: f64, most: f64| {
        let accepted = value > 0.0 && value <= most;
        if accepted { Ok(()) } else { Err(TrafficError::Arrivals { key, value, most }) }
    };
    match &reliable.arrivals {
        Arrivals::Once => Ok(()),
        Arrivals::Load(load) => within("load", *load, MAX_LOAD),
        Arrivals::PerSecond(rate) => within("perSecond", *rate, MAX_ARRIVALS),
        Arrivals::Every(Time::ZERO) => zero("every", "the time between two flows"),
        Arrivals::Every(_) => Ok(()),
        Arrivals::Uniform { mean: Time::ZERO, .. } => zero("uniform", "the mean of gaps"),
        Arrivals::Uniform { connections: Some(0), .. } => zero("uniform", "the number of connections"),
        Arrivals::Uniform { .. } => Ok(()),
        Arrivals::Rpc { outstanding: 0, .. } => zero("rpc", "the number of requests that are outstanding"),
        Arrivals::Rpc { answer, .. } => answer.validate().map_err(|error| TrafficError::Sizes { key: "rpc", error }),
    }
}

/// The transport of a traffic, or the scenario's: its full packets have to fit the links of the hosts.
fn check_segments(own: Option<&Transport>, traffic: &Traffic, scenario: &Scenario) -> Result<(), TrafficError> {
    if let Some(own) = own {
        check_transport(own).map_err(|error| match error {
            TrafficError::Zero { what, .. } => TrafficError::Zero { key: "transport", what },
            other => other,
        })?;
    }
    let mtu = own.unwrap_or(&scenario.transport).mtu;
    check_frame(mtu + WIRE_OVERHEAD, "transport", traffic, scenario)
}

/// A frame has to fit the links next to the hosts; what lies between is the network's own matter.
fn check_frame(frame: Bytes, key: &'static str, traffic: &Traffic, scenario: &Scenario) -> Result<(), TrafficError> {
    let network = &scenario.network;
    let tags = if key == "frame" { MAX_TAGS } else { Bytes::ZERO };
    let check = |node: NodeId| {
        let links = network.links_from(node).iter().chain(network.links_into(node));
        let narrow = links.map(|&link| network.link(link)).find(|link| frame > link.mtu + WIRE_OVERHEAD + tags);
        narrow.map_or(Ok(()), |link| {
            let most = link.mtu + WIRE_OVERHEAD + tags;
            Err(TrafficError::Frame { frame, link: link.name.clone(), most, key })
        })
    };
    match (&traffic.workload, &traffic.ends) {
        (Workload::Listed { flows, .. }, _) => {
            let hosts: HashSet<NodeId> = flows.iter().flat_map(|flow| [flow.from, flow.to]).collect();
            let mut hosts: Vec<NodeId> = hosts.into_iter().collect();
            hosts.sort_unstable();
            hosts.into_iter().try_for_each(check)
        }
        (_, Ends::Pairs(pairs)) => pairs.iter().flat_map(|&(from, to)| [from, to]).try_for_each(check),
        (_, Ends::Permutation(nodes)) => nodes.iter().copied().try_for_each(check),
        (_, Ends::AllToAll(from, to) | Ends::Random(from, to)) => from.iter().chain(to).copied().try_for_each(check),
    }
}

fn name(node: NodeId, scenario: &Scenario) -> String {
    scenario.network.node(node).name.clone()
}
