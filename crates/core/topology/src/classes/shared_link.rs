//! Guarantees of a divided link to each class, in exact integers.
//!
//! Symbols: `R` the line, `Lmax` its largest frame, `phi` the jitter of its node; `sum r`, `sum b` rates and grown
//! bursts of its latency contracts; `Q_x` quanta in bytes, `F` their sum, `x = Q_x / F`; `T` the longest round trip
//! without queues; `eta` the target. The strict queues leave the classes together ([`Residual`], the ledger's service
//! below its last latency queue)
//!
//! ```text
//! R' = R - sum r        S' = 2 Lmax + R phi + sum b        V = S' / R'
//! beta(t)   = [R' t - S']+
//! beta_x(t) = x [R' t - S' - H_x]+
//! ```
//!
//! `H_x` ([`deficit_ahead`]) is the amount that deficit round robin may serve before class x beside its share (M.
//! Boyer, G. Stea, W. Mangoua Sofack, "Deficit Round Robin with network calculus", VALUETOOLS 2012): with remainders
//! `e_i` below a frame, `H_x = sum over j != x of (Q_j + e_j) + e_x (F - Q_x) / Q_x`. In that paper's terms the
//! latency of class x is `H_x / R'`.
//!
//! uFAB shares the guaranteed class by two capacities. `C' = eta g R'` is guaranteed; admission, qualification and
//! start-up use this one. `A` ([`SharedLink::available`]) is the present capacity, equation 3's. If windows rise by
//! no more than their guarantee per acknowledgement, then the class has at most `I = (2 C' + eta R) T` in flight on
//! the link. No packet of the class then waits longer than `d = (I / g + S' + H_g) / R'`.

use wayleave_units::{Amount, Bytes, Rate, Time};

use super::{Class, Classes};

/// Residual service of a link below its strict queues: `[rate t - debt]+`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StrictResidual {
    /// `R'`.
    pub rate: Rate,
    /// `S'`.
    pub debt: Amount,
}

impl StrictResidual {
    /// Returns the residual below these latency contracts: `own_debt` is the debt of the port itself, `2 Lmax + R
    /// phi`; rates beyond the line leave nothing.
    pub fn below(line: Rate, own_debt: Amount, rates: Rate, bursts: Amount) -> Self {
        Self { rate: line.saturating_sub(rates), debt: own_debt + bursts }
    }

    /// `V`: the longest time without any service, rounded up; `None` if there is none at all.
    pub fn latency(&self) -> Option<Time> {
        rounded_up(self.debt.nanobits(), bits(self.rate))
    }
}

/// Guaranteed service of a class: `share [rate t - debt]+`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClassService {
    /// `R'`.
    pub rate: Rate,
    /// `S' + H_x`, rounded up.
    pub debt: Amount,
    /// `Q_x`, in any unit.
    pub quantum: u32,
    /// `F`, in the same unit.
    pub quanta: u32,
}

impl ClassService {
    /// The time after which it gets its long-term rate `x R'`, rounded up; `None` if it never does.
    pub fn latency(&self) -> Option<Time> {
        rounded_up(self.debt.nanobits(), bits(self.rate))
    }
}

/// `H_x`: what deficit round robin may serve before the class with quantum `own`, beside its share; rounded up. `others` are the
/// quanta of the other classes, and no remainder of a class is larger than `remainder` (a byte less than its largest frame).
pub fn deficit_ahead(own: Bytes, others: &[Bytes], remainder: Bytes) -> Amount {
    let (own, remainder) = (i128::from(own.get()), i128::from(remainder.get()));
    let sum: i128 = others.iter().map(|quantum| i128::from(quantum.get())).sum();
    let before = sum + remainder * others.len() as i128;
    let nanobits = i128::from(Bytes::new(1).bits()) * NANO;
    Amount::from_nanobits(before * nanobits + ceiling(remainder * sum * nanobits, own.max(1)))
}

/// Nanobits of a bit.
const NANO: i128 = 1_000_000_000;
const PER_CENT: i128 = 100;

/// A link with its classes. Every method with a [`StrictResidual`] returns values that hold below those latency contracts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SharedLink {
    /// The division.
    pub classes: Classes,
    /// `R`.
    pub line: Rate,
    /// `Lmax`, on the wire.
    pub frame: Bytes,
    /// `T`.
    pub round_trip: Time,
}

impl SharedLink {
    /// Returns the guaranteed service of a class.
    pub fn service(&self, class: Class, residual: &StrictResidual) -> ClassService {
        ClassService {
            rate: residual.rate,
            debt: residual.debt + self.ahead(class),
            quantum: u32::from(self.classes.weight(class)),
            quanta: self.classes.weights(),
        }
    }

    /// `H_x` of a class on this link.
    pub fn ahead(&self, class: Class) -> Amount {
        let quantum = |class| self.classes.quantum(class, self.frame);
        let others: Vec<Bytes> = Class::SHARING.into_iter().filter(|&other| other != class).map(quantum).collect();
        deficit_ahead(quantum(class), &others, self.frame)
    }

    /// `C'`: what hosts may count on for the guaranteed class, `eta g R'`, rounded down.
    pub fn capacity(&self, residual: &StrictResidual) -> Rate {
        let sure = bits(residual.rate) * self.target() * self.weight(Class::Guaranteed);
        Rate::from_bits_per_second((sure / (PER_CENT * self.weights())) as u64)
    }

    /// `A`: what the guaranteed class can have now, where latency contracts send at `above` and the classes below at `others`:
    /// `min(eta R, max(C', eta (R - above) - min(others, (1 - g) (R - above))))`, rounded down.
    pub fn available(&self, residual: &StrictResidual, above: Rate, others: Rate) -> Rate {
        let left = bits(self.line.saturating_sub(above));
        let theirs = left * (self.weights() - self.weight(Class::Guaranteed)) / self.weights();
        let lent = left * self.target() / PER_CENT - theirs.min(bits(others));
        let most = bits(self.line) * self.target() / PER_CENT;
        let available = lent.max(bits(self.capacity(residual))).min(most);
        Rate::from_bits_per_second(available as u64)
    }

    /// `I`: the most that hosts have in flight on the link in the guaranteed class, if windows rise in steps; rounded up.
    pub fn in_flight(&self, residual: &StrictResidual) -> Amount {
        let per_time = 2 * bits(residual.rate) * self.weight(Class::Guaranteed) + bits(self.line) * self.weights();
        let nanobits = per_time * self.target() * i128::from(self.round_trip.as_nanos());
        Amount::from_nanobits(ceiling(nanobits, PER_CENT * self.weights()))
    }

    /// `d`: no packet of the guaranteed class waits longer while no more than [`Self::in_flight`] is in flight; rounded up.
    pub fn delay(&self, residual: &StrictResidual) -> Option<Time> {
        let (num, den) = self.delay_fraction(residual);
        rounded_up(num, den)
    }

    /// Returns `true` if [`Self::delay`] is within a budget, decided without rounding.
    pub fn keeps(&self, residual: &StrictResidual, budget: Time) -> bool {
        let (num, den) = self.delay_fraction(residual);
        den > 0 && num <= den * i128::from(budget.as_nanos())
    }

    /// `(I / g + S' + H_g)` and `R'`, both times `100 w_g`, so that nothing is rounded but `H_g`.
    fn delay_fraction(&self, residual: &StrictResidual) -> (i128, i128) {
        let (weight, time) = (self.weight(Class::Guaranteed), i128::from(self.round_trip.as_nanos()));
        let in_flight = (2 * bits(residual.rate) * weight + bits(self.line) * self.weights()) * self.target() * time;
        let debt = residual.debt + self.ahead(Class::Guaranteed);
        (in_flight + PER_CENT * weight * debt.nanobits(), PER_CENT * weight * bits(residual.rate))
    }

    /// `Theta`: a pair that always has something to send gets its minimum `B (t - Theta)` in any time `t` at this link: the latency
    /// of the class, two round trips until windows have followed, and the time in which tokens are given anew.
    pub fn theta(&self, residual: &StrictResidual, token_period: Time) -> Option<Time> {
        let latency = self.service(Class::Guaranteed, residual).latency()?;
        latency.checked_add(self.round_trip)?.checked_add(self.round_trip)?.checked_add(token_period)
    }

    /// Returns the residual rate of the line that this promise to a class needs: `promised F / (promise Q_x)`,
    /// rounded up.
    pub fn needed(&self, class: Class, promised: Rate) -> Rate {
        self.needed_at(self.promise(), class, promised)
    }

    /// Returns the residual rate of the line that a class needs to carry this much within the target, promises and
    /// their acknowledgements together: `carried F / (eta Q_x)`, rounded up.
    pub fn needed_to_carry(&self, class: Class, carried: Rate) -> Rate {
        self.needed_at(self.target(), class, carried)
    }

    fn needed_at(&self, percent: i128, class: Class, rate: Rate) -> Rate {
        let needed = ceiling(bits(rate) * PER_CENT * self.weights(), percent * self.weight(class).max(1));
        Rate::from_bits_per_second(u64::try_from(needed).unwrap_or(u64::MAX))
    }

    /// Returns the maximum promise to a class with the residual rate `left` of the line; rounded down, so that it
    /// needs no more.
    pub fn promisable(&self, class: Class, left: Rate) -> Rate {
        self.most_at(self.promise(), class, left)
    }

    /// Returns the maximum rate that a class can carry within the target with the residual rate `left` of the line;
    /// rounded down.
    pub fn carriable(&self, class: Class, left: Rate) -> Rate {
        self.most_at(self.target(), class, left)
    }

    fn most_at(&self, percent: i128, class: Class, left: Rate) -> Rate {
        let most = bits(left) * percent * self.weight(class) / (PER_CENT * self.weights());
        Rate::from_bits_per_second(most as u64)
    }

    fn weight(&self, class: Class) -> i128 {
        i128::from(self.classes.weight(class))
    }

    fn weights(&self) -> i128 {
        i128::from(self.classes.weights())
    }

    fn target(&self) -> i128 {
        i128::from(self.classes.target)
    }

    fn promise(&self) -> i128 {
        i128::from(self.classes.promise)
    }
}

fn bits(rate: Rate) -> i128 {
    i128::from(rate.bits_per_second())
}

fn ceiling(num: i128, den: i128) -> i128 {
    -(-num).div_euclid(den)
}

/// Returns a quotient of nanobits and bit/s as a time; `None` without service, or if the time is not representable.
fn rounded_up(num: i128, den: i128) -> Option<Time> {
    if den <= 0 {
        return None;
    }
    u64::try_from(ceiling(num, den)).ok().map(Time::from_nanos)
}

#[cfg(test)]
mod tests {
    use super::*;

    const GBIT: u64 = 1_000_000_000;

    /// Quanta 6:3:1 of 1,514 B at 10 Gbit/s: 8,072.533 ns, 13,723.467 ns and 24,215.2 ns, the closed form of Boyer et al.
    #[test]
    fn latencies_of_deficit_round_robin_are_those_of_the_closed_form() {
        let quanta = [6, 3, 1].map(|weight| Bytes::new(weight * 1_514));
        let latency = |own: usize| {
            let others: Vec<Bytes> = (0..3).filter(|&other| other != own).map(|other| quanta[other]).collect();
            // At 10 Gbit/s a nanosecond is 10 bits; in thousandths of a nanosecond.
            deficit_ahead(quanta[own], &others, Bytes::new(1_513)).nanobits() / (10 * NANO / 1_000)
        };
        assert_eq!([latency(0), latency(1), latency(2)], [8_072_533, 13_723_466, 24_215_200]);
    }

    /// The same class 6 below a burst of 15,140 B at 1 Gbit/s, nothing lower: 5.4 Gbit/s behind 22,427.26 ns.
    #[test]
    fn strict_priority_above_takes_its_rate_and_its_burst() {
        let residual = StrictResidual::below(
            Rate::from_gbit(10),
            Amount::from_nanobits(0),
            Rate::from_gbit(1),
            Amount::from(Bytes::new(15_140)),
        );
        let others = [3, 1].map(|weight| Bytes::new(weight * 1_514));
        let ahead = deficit_ahead(Bytes::new(6 * 1_514), &others, Bytes::new(1_513));
        let service = ClassService { rate: residual.rate, debt: residual.debt + ahead, quantum: 6, quanta: 10 };
        assert_eq!(service.latency(), Some(Time::from_nanos(22_428)), "22,427.26 ns, rounded up");
        assert_eq!(residual.latency(), Some(Time::from_nanos(13_458)), "15,140 B at 9 Gbit/s");
    }

    /// 10 Gbit/s, T = 20 us, latency contracts of 4 Gbit/s with 97 kB.
    fn example() -> (SharedLink, StrictResidual) {
        let link = SharedLink {
            classes: Classes::default(),
            line: Rate::from_gbit(10),
            frame: Bytes::new(1_562),
            round_trip: Time::from_micros(20),
        };
        let own = Amount::from(Bytes::new(2 * 1_562));
        (link, StrictResidual::below(link.line, own, Rate::from_gbit(4), Amount::from(Bytes::new(97_000))))
    }

    /// By hand: R' = 6 Gbit/s, S' = 800,992 bits, V = 133.5 us; C' = 0.95 0.6 6 = 3.42 Gbit/s; I = (6.84 + 9.5) 20 = 326,800
    /// bits; H = (4 + 2 + 4/6) 12,496 = 83,306.7 bits; d = (326,800 / 0.6 + 800,992 + 83,306.7) / 6000 = 238.161 us.
    #[test]
    fn capacities_in_flight_and_delay_are_those_computed_by_hand() {
        let (link, residual) = example();
        assert_eq!(residual.latency(), Some(Time::from_nanos(133_499)));
        assert_eq!(link.capacity(&residual), Rate::from_bits_per_second(3_420_000_000));
        assert_eq!(link.in_flight(&residual).nanobits(), 326_800 * NANO);
        assert_eq!(link.ahead(Class::Guaranteed).nanobits(), 83_306_666_666_667);
        assert_eq!(link.delay(&residual), Some(Time::from_nanos(238_161)));
        assert!(link.keeps(&residual, Time::from_nanos(238_161)));
        assert!(!link.keeps(&residual, Time::from_nanos(238_160)));
        // 147,383.11 ns, two round trips of 20 us and 32 us of tokens.
        let theta = link.theta(&residual, Time::from_micros(32));
        assert_eq!(theta, Some(Time::from_nanos(147_384 + 40_000 + 32_000)));
    }

    /// eta R is 9.5; no load above and no other class: all 9.5. 4 above: 5.7. 4 above and full neighbours: 5.7 - 2.4
    /// = 3.3, and C' = 3.42 is more. 1 above, 1 beside: 8.55 - 1.
    #[test]
    fn available_capacity_includes_that_of_idle_neighbours() {
        let (link, residual) = example();
        let available = |above, others| {
            link.available(&residual, Rate::from_gbit(above), Rate::from_gbit(others)).bits_per_second()
        };
        assert_eq!(available(0, 0), 9_500_000_000);
        assert_eq!(available(4, 0), 5_700_000_000);
        assert_eq!(available(4, 9), 3_420_000_000);
        assert_eq!(available(1, 1), 7_550_000_000);
        assert_eq!(available(20, 0), 3_420_000_000, "more above than the line");
    }

    /// 85 % of six tenths of 6 Gbit/s are 3.06 Gbit/s.
    #[test]
    fn promises_are_a_part_of_the_guaranteed_capacity() {
        let (link, _) = example();
        let most = link.promisable(Class::Guaranteed, Rate::from_gbit(6));
        assert_eq!(most, Rate::from_bits_per_second(3_060_000_000));
        assert_eq!(link.needed(Class::Guaranteed, most), Rate::from_gbit(6));
        let more = Rate::from_bits_per_second(most.bits_per_second() + 1);
        assert_eq!(link.needed(Class::Guaranteed, more).bits_per_second(), 6 * GBIT + 2, "100 10 / (85 6) more");
        assert_eq!(link.promisable(Class::Objective, Rate::from_gbit(10)), Rate::from_bits_per_second(2_550_000_000));
        assert_eq!(link.needed(Class::Objective, Rate::ZERO), Rate::ZERO);
    }

    /// The promisable rate needs no more than is left, and a bit/s more needs more: for every rate and all weights.
    #[test]
    fn needed_and_promisable_are_inverse_to_each_other() {
        for (weights, promise) in [([6, 3, 1], 85), ([1, 1, 1], 100), ([7, 5, 3], 61), ([100, 1, 99], 1)] {
            let [guaranteed, objective, best_effort] = weights;
            let classes = Classes { guaranteed, objective, best_effort, promise, ..Classes::default() };
            let link = SharedLink { classes, ..example().0 };
            for left in [0, 1, 2, 3, 999, 1_000_003, 10 * GBIT - 7, 10 * GBIT] {
                for class in Class::SHARING {
                    let most = link.promisable(class, Rate::from_bits_per_second(left));
                    assert!(link.needed(class, most).bits_per_second() <= left);
                    let more = Rate::from_bits_per_second(most.bits_per_second() + 1);
                    assert!(link.needed(class, more).bits_per_second() > left);
                }
            }
        }
    }

    #[test]
    fn a_link_that_is_full_promises_nothing() {
        let (link, residual) = example();
        let none = StrictResidual { rate: Rate::ZERO, ..residual };
        assert_eq!((none.latency(), link.delay(&none), link.theta(&none, Time::ZERO)), (None, None, None));
        assert!(!link.keeps(&none, crate::MAX_BUDGET));
        assert_eq!(link.capacity(&none), Rate::ZERO);
    }
}
