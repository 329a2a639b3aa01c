//! Fixed points of SIGCOMM 2010 and RFC 8257, computed by hand.

use wayleave_scheme_api::SendLimit;

use super::*;
use crate::transports::testing::{SEGMENT, acked, start};

/// A sender that keeps its window full, with its sent and acknowledged bytes.
struct Sender {
    flow: Dctcp,
    acknowledged: u64,
    sent: u64,
    limit: SendLimit,
    phase: RecoveryPhase,
}

impl Sender {
    /// One whose window does not grow.
    fn new(initial: u64) -> Self {
        let flow = Dctcp::new(&start(initial));
        Self {
            flow,
            acknowledged: 0,
            sent: initial * SEGMENT,
            limit: SendLimit::Application,
            phase: RecoveryPhase::Open,
        }
    }

    fn growing(initial: u64) -> Self {
        Self { limit: SendLimit::Window, ..Self::new(initial) }
    }

    /// One segment is acknowledged; returns whether the window shrank.
    fn acknowledge(&mut self, is_marked: bool) -> bool {
        self.acknowledged += SEGMENT;
        let before = self.flow.window();
        let marked = if is_marked { SEGMENT } else { 0 };
        let Self { acknowledged, sent, limit, phase, .. } = *self;
        self.flow.on_ack(Time::ZERO, &Ack { marked, acknowledged, sent, limit, phase, ..acked(1) });
        self.sent = self.sent.max(self.acknowledged + self.flow.window());
        self.flow.window() < before
    }

    /// A window of observation without marks.
    fn observe(&mut self) {
        let end = self.flow.observed_until;
        while self.flow.observed_until == end {
            self.acknowledge(false);
        }
    }
}

/// After `windows`, alpha is off its fixed point by (1 - g)^windows of where it began, and by its own grain.
fn assert_alpha(alpha: u32, fraction: f64, windows: i32) {
    let expected = fraction + (1.0 - fraction) * (15.0_f64 / 16.0).powi(windows);
    let alpha = f64::from(alpha) / f64::from(ONE);
    assert!((alpha - expected).abs() < 1e-6, "{alpha} instead of {expected}");
}

#[test]
fn alpha_begins_at_one_and_decays_by_a_sixteenth_per_window() {
    let mut sender = Sender::new(20);
    assert_eq!(sender.flow.alpha(), 1.0);
    for windows in 1..=40 {
        sender.observe();
        assert_alpha(sender.flow.alpha, 0.0, windows);
    }
}

#[test]
fn an_observation_lasts_until_the_data_in_flight_at_its_start_is_acknowledged() {
    let mut sender = Sender::new(20);
    // The first acknowledgement ends the first one (RFC 8257, 3.3: WindowEnd begins as SND.UNA), then it takes 20.
    for (acknowledgements, windows) in [(1, 1), (19, 1), (1, 2), (19, 2), (1, 3)] {
        for _ in 0..acknowledgements {
            sender.acknowledge(false);
        }
        assert_alpha(sender.flow.alpha, 0.0, windows);
    }
}

#[test]
fn alpha_converges_to_a_constant_fraction_of_marks() {
    let mut alpha = ONE;
    for windows in 1..=400 {
        alpha = average(alpha, 16_000, 64_000);
        assert_alpha(alpha, 0.25, windows);
    }
    // From below as from above.
    for (from, marked) in [(0, 1), (ONE, 1), (0, 3), (ONE, 0), (0, 4), (ONE, 4)] {
        let end = (0..1000).fold(from, |alpha, _| average(alpha, marked, 4));
        assert!((f64::from(end) / f64::from(ONE) - f64::from(marked) / 4.0).abs() < 1.0 / f64::from(1 << 26), "{end}");
    }
}

#[test]
fn a_flow_whose_packets_are_all_marked_keeps_alpha_at_one() {
    let mut sender = Sender::new(20);
    for _ in 0..200 {
        sender.acknowledge(true);
        assert_eq!(sender.flow.alpha(), 1.0);
    }
}

#[test]
fn the_first_mark_halves_the_window() {
    let mut sender = Sender::new(20);
    assert!(sender.acknowledge(true));
    assert_eq!(sender.flow.window(), 10 * SEGMENT);
}

#[test]
fn a_mark_shrinks_the_window_by_half_of_alpha_and_ends_slow_start() {
    // 16 windows without a mark: alpha is (15/16)^16 = 0.356074; of 20 segments 3,560 B go.
    let mut sender = Sender::new(20);
    for _ in 0..16 {
        sender.observe();
    }
    // The next acknowledgement does not end an observation.
    assert!(sender.acknowledged + SEGMENT <= sender.flow.observed_until);
    assert!(sender.acknowledge(true));
    assert_eq!(sender.flow.window(), 20_000 - 3_560);
    assert_eq!(sender.flow.base.threshold(), sender.flow.window());
}

#[test]
fn the_window_shrinks_once_per_window_of_data() {
    let mut sender = Sender::growing(64);
    let mut last: Option<u64> = None;
    let mut reductions = 0;
    for _ in 0..2000 {
        let sent = sender.sent;
        if sender.acknowledge(true) {
            // Everything sent before the last reduction has been acknowledged.
            assert!(last.is_none_or(|until| sender.acknowledged > until));
            last = Some(sent);
            reductions += 1;
        }
    }
    // 64, 32, 16, 8, 4, 2, 1.
    assert_eq!((reductions, sender.flow.window()), (6, SEGMENT));
}

#[test]
fn the_last_packet_before_a_reduction_does_not_cause_another() {
    let mut sender = Sender::new(4);
    assert!(sender.acknowledge(true));
    let until = sender.flow.reduced_until;
    while sender.acknowledged < until {
        assert!(!sender.acknowledge(true), "at {}", sender.acknowledged);
    }
    assert!(sender.acknowledge(true));
}

#[test]
fn marked_bytes_do_not_grow_the_window() {
    let mut sender = Sender::growing(20);
    sender.acknowledge(true);
    let window = sender.flow.window();
    for _ in 0..15 {
        sender.acknowledge(true);
    }
    assert_eq!(sender.flow.window(), window);
    for _ in 0..10 {
        sender.acknowledge(false);
    }
    assert_eq!(sender.flow.window(), window + SEGMENT);
}

#[test]
fn the_minimum_window_is_one_segment_and_grows_again() {
    let mut sender = Sender::growing(1);
    for _ in 0..20 {
        sender.acknowledge(true);
        assert_eq!(sender.flow.window(), SEGMENT);
    }
    sender.acknowledge(false);
    assert_eq!(sender.flow.window(), 2 * SEGMENT);
}

#[test]
fn losses_are_handled_as_in_newreno() {
    for loss in [Loss::Fast { in_flight: 16_000 }, Loss::Timeout { in_flight: 16_000 }] {
        let mut flow = Dctcp::new(&start(20));
        let mut reno = NewReno::new(&start(20));
        flow.on_loss(Time::ZERO, loss);
        reno.on_loss(Time::ZERO, loss);
        assert_eq!((flow.base, flow.alpha()), (reno, 1.0), "{loss:?}");
    }
}

#[test]
fn marks_from_before_a_loss_do_not_shrink_the_window_again() {
    let mut sender = Sender::new(20);
    sender.acknowledge(false);
    sender.flow.on_loss(Time::ZERO, Loss::Timeout { in_flight: 20_000 });
    let (threshold, until) = (sender.flow.base.threshold(), sender.sent);
    while sender.acknowledged < until {
        sender.acknowledge(true);
        assert_eq!(sender.flow.base.threshold(), threshold, "at {}", sender.acknowledged);
    }
    sender.acknowledge(true);
    assert_eq!(sender.flow.base.threshold(), 2 * SEGMENT);
}

#[test]
fn during_recovery_alpha_is_updated_and_the_window_stays() {
    let mut sender = Sender::growing(20);
    sender.flow.alpha = 0;
    sender.flow.on_loss(Time::ZERO, Loss::Fast { in_flight: 16_000 });
    sender.phase = RecoveryPhase::Recovery;
    for _ in 0..200 {
        sender.acknowledge(true);
        assert_eq!(sender.flow.window(), 8 * SEGMENT);
    }
    assert!(sender.flow.alpha() > 0.4, "{}", sender.flow.alpha());
}

#[test]
fn alone_on_a_line_alpha_is_the_square_root_of_two_over_the_window() {
    // SIGCOMM 2010, 3.3: at W* = 100 segments packets are marked for one round trip in every saw tooth. Then alpha^2
    // (1 - alpha / 4) = (2 W* + 1) / (W* + 1)^2, so that alpha is 0.143 (root of 2 / W*: 0.141).
    let critical = 100 * SEGMENT;
    let mut sender = Sender::growing(10);
    // Per packet, in order of departure: `true` if more than W* was outstanding.
    let mut marks = std::collections::VecDeque::new();
    let (mut sum, mut count) = (0.0, 0);
    for step in 0..400_000 {
        let outstanding = sender.sent - sender.acknowledged;
        marks.resize((outstanding / SEGMENT) as usize, outstanding > critical);
        let is_marked = marks.pop_front().unwrap_or(false);
        sender.acknowledge(is_marked);
        if step >= 100_000 {
            (sum, count) = (sum + sender.flow.alpha(), count + 1);
        }
    }
    let mean = sum / f64::from(count);
    assert!((0.12..0.17).contains(&mean), "{mean}");
}

/// For windows of 1 to 40 segments, from any place in an observation, with marks before: against one acknowledgement after another.
#[test]
fn a_period_without_marks_is_predicted_exactly() {
    for window in 1..=40 {
        for marks in 0..3 {
            let mut sender = Sender::new(window);
            (0..=window + marks).for_each(|segment| {
                sender.acknowledge(segment < marks);
            });
            // The window does not grow, and is full again.
            (0..2 * window).for_each(|_| {
                sender.acknowledge(false);
            });
            let (flow, acknowledged) = (sender.flow, sender.acknowledged);
            for count in 0..1_000 {
                assert_eq!(
                    flow.after_unmarked(acknowledged, SEGMENT, count),
                    sender.flow,
                    "{window}, {marks}: {count}"
                );
                sender.acknowledge(false);
            }
        }
    }
}

#[test]
fn a_window_may_shrink_again_when_the_data_sent_before_is_acknowledged() {
    let mut sender = Sender::new(4);
    assert!(sender.flow.may_shrink(0));
    sender.acknowledge(true);
    while !sender.flow.may_shrink(sender.acknowledged) {
        assert!(!sender.acknowledge(true), "at {}", sender.acknowledged);
    }
    assert!(sender.acknowledge(true));
    sender.flow.on_loss(Time::ZERO, Loss::Timeout { in_flight: 1000 });
    assert!(!sender.flow.may_shrink(u64::MAX - 1));
}
