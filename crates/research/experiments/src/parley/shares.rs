//! Times of the computation of shares, as Table 2 and `wayleave bench sharing` want them.
//!
//! Parley's Table 2 has 2 us, 12 us, 320 us and 1.6 ms for 100 to 100,000 services on one level.

use std::hint::black_box;
use std::num::NonZeroU32;
use std::time::{Duration, Instant};

use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};
use wayleave_sharing::{LiveShares, ServiceTerms, Shares, Tree, TreeError, TreeNode};
use wayleave_units::Rate;

/// One tree.
#[derive(Clone, Copy, Debug)]
pub struct ShareCase {
    /// As it is called on the command line.
    pub name: &'static str,
    /// Services that share, the leaves.
    pub services: usize,
    /// Below the root.
    pub levels: u32,
}

/// Table 2 of Parley, and trees of 100,000 services on two and four levels.
pub const SHARE_CASES: &[ShareCase] = &[
    case("flat-100", 100, 1),
    case("flat-1k", 1_000, 1),
    case("flat-10k", 10_000, 1),
    case("flat-100k", 100_000, 1),
    case("tree2-100k", 100_000, 2),
    case("tree4-100k", 100_000, 4),
];

const fn case(name: &'static str, services: usize, levels: u32) -> ShareCase {
    ShareCase { name, services, levels }
}

/// The capacity in Table 2's remark.
const CAPACITY: Rate = Rate::from_gbit(80);

/// Average demand of all services together, in per cent of the capacity. Maxima reduce it, so that the load is close
/// to the capacity, as in Table 2.
const LOAD_PERCENT: u64 = 120;

/// Computations for each figure.
const ROUNDS: usize = 200;

/// Changes for each figure.
const UPDATES: u32 = 10_000;

/// Durations of a case.
#[derive(Clone, Debug, PartialEq)]
pub struct ShareTimes {
    /// Each computation of all shares, shortest first.
    pub computations: Vec<Duration>,
    /// Average time of one changed demand and one share that is read.
    pub update: Duration,
    /// Services that share.
    pub services: usize,
    /// The demands together, of the set with the least, as a part of the capacity.
    pub least_load: f64,
    /// Services that got less than they want, of the last set.
    pub limited: usize,
    /// Of the textbook's water-filling on one level, with demands in steps of 1 Mbit/s; of the last set.
    pub iterations: u64,
}

/// Measures a case.
///
/// # Errors
/// If a tree cannot be built, which no case has been seen to do.
pub fn time_shares(case: ShareCase, seed: u64) -> Result<ShareTimes, TreeError> {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let tree = tree(case, &mut random)?;
    let leaves: Vec<TreeNode> = tree.nodes().filter(|&node| tree.is_leaf(node)).collect();
    // Up to twice the mean.
    let most = 2 * CAPACITY.bits_per_second() / leaves.len() as u64 * LOAD_PERCENT / 100;
    let mut demand = || Rate::from_bits_per_second(random.random_range(0..=most));
    let mut demands = vec![Rate::ZERO; tree.len()];
    let mut shares = Shares::default();
    let mut least_load = f64::INFINITY;
    let mut times = Vec::new();
    for _ in 0..ROUNDS {
        leaves.iter().for_each(|leaf| demands[leaf.index()] = demand());
        let start = Instant::now();
        shares.compute(black_box(&tree), CAPACITY, black_box(&demands));
        times.push(start.elapsed());
        let load = shares.demand(Tree::ROOT).bits_per_second() as f64 / CAPACITY.bits_per_second() as f64;
        least_load = least_load.min(load);
    }
    let limited = leaves.iter().filter(|&&leaf| shares.limit(leaf).is_some()).count();
    times.sort_unstable();
    let iterations = iterations(leaves.iter().map(|leaf| demands[leaf.index()]));

    let mut live = LiveShares::new(tree, CAPACITY, &demands);
    let start = Instant::now();
    for update in 0..UPDATES {
        // Steps over all services, far from one another.
        let leaf = leaves[(u64::from(update) * 2_654_435_761 % leaves.len() as u64) as usize];
        live.set_demand(leaf, demand());
        black_box(live.share(leaf));
    }
    let update = start.elapsed() / UPDATES;
    Ok(ShareTimes { computations: times, update, services: leaves.len(), least_load, limited, iterations })
}

/// Returns the number of iterations of water-filling, where each one satisfies the services with the smallest
/// remaining demand (Bertsekas and Gallager, 6.5.2), with demands rounded up to 1 Mbit/s.
fn iterations(demands: impl Iterator<Item = Rate>) -> u64 {
    let mut steps: Vec<u64> = demands.map(|demand| demand.bits_per_second().div_ceil(1_000_000)).collect();
    steps.sort_unstable();
    let (mut left, mut level, mut among) = (CAPACITY.bits_per_second() / 1_000_000, 0, steps.len() as u64);
    let mut done = 0;
    for satisfied in steps.chunk_by(|one, other| one == other) {
        done += 1;
        let more = (satisfied[0] - level) * among;
        if more >= left {
            break;
        }
        (left, level, among) = (left - more, satisfied[0], among - satisfied.len() as u64);
    }
    done
}

/// Returns a tree in which all inner nodes have one number of children, up to one. Weights are from 1 to 8; a quarter
/// of the nodes has a minimum, and a quarter a maximum, around their average share.
fn tree(case: ShareCase, random: &mut ChaCha8Rng) -> Result<Tree, TreeError> {
    let mut tree = Tree::new(ServiceTerms::default())?;
    let mut above = vec![Tree::ROOT];
    for level in 1..=case.levels {
        let nodes = (case.services as f64).powf(f64::from(level) / f64::from(case.levels)).round() as usize;
        let mean = CAPACITY.bits_per_second() / nodes as u64;
        let mut here = Vec::with_capacity(nodes);
        for node in 0..nodes {
            let part = |random: &mut ChaCha8Rng, most: u64| Rate::from_bits_per_second(random.random_range(0..=most));
            let mut terms = ServiceTerms {
                weight: NonZeroU32::MIN.saturating_add(random.random_range(0..8)),
                ..ServiceTerms::default()
            };
            match random.random_range(0..4) {
                0 => terms.min = part(random, mean),
                1 => terms.max = Some(part(random, 2 * mean)),
                _ => {}
            }
            here.push(tree.add(above[node * above.len() / nodes], terms)?);
        }
        above = here;
    }
    Ok(tree)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_iteration_satisfies_all_of_the_smallest_demand_until_nothing_is_left() {
        let of = |mbit: &[u64]| iterations(mbit.iter().copied().map(Rate::from_mbit));
        assert_eq!([of(&[1, 2, 2, 3]), of(&[]), of(&[100_000])], [3, 0, 1]);
        // 20 Gbit/s each, of which two need less: the third iteration gives the rest to those that need more.
        assert_eq!(of(&[1_000, 2_000, 60_000, 70_000]), 3);
    }
}
