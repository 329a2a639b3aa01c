//! Reasons why a run uses one thread.

use std::fmt;

use wayleave_scenarios::{Endpoint, FlowArrivals, FlowEndpoints, Jitter, PacketKind, Scenario, Traffic, Workload};
use wayleave_units::Time;

use crate::fabric::Cut;
use crate::processes::MAX_COUNTED_PAIRS;

/// Reason why a run cannot be divided among several threads without a change of its outcome.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Obstacle {
    /// The network has one switch with hosts.
    OneSwitch,
    /// A host has several links.
    SeveralLinks,
    /// A link between parts has no latency: an event on one side affects the other at once.
    NoLatency,
    /// Hosts share: pairs, brokers and their messages know both ends.
    Sharing,
    /// Packets take a time of their own in nodes.
    Jitter,
    /// A switch processes all packets in one place.
    SharedService,
    /// Packets carry telemetry.
    Telemetry,
    /// Receivers put packets in order.
    Reordering,
    /// A trace or a series is recorded.
    Recording,
    /// Something fails.
    Outages,
    /// Steady traffic is skipped.
    FastForward,
    /// Of the traffic with this name.
    Traffic(String, TrafficObstacle),
}

/// Aspect of a traffic that concerns several parts at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TrafficObstacle {
    /// Flows begin when something else happens, or at random times.
    Begins,
    /// Flows end, and others begin later.
    Ends,
    /// Flows are counted together.
    CountedTogether,
    /// Its sources share random numbers.
    Random,
    /// Packets go over several routes.
    Copies,
}

impl fmt::Display for Obstacle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::OneSwitch => f.write_str("the network has one switch with hosts"),
            Self::SeveralLinks => f.write_str("a host has several links"),
            Self::NoLatency => f.write_str("links between switches have no propagation delay"),
            Self::Sharing => f.write_str("hosts share what they send and receive among services"),
            Self::Jitter => f.write_str("each packet takes a time of its own in nodes"),
            Self::SharedService => f.write_str("a switch serves all its ports by one processor"),
            Self::Telemetry => f.write_str("packets carry telemetry"),
            Self::Reordering => f.write_str("receivers put packets in order"),
            Self::Recording => f.write_str("a trace or a series is recorded"),
            Self::Outages => f.write_str("something fails during the run"),
            Self::FastForward => f.write_str("steady traffic is skipped"),
            Self::Traffic(name, obstacle) => write!(f, "traffic {name:?}: {obstacle}"),
        }
    }
}

impl fmt::Display for TrafficObstacle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Begins => "its flows do not all begin once, at a time that is fixed",
            Self::Ends => "its flows end, and other flows begin at another time",
            Self::CountedTogether => "its pairs are counted together",
            Self::Random => "its sources share random numbers",
            Self::Copies => "its packets go over several routes",
        })
    }
}

/// Returns the reason why a run of a scenario would use only one thread, if so.
pub fn obstacle(scenario: &Scenario) -> Option<Obstacle> {
    let network = &scenario.network;
    let record = &scenario.record;
    // The cut links depend on the number of threads, and all links have some delay in networks where it matters.
    let is_instant = network.links().any(|(_, link)| link.propagation == Time::ZERO);
    let of_scenario = [
        (Cut::new(network, 2).is_none(), Obstacle::OneSwitch),
        (network.hosts().any(|host| network.links_from(host).len() > 1), Obstacle::SeveralLinks),
        (is_instant, Obstacle::NoLatency),
        (scenario.sharing.is_some(), Obstacle::Sharing),
        (scenario.jitter != Jitter::Whole, Obstacle::Jitter),
        (!scenario.shared_services.is_empty(), Obstacle::SharedService),
        (
            scenario.switches.telemetry || scenario.hosts.telemetry || scenario.routing.reads_telemetry(),
            Obstacle::Telemetry,
        ),
        (scenario.routing.has_cells(), Obstacle::Reordering),
        (record.series.is_some() || record.trace.is_some() || record.promises, Obstacle::Recording),
        (!scenario.outages.is_empty(), Obstacle::Outages),
        (scenario.fast_forward.is_some(), Obstacle::FastForward),
    ];
    let found = of_scenario.into_iter().find_map(|(is_there, obstacle)| is_there.then_some(obstacle));
    found.or_else(|| of_traffic(&scenario.traffic))
}

fn of_traffic(all: &[Traffic]) -> Option<Obstacle> {
    // Places of flows are used again: which ones a flow finds depends on all others, unless none begins later.
    let begins = |traffic: &Traffic| match &traffic.workload {
        Workload::Flows(_) => Some(if traffic.active.is_some() { None } else { Some(traffic.start) }),
        _ => None,
    };
    let mut starts = all.iter().filter_map(begins);
    let first = starts.next().flatten();
    let is_together = first.is_some() && starts.all(|start| start == first);
    all.iter().find_map(|traffic| {
        let found = match &traffic.workload {
            _ if traffic.copies.is_some() => Some(TrafficObstacle::Copies),
            Workload::Packets { kind, .. } => match kind {
                PacketKind::TokenBucket { .. } | PacketKind::ConstantRate { .. } => None,
                PacketKind::Jittered { .. } | PacketKind::OnOff(_) | PacketKind::Poisson { .. } => {
                    Some(TrafficObstacle::Random)
                }
            },
            Workload::Flows(flows) if flows.arrivals != FlowArrivals::Once => Some(TrafficObstacle::Begins),
            Workload::Flows(_) if !is_counted_apart(&traffic.ends) => Some(TrafficObstacle::CountedTogether),
            Workload::Flows(flows) => (flows.sizes.is_some() && !is_together).then_some(TrafficObstacle::Ends),
            Workload::Listed { .. } | Workload::Job(_) => Some(TrafficObstacle::Begins),
        };
        found.map(|obstacle| Obstacle::Traffic(traffic.name.clone(), obstacle))
    })
}

fn is_counted_apart(ends: &FlowEndpoints<Endpoint>) -> bool {
    let pairs = match ends {
        FlowEndpoints::Pairs(pairs) => pairs.len(),
        FlowEndpoints::Permutation(hosts) => hosts.len(),
        FlowEndpoints::AllToAll(from, to) => from.len().saturating_mul(to.len()),
        FlowEndpoints::Random(..) => return false,
    };
    pairs <= MAX_COUNTED_PAIRS
}
