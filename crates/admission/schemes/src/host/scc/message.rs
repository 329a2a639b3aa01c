//! What hosts and trackers write to one another.

use wayleave_scheme_api::ClassId;
use wayleave_units::Time;

/// A message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Message {
    /// What arrived of a tunnel since the last feedback; from its receiver to its sender (III-B).
    Feedback {
        /// All of it.
        bytes: u64,
        /// Of these, marked by the network.
        marked: u64,
        /// Missing.
        lost: u64,
        /// For how long nothing was marked or lost of all that arrives at the receiver's host.
        clear: Time,
    },
    /// What the tunnels of a division at a host would like together (III-B: W'); from a host to each of the division's trackers.
    Report {
        /// Which division.
        division: ClassId,
        /// The sum of their reference weights.
        sum: u64,
        /// Whether the host follows this tracker.
        answer: ReplyRequest,
    },
    /// The scale factor of equation 3, as a fraction: `share / sum`; from a tracker to a host.
    Scale {
        /// Of which division.
        division: ClassId,
        /// W_d in bit/s.
        share: u64,
        /// The sum of all reference weights of the division.
        sum: u64,
        /// What of it is the host's own.
        own: u64,
    },
}

/// Whether a report wants an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReplyRequest {
    /// The tracker speaks for its division, as far as the host knows.
    Wanted,
    /// It only has to know, in case the other one is lost.
    Needless,
}

impl Message {
    /// Payload on the way from one machine to another: a kind, and the numbers in 32 and 64 bits.
    pub const fn encoded_len(&self) -> usize {
        match self {
            Self::Feedback { .. } => 16,
            Self::Report { .. } => 1 + 4 + 8 + 1,
            Self::Scale { .. } => 1 + 4 + 3 * 8,
        }
    }
}
