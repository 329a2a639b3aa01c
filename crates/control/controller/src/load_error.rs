//! Errors of loading a controller from records.

use std::fmt;

use wayleave_protocol::Id;
use wayleave_schemes::registry;
use wayleave_units::Time;

/// Reason that no controller can be loaded from records.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LoadError {
    /// The scheme keeps no ledger of queues.
    NoQueues,
    /// A record that cannot be read.
    Unreadable {
        /// Kind of the record.
        kind: &'static str,
        /// Key of the record.
        key: String,
        /// Description of the error.
        message: String,
    },
    /// The network lacks what a record needs.
    Missing {
        /// The record.
        record: String,
        /// `link` or `node`.
        what: &'static str,
        /// Its name.
        name: String,
    },
    /// A record speaks of another that is not there.
    Dangling {
        /// The record.
        record: String,
        /// Missing object.
        other: String,
    },
    /// A queue would not keep its budget or its buffer.
    Overfull {
        /// The link.
        link: String,
    },
    /// A share of classes where there are none, or a scheme for latency contracts alone.
    NoClasses {
        /// Contract that needs it.
        id: Id,
    },
    /// A policy where there are no classes, or a scheme for latency contracts alone.
    PolicyWithoutClasses {
        /// Its name.
        name: String,
    },
    /// A contract would not be kept.
    TooSlow {
        /// The contract.
        id: Id,
        /// The bound of its route.
        bound: Time,
        /// Promised deadline.
        deadline: Time,
    },
}

impl fmt::Display for LoadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const OTHER_NETWORK: &str = "the ledger was written for another topology or other budgets: start with those, or with --decide-again (docs/operate/ledger.md, \"Another network\")";
        const GONE: &str = "the ledger was written for another topology: start with that one, and first delete the contract or move its VMs";
        match self {
            Self::NoQueues => {
                let schemes = registry::admission_schemes(|entry| entry.keeps_queues);
                write!(f, "the scheme reserves no queues: a controller requires {schemes}")
            }
            Self::Unreadable { kind, key, message } => write!(f, "the {kind} record {key} cannot be read: {message}"),
            Self::Missing { record, what: what @ "node", name } => {
                write!(f, "{record} needs {what} {name}, which the network does not have: {GONE}")
            }
            Self::Missing { record, what, name } => {
                write!(f, "{record} needs {what} {name}, which the network does not have: {OTHER_NETWORK}")
            }
            Self::Dangling { record, other } => write!(f, "{record} refers to {other}, which does not exist"),
            Self::NoClasses { id } => write!(
                f,
                "contract {id} reserves a share of classes below the latency queues, which this scheme or network does not have: {OTHER_NETWORK}"
            ),
            Self::PolicyWithoutClasses { name } => write!(
                f,
                "policy {name} reserves minima of classes below the latency queues, which this scheme or network does not have: {OTHER_NETWORK}"
            ),
            Self::Overfull { link } => {
                write!(
                    f,
                    "a queue of link {link} would exceed its delay budget with the present reservations: {OTHER_NETWORK}"
                )
            }
            Self::TooSlow { id, bound, deadline } => {
                write!(
                    f,
                    "contract {id} has a deadline of {deadline:#}, but the bound of its route is {bound:#}: {OTHER_NETWORK}"
                )
            }
        }
    }
}

impl std::error::Error for LoadError {}
