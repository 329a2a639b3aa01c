//! The table of transitions, copies that overtake one another, the length of the window, resets; and random copies
//! against a memory of everything.

use std::collections::HashSet;

use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};
use wayleave_units::{Bytes, Rate, Time};

use super::DuplicateCheck::{Accept, Discard};
use super::*;

const NOW: Time = Time::ZERO;

fn after(window: u16, numbers: &[u16]) -> Filter {
    let mut filter = Filter::new(window, Time::from_millis(1));
    for &number in numbers {
        filter.on_packet(NOW, number);
    }
    filter
}

#[test]
fn every_transition_of_a_window_of_four() {
    // Numbers accepted before, the arriving number, its verdict, and the counts of packets out of order and of
    // rogues.
    let cases: [(&[u16], u16, DuplicateCheck, u64, u64); 14] = [
        (&[], 7, Accept, 0, 0),
        (&[7], 7, Discard, 0, 0),
        (&[7], 8, Accept, 0, 0),
        (&[7], 10, Accept, 1, 0),
        // Four ahead leaves nothing of the window.
        (&[7], 11, Discard, 0, 1),
        // Numbers before the first may be missing copies.
        (&[7], 6, Accept, 1, 0),
        (&[7], 4, Accept, 1, 0),
        (&[7], 3, Discard, 0, 1),
        (&[7, 10], 8, Accept, 2, 0),
        (&[7, 10, 8], 8, Discard, 2, 0),
        (&[7, 10], 7, Discard, 1, 0),
        (&[7, 9, 10], 6, Discard, 1, 1),
        (&[65_535], 1, Accept, 1, 0),
        (&[65_535, 1], 65_535, Discard, 1, 0),
    ];
    for (before, number, verdict, out_of_order, rogue) in cases {
        let mut filter = after(4, before);
        assert_eq!(filter.on_packet(NOW, number), verdict, "{before:?}, then {number}");
        let counts = filter.counts();
        assert_eq!((counts.out_of_order, counts.rogue), (out_of_order, rogue), "{before:?}, then {number}");
        assert_eq!(counts.passed + counts.discarded, before.len() as u64 + 1);
    }
}

#[test]
fn a_number_that_returns_after_the_whole_space_is_new() {
    let mut filter = Filter::new(64, Time::from_millis(1));
    for round in 0..3 {
        for number in 0..=u16::MAX {
            assert_eq!(filter.on_packet(NOW, number), Accept, "round {round}, {number}");
        }
    }
}

#[test]
fn silence_longer_than_the_reset_time_resets_the_window() {
    let mut filter = Filter::new(4, Time::from_micros(100));
    assert_eq!(filter.on_packet(Time::ZERO, 9), Accept);
    // Discarded packets keep nothing alive.
    assert_eq!(filter.on_packet(Time::from_micros(90), 9), Discard);
    assert_eq!(filter.on_packet(Time::from_micros(100), 5_000), Discard);
    assert_eq!(filter.on_packet(Time::from_micros(101), 5_000), Accept);
    assert_eq!(filter.on_packet(Time::from_micros(101), 9), Discard);
    assert_eq!(filter.counts().resets, 1);
    // Numbers accepted before the reset are forgotten.
    assert_eq!(filter.on_packet(Time::from_micros(101), 4_999), Accept);
}

#[test]
fn a_window_is_clamped_to_its_limits() {
    for (asked, lasting) in [(0, MIN_WINDOW), (u16::MAX, MAX_WINDOW)] {
        let mut filter = after(asked, &[1_000]);
        assert_eq!(filter.on_packet(NOW, 1_000_u16.wrapping_sub(lasting - 1)), Accept);
        assert_eq!(after(asked, &[1_000]).on_packet(NOW, 1_000_u16.wrapping_sub(lasting)), Discard);
    }
}

/// Copies of a flow over routes with random delays, some of which lose some packets; `skew` is the most that a copy is late.
fn copies(rng: &mut ChaCha8Rng, packets: u64, gap: u64, skew: u64) -> Vec<(u64, u64)> {
    let routes = rng.random_range(2..=4);
    let mut arrivals = Vec::new();
    for packet in 0..packets {
        let survivor = rng.random_range(0..routes);
        for route in 0..routes {
            if route == survivor || rng.random_range(0..3) > 0 {
                arrivals.push((packet * gap + rng.random_range(0..=skew), packet));
            }
        }
    }
    arrivals.sort_unstable();
    arrivals
}

#[test]
fn every_packet_is_accepted_once_if_the_window_is_long_enough() {
    let (mut late, mut wrong) = (0, 0);
    for seed in 0..200 {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let (gap, skew) = (rng.random_range(1..20_u64), rng.random_range(0..2_000_u64));
        // A frame of 100 B a gap.
        let rate = Rate::from_bits_per_second(800_000_000_000 / gap);
        let window = window(rate, Bytes::new(100), Time::from_nanos(skew), Bytes::new(100)).unwrap();
        let arrivals = copies(&mut rng, 3_000, gap, skew);
        let run = |window: u16| {
            let mut filter = Filter::new(window, Time::from_nanos(2 * skew + 2 * gap));
            let mut accepted = HashSet::new();
            let mut twice = 0;
            for &(at, packet) in &arrivals {
                if filter.on_packet(Time::from_nanos(at), packet as u16) == Accept {
                    twice += u64::from(!accepted.insert(packet));
                }
            }
            (accepted.len(), twice)
        };
        assert_eq!(run(window), (3_000, 0), "seed {seed}, window {window}");
        if window > 16 {
            late += 1;
            wrong += u32::from(run(window / 4) != (3_000, 0));
        }
    }
    // A window that is too short shows: the test can fail.
    assert!(late > 50 && wrong * 10 > late * 9, "{wrong} of {late}");
}
