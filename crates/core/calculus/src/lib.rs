//! Exact deterministic network calculus: bounds of queues, computed without a rounding error.
//!
//! An [`ArrivalCurve`] bounds the traffic that may arrive in any interval, a [`ServiceCurve`] bounds from below the
//! service of a queue. Their [`horizontal_deviation`] bounds the delay, their [`vertical_deviation`] the backlog,
//! [`deconvolution`] the traffic that leaves, and [`residual_service`] the service left for lower priorities.
//!
//! Everything follows J.-Y. Le Boudec and P. Thiran, "Network Calculus" (Springer LNCS 2050), for the family of
//! curves that access control needs: concave arrivals, convex services, both piecewise linear with finitely many
//! pieces. On that family every operation is closed and exact.
//!
//! **Units** are equal in the whole crate: time in ns, rates in bit/s, data in nanobits (bit/s times ns). Numbers are
//! [`Rational`]s; [`rational`] converts them from and to the workspace's integer types and rounds in the direction
//! that the function's name indicates. Nothing else rounds, except text.
//!
//! | module | content |
//! |---|---|
//! | [`rational`] | the number type and its conversions |
//! | `arrival`, `service` | the two curves: constructors, evaluation, knees |
//! | `operations` | sum, minimum, convolution, deconvolution, residual service |
//! | `deviation` | delay and backlog |
//! | [`network`] | bounds over a whole network of output ports |
//! | [`lp`] | bounds from linear programs, each with an exact certificate |
//! | [`sizing`] | bandwidth and peak load for completion times: queueing models and one bound |
//! | `envelope` | the one algorithm behind all of them: the lower envelope of lines |
//!
//! The admission check's hot path has an integer kernel of its own elsewhere; this crate is the reference for tests
//! of that kernel, and explains a bound term by term.
//!
//! ```
//! use wayleave_calculus::{ArrivalCurve, horizontal_deviation, rational, strict_priority_residuals};
//! use wayleave_units::{Bytes, Rate, Time};
//!
//! // Two priorities of a 1 Gbit/s link whose largest frame has 1562 B on the wire.
//! let urgent = ArrivalCurve::token_bucket(Rate::from_mbit(100), Bytes::new(10_000));
//! let bulk = ArrivalCurve::token_bucket(Rate::from_mbit(500), Bytes::new(50_000));
//! let services = strict_priority_residuals(Rate::from_gbit(1), Bytes::new(1562), &[urgent.clone(), bulk.clone()]);
//!
//! let delay = horizontal_deviation(&urgent, &services[0]).and_then(|delay| rational::time_rounded_up(&delay));
//! assert_eq!(delay, Some(Time::from_nanos(92_496))); // (10,000 B + 1562 B) at 1 Gbit/s
//! let delay = horizontal_deviation(&bulk, &services[1]).and_then(|delay| rational::time_rounded_up(&delay));
//! assert_eq!(delay, Some(Time::from_nanos(547_218))); // (50,000 B + 10,000 B + 1562 B) at 900 Mbit/s
//! ```

mod arrival;
mod deviation;
mod display;
mod envelope;
#[cfg(feature = "lp")]
pub mod lp;
pub mod network;
mod operations;
pub mod rational;
mod service;
pub mod sizing;

pub use arrival::{ArrivalCurve, BucketCurve};
pub use deviation::{horizontal_deviation, vertical_deviation};
pub use operations::{deconvolution, residual_service, strict_priority_residuals};
pub use rational::Rational;
pub use service::{RateLatency, ServiceCurve};

/// A point of a curve, mostly one where its slope changes.
///
/// ```
/// use wayleave_calculus::{CurvePoint, rational};
/// let point = CurvePoint { time: rational::ratio(1, 2).unwrap(), amount: rational::whole(3) };
/// assert_eq!(point.to_f64(), (0.5, 3.0));
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct CurvePoint {
    /// In ns.
    pub time: Rational,
    /// In nanobits.
    pub amount: Rational,
}

impl CurvePoint {
    /// `(ns, nanobits)`, rounded to the nearest float: for plotting only, never for a bound.
    pub fn to_f64(&self) -> (f64, f64) {
        (rational::to_f64(&self.time), rational::to_f64(&self.amount))
    }
}

/// Reason that a list of pieces is no curve.
#[derive(thiserror::Error, Clone, Debug, PartialEq, Eq)]
pub enum CurveError {
    /// The minimum of no token buckets would let everything through at once.
    #[error("an arrival curve needs at least one token bucket")]
    NoPiece,
    /// A piece's rate is below zero: the curve would fall.
    #[error("a rate of {0} bit/s is below zero")]
    NegativeRate(Rational),
    /// A token bucket's burst, in nanobits, is below zero.
    #[error("a burst of {0} nanobits is below zero")]
    NegativeBurst(Rational),
    /// A service's debt, in nanobits, is below zero: it would have served before time zero.
    #[error("a debt of {0} nanobits is below zero")]
    NegativeDebt(Rational),
}
