//! Lag of a queue's service behind its arrivals: the worst delay and the worst backlog.

use crate::exact::Fraction;
use crate::polyline::{Polyline, supremum_from};

/// Returns `sup over t > from of inf { d >= 0 : alpha(t) <= beta(t + d) }`, in ns; `None` without bound.
///
/// Arrivals until t are served at `u(t) = inf { u : beta(u) >= alpha(t) }`, so d is `u(t) - t`, or 0 where that is
/// negative; the 0 can as well be taken after the supremum. `u(t) - t` is straight on an interval of t in which alpha
/// is straight and its values pass no value that beta has where beta's slope changes. Hence the cuts: the points of
/// alpha, and the times at which alpha reaches the values of beta's points (where alpha is level there is nothing to
/// cut: u is constant). `u` jumps only at cuts, where alpha leaves a value at which beta is level, t = 0 included; as
/// alpha is continuous after 0, `u(t)` there is its limit from the left, as [`supremum_from`] asks.
pub(crate) fn delay(alpha: &Polyline, beta: &Polyline, from: &Fraction) -> Option<Fraction> {
    let passes = beta.values().filter_map(|value| alpha.first_reaching(value));
    let worst = supremum_from(from, alpha.times().chain(passes), |t| Some(beta.first_reaching(&alpha.at(t))? - t))?;
    Some(worst.max(Fraction::zero()))
}

/// `sup over t > 0 of alpha(t) - beta(t)`, in nanobits; `None` without bound.
///
/// The difference is straight wherever both are: between the points of either.
pub(crate) fn backlog(alpha: &Polyline, beta: &Polyline) -> Option<Fraction> {
    supremum_from(&Fraction::zero(), alpha.times().chain(beta.times()), |t| Some(alpha.at(t) - beta.at(t)))
}
