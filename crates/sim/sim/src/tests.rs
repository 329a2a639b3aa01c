//! Tests of internals that the outcome of a run does not show.

use std::sync::Arc;

use wayleave_scenarios::{Congestion, Ecn, FlowArrivals, FlowEndpoints, FlowSizes, PacketKind, Red, Scenario, Traffic};
use wayleave_scheme_api::IntHop;
use wayleave_topology::builders::{Cabling, Chain, build};
use wayleave_topology::{Network, NodeId};
use wayleave_units::{Bytes, Rate, Time};

use crate::engine::Engine;

/// Two hosts at the ends of three switches; 10 Gbit/s, 1 us of propagation.
fn line() -> (Arc<Network>, Vec<NodeId>) {
    let cabling = Cabling { rate: Rate::from_gbit(10), propagation: Time::from_micros(1), ..Cabling::default() };
    let network = build::line(&Chain { switches: 3, hosts_per_switch: 1, cabling }).unwrap();
    let hosts = network.hosts().collect();
    (Arc::new(network), hosts)
}

/// Two segments of 1,538 B, 1,230.4 ns each; the second follows the first through every port.
#[test]
fn every_switch_of_the_path_writes_its_state_into_a_segment() {
    let (network, hosts) = line();
    // The second segment is at its receiver after 4 hops of 2,230.4 ns and 1,230.4 ns, its acknowledgement is not back.
    let mut scenario = Scenario::new("telemetry", network, Time::from_nanos(10_500));
    scenario.switches.telemetry = true;
    scenario.transport.congestion = Congestion::fixed_window(2);
    let ends = FlowEndpoints::Pairs(vec![(hosts[0], hosts[2])]);
    let sizes = FlowSizes::Fixed(Bytes::new(2 * 1_460));
    scenario.traffic = vec![Traffic::flows("two", ends, FlowArrivals::Once, sizes)];
    scenario.validate().unwrap();
    let mut engine = Engine::new(&scenario, 1, &crate::Custom::default());
    engine.run(&mut |_| true);
    let stacks: Vec<Vec<IntHop>> = (1..=2).map(|stack| engine.fabric().telemetry().get(stack).to_vec()).collect();
    for (segment, stack) in stacks.into_iter().enumerate() {
        assert_eq!(stack.len(), 3, "one record of each switch, and none of hosts");
        for (hop, record) in stack.iter().enumerate() {
            let at = 2_230 * (hop as u64 + 1) + 1_230 * segment as u64;
            assert!(record.at.as_nanos().abs_diff(at) <= 2, "{record:?}, and {at} ns was expected");
            assert_eq!((record.rate, record.queue), (Rate::from_gbit(10), Bytes::ZERO));
            assert_eq!(record.sent.get(), 1_538 * segment as u64, "sent before it");
        }
    }
}

/// RED on the queue itself (weight 1) marks a known share of the packets that find a known queue.
#[test]
fn random_early_detection_marks_more_the_longer_the_queue_is() {
    let (network, hosts) = line();
    let marked = |probability: f64| {
        let mut scenario = Scenario::new("red", network.clone(), Time::from_millis(20));
        let (min, max) = (Bytes::new(20_000), Bytes::new(40_000_000));
        scenario.switches.ecn = Ecn::Red(Red { min, max, probability, weight: 1.0 }).into();
        scenario.transport.congestion = Congestion::dctcp();
        let into = |from: usize| FlowEndpoints::Pairs(vec![(hosts[from], hosts[2])]);
        let sizes = FlowSizes::Fixed(Bytes::new(2_000_000));
        let flows = Traffic::flows("flows", into(0), FlowArrivals::Once, sizes);
        let kind = PacketKind::ConstantRate { rate: Rate::from_gbit(5) };
        let other = Traffic::packets("other", into(1), kind, Bytes::new(1_538));
        scenario.traffic = vec![flows, other];
        crate::run(&scenario, 1, |_| true).unwrap().flows.iter().map(|flow| flow.marked).sum::<u64>()
    };
    let (none, some, many) = (marked(1e-9), marked(0.5), marked(1.0));
    assert_eq!(none, 0);
    assert!(0 < some && some < many, "{some} and {many} marks");
}
