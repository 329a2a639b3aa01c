//! Rerouting of admitted flows to make room for a new one (section 3.4; Fig. 6, lines 5 to 14).

use std::collections::HashMap;

use wayleave_ledger::{Ledger, Reservation};
use wayleave_scheme_api::{Decision, Move, Request};
use wayleave_topology::{FlowId, HopDistances, LinkId, Network, NodeId};
use wayleave_units::{Amount, Time};

use super::route::route;
use super::{Moves, Penalised, Rerouting, Routing, Search, Sort};
use crate::costs::Cost;
use crate::placement::{MovedFlow, Placement};
use crate::protection::RouteWithMoves;
use crate::random::mix;
use crate::routing::{FoundRoute, RouteQuery};

/// The memory of the search for candidates.
pub(super) struct Rerouter {
    /// Per flow: its index among the candidates of this or an earlier search.
    place: Vec<u32>,
    /// Hop distances to the switches that hosts hang on; they never change.
    distances: HashMap<NodeId, HopDistances>,
}

/// An admitted flow that may be moved.
struct Candidate {
    flow: FlowId,
    shared: u32,
    placed: u64,
}

/// `INCREASEGRAPHCOSTS`: the delay, times a factor on queues to be avoided.
struct Avoiding<'a> {
    factor: u64,
    /// Per link: whether all its queues are to be avoided.
    links: &'a [bool],
    /// The route that is left.
    old: &'a Reservation,
}

impl Cost for Avoiding<'_> {
    fn of(&self, ledger: &Ledger, link: LinkId, queue: u8, _: Amount) -> u64 {
        let hop = wayleave_topology::Hop { link, queue };
        let delay = ledger.budget(hop).as_nanos();
        // Its first link is the host's own: there is no other.
        let was_here = || self.old.route.hops.iter().skip(1).any(|&old| old == hop);
        if self.links[link.index()] || was_here() { delay.saturating_mul(self.factor) } else { delay }
    }
}

impl Rerouter {
    pub(super) fn new() -> Self {
        Self { place: Vec::new(), distances: HashMap::new() }
    }

    /// Moves the candidates in order until the request fits; `None` if the list ends first.
    pub(super) fn reroute_blockers(
        &mut self,
        placement: &mut Placement,
        how: Rerouting,
        routing: Routing,
        query: &RouteQuery,
    ) -> Option<RouteWithMoves> {
        let network = placement.network().clone();
        let mut shortest = self.shortest_path_links(&network, query.from, query.to);
        // If no route exists at all, no flow blocks the request.
        shortest.retain(|&link| query.closed.as_ref().is_none_or(|closed| !closed[link.index()]));
        let mut costs = Costs::new(&network, &shortest, query.from, query.to);
        let mut moved: Vec<MovedFlow> = Vec::new();
        for flow in self.candidates(placement, &shortest, how) {
            let Some(old) = placement.ledger().flow(flow).cloned() else { continue };
            let Some(found) = self.place_elsewhere(placement, how, flow, &old, &mut costs) else { continue };
            moved.extend(placement.move_to(flow, found.route));
            // Both end with a least-delay search, which would fail again unless a denial changes.
            let by_delay = matches!(routing, Routing::LeastDelay | Routing::Scarcity(_));
            let helps = !by_delay || placement.would_help(query, &old.route);
            if !helps {
                continue;
            }
            if let Some(found) = route(placement, routing, query) {
                return Some(RouteWithMoves { found, moved });
            }
        }
        if let Some(found) = tighten(placement, how, routing, query, &mut moved) {
            return Some(RouteWithMoves { found, moved });
        }
        if how.moves == Moves::RolledBack {
            placement.undo_moves(moved);
        }
        None
    }

    /// Lines 6 and 7: a route for an admitted flow away from where it is and from the shortest paths.
    fn place_elsewhere(
        &mut self,
        placement: &mut Placement,
        how: Rerouting,
        flow: FlowId,
        old: &Reservation,
        costs: &mut Costs,
    ) -> Option<FoundRoute> {
        let query = placement.query_of(flow)?;
        if how.penalised == Penalised::MovedFlow {
            let network = placement.network().clone();
            let shortest = self.shortest_path_links(&network, query.from, query.to);
            *costs = Costs::new(&network, &shortest, query.from, query.to);
        }
        let (links, bounds) = costs.towards(placement, query.to, how.cost_factor);
        let cost = Avoiding { factor: how.cost_factor, links, old };
        match how.search {
            Search::OneLabel => placement.cheap_route(&query, &cost, bounds),
            Search::LabelSetting => placement.least_cost(&query, &cost, bounds),
            Search::Larac => placement.larac(&query, &cost, bounds),
        }
    }

    /// The links on the equal-length shortest paths between two hosts, by the switches that they hang on.
    fn shortest_path_links(&mut self, network: &Network, from: NodeId, to: NodeId) -> Vec<LinkId> {
        let mut shortest: Option<u32> = None;
        let mut links: Vec<LinkId> = Vec::new();
        for &last in network.links_into(to) {
            let switch = network.link(last).from;
            let distances = self.distances.entry(switch).or_insert_with(|| HopDistances::to(network, switch));
            let Some(hops) = distances.from(from) else { continue };
            if shortest.is_none_or(|shortest| hops < shortest) {
                links.clear();
                shortest = Some(hops);
            }
            if shortest == Some(hops) {
                let others = distances.shortest_path_links(network, from);
                links.extend(others.into_iter().chain([last]).filter(|link| !links.contains(link)).collect::<Vec<_>>());
            }
        }
        links
    }

    /// Line 5: the flows on the shortest paths, sorted, and as many as may be tried.
    fn candidates(&mut self, placement: &Placement, shortest: &[LinkId], how: Rerouting) -> Vec<FlowId> {
        let mut candidates: Vec<Candidate> = Vec::new();
        for &link in shortest {
            for &(placed, flow) in placement.ledger().flows_on(link) {
                if !placement.may_move(flow) {
                    continue;
                }
                if self.place.len() <= flow.index() {
                    self.place.resize(flow.index() + 1, u32::MAX);
                }
                // Each link on which a flow is met is one that it shares.
                match candidates.get_mut(self.place[flow.index()] as usize).filter(|known| known.flow == flow) {
                    Some(known) => known.shared += 1,
                    None => {
                        self.place[flow.index()] = candidates.len() as u32;
                        candidates.push(Candidate { flow, shared: 1, placed });
                    }
                }
            }
        }
        sort(&mut candidates, placement, how);
        candidates.into_iter().map(|candidate| candidate.flow).collect()
    }
}

fn sort(candidates: &mut Vec<Candidate>, placement: &Placement, how: Rerouting) {
    let demand = |candidate: &Candidate| placement.ledger().flow(candidate.flow).map(|flow| flow.demand);
    let rank = |candidate: &Candidate| match how.sort {
        Sort::SharedLinks | Sort::SharedLinksNewest | Sort::SharedLinksRandom => u64::from(candidate.shared),
        Sort::Rate => demand(candidate).map_or(0, |demand| demand.rate.bits_per_second()),
        Sort::Burst => demand(candidate).map_or(0, |demand| demand.burst.get()),
        Sort::Deadline => placement.deadline(candidate.flow).map_or(0, Time::as_nanos),
        Sort::Placement => 0,
    };
    let age = |candidate: &Candidate| match how.sort {
        Sort::SharedLinksNewest => u64::MAX - candidate.placed,
        Sort::SharedLinksRandom => mix(candidate.placed),
        _ => candidate.placed,
    };
    let key = |candidate: &Candidate| (std::cmp::Reverse(rank(candidate)), age(candidate));
    if candidates.len() > how.limit && how.limit > 0 {
        candidates.select_nth_unstable_by_key(how.limit - 1, key);
    }
    candidates.truncate(how.limit);
    candidates.sort_unstable_by_key(key);
}

/// Beyond Fig. 6: moves flows into the new flow's receiver back to faster queues, one at a time, until the request
/// fits. A cost other than the delay leaves flows in slow queues while there is room, where their bursts have grown.
/// If all routes end at one link, nothing else makes room there.
fn tighten(
    placement: &mut Placement,
    how: Rerouting,
    routing: Routing,
    query: &RouteQuery,
    moved: &mut Vec<MovedFlow>,
) -> Option<FoundRoute> {
    for flow in loosest(placement, query.to, how.tighten) {
        if moved.iter().any(|one| one.flow == flow) {
            continue;
        }
        let Some(old) = placement.ledger().flow(flow).cloned() else { continue };
        let Some(present) = placement.query_of(flow) else { continue };
        let sooner = placement.bound(&old.route).saturating_sub(Time::from_nanos(1));
        let faster = RouteQuery { deadline: present.deadline.min(sooner), ..present };
        let Some(found) = placement.least_delay(&faster) else { continue };
        moved.extend(placement.move_to(flow, found.route));
        if let Some(found) = route(placement, routing, query) {
            return Some(found);
        }
    }
    None
}

/// Returns the flows into a host whose bursts have grown most along their routes.
fn loosest(placement: &Placement, host: NodeId, limit: usize) -> Vec<FlowId> {
    if limit == 0 {
        return Vec::new();
    }
    let ledger = placement.ledger();
    let grown = |flow: FlowId| {
        let reservation = ledger.flow(flow)?;
        let (_, before) = reservation.route.hops.split_last()?;
        let waited: Time = before.iter().map(|&hop| ledger.budget(hop)).sum();
        Some((std::cmp::Reverse(reservation.demand.rate * waited), flow))
    };
    let into = placement.network().links_into(host).iter().flat_map(|&link| ledger.flows_on(link));
    let movable = into.map(|&(_, flow)| flow).filter(|&flow| placement.may_move(flow));
    let mut flows: Vec<_> = movable.filter_map(grown).collect();
    flows.sort_unstable();
    flows.truncate(limit);
    flows.into_iter().map(|(_, flow)| flow).collect()
}

/// The links to be avoided, and lower bounds on the cost from each node to a destination past them.
struct Costs {
    /// Per link: whether it is to be avoided.
    links: Vec<bool>,
    /// Per switch that a destination hangs on.
    bounds: HashMap<NodeId, Box<[u64]>>,
}

impl Costs {
    /// The links on shortest paths, but for the hosts' own, which cannot be avoided.
    fn new(network: &Network, shortest: &[LinkId], from: NodeId, to: NodeId) -> Self {
        let mut links = vec![false; network.links().len()];
        for &id in shortest {
            let link = network.link(id);
            links[id.index()] = link.from != from && link.to != to;
        }
        Self { links, bounds: HashMap::new() }
    }

    /// The links, and per switch a lower bound of the cost from there to `host` (none for a host with several links).
    fn towards(&mut self, placement: &Placement, host: NodeId, factor: u64) -> (&[bool], &[u64]) {
        let Self { links, bounds } = self;
        let network = placement.network();
        let &[last] = network.links_into(host) else { return (links, &[]) };
        let weight =
            |link: LinkId, fastest: u64| if links[link.index()] { fastest.saturating_mul(factor) } else { fastest };
        let switch = network.link(last).from;
        (links, bounds.entry(switch).or_insert_with(|| placement.cost_bounds(switch, weight)))
    }
}

/// Reserves the route, with the moves that it needs.
pub(super) fn reserve(placement: &mut Placement, request: &Request, found: RouteWithMoves) -> Decision {
    let moved = found.moved.into_iter().map(Move::from).collect();
    Decision { moved, ..placement.reserve(request, found.found) }
}
