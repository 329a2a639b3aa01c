//! Fixed points, computed by hand from the formulas that the public implementations share.

use wayleave_scheme_api::{RecoveryPhase, SendLimit};
use wayleave_units::Rate;

use super::*;
use crate::transports::testing::{SEGMENT, acked, start};

const ROUND_TRIP: Time = Time::from_micros(300);

fn route() -> RouteFacts {
    RouteFacts { hops: 4, round_trip: ROUND_TRIP, slowest: Rate::from_gbit(1) }
}

/// Returns a flow whose window has 20 segments, with alpha 1/4, 90 segments to send and this deadline at its start;
/// it has just been marked.
fn marked(deadline: Option<Time>, missed: MissedDeadline, now: Time) -> D2tcp {
    let mut flow = D2tcp::new(&FlowStart { size: Some(90 * SEGMENT), deadline, ..start(20) }, &Params { missed });
    flow.on_route(Time::ZERO, route());
    flow.0.dctcp.set_alpha(0.25);
    let ack = Ack {
        marked: SEGMENT,
        acknowledged: 10 * SEGMENT,
        sent: 30 * SEGMENT,
        remaining: Some(90 * SEGMENT),
        round_trip: Some(ROUND_TRIP),
        ..acked(1)
    };
    // No window of observation ends with it, so alpha stays.
    flow.0.dctcp.observe_until(30 * SEGMENT);
    flow.on_ack(now, &ack);
    flow
}

#[test]
fn marks_take_half_of_alpha_to_the_power_of_the_urgency() {
    // It takes 300 us * 90 / (3/4 * 20) = 1.8 ms: d is 1, 2 and 1/2, p is 0.25, 0.0625 and 0.5.
    for (left, window) in [(1_800, 17_500), (900, 19_375), (3_600, 15_000)] {
        let flow = marked(Some(Time::from_micros(left)), MissedDeadline::Usual, Time::ZERO);
        assert_eq!(flow.window(), window, "with {left} us left");
    }
    // d has bounds.
    for (left, window) in [(1, 19_375), (1_000_000, 15_000)] {
        assert_eq!(
            marked(Some(Time::from_micros(left)), MissedDeadline::Usual, Time::ZERO).window(),
            window,
            "{left} us"
        );
    }
}

#[test]
fn the_time_left_counts_from_the_start_of_the_flow() {
    // 2.8 ms from the beginning, of which 1 ms has passed.
    let flow = marked(Some(Time::from_micros(2_800)), MissedDeadline::Usual, Time::from_millis(1));
    assert_eq!(flow.window(), 17_500);
}

#[test]
fn a_missed_deadline_is_handled_in_each_of_the_three_readings() {
    for (missed, window) in
        [(MissedDeadline::Usual, 17_500), (MissedDeadline::Least, 15_000), (MissedDeadline::Most, 19_375)]
    {
        for now in [1, 2] {
            let flow = marked(Some(Time::from_millis(1)), missed, Time::from_millis(now));
            assert_eq!(flow.window(), window, "{missed:?}");
        }
    }
    for missed in [MissedDeadline::Usual, MissedDeadline::Least, MissedDeadline::Most] {
        assert_eq!(marked(None, missed, Time::from_millis(5)).window(), 17_500, "no deadline, {missed:?}");
    }
}

#[test]
fn the_average_of_round_trips_follows_rfc_6298() {
    let mut flow = D2tcp::new(&start(10), &Params::default());
    for (sample, smoothed) in [(400, 400_000), (800, 450_000), (0, 393_750)] {
        flow.0.sample(Time::from_micros(sample));
        assert_eq!(flow.0.smoothed.as_nanos(), smoothed);
    }
}

/// Every kind of acknowledgement and loss, in an order that the seed draws.
fn anything(seed: u64) -> impl Iterator<Item = (Time, Ack<'static>, Option<Loss>)> {
    let mut random = crate::random::SplitMix::new(seed);
    let (mut now, mut acknowledged, mut sent) = (Time::ZERO, 0, 20 * SEGMENT);
    std::iter::repeat_with(move || {
        let mut below = |bound: u64| random.draw() % bound;
        now += Time::from_nanos(below(400_000));
        let newly = SEGMENT * (1 + below(3));
        acknowledged += newly;
        sent = sent.max(acknowledged + below(40) * SEGMENT);
        let ack = Ack {
            newly,
            marked: newly * below(2),
            acknowledged,
            sent,
            in_flight: sent - acknowledged,
            remaining: Some(1_000_000_000 - acknowledged),
            round_trip: Some(Time::from_nanos(100_000 + below(900_000))),
            limit: if below(4) > 0 { SendLimit::Window } else { SendLimit::Application },
            phase: if below(8) > 0 { RecoveryPhase::Open } else { RecoveryPhase::Recovery },
            ..acked(1)
        };
        let loss = match below(40) {
            0 => Some(Loss::Fast { in_flight: sent - acknowledged }),
            1 => Some(Loss::Timeout { in_flight: sent - acknowledged }),
            _ => None,
        };
        (now, ack, loss)
    })
}

#[test]
fn without_a_deadline_it_is_dctcp_bit_for_bit() {
    for seed in 0..50 {
        let mut flow = D2tcp::new(&start(10), &Params::default());
        let mut dctcp = Dctcp::new(&start(10));
        flow.on_route(Time::ZERO, route());
        for (step, (now, ack, loss)) in anything(seed).take(2_000).enumerate() {
            if let Some(loss) = loss {
                flow.on_loss(now, loss);
                dctcp.on_loss(now, loss);
            }
            flow.on_ack(now, &ack);
            dctcp.on_ack(now, &ack);
            assert_eq!(flow.0.dctcp, dctcp, "seed {seed}, step {step}");
        }
    }
}

/// For any acknowledgements and marks, a flow with a tight deadline never has a smaller window than one without.
#[test]
fn a_tight_deadline_never_leaves_a_smaller_window() {
    for seed in 0..50 {
        let with = |deadline| {
            let mut flow = D2tcp::new(&FlowStart { deadline: Some(deadline), ..start(100) }, &Params::default());
            flow.on_route(Time::ZERO, route());
            flow
        };
        let (mut tight, mut lax) = (with(Time::from_millis(1_000)), with(Time::from_millis(1_000_000_000)));
        let mut was_larger = false;
        for (now, ack, _) in anything(seed).take(1_000) {
            let ack = Ack { limit: SendLimit::Application, ..ack };
            tight.on_ack(now, &ack);
            lax.on_ack(now, &ack);
            assert!(tight.window() >= lax.window(), "seed {seed}");
            was_larger |= tight.window() > lax.window();
        }
        assert!(was_larger, "seed {seed}");
    }
}
