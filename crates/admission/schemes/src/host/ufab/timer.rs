//! Timers of a uFAB host, and its actions.

use std::convert::Infallible;

use wayleave_scheme_api::{HostAction, Outgoing, PathIndex};

/// Purpose of a timer. `key` is the pair's, so that a timer of a closed pair is ignored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Timer {
    /// A probe may be lost.
    Lost {
        /// The pair.
        pair: Outgoing,
        /// Its key.
        key: u64,
        /// Along which path.
        path: PathIndex,
        /// Number of the change.
        change: u16,
    },
    /// Candidates had time enough to answer.
    Search {
        /// The pair.
        pair: Outgoing,
        /// Its key.
        key: u64,
        /// Number of the search.
        serial: u32,
    },
    /// A pair may have been idle for long enough.
    Idle {
        /// The pair.
        pair: Outgoing,
        /// Its key.
        key: u64,
    },
    /// Other paths are compared with this one.
    Better {
        /// The pair.
        pair: Outgoing,
        /// Its key.
        key: u64,
        /// The path in use.
        path: PathIndex,
    },
    /// Hoses are divided again.
    Tokens,
    /// Keep-alive, so that switches do not forget pairs that send little.
    Alive,
}

/// An action of this host.
pub type Action = HostAction<Infallible, Timer>;
