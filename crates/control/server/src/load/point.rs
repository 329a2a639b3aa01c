//! Load of an interval in 16 bytes, and the load of several intervals together.

/// Bits of a packed rate that hold its leading digits; the others hold a shift. Rates are exact up to 67 Mbit/s, and
/// rounded down by less than 1 in 2^25 above.
const DIGITS: u32 = 26;
const SHIFT: u32 = u32::BITS - DIGITS;
/// Unknown rate: no rate has this shift.
const UNKNOWN: u32 = u32::MAX;

/// A rate, or unknown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Packed(u32);

impl Packed {
    fn new(rate: Option<u64>) -> Self {
        let Some(rate) = rate else { return Self(UNKNOWN) };
        let shift = (u64::BITS - rate.leading_zeros()).saturating_sub(DIGITS);
        let digits = u32::try_from(rate >> shift).unwrap_or(u32::MAX >> SHIFT);
        Self(digits << SHIFT | shift)
    }

    fn get(self) -> Option<u64> {
        (self.0 != UNKNOWN).then(|| u64::from(self.0 >> SHIFT) << (self.0 & ((1 << SHIFT) - 1)))
    }
}

/// Load of an interval.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Point {
    mean: Packed,
    max: Packed,
    reserved: Packed,
    /// Contracts of which not all hosts reported.
    pub(crate) unreported: u32,
}

impl Point {
    /// A point of which nothing is known.
    pub(crate) const UNKNOWN: Self =
        Self { mean: Packed(UNKNOWN), max: Packed(UNKNOWN), reserved: Packed(UNKNOWN), unreported: 0 };
    /// Bytes on disk.
    pub(crate) const BYTES: usize = 16;

    pub(crate) fn new(mean: Option<u64>, max: Option<u64>, reserved: Option<u64>, unreported: u32) -> Self {
        Self { mean: Packed::new(mean), max: Packed::new(max), reserved: Packed::new(reserved), unreported }
    }

    pub(crate) fn mean(self) -> Option<u64> {
        self.mean.get()
    }

    pub(crate) fn max(self) -> Option<u64> {
        self.max.get()
    }

    pub(crate) fn reserved(self) -> Option<u64> {
        self.reserved.get()
    }

    /// Returns the load of equally long intervals together: unknown if less than half of them are known.
    pub(crate) fn of_all(points: &[Self]) -> Self {
        let means = points.iter().filter_map(|point| point.mean());
        let (known, sum) = means.fold((0_usize, 0_u128), |(known, sum), mean| (known + 1, sum + u128::from(mean)));
        let is_known = known > 0 && known * 2 >= points.len();
        let mean = is_known.then(|| u64::try_from(sum / known.max(1) as u128).unwrap_or(u64::MAX));
        let max = points.iter().filter_map(|point| point.max()).max().filter(|_| is_known);
        let reserved = points.iter().rev().find_map(|point| point.reserved());
        let unreported = points.iter().map(|point| point.unreported).max().unwrap_or(0);
        Self::new(mean, max, reserved, unreported)
    }

    pub(crate) fn to_bytes(self) -> [u8; Self::BYTES] {
        let words = [self.mean.0, self.max.0, self.reserved.0, self.unreported].map(u32::to_le_bytes);
        let mut bytes = [0; Self::BYTES];
        bytes.iter_mut().zip(words.as_flattened()).for_each(|(to, from)| *to = *from);
        bytes
    }

    pub(crate) fn from_bytes(bytes: [u8; Self::BYTES]) -> Self {
        let (words, _) = bytes.as_chunks::<4>();
        let word = |at: usize| words.get(at).map_or(UNKNOWN, |word| u32::from_le_bytes(*word));
        Self { mean: Packed(word(0)), max: Packed(word(1)), reserved: Packed(word(2)), unreported: word(3) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packed_rates_are_exact_or_rounded_down_by_less_than_one_in_two_to_the_25th() {
        let rates = (0..64).flat_map(|bit| [(1_u64 << bit) - 1, 1 << bit, (1 << bit) + 1]).chain([u64::MAX]);
        for rate in rates {
            let packed = Packed::new(Some(rate)).get().unwrap();
            assert!(packed <= rate && rate - packed <= rate >> 25, "{rate} {packed}");
            assert!(rate >= 1 << DIGITS || packed == rate, "{rate} {packed}");
        }
        assert_eq!(Packed::new(None).get(), None);
        let point = Point::new(Some(7), None, Some(1 << 40), 3);
        assert_eq!(Point::from_bytes(point.to_bytes()), point);
    }

    #[test]
    fn intervals_together_are_unknown_if_less_than_half_is_known() {
        let known = |rate| Point::new(Some(rate), Some(rate * 2), Some(5), 0);
        let of = |points: &[Point]| {
            let all = Point::of_all(points);
            (all.mean(), all.max(), all.reserved())
        };
        assert_eq!(of(&[known(10), known(20)]), (Some(15), Some(40), Some(5)));
        assert_eq!(of(&[known(10), Point::UNKNOWN]), (Some(10), Some(20), Some(5)));
        assert_eq!(of(&[known(10), Point::UNKNOWN, Point::UNKNOWN]), (None, None, Some(5)));
        assert_eq!(of(&[]), (None, None, None));
        assert_eq!(Point::of_all(&[Point { unreported: 2, ..known(1) }, known(1)]).unreported, 2);
    }
}
