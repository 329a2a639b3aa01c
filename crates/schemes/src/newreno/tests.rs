use super::*;
use crate::transports::testing::{acked, start};

#[test]
fn slow_start_doubles_the_window_each_round_trip() {
    let mut flow = NewReno::new(&start(1_000, 10_000));
    for _ in 0..10 {
        flow.on_ack(Time::ZERO, &acked(1_000));
    }
    assert_eq!(flow.window(), 20_000);
}

#[test]
fn one_acknowledgement_of_many_segments_counts_for_two() {
    let mut flow = NewReno::new(&start(1_000, 10_000));
    flow.on_ack(Time::ZERO, &acked(7_000));
    assert_eq!(flow.window(), 12_000);
}

#[test]
fn a_loss_halves_the_window_which_then_grows_by_a_segment_each_round_trip() {
    let mut flow = NewReno::new(&start(1_000, 20_000));
    flow.on_loss(Time::ZERO, Loss::Fast { in_flight: 17_000 });
    assert_eq!(flow.window(), 10_000);
    for _ in 0..9 {
        flow.on_ack(Time::ZERO, &acked(1_000));
    }
    assert_eq!(flow.window(), 10_000);
    flow.on_ack(Time::ZERO, &acked(1_000));
    assert_eq!(flow.window(), 11_000);
}

#[test]
fn after_a_time_out_the_window_is_one_segment_and_doubles_up_to_half_of_what_it_was() {
    let mut flow = NewReno::new(&start(1_000, 8_000));
    flow.on_loss(Time::ZERO, Loss::Timeout { in_flight: 8_000 });
    assert_eq!(flow.window(), 1_000);
    for expected in [2_000, 3_000, 4_000, 4_000, 4_000, 4_000, 5_000] {
        flow.on_ack(Time::ZERO, &acked(1_000));
        assert_eq!(flow.window(), expected);
    }
}

#[test]
fn neither_recovery_nor_idleness_grows_the_window_and_nothing_exceeds_the_largest() {
    let mut flow = NewReno::new(&FlowStart { max_window: 12_000, ..start(1_000, 10_000) });
    flow.on_ack(Time::ZERO, &Ack { phase: Phase::Recovery, ..acked(1_000) });
    flow.on_ack(Time::ZERO, &Ack { limit: Limit::Application, ..acked(1_000) });
    assert_eq!(flow.window(), 10_000);
    for _ in 0..9 {
        flow.on_ack(Time::ZERO, &acked(1_000));
    }
    assert_eq!(flow.window(), 12_000);
}

#[test]
fn the_window_never_falls_below_one_segment() {
    let mut flow = NewReno::new(&start(1_000, 1_000));
    for loss in [Loss::Fast { in_flight: 0 }, Loss::Timeout { in_flight: 0 }, Loss::Fast { in_flight: 0 }] {
        flow.on_loss(Time::ZERO, loss);
        assert!(flow.window() >= 1_000);
    }
}
