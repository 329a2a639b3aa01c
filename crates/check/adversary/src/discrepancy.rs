//! Wrong parts of a statement.

use std::fmt;

use wayleave_recheck::{BrokenAt, BrokenPromise, BrokenShare, Overbooked};
use wayleave_units::{Bytes, Time};

use crate::bucket::AttackBucket;

/// One wrong part of a statement. Contracts, links and queues are named as in the network and the statement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Discrepancy {
    /// A bound, a deadline, a budget, a buffer or a rate does not hold, or a statement about a queue differs from the
    /// derivation.
    Unsound(BrokenPromise),
    /// A class of a link was promised more than it can be, or the route of a minimum is none.
    Share(BrokenShare),
    /// The same after an event, and no longer in the end.
    ShareMeanwhile {
        /// Contract that was added or changed.
        after: String,
        /// Share that was broken then.
        broken: BrokenShare,
    },
    /// A class of a link is promised more than it can be while packets of earlier terms or routes are still on the link.
    ShareThen(BrokenAt),
    /// Less was reserved than the contract's traffic can be on the wire.
    Reserved {
        /// Name of the contract.
        name: String,
        /// Stated reservation.
        stated: AttackBucket,
        /// Required reservation.
        derived: AttackBucket,
    },
    /// A contract asks for something else.
    Asked {
        /// Name of the contract.
        name: String,
        /// The field.
        what: &'static str,
        /// Stated request.
        stated: String,
        /// Request of the contract.
        contract: String,
    },
    /// A figure or a word of a decision is not the one that follows from it.
    Stated {
        /// The contract, or the part of the statement.
        name: String,
        /// The field, in words.
        what: String,
        /// The value that is stated.
        stated: String,
        /// The value that is derived.
        derived: String,
    },
    /// A contract is not mentioned.
    Unmentioned {
        /// Name of the contract.
        name: String,
    },
    /// The parts of a bound are not those of the route.
    Terms {
        /// Name of the contract.
        name: String,
        /// First stated part that does not belong to it.
        stated: Option<String>,
        /// The first part that is missing.
        derived: Option<String>,
    },
    /// Another number of flows is in a queue.
    Flows {
        /// The link.
        link: String,
        /// The queue.
        queue: u8,
        /// Stated number.
        stated: usize,
        /// Derived number.
        derived: usize,
    },
    /// The network has another buffer.
    Buffer {
        /// The link.
        link: String,
        /// The queue.
        queue: u8,
        /// Stated size.
        stated: Bytes,
        /// Size in the network.
        derived: Bytes,
    },
    /// The network fixes another budget.
    Budget {
        /// The link.
        link: String,
        /// The queue.
        queue: u8,
        /// Stated time.
        stated: Time,
        /// Time in the network.
        derived: Time,
    },
    /// A queue that is not there, or that traffic without a contract uses.
    NoContractQueue {
        /// The link.
        link: String,
        /// The queue.
        queue: u8,
    },
    /// A queue is missing, or stated twice.
    QueueOrder {
        /// The link.
        link: String,
        /// The stated queue.
        queue: u8,
        /// The queue that had to come.
        expected: u8,
    },
    /// Before the last packets of flows that move, end or get other terms have left, there is more on a link than its queues can take.
    Overbooked(Overbooked),
}

impl fmt::Display for Discrepancy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unsound(violation) => violation.fmt(f),
            Self::Share(broken) => broken.fmt(f),
            Self::ShareThen(broken) => broken.fmt(f),
            Self::ShareMeanwhile { after, broken } => write!(f, "after \"{after}\" was admitted, {broken}"),
            Self::Reserved { name, stated, derived } => {
                let (rate, burst) = (derived.rate, derived.burst);
                let claimed = (stated.rate, stated.burst);
                write!(
                    f,
                    "\"{name}\" has {:#} with bursts of {:#} reserved, but its traffic can be {rate:#} with bursts of {burst:#} on the wire",
                    claimed.0, claimed.1
                )
            }
            Self::Asked { name, what, stated, contract } => {
                write!(f, "\"{name}\": the plan states {what} {stated}, the contract {contract}")
            }
            Self::Stated { name, what, stated, derived } => {
                write!(f, "\"{name}\": {what} is stated as {stated}, recomputed as {derived}")
            }
            Self::Unmentioned { name } => write!(f, "contract \"{name}\" is missing"),
            Self::Terms { name, stated, derived } => {
                write!(f, "the bound of \"{name}\" is not the sum of its delay terms: ")?;
                match (stated, derived) {
                    (Some(stated), Some(derived)) => write!(f, "{stated} is stated, {derived} is missing"),
                    (Some(stated), None) => write!(f, "{stated} is stated, but is not one of its terms"),
                    (None, Some(derived)) => write!(f, "{derived} is missing"),
                    (None, None) => f.write_str("a term is stated more or less often than it occurs on the route"),
                }
            }
            Self::Flows { link, queue, stated, derived } => write!(
                f,
                "queue {queue} of {link}: flows: {stated} stated, {derived} by the routes: a move is missing or superfluous"
            ),
            Self::Buffer { link, queue, stated, derived } => {
                write!(f, "queue {queue} of {link}: a buffer of {stated:#} is stated, but the network has {derived:#}")
            }
            Self::Budget { link, queue, stated, derived } => {
                write!(
                    f,
                    "queue {queue} of {link}: a budget of {stated:#} is stated, but the network fixes {derived:#}"
                )
            }
            Self::NoContractQueue { link, queue } => {
                write!(f, "queue {queue} of {link} is stated as a queue for contracts, but is not one")
            }
            Self::QueueOrder { link, queue, expected } => {
                write!(f, "queue {queue} of {link} is described where queue {expected} is expected")
            }
            Self::Overbooked(overbooked) => write!(f, "before packets have left: {overbooked}"),
        }
    }
}
