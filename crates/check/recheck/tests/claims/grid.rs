//! The definitions once more, on a grid of whole nanoseconds in plain integers: the derived delay and backlog of each
//! downlink queue must lie in the bracket that the grid leaves.

use std::collections::BTreeMap;

use num_bigint::BigInt;
use num_rational::BigRational;
use proptest::prelude::*;
use wayleave_recheck::{JitterTerm, PacketiserTerm, check};
use wayleave_units::Rate;

use crate::build::{UPLINK_BUDGET, down};
use crate::properties::{Scene, scenes};

const STEP: i128 = 5_000;
const POINTS: usize = 8_000;
const NANOBITS_PER_BYTE: i128 = 8_000_000_000;

fn bits(rate: Rate) -> i128 {
    rate.bits_per_second().into()
}

/// Returns the variation of packets' times if the jitter keeps no order, and the loss of the service if it does.
fn spread_and_loss(scene: &Scene) -> (i128, i128) {
    let jitter = i128::from(scene.star.switch.1.as_nanos());
    match scene.jitter {
        JitterTerm::Ordered => (0, jitter),
        JitterTerm::Any => (jitter, 0),
    }
}

/// alpha of a downlink queue at each point of the grid (at 0: right after it): what enters a queue in a time has come to the
/// node in that time and the spread before it.
fn arrivals(scene: &Scene, queue: u8) -> Vec<i128> {
    let mut inputs = BTreeMap::<usize, (i128, i128)>::new();
    for sender in scene.senders.iter().filter(|sender| sender.queue == queue) {
        let (burst, rate) = inputs.entry(sender.host).or_default();
        *burst += i128::from(sender.burst.get()) * NANOBITS_PER_BYTE;
        *burst += bits(sender.rate) * i128::from(UPLINK_BUDGET.as_nanos());
        *rate += bits(sender.rate);
    }
    let at = |t: i128, host: usize, burst: i128, rate: i128| {
        let cap = i128::from(scene.frames[host].get()) * NANOBITS_PER_BYTE + bits(scene.star.uplinks[host]) * t;
        if scene.shaping { (burst + rate * t).min(cap) } else { burst + rate * t }
    };
    let total = |t: i128| inputs.iter().map(|(&host, &(burst, rate))| at(t, host, burst, rate)).sum();
    let spread = spread_and_loss(scene).0;
    (0..POINTS).map(|point| total(point as i128 * STEP + spread)).collect()
}

/// Returns beta at each point: all arrivals are concave after 0, so the rest is convex from below zero and is the
/// highest yet wherever it is positive.
fn services(scene: &Scene, queue: u8) -> Vec<i128> {
    let higher: Vec<_> = (0..queue).map(|queue| arrivals(scene, queue)).collect();
    let rate = bits(scene.star.downlink);
    let frames = if scene.packetiser == PacketiserTerm::Subtracted { 2 } else { 1 };
    let lost = frames * i128::from(scene.frames[3].get()) * NANOBITS_PER_BYTE + rate * spread_and_loss(scene).1;
    let left =
        |point: usize| rate * point as i128 * STEP - lost - higher.iter().map(|alpha| alpha[point]).sum::<i128>();
    (0..POINTS).map(|point| left(point).max(0)).collect()
}

/// Returns `true` if `low <= figure / unit <= high`.
fn is_between(figure: &Option<BigRational>, unit: i128, low: i128, high: i128) -> bool {
    let whole = |value: i128| BigRational::from_integer(BigInt::from(value));
    figure.as_ref().is_some_and(|figure| {
        let figure = figure * whole(unit);
        whole(low) <= figure && figure <= whole(high)
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(120))]

    #[test]
    fn delay_and_backlog_lie_between_the_brackets_of_a_grid(mut scene in scenes()) {
        // Stable and with every knee within the first half of the grid, 20 ms: at most 12 flows of 5 Mbit/s (the slowest
        // link has 100) and of 4 kB.
        for sender in &mut scene.senders {
            sender.rate = Rate::from_bits_per_second(sender.rate.bits_per_second() / 10);
            sender.burst = wayleave_units::Bytes::new(sender.burst.get() / 5);
        }
        let network = scene.star.build();
        let claim = scene.claim(&network);
        let report = check(&claim);
        for queue in (0..3).filter(|&queue| scene.senders.iter().any(|sender| sender.queue == queue)) {
            let (alpha, beta) = (arrivals(&scene, queue), services(&scene, queue));
            let found = down(&claim, &report, queue);
            // Delays: what has come by point t is served after the last point u with beta(u) < alpha(t), and not after
            // the next. Between two points both are monotone: not later than for the next t, nor earlier.
            let mut delays = (0, 0);
            let mut backlogs = (0, 0);
            for t in 0..POINTS / 2 {
                let served = |level: i128| beta.partition_point(|&value| value < level) as i128 * STEP;
                let now = t as i128 * STEP;
                delays.0 = delays.0.max(served(alpha[t]) - STEP - now);
                delays.1 = delays.1.max(served(alpha[t + 1]) - now);
                backlogs.0 = backlogs.0.max(alpha[t] - beta[t]);
                backlogs.1 = backlogs.1.max(alpha[t + 1] - beta[t]);
            }
            let spread = spread_and_loss(&scene).0;
            delays = (delays.0 + spread, delays.1 + spread);
            prop_assert!(delays.1 < STEP * (POINTS as i128 / 2), "the grid is too short");
            prop_assert!(is_between(&found.delay_ns, 1, delays.0, delays.1), "{:?} {:?}", found, delays);
            prop_assert!(is_between(&found.backlog_bytes, NANOBITS_PER_BYTE, backlogs.0, backlogs.1), "{:?}", found);
        }
    }
}
