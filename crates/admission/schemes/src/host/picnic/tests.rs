//! One machine's inputs, and machines in a fluid network: what receivers make of minima.

use wayleave_scheme_api::{ClassId, Host, HostAction, HostInput, Limiter, Outgoing, PairSpec, Share, Weighted};
use wayleave_topology::NodeId;
use wayleave_units::{Rate, Time};

use super::{Picnic, Settings};
use crate::fluid::{Fluid, random_input, random_rate};
use crate::host::eyeq::{Feedback, LineParams, Timer};
use crate::random::SplitMix;

const LINE: Rate = Rate::from_gbit(10);

fn machine() -> Picnic {
    let settings = Settings { unit_bandwidth: Rate::from_gbit(1), ..Settings::default() };
    Picnic::new(LineParams::both(LINE), settings.meter(), settings.unit_bandwidth, settings.burst)
        .expect("a line can be shared")
}

fn hose(megabits: u64) -> Share {
    Share { min: Rate::from_mbit(megabits), ..Share::BEST_EFFORT }
}

/// A sender for each of these minima and one receiver; what each pair gets in Gbit/s once the meters have settled, of those
/// that want something.
fn shares(minima: &[u64], idle: &[usize]) -> Vec<f64> {
    let hosts = (0..=minima.len()).map(|_| machine()).collect();
    let mut fluid = Fluid::new(hosts, LINE, Time::from_micros(10), 1);
    let receiver = minima.len();
    for (sender, &min) in minima.iter().enumerate() {
        for host in [sender, receiver] {
            fluid.set_class(host, sender as u32 + 1, hose(min));
        }
    }
    for sender in 0..minima.len() {
        let pair = fluid.open(sender as u32 + 1, sender, receiver);
        if idle.contains(&sender) {
            fluid.pairs[pair].demand = 0.0;
        }
    }
    fluid.run(Time::from_millis(200));
    fluid.run(Time::from_millis(50))
}

#[track_caller]
fn assert_shares(minima: &[u64], idle: &[usize], expected: &[f64]) {
    let shares = shares(minima, idle);
    for (share, expected) in shares.iter().zip(expected) {
        let off = (share - expected).abs();
        // R is rounded down, and feedback covers whole packets.
        assert!(off <= 0.02 * expected + 1e-3, "{shares:.4?} and not {expected:.4?}");
    }
}

#[test]
fn minima_of_one_two_and_five_get_their_part_of_ninety_five_percent() {
    assert_shares(&[1_000, 2_000, 5_000], &[], &[1.1875, 2.375, 5.9375]);
}

#[test]
fn unused_bandwidth_of_an_idle_service_is_shared_by_minima() {
    assert_shares(&[1_000, 2_000, 5_000], &[2], &[9.5 / 3.0, 19.0 / 3.0, 0.0]);
}

#[test]
fn fourteen_equal_services_share_equally() {
    assert_shares(&[500; 14], &[], &[0.678_57; 14]);
}

/// Actions of a machine, without messages and timers.
#[derive(Debug, PartialEq)]
enum Wanted {
    Weight(Weighted, u32),
    Class(ClassId, Option<Rate>),
}

fn wanted(machine: &mut Picnic, input: HostInput<'_, Feedback, Timer>) -> Vec<Wanted> {
    let mut all = Vec::new();
    machine.on(Time::ZERO, input, &mut |action| match action {
        HostAction::SetWeight { of, weight } => all.push(Wanted::Weight(of, weight)),
        HostAction::SetBucket { limiter: Limiter::Class(class), bucket } => {
            all.push(Wanted::Class(class, bucket.map(|bucket| bucket.rate)));
        }
        _ => {}
    });
    all
}

fn opened<'a>(pair: u32, class: u32) -> HostInput<'a, Feedback, Timer> {
    let class = ClassId(class);
    let spec = PairSpec {
        class,
        peer_class: class,
        peer: NodeId(1),
        key: u64::from(pair),
        paths: 1,
        round_trip: Time::from_micros(24),
    };
    HostInput::Opened { pair: Outgoing(pair), spec }
}

#[test]
fn pairs_have_the_weight_of_their_service_and_follow_a_change_of_it() {
    let mut machine = machine();
    let set = |megabits| HostInput::ClassSet { class: ClassId(1), transmit: hose(megabits), receive: hose(megabits) };
    let [class, first, second] =
        [Weighted::Class(ClassId(1)), Weighted::Pair(Outgoing(0)), Weighted::Pair(Outgoing(1))];
    assert_eq!(wanted(&mut machine, set(5_000)), [Wanted::Weight(class, 5)]);
    assert_eq!(wanted(&mut machine, opened(0, 1)), [Wanted::Weight(first, 5)]);
    assert_eq!(wanted(&mut machine, opened(1, 1)), [Wanted::Weight(second, 5)]);
    // Of another service, without a minimum.
    assert_eq!(wanted(&mut machine, opened(2, 2)), [Wanted::Weight(Weighted::Pair(Outgoing(2)), 1)]);
    assert_eq!(wanted(&mut machine, HostInput::Closed { pair: Outgoing(0) }), []);
    assert_eq!(wanted(&mut machine, set(2_000)), [Wanted::Weight(class, 2), Wanted::Weight(second, 2)]);
    // Less than half a unit is still one.
    assert_eq!(wanted(&mut machine, set(100)), [Wanted::Weight(class, 1), Wanted::Weight(second, 1)]);
    assert_eq!(wanted(&mut machine, set(100)), []);
}

#[test]
fn a_maximum_limits_the_class_and_pairs_have_no_line_share() {
    let mut machine = machine();
    let most = Share { max: Some(Rate::from_gbit(3)), ..hose(1_000) };
    let set = |transmit| HostInput::ClassSet { class: ClassId(1), transmit, receive: hose(1_000) };
    // A weight of 1 is set as well: classes take turns from the first weight on.
    let weight = Wanted::Weight(Weighted::Class(ClassId(1)), 1);
    assert_eq!(wanted(&mut machine, set(most)), [weight, Wanted::Class(ClassId(1), Some(Rate::from_gbit(3)))]);
    assert_eq!(wanted(&mut machine, set(hose(1_000))), [Wanted::Class(ClassId(1), None)]);
    // Two classes that fill the line would have root limiters with EyeQ.
    let hosts = (0..2).map(|_| self::machine()).collect();
    let mut fluid = Fluid::new(hosts, LINE, Time::from_micros(10), 1);
    for class in [1, 2] {
        fluid.set_class(0, class, hose(1_000));
        fluid.set_class(1, class, hose(1_000));
        fluid.open(class, 0, 1);
    }
    fluid.run(Time::from_millis(20));
    assert_eq!(fluid.root_changes, 0);
}

/// For any input of a driver and a network, weights are at least 1, and feedback is never above the target or below
/// the floor.
#[test]
fn weights_and_feedback_stay_in_range_for_any_input() {
    for seed in 0..200 {
        let mut random = SplitMix::new(seed);
        let mut machine = machine();
        let mut now = Time::ZERO;
        for _ in 0..400 {
            now += Time::from_micros(u64::from(random.below(400)));
            let timer = |random: &mut SplitMix| match random.below(3) {
                0 => Timer::Silence { pair: Outgoing(random.below(5)), epoch: random.below(20) },
                _ => Timer::Interval,
            };
            let input = random_input(&mut random, |random| Feedback { rate: random_rate(random) }, timer);
            machine.on(now, input, &mut |action| match action {
                HostAction::SetWeight { weight, .. } => assert!(weight >= 1, "seed {seed}"),
                HostAction::Send { message: Feedback { rate }, .. } => {
                    let range = Rate::from_mbit(1)..=Rate::from_mbit(9_500);
                    assert!(range.contains(&rate), "seed {seed}: {rate}");
                }
                _ => {}
            });
        }
    }
}
