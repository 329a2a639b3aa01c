//! The curves of one port: the arrivals at each of its queues, and the service left for them.

use num_bigint::BigInt;
use num_traits::Zero;

use crate::exact::Fraction;
use crate::polyline::Polyline;

/// `offset + slope * t`: nanobits, bit/s and ns.
#[derive(Clone, Debug)]
pub(crate) struct Line {
    pub(crate) offset: Fraction,
    pub(crate) slope: Fraction,
}

impl Line {
    /// The value at `t`, times the denominator of `t`: offsets and slopes are whole numbers, so that it is one, and many
    /// can be added and compared without the cost of fractions.
    fn scaled(&self, t: &Fraction) -> BigInt {
        debug_assert!(self.offset.is_whole() && self.slope.is_whole(), "nanobits and bit/s are counted in whole ones");
        self.offset.numerator() * t.denominator() + self.slope.numerator() * t.numerator()
    }
}

/// Arrivals of one input: its flows together, and the line that caps them if there is one.
#[derive(Clone, Debug)]
pub(crate) struct Input {
    pub(crate) flows: Line,
    pub(crate) cap: Option<Line>,
}

impl Input {
    /// `alpha_i(t) = min(L_i + R_i t, sum of (b_f + r_f t))`, times the denominator of `t`.
    fn scaled(&self, t: &Fraction) -> BigInt {
        let flows = self.flows.scaled(t);
        match &self.cap {
            Some(cap) => flows.min(cap.scaled(t)),
            None => flows,
        }
    }

    /// Returns the intersection of the two lines: the only place where the minimum may change its slope.
    fn knee(&self) -> Option<Fraction> {
        let cap = self.cap.as_ref().filter(|cap| cap.slope != self.flows.slope)?;
        Some((&self.flows.offset - &cap.offset) / (&cap.slope - &self.flows.slope))
    }
}

/// `alpha(t) = sum of alpha_i(t)`; its slope changes only where that of an `alpha_i` does.
pub(crate) fn arrival(inputs: &[Input]) -> Polyline {
    Polyline::sample(inputs.iter().filter_map(Input::knee), |t| sum(inputs.iter(), t))
}

/// `sum of alpha_i(t)`.
fn sum<'i>(inputs: impl Iterator<Item = &'i Input>, t: &Fraction) -> Fraction {
    let scaled = inputs.fold(BigInt::zero(), |sum, input| sum + input.scaled(t));
    Fraction::new(scaled, t.denominator().clone())
}

/// The line of a port, and its possible loss before the first bit of a queue's own.
#[derive(Clone, Debug)]
pub(crate) struct Server {
    /// R, bit/s.
    pub(crate) rate: Fraction,
    /// Nanobits: the blocking frame, the packetiser's, and the line rate for the time of the jitter.
    pub(crate) lost: Fraction,
}

impl Server {
    /// Returns `beta_p(t) = sup over s <= t of [R s - sum over j < p of alpha_j(s) - lost]+`, for the inputs of the
    /// queues above.
    ///
    /// The bracket is straight between the knees of the `alpha_j`. With `alpha_j(0)` taken as the burst instead of 0
    /// it is lower at s = 0 only, where it is not positive in either case.
    pub(crate) fn service(&self, higher: &[Vec<Input>]) -> Polyline {
        let inputs = || higher.iter().flatten();
        let left_over =
            Polyline::sample(inputs().filter_map(Input::knee), |s| &self.rate * s - sum(inputs(), s) - &self.lost);
        left_over.positive_supremum()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::exact::whole;

    /// The definition, with fractions.
    fn at(input: &Input, t: &Fraction) -> Fraction {
        let line = |line: &Line| &line.offset + &line.slope * t;
        let flows = line(&input.flows);
        input.cap.as_ref().map_or(flows.clone(), |cap| flows.min(line(cap)))
    }

    fn input(burst: u32, rate: u32, cap: Option<(u32, u32)>) -> Input {
        let line = |(offset, slope): (u32, u32)| Line { offset: whole(offset), slope: whole(slope) };
        Input { flows: line((burst, rate)), cap: cap.map(line) }
    }

    fn inputs() -> impl Strategy<Value = Vec<Input>> {
        let cap = proptest::option::of((0..50u32, 1..9u32));
        proptest::collection::vec((0..90u32, 0..4u32, cap).prop_map(|(b, r, cap)| input(b, r, cap)), 0..5)
    }

    proptest! {
        /// The sampled arrival is the definition at every time, not at the knees alone.
        #[test]
        fn a_sampled_arrival_is_the_sum_of_minima_everywhere(inputs in inputs(), n in 1..400u32, d in 1..9u32) {
            let t = Fraction::new(n.into(), d.into());
            let defined: Fraction = inputs.iter().map(|input| at(input, &t)).fold(whole(0), |sum, value| sum + value);
            prop_assert_eq!(arrival(&inputs).at(&t), defined);
        }

        /// The service is never below its definition on a grid of quarters, and equal to it where the grid is joined
        /// by all knees before t.
        #[test]
        fn a_service_is_the_running_supremum_of_the_remaining_service(
            above in proptest::collection::vec(inputs(), 0..3), rate in 1..40u32, lost in 0..60u32, n in 1..200u32,
        ) {
            let server = Server { rate: whole(rate), lost: whole(lost) };
            let t = Fraction::new(n.into(), 4.into());
            let beta = server.service(&above);
            let bracket = |s: &Fraction| {
                let taken: Fraction = above.iter().flatten().map(|input| at(input, s)).fold(whole(0), |sum, value| sum + value);
                whole(rate) * s - taken - whole(lost)
            };
            let mut best = Fraction::zero();
            for quarter in 1..=n {
                best = best.max(bracket(&Fraction::new(quarter.into(), 4.into())));
            }
            let value = beta.at(&t);
            prop_assert!(value >= best);
            // Every knee below t, and t: the supremum is taken at one of them.
            let exact = above.iter().flatten().filter_map(Input::knee).filter(|s| *s > Fraction::zero() && *s < t);
            let exact = exact.map(|s| bracket(&s)).fold(best, Fraction::max);
            prop_assert_eq!(value, exact);
        }
    }
}
