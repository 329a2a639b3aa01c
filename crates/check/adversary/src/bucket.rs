//! Token buckets of a statement.

use wayleave_units::{Bytes, Rate};

/// A token bucket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AttackBucket {
    /// Its rate.
    pub rate: Rate,
    /// Its burst.
    pub burst: Bytes,
}

impl AttackBucket {
    /// Returns the smallest bucket that permits the traffic of both.
    pub(crate) fn or(self, other: Self) -> Self {
        Self { rate: self.rate.max(other.rate), burst: self.burst.max(other.burst) }
    }

    /// Returns `true` if it permits all traffic that the other permits.
    pub(crate) fn covers(self, other: Self) -> bool {
        self.or(other) == self
    }
}
