//! Timers of a uFAB host, and its actions.

use std::convert::Infallible;

use wayleave_scheme_api::{HostAction, Outgoing, PathIndex};

/// What a timer is for. `key` is the pair's, so that a timer of a pair that has closed means nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Timer {
    /// A probe may be lost.
    Lost {
        /// Whose.
        pair: Outgoing,
        /// Its key.
        key: u64,
        /// Along which path.
        path: PathIndex,
        /// Which.
        change: u16,
    },
    /// Candidates had time enough to answer.
    Search {
        /// Whose.
        pair: Outgoing,
        /// Its key.
        key: u64,
        /// Which search.
        serial: u32,
    },
    /// A pair may have been idle for long enough.
    Idle {
        /// Which.
        pair: Outgoing,
        /// Its key.
        key: u64,
    },
    /// Other paths are compared with this one.
    Better {
        /// Whose.
        pair: Outgoing,
        /// Its key.
        key: u64,
        /// Which.
        path: PathIndex,
    },
    /// Hoses are divided again.
    Tokens,
    /// Switches shall not forget pairs that say little.
    Alive,
}

/// An action of this host.
pub type Action = HostAction<Infallible, Timer>;
