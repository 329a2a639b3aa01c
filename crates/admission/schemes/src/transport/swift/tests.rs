//! Hand-computed values with the parameters of Falcon's simulator, 5 switches on the path, scaling up to a window of
//! 100.

use wayleave_scheme_api::{Ack, Flow, FlowStart, Loss, RouteFacts, SendLimit};
use wayleave_units::{Rate, Time};

use super::{Params, Swift};
use crate::transports::testing::{SEGMENT, acked, start};

/// Returns a flow of weight 1 whose window is this number of packets (in hundredths).
fn with(hundredths: u64) -> Swift {
    let start = FlowStart { initial_window: hundredths * SEGMENT / 100, ..start(1) };
    let mut flow = Swift::new(&start, &Params::default());
    flow.on_route(Time::ZERO, route(6, 24));
    flow
}

fn route(hops: u32, microseconds: u64) -> RouteFacts {
    RouteFacts { hops, round_trip: Time::from_micros(microseconds), slowest: Rate::from_gbit(10) }
}

fn after(microseconds: u64) -> Ack<'static> {
    Ack { round_trip: Some(Time::from_micros(microseconds)), ..acked(1) }
}

#[track_caller]
fn assert_packets(flow: &Swift, expected: f64) {
    let packets = flow.0.window();
    assert!((packets - expected).abs() < 1e-9, "{packets} and not {expected}");
}

#[test]
fn the_target_grows_with_hops_and_as_the_window_gets_smaller() {
    for (window, expected) in [(100, 59_390), (2_500, 33_270), (5, 130_000), (10_000, 30_000), (20_000, 30_000)] {
        let target = with(window).target().as_nanos();
        assert!(target.abs_diff(expected) <= 5, "window {window}: {target} ns and not {expected}");
    }
    let mut near = with(10_000);
    near.on_route(Time::ZERO, route(2, 9));
    assert_eq!(near.target(), Time::from_micros(26));
}

#[test]
fn below_the_target_a_window_grows_by_one_packet_in_a_round_trip() {
    let mut flow = with(1_000);
    flow.on_ack(Time::ZERO, &after(24));
    assert_packets(&flow, 10.1);
    let mut small = with(50);
    small.on_ack(Time::ZERO, &after(24));
    assert_packets(&small, 1.5);
}

/// d = 100 us and D = 80 us take 0.8 of a fifth; d = 400 us would take 0.64, and one half is the most.
#[test]
fn above_the_target_a_window_shrinks_in_proportion_to_the_excess() {
    // At 10 packets the scaled part is 7.06 us; a base of 67.94 us makes 80.
    for (delay, expected) in [(100, 8.4), (400, 5.0)] {
        let params = Params { base_target: Time::from_nanos(67_938), ..Params::default() };
        let mut flow = Swift::new(&start(10), &params);
        flow.on_route(Time::ZERO, route(6, 24));
        assert!(flow.target().as_nanos().abs_diff(80_000) <= 1, "{}", flow.target());
        flow.on_ack(Time::from_micros(delay), &after(delay));
        let packets = flow.0.window();
        assert!((packets - expected).abs() < 1e-3, "{packets} and not {expected}");
    }
}

#[test]
fn a_window_shrinks_once_in_a_round_trip() {
    let mut flow = with(1_000);
    let at = |microseconds: u64| Time::from_micros(1_000 + microseconds);
    flow.on_ack(at(0), &after(400));
    assert_packets(&flow, 5.0);
    for now in [1, 399] {
        flow.on_ack(at(now), &after(400));
        flow.on_loss(at(now), Loss::Fast { in_flight: 0 });
        assert_packets(&flow, 5.0);
    }
    flow.on_ack(at(400), &after(400));
    assert_packets(&flow, 2.5);
}

#[test]
fn a_flow_of_weight_four_acts_as_four_flows() {
    for (window, grown) in [(800, 8.5), (200, 3.0)] {
        let mut flow = with(window);
        flow.on_weight(Time::ZERO, 4);
        if window == 800 {
            assert!(flow.target().as_nanos().abs_diff(49_830) <= 5, "{}", flow.target());
        }
        flow.on_ack(Time::ZERO, &after(24));
        assert_packets(&flow, grown);
    }
}

#[test]
fn the_weight_at_the_start_applies_and_defaults_to_one() {
    let grown = |weight| {
        let mut flow = Swift::new(&FlowStart { weight, ..start(10) }, &Params::default());
        flow.on_ack(Time::ZERO, &after(20));
        flow.window()
    };
    assert_eq!([0, 1, 5].map(grown), [10_100, 10_100, 10_500]);
}

#[test]
fn a_loss_halves_the_window_and_the_third_consecutive_time_out_resets_it() {
    let (loss, timeout) = (Loss::Fast { in_flight: 0 }, Loss::Timeout { in_flight: 0 });
    let mut flow = with(6_400);
    flow.on_ack(Time::from_micros(100), &after(24));
    let first = flow.0.window();
    flow.on_loss(Time::from_micros(200), loss);
    assert_packets(&flow, first / 2.0);
    for (at, part) in [(300, 4.0), (400, 8.0)] {
        flow.on_loss(Time::from_micros(at), timeout);
        assert_packets(&flow, first / part);
    }
    flow.on_loss(Time::from_micros(500), timeout);
    assert_packets(&flow, 0.01);
    assert_eq!(flow.window(), SEGMENT / 100);
    // An acknowledgement ends the row.
    flow.on_ack(Time::from_micros(600), &after(24));
    let grown = flow.0.window();
    flow.on_loss(Time::from_micros(700), timeout);
    assert_packets(&flow, grown / 2.0);
}

#[test]
fn windows_stay_between_the_minimum_and_the_maximum() {
    let mut flow = with(2);
    flow.on_loss(Time::from_micros(100), Loss::Fast { in_flight: 0 });
    flow.on_loss(Time::from_micros(200), Loss::Fast { in_flight: 0 });
    assert_packets(&flow, 0.01);
    let mut flow = Swift::new(&FlowStart { max_window: 3 * SEGMENT, ..start(3) }, &Params::default());
    flow.on_ack(Time::ZERO, &after(20));
    assert_packets(&flow, 3.0);
}

#[test]
fn an_unused_window_does_not_grow_but_still_shrinks() {
    let mut flow = with(1_000);
    flow.on_ack(Time::from_micros(100), &Ack { limit: SendLimit::Application, ..after(24) });
    assert_packets(&flow, 10.0);
    flow.on_ack(Time::from_micros(200), &Ack { limit: SendLimit::Application, ..after(400) });
    assert_packets(&flow, 5.0);
}

/// 20 us of the round trip are the fabric's, and 300 us the receiving host's, whose target is 100 us.
#[test]
fn the_receiver_window_follows_the_host_delay_alone() {
    let mut flow = with(1_000);
    let slow_host = Ack { host_delay: Some(Time::from_micros(300)), ..after(320) };
    flow.on_ack(Time::from_micros(1_000), &slow_host);
    assert!((flow.0.fabric.packets - 10.1).abs() < 1e-9, "{:?}", flow.0.fabric);
    // 0.8 of two thirds is above one half.
    assert_packets(&flow, 5.0);
}

#[test]
fn skipped_time_moves_the_last_shrink_of_a_window_into_the_past() {
    let [at, round_trip] = [100, 400].map(Time::from_micros);
    let mut flow = with(1_000);
    flow.on_ack(at, &after(400));
    for passed in [0, 1, 99, 100, 101, 1_000].map(Time::from_micros) {
        let mut later = flow.clone();
        later.pass(passed);
        let free = (at + round_trip).saturating_sub(passed).max(at);
        assert_eq!(later.may_shrink(at), passed > at || free == at, "{passed}");
        assert!(later.may_shrink(free), "{passed}");
    }
}
