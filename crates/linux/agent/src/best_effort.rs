//! Routes of packets that no contract covers: shortest ones, several of equal length, in the lowest queues.
//!
//! Best effort is source-routed as contracts are, so that switches need no tables of addresses and are never touched after their start.

use std::collections::VecDeque;

use wayleave_topology::{LinkId, Network, NodeId, NodeKind};

use crate::environment::Environment;

/// Routes to one destination, at most; the sender chooses by flow.
pub const MAX_ROUTES: usize = 4;

/// The shortest routes from a host to all others, over what is up.
#[derive(Debug)]
pub struct Routes<'a> {
    environment: &'a Environment,
    from: NodeId,
    /// Per node: hops from the host.
    hops: Vec<Option<u32>>,
}

impl<'a> Routes<'a> {
    /// From this host.
    pub fn from(environment: &'a Environment, from: NodeId) -> Self {
        let network = environment.network();
        let mut hops = vec![None; network.nodes().len()];
        hops[from.index()] = Some(0);
        let mut queue = VecDeque::from([from]);
        while let Some(node) = queue.pop_front() {
            let next = hops[node.index()].map(|hops: u32| hops + 1);
            // Hosts do not forward.
            if node != from && network.node(node).kind == NodeKind::Host {
                continue;
            }
            for &link in network.links_from(node).iter().filter(|&&link| environment.is_up(link)) {
                let to = network.link(link).to;
                if hops[to.index()].is_none() {
                    hops[to.index()] = next;
                    queue.push_back(to);
                }
            }
        }
        Self { environment, from, hops }
    }

    /// The network that they are in.
    pub fn network(&self) -> &'a Network {
        self.environment.network()
    }

    /// Returns up to [`MAX_ROUTES`] shortest routes to host `to`, or none if it cannot be reached. Different pairs of
    /// hosts prefer different routes; a given pair always gets the same routes.
    pub fn to(&self, to: NodeId) -> Vec<Vec<LinkId>> {
        let mut found = Vec::new();
        if self.hops[to.index()].is_some_and(|hops| hops > 0) {
            let mut behind = Vec::new();
            self.extend(to, &mut behind, &mut found);
        }
        found
    }

    /// Adds the routes that end with the links `behind` (the last first), which begin at `node`.
    fn extend(&self, node: NodeId, behind: &mut Vec<LinkId>, found: &mut Vec<Vec<LinkId>>) {
        if node == self.from {
            found.push(behind.iter().rev().copied().collect());
            return;
        }
        let network = self.environment.network();
        let is_nearer = |&link: &LinkId| {
            let from = self.hops[network.link(link).from.index()];
            from.map(|hops| hops + 1) == self.hops[node.index()] && self.environment.is_up(link)
        };
        // A host that is no end of the route is farther away than any switch behind it, except the sender itself.
        let is_usable = |&link: &LinkId| {
            let from = network.link(link).from;
            from == self.from || network.node(from).kind == NodeKind::Switch
        };
        let links: Vec<LinkId> = network.links_into(node).iter().copied().filter(is_nearer).filter(is_usable).collect();
        let first = mix(self.from.0, node.0, behind.first().map_or(0, |link| link.0));
        for at in 0..links.len() {
            if found.len() == MAX_ROUTES {
                return;
            }
            behind.push(links[(at + first) % links.len()]);
            self.extend(network.link(links[(at + first) % links.len()]).from, behind, found);
            behind.pop();
        }
    }
}

/// Some number that differs between pairs; it decides nothing but which of equal routes comes first.
fn mix(from: u32, at: u32, last: u32) -> usize {
    let mixed =
        (u64::from(from) << 32 | u64::from(at)).wrapping_add(u64::from(last) << 16).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    (mixed >> 48) as usize
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests assert by panicking")]

    use std::collections::BTreeSet;
    use std::sync::Arc;

    use wayleave_protocol::agent::Neighbours;
    use wayleave_topology::builders::{FatTree, build};

    use super::*;

    fn fat_tree(down_nodes: &[&str]) -> Environment {
        let network = Arc::new(build::fat_tree(&FatTree::default()).unwrap());
        let down_nodes = down_nodes.iter().map(|name| (*name).to_owned()).collect();
        Environment::of(network, &Neighbours { down_nodes, ..Neighbours::default() })
    }

    fn hosts(environment: &Environment) -> Vec<NodeId> {
        environment.network().hosts().collect()
    }

    #[test]
    fn every_pair_of_hosts_has_its_shortest_routes() {
        let environment = fat_tree(&[]);
        let hosts = hosts(&environment);
        for &from in &hosts {
            let routes = Routes::from(&environment, from);
            for &to in hosts.iter().filter(|&&to| to != from) {
                let found = routes.to(to);
                let different: BTreeSet<&Vec<LinkId>> = found.iter().collect();
                // k = 4: one route below an edge switch, two within a pod, four between pods.
                let hops = found.first().unwrap().len();
                assert_eq!(
                    different.len(),
                    match hops {
                        2 => 1,
                        4 => 2,
                        6 => 4,
                        other => panic!("{other} hops"),
                    }
                );
                for route in found {
                    assert_eq!(route.len(), hops);
                    let mut at = from;
                    for link in route {
                        assert_eq!(environment.network().link(link).from, at);
                        at = environment.network().link(link).to;
                    }
                    assert_eq!(at, to);
                }
            }
        }
    }

    #[test]
    fn failed_elements_are_bypassed_or_leave_no_route() {
        let environment = fat_tree(&["core1", "core2"]);
        let hosts = hosts(&environment);
        let (first, last) = (hosts[0], *hosts.last().unwrap());
        let found = Routes::from(&environment, first).to(last);
        assert_eq!(found.len(), 2);
        let cores = |name: &str| environment.network().find_node(name).unwrap();
        let through = |link: &LinkId| [cores("core1"), cores("core2")].contains(&environment.network().link(*link).to);
        assert!(!found.iter().flatten().any(through));
        let cut = fat_tree(&["core1", "core2", "core3", "core4"]);
        assert_eq!(Routes::from(&cut, first).to(last), Vec::<Vec<LinkId>>::new());
        assert_eq!(Routes::from(&cut, first).to(first), Vec::<Vec<LinkId>>::new());
    }

    #[test]
    fn pairs_are_spread_over_equal_routes() {
        let environment = fat_tree(&[]);
        let hosts = hosts(&environment);
        let firsts = hosts[..8].iter().map(|&from| Routes::from(&environment, from).to(hosts[15])[0][2]);
        assert!(firsts.collect::<BTreeSet<_>>().len() > 2);
    }
}
