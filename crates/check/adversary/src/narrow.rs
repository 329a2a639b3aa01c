//! The part of a network that a run uses: what a simulator keeps for a port it keeps for every port, and an attack on one
//! contract among a hundred thousand passes a few of them.

use std::collections::BTreeSet;
use std::sync::Arc;

use wayleave_scenarios::{Element, FlowEndpoints, Scenario};
use wayleave_topology::{LinkId, LinkSpec, Network, NetworkBuilder, NetworkError, NodeId, PortSpec, Route};

/// Minimum ratio of all links to the used links for which a part is cut out.
const WORTH: usize = 2;

/// Leaves of a scenario's network what its packets and its outages pass. Nodes and links stay in their order, so that what
/// is decided by their order is decided as before.
pub(crate) fn narrow(scenario: &mut Scenario) -> Result<(), NetworkError> {
    let network = scenario.network.clone();
    let (nodes, links) = used(scenario, &network);
    if links.len() * WORTH > network.links().len() {
        return Ok(());
    }
    let mut builder = NetworkBuilder::default();
    for &node in &nodes {
        builder.add(network.node(node).clone())?;
    }
    let new_node = |node: NodeId| NodeId(position(&nodes, &node));
    for &id in &links {
        let link = network.link(id);
        let port = PortSpec { queues: network.queues(id).to_vec() };
        let (from, to) = (new_node(link.from), new_node(link.to));
        let (rate, propagation, mtu) = (link.rate, link.propagation, link.mtu);
        builder.add_link(LinkSpec { from, to, rate, propagation, mtu, port })?;
    }
    let new_link = |link: LinkId| LinkId(position(&links, &link));
    scenario.network = Arc::new(builder.build());
    let along = |route: &mut Route| route.hops.iter_mut().for_each(|hop| hop.link = new_link(hop.link));
    for traffic in &mut scenario.traffic {
        traffic.route.iter_mut().for_each(along);
        traffic.copies.iter_mut().flat_map(|copies| &mut copies.routes).for_each(along);
        if let FlowEndpoints::Pairs(pairs) = &mut traffic.ends {
            for end in pairs.iter_mut().flat_map(|(from, to)| [from, to]) {
                end.host = new_node(end.host);
            }
        }
    }
    for outage in &mut scenario.outages {
        match &mut outage.what {
            Element::Link(link) => *link = new_link(*link),
            Element::Switch(node) => *node = new_node(*node),
        }
    }
    scenario.shared_services.retain(|service| nodes.binary_search(&service.switch).is_ok());
    scenario.shared_services.iter_mut().for_each(|service| service.switch = new_node(service.switch));
    Ok(())
}

/// Returns the position of an element of a sorted list.
fn position<T: Ord>(all: &[T], one: &T) -> u32 {
    all.binary_search(one).unwrap_or_else(|place| place) as u32
}

/// Returns the nodes and links that packets and outages use, in order; both directions of every cable.
fn used(scenario: &Scenario, network: &Network) -> (Vec<NodeId>, Vec<LinkId>) {
    let copies = scenario.traffic.iter().filter_map(|traffic| traffic.copies.as_ref());
    let routes = scenario.traffic.iter().filter_map(|traffic| traffic.route.as_ref());
    let routes = routes.chain(copies.flat_map(|copies| &copies.routes));
    let mut links: BTreeSet<LinkId> = routes.flat_map(|route| &route.hops).map(|hop| hop.link).collect();
    let mut nodes = BTreeSet::new();
    for outage in &scenario.outages {
        match outage.what {
            Element::Link(link) => drop(links.insert(link)),
            Element::Switch(node) => drop(nodes.insert(node)),
        }
    }
    let back: Vec<LinkId> = links.iter().filter_map(|&link| network.reverse(link)).collect();
    links.extend(back);
    nodes.extend(links.iter().flat_map(|&link| [network.link(link).from, network.link(link).to]));
    (nodes.into_iter().collect(), links.into_iter().collect())
}
