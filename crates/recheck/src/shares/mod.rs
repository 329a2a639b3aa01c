//! Minima and weights again, by another method than the one that admits them.
//!
//! Nothing is known here but the network and who shares what. Directed links only; `B` is the minimum of a pair, or of every member of a
//! hose, and members send at most `B` and receive at most `B` in all, whatever rates `x_ij` they choose.
//!
//! - *Allowed paths* (`paths.rs`): all paths with the fewest links over open links; hosts do not forward.
//! - *full(l)*, whatever allowed paths hosts choose: any choice puts at most the sum of `x_ij` over pairs that may use l on l. The
//!   polytope of `x` is that of bipartite b-matchings, whose matrix is totally unimodular, so its optimum is `B` times the largest matching of
//!   senders to receivers (Duffield et al., SIGCOMM 1999; Erlebach and Ruegg, INFOCOM 2004).
//! - *even(l)*, where nodes split evenly: `B` times the optimum of the transportation program with the weights `f_ij(l)`.
//!   Both are solved in `transport.rs`, which certifies them by dual prices.
//! - Hosts with the same attachments are one node of these programs, and links that carry the same part of every pair are solved once
//!   (`groups.rs` says why both are exact).
//!
//! A link l with `R'` left by latency contracts, and weights `w` with the sum `F`, keeps its promises if
//!
//! ```text
//! G = pairs + sum of even (even splits) + sum of full (charged by every path) + min(sum of full, sum of even + largest B) (chosen paths)
//! A = sum of ceil(B / 10) of pairs whose packets come back here + a tenth of what hoses are charged here
//! 100 F G <= promise w_g R'       100 F (G + A) <= target w_g R'       100 F O <= promise w_o R'
//! ```
//!
//! with `O` the weights of all objectives of which a pair may use l. Acknowledgements of a hose need no figures of their own: those of
//! the pair (j, i) go with the pair (i, j), and a hose is as large backwards as forwards.
//!
//! A minimum is *proven* if on each link that it may use no more than `G` can be there: pairs, even of even hoses, full of all others.
//! Where links are closed, every figure of a share is the larger of "all links up" and "now". All of it is exact.

mod figures;
mod groups;
mod held;
mod load;
mod part;
mod paths;
mod placed;
mod times;
mod transport;

use std::collections::BTreeSet;
use std::fmt;

use wayleave_topology::{Class, Classes, LinkId, NodeId, Route};
use wayleave_units::{Rate, Time};

pub use held::{AddedShare, HeldShares};
pub use times::ShareTimes;

pub(crate) use figures::{Place, Worst};
pub(crate) use held::broken_sums;
pub(crate) use load::{Both, Holding, Load};
pub(crate) use paths::Lengths;
pub(crate) use placed::{Places, SharesOn};
pub(crate) use times::{Reserved, Waiting, reserved_on};

use crate::check::Watcher;
use crate::claim::Claim;

/// A minimum or a weight, and what it was promised for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PromisedShare {
    /// For the reader of a violation.
    pub name: String,
    /// On the wire.
    pub min: Rate,
    /// Where it counts.
    pub held: HeldShare,
    /// The minimum is said to be there so soon after there is something to send, where that was asked for.
    pub there_within: Option<Time>,
    /// The certainty that was stated; `None` where none is known.
    pub certainty: Option<StatedCertainty>,
}

/// The certainty of a promise, as stated to whoever asked for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum StatedCertainty {
    /// It follows from the charges.
    Proven,
    /// It rests on measurements.
    Measured,
}

/// Where a share counts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HeldShare {
    /// A minimum on every link of a route between two hosts.
    Pair(NodeId, NodeId, Route),
    /// A minimum on one link, whoever sends there.
    Link(LinkId),
    /// A minimum of every member, on the allowed paths between members.
    Hose {
        /// The members.
        members: Vec<NodeId>,
        /// The use of allowed paths, and what is charged for it.
        charge: HoseCharge,
    },
    /// A weight on every link that packets between members may take.
    Objective(Vec<NodeId>),
}

/// How a hose uses allowed paths, and what is charged for it.
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
        /// What was promised, rounded up.
        promised: u128,
        /// What can be, rounded down.
        most: u128,
    },
    /// Minima fit on a link, but not together with acknowledgements and probes.
    Acknowledgements {
        /// The link.
        link: String,
        /// Minima, acknowledgements and probes, rounded up.
        promised: u128,
        /// What can be, rounded down.
        most: u128,
    },
    /// A minimum was said to be proven, and more may be on a link than is charged there.
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
    /// A minimum is there later than is said.
    Time {
        /// The share.
        share: String,
        /// What is said.
        said: Time,
        /// What follows from the budgets of its longest path.
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
                let class = class.name();
                write!(f, "the {class} class of {link} was promised {promised} bit/s, and no more than {most} can be")
            }
            Self::Acknowledgements { link, promised, most } => write!(
                f,
                "minima of {link} with acknowledgements and probes take {promised} bit/s, and hosts fill no more than {most}"
            ),
            Self::Certainty { share, link } => {
                write!(f, "{share} is said to be proven, and hoses may put more on {link} than is charged there")
            }
            Self::Wait { link, wait, budget } => {
                let wait = or_for_ever(*wait);
                write!(f, "packets of minima may wait {wait} at {link}, and minima with a time count with {budget}")
            }
            Self::Time { share, said, derived } => {
                write!(f, "the minimum of {share} is said to be there within {said}, and it takes up to {derived}")
            }
        }
    }
}

/// For messages.
fn or_for_ever(wait: Option<Time>) -> String {
    wait.map_or_else(|| "for ever".to_owned(), |wait| wait.to_string())
}

/// Derives all promises to classes that do not hold beside the latency contracts of a claim; faults of shares first, then by link.
/// Times are left out.
pub fn check_shares(
    claim: &Claim<'_>,
    classes: &Classes,
    closed: &BTreeSet<LinkId>,
    shares: &[PromisedShare],
) -> Vec<BrokenShare> {
    check_all_shares(claim, classes, closed, shares, None, &mut |_, _| {})
}

/// Derives the times that do not hold: links where packets may wait longer than their budget, then minima that are there later than is
/// said.
pub fn check_times(
    claim: &Claim<'_>,
    classes: &Classes,
    closed: &BTreeSet<LinkId>,
    shares: &[PromisedShare],
    times: &ShareTimes,
) -> Vec<BrokenShare> {
    let all = check_all_shares(claim, classes, closed, shares, Some(times), &mut |_, _| {});
    all.into_iter().filter(|one| matches!(one, BrokenShare::Wait { .. } | BrokenShare::Time { .. })).collect()
}

/// Derives minima, weights and, where `times` are given, times in one pass; `progress` is told how many shares of how many are done.
pub fn check_all_shares(
    claim: &Claim<'_>,
    classes: &Classes,
    closed: &BTreeSet<LinkId>,
    shares: &[PromisedShare],
    times: Option<&ShareTimes>,
    progress: &mut Watcher<'_>,
) -> Vec<BrokenShare> {
    let mut held = HeldShares::beside(claim, classes, closed, times);
    let (mut broken, mut late) = (Vec::new(), Vec::new());
    for (done, share) in (1..).zip(shares) {
        match held.enter(share) {
            Ok(on) => late.extend(held.late(share, &on)),
            Err(fault) => broken.push(fault),
        }
        progress(done, shares.len() as u64);
    }
    broken.extend(held.broken());
    broken.extend(late);
    broken
}
