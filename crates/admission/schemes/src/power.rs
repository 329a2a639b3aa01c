//! A fraction to a power, in whole numbers, by tables: for transports whose back-off is a power of DCTCP's alpha.
//!
//! The same on every machine, which powers of floating point are not. `2^(y log2 x)`, with a table of 256 intervals for
//! each of the two functions and straight lines in between. The chord of the logarithm is off by at most
//! (1/256)^2 / (8 ln 2) = 2.8e-6, that of the power of two by (ln 2 / 256)^2 / 8 = 9.2e-7 of its value. So for exponents up to 2.5
//! a result is off by at most 6 parts of a million of itself, and by its grain of 2^-30.

/// Fractions are whole numbers of this part.
pub(crate) const FRACTION_SHIFT: u32 = 30;

/// A fraction of 1.
pub(crate) const WHOLE: u32 = 1 << FRACTION_SHIFT;

/// Exponents are whole numbers of this part.
pub(crate) const EXPONENT_SHIFT: u32 = 16;

/// An exponent of 1.
pub(crate) const ONCE: u32 = 1 << EXPONENT_SHIFT;

/// Intervals of a table, as a power of two.
const INTERVALS_SHIFT: u32 = 8;

const INTERVALS: usize = 1 << INTERVALS_SHIFT;

/// Values of both tables are whole numbers of 2^-32.
const TABLE_SHIFT: u32 = 32;

/// While tables are made: 2^-62.
const EXACT_SHIFT: u32 = 62;

/// `log2(1 + i / 256)`.
static LOGARITHMS: [u64; INTERVALS + 1] = logarithms();

/// `2^(-i / 256)`.
static POWERS: [u64; INTERVALS + 1] = powers();

/// `fraction` to the power of `exponent`; 0 stays 0, and an exponent of 1 changes nothing.
pub(crate) fn power(fraction: u32, exponent: u32) -> u32 {
    let fraction = fraction.min(WHOLE);
    if fraction == 0 || exponent == ONCE {
        return fraction;
    }
    // 30 integer bits and those of an exponent below 2^16 leave room in 128.
    let halvings = (u128::from(halvings(fraction)) * u128::from(exponent)) >> EXPONENT_SHIFT;
    let whole = u32::try_from(halvings >> TABLE_SHIFT).unwrap_or(u32::MAX);
    let rest = (halvings & ((1 << TABLE_SHIFT) - 1)) as u64;
    let value = between(&POWERS, rest);
    let shift = (TABLE_SHIFT - FRACTION_SHIFT).saturating_add(whole);
    if shift >= u64::BITS { 0 } else { ((value >> (shift - 1)).div_ceil(2)).min(u64::from(WHOLE)) as u32 }
}

/// Returns the number of halvings that make a fraction of a whole, in parts of 2^-32.
fn halvings(fraction: u32) -> u64 {
    let doublings = FRACTION_SHIFT.saturating_sub(fraction.ilog2());
    // In [1, 2), without its 1, in parts of 2^-32.
    let rest = (u64::from(fraction) << (doublings + TABLE_SHIFT - FRACTION_SHIFT)) & ((1 << TABLE_SHIFT) - 1);
    (u64::from(doublings) << TABLE_SHIFT) - between(&LOGARITHMS, rest)
}

/// A value of a table at a place from 0 to 1, in parts of 2^-32.
fn between(table: &[u64; INTERVALS + 1], place: u64) -> u64 {
    const WIDTH_SHIFT: u32 = TABLE_SHIFT - INTERVALS_SHIFT;
    let at = ((place >> WIDTH_SHIFT) as usize).min(INTERVALS - 1);
    let rest = place - ((at as u64) << WIDTH_SHIFT);
    let (from, to) = (table[at] as i64, table[at + 1] as i64);
    (from + (((to - from) * rest as i64) >> WIDTH_SHIFT)) as u64
}

/// Squares a number in [1, 2) repeatedly: each result gives one more binary digit of its logarithm.
const fn logarithms() -> [u64; INTERVALS + 1] {
    let mut table = [0; INTERVALS + 1];
    let mut at = 0;
    while at < INTERVALS {
        let mut number = ((INTERVALS + at) as u128) << (EXACT_SHIFT - INTERVALS_SHIFT);
        let mut digits = 0;
        let mut count = 0;
        while count < TABLE_SHIFT {
            number = (number * number) >> EXACT_SHIFT;
            digits <<= 1;
            if number >= 2 << EXACT_SHIFT {
                number >>= 1;
                digits |= 1;
            }
            count += 1;
        }
        table[at] = digits;
        at += 1;
    }
    table[INTERVALS] = 1 << TABLE_SHIFT;
    table
}

/// Multiplies roots of a half: the square root, the root of that, and so on, one for each binary digit.
const fn powers() -> [u64; INTERVALS + 1] {
    let mut roots = [0; INTERVALS_SHIFT as usize];
    let mut root: u128 = 1 << (EXACT_SHIFT - 1);
    let mut digit = INTERVALS_SHIFT as usize;
    while digit > 0 {
        digit -= 1;
        root = (root << EXACT_SHIFT).isqrt();
        roots[digit] = root;
    }
    let mut table = [0; INTERVALS + 1];
    let mut at = 0;
    while at <= INTERVALS {
        let mut value: u128 = if at == INTERVALS { 1 << (EXACT_SHIFT - 1) } else { 1 << EXACT_SHIFT };
        let mut digit = 0;
        while digit < INTERVALS_SHIFT as usize && at < INTERVALS {
            if at >> digit & 1 == 1 {
                value = (value * roots[digit]) >> EXACT_SHIFT;
            }
            digit += 1;
        }
        let half_a_grain = 1 << (EXACT_SHIFT - TABLE_SHIFT - 1);
        table[at] = ((value + half_a_grain) >> (EXACT_SHIFT - TABLE_SHIFT)) as u64;
        at += 1;
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn powers_are_within_six_parts_of_a_million() {
        let mut worst: f64 = 0.0;
        for step in 1..=20_000_u32 {
            let fraction = (WHOLE / 20_000).saturating_mul(step).min(WHOLE);
            for exponent in (ONCE / 8..=5 * ONCE / 2).step_by(1_237) {
                let exact = (f64::from(fraction) / f64::from(WHOLE)).powf(f64::from(exponent) / f64::from(ONCE));
                let off = (f64::from(power(fraction, exponent)) / f64::from(WHOLE) - exact).abs();
                worst = worst.max((off - 1.0 / f64::from(WHOLE)) / exact);
            }
        }
        assert!(worst > 1e-6 && worst < 6e-6, "{worst}");
    }

    #[test]
    fn powers_of_fractions_are_fractions() {
        for exponent in [1, ONCE / 8, ONCE / 2, ONCE, 2 * ONCE, 5 * ONCE / 2, u32::MAX] {
            assert_eq!((power(0, exponent), power(WHOLE, exponent)), (0, WHOLE), "{exponent}");
            for fraction in [1, 2, WHOLE / 3, WHOLE / 2, WHOLE - 1] {
                let value = power(fraction, exponent);
                assert!(value <= WHOLE && (value <= fraction || exponent < ONCE), "{fraction}^{exponent} is {value}");
            }
        }
        for fraction in 0..1000 {
            assert_eq!(power(fraction * 1_000_003, ONCE), fraction * 1_000_003);
        }
        // Hand-computed: a quarter to 1/2, 2 and 5/2.
        let quarter = WHOLE / 4;
        assert_eq!(
            [ONCE / 2, 2 * ONCE, 5 * ONCE / 2].map(|exponent| power(quarter, exponent)),
            [WHOLE / 2, WHOLE / 16, WHOLE / 32]
        );
    }
}
