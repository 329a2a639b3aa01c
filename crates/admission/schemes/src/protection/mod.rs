//! Protection: every packet over several physically disjoint routes at once.
//!
//! Chameleon (CoNEXT 2020), section 3.3, last paragraph: to cope with n - 1 independent failures "the routing
//! procedure can be adapted to find n physically disjoint paths"; section 4.2.2: the tagger duplicates each packet
//! and tags the copies with the different paths. The paper did not implement it (section 4.1.3).
//!
//! | text | here |
//! |---|---|
//! | 3.3 run the routing n times, remove links and nodes of the found paths | `one_by_one` |
//! | 3.3 all queues of the traversed physical links are removed | `Detached`: cables, both directions, and switches |
//! | 3.3 algorithms for disjoint paths are research | `along_disjoint_paths`: n paths of least sum on the physical graph |
//! | 4.2.2 copies | each has a reservation of its own; a host's only link carries all of them |
//!
//! Deviations, and points that the paper leaves open:
//! - A host with one link shares it among all routes, with the switch at its other end. These are left in the
//!   network, and [`shared`] names them. A host with several links that all lead to one switch shares that switch.
//!   Everything else is disjoint, also the links of hosts that have several.
//! - Removing paths one by one can run into a trap: the first path takes links that two others would need. Then paths
//!   are chosen together (successive shortest paths with unit capacities, after Suurballe, "Disjoint paths in a
//!   network", 1974, and Bhandari, "Survivable networks", 1999), and the best queues are found on each of them. If a
//!   link of one of them admits the flow nowhere, it is left out and they are chosen again, `MAX_CHOICES` times. That
//!   is still incomplete: paths of least sum need not be those that all meet the deadline (to find these is NP-hard),
//!   and the order of the copies can matter.
//! - Flows are moved to make room as for other requests. A refusal rolls everything back with any setting of
//!   [`crate::admission::chameleon::Moves`]. The copies themselves are not moved later: a route that is disjoint
//!   today could be lost.

mod disjoint;
mod place;
#[cfg(test)]
mod tests;

pub(crate) use place::{Copies, RouteWithMoves, along, along_disjoint_paths, one_by_one};

use wayleave_topology::{FailureElement, LinkId, Network, NodeId, Route};

/// Maximum number of choices of disjoint paths, each without the links that admit the flow nowhere.
const MAX_CHOICES: usize = 8;

/// Returns the elements that the routes of a protected request share, in the order of the first: their failure is not
/// survived.
pub fn shared(network: &Network, routes: &[Route]) -> Vec<FailureElement> {
    let [first, others @ ..] = routes else { return Vec::new() };
    let is_shared = |element: &FailureElement| others.iter().any(|other| network.uses(other, *element));
    network.elements(first).into_iter().filter(is_shared).collect()
}

/// Elements at the ends of a request that are exempt from disjointness.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Detached {
    /// Only links of a host, by their direction.
    links: Vec<LinkId>,
    /// Switches that a host cannot get around.
    switches: Vec<NodeId>,
    /// Both hosts hang on one switch by one link each: all routes are one.
    pub(crate) is_hopeless: bool,
}

impl Detached {
    /// Returns the links and switches adjacent to the hosts that all routes have to share.
    pub(crate) fn of(network: &Network, from: NodeId, to: NodeId) -> Self {
        let mut detached = Self::default();
        let ends = [
            network.links_to_switches(from).iter().map(|&link| (link, network.link(link).to)).collect::<Vec<_>>(),
            network.links_into(to).iter().map(|&link| (link, network.link(link).from)).collect(),
        ];
        for end in &ends {
            if let [(link, _)] = end[..] {
                detached.links.push(link);
            }
            if let Some(&(_, switch)) = end.first()
                && end.iter().all(|&(_, other)| other == switch)
            {
                detached.switches.push(switch);
            }
        }
        detached.is_hopeless =
            detached.links.len() == 2 && detached.switches.len() == 2 && detached.switches[0] == detached.switches[1];
        detached
    }

    pub(crate) fn is_shared_link(&self, link: LinkId) -> bool {
        self.links.contains(&link)
    }

    pub(crate) fn is_shared_switch(&self, switch: NodeId) -> bool {
        self.switches.contains(&switch)
    }

    /// Takes what a route uses out of the network: cables with both directions, switches with all their links.
    pub(crate) fn close(&self, network: &Network, route: &Route, closed: &mut [bool]) {
        for element in network.elements(route) {
            match element {
                FailureElement::Cable(link) if !self.is_shared_link(link) => {
                    closed[link.index()] = true;
                    if let Some(reverse) = network.reverse(link) {
                        closed[reverse.index()] = true;
                    }
                }
                FailureElement::Switch(switch) if !self.is_shared_switch(switch) => {
                    for link in network.links_from(switch).iter().chain(network.links_into(switch)) {
                        closed[link.index()] = true;
                    }
                }
                FailureElement::Cable(_) | FailureElement::Switch(_) => {}
            }
        }
    }
}
