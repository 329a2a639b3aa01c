//! Service curves: how much a queue serves, at least, in any interval in which it is busy.
//!
//! Source: Le Boudec and Thiran, definition 1.3.1 and section 1.3.2. A convex, piecewise linear curve is the
//! maximum of rate-latency functions, and so it is stored: only pieces that bind somewhere, in the order
//! in which they bind. Equal curves are therefore equal values. Convolution and the residual service of
//! lower priorities are in `operations`.

use num_traits::{Signed, Zero};
use wayleave_units::{Amount, Rate, Time};

use crate::envelope::{Line, crossing, lower_envelope};
use crate::rational::{from_amount, from_rate, from_time, positive_part};
use crate::{CurveError, CurvePoint, Rational};

/// A convex, piecewise linear service curve beta: the maximum of rate-latency functions, at least zero.
///
/// ```
/// use wayleave_calculus::{ServiceCurve, rational};
/// use wayleave_units::{Rate, Time};
///
/// let service = ServiceCurve::rate_latency(Rate::from_gbit(1), Time::from_nanos(12));
/// assert_eq!(service.to_string(), "1 Gbit/s * [t - 12 ns]+");
/// assert_eq!(service.at(&rational::whole(10)), rational::whole(0));
/// assert_eq!(service.at(&rational::whole(15)), rational::whole(3_000_000_000));
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ServiceCurve {
    /// Rates are above zero; rates and debts strictly increase, every piece binds somewhere. Empty for no service.
    pieces: Vec<RateLatency>,
}

/// The service curve `[rate * t - debt]+`, that is `rate * [t - latency]+` with `latency = debt / rate` (beta_{R,T}).
///
/// The debt is stored, not the latency: blocking packets and bursts of higher priorities add to it as they are.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct RateLatency {
    /// In bit/s, not negative.
    pub rate: Rational,
    /// Amount that could have been served during the latency, in nanobits, not negative.
    pub debt: Rational,
}

impl RateLatency {
    /// `rate * [t - latency]+`; with exact numbers, for latencies that are no whole ns.
    pub fn new(rate: Rational, latency: &Rational) -> Self {
        let debt = &rate * latency;
        Self { rate, debt }
    }

    /// `debt / rate`, in ns; `None` for a rate of zero, which never serves.
    pub fn latency(&self) -> Option<Rational> {
        if self.rate.is_zero() { None } else { Some(&self.debt / &self.rate) }
    }
}

impl ServiceCurve {
    /// No service at all.
    pub fn zero() -> Self {
        Self { pieces: Vec::new() }
    }

    /// `rate * [t - latency]+`.
    pub fn rate_latency(rate: Rate, latency: Time) -> Self {
        let piece = RateLatency::new(from_rate(rate), &from_time(latency));
        Self { pieces: if piece.rate.is_zero() { Vec::new() } else { vec![piece] } }
    }

    /// `rate * t`: a server that never rests.
    pub fn constant_rate(rate: Rate) -> Self {
        Self::rate_latency(rate, Time::ZERO)
    }

    /// The maximum of `pieces` and zero, in normal form. No piece gives no service.
    ///
    /// # Errors
    /// If a rate or a debt is negative.
    ///
    /// ```
    /// use wayleave_calculus::{RateLatency, ServiceCurve, rational::whole};
    /// let piece = |rate, debt| RateLatency { rate: whole(rate), debt: whole(debt) };
    /// // The slow piece is overtaken before it serves anything.
    /// let service = ServiceCurve::from_pieces([piece(1, 10), piece(2, 4), piece(3, 12)])?;
    /// assert_eq!(service.pieces(), [piece(2, 4), piece(3, 12)]);
    /// # Ok::<(), wayleave_calculus::CurveError>(())
    /// ```
    pub fn from_pieces(pieces: impl IntoIterator<Item = RateLatency>) -> Result<Self, CurveError> {
        let mut negated = Vec::new();
        for RateLatency { rate, debt } in pieces {
            if rate.is_negative() {
                return Err(CurveError::NegativeRate(rate));
            }
            if debt.is_negative() {
                return Err(CurveError::NegativeDebt(debt));
            }
            negated.push(Line { offset: debt, slope: -rate });
        }
        Ok(Self::from_negated(negated))
    }

    /// The curve whose negative is the minimum of zero and of `lines`, whose offsets must not be negative.
    /// Lines that rise have no part in it.
    pub(crate) fn from_negated(mut lines: Vec<Line>) -> Self {
        lines.push(Line { offset: Rational::zero(), slope: Rational::zero() });
        let falling = lower_envelope(lines).into_iter().filter(|line| line.slope.is_negative());
        Self { pieces: falling.map(|line| RateLatency { rate: -line.slope, debt: line.offset }).collect() }
    }

    /// Its pieces, negated, as a lower envelope in normal form; the zero that it never falls below is left out.
    pub(crate) fn negated(&self) -> Vec<Line> {
        self.pieces.iter().map(RateLatency::negated).collect()
    }

    /// Its value at `t` ns, in nanobits.
    pub fn at(&self, t: &Rational) -> Rational {
        let values = self.pieces.iter().map(|piece| &piece.rate * t - &piece.debt);
        positive_part(values.max().unwrap_or_else(Rational::zero))
    }

    /// The last time at which it has not served more than `amount`: the latency for 0, the pseudo-inverse for
    /// anything else. `None` for no service.
    pub(crate) fn time_to_serve(&self, amount: &Rational) -> Option<Rational> {
        self.pieces.iter().map(|piece| (amount + &piece.debt) / &piece.rate).min()
    }

    /// Returns the maximum time without service, in ns; `None` for no service.
    pub fn latency(&self) -> Option<Rational> {
        self.time_to_serve(&Rational::zero())
    }

    /// Its slope in the long run, in bit/s; zero for no service.
    pub fn ultimate_rate(&self) -> Rational {
        self.pieces.last().map_or_else(Rational::zero, |piece| piece.rate.clone())
    }

    /// Returns `true` if it never serves anything.
    pub fn is_zero(&self) -> bool {
        self.pieces.is_empty()
    }

    /// The rate-latency functions whose maximum it is, in the order in which they bind: rates, debts and latencies
    /// strictly increase. Empty for no service.
    pub fn pieces(&self) -> &[RateLatency] {
        &self.pieces
    }

    /// Returns `(latency, 0)` and the points at which the slope changes further; empty for no service. The curve
    /// continues with [`Self::ultimate_rate`].
    ///
    /// ```
    /// # use wayleave_calculus::{CurvePoint, RateLatency, ServiceCurve, rational::whole};
    /// let piece = |rate, debt| RateLatency { rate: whole(rate), debt: whole(debt) };
    /// let service = ServiceCurve::from_pieces([piece(2, 4), piece(3, 12)])?;
    /// let point = |time, amount| CurvePoint { time: whole(time), amount: whole(amount) };
    /// assert_eq!(service.knees(), [point(2, 0), point(8, 12)]);
    /// # Ok::<(), wayleave_calculus::CurveError>(())
    /// ```
    pub fn knees(&self) -> Vec<CurvePoint> {
        let start = self.latency().map(|time| CurvePoint { time, amount: Rational::zero() });
        let later = self.pieces.iter().zip(self.pieces.iter().skip(1)).map(|(piece, next)| {
            let time = crossing(&piece.negated(), &next.negated());
            let amount = &piece.rate * &time - &piece.debt;
            CurvePoint { time, amount }
        });
        start.into_iter().chain(later).collect()
    }

    /// Returns the service after `amount` is taken away once, [beta - amount]+: a blocking packet of lower priority,
    /// or one packet of its own for packetisation (Le Boudec and Thiran, section 1.7). An amount below zero counts as
    /// none, which is safe.
    ///
    /// ```
    /// # use wayleave_calculus::ServiceCurve;
    /// # use wayleave_units::{Bytes, Rate};
    /// let service = ServiceCurve::constant_rate(Rate::from_gbit(1)).subtract_amount(Bytes::new(1500));
    /// assert_eq!(service.to_string(), "1 Gbit/s * [t - 12 us]+");
    /// ```
    #[must_use]
    pub fn subtract_amount(&self, amount: impl Into<Amount>) -> Self {
        self.less(&positive_part(from_amount(amount.into())))
    }

    /// The same for an amount in nanobits that need not be whole; it must not be negative.
    #[must_use]
    pub(crate) fn less(&self, amount: &Rational) -> Self {
        let more = |piece: &RateLatency| Line { offset: &piece.debt + amount, slope: -&piece.rate };
        Self::from_negated(self.pieces.iter().map(more).collect())
    }

    /// Returns the rate-latency function of its first positive slope: never above the curve, and the choice of
    /// Chameleon's published controller (`ResidualMode.MIN_LATENCY`). Zero service stays zero service.
    ///
    /// ```
    /// # use wayleave_calculus::{RateLatency, ServiceCurve, rational::whole};
    /// let piece = |rate, debt| RateLatency { rate: whole(rate), debt: whole(debt) };
    /// let service = ServiceCurve::from_pieces([piece(2, 4), piece(3, 12)])?;
    /// assert_eq!(service.first_slope(), ServiceCurve::from_pieces([piece(2, 4)])?);
    /// # Ok::<(), wayleave_calculus::CurveError>(())
    /// ```
    #[must_use]
    pub fn first_slope(&self) -> Self {
        Self { pieces: self.pieces.iter().take(1).cloned().collect() }
    }
}

impl RateLatency {
    fn negated(&self) -> Line {
        Line { offset: self.debt.clone(), slope: -&self.rate }
    }
}
