use super::*;
use crate::transports::testing::{acked, start};

/// A round of `segments` acknowledgements of 1,000 bytes, of which the first `marked` are marked.
fn round(flow: &mut Dctcp, at: &mut u64, segments: u64, marked: u64) {
    let sent = *at + 2 * segments * 1_000;
    for index in 0..segments {
        *at += 1_000;
        let marked = if index < marked { 1_000 } else { 0 };
        flow.on_ack(Time::ZERO, &Ack { marked, acknowledged: *at, sent, ..acked(1_000) });
    }
}

#[test]
fn a_constant_fraction_of_marks_becomes_the_estimate() {
    for marked in [0, 3, 10] {
        let mut flow = Dctcp::new(&start(1_000, 10_000), Params::default());
        let mut at = 0;
        for _ in 0..400 {
            round(&mut flow, &mut at, 10, marked);
        }
        // Windows of data do not end with rounds, so a window may see a mark more or less.
        assert!((flow.alpha() - marked as f64 / 10.0).abs() < 0.06, "{marked}: {}", flow.alpha());
    }
}

#[test]
fn equation_1_after_one_window_without_marks() {
    let mut flow = Dctcp::new(&start(1_000, 10_000), Params::default());
    flow.on_ack(Time::ZERO, &Ack { acknowledged: 1_000, sent: 10_000, ..acked(1_000) });
    assert_eq!(flow.alpha(), 15.0 / 16.0);
    // The window of data lasts until 10,000 are acknowledged.
    flow.on_ack(Time::ZERO, &Ack { acknowledged: 9_000, sent: 20_000, ..acked(8_000) });
    assert_eq!(flow.alpha(), 15.0 / 16.0);
    flow.on_ack(Time::ZERO, &Ack { acknowledged: 10_000, sent: 20_000, ..acked(1_000) });
    assert_eq!(flow.alpha(), 15.0 / 16.0 * (15.0 / 16.0));
}

#[test]
fn equation_2_takes_half_of_alpha_once_for_all_that_was_sent_before() {
    let mut flow = Dctcp::new(&start(1_000, 32_000), Params { initial_alpha: 0.5, gain: 0.0 });
    let marked = |acknowledged, sent| Ack { marked: 1_000, acknowledged, sent, ..acked(1_000) };
    flow.on_ack(Time::ZERO, &marked(1_000, 40_000));
    assert_eq!(flow.window(), 24_000);
    flow.on_ack(Time::ZERO, &marked(2_000, 41_000));
    flow.on_ack(Time::ZERO, &marked(40_000, 60_000));
    assert_eq!(flow.window(), 24_000);
    flow.on_ack(Time::ZERO, &marked(41_000, 60_000));
    assert_eq!(flow.window(), 18_000);
}

#[test]
fn full_congestion_halves_the_window_as_a_loss_does() {
    let mut flow = Dctcp::new(&start(1_000, 32_000), Params::default());
    flow.on_ack(Time::ZERO, &Ack { marked: 1_000, acknowledged: 1_000, sent: 40_000, ..acked(1_000) });
    assert_eq!(flow.window(), 16_000);
    let mut other = Dctcp::new(&start(1_000, 32_000), Params::default());
    other.on_loss(Time::ZERO, Loss::Fast { in_flight: 32_000 });
    assert_eq!(other.window(), 16_000);
}

#[test]
fn a_mark_ends_slow_start() {
    let mut flow = Dctcp::new(&start(1_000, 10_000), Params { initial_alpha: 0.0, gain: 0.0 });
    flow.on_ack(Time::ZERO, &Ack { marked: 1_000, acknowledged: 1_000, sent: 10_000, ..acked(1_000) });
    assert_eq!(flow.window(), 10_000);
    flow.on_ack(Time::ZERO, &Ack { acknowledged: 2_000, sent: 11_000, ..acked(1_000) });
    assert_eq!(flow.window(), 10_000, "one segment does not grow a window of ten");
}
