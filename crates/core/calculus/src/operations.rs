//! Min-plus operations: sum, minimum, convolution, deconvolution, and the residual service of strict priorities.
//!
//! Source: Le Boudec and Thiran, section 3.1 (convolution, theorem 3.1.6, and deconvolution), sections 1.3.2
//! (priority nodes) and 6.2.1 (blind multiplexing).
//!
//! Convolution and deconvolution go through conjugates. The gap of a curve at a slope r is the largest distance
//! between it and a line of that slope through the origin: sup alpha(t) - r t for an arrival curve, sup r t - beta(t)
//! for a service curve. Min-plus operations ADD gaps, and a concave or convex curve is the envelope of the lines that
//! its gaps describe, at the slopes that it has. (This is the textbook's "put the segments end to end, sorted by
//! slope", without the book-keeping of segments.)

use core::iter::Sum;
use core::ops::Add;

use num_traits::Zero;
use wayleave_units::{Amount, Rate};

use crate::envelope::{self, Line};
use crate::{ArrivalCurve, Rational, ServiceCurve};

impl Add for &ArrivalCurve {
    type Output = ArrivalCurve;

    /// Returns the curve of the two flows together.
    ///
    /// ```
    /// # use wayleave_calculus::ArrivalCurve;
    /// # use wayleave_units::{Bytes, Rate};
    /// let flow = ArrivalCurve::token_bucket(Rate::from_mbit(1), Bytes::new(100));
    /// assert_eq!((&flow + &flow).to_string(), "200 B + 2 Mbit/s * t");
    /// ```
    fn add(self, other: Self) -> ArrivalCurve {
        ArrivalCurve::from_envelope(envelope::sum(&self.lines(), &other.lines()))
    }
}

impl<'a> Sum<&'a ArrivalCurve> for ArrivalCurve {
    fn sum<I: Iterator<Item = &'a ArrivalCurve>>(curves: I) -> Self {
        curves.fold(Self::zero(), |total, curve| &total + curve)
    }
}

impl Sum for ArrivalCurve {
    fn sum<I: Iterator<Item = ArrivalCurve>>(curves: I) -> Self {
        curves.fold(Self::zero(), |total, curve| &total + &curve)
    }
}

impl ArrivalCurve {
    /// The traffic that keeps to both curves, such as that of flows behind one line.
    #[must_use]
    pub fn minimum(&self, other: &Self) -> Self {
        let mut lines = self.lines();
        lines.extend(other.lines());
        Self::from_lines(lines)
    }

    /// The min-plus convolution, inf over 0 <= s <= t of alpha(s) + alpha'(t - s): what leaves two shapers in a row.
    ///
    /// For concave curves that are 0 at 0 it is their minimum: the sum is concave in s, so that its infimum
    /// is at s = 0 or s = t (Le Boudec and Thiran, theorem 3.1.6).
    ///
    /// ```
    /// # use wayleave_calculus::ArrivalCurve;
    /// # use wayleave_units::{Bytes, Rate};
    /// let bucket = ArrivalCurve::token_bucket(Rate::from_mbit(1), Bytes::new(9000));
    /// let line = ArrivalCurve::line(Rate::from_gbit(1), Bytes::new(1500));
    /// assert_eq!(bucket.convolution(&line), bucket.minimum(&line));
    /// ```
    #[must_use]
    pub fn convolution(&self, other: &Self) -> Self {
        self.minimum(other)
    }

    /// sup over t > 0 of alpha(t) - slope * t. The slope must not be below the long-term rate.
    fn gap(&self, slope: &Rational) -> Rational {
        let gaps = self.knees().into_iter().map(|knee| knee.amount - slope * knee.time);
        gaps.max().unwrap_or_else(Rational::zero)
    }
}

impl ServiceCurve {
    /// The min-plus convolution, inf over 0 <= s <= t of beta(s) + beta'(t - s): the service of two queues in a row.
    ///
    /// Its segments are those of both curves up to the lower of the ultimate rates, sorted by slope; of two
    /// rate-latency functions it is the one with the lower rate and the sum of the latencies.
    ///
    /// ```
    /// # use wayleave_calculus::ServiceCurve;
    /// # use wayleave_units::{Rate, Time};
    /// let slow = ServiceCurve::rate_latency(Rate::from_mbit(100), Time::from_micros(5));
    /// let fast = ServiceCurve::rate_latency(Rate::from_gbit(1), Time::from_micros(3));
    /// assert_eq!(slow.convolution(&fast).to_string(), "100 Mbit/s * [t - 8 us]+");
    /// ```
    #[must_use]
    pub fn convolution(&self, other: &Self) -> Self {
        let slowest = self.ultimate_rate().min(other.ultimate_rate());
        let pieces = self.pieces().iter().chain(other.pieces());
        let slopes = pieces.map(|piece| &piece.rate).filter(|rate| **rate <= slowest);
        let lines = slopes.map(|rate| Line { offset: self.gap(rate) + other.gap(rate), slope: -rate });
        Self::from_negated(lines.collect())
    }

    /// sup over t >= 0 of slope * t - beta(t). The slope must not be above the ultimate rate.
    fn gap(&self, slope: &Rational) -> Rational {
        let gaps = self.knees().into_iter().map(|knee| slope * knee.time - knee.amount);
        gaps.fold(Rational::zero(), Rational::max)
    }
}

/// Returns the output curve of a queue with `service` whose input has the curve `arrival`: the min-plus deconvolution
/// sup over u >= 0 of alpha(t + u) - beta(u). `None` if it is unbounded: the long-term rate is above the service's.
///
/// The burst of the result is the backlog bound, [`vertical_deviation`](crate::vertical_deviation).
///
/// ```
/// use wayleave_calculus::{ArrivalCurve, ServiceCurve, deconvolution};
/// use wayleave_units::{Bytes, Rate, Time};
///
/// let flow = ArrivalCurve::token_bucket(Rate::from_mbit(100), Bytes::new(1000));
/// let service = ServiceCurve::rate_latency(Rate::from_gbit(1), Time::from_micros(12));
/// let output = deconvolution(&flow, &service); // the burst grows by rate * latency
/// assert_eq!(output, Some(ArrivalCurve::token_bucket(Rate::from_mbit(100), Bytes::new(1150))));
/// assert_eq!(deconvolution(&flow, &ServiceCurve::zero()), None);
/// ```
pub fn deconvolution(arrival: &ArrivalCurve, service: &ServiceCurve) -> Option<ArrivalCurve> {
    let (slowest, fastest) = (arrival.long_term_rate(), service.ultimate_rate());
    if slowest > fastest {
        return None;
    }
    let arrival_slopes = arrival.pieces().iter().map(|piece| &piece.rate);
    let service_slopes = service.pieces().iter().map(|piece| &piece.rate);
    let slopes = arrival_slopes.chain(service_slopes).filter(|rate| slowest <= **rate && **rate <= fastest);
    let lines = slopes.map(|rate| Line { offset: arrival.gap(rate) + service.gap(rate), slope: rate.clone() });
    Some(ArrivalCurve::from_lines(lines.collect()))
}

/// Returns the part of `service` that is left for all other traffic while `arrival` is served first: [beta - alpha]+.
///
/// It holds for a lower strict priority, and for any order of service (blind multiplexing), if `service` is a strict
/// service curve, as that of a link is. A convex curve minus a concave one is convex and starts at or below zero, so
/// that its positive part never falls and needs no further closure. Where `arrival` takes all of the rate in the long
/// run, nothing is left: [`ServiceCurve::zero`].
///
/// ```
/// use wayleave_calculus::{ArrivalCurve, ServiceCurve, residual_service};
/// use wayleave_units::{Bytes, Rate};
///
/// let link = ServiceCurve::constant_rate(Rate::from_gbit(1));
/// let urgent = ArrivalCurve::token_bucket(Rate::from_mbit(500), Bytes::new(1000));
/// assert_eq!(residual_service(&link, &urgent).to_string(), "500 Mbit/s * [t - 16 us]+");
/// let everything = ArrivalCurve::token_bucket(Rate::from_gbit(1), Bytes::new(0));
/// assert!(residual_service(&link, &everything).is_zero());
/// ```
pub fn residual_service(service: &ServiceCurve, arrival: &ArrivalCurve) -> ServiceCurve {
    // While beta is zero the difference is not positive, for any pieces of beta without their zero.
    ServiceCurve::from_negated(envelope::sum(&service.negated(), &arrival.lines()))
}

/// Returns the service of every priority of a link with strict, non-preemptive priorities, highest first: beta_p(t) =
/// [R t - sum over j < p of alpha_j(t) - blocking]+ for each of `arrivals`.
///
/// `blocking` is the largest frame of any lower priority that may be on the wire already; with the link's largest
/// frame it does not depend on the traffic admitted below. Nothing is added for packetisation. A trailing
/// [`ArrivalCurve::zero`] gives the service of best effort. A blocking below zero counts as none.
///
/// ```
/// use wayleave_calculus::{ArrivalCurve, strict_priority_residuals};
/// use wayleave_units::{Bytes, Rate};
///
/// let urgent = ArrivalCurve::token_bucket(Rate::from_mbit(500), Bytes::new(1000));
/// let services = strict_priority_residuals(Rate::from_gbit(1), Bytes::new(1500), &[urgent, ArrivalCurve::zero()]);
/// assert_eq!(services[0].to_string(), "1 Gbit/s * [t - 12 us]+");
/// assert_eq!(services[1].to_string(), "500 Mbit/s * [t - 40 us]+");
/// ```
pub fn strict_priority_residuals(
    link_rate: Rate,
    blocking: impl Into<Amount>,
    arrivals: &[ArrivalCurve],
) -> Vec<ServiceCurve> {
    let mut left = ServiceCurve::constant_rate(link_rate).subtract_amount(blocking);
    let mut services = Vec::with_capacity(arrivals.len());
    for arrival in arrivals {
        // Taking the positive part after every priority changes nothing: alpha_j >= 0.
        let next = residual_service(&left, arrival);
        services.push(core::mem::replace(&mut left, next));
    }
    services
}
