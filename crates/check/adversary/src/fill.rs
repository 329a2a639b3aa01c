//! Routes of traffic without a contract: the lowest queue of every port that contracts use is never empty, and one of
//! its frames is on the line when a contract's packet arrives.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use wayleave_topology::{Hop, LinkId, Network, NodeId, NodeKind, Route};
use wayleave_units::Bytes;

use crate::claim::{AdmittedClaim, Background};

/// No port is filled from more inputs than this.
const MAX_INPUTS: usize = 4;

/// The largest frame that the simulator takes: Ethernet's 38 B and six tags beside the MTU.
pub(crate) const MAX_OVERHEAD: u64 = 62;

/// Routes that fill ports.
pub(crate) struct FillRoutes {
    /// By link.
    routes: BTreeMap<LinkId, Vec<(Route, Bytes)>>,
}

impl FillRoutes {
    /// Routes for every link that a promise uses.
    pub(crate) fn new(claim: &AdmittedClaim, network: &Network) -> Self {
        let Background::Saturating { largest } = &claim.background else { return Self { routes: BTreeMap::new() } };
        let hops = || claim.promises.iter().flat_map(|promise| &promise.route.hops);
        let lowest = |link: LinkId| network.queues(link).len() as u8 - 1;
        // If a contract has the lowest queue, there is none for other traffic.
        let taken: BTreeSet<LinkId> = hops().filter(|hop| hop.queue == lowest(hop.link)).map(|hop| hop.link).collect();
        let used: BTreeSet<LinkId> = hops().map(|hop| hop.link).collect();
        let of_link = |link: LinkId| {
            let routes = filling(network, link, &taken).into_iter().map(|links| {
                let frame = links.iter().map(|&link| {
                    let most = network.link(link).mtu.get() + MAX_OVERHEAD;
                    largest.get(link.index()).map_or(most, |frame| frame.get().min(most))
                });
                let frame = Bytes::new(frame.min().unwrap_or(0));
                (Route { hops: links.into_iter().map(|link| Hop { link, queue: lowest(link) }).collect() }, frame)
            });
            (link, routes.collect())
        };
        Self { routes: used.iter().copied().map(of_link).collect() }
    }

    /// The routes that fill these links, each once, with their frames.
    pub(crate) fn routes(&self, links: impl Iterator<Item = LinkId>) -> Vec<&(Route, Bytes)> {
        let links: BTreeSet<LinkId> = links.collect();
        let mut seen = BTreeSet::new();
        let all = links.iter().filter_map(|link| self.routes.get(link)).flatten();
        all.filter(|(route, _)| seen.insert(&route.hops)).collect()
    }

    /// All links that are filled.
    pub(crate) fn links(&self) -> impl Iterator<Item = LinkId> + '_ {
        self.routes.keys().copied()
    }
}

/// Routes through a link, from as many inputs as it takes to bring more than it sends.
fn filling(network: &Network, id: LinkId, taken: &BTreeSet<LinkId>) -> Vec<Vec<LinkId>> {
    let link = network.link(id);
    if taken.contains(&id) {
        return Vec::new();
    }
    let Some(tail) = to_host(network, link.to, &[link.from], taken, Direction::Forward) else { return Vec::new() };
    let behind = |head: &[LinkId]| [head, &[id], &tail].concat();
    if network.node(link.from).kind == NodeKind::Host {
        return vec![behind(&[])];
    }
    let mut avoided = vec![link.from, link.to];
    avoided.extend(tail.iter().map(|&link| network.link(link).to));
    let mut routes = Vec::new();
    let mut rate = 0;
    let mut inputs: Vec<LinkId> = network.links_into(link.from).to_vec();
    // Adjacent hosts come first: their routes are short.
    inputs.sort_by_key(|&input| network.node(network.link(input).from).kind == NodeKind::Switch);
    for input in inputs {
        let from = network.link(input).from;
        if avoided.contains(&from) || taken.contains(&input) {
            continue;
        }
        let Some(mut head) = to_host(network, from, &avoided, taken, Direction::Backward) else { continue };
        head.reverse();
        head.push(input);
        let slowest = head.iter().map(|&link| network.link(link).rate.bits_per_second()).min().unwrap_or(0);
        rate += slowest;
        routes.push(behind(&head));
        if rate > link.rate.bits_per_second() || routes.len() == MAX_INPUTS {
            break;
        }
    }
    routes
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Direction {
    Forward,
    Backward,
}

/// Returns the shortest path from a node to any host, or in reverse, as links in order of the walk.
fn to_host(
    network: &Network,
    start: NodeId,
    avoided: &[NodeId],
    taken: &BTreeSet<LinkId>,
    direction: Direction,
) -> Option<Vec<LinkId>> {
    let mut came: BTreeMap<NodeId, Option<LinkId>> = avoided.iter().map(|&node| (node, None)).collect();
    came.insert(start, None);
    let mut waiting = VecDeque::from([start]);
    while let Some(node) = waiting.pop_front() {
        if network.node(node).kind == NodeKind::Host {
            let mut links = Vec::new();
            let mut at = node;
            while let Some(link) = came.get(&at).copied().flatten() {
                links.push(link);
                let link = network.link(link);
                at = if direction == Direction::Forward { link.from } else { link.to };
            }
            links.reverse();
            return Some(links);
        }
        let next = match direction {
            Direction::Forward => network.links_from(node),
            Direction::Backward => network.links_into(node),
        };
        for &id in next.iter().filter(|link| !taken.contains(link)) {
            let link = network.link(id);
            let end = if direction == Direction::Forward { link.to } else { link.from };
            came.entry(end).or_insert_with(|| {
                waiting.push_back(end);
                Some(id)
            });
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use wayleave_topology::builders::{FatTree, build};
    use wayleave_units::{Rate, Time};

    use super::*;
    use crate::claim::Promise;
    use crate::stage::Stage;

    /// One promise between the first and the last host of a fat tree.
    fn claim(queue: u8) -> AdmittedClaim {
        let network = Arc::new(build::fat_tree(&FatTree::default()).unwrap());
        let nodes = ["h1", "pod1-edge1", "pod1-agg1", "core1", "pod4-agg1", "pod4-edge2", "h16"];
        let hop = |pair: &[&str]| Hop {
            link: network.find_link(&format!("{}->{}", pair[0], pair[1])).unwrap(),
            queue: if pair[0] == "h1" { 0 } else { queue },
        };
        let promise = Promise {
            name: "far".into(),
            route: Route { hops: nodes.windows(2).map(hop).collect() },
            rate: Rate::from_mbit(1),
            burst: Bytes::new(1000),
            frame: Bytes::new(1000),
            bound: Time::from_millis(1),
            today: None,
        };
        let largest = vec![Bytes::new(1562); network.links().len()];
        AdmittedClaim::new(network, Background::Saturating { largest }, vec![promise])
    }

    #[test]
    fn every_port_of_the_route_is_offered_more_than_it_sends() {
        let claim = claim(0);
        let stage = Stage::new(&claim).unwrap();
        let (fill, network) = (&stage.fill, &stage.network);
        assert_eq!(fill.links().count(), 6);
        for hop in &claim.promises[0].route.hops {
            let routes = fill.routes([hop.link].into_iter());
            let is_first = network.node(network.link(hop.link).from).kind == NodeKind::Host;
            // A host fills its own port; everywhere else it takes two inputs of the same rate.
            assert_eq!(routes.len(), if is_first { 1 } else { 2 });
            for (route, frame) in routes {
                let (first, last) = (route.hops[0], route.hops[route.hops.len() - 1]);
                let ends = (network.link(first.link).from, network.link(last.link).to);
                assert_eq!(route.validate(network, ends.0, ends.1), Ok(()));
                assert!(route.hops.iter().any(|other| other.link == hop.link));
                assert_eq!(*frame, Bytes::new(1562));
            }
        }
    }

    #[test]
    fn fill_traffic_avoids_queues_with_a_contract() {
        let claim = claim(7);
        let stage = Stage::new(&claim).unwrap();
        let fill = &stage.fill;
        let taken: Vec<LinkId> = claim.promises[0].route.hops[1..].iter().map(|hop| hop.link).collect();
        for (route, _) in fill.routes(fill.links()) {
            assert!(route.hops.iter().all(|hop| !taken.contains(&hop.link)));
        }
    }
}
