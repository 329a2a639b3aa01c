//! Promises to the classes below the latency queues, and their violations.

use std::fmt;

use wayleave_topology::{Class, LinkId, NodeId, Route};
use wayleave_units::{Bytes, Rate, Time};

/// A minimum or a weight, and its contract.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PromisedShare {
    /// For the reader of a violation.
    pub name: String,
    /// On the wire.
    pub min: Rate,
    /// Links on which it counts.
    pub held: HeldShare,
    /// Stated time from the first demand until the minimum is available, if it was requested.
    pub there_within: Option<Time>,
    /// The certainty that was stated; `None` where none is known.
    pub certainty: Option<StatedCertainty>,
}

/// Certainty of a promise, as stated to the tenant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum StatedCertainty {
    /// It follows from the charges.
    Proven,
    /// It rests on measurements.
    Measured,
}

/// Links on which a share counts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HeldShare {
    /// A minimum on every link of a route between two hosts.
    Pair(NodeId, NodeId, Route),
    /// A minimum on one link, for all senders.
    Link(LinkId),
    /// A minimum of every member, on the allowed paths between members.
    Hose {
        /// The members.
        members: Vec<NodeId>,
        /// The use of allowed paths, and the charge for it.
        charge: HoseCharge,
    },
    /// A weight on every link that packets between members may take.
    Objective(Vec<NodeId>),
}

/// Use of allowed paths by a hose, and the charge for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum HoseCharge {
    /// The network splits every pair evenly over its allowed paths; even splits are charged.
    EvenSplits,
    /// Hosts choose a path for each pair; even splits and the largest minimum are charged, or every path where that is less.
    ChosenPaths,
    /// Hosts choose a path for each pair; every path is charged.
    EveryPath,
}

/// A promise that does not hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BrokenShare {
    /// The route does not lead from one host to the other.
    Route {
        /// The share.
        share: String,
    },
    /// A host that is none, or a link that the network does not have.
    Unknown {
        /// The share.
        share: String,
    },
    /// The route of a pair takes a closed link.
    Closed {
        /// The share.
        share: String,
        /// The link.
        link: String,
    },
    /// No path leads from one member to another.
    NoPath {
        /// The share.
        share: String,
        /// The sender.
        from: String,
        /// The receiver.
        to: String,
    },
    /// A class of a link was promised more than it can be.
    Class {
        /// The link.
        link: String,
        /// The class.
        class: Class,
        /// Promised rate, rounded up.
        promised: u128,
        /// Largest possible rate, rounded down.
        most: u128,
    },
    /// Minima fit on a link, but not together with acknowledgements and probes.
    Acknowledgements {
        /// The link.
        link: String,
        /// Minima, acknowledgements and probes, rounded up.
        promised: u128,
        /// Largest possible rate, rounded down.
        most: u128,
    },
    /// A minimum was stated as proven, and the load of a link may exceed its charge.
    Certainty {
        /// The share.
        share: String,
        /// The link.
        link: String,
    },
    /// Packets of minima may wait longer at a link than is kept where a minimum has a time.
    Wait {
        /// The link.
        link: String,
        /// The time; `None` is for ever.
        wait: Option<Time>,
        /// The budget.
        budget: Time,
    },
    /// A buffer was stated as sufficient for the queued traffic of minima, and may be too small, or vice versa.
    Buffer {
        /// The link.
        link: String,
        /// The stated need, if the buffer was stated as too small.
        stated: Option<Bytes>,
        /// The need that follows, if the buffer is too small.
        derived: Option<Bytes>,
    },
    /// A minimum takes longer than stated.
    Time {
        /// The share.
        share: String,
        /// Stated time.
        stated: Time,
        /// Time that follows from the budgets of its longest path.
        derived: Time,
    },
}

impl fmt::Display for BrokenShare {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Route { share } => write!(f, "the route of {share} does not join its hosts"),
            Self::Unknown { share } => write!(f, "{share} names a host or a link that the network does not have"),
            Self::Closed { share, link } => write!(f, "the route of {share} takes {link}, which is closed"),
            Self::NoPath { share, from, to } => write!(f, "no path leads from {from} to {to}, members of {share}"),
            Self::Class { link, class, promised, most } => {
                let (class, promised, most) = (class.name(), RateText(*promised), RateText(*most));
                write!(f, "the {class} class of {link} has {promised} reserved, above the limit of {most}")
            }
            Self::Acknowledgements { link, promised, most } => write!(
                f,
                "minima of {link} with acknowledgements and probes take {}, above the limit of {}",
                RateText(*promised),
                RateText(*most)
            ),
            Self::Certainty { share, link } => {
                write!(f, "{share} is stated as proven, but hoses may put more on {link} than is reserved there")
            }
            Self::Wait { link, wait, budget } => {
                let wait = or_for_ever(*wait);
                write!(
                    f,
                    "packets of minima may wait {wait} at {link}, above the {budget:#} assumed for minima with a time"
                )
            }
            Self::Buffer { link, stated, derived } => {
                let needed = |needed: &Option<Bytes>| {
                    needed.map_or_else(|| "it is large enough".to_owned(), |needed| format!("it needs {needed:#}"))
                };
                write!(
                    f,
                    "the buffer of {link} for minima is stated differently: {} by the plan, {} as recomputed",
                    needed(stated),
                    needed(derived)
                )
            }
            Self::Time { share, stated, derived } => {
                write!(
                    f,
                    "the minimum of {share} is stated to be reached within {stated:#}, but takes up to {derived:#}"
                )
            }
        }
    }
}

/// A rate in bit/s that may be larger than any link's.
struct RateText(u128);

impl fmt::Display for RateText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match u64::try_from(self.0) {
            Ok(bits) => write!(f, "{:#}", Rate::from_bits_per_second(bits)),
            Err(_) => write!(f, "{} bit/s", self.0),
        }
    }
}

/// Returns a waiting time for messages.
fn or_for_ever(wait: Option<Time>) -> String {
    wait.map_or_else(|| "for ever".to_owned(), |wait| format!("{wait:#}"))
}
