//! `wayleave bench sharing`: the shares of a tree of services, at once and while demands change.
//!
//! Parley's Table 2 has 2 us, 12 us, 320 us and 1.6 ms for 100 to 100,000 services on one level.

use std::hint::black_box;
use std::num::NonZeroU32;
use std::time::{Duration, Instant};

use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};
use wayleave_sharing::{LiveShares, NodeId, Shares, Terms, Tree};
use wayleave_units::Rate;

use super::{Metric, peak_rss_mb};

/// One tree.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Case {
    /// As it is called on the command line.
    pub(crate) name: &'static str,
    services: usize,
    levels: u32,
}

/// Table 2 of Parley, and trees of 100,000 services on two and four levels.
pub(crate) const CASES: &[Case] = &[
    case("flat-100", 100, 1),
    case("flat-1k", 1_000, 1),
    case("flat-10k", 10_000, 1),
    case("flat-100k", 100_000, 1),
    case("tree2-100k", 100_000, 2),
    case("tree4-100k", 100_000, 4),
];

const fn case(name: &'static str, services: usize, levels: u32) -> Case {
    Case { name, services, levels }
}

/// The capacity in Table 2's remark.
const CAPACITY: Rate = Rate::from_gbit(80);

/// The demands of all services together in the mean, in per cent of the capacity. Maxima take some of it away, so that the load is
/// close to the capacity, as in Table 2.
const LOAD_PERCENT: u64 = 120;

/// Computations for each figure.
const ROUNDS: usize = 200;

/// Changes for each figure.
const UPDATES: u32 = 10_000;

/// Runs a case.
pub(crate) fn run(case: Case, seed: u64) -> Result<Vec<Metric>, String> {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let tree = tree(case, &mut random).map_err(|error| error.to_string())?;
    let leaves: Vec<NodeId> = tree.nodes().filter(|&node| tree.is_leaf(node)).collect();
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

    let mut live = LiveShares::new(tree, CAPACITY, &demands);
    let start = Instant::now();
    for update in 0..UPDATES {
        // Steps over all services, far from one another.
        let leaf = leaves[(u64::from(update) * 2_654_435_761 % leaves.len() as u64) as usize];
        live.set_demand(leaf, demand());
        black_box(live.share(leaf));
    }
    let update = start.elapsed() / UPDATES;
    Ok(vec![
        Metric::new("ms", milliseconds(times[ROUNDS / 2]), "ms"),
        Metric::new("min_ms", milliseconds(times[0]), "ms"),
        Metric::new("p99_ms", milliseconds(times[ROUNDS * 99 / 100]), "ms"),
        Metric::new("update", milliseconds(update), "ms"),
        Metric::new("services", leaves.len() as f64, "services"),
        Metric::new("least_load_percent", 100.0 * least_load, "%"),
        Metric::new("limited", limited as f64, "services"),
        Metric::new("rss_mb", peak_rss_mb().unwrap_or(f64::NAN), "MB"),
    ])
}

fn milliseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

/// Every inner node has the same number of children, up to one. Weights are from 1 to 8; a quarter of the nodes has a minimum, and a
/// quarter a maximum, around what is theirs in the mean.
fn tree(case: Case, random: &mut ChaCha8Rng) -> Result<Tree, wayleave_sharing::TreeError> {
    let mut tree = Tree::new(Terms::default())?;
    let mut above = vec![Tree::ROOT];
    for level in 1..=case.levels {
        let nodes = (case.services as f64).powf(f64::from(level) / f64::from(case.levels)).round() as usize;
        let mean = CAPACITY.bits_per_second() / nodes as u64;
        let mut here = Vec::with_capacity(nodes);
        for node in 0..nodes {
            let part = |random: &mut ChaCha8Rng, most: u64| Rate::from_bits_per_second(random.random_range(0..=most));
            let mut terms =
                Terms { weight: NonZeroU32::MIN.saturating_add(random.random_range(0..8)), ..Terms::default() };
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
