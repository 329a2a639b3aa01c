//! Limits of contracts.

use wayleave_units::Time;

/// The longest deadline that is accepted.
pub const MAX_DEADLINE: Time = Time::from_millis(100_000);

/// The most disjoint routes that a contract may ask for.
pub const MAX_PROTECTION: u8 = 4;
