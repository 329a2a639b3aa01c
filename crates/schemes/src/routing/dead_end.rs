//! Whether a flow gets stuck near its own ends, told without a search.
//!
//! Networks fill at the edge first. A search begins at the source, so it finds the links before the destination's own full
//! only when it has looked at all ways across the network, and the next search finds the same. But whatever way a flow
//! takes, it passes a link of its source and one behind it, and a link before the destination's and that one. Where none
//! of these few let it in, having waited as little as it can, there is no route. Yes is certain; no says nothing.

use wayleave_ledger::{Input, Ledger};
use wayleave_topology::{LinkId, NodeId};
use wayleave_units::Time;

use super::Query;
use super::graph::Graph;
use super::last_links::Denial;

/// The check, and what it found last.
#[derive(Clone, Debug, Default)]
pub(crate) struct DeadEnds {
    /// What the last flow was denied: as long as all of it is, there is no route. Empty where the end was not dead.
    denials: Vec<Denial>,
}

/// What a check works on, and where it writes what was denied.
struct Look<'a> {
    graph: &'a Graph,
    ledger: &'a Ledger,
    query: &'a Query,
    denials: &'a mut Vec<Denial>,
}

impl DeadEnds {
    /// Whether the flow surely has no route. A dead end of which nothing was denied (a deadline that is too short, say) is
    /// left to the searches.
    pub(crate) fn is_one(&mut self, graph: &mut Graph, ledger: &Ledger, query: &Query) -> bool {
        graph.prepare(ledger.network(), query.to);
        graph.prepare_waits(ledger.network(), query.from);
        self.denials.clear();
        let mut look = Look { graph, ledger, query, denials: &mut self.denials };
        if !look.gets_away() {
            return !self.denials.is_empty();
        }
        look.denials.clear();
        if !look.gets_in() {
            return !self.denials.is_empty();
        }
        self.denials.clear();
        false
    }

    /// Whether the last flow was in a dead end, and if so, whether freeing these links lets it into any queue that denied
    /// it access; if not, it still is.
    pub(crate) fn would_help(&self, ledger: &Ledger, query: &Query, freed: impl Fn(LinkId) -> bool) -> Option<bool> {
        let is_over = |denial: &Denial| freed(LinkId(denial.link)) && denial.is_over(ledger, query);
        (!self.denials.is_empty()).then(|| self.denials.iter().any(is_over))
    }
}

impl Look<'_> {
    /// Whether the flow can leave its source and the switch behind it: exact for these two links, since whoever comes
    /// earlier is let in wherever a later one is.
    fn gets_away(&mut self) -> bool {
        let (graph, network) = (self.graph, self.ledger.network());
        let start = graph.start(self.query.from);
        network.links_to_switches(self.query.from).iter().any(|&LinkId(up)| {
            let edge = graph.edge(up);
            let Some(waited) = self.entered(up, Input::LOCAL, 0, start) else { return false };
            let arrived = start + waited + edge.constant;
            let is_last =
                network.links_into(self.query.to).iter().any(|last| graph.tail_switch(last.0) == edge.head_switch);
            let input = Input::link(LinkId(up));
            let onwards = network.links_to_switches(NodeId(edge.head));
            is_last || onwards.iter().any(|&LinkId(next)| self.entered(next, input, waited, arrived).is_some())
        })
    }

    /// The budget of the fastest queue of a link that lets the flow in, if it can be in time from there.
    fn entered(&mut self, link: u32, input: Input, waited: u64, arrived: u64) -> Option<u64> {
        let Self { graph, ledger, query, .. } = *self;
        let edge = graph.edge(link);
        if !query.carries(ledger, LinkId(link)) {
            return None;
        }
        let towards = graph.towards(ledger.network(), query.to);
        let left = query.deadline.as_nanos().checked_sub(arrived)?.checked_sub(towards.at(edge.head_switch))?;
        for level in graph.levels(edge).iter().take_while(|level| level.budget + edge.constant <= left) {
            if query.fits(ledger, LinkId(link), level.queue, input, Time::from_nanos(waited)) {
                return Some(level.budget);
            }
            self.denials.push(Denial { link, queue: level.queue, input: Some(input), waited });
        }
        None
    }

    /// Whether the flow can come to a switch before the destination and from there into it, having waited as little as on
    /// the shortest way.
    fn gets_in(&mut self) -> bool {
        let (graph, network, from) = (self.graph, self.ledger.network(), self.query.from);
        network.links_into(self.query.to).iter().any(|&LinkId(last)| {
            let switch = graph.tail_switch(last);
            // The switch behind the source has been looked at already.
            let is_first = network.links_to_switches(from).iter().any(|up| graph.edge(up.0).head_switch == switch);
            let before = network.links_from_switches(NodeId(graph.edge(last).from));
            self.query.carries(self.ledger, LinkId(last))
                && (is_first || before.iter().any(|&LinkId(link)| self.gets_through(link, last)))
        })
    }

    /// Whether the flow can get through a link and the destination's behind it.
    fn gets_through(&mut self, link: u32, last: u32) -> bool {
        let Self { graph, ledger, query, .. } = *self;
        let (edge, end) = (graph.edge(link), graph.edge(last));
        let wait = graph.wait_at(ledger.network(), query.from, graph.tail_switch(link));
        let left = query.deadline.as_nanos().saturating_sub(graph.start(query.from));
        let constants = edge.constant + end.constant;
        let Some(left) = left.checked_sub(wait.saturating_add(constants)) else { return false };
        if !query.carries(ledger, LinkId(link)) {
            return false;
        }
        for level in graph.levels(edge) {
            let in_time = || graph.levels(end).iter().take_while(|last| level.budget + last.budget <= left);
            if in_time().next().is_none() {
                break;
            }
            if !query.might_fit(ledger, LinkId(link), level.queue, Time::from_nanos(wait)) {
                self.denials.push(Denial { link, queue: level.queue, input: None, waited: wait });
                continue;
            }
            let (input, waited) = (Input::link(LinkId(link)), wait + level.budget);
            for queue in in_time().map(|last| last.queue) {
                if query.fits(ledger, LinkId(last), queue, input, Time::from_nanos(waited)) {
                    return true;
                }
                self.denials.push(Denial { link: last, queue, input: Some(input), waited });
            }
        }
        false
    }
}
