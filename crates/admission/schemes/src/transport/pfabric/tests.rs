//! Behaviour of pFabric's hosts, with the numbers of the public simulators.

use wayleave_units::Rate;

use super::*;
use crate::transports::testing::{SEGMENT, acked, start};

/// 10 segments of 1,000 B: 1 Gbit/s and 80 us.
fn route() -> RouteFacts {
    RouteFacts { hops: 4, round_trip: Time::from_micros(80), slowest: Rate::from_gbit(1) }
}

fn flow(params: Params) -> Pfabric {
    let mut flow = Pfabric::new(&start(50), &params);
    flow.on_route(Time::ZERO, route());
    flow
}

fn time_out(flow: &mut Pfabric) {
    flow.on_loss(Time::ZERO, Loss::Timeout { in_flight: 0 });
}

#[test]
fn the_window_is_the_bandwidth_delay_product_and_never_more() {
    // The ns-2 script: 70 packets at 10 Gbit/s and 82 us. YAPS: 12 at about 15 us.
    for (nanoseconds, packets) in [(82_000, 70), (15_000, 12), (1, 1)] {
        let route = RouteFacts { hops: 4, round_trip: Time::from_nanos(nanoseconds), slowest: Rate::from_gbit(10) };
        assert_eq!(product(&route, 1460), packets * 1460, "{nanoseconds} ns");
    }
    let mut flow = flow(Params::default());
    for _ in 0..100 {
        assert_eq!(flow.window(), 10 * SEGMENT);
        flow.on_ack(Time::ZERO, &acked(3));
    }
    let mut text = Pfabric::new(&start(50), &Params { window: 7, ..Params::default() });
    text.on_route(Time::ZERO, route());
    assert_eq!(text.window(), 7 * SEGMENT);
}

#[test]
fn a_timeout_lasts_three_round_trips_and_is_the_only_loss_detection() {
    let mut flow = flow(Params::default());
    assert_eq!(flow.fixed_timeout(), Some(Time::from_micros(240)));
    time_out(&mut flow);
    assert_eq!(flow.fixed_timeout(), Some(Time::from_micros(240)), "it does not back off");
    let before = flow;
    flow.on_loss(Time::ZERO, Loss::Fast { in_flight: 0 });
    assert_eq!(flow, before);
}

#[test]
fn after_a_timeout_slow_start_leads_to_half_the_window() {
    let mut flow = flow(Params::default());
    time_out(&mut flow);
    let mut windows = Vec::new();
    for _ in 0..10 {
        windows.push(flow.window() / SEGMENT);
        flow.on_ack(Time::ZERO, &acked(1));
    }
    // 5 is half of 10; from there a segment for each window.
    assert_eq!(windows, [1, 2, 3, 4, 5, 5, 5, 5, 5, 6]);
    // The threshold is half of the window before each time-out, at least two segments.
    time_out(&mut flow);
    time_out(&mut flow);
    assert_eq!((flow.window(), flow.threshold), (SEGMENT, 2 * SEGMENT as u32));
}

#[test]
fn five_consecutive_timeouts_lead_to_probes_until_data_is_acknowledged() {
    let mut flow = flow(Params::default());
    for count in 1..=7 {
        time_out(&mut flow);
        assert_eq!(flow.payload(1460), if count < 5 { 1460 } else { 1 }, "{count} time-outs");
    }
    // The answer of a probe acknowledges nothing new.
    flow.on_ack(Time::ZERO, &Ack { newly: 0, ..acked(0) });
    assert_eq!((flow.payload(1460), flow.window()), (1460, SEGMENT));
    for _ in 0..4 {
        time_out(&mut flow);
    }
    flow.on_ack(Time::ZERO, &acked(1));
    time_out(&mut flow);
    assert_eq!(flow.payload(1460), 1460, "not in a row");
}

#[test]
fn lower_classes_are_served_before_all_others() {
    let urgency = |class, remaining| flow(Params { class, ..Params::default() }).urgency(remaining);
    assert_eq!(urgency(0, 60_000), 60_000);
    for class in 0..3 {
        assert!(urgency(class, u64::MAX) < urgency(class + 1, 1), "class {class}");
        assert!(urgency(class, 1_000) < urgency(class, 1_001), "class {class}");
    }
    assert_eq!(urgency(3, u64::MAX), u64::from(u32::MAX));
}
