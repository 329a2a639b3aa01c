//! The part of a pair's packets that takes a link: a fraction between 0 and 1.

/// Denominator of parts that have no exact form below it.
const FINEST: u128 = 1 << 62;

/// A fraction in lowest terms. Exact as long as its denominator is at most 2^62, otherwise rounded up to a multiple of 2^-62: a link
/// never seems to carry less than it does. Denominators are products of the numbers of links among which nodes split, so that no network
/// with less than about 60 successive splits rounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Part {
    num: u64,
    den: u64,
}

impl Part {
    pub(crate) const ONE: Self = Self { num: 1, den: 1 };
    pub(crate) const ZERO: Self = Self { num: 0, den: 1 };

    /// Returns `num / den`, at most 1; both are below 2^126.
    fn new(num: u128, den: u128) -> Self {
        let divisor = common_divisor(num, den);
        let (mut num, mut den) = (num / divisor, den / divisor);
        if den > FINEST {
            let shift = 128_u32.saturating_sub(64 + den.leading_zeros());
            if shift > 0 {
                (num, den) = ((num >> shift) + 1, den >> shift);
            }
            (num, den) = ((num << 62).div_ceil(den), FINEST);
        }
        if num >= den { Self::ONE } else { Self { num: num as u64, den: den as u64 } }
    }

    pub(crate) fn num(self) -> u64 {
        self.num
    }

    pub(crate) fn den(self) -> u64 {
        self.den
    }

    /// Returns one of `count` equal parts of this part.
    pub(crate) fn split(self, count: usize) -> Self {
        match count {
            0 | 1 => self,
            _ => Self::new(u128::from(self.num), u128::from(self.den) * count as u128),
        }
    }

    pub(crate) fn plus(self, other: Self) -> Self {
        let wide = |one: u64, other: u64| u128::from(one) * u128::from(other);
        match self.den == other.den {
            true => Self::new(u128::from(self.num) + u128::from(other.num), u128::from(self.den)),
            false => Self::new(wide(self.num, other.den) + wide(other.num, self.den), wide(self.den, other.den)),
        }
    }

    /// Returns `true` if this part is larger than the other.
    pub(crate) fn exceeds(self, other: Self) -> bool {
        u128::from(self.num) * u128::from(other.den) > u128::from(other.num) * u128::from(self.den)
    }

    /// Returns integer weights in the proportion of these parts, and the denominator that they have in common (2^62, with weights rounded
    /// up, where the common denominator would be larger).
    pub(crate) fn weights(parts: &[Self]) -> (Vec<u64>, u64) {
        let mut common = 1_u128;
        for part in parts {
            common *= u128::from(part.den) / common_divisor(common, u128::from(part.den));
            common = common.min(FINEST + 1);
        }
        let fine = common > FINEST;
        let common = common.min(FINEST);
        let weight = |part: &Self| match fine {
            false => u128::from(part.num) * (common / u128::from(part.den)),
            true => (u128::from(part.num) * common).div_ceil(u128::from(part.den)),
        };
        (parts.iter().map(|part| weight(part) as u64).collect(), common as u64)
    }
}

fn common_divisor(one: u128, other: u128) -> u128 {
    if let (Ok(one), Ok(other)) = (u64::try_from(one), u64::try_from(other)) {
        let (mut one, mut other) = (one, other);
        while other > 0 {
            (one, other) = (other, one % other);
        }
        return u128::from(one);
    }
    let (mut one, mut other) = (one, other);
    while other > 0 {
        (one, other) = (other, one % other);
    }
    one
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_add_up_exactly_and_beyond_their_range_round_up() {
        let third = Part::ONE.split(3);
        assert_eq!(third.plus(third).plus(Part::ONE.split(12)), Part { num: 3, den: 4 });
        assert_eq!(third.plus(third).plus(third), Part::ONE);
        let mut small = Part::ONE;
        for _ in 0..50 {
            small = small.split(3);
        }
        // 3^-50 is about 2^-79: the smallest part that is no smaller is 2^-62.
        assert_eq!(small, Part { num: 1, den: 1 << 62 });
        let nearly = (0..62).fold(Part::ZERO, |sum, at| sum.plus(Part { num: 1, den: 1 << (at + 1) }));
        assert_eq!(nearly, Part { num: (1 << 62) - 1, den: 1 << 62 });
        assert!(nearly.plus(Part { num: 1, den: 3_u64.pow(39) }).exceeds(nearly));
    }

    #[test]
    fn weights_have_the_proportion_of_parts() {
        let parts = [Part::ONE.split(4), Part::ONE.split(6), Part::ONE];
        assert_eq!(Part::weights(&parts), (vec![3, 2, 12], 12));
        // 3^39 and 2^62 have no common denominator below 2^62.
        let (weights, common) = Part::weights(&[Part { num: 1, den: 1 << 62 }, Part { num: 1, den: 3_u64.pow(39) }]);
        assert_eq!((weights, common), (vec![1, (1_u64 << 62).div_ceil(3_u64.pow(39))], 1 << 62));
    }
}
