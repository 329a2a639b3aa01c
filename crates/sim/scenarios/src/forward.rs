//! Choice to skip traffic whose state repeats itself instead of simulating it.

/// Traffic is skipped: where the state of flows is the same a period later, the simulator credits them with what they would have sent,
/// up to the next event. Packets are simulated again from there on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FastForward {
    /// Largest error of a completion time, as a share of that time. Skips cause none.
    pub error: f64,
}

impl FastForward {
    /// The largest error that can be asked for. Results that are off by more say nothing.
    pub const MAX: f64 = 0.1;

    /// Whether the error can be asked for: above zero, and no more than [`Self::MAX`].
    pub fn is_valid(self) -> bool {
        self.error > 0.0 && self.error <= Self::MAX
    }
}

impl Default for FastForward {
    fn default() -> Self {
        Self { error: 0.005 }
    }
}
