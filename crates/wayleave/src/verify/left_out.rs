//! Contracts of classes below latency that a verification leaves out, with the reason.

use std::fmt;

use serde::Serialize;
use wayleave_adversary::Fault;
use wayleave_explain::human::count;

/// Contracts of classes below latency that were not tested.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct LeftOutClasses {
    /// Number of contracts.
    pub contracts: usize,
    /// The reason.
    pub reason: LeftOutReason,
}

impl LeftOutClasses {
    /// Returns this number of contracts with the reason.
    pub const fn new(contracts: usize, reason: LeftOutReason) -> Self {
        Self { contracts, reason }
    }
}

/// Reason for which contracts of classes below latency were not tested.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum LeftOutReason {
    /// One attack on latency contracts was replayed.
    Replay,
    /// One latency contract was named.
    Flow,
    /// A fault of latency contracts was injected.
    Fault(Fault),
    /// The verification was stopped before.
    Stopped,
    /// Links cannot carry the guaranteed traffic.
    Overbooked,
}

impl fmt::Display for LeftOutReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Replay => f.write_str("--replay makes one attack on latency contracts"),
            Self::Flow => f.write_str("--flow tests latency contracts only"),
            Self::Fault(fault) => write!(f, "--inject {} is a fault of latency contracts", fault.name()),
            Self::Stopped => f.write_str("the verification was stopped before"),
            Self::Overbooked => f.write_str("links cannot carry the guaranteed traffic"),
        }
    }
}

impl fmt::Display for LeftOutClasses {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of classes below latency not tested: {}", count(self.contracts, "contract"), self.reason)
    }
}

/// In `verify -o json`.
#[derive(Serialize)]
pub(super) struct LeftOutJson {
    contracts: usize,
    reason: String,
}

impl LeftOutJson {
    pub(super) fn of(left_out: &LeftOutClasses) -> Self {
        Self { contracts: left_out.contracts, reason: left_out.reason.to_string() }
    }
}
