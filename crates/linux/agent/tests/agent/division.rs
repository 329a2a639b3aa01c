//! Divisions of several hosts in virtual time: pairs send as much as their buckets allow, and messages between agents
//! arrive.

use std::collections::{BTreeMap, BTreeSet};

use wayleave_agent::shares::INTERVAL;
use wayleave_agent::shares::division::{HostDivision, MemberTerms, PairCounters, PairKey, PairRate};
use wayleave_agent::shares::message::PeerMessage;
use wayleave_scheme_api::Share;
use wayleave_schemes::host::eyeq::LineParams;
use wayleave_topology::NodeId;
use wayleave_units::{Rate, Time};

const LINE: Rate = Rate::from_mbit(10);
const ROUNDS: usize = 100;

/// Hosts and the bytes that their pairs have sent. Every pair sends as much as it may.
struct World {
    now: Time,
    rounds: u64,
    hosts: BTreeMap<NodeId, HostDivision>,
    sent: BTreeMap<(NodeId, PairKey), u64>,
    /// Pairs that have nothing to send.
    quiet: BTreeSet<(NodeId, PairKey)>,
    /// `true` if messages between agents arrive.
    are_delivered: bool,
}

impl World {
    fn new(hosts: u32) -> Self {
        let hosts = (0..hosts).map(|host| (NodeId(host), HostDivision::new(LineParams::both(LINE)).unwrap())).collect();
        Self { now: Time::ZERO, rounds: 0, hosts, sent: BTreeMap::new(), quiet: BTreeSet::new(), are_delivered: true }
    }

    /// Runs one interval; returns the bit/s that arrived at each host for each contract.
    fn round(&mut self) -> BTreeMap<PairKey, u64> {
        let mut arrived: BTreeMap<PairKey, u64> = BTreeMap::new();
        // Real timers are late.
        self.rounds += 1;
        let elapsed = Time::from_nanos(INTERVAL.as_nanos() + 3_000_000 * (self.rounds % 5));
        self.now += elapsed;
        let mut messages: Vec<(NodeId, NodeId, PeerMessage)> = Vec::new();
        for (&host, division) in &mut self.hosts {
            let mut counted = BTreeMap::new();
            for (key, bucket) in division.buckets(self.now) {
                let sends = !self.quiet.contains(&(host, key));
                let rate = if sends { bucket.rate.bits_per_second() } else { 0 };
                let total = self.sent.entry((host, key)).or_default();
                *total += rate / 8 * elapsed.as_nanos() / 1_000_000_000;
                *arrived.entry((key.0, key.1)).or_default() += rate;
                counted.insert(key, PairCounters { bytes: *total, is_held: sends });
            }
            division.count(self.now, &counted);
            messages.extend(division.take_messages().into_iter().map(|(to, message)| (host, to, message)));
        }
        while let Some((from, to, message)) = messages.pop().filter(|_| self.are_delivered) {
            let Some(division) = self.hosts.get_mut(&to) else { continue };
            division.on_peer_message(self.now, from, &message);
            messages.extend(division.take_messages().into_iter().map(|(next, message)| (to, next, message)));
        }
        arrived
    }

    /// The mean of the last quarter of some rounds.
    fn run(&mut self) -> BTreeMap<PairKey, u64> {
        let mut sums: BTreeMap<PairKey, u64> = BTreeMap::new();
        for round in 0..ROUNDS {
            for (key, rate) in self.round() {
                if round >= ROUNDS * 3 / 4 {
                    *sums.entry(key).or_default() += rate / (ROUNDS as u64 / 4);
                }
            }
        }
        sums
    }
}

/// A hose among hosts, as its member on one of them takes part in it.
fn hose(serial: u64, members: &[u32], at: u32, share: Share) -> MemberTerms {
    let others: BTreeSet<NodeId> = members.iter().filter(|&&one| one != at).map(|&one| NodeId(one)).collect();
    let sure = Rate::from_bits_per_second(share.min.bits_per_second() / others.len() as u64);
    MemberTerms {
        serial,
        tenant: format!("tenant{serial}"),
        transmit: share,
        receive: share,
        sure: PairRate::Sure(sure),
        to: others.clone(),
        from: others,
    }
}

fn share(min: u64, max: Option<u64>, weight: u32) -> Share {
    Share { min: Rate::from_mbit(min), max: max.map(Rate::from_mbit), weight }
}

/// All hosts but the last send to the last, of both contracts.
fn all_to_one(world: &mut World, members: &[u32], contracts: &[(u64, Share)]) {
    let last = NodeId(*members.last().unwrap());
    for &host in members {
        let terms = contracts.iter().map(|&(serial, share)| hose(serial, members, host, share)).collect();
        world.hosts.get_mut(&NodeId(host)).unwrap().set(Time::ZERO, LineParams::both(LINE), terms);
        for &(serial, _) in contracts {
            let others = members.iter().filter(|&&one| one != host && (host == last.0 || NodeId(one) != last));
            world.quiet.extend(others.map(|&one| (NodeId(host), (serial, NodeId(one)))));
        }
    }
}

#[test]
fn silent_senders_are_forgotten_without_endless_timers() {
    let (mut world, members) = (World::new(4), [0, 1, 2, 3]);
    all_to_one(&mut world, &members, &[(1, share(5, None, 1))]);
    world.run();
    world.quiet.extend((0..3).map(|from| (NodeId(from), (1, NodeId(3)))));
    // A timer lifts limiters that receive nothing. It fires at the end of the interval and not at its own time.
    world.run();
    world.quiet.retain(|(host, _)| host.0 == 3);
    let first = world.round();
    assert!(first[&(1, NodeId(3))] <= 5_000_000, "who begins again has what is sure: {first:?}");
}

fn near(seen: u64, mbit: f64, percent: f64) -> bool {
    (seen as f64 / 1e6 - mbit).abs() <= mbit * percent / 100.0
}

/// Catches: a sender that exceeds its maximum by changing receivers, a receiver's answer that raises a rate, and a
/// sender with one receiver that does not reach its maximum.
#[test]
fn best_effort_never_exceeds_its_maximum_whichever_receivers_it_uses() {
    const MAX: u64 = 2_000_000;
    let members = [0, 1, 2, 3, 4];
    let terms = |at: u32, members: &[u32]| MemberTerms {
        sure: PairRate::Reserve,
        from: BTreeSet::new(),
        ..hose(1, members, at, Share { min: Rate::ZERO, max: Some(Rate::from_bits_per_second(MAX)), weight: 1 })
    };
    let mut world = World::new(5);
    for host in members {
        let line = LineParams::both(LINE);
        world.hosts.get_mut(&NodeId(host)).unwrap().set(Time::ZERO, line, vec![terms(host, &members)]);
    }
    // All send to all, then each in turn to one, to two, and to none.
    for pattern in 0..60_u32 {
        world.quiet.clear();
        let is_quiet = |to: u32| pattern > 0 && (to + pattern) % 5 >= pattern % 3;
        let pairs = members.into_iter().flat_map(|from| members.map(|to| (from, to)));
        world.quiet.extend(pairs.filter(|&(_, to)| is_quiet(to)).map(|(from, to)| (NodeId(from), (1, NodeId(to)))));
        for _ in 0..=pattern % 3 {
            for division in world.hosts.values() {
                let all: u64 = division.buckets(world.now).values().map(|bucket| bucket.rate.bits_per_second()).sum();
                assert!((MAX / 20..=MAX).contains(&all), "pattern {pattern}: {all}");
            }
            world.round();
        }
    }
    world.quiet = members.into_iter().flat_map(|from| [0, 2, 3, 4].map(|to| (NodeId(from), (1, NodeId(to))))).collect();
    let one = world.run()[&(1, NodeId(1))];
    // Four hosts send to host 1.
    assert!(near(one / 4, 2.0 * 15.0 / 16.0, 1.0), "{one}");
    let mut world = World::new(2);
    world.hosts.get_mut(&NodeId(0)).unwrap().set(Time::ZERO, LineParams::both(LINE), vec![terms(0, &[0, 1])]);
    assert_eq!(world.run()[&(1, NodeId(1))], MAX, "the only receiver");
}

#[test]
fn two_tenants_share_the_line_of_a_receiver_by_minima_and_weights() {
    let (mut world, members) = (World::new(4), [0, 1, 2, 3]);
    all_to_one(&mut world, &members, &[(1, share(5, None, 1)), (2, share(2, None, 3))]);
    let arrived = world.run();
    let [first, second] = [1, 2].map(|serial| arrived[&(serial, NodeId(3))]);
    // The meters share out nine tenths: of the 2 Mbit/s above both minima the first has a quarter.
    assert!(near(first, 5.5, 3.0) && near(second, 3.5, 3.0), "{first} and {second} bit/s");
}

#[test]
fn a_lone_sender_gets_the_unused_capacity_up_to_its_maximum() {
    let (mut world, members) = (World::new(4), [0, 1, 2, 3]);
    all_to_one(&mut world, &members, &[(1, share(5, None, 1)), (2, share(2, Some(3), 3))]);
    let of = |world: &World, serial| -> Vec<_> {
        world
            .sent
            .keys()
            .filter(|(_, key)| key.0 == serial)
            .copied()
            .chain((0..3).map(|from| (NodeId(from), (serial, NodeId(3)))))
            .collect()
    };
    let first = of(&world, 1);
    world.quiet.extend(first.iter().copied());
    let arrived = world.run();
    assert!(near(arrived[&(2, NodeId(3))], 3.0, 5.0), "{arrived:?}");
    world.quiet.retain(|pair| !first.contains(pair));
    let second = of(&world, 2);
    world.quiet.extend(second);
    let arrived = world.run();
    assert!(near(arrived[&(1, NodeId(3))], 9.0, 5.0), "{arrived:?}");
}

#[test]
fn agents_without_messages_give_pairs_only_the_guaranteed_rate() {
    let (mut world, members) = (World::new(4), [0, 1, 2, 3]);
    all_to_one(&mut world, &members, &[(1, share(6, None, 1)), (2, share(3, None, 3))]);
    world.are_delivered = false;
    let arrived = world.run();
    let [first, second] = [1, 2].map(|serial| arrived[&(serial, NodeId(3))]);
    // Three pairs, of three that a member has.
    assert!(near(first, 6.0, 0.1) && near(second, 3.0, 0.1), "{first} and {second} bit/s");
    world.are_delivered = true;
    world.run();
    world.are_delivered = false;
    let arrived = world.run();
    assert!(near(arrived[&(1, NodeId(3))], 6.0, 0.1), "after 5 s of silence again: {arrived:?}");
}

#[test]
fn the_send_rate_of_a_host_is_divided_among_the_pairs_of_a_contract() {
    let (mut world, members) = (World::new(4), [0, 1, 2, 3]);
    for &host in &members {
        let terms = vec![hose(1, &members, host, share(2, Some(4), 1))];
        world.hosts.get_mut(&NodeId(host)).unwrap().set(Time::ZERO, LineParams::both(LINE), terms);
        if host > 0 {
            world.quiet.extend(members.iter().map(|&to| (NodeId(host), (1, NodeId(to)))));
        }
    }
    world.quiet.insert((NodeId(0), (1, NodeId(3))));
    let arrived = world.run();
    let [one, two] = [1, 2].map(|to| arrived[&(1, NodeId(to))]);
    assert!(near(one, 2.0, 5.0) && near(two, 2.0, 5.0), "{one} and {two} bit/s of a maximum of 4");
}

#[test]
fn an_ended_contract_leaves_no_state_and_others_keep_their_rates() {
    let (mut world, members) = (World::new(4), [0, 1, 2, 3]);
    let (first, second) = ((1, share(5, None, 1)), (2, share(2, None, 3)));
    all_to_one(&mut world, &members, &[first, second]);
    world.run();
    for &host in &members {
        let terms = vec![hose(1, &members, host, first.1)];
        world.hosts.get_mut(&NodeId(host)).unwrap().set(world.now, LineParams::both(LINE), terms);
    }
    let buckets = world.hosts[&NodeId(0)].buckets(world.now);
    assert!(buckets.keys().all(|(serial, _)| *serial == 1), "{buckets:?}");
    assert!(near(buckets[&(1, NodeId(3))].rate.bits_per_second(), 5.5 / 3.0, 5.0), "{buckets:?}");
    assert!(near(world.run()[&(1, NodeId(3))], 9.0, 5.0));
}

#[test]
fn a_rack_broker_limits_all_contracts_of_a_tenant_and_respects_minima() {
    let (mut world, members) = (World::new(4), [0, 1, 2, 3]);
    let contracts = [(1, share(1, None, 1)), (2, share(1, None, 3)), (3, share(2, None, 1))];
    all_to_one(&mut world, &members, &contracts);
    for &host in &members {
        let tenant = |serial: u64| if serial == 3 { "web" } else { "acme" }.to_owned();
        let terms = contracts.iter();
        let terms =
            terms.map(|&(serial, share)| MemberTerms { tenant: tenant(serial), ..hose(serial, &members, host, share) });
        world.hosts.get_mut(&NodeId(host)).unwrap().set(Time::ZERO, LineParams::both(LINE), terms.collect());
    }
    let allow = |world: &mut World, host: u32, limit: [Option<u64>; 2]| {
        let limit = limit.map(|mbit| mbit.map(Rate::from_mbit));
        world.hosts.get_mut(&NodeId(host)).unwrap().allow([("acme".to_owned(), limit)].into());
    };
    let of = |arrived: &BTreeMap<PairKey, u64>| [1, 2, 3].map(|serial| arrived[&(serial, NodeId(3))]);
    let are_near = |seen: [u64; 3], mbit: [f64; 3]| seen.iter().zip(mbit).all(|(&seen, mbit)| near(seen, mbit, 6.0));

    // Of the 2 Mbit/s above both minima the first has a quarter; the other tenant has the rest of nine tenths.
    allow(&mut world, 3, [None, Some(4)]);
    let seen = of(&world.run());
    assert!(are_near(seen, [1.5, 2.5, 5.0]), "{seen:?}");
    // The unused part of one contract goes to the other.
    let first: Vec<_> = (0..3).map(|from| (NodeId(from), (1, NodeId(3)))).collect();
    world.quiet.extend(first.iter().copied());
    let seen = of(&world.run());
    assert!(are_near([4_000_000, seen[1], seen[2]], [4.0, 4.0, 5.0]), "{seen:?}");
    world.quiet.retain(|pair| !first.contains(pair));
    // A limit below the minima has the effect of the minima.
    allow(&mut world, 3, [None, Some(0)]);
    let seen = of(&world.run());
    assert!(are_near(seen, [1.0, 1.0, 7.0]), "{seen:?}");
    // The limit on all contracts of a tenant that send from one host.
    allow(&mut world, 3, [None, None]);
    world.quiet.extend((1..3).flat_map(|from| [1, 2, 3].map(|serial| (NodeId(from), (serial, NodeId(3))))));
    allow(&mut world, 0, [Some(3), None]);
    let seen = of(&world.run());
    assert!(near(seen[0] + seen[1], 3.0, 6.0) && seen[0] >= 1_000_000 && seen[1] > seen[0], "{seen:?}");
    let moved = world.hosts[&NodeId(3)].moved()[&("acme".to_owned(), NodeId(0))];
    let sent = world.hosts[&NodeId(0)].moved()[&("acme".to_owned(), NodeId(3))];
    assert!(moved[0] == 0 && moved[1] > 0 && sent[0] >= moved[1] && sent[1] == 0, "{moved:?} of {sent:?}");
}
