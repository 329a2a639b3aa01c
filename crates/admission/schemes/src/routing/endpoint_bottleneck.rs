//! Early infeasibility check at source and destination, by inspecting a few links.
//!
//! Networks fill at the edge first. A search begins at the source, so it finds that the links before the
//! destination's own are full only after exploring all paths across the network. But every path of a flow passes a
//! link of its source and the next link, and a link before the destination's and that one. If none of these few
//! admits it with its minimum delay so far, or only queues that are too slow together, there is no route. The result
//! "stuck" is certain; the opposite result gives no information.

use wayleave_ledger::{Ledger, PortInput};
use wayleave_topology::{LinkId, NodeId};
use wayleave_units::Time;

use super::RouteQuery;
use super::exclusions::Denial;
use super::graph::QueueGraph;

/// Number of steps after which a search runs this check; a direct path through a fat tree takes twelve.
pub(super) const MAX_CHECKS: u32 = 24;

/// Returns `true` if the flow surely has no route. `denials` receives the denials of the check: while all of them
/// hold, there is no route. The graph has to be prepared for its ends.
pub(super) fn is_dead_end(on: (&QueueGraph, &Ledger, &RouteQuery), denials: &mut Vec<Denial>) -> bool {
    denials.clear();
    let (graph, ledger, query) = on;
    let mut look = EndpointScan { graph, ledger, query, denials };
    let gets_through = look.leaves_source().is_none_or(|away| look.reaches_destination(away));
    // Cases without a denial are left to the search, so that callers that wait for a denial to end need no other
    // case.
    !gets_through && !denials.is_empty()
}

struct EndpointScan<'a> {
    graph: &'a QueueGraph,
    ledger: &'a Ledger,
    query: &'a RouteQuery,
    denials: &'a mut Vec<Denial>,
}

/// Minimum values over all paths, behind the source's links and the next ones.
struct LeastCosts {
    /// From end to end, ns; [`u64::MAX`] if there is no path.
    total: u64,
    /// Waiting time of the flow beyond the minimum in an empty network: in its own link, and in both, ns.
    late: (u64, u64),
}

impl EndpointScan<'_> {
    /// Returns the flow's minimum delays behind its source and the next switch; `None` if the destination is at that
    /// switch.
    ///
    /// Exact for these links: a flow that arrives earlier is admitted wherever a later one is.
    fn leaves_source(&mut self) -> Option<LeastCosts> {
        let (graph, network, query) = (self.graph, self.ledger.network(), self.query);
        let start = graph.start(query.from);
        let mut away = LeastCosts { total: u64::MAX, late: (u64::MAX, u64::MAX) };
        for &LinkId(up) in network.links_to_switches(query.from) {
            let edge = graph.edge(up);
            if network.links_into(query.to).iter().any(|last| graph.tail_switch(last.0) == edge.head_switch) {
                return None;
            }
            let Some((waited, late)) = self.entered(up, PortInput::LOCAL, 0, start) else { continue };
            let arrived = start + waited + edge.constant;
            away.late.0 = away.late.0.min(late);
            for &LinkId(next) in network.links_to_switches(NodeId(edge.head)) {
                let Some((budget, later)) = self.entered(next, PortInput::link(LinkId(up)), waited, arrived) else {
                    continue;
                };
                let ahead = graph.edge(next);
                let rest = graph.towards(network, query.to).at(ahead.head_switch);
                away.total = away.total.min((arrived + budget + ahead.constant).saturating_add(rest));
                away.late.1 = away.late.1.min(late + later);
            }
        }
        Some(away)
    }

    /// Returns the budget of the fastest queue of a link that admits the flow, if it can be in time from there. Also
    /// returns its excess over the link's minimum.
    fn entered(&mut self, link: u32, input: PortInput, waited: u64, arrived: u64) -> Option<(u64, u64)> {
        let Self { graph, ledger, query, .. } = *self;
        let edge = graph.edge(link);
        if !query.carries(ledger, LinkId(link)) {
            return None;
        }
        let rest = graph.towards(ledger.network(), query.to).at(edge.head_switch);
        let left = query.deadline.as_nanos().checked_sub(arrived)?.checked_sub(rest)?;
        let levels = graph.levels(edge);
        for level in levels.iter().take_while(|level| level.budget + edge.constant <= left) {
            if query.fits(ledger, LinkId(link), level.queue, input, Time::from_nanos(waited)) {
                return Some((level.budget, level.budget - levels[0].budget));
            }
            self.denials.push(Denial { link, queue: level.queue, input: Some(input), waited });
        }
        None
    }

    /// Returns `true` if the flow can reach a switch before the destination and from there enter the destination, in
    /// time.
    fn reaches_destination(&mut self, away: LeastCosts) -> bool {
        let network = self.ledger.network();
        away.total < u64::MAX
            && network.links_into(self.query.to).iter().any(|&LinkId(last)| {
                let before = network.links_from_switches(NodeId(self.graph.edge(last).from));
                self.query.carries(self.ledger, LinkId(last))
                    && before.iter().any(|&LinkId(link)| self.fits_link(link, last, &away))
            })
    }

    /// Returns `true` if the flow can pass a link and the destination's link behind, with its minimum waiting time so
    /// far.
    fn fits_link(&mut self, link: u32, last: u32, away: &LeastCosts) -> bool {
        let Self { graph, ledger, query, .. } = *self;
        let network = ledger.network();
        let (edge, end, tail) = (graph.edge(link), graph.edge(last), graph.tail_switch(link));
        // A link that is behind the source's own has been counted there.
        let is_near = network.links_to_switches(query.from).iter().any(|up| graph.edge(up.0).head_switch == tail);
        let (late, total) = if is_near { (away.late.0, 0) } else { (away.late.1, away.total) };
        let wait = graph.wait_at(network, query.from, tail).saturating_add(late);
        let constants = graph.start(query.from) + edge.constant + end.constant;
        if wait == u64::MAX || !query.carries(ledger, LinkId(link)) {
            return false;
        }
        let deadline = query.deadline.as_nanos();
        let (levels, ends) = (graph.levels(edge), graph.levels(end));
        let least = levels.first().map_or(0, |level| level.budget) + ends.first().map_or(0, |level| level.budget);
        for level in levels {
            let in_time = ends.iter().take_while(|last| {
                let budgets = level.budget + last.budget;
                wait + constants + budgets <= deadline && total + (budgets - least) <= deadline
            });
            let mut in_time = in_time.peekable();
            if in_time.peek().is_none() {
                break;
            }
            if !query.might_fit(ledger, LinkId(link), level.queue, Time::from_nanos(wait)) {
                self.denials.push(Denial { link, queue: level.queue, input: None, waited: wait });
                continue;
            }
            let (input, waited) = (PortInput::link(LinkId(link)), wait + level.budget);
            for queue in in_time.map(|last| last.queue) {
                if query.fits(ledger, LinkId(last), queue, input, Time::from_nanos(waited)) {
                    return true;
                }
                self.denials.push(Denial { link: last, queue, input: Some(input), waited });
            }
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use wayleave_contracts::RequestMix;
    use wayleave_ledger::Model;
    use wayleave_scheme_api::{Admission, Refusal};
    use wayleave_topology::builders::{FatTree, LeafSpine, build};

    use super::*;
    use crate::admission::chameleon::{Chameleon, Params};

    /// The search that counts broken promises does not use this check: in a dead end it has to find one on every
    /// path.
    #[test]
    fn every_path_from_a_dead_end_breaks_a_promise_and_most_refusals_are_dead_ends() {
        let networks =
            [build::fat_tree(&FatTree::default()).unwrap(), build::leaf_spine(&LeafSpine::default()).unwrap()];
        for (network, scenario) in
            networks.into_iter().map(Arc::new).flat_map(|network| [(network.clone(), 1), (network, 8)])
        {
            let model = Model::default();
            let mut scheme = Chameleon::new(network.clone(), model, Params::default()).unwrap();
            let (mut refused, mut dead_ends, mut denials) = (0, 0, Vec::new());
            let mut graph = QueueGraph::new(scheme.placement().ledger());
            for contract in RequestMix::new(&network, scenario, 3).take(3000) {
                let request = crate::request(&contract, &model);
                let query = RouteQuery::of(&request);
                graph.prepare(&network, query.to);
                graph.prepare_waits(&network, query.from);
                let is_stuck = is_dead_end((&graph, scheme.placement().ledger(), &query), &mut denials);
                let reason = scheme.placement_mut().diagnose(&query);
                let is_refused = scheme.admit(&request).is_err();
                if is_stuck {
                    assert!(is_refused && matches!(reason, Refusal::Blocked { .. }), "{}: {reason:?}", contract.name);
                }
                refused += u32::from(is_refused);
                dead_ends += u32::from(is_stuck);
            }
            assert!(refused > 100 && dead_ends * 2 > refused, "scenario {scenario}: {dead_ends} of {refused}");
        }
    }
}
