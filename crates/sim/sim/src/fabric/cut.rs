//! Assignment of nodes to the parts of a network.

use wayleave_topology::{Network, NodeId, NodeKind};

/// By link, the parts of the nodes at its ends.
#[derive(Debug)]
pub(crate) struct Cut {
    parts: usize,
    ends: Vec<(u8, u8)>,
}

impl Cut {
    /// Cuts into at most `parts` parts; `None` if there would be only one. Switches with hosts are cut in their
    /// order, which is the order of pods and racks, into parts with about equally many hosts. Every other switch
    /// joins the part to which more than half of its links lead, or the least loaded one.
    pub(crate) fn new(network: &Network, parts: usize) -> Option<Self> {
        let of_node = parts_of_nodes(network, parts.min(usize::from(u8::MAX)));
        let ends: Vec<(u8, u8)> =
            network.links().map(|(_, link)| (of_node[link.from.index()], of_node[link.to.index()])).collect();
        let parts = usize::from(of_node.iter().copied().max().unwrap_or(0)) + 1;
        (parts > 1).then_some(Self { parts, ends })
    }

    /// Returns the number of parts.
    pub(crate) fn parts(&self) -> usize {
        self.parts
    }

    /// The parts of the nodes that a link leaves and leads to.
    #[inline]
    pub(crate) fn ends(&self, link: u32) -> (usize, usize) {
        let (from, to) = self.ends[link as usize];
        (from.into(), to.into())
    }
}

const NONE: u8 = u8::MAX;

fn parts_of_nodes(network: &Network, parts: usize) -> Vec<u8> {
    let mut of_node = vec![NONE; network.nodes().len()];
    let home = |host: NodeId| network.links_from(host).first().map(|&up| network.link(up).to);
    let mut hosts = vec![0; of_node.len()];
    network.hosts().filter_map(home).for_each(|switch| hosts[switch.index()] += 1);
    let all: usize = hosts.iter().sum();
    let mut before = 0;
    for (of, &count) in of_node.iter_mut().zip(&hosts).filter(|(_, count)| **count > 0) {
        *of = ((2 * before + count) * parts / (2 * all)) as u8;
        before += count;
    }
    close_gaps(&mut of_node);
    // Layer by layer.
    let mut load = vec![0_usize; parts];
    loop {
        let found: Vec<NodeId> = network
            .nodes()
            .filter(|(id, node)| node.kind == NodeKind::Switch && of_node[id.index()] == NONE)
            .map(|(id, _)| id)
            .collect();
        let before = of_node.clone();
        for &switch in &found {
            let mut links = vec![0_usize; parts];
            for &link in network.links_from(switch) {
                let part = before[network.link(link).to.index()];
                if part != NONE {
                    links[usize::from(part)] += 1;
                }
            }
            // A switch of a pod stays there; one of the core belongs to no part, and joins the least loaded one.
            let known: usize = links.iter().sum();
            let rank = |part: usize| (2 * links[part] > known, links[part] > 0, usize::MAX - load[part]);
            let best = (0..parts).rev().max_by_key(|&part| rank(part));
            if let Some(best) = best.filter(|&best| links[best] > 0) {
                of_node[switch.index()] = best as u8;
                load[best] += network.links_from(switch).len();
            }
        }
        if before == of_node {
            break;
        }
    }
    for host in network.hosts() {
        let part = home(host).map_or(NONE, |switch| of_node[switch.index()]);
        of_node[host.index()] = part;
    }
    of_node.iter_mut().filter(|of| **of == NONE).for_each(|of| *of = 0);
    of_node
}

/// Parts without a switch are left out.
fn close_gaps(of_node: &mut [u8]) {
    let (mut last, mut next) = (NONE, 0);
    for of in of_node.iter_mut().filter(|of| **of != NONE) {
        if *of != last {
            last = *of;
            next += 1;
        }
        *of = next - 1;
    }
}
