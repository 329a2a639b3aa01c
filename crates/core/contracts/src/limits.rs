//! Limits of contracts.

use wayleave_units::{Bytes, Rate, Time};

/// The longest deadline that is accepted.
pub const MAX_DEADLINE: Time = Time::from_millis(100_000);

/// The smallest maximum rate that is accepted. Limiters of hosts do not share out less: a full frame takes 0.2 s at
/// this rate, and packets that wait longer are dropped.
pub const MIN_MAXIMUM: Rate = Rate::from_bits_per_second(64_000);

/// The smallest Ethernet frame, with FCS (IEEE 802.3, 3.2.8): the least burst and frame size on the wire.
pub const MIN_WIRE_FRAME: Bytes = Bytes::new(64);

/// Header of an Ethernet frame: the least burst and frame size of contracts that count frames before padding.
pub const MIN_FRAME: Bytes = Bytes::new(14);

/// The most disjoint routes that a contract may ask for.
pub const MAX_PROTECTION: u8 = 4;
