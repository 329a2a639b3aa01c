//! Set of recently seen numbers: two Bloom filters that take turns.

use crate::random::mix;

/// A Bloom filter of two banks, one for each of two hash functions (uFAB, 4.2: "two memory banks running in parallel"). With `n` numbers in banks of
/// `m` bits it takes `(1 - e^(-n/m))^2` of the others for known ones.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Bloom {
    /// Both banks, one behind the other.
    words: Box<[u64]>,
}

impl Bloom {
    fn new(bytes: usize) -> Self {
        // Two banks of at least a word each.
        let words = (bytes / 16).max(1) * 2;
        Self { words: vec![0; words].into_boxed_slice() }
    }

    /// The word and the bit in each bank.
    fn places(&self, number: u64) -> [(usize, u64); 2] {
        let bank = self.words.len() / 2;
        let hash = mix(number);
        [hash as u32, (hash >> 32) as u32].map(|hash| {
            let bit = ((u64::from(hash) * (bank as u64 * 64)) >> 32) as usize;
            (bit / 64, 1 << (bit % 64))
        })
    }

    fn contains(&self, number: u64) -> bool {
        let [(first, one), (second, two)] = self.places(number);
        self.words[first] & one != 0 && self.words[self.words.len() / 2 + second] & two != 0
    }

    fn insert(&mut self, number: u64) {
        let [(first, one), (second, two)] = self.places(number);
        let bank = self.words.len() / 2;
        self.words[first] |= one;
        self.words[bank + second] |= two;
    }
}

/// Numbers of this generation and of the one before: an entry cannot be taken out of a Bloom filter, so it leaves with its generation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Generations {
    current: Bloom,
    previous: Bloom,
}

impl Generations {
    /// Creates filters of `bytes` bytes each.
    pub(super) fn new(bytes: usize) -> Self {
        Self { current: Bloom::new(bytes), previous: Bloom::new(bytes) }
    }

    /// Returns `true` if a number is of this generation.
    pub(super) fn is_current(&self, number: u64) -> bool {
        self.current.contains(number)
    }

    /// Returns `true` if a number is of either generation.
    pub(super) fn contains(&self, number: u64) -> bool {
        self.current.contains(number) || self.previous.contains(number)
    }

    pub(super) fn insert(&mut self, number: u64) {
        self.current.insert(number);
    }

    /// The next generation begins.
    pub(super) fn turn(&mut self) {
        std::mem::swap(&mut self.current, &mut self.previous);
        self.current.words.fill(0);
    }

    pub(super) fn clear(&mut self) {
        self.current.words.fill(0);
        self.previous.words.fill(0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::SplitMix;

    /// 4.2: 20 KB and 20,000 pairs give "less than 5 % false positives": 4.69 % by the formula.
    #[test]
    fn twenty_thousand_pairs_in_twenty_kilobytes_are_below_five_per_cent() {
        let mut filter = Generations::new(20_480);
        let mut random = SplitMix::new(7);
        let pairs: Vec<u64> = std::iter::repeat_with(|| random.draw()).take(20_000).collect();
        pairs.iter().for_each(|&pair| filter.insert(pair));
        assert!(pairs.iter().all(|&pair| filter.contains(pair)));
        let absent = 100_000;
        let wrong = (0..absent).filter(|_| filter.contains(random.draw())).count();
        let share = wrong as f64 / f64::from(absent);
        let formula = (1.0 - (-20_000.0_f64 / 81_920.0).exp()).powi(2);
        assert!((share - formula).abs() < 0.003 && share < 0.05, "{share} and {formula} by the formula");
    }

    #[test]
    fn an_entry_expires_with_the_second_rotation() {
        let mut filter = Generations::new(64);
        filter.insert(5);
        assert!(filter.is_current(5));
        filter.turn();
        assert!(filter.contains(5) && !filter.is_current(5));
        filter.turn();
        assert!(!filter.contains(5));
    }
}
