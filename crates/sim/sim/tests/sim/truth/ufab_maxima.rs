//! uFAB's maxima in the simulator: at each member of a hose, in both directions, for every number of members.

use std::collections::BTreeMap;
use std::num::NonZeroU32;
use std::sync::Arc;

use wayleave_contracts::{Bandwidth, Match, PerDirection, Policy, PolicyLevel, Protocol, ServiceSpec};
use wayleave_repo_checks::Random;
use wayleave_scenarios::{
    Buffering, Element, ElementChange, FlowEndpoints, HostSchemeConfig, Outage, PacketKind, Scenario, Schedule,
    Sharing, Traffic,
};
use wayleave_schemes::host::ufab::{ExcessSharing, Settings};
use wayleave_sim::Outcome;
use wayleave_topology::{Network, NodeId};
use wayleave_units::{Bytes, Rate, Time};

use super::networks::{Cables, assert_near, endless, fixed_window, run, star};
use super::ufab_watched::{Event, What, watch};

const LINE: Rate = Rate::from_gbit(10);

/// The tolerance of `verify` above a maximum (`TURNS` in `crates/check/adversary/src/classes.rs`), per cent.
const TURNS: f64 = 5.0;

/// The least part of a maximum that is used where nothing else limits, per cent.
const USED: f64 = 90.0;

/// Traffic of a hose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Pattern {
    AllToOne,
    OneToAll,
    AllToAll,
}

const PATTERNS: [Pattern; 3] = [Pattern::AllToOne, Pattern::OneToAll, Pattern::AllToAll];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Shape {
    Star,
    LeafSpine,
    FatTree,
}

/// Terms of a hose, in Mbit/s.
#[derive(Clone, Copy, Debug)]
struct Terms {
    min: u64,
    max: u64,
}

/// The settings of bandwidth contracts.
fn contracts() -> Settings {
    Settings { excess_sharing: ExcessSharing::Weights, ..Settings::beside_other_classes() }
}

/// A network with at least 32 hosts, all links of 10 Gbit/s. Consecutive hosts are below different switches.
fn build(shape: Shape) -> (Arc<Network>, Vec<NodeId>) {
    const DELAY: u64 = 2_000;
    let mut cables = Cables::new();
    let mut edges = Vec::new();
    let per_edge = match shape {
        Shape::Star => {
            let star = star(&[LINE; 32], 5_000);
            return (star.network, star.hosts);
        }
        Shape::LeafSpine => {
            let spines = [0, 1, 2, 3].map(|at| cables.switch(&format!("spine{at}")));
            for leaf in 0..8 {
                edges.push(cables.switch(&format!("leaf{leaf}")));
                spines.iter().for_each(|&spine| _ = cables.join(edges[leaf], spine, LINE, DELAY));
            }
            4
        }
        Shape::FatTree => {
            let cores: Vec<NodeId> = (0..9).map(|at| cables.switch(&format!("core{at}"))).collect();
            for pod in 0..6 {
                let above: Vec<NodeId> = (0..3).map(|at| cables.switch(&format!("agg{pod}.{at}"))).collect();
                for (at, &switch) in above.iter().enumerate() {
                    cores[3 * at..3 * at + 3].iter().for_each(|&core| _ = cables.join(switch, core, LINE, DELAY));
                }
                for edge in 0..3 {
                    let edge = cables.switch(&format!("edge{pod}.{edge}"));
                    above.iter().for_each(|&switch| _ = cables.join(edge, switch, LINE, DELAY));
                    edges.push(edge);
                }
            }
            2
        }
    };
    let mut hosts = Vec::new();
    for round in 0..per_edge {
        for (at, &edge) in edges.iter().enumerate() {
            let host = cables.host(&format!("h{at}.{round}"));
            cables.join(host, edge, LINE, DELAY);
            hosts.push(host);
        }
    }
    (cables.build(), hosts)
}

/// Services a0, a1 and so on, each with the same terms at all of its members.
fn hoses(network: &Network, hoses: &[(Terms, Vec<NodeId>)]) -> Policy {
    let service = |(index, (terms, members)): (usize, &(Terms, Vec<NodeId>))| {
        let (min, max) = (Some(Rate::from_mbit(terms.min)), Some(Rate::from_mbit(terms.max)));
        let bandwidth = Bandwidth { min, max, ..Bandwidth::default() };
        let destination_port = std::num::NonZeroU16::new(index as u16 + 1);
        let filter = Match { protocol: Some(Protocol::TCP), destination_port, ..Match::default() };
        ServiceSpec {
            name: format!("a{index}"),
            filter: Some(filter),
            endpoints: members.clone(),
            bandwidth: PerDirection { transmit: bandwidth, receive: bandwidth },
            ..ServiceSpec::default()
        }
    };
    let services = hoses.iter().enumerate().map(service).collect();
    Policy::new(network, "hoses", PolicyLevel::Machine, Vec::new(), None, services).unwrap()
}

fn pairs(pattern: Pattern, members: &[NodeId]) -> Vec<(NodeId, NodeId)> {
    let all = members.iter().flat_map(|&from| members.iter().map(move |&to| (from, to)));
    all.filter(|&(from, to)| match pattern {
        Pattern::AllToOne => to == members[0],
        Pattern::OneToAll => from == members[0],
        Pattern::AllToAll => true,
    })
    .filter(|(from, to)| from != to)
    .collect()
}

/// Endless flows of hose `hose` between these hosts.
fn send(scenario: &mut Scenario, hose: usize, pairs: &[(NodeId, NodeId)]) {
    for (at, &(from, to)) in pairs.iter().enumerate() {
        let mut traffic = endless(&format!("a{hose}.{at}"), from, to);
        traffic.service = Some(format!("a{hose}"));
        scenario.traffic.push(traffic);
    }
}

/// A scenario of these hoses without traffic; rates are counted from `warmup` on.
fn scenario(network: &Arc<Network>, of: &[(Terms, Vec<NodeId>)], settings: Settings, millis: [u64; 2]) -> Scenario {
    let mut scenario = Scenario::new("maxima", network.clone(), Time::from_millis(millis[0] + millis[1]));
    scenario.record.promises = true;
    scenario.record.carried_from = Time::from_millis(millis[0]);
    scenario.switches.buffering = Buffering::Unlimited;
    scenario.transport = fixed_window(1_000);
    scenario.sharing = Some(Sharing::new(HostSchemeConfig::Ufab(settings), hoses(network, of)));
    scenario
}

/// Returns the sending and receiving rates of a member for a hose after the warm-up, in Mbit/s.
fn rates(scenario: &Scenario, outcome: &Outcome, hose: usize, member: NodeId) -> [f64; 2] {
    let nanos = outcome.simulated.saturating_sub(scenario.record.carried_from).as_nanos() as f64;
    let name = format!("a{hose}");
    let carried = &outcome.sharing.as_ref().unwrap().carried;
    let sum = |end: fn(&wayleave_sim::CarriedBytes) -> NodeId| {
        let of = carried.iter().filter(|path| path.service.as_ref() == Some(&name) && end(path) == member);
        of.map(|path| path.bytes.get()).sum::<u64>() as f64 * 8e3 / nanos
    };
    [sum(|path| path.from), sum(|path| path.to)]
}

/// The least and the largest part of its maximum that a member had that sent, or received, per cent.
fn extremes(shape: Shape, pattern: Pattern, count: usize, terms: Terms, settings: Settings) -> (f64, f64) {
    let (network, hosts) = build(shape);
    let members = hosts[..count].to_vec();
    // With windows below a packet a probe takes 4 kB of a small rate: a millisecond at 32 Mbit/s.
    let mut scenario = scenario(&network, &[(terms, members.clone())], settings, [8, 8]);
    let pairs = pairs(pattern, &members);
    send(&mut scenario, 0, &pairs);
    let outcome = run(&scenario, 1);
    let mut found: (f64, f64) = (f64::MAX, 0.0);
    for &member in &members {
        let [sent, received] = rates(&scenario, &outcome, 0, member).map(|rate| rate * 100.0 / terms.max as f64);
        // The rate is limited by the side that is at its maximum.
        match pattern {
            Pattern::AllToOne if member == members[0] => found.0 = found.0.min(received),
            Pattern::OneToAll if member == members[0] => found.0 = found.0.min(sent),
            Pattern::AllToAll => found.0 = found.0.min(sent).min(received),
            _ => {}
        }
        found.1 = found.1.max(sent).max(received);
    }
    found
}

/// The numbers of members. All to all takes most of the time, so it has them all on a star only; with `WAYLEAVE_UFAB` everywhere.
fn counts(shape: Shape, pattern: Pattern) -> Vec<usize> {
    let is_long = std::env::var_os("WAYLEAVE_UFAB").is_some();
    let step = if pattern == Pattern::AllToAll && shape != Shape::Star && !is_long { 10 } else { 1 };
    (2..=32).step_by(step).collect()
}

fn check(shape: Shape, patterns: &[Pattern], settings: &Settings) {
    let mut bad = Vec::new();
    for &pattern in patterns {
        for terms in [Terms { min: 200, max: 1_000 }, Terms { min: 1_000, max: 1_000 }] {
            let mut worst: (f64, f64) = (f64::MAX, 0.0);
            for count in counts(shape, pattern) {
                let (least, most) = extremes(shape, pattern, count, terms, settings.clone());
                worst = (worst.0.min(least), worst.1.max(most));
                if least < USED || most > 100.0 + TURNS {
                    bad.push(format!("{shape:?} {pattern:?} {count} members {terms:?}: {least:.1} to {most:.1} %"));
                }
            }
            println!("{shape:?} {pattern:?} {terms:?}: {:.2} to {:.2} % of the maximum", worst.0, worst.1);
        }
    }
    assert!(bad.is_empty(), "seed 1:\n{}", bad.join("\n"));
}

#[test]
fn members_of_a_star_get_exactly_their_maximum() {
    check(Shape::Star, &PATTERNS, &contracts());
}

#[test]
fn members_of_a_leaf_spine_get_exactly_their_maximum() {
    check(Shape::LeafSpine, &PATTERNS, &contracts());
}

#[test]
fn members_of_a_fat_tree_get_exactly_their_maximum() {
    check(Shape::FatTree, &PATTERNS, &contracts());
}

#[test]
fn members_without_initial_probes_get_exactly_their_maximum() {
    check(Shape::Star, &[Pattern::AllToOne, Pattern::OneToAll], &Settings::default());
}

/// Catches: limits that are divided anew too late. Twelve senders come and go in times of 30 us to 3 ms, one always sends, and a fifth of the probes is lost in some runs. One
/// sender becomes silent at 10 ms, since its cable fails. At no time do the limiters of all senders exceed the receiver's maximum, and it is used.
#[test]
fn limiters_never_exceed_a_maximum_while_senders_join_and_leave() {
    for (seed, loss) in [(1, 0.0), (2, 0.0), (3, 0.2), (4, 0.2)] {
        for terms in [Terms { min: 200, max: 1_000 }, Terms { min: 1_000, max: 1_000 }] {
            let star = star(&[LINE; 14], 5_000);
            let (receiver, senders) = (star.hosts[0], &star.hosts[1..]);
            let mut scenario = scenario(&star.network, &[(terms, star.hosts.clone())], contracts(), [4, 26]);
            scenario.sharing.as_mut().unwrap().faults.probe_loss = loss;
            let pairs: Vec<_> = senders.iter().map(|&from| (from, receiver)).collect();
            send(&mut scenario, 0, &pairs);
            let mut random = Random::new(seed);
            let mut time = || Time::from_micros([30, 3_000][random.below(2) as usize] + random.below(300));
            for traffic in &mut scenario.traffic[1..] {
                traffic.active = Some(Schedule::periodic(time(), time(), time()));
            }
            scenario.outages = vec![Outage {
                at: Time::from_millis(10),
                what: Element::Link(star.up[1 + 5]),
                change: ElementChange::FailsSilently,
            }];
            let (outcome, events) = watch(&scenario, seed);
            let (mut limits, mut most) = (BTreeMap::new(), 0);
            for event in events {
                if let What::Limit { from, to, rate } = event.what {
                    assert_eq!(to, receiver);
                    limits.insert(from, rate.unwrap().bits_per_second());
                    most = most.max(limits.values().sum::<u64>());
                }
            }
            let part = rates(&scenario, &outcome, 0, receiver)[1] * 100.0 / terms.max as f64;
            println!("seed {seed}, {loss} lost, {terms:?}: limiters up to {most} bit/s, {part:.1} % received");
            // A limiter lets through at least 1 bit/s.
            assert!(most <= terms.max * 1_000_000 + 13, "seed {seed}, {terms:?}: {most} bit/s");
            assert!(part <= 100.0 + TURNS, "seed {seed}, {terms:?}: {part} %");
            assert!(part >= 50.0, "seed {seed}, {terms:?}: {part} %");
        }
    }
}

/// Catches: a receiver that gives a pair a part which its sender has for others, and the reverse. Six receivers have one sender, which has one maximum; the first of them
/// has a second sender, which gets what the first cannot send.
#[test]
fn capacity_unused_by_one_end_is_used_by_other_pairs() {
    for terms in [Terms { min: 200, max: 1_000 }, Terms { min: 1_000, max: 1_000 }] {
        let (network, hosts) = build(Shape::LeafSpine);
        let mut scenario = scenario(&network, &[(terms, hosts[..8].to_vec())], contracts(), [8, 8]);
        let mut pairs: Vec<_> = (2..8).map(|to| (hosts[0], hosts[to])).collect();
        pairs.push((hosts[1], hosts[2]));
        send(&mut scenario, 0, &pairs);
        let outcome = run(&scenario, 1);
        let got = [hosts[0], hosts[1], hosts[2]].map(|host| rates(&scenario, &outcome, 0, host));
        println!("{terms:?}: {got:.1?}");
        assert_near(got[0][0], 1_000.0, 0.03, "all that the first sender may send");
        assert_near(got[2][1], 1_000.0, 0.03, "all that the receiver with two senders may receive");
        assert_near(got[1][0], 1_000.0 * 5.0 / 6.0, 0.03, "what the first sender leaves");
    }
}

/// Catches: an equal part that is kept for a sender which does not use it. One of three sends 100 of 2,000 Mbit/s; twice of that is kept for it, so that it can grow.
#[test]
fn a_sender_with_little_demand_leaves_the_rest_to_others() {
    let star = star(&[LINE; 4], 5_000);
    let terms = Terms { min: 100, max: 2_000 };
    let mut scenario = scenario(&star.network, &[(terms, star.hosts.clone())], contracts(), [8, 8]);
    send(
        &mut scenario,
        0,
        &[(star.hosts[1], star.hosts[0]), (star.hosts[2], star.hosts[0]), (star.hosts[3], star.hosts[0])],
    );
    let kind = PacketKind::ConstantRate { rate: Rate::from_mbit(100) };
    let mut little =
        Traffic::packets("little", FlowEndpoints::Pairs(vec![(star.hosts[1], star.hosts[0])]), kind, Bytes::new(1_000));
    (little.service, little.queue) = (Some("a0".to_owned()), Some(0));
    scenario.traffic[0] = little;
    let outcome = run(&scenario, 1);
    let got = star.hosts.iter().map(|&host| rates(&scenario, &outcome, 0, host)).collect::<Vec<_>>();
    println!("{got:.1?}");
    assert_near(got[1][0], 100.0, 0.03, "all that it wants");
    assert_near(got[0][1], 2_000.0, 0.1, "the maximum, but for as much as that sender uses");
    assert_near(got[2][0], 850.0, 0.03, "half of the rest, if twice of what the first sends is kept for it");
}

/// Catches: maxima of one hose that hold for another. A host is a member of two hoses, as a sender and as a receiver of both; weights decide only where a line is full.
#[test]
fn each_hose_of_a_host_has_its_own_maximum() {
    let star = star(&[LINE; 6], 5_000);
    let members = |from: usize| star.hosts[from..].iter().chain(&star.hosts[..1]).copied().collect::<Vec<_>>();
    let of = [(Terms { min: 200, max: 1_000 }, members(1)), (Terms { min: 500, max: 3_000 }, members(2))];
    let mut scenario = scenario(&star.network, &of, contracts(), [8, 8]);
    let sharing = scenario.sharing.as_mut().unwrap();
    let mut services = sharing.machine.services().to_vec();
    for (service, weight) in services.iter_mut().zip([7, 1]) {
        for terms in [&mut service.bandwidth.transmit, &mut service.bandwidth.receive] {
            terms.weight = NonZeroU32::new(weight);
        }
    }
    sharing.machine = Policy::new(&star.network, "hoses", PolicyLevel::Machine, Vec::new(), None, services).unwrap();
    for (hose, (_, members)) in of.iter().enumerate() {
        let mut both = pairs(Pattern::AllToOne, &[&star.hosts[..1], &members[..members.len() - 1]].concat());
        both.extend(both.clone().iter().map(|&(from, to)| (to, from)));
        send(&mut scenario, hose, &both);
    }
    let outcome = run(&scenario, 1);
    for (hose, (terms, _)) in of.iter().enumerate() {
        for rate in rates(&scenario, &outcome, hose, star.hosts[0]) {
            let part = rate * 100.0 / terms.max as f64;
            println!("hose {hose}: {part:.1} %");
            assert!((USED..=100.0 + TURNS).contains(&part), "hose {hose}: {part:.1} %");
        }
    }
}

/// Catches: a pair that begins and waits for ever, and a part that no pair has. Seven senders have a whole maximum.
/// When the first of them ends, another one begins, and has most of an equal part within half a millisecond.
#[test]
fn a_later_sender_gets_its_part() {
    for terms in [Terms { min: 200, max: 1_000 }, Terms { min: 1_000, max: 1_000 }] {
        let star = star(&[LINE; 9], 5_000);
        let mut scenario = scenario(&star.network, &[(terms, star.hosts.clone())], contracts(), [6, 6]);
        let pairs = pairs(Pattern::AllToOne, &star.hosts);
        send(&mut scenario, 0, &pairs);
        scenario.traffic[7].start = Time::from_millis(5);
        let ms = Time::from_millis;
        scenario.traffic[0].active = Some(Schedule::periodic(ms(0), ms(5), ms(100)));
        let (outcome, events) = watch(&scenario, 1);
        let is_its = |event: &Event| matches!(event.what, What::Limit { from, rate: Some(rate), .. } if from == star.hosts[8] && rate.bits_per_second() > 100_000_000);
        let granted = events.iter().find(|event| is_its(event)).map(|event| event.at);
        let newcomer = rates(&scenario, &outcome, 0, star.hosts[8])[0];
        let all = rates(&scenario, &outcome, 0, star.hosts[0])[1];
        println!("{terms:?}: {newcomer:.1} of 142.9 Mbit/s, {all:.1} in all, granted at {granted:?}");
        assert!(granted.is_some_and(|at| at <= Time::from_micros(5_500)), "{terms:?}: {granted:?}");
        assert_near(newcomer, 1_000.0 / 7.0, 0.03, "a seventh");
        assert_near(all, 1_000.0, 0.02, "the maximum");
    }
}

/// Catches: other schemes that divide a receiver's rate and lose its maximum. Static limits and ElasticSwitch have none at receivers.
#[test]
fn eyeq_picnic_and_parley_keep_maxima_at_receivers() {
    for name in ["eyeq", "picnic", "parley"] {
        for (pattern, count) in PATTERNS.into_iter().flat_map(|pattern| [2, 4, 8].map(|count| (pattern, count))) {
            let (network, hosts) = build(Shape::Star);
            let of = [(Terms { min: 200, max: 1_000 }, hosts[..count].to_vec())];
            let mut scenario = scenario(&network, &of, contracts(), [20, 20]);
            scenario.sharing.as_mut().unwrap().scheme = HostSchemeConfig::of(name, &Vec::new()).unwrap();
            send(&mut scenario, 0, &pairs(pattern, &hosts[..count]));
            let outcome = run(&scenario, 1);
            let all = of[0].1.iter().flat_map(|&member| rates(&scenario, &outcome, 0, member));
            let most = all.fold(0.0_f64, f64::max) / 10.0;
            assert!((USED..=100.0 + TURNS).contains(&most), "{name}, {pattern:?}, {count} members: {most:.1} %");
        }
    }
}
