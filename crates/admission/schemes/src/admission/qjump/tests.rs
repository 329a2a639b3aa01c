//! QJump's fixed points, as Chameleon's text states them, and the use of shares.

use std::sync::Arc;

use wayleave_contracts::RequestMix;
use wayleave_ledger::Model;
use wayleave_scheme_api::{Admission, Handover, Refusal, RefusalCode, Request};
use wayleave_topology::builders::{Cabling, FatTree, build};
use wayleave_topology::{Network, Route};
use wayleave_units::{Bytes, Rate, Time};

use super::*;
use crate::admitted::{AdmittedSet, Term};

fn network() -> Arc<Network> {
    Arc::new(build::fat_tree(&FatTree::default()).unwrap())
}

fn qjump(params: Params) -> Qjump {
    Qjump::new(network(), Model::default(), params)
}

fn request(rate: Rate, burst: u64, deadline: Time) -> Request {
    let network = network();
    let node = |name| network.find_node(name).unwrap();
    let burst = Bytes::new(burst);
    Request { from: node("h1"), to: node("h16"), rate, burst, deadline, max_frame: None, route: None, protection: 1 }
}

fn small() -> Request {
    request(Rate::from_mbit(1), 1000, Time::from_millis(10))
}

/// The epoch and the unit rate in kbit/s, rounded down.
fn fixed_point(applications: u32, packet: u64, rate: Rate) -> (Time, u64) {
    let params = Params { applications, packet: Bytes::new(packet), ..Params::default() };
    let epoch = Epoch::new(&params, rate);
    (epoch.length(), epoch.unit().bits_per_second() / 1000)
}

#[test]
fn the_fixed_points_of_chameleon_2_1_1_and_5_1_1_are_reproduced() {
    // "a maximum latency of 80.8 us at a rate of at most 29.7 Mbps"
    assert_eq!(fixed_point(160, 300, Rate::from_gbit(10)), (Time::from_nanos(80_800), 29_702));
    // "3.11 Mbps ... 772 us ... n = 1600"
    assert_eq!(fixed_point(1600, 300, Rate::from_gbit(10)), (Time::from_micros(772), 3_108));
    // 5.1.1: n = 32, P = 1500 B, R = 1 Gbit/s; 15.5 Mbit/s in the findings.
    assert_eq!(fixed_point(32, 1500, Rate::from_gbit(1)), (Time::from_micros(772), 15_544));
}

#[test]
fn the_epoch_is_rounded_up_and_the_unit_down() {
    let params = Params { applications: 1, packet: Bytes::new(1), epsilon: Time::ZERO, ..Params::default() };
    let epoch = Epoch::new(&params, Rate::from_bits_per_second(3_000_000_000));
    // 16 bits at 3 Gbit/s take 5.33 ns; 8 bits in 6 ns are 1.33 Gbit/s.
    assert_eq!(epoch.length(), Time::from_nanos(6));
    assert_eq!(epoch.unit(), Rate::from_bits_per_second(1_333_333_333));
}

#[test]
fn a_higher_level_sends_more_often_and_promises_nothing() {
    let epoch = *qjump(Params::default()).epoch();
    let levels: Vec<PriorityLevel> = (1..=32).map(|factor| epoch.level(factor)).collect();
    assert_eq!((levels[0].epoch, levels[0].limit), (epoch.length(), Some(epoch.unit())));
    assert!(levels.windows(2).all(|pair| pair[1].epoch < pair[0].epoch));
    assert!(levels.iter().all(|level| level.is_guaranteed == (level.factor == 1)));
    assert!(levels.iter().all(|level| level.limit.is_none() == (level.factor == 32)));
    // n / 4 hosts: 2 * 8 * 12 us + 4 us.
    assert_eq!(levels[3].epoch, Time::from_micros(196));
    let fast = epoch.level_for(Rate::from_mbit(50));
    assert!(fast.factor > 1 && fast.limit >= Some(Rate::from_mbit(50)));
    assert!(epoch.level(fast.factor - 1).limit < Some(Rate::from_mbit(50)));
    assert_eq!(epoch.level_for(Rate::from_gbit(1)).limit, None);
}

#[test]
fn the_two_needless_refusals_of_chameleon_are_reproduced() {
    // Section 2.1.1: 10 Gbit/s, n = 160, P = 300 B.
    let fast = build::fat_tree(&FatTree {
        cabling: Cabling { rate: Rate::from_gbit(10), ..Cabling::default() },
        ..FatTree::default()
    });
    let params = Params { applications: 160, packet: Bytes::new(300), ..Params::default() };
    let mut qjump = Qjump::new(Arc::new(fast.unwrap()), Model::default(), params);
    let soon = qjump.admit(&request(Rate::from_mbit(1), 300, Time::from_micros(50))).unwrap_err();
    let (bound, deadline) = (Time::from_nanos(80_800), Time::from_micros(50));
    assert_eq!(soon, Refusal::Rounds { rounds: 1, bound, deadline });
    let much = qjump.admit(&request(Rate::from_mbit(50), 300, Time::from_millis(1))).unwrap_err();
    assert_eq!(much, Refusal::RateCap { asked: Rate::from_mbit(50), most: Rate::from_bits_per_second(29_702_970) });
    assert_eq!([soon.reason(), much.reason()], [RefusalCode::Latency, RefusalCode::Rate]);
    // "the system will accept only 160 flows"
    let modest = request(Rate::from_mbit(3), 300, Time::from_micros(772));
    let admitted = (0..1600).filter(|_| qjump.admit(&modest).is_ok()).count();
    assert_eq!(admitted, 160);
    assert_eq!(qjump.admit(&modest), Err(Refusal::Shares { asked: 1, left: 0, all: 160 }));
}

#[test]
fn a_rate_above_the_unit_is_refused_charged_or_held_to_the_unit() {
    let fast = request(Rate::from_mbit(100), 1500, Time::from_millis(10));
    let of = |reading| {
        let mut qjump = qjump(Params { reading, ..Params::default() });
        let decision = qjump.admit(&fast).map(|decision| decision.flow);
        (decision.map(|flow| qjump.held(flow).unwrap().demand.rate), qjump.shares_left())
    };
    let unit = qjump(Params::default()).epoch().unit();
    assert_eq!(of(Reading::Refused), (Err(Refusal::RateCap { asked: Rate::from_mbit(100), most: unit }), 32));
    // 100 / 15.5 is between 6 and 7.
    assert_eq!(of(Reading::Charged), (Ok(Rate::from_mbit(100)), 25));
    assert_eq!(of(Reading::Flat), (Ok(unit), 31));
}

#[test]
fn a_burst_of_several_packets_takes_as_many_epochs() {
    let mut qjump = qjump(Params { reading: Reading::Charged, ..Params::default() });
    let bound = |qjump: &mut Qjump, rate, burst| {
        let decision = qjump.admit(&request(rate, burst, Time::from_millis(10))).unwrap();
        let terms: Time = qjump.terms(decision.flow).iter().map(Term::time).sum();
        assert_eq!(terms, decision.bound);
        (decision.bound, qjump.held(decision.flow).unwrap().released)
    };
    let one = Time::from_micros(772);
    assert_eq!(bound(&mut qjump, Rate::from_mbit(1), 1500), (one, one));
    assert_eq!(bound(&mut qjump, Rate::from_mbit(1), 1501), (one * 2, one));
    assert_eq!(bound(&mut qjump, Rate::from_mbit(1), 5000), (one * 4, one));
    // Two shares send two packets an epoch.
    assert_eq!(bound(&mut qjump, Rate::from_mbit(20), 5000), (one * 2, one));
    let late = request(Rate::from_mbit(1), 5000, Time::from_millis(3));
    let (bound, deadline) = (one * 4, Time::from_millis(3));
    assert_eq!(qjump.admit(&late), Err(Refusal::Rounds { rounds: 4, bound, deadline }));
}

#[test]
fn release_frees_the_shares_and_a_refused_change_reserves_nothing() {
    let mut qjump = qjump(Params { applications: 12, reading: Reading::Charged, ..Params::default() });
    let unit = qjump.epoch().unit();
    let first = qjump.admit(&small()).unwrap();
    let eight = request(unit * 8, 1500, Time::from_millis(10));
    let second = qjump.admit(&eight).unwrap();
    assert_eq!(qjump.shares_left(), 3);
    // Twelve shares fit neither beside its eight nor in their place, for one is taken.
    let twelve = Request { rate: unit * 12, ..eight.clone() };
    assert_eq!(qjump.change(second.flow, &twelve), Some(Err(Refusal::Shares { asked: 12, left: 11, all: 12 })));
    assert_eq!((qjump.shares_left(), qjump.shares_of(second.flow)), (3, Some(8)));
    // Eleven fit in their place, once what was in flight has left.
    let eleven = Request { rate: unit * 11, ..eight };
    let third = qjump.change(second.flow, &eleven).unwrap().unwrap();
    assert_eq!((qjump.shares_left(), third.handover), (0, Handover::Instead));
    // One fits beside eleven only after the first is released.
    assert_eq!(qjump.release(first.flow), Some(first.route));
    assert_eq!((qjump.shares_left(), qjump.release(first.flow)), (1, None));
    let beside = qjump.admit(&small()).unwrap();
    assert_eq!(qjump.flows(), [beside.flow.min(third.flow), beside.flow.max(third.flow)]);
}

#[test]
fn packet_sizes_and_pinned_routes_must_match_the_fixed_parameters() {
    let mut qjump = qjump(Params::default());
    let large = Request { max_frame: Some(Bytes::new(1562)), ..small() };
    let refusal = qjump.admit(&large).unwrap_err();
    assert_eq!(refusal, Refusal::PacketTooLarge { frame: Bytes::new(1562), most: Bytes::new(1500) });
    assert_eq!(refusal.reason(), RefusalCode::Policy);
    let route = qjump.admit(&small()).unwrap().route;
    assert!(route.hops.iter().all(|hop| hop.queue == 0) && route.hops.len() == 6);
    assert_eq!(qjump.admit(&Request { route: Some(route.clone()), ..small() }).unwrap().route, route);
    let mut low = route.hops;
    low[2].queue = 1;
    let refusal = qjump.admit(&Request { route: Some(Route { hops: low.clone() }), ..small() });
    assert_eq!(refusal, Err(Refusal::NoSuchQueue { link: low[2].link, queue: 1, queues: 1 }));
}

#[test]
fn a_queue_that_could_overflow_refuses() {
    // Two packets of each share: 32 are 96,000 B.
    let with_buffer = |bytes| {
        let built = network()
            .with_ports(|_, _, port| port.queues.iter_mut().for_each(|queue| queue.buffer = Bytes::new(bytes)));
        let mut qjump = Qjump::new(Arc::new(built.unwrap()), Model::default(), Params::default());
        (0..32).map(|_| qjump.admit(&small())).take_while(Result::is_ok).count()
    };
    assert_eq!([with_buffer(96_000), with_buffer(95_999), with_buffer(9_000)], [32, 31, 3]);
}

#[test]
fn flows_spread_over_the_shortest_paths() {
    let mut qjump = qjump(Params { applications: 200, packet: Bytes::new(300), ..Params::default() });
    let mut cores = std::collections::BTreeSet::new();
    for rate in 1..=40 {
        cores.insert(
            qjump.admit(&Request { rate: Rate::from_bits_per_second(rate * 1000), ..small_late() }).unwrap().route.hops
                [2]
            .link,
        );
    }
    assert_eq!(cores.len(), 4);
}

fn small_late() -> Request {
    request(Rate::from_mbit(1), 1000, Time::from_millis(100))
}

#[test]
fn an_epoch_shorter_than_one_packet_per_application_promises_nothing() {
    // Six hops of 12 us and a frame of 12.5 us below each are more than 2 * 3 * 12 us + 4 us.
    let refusal = qjump(Params { applications: 3, ..Params::default() }).admit(&small()).unwrap_err();
    assert!(matches!(refusal, Refusal::ShortRound { takes, round } if takes > round), "{refusal:?}");
    assert_eq!(refusal.reason(), RefusalCode::Latency);
    // So are three of 32 applications' epochs if each of six nodes may hold a packet up for 100 us.
    let slow = network().with_nodes(|node| node.jitter = Time::from_micros(100)).unwrap();
    let refusal = Qjump::new(Arc::new(slow), Model::default(), Params::default()).admit(&small()).unwrap_err();
    assert!(matches!(refusal, Refusal::ShortRound { takes, round } if takes > round), "{refusal:?}");
}

#[test]
fn the_sweep_finds_the_n_that_admits_the_most_flows() {
    let network = network();
    let list = |seed| -> Vec<Request> {
        let requests = RequestMix::new(&network, 8, seed).take(300);
        requests.map(|contract| crate::request(&contract, &Model::PUBLISHED)).collect()
    };
    let lists: Vec<Vec<Request>> = (1..=10).map(list).collect();
    let flat = Params { reading: Reading::Flat, ..Params::default() };
    let admitted = |applications| -> u64 {
        let scheme = || Qjump::new(network.clone(), Model::PUBLISHED, Params { applications, ..flat });
        lists.iter().map(|list| until_first_refusal(scheme(), list)).sum()
    };
    // "QJump is blocked to a maximum of n = 32 flows" (Chameleon, section 5.1.3).
    assert_eq!(admitted(32), 320);
    let found = best(&network, Model::PUBLISHED, &flat, &lists, 1..=400).unwrap();
    assert_eq!(found.admitted, admitted(found.applications));
    assert!((1..=400).all(|n| admitted(n) <= found.admitted));
    assert!((1..found.applications).all(|n| admitted(n) < found.admitted));
    // A clock's deadline is 2 ms or more, and with 83 applications the epoch is 1.996 ms.
    assert_eq!(found, Best { applications: 83, admitted: 830 });
}
