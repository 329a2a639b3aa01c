//! A sender and its receiver over a line that loses, delays and reorders.

use std::collections::BTreeMap;

use super::scoreboard::Scoreboard;
use super::*;
use crate::clock::Instant;
use crate::packet::Block;
use crate::random;
use wayleave_scenarios::Pacing;
use wayleave_schemes::fixed::Fixed;
use wayleave_schemes::transports::AnyFlow;
use wayleave_units::Time;

const SEGMENT: u32 = 1_000;

fn setup(size: u64, window: u32) -> Setup {
    Setup {
        size: Some(size),
        segment: SEGMENT,
        initial_window: window,
        max_window: window,
        min_timeout: Time::from_millis(1),
        deadline: None,
        pacing: Pacing::Off,
    }
}

fn sender(size: u64, window: u32) -> Sender {
    Sender::new(&setup(size, window), AnyFlow::Fixed(Fixed(u64::from(window) * u64::from(SEGMENT))))
}

fn answer(sequence: u32, expected: u32, block: Block) -> Answer<'static> {
    Answer { sequence, sent: 0, expected, block, is_marked: false, is_partial: false, telemetry: &[] }
}

fn send_all(sender: &mut Sender, now: Instant) -> Vec<u32> {
    std::iter::from_fn(|| match sender.poll(now) {
        Next::Send { sequence, .. } => Some(sequence),
        Next::At(_) | Next::Wait => None,
    })
    .collect()
}

#[test]
fn the_third_later_segment_tells_of_a_loss_and_only_that_is_sent_again() {
    let mut sender = sender(20_000, 6);
    assert_eq!(send_all(&mut sender, 0), [0, 1, 2, 3, 4, 5]);
    // Segment 1 is missing.
    sender.on_answer(10, &answer(0, 1, Block::default()), |_, marked, _| marked);
    assert_eq!(send_all(&mut sender, 10), [6]);
    for (sequence, sent) in [(2, 7), (3, 8)] {
        sender.on_answer(11, &answer(sequence, 1, Block { start: 2, end: sequence + 1 }), |_, marked, _| marked);
        assert_eq!(send_all(&mut sender, 11), [sent]);
    }
    sender.on_answer(12, &answer(4, 1, Block { start: 2, end: 5 }), |_, marked, _| marked);
    // One has arrived and one is lost: room for the lost one and another.
    assert_eq!(send_all(&mut sender, 12), [1, 9]);
    sender.on_answer(13, &answer(5, 1, Block { start: 2, end: 6 }), |_, marked, _| marked);
    assert_eq!(send_all(&mut sender, 13), [10]);
}

#[test]
fn the_time_out_sends_everything_again_that_has_not_arrived() {
    let mut sender = sender(5_000, 5);
    assert_eq!(send_all(&mut sender, 0), [0, 1, 2, 3, 4]);
    sender.on_answer(10, &answer(3, 0, Block { start: 3, end: 4 }), |_, marked, _| marked);
    let strikes = sender.timeout_at();
    assert!(!sender.on_timer(strikes - 1));
    assert!(sender.on_timer(strikes));
    assert_eq!(send_all(&mut sender, strikes), [0, 1, 2, 4]);
    assert!(sender.timeout_at() - strikes >= 2 * (strikes - 10), "the next one comes after twice the time");
}

#[test]
fn the_last_segment_carries_what_is_left_of_the_size() {
    let mut sender = sender(2_500, 9);
    let sizes: Vec<u32> = std::iter::from_fn(|| match sender.poll(0) {
        Next::Send { bytes, .. } => Some(bytes),
        _ => None,
    })
    .collect();
    assert_eq!(sizes, [1_000, 1_000, 500]);
    assert_eq!(sender.remaining(), 2_500);
}

/// Ten segments in a round trip of 100 us: one each 8 us.
#[test]
fn pacing_spreads_a_window_over_four_fifths_of_the_round_trip() {
    let setup = Setup { pacing: Pacing::Window, ..setup(100_000, 10) };
    let mut sender = Sender::new(&setup, AnyFlow::Fixed(Fixed(10 * u64::from(SEGMENT))));
    assert_eq!(send_all(&mut sender, 0).len(), 10, "nothing is known of the round trip yet");
    let now = 100_000_000;
    sender.on_answer(now, &answer(0, 10, Block::default()), |_, marked, _| marked);
    assert_eq!(send_all(&mut sender, now), [10]);
    assert_eq!(sender.poll(now), Next::At(now + 8_000_000));
    assert_eq!(send_all(&mut sender, now + 7_999_999), []);
    assert_eq!(send_all(&mut sender, now + 8_000_000), [11]);
}

#[test]
fn a_receiver_tells_the_block_around_what_came_early() {
    let mut receiver = Receiver::default();
    assert_eq!(receiver.on_segment(0).expected, 1);
    assert_eq!(receiver.on_segment(3).block, Block { start: 3, end: 4 });
    assert_eq!(receiver.on_segment(5).block, Block { start: 5, end: 6 });
    assert_eq!(receiver.on_segment(4).block, Block { start: 3, end: 6 });
    assert!(receiver.on_segment(4).is_duplicate);
    assert_eq!(receiver.on_segment(2).block, Block { start: 2, end: 6 });
    let last = receiver.on_segment(1);
    assert_eq!((last.expected, last.block), (6, Block::default()));
    assert!(receiver.on_segment(0).is_duplicate);
}

/// What is on the line, by time and a number.
type Line<T> = BTreeMap<(Instant, u64), T>;

/// Sends everything over a line that loses, doubles and reorders; the number of packets that it took.
fn transfer(seed: u64, segments: u32, window: u32, loss: f64) -> u64 {
    let mut rng = random::generator(seed, 0);
    let mut sender = sender(u64::from(segments) * u64::from(SEGMENT), window);
    let mut receiver = Receiver::default();
    let mut forth: Line<(u32, Instant)> = Line::new();
    let mut back: Line<(u32, Instant, u32, Block)> = Line::new();
    let (mut now, mut number) = (0, 0);
    for _ in 0..1_000_000 {
        while let Next::Send { sequence, .. } = sender.poll(now) {
            number += 1;
            if random::unit(&mut rng) >= loss {
                let delay = 10_000_000 + u64::from(random::below(&mut rng, 10_000_000));
                forth.insert((now + delay, number), (sequence, now));
            }
        }
        if sender.is_done() {
            assert_eq!(receiver.expected(), segments, "seed {seed}");
            return number;
        }
        let next_forth = forth.first_key_value().map_or(NEVER, |(key, _)| key.0);
        let next_back = back.first_key_value().map_or(NEVER, |(key, _)| key.0);
        now = next_forth.min(next_back).min(sender.timeout_at());
        assert_ne!(now, NEVER, "seed {seed}: nothing is left to happen and {} B remain", sender.remaining());
        if now == next_forth {
            let Some((_, (sequence, sent))) = forth.pop_first() else { continue };
            let received = receiver.on_segment(sequence);
            number += 1;
            if random::unit(&mut rng) >= loss {
                back.insert((now + 10_000_000, number), (sequence, sent, received.expected, received.block));
            }
        } else if now == next_back {
            let Some((_, (sequence, sent, expected, block))) = back.pop_first() else { continue };
            sender.on_answer(
                now,
                &Answer { sequence, sent, expected, block, is_marked: false, is_partial: false, telemetry: &[] },
                |_, marked, _| marked,
            );
        } else {
            assert!(sender.on_timer(now));
        }
    }
    panic!("seed {seed}: no end");
}

#[test]
fn everything_arrives_whatever_the_line_loses_and_reorders() {
    for seed in 0..200 {
        let loss = [0.0, 0.01, 0.1, 0.4][seed as usize % 4];
        let packets = transfer(seed, 1 + (seed as u32 * 7) % 300, 1 + (seed as u32 * 13) % 60, loss);
        assert!(packets > 0);
    }
}

/// What a scoreboard says, from a list of all that was ever told.
#[derive(Default)]
struct Model {
    arrived: Vec<bool>,
    lost: Vec<bool>,
    first: u32,
}

#[test]
fn a_scoreboard_agrees_with_a_list_of_all_segments() {
    for seed in 0..300 {
        let mut rng = random::generator(seed, 1);
        let size = 40_usize;
        let mut model = Model { arrived: vec![false; size], lost: vec![false; size], first: 0 };
        let mut board = Scoreboard::new(0);
        let mut receiver = Receiver::default();
        let mut order: Vec<u32> = (0..size as u32).collect();
        for at in 0..size {
            let other = (at + random::below(&mut rng, 6) as usize).min(size - 1);
            order.swap(at, other);
        }
        for sequence in order {
            if random::below(&mut rng, 5) == 0 {
                continue;
            }
            let received = receiver.on_segment(sequence);
            let before = (0..size).filter(|&at| model.arrived[at] || at < model.first as usize).count();
            model.arrived[sequence as usize] = true;
            model.first = received.expected;
            let after = (0..size).filter(|&at| model.arrived[at] || at < model.first as usize).count();
            let change = board.acknowledge(received.expected, sequence, received.block);
            let mut newly_lost = 0;
            for at in model.first as usize..size {
                let later = model.arrived[at..].iter().filter(|&&has| has).count();
                if !model.arrived[at] && !model.lost[at] && later >= 3 {
                    model.lost[at] = true;
                    newly_lost += 1;
                }
            }
            assert_eq!(change.newly as usize, after - before, "seed {seed}, segment {sequence}");
            assert_eq!(change.newly_lost, newly_lost, "seed {seed}, segment {sequence}");
        }
    }
}
