//! Fixed points of the papers, computed by hand.

use super::*;

const WEIGHT_OF_THE_PAPER: f64 = 0.002;

const LINE: Rate = Rate::from_gbit(1);

fn params(weight: f64) -> Params {
    let (min, max) = (Bytes::new(5000), Bytes::new(15_000));
    Params { min, max, probability: 0.2, weight }
}

fn found(queued: u64) -> QueueState {
    QueueState { queued: Bytes::new(queued), idle_since: None }
}

fn red(weight: f64) -> Red {
    Red::new(params(weight), LINE, 1)
}

/// Returns the indices of marked packets, out of `packets` that all find an equal queue.
fn marks(port: &mut Red, queued: u64, packets: u32) -> Vec<u32> {
    (0..packets).filter(|_| port.on_arrival(Time::ZERO, found(queued), 1538) == Mark::Congestion).collect()
}

#[test]
fn the_average_moves_by_the_weight() {
    let mut port = red(0.5);
    for average in [50.0, 75.0, 87.5] {
        port.on_arrival(Time::ZERO, found(100), 1538);
        assert_eq!(port.average(), average);
    }
}

#[test]
fn bursts_of_fifty_pass_a_threshold_of_five_if_the_weight_is_at_most_42_in_10000() {
    // RED, section 6.1: avg = L + 1 + ((1 - w)^(L + 1) - 1) / w < min_th; for min_th = 5, L = 50: w <= 0.0042.
    for (weight, passes) in [(WEIGHT_OF_THE_PAPER, true), (0.0041, true), (0.0043, false)] {
        let params = Params { min: Bytes::new(5), max: Bytes::new(15), probability: 1.0, ..params(weight) };
        let mut port = Red::new(params, LINE, 1);
        for queued in 1..=50 {
            port.on_arrival(Time::ZERO, found(queued), 1);
        }
        let formula = 51.0 + ((1.0 - weight).powi(51) - 1.0) / weight;
        assert!((port.average() - formula).abs() < 1e-9, "{weight}: {} instead of {formula}", port.average());
        assert_eq!(port.average() < 5.0, passes, "{weight}: {}", port.average());
    }
}

#[test]
fn an_idle_port_decays_as_if_small_packets_had_arrived() {
    // 1,000 B at 1 Gbit/s take 8 us: in 24 us there is room for 3, and the average of 800 halves 3 times.
    for (idle, average) in [(24_000, 100.0), (23_999, 200.0), (8000, 400.0), (7999, 400.0), (0, 400.0)] {
        let mut port = red(0.5);
        port.on_arrival(Time::ZERO, found(1600), 1538);
        let since = Time::from_millis(1);
        let state = QueueState { queued: Bytes::ZERO, idle_since: Some(since) };
        port.on_arrival(since + Time::from_nanos(idle), state, 1538);
        assert_eq!(port.average(), average, "{idle}");
    }
    let mut port = red(0.5);
    port.on_arrival(Time::ZERO, found(1600), 1538);
    let forever = QueueState { queued: Bytes::ZERO, idle_since: Some(Time::ZERO) };
    port.on_arrival(Time::MAX, forever, 1538);
    assert_eq!(port.average(), 0.0);
}

#[test]
fn below_the_lower_threshold_nothing_is_marked_and_from_the_upper_one_everything() {
    assert_eq!(marks(&mut red(1.0), 4999, 1000).len(), 0);
    assert_eq!(marks(&mut red(1.0), 5000, 1000).len(), 0);
    assert_eq!(marks(&mut red(1.0), 15_000, 1000).len(), 1000);
}

#[test]
fn gaps_between_marks_are_spread_evenly_up_to_the_inverse_of_the_probability() {
    // RED, section 7: halfway between the thresholds p_b is 0.1, and gaps are uniform over 1 ... 10: 5.5 on average.
    let marks = marks(&mut red(1.0), 10_000, 55_000);
    let mut counts = [0_u32; 11];
    for pair in marks.windows(2) {
        counts[(pair[1] - pair[0]) as usize] += 1;
    }
    assert!(marks.len().abs_diff(10_000) < 200, "{}", marks.len());
    assert_eq!(counts[0], 0);
    assert!(counts[1..].iter().all(|count| count.abs_diff(1000) < 150), "{counts:?}");
}

#[test]
fn the_share_of_marks_rises_with_the_average() {
    // p_b is 0.05, 0.1 and 0.15: gaps uniform over 1 ... 20 and 1 ... 10; 0.15 each for 1 ... 6, and 0.1 left for 7.
    for (queued, gap) in [(7500, 10.5), (10_000, 5.5), (12_500, 3.85)] {
        let marks = marks(&mut red(1.0), queued, 400_000).len();
        let found = 400_000.0 / marks as f64;
        assert!((found - gap).abs() < 0.1, "{queued}: {found} instead of {gap}");
    }
}

#[test]
fn equal_thresholds_of_the_queue_itself_are_one_threshold() {
    // DCTCP, 3.1: RED with both thresholds at K and the instantaneous queue.
    let params = Params { min: Bytes::new(100), max: Bytes::new(100), probability: 1.0, ..params(1.0) };
    let mut port = Red::new(params, LINE, 1);
    for queued in [0, 99, 100, 300, 50, 1000, 0] {
        let mark = if queued >= 100 { Mark::Congestion } else { Mark::No };
        assert_eq!(port.on_arrival(Time::ZERO, found(queued), 1538), mark, "{queued}");
    }
    let idle = QueueState { queued: Bytes::ZERO, idle_since: Some(Time::ZERO) };
    port.on_arrival(Time::ZERO, found(1000), 1538);
    assert_eq!(port.on_arrival(Time::ZERO, idle, 1538), Mark::No);
}

#[test]
fn the_same_seed_marks_the_same_packets() {
    let marks = |seed| marks(&mut Red::new(params(1.0), LINE, seed), 10_000, 200);
    assert_eq!(marks(5), marks(5));
    assert_ne!(marks(5), marks(6));
}
