//! The worst demand of a hose on a link: a largest set of members that send across it, each to a receiver of its own.
//!
//! Members send and receive at most their minimum `B`. So the load of a hose on a link is at most `B` times the size
//! of a largest matching of senders to receivers among the ordered pairs that may use the link: the vertices of the
//! bipartite b-matching polytope are integral. Duffield and others, "A flexible model for resource management in
//! virtual private networks", SIGCOMM 1999, state the hose model, and Erlebach and Rüegg, INFOCOM 2004, the flow. The
//! matched pairs are a demand that attains the maximum.
//!
//! A pair may use a link that is on one of its paths with the fewest links. Hosts do not forward.

use std::collections::VecDeque;

use wayleave_topology::{LinkId, Network, NodeId, NodeKind};

/// Distances of hosts in links, each found once.
pub(crate) struct Distances<'n> {
    network: &'n Network,
    /// From a host to every node; both by their index, empty for other nodes.
    from: Vec<Vec<u32>>,
    /// From every node to a host, by the index of the host.
    to: Vec<Vec<u32>>,
}

/// Distance of unreachable nodes; sums of three fit into 32 bits.
const UNREACHABLE: u32 = u32::MAX / 4;

impl<'n> Distances<'n> {
    /// Creates the distances between these hosts and all nodes.
    pub(crate) fn of(network: &'n Network, hosts: impl IntoIterator<Item = NodeId>) -> Self {
        let none = vec![Vec::new(); network.nodes().len()];
        let (mut from, mut to) = (none.clone(), none);
        for host in hosts {
            from[host.index()] = distances(network, host, |node| network.links_from(node), |link| link.to);
            to[host.index()] = distances(network, host, |node| network.links_into(node), |link| link.from);
        }
        Self { network, from, to }
    }

    /// Returns `true` if a path with the fewest links from one host to another leads over a link.
    pub(crate) fn may_use(&self, from: NodeId, to: NodeId, link: LinkId) -> bool {
        self.across(link)(from, to)
    }

    /// Returns the same for many pairs and one link.
    pub(crate) fn across(&self, link: LinkId) -> impl Fn(NodeId, NodeId) -> bool {
        let link = self.network.link(link);
        let (first, last) = (link.from, link.to);
        let forwards = |node: NodeId| self.network.node(node).kind == NodeKind::Switch;
        let (leaves, enters) = (forwards(first), forwards(last));
        move |from, to| {
            let (sent, left) = (&self.from[from.index()], &self.to[to.index()]);
            let passes = (leaves || first == from) && (enters || last == to);
            let (Some(&over), Some(&after)) = (sent.get(first.index()), left.get(last.index())) else { return false };
            from != to && passes && after < UNREACHABLE && over + 1 + after == sent[to.index()]
        }
    }
}

/// Searches breadth first; a host other than the first is reached, and not passed.
fn distances<'n>(
    network: &'n Network,
    first: NodeId,
    links: impl Fn(NodeId) -> &'n [LinkId],
    end: impl Fn(&wayleave_topology::Link) -> NodeId,
) -> Vec<u32> {
    let mut distances = vec![UNREACHABLE; network.nodes().len()];
    distances[first.index()] = 0;
    let mut queue = VecDeque::from([first]);
    while let Some(node) = queue.pop_front() {
        if node != first && network.node(node).kind == NodeKind::Host {
            continue;
        }
        for &link in links(node) {
            let next = end(network.link(link));
            if distances[next.index()] == UNREACHABLE {
                distances[next.index()] = distances[node.index()] + 1;
                queue.push_back(next);
            }
        }
    }
    distances
}

/// Returns a largest matching of `count` senders to as many receivers, by augmenting paths (Kuhn 1955). Receivers are tried from
/// `first` on, so that different numbers give different matchings of the same size, where there are several.
pub(crate) fn largest(count: usize, first: usize, may: impl Fn(usize, usize) -> bool) -> Vec<(usize, usize)> {
    let mut sender_of: Vec<Option<usize>> = vec![None; count];
    for sender in 0..count {
        let mut seen = vec![false; count];
        augment(sender, first, &may, &mut seen, &mut sender_of);
    }
    let matched = sender_of.iter().enumerate().filter_map(|(receiver, sender)| Some(((*sender)?, receiver)));
    let mut matched: Vec<(usize, usize)> = matched.collect();
    matched.sort_unstable();
    matched
}

/// Gives a sender a receiver, taking receivers from other senders that find another one.
fn augment(
    sender: usize,
    first: usize,
    may: &impl Fn(usize, usize) -> bool,
    seen: &mut [bool],
    sender_of: &mut [Option<usize>],
) -> bool {
    let count = seen.len();
    let receivers = || (0..count).map(|number| (number + first) % count.max(1));
    // A free receiver first: long chains of exchanges are rare then.
    if let Some(free) = receivers().find(|&receiver| sender_of[receiver].is_none() && may(sender, receiver)) {
        sender_of[free] = Some(sender);
        return true;
    }
    for receiver in receivers() {
        if seen[receiver] || !may(sender, receiver) {
            continue;
        }
        seen[receiver] = true;
        let Some(other) = sender_of[receiver] else { continue };
        if augment(other, first, may, seen, sender_of) {
            sender_of[receiver] = Some(sender);
            return true;
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use rand::rngs::ChaCha8Rng;
    use rand::{RngExt, SeedableRng};
    use wayleave_topology::builders::{Cabling, Chain, build};
    use wayleave_topology::{LinkSpec, NetworkBuilder, PortSpec};
    use wayleave_units::{Bytes, Rate, Time};

    use super::*;

    /// The size of a largest matching, by trying everything.
    fn tried(count: usize, may: &dyn Fn(usize, usize) -> bool, sender: usize, taken: u32) -> usize {
        if sender == count {
            return 0;
        }
        let free = (0..count).filter(|&receiver| taken & (1 << receiver) == 0 && may(sender, receiver));
        let with = free.map(|receiver| 1 + tried(count, may, sender + 1, taken | (1 << receiver))).max().unwrap_or(0);
        with.max(tried(count, may, sender + 1, taken))
    }

    #[test]
    fn matchings_are_valid_and_as_large_as_those_of_enumeration() {
        for seed in 0..400 {
            let mut random = ChaCha8Rng::seed_from_u64(seed);
            let count = random.random_range(1..=6_usize);
            let dense = random.random_range(1..=9_u32);
            let edges: Vec<bool> = (0..count * count).map(|_| random.random_range(0..10) < dense).collect();
            let may = |sender: usize, receiver: usize| sender != receiver && edges[sender * count + receiver];
            for first in 0..count {
                let matched = largest(count, first, may);
                assert_eq!(matched.len(), tried(count, &may, 0, 0), "seed {seed}, first {first}");
                assert!(matched.iter().all(|&(sender, receiver)| may(sender, receiver)), "seed {seed}");
                let once = |of: fn(&(usize, usize)) -> usize| {
                    let mut ends: Vec<usize> = matched.iter().map(of).collect();
                    ends.sort_unstable();
                    ends.windows(2).all(|two| two[0] != two[1])
                };
                assert!(once(|pair| pair.0) && once(|pair| pair.1), "seed {seed}");
            }
        }
    }

    /// A sender that takes the only receiver of another gives it back: by hand, 0 may send to 1 and 2, and 3 only to 1.
    #[test]
    fn a_receiver_is_given_up_for_a_sender_that_has_no_other() {
        let may = |sender: usize, receiver: usize| matches!((sender, receiver), (0, 1 | 2) | (3, 1));
        assert_eq!(largest(4, 0, may), [(0, 2), (3, 1)]);
    }

    /// Two switches with two hosts each: both hosts of one side can send to the other side, over the one cable.
    #[test]
    fn in_a_line_a_hose_of_two_and_two_crosses_twice() {
        let network = build::line(&Chain { switches: 2, hosts_per_switch: 2, cabling: Cabling::default() }).unwrap();
        let hosts: Vec<NodeId> = network.hosts().collect();
        let distances = Distances::of(&network, hosts.clone());
        let on = |name: &str| {
            let link = network.find_link(name).unwrap();
            largest(4, 0, |from, to| distances.may_use(hosts[from], hosts[to], link))
        };
        assert_eq!(on("s1->s2").len(), 2);
        assert_eq!(on("s2->s1").len(), 2);
        assert_eq!(on("h1->s1").len(), 1);
        assert_eq!(on("s2->h4").len(), 1);
    }

    /// Hosts do not forward: between two switches there is no path over a host that is at both.
    #[test]
    fn hosts_do_not_forward() {
        let mut builder = NetworkBuilder::default();
        let nodes = ["a", "m", "b"].map(|name| builder.add_node(name, NodeKind::Host).unwrap());
        let [s, t] = ["s", "t"].map(|name| builder.add_node(name, NodeKind::Switch).unwrap());
        for (from, to) in [(nodes[0], s), (s, nodes[1]), (nodes[1], t), (t, nodes[2])] {
            let port = PortSpec::uniform(1, Bytes::new(100_000));
            let (rate, propagation, mtu) = (Rate::from_gbit(1), Time::ZERO, Bytes::new(1500));
            builder.add_cable(LinkSpec { from, to, rate, propagation, mtu, port: port.clone() }, port).unwrap();
        }
        let network = builder.build();
        let distances = Distances::of(&network, nodes);
        let link = network.find_link("s->m").unwrap();
        assert!(distances.may_use(nodes[0], nodes[1], link));
        assert!(!distances.may_use(nodes[0], nodes[2], link));
    }
}
