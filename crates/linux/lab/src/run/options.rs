//! Options of a run.

use std::time::Duration;

use wayleave_units::{Rate, Time};

use super::shares::SharedPromise;

/// Options of a run.
#[derive(Clone, Debug)]
pub struct RunOptions {
    /// Time for which contracts send.
    pub lasts: Duration,
    /// From one instant at which all contracts send their bursts to the next.
    pub period: Time,
    /// Number of contracts that are given another route while they send.
    pub reroutings: usize,
    /// A cable between switches that is really cut, if any: this one, or the one that most contracts use.
    pub cut: Option<CutLink>,
    /// Rate of best-effort traffic that every host sends to another one.
    pub flood: Option<Rate>,
    /// A contract whose sender ignores its bucket, and the rate that it sends.
    pub adversary: Option<(String, Rate)>,
    /// Contracts of other kinds than latency, whose members send as much as they can.
    pub shared: Vec<SharedPromise>,
    /// The same traffic without any contract, to see what contracts are good for.
    pub is_plain: bool,
}

impl RunOptions {
    /// Contracts send, and nothing else happens; bursts come every half second.
    pub const fn lasting(lasts: Duration) -> Self {
        let period = Time::from_millis(500);
        let shared = Vec::new();
        Self { lasts, period, reroutings: 0, cut: None, flood: None, adversary: None, shared, is_plain: false }
    }
}

/// Choice of the cable that is cut.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CutLink {
    /// The one that most contracts use.
    Busiest,
    /// The one of this link.
    Link(String),
}
