//! The least bound that any delay budgets could give a request in an empty network: separates requests that the links
//! make impossible from those that a setting refuses.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use wayleave_ledger::Ledger;
use wayleave_topology::{Link, LinkId, NodeId, NodeKind};
use wayleave_units::{Amount, Bytes, Time};

use super::RouteQuery;

/// Returns a lower bound of the end-to-end bound of a request, for any delay budgets and with nothing admitted: on
/// every link two largest frames, jitter, and what arrives at once; and processing and propagation. `None` if nothing
/// joins the hosts.
pub fn least_possible(ledger: &Ledger, query: &RouteQuery) -> Option<Time> {
    let network = ledger.network();
    // Behind the first link at least the lesser of the burst and the smallest largest frame arrives at once.
    let links = || network.links().map(|(id, _)| id);
    let smallest = links().map(|id| ledger.largest_frame(id)).min()?;
    let at_once = |is_first| if is_first { query.burst } else { query.burst.min(Amount::from(smallest)) };
    let cost = |id: LinkId, link: &Link| {
        let node = network.node(link.from);
        let debt = Amount::from(Bytes::new(2 * ledger.largest_frame(id).get()));
        let queue = (debt + at_once(link.from == query.from)).time_at(link.rate).unwrap_or(Time::MAX);
        let constant = [node.processing, node.jitter, link.propagation].map(Time::as_nanos);
        // Rounding up could exceed the exact bound by one.
        constant.into_iter().fold(queue.as_nanos().saturating_sub(1), u64::saturating_add)
    };
    let mut least = vec![u64::MAX; network.nodes().count()];
    let mut open = BinaryHeap::from([Reverse((0, query.from))]);
    least[query.from.index()] = 0;
    while let Some(Reverse((time, node))) = open.pop() {
        if node == query.to {
            return Some(Time::from_nanos(time));
        }
        if time > least[node.index()] || !forwards(network.node(node).kind, node, query.from) {
            continue;
        }
        for &id in network.links_from(node) {
            let link = network.link(id);
            let time = time.saturating_add(cost(id, link));
            if time < least[link.to.index()] {
                least[link.to.index()] = time;
                open.push(Reverse((time, link.to)));
            }
        }
    }
    None
}

/// Hosts do not forward packets of others.
fn forwards(kind: NodeKind, node: NodeId, from: NodeId) -> bool {
    kind == NodeKind::Switch || node == from
}
