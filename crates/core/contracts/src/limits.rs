//! Limits of contracts.

use wayleave_units::{Rate, Time};

/// The longest deadline that is accepted.
pub const MAX_DEADLINE: Time = Time::from_millis(100_000);

/// The smallest maximum rate that is accepted. Limiters of hosts do not share out less: a full frame takes 0.2 s at
/// this rate, and packets that wait longer are dropped.
pub const MIN_MAXIMUM: Rate = Rate::from_bits_per_second(64_000);

/// The most disjoint routes that a contract may ask for.
pub const MAX_PROTECTION: u8 = 4;
