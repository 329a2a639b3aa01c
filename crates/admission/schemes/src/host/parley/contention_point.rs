//! A contention point with all its sharers: the machines of a rack, or the racks of the fabric, each with all
//! services.

use std::collections::{BTreeMap, HashMap};

use wayleave_contracts::{ContentionPoint, Direction, PointTree, Policy, PolicyError, PolicyLevel};
use wayleave_scheme_api::ClassId;
use wayleave_sharing::{ServiceTerms, Tree, TreeError, TreeNode as Node};
use wayleave_topology::{Network, NodeId};
use wayleave_units::{Rate, WallTime};

use crate::services::{Policies, Services};

/// Sharers of a contention point. They do not change while brokers work; other terms are another pool.
#[derive(Clone, Debug)]
pub struct Pool {
    pub(super) members: Vec<NodeId>,
    pub(super) classes: usize,
    pub(super) sides: [Side; 2],
    /// Maximum load, independent of the links' capacity.
    peak: Option<Rate>,
    /// Capacity of the links.
    links: [Rate; 2],
    /// `true` if a service has a maximum here or in the fabric: it is reported at any usage.
    pub(super) is_capped: Vec<bool>,
    /// As which service the fabric broker knows a class.
    pub(super) in_fabric: Vec<ClassId>,
}

/// One direction.
#[derive(Clone, Debug)]
pub(super) struct Side {
    pub(super) tree: Tree,
    pub(super) capacity: Rate,
    /// The leaf of each member and class: those of the first member first.
    leaves: Vec<Node>,
    /// The node that a limit from above applies to, of each class that can have one.
    pub(super) limited: Vec<Option<Node>>,
}

/// Reason why policies cannot form a pool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PoolError {
    /// Their numbers are too large together.
    Tree(TreeError),
    /// The network and the policy do not fit.
    Policy(Vec<PolicyError>),
    /// The rack has no machines, or the fabric no racks.
    Nobody,
}

impl From<TreeError> for PoolError {
    fn from(error: TreeError) -> Self {
        Self::Tree(error)
    }
}

impl std::fmt::Display for PoolError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Tree(error) => error.fmt(f),
            Self::Policy(errors) => match errors.first() {
                Some(error) => error.fault.fmt(f),
                None => f.write_str("the policy does not fit the network"),
            },
            Self::Nobody => f.write_str("no members to share it: a rack has hosts, and a fabric has racks"),
        }
    }
}

impl std::error::Error for PoolError {}

impl Pool {
    /// The uplinks of a rack, shared by its machines. A rack without a policy of its own shares by the defaults of section 3.1.
    ///
    /// # Errors
    /// [`PoolError`].
    pub fn rack(
        network: &Network,
        services: &Services,
        policies: Policies<'_>,
        rack: NodeId,
        now: Option<WallTime>,
    ) -> Result<Self, PoolError> {
        let point = ContentionPoint::Rack(rack);
        let members = network.hosts().filter(|&host| point.holds(network, host)).collect();
        let here = policies.rack.filter(|policy| policy.points(network).contains(&point));
        Self::new(network, services, Level { policies, here, inner: policies.machine }, point, members, now)
    }

    /// The links of all racks, shared by the racks.
    ///
    /// # Errors
    /// [`PoolError`].
    pub fn fabric(
        network: &Network,
        services: &Services,
        policies: Policies<'_>,
        now: Option<WallTime>,
    ) -> Result<Self, PoolError> {
        let racks = network
            .switches()
            .filter(|&switch| network.hosts().any(|host| ContentionPoint::Rack(switch).holds(network, host)));
        let members = racks.collect();
        let level = Level { policies, here: policies.fabric, inner: policies.rack };
        Self::new(network, services, level, ContentionPoint::Fabric, members, now)
    }

    fn new(
        network: &Network,
        services: &Services,
        level: Level<'_>,
        point: ContentionPoint,
        members: Vec<NodeId>,
        now: Option<WallTime>,
    ) -> Result<Self, PoolError> {
        if members.is_empty() {
            return Err(PoolError::Nobody);
        }
        let nobody;
        let here = match level.here {
            Some(policy) => policy,
            None => {
                let of = if point == ContentionPoint::Fabric { PolicyLevel::Fabric } else { PolicyLevel::Rack };
                nobody =
                    Policy::new(network, "defaults", of, Vec::new(), None, Vec::new()).map_err(PoolError::Policy)?;
                &nobody
            }
        };
        let side = |direction| {
            let points = here.point_tree(network, point, direction, now, level.inner)?;
            let terms = level.inner.map(|inner| (inner, inner.terms(direction, now)));
            let inner_max = |class| {
                let (inner, terms) = terms.as_ref()?;
                let name = services.name(class)?;
                let service = inner.services().iter().position(|service| service.name == name)?;
                terms[service].max
            };
            Side::new(services, here, level.policies.fabric, &members, points, inner_max)
        };
        let sides = [side(Direction::Transmit)?, side(Direction::Receive)?];
        let links = Direction::ALL.map(|direction| point.capacity(network, direction));
        let in_fabric: Vec<ClassId> = services
            .classes()
            .map(|class| {
                let fabric = level.policies.fabric;
                fabric.map_or(class, |fabric| services.class_at(fabric, services.place(fabric, class)))
            })
            .collect();
        let is_capped = services
            .classes()
            .map(|class| {
                let by_fabric = level.policies.fabric.is_some() && in_fabric[class.index()] != Services::OTHER;
                by_fabric || sides.iter().any(|side| side.has_max(class.index()))
            })
            .collect();
        Ok(Self { classes: services.len(), members, sides, peak: here.peak(), links, is_capped, in_fabric })
    }

    /// Returns the members, in order.
    pub fn members(&self) -> &[NodeId] {
        &self.members
    }

    /// The place of a member.
    pub(super) fn member(&self, node: u32) -> Option<usize> {
        self.members.iter().position(|member| member.index() as u32 == node)
    }

    /// The place of a member's class, in lists that have one entry for each.
    pub(super) const fn at(&self, member: usize, class: usize) -> usize {
        member * self.classes + class
    }

    pub(super) const fn links(&self) -> [Rate; 2] {
        self.links
    }

    /// Sets the capacity of the links.
    pub(super) fn set_links(&mut self, links: [Rate; 2]) {
        self.links = links;
    }

    /// Sets the shared capacity to `percent` of the links' capacity, at most the peak.
    pub(super) fn share_out(&mut self, percent: u8) {
        for (side, links) in self.sides.iter_mut().zip(self.links) {
            let shared = u128::from(links.bits_per_second()) * u128::from(percent) / 100;
            let shared = Rate::from_bits_per_second(u64::try_from(shared).unwrap_or(u64::MAX));
            side.capacity = self.peak.map_or(shared, |peak| peak.min(shared));
        }
    }
}

/// The policies of a pool.
#[derive(Clone, Copy)]
struct Level<'a> {
    policies: Policies<'a>,
    /// That of the contention point.
    here: Option<&'a Policy>,
    /// That of the level below.
    inner: Option<&'a Policy>,
}

impl Side {
    /// Returns the maximum that applies to a leaf, from the service or from one that contains it. Returns `None` if
    /// the maximum is no less than the shared capacity.
    pub(super) fn ceiling(&self, at: usize) -> Option<Rate> {
        let above = core::iter::successors(Some(self.leaf(at)), |&node| self.tree.parent(node));
        let maxima = above.filter(|&node| node != Tree::ROOT).filter_map(|node| self.tree.terms(node).max);
        maxima.min().filter(|&max| max < self.capacity)
    }

    fn new(
        services: &Services,
        here: &Policy,
        fabric: Option<&Policy>,
        members: &[NodeId],
        points: PointTree,
        inner_max: impl Fn(ClassId) -> Option<Rate>,
    ) -> Result<Self, TreeError> {
        let PointTree { mut tree, capacity, leaves, services: nodes } = points;
        // Below the leaves that are not divided by member yet: what belongs to no part of a service, or to none at all.
        let mut rest = HashMap::new();
        let mut slots = HashMap::new();
        for leaf in leaves {
            let Some(at) = leaf.at else {
                rest.insert(leaf.service, leaf.node);
                for member in 0..members.len() {
                    slots.insert((leaf.service, member), tree.add(leaf.node, ServiceTerms::default())?);
                }
                continue;
            };
            if let Some(member) = members.iter().position(|&member| member == at) {
                slots.insert((leaf.service, member), leaf.node);
            }
        }
        let mut side = Self { tree, capacity, leaves: Vec::new(), limited: vec![None; services.len()] };
        let mut own = HashMap::new();
        for class in services.classes() {
            let place = services.place(here, class);
            let fabric_place = fabric.and_then(|fabric| {
                services.place(fabric, class).filter(|&place| services.class_at(fabric, Some(place)) == class)
            });
            side.limited[class.index()] = match (place, fabric_place) {
                // The fabric knows it by name, and the rack does not: it has the default terms here.
                (None, Some(_)) => Some(side.add_service(class, members.len(), &inner_max, &mut own)?),
                // Of a service with parts, the number means what belongs to none of them: here too, if it does there.
                (Some(place), Some(above)) if fabric.is_some_and(|fabric| has_parts(fabric, above)) => {
                    rest.get(&Some(place)).copied().or(nodes[place])
                }
                (Some(place), _) => nodes[place].filter(|_| services.class_at(here, Some(place)) == class),
                (None, None) => (class == Services::OTHER).then(|| rest.get(&None).copied()).flatten(),
            };
        }
        side.assign(services, here, members.len(), &slots, &own, inner_max)?;
        Ok(side)
    }

    /// A service that is not in the policy.
    fn add_service(
        &mut self,
        class: ClassId,
        members: usize,
        inner_max: &impl Fn(ClassId) -> Option<Rate>,
        own: &mut HashMap<(ClassId, usize), Node>,
    ) -> Result<Node, TreeError> {
        let service = self.tree.add(Tree::ROOT, ServiceTerms::default())?;
        for member in 0..members {
            let node = self.tree.add(service, ServiceTerms { max: inner_max(class), ..ServiceTerms::default() })?;
            own.insert((class, member), node);
        }
        Ok(service)
    }

    /// Finds a leaf for each member and class. Classes that are one service here share its leaf, by weights of 1.
    fn assign(
        &mut self,
        services: &Services,
        here: &Policy,
        members: usize,
        slots: &HashMap<(Option<usize>, usize), Node>,
        own: &HashMap<(ClassId, usize), Node>,
        inner_max: impl Fn(ClassId) -> Option<Rate>,
    ) -> Result<(), TreeError> {
        let places: Vec<Option<usize>> = services.classes().map(|class| services.place(here, class)).collect();
        for member in 0..members {
            let mut shared: BTreeMap<Node, Vec<ClassId>> = BTreeMap::new();
            for class in services.classes() {
                let slot = own.get(&(class, member)).or_else(|| slots.get(&(places[class.index()], member)));
                // A service that is not at this machine, by its policy: what comes all the same belongs to none.
                let slot = slot.or_else(|| slots.get(&(None, member)));
                shared.entry(slot.copied().unwrap_or(Tree::ROOT)).or_default().push(class);
            }
            let first = self.leaves.len();
            self.leaves.resize(first + services.len(), Tree::ROOT);
            for (slot, classes) in shared {
                let alone = classes.len() == 1;
                for class in classes {
                    let terms = ServiceTerms { max: inner_max(class), ..ServiceTerms::default() };
                    let leaf = if alone { slot } else { self.tree.add(slot, terms)? };
                    self.leaves[first + class.index()] = leaf;
                }
            }
        }
        Ok(())
    }

    /// The leaf at a place of [`Pool::at`].
    pub(super) fn leaf(&self, at: usize) -> Node {
        self.leaves[at]
    }

    /// Demands by member and class, in the order of nodes.
    pub(super) fn demands(&self, wanted: impl Fn(usize) -> Rate, demands: &mut Vec<Rate>) {
        demands.clear();
        demands.resize(self.tree.len(), Rate::ZERO);
        for (at, leaf) in self.leaves.iter().enumerate() {
            demands[leaf.index()] = wanted(at);
        }
    }

    /// Returns `true` if a class has a maximum, at a member or above.
    fn has_max(&self, class: usize) -> bool {
        let Some(&leaf) = self.leaves.get(class) else { return false };
        std::iter::successors(Some(leaf), |&node| self.tree.parent(node))
            .any(|node| node != Tree::ROOT && self.tree.terms(node).max.is_some())
    }

    /// Limits the node of a class, in addition to its own maximum; `None` leaves only its own maximum.
    pub(super) fn limit(&mut self, fixed: &Tree, class: usize, limit: Option<Rate>) {
        let Some(node) = self.limited.get(class).copied().flatten() else { return };
        let terms = fixed.terms(node);
        let Some(limit) = limit else {
            // They were its terms before.
            self.tree.set_terms(node, terms).ok();
            return;
        };
        let max = terms.max.map_or(limit, |max| max.min(limit));
        // The most constrained policy decides (3.1): a guarantee ends where a limit from above begins.
        self.tree.set_terms(node, ServiceTerms { min: terms.min.min(max), max: Some(max), ..terms }).ok();
    }
}

fn has_parts(policy: &Policy, service: usize) -> bool {
    (0..policy.services().len()).any(|other| policy.parent(other) == Some(service))
}
