//! Common parts of the simulated experiments: networks, services by port, transport, switches.

use std::sync::Arc;

use wayleave_contracts::{Bandwidth, PerDirection, Policy};
use wayleave_scenarios::{
    Buffering, Congestion, Ecn, Eyeq, FlowArrivals, FlowEndpoints, HostSchemeConfig, Parley, PortEcn, Reliable,
    Scenario, Sharing, Traffic, TransportConfig, Workload,
};
use wayleave_schemes::host::eyeq::{Marks, Staleness};
use wayleave_sim::Outcome;
use wayleave_topology::builders::{Cabling, LeafSpine, build};
use wayleave_topology::{Network, NodeId};
use wayleave_units::{Bytes, Rate, Time};

use crate::data::{Figure, Point, Series};
use crate::failed::Failed;
pub(super) use crate::policies::{policy, service};

/// A full frame on the wire.
pub(super) const FRAME: Bytes = Bytes::new(1_538);

/// ECN marking threshold (Table 1).
pub(super) const ECN: Bytes = Bytes::new(80_000);

/// Buffer shared by all ports of a switch. The paper does not state it; 9 MB is the size of 10 Gbit/s switches of
/// that time.
const BUFFER: Bytes = Bytes::new(9_000_000);

/// The shortest retransmission time-out of Linux.
const MIN_TIMEOUT: Time = Time::from_millis(200);

/// Possible T_rack according to section 6.2, in place of the 1 s of Table 1: a tenth of the time shows an equal
/// number of rounds. In a quick run it is a quarter of that, 50 iterations of the machine shaper of section 6.3.
pub(super) const ROUNDS: [Time; 2] = [Time::from_millis(100), Time::from_millis(25)];

/// Round-trip time of a packet and its acknowledgement between idle hosts. The paper does not state it. The machine
/// shaper works "at network round-trip timescales" (3.5), and that is every 200 us (Table 1). Hosts' software takes
/// most of this time, and is in the cables here. With cables alone (500 ns each) requests are faster than the paper's
/// at low load.
const ROUND_TRIP: Time = Time::from_micros(200);

/// Returns cables of 10 Gbit/s, for `hops` cables between two hosts.
pub(super) fn cabling(hops: u64) -> Cabling {
    let propagation = Time::from_nanos(ROUND_TRIP.as_nanos() / (2 * hops));
    Cabling { rate: Rate::from_gbit(10), propagation, ..Cabling::default() }
}

/// Size of the network of Fig. 11.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Size {
    /// 9 racks of 10 hosts, 2 spines, 4 parallel links each, 10 Gbit/s.
    Printed,
    /// For a quick look: 3 racks of 5 hosts, 2 parallel links, so that a rack has half of everything, oversubscribed alike.
    Half,
}

impl Size {
    pub(super) fn network(self) -> Result<Arc<Network>, Failed> {
        let (leaves, hosts_per_leaf, parallel) = match self {
            Self::Printed => (9, 10, 4),
            Self::Half => (3, 5, 2),
        };
        let fabric = LeafSpine { leaves, spines: 2, hosts_per_leaf, parallel, uplink_rate: None, cabling: cabling(4) };
        build::leaf_spine(&fabric).map(Arc::new).map_err(Failed::broken)
    }

    /// Returns the scaled rate for a rate of the printed rack.
    pub(super) const fn gbit(self, gbit: u64) -> Rate {
        match self {
            Self::Printed => Rate::from_gbit(gbit),
            Self::Half => Rate::from_mbit(gbit * 500),
        }
    }

    /// Returns the factor from a measurement to the printed rack.
    pub(super) const fn scale(self) -> f64 {
        match self {
            Self::Printed => 1.0,
            Self::Half => 2.0,
        }
    }

    pub(super) fn text(self) -> String {
        match self {
            Self::Printed => "Fig. 11; one rack receives, the 80 hosts of the others send".to_owned(),
            Self::Half => {
                "half of a rack of Fig. 11 receives, two others send; rates are those of a whole one".to_owned()
            }
        }
    }
}

/// The hosts of each rack.
pub(super) fn racks(network: &Network) -> Vec<Vec<NodeId>> {
    let attached = |switch: NodeId| {
        let under = |&host: &NodeId| network.links_from(host).iter().any(|&link| network.link(link).to == switch);
        network.hosts().filter(under).collect::<Vec<_>>()
    };
    network.switches().map(attached).filter(|hosts| !hosts.is_empty()).collect()
}

/// Without minimum, maximum or weight.
pub(super) fn free() -> PerDirection<Bandwidth> {
    PerDirection::default()
}

/// Returns a minimum and maximum of received traffic.
pub(super) fn received(min: Option<Rate>, max: Option<Rate>) -> PerDirection<Bandwidth> {
    PerDirection { receive: Bandwidth { min, max, weight: None }, ..PerDirection::default() }
}

/// Marks that machine shapers receive, and their form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MarkFeedback {
    /// Nothing: switches do not mark.
    Deaf,
    /// The equation as it is printed.
    Printed,
    /// EyeQ as its program was released: its form of marks, its floor of R, its feedback; with this number of bytes
    /// for K.
    Released(Bytes),
}

/// K of EyeQ's program.
pub(super) const RELEASED: MarkFeedback = MarkFeedback::Released(Bytes::new(45_000));

/// The same with the threshold of the switches' marks for K (Table 1).
pub(super) const THRESHOLD: MarkFeedback = MarkFeedback::Released(ECN);

impl MarkFeedback {
    /// In titles and statements.
    pub(super) fn name(self) -> String {
        match self {
            Self::Deaf => "no marks".to_owned(),
            Self::Printed => "marks as printed".to_owned(),
            Self::Released(k) => format!("marks as released, K {} kB", k.get() / 1_000),
        }
    }

    /// The machine shaper with this interval.
    pub(super) fn shaper(self, interval: Time) -> Eyeq {
        let eyeq = Eyeq { interval, ..Eyeq::default() };
        match self {
            Self::Deaf | Self::Printed => eyeq,
            Self::Released(mark_bytes) => {
                let (marks, feedback) = (Marks::Released, Staleness::Timed);
                Eyeq { marks, mark_bytes, feedback, floor: Rate::from_mbit(10), ..eyeq }
            }
        }
    }
}

/// Scheme that shares the network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum System {
    /// Nothing but TCP.
    Nothing,
    /// Machine shapers alone. "EyeQ assumes a congestion-free core" (6.3): deaf, then.
    Eyeq(MarkFeedback),
    /// The same under brokers.
    Parley(MarkFeedback),
}

impl System {
    pub(super) fn name(self) -> String {
        match self {
            Self::Nothing => "without guarantees".to_owned(),
            Self::Eyeq(hearing) => format!("EyeQ, {}", hearing.name()),
            Self::Parley(hearing) => format!("Parley, {}", hearing.name()),
        }
    }

    /// Lets the hosts of a scenario share. The rack policy is Parley's only. `interval` is that of the machine shaper, `rack_interval` that
    /// of rack brokers.
    pub(super) fn share(self, run: &mut Scenario, machine: Policy, rack: Policy, interval: Time, rack_interval: Time) {
        if matches!(self, Self::Eyeq(MarkFeedback::Deaf) | Self::Parley(MarkFeedback::Deaf)) {
            run.switches.ecn = PortEcn::default();
        }
        run.sharing = match self {
            Self::Nothing => None,
            Self::Eyeq(hearing) => Some(Sharing::new(HostSchemeConfig::Eyeq(hearing.shaper(interval)), machine)),
            Self::Parley(hearing) => {
                let parley = Parley { shaper: hearing.shaper(interval), rack_interval, ..Parley::default() };
                Some(Sharing { rack: Some(rack), ..Sharing::new(HostSchemeConfig::Parley(parley), machine) })
            }
        };
    }
}

/// A run with TCP as Linux has it, switches that mark at 80 kB, and a shared buffer.
pub(super) fn scenario(name: &str, network: Arc<Network>, duration: Time) -> Scenario {
    let mut scenario = Scenario::new(name, network, duration);
    scenario.transport =
        TransportConfig { congestion: Congestion::cubic(), min_timeout: MIN_TIMEOUT, ..TransportConfig::default() };
    scenario.switches.ecn = Ecn::above(ECN).into();
    scenario.switches.buffering = Buffering::Shared { total: BUFFER, alpha: 1.0 };
    scenario
}

/// Flows of a service from the start of the traffic on.
pub(super) fn flows(service: &str, ends: FlowEndpoints, reliable: Reliable) -> Traffic {
    let mut traffic = Traffic::new(service, ends, Workload::Flows(reliable));
    traffic.service = Some(service.to_owned());
    traffic
}

/// One endless flow between each pair.
pub(super) fn endless(service: &str, ends: FlowEndpoints) -> Traffic {
    flows(service, ends, Reliable::new(FlowArrivals::Once, None))
}

/// Returns the throughput of one traffic over time: the middle of each interval in seconds, and the arrivals in
/// Gbit/s.
pub(super) fn throughput(outcome: &Outcome, traffic: usize) -> Vec<(f64, f64)> {
    let end = outcome.simulated.as_nanos() * 1_000;
    let series = outcome.traffic[traffic].throughput.as_ref();
    let bins = series.into_iter().flat_map(|series| series.bins(end));
    bins.map(|bin| ((bin.start_ps + bin.end_ps) as f64 / 2e12, bin.per_second() * 8.0 / 1e9)).collect()
}

/// Returns the traffic received by A and B over time, one value for each run.
pub(super) fn curves(runs: &[&[Vec<(f64, f64)>; 2]]) -> Vec<Series> {
    let values =
        |service: usize, at: usize| runs.iter().filter_map(|run| run[service].get(at)).map(|(_, rate)| *rate).collect();
    let points = |service: usize| {
        let times = runs.first().into_iter().flat_map(|run| &run[service]).enumerate();
        times.map(|(at, (time, _))| Point::of(*time, values(service, at))).collect()
    };
    ["A", "B"]
        .into_iter()
        .enumerate()
        .map(|(service, name)| Series { name: format!("service {name}"), points: points(service) })
        .collect()
}

/// Returns the mean of the points between two times.
pub(super) fn mean_between(points: &[(f64, f64)], from: f64, to: f64) -> f64 {
    let values: Vec<f64> = points.iter().filter(|(at, _)| (from..to).contains(at)).map(|(_, value)| *value).collect();
    crate::stats::mean(&values)
}

/// Adds the settings of every simulated figure.
pub(super) fn settings(figure: Figure) -> Figure {
    figure
        .with(
            "parameters",
            "Table 1, where nothing else is said: alpha 0.5, T 200 us, rack broker 1 s and 5 s, fabric broker 10 s and 50 s, marks at 80 kB",
        )
        .with("transport", "CUBIC, initial window 10, shortest time-out 200 ms (Linux)")
        .with("switches", "a buffer of 9 MB each, shared by dynamic thresholds with alpha 1; the paper does not say")
}

/// The same in networks of [`cabling`].
pub(super) fn testbed(figure: Figure) -> Figure {
    settings(figure).with(
        "round-trip time",
        "200 us between idle hosts; the paper does not say, but that T is of the order of round trips",
    )
}
