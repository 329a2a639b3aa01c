//! Claims that hold for all curves, each against the definition in the textbook or against another method.
//!
//! The checkers here evaluate curves only by `at` and `knees`: they share no algorithm with the crate. Where an
//! infimum or a supremum of piecewise linear functions is taken, it is taken over all the points where one of them
//! can change its slope.

use proptest::collection::vec;
use proptest::prelude::*;
use wayleave_calculus::rational::{ratio, whole};
use wayleave_calculus::{
    ArrivalCurve, BucketCurve, RateLatency, Rational, ServiceCurve, deconvolution, horizontal_deviation,
    residual_service, strict_priority_residuals, vertical_deviation,
};
use wayleave_units::{Amount, Rate};

fn number(largest: i128) -> impl Strategy<Value = Rational> {
    (0..=largest * 4, 1..=4_i128).prop_map(|(numerator, denominator)| ratio(numerator, 4 * denominator).unwrap())
}

fn arrivals() -> impl Strategy<Value = ArrivalCurve> {
    let piece = (number(12), number(40)).prop_map(|(rate, burst)| BucketCurve { rate, burst });
    vec(piece, 1..6).prop_map(|pieces| ArrivalCurve::from_pieces(pieces).unwrap())
}

fn services() -> impl Strategy<Value = ServiceCurve> {
    let piece = (number(16), number(60)).prop_map(|(rate, debt)| RateLatency { rate, debt });
    vec(piece, 0..6).prop_map(|pieces| ServiceCurve::from_pieces(pieces).unwrap())
}

fn times() -> impl Strategy<Value = Rational> {
    number(30)
}

/// The times of knees, of either kind of curve.
fn arrival_times(curve: &ArrivalCurve) -> Vec<Rational> {
    curve.knees().into_iter().map(|knee| knee.time).collect()
}

fn service_times(curve: &ServiceCurve) -> Vec<Rational> {
    curve.knees().into_iter().map(|knee| knee.time).collect()
}

/// inf over 0 <= s <= t of f(s) + g(t - s), for f with knees at `f_knees` and g with knees at `g_knees`.
fn brute_convolution(
    f: impl Fn(&Rational) -> Rational,
    f_knees: &[Rational],
    g: impl Fn(&Rational) -> Rational,
    g_knees: &[Rational],
    t: &Rational,
) -> Rational {
    let grid = (0..=8).map(|step| t * ratio(step, 8).unwrap());
    let images = g_knees.iter().map(|knee| t - knee);
    let splits = grid.chain(f_knees.iter().cloned()).chain(images).filter(|s| *s >= whole(0) && s <= t);
    splits.map(|s| f(&s) + g(&(t - &s))).min().unwrap()
}

/// The first d >= 0 with `amount` <= beta(s + d), by walking along the knees of beta.
fn brute_wait(amount: &Rational, s: &Rational, service: &ServiceCurve) -> Option<Rational> {
    if amount <= &service.at(s) {
        return Some(whole(0));
    }
    let knees = service.knees();
    let start = knees.iter().rfind(|knee| knee.amount < *amount)?;
    let later = &start.time + whole(1_000);
    let next = knees.iter().find(|knee| knee.amount >= *amount).map_or(&later, |knee| &knee.time);
    let slope = (service.at(next) - &start.amount) / (next - &start.time);
    Some(&start.time + (amount - &start.amount) / slope - s)
}

/// Arrival times at which the delay can be largest: just after 0, knees of alpha, and where alpha meets the height of a
/// knee of beta (by interpolation on its segments, exactly), and a grid.
fn delay_candidates(arrival: &ArrivalCurve, service: &ServiceCurve) -> Vec<Rational> {
    let horizon = arrival.knees().last().unwrap().time.clone() + whole(1_000);
    let mut ends = arrival_times(arrival);
    ends.push(horizon);
    let just_after = ratio(1, 1_000_000).unwrap();
    let mut candidates: Vec<_> = (1..60).map(|step| ratio(step, 2).unwrap()).collect();
    for segment in ends.windows(2) {
        let (from, to) = (segment[0].clone().max(just_after.clone()), &segment[1]);
        let (low, high) = (arrival.at(&from), arrival.at(to));
        for knee in service.knees().iter().filter(|knee| low < knee.amount && knee.amount <= high) {
            candidates.push(&from + (&knee.amount - &low) * (to - &from) / (&high - &low));
        }
        candidates.extend([from, to.clone()]);
    }
    candidates
}

fn scaled_arrival(curve: &ArrivalCurve, time: &Rational, amount: &Rational) -> ArrivalCurve {
    let scale = |p: &BucketCurve| BucketCurve { rate: &p.rate * amount / time, burst: &p.burst * amount };
    ArrivalCurve::from_pieces(curve.pieces().iter().map(scale)).unwrap()
}

fn scaled_service(curve: &ServiceCurve, time: &Rational, amount: &Rational) -> ServiceCurve {
    let scale = |p: &RateLatency| RateLatency { rate: &p.rate * amount / time, debt: &p.debt * amount };
    ServiceCurve::from_pieces(curve.pieces().iter().map(scale)).unwrap()
}

/// `None` is unbounded, so it is above everything.
fn at_most(low: &Option<Rational>, high: &Option<Rational>) -> bool {
    high.as_ref().is_none_or(|high| low.as_ref().is_some_and(|low| low <= high))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn the_normal_form_has_the_value_of_its_pieces_and_only_binding_pieces(
        pieces in vec((number(12), number(40)), 1..8), t in times(),
    ) {
        let buckets = pieces.iter().cloned().map(|(rate, burst)| BucketCurve { rate, burst });
        let arrival = ArrivalCurve::from_pieces(buckets).unwrap();
        let lowest = pieces.iter().map(|(rate, burst)| burst + rate * &t).min().unwrap();
        prop_assert_eq!(arrival.at(&t), if t == whole(0) { whole(0) } else { lowest });
        prop_assert!(arrival.pieces().windows(2).all(|w| w[0].rate > w[1].rate && w[0].burst < w[1].burst));
        prop_assert!(arrival.knees().windows(2).all(|w| w[0].time < w[1].time));
        prop_assert_eq!(ArrivalCurve::from_pieces(arrival.pieces().to_vec()), Ok(arrival));

        let latencies = pieces.iter().cloned().map(|(rate, debt)| RateLatency { rate, debt });
        let service = ServiceCurve::from_pieces(latencies).unwrap();
        let highest = pieces.iter().map(|(rate, debt)| rate * &t - debt).max().unwrap();
        prop_assert_eq!(service.at(&t), highest.max(whole(0)));
        prop_assert!(service.pieces().windows(2).all(|w| w[0].rate < w[1].rate && w[0].debt < w[1].debt));
        prop_assert!(service.knees().windows(2).all(|w| w[0].time < w[1].time && w[0].amount < w[1].amount));
        prop_assert_eq!(ServiceCurve::from_pieces(service.pieces().to_vec()), Ok(service));
    }

    #[test]
    fn knees_lie_on_their_curves(arrival in arrivals(), service in services()) {
        for knee in arrival.knees().iter().skip(1) {
            prop_assert_eq!(arrival.at(&knee.time), knee.amount.clone());
        }
        for knee in service.knees() {
            prop_assert_eq!(service.at(&knee.time), knee.amount);
        }
    }

    #[test]
    fn sum_and_minimum_are_those_of_the_values(a in arrivals(), b in arrivals(), t in times()) {
        prop_assert_eq!((&a + &b).at(&t), a.at(&t) + b.at(&t));
        prop_assert_eq!(a.minimum(&b).at(&t), a.at(&t).min(b.at(&t)));
    }

    #[test]
    fn a_sum_is_in_normal_form(a in arrivals(), b in arrivals()) {
        let sum = &a + &b;
        prop_assert_eq!(ArrivalCurve::from_pieces(sum.pieces().to_vec()), Ok(sum));
    }

    #[test]
    fn operations_on_arrivals_commute_and_associate(a in arrivals(), b in arrivals(), c in arrivals()) {
        prop_assert_eq!(&a + &b, &b + &a);
        prop_assert_eq!(&(&a + &b) + &c, &a + &(&b + &c));
        prop_assert_eq!(&a + &ArrivalCurve::zero(), a.clone());
        prop_assert_eq!(a.minimum(&b), b.minimum(&a));
        prop_assert_eq!(a.minimum(&b).minimum(&c), a.minimum(&b.minimum(&c)));
        prop_assert_eq!(a.convolution(&b), b.convolution(&a));
        prop_assert_eq!(a.convolution(&b).convolution(&c), a.convolution(&b.convolution(&c)));
        prop_assert_eq!([a.clone(), b.clone(), c.clone()].iter().sum::<ArrivalCurve>(), [c, b, a].into_iter().sum());
    }

    #[test]
    fn convolution_of_services_commutes_and_associates(a in services(), b in services(), c in services()) {
        prop_assert_eq!(a.convolution(&b), b.convolution(&a));
        prop_assert_eq!(a.convolution(&b).convolution(&c), a.convolution(&b.convolution(&c)));
    }

    #[test]
    fn convolution_of_arrivals_is_its_definition(a in arrivals(), b in arrivals(), t in times()) {
        let (a_knees, b_knees) = (arrival_times(&a), arrival_times(&b));
        let brute = brute_convolution(|s| a.at(s), &a_knees, |s| b.at(s), &b_knees, &t);
        prop_assert_eq!(a.convolution(&b).at(&t), brute);
    }

    #[test]
    fn convolution_of_services_is_its_definition(a in services(), b in services(), t in times()) {
        let (a_knees, b_knees) = (service_times(&a), service_times(&b));
        let brute = brute_convolution(|s| a.at(s), &a_knees, |s| b.at(s), &b_knees, &t);
        prop_assert_eq!(a.convolution(&b).at(&t), brute);
    }

    #[test]
    fn the_delay_is_the_largest_wait_of_any_arrival(arrival in arrivals(), service in services()) {
        prop_assume!(!arrival.is_zero());
        match horizontal_deviation(&arrival, &service) {
            None => prop_assert!(service.is_zero() || arrival.long_term_rate() > service.ultimate_rate()),
            Some(delay) => {
                let wait = |s: &Rational| brute_wait(&arrival.at(s), s, &service);
                let waits: Option<Vec<_>> = delay_candidates(&arrival, &service).iter().map(wait).collect();
                let worst = waits.and_then(|waits| waits.into_iter().max()).unwrap();
                // The supremum at 0+ is approached by the candidate just after 0, not reached.
                let rates = whole(1) + arrival.pieces()[0].rate.clone() / &service.pieces()[0].rate;
                let resolution = ratio(1, 1_000_000).unwrap() * rates;
                prop_assert!(worst <= delay && &delay - &worst <= resolution, "{} found, {} claimed", worst, delay);
            }
        }
    }

    #[test]
    fn the_delay_bounds_every_arrival(arrival in arrivals(), service in services(), s in times()) {
        if let Some(delay) = horizontal_deviation(&arrival, &service) {
            prop_assert!(arrival.at(&s) <= service.at(&(s + delay)));
        }
    }

    #[test]
    fn an_unbounded_delay_exceeds_every_limit(arrival in arrivals(), service in services()) {
        if horizontal_deviation(&arrival, &service).is_none() && !service.is_zero() {
            let late = whole(1_000_000_000);
            prop_assert!(arrival.at(&late) > service.at(&(&late + whole(1_000))));
        }
    }

    #[test]
    fn the_backlog_is_the_largest_distance_at_any_time(arrival in arrivals(), service in services()) {
        if let Some(backlog) = vertical_deviation(&arrival, &service) {
            let grid = (1..80).map(|step| ratio(step, 3).unwrap());
            let times = arrival_times(&arrival).into_iter().chain(service_times(&service)).chain(grid);
            let distances = times.map(|t| arrival.at(&t) - service.at(&t));
            // At 0+ the burst is there and nothing is served.
            let worst = distances.chain([arrival.burst()]).max().unwrap();
            prop_assert_eq!(backlog, worst);
        } else {
            prop_assert!(arrival.long_term_rate() > service.ultimate_rate());
        }
    }

    #[test]
    fn deconvolution_is_its_definition(arrival in arrivals(), service in services(), t in number(30)) {
        prop_assume!(t > whole(0));
        let Some(output) = deconvolution(&arrival, &service) else {
            prop_assert!(arrival.long_term_rate() > service.ultimate_rate());
            return Ok(());
        };
        let images = arrival_times(&arrival).into_iter().map(|knee| knee - &t);
        let grid = (0..60).map(|step| ratio(step, 2).unwrap());
        let shifts = service_times(&service).into_iter().chain(images).chain(grid).filter(|u| *u >= whole(0));
        let brute = shifts.map(|u| arrival.at(&(&t + &u)) - service.at(&u)).max().unwrap();
        prop_assert_eq!(output.at(&t), brute);
        prop_assert_eq!(Some(output.burst()), vertical_deviation(&arrival, &service));
    }

    #[test]
    fn the_output_of_a_queue_is_bounded_by_that_of_a_pure_delay(
        arrival in arrivals(), service in services(), t in times(),
    ) {
        if let Some(delay) = horizontal_deviation(&arrival, &service) {
            let output = deconvolution(&arrival, &service).unwrap();
            prop_assert!(output.at(&t) <= arrival.at(&(&t + delay)));
        }
    }

    #[test]
    fn a_delayed_curve_is_a_shifted_curve(arrival in arrivals(), delay in times(), t in times()) {
        prop_assume!(t > whole(0));
        prop_assert_eq!(arrival.delayed_by(&delay).at(&t), arrival.at(&(t + delay)));
    }

    #[test]
    fn a_residual_is_the_positive_part_of_the_difference(service in services(), arrival in arrivals(), t in times()) {
        let left = residual_service(&service, &arrival);
        prop_assert_eq!(left.at(&t), (service.at(&t) - arrival.at(&t)).max(whole(0)));
        prop_assert_eq!(ServiceCurve::from_pieces(left.pieces().to_vec()), Ok(left));
    }

    #[test]
    fn subtracting_an_amount_shifts_the_service_down(service in services(), amount in 0..100_i128, t in times()) {
        let left = service.subtract_amount(Amount::from_nanobits(amount));
        prop_assert_eq!(left.at(&t), (service.at(&t) - whole(amount)).max(whole(0)));
    }

    #[test]
    fn the_first_slope_is_never_above_the_service(service in services(), t in times()) {
        prop_assert!(service.first_slope().at(&t) <= service.at(&t));
        prop_assert_eq!(service.first_slope().latency(), service.latency());
    }

    #[test]
    fn every_priority_gets_the_link_minus_higher_ones_and_a_blocking_frame(
        rate in 0..60_u64, blocking in 0..50_i128, flows in vec(arrivals(), 0..5), t in times(),
    ) {
        let link = Rate::from_bits_per_second(rate);
        let services = strict_priority_residuals(link, Amount::from_nanobits(blocking), &flows);
        prop_assert_eq!(services.len(), flows.len());
        for (p, service) in services.iter().enumerate() {
            let higher: Rational = flows[..p].iter().map(|flow| flow.at(&t)).sum();
            let left = whole(i128::from(rate)) * &t - higher - whole(blocking);
            prop_assert_eq!(service.at(&t), left.max(whole(0)));
        }
    }

    #[test]
    fn more_traffic_means_no_less_delay_and_backlog(a in arrivals(), b in arrivals(), service in services()) {
        let more = &a + &b;
        prop_assert!(at_most(&horizontal_deviation(&a, &service), &horizontal_deviation(&more, &service)));
        prop_assert!(at_most(&vertical_deviation(&a, &service), &vertical_deviation(&more, &service)));
        let less = a.minimum(&b);
        prop_assert!(at_most(&horizontal_deviation(&less, &service), &horizontal_deviation(&a, &service)));
        prop_assert!(at_most(&vertical_deviation(&less, &service), &vertical_deviation(&a, &service)));
    }

    #[test]
    fn more_service_means_no_more_delay_and_backlog(arrival in arrivals(), a in services(), b in services()) {
        let more = ServiceCurve::from_pieces(a.pieces().iter().chain(b.pieces()).cloned()).unwrap();
        prop_assert!(at_most(&horizontal_deviation(&arrival, &more), &horizontal_deviation(&arrival, &a)));
        prop_assert!(at_most(&vertical_deviation(&arrival, &more), &vertical_deviation(&arrival, &a)));
    }

    #[test]
    fn a_path_delays_no_more_than_its_queues_one_by_one(arrival in arrivals(), a in services(), b in services()) {
        let Some(first) = horizontal_deviation(&arrival, &a) else { return Ok(()) };
        let between = deconvolution(&arrival, &a).unwrap();
        let one_by_one = horizontal_deviation(&between, &b).map(|second| first + second);
        prop_assert!(at_most(&horizontal_deviation(&arrival, &a.convolution(&b)), &one_by_one));
    }

    /// Le Boudec and Thiran, section 3.1: deconvolving by two curves in turn is deconvolving by their convolution.
    #[test]
    fn the_output_of_a_path_is_that_of_its_queues_in_sequence(
        arrival in arrivals(), a in services(), b in services(),
    ) {
        let one_by_one = deconvolution(&arrival, &a).and_then(|between| deconvolution(&between, &b));
        prop_assert_eq!(deconvolution(&arrival, &a.convolution(&b)), one_by_one);
    }

    #[test]
    fn results_scale_with_the_units(
        arrival in arrivals(), service in services(), time in 1..9_i128, amount in 1..9_i128,
    ) {
        let (time, amount) = (ratio(time, 3).unwrap(), ratio(amount, 5).unwrap());
        let scaled = (scaled_arrival(&arrival, &time, &amount), scaled_service(&service, &time, &amount));
        let delay = horizontal_deviation(&arrival, &service).map(|delay| delay * &time);
        prop_assert_eq!(horizontal_deviation(&scaled.0, &scaled.1), delay);
        let backlog = vertical_deviation(&arrival, &service).map(|backlog| backlog * &amount);
        prop_assert_eq!(vertical_deviation(&scaled.0, &scaled.1), backlog);
        let left = residual_service(&service, &arrival);
        prop_assert_eq!(residual_service(&scaled.1, &scaled.0), scaled_service(&left, &time, &amount));
        let output = deconvolution(&arrival, &service).map(|output| scaled_arrival(&output, &time, &amount));
        prop_assert_eq!(deconvolution(&scaled.0, &scaled.1), output);
    }
}
