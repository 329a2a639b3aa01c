//! The services of one contention point as a tree, and the terms of each.

use alloc::vec;
use alloc::vec::Vec;
use core::num::NonZeroU32;
use core::ops::Range;

use wayleave_units::Rate;

/// The largest capacity, maximum or sum of minima: 2^56 bit/s, 72 Pbit/s. Demands above it count as this much. It bounds
/// every product of the computation: a share times a sum of weights is below 2^120.
pub const MAX_RATE: Rate = Rate::from_bits_per_second(1 << 56);

/// Entitlement of a service in one direction at one contention point (Parley, section 3.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ServiceTerms {
    /// Guaranteed whenever it is wanted. The default is 0, no guarantee.
    pub min: Rate,
    /// Never exceeded. The default is `None`, no limit.
    pub max: Option<Rate>,
    /// The part of the excess, relative to its siblings. The default is 1.
    pub weight: NonZeroU32,
}

impl Default for ServiceTerms {
    fn default() -> Self {
        Self { min: Rate::ZERO, max: None, weight: NonZeroU32::MIN }
    }
}

/// A node of a [`Tree`]. Nodes are numbered in the order in which they were added; a parent is before its children.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TreeNode(u32);

impl TreeNode {
    /// Its number, from 0 for the root.
    pub const fn index(self) -> usize {
        self.0 as usize
    }

    pub(crate) const fn of(index: usize) -> Self {
        Self(index as u32)
    }
}

/// Errors in a node.
#[derive(thiserror::Error, Clone, Copy, Debug, PartialEq, Eq)]
pub enum TreeError {
    /// The parent is no node of this tree.
    #[error("the tree has no node {}: a parent is added first", .0.0)]
    UnknownParent(TreeNode),
    /// The maximum is below the minimum.
    #[error("the maximum {max} is below the minimum {min}: raise the one or lower the other")]
    MaxBelowMin {
        /// The minimum.
        min: Rate,
        /// The maximum.
        max: Rate,
    },
    /// The minima of one node's children are together above [`MAX_RATE`].
    #[error("the minima of the children of node {} are above {MAX_RATE} together", .parent.0)]
    Minima {
        /// The node.
        parent: TreeNode,
    },
    /// There are 2^32 nodes already.
    #[error("the tree has 2^32 nodes already")]
    Full,
}

/// Services under one contention point, with their parents and terms.
///
/// It cannot have a loop, because a parent is always added before its children.
#[derive(Clone, Debug)]
pub struct Tree {
    pub(crate) parent: Vec<u32>,
    pub(crate) min: Vec<u64>,
    /// [`MAX_RATE`] where there is none.
    pub(crate) max: Vec<u64>,
    /// Largest part of a node's own demand that counts: the maximum of a leaf, and nothing of a node that has
    /// children.
    pub(crate) own_max: Vec<u64>,
    pub(crate) weight: Vec<u32>,
    /// The sum of the children's minima.
    minima: Vec<u64>,
    /// Index of a node in `inner`; [`LEAF`] if it has none.
    slot: Vec<u32>,
    /// The nodes that have children, parents first: a node is here from its first child on.
    pub(crate) inner: Vec<Inner>,
}

/// No place in `Tree::inner`.
const LEAF: u32 = u32::MAX;

/// A node that has children.
#[derive(Clone, Debug)]
pub(crate) struct Inner {
    pub(crate) node: u32,
    /// The children by their numbers. Those with consecutive numbers are one run, which is a slice of the values kept
    /// of all nodes.
    runs: Vec<Range<u32>>,
    /// Number of children.
    pub(crate) count: usize,
    /// The sum of the children's weights.
    pub(crate) weight: u64,
    /// No child has, or had, a larger weight.
    pub(crate) heaviest: u32,
}

impl Inner {
    fn of(node: u32) -> Self {
        Self { node, runs: Vec::new(), count: 0, weight: 0, heaviest: 0 }
    }

    fn push(&mut self, child: u32, weight: NonZeroU32) {
        match self.runs.last_mut() {
            Some(run) if run.end == child => run.end += 1,
            _ => self.runs.push(child..child + 1),
        }
        self.count += 1;
        self.weight += u64::from(weight.get());
        self.heaviest = self.heaviest.max(weight.get());
    }

    /// The children, run by run.
    pub(crate) fn runs(&self) -> impl Iterator<Item = Range<usize>> + Clone {
        self.runs.iter().map(|run| run.start as usize..run.end as usize)
    }

    /// One child of each `stride`. Its place in the stride differs, because children may come in an order with a period.
    pub(crate) fn sample(&self, stride: usize) -> impl Iterator<Item = usize> {
        let mut children = self.runs().flatten();
        let mut passed = 0;
        (0..self.count / stride).filter_map(move |step| {
            // The fractions of the multiples of the golden ratio are spread evenly (Knuth, volume 3, section 6.4).
            let fraction = (step as u32).wrapping_mul(2_654_435_769);
            let place = (u64::from(fraction) * stride as u64) >> 32;
            let skipped = step * stride + place as usize - passed;
            passed += skipped + 1;
            children.nth(skipped)
        })
    }
}

impl Tree {
    /// The contention point itself.
    pub const ROOT: TreeNode = TreeNode(0);

    /// A tree of the root alone. The root's maximum limits the load of the contention point; its minimum and its weight
    /// mean nothing.
    ///
    /// # Errors
    /// If the root's maximum is below its minimum.
    pub fn new(root: ServiceTerms) -> Result<Self, TreeError> {
        check(root)?;
        Ok(Self {
            parent: vec![0],
            min: vec![root.min.bits_per_second()],
            max: vec![limit(root.max)],
            own_max: vec![limit(root.max)],
            weight: vec![root.weight.get()],
            minima: vec![0],
            slot: vec![LEAF],
            inner: Vec::new(),
        })
    }

    /// Adds a service below another.
    ///
    /// # Errors
    /// [`TreeError`]; the tree is as it was.
    pub fn add(&mut self, parent: TreeNode, terms: ServiceTerms) -> Result<TreeNode, TreeError> {
        check(terms)?;
        let index = u32::try_from(self.len()).ok().filter(|&index| index < u32::MAX).ok_or(TreeError::Full)?;
        let minima = self.minima.get_mut(parent.index()).ok_or(TreeError::UnknownParent(parent))?;
        *minima = sum_of_minima(*minima, 0, terms.min).ok_or(TreeError::Minima { parent })?;
        self.add_child(parent, index, terms.weight);
        self.parent.push(parent.0);
        self.min.push(terms.min.bits_per_second());
        self.max.push(limit(terms.max));
        self.own_max.push(limit(terms.max));
        self.weight.push(terms.weight.get());
        self.minima.push(0);
        self.slot.push(LEAF);
        Ok(TreeNode(index))
    }

    fn add_child(&mut self, parent: TreeNode, child: u32, weight: NonZeroU32) {
        let slot = &mut self.slot[parent.index()];
        if *slot == LEAF {
            // Fewer than 2^32 nodes have children.
            *slot = self.inner.len() as u32;
            self.inner.push(Inner::of(parent.0));
            self.own_max[parent.index()] = 0;
        }
        self.inner[*slot as usize].push(child, weight);
    }

    /// Other terms for a node from now on.
    ///
    /// # Errors
    /// [`TreeError`]; the tree is as it was.
    ///
    /// # Panics
    /// If the node is none of this tree.
    pub fn set_terms(&mut self, node: TreeNode, terms: ServiceTerms) -> Result<(), TreeError> {
        check(terms)?;
        let at = node.index();
        if node != Self::ROOT {
            let parent = self.parent[at] as usize;
            let minima = sum_of_minima(self.minima[parent], self.min[at], terms.min);
            self.minima[parent] = minima.ok_or(TreeError::Minima { parent: TreeNode::of(parent) })?;
            let inner = &mut self.inner[self.slot[parent] as usize];
            inner.weight = inner.weight - u64::from(self.weight[at]) + u64::from(terms.weight.get());
            inner.heaviest = inner.heaviest.max(terms.weight.get());
        }
        self.min[at] = terms.min.bits_per_second();
        self.max[at] = limit(terms.max);
        self.own_max[at] = if self.is_leaf(node) { self.max[at] } else { 0 };
        self.weight[at] = terms.weight.get();
        Ok(())
    }

    /// The terms of a node.
    ///
    /// # Panics
    /// If the node is none of this tree.
    pub fn terms(&self, node: TreeNode) -> ServiceTerms {
        let at = node.index();
        let max = Some(Rate::from_bits_per_second(self.max[at])).filter(|&max| max < MAX_RATE);
        // Weights come from `Terms` and are not zero.
        let weight = NonZeroU32::new(self.weight[at]).unwrap_or(NonZeroU32::MIN);
        ServiceTerms { min: Rate::from_bits_per_second(self.min[at]), max, weight }
    }

    /// Number of nodes, the root included.
    #[expect(clippy::len_without_is_empty, reason = "a tree is never empty: it has its root")]
    pub fn len(&self) -> usize {
        self.parent.len()
    }

    /// The parent of a node that is not the root.
    pub fn parent(&self, node: TreeNode) -> Option<TreeNode> {
        (node != Self::ROOT).then(|| TreeNode(self.parent[node.index()]))
    }

    /// Returns `true` if nothing is below a node, so that it has a demand of its own.
    pub fn is_leaf(&self, node: TreeNode) -> bool {
        self.slot[node.index()] == LEAF
    }

    /// Index of the parent of a node in `inner`, if it has one.
    pub(crate) fn slot_above(&self, inner: &Inner) -> Option<usize> {
        (inner.node > 0).then(|| self.slot[self.parent[inner.node as usize] as usize] as usize)
    }

    /// The sum of the minima of a node's children.
    pub(crate) fn minima(&self, inner: &Inner) -> u64 {
        self.minima[inner.node as usize]
    }

    /// All nodes, parents first.
    pub fn nodes(&self) -> impl Iterator<Item = TreeNode> + use<> {
        (0..self.len()).map(TreeNode::of)
    }
}

fn check(terms: ServiceTerms) -> Result<(), TreeError> {
    match terms.max {
        Some(max) if max < terms.min => Err(TreeError::MaxBelowMin { min: terms.min, max }),
        _ => Ok(()),
    }
}

/// A maximum as a number: no limit is the largest.
fn limit(max: Option<Rate>) -> u64 {
    max.map_or(MAX_RATE, |max| max.min(MAX_RATE)).bits_per_second()
}

/// A sum of minima in which one takes the place of another, if it is not too large.
fn sum_of_minima(sum: u64, old: u64, new: Rate) -> Option<u64> {
    (sum - old).checked_add(new.bits_per_second()).filter(|&sum| sum <= MAX_RATE.bits_per_second())
}
