//! Errors in setting up a ledger.

use wayleave_topology::MAX_BUDGET;
use wayleave_units::Time;

/// Reason for which a ledger cannot be set up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LedgerError {
    /// The allocation does not give every contract queue of a link its budget.
    Budgets {
        /// The link.
        link: String,
        /// The queues that contracts may use.
        queues: usize,
        /// The budgets that were given.
        budgets: usize,
    },
    /// A budget is zero, or longer than [`MAX_BUDGET`].
    Budget {
        /// The link.
        link: String,
        /// The queue.
        queue: usize,
        /// Its budget.
        budget: Time,
    },
}

impl std::fmt::Display for LedgerError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Budgets { link, queues, budgets } => {
                write!(
                    f,
                    "link {link} has {queues} queues for contracts, but {budgets} delay budgets were allocated to it"
                )
            }
            Self::Budget { link, queue, budget } => write!(
                f,
                "queue {queue} of link {link} has a delay budget of {budget}: expected more than 0ns and at most {MAX_BUDGET}"
            ),
        }
    }
}

impl std::error::Error for LedgerError {}
