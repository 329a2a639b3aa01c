//! Random numbers for schemes on the packet path: small, seeded, equal on every machine.
//!
//! SplitMix64 (G. L. Steele, D. Lea, C. H. Flood, "Fast Splittable Pseudorandom Number Generators", OOPSLA 2014): 8 B
//! of state, which a flow or a port can afford. Workload generation uses a stronger generator.

/// A generator. Every seed is good.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SplitMix(u64);

impl SplitMix {
    /// The odd number nearest to 2^64 divided by the golden ratio (OOPSLA 2014, GOLDEN_GAMMA).
    const GAMMA: u64 = 0x9e37_79b9_7f4a_7c15;

    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// Uniform over all values.
    #[inline]
    pub(crate) fn draw(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(Self::GAMMA);
        mix(self.0)
    }

    /// Uniform below `bound`; 0 for a bound of 0.
    #[inline]
    pub(crate) fn below(&mut self, bound: u32) -> u32 {
        share((self.draw() >> 32) as u32, bound)
    }

    /// Uniform in [0, 1): 53 bits, the most that a double holds.
    #[inline]
    pub(crate) fn unit(&mut self) -> f64 {
        (self.draw() >> 11) as f64 / (1_u64 << 53) as f64
    }
}

/// One of `parts` equal regions of the hash's range; 0 for no parts (hash-threshold of RFC 2992, section 2).
#[inline]
pub(crate) fn share(hash: u32, parts: u32) -> u32 {
    ((u64::from(hash) * u64::from(parts)) >> 32) as u32
}

/// Spreads every bit over all (OOPSLA 2014, mix64variant13).
#[inline]
pub(crate) fn mix(value: u64) -> u64 {
    let value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ (value >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_numbers_are_those_of_the_reference_implementation() {
        let mut random = SplitMix::new(1_234_567);
        let drawn = [(); 3].map(|()| random.draw());
        assert_eq!(drawn, [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423]);
    }

    #[test]
    fn every_number_below_the_bound_is_drawn_equally_often() {
        let mut random = SplitMix::new(1);
        let mut counts = [0_u32; 5];
        for _ in 0..50_000 {
            counts[random.below(5) as usize] += 1;
        }
        // 10,000 each; the standard deviation is 89.
        assert!(counts.iter().all(|&count| count.abs_diff(10_000) < 450), "{counts:?}");
    }

    #[test]
    fn units_stay_below_one() {
        let mut random = SplitMix::new(2);
        let mean = (0..10_000).map(|_| random.unit()).inspect(|unit| assert!((0.0..1.0).contains(unit))).sum::<f64>();
        assert!((mean / 10_000.0 - 0.5).abs() < 0.015, "{mean}");
    }
}
