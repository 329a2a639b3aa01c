//! Delay and backlog: the horizontal and the vertical deviation between an arrival and a service curve.
//!
//! Source: Le Boudec and Thiran, theorems 1.4.1 (backlog) and 1.4.2 (delay). For a concave alpha and a convex beta
//! both are the supremum of a concave, piecewise linear function. The supremum is reached at one of the knees (or is
//! infinite), so that trying the knees is exact.
//!
//! Corner cases, which a controller meets every day:
//!
//! | traffic | service | delay | backlog |
//! |---|---|---|---|
//! | none | any, even none | 0 | 0 |
//! | some | none | unbounded | all that ever arrives; unbounded at a long-term rate above 0 |
//! | no burst, but a rate | with a latency T | at least T (as t -> 0+) | at least alpha(T) |
//! | long-term rate equal to the service's | | bounded | bounded |
//! | long-term rate above the service's | | unbounded | unbounded |
//!
//! So an EMPTY queue has delay 0, not its latency: no packet waits in it.

use num_traits::Zero;

use crate::{ArrivalCurve, Rational, ServiceCurve};

/// The largest delay in ns that traffic within `arrival` suffers in a FIFO queue that gets `service`:
/// h(alpha, beta) = sup over t > 0 of inf { d >= 0 : alpha(t) <= beta(t + d) }. `None` if it is unbounded.
///
/// ```
/// use wayleave_calculus::{ArrivalCurve, ServiceCurve, horizontal_deviation, rational};
/// use wayleave_units::{Bytes, Rate, Time};
///
/// let service = ServiceCurve::rate_latency(Rate::from_gbit(1), Time::from_micros(12));
/// let flow = ArrivalCurve::token_bucket(Rate::from_mbit(100), Bytes::new(1000));
/// let delay = horizontal_deviation(&flow, &service); // latency + burst / rate
/// assert_eq!(delay.and_then(|d| rational::time_rounded_up(&d)), Some(Time::from_micros(20)));
///
/// assert_eq!(horizontal_deviation(&ArrivalCurve::zero(), &service), Some(rational::whole(0)));
/// assert_eq!(horizontal_deviation(&flow, &ServiceCurve::zero()), None);
/// ```
pub fn horizontal_deviation(arrival: &ArrivalCurve, service: &ServiceCurve) -> Option<Rational> {
    if arrival.is_zero() {
        return Some(Rational::zero());
    }
    if arrival.long_term_rate() > service.ultimate_rate() {
        return None;
    }
    // The delay of the bit that arrives at t is concave in t. Its slope changes only at knees of alpha, and
    // when alpha reaches the amount of a knee of beta. The first knee of alpha, (0, burst), is the limit t -> 0+.
    let mut worst = Rational::zero();
    for knee in arrival.knees() {
        worst = worst.max(service.time_to_serve(&knee.amount)? - knee.time);
    }
    for knee in service.knees() {
        if let Some(arrived) = arrival.time_to_reach(&knee.amount) {
            worst = worst.max(knee.time - arrived);
        }
    }
    Some(worst)
}

/// The largest backlog in nanobits that traffic within `arrival` builds up in a queue that gets `service`:
/// v(alpha, beta) = sup over t >= 0 of alpha(t) - beta(t). `None` if it is unbounded.
///
/// ```
/// use wayleave_calculus::{ArrivalCurve, ServiceCurve, rational, vertical_deviation};
/// use wayleave_units::{Bytes, Rate, Time};
///
/// let service = ServiceCurve::rate_latency(Rate::from_gbit(1), Time::from_micros(12));
/// let flow = ArrivalCurve::token_bucket(Rate::from_mbit(100), Bytes::new(1000));
/// let backlog = vertical_deviation(&flow, &service); // burst + rate * latency
/// assert_eq!(backlog.and_then(|b| rational::amount_rounded_up(&b)), Some(Bytes::new(1150).into()));
/// ```
pub fn vertical_deviation(arrival: &ArrivalCurve, service: &ServiceCurve) -> Option<Rational> {
    if arrival.long_term_rate() > service.ultimate_rate() {
        return None;
    }
    let at_arrival_knees = arrival.knees().into_iter().map(|knee| knee.amount - service.at(&knee.time));
    let at_service_knees = service.knees().into_iter().map(|knee| arrival.at(&knee.time) - knee.amount);
    at_arrival_knees.chain(at_service_knees).max()
}
