//! One direction of a machine's line: the tree of its classes and their shares.

use std::collections::BTreeMap;
use std::num::NonZeroU32;

use wayleave_scheme_api::{ClassId, Share};
use wayleave_sharing::{MAX_RATE, ServiceTerms, Shares, Tree, TreeError, TreeNode};
use wayleave_units::Rate;

/// Returns the terms of a class under the rate that a broker allows.
pub(super) fn terms(share: Share, allowed: Option<Rate>) -> ServiceTerms {
    let max = least(share.max, allowed);
    let min = max.map_or(share.min, |max| max.min(share.min)).min(MAX_RATE);
    ServiceTerms { min, max, weight: NonZeroU32::new(share.weight).unwrap_or(NonZeroU32::MIN) }
}

/// The smaller of two limits, where `None` is no limit.
pub(super) fn least(one: Option<Rate>, other: Option<Rate>) -> Option<Rate> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.min(other)),
        (one, other) => one.or(other),
    }
}

/// The shares of one direction.
#[derive(Clone, Debug)]
pub(super) struct Side {
    capacity: Rate,
    tree: Tree,
    /// The leaf of each class, by its place.
    leaves: Vec<TreeNode>,
    demands: Vec<Rate>,
    shares: Shares,
    /// Of questions what would be.
    trial: Shares,
}

impl Side {
    /// Without classes.
    pub(super) fn new(capacity: Rate) -> Result<Self, TreeError> {
        let tree = Tree::new(ServiceTerms::default())?;
        let demands = vec![Rate::ZERO; tree.len()];
        let (shares, trial) = (Shares::default(), Shares::default());
        Ok(Self { capacity, tree, leaves: Vec::new(), demands, shares, trial })
    }

    /// Returns the rate to share.
    pub(super) const fn capacity(&self) -> Rate {
        self.capacity
    }

    /// Another capacity, which counts when the line is shared out next.
    pub(super) fn set_capacity(&mut self, capacity: Rate) {
        self.capacity = capacity;
    }

    /// Builds the tree of these classes again, with zero demands. A class that has parts gets a leaf of its own
    /// beside them, with the default terms. A minimum that does not fit beside the others counts as none.
    pub(super) fn rebuild(&mut self, classes: &[(ClassId, ServiceTerms)], parents: &[(ClassId, ClassId)]) {
        let Ok(tree) = Tree::new(ServiceTerms::default()) else { return };
        self.tree = tree;
        let places: BTreeMap<ClassId, usize> = classes.iter().enumerate().map(|(at, &(id, _))| (id, at)).collect();
        let parent_of = |class: ClassId| {
            let parent = parents.iter().find(|&&(part, _)| part == class)?.1;
            places.get(&parent).copied()
        };
        let mut nodes: Vec<Option<TreeNode>> = vec![None; classes.len()];
        for place in 0..classes.len() {
            self.grow(classes, &parent_of, &mut nodes, place);
        }
        let mut has_parts = vec![false; classes.len()];
        parents.iter().filter_map(|(_, parent)| places.get(parent)).for_each(|&parent| has_parts[parent] = true);
        self.leaves.clear();
        for (node, has_parts) in nodes.iter().zip(has_parts) {
            let node = node.unwrap_or(Tree::ROOT);
            let leaf = if has_parts { self.tree.add(node, ServiceTerms::default()).unwrap_or(node) } else { node };
            self.leaves.push(leaf);
        }
        self.demands.clear();
        self.demands.resize(self.tree.len(), Rate::ZERO);
    }

    /// Adds a class, and before it the classes that contain it. In a loop of parts one class is placed at the top.
    fn grow(
        &mut self,
        classes: &[(ClassId, ServiceTerms)],
        parent_of: &impl Fn(ClassId) -> Option<usize>,
        nodes: &mut [Option<TreeNode>],
        place: usize,
    ) {
        let mut path = vec![place];
        while let Some(parent) = path.last().and_then(|&part| parent_of(classes[part].0)) {
            if nodes[parent].is_some() || path.contains(&parent) {
                break;
            }
            path.push(parent);
        }
        for part in path.into_iter().rev().filter(|&part| nodes[part].is_none()).collect::<Vec<_>>() {
            let (class, terms) = classes[part];
            let parent = parent_of(class).and_then(|parent| nodes[parent]).unwrap_or(Tree::ROOT);
            let added = self.tree.add(parent, terms);
            let added = added.or_else(|_| self.tree.add(parent, ServiceTerms { min: Rate::ZERO, ..terms }));
            nodes[part] = added.ok();
        }
    }

    /// A class is taken to want this from now on.
    pub(super) fn want(&mut self, place: usize, demand: Rate) {
        let leaf = self.leaves[place];
        if leaf != Tree::ROOT {
            self.demands[leaf.index()] = demand;
        }
    }

    /// Shares the line out.
    pub(super) fn share_out(&mut self) {
        self.shares.compute(&self.tree, self.capacity, &self.demands);
    }

    /// The limit of a class that wants more than it gets; `None` if it wants no more. After [`Self::share_out`].
    pub(super) fn limit(&self, place: usize) -> Option<Rate> {
        self.shares.limit(self.leaves[place])
    }

    /// Returns the maximum rate of a class: its limit, or its potential share. To be called after
    /// [`Self::share_out`].
    pub(super) fn ceiling(&mut self, place: usize) -> Rate {
        match self.limit(place) {
            // A class with a limit gets no more from a higher demand.
            Some(limit) => limit,
            None => self.potential(place),
        }
    }

    /// Returns the share of a class with unlimited demand, while the others keep their demands.
    pub(super) fn potential(&mut self, place: usize) -> Rate {
        let leaf = self.leaves[place];
        let wanted = std::mem::replace(&mut self.demands[leaf.index()], MAX_RATE);
        self.trial.compute(&self.tree, self.capacity, &self.demands);
        self.demands[leaf.index()] = wanted;
        self.trial.share(leaf)
    }
}
