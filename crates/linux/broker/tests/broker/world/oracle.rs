//! The shares that all services should get under Parley, computed at once from their real demands, without messages.

use wayleave_broker::BrokerConfig;
use wayleave_contracts::{ContentionPoint, Direction, PointTree, Policy, PolicyError, PolicyLevel};
use wayleave_scheme_api::ClassId;
use wayleave_schemes::host::parley::{Params, PoolError};
use wayleave_schemes::services::Services;
use wayleave_sharing::{ServiceTerms, Shares, Tree, TreeNode as Node};
use wayleave_topology::NodeId;
use wayleave_units::Rate;

/// The shares by machine and class, of wants by machine and class, in the order of the network's hosts. It is for policies of
/// one level of services, and for machines whose lines can carry what they want. `capacity` of a rack's uplinks, if it
/// is another than that of the network.
///
/// # Errors
/// If the policies are no trees of the network.
pub(crate) fn shares(
    setup: &BrokerConfig,
    wants: &[Vec<[Rate; 2]>],
    capacity: impl Fn(NodeId) -> Option<[Rate; 2]>,
) -> Result<Vec<Vec<[Rate; 2]>>, PoolError> {
    let network = setup.network();
    let none = |level: PolicyLevel| {
        Policy::new(network, "none", level, Vec::new(), None, Vec::new())
            .map_err(|e: Vec<PolicyError>| PoolError::Policy(e))
    };
    let (no_rack, no_fabric) = (none(PolicyLevel::Rack)?, none(PolicyLevel::Fabric)?);
    let rack_policy = setup.policies().rack.unwrap_or(&no_rack);
    let fabric_policy = setup.policies().fabric.unwrap_or(&no_fabric);
    let hosts: Vec<NodeId> = network.hosts().collect();
    let mut racks: Vec<NodeId> = hosts.iter().filter_map(|&host| setup.rack_of(host)).collect();
    racks.dedup();
    let mut got = vec![vec![[Rate::ZERO; 2]; setup.services().len()]; hosts.len()];
    for (side, direction) in Direction::ALL.into_iter().enumerate() {
        let of = |rack: NodeId| -> Result<Rack, PoolError> {
            let mut rack = Rack::new(setup, rack_policy, rack, direction, &hosts)?;
            let links = || ContentionPoint::Rack(rack.switch).capacity(network, direction);
            let links = capacity(rack.switch).map_or_else(links, |capacity| capacity[side]).bits_per_second();
            let shared = Rate::from_bits_per_second(links / 100 * u64::from(Params::PUBLISHED.uplink_percent));
            rack.points.capacity = rack_policy.peak().map_or(shared, |peak| peak.min(shared));
            Ok(rack)
        };
        let wants_of = |machine: usize, class: ClassId| wants[machine][class.index()][side];
        let fabric = fabric_policy.point_tree(network, ContentionPoint::Fabric, direction, None, Some(rack_policy))?;
        let mut wanted = vec![Rate::ZERO; fabric.tree.len()];
        let mut below = Vec::new();
        for &switch in &racks {
            let mut rack = of(switch)?;
            let shares = rack.compute(wants_of);
            for class in setup.services().classes() {
                let sum = rack.sum(&shares, class);
                let service = setup.services().name(class).and_then(|name| place(fabric_policy, name));
                let at = service.map(|_| switch);
                let leaf = fabric.leaves.iter().find(|leaf| leaf.service == service && leaf.at == at);
                // The fabric does not limit traffic that belongs to none of its services.
                if let Some(leaf) = leaf.filter(|_| service.is_some()) {
                    wanted[leaf.node.index()] = wanted[leaf.node.index()] + sum;
                    below.push((switch, class, leaf.node));
                }
            }
        }
        let mut above = Shares::default();
        above.compute(&fabric.tree, fabric.capacity, &wanted);
        for &switch in &racks {
            let mut rack = of(switch)?;
            for &(_, class, leaf) in below.iter().filter(|(rack, _, _)| *rack == switch) {
                if let Some(limit) = above.limit(leaf) {
                    rack.limit(setup, rack_policy, class, limit)?;
                }
            }
            let shares = rack.compute(wants_of);
            for &(machine, class, leaf) in &rack.leaves {
                got[machine][class.index()][side] = shares.share(leaf);
            }
        }
    }
    Ok(got)
}

fn place(policy: &Policy, name: &str) -> Option<usize> {
    policy.services().iter().position(|service| service.name == name)
}

/// One rack in one direction.
struct Rack {
    switch: NodeId,
    points: PointTree,
    leaves: Vec<(usize, ClassId, Node)>,
}

impl Rack {
    fn new(
        setup: &BrokerConfig,
        policy: &Policy,
        switch: NodeId,
        direction: Direction,
        hosts: &[NodeId],
    ) -> Result<Self, PoolError> {
        let point = ContentionPoint::Rack(switch);
        let mut points = policy.point_tree(setup.network(), point, direction, None, setup.policies().machine)?;
        let mut leaves = Vec::new();
        let rest = points.leaves.iter().find(|leaf| leaf.service.is_none()).map_or(Tree::ROOT, |leaf| leaf.node);
        for class in setup.services().classes().filter(|&class| class != Services::OTHER) {
            let Some(service) = setup.services().name(class).and_then(|name| place(policy, name)) else { continue };
            for leaf in points.leaves.iter().filter(|leaf| leaf.service == Some(service)) {
                let machine = hosts.iter().position(|&host| Some(host) == leaf.at).ok_or(PoolError::Nobody)?;
                leaves.push((machine, class, leaf.node));
            }
        }
        for machine in setup.machines(switch) {
            let machine = hosts.iter().position(|&host| host == machine).ok_or(PoolError::Nobody)?;
            leaves.push((machine, Services::OTHER, points.tree.add(rest, ServiceTerms::default())?));
        }
        Ok(Self { switch, points, leaves })
    }

    fn compute(&mut self, wants: impl Fn(usize, ClassId) -> Rate) -> Shares {
        let mut demands = vec![Rate::ZERO; self.points.tree.len()];
        for &(machine, class, leaf) in &self.leaves {
            demands[leaf.index()] = wants(machine, class);
        }
        let mut shares = Shares::default();
        shares.compute(&self.points.tree, self.points.capacity, &demands);
        shares
    }

    fn sum(&self, shares: &Shares, class: ClassId) -> Rate {
        let leaves = self.leaves.iter().filter(|(_, of, _)| *of == class);
        leaves.fold(Rate::ZERO, |sum, &(_, _, leaf)| sum + shares.share(leaf))
    }

    fn limit(&mut self, setup: &BrokerConfig, policy: &Policy, class: ClassId, limit: Rate) -> Result<(), PoolError> {
        let service = setup.services().name(class).and_then(|name| place(policy, name));
        let Some(node) = service.and_then(|service| self.points.services[service]) else { return Ok(()) };
        let terms = self.points.tree.terms(node);
        let max = terms.max.map_or(limit, |max| max.min(limit));
        self.points.tree.set_terms(node, ServiceTerms { min: terms.min.min(max), max: Some(max), ..terms })?;
        Ok(())
    }
}
