//! Clove on two paths: its choice if they are unequal, and the order of packets.

use std::sync::Arc;

use wayleave_scenarios::{
    Buffering, Congestion, Ecn, FlowArrivals, FlowEndpoints, FlowSizes, HostSchemeConfig, Routing, Scenario, Schedule,
    Sharing, StaticLimits, Traffic, TransportConfig,
};
use wayleave_schemes::path::clove::{FlowletChoice, Params};
use wayleave_sim::Outcome;
use wayleave_topology::{LinkId, Network, NodeId};
use wayleave_units::{Bytes, Rate, Time};

use super::limiters::services;
use super::networks::{Cables, endless, flow, highest, once, run};

/// Two leaves with four hosts each and two spines: everything has 10 Gbit/s, but what joins the second spine.
struct Lopsided {
    network: Arc<Network>,
    left: Vec<NodeId>,
    right: Vec<NodeId>,
    /// From the first leaf to each spine.
    up: Vec<LinkId>,
}

fn lopsided(second: Rate) -> Lopsided {
    let line = Rate::from_gbit(10);
    let mut cables = Cables::new();
    let leaves = ["l0", "l1"].map(|name| cables.switch(name));
    let mut up = Vec::new();
    for (name, rate) in [("s0", line), ("s1", second)] {
        let spine = cables.switch(name);
        up.push(cables.join(leaves[0], spine, rate, 1_000).0);
        cables.join(spine, leaves[1], rate, 1_000);
    }
    let mut hosts = |name: &str, leaf| {
        let mut host = |number| {
            let host = cables.host(&format!("{name}{number}"));
            cables.join(host, leaf, line, 1_000);
            host
        };
        (0..4).map(&mut host).collect::<Vec<_>>()
    };
    let (left, right) = (hosts("a", leaves[0]), hosts("b", leaves[1]));
    Lopsided { network: cables.build(), left, right, up }
}

/// A scenario whose hosts have one service without limits, so that there are pairs.
fn scenario(network: &Arc<Network>, routing: Routing, milliseconds: u64) -> Scenario {
    let mut scenario = Scenario::new("lopsided", network.clone(), Time::from_millis(milliseconds));
    scenario.routing = routing;
    scenario.switches.buffering = Buffering::Unlimited;
    scenario.switches.ecn = Ecn::above(Bytes::new(100_000)).into();
    let limits = HostSchemeConfig::StaticLimits(StaticLimits::default());
    scenario.sharing = Some(Sharing::new(limits, services(network, &[("a", None)])));
    scenario
}

fn clove(params: Params) -> Routing {
    Routing::Clove(params)
}

/// Mean and 99th percentile of completion times, in us, of web-search flows that want 8 of 14 Gbit/s.
fn completions(routing: Routing, seed: u64) -> [f64; 2] {
    let net = lopsided(Rate::from_gbit(4));
    let mut scenario = scenario(&net.network, routing, 400);
    scenario.transport = TransportConfig { congestion: Congestion::dctcp(), ..TransportConfig::default() };
    scenario.warmup = Time::from_millis(20);
    let sizes = FlowSizes::published("web-search").unwrap();
    let ends = FlowEndpoints::Random(net.left.clone(), net.right.clone());
    let mut flows = highest(Traffic::flows("flows", ends, FlowArrivals::Load(0.2), sizes));
    flows.service = Some("a".to_owned());
    flows.stop = Some(Time::from_millis(350));
    scenario.traffic = vec![flows];
    let outcome = run(&scenario, seed);
    let times = outcome.traffic[0].completions.times();
    [times.mean().unwrap() / 1e6, times.percentile(99.0).unwrap() as f64 / 1e6]
}

/// Catches: reports that never reach the path scheme, or are taken for another path's. Half of the hashed flows take
/// a link of 4 Gbit/s, whose load is 1.
#[test]
fn clove_uses_unequal_paths_better_than_hashing() {
    let mean = |routing: Routing| {
        let runs: Vec<[f64; 2]> = (1..=3).map(|seed| completions(routing.clone(), seed)).collect();
        let sum = runs.iter().fold([0.0; 2], |sum, run| [sum[0] + run[0], sum[1] + run[1]]);
        sum.map(|sum| sum / 3.0)
    };
    let hashed = mean(Routing::ecmp());
    let by_marks = mean(clove(Params { path_metric: FlowletChoice::Marks, ..Params::default() }));
    let by_use = mean(clove(Params::default()));
    println!("mean and 99th percentile in us: hashed {hashed:.0?}, marks {by_marks:.0?}, utilisation {by_use:.0?}");
    for (name, measured) in [("marks", by_marks), ("utilisation", by_use)] {
        assert!(measured[0] < 0.7 * hashed[0], "{name}: mean {} us, hashed {} us", measured[0], hashed[0]);
        assert!(measured[1] < 0.7 * hashed[1], "{name}: tail {} us, hashed {} us", measured[1], hashed[1]);
    }
}

/// Four flows without end that pause, over paths whose delays differ by less than 200 us: Swift keeps queues below that.
fn paused(gap: Time) -> (Lopsided, Outcome) {
    let net = lopsided(Rate::from_gbit(4));
    let mut scenario = scenario(&net.network, clove(Params { flowlet_gap: gap, ..Params::default() }), 100);
    scenario.transport = TransportConfig { congestion: Congestion::swift(), ..TransportConfig::default() };
    let pair = |at: usize| {
        let mut flow = endless(&format!("f{at}"), net.left[at], net.right[at]);
        flow.service = Some("a".to_owned());
        let (on, off) = (Time::from_millis(1), Time::from_micros(500));
        flow.active = Some(Schedule::periodic(Time::from_micros(400 * at as u64), on, off));
        flow
    };
    scenario.traffic = (0..4).map(pair).collect();
    let outcome = run(&scenario, 1);
    (net, outcome)
}

/// Catches: packets of one flowlet on two paths. A gap that is shorter than the difference of the paths shows that the test
/// would see it.
#[test]
fn packets_are_not_reordered_within_a_flowlet() {
    let again =
        |outcome: &Outcome| (0..4).map(|at| flow(outcome, at).again + flow(outcome, at).duplicates).sum::<u64>();
    let (net, outcome) = paused(Time::from_micros(200));
    assert_eq!(again(&outcome), 0);
    let used: Vec<u64> = net.up.iter().map(|link| outcome.links[link.index()].sent.get()).collect();
    assert!(used.iter().all(|&bytes| bytes > 1_000_000), "both paths are used: {used:?}");
    let (_, hasty) = paused(Time::from_nanos(1));
    assert!(again(&hasty) > 0);
}

/// Returns the number of runs, out of ten, in which two backlogged pairs end up on different paths of two equal ones.
/// The second pair begins 10 ms after the first; one packet has opened it before.
fn apart(probe: Time) -> usize {
    let is_apart = |&seed: &u64| {
        let net = lopsided(Rate::from_gbit(10));
        let mut scenario = scenario(&net.network, clove(Params { probe_interval: probe, ..Params::default() }), 30);
        scenario.transport = TransportConfig { congestion: Congestion::swift(), ..TransportConfig::default() };
        scenario.warmup = Time::from_millis(15);
        let ends = |at: usize| (net.left[at], net.right[at]);
        for at in 0..2 {
            let mut flow = endless(&format!("f{at}"), ends(at).0, ends(at).1);
            flow.start = Time::from_millis(10 * at as u64);
            scenario.traffic.push(flow);
        }
        scenario.traffic.push(once("opens", &[ends(1)], 100));
        scenario.traffic.iter_mut().for_each(|traffic| traffic.service = Some("a".to_owned()));
        let outcome = run(&scenario, seed);
        net.up.iter().all(|link| outcome.links[link.index()].utilisation > 0.9)
    };
    (1..=10).filter(is_apart).count()
}

/// Catches: probes that are never sent, return to no pair, or are taken for another path's. Without probes a pair
/// knows nothing of the path that it does not use, and draws.
#[test]
fn an_open_pair_knows_its_unused_path() {
    assert_eq!(apart(Params::default().probe_interval), 10);
    let drawn = apart(Time::ZERO);
    assert!((1..=9).contains(&drawn), "{drawn}");
}
