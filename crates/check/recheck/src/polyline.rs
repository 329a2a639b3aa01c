//! A function of time made of straight pieces, known by its values at the ends of the pieces.
//!
//! Both curves of a queue are such functions. Each is sampled from its definition at cuts that include every place
//! where its slope may change; in between, two values determine a straight line, so interpolation is exact.

use crate::exact::{Fraction, whole};

/// A function that is continuous on t > 0, and straight between its points and after the last one.
#[derive(Clone, Debug)]
pub(crate) struct Polyline {
    /// (t, value), t strictly rising from 0; the value at 0 is the limit from the right.
    points: Vec<(Fraction, Fraction)>,
    /// Slope after the last point.
    tail: Fraction,
}

impl Polyline {
    /// Evaluates `f` at 0 and at `cuts`, and twice behind the last of them for the slope there.
    ///
    /// `f` must be straight between neighbouring cuts, and continuous on t > 0 with `f(0)` its limit at 0.
    pub(crate) fn sample(cuts: impl IntoIterator<Item = Fraction>, f: impl Fn(&Fraction) -> Fraction) -> Self {
        let valued = |t: Fraction| {
            let value = f(&t);
            (t, value)
        };
        let points: Vec<_> = sorted_from(&Fraction::zero(), cuts).into_iter().map(valued).collect();
        let end = points.last().map_or_else(Fraction::zero, |(t, _)| t.clone());
        let tail = f(&(&end + whole(2))) - f(&(&end + whole(1)));
        Self { points, tail }
    }

    /// The value at `t` > 0 (at 0, the limit from the right).
    pub(crate) fn at(&self, t: &Fraction) -> Fraction {
        let next = self.points.partition_point(|(at, _)| at <= t);
        let (left, value) = &self.points[next - 1];
        match self.points.get(next) {
            Some((right, end)) => value + (end - value) * (t - left) / (right - left),
            None => value + &self.tail * (t - left),
        }
    }

    /// For a non-decreasing function: the first time from 0 on at which it reaches `level`, if it ever does.
    pub(crate) fn first_reaching(&self, level: &Fraction) -> Option<Fraction> {
        let next = self.points.partition_point(|(_, value)| value < level);
        if next == 0 {
            return Some(Fraction::zero());
        }
        // The value before `next` is below the level, so neither divisor below can be zero.
        let (left, value) = &self.points[next - 1];
        match self.points.get(next) {
            Some((right, end)) => Some(left + (level - value) * (right - left) / (end - value)),
            None if self.tail > Fraction::zero() => Some(left + (level - value) / &self.tail),
            None => None,
        }
    }

    /// `sup over s <= t of [f(s)]+`, for an `f` that is not positive at 0.
    ///
    /// On a straight piece the supremum stays at the best value so far until the piece rises above it, and then
    /// follows the piece; the place where that happens is a cut of its own.
    pub(crate) fn positive_supremum(&self) -> Self {
        let mut best = Fraction::zero();
        let mut points = vec![(Fraction::zero(), best.clone())];
        for pair in self.points.windows(2) {
            let [(left, start), (right, end)] = pair else { continue };
            if *end > best {
                if *start < best {
                    points.push((left + (&best - start) * (right - left) / (end - start), best.clone()));
                }
                best.clone_from(end);
            }
            points.push((right.clone(), best.clone()));
        }
        if self.tail <= Fraction::zero() {
            return Self { points, tail: Fraction::zero() };
        }
        if let Some((end, value)) = self.points.last().filter(|(_, value)| *value < best) {
            points.push((end + (&best - value) / &self.tail, best));
        }
        Self { points, tail: self.tail.clone() }
    }

    /// The times of its points.
    pub(crate) fn times(&self) -> impl Iterator<Item = Fraction> {
        self.points.iter().map(|(t, _)| t.clone())
    }

    /// The values at its points.
    pub(crate) fn values(&self) -> impl Iterator<Item = &Fraction> {
        self.points.iter().map(|(_, value)| value)
    }
}

/// `sup over t > from of f(t)`, where `f` is straight inside every interval between neighbouring cuts, between `from` and
/// the first cut behind it, and after the last; `None` if `f` has no value somewhere or grows without end.
///
/// Inside an open interval a straight `f` comes as close as one likes to its limits at the two ends, and two values
/// from the inside determine those limits. At a cut itself `f` may jump; the functions of this crate take there one of
/// the two limits, so that the cuts add nothing.
pub(crate) fn supremum_from(
    from: &Fraction,
    cuts: impl IntoIterator<Item = Fraction>,
    f: impl Fn(&Fraction) -> Option<Fraction>,
) -> Option<Fraction> {
    let cuts = sorted_from(from, cuts);
    let mut best: Option<Fraction> = None;
    for (index, left) in cuts.iter().enumerate() {
        let right = cuts.get(index + 1);
        // At one third and two thirds between the cuts; after the last cut, one and two ns behind it.
        let (near, far) = match right {
            Some(right) => ((whole(2) * left + right) / whole(3), (left + whole(2) * right) / whole(3)),
            None => (left + whole(1), left + whole(2)),
        };
        let (first, second) = (f(&near)?, f(&far)?);
        if right.is_none() && second > first {
            return None;
        }
        let (at_left, at_right) = (whole(2) * &first - &second, whole(2) * &second - &first);
        // After the last cut `f` does not rise, so that its limit at the left is the highest.
        let highest = if right.is_some() && at_right > at_left { at_right } else { at_left };
        best = best.into_iter().chain([highest]).max();
    }
    best
}

/// The cuts after `from` in order, each once, with `from` before them.
fn sorted_from(from: &Fraction, cuts: impl IntoIterator<Item = Fraction>) -> Vec<Fraction> {
    let mut cuts: Vec<_> = cuts.into_iter().filter(|t| t > from).collect();
    cuts.push(from.clone());
    cuts.sort();
    cuts.dedup();
    cuts
}

#[cfg(test)]
mod tests {
    use super::*;

    fn supremum(
        cuts: impl IntoIterator<Item = Fraction>,
        f: impl Fn(&Fraction) -> Option<Fraction>,
    ) -> Option<Fraction> {
        supremum_from(&Fraction::zero(), cuts, f)
    }

    /// Rises from -2 to 3 at t = 1, dips to 1 at t = 3, rises again with slope 2.
    fn dipping() -> Polyline {
        let f = |t: &Fraction| {
            let (up, down, again) = (whole(5) * t - whole(2), whole(4) - t, whole(2) * t - whole(5));
            up.min(down.max(again))
        };
        Polyline::sample([whole(1), whole(3)], f)
    }

    #[test]
    fn a_sampled_function_has_its_values_between_and_after_its_points() {
        let f = dipping();
        for (twice_t, value) in [(0, -2), (2, 3), (4, 2), (6, 1), (8, 3), (20, 15)] {
            assert_eq!(f.at(&Fraction::new(twice_t.into(), 2.into())), whole(value));
        }
    }

    #[test]
    fn a_running_supremum_stays_level_through_a_dip() {
        let f = dipping().positive_supremum();
        // Zero until 5 t = 2, then up to 3; level until 2 t - 5 = 3 at t = 4; then up again.
        let at = |numerator: i32, denominator: i32| f.at(&Fraction::new(numerator.into(), denominator.into()));
        assert_eq!((at(1, 5), at(2, 5), at(3, 5)), (whole(0), whole(0), whole(1)));
        assert_eq!((at(1, 1), at(2, 1), at(4, 1), at(5, 1)), (whole(3), whole(3), whole(3), whole(5)));
    }

    #[test]
    fn a_level_is_reached_where_its_plateau_begins() {
        let f = dipping().positive_supremum();
        assert_eq!(f.first_reaching(&whole(0)), Some(whole(0)));
        assert_eq!(f.first_reaching(&whole(3)), Some(whole(1)));
        assert_eq!(f.first_reaching(&whole(7)), Some(whole(6)));
    }

    #[test]
    fn a_level_above_a_bounded_function_is_never_reached() {
        let bounded = Polyline::sample([whole(2)], |t| t.clone().min(whole(2)));
        assert_eq!(bounded.first_reaching(&whole(2)), Some(whole(2)));
        assert_eq!(bounded.first_reaching(&whole(3)), None);
    }

    #[test]
    fn a_supremum_sees_the_limit_on_either_side_of_a_jump() {
        // 4 - t until t = 2, from there on 9 - t: the supremum 7 is not taken at any t where f is cut from the left.
        let f = |t: &Fraction| Some(if *t <= whole(2) { whole(4) - t } else { whole(9) - t });
        assert_eq!(supremum([whole(2)], f), Some(whole(7)));
        // t until t = 2, nothing from there on.
        let f = |t: &Fraction| Some(if *t < whole(2) { t.clone() } else { whole(0) });
        assert_eq!(supremum([whole(2)], f), Some(whole(2)));
        assert_eq!(supremum([], |t| Some(whole(5) - t)), Some(whole(5)));
    }

    #[test]
    fn a_supremum_may_begin_between_two_cuts_or_behind_all_of_them() {
        // Falls from 4 to 2 at t = 2, jumps to 3, falls on.
        let f = |t: &Fraction| Some(if *t <= whole(2) { whole(4) - t } else { whole(5) - t });
        let from = |t: i32| supremum_from(&Fraction::new(t.into(), 2.into()), [whole(2)], f);
        assert_eq!((from(1), from(3)), (Some(Fraction::new(7.into(), 2.into())), Some(whole(3))));
        assert_eq!((from(4), from(6)), (Some(whole(3)), Some(whole(2))));
    }

    #[test]
    fn a_function_that_grows_for_ever_or_has_no_value_has_no_supremum() {
        assert_eq!(supremum([], |t| Some(t.clone())), None);
        assert_eq!(supremum([whole(1)], |t| (*t < whole(1)).then(Fraction::zero)), None);
    }
}
