//! Limits of networks.

use wayleave_units::Time;

/// The most hardware queues of a port (802.1Q has eight priorities).
pub const MAX_QUEUES: usize = 8;

/// The longest delay budget of a queue: with it every product of the admission check stays inside `i128`.
pub const MAX_BUDGET: Time = Time::from_millis(10_000);

/// The longest interface name. Linux has 15 characters (`IFNAMSIZ`), other systems have more.
pub const MAX_INTERFACE_NAME: usize = 64;
