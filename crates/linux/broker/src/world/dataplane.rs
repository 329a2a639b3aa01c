//! The fluid: transmit and receive rates of all services, from their demands and limits.

use std::collections::BTreeMap;

use wayleave_contracts::{ContentionPoint, Direction, PointTree, Policy, PolicyLevel};
use wayleave_schemes::brokers::BrokerError;
use wayleave_sharing::{ServiceTerms, Shares, Tree, TreeNode as Node};
use wayleave_topology::NodeId;
use wayleave_units::Rate;

use super::machine::Machine;
use crate::BrokerConfig;

/// Lines of machines and uplinks of racks.
pub(super) struct SimulatedDataplane {
    lines: Vec<[Line; 2]>,
    uplinks: BTreeMap<NodeId, [Rate; 2]>,
    shares: Shares,
}

/// A machine's line in one direction, shared by the machine's policy.
struct Line {
    points: PointTree,
    /// The leaf of each class.
    leaves: Vec<Node>,
}

impl SimulatedDataplane {
    pub(super) fn new(setup: &BrokerConfig) -> Result<Self, BrokerError> {
        let network = setup.network();
        let empty = Policy::new(network, "machines", PolicyLevel::Machine, Vec::new(), None, Vec::new())
            .map_err(|errors| BrokerError(errors.iter().map(|error| error.fault.to_string()).collect()))?;
        let policy = setup.policies().machine.unwrap_or(&empty);
        let mut lines = Vec::new();
        let mut uplinks = BTreeMap::new();
        for host in network.hosts() {
            let [transmit, receive] = Direction::ALL.map(|direction| Line::new(setup, policy, host, direction));
            lines.push([transmit?, receive?]);
            if let Some(rack) = setup.rack_of(host) {
                let capacity = |direction| ContentionPoint::Rack(rack).capacity(network, direction);
                uplinks.insert(rack, Direction::ALL.map(capacity));
            }
        }
        Ok(Self { lines, uplinks, shares: Shares::default() })
    }

    pub(super) fn set_uplinks(&mut self, rack: NodeId, capacity: [Rate; 2]) {
        self.uplinks.insert(rack, capacity);
    }

    /// Returns the current capacity of the links of a contention point.
    pub(super) fn capacity(&self, setup: &BrokerConfig, point: ContentionPoint) -> [Rate; 2] {
        let known = if let ContentionPoint::Rack(rack) = point { self.uplinks.get(&rack).copied() } else { None };
        known.unwrap_or_else(|| Direction::ALL.map(|direction| point.capacity(setup.network(), direction)))
    }

    pub(super) fn flow(&mut self, machines: &mut [Machine]) {
        for direction in 0..2 {
            for (at, machine) in machines.iter_mut().enumerate() {
                self.line(at, direction, machine);
            }
            for (&rack, capacity) in &self.uplinks {
                squeeze(&mut self.shares, machines, rack, direction, capacity[direction]);
            }
        }
    }

    fn line(&mut self, at: usize, direction: usize, machine: &mut Machine) {
        let line = &self.lines[at][direction];
        let mut demands = vec![Rate::ZERO; line.points.tree.len()];
        for (class, &leaf) in line.leaves.iter().enumerate() {
            let wants = if machine.is_there() { machine.wants[class][direction] } else { Rate::ZERO };
            demands[leaf.index()] = machine.limits[class][direction].map_or(wants, |limit| limit.min(wants));
        }
        self.shares.compute(&line.points.tree, line.points.capacity, &demands);
        for (class, &leaf) in line.leaves.iter().enumerate() {
            machine.rates[class][direction] = self.shares.share(leaf);
        }
    }
}

impl Line {
    fn new(setup: &BrokerConfig, policy: &Policy, host: NodeId, direction: Direction) -> Result<Self, BrokerError> {
        let point = ContentionPoint::Machine(host);
        let tree = policy.point_tree(setup.network(), point, direction, None, None);
        let mut points = tree.map_err(BrokerError::because)?;
        let mut leaves = Vec::new();
        for class in setup.services().classes() {
            let place = setup.services().place(policy, class);
            let here = |service| points.leaves.iter().find(|leaf| leaf.service == service).map(|leaf| leaf.node);
            let below = here(place).or(here(None)).unwrap_or(Tree::ROOT);
            // Classes that are one service at the machine share its leaf.
            leaves.push(points.tree.add(below, ServiceTerms::default()).map_err(BrokerError::because)?);
        }
        Ok(Self { points, leaves })
    }
}

/// Uplinks that are too small are shared equally by all who use them.
fn squeeze(shares: &mut Shares, machines: &mut [Machine], rack: NodeId, direction: usize, capacity: Rate) {
    let here = || machines.iter().filter(|machine| machine.rack == rack);
    let used: Vec<Rate> = here().flat_map(|machine| machine.rates.iter().map(|rates| rates[direction])).collect();
    let sum = used.iter().fold(0_u128, |sum, rate| sum + u128::from(rate.bits_per_second()));
    if sum <= u128::from(capacity.bits_per_second()) {
        return;
    }
    let Ok(mut tree) = Tree::new(ServiceTerms::default()) else { return };
    let mut demands = vec![Rate::ZERO];
    let mut nodes = Vec::new();
    for rate in used {
        let Ok(node) = tree.add(Tree::ROOT, ServiceTerms::default()) else { return };
        nodes.push(node);
        demands.push(rate);
    }
    shares.compute(&tree, capacity, &demands);
    let mut nodes = nodes.into_iter();
    for machine in machines.iter_mut().filter(|machine| machine.rack == rack) {
        for (rates, node) in machine.rates.iter_mut().zip(nodes.by_ref()) {
            rates[direction] = shares.share(node);
        }
    }
}
