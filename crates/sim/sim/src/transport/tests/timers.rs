//! The three timers by themselves: RFC 6298, and the tables of RFC 8985.

use super::super::probe::{Feedback, Finding, Pending, Prober, probe_timeout};
use super::super::rack::Rack;
use super::super::timer::{LONGEST, NEVER, RetransmissionTimer};

const MS: u64 = 1_000_000_000;

#[test]
fn the_first_time_out_is_configured_and_later_ones_follow_the_round_trip() {
    let mut timer = RetransmissionTimer::new(10 * MS, 1_000 * MS);
    assert_eq!(timer.timeout(), 1_000 * MS);
    // RFC 6298, 2.2: SRTT = R, RTTVAR = R / 2.
    timer.sample(100 * MS);
    assert_eq!(timer.timeout(), 300 * MS);
    // 2.3: RTTVAR = 3/4 50 + 1/4 |100 - 60| = 47.5; SRTT = 7/8 100 + 1/8 60 = 95.
    timer.sample(60 * MS);
    assert_eq!((timer.smoothed(), timer.timeout()), (95 * MS, 285 * MS));
    timer.back_off();
    assert_eq!(timer.timeout(), 570 * MS);
    timer.back_off();
    assert_eq!(timer.timeout(), 1_140 * MS);
    timer.end_backoff();
    assert_eq!(timer.timeout(), 285 * MS);
    for _ in 0..40 {
        timer.back_off();
    }
    assert_eq!(timer.timeout(), LONGEST);
}

#[test]
fn a_constant_round_trip_leaves_the_granularity_of_the_clock() {
    let mut timer = RetransmissionTimer::new(10 * MS, 1_000 * MS);
    for _ in 0..1_000 {
        timer.sample(50 * MS);
    }
    assert_eq!(timer.timeout(), 51 * MS);
    for _ in 0..1_000 {
        timer.sample(MS);
    }
    assert_eq!(timer.timeout(), 10 * MS);
}

#[test]
fn the_timer_starts_once_and_restarts_always() {
    let mut timer = RetransmissionTimer::new(10 * MS, 100 * MS);
    assert_eq!(timer.at(), NEVER);
    timer.start(MS);
    timer.start(2 * MS);
    assert_eq!(timer.at(), 101 * MS);
    timer.restart(2 * MS);
    assert_eq!(timer.at(), 102 * MS);
    timer.stop();
    assert_eq!(timer.at(), NEVER);
}

/// Returns a RACK that has seen these round trips, in ms, and possibly reordering.
fn rack(least: u64, multiplier: u32, has_reordering: bool) -> Rack {
    let mut rack = Rack::new();
    rack.sample(1, least * MS);
    if has_reordering {
        assert!(rack.on_delivered(200 * MS, 0, (0, 5), false) && rack.on_delivered(200 * MS, 0, (0, 4), false));
    }
    for number in 1..multiplier {
        rack.on_duplicate(number, number + 1);
    }
    rack
}

/// RFC 8985, 6.2, step 4: every row of the decision.
#[test]
fn the_reordering_window_follows_the_table() {
    for (has_reordering, is_recovering, arrived, multiplier, expected) in [
        (false, false, 0, 1, 10),
        (false, false, 2, 1, 10),
        (false, false, 3, 1, 0),
        (false, true, 0, 1, 0),
        (true, false, 0, 1, 10),
        (true, false, 9, 1, 10),
        (true, true, 9, 1, 10),
        (true, true, 0, 3, 30),
        (true, false, 0, 5, 50),
        // Never more than SRTT.
        (true, false, 0, 6, 50),
    ] {
        let window = rack(40, multiplier, has_reordering).window(is_recovering, arrived, 50 * MS);
        let row = (has_reordering, is_recovering, arrived, multiplier);
        assert_eq!(window, expected * MS, "{row:?}");
    }
}

#[test]
fn duplicates_widen_the_window_once_a_round_trip_and_for_16_recoveries() {
    let mut rack = rack(40, 1, true);
    let window = |rack: &Rack| rack.window(false, 0, 1_000 * MS) / MS;
    rack.on_duplicate(10, 20);
    assert_eq!(window(&rack), 20);
    rack.on_duplicate(19, 25);
    assert_eq!(window(&rack), 20, "20 is not acknowledged yet");
    rack.on_duplicate(20, 30);
    assert_eq!(window(&rack), 30);
    for _ in 0..15 {
        rack.on_recovered();
    }
    assert_eq!(window(&rack), 30);
    rack.on_recovered();
    assert_eq!(window(&rack), 10);
}

#[test]
fn a_retransmission_counts_only_if_it_was_acknowledged() {
    let mut rack = rack(40, 1, false);
    // Retransmitted at 100 ms. An answer to the first transmission, at 60 ms, or one that is too early, is ignored.
    assert!(!rack.on_delivered(150 * MS, 60 * MS, (100 * MS, 1), true));
    assert!(!rack.on_delivered(139 * MS, 100 * MS, (100 * MS, 1), true));
    assert!(rack.on_delivered(140 * MS, 100 * MS, (100 * MS, 1), true));
    assert_eq!(rack.window(false, 0, 50 * MS), 10 * MS);
    // Below the highest, and retransmitted: no reordering.
    assert!(rack.on_delivered(150 * MS, 100 * MS, (100 * MS, 0), true));
    assert_eq!(rack.window(true, 0, 50 * MS), 0);
}

#[test]
fn probes_wait_for_two_round_trips_but_never_beyond_the_time_out() {
    for (smoothed, in_flight, delay, tick, left, expected) in [
        (50, 2, 200, 1, 1_000, 100),
        (50, 1, 200, 1, 1_000, 300),
        (50, 2, 0, 1, 80, 80),
        (0, 9, 0, 1, 5_000, 1_000),
        (1, 2, 0, 10, 80, 20),
        (1, 2, 0, 10, 15, 15),
    ] {
        let timeout = probe_timeout(smoothed * MS, in_flight, delay * MS, tick * MS, left * MS);
        assert_eq!(timeout, expected * MS, "{smoothed} {in_flight} {delay} {tick} {left}");
    }
}

fn prober(pending: Pending) -> Prober {
    let mut prober = Prober::new();
    prober.sample();
    if pending != Pending::None {
        prober.is_sent(pending);
    }
    prober
}

/// RFC 8985, 7.4.2, TLP_process_ack: every state, with every answer. A probe of all data before 10.
#[test]
fn the_effect_of_an_answer_on_a_probe_follows_the_table() {
    let states = [Pending::None, Pending::NewData { end: 10 }, Pending::Again { end: 10 }];
    for pending in states {
        for first in [9, 10, 11] {
            for duplicate in [None, Some(9), Some(4)] {
                for is_bare in [false, true] {
                    let mut prober = prober(pending);
                    let finding = prober.on_answer(Feedback { first, duplicate, is_bare });
                    let is_repaired = matches!(pending, Pending::Again { .. }) && first == 11 && duplicate != Some(9);
                    let is_over = match pending {
                        Pending::None => true,
                        Pending::NewData { .. } => first >= 10,
                        Pending::Again { .. } => first == 11 || first == 10 && (duplicate == Some(9) || is_bare),
                    };
                    let row = format!("{pending:?} {first} {duplicate:?} {is_bare}");
                    assert_eq!(finding == Finding::Repaired, is_repaired, "{row}");
                    assert_eq!(prober.is_idle(), is_over, "{row}");
                }
            }
        }
    }
}

/// RFC 8985, 7.3: no probe while one is open, and none without a new sample of the round trip.
#[test]
fn there_is_one_probe_for_each_sample_of_the_round_trip() {
    let mut first = Prober::new();
    assert!(!first.on_timeout(), "there is no sample yet");
    first.sample();
    first.schedule(5, 1);
    assert!(first.on_timeout());
    assert_eq!(first.at(), NEVER);
    first.is_sent(Pending::Again { end: 10 });
    first.sample();
    assert!(!first.on_timeout(), "its effect is open");
    first.reset();
    assert!(first.on_timeout());
    first.is_sent(Pending::NewData { end: 10 });
    first.reset();
    assert!(!first.on_timeout(), "no sample since");
}
