//! Upper bounds for every method: cuts of the network that the rates of requests overflow.
//!
//! All traffic that crosses a set of links needs its rate there. Every method has to respect two kinds of cuts, with
//! any routes, queues and budgets: the links of a host, and those between an edge switch with its hosts and the rest
//! of the network. Delays and bursts only reduce the capacity further. So a request is refused at the latest when the
//! requested rates overflow a cut. (In a fat tree no other cut binds sooner: above the edges the rate is equal to
//! that below.)

use wayleave_scheme_api::Request;
use wayleave_topology::{Network, NodeId, NodeKind};

/// A set of nodes: available and requested bit/s into the set and out of the set.
#[derive(Clone, Copy, Debug, Default)]
struct Cut {
    capacity: [u128; 2],
    asked: [u128; 2],
}

const INTO: usize = 0;
const OUT: usize = 1;

/// The cuts around every host, and around every switch with the hosts that hang on nothing else.
#[derive(Clone, Debug)]
pub struct Cuts {
    /// Per node, itself alone.
    alone: Vec<Cut>,
    /// Per node, its switch with all hosts there; meaningless for nodes that are on no such side.
    groups: Vec<Cut>,
    /// Per node, the node of its group.
    group_of: Vec<NodeId>,
}

impl Cuts {
    /// Of a network.
    pub fn new(network: &Network) -> Self {
        let home = |(id, node): (NodeId, &wayleave_topology::Node)| match (node.kind, network.links_to_switches(id)) {
            (NodeKind::Host, [first, others @ ..]) => {
                let switch = network.link(*first).to;
                let is_only = others.iter().all(|&other| network.link(other).to == switch);
                if is_only { switch } else { id }
            }
            _ => id,
        };
        let group_of: Vec<NodeId> = network.nodes().map(home).collect();
        let mut cuts = Self {
            alone: vec![Cut::default(); group_of.len()],
            groups: vec![Cut::default(); group_of.len()],
            group_of,
        };
        for (_, link) in network.links() {
            let rate = u128::from(link.rate.bits_per_second());
            cuts.cross(link.from, link.to, |cut, side| cut.capacity[side] += rate);
        }
        cuts
    }

    /// Visits the cuts between two nodes, each with the direction of traffic.
    fn cross(&mut self, from: NodeId, to: NodeId, mut visit: impl FnMut(&mut Cut, usize)) {
        visit(&mut self.alone[from.index()], OUT);
        visit(&mut self.alone[to.index()], INTO);
        let (a, b) = (self.group_of[from.index()], self.group_of[to.index()]);
        if a != b {
            visit(&mut self.groups[a.index()], OUT);
            visit(&mut self.groups[b.index()], INTO);
        }
    }

    /// The most requests, in order, that the rates of links could let in before one has to be refused; `None` if all.
    pub fn until_refusal(mut self, requests: impl Iterator<Item = Request>) -> Option<usize> {
        for (number, request) in requests.enumerate() {
            let rate = u128::from(request.rate.bits_per_second());
            let mut is_over = false;
            self.cross(request.from, request.to, |cut, side| {
                cut.asked[side] += rate;
                is_over |= cut.asked[side] > cut.capacity[side];
            });
            if is_over {
                return Some(number);
            }
        }
        None
    }
}
