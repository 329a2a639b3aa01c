//! Choice to skip traffic whose state repeats itself instead of simulating it.

/// Steady traffic is skipped: if the state of flows is equal a period later, the simulator credits them with the
/// segments that they would have sent, up to the next event. Packets are simulated again from there on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FastForward {
    /// Largest error of a completion time, as a share of that time. Skips cause none.
    pub max_error: f64,
}

impl FastForward {
    /// Maximum error that can be configured. Results with a larger error are meaningless.
    pub const MAX: f64 = 0.1;

    /// Returns `true` if the error is valid: above zero, and no more than [`Self::MAX`].
    pub fn is_valid(self) -> bool {
        self.max_error > 0.0 && self.max_error <= Self::MAX
    }
}

impl Default for FastForward {
    fn default() -> Self {
        Self { max_error: 0.005 }
    }
}
