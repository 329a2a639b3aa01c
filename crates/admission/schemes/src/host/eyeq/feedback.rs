//! Feedback of receivers to senders.

use wayleave_units::Rate;

/// Message from a receiver to a sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Feedback {
    /// The sender's weight times R.
    pub rate: Rate,
}
