//! Fixed points, computed by hand from the formulas of the public implementations.

use super::*;
use crate::transports::testing::{SEGMENT, acked, start};

const KIB: u64 = 1024;

/// A flow with a window of 20 segments, alpha 1/4, in congestion avoidance.
fn flow() -> L2dct {
    let mut flow = L2dct::new(&start(40), &Params::default());
    // The first mark halves the window, since alpha is 1, and ends slow start.
    flow.on_ack(Time::ZERO, &Ack { marked: SEGMENT, acknowledged: SEGMENT, sent: SEGMENT, ..acked(1) });
    assert_eq!(flow.window(), 20 * SEGMENT);
    flow.0.dctcp.set_alpha(0.25);
    flow.0.dctcp.observe_until(u64::MAX);
    flow
}

fn having_sent(sent: u64) -> Ack<'static> {
    Ack { acknowledged: sent - 10 * SEGMENT, sent, ..acked(1) }
}

#[test]
fn weights_and_growths_are_those_of_the_curve() {
    // Sent in KiB; w, k in thousandths of a thousandth.
    let curve = [
        (0, 2_500_000, 1_000_000),
        (100, 2_500_000, 1_000_000),
        (200, 2_500_000, 1_000_000),
        (612, 1_312_500, 525_000),
        (1_024, 125_000, 50_000),
        (2_048, 125_000, 50_000),
    ];
    for (sent, expected_weight, expected_growth) in curve {
        let weight = weight(sent * KIB, 204_800, 1_048_576);
        let millionths = |value: u32| u64::from(value) * 1_000_000 / u64::from(ONCE);
        assert!(millionths(weight).abs_diff(expected_weight) <= 16, "w of {sent} KiB: {}", millionths(weight));
        assert!(millionths(growth(weight)).abs_diff(expected_growth) <= 16, "k of {sent} KiB");
    }
    // Bounds that leave no room for a curve make a step.
    assert_eq!([1_000, 1_001].map(|sent| weight(sent, 1_000, 1_000)), [HEAVIEST, LIGHTEST]);
    assert_eq!([1_000, 1_001].map(|sent| weight(sent, 1_000, 10)), [HEAVIEST, LIGHTEST]);
}

#[test]
fn marks_take_half_of_alpha_to_the_power_of_the_weight() {
    // 20 segments and alpha 1/4: 19.6875, 18.3790 and 11.5910.
    for (sent, window) in [(100 * KIB, 19_687), (612 * KIB, 18_379), (2_048 * KIB, 11_591)] {
        let mut flow = flow();
        flow.on_ack(Time::ZERO, &Ack { marked: SEGMENT, ..having_sent(sent) });
        assert!(flow.window().abs_diff(window) <= 1, "{sent} B sent: {} and not {window}", flow.window());
    }
}

#[test]
fn a_window_grows_by_its_part_of_a_segment_in_a_round_trip() {
    // Round trips of 20 acknowledgements until the window has a segment more: 1 / k.
    for (sent, round_trips) in [(100 * KIB, 1.0), (612 * KIB, 1.0 / 0.525), (2_048 * KIB, 20.0)] {
        let mut flow = flow();
        let mut acknowledgements = 0;
        while flow.window() == 20 * SEGMENT {
            flow.on_ack(Time::ZERO, &having_sent(sent));
            acknowledgements += 1;
        }
        assert_eq!(flow.window(), 21 * SEGMENT);
        let expected = (20.0_f64 * round_trips).ceil() as u64;
        assert!(
            acknowledgements - expected <= expected / 100 + 1,
            "{sent} B sent: {acknowledgements} and not {expected}"
        );
    }
}

#[test]
fn slow_start_and_losses_are_those_of_dctcp_for_any_bytes_sent() {
    let (mut flow, mut dctcp) = (L2dct::new(&start(10), &Params::default()), Dctcp::new(&start(10)));
    for step in 1..100 {
        let ack = Ack { acknowledged: step * 100 * SEGMENT, sent: (step * 100 + 50) * SEGMENT, ..acked(2) };
        flow.on_ack(Time::ZERO, &ack);
        dctcp.on_ack(Time::ZERO, &ack);
        assert_eq!(flow.0.dctcp, dctcp, "step {step}");
    }
    for loss in [Loss::Fast { in_flight: 16_000 }, Loss::Timeout { in_flight: 16_000 }] {
        flow.on_loss(Time::ZERO, loss);
        dctcp.on_loss(Time::ZERO, loss);
        assert_eq!(flow.0.dctcp, dctcp, "{loss:?}");
    }
}
