//! The curve of one rate.

use wayleave_units::{Rate, Time};

use super::super::Params;
use super::super::rate::{Entitlement, RateAllocation};

const LINE: Rate = Rate::from_gbit(1);
const PERIOD: Time = Time::from_millis(15);

fn entitled(mbit: u64) -> Entitlement {
    let guarantee = Rate::from_mbit(mbit);
    Entitlement { guarantee, weight: guarantee, line: LINE }
}

/// Lets a rate grow, period by period.
fn grow(rate: &mut RateAllocation, mut now: Time, periods: u64, mbit: u64) -> (Time, Vec<u64>) {
    let step = |_| {
        now += PERIOD;
        rate.grow(now, PERIOD, entitled(mbit), &Params::default());
        rate.rate().bits_per_second()
    };
    let rates = (0..periods).map(step).collect();
    (now, rates)
}

#[test]
fn a_rate_without_congestion_reaches_the_line_from_half_of_it_within_ten_periods() {
    let mut rate = RateAllocation::new(Time::ZERO, Rate::from_mbit(450));
    let (_, rates) = grow(&mut rate, Time::ZERO, 10, 450);
    assert!(rates.is_sorted() && rates[1] < 500_000_000, "{rates:?}");
    assert_eq!(*rates.last().unwrap(), 1_000_000_000);
}

#[test]
fn congestion_takes_a_fifth_above_the_guarantee_and_holds_small_rates_longer() {
    let params = Params::default();
    for (guarantee, periods) in [(500, 2), (100, 10), (50, 10)] {
        let mut rate = RateAllocation::new(Time::ZERO, Rate::from_mbit(800));
        let now = Time::from_millis(1_000);
        rate.reduce(now, entitled(guarantee), &params);
        assert_eq!(rate.rate(), Rate::from_mbit(640));
        let (_, rates) = grow(&mut rate, now, periods + 1, guarantee);
        let held = rates.iter().filter(|&&rate| rate == 640_000_000).count() as u64;
        assert_eq!(held, periods, "{rates:?}");
        for again in 1..20 {
            rate.reduce(now + PERIOD * 2 * again, entitled(guarantee), &params);
        }
        assert!(rate.rate() >= Rate::from_mbit(guarantee));
        assert!(rate.rate() <= Rate::from_mbit(guarantee + 1).max(Rate::from_mbit(10)));
    }
}

#[test]
fn congestion_of_bytes_sent_before_a_reduction_is_ignored() {
    let mut rate = RateAllocation::new(Time::ZERO, Rate::from_mbit(800));
    for (at, expected) in [(0, 640), (15, 640), (30, 512), (45, 512), (60, 450)] {
        rate.reduce(Time::from_millis(at), entitled(450), &Params::default());
        assert_eq!(rate.rate(), Rate::from_mbit(expected), "at {at} ms");
    }
}

#[test]
fn a_growth_curve_is_flat_at_the_rate_of_the_last_congestion() {
    let mut rate = RateAllocation::new(Time::ZERO, Rate::from_mbit(800));
    rate.reduce(Time::ZERO, entitled(400), &Params::default());
    let (_, rates) = grow(&mut rate, Time::ZERO, 12, 400);
    let rises: Vec<u64> = rates.windows(2).map(|pair| pair[1] - pair[0]).collect();
    let least = (2..rises.len()).min_by_key(|&at| rises[at]).unwrap();
    assert!(least > 3 && least < rises.len() - 1, "first less and less, then more and more: {rises:?}");
}

#[test]
fn a_rate_far_above_its_guarantee_grows_more_carefully() {
    let grown = |start: u64| {
        let mut rate = RateAllocation::new(Time::ZERO, Rate::from_mbit(start));
        let before = rate.rate();
        grow(&mut rate, Time::ZERO, 4, 100);
        (rate.rate() - before).bits_per_second()
    };
    assert!(grown(100) > grown(200) + grown(200) / 2 && grown(200) > grown(800) * 3);
}

#[test]
fn no_number_overflows() {
    let params = Params { growth: u64::MAX, ..Params::default() };
    let most = Entitlement { guarantee: Rate::ZERO, weight: Rate::MAX, line: Rate::MAX };
    let mut rate = RateAllocation::new(Time::ZERO, Rate::MAX);
    rate.reduce(Time::ZERO, most, &params);
    rate.grow(Time::MAX, Time::MAX, most, &params);
    assert!(rate.rate() <= Rate::MAX);
    let least = Entitlement { guarantee: Rate::ZERO, weight: Rate::ZERO, line: Rate::MAX };
    rate.reduce(Time::ZERO, least, &params);
    rate.grow(Time::MAX, Time::MAX, least, &params);
    assert!(rate.rate() <= Rate::MAX);
}
