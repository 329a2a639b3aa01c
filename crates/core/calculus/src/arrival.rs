//! Arrival curves: how much traffic may arrive in any interval of a given length.
//!
//! Source: Le Boudec and Thiran, definition 1.2.1 and section 1.2.2. A concave, piecewise linear curve is
//! the minimum of token buckets, and so it is stored: only buckets that bind somewhere, in the order in
//! which they bind. Equal curves are therefore equal values. Sum, minimum, convolution and deconvolution
//! are in `operations`.

use num_traits::{Signed, Zero};
use wayleave_units::{Amount, Bytes, Rate};

use crate::envelope::{Line, crossing, lower_envelope};
use crate::rational::{from_amount, from_rate, positive_part};
use crate::{CurveError, CurvePoint, Rational};

/// A concave, piecewise linear arrival curve alpha: 0 at time 0, the minimum of token buckets after it.
///
/// At `t = 0` its value is 0 by convention; just after, it is the [`burst`](Self::burst), alpha(0+).
///
/// ```
/// use wayleave_calculus::{ArrivalCurve, rational};
/// use wayleave_units::{Bytes, Rate};
///
/// // 97 kB at 100 Mbit/s, out of a line of 1 Gbit/s whose largest frame has 1562 B.
/// let flows = ArrivalCurve::token_bucket(Rate::from_mbit(100), Bytes::new(97_000));
/// let line = ArrivalCurve::line(Rate::from_gbit(1), Bytes::new(1562));
/// let curve = flows.minimum(&line);
/// assert_eq!(curve.to_string(), "min(1.562 kB + 1 Gbit/s * t, 97 kB + 100 Mbit/s * t)");
/// assert_eq!(curve.at(&rational::whole(0)), rational::whole(0));
/// assert_eq!(curve.at(&rational::whole(8)), rational::whole((1562 + 1) * 8_000_000_000));
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ArrivalCurve {
    /// Never empty; rates strictly decrease, bursts strictly increase, every piece binds somewhere.
    pieces: Vec<BucketCurve>,
}

/// The arrival curve `burst + rate * t` of a token bucket (a leaky bucket, gamma_{r,b}).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct BucketCurve {
    /// In bit/s, not negative.
    pub rate: Rational,
    /// In nanobits, not negative.
    pub burst: Rational,
}

impl ArrivalCurve {
    /// No traffic at all.
    pub fn zero() -> Self {
        Self { pieces: vec![BucketCurve { rate: Rational::zero(), burst: Rational::zero() }] }
    }

    /// `burst + rate * t`. A burst below zero counts as none, which errs to the safe side.
    ///
    /// ```
    /// # use wayleave_calculus::{ArrivalCurve, rational};
    /// # use wayleave_units::{Amount, Bytes, Rate, Time};
    /// // A burst that has grown on its way is exact in nanobits.
    /// let rate = Rate::from_mbit(3);
    /// let grown = Amount::from(Bytes::new(1000)) + rate * Time::from_nanos(1);
    /// let curve = ArrivalCurve::token_bucket(rate, grown);
    /// assert_eq!(curve, ArrivalCurve::token_bucket(rate, Bytes::new(1000)).delayed_by(&rational::whole(1)));
    /// ```
    pub fn token_bucket(rate: Rate, burst: impl Into<Amount>) -> Self {
        Self { pieces: vec![BucketCurve { rate: from_rate(rate), burst: positive_part(from_amount(burst.into())) }] }
    }

    /// Returns the arrival curve of a line: `max_frame + rate * t`, since a frame that has arrived counts at once.
    pub fn line(rate: Rate, max_frame: Bytes) -> Self {
        Self::token_bucket(rate, max_frame)
    }

    /// The minimum of `pieces`, in normal form.
    ///
    /// # Errors
    /// If there is no piece, or a rate or burst is negative.
    ///
    /// ```
    /// use wayleave_calculus::{ArrivalCurve, CurveError, BucketCurve, rational::whole};
    /// let piece = |rate, burst| BucketCurve { rate: whole(rate), burst: whole(burst) };
    /// // The bucket in the middle never binds.
    /// let curve = ArrivalCurve::from_pieces([piece(1, 10), piece(3, 7), piece(4, 1)])?;
    /// assert_eq!(curve.pieces(), [piece(4, 1), piece(1, 10)]);
    /// assert_eq!(ArrivalCurve::from_pieces([]), Err(CurveError::NoPiece));
    /// # Ok::<(), CurveError>(())
    /// ```
    pub fn from_pieces(pieces: impl IntoIterator<Item = BucketCurve>) -> Result<Self, CurveError> {
        let mut lines = Vec::new();
        for BucketCurve { rate, burst } in pieces {
            if rate.is_negative() {
                return Err(CurveError::NegativeRate(rate));
            }
            if burst.is_negative() {
                return Err(CurveError::NegativeBurst(burst));
            }
            lines.push(Line { offset: burst, slope: rate });
        }
        if lines.is_empty() { Err(CurveError::NoPiece) } else { Ok(Self::from_lines(lines)) }
    }

    /// The minimum of lines whose offsets and slopes are not negative; none for no line at all.
    pub(crate) fn from_lines(lines: Vec<Line>) -> Self {
        Self::from_envelope(lower_envelope(lines))
    }

    /// The same for lines that already are in normal form.
    pub(crate) fn from_envelope(lines: Vec<Line>) -> Self {
        if lines.is_empty() {
            return Self::zero();
        }
        Self { pieces: lines.into_iter().map(|line| BucketCurve { rate: line.slope, burst: line.offset }).collect() }
    }

    /// Its pieces as lines, in normal form.
    pub(crate) fn lines(&self) -> Vec<Line> {
        self.pieces.iter().map(BucketCurve::line).collect()
    }

    /// Its value at `t` ns, in nanobits; 0 up to and at `t = 0`.
    pub fn at(&self, t: &Rational) -> Rational {
        if !t.is_positive() {
            return Rational::zero();
        }
        let values = self.pieces.iter().map(|piece| &piece.burst + &piece.rate * t);
        values.min().unwrap_or_else(Rational::zero)
    }

    /// The first time at which it has reached `amount` (its pseudo-inverse); `None` if it never does.
    pub(crate) fn time_to_reach(&self, amount: &Rational) -> Option<Rational> {
        let mut reached = Rational::zero();
        for piece in self.pieces.iter().filter(|piece| piece.burst < *amount) {
            if piece.rate.is_zero() {
                return None;
            }
            reached = reached.max((amount - &piece.burst) / &piece.rate);
        }
        Some(reached)
    }

    /// alpha(0+), in nanobits: what may arrive at once.
    pub fn burst(&self) -> Rational {
        self.pieces.first().map_or_else(Rational::zero, |piece| piece.burst.clone())
    }

    /// Its slope in the long run, in bit/s.
    pub fn long_term_rate(&self) -> Rational {
        self.pieces.last().map_or_else(Rational::zero, |piece| piece.rate.clone())
    }

    /// Returns `true` if it never lets anything through.
    pub fn is_zero(&self) -> bool {
        self.pieces.iter().any(|piece| piece.rate.is_zero() && piece.burst.is_zero())
    }

    /// The token buckets whose minimum it is, in the order in which they bind: rates strictly decrease,
    /// bursts strictly increase. There is at least one.
    pub fn pieces(&self) -> &[BucketCurve] {
        &self.pieces
    }

    /// Returns `(0, burst)` and the points at which the slope changes. The curve continues with
    /// [`Self::long_term_rate`].
    ///
    /// ```
    /// # use wayleave_calculus::{ArrivalCurve, CurvePoint, BucketCurve, rational::whole};
    /// let piece = |rate, burst| BucketCurve { rate: whole(rate), burst: whole(burst) };
    /// let curve = ArrivalCurve::from_pieces([piece(4, 1), piece(1, 10)])?;
    /// let point = |time, amount| CurvePoint { time: whole(time), amount: whole(amount) };
    /// assert_eq!(curve.knees(), [point(0, 1), point(3, 13)]);
    /// # Ok::<(), wayleave_calculus::CurveError>(())
    /// ```
    pub fn knees(&self) -> Vec<CurvePoint> {
        let lines = self.lines();
        let mut knees = vec![CurvePoint { time: Rational::zero(), amount: self.burst() }];
        for (line, next) in lines.iter().zip(lines.iter().skip(1)) {
            let time = crossing(line, next);
            let amount = &line.offset + &line.slope * &time;
            knees.push(CurvePoint { time, amount });
        }
        knees
    }

    /// Returns the curve of the traffic that leaves a place that delays every packet by at most `delay` (in ns, not
    /// negative): alpha(t + delay).
    ///
    /// With a queue's delay budget for `delay`, a flow's curve at the next queue does not depend on other flows
    /// admitted at this one.
    ///
    /// ```
    /// # use wayleave_calculus::{ArrivalCurve, rational};
    /// # use wayleave_units::{Bytes, Rate};
    /// let flow = ArrivalCurve::token_bucket(Rate::from_mbit(8), Bytes::new(500));
    /// assert_eq!(flow.delayed_by(&rational::whole(1_000_000)).to_string(), "1.5 kB + 8 Mbit/s * t");
    /// ```
    #[must_use]
    pub fn delayed_by(&self, delay: &Rational) -> Self {
        let later =
            |piece: &BucketCurve| Line { offset: &piece.burst + &piece.rate * delay, slope: piece.rate.clone() };
        Self::from_lines(self.pieces.iter().map(later).collect())
    }

    /// Returns the minimum of the curve and a token bucket.
    #[must_use]
    pub(crate) fn within(&self, bucket: &BucketCurve) -> Self {
        let mut lines = self.lines();
        lines.push(bucket.line());
        Self::from_lines(lines)
    }
}

impl BucketCurve {
    fn line(&self) -> Line {
        Line { offset: self.burst.clone(), slope: self.rate.clone() }
    }
}
