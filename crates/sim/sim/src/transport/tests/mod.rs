//! A sender and its receiver with hand-written events; over lines that lose, delay and reorder: `line` and its users.

use super::*;
use crate::clock::Instant;
use crate::packet::Block;
use wayleave_scenarios::Pacing;
use wayleave_scheme_api::FlowStart;
use wayleave_schemes::transport::fixed::Fixed;
use wayleave_schemes::transport::swift;
use wayleave_schemes::transports::{AnyFlow, Congestion};
use wayleave_units::Time;

mod freeze;
mod line;
mod model;
mod repair;
mod throughput;
mod timers;

const SEGMENT: u32 = 1_000;

fn setup(size: u64, window: u32) -> Setup {
    Setup {
        size: Some(size),
        segment: SEGMENT,
        initial_window: window,
        max_window: window,
        min_timeout: Time::from_millis(1),
        first_timeout: Time::from_millis(1_000),
        deadline: None,
        pacing: Pacing::Off,
    }
}

fn sender(size: u64, window: u32) -> Sender {
    Sender::new(&setup(size, window), AnyFlow::Fixed(Fixed(u64::from(window) * u64::from(SEGMENT))))
}

fn answer(sequence: u32, expected: u32, block: Block) -> SegmentReply<'static> {
    SegmentReply {
        sequence,
        sent: 0,
        expected,
        block,
        is_marked: false,
        is_duplicate: false,
        is_partial: false,
        telemetry: &[],
    }
}

fn send_all(sender: &mut Sender, now: Instant) -> Vec<u32> {
    std::iter::from_fn(|| match sender.poll(now) {
        SenderStep::Send { sequence, .. } => Some(sequence),
        SenderStep::At(_) | SenderStep::Wait => None,
    })
    .collect()
}

#[test]
fn the_third_later_segment_marks_a_loss_and_only_that_is_retransmitted() {
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
fn the_time_out_retransmits_every_missing_segment() {
    let mut sender = sender(5_000, 5);
    assert_eq!(send_all(&mut sender, 0), [0, 1, 2, 3, 4]);
    sender.on_answer(10, &answer(3, 0, Block { start: 3, end: 4 }), |_, marked, _| marked);
    let expires = sender.timeout_at();
    assert!(!sender.on_timer(expires - 1));
    assert!(sender.on_timer(expires));
    assert_eq!(send_all(&mut sender, expires), [0, 1, 2, 4]);
    assert_eq!(sender.timeout_at() - expires, 2_000_000_000, "the next one comes after twice the shortest one");
}

#[test]
fn the_last_segment_carries_the_remainder_of_the_size() {
    let mut sender = sender(2_500, 9);
    let sizes: Vec<u32> = std::iter::from_fn(|| match sender.poll(0) {
        SenderStep::Send { bytes, .. } => Some(bytes),
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
    assert_eq!(sender.poll(now), SenderStep::At(now + 8_000_000));
    assert_eq!(send_all(&mut sender, now + 7_999_999), []);
    assert_eq!(send_all(&mut sender, now + 8_000_000), [11]);
}

/// Swift at its target, with a round trip of 40 us: half a packet is one each 80 us. From one packet on nothing is paced.
#[test]
fn a_window_of_half_a_packet_sends_one_in_two_round_trips() {
    let target = swift::Params {
        base_target: Time::from_micros(40),
        flow_scaling_range: Time::ZERO,
        ..swift::Params::default()
    };
    for (window, gap) in [(500, 80_000_000), (100, 400_000_000), (1_000, 0)] {
        let setup = setup(100_000, 1);
        let start = FlowStart { initial_window: window, ..setup.flow_start() };
        let mut sender = Sender::new(&setup, Congestion::Swift(target).flow(&start));
        assert_eq!(send_all(&mut sender, 0), [0], "nothing is known of the round trip yet");
        let now = 40_000_000;
        sender.on_answer(now, &answer(0, 1, Block::default()), |_, marked, _| marked);
        assert_eq!(send_all(&mut sender, now), [1]);
        assert_eq!(sender.paced_until(), if gap == 0 { 0 } else { now + gap });
    }
}

#[test]
fn a_receiver_reports_the_block_around_early_segments() {
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

/// A window that is not used does not grow (RFC 9002, section 7.8): the application writes a segment in a round trip.
#[test]
fn a_sender_with_a_slow_application_keeps_its_window() {
    let after = |available: fn(u32) -> u32| {
        let setup = Setup { max_window: 1_000, ..setup(1_000_000, 10) };
        let mut sender = Sender::new(&setup, AnyFlow::newreno(&setup.flow_start()));
        let mut in_transit = Vec::new();
        for round in 0..5 {
            let sent = u64::from(round) * 10_000_000;
            sender.make_available(available(round));
            in_transit.extend(send_all(&mut sender, sent));
            let now = sent + 5_000_000;
            for sequence in std::mem::take(&mut in_transit) {
                sender.on_answer(
                    now,
                    &SegmentReply { sent, ..answer(sequence, sequence + 1, Block::default()) },
                    |_, marked, _| marked,
                );
                in_transit.extend(send_all(&mut sender, now));
            }
        }
        let in_transit = in_transit.len();
        sender.make_available(1_000);
        in_transit + send_all(&mut sender, 60_000_000).len()
    };
    assert_eq!(after(|round| round + 1), 10, "one segment in each round, so the first window is still the window");
    assert!(after(|_| 1_000) > 20, "the window grows where there is always more to send");
}

#[test]
fn a_sender_waits_for_unwritten_bytes() {
    let mut sender = sender(2_500, 9);
    sender.make_available(0);
    assert_eq!((send_all(&mut sender, 0), sender.starved_of()), (vec![], Some(1_000)));
    assert_eq!([999, 1_000, 2_000, 2_499, 2_500].map(|bytes| sender.whole_segments(bytes)), [0, 1, 2, 2, 3]);
    sender.make_available(2);
    assert_eq!((send_all(&mut sender, 0), sender.starved_of()), (vec![0, 1], Some(2_500)));
    // Sent segments stay sent.
    sender.make_available(0);
    assert_eq!(sender.starved_of(), Some(2_500));
    sender.make_available(3);
    assert_eq!((send_all(&mut sender, 0), sender.starved_of()), (vec![2], None));
}
