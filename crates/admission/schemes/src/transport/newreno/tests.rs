//! Fixed points of RFC 5681, 3465 and 6582, computed by hand, and the table of the state after a time-out.

use super::*;
use crate::transports::testing::{SEGMENT, acked, start};

/// Feeds `times` acknowledgements of one segment each to a sender that keeps its window full.
fn acknowledge(flow: &mut NewReno, times: u64) {
    for _ in 0..times {
        flow.on_ack(Time::ZERO, &full(flow, 1));
    }
}

/// Returns an acknowledgement of `segments` segments that leaves a full window outstanding.
fn full(flow: &NewReno, segments: u64) -> Ack<'static> {
    Ack { sent: acked(segments).acknowledged + flow.window(), ..acked(segments) }
}

fn segments(flow: &NewReno) -> u64 {
    assert_eq!(flow.window() % SEGMENT, 0, "{flow:?}");
    flow.window() / SEGMENT
}

/// At the threshold with this window.
fn avoiding(window: u64) -> NewReno {
    let mut flow = NewReno::new(&start(2 * window));
    flow.on_loss(Time::ZERO, Loss::Fast { in_flight: 2 * window * SEGMENT });
    assert_eq!(segments(&flow), window);
    flow
}

#[test]
fn slow_start_doubles_in_a_round_trip() {
    let mut flow = NewReno::new(&start(10));
    acknowledge(&mut flow, 10);
    assert_eq!(segments(&flow), 20);
    acknowledge(&mut flow, 20);
    assert_eq!(segments(&flow), 40);
}

#[test]
fn one_acknowledgement_adds_two_segments_at_most_in_slow_start() {
    let mut flow = NewReno::new(&start(10));
    flow.on_ack(Time::ZERO, &acked(5));
    assert_eq!(segments(&flow), 12);
}

#[test]
fn one_acknowledgement_adds_one_segment_at_most_after_a_timeout() {
    let mut flow = NewReno::new(&start(20));
    flow.on_loss(Time::ZERO, Loss::Timeout { in_flight: 20 * SEGMENT });
    acknowledge(&mut flow, 3);
    flow.on_ack(Time::ZERO, &acked(4));
    assert_eq!(segments(&flow), 5);
}

#[test]
fn congestion_avoidance_adds_one_segment_per_window() {
    let mut flow = avoiding(10);
    for (acknowledgements, window) in [(9, 10), (1, 11), (10, 11), (1, 12), (12, 13)] {
        acknowledge(&mut flow, acknowledgements);
        assert_eq!(segments(&flow), window);
    }
}

#[test]
fn bytes_acknowledged_beyond_a_window_count_for_the_next() {
    let mut flow = avoiding(10);
    // 4, 8, 12 of 10; then 2 and 9 of 11.
    for (acknowledged, window) in [(4, 10), (4, 10), (4, 11), (9, 12)] {
        flow.on_ack(Time::ZERO, &acked(acknowledged));
        assert_eq!(segments(&flow), window);
    }
}

#[test]
fn from_half_a_window_to_a_window_takes_three_eighths_of_its_square() {
    // The saw tooth: 40 + 41 + ... + 79 = 2,380 acknowledgements from 40 to 80 segments; 3/8 of 80^2 is 2,400.
    let mut flow = avoiding(40);
    acknowledge(&mut flow, 2379);
    assert_eq!(segments(&flow), 79);
    acknowledge(&mut flow, 1);
    assert_eq!(segments(&flow), 80);
}

#[test]
fn a_loss_halves_the_outstanding_data() {
    let mut flow = NewReno::new(&start(19));
    acknowledge(&mut flow, 1);
    flow.on_ack(Time::ZERO, &Ack { limit: SendLimit::Application, ..full(&flow, 1) });
    // Three have arrived beyond the missing one: 16 are in flight, but 20 are outstanding.
    flow.on_loss(Time::ZERO, Loss::Fast { in_flight: 16 * SEGMENT });
    assert_eq!((segments(&flow), flow.threshold()), (10, 10 * SEGMENT));
}

#[test]
fn a_sender_that_uses_half_its_window_is_left_with_a_quarter() {
    let mut flow = NewReno::new(&start(40));
    let acknowledged = acked(1).acknowledged;
    let quiet = Ack { sent: acknowledged + 20 * SEGMENT, limit: SendLimit::Application, ..acked(1) };
    flow.on_ack(Time::ZERO, &quiet);
    flow.on_loss(Time::ZERO, Loss::Fast { in_flight: 16 * SEGMENT });
    assert_eq!(segments(&flow), 10);
}

#[test]
fn bytes_sent_beyond_the_window_do_not_count() {
    let mut flow = NewReno::new(&start(20));
    flow.on_ack(
        Time::ZERO,
        &Ack { sent: acked(1).acknowledged + 23 * SEGMENT, phase: RecoveryPhase::Recovery, ..acked(1) },
    );
    flow.on_loss(Time::ZERO, Loss::Fast { in_flight: 0 });
    assert_eq!(segments(&flow), 10);
}

#[test]
fn a_timeout_leaves_one_segment_and_slow_start_leads_to_half() {
    let mut flow = NewReno::new(&start(20));
    flow.on_loss(Time::ZERO, Loss::Timeout { in_flight: 20 * SEGMENT });
    assert_eq!((segments(&flow), flow.threshold()), (1, 10 * SEGMENT));
    acknowledge(&mut flow, 9);
    assert_eq!(segments(&flow), 10);
    acknowledge(&mut flow, 9);
    assert_eq!(segments(&flow), 10);
    acknowledge(&mut flow, 1);
    assert_eq!(segments(&flow), 11);
}

#[test]
fn a_second_timeout_in_a_row_leaves_the_threshold() {
    let mut flow = NewReno::new(&start(20));
    flow.on_loss(Time::ZERO, Loss::Timeout { in_flight: 20 * SEGMENT });
    flow.on_loss(Time::ZERO, Loss::Timeout { in_flight: SEGMENT });
    assert_eq!((segments(&flow), flow.threshold()), (1, 10 * SEGMENT));
    // Something was acknowledged in between: this one counts.
    acknowledge(&mut flow, 1);
    flow.on_loss(Time::ZERO, Loss::Timeout { in_flight: SEGMENT });
    assert_eq!(flow.threshold(), 2 * SEGMENT);
}

#[test]
fn no_threshold_is_below_two_segments() {
    for loss in [Loss::Fast { in_flight: 0 }, Loss::Timeout { in_flight: 0 }] {
        let mut flow = NewReno::new(&start(2));
        flow.on_loss(Time::ZERO, loss);
        assert_eq!(flow.threshold(), 2 * SEGMENT, "{loss:?}");
    }
}

#[test]
fn neither_an_idle_nor_a_repairing_sender_grows() {
    for mut flow in [NewReno::new(&start(10)), avoiding(10)] {
        for (limit, phase) in [
            (SendLimit::Application, RecoveryPhase::Open),
            (SendLimit::Window, RecoveryPhase::Recovery),
            (SendLimit::Application, RecoveryPhase::Recovery),
        ] {
            for _ in 0..100 {
                flow.on_ack(Time::ZERO, &Ack { limit, phase, ..acked(1) });
            }
            assert_eq!(segments(&flow), 10, "{limit:?} {phase:?}");
        }
        acknowledge(&mut flow, 10);
        assert!(segments(&flow) > 10);
    }
}

#[test]
fn the_window_stops_at_its_maximum() {
    let mut flow = NewReno::new(&FlowStart { max_window: 1000 * SEGMENT, ..start(900) });
    acknowledge(&mut flow, 200);
    assert_eq!(segments(&flow), 1000);
    let mut huge = NewReno::new(&FlowStart { max_window: u64::MAX, initial_window: u64::MAX, ..start(1) });
    assert_eq!(huge.window(), MAX_WINDOW);
    huge.on_ack(Time::ZERO, &Ack { newly: u64::MAX, ..acked(1) });
    assert_eq!(huge.window(), MAX_WINDOW);
}

#[test]
fn a_window_of_zero_becomes_one_segment() {
    assert_eq!(segments(&NewReno::new(&start(0))), 1);
    let nothing = FlowStart { segment: 0, initial_window: 0, max_window: 0, ..start(0) };
    assert_eq!(NewReno::new(&nothing).window(), 1);
}

#[test]
fn no_segment_size_causes_a_panic() {
    let mut flow = NewReno::new(&FlowStart { segment: u32::MAX, max_window: u64::MAX, ..start(1) });
    for _ in 0..3 {
        flow.on_ack(Time::ZERO, &Ack { newly: u64::MAX, ..acked(1) });
        flow.on_loss(Time::ZERO, Loss::Timeout { in_flight: u64::MAX });
    }
    assert_eq!(flow.window(), MAX_WINDOW);
}

#[test]
fn every_transition_of_the_history_follows_the_table() {
    use History::{Calm, Restarting, TimedOut};
    // From; after an acknowledgement, a fast loss, a time-out; whether the time-out sets the threshold.
    for (from, acknowledged, fast, timed_out, sets_threshold) in [
        (Calm, Calm, Calm, TimedOut, true),
        (TimedOut, Restarting, Calm, TimedOut, false),
        (Restarting, Restarting, Calm, TimedOut, true),
    ] {
        let before = NewReno { history: from, outstanding: 20_000, ..NewReno::new(&start(20)) };
        let after = |change: &dyn Fn(&mut NewReno)| {
            let mut flow = before;
            change(&mut flow);
            flow
        };
        assert_eq!(after(&|flow| acknowledge(flow, 1)).history, acknowledged, "{from:?}");
        assert_eq!(after(&|flow| flow.on_loss(Time::ZERO, Loss::Fast { in_flight: 0 })).history, fast, "{from:?}");
        let late = after(&|flow| flow.on_loss(Time::ZERO, Loss::Timeout { in_flight: 0 }));
        assert_eq!((late.history, late.threshold != before.threshold), (timed_out, sets_threshold), "{from:?}");
    }
}
