//! A rate in 3 B: a number of kbit/s as 19 bits, and 5 bits for its shift. The error of a rate is less than 1 kbit/s
//! up to 524 Mbit/s, and 4 parts in a million above that. The multiples of 1 Gbit/s that lines have are exact.

use wayleave_units::Rate;

const BITS: u32 = 19;
/// "No limit", which is no rate.
const NONE: u32 = 0xff_ffff;

/// In bit/s. Section 6.2 of Parley tracks demands "with a precision of 1Mb/s".
const UNIT: u64 = 1_000;

/// The largest rate that can be written, 1.1 Ebit/s: 0xff_fffe. More counts as this much.
pub const LARGEST: Rate = Rate::from_bits_per_second((((1 << BITS) - 2) << 31) * UNIT);

/// Rounding of a rate that has no exact code.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Round {
    /// Demands.
    Up,
    /// Limits.
    Down,
}

/// The 24 bits of a rate, or of "no limit".
pub(super) fn code(rate: Option<Rate>, round: Round) -> u32 {
    let Some(rate) = rate else { return NONE };
    let rate = rate.min(LARGEST).bits_per_second();
    let rate = if round == Round::Up { rate.div_ceil(UNIT) } else { rate / UNIT };
    let shift = (u64::BITS - rate.leading_zeros()).saturating_sub(BITS);
    let mut bits = rate >> shift;
    let mut shift = shift;
    if round == Round::Up && bits << shift < rate {
        bits += 1;
        if bits == 1 << BITS {
            (bits, shift) = (bits >> 1, shift + 1);
        }
    }
    // 5 bits and 19 bits.
    shift << BITS | bits as u32
}

/// Returns the rate of a 24-bit code; `None` if [`code`] never returns this code.
pub(super) fn rate(code: u32) -> Option<Option<Rate>> {
    if code == NONE {
        return Some(None);
    }
    let (shift, bits) = (code >> BITS, u64::from(code & ((1 << BITS) - 1)));
    let is_shortest = shift == 0 || bits >> (BITS - 1) == 1;
    (shift < 32 && is_shortest).then(|| Some(Rate::from_bits_per_second((bits << shift) * UNIT)))
}

/// A rate as others will read it when it is a demand.
///
/// ```
/// use wayleave_units::Rate;
/// use wayleave_packet_format::broker::{rounded_down, rounded_up};
/// let rate = Rate::from_bits_per_second(1_000_000_001);
/// assert!(rounded_down(rate) < rate && rate < rounded_up(rate));
/// assert_eq!(rounded_up(Rate::from_gbit(10)), rounded_down(Rate::from_gbit(10)));
/// ```
pub fn rounded_up(wanted: Rate) -> Rate {
    again(wanted, Round::Up)
}

/// A rate as others will read it when it is a limit.
pub fn rounded_down(limit: Rate) -> Rate {
    again(limit, Round::Down)
}

fn again(wanted: Rate, round: Round) -> Rate {
    rate(code(Some(wanted), round)).flatten().unwrap_or(wanted)
}
