//! Losses one after the other, step by step.

use wayleave_schemes::transports::AnyFlow;

use super::super::*;
use super::{SEGMENT, answer, send_all, sender, setup};
use crate::packet::Block;

const MS: u64 = 1_000_000_000;

/// Notifies a sender at `now` that the segment that it sent at `sent` has arrived; the first one is missing.
fn arrives(sender: &mut Sender, now: u64, sequence: u32, sent: u64) {
    let block = Block { start: 1, end: sequence + 1 };
    sender.on_answer(now, &SegmentReply { sent, ..answer(sequence, 0, block) }, |_, marked, _| marked);
}

/// The error of version 0.1.0: other segments arrive all the time, and the first segment is not sent a third time.
#[test]
fn a_retransmission_lost_again_is_sent_again() {
    let mut sender = sender(1_000_000, 10);
    assert_eq!(send_all(&mut sender, 0), (0..10).collect::<Vec<u32>>());
    for sequence in 1..=3 {
        arrives(&mut sender, 20 * MS + u64::from(sequence), sequence, 0);
    }
    // The third one reveals the loss. Segment 0 is retransmitted, and lost a second time.
    assert_eq!(send_all(&mut sender, 20 * MS + 4), [0, 10, 11, 12]);
    for sequence in 4..10 {
        arrives(&mut sender, 20 * MS + 10 + u64::from(sequence), sequence, 0);
    }
    assert_eq!(send_all(&mut sender, 21 * MS), (13..19).collect::<Vec<u32>>());
    // Segments that left together with it arrive a round trip later; later ones reveal that it is lost.
    arrives(&mut sender, 40 * MS + 4, 10, 20 * MS + 4);
    assert_eq!(send_all(&mut sender, 40 * MS + 4), [0, 19]);
}

/// RFC 6298, 5.3: acknowledgements of new data in order restart the timer, others do not.
#[test]
fn segments_beyond_a_gap_do_not_postpone_the_time_out() {
    let mut sender = sender(1_000_000, 10);
    send_all(&mut sender, 0);
    sender.on_answer(MS, &answer(0, 1, Block::default()), |_, marked, _| marked);
    let expires = sender.timer.at();
    assert_eq!(expires, MS + sender.timer.timeout());
    sender.on_answer(2 * MS, &answer(2, 1, Block { start: 2, end: 3 }), |_, marked, _| marked);
    assert_eq!(sender.timer.at(), expires);
    sender.on_answer(2 * MS + 1, &answer(1, 3, Block::default()), |_, marked, _| marked);
    assert_eq!(sender.timer.at(), 2 * MS + 1 + sender.timer.timeout());
}

/// Returns the windows after losses that NewReno reacts to, in segments. Twenty segments leave, and those of
/// `missing` are lost. Of later transmissions those of `lost_later` are lost, too, the first time.
fn windows(missing: &[u32], lost_later: impl Fn(u32, bool) -> bool) -> Vec<u64> {
    let setup = super::Setup { max_window: 1_000, ..setup(10_000_000, 20) };
    let mut sender = Sender::new(&setup, AnyFlow::newreno(&setup.flow_start()));
    let mut receiver = Receiver::default();
    let (mut windows, mut lost) = (Vec::new(), Vec::new());
    let mut in_transit: Vec<(u32, u64)> =
        send_all(&mut sender, 0).into_iter().filter(|it| !missing.contains(it)).map(|it| (it, 0)).collect();
    for round in 1..=4_u64 {
        let mut now = round * 10 * MS;
        for (sequence, sent) in std::mem::take(&mut in_transit) {
            now += 1;
            let received = receiver.on_segment(sequence);
            let answer = SegmentReply { sent, ..answer(sequence, received.expected, received.block) };
            sender.on_answer(now, &answer, |_, marked, _| marked);
            while let SenderStep::Send { sequence, is_again, .. } = sender.poll(now) {
                if !lost.contains(&(sequence, is_again)) && lost_later(sequence, is_again) {
                    lost.push((sequence, is_again));
                } else {
                    in_transit.push((sequence, now));
                }
            }
        }
        windows.push(wayleave_scheme_api::Flow::window(&sender.control) / u64::from(SEGMENT));
    }
    windows
}

#[test]
fn losses_of_one_window_shrink_it_once() {
    let none = windows(&[], |_, _| false);
    assert_eq!(none, [40, 80, 160, 320]);
    let once = windows(&[3], |_, _| false);
    assert_eq!(windows(&[3, 5, 9], |_, _| false)[0], once[0]);
    assert!((10..=13).contains(&once[0]), "{once:?}");
}

/// RFC 5681, 4.3: "the loss of a retransmission should be taken as two indications of congestion"; RFC 8985, 9.3.
#[test]
fn a_lost_retransmission_shrinks_the_window_again() {
    let (once, twice) = (windows(&[3], |_, _| false), windows(&[3], |_, is_again| is_again));
    assert_eq!(once[0], twice[0]);
    assert!(twice[1] <= once[1] / 2 + 1, "{once:?} {twice:?}");
}

/// Segment 31 leaves while segment 3 is being repaired, after the window shrank for that.
#[test]
fn a_loss_after_the_window_shrank_shrinks_it_again() {
    let (once, twice) = (windows(&[3], |_, _| false), windows(&[3], |sequence, _| sequence == 31));
    assert_eq!(once[..2], twice[..2]);
    assert!(twice[2] <= once[2] / 2 + 1, "{once:?} {twice:?}");
}

/// RFC 8985, 6.3: what was sent less than a round trip ago is not lost.
#[test]
fn a_time_out_sends_the_first_segment_and_waits_for_recent_ones() {
    let mut sender = sender(1_000_000, 10);
    sender.make_available(4);
    assert_eq!(send_all(&mut sender, 0), [0, 1, 2, 3]);
    sender.on_answer(10 * MS, &answer(0, 1, Block::default()), |_, marked, _| marked);
    let probes = sender.timeout_at();
    assert!(!sender.on_timer(probes));
    assert_eq!(send_all(&mut sender, probes), [3]);
    let expires = sender.timer.at();
    sender.make_available(5);
    assert_eq!(send_all(&mut sender, expires - MS), [4]);
    // A probe would be due at the same time; but one is out.
    assert_eq!(sender.prober.at(), expires);
    assert!(sender.on_timer(expires));
    // 1, 2 and 3 are lost, and 4 is in flight.
    assert_eq!((sender.flight.in_flight(), send_all(&mut sender, expires)), (1, vec![1, 2, 3]));
}

/// Occasional writes of an application do not defer the time-out: RFC 8985, 7.3, would restart the timer.
#[test]
fn new_data_does_not_postpone_the_time_out() {
    let mut sender = sender(1_000_000, 100);
    sender.make_available(2);
    send_all(&mut sender, 0);
    sender.on_answer(10 * MS, &answer(0, 1, Block::default()), |_, marked, _| marked);
    let mut now = sender.timeout_at();
    assert!(!sender.on_timer(now));
    for available in 3..20 {
        sender.make_available(available);
        send_all(&mut sender, now);
        now = sender.timeout_at();
        if sender.on_timer(now) {
            assert!(now <= 10 * MS + 2 * 30 * MS, "{now}");
            return;
        }
    }
    panic!("no time-out");
}

#[test]
fn the_end_of_a_transfer_is_repaired_by_a_probe_and_not_by_a_time_out() {
    let setup = super::Setup { min_timeout: wayleave_units::Time::from_millis(10), ..setup(10_000, 10) };
    let mut sender = Sender::new(&setup, AnyFlow::newreno(&setup.flow_start()));
    send_all(&mut sender, 0);
    // The last segment is lost.
    for sequence in 0..9 {
        sender.on_answer(MS, &answer(sequence, sequence + 1, Block::default()), |_, marked, _| marked);
    }
    assert_eq!((sender.timeout_at(), sender.timer.at() > 3 * MS), (sender.prober.at(), true));
    let expires = sender.timeout_at();
    assert_eq!(expires, 3 * MS, "after two round trips");
    assert!(!sender.on_timer(expires));
    assert_eq!(send_all(&mut sender, expires), [9]);
    assert_eq!(sender.timeout_at(), expires + sender.timer.timeout(), "there is no second probe");
    sender.on_answer(
        expires + MS,
        &SegmentReply { sent: expires, ..answer(9, 10, Block::default()) },
        |_, marked, _| marked,
    );
    assert!(sender.is_done());
}
