//! One machine's edge with hand-written inputs.

mod initial;

use wayleave_scheme_api::{IntHop, MaxGrant, MaxRequest, PairSpec, PathUse, ProbeOutcome};
use wayleave_units::Bytes;

use wayleave_scheme_api::PathIndex;

use super::*;

const T: Time = Time::from_micros(24);

/// An edge with a pair of a class of 1 Gbit/s, and its actions.
struct Bench {
    edge: Ufab,
    now: Time,
    probes: Vec<(PathIndex, Probe)>,
    timers: Vec<(Time, Timer)>,
    windows: BTreeMap<u32, u64>,
    used: Vec<PathIndex>,
    /// Time from which the last path is used.
    from: Time,
}

impl Bench {
    fn new(paths: u32, settings: Settings) -> Self {
        let edge = Ufab::new(Rate::from_gbit(10), settings, 1);
        let mut bench = Self {
            edge,
            now: Time::ZERO,
            probes: Vec::new(),
            timers: Vec::new(),
            windows: BTreeMap::new(),
            used: Vec::new(),
            from: Time::ZERO,
        };
        let hose = Share { min: Rate::from_gbit(1), ..Share::BEST_EFFORT };
        bench.handle(HostInput::ClassSet { class: ClassId(1), transmit: hose, receive: hose });
        let spec = PairSpec {
            class: ClassId(1),
            peer_class: ClassId(1),
            peer: wayleave_topology::NodeId(9),
            key: 77,
            paths,
            round_trip: T,
        };
        bench.handle(HostInput::Opened { pair: Outgoing(0), spec });
        bench
    }

    fn handle(&mut self, input: HostInput<'_, Infallible, Timer>) {
        let Self { edge, now, probes, timers, windows, used, from: since } = self;
        edge.on(*now, input, &mut |action| match action {
            HostAction::SendProbe { path, probe, .. } => probes.push((path, probe)),
            HostAction::Arm { at, timer } => timers.push((at, timer)),
            HostAction::SetWindow { path, window, .. } => {
                windows.insert(path.0, window.map_or(u64::MAX, Bytes::get));
            }
            HostAction::UsePath { path, purpose: PathUse::Share, from, .. } => {
                used.push(path);
                *since = from;
            }
            _ => {}
        });
    }

    /// Answers every probe in flight from two idle links; probes that result are not answered.
    fn answer(&mut self) {
        self.answer_beside(|_| 0);
    }

    /// Answers every probe in flight from two links, which have these tokens of other pairs on each path.
    fn answer_beside(&mut self, others: impl Fn(PathIndex) -> u64) {
        for (path, probe) in std::mem::take(&mut self.probes) {
            let own = if probe.kind == ProbeKind::Active { probe.tokens } else { 0 };
            let tokens = own + others(path);
            let hop = IntHop { rate: Rate::from_gbit(10), tokens, ..IntHop::default() };
            let outcome = ProbeOutcome::Answered(ProbeAnswer::default());
            self.handle(HostInput::ProbeReturned {
                pair: Outgoing(0),
                path,
                probe,
                outcome,
                hops: &[hop, hop],
                round_trip: T,
            });
        }
    }

    /// The timers of a time that has come ring.
    fn pass(&mut self, time: Time) {
        self.now += time;
        while let Some(at) = self.timers.iter().position(|&(at, _)| at <= self.now) {
            let (_, timer) = self.timers.swap_remove(at);
            self.handle(HostInput::Timer(timer));
        }
    }

    fn demand(&mut self, demand: Demand) {
        self.handle(HostInput::Demand { pair: Outgoing(0), demand });
    }

    fn kinds(&self) -> Vec<ProbeKind> {
        self.probes.iter().map(|(_, probe)| probe.kind).collect()
    }
}

/// Nothing is sent before a path is known; then what 1 Gbit/s carries in 24 us.
#[test]
fn candidates_are_probed_before_data_is_sent() {
    let mut bench = Bench::new(3, Settings { initial_path: InitialPath::Probed, ..Settings::default() });
    assert_eq!(bench.kinds(), [ProbeKind::Candidate; 3]);
    assert!(bench.windows.values().all(|&window| window == 0) && bench.used.is_empty());
    bench.answer();
    assert_eq!(bench.used.len(), 1);
    assert_eq!(bench.kinds(), [ProbeKind::Active]);
    assert_eq!(bench.windows[&bench.used[0].0], 3_000);
}

#[test]
fn a_pair_with_one_path_probes_it_if_configured() {
    assert_eq!(Bench::new(1, Settings::default()).kinds(), [ProbeKind::Active]);
    let mut bench = Bench::new(1, Settings::beside_other_classes());
    assert_eq!((bench.kinds(), &bench.used[..]), (vec![ProbeKind::Candidate], &[][..]));
    bench.answer();
    assert_eq!((bench.kinds(), &bench.used[..]), (vec![ProbeKind::Active], &[PathIndex(0)][..]));
}

/// Four hosts ask one with 1 Gbit/s: the parts are 1, 1/2, 1/3 and 1/4. A pair that asks and does not begin is
/// forgotten after eight round trips. Without the setting each is offered everything.
#[test]
fn a_pair_in_discovery_counts_at_its_receiver() {
    let asked = |settings: Settings| {
        let mut bench = Bench::new(1, settings);
        let ask = |bench: &mut Bench, from: u32, kind| {
            let spec = PairSpec {
                class: ClassId(1),
                peer_class: ClassId(1),
                peer: wayleave_topology::NodeId(from),
                key: u64::from(from),
                paths: 3,
                round_trip: T,
            };
            bench.handle(HostInput::IncomingOpened { pair: Incoming(from), spec });
            bench.edge.answer(bench.now, Incoming(from), &Probe::new(u64::from(from), kind, 1_000)).tokens
        };
        let first: Vec<_> = (0..4).map(|from| ask(&mut bench, from, ProbeKind::Candidate)).collect();
        bench.now += Time::from_nanos(8 * T.as_nanos());
        (first, ask(&mut bench, 5, ProbeKind::Candidate))
    };
    let admitted = |tokens: [u64; 4]| tokens.map(Some).to_vec();
    assert_eq!(asked(Settings::beside_other_classes()), (admitted([1_000, 500, 333, 250]), Some(1_000)));
    assert_eq!(asked(Settings::default()), (admitted([1_000; 4]), Some(1_000)));
}

/// Ports know a repeated change by its pair and its number, and paths of a pair meet at the last port.
#[test]
fn two_changes_of_a_pair_never_have_one_number() {
    let mut bench = Bench::new(3, Settings { paths: 2, ..Settings::default() });
    bench.probes.retain(|(_, probe)| probe.kind == ProbeKind::Active);
    let halves: Vec<u64> = bench.probes.iter().map(|(_, probe)| probe.tokens).collect();
    assert_eq!(halves, [500, 500], "Algorithm 2: half of the tokens each, from the first probe on");
    let mut numbers = Vec::new();
    for _ in 0..5 {
        numbers.extend(bench.probes.iter().map(|(_, probe)| probe.change));
        bench.answer();
        for path in bench.used.clone() {
            bench.handle(HostInput::Sent { pair: Outgoing(0), path, bytes: Bytes::new(4_000) });
        }
    }
    let count = numbers.len();
    numbers.sort_unstable();
    numbers.dedup();
    assert!(count == 10 && numbers.len() == count, "{numbers:?} of {count}");
}

#[test]
fn a_finish_is_repeated_until_it_is_answered() {
    let mut bench = Bench::new(1, Settings::default());
    bench.answer();
    bench.probes.clear();
    bench.demand(Demand::Ends);
    bench.pass(Time::from_micros(24 * 16));
    assert_eq!(bench.kinds(), [ProbeKind::Finish]);
    let first = bench.probes[0].1;
    for _ in 0..3 {
        bench.probes.clear();
        bench.pass(Time::from_micros(24 * 8));
        assert_eq!(bench.probes, [(PathIndex(0), Probe { is_repeated: true, ..first })]);
    }
    bench.answer();
    bench.pass(Time::from_millis(1));
    assert!(bench.probes.is_empty(), "it was answered");
}

/// A pair that begins and ends a thousand times has one timer that compares each path with others, and not a
/// thousand.
#[test]
fn timers_do_not_pile_up() {
    let mut bench = Bench::new(2, Settings::default());
    for _ in 0..1_000 {
        bench.answer();
        bench.answer();
        bench.demand(Demand::Ends);
        bench.pass(Time::from_millis(1));
        bench.answer();
        bench.demand(Demand::Begins);
    }
    let compares = bench.timers.iter().filter(|(_, timer)| matches!(timer, Timer::Better { .. })).count();
    assert!(compares <= 2, "{compares}");
    assert!(bench.timers.len() < 40, "{} timers", bench.timers.len());
}

#[test]
fn late_messages_for_a_closed_pair_are_ignored() {
    let mut bench = Bench::new(2, Settings::default());
    bench.answer();
    bench.handle(HostInput::Closed { pair: Outgoing(0) });
    let sent = bench.probes.len();
    bench.answer();
    bench.pass(Time::from_millis(100_000));
    assert_eq!(bench.probes.len() + sent, sent, "no probe more");
}

/// Fig. 21a at the receiver: a6 admits a third from the one, and two thirds from the other that asks for all.
#[test]
fn a_receiver_answers_with_its_admitted_rate() {
    let mut bench = Bench::new(1, Settings::default());
    for (pair, key) in [(0, 5), (1, 6)] {
        let spec = PairSpec {
            class: ClassId(1),
            peer_class: ClassId(1),
            peer: wayleave_topology::NodeId(pair),
            key,
            paths: 1,
            round_trip: T,
        };
        bench.handle(HostInput::IncomingOpened { pair: Incoming(pair), spec });
    }
    let mut answer =
        |pair, tokens, kind| bench.edge.answer(Time::ZERO, Incoming(pair), &Probe::new(1, kind, tokens)).tokens;
    assert_eq!(answer(0, 333, ProbeKind::Active), None);
    assert_eq!(answer(1, 1_000, ProbeKind::Active), Some(667));
    assert_eq!(answer(1, 1_000, ProbeKind::Finish), None);
    assert_eq!(answer(0, 1_000, ProbeKind::Active), Some(1_000), "the other one has gone");
}

/// 4.1: eight queues with distinct weights.
#[test]
fn weighted_queues_are_by_powers_of_two() {
    let line = Rate::from_gbit(10);
    let levels = [10_000, 5_000, 2_600, 2_500, 1_000, 80, 1].map(|mbit| level(Rate::from_mbit(mbit), line));
    assert_eq!(levels, [7, 7, 7, 6, 5, 2, 0]);
    assert_eq!(level(Rate::ZERO, line), 0);
}

/// A limiter of the class holds what a host sends. The limiter of a pair lets nothing through before its receiver has granted a part of its own maximum.
#[test]
fn maxima_are_limits_of_a_class_and_of_its_pairs() {
    let mut edge = Ufab::new(Rate::from_gbit(10), Settings::default(), 1);
    let mut limits: Vec<(Limiter, Option<u64>)> = Vec::new();
    let mut handle = |edge: &mut Ufab, input: HostInput<'_, Infallible, Timer>| {
        limits.clear();
        edge.on(Time::ZERO, input, &mut |action| {
            if let HostAction::SetBucket { limiter, bucket } = action {
                limits.push((limiter, bucket.map(|bucket| bucket.rate.bits_per_second() / 1_000_000)));
            }
        });
        limits.clone()
    };
    let class = ClassId(1);
    let set = |max: Option<u64>| {
        let hose = Share { min: Rate::from_gbit(1), max: max.map(Rate::from_mbit), ..Share::BEST_EFFORT };
        HostInput::ClassSet { class, transmit: hose, receive: hose }
    };
    let pair = |number: u32| {
        let peer = wayleave_topology::NodeId(number);
        let spec = PairSpec { class, peer_class: class, peer, key: number.into(), paths: 1, round_trip: T };
        HostInput::Opened { pair: Outgoing(number), spec }
    };
    let answer = |number: u32, grant: Option<(u64, u32)>| {
        let grant = grant.map(|(rate, number)| MaxGrant { rate: Rate::from_mbit(rate), number, is_short: false });
        let probe = Probe::new(number.into(), ProbeKind::Candidate, 1_000);
        let outcome = ProbeOutcome::Answered(ProbeAnswer { tokens: None, grant });
        HostInput::ProbeReturned {
            pair: Outgoing(number),
            path: PathIndex(0),
            probe,
            outcome,
            hops: &[],
            round_trip: T,
        }
    };
    let of = |number, rate| [(Limiter::Pair(Outgoing(number)), rate)];
    assert_eq!(handle(&mut edge, set(Some(3_000))), [(Limiter::Class(class), Some(3_000))]);
    assert_eq!(handle(&mut edge, pair(0)), of(0, Some(0)), "nothing is granted yet");
    assert_eq!(handle(&mut edge, answer(0, Some((3_000, 1)))), of(0, Some(3_000)));
    assert_eq!(handle(&mut edge, pair(1)), of(1, Some(0)));
    assert_eq!(handle(&mut edge, answer(0, Some((1_500, 3)))), of(0, Some(1_500)));
    assert_eq!(handle(&mut edge, answer(0, Some((3_000, 2)))), [], "a grant that was overtaken");
    assert_eq!(handle(&mut edge, answer(1, Some((1_500, 1)))), of(1, Some(1_500)));
    assert_eq!(handle(&mut edge, set(None)), [(Limiter::Class(class), None)]);
    assert_eq!(handle(&mut edge, answer(0, None)), of(0, None), "the receiver has no maximum any more");
    assert_eq!(handle(&mut edge, set(None)), [], "there is nothing to lift");
}

/// 400 Mbit/s are 57.14 for each of seven, and 57 tokens: less than its part, so Algorithm 1 admits anything. Parts of the maximum are in bit/s, and a receiver
/// that has divided it grants no more.
#[test]
fn seven_senders_are_granted_a_maximum_once() {
    let mut edge = Ufab::new(Rate::from_gbit(10), Settings::beside_other_classes(), 1);
    let class = ClassId(1);
    let hose = Share { min: Rate::from_mbit(400), max: Some(Rate::from_gbit(2)), ..Share::BEST_EFFORT };
    edge.on(Time::ZERO, HostInput::ClassSet { class, transmit: hose, receive: hose }, &mut |_| {});
    let mut held = [(Rate::ZERO, 0); 7];
    for round in 0..4 {
        for (number, held) in held.iter_mut().enumerate() {
            let peer = wayleave_topology::NodeId(number as u32);
            let spec = PairSpec { class, peer_class: class, peer, key: number as u64, paths: 1, round_trip: T };
            if round == 0 {
                edge.on(Time::ZERO, HostInput::IncomingOpened { pair: Incoming(number as u32), spec }, &mut |_| {});
            }
            let request = MaxRequest { wants: None, holds: held.0, seen: held.1 };
            let probe = Probe { request, ..Probe::new(number as u64, ProbeKind::Active, 57) };
            let answer = edge.answer(Time::ZERO, Incoming(number as u32), &probe);
            let grant = answer.grant.unwrap();
            *held = (grant.rate, grant.number);
        }
        let sum: u64 = held.iter().map(|held| held.0.bits_per_second()).sum();
        assert!(sum <= 2_000_000_000, "round {round}: {sum}");
        assert!(round < 3 || held.iter().all(|held| held.0.bits_per_second() == 2_000_000_000 / 7), "{held:?}");
    }
}
