//! Nothing is lost for good, nothing arrives twice, and every packet is somewhere.

use wayleave_scenarios::{
    Buffering, Congestion, Discipline, Element, ElementChange, FlowEndpoints, Outage, PacketKind, Routing, Scenario,
    Traffic, TransportConfig,
};
use wayleave_schemes::path::flowlet;
use wayleave_schemes::path::presto;
use wayleave_sim::Outcome;
use wayleave_topology::builders::{Cabling, LeafSpine, build};
use wayleave_topology::{LinkId, NodeId};
use wayleave_units::{Bytes, Rate, Time};

use crate::truth::networks::{Cables, burst, finished, fixed_window, flow, listed, once, ports, run, star};

/// Everything arrived exactly once: payload is counted when a segment comes for the first time, so it can neither fall
/// short nor exceed what was sent.
#[track_caller]
fn assert_complete(outcome: &Outcome, traffic: usize, flows: u64, bytes: u64, what: &str) {
    let payload: u64 = outcome.flows.iter().filter(|flow| flow.traffic == traffic).map(|flow| flow.payload.get()).sum();
    assert_eq!(finished(outcome, traffic), flows, "{what}: flows that finished");
    assert_eq!(payload, flows * bytes, "{what}: payload");
}

fn short_timeouts(congestion: Congestion) -> TransportConfig {
    let (min_timeout, first_timeout) = (Time::from_millis(1), Time::from_millis(10));
    TransportConfig { congestion, min_timeout, first_timeout, ..TransportConfig::default() }
}

/// 32 senders, one receiver, a buffer of five packets: nearly all is lost at first. Catches retransmissions that are
/// forgotten, time-outs that are not set again, flows whose last segment or last acknowledgement is lost for ever.
#[test]
fn incast_into_a_tiny_buffer_completes() {
    let star = star(&[Rate::from_gbit(10); 33], 1_000);
    let pairs: Vec<(NodeId, NodeId)> = star.hosts[..32].iter().map(|&from| (from, star.hosts[32])).collect();
    let all = [Congestion::newreno(), Congestion::cubic(), Congestion::dctcp(), Congestion::fixed_window(30)];
    for congestion in all {
        for discipline in [Discipline::Fifo, Discipline::StrictPriority] {
            let mut scenario = Scenario::new("incast", star.network.clone(), Time::from_millis(5_000));
            scenario.switches = ports(discipline, Buffering::EachQueue(Bytes::new(5 * 1_538)));
            scenario.transport = short_timeouts(congestion.clone());
            scenario.traffic = vec![once("incast", &pairs, 100_000)];
            let outcome = run(&scenario, 1);
            let again: u64 = outcome.flows.iter().map(|flow| flow.again).sum();
            assert!(again > 100, "{congestion:?}: {again} segments sent again are no heavy loss");
            assert_complete(&outcome, 0, 32, 100_000, &format!("{congestion:?}"));
        }
    }
}

/// Catches acknowledgements that count as received data, and the reverse: here the reverse path is congested.
#[test]
fn losses_of_acknowledgements_are_harmless() {
    let star = star(&[Rate::from_gbit(10), Rate::from_gbit(10), Rate::from_gbit(10)], 1_000);
    let (a, b, c) = (star.hosts[0], star.hosts[1], star.hosts[2]);
    let mut scenario = Scenario::new("acks", star.network.clone(), Time::from_millis(1_000));
    scenario.switches = ports(Discipline::Fifo, Buffering::EachQueue(Bytes::new(6_000)));
    scenario.transport = short_timeouts(Congestion::fixed_window(20));
    let flood = PacketKind::Poisson { rate: Rate::from_gbit(9) };
    let mut flood = Traffic::packets("flood", FlowEndpoints::Pairs(vec![(c, a)]), flood, Bytes::new(1_500));
    flood.stop = Some(Time::from_millis(20));
    scenario.traffic = vec![listed("data", &[(0, a, b, 10_000_000)]), flood];
    let outcome = run(&scenario, 1);
    // Acknowledgements wait behind the flood, and some find no room.
    assert!(flow(&outcome, 1).drops > 0 || flow(&outcome, 0).drops > 0, "the way back is congested");
    assert_complete(&outcome, 0, 1, 10_000_000, "data");
}

/// Catches reordering that is taken for an end, duplicates that are delivered, and segments that stay in a reordering
/// buffer. Packets, cells or flowlets take a path each, to spines that carry half of the hosts' sending rate.
#[test]
fn flows_with_reordered_packets_arrive_complete() {
    let cabling = Cabling { rate: Rate::from_gbit(10), propagation: Time::from_micros(1), ..Cabling::default() };
    let spec = LeafSpine {
        leaves: 2,
        spines: 4,
        hosts_per_leaf: 8,
        uplink_rate: Some(Rate::from_gbit(10)),
        cabling,
        ..LeafSpine::default()
    };
    let network = std::sync::Arc::new(build::leaf_spine(&spec).unwrap());
    let hosts: Vec<NodeId> = network.hosts().collect();
    let pairs: Vec<(NodeId, NodeId)> = (0..8).map(|index| (hosts[index], hosts[8 + index])).collect();
    let cell = Routing::Flowcells(presto::Spreading { size: Bytes::new(16_000), path_timeout: None });
    let gap = Routing::Flowlet(flowlet::Params { gap: Time::from_micros(5) });
    let all = [Congestion::newreno(), Congestion::dctcp(), Congestion::fixed_window(64)];
    for (routing, congestion) in [Routing::spraying(), cell, gap]
        .iter()
        .flat_map(|routing| all.clone().map(|control| (routing.clone(), control)))
    {
        let mut scenario = Scenario::new("spray", network.clone(), Time::from_millis(2_000));
        scenario.routing = routing.clone();
        scenario.switches = ports(Discipline::Fifo, Buffering::EachQueue(Bytes::new(30_000)));
        scenario.transport = short_timeouts(congestion.clone());
        scenario.traffic = vec![once("spray", &pairs, 2_000_000)];
        let outcome = run(&scenario, 1);
        assert!(outcome.flows.iter().any(|flow| flow.drops > 0), "{congestion:?}, {routing:?}: nothing is lost");
        assert_complete(&outcome, 0, 8, 2_000_000, &format!("{congestion:?}, {routing:?}"));
    }
}

/// Catches packets of a failed link that stay somewhere, and flows that wait for ever: both directions of the only
/// path fail three times.
#[test]
fn flows_finish_after_their_only_link_is_repaired() {
    let star = star(&[Rate::from_gbit(1), Rate::from_gbit(1)], 5_000);
    for discipline in [Discipline::Fifo, Discipline::StrictPriority] {
        for congestion in [Congestion::newreno(), Congestion::dctcp(), Congestion::fixed_window(50)] {
            let mut scenario = Scenario::new("outages", star.network.clone(), Time::from_millis(3_000));
            scenario.switches = ports(discipline.clone(), Buffering::Unlimited);
            scenario.hosts = ports(discipline.clone(), Buffering::Unlimited);
            scenario.transport = short_timeouts(congestion.clone());
            scenario.traffic = vec![listed("f", &[(0, star.hosts[0], star.hosts[1], 3_000_000)])];
            for round in 0..3 {
                for (at, change) in [(3 + 9 * round, ElementChange::Fails), (7 + 9 * round, ElementChange::Works)] {
                    for link in [star.up[0], star.down[1], star.up[1], star.down[0]] {
                        scenario.outages.push(Outage { at: Time::from_millis(at), what: Element::Link(link), change });
                    }
                }
            }
            let outcome = run(&scenario, 1);
            assert!(flow(&outcome, 0).drops > 0, "{congestion:?}: something was lost");
            assert_complete(&outcome, 0, 1, 3_000_000, &format!("{congestion:?}, {discipline:?}"));
        }
    }
}

/// Catches flows that stay on a failed path: a spine of two fails, and all traffic uses the other one.
#[test]
fn flows_move_to_the_remaining_spine() {
    let cabling = Cabling { rate: Rate::from_gbit(10), propagation: Time::from_micros(1), ..Cabling::default() };
    let spec = LeafSpine { leaves: 2, spines: 2, hosts_per_leaf: 8, cabling, ..LeafSpine::default() };
    let network = std::sync::Arc::new(build::leaf_spine(&spec).unwrap());
    let hosts: Vec<NodeId> = network.hosts().collect();
    let pairs: Vec<(NodeId, NodeId)> = (0..8).map(|index| (hosts[index], hosts[8 + index])).collect();
    let mut scenario = Scenario::new("spine", network.clone(), Time::from_millis(1_000));
    scenario.transport = short_timeouts(Congestion::dctcp());
    scenario.traffic = vec![once("f", &pairs, 5_000_000)];
    let spine = network.find_node("spine1").unwrap();
    scenario.outages =
        vec![Outage { at: Time::from_millis(2), what: Element::Switch(spine), change: ElementChange::Fails }];
    let outcome = run(&scenario, 1);
    assert_complete(&outcome, 0, 8, 5_000_000, "over one spine");
    // 2 ms at 10 Gbit/s are 2.5 MB; what 40 MB need beyond went over the other spine.
    for leaf in 1..=2 {
        let name = if leaf == 1 { "leaf1->spine1" } else { "spine1->leaf2" };
        let sent = outcome.links[network.find_link(name).unwrap().index()].sent.get();
        assert!(sent < 3_500_000, "{name} carried {sent} B");
    }
}

/// Catches distances that are not recomputed: in a triangle of switches the direct path fails, a longer one takes
/// over, and the direct one is used again after its repair.
#[test]
fn a_longer_path_is_used_while_the_short_one_is_down() {
    let mut cables = Cables::new();
    let switches = [cables.switch("s1"), cables.switch("s2"), cables.switch("s3")];
    let rate = Rate::from_gbit(1);
    let direct = cables.join(switches[0], switches[1], rate, 1_000);
    let first = cables.join(switches[0], switches[2], rate, 1_000);
    let second = cables.join(switches[2], switches[1], rate, 1_000);
    let hosts = [cables.host("h1"), cables.host("h2")];
    cables.join(hosts[0], switches[0], rate, 1_000);
    cables.join(hosts[1], switches[1], rate, 1_000);
    let mut scenario = Scenario::new("triangle", cables.build(), Time::from_millis(60));
    scenario.transport = short_timeouts(Congestion::fixed_window(20));
    scenario.traffic = vec![listed("f", &[(0, hosts[0], hosts[1], 3_000_000)])];
    for (at, change) in [(5, ElementChange::Fails), (15, ElementChange::Works)] {
        for link in [direct.0, direct.1] {
            scenario.outages.push(Outage { at: Time::from_millis(at), what: Element::Link(link), change });
        }
    }
    let outcome = run(&scenario, 1);
    assert_complete(&outcome, 0, 1, 3_000_000, "triangle");
    // 10 ms of 125 B/us on the long path, except for the time-out that detects the failure; everything else on the
    // short one.
    let sent = |link: LinkId| outcome.links[link.index()].sent.get();
    let long = sent(first.0);
    assert_eq!(long, sent(second.0));
    assert!((1_050_000..=1_260_000).contains(&long), "{long} B on the long way");
    // 2,055 segments of 1,538 B, and a window that is retransmitted.
    assert!((3_160_000..=3_230_000).contains(&(long + sent(direct.0))), "{} B directly", sent(direct.0));
}

/// Catches packets on a failed link that are delivered nevertheless, or are not counted. Ten frames of 1 us leave one
/// after the other on a cable of 100 us. When it fails at 104.5 us, four have arrived and six are on it.
#[test]
fn packets_on_a_failed_link_are_lost_and_counted() {
    for discipline in [Discipline::Fifo, Discipline::StrictPriority] {
        let star = star(&[Rate::from_gbit(10), Rate::from_gbit(10)], 100_000);
        let mut scenario = Scenario::new("cut", star.network.clone(), Time::from_millis(1));
        scenario.hosts = ports(discipline.clone(), Buffering::Unlimited);
        scenario.traffic = vec![burst("b", star.hosts[0], star.hosts[1], 1_250, 10, 0)];
        let at = Time::from_nanos(104_500);
        scenario.outages = vec![Outage { at, what: Element::Link(star.up[0]), change: ElementChange::Fails }];
        let outcome = run(&scenario, 1);
        let flow = flow(&outcome, 0);
        assert_eq!((flow.sent, flow.delivered, flow.drops), (10, 4, 6), "{discipline:?}");
    }
}

/// Conservation: every sent packet was delivered or lost, when nothing is in flight any more; through overload, five
/// kinds of ports, and a link that fails and is repaired.
#[test]
fn every_datagram_is_delivered_or_counted_as_lost() {
    let star = star(&[Rate::from_gbit(1); 9], 2_000);
    let weights = vec![1; 8];
    let all = [
        Discipline::Fifo,
        Discipline::StrictPriority,
        Discipline::StrictOverWeighted { strict: 3, weights: weights[3..].to_vec() },
        Discipline::DeficitRoundRobin { weights },
        Discipline::SmallestRemainingFirst,
    ];
    let buffers =
        [Buffering::EachQueue(Bytes::new(8_000)), Buffering::Shared { total: Bytes::new(60_000), alpha: 0.5 }];
    for (discipline, buffering) in all.iter().flat_map(|discipline| buffers.map(|buffer| (discipline, buffer))) {
        let mut scenario = Scenario::new("conservation", star.network.clone(), Time::from_millis(100));
        scenario.switches = ports(discipline.clone(), buffering);
        for (index, &from) in star.hosts[..8].iter().enumerate() {
            let kind = match index % 3 {
                0 => PacketKind::Poisson { rate: Rate::from_mbit(200) },
                1 => PacketKind::ConstantRate { rate: Rate::from_mbit(250) },
                _ => PacketKind::OnOff(wayleave_scenarios::OnOff {
                    rate: Rate::from_mbit(900),
                    on: Time::from_micros(300),
                    off: Time::from_micros(700),
                }),
            };
            let ends = FlowEndpoints::Pairs(vec![(from, star.hosts[8])]);
            let mut traffic = Traffic::packets(&format!("t{index}"), ends, kind, Bytes::new(200 + 150 * index as u64));
            traffic.queue = Some(index as u8);
            traffic.stop = Some(Time::from_millis(50));
            scenario.traffic.push(traffic);
        }
        for (at, change) in [(20, ElementChange::Fails), (25, ElementChange::Works)] {
            let what = Element::Link(star.down[8]);
            scenario.outages.push(Outage { at: Time::from_millis(at), what, change });
        }
        let outcome = run(&scenario, 1);
        for flow in &outcome.flows {
            let what = format!("{discipline:?}, {buffering:?}, traffic {}", flow.traffic);
            assert_eq!(flow.sent, flow.delivered + flow.drops, "{what}");
            assert!(flow.drops > 0 && flow.delivered > 0, "{what}: {} of {}", flow.delivered, flow.sent);
        }
    }
}

/// Catches a window that is not kept: a port that never overflows sees exactly the window.
#[test]
fn a_fixed_window_is_the_data_in_flight() {
    let star = star(&[Rate::from_gbit(10), Rate::from_gbit(1)], 0);
    let mut scenario = Scenario::new("window", star.network.clone(), Time::from_millis(50));
    scenario.switches = ports(Discipline::StrictPriority, Buffering::Unlimited);
    scenario.transport = fixed_window(33);
    scenario.traffic = vec![listed("f", &[(0, star.hosts[0], star.hosts[1], 3_000_000)])];
    let outcome = run(&scenario, 1);
    assert_complete(&outcome, 0, 1, 3_000_000, "window");
    // 33 leave the host within 41 us, while three of them leave the port, one of which is acknowledged after 16 us
    // and replaced. In the end one is being acknowledged and sent, the others are queued.
    let peak = crate::truth::networks::queue(&outcome, star.down[1], 0).peak.get();
    assert!((31 * 1_538..=33 * 1_538).contains(&peak), "{} packets", peak as f64 / 1_538.0);
    assert_eq!((flow(&outcome, 0).again, flow(&outcome, 0).timeouts), (0, 0));
}
