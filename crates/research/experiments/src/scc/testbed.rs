//! The single bottleneck of Fig. 1a, the rack of section V, and the Clos of section VI.

use std::sync::Arc;

use wayleave_scenarios::{Buffering, Ecn, PortBehaviour, Routing, Scenario};
use wayleave_topology::builders::{Cabling, LeafSpine, build};
use wayleave_topology::{LinkSpec, Network, NetworkBuilder, NodeId, NodeKind, PortSpec};
use wayleave_units::{Bytes, Rate, Time};

use crate::data::Figure;
use crate::failed::Failed;

/// A full packet on the wire.
pub(super) const FRAME: Bytes = Bytes::new(1_538);

/// An acknowledgement.
const ACKNOWLEDGEMENT: Bytes = Bytes::new(84);

/// "the round trip time to 300us" (II-B), of a full packet without queues.
pub(super) const ROUND_TRIP: Time = Time::from_micros(300);

/// "the switch ECN marking threshold to 20" packets (II-B).
const MARKS: Bytes = Bytes::new(20 * FRAME.get());

/// "the switch buffer size to 250 packets" (II-B).
const BUFFER: Bytes = Bytes::new(250 * FRAME.get());

/// "ECN capable switches with 250 KB buffering" (VI).
pub(super) const SWITCH_BUFFER: Bytes = Bytes::new(250_000);

/// Of the links beside the bottleneck, which the text does not name: so fast that nothing waits there for long.
const EDGE: Rate = Rate::from_gbit(10);

/// A bottleneck of this rate between two switches, and its three pairs of hosts.
pub(super) struct Bottleneck {
    pub(super) network: Arc<Network>,
    /// SRC1 with DST1, and so on.
    pub(super) pairs: [(NodeId, NodeId); 3],
}

/// The network of Fig. 1a with a bottleneck of this rate.
pub(super) fn bottleneck(rate: Rate) -> Result<Bottleneck, Failed> {
    let mut builder = NetworkBuilder::default();
    let mut node = |name: String, kind| builder.add_node(&name, kind).map_err(Failed::broken);
    let [left, right] = [node("left".to_owned(), NodeKind::Switch)?, node("right".to_owned(), NodeKind::Switch)?];
    let mut pairs = [(left, right); 3];
    for (index, pair) in (1..).zip(&mut pairs) {
        *pair = (node(format!("src{index}"), NodeKind::Host)?, node(format!("dst{index}"), NodeKind::Host)?);
    }
    let propagation = propagation(&[EDGE, rate, EDGE]);
    let mut join = |from, to, rate| {
        let port = PortSpec::uniform(2, BUFFER);
        let spec = LinkSpec { from, to, rate, propagation, mtu: Bytes::new(1_500), port: port.clone() };
        builder.add_cable(spec, port).map(drop).map_err(Failed::broken)
    };
    for (from, to) in pairs {
        join(from, left, EDGE)?;
        join(right, to, EDGE)?;
    }
    join(left, right, rate)?;
    Ok(Bottleneck { network: Arc::new(builder.build()), pairs })
}

/// Of each of these links, so that a round trip over all of them takes [`ROUND_TRIP`].
pub(super) fn propagation(rates: &[Rate]) -> Time {
    let takes = |bytes: Bytes, rate: Rate| {
        (u128::from(bytes.get()) * 8_000_000_000 / u128::from(rate.bits_per_second().max(1))) as u64
    };
    let sending: u64 = rates.iter().map(|&rate| takes(FRAME, rate) + takes(ACKNOWLEDGEMENT, rate)).sum();
    Time::from_nanos(ROUND_TRIP.as_nanos().saturating_sub(sending) / (2 * rates.len().max(1) as u64))
}

/// Returns the testbed of section V: 16 servers at one switch, 1 Gbit/s, with `queues` queues at its ports.
pub(super) fn rack(queues: usize) -> Result<Arc<Network>, Failed> {
    let rate = Rate::from_gbit(1);
    let propagation = propagation(&[rate; 2]);
    let [switch_port, host_port] = [(); 2].map(|()| PortSpec::uniform(queues, BUFFER));
    build::star(16, Cabling { rate, propagation, switch_port, host_port, ..Cabling::default() })
        .map(Arc::new)
        .map_err(Failed::broken)
}

/// Returns the Clos of section VI, whose size the text does not give: 4 leaves and 2 spines, with `hosts_per_leaf`
/// hosts under each leaf. "The capacity of edge links is 1 Gbps and core links is 10 Gbps".
pub(super) fn clos(hosts_per_leaf: u64) -> Result<Arc<Network>, Failed> {
    let [edge, core] = [Rate::from_gbit(1), Rate::from_gbit(10)];
    let propagation = propagation(&[edge, core, core, edge]);
    let switch_port = PortSpec::uniform(2, SWITCH_BUFFER);
    let cabling = Cabling { rate: edge, propagation, switch_port, ..Cabling::default() };
    let shape = LeafSpine { leaves: 4, spines: 2, hosts_per_leaf, parallel: 1, uplink_rate: Some(core), cabling };
    build::leaf_spine(&shape).map(Arc::new).map_err(Failed::broken)
}

/// A run on the Clos, still without traffic: flowcells, as "the adoption of state-of-the-art load balancing works such as Presto"
/// is assumed (III-A).
pub(super) fn clos_scenario(name: &str, network: &Arc<Network>, duration: Time) -> Scenario {
    let mut run = scenario(name, network, duration);
    run.switches.buffering = Buffering::EachQueue(SWITCH_BUFFER);
    run.routing = Routing::presto();
    run
}

/// A run on a network, still without traffic; nothing of the first tenth counts.
pub(super) fn scenario(name: &str, network: &Arc<Network>, duration: Time) -> Scenario {
    let mut run = Scenario::new(name, network.clone(), duration);
    run.warmup = Time::from_nanos(duration.as_nanos() / 10);
    run.switches =
        PortBehaviour { buffering: Buffering::EachQueue(BUFFER), ecn: Ecn::above(MARKS).into(), ..run.switches };
    run.hosts.buffering = Buffering::Unlimited;
    // Round trips are recorded with series; one interval is enough.
    run.record.series = Some(duration);
    run
}

/// Adds the settings of every figure of the bottleneck.
pub(super) fn settings(figure: Figure) -> Figure {
    figure
        .with("network", "three pairs of hosts, 10 Gbit/s, over one bottleneck; base round trip 300 us")
        .with("bottleneck", "marks above 20 packets, 250 packets of buffer (II-B)")
        .with(
            "applications",
            "LS: 2 kB, Poisson, 400 Mbit/s; DS, CS: uniform 2 to 198 kB, Poisson; deadlines uniform 5 to 25 ms (II-B)",
        )
        .with(
            "transports",
            "DCTCP for LS, D2TCP for DS, L2DCT for CS, initial window 10 packets, shortest time-out 10 ms",
        )
}

/// Adds the settings of every figure of the Clos.
pub(super) fn clos_settings(figure: Figure, hosts_per_leaf: u64, duration: Time) -> Figure {
    figure
        .with("network", format!("4 leaves of {hosts_per_leaf} hosts, 2 spines; 1 Gbit/s, 10 Gbit/s between switches; 250 kB a queue, base round trip 300 us"))
        .with("workload", "data-mining (VL2, points as the YAPS simulator has them), Poisson, random pairs of hosts; loads are those of edge links, on the wire")
        .with("deadlines", "of flows up to 200 kB: exponential, mean 30 ms, at least 3 ms")
        .with("paths", "flowcells of 64 KiB (Presto)")
        .with("time", format!("{} ms, of which the first tenth does not count", duration.as_nanos() / 1_000_000))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulator::Simulator;
    use wayleave_scenarios::{FlowArrivals, FlowEndpoints, FlowSizes, Traffic};

    /// A single packet takes the round trip of the text, at any rate.
    #[test]
    fn the_base_round_trip_is_that_of_the_text() {
        for rate in [Rate::from_mbit(500), Rate::from_gbit(1)] {
            let Bottleneck { network, pairs } = bottleneck(rate).unwrap();
            let mut run = scenario("one packet", &network, Time::from_millis(10));
            run.warmup = Time::ZERO;
            let size = FlowSizes::Fixed(Bytes::new(1_460));
            run.traffic = vec![Traffic::flows("one", FlowEndpoints::Pairs(vec![pairs[0]]), FlowArrivals::Once, size)];
            let outcome = Simulator::default().run(&run, 1).unwrap();
            let round_trip = outcome.traffic[0].round_trips.as_ref().unwrap().all().max().unwrap();
            assert!(round_trip.abs_diff(300_000_000) < 20_000, "{rate}: {round_trip} ps");
        }
    }
}
