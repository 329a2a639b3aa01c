//! Paths with the fewest links between hosts, and the part of a pair's packets on each link when every node splits evenly.
//!
//! Hosts do not forward. A host with several links may use each of them; parallel links are separate. Nothing here is shared with the ledger.

use std::collections::{BTreeMap, HashMap, VecDeque};

use num_rational::Ratio;
use num_traits::{CheckedAdd as _, CheckedDiv as _};
use wayleave_topology::{LinkId, Network, NodeId, NodeKind};

/// Fraction of the traffic of a pair of hosts.
pub(super) type Part = Ratio<i128>;

/// The switches (or hosts) that a host sends to and receives from, each with the number of parallel links.
pub(super) type Attachment = [Vec<(NodeId, usize)>; 2];

/// The paths of a network over some of its links.
pub(super) struct Paths<'n> {
    network: &'n Network,
    open: Vec<bool>,
    /// Links to each destination that was looked up, from every node; `u32::MAX` where no path leads there.
    distances: HashMap<NodeId, Vec<u32>>,
}

impl<'n> Paths<'n> {
    /// Creates the paths over the links that are open.
    pub(super) fn new(network: &'n Network, open: Vec<bool>) -> Self {
        Self { network, open, distances: HashMap::new() }
    }

    /// Returns the attachment of a host: hosts that have the same one have paths through the same links between switches.
    pub(super) fn attachment(&self, host: NodeId) -> Attachment {
        let network = self.network;
        let count = |links: &[LinkId], end: fn(&wayleave_topology::Link) -> NodeId| {
            let mut counts = BTreeMap::<NodeId, usize>::new();
            for &link in links.iter().filter(|link| self.open[link.index()]) {
                *counts.entry(end(network.link(link))).or_default() += 1;
            }
            counts.into_iter().collect()
        };
        [count(network.links_from(host), |link| link.to), count(network.links_into(host), |link| link.from)]
    }

    /// Returns the open links of a host, out and in.
    pub(super) fn access(&self, host: NodeId) -> [Vec<LinkId>; 2] {
        let open = |links: &[LinkId]| links.iter().copied().filter(|link| self.open[link.index()]).collect();
        [open(self.network.links_from(host)), open(self.network.links_into(host))]
    }

    /// Returns the nodes that a link joins.
    pub(super) fn ends(&self, link: LinkId) -> (NodeId, NodeId) {
        let link = self.network.link(link);
        (link.from, link.to)
    }

    /// Returns `true` if a host is cabled to another host.
    pub(super) fn has_host_neighbour(&self, attachment: &Attachment) -> bool {
        attachment.iter().flatten().any(|&(node, _)| self.network.node(node).kind == NodeKind::Host)
    }

    /// Returns every link on a path with the fewest links from one host to another, with the part of the pair's packets there if
    /// every node splits evenly over the links that lead nearer. `None` represents a part that
    /// no fraction of 128 bits expresses. Empty without a path.
    pub(super) fn links(&mut self, from: NodeId, to: NodeId) -> Vec<(LinkId, Option<Part>)> {
        let network = self.network;
        let open = &self.open;
        let hops = self.distances.entry(to).or_insert_with(|| distances(network, open, to));
        let mut used = Vec::new();
        if hops[from.index()] == u32::MAX {
            return used;
        }
        let mut layer = BTreeMap::from([(from, Some(Part::from_integer(1)))]);
        for left in (0..hops[from.index()]).rev() {
            let mut next = BTreeMap::<NodeId, Option<Part>>::new();
            for (node, part) in layer {
                let forwards = |link: &&LinkId| {
                    let end = network.link(**link).to;
                    let relays = end == to || network.node(end).kind == NodeKind::Switch;
                    open[link.index()] && relays && hops[end.index()] == left
                };
                let nearer: Vec<LinkId> = network.links_from(node).iter().filter(forwards).copied().collect();
                let each = part.and_then(|part| part.checked_div(&Part::from_integer(nearer.len() as i128)));
                for link in nearer {
                    used.push((link, each));
                    let sum = next.entry(network.link(link).to).or_insert(Some(Part::from_integer(0)));
                    *sum = sum.zip(each).and_then(|(sum, each)| sum.checked_add(&each));
                }
            }
            layer = next;
        }
        used
    }
}

/// Returns the number of links from every node to a destination.
fn distances(network: &Network, open: &[bool], to: NodeId) -> Vec<u32> {
    let mut hops = vec![u32::MAX; network.nodes().len()];
    hops[to.index()] = 0;
    let mut queue = VecDeque::from([to]);
    while let Some(node) = queue.pop_front() {
        for &link in network.links_into(node).iter().filter(|link| open[link.index()]) {
            let from = network.link(link).from;
            if hops[from.index()] == u32::MAX {
                hops[from.index()] = hops[node.index()] + 1;
                if network.node(from).kind == NodeKind::Switch {
                    queue.push_back(from);
                }
            }
        }
    }
    hops
}
