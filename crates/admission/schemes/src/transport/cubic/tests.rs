//! Fixed points of RFC 9438, computed by hand, and the table of stages.

use wayleave_scheme_api::{RecoveryPhase, SendLimit};

use super::*;
use crate::transports::testing::{self, SEGMENT, start};

/// Returns an acknowledgement of `segments` segments after this round trip, with much outstanding.
fn ack(segments: u64, round_trip: Time) -> Ack<'static> {
    let ack = testing::acked(segments);
    Ack { sent: ack.acknowledged + 1000 * SEGMENT, round_trip: Some(round_trip), ..ack }
}

/// Lost at 100 segments: W_max is 100, the window 70.
fn lost_at_100() -> Cubic {
    let mut flow = Cubic::new(&start(100));
    flow.on_loss(Time::ZERO, Loss::Fast { in_flight: 100 * SEGMENT });
    assert_eq!((flow.window(), flow.threshold()), (70 * SEGMENT, 70 * SEGMENT));
    flow
}

/// Acknowledges a window in every round trip from `from` on, until just before `until`.
fn run(flow: &mut Cubic, from: Time, until: Time, round_trip: Time) {
    let mut now = from;
    while now < until {
        let segments = flow.window() / SEGMENT;
        for _ in 0..segments {
            flow.on_ack(now, &ack(1, round_trip));
        }
        now += round_trip;
    }
}

#[test]
fn slow_start_equals_that_of_newreno() {
    let mut flow = Cubic::new(&start(10));
    for _ in 0..10 {
        flow.on_ack(Time::ZERO, &ack(1, Time::ZERO));
    }
    assert_eq!(flow.window(), 20 * SEGMENT);
    flow.on_ack(Time::ZERO, &ack(5, Time::ZERO));
    assert_eq!(flow.window(), 22 * SEGMENT);
}

#[test]
fn on_a_long_path_the_window_follows_the_curve_through_its_plateau() {
    // With 150 ms, additive increase (0.53 segments per round trip) is slower than the curve. The window lags behind
    // by a part of the curve's growth in a round trip.
    let round_trip = Time::from_millis(150);
    for (seconds, window) in [(1.0, 86.67), (2.0, 95.64), (4.2, 100.0), (6.2, 103.12), (8.4, 129.26)] {
        // (t - 4.217 s)^3 * 0.4 + 100.
        let mut flow = lost_at_100();
        run(&mut flow, Time::ZERO, Time::from_nanos((seconds * 1e9) as u64), round_trip);
        let found = flow.window() as f64 / SEGMENT as f64;
        assert!((found / window - 1.0).abs() < 0.02, "after {seconds} s: {found} instead of {window}");
    }
}

#[test]
fn on_a_short_path_growth_is_additive() {
    // With 100 us, 20 windows pass in 2 ms, in which the curve barely moves: 0.53 segments a window (RFC 9438, 4.3).
    let mut flow = lost_at_100();
    run(&mut flow, Time::ZERO, Time::from_millis(2), Time::from_micros(100));
    let expected = 70.0 + 20.0 * FRIENDLY_INCREASE;
    assert!((FRIENDLY_INCREASE - 9.0 / 17.0).abs() < 1e-12);
    assert!((flow.window() as f64 / 1000.0 - expected).abs() < 0.6, "{} instead of {expected}", flow.window());
}

#[test]
fn beyond_the_window_of_the_last_loss_additive_increase_is_one_segment() {
    let mut flow = Cubic { estimate: 100.0, ..lost_at_100() };
    let before = flow.estimate;
    flow.estimate(70.0);
    assert!((flow.estimate - before - 1.0).abs() < 1e-12, "{flow:?}");
    flow.estimate = 99.9;
    flow.estimate(70.0);
    assert!((flow.estimate - 99.9 - 9.0 / 17.0).abs() < 1e-12, "{flow:?}");
}

#[test]
fn an_earlier_loss_lowers_the_plateau() {
    // W_max was 100; at 90 it becomes 90 * 1.7 / 2 = 76.5, at 110 it becomes 110.
    for (window, plateau) in [(90.0, 76.5), (110.0, 110.0), (100.0, 100.0)] {
        let mut flow = Cubic { window, ..lost_at_100() };
        flow.on_loss(Time::ZERO, Loss::Fast { in_flight: 200 * SEGMENT });
        assert!((flow.curve().plateau - plateau).abs() < 1e-9, "{window}: {:?}", flow.curve());
        assert!((flow.window() as f64 / 1000.0 - window * 0.7).abs() < 1e-9, "{window}: {}", flow.window());
    }
}

#[test]
fn no_growth_is_faster_than_half_a_window_per_window() {
    let mut flow = lost_at_100();
    flow.on_ack(Time::ZERO, &ack(1, Time::from_millis(10)));
    // An hour later the curve is far away.
    let before = flow.window;
    flow.on_ack(Time::from_millis(3_600_000), &ack(1, Time::from_millis(10)));
    assert!((flow.window - before - 0.5).abs() < 1e-9, "{}", flow.window - before);
}

#[test]
fn after_a_timeout_slow_start_leads_to_a_curve_that_begins_flat() {
    // The previous W_max, 100 segments, is forgotten.
    let mut flow = lost_at_100();
    flow.on_loss(Time::ZERO, Loss::Timeout { in_flight: 70 * SEGMENT });
    assert_eq!((flow.window(), flow.threshold()), (SEGMENT, 49 * SEGMENT));
    for _ in 0..48 {
        flow.on_ack(Time::from_millis(5), &ack(1, Time::from_millis(1)));
    }
    assert_eq!(flow.window(), 49 * SEGMENT);
    flow.on_ack(Time::from_millis(6), &ack(1, Time::from_millis(1)));
    assert_eq!(flow.curve(), Curve { plateau: 49.0, plateau_after: 0.0 });
    assert_eq!(flow.stage, Stage::On { since: Time::from_millis(6) });
}

#[test]
fn a_second_timeout_in_a_row_leaves_the_threshold() {
    let mut flow = Cubic::new(&start(100));
    flow.on_loss(Time::ZERO, Loss::Timeout { in_flight: 100 * SEGMENT });
    flow.on_loss(Time::ZERO, Loss::Timeout { in_flight: SEGMENT });
    assert_eq!(flow.threshold(), 70 * SEGMENT);
    flow.on_ack(Time::ZERO, &testing::acked(1));
    flow.on_loss(Time::ZERO, Loss::Timeout { in_flight: SEGMENT });
    assert_eq!(flow.threshold(), 2 * SEGMENT);
}

#[test]
fn idle_time_of_the_application_does_not_count() {
    let round_trip = Time::from_millis(100);
    let mut busy = lost_at_100();
    let mut pausing = busy;
    run(&mut busy, Time::ZERO, Time::from_millis(2000), round_trip);
    run(&mut pausing, Time::ZERO, Time::from_millis(1000), round_trip);
    // Nine seconds without need: the window stays, and the curve resumes at its last position.
    let window = pausing.window();
    for second in 1..=10 {
        let now = Time::from_millis(second * 1000);
        pausing.on_ack(now, &Ack { limit: SendLimit::Application, ..ack(1, round_trip) });
    }
    assert_eq!(pausing.window(), window);
    run(&mut pausing, Time::from_millis(10_000), Time::from_millis(11_000), round_trip);
    assert_eq!(pausing.window(), busy.window());
}

#[test]
fn a_flow_in_recovery_does_not_grow() {
    let mut flow = lost_at_100();
    for _ in 0..100 {
        flow.on_ack(Time::from_millis(50), &Ack { phase: RecoveryPhase::Recovery, ..ack(1, Time::ZERO) });
    }
    assert_eq!((flow.window(), flow.stage), (70 * SEGMENT, Stage::Off(History::Calm)));
}

#[test]
fn a_threshold_is_reached_exactly_for_any_segment_size() {
    // 70 % of an odd window in odd segments: the first acknowledgement afterwards is congestion avoidance.
    for segment in [1, 7, 536, 1448, 1460, 8948] {
        for initial in 100..200 {
            let start = FlowStart { segment, initial_window: initial * u64::from(segment) + 1, ..start(1) };
            let mut flow = Cubic::new(&FlowStart { max_window: 100_000_000, ..start });
            flow.on_loss(Time::ZERO, Loss::Fast { in_flight: start.initial_window });
            flow.on_ack(Time::ZERO, &Ack { newly: u64::from(segment), ..ack(1, Time::ZERO) });
            assert_eq!(flow.stage, Stage::On { since: Time::ZERO }, "{segment} {initial}");
        }
    }
}

#[test]
fn the_window_stays_between_a_byte_and_its_maximum() {
    let mut flow = Cubic::new(&FlowStart { max_window: 1000 * SEGMENT, ..start(999) });
    for _ in 0..10 {
        flow.on_ack(Time::ZERO, &ack(1, Time::ZERO));
    }
    assert_eq!(flow.window(), 1000 * SEGMENT);
    let nothing = FlowStart { segment: 0, initial_window: 0, max_window: 0, ..start(0) };
    let mut flow = Cubic::new(&nothing);
    flow.on_loss(Time::ZERO, Loss::Timeout { in_flight: 0 });
    flow.on_ack(Time::ZERO, &ack(1, Time::ZERO));
    assert_eq!(flow.window(), 1);
}

#[test]
fn every_transition_of_the_stage_follows_the_table() {
    use History::{Calm, Restarting, TimedOut};
    use Stage::{Off, On, Paused};
    let now = Time::from_millis(9);
    let on = On { since: Time::from_millis(4) };
    let paused = Paused { at: Time::from_millis(5) };
    // From; after an acknowledgement that lets the window grow and one that does not, at the threshold.
    for (from, grows, stays) in [
        (Off(Calm), On { since: now }, Off(Calm)),
        (Off(TimedOut), On { since: now }, Off(Restarting)),
        (Off(Restarting), On { since: now }, Off(Restarting)),
        (on, on, paused),
        (paused, on, paused),
    ] {
        let after = |change: &dyn Fn(&mut Cubic)| {
            let mut flow = Cubic { stage: from, ..lost_at_100() };
            change(&mut flow);
            flow.stage
        };
        let idle = Ack { limit: SendLimit::Application, ..ack(1, Time::ZERO) };
        assert_eq!(after(&|flow| flow.on_ack(now, &ack(1, Time::ZERO))), grows, "{from:?}");
        assert_eq!(after(&|flow| flow.on_ack(now, &idle)), stays, "{from:?}");
        assert_eq!(after(&|flow| flow.on_loss(now, Loss::Fast { in_flight: 0 })), Off(Calm), "{from:?}");
        assert_eq!(after(&|flow| flow.on_loss(now, Loss::Timeout { in_flight: 0 })), Off(TimedOut), "{from:?}");
    }
}
