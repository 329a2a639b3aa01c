//! Checks of the traffic.

use std::collections::{BTreeSet, HashMap, HashSet};

use wayleave_topology::{LinkId, NodeId, NodeKind};
use wayleave_units::{Bytes, Rate, Time};

use super::limits::{MAX_TAGS, WIRE_OVERHEAD};
use super::reach::Reachability;
use super::{TrafficError, after};
use crate::{
    Endpoint, FlowArrivals, FlowEndpoints, FlowSpec, OnOff, PacketKind, Reliable, Rpc, RpcServer, Scenario,
    ScheduleError, SendSchedule, Sharing, Traffic, TransportConfig, Workload,
};

/// The most load that is offered: ten times what the links can carry drowns everything that is to be seen.
const MAX_LOAD: f64 = 10.0;
/// The most flows a second: one per nanosecond.
const MAX_ARRIVALS: f64 = 1e9;

/// Checks one traffic.
pub(super) fn check(traffic: &Traffic, scenario: &Scenario, reach: &mut Reachability<'_>) -> Result<(), TrafficError> {
    let (start, duration) = (traffic.start, scenario.duration);
    if start >= duration {
        return Err(TrafficError::StartsLate { key: "start", start, duration });
    }
    if let Some(stop) = traffic.stop.filter(|&stop| stop <= start) {
        return Err(TrafficError::StopsEarly { start, stop });
    }
    if let Some(queue) = traffic.queue {
        check_queue(queue, scenario)?;
    }
    if let Some(active) = &traffic.active {
        active.validate().map_err(TrafficError::Active)?;
        if matches!(traffic.workload, Workload::Listed { .. }) {
            return Err(TrafficError::Active(ScheduleError::Listed));
        }
        if matches!(traffic.workload, Workload::Job(_)) {
            return Err(TrafficError::Active(ScheduleError::Job));
        }
    }
    check_service("service", traffic.service.as_deref(), scenario)?;
    check_service("toService", traffic.to_service.as_deref(), scenario)?;
    if matches!(&traffic.workload, Workload::Job(job) if job.pairs().is_empty()) {
        return Err(TrafficError::NoMessage);
    }
    // Tenants that `verify` sets up may have hosts without a reverse path: nothing is promised between them, and
    // their futile traffic harms no other.
    reach.is_answered = scenario.sharing.is_none() && !matches!(traffic.workload, Workload::Packets { .. });
    match &traffic.workload {
        Workload::Listed { flows, .. } => check_list(flows, scenario, reach)?,
        Workload::Packets { .. } | Workload::Flows(_) | Workload::Job(_) => {
            check_ends(&traffic.ends, scenario, reach)?;
        }
    }
    check_route(traffic, scenario)?;
    match &traffic.workload {
        Workload::Packets { kind, frame } => {
            check_packets(kind, *frame)?;
            check_frame(*frame, "frame", traffic, scenario)
        }
        Workload::Flows(reliable) => {
            check_flows(reliable)?;
            if matches!((&reliable.arrivals, &traffic.ends), (FlowArrivals::Uniform { .. }, FlowEndpoints::Random(..)))
            {
                return Err(TrafficError::RandomPairs);
            }
            if let FlowArrivals::Rpc(rpc) = &reliable.arrivals {
                check_servers(rpc, &traffic.ends, scenario)?;
            }
            if let FlowArrivals::After(follows) = &reliable.arrivals {
                after::check(traffic, follows, scenario)?;
            }
            check_segments(reliable.transport.as_ref(), traffic, scenario)
        }
        Workload::Listed { transport, .. } => check_segments(transport.as_ref(), traffic, scenario),
        Workload::Job(job) => check_segments(job.transport.as_ref(), traffic, scenario),
    }
}

/// Checks a transport.
pub(super) fn check_transport(transport: &TransportConfig) -> Result<(), TrafficError> {
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
    if transport.first_timeout == Time::ZERO {
        return zero("firstTimeout", "the first time-out");
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

fn check_ends(
    ends: &FlowEndpoints<Endpoint>,
    scenario: &Scenario,
    reach: &mut Reachability<'_>,
) -> Result<(), TrafficError> {
    let is_host = |end: &Endpoint| scenario.network.node(end.host).kind == NodeKind::Host;
    let hosts = |ends: &[Endpoint], key| match ends.iter().find(|&end| !is_host(end)) {
        Some(end) => Err(TrafficError::NotAHost { node: name(end.host, scenario), key }),
        None => Ok(()),
    };
    let once = |ends: &[Endpoint]| {
        let mut seen = HashSet::new();
        match ends.iter().find(|end| !seen.insert(**end)) {
            Some(&twice) => Err(TrafficError::Twice(scenario.name_of(twice).to_owned())),
            None => Ok(()),
        }
    };
    match ends {
        FlowEndpoints::Pairs(pairs) => {
            for &(from, to) in pairs {
                hosts(&[from, to], "pairs")?;
                if from == to {
                    return Err(TrafficError::ToItself { host: scenario.name_of(from).to_owned(), key: "pairs" });
                }
                if from.host == to.host {
                    return Err(within(from, to, "pairs", scenario));
                }
                joined(from.host, to.host, scenario, reach)?;
            }
            if pairs.is_empty() { Err(TrafficError::NoPair) } else { Ok(()) }
        }
        FlowEndpoints::Permutation(all) => {
            hosts(all, "from")?;
            once(all)?;
            // Two of one host could be joined.
            let mut seen: HashMap<NodeId, Endpoint> = HashMap::new();
            for &end in all {
                if let Some(other) = seen.insert(end.host, end) {
                    return Err(within(other, end, "from", scenario));
                }
            }
            all_joined(all, all, scenario, reach)
        }
        FlowEndpoints::AllToAll(from, to) | FlowEndpoints::Random(from, to) => {
            hosts(from, "from")?;
            hosts(to, "to")?;
            once(from)?;
            once(to)?;
            all_joined(from, to, scenario, reach)
        }
    }
}

/// Two endpoints of one host.
fn within(from: Endpoint, to: Endpoint, key: &'static str, scenario: &Scenario) -> TrafficError {
    let [from, to] = [from, to].map(|end| scenario.name_of(end).to_owned());
    TrafficError::WithinAHost { from, to, key }
}

fn all_joined(
    from: &[Endpoint],
    to: &[Endpoint],
    scenario: &Scenario,
    reach: &mut Reachability<'_>,
) -> Result<(), TrafficError> {
    let hosts = |ends: &[Endpoint]| {
        let mut seen = HashSet::new();
        ends.iter().map(|end| end.host).filter(|&host| seen.insert(host)).collect::<Vec<_>>()
    };
    let (from, to) = (hosts(from), hosts(to));
    // A host does not send to itself, so one host on both sides is no pair.
    if !from.iter().any(|from| to.iter().any(|to| to != from)) {
        return Err(TrafficError::NoPair);
    }
    if reach.joins_all(&from, &to) {
        return Ok(());
    }
    for &to in &to {
        for &from in from.iter().filter(|&&from| from != to) {
            joined(from, to, scenario, reach)?;
        }
    }
    Ok(())
}

fn joined(from: NodeId, to: NodeId, scenario: &Scenario, reach: &mut Reachability<'_>) -> Result<(), TrafficError> {
    let names = || (name(from, scenario), name(to, scenario));
    if !reach.joins(from, to) {
        let (from, to) = names();
        return Err(TrafficError::Unreachable { from, to });
    }
    if reach.is_answered && !reach.joins(to, from) {
        let (from, to) = names();
        return Err(TrafficError::NoReturnPath { from, to });
    }
    Ok(())
}

fn check_list(flows: &[FlowSpec], scenario: &Scenario, reach: &mut Reachability<'_>) -> Result<(), TrafficError> {
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

fn check_flow(
    flow: &FlowSpec,
    before: Time,
    scenario: &Scenario,
    reach: &mut Reachability<'_>,
) -> Result<(), TrafficError> {
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
        (_, FlowEndpoints::Pairs(pairs)) if pairs.len() == 1 => {
            let (from, to) = pairs[0];
            route.validate(&scenario.network, from.host, to.host).map_err(TrafficError::Route)
        }
        (_, FlowEndpoints::Pairs(pairs)) => Err(TrafficError::RouteForMany(pairs.len())),
        (_, FlowEndpoints::Permutation(nodes)) => Err(TrafficError::RouteForMany(nodes.len())),
        (_, FlowEndpoints::AllToAll(from, to) | FlowEndpoints::Random(from, to)) => match (&from[..], &to[..]) {
            (&[from], &[to]) => route.validate(&scenario.network, from.host, to.host).map_err(TrafficError::Route),
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
        PacketKind::Jittered { rate: Rate::ZERO, .. } => zero("constantRate", "the rate"),
        PacketKind::Jittered { jitter: Time::ZERO, .. } => zero("constantRate", "jitter"),
        PacketKind::Poisson { rate: Rate::ZERO } => zero("poisson", "the rate"),
        PacketKind::OnOff(OnOff { rate: Rate::ZERO, .. }) => zero("onOff", "the rate"),
        PacketKind::OnOff(OnOff { on: Time::ZERO, .. }) => zero("onOff", "the time of being on"),
        _ => Ok(()),
    }
}

fn check_flows(reliable: &Reliable) -> Result<(), TrafficError> {
    let zero = |key, what| Err(TrafficError::Zero { key, what });
    match &reliable.sizes {
        None if !matches!(reliable.arrivals, FlowArrivals::Once | FlowArrivals::After(_)) => {
            return Err(TrafficError::Endless);
        }
        None => {}
        Some(sizes) => sizes.validate().map_err(|error| TrafficError::Sizes { key: "sizes", error })?,
    }
    if let Some(deadline) = &reliable.deadline {
        deadline.validate().map_err(TrafficError::Deadline)?;
    }
    match reliable.send_schedule {
        Some(_) if matches!(reliable.arrivals, FlowArrivals::Rpc(_)) => {
            return Err(TrafficError::SendScheduleOfRequests);
        }
        Some(SendSchedule::Rate(Rate::ZERO)) => return zero("sendSchedule", "the rate"),
        Some(SendSchedule::Writes { bytes: Bytes::ZERO, .. }) => return zero("sendSchedule", "a write"),
        Some(SendSchedule::Writes { every: Time::ZERO, .. }) => {
            return zero("sendSchedule", "the time between two writes");
        }
        Some(_) | None => {}
    }
    let within = |key, value: f64, most: f64| {
        let accepted = value > 0.0 && value <= most;
        if accepted { Ok(()) } else { Err(TrafficError::Arrivals { key, value, most }) }
    };
    match &reliable.arrivals {
        FlowArrivals::Once => Ok(()),
        FlowArrivals::Load(load) => within("load", *load, MAX_LOAD),
        FlowArrivals::PerSecond(rate) => within("perSecond", *rate, MAX_ARRIVALS),
        FlowArrivals::Every(Time::ZERO) => zero("every", "the time between two flows"),
        FlowArrivals::Periodic(Time::ZERO) => zero("periodic", "the time between two flows"),
        FlowArrivals::Every(_) | FlowArrivals::Periodic(_) | FlowArrivals::After(_) => Ok(()),
        FlowArrivals::Uniform { mean: Time::ZERO, .. } => zero("uniform", "the mean of gaps"),
        FlowArrivals::Uniform { connections: Some(0), .. } => zero("uniform", "the number of connections"),
        FlowArrivals::Uniform { .. } => Ok(()),
        FlowArrivals::Rpc(rpc) if rpc.outstanding == 0 => zero("rpc", "the number of requests that are outstanding"),
        FlowArrivals::Rpc(rpc) if rpc.chain == 0 => zero("rpc", "the number of steps"),
        FlowArrivals::Rpc(rpc) if rpc.fan_out == 0 => zero("rpc", "the number of requests in a step"),
        FlowArrivals::Rpc(rpc) => rpc.answer.validate().map_err(|error| TrafficError::Sizes { key: "rpc", error }),
    }
}

/// Checks the servers of requests: a fixed server answers one, and drawn servers must be enough.
fn check_servers(rpc: &Rpc, ends: &FlowEndpoints<Endpoint>, scenario: &Scenario) -> Result<(), TrafficError> {
    match (rpc.server, ends) {
        (RpcServer::Kept, _) if rpc.chain > 1 || rpc.fan_out > 1 => Err(TrafficError::KeptServer),
        (RpcServer::Kept, _) => Ok(()),
        (RpcServer::Drawn, FlowEndpoints::Pairs(_) | FlowEndpoints::Permutation(_)) => {
            Err(TrafficError::ServersOfPairs)
        }
        (RpcServer::Drawn, FlowEndpoints::AllToAll(from, to) | FlowEndpoints::Random(from, to)) => {
            let mut at: HashMap<NodeId, usize> = HashMap::new();
            to.iter().for_each(|server| *at.entry(server.host).or_default() += 1);
            let others = |client: &Endpoint| to.len() - at.get(&client.host).copied().unwrap_or(0);
            match from.iter().find(|client| others(client) < rpc.fan_out as usize) {
                None => Ok(()),
                Some(client) => Err(TrafficError::TooFewServers {
                    client: scenario.name_of(*client).to_owned(),
                    servers: others(client),
                    wanted: rpc.fan_out,
                }),
            }
        }
    }
}

/// The transport of a traffic, or the scenario's: its full packets have to fit the links of the hosts.
fn check_segments(own: Option<&TransportConfig>, traffic: &Traffic, scenario: &Scenario) -> Result<(), TrafficError> {
    if let Some(own) = own {
        check_transport(own).map_err(|error| match error {
            TrafficError::Zero { what, .. } => TrafficError::Zero { key: "transport", what },
            other => other,
        })?;
    }
    let mtu = own.unwrap_or(&scenario.transport).mtu;
    check_frame(mtu + WIRE_OVERHEAD, "transport", traffic, scenario)
}

/// Checks that a frame fits the links of given routes, or otherwise the links adjacent to the hosts; links between
/// are then the network's own matter.
fn check_frame(frame: Bytes, key: &'static str, traffic: &Traffic, scenario: &Scenario) -> Result<(), TrafficError> {
    let network = &scenario.network;
    let tags = if key == "frame" { MAX_TAGS } else { Bytes::ZERO };
    let all_carry = |links: &mut dyn Iterator<Item = LinkId>| {
        let narrow = links.map(|link| network.link(link)).find(|link| frame > link.mtu + WIRE_OVERHEAD + tags);
        narrow.map_or(Ok(()), |link| {
            let most = link.mtu + WIRE_OVERHEAD + tags;
            Err(TrafficError::Frame { frame, link: link.name.clone(), most, key })
        })
    };
    if let Some(route) = &traffic.route {
        let copies = traffic.copies.iter().flat_map(|copies| &copies.routes);
        return all_carry(&mut std::iter::once(route).chain(copies).flat_map(|route| &route.hops).map(|hop| hop.link));
    }
    let check = |node: NodeId| all_carry(&mut network.links_from(node).iter().chain(network.links_into(node)).copied());
    match (&traffic.workload, &traffic.ends) {
        (Workload::Listed { flows, .. }, _) => {
            let hosts: HashSet<NodeId> = flows.iter().flat_map(|flow| [flow.from, flow.to]).collect();
            let mut hosts: Vec<NodeId> = hosts.into_iter().collect();
            hosts.sort_unstable();
            hosts.into_iter().try_for_each(check)
        }
        (_, FlowEndpoints::Pairs(pairs)) => {
            pairs.iter().flat_map(|&(from, to)| [from.host, to.host]).try_for_each(check)
        }
        (_, FlowEndpoints::Permutation(ends)) => ends.iter().map(|end| end.host).try_for_each(check),
        (_, FlowEndpoints::AllToAll(from, to) | FlowEndpoints::Random(from, to)) => {
            from.iter().chain(to).map(|end| end.host).try_for_each(check)
        }
    }
}

fn name(node: NodeId, scenario: &Scenario) -> String {
    scenario.network.node(node).name.clone()
}
