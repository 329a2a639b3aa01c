//! Former deviations of the simulator from its documentation; each test names the error.

use std::sync::Arc;

use wayleave_scenarios::{
    Buffering, Discipline, Element, ElementChange, FlowArrivals, FlowEndpoints, FlowSizes, Outage, PacketKind, Rpc,
    Scenario, StartPhase, Traffic,
};
use wayleave_topology::NodeKind;
use wayleave_topology::builders::{Cabling, LeafSpine, build};
use wayleave_units::{Bytes, Rate, Time};

use crate::truth::networks::{
    Cables, assert_near, burst, finished, fixed_window, flow, listed, poisson, ports, queue, run, star,
};
use crate::truth::services::two_sizes;

/// A host's tagger delays every packet: those that are released when the run begins, and segments of reliable flows.
#[test]
fn packets_and_segments_wait_for_the_processing_of_their_hosts() {
    let mut cables = Cables::new();
    let (from, switch) = (cables.slow("from", NodeKind::Host, 5_000, 0), cables.switch("s"));
    let to = cables.host("to");
    cables.join(from, switch, Rate::from_gbit(1), 0);
    cables.join(switch, to, Rate::from_gbit(1), 0);
    let mut scenario = Scenario::new("tagger", cables.build(), Time::from_millis(1));
    for traffic in [burst("b", from, to, 1_000, 1, 0), listed("f", &[(100_000, from, to, 922)])] {
        scenario.traffic = vec![traffic];
        assert_eq!(flow(&run(&scenario, 1), 0).delay.max(), Some(5_000_000 + 16_000_000));
    }
}

/// A time-out is for segments that are in flight (RFC 6298, 5.2). Here each of 1,000 flows of one host has its only
/// segment acknowledged after 40 us, and then waits 12 ms for its next turn at the host's port.
#[test]
fn a_flow_queued_at_its_host_does_not_time_out() {
    let star = star(&[Rate::from_gbit(1), Rate::from_gbit(10)], 1_000);
    let pairs = vec![(star.hosts[0], star.hosts[1])];
    let mut scenario = Scenario::new("turns", star.network.clone(), Time::from_millis(200));
    scenario.transport = fixed_window(1);
    let arrivals = FlowArrivals::Rpc(Rpc {
        outstanding: 1_000,
        think_time: Time::from_millis(1_000),
        ..Rpc::new(FlowSizes::Fixed(Bytes::new(1)))
    });
    let sizes = FlowSizes::Fixed(Bytes::new(10 * 1_460));
    scenario.traffic = vec![Traffic::flows("f", FlowEndpoints::Pairs(pairs), arrivals, sizes)];
    let outcome = run(&scenario, 1);
    let timeouts: u64 = outcome.flows.iter().map(|flow| flow.timeouts).sum();
    assert!(finished(&outcome, 0) > 900);
    assert_eq!(timeouts, 0);
}

/// A first-come-first-served port has a peak too.
#[test]
fn both_forms_of_a_port_report_the_same_peak() {
    let star = star(&[Rate::from_gbit(100), Rate::from_gbit(1)], 0);
    let peaks = [Discipline::Fifo, Discipline::StrictPriority].map(|discipline| {
        let mut scenario = Scenario::new("peak", star.network.clone(), Time::from_millis(1));
        scenario.switches = ports(discipline, Buffering::EachQueue(Bytes::new(10_000)));
        scenario.traffic = vec![burst("b", star.hosts[0], star.hosts[1], 1_000, 20, 0)];
        queue(&run(&scenario, 1), star.down[1], 0).peak.get()
    });
    // Of the packet in transmission, one counts the part that has not left.
    assert!(peaks[1] == 10_000 && (9_001..=10_000).contains(&peaks[0]), "{peaks:?}");
}

/// Evicted packets no longer use the shared buffer. The short flows, which always find the long one's packets to
/// evict, lose nothing, as with a buffer of the port's own.
#[test]
fn a_pfabric_port_with_a_shared_buffer_frees_evicted_packets() {
    let total = Bytes::new(60_000);
    let (scenario, _) = two_sizes(Buffering::Shared { total, alpha: 1.0 });
    let outcome = run(&scenario, 1);
    assert_eq!((finished(&outcome, 0), finished(&outcome, 1)), (1, 100));
    assert!(flow(&outcome, 0).drops > 0);
    assert_eq!((flow(&outcome, 1).drops, flow(&outcome, 1).timeouts), (0, 0));
}

/// A link cannot be busy for more than all the time.
#[test]
fn an_overloaded_link_is_busy_all_the_time_and_no_more() {
    let star = star(&[Rate::from_gbit(10), Rate::from_gbit(1)], 0);
    for discipline in [Discipline::StrictPriority, Discipline::Fifo] {
        let mut scenario = Scenario::new("overload", star.network.clone(), Time::from_millis(20));
        scenario.switches = ports(discipline.clone(), Buffering::Unlimited);
        scenario.traffic = vec![poisson("p", star.hosts[0], star.hosts[1], 1_000, Rate::from_gbit(3))];
        let busy = run(&scenario, 1).links[star.down[1].index()].utilisation;
        assert_near(busy, 1.0, 0.002, &format!("{discipline:?}"));
    }
}

/// Requests are counted once, as documented for `TrafficOutcome::begun`.
#[test]
fn a_request_with_its_answer_begins_once() {
    let (begun, finished, _) = calls();
    assert_eq!(begun, finished + 1);
}

/// Alone in the network, a request with its answer has a slowdown of 1.
#[test]
fn a_request_alone_is_not_slowed_down() {
    let (_, _, slowdown) = calls();
    assert!((0.99..1.01).contains(&slowdown), "{slowdown}");
}

/// Begun, finished, and the largest slowdown of one closed loop.
fn calls() -> (u64, u64, f64) {
    let star = star(&[Rate::from_gbit(10); 2], 1_000);
    let mut scenario = Scenario::new("calls", star.network.clone(), Time::from_millis(1));
    scenario.transport = fixed_window(100);
    let answer = FlowSizes::Fixed(Bytes::new(14_600));
    let rpc = FlowArrivals::Rpc(Rpc::new(answer));
    let pairs = FlowEndpoints::Pairs(vec![(star.hosts[0], star.hosts[1])]);
    scenario.traffic = vec![Traffic::flows("rpc", pairs, rpc, FlowSizes::Fixed(Bytes::new(14_600)))];
    let outcome = run(&scenario, 1);
    let all = outcome.traffic[0].completions.all();
    (outcome.traffic[0].begun, all.finished(), all.slowdown_percentile(100.0).unwrap())
}

/// A host may have seconds of packets in its port; its flows wait for them.
#[test]
fn a_flow_waits_behind_many_seconds_of_packets_at_its_host() {
    let star = star(&[Rate::from_mbit(10), Rate::from_gbit(1)], 0);
    let (from, to) = (star.hosts[0], star.hosts[1]);
    let mut scenario = Scenario::new("horizon", star.network.clone(), Time::from_millis(9_000));
    scenario.switches.buffering = Buffering::Unlimited;
    // 8 s of packets.
    let kind = PacketKind::TokenBucket {
        rate: Rate::from_bits_per_second(1),
        burst: Bytes::new(10_000_000),
        phase: StartPhase::Together,
    };
    let burst = Traffic::packets("burst", FlowEndpoints::Pairs(vec![(from, to)]), kind, Bytes::new(1_000));
    scenario.traffic = vec![burst, listed("f", &[(1_000, from, to, 100_000)])];
    assert_eq!(finished(&run(&scenario, 1), 1), 1);
}

/// A flow with a short last packet takes at least its ideal: behind a slow link the following links carry the last
/// packet last, not the first.
#[test]
fn no_flow_is_faster_than_its_ideal() {
    let star = star(&[Rate::from_mbit(100), Rate::from_mbit(400)], 0);
    let mut scenario = Scenario::new("ideal", star.network.clone(), Time::from_millis(5));
    scenario.transport = fixed_window(100);
    scenario.traffic = vec![listed("f", &[(0, star.hosts[0], star.hosts[1], 1_461)])];
    let slowdown = run(&scenario, 1).traffic[0].completions.all().slowdown_percentile(100.0).unwrap();
    assert!((1.0..1.001).contains(&slowdown), "{slowdown}");
}

/// Drops and delays of a shared service are in the outcome, as for any other queue.
#[test]
fn drops_at_a_shared_service_are_attributed_to_a_queue() {
    let star = star(&[Rate::from_gbit(10); 2], 0);
    let mut scenario = Scenario::new("service", star.network.clone(), Time::from_millis(1));
    let switch = star.network.find_node("s").unwrap();
    let (rate, processing, buffer) = (Rate::from_gbit(1), Time::ZERO, Bytes::new(2_000));
    scenario.shared_services = vec![wayleave_scenarios::SharedService { switch, rate, processing, buffer }];
    scenario.traffic = vec![burst("b", star.hosts[0], star.hosts[1], 1_000, 20, 0)];
    let outcome = run(&scenario, 1);
    assert_eq!(outcome.services[0].switch, switch);
    assert_eq!((flow(&outcome, 0).drops, outcome.services[0].counts.drops), (17, 17));
}

/// Paths avoid failed elements at once, as documented for `Change::Fails`: also paths of packets that are not
/// acknowledged.
#[test]
fn packets_of_a_source_avoid_a_failed_spine() {
    let spec =
        LeafSpine { leaves: 2, spines: 2, hosts_per_leaf: 1, cabling: Cabling::default(), ..LeafSpine::default() };
    let network = Arc::new(build::leaf_spine(&spec).unwrap());
    let hosts: Vec<_> = network.hosts().collect();
    for name in ["spine1", "spine2"] {
        let mut scenario = Scenario::new("detour", network.clone(), Time::from_millis(20));
        let kind = PacketKind::ConstantRate { rate: Rate::from_mbit(100) };
        let pair = FlowEndpoints::Pairs(vec![(hosts[0], hosts[1])]);
        scenario.traffic = vec![Traffic::packets("s", pair, kind, Bytes::new(1_000))];
        let what = Element::Switch(network.find_node(name).unwrap());
        scenario.outages = vec![Outage { at: Time::from_millis(10), what, change: ElementChange::Fails }];
        let outcome = run(&scenario, 1);
        let flow = flow(&outcome, 0);
        assert!(flow.drops <= 2, "{name} failed: {} of {} packets are lost", flow.drops, flow.sent);
    }
}

/// A host's port is shared, as a qdisc is: a source that demands the whole rate does not silence the host's flows.
#[test]
fn a_flow_gets_a_share_beside_a_source_with_the_demand_of_the_whole_link() {
    let star = star(&[Rate::from_gbit(1); 3], 0);
    let mut scenario = Scenario::new("beside", star.network.clone(), Time::from_millis(100));
    scenario.hosts.buffering = Buffering::EachQueue(Bytes::new(100_000));
    scenario.transport = fixed_window(20);
    let kind = PacketKind::ConstantRate { rate: Rate::from_mbit(1_100) };
    let pair = FlowEndpoints::Pairs(vec![(star.hosts[0], star.hosts[1])]);
    scenario.traffic = vec![
        Traffic::packets("s", pair, kind, Bytes::new(1_000)),
        listed("f", &[(1_000_000, star.hosts[0], star.hosts[2], 100_000)]),
    ];
    assert_eq!(finished(&run(&scenario, 1), 1), 1);
}
