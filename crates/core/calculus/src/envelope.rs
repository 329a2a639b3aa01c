//! The lower envelope of lines for times from zero on: the normal form behind both kinds of curves.
//!
//! A concave arrival curve is the lower envelope of its token buckets. A convex service curve, negated,
//! is the lower envelope of its negated rate-latency pieces and of zero. Normalisation (the monotone
//! chain of a convex hull) and addition therefore exist once, here.

use crate::Rational;

/// The line `offset + slope * t`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Line {
    pub(crate) offset: Rational,
    pub(crate) slope: Rational,
}

/// Keeps the lines that are the lowest somewhere in `t > 0` for more than a point, in the order in which
/// they are: offsets strictly increase, slopes strictly decrease. Two lists of lines with the same minimum
/// give the same list.
pub(crate) fn lower_envelope(mut lines: Vec<Line>) -> Vec<Line> {
    lines.sort_by(|a, b| (&a.offset, &a.slope).cmp(&(&b.offset, &b.slope)));
    let mut kept: Vec<Line> = Vec::with_capacity(lines.len());
    for line in lines {
        if kept.last().is_some_and(|last| last.slope <= line.slope) {
            continue; // it starts no lower than the last one and never gets below it
        }
        while let [.., before, last] = kept.as_slice()
            && crossing(before, &line) <= crossing(before, last)
        {
            kept.pop();
        }
        kept.push(line);
    }
    kept
}

/// The sum of two lower envelopes, as a lower envelope: walks both from knee to knee.
///
/// Both must be in normal form, and so is the result, since slopes decrease at every knee of either.
/// It is empty if one of them is.
pub(crate) fn sum(left: &[Line], right: &[Line]) -> Vec<Line> {
    let mut total = Vec::with_capacity(left.len() + right.len());
    let (mut left, mut right) = (left, right);
    while let ([a, left_rest @ ..], [b, right_rest @ ..]) = (left, right) {
        total.push(Line { offset: &a.offset + &b.offset, slope: &a.slope + &b.slope });
        let left_knee = left_rest.first().map(|next| crossing(a, next));
        let right_knee = right_rest.first().map(|next| crossing(b, next));
        let (left_moves, right_moves) = match (left_knee, right_knee) {
            (Some(x), Some(y)) => (x <= y, y <= x),
            (Some(_), None) => (true, false),
            (None, Some(_)) => (false, true),
            (None, None) => break,
        };
        left = if left_moves { left_rest } else { left };
        right = if right_moves { right_rest } else { right };
    }
    total
}

/// Returns the time at which two lines meet. The slope of `earlier` must be above that of `later`.
pub(crate) fn crossing(earlier: &Line, later: &Line) -> Rational {
    (&later.offset - &earlier.offset) / (&earlier.slope - &later.slope)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rational::whole;

    fn line(offset: i128, slope: i128) -> Line {
        Line { offset: whole(offset), slope: whole(slope) }
    }

    #[test]
    fn a_line_that_only_touches_the_envelope_is_dropped() {
        let lines = vec![line(4, 0), line(0, 4), line(2, 2), line(3, 3)];
        assert_eq!(lower_envelope(lines), vec![line(0, 4), line(4, 0)]);
    }

    #[test]
    fn a_sum_has_a_knee_wherever_a_term_has_one() {
        let total = sum(&[line(0, 4), line(4, 0)], &[line(1, 1), line(3, 0)]);
        assert_eq!(total, vec![line(1, 5), line(5, 1), line(7, 0)]);
    }

    #[test]
    fn a_knee_shared_by_both_terms_appears_once() {
        let total = sum(&[line(0, 4), line(4, 0)], &[line(1, 1), line(2, 0)]);
        assert_eq!(total, vec![line(1, 5), line(6, 0)]);
    }
}
