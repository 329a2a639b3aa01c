//! Routes that were promised to be disjoint: no two of them pass the same cable or switch, except for those that a
//! host cannot avoid.

use std::collections::BTreeSet;

use wayleave_topology::{LinkId, Network, NodeId, NodeKind};

use crate::claim::{Claim, PromisedFlow};
use crate::report::RecheckReport;
use crate::violation::BrokenPromise;

/// Every pair of routes of one contract.
pub(crate) fn check_disjoint(claim: &Claim<'_>, routes: &[usize], report: &mut RecheckReport) {
    for (place, &one) in routes.iter().enumerate() {
        for &other in &routes[place + 1..] {
            let (one, other) = (&claim.flows[one], &claim.flows[other]);
            for shared in shared(claim.network, one, other) {
                report.violations.push(BrokenPromise::NotDisjoint {
                    flow: one.name.clone(),
                    other: other.name.clone(),
                    shared,
                });
            }
        }
    }
}

/// Returns the names of the common elements of two routes that could be avoided.
fn shared(network: &Network, one: &PromisedFlow, other: &PromisedFlow) -> Vec<String> {
    let cables = |flow: &PromisedFlow| -> BTreeSet<LinkId> {
        flow.route.hops.iter().map(|hop| network.cable(hop.link)).collect()
    };
    let switches = |flow: &PromisedFlow| -> BTreeSet<NodeId> {
        let ends = flow.route.hops.iter().flat_map(|hop| [network.link(hop.link).from, network.link(hop.link).to]);
        ends.filter(|&node| network.node(node).kind == NodeKind::Switch).collect()
    };
    let up = network.links_from(one.from);
    let down = network.links_into(one.to);
    let only = |links: &[LinkId]| links.first().filter(|_| links.len() == 1).map(|&link| network.cable(link));
    let beside: [BTreeSet<NodeId>; 2] = [
        up.iter().map(|&link| network.link(link).to).collect(),
        down.iter().map(|&link| network.link(link).from).collect(),
    ];
    let cable_may = |cable: LinkId| [only(up), only(down)].contains(&Some(cable));
    let switch_may = |switch: &NodeId| beside.iter().any(|nodes| nodes.len() == 1 && nodes.contains(switch));
    let (own_cables, own_switches) = (cables(one), switches(one));
    let common_cables = cables(other).into_iter().filter(|cable| own_cables.contains(cable) && !cable_may(*cable));
    let names: Vec<String> = common_cables.map(|cable| network.link(cable).name.clone()).collect();
    let common_switches =
        switches(other).into_iter().filter(|switch| own_switches.contains(switch) && !switch_may(switch));
    names.into_iter().chain(common_switches.map(|switch| network.node(switch).name.clone())).collect()
}
