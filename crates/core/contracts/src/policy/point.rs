//! One contention point of a network: its capacity, whether it can keep the minima, and its tree of shares.

use std::fmt;

use wayleave_sharing::{self as sharing, ServiceTerms, Tree, TreeError};
use wayleave_topology::{Link, LinkId, Network, NodeId, NodeKind};
use wayleave_units::{Rate, WallTime};

use super::tree::is_point;
use super::{Direction, Policy, PolicyLevel};

/// Place at which services contend.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ContentionPoint {
    /// The links of a host.
    Machine(NodeId),
    /// The links of a rack's switch to other switches.
    Rack(NodeId),
    /// The links of all racks to other switches.
    Fabric,
}

/// A policy that a network cannot keep when every service wants its minimum: an admission refusal, with the code `RATE`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Overcommitted {
    /// The policy.
    pub policy: String,
    /// Contention point.
    pub point: ContentionPoint,
    /// The point's name and links, for people.
    pub place: String,
    /// In which direction.
    pub direction: Direction,
    /// The minima there, together.
    pub asked: Rate,
    /// Available rate: the capacity, or the policy's peak.
    pub there: Rate,
    /// Part of the capacity that is promised to others, and not in `there`.
    pub promised: Rate,
    /// From when on, if not from the beginning.
    pub at: Option<WallTime>,
}

impl fmt::Display for Overcommitted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { policy, place, direction, asked, there, promised, at, .. } = self;
        let (direction, from) = (direction.name(), at.map_or(String::new(), |at| format!(" from {at} on")));
        write!(
            f,
            "policy \"{policy}\" guarantees {asked:#} to {direction} at {place}{from}, but only {there:#} is available"
        )?;
        match *promised {
            Rate::ZERO => Ok(()),
            promised => write!(f, ", because {promised:#} is promised to contracts"),
        }
    }
}

impl std::error::Error for Overcommitted {}

/// Need of a policy at a contention point.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PolicyNeed {
    /// Contention point.
    pub point: ContentionPoint,
    /// In which direction.
    pub direction: Direction,
    /// The links that carry it together.
    pub links: Vec<LinkId>,
    /// The minima of all services, when they are most.
    pub min: Rate,
}

/// The tree of shares of one contention point in one direction. A broker gives demands in the order of nodes and reads the
/// shares of the leaves.
#[derive(Clone, Debug)]
pub struct PointTree {
    /// The services of the point.
    pub tree: Tree,
    /// Rate to share.
    pub capacity: Rate,
    /// Leaves of the tree: holders of a demand of their own.
    pub leaves: Vec<PointLeaf>,
    /// The node of each service of the policy; `None`: it is not at this point.
    pub services: Vec<Option<sharing::TreeNode>>,
}

/// One who has a demand of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PointLeaf {
    /// In the tree.
    pub node: sharing::TreeNode,
    /// The innermost service; `None` is traffic of no service.
    pub service: Option<usize>,
    /// Machine of a rack, or rack of the fabric.
    pub at: Option<NodeId>,
}

impl Policy {
    /// The contention points of a network to which it applies.
    pub fn points(&self, network: &Network) -> Vec<ContentionPoint> {
        let nodes = || {
            let all = network.nodes().map(|(node, _)| node).filter(|&node| is_point(network, self.level, node));
            if self.nodes.is_empty() { all.collect() } else { self.nodes.clone() }
        };
        match self.level {
            PolicyLevel::Machine => nodes().into_iter().map(ContentionPoint::Machine).collect(),
            PolicyLevel::Rack => nodes().into_iter().map(ContentionPoint::Rack).collect(),
            PolicyLevel::Fabric => vec![ContentionPoint::Fabric],
        }
    }

    /// Checks that a network can keep all minima, at all times in the policy.
    ///
    /// # Errors
    /// The contention point that lacks most.
    pub fn check_capacity(&self, network: &Network) -> Result<(), Overcommitted> {
        self.check_capacity_beside(network, &|_| Rate::ZERO)
    }

    /// Checks that a network can keep all minima beside the rate promised to others on each link, such as latency
    /// contracts.
    ///
    /// # Errors
    /// The contention point that lacks most.
    pub fn check_capacity_beside(
        &self,
        network: &Network,
        promised: &dyn Fn(LinkId) -> Rate,
    ) -> Result<(), Overcommitted> {
        let mut worst: Option<Overcommitted> = None;
        let lack = |over: &Overcommitted| over.asked.saturating_sub(over.there);
        let points = self.points(network);
        for at in std::iter::once(None).chain(self.change_times().into_iter().map(Some)) {
            for direction in Direction::ALL {
                let terms = self.terms(direction, at);
                for &point in &points {
                    let there = self.capacity_beside(network, point, direction, promised);
                    let roots = (0..terms.len()).filter(|&service| self.parents[service].is_none());
                    let asked =
                        roots.filter(|&service| self.is_at(network, service, point)).map(|root| terms[root].min);
                    let asked = total(asked);
                    if asked > there && worst.as_ref().is_none_or(|worst| asked.saturating_sub(there) > lack(worst)) {
                        let (policy, place) = (self.name.clone(), point.describe(network));
                        let promised = total(point.links(network, direction).into_iter().map(promised));
                        worst = Some(Overcommitted { policy, point, place, direction, asked, there, promised, at });
                    }
                }
            }
        }
        worst.map_or(Ok(()), Err)
    }

    /// Returns the maximum over time of the total demand of all services at each contention point in each direction.
    pub fn needs(&self, network: &Network) -> Vec<PolicyNeed> {
        let times = || std::iter::once(None).chain(self.change_times().into_iter().map(Some));
        let mut needs = Vec::new();
        for point in self.points(network) {
            for direction in Direction::ALL {
                let asked = |at| {
                    let terms = self.terms(direction, at);
                    let roots = (0..terms.len()).filter(|&service| self.parents[service].is_none());
                    total(roots.filter(|&service| self.is_at(network, service, point)).map(|root| terms[root].min))
                };
                let min = times().map(asked).max().unwrap_or(Rate::ZERO);
                needs.push(PolicyNeed { point, direction, links: point.links(network, direction), min });
            }
        }
        needs
    }

    /// Returns the tree of shares of a contention point at a time.
    ///
    /// A service that has parts gets a leaf for its traffic outside all parts, and the point gets one for traffic of
    /// no service; they have no minimum and a weight of 1. At a rack every leaf service is divided further by
    /// machine, in the fabric by rack: with equal weights, and with the maximum of the service of this name in
    /// `inner`, the policy of the level below, because the most constrained policy decides (Parley, section 3.1).
    ///
    /// # Errors
    /// If the sum of the numbers is too large.
    pub fn point_tree(
        &self,
        network: &Network,
        point: ContentionPoint,
        direction: Direction,
        now: Option<WallTime>,
        inner: Option<&Policy>,
    ) -> Result<PointTree, TreeError> {
        let terms = self.terms_where(direction, now, |service| self.is_at(network, service, point));
        let inner_max = |name: &str| {
            let inner = inner?;
            let place = inner.services.iter().position(|service| service.name == name)?;
            inner.terms(direction, now)[place].max
        };
        let capacity = self.limited(point.capacity(network, direction));
        let mut tree = Tree::new(ServiceTerms::default())?;
        let mut services = vec![None; terms.len()];
        let mut leaves = Vec::new();
        let mut has_parts = vec![false; terms.len()];
        self.parents.iter().flatten().for_each(|&parent| has_parts[parent] = true);
        for &service in self.order.iter().filter(|&&service| self.is_at(network, service, point)) {
            let parent = self.parents[service].and_then(|parent| services[parent]).unwrap_or(Tree::ROOT);
            let node = tree.add(parent, terms[service])?;
            services[service] = Some(node);
            if has_parts[service] {
                let rest = tree.add(node, ServiceTerms::default())?;
                leaves.push(PointLeaf { node: rest, service: Some(service), at: None });
                continue;
            }
            let members = self.members(network, service, point);
            if members.is_empty() {
                leaves.push(PointLeaf { node, service: Some(service), at: None });
            }
            let max = inner_max(&self.services[service].name);
            for at in members {
                let node = tree.add(node, ServiceTerms { max, ..ServiceTerms::default() })?;
                leaves.push(PointLeaf { node, service: Some(service), at: Some(at) });
            }
        }
        let rest = tree.add(Tree::ROOT, ServiceTerms::default())?;
        leaves.push(PointLeaf { node: rest, service: None, at: None });
        Ok(PointTree { tree, capacity, leaves, services })
    }

    /// Returns the rate for services at a contention point, beside the rate promised to others on each link: at most
    /// the peak.
    pub fn capacity_beside(
        &self,
        network: &Network,
        point: ContentionPoint,
        direction: Direction,
        promised: &dyn Fn(LinkId) -> Rate,
    ) -> Rate {
        let links = point.links(network, direction).into_iter();
        self.limited(total(links.map(|link| network.link(link).rate.saturating_sub(promised(link)))))
    }

    fn limited(&self, capacity: Rate) -> Rate {
        self.peak.map_or(capacity, |peak| peak.min(capacity))
    }

    /// Returns `true` if a service can have traffic at a contention point.
    fn is_at(&self, network: &Network, service: usize, point: ContentionPoint) -> bool {
        self.endpoints(service).is_none_or(|endpoints| endpoints.iter().any(|&host| point.holds(network, host)))
    }

    /// Returns the members among which a service is divided at a contention point: machines of a rack, racks of the
    /// fabric.
    fn members(&self, network: &Network, service: usize, point: ContentionPoint) -> Vec<NodeId> {
        let endpoints = self.endpoints(service);
        match point {
            ContentionPoint::Machine(_) => Vec::new(),
            ContentionPoint::Rack(_) => {
                let here = network.hosts().filter(|&host| point.holds(network, host));
                here.filter(|host| endpoints.is_none_or(|endpoints| endpoints.contains(host))).collect()
            }
            ContentionPoint::Fabric => {
                let racks = network.switches().filter(|&switch| is_point(network, PolicyLevel::Rack, switch));
                racks.filter(|&rack| self.is_at(network, service, ContentionPoint::Rack(rack))).collect()
            }
        }
    }
}

impl ContentionPoint {
    /// Returns its capacity in a direction: the links of a machine, a rack's links to other switches, or those of all
    /// racks. A host with several links has all of them; links that are equally used count as one (Parley, section
    /// 3.2.2).
    pub fn capacity(self, network: &Network, direction: Direction) -> Rate {
        total(self.links(network, direction).into_iter().map(|link| network.link(link).rate))
    }

    /// The links that it consists of.
    pub fn links(self, network: &Network, direction: Direction) -> Vec<LinkId> {
        let of = |node: NodeId| match direction {
            Direction::Transmit => network.links_from(node),
            Direction::Receive => network.links_into(node),
        };
        let other_end = |link: &Link| match direction {
            Direction::Transmit => link.to,
            Direction::Receive => link.from,
        };
        let is_up = |&link: &LinkId| network.node(other_end(network.link(link))).kind == NodeKind::Switch;
        match self {
            Self::Machine(host) => of(host).to_vec(),
            Self::Rack(switch) => of(switch).iter().copied().filter(is_up).collect(),
            Self::Fabric => {
                let racks = network.switches().filter(|&switch| is_point(network, PolicyLevel::Rack, switch));
                racks.flat_map(|rack| Self::Rack(rack).links(network, direction)).collect()
            }
        }
    }

    /// Returns `true` if a host's traffic passes here, as far as it leaves the machine or the rack.
    pub fn holds(self, network: &Network, host: NodeId) -> bool {
        match self {
            Self::Machine(machine) => machine == host,
            Self::Rack(switch) => network.links_from(host).iter().any(|&link| network.link(link).to == switch),
            Self::Fabric => true,
        }
    }

    /// In words: `the links of h1 (h1->leaf1)`.
    pub fn describe(self, network: &Network) -> String {
        let links = self.links(network, Direction::Transmit);
        let shown: Vec<&str> = links.iter().take(4).map(|&link| network.link(link).name.as_str()).collect();
        let more = if links.len() > shown.len() { ", ..." } else { "" };
        let links = format!("{}{more}", shown.join(", "));
        match self {
            Self::Machine(host) => format!("machine {} ({links})", network.node(host).name),
            Self::Rack(switch) => format!("the uplinks of rack {} ({links})", network.node(switch).name),
            Self::Fabric => "the uplinks of all racks".to_owned(),
        }
    }
}

fn total(rates: impl Iterator<Item = Rate>) -> Rate {
    rates.fold(Rate::ZERO, |sum, rate| sum.checked_add(rate).unwrap_or(Rate::MAX))
}
