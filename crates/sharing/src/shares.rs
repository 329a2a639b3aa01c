//! The shares of a whole tree, at once.

use alloc::vec::Vec;

use wayleave_units::Rate;

use crate::level::{Claim, level};
use crate::tree::{Inner, MAX_RATE, NodeId, Tree};

/// What each node of a [`Tree`] gets, and the memory to compute it: a value that is kept computes again without asking
/// for memory.
#[derive(Clone, Debug, Default)]
pub struct Shares {
    share: Vec<u64>,
    /// What a node wants: a leaf's demand, or what its children want together; at most its maximum.
    demand: Vec<u64>,
    /// Whether it wants more than its maximum.
    hidden: Vec<bool>,
    /// What the children of each inner node ask for.
    sums: Vec<Sums>,
    claims: Vec<Claim>,
}

/// What the children of a node ask for together.
#[derive(Clone, Copy, Debug, Default)]
struct Sums {
    /// Everything.
    demand: u64,
    /// Their minima as far as they are wanted.
    floors: u64,
}

impl Shares {
    /// Computes the shares of a tree from the capacity of its contention point and what each leaf wants. Of `demands`, in
    /// the order of nodes, only those of leaves count. Linear in the number of nodes.
    ///
    /// # Panics
    /// If there are not as many demands as nodes.
    pub fn compute(&mut self, tree: &Tree, capacity: Rate, demands: &[Rate]) {
        assert_eq!(demands.len(), tree.len(), "one demand for each node");
        // Every node but the root is somebody's child, so whatever is in the other memory is overwritten.
        self.demand.clear();
        self.demand.extend(demands.iter().map(|demand| demand.bits_per_second()));
        self.share.resize(tree.len(), 0);
        self.hidden.resize(tree.len(), false);
        self.sums.clear();
        self.sums.resize(tree.inner.len(), Sums::default());
        for (slot, inner) in tree.inner.iter().enumerate().rev() {
            self.sums[slot] = self.gather(tree, inner);
            self.demand[inner.node as usize] = self.sums[slot].demand;
        }
        self.cap(tree, Tree::ROOT.index());
        self.share[0] = self.demand[0].min(capacity.bits_per_second());
        for (slot, inner) in tree.inner.iter().enumerate() {
            self.share_out(tree, inner, self.sums[slot]);
        }
    }

    /// What a node gets, in total.
    ///
    /// # Panics
    /// If the node is none of the tree that was computed.
    pub fn share(&self, node: NodeId) -> Rate {
        Rate::from_bits_per_second(self.share[node.index()])
    }

    /// The limit of a node that wants more than it gets. `None`: it gets all that it wants, and is not to be rate-limited
    /// (Parley, section 3.2.2: a limit would only slow its flows down).
    pub fn limit(&self, node: NodeId) -> Option<Rate> {
        let index = node.index();
        (self.hidden[index] || self.share[index] < self.demand[index]).then(|| self.share(node))
    }

    /// What a node wants: its demand or, of an inner node, what its children want together; at most its maximum.
    pub fn demand(&self, node: NodeId) -> Rate {
        Rate::from_bits_per_second(self.demand[node.index()])
    }

    /// Bottom-up: what the children of one node ask for.
    fn gather(&mut self, tree: &Tree, inner: &Inner) -> Sums {
        let mut sums = Sums::default();
        for &child in &inner.children {
            let child = child as usize;
            let demand = self.cap(tree, child);
            sums.demand = sums.demand.saturating_add(demand);
            // Minima are at most `MAX_RATE` together.
            sums.floors += demand.min(tree.min[child]);
        }
        sums
    }

    /// Holds a node's demand to its maximum.
    fn cap(&mut self, tree: &Tree, node: usize) -> u64 {
        let wanted = self.demand[node];
        self.demand[node] = capped(wanted, tree.max[node]);
        self.hidden[node] = self.demand[node] < wanted;
        self.demand[node]
    }

    /// Top-down: what the children of one node get of its share.
    fn share_out(&mut self, tree: &Tree, inner: &Inner, sums: Sums) {
        let Self { share, demand, claims, .. } = self;
        let children = || inner.children.iter().map(|&child| child as usize);
        let available = share[inner.node as usize];
        let parts = |child: usize| Parts::new(demand[child], tree.min[child], tree.weight[child]);
        if sums.demand <= available {
            for child in children() {
                share[child] = demand[child];
            }
            return;
        }
        if sums.floors > available {
            let minima = children().map(|child| parts(child).minimum);
            let level = level(available, tree.minima(inner), minima, claims);
            for child in children() {
                share[child] = level.share(parts(child).minimum);
            }
        } else {
            let excess = children().map(|child| parts(child).excess);
            let level = level(available - sums.floors, inner.weight, excess, claims);
            for child in children() {
                let parts = parts(child);
                share[child] = parts.minimum.cap + level.share(parts.excess);
            }
        }
    }
}

/// A demand as far as a maximum allows.
pub(crate) fn capped(wanted: u64, max: u64) -> u64 {
    wanted.min(max).min(MAX_RATE.bits_per_second())
}

/// What a child asks of its parent's share: first its minimum, then what it wants above it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Parts {
    /// Served first; if there is too little for all, in proportion to the minima.
    pub(crate) minimum: Claim,
    /// Served from what then remains, in proportion to the weights.
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
