//! Start times of flows: a flow starts only after all packets that may still be in flight on its route have left.
//!
//! A flow that leaves a route has packets there for the bound of the route, and the ledger counts the route as free
//! from the decision on. So a decision has an order: the terms that are given up for others are left first. Then
//! every moved flow takes its new route and leaves its old one, in the order of the moves, and then the flow itself
//! starts. The rule:
//!
//! > A flow starts on its routes when every route that was left earlier, in this decision or before, and that shares
//! > a link with them, is empty.
//!
//! docs/theory/admission.md, section 9, proves that this suffices, even if one flow moves to a route that another has
//! just left. [`LeftRoutes`] is the rule. The controller applies it to senders, whose confirmations report when they
//! have left ([`LeftRoutes::on`]), and asks the ledger if the routes that it would wait for fit beside everything
//! else. A plan applies it to senders that act at once ([`Timeline`]).

use std::collections::{BTreeSet, HashMap};
use std::hash::Hash;

use wayleave_scheme_api::{Decision, Handover};
use wayleave_topology::{LinkId, Route};
use wayleave_units::Time;

/// Routes that senders have left, or are about to leave, by the links on which packets may still be. Each key is one departure.
#[derive(Clone, Debug)]
pub struct LeftRoutes<K> {
    by_link: HashMap<LinkId, BTreeSet<K>>,
}

impl<K> Default for LeftRoutes<K> {
    fn default() -> Self {
        Self { by_link: HashMap::new() }
    }
}

impl<K: Ord + Copy + Hash> LeftRoutes<K> {
    /// Packets may be on these links.
    pub fn insert(&mut self, key: K, links: impl IntoIterator<Item = LinkId>) {
        for link in links {
            self.by_link.entry(link).or_default().insert(key);
        }
    }

    /// These links are empty.
    pub fn remove(&mut self, key: K, links: impl IntoIterator<Item = LinkId>) {
        for link in links {
            if let Some(keys) = self.by_link.get_mut(&link) {
                keys.remove(&key);
                if keys.is_empty() {
                    self.by_link.remove(&link);
                }
            }
        }
    }

    /// All that a flow which starts on these links has to wait for.
    pub fn on<'a>(&self, links: impl IntoIterator<Item = &'a LinkId>) -> BTreeSet<K> {
        links.into_iter().filter_map(|link| self.by_link.get(link)).flatten().copied().collect()
    }

    /// The last of them.
    pub fn last_on(&self, links: impl IntoIterator<Item = LinkId>) -> Option<K> {
        links.into_iter().filter_map(|link| self.by_link.get(&link)?.last().copied()).max()
    }
}

/// Start times of the flows of a decision, counted from the decision.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StartTimes {
    /// For each move of the decision, when the flow takes its new route and leaves its old one.
    pub moves: Vec<Time>,
    /// The flow of the decision, with all its copies.
    pub flow: Time,
}

/// The rule for senders that act as soon as they may.
#[derive(Clone, Debug, Default)]
pub struct Timeline {
    /// By the time at which they are empty.
    left: LeftRoutes<Time>,
    /// The same of shares that got other terms. Only shares wait for them: latency queues have strict priority.
    left_by_shares: LeftRoutes<Time>,
}

impl Timeline {
    /// Returns the start times of a decision made `now`; decisions have to come in their order. `given_up` are the
    /// routes of the terms that it replaces, with their bounds, and `bound` is that of the old route of a move.
    pub fn decide(
        &mut self,
        now: Time,
        decision: &Decision,
        given_up: &[(Route, Time)],
        bound: impl Fn(&Route) -> Time,
    ) -> StartTimes {
        if decision.handover == Handover::Instead {
            self.give_up(given_up, now);
        }
        let mut moves = Vec::with_capacity(decision.moved.len());
        for one in &decision.moved {
            let start = self.start(now, &one.to);
            self.leave(&one.from, start + bound(&one.from));
            moves.push(start - now);
        }
        let routes = std::iter::once(&decision.route).chain(decision.copies.iter().map(|copy| &copy.route));
        let start = routes.map(|route| self.start(now, route)).max().unwrap_or(now);
        if decision.handover == Handover::Beside {
            self.give_up(given_up, start);
        }
        StartTimes { moves, flow: start - now }
    }

    /// Returns the earliest start of a share on these links, counted from the decision: all earlier traffic has then
    /// left them.
    pub fn start_share(&self, now: Time, links: &[LinkId]) -> Time {
        let last = |left: &LeftRoutes<Time>| left.last_on(links.iter().copied());
        last(&self.left).max(last(&self.left_by_shares)).map_or(Time::ZERO, |empty| empty.saturating_sub(now))
    }

    /// Records that a share leaves these links, which are empty of its packets at this time.
    pub fn leave_share(&mut self, links: &[LinkId], empty: Time) {
        self.left_by_shares.insert(empty, links.iter().copied());
    }

    fn start(&self, now: Time, route: &Route) -> Time {
        self.left.last_on(links(route)).map_or(now, |empty| empty.max(now))
    }

    fn leave(&mut self, route: &Route, empty: Time) {
        self.left.insert(empty, links(route));
    }

    fn give_up(&mut self, routes: &[(Route, Time)], at: Time) {
        for (route, bound) in routes {
            self.leave(route, at + *bound);
        }
    }
}

fn links(route: &Route) -> impl Iterator<Item = LinkId> {
    route.hops.iter().map(|hop| hop.link)
}

#[cfg(test)]
mod tests {
    use wayleave_scheme_api::Move;
    use wayleave_topology::{FlowId, Hop};

    use super::*;

    fn route(links: &[u32]) -> Route {
        Route { hops: links.iter().map(|&link| Hop { link: LinkId(link), queue: 0 }).collect() }
    }

    fn decision(moved: Vec<Move>, links: &[u32], handover: Handover) -> Decision {
        let bound = Time::from_micros(1);
        Decision { flow: FlowId(9), route: route(links), copies: Vec::new(), bound, moved, handover }
    }

    fn a_move(flow: u32, from: &[u32], to: &[u32]) -> Move {
        Move { flow: FlowId(flow), from: route(from), to: route(to), placed: 0 }
    }

    /// A link takes a microsecond.
    fn bound(route: &Route) -> Time {
        Time::from_micros(route.hops.len() as u64)
    }

    fn micros(times: &StartTimes) -> (Vec<u64>, u64) {
        (times.moves.iter().map(|time| time.as_nanos() / 1000).collect(), times.flow.as_nanos() / 1000)
    }

    #[test]
    fn a_flow_that_reuses_capacity_waits_for_the_last_packet_of_the_previous_flow() {
        let mut timeline = Timeline::default();
        // The second move goes where the first came from, and the flow where the second came from.
        let moved = vec![a_move(1, &[1, 2, 3], &[4]), a_move(2, &[5, 6], &[2, 7])];
        let starts = timeline.decide(Time::ZERO, &decision(moved, &[6], Handover::New), &[], bound);
        assert_eq!(micros(&starts), (vec![0, 3], 5));
    }

    #[test]
    fn disjoint_or_empty_routes_do_not_wait() {
        let mut timeline = Timeline::default();
        let moved = vec![a_move(1, &[1, 2], &[3])];
        let starts = timeline.decide(Time::ZERO, &decision(moved, &[4], Handover::New), &[], bound);
        assert_eq!(micros(&starts), (vec![0], 0));
        let starts = timeline.decide(Time::from_micros(1), &decision(Vec::new(), &[2], Handover::New), &[], bound);
        assert_eq!(micros(&starts), (vec![], 1));
        let starts = timeline.decide(Time::from_micros(2), &decision(Vec::new(), &[2], Handover::New), &[], bound);
        assert_eq!(micros(&starts), (vec![], 0));
    }

    #[test]
    fn replaced_terms_end_before_the_new_ones_start_or_at_the_same_time() {
        let old = [(route(&[1, 2]), Time::from_micros(2))];
        let new = |handover| decision(Vec::new(), &[2, 3], handover);
        let mut timeline = Timeline::default();
        assert_eq!(micros(&timeline.decide(Time::ZERO, &new(Handover::Instead), &old, bound)), (vec![], 2));
        let mut timeline = Timeline::default();
        assert_eq!(micros(&timeline.decide(Time::ZERO, &new(Handover::Beside), &old, bound)), (vec![], 0));
        // Others wait for them nevertheless.
        let next = decision(Vec::new(), &[1], Handover::New);
        assert_eq!(micros(&timeline.decide(Time::ZERO, &next, &[], bound)), (vec![], 2));
    }
}
