//! Corner cases: empty queues, no service, equal rates, text, rounding, refusals.

use wayleave_calculus::rational::{self, ratio, whole};
use wayleave_calculus::{
    ArrivalCurve, BucketCurve, CurveError, CurvePoint, RateLatency, Rational, ServiceCurve, deconvolution,
    horizontal_deviation, residual_service, strict_priority_residuals, vertical_deviation,
};
use wayleave_units::{Amount, Bytes, Rate, Time};

fn bucket(rate: i128, burst: i128) -> ArrivalCurve {
    ArrivalCurve::from_pieces([BucketCurve { rate: whole(rate), burst: whole(burst) }]).unwrap()
}

fn rate_latency(rate: i128, latency: i128) -> ServiceCurve {
    ServiceCurve::from_pieces([RateLatency::new(whole(rate), &whole(latency))]).unwrap()
}

#[test]
fn an_empty_queue_has_no_delay_and_no_backlog_for_any_service() {
    for service in [rate_latency(4, 7), rate_latency(4, 0), ServiceCurve::zero()] {
        let nobody = ArrivalCurve::zero();
        assert_eq!(horizontal_deviation(&nobody, &service), Some(whole(0)));
        assert_eq!(vertical_deviation(&nobody, &service), Some(whole(0)));
        assert_eq!(deconvolution(&nobody, &service), Some(ArrivalCurve::zero()));
    }
}

#[test]
fn traffic_without_a_burst_still_waits_for_the_latency() {
    assert_eq!(horizontal_deviation(&bucket(3, 0), &rate_latency(4, 7)), Some(whole(7)));
    assert_eq!(vertical_deviation(&bucket(3, 0), &rate_latency(4, 7)), Some(whole(21)));
    assert_eq!(horizontal_deviation(&bucket(3, 0), &rate_latency(4, 0)), Some(whole(0)));
}

#[test]
fn without_service_every_delay_is_unbounded_but_a_finite_amount_is_a_finite_backlog() {
    let nothing = ServiceCurve::zero();
    assert_eq!(horizontal_deviation(&bucket(1, 0), &nothing), None);
    assert_eq!(horizontal_deviation(&bucket(0, 5), &nothing), None);
    assert_eq!(vertical_deviation(&bucket(1, 0), &nothing), None);
    assert_eq!(vertical_deviation(&bucket(0, 5), &nothing), Some(whole(5)));
    assert_eq!(deconvolution(&bucket(1, 0), &nothing), None);
    assert_eq!(deconvolution(&bucket(0, 5), &nothing), Some(bucket(0, 5)));
}

#[test]
fn a_finite_amount_of_traffic_has_a_finite_delay_at_any_rate() {
    assert_eq!(horizontal_deviation(&bucket(0, 5), &rate_latency(2, 1)), Some(ratio(7, 2).unwrap()));
}

#[test]
fn a_long_term_rate_equal_to_the_service_is_bounded_and_one_above_is_not() {
    let service = rate_latency(4, 7);
    assert_eq!(horizontal_deviation(&bucket(4, 8), &service), Some(whole(9)));
    assert_eq!(vertical_deviation(&bucket(4, 8), &service), Some(whole(36)));
    assert_eq!(deconvolution(&bucket(4, 8), &service), Some(bucket(4, 36)));
    assert_eq!(horizontal_deviation(&bucket(5, 0), &service), None);
    assert_eq!(vertical_deviation(&bucket(5, 0), &service), None);
    assert_eq!(deconvolution(&bucket(5, 0), &service), None);
}

#[test]
fn a_residual_rate_of_zero_or_less_is_no_service() {
    for taken in [bucket(4, 0), bucket(4, 9), bucket(5, 0)] {
        let left = residual_service(&rate_latency(4, 1), &taken);
        assert_eq!(left, ServiceCurve::zero());
        assert_eq!((left.latency(), left.ultimate_rate()), (None, whole(0)));
        assert_eq!(left.first_slope(), left);
        assert_eq!(residual_service(&left, &taken), left);
        assert_eq!(left.knees(), []);
    }
    assert_eq!(residual_service(&rate_latency(4, 1), &ArrivalCurve::zero()), rate_latency(4, 1));
}

#[test]
fn an_empty_queue_below_an_overbooked_one_is_valid() {
    let services = strict_priority_residuals(
        Rate::from_mbit(10),
        Bytes::new(1500),
        &[ArrivalCurve::token_bucket(Rate::from_mbit(11), Bytes::ZERO), ArrivalCurve::zero()],
    );
    assert_eq!(services[1], ServiceCurve::zero());
    assert_eq!(horizontal_deviation(&ArrivalCurve::zero(), &services[1]), Some(whole(0)));
    assert_eq!(strict_priority_residuals(Rate::ZERO, Bytes::ZERO, &[ArrivalCurve::zero()]), [ServiceCurve::zero()]);
    assert_eq!(strict_priority_residuals(Rate::MAX, Bytes::MAX, &[]), []);
}

#[test]
fn a_rate_of_zero_is_no_service() {
    assert!(ServiceCurve::rate_latency(Rate::ZERO, Time::from_nanos(5)).is_zero());
    assert!(ServiceCurve::constant_rate(Rate::ZERO).is_zero());
    assert!(ServiceCurve::from_pieces([RateLatency { rate: whole(0), debt: whole(5) }]).unwrap().is_zero());
    assert_eq!(RateLatency { rate: whole(0), debt: whole(5) }.latency(), None);
}

#[test]
fn negative_amounts_count_as_zero_which_is_conservative() {
    let owed = Amount::from_nanobits(-5);
    let rate = Rate::from_bits_per_second(3);
    assert_eq!(ArrivalCurve::token_bucket(rate, owed), bucket(3, 0));
    assert_eq!(ServiceCurve::constant_rate(rate).subtract_amount(owed), rate_latency(3, 0));
    assert_eq!(strict_priority_residuals(rate, owed, &[ArrivalCurve::zero()]), [rate_latency(3, 0)]);
}

#[test]
fn before_and_at_time_zero_nothing_has_arrived_and_nothing_is_served() {
    for t in [-1, 0] {
        assert_eq!(bucket(3, 4).at(&whole(t)), whole(0));
        assert_eq!(rate_latency(3, 0).at(&whole(t)), whole(0));
    }
    assert_eq!(bucket(3, 4).burst(), whole(4));
}

#[test]
fn a_service_that_starts_at_once_has_its_first_knee_in_the_origin() {
    let origin = CurvePoint { time: whole(0), amount: whole(0) };
    assert_eq!(rate_latency(3, 0).knees(), [origin]);
    assert_eq!(rate_latency(3, 0).latency(), Some(whole(0)));
}

#[test]
fn a_piece_that_makes_no_curve_is_refused_with_its_value() {
    let bucket = |rate, burst| ArrivalCurve::from_pieces([BucketCurve { rate: whole(rate), burst: whole(burst) }]);
    assert_eq!(bucket(-1, 0), Err(CurveError::NegativeRate(whole(-1))));
    assert_eq!(bucket(0, -2), Err(CurveError::NegativeBurst(whole(-2))));
    let service = |rate, debt| ServiceCurve::from_pieces([RateLatency { rate: whole(rate), debt: whole(debt) }]);
    assert_eq!(service(-1, 0), Err(CurveError::NegativeRate(whole(-1))));
    assert_eq!(service(0, -2), Err(CurveError::NegativeDebt(whole(-2))));
    assert_eq!(CurveError::NegativeDebt(whole(-2)).to_string(), "a debt of -2 nanobits is below zero");
    assert_eq!(ServiceCurve::from_pieces([]), Ok(ServiceCurve::zero()));
}

#[test]
fn a_curve_prints_in_its_original_units() {
    let flow = ArrivalCurve::token_bucket(Rate::from_mbit(100), Bytes::new(97_000));
    let line = ArrivalCurve::line(Rate::from_gbit(1), Bytes::new(1562));
    assert_eq!(flow.minimum(&line).to_string(), "min(1.562 kB + 1 Gbit/s * t, 97 kB + 100 Mbit/s * t)");
    assert_eq!(ArrivalCurve::token_bucket(Rate::from_mbit(1), Bytes::ZERO).to_string(), "1 Mbit/s * t");
    assert_eq!(ArrivalCurve::token_bucket(Rate::ZERO, Bytes::new(64)).to_string(), "64 B");
    assert_eq!(ArrivalCurve::zero().to_string(), "0");

    let link = ServiceCurve::constant_rate(Rate::from_gbit(10));
    assert_eq!(link.to_string(), "10 Gbit/s * t");
    assert_eq!(ServiceCurve::zero().to_string(), "0");
    let left = residual_service(&link, &flow.minimum(&ArrivalCurve::line(Rate::from_gbit(8), Bytes::new(1000))));
    assert_eq!(left.to_string(), "max(2 Gbit/s * [t - 4 us]+, 9.9 Gbit/s * [t - ~78.384 us]+)");
}

#[test]
fn a_number_rounded_for_printing_is_marked_and_conservative() {
    let third = ratio(10, 3).unwrap();
    let curve = ArrivalCurve::from_pieces([BucketCurve { rate: third.clone(), burst: third.clone() }]).unwrap();
    assert_eq!(curve.to_string(), "~1 B + ~4 bit/s * t");
    let service = ServiceCurve::from_pieces([RateLatency { rate: third, debt: whole(1) }]).unwrap();
    assert_eq!(service.to_string(), "~3 bit/s * [t - ~1 ns]+");
    let huge = ArrivalCurve::from_pieces([BucketCurve { rate: whole(i128::MAX), burst: whole(i128::MAX) }]).unwrap();
    assert!(huge.to_string().ends_with("170141183460469231731687303715884105727 bit/s * t"), "{huge}");
}

#[test]
fn conversion_to_integers_rounds_as_named_and_refuses_overflow() {
    let half = |number: i128| ratio(2 * number + 1, 2).unwrap();
    assert_eq!(rational::time_rounded_up(&half(7)), Some(Time::from_nanos(8)));
    assert_eq!(rational::rate_rounded_up(&half(7)), Some(Rate::from_bits_per_second(8)));
    assert_eq!(rational::rate_rounded_down(&half(7)), Some(Rate::from_bits_per_second(7)));
    assert_eq!(rational::amount_rounded_up(&half(-8)), Some(Amount::from_nanobits(-7)));
    for impossible in [whole(-1), whole(i128::MAX)] {
        assert_eq!(rational::time_rounded_up(&impossible), None);
        assert_eq!(rational::rate_rounded_up(&impossible), None);
        assert_eq!(rational::rate_rounded_down(&impossible), None);
    }
    let beyond: Rational = whole(i128::MAX) * whole(2);
    assert_eq!(rational::amount_rounded_up(&beyond), None);
    assert_eq!(ratio(1, 0), None);
    assert_eq!(rational::to_f64(&half(7)), 7.5);
    let exact = [
        rational::from_time(Time::from_nanos(9)),
        rational::from_rate(Rate::from_bits_per_second(9)),
        rational::from_amount(Amount::from_nanobits(9)),
    ];
    assert_eq!(exact, [whole(9), whole(9), whole(9)]);
}
