//! Shares while demands change one by one.
//!
//! One changed demand can change every share. So nothing is stored but demands and an ordered index of the children of each node; a
//! share is computed when it is asked for, from the root down to the one node. A change goes up the path from its leaf, and ends
//! where a maximum hides it.

use alloc::vec::Vec;

use wayleave_units::Rate;

use crate::index::Index;
use crate::shares::{Parts, capped};
use crate::tree::{Tree, TreeNode};

/// The shares of a tree, kept up to date. For n siblings a change costs about the square root of n steps on each node of the
/// path, and so does reading a share; the shares are those that [`crate::Shares`] computes.
#[derive(Clone, Debug)]
pub struct LiveShares {
    tree: Tree,
    capacity: u64,
    /// Demand of each node, before its maximum.
    wanted: Vec<u128>,
    /// The children of each node.
    below: Vec<Below>,
}

/// The children of one node: what they ask for.
#[derive(Clone, Debug, Default)]
struct Below {
    minima: Index,
    excess: Index,
}

impl LiveShares {
    /// From a tree, the capacity of its contention point and the demand of each leaf, in the order of nodes. It sorts
    /// the children of each node.
    ///
    /// # Panics
    /// If there are not as many demands as nodes.
    pub fn new(tree: Tree, capacity: Rate, demands: &[Rate]) -> Self {
        assert_eq!(demands.len(), tree.len(), "one demand for each node");
        let mut wanted: Vec<u128> = alloc::vec![0; tree.len()];
        let mut parts: Vec<Vec<(u32, Parts)>> = alloc::vec![Vec::new(); tree.len()];
        for node in (0..tree.len()).rev() {
            if tree.is_leaf(TreeNode::of(node)) {
                wanted[node] = u128::from(demands[node].bits_per_second());
            }
            if node > 0 {
                let demand = demand(&tree, node, wanted[node]);
                let parent = tree.parent[node] as usize;
                wanted[parent] += u128::from(demand);
                parts[parent].push((node as u32, Parts::new(demand, tree.min[node], tree.weight[node])));
            }
        }
        let below = parts.iter().map(|parts| Below {
            minima: Index::new(parts.iter().map(|&(child, parts)| (child, parts.minimum))),
            excess: Index::new(parts.iter().map(|&(child, parts)| (child, parts.excess))),
        });
        let below = below.collect();
        Self { tree, capacity: capacity.bits_per_second(), wanted, below }
    }

    /// The tree.
    pub fn tree(&self) -> &Tree {
        &self.tree
    }

    /// Another capacity from now on.
    pub fn set_capacity(&mut self, capacity: Rate) {
        self.capacity = capacity.bits_per_second();
    }

    /// A leaf wants something else.
    ///
    /// # Panics
    /// If the node is no leaf of the tree.
    pub fn set_demand(&mut self, leaf: TreeNode, wanted: Rate) {
        assert!(self.tree.is_leaf(leaf), "an inner node wants what its children want");
        let mut node = leaf.index();
        let mut wanted = u128::from(wanted.bits_per_second());
        loop {
            let before = demand(&self.tree, node, self.wanted[node]);
            let after = demand(&self.tree, node, wanted);
            self.wanted[node] = wanted;
            if before == after || node == 0 {
                return;
            }
            let parent = self.tree.parent[node] as usize;
            let parts = |demand: u64| Parts::new(demand, self.tree.min[node], self.tree.weight[node]);
            let (old, new) = (parts(before), parts(after));
            let below = &mut self.below[parent];
            below.minima.replace(node as u32, old.minimum, new.minimum);
            below.excess.replace(node as u32, old.excess, new.excess);
            wanted = self.wanted[parent] - u128::from(before) + u128::from(after);
            node = parent;
        }
    }

    /// Share of a node, in total.
    pub fn share(&self, node: TreeNode) -> Rate {
        Rate::from_bits_per_second(self.share_of(node.index()))
    }

    /// The limit of a node that wants more than it gets, as [`crate::Shares::limit`].
    pub fn limit(&self, node: TreeNode) -> Option<Rate> {
        let share = self.share(node);
        (u128::from(share.bits_per_second()) < self.wanted[node.index()]).then_some(share)
    }

    fn share_of(&self, node: usize) -> u64 {
        let demand = demand(&self.tree, node, self.wanted[node]);
        if node == 0 {
            return demand.min(self.capacity);
        }
        let parent = self.tree.parent[node] as usize;
        let available = self.share_of(parent);
        if self.wanted[parent] <= u128::from(available) {
            return demand;
        }
        let parts = Parts::new(demand, self.tree.min[node], self.tree.weight[node]);
        let Below { minima, excess } = &self.below[parent];
        match u128::from(available).checked_sub(minima.caps()) {
            // The rest of a `u64`.
            Some(left) => parts.minimum.cap + excess.level(left as u64).share(parts.excess),
            None => minima.level(available).share(parts.minimum),
        }
    }
}

/// Demand of a node to its parent.
fn demand(tree: &Tree, node: usize, wanted: u128) -> u64 {
    capped(u64::try_from(wanted).unwrap_or(u64::MAX), tree.max[node])
}
