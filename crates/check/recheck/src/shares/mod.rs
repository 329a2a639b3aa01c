//! Minima and weights again, by another method than the one that admits them.
//!
//! Input is only the network and its sharing contracts. Directed links only; `B` is the minimum of a pair, or of
//! every member of a hose. Members send at most `B` and receive at most `B` in all, for any rates `x_ij` that they
//! choose.
//!
//! - *Allowed paths* (`paths.rs`): all paths with the fewest links over open links; hosts do not forward.
//! - *full(l)*, for any allowed paths that hosts choose: any choice puts at most the sum of `x_ij` over pairs that
//!   may use l on l. The polytope of `x` is that of bipartite b-matchings, whose matrix is totally unimodular, so its
//!   optimum is `B` times the largest matching of senders to receivers (Duffield et al., SIGCOMM 1999; Erlebach and
//!   Ruegg, INFOCOM 2004).
//! - *even(l)*, where nodes split evenly: `B` times the optimum of the transportation program with the weights
//!   `f_ij(l)`. Both are solved in `transport.rs`, which certifies them by dual prices.
//! - Hosts with the same attachments are one node of these programs, and links that carry the same part of every pair
//!   are solved once (`groups.rs` proves that both are exact).
//!
//! A link l with `R'` left by latency contracts, and weights `w` with the sum `F`, keeps its promises if
//!
//! ```text
//! G = pairs + sum of even (even splits) + sum of full (charged by every path) + min(sum of full, sum of even + largest B) (chosen paths)
//! A = sum of ceil(B / 10) of pairs whose packets come back here + a tenth of what hoses are charged here
//! 100 F G <= promise w_g R'       100 F (G + A) <= target w_g R'       100 F O <= promise w_o R'
//! ```
//!
//! with `O` the weights of all objectives of which a pair may use l. Acknowledgements of a hose need no figures of
//! their own: those of the pair (j, i) go with the pair (i, j), and a hose is as large backwards as forwards.
//!
//! A minimum is *proven* if on each link that it may use the load cannot exceed `G`: pairs, even of even hoses, full
//! of all others. Where links are closed, every figure of a share is the larger of "all links up" and "now". All
//! figures are exact.

mod figures;
mod groups;
mod held;
mod load;
mod part;
mod paths;
mod placed;
mod promise;
mod times;
mod transport;

use std::collections::{BTreeMap, BTreeSet};

use wayleave_topology::{Classes, LinkId, Network, ShortBuffer};
use wayleave_units::Bytes;

pub use held::{AddedShare, HeldShares};
pub use promise::{BrokenShare, HeldShare, HoseCharge, PromisedShare, StatedCertainty};
pub use times::ShareTimes;

pub(crate) use figures::{Place, WorstLoad};
pub(crate) use held::broken_sums;
pub(crate) use load::{Holding, LinkAndBundleLoad, Load};
pub(crate) use paths::Lengths;
pub(crate) use placed::{NetworkStates, SharesOn};
pub(crate) use times::{LatencyLoad, ShareTimeInputs, reserved_on};

use crate::check::CheckProgress;
use crate::claim::Claim;

/// Derives all promises to classes that do not hold beside the latency contracts of a claim; faults of shares first, then by link.
/// Times are left out.
pub fn check_shares(
    claim: &Claim<'_>,
    classes: &Classes,
    closed: &BTreeSet<LinkId>,
    shares: &[PromisedShare],
) -> Vec<BrokenShare> {
    check_all_shares(claim, classes, closed, shares, None, &mut |_, _| {}).broken
}

/// Derives the times that do not hold: links where packets may wait longer than their budget, then minima that take
/// longer than stated.
pub fn check_times(
    claim: &Claim<'_>,
    classes: &Classes,
    closed: &BTreeSet<LinkId>,
    shares: &[PromisedShare],
    times: &ShareTimes,
) -> Vec<BrokenShare> {
    let all = check_all_shares(claim, classes, closed, shares, Some(times), &mut |_, _| {});
    all.broken.into_iter().filter(|one| matches!(one, BrokenShare::Wait { .. } | BrokenShare::Time { .. })).collect()
}

/// Results for all shares.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CheckedShares {
    /// Promises that do not hold: faults of shares first, then by link, then times.
    pub broken: Vec<BrokenShare>,
    /// Buffers that may be too small for the queued traffic of minima; none if times are not derived.
    pub short_buffers: Vec<ShortBuffer>,
}

impl CheckedShares {
    /// Compares buffers that are stated as too small with the derived ones, by link.
    pub fn compare_buffers(&self, network: &Network, stated: &[ShortBuffer]) -> Vec<BrokenShare> {
        let of = |all: &[ShortBuffer]| all.iter().map(|one| (one.link, one.needed)).collect::<BTreeMap<_, _>>();
        let (stated, derived) = (of(stated), of(&self.short_buffers));
        let links: BTreeSet<LinkId> = stated.keys().chain(derived.keys()).copied().collect();
        let broken = links.into_iter().filter_map(|link| {
            let (stated, derived) = (stated.get(&link).copied(), derived.get(&link).copied());
            // Both are rounded up, at different steps.
            let same = stated
                .zip(derived)
                .is_some_and(|(stated, derived)| stated == derived || stated == derived + Bytes::new(1));
            (!same).then(|| BrokenShare::Buffer { link: network.link(link).name.clone(), stated, derived })
        });
        broken.collect()
    }
}

/// Derives minima, weights and, if `times` are given, times and buffers in one pass; `progress` receives the number
/// of completed shares and the total.
pub fn check_all_shares(
    claim: &Claim<'_>,
    classes: &Classes,
    closed: &BTreeSet<LinkId>,
    shares: &[PromisedShare],
    times: Option<&ShareTimes>,
    progress: &mut CheckProgress<'_>,
) -> CheckedShares {
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
    CheckedShares { broken, short_buffers: held.short_buffers() }
}
