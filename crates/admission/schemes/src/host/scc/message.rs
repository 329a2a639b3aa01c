//! Messages between hosts and trackers.

use wayleave_scheme_api::ClassId;
use wayleave_units::Time;

/// A message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Message {
    /// Arrivals of a tunnel since the last feedback; from its receiver to its sender (III-B).
    Feedback {
        /// All bytes.
        bytes: u64,
        /// Of these, marked by the network.
        marked: u64,
        /// Missing.
        lost: u64,
        /// Time since the last mark or loss on any arrival at the receiver's host.
        clear: Time,
    },
    /// Sum of the reference weights of a division's tunnels at a host (III-B: W'); from a host to each of the
    /// division's trackers.
    Report {
        /// Division of the report.
        division: ClassId,
        /// The sum of their reference weights.
        sum: u64,
        /// Request for an answer: the host follows this tracker or not.
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
        /// The host's own part of the sum.
        own: u64,
    },
}

/// Need of an answer to a report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReplyRequest {
    /// The tracker speaks for its division, as far as the host knows.
    Wanted,
    /// It only has to know, in case the other one is lost.
    Needless,
}

impl Message {
    /// Returns the payload length between machines: a kind, and the numbers in 32 and 64 bits.
    pub const fn encoded_len(&self) -> usize {
        match self {
            Self::Feedback { .. } => 16,
            Self::Report { .. } => 1 + 4 + 8 + 1,
            Self::Scale { .. } => 1 + 4 + 3 * 8,
        }
    }
}
