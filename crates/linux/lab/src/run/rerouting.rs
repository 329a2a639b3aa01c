//! An alternative route.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use wayleave_topology::{LinkId, Network, NodeId, NodeKind};

/// Returns `true` if a link joins two switches.
pub(super) fn is_between(network: &Network, link: LinkId) -> bool {
    let link = network.link(link);
    [link.from, link.to].iter().all(|&node| network.node(node).kind == NodeKind::Switch)
}

/// Returns a shortest route between these hosts that shares as few cables between switches with the given one as
/// possible: none, or all but one. Each hop has the queue of the hop at its index, and further hops that of the last
/// one: a route in other queues could make a contract stop before it resumes.
pub(super) fn other(network: &Network, route: &[(String, u8)]) -> Option<Vec<(String, u8)>> {
    let links: Option<Vec<LinkId>> = route.iter().map(|(name, _)| network.find_link(name)).collect();
    let links = links?;
    let (from, to) = (network.link(*links.first()?).from, network.link(*links.last()?).to);
    let between: Vec<LinkId> = links.iter().copied().filter(|&link| is_between(network, link)).collect();
    let all = std::iter::once(between.iter().copied().collect::<BTreeSet<_>>());
    let singles = between.iter().map(|&link| BTreeSet::from([link]));
    let found = all.chain(singles).filter(|avoided| !avoided.is_empty()).find_map(|avoided| {
        let avoided = avoided.iter().map(|&link| network.cable(link)).collect();
        shortest(network, from, to, &avoided)
    })?;
    let queue = |hop: usize| route.get(hop).or(route.last()).map_or(0, |&(_, queue)| queue);
    let limit = |link: LinkId, queue: u8| queue.min(network.queues(link).len().saturating_sub(1) as u8);
    let hop = |(hop, link): (usize, LinkId)| (network.link(link).name.clone(), limit(link, queue(hop)));
    Some(found.into_iter().enumerate().map(hop).collect())
}

/// Returns a shortest route that leads through switches and avoids these cables.
fn shortest(network: &Network, from: NodeId, to: NodeId, avoided: &BTreeSet<LinkId>) -> Option<Vec<LinkId>> {
    let mut entered: BTreeMap<NodeId, LinkId> = BTreeMap::new();
    let mut open = VecDeque::from([from]);
    while let Some(node) = open.pop_front() {
        if node == to {
            break;
        }
        if node != from && network.node(node).kind == NodeKind::Host {
            continue;
        }
        for &link in network.links_from(node).iter().filter(|&&link| !avoided.contains(&network.cable(link))) {
            let next = network.link(link).to;
            if next != from && !entered.contains_key(&next) {
                entered.insert(next, link);
                open.push_back(next);
            }
        }
    }
    let mut path = Vec::new();
    let mut node = to;
    while node != from {
        let &link = entered.get(&node)?;
        path.push(link);
        node = network.link(link).from;
    }
    path.reverse();
    Some(path)
}

#[cfg(test)]
mod tests {
    use super::*;
    use wayleave_topology::builders::{Cabling, FatTree, build};

    fn route(links: &[&str]) -> Vec<(String, u8)> {
        links.iter().zip(0..).map(|(link, queue)| ((*link).to_owned(), queue)).collect()
    }

    #[test]
    fn another_route_of_a_fat_tree_shares_only_the_cables_of_the_hosts() {
        let network = build::fat_tree(&FatTree::default()).unwrap();
        let links = [
            "h1->pod1-edge1",
            "pod1-edge1->pod1-agg1",
            "pod1-agg1->core1",
            "core1->pod3-agg1",
            "pod3-agg1->pod3-edge1",
        ];
        let present = route(&[&links[..], &["pod3-edge1->h9"]].concat());
        let other = other(&network, &present).unwrap();
        assert_eq!(other.len(), 6);
        assert_eq!([&other[0], &other[5]], [&present[0], &present[5]]);
        for (one, another) in present[1..5].iter().zip(&other[1..5]) {
            assert!(one.0 != another.0 && one.1 == another.1, "{one:?} {another:?}");
        }
    }

    #[test]
    fn a_single_path_has_no_alternative() {
        let network = build::star(2, Cabling::default()).unwrap();
        assert_eq!(other(&network, &route(&["h1->s1", "s1->h2"])), None);
        let tree = build::fat_tree(&FatTree::default()).unwrap();
        assert_eq!(other(&tree, &route(&["h1->pod1-edge1", "pod1-edge1->h2"])), None);
    }
}
