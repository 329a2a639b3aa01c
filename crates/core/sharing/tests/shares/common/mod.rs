//! Random trees, one for each case; a case is replayed by its number.

use std::num::NonZeroU32;

use rand::rngs::ChaCha8Rng;
use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng};
use wayleave_sharing::{ServiceTerms, Tree, TreeNode};
use wayleave_units::Rate;

/// A tree with the inputs of its shares.
#[derive(Clone, Debug)]
pub(crate) struct Case {
    pub(crate) parents: Vec<usize>,
    pub(crate) terms: Vec<ServiceTerms>,
    pub(crate) demands: Vec<Rate>,
    pub(crate) capacity: Rate,
}

impl Case {
    pub(crate) fn tree(&self) -> Tree {
        let mut tree = Tree::new(self.terms[0]).unwrap();
        for node in 1..self.parents.len() {
            let parent = tree.nodes().nth(self.parents[node]).unwrap();
            tree.add(parent, self.terms[node]).unwrap();
        }
        tree
    }

    pub(crate) fn children(&self, node: usize) -> Vec<usize> {
        (1..self.parents.len()).filter(|&child| self.parents[child] == node).collect()
    }

    /// The same tree, its nodes added in another order; where each of them now is.
    pub(crate) fn shuffled(&self, random: &mut ChaCha8Rng) -> (Self, Vec<usize>) {
        let mut order = vec![0];
        let mut open = self.children(0);
        while !open.is_empty() {
            open.shuffle(random);
            let node = open.pop().unwrap();
            order.push(node);
            open.extend(self.children(node));
        }
        let mut place = vec![0; order.len()];
        order.iter().enumerate().for_each(|(at, &node)| place[node] = at);
        let shuffled = Self {
            parents: order.iter().map(|&node| place[self.parents[node]]).collect(),
            terms: order.iter().map(|&node| self.terms[node]).collect(),
            demands: order.iter().map(|&node| self.demands[node]).collect(),
            capacity: self.capacity,
        };
        (shuffled, place)
    }
}

pub(crate) fn rate(bits: u64) -> Rate {
    Rate::from_bits_per_second(bits)
}

pub(crate) fn node(tree: &Tree, index: usize) -> TreeNode {
    tree.nodes().nth(index).unwrap()
}

/// Runs a check for every case, or for the one of `SHARING_CASE`.
pub(crate) fn cases(count: u64, check: impl Fn(&mut ChaCha8Rng)) {
    let only = std::env::var("SHARING_CASE").ok().map(|case| case.parse::<u64>().unwrap());
    for case in only.map_or(0..count, |case| case..case + 1) {
        // Printed with a failed test only.
        println!("case {case} (SHARING_CASE={case} cargo test -p wayleave-sharing replays it)");
        check(&mut ChaCha8Rng::seed_from_u64(case));
    }
}

/// A number of any size up to `most`, small ones as likely as large ones.
fn any_size(random: &mut ChaCha8Rng, most: u64) -> u64 {
    let bits = random.random_range(0..=most.ilog2());
    random.random_range(0..=most >> bits)
}

/// A tree of up to `nodes` nodes, with rates up to `most`.
pub(crate) fn case(random: &mut ChaCha8Rng, nodes: usize, most: u64) -> Case {
    let count = random.random_range(2..=nodes);
    // A few parents near the root, or anybody: flat and deep trees.
    let reach = if random.random_bool(0.5) { random.random_range(1..4) } else { count };
    let parents: Vec<usize> =
        (0..count).map(|n| if n == 0 { 0 } else { random.random_range(0..n.min(reach)) }).collect();
    let small = random.random_bool(0.5);
    let weight =
        |random: &mut ChaCha8Rng| if small { random.random_range(1..4) } else { random.random_range(1..=u32::MAX) };
    let mut terms = Vec::new();
    let mut demands = Vec::new();
    for _ in 0..count {
        let min = if random.random_bool(0.5) { 0 } else { any_size(random, most) };
        let max = random.random_bool(0.4).then(|| rate(min + any_size(random, most)));
        terms.push(ServiceTerms { min: rate(min), max, weight: NonZeroU32::new(weight(random)).unwrap() });
        demands.push(rate(any_size(random, most)));
    }
    let capacity = rate(any_size(random, most.saturating_mul(2)));
    Case { parents, terms, demands, capacity }
}
