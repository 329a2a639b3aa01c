//! The shares of a whole tree, at once.

use alloc::vec::Vec;
use core::ops::Range;

use wayleave_units::Rate;

use crate::claim::{Claim, SiblingClaims};
use crate::level::{Level, level};
use crate::slope::Slope;
use crate::tree::{Inner, MAX_RATE, Tree, TreeNode};

/// Share of each node of a [`Tree`], and the memory to compute it: a value that is kept computes again without asking
/// for memory.
#[derive(Clone, Debug, Default)]
pub struct Shares {
    share: Vec<u64>,
    /// Demand of a node: a leaf's own, or that of its children together; at most its maximum.
    demand: Vec<u64>,
    /// `true` if it wants more than its maximum.
    hidden: Vec<bool>,
    /// Claims of the children of each inner node.
    sums: Vec<Sums>,
    claims: Vec<Claim>,
}

/// Claims of the children of a node together.
#[derive(Clone, Copy, Debug, Default)]
struct Sums {
    /// Everything.
    demand: u64,
    /// Their minima as far as they are wanted.
    floors: u64,
}

impl Shares {
    /// Computes the shares of a tree from the capacity of its contention point and the demand of each leaf. Of
    /// `demands`, in the order of nodes, only those of leaves count. Linear in the number of nodes.
    ///
    /// # Panics
    /// If there are not as many demands as nodes.
    pub fn compute(&mut self, tree: &Tree, capacity: Rate, demands: &[Rate]) {
        assert_eq!(demands.len(), tree.len(), "one demand for each node");
        // Every node but the root is a child, so all of the memory is overwritten.
        self.share.resize(tree.len(), 0);
        self.demand.resize(tree.len(), 0);
        self.hidden.resize(tree.len(), false);
        self.gather(tree, demands);
        self.share[0] = self.demand[0].min(capacity.bits_per_second());
        for (slot, inner) in tree.inner.iter().enumerate() {
            self.share_out(tree, inner, self.sums[slot]);
        }
    }

    /// Share of a node, in total.
    ///
    /// # Panics
    /// If the node is none of the tree that was computed.
    pub fn share(&self, node: TreeNode) -> Rate {
        Rate::from_bits_per_second(self.share[node.index()])
    }

    /// The limit of a node that wants more than it gets. `None`: it gets all that it wants, and is not to be rate-limited
    /// (Parley, section 3.2.2: a limit would only slow its flows down).
    pub fn limit(&self, node: TreeNode) -> Option<Rate> {
        let index = node.index();
        (self.hidden[index] || self.share[index] < self.demand[index]).then(|| self.share(node))
    }

    /// Demand of a node: its own or, of an inner node, that of its children together; at most its maximum.
    pub fn demand(&self, node: TreeNode) -> Rate {
        Rate::from_bits_per_second(self.demand[node.index()])
    }

    /// Bottom-up: computes the demand of each node, and the claims of the children of each.
    fn gather(&mut self, tree: &Tree, demands: &[Rate]) {
        let Self { demand, hidden, .. } = self;
        self.sums.clear();
        self.sums.extend(tree.inner.iter().map(|inner| {
            let mut sums = Sums::default();
            for run in inner.runs() {
                let kept = demand[run.clone()].iter_mut().zip(&mut hidden[run.clone()]);
                sums.add_leaves(tree, run.clone(), &demands[run], kept);
            }
            sums
        }));
        // A root without children is a leaf.
        self.cap(0, demands[0].bits_per_second(), tree.max[0]);
        for (slot, inner) in tree.inner.iter().enumerate().rev() {
            let node = inner.node as usize;
            let demand = self.cap(node, self.sums[slot].demand, tree.max[node]);
            if let Some(above) = tree.slot_above(inner) {
                self.sums[above].add(demand, tree.min[node]);
            }
        }
    }

    /// Holds what a node wants to its maximum.
    fn cap(&mut self, node: usize, wanted: u64, max: u64) -> u64 {
        self.demand[node] = capped(wanted, max);
        self.hidden[node] = self.demand[node] < wanted;
        self.demand[node]
    }

    /// Top-down: what the children of one node get of its share.
    fn share_out(&mut self, tree: &Tree, inner: &Inner, sums: Sums) {
        let Self { share, demand, claims, .. } = self;
        let available = share[inner.node as usize];
        if sums.demand <= available {
            for run in inner.runs() {
                share[run.clone()].copy_from_slice(&demand[run]);
            }
        } else if sums.floors > available {
            // No minimum is above their sum.
            let (weight, heaviest) = (tree.minima(inner), tree.minima(inner));
            let children = Children { tree, inner, demand, weight, heaviest, claim: |parts: Parts| parts.minimum };
            let water = level(available, &children, claims);
            let level = Level::new(water.amount, water.weight);
            children.hand_out(share, |parts| level.share(parts.minimum));
        } else {
            let (weight, heaviest) = (inner.weight, u64::from(inner.heaviest));
            let children = Children { tree, inner, demand, weight, heaviest, claim: |parts: Parts| parts.excess };
            let water = level(available - sums.floors, &children, claims);
            if let Some(slope) = Slope::exact(water, heaviest) {
                // As below, in fewer steps: the demand without its missing part.
                children.hand_out(share, |Parts { minimum, excess }| {
                    minimum.cap + excess.cap - excess.cap.saturating_sub(slope.of(excess.weight))
                });
            } else {
                let level = Level::new(water.amount, water.weight);
                children.hand_out(share, |parts| parts.minimum.cap + level.share(parts.excess));
            }
        }
    }
}

impl Sums {
    /// One more child.
    fn add(&mut self, demand: u64, min: u64) {
        self.demand = self.demand.saturating_add(demand);
        // Minima are at most `MAX_RATE` together.
        self.floors += demand.min(min);
    }

    /// Adds a run of children, as far as they are leaves, with the values kept of each. The demands of the others are
    /// not known yet.
    fn add_leaves<'a>(
        &mut self,
        tree: &Tree,
        run: Range<usize>,
        wanted: &[Rate],
        kept: impl Iterator<Item = (&'a mut u64, &'a mut bool)>,
    ) {
        let terms = tree.own_max[run.clone()].iter().zip(&tree.min[run]);
        for ((wanted, (&max, &min)), (demand, hidden)) in wanted.iter().zip(terms).zip(kept) {
            let wanted = wanted.bits_per_second();
            let held = wanted.min(max);
            (*demand, *hidden) = (held, held < wanted);
            self.add(held, min);
        }
    }
}

/// The children of a node, and which part of theirs is shared.
struct Children<'a, F> {
    tree: &'a Tree,
    inner: &'a Inner,
    demand: &'a [u64],
    weight: u64,
    heaviest: u64,
    claim: F,
}

impl<F> Children<'_, F> {
    fn parts(&self, run: Range<usize>) -> impl Iterator<Item = Parts> {
        let terms = self.tree.min[run.clone()].iter().zip(&self.tree.weight[run.clone()]);
        self.demand[run].iter().zip(terms).map(|(&demand, (&min, &weight))| Parts::new(demand, min, weight))
    }

    // Among the other loops of a computation this one has not enough registers.
    #[inline(never)]
    fn hand_out(&self, share: &mut [u64], part: impl Fn(Parts) -> u64) {
        for run in self.inner.runs() {
            let shares = share[run.clone()].iter_mut();
            shares.zip(self.parts(run)).for_each(|(share, parts)| *share = part(parts));
        }
    }
}

impl<F: Fn(Parts) -> Claim> SiblingClaims for Children<'_, F> {
    fn count(&self) -> usize {
        self.inner.count
    }

    fn weight(&self) -> u64 {
        self.weight
    }

    fn heaviest(&self) -> u64 {
        self.heaviest
    }

    fn claims(&self) -> impl Iterator<Item = Claim> {
        self.inner.runs().flat_map(|run| self.parts(run)).map(&self.claim)
    }

    fn sample(&self, stride: usize) -> impl Iterator<Item = Claim> {
        let parts = self.inner.sample(stride).flat_map(|child| self.parts(child..child + 1));
        parts.map(&self.claim)
    }
}

/// A demand as far as a maximum allows.
pub(crate) fn capped(wanted: u64, max: u64) -> u64 {
    wanted.min(max).min(MAX_RATE.bits_per_second())
}

/// Claims of a child to its parent's share: first its minimum, then its demand above that.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Parts {
    /// Served first; if there is too little for all, in proportion to the minima.
    pub(crate) minimum: Claim,
    /// Served from the rest, in proportion to the weights.
    pub(crate) excess: Claim,
}

impl Parts {
    pub(crate) fn new(demand: u64, min: u64, weight: u32) -> Self {
        let floor = demand.min(min);
        Self {
            minimum: Claim { cap: floor, weight: min },
            excess: Claim { cap: demand - floor, weight: u64::from(weight) },
        }
    }
}
