//! Machines that exchange maximum sending rates, and brokers above them: the resulting shares.

use std::sync::Arc;
use wayleave_contracts::{Bandwidth, PerDirection, Policy, PolicyLevel, ServiceSpec};
use wayleave_scenarios::{
    BrokerAt, Buffering, Discipline, Ecn, ElasticSwitch, Eyeq, FabricBrokerAt, FlowEndpoints, HostSchemeConfig,
    PacketKind, Parley, Scenario, Sharing, SharingChange, SharingEvent, StaticLimits, Traffic,
};
use wayleave_sim::{Outcome, RackShare};
use wayleave_topology::builders::{Cabling, LeafSpine, build};
use wayleave_topology::{Network, NodeId};
use wayleave_units::{Bytes, Rate, Time};

use crate::truth::limiters::services;
use crate::truth::networks::{FRAME, endless, ports, run, star};

const LINE: Rate = Rate::from_gbit(10);

/// A source that sends more than it may.
fn flood(name: &str, service: &str, from: NodeId, to: NodeId, rate: Rate) -> Traffic {
    let ends = FlowEndpoints::Pairs(vec![(from, to)]);
    let mut traffic = Traffic::packets(name, ends, PacketKind::ConstantRate { rate }, Bytes::new(FRAME));
    traffic.service = Some(service.to_owned());
    traffic
}

/// Returns the rate of a traffic since the warm-up, in bit/s.
fn rate_of(outcome: &Outcome, flow: usize) -> f64 {
    outcome.flows[flow].delivered_bytes.bits() as f64 * 1e9 / outcome.counted.as_nanos() as f64
}

/// Catches: feedback that reaches the wrong pair, or meters that miss packets.
#[test]
fn a_receiver_with_eyeq_limits_all_senders_to_nine_tenths_of_its_line() {
    for senders in [2, 5, 9] {
        let star = star(&vec![LINE; senders + 1], 1_000);
        let mut scenario = Scenario::new("eyeq", star.network.clone(), Time::from_millis(60));
        scenario.warmup = Time::from_millis(20);
        scenario.switches = ports(Discipline::Fifo, Buffering::EachQueue(Bytes::new(500_000)));
        let machine = services(&star.network, &[("a", None)]);
        scenario.sharing = Some(Sharing::new(HostSchemeConfig::Eyeq(Eyeq::default()), machine));
        scenario.traffic =
            (1..=senders).map(|at| flood(&format!("{at}"), "a", star.hosts[at], star.hosts[0], LINE)).collect();
        let outcome = run(&scenario, 1);
        let rates: Vec<f64> = (0..senders).map(|flow| rate_of(&outcome, flow)).collect();
        // Of a flow, what was sent before the warm-up was over and waited for tokens is not counted; here it is.
        let received = outcome.sharing.as_ref().unwrap().service("a").unwrap().machines[0].received;
        let all = received.bits() as f64 / 0.04;
        assert!((all / 9e9 - 1.0).abs() < 0.005, "{senders} senders: {all}");
        let fair = rates.iter().sum::<f64>() / senders as f64;
        assert!(rates.iter().all(|rate| (rate / fair - 1.0).abs() < 0.02), "{rates:?}");
        let messages = outcome.sharing.as_ref().unwrap().messages;
        // One for every 10 kB, 84 B each.
        assert!((messages.sent as f64 / (received.get() as f64 / 10_000.0) - 1.0).abs() < 0.15, "{messages:?}");
        assert_eq!(messages.bytes, Bytes::new(84 * messages.sent));
    }
}

/// Catches: classes that are mixed up between both ends.
#[test]
fn services_share_a_receiver_by_weight_under_eyeq() {
    let star = star(&[LINE; 3], 1_000);
    let mut scenario = Scenario::new("weights", star.network.clone(), Time::from_millis(60));
    scenario.warmup = Time::from_millis(20);
    let weighted = |name: &str, port: usize, weight: u32| ServiceSpec {
        bandwidth: PerDirection {
            receive: Bandwidth { weight: std::num::NonZeroU32::new(weight), ..Bandwidth::default() },
            ..PerDirection::default()
        },
        ..services(&star.network, &[(name, None), ("x", None)]).services()[port].clone()
    };
    let list = vec![weighted("a", 0, 1), ServiceSpec { name: "b".to_owned(), ..weighted("a", 1, 2) }];
    let machine = Policy::new(&star.network, "machines", PolicyLevel::Machine, Vec::new(), None, list).unwrap();
    scenario.sharing = Some(Sharing::new(HostSchemeConfig::Eyeq(Eyeq::default()), machine));
    scenario.traffic =
        vec![flood("a", "a", star.hosts[1], star.hosts[0], LINE), flood("b", "b", star.hosts[2], star.hosts[0], LINE)];
    let outcome = run(&scenario, 1);
    let [a, b] = [0, 1].map(|flow| rate_of(&outcome, flow));
    assert!((a / 3e9 - 1.0).abs() < 0.02 && (b / 6e9 - 1.0).abs() < 0.02, "{a} and {b}");
}

/// Catches: marks for the machines that make a transport slow down.
#[test]
fn a_transport_without_ecn_is_not_affected_by_marks() {
    let packets = |ecn: Option<Ecn>| {
        let star = star(&[LINE; 3], 1_000);
        let mut scenario = Scenario::new("marks", star.network.clone(), Time::from_millis(20));
        scenario.switches.ecn = ecn.into();
        let machine = services(&star.network, &[("a", None)]);
        scenario.sharing = Some(Sharing::new(HostSchemeConfig::StaticLimits(StaticLimits::default()), machine));
        let flow = |name: &str, from: usize| {
            let mut traffic = endless(name, star.hosts[from], star.hosts[0]);
            traffic.service = Some("a".to_owned());
            traffic
        };
        scenario.traffic = vec![flow("one", 1), flow("other", 2)];
        let outcome = run(&scenario, 1);
        let of = |flow: &wayleave_sim::FlowOutcome| (flow.sent, flow.delivered, flow.drops, flow.marked);
        outcome.flows.iter().map(of).collect::<Vec<_>>()
    };
    let (plain, marked) = (packets(None), packets(Some(Ecn::above(Bytes::new(10_000)))));
    assert!(marked.iter().all(|flow| flow.3 > 1_000), "{marked:?}");
    let without =
        |flows: Vec<(u64, u64, u64, u64)>| flows.into_iter().map(|(a, b, c, _)| (a, b, c)).collect::<Vec<_>>();
    assert_eq!(without(plain), without(marked));
}

/// Three racks of two hosts; the uplinks of each carry 20 Gbit/s.
fn racks() -> (Arc<Network>, Vec<NodeId>) {
    let cabling = Cabling { rate: LINE, propagation: Time::from_micros(1), ..Cabling::default() };
    let spec = LeafSpine { leaves: 3, spines: 2, hosts_per_leaf: 2, cabling, ..LeafSpine::default() };
    let network = Arc::new(build::leaf_spine(&spec).unwrap());
    let hosts = network.hosts().collect();
    (network, hosts)
}

/// Returns a policy of services a and b, with these maxima of the traffic of a from a rack or from the fabric.
fn at_level(network: &Network, level: PolicyLevel, max: Rate) -> Policy {
    let mut list = services(network, &[("a", Some(max)), ("b", None)]).services().to_vec();
    list[0].bandwidth.receive = Bandwidth::default();
    Policy::new(network, level.name(), level, Vec::new(), None, list).unwrap()
}

/// Parley with brokers that work every 10 ms, 100 times as often as in Table 1.
fn parley(network: &Arc<Network>, milliseconds: u64) -> Scenario {
    let mut scenario = Scenario::new("parley", network.clone(), Time::from_millis(milliseconds));
    let settings = Parley { rack_interval: Time::from_millis(10), ..Parley::default() };
    let machine = services(network, &[("a", None), ("b", None)]);
    let sharing = Sharing::new(HostSchemeConfig::Parley(settings), machine);
    scenario.record.series = Some(Time::from_millis(10));
    scenario.sharing = Some(sharing);
    scenario
}

fn rack<'a>(outcome: &'a Outcome, service: &str, rack: usize) -> &'a RackShare {
    &outcome.sharing.as_ref().unwrap().service(service).unwrap().racks[rack]
}

/// Returns the rate at which a rack sent for a service between two times in ms, in Gbit/s.
fn sent(outcome: &Outcome, service: &str, of: usize, from: u64, to: u64) -> f64 {
    let bins = rack(outcome, service, of).transmit.as_ref().unwrap().bins(outcome.simulated.as_nanos() * 1_000);
    let of: u64 = bins
        .filter(|bin| bin.start_ps >= from * 1_000_000_000 && bin.end_ps <= to * 1_000_000_000)
        .map(|bin| bin.amount)
        .sum();
    of as f64 * 8.0 / ((to - from) as f64 * 1e6)
}

/// Catches: brokers that receive no messages of one another, limits that reach no limiter, broker messages that are
/// not counted.
#[test]
fn a_rack_policy_applies_to_all_machines_of_a_rack_together() {
    let (network, hosts) = racks();
    let mut scenario = parley(&network, 200);
    let sharing = scenario.sharing.as_mut().unwrap();
    sharing.rack = Some(at_level(&network, PolicyLevel::Rack, Rate::from_gbit(4)));
    let four = Rate::from_gbit(4);
    scenario.traffic = vec![
        flood("one", "a", hosts[0], hosts[2], four),
        flood("other", "a", hosts[1], hosts[4], four),
        flood("b", "b", hosts[1], hosts[5], Rate::from_gbit(2)),
    ];
    let outcome = run(&scenario, 1);
    assert!(sent(&outcome, "a", 0, 0, 10) > 7.5, "nobody limits before the first round");
    let settled = sent(&outcome, "a", 0, 50, 200);
    assert!((settled / 4.0 - 1.0).abs() < 0.01, "{settled} Gbit/s");
    assert!((sent(&outcome, "b", 0, 50, 200) / 2.0 - 1.0).abs() < 0.01);
    assert!(outcome.sharing.as_ref().unwrap().messages.bytes.get() > 84);
}

/// Catches: limits that stay without renewal, and brokers that do not come back.
#[test]
fn without_its_broker_a_machine_falls_back_until_the_broker_returns() {
    let (network, hosts) = racks();
    let mut scenario = parley(&network, 400);
    let sharing = scenario.sharing.as_mut().unwrap();
    sharing.rack = Some(at_level(&network, PolicyLevel::Rack, Rate::from_gbit(2)));
    let event = |at, what| SharingEvent { at: Time::from_millis(at), what };
    sharing.events = vec![
        event(100, SharingChange::Stops(BrokerAt::Machine(hosts[0]))),
        event(250, SharingChange::Starts(BrokerAt::Machine(hosts[0]))),
    ];
    scenario.traffic = vec![flood("one", "a", hosts[0], hosts[2], Rate::from_gbit(6))];
    let outcome = run(&scenario, 1);
    let settled = |from, to| sent(&outcome, "a", 0, from, to);
    assert!((settled(60, 140) / 2.0 - 1.0).abs() < 0.01, "the last word holds for 50 ms: {}", settled(60, 140));
    assert!(
        (settled(180, 250) / 6.0 - 1.0).abs() < 0.01,
        "the machine's own policy has no maximum: {}",
        settled(180, 250)
    );
    assert!((settled(310, 400) / 2.0 - 1.0).abs() < 0.01, "the broker is back: {}", settled(310, 400));
}

/// Catches: a fabric broker that is not asked, and terms that never change.
#[test]
fn a_fabric_policy_applies_to_all_racks_and_can_change() {
    let (network, hosts) = racks();
    for place in [FabricBrokerAt::default(), FabricBrokerAt::Host(hosts[5])] {
        let mut scenario = parley(&network, 1_000);
        let sharing = scenario.sharing.as_mut().unwrap();
        if let HostSchemeConfig::Parley(settings) = &mut sharing.scheme {
            settings.fabric_broker = place;
        }
        sharing.fabric = Some(at_level(&network, PolicyLevel::Fabric, Rate::from_gbit(2)));
        let other = at_level(&network, PolicyLevel::Fabric, Rate::from_gbit(5));
        let what = SharingChange::Policy(Box::new(other));
        sharing.events = vec![SharingEvent { at: Time::from_millis(500), what }];
        let four = Rate::from_gbit(4);
        scenario.traffic =
            vec![flood("one", "a", hosts[0], hosts[2], four), flood("other", "a", hosts[2], hosts[4], four)];
        let outcome = run(&scenario, 1);
        let both = |from, to| sent(&outcome, "a", 0, from, to) + sent(&outcome, "a", 1, from, to);
        assert!((both(300, 500) / 2.0 - 1.0).abs() < 0.02, "{place:?}: {} Gbit/s", both(300, 500));
        assert!((both(800, 1_000) / 5.0 - 1.0).abs() < 0.02, "{place:?}: {} Gbit/s after the change", both(800, 1_000));
    }
}

/// Catches: faults that are not drawn, or drawn without the seed.
#[test]
fn a_rack_settles_despite_lost_and_late_broker_messages() {
    let (network, hosts) = racks();
    let mut scenario = parley(&network, 300);
    let sharing = scenario.sharing.as_mut().unwrap();
    sharing.rack = Some(at_level(&network, PolicyLevel::Rack, Rate::from_gbit(4)));
    sharing.faults.loss = 0.3;
    sharing.faults.duplicate = 0.3;
    sharing.faults.delay = Time::from_millis(15);
    let four = Rate::from_gbit(4);
    scenario.traffic = vec![flood("one", "a", hosts[0], hosts[2], four), flood("other", "a", hosts[1], hosts[4], four)];
    let (first, again, other) = (run(&scenario, 1), run(&scenario, 1), run(&scenario, 2));
    let settled = sent(&first, "a", 0, 100, 300);
    assert!((settled / 4.0 - 1.0).abs() < 0.02, "{settled} Gbit/s");
    let messages = |outcome: &Outcome| outcome.sharing.as_ref().unwrap().messages;
    assert_eq!(messages(&first), messages(&again));
    assert_ne!(messages(&first), messages(&other));
    // Feedback of pairs has no such faults; 30 rounds of six brokers do.
    let lost = messages(&first).lost;
    assert!((30..200).contains(&lost), "{lost} lost");
}

/// Catches: messages of pairs that reach the wrong end, demands and losses that are not reported.
#[test]
fn under_elasticswitch_guarantees_hold_and_spare_capacity_is_used() {
    let star = star(&[LINE; 6], 1_000);
    let guaranteed = |name: &str, port: u16, min| ServiceSpec {
        bandwidth: PerDirection {
            transmit: Bandwidth { min: Some(min), ..Bandwidth::default() },
            receive: Bandwidth { min: Some(min), ..Bandwidth::default() },
        },
        name: name.to_owned(),
        ..services(&star.network, &[("x", None), ("y", None)]).services()[usize::from(port)].clone()
    };
    let list = vec![guaranteed("a", 0, Rate::from_gbit(5)), guaranteed("b", 1, Rate::from_gbit(2))];
    let machine = Policy::new(&star.network, "machines", PolicyLevel::Machine, Vec::new(), None, list).unwrap();
    let mut scenario = Scenario::new("elastic", star.network.clone(), Time::from_millis(1_500));
    scenario.warmup = Time::from_millis(750);
    scenario.switches = ports(Discipline::Fifo, Buffering::EachQueue(Bytes::new(500_000)));
    scenario.switches.ecn = Ecn::above(Bytes::new(80_000)).into();
    scenario.sharing = Some(Sharing::new(HostSchemeConfig::ElasticSwitch(ElasticSwitch::default()), machine));
    // One of a against four of b, into one host.
    scenario.traffic = (1..6)
        .map(|at| {
            let mut traffic = endless(&format!("{at}"), star.hosts[at], star.hosts[0]);
            traffic.service = Some(if at == 1 { "a" } else { "b" }.to_owned());
            traffic
        })
        .collect();
    let outcome = run(&scenario, 1);
    let received = |service: &str| {
        let machine = &outcome.sharing.as_ref().unwrap().service(service).unwrap().machines[0];
        machine.received.bits() as f64 / 0.75 / 1e9
    };
    let (a, b) = (received("a"), received("b"));
    assert!(a > 4.9 && b > 1.9, "{a} and {b} Gbit/s");
    assert!(a + b > 8.0, "{a} and {b} Gbit/s");
}
