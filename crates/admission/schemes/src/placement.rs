//! The ledger together with its searches: how the rooms find, check, reserve and explain routes.

use std::collections::BTreeMap;
use std::sync::Arc;

use wayleave_contracts::BucketDemand;
use wayleave_ledger::{Denial, Ledger, PortInput, QueueLimitKind, Reservation, ReservedShare, ShareDenial};
use wayleave_scheme_api::{Binding, Decision, Handover, Move, Refusal, Request, ValueKind};
use wayleave_topology::{Class, FlowId, Hop, LinkId, MAX_BUDGET, Network, NodeId, NodeKind, Route, ShareId};
use wayleave_units::{Amount, Bytes, Rate, Time};

use crate::costs::{Cost, DelayCost, Scarcity};
use crate::held::{AdmittedFlow, Term};
use crate::routing::{
    CostWeights, Denied, FoundRoute, LabelLimit, LeastCost, LeastDelay, LeastLoaded, LeastLoadedResult, QueueGraph,
    RouteQuery, Rules, SearchScope, larac, least_possible,
};

/// A parameter that is the delay budget of queues.
pub const BUDGET: ValueKind = ValueKind::Time { least: Time::from_nanos(1), most: MAX_BUDGET };

/// Promised terms of a flow, beside its reservation.
#[derive(Clone, Copy, Debug)]
struct PromiseTerms {
    deadline: Time,
    mobility: Mobility,
    /// The first copy of its contract; itself, if there is one route.
    first: FlowId,
}

/// Permission to move a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mobility {
    Free,
    /// Its route was given, or it is disjoint from others.
    Fixed,
}

/// A flow that was moved: with the old reservation [`Placement::undo`] takes it back.
#[derive(Clone, Debug)]
pub struct MovedFlow {
    /// The flow.
    pub flow: FlowId,
    /// Its old reservation.
    pub old: Reservation,
    /// Its new route.
    pub to: Route,
}

impl From<MovedFlow> for Move {
    fn from(MovedFlow { flow, old, to }: MovedFlow) -> Self {
        Self { flow, to, placed: old.placed, from: old.route }
    }
}

/// A ledger that can be searched.
pub struct Placement {
    ledger: Ledger,
    graph: QueueGraph,
    by_delay: LeastDelay,
    by_cost: LeastCost,
    /// LARAC's own least-delay runs, so that they leave the state that [`Placement::would_help`] inspects.
    inner: LeastDelay,
    /// Made when it is first used.
    quiet: Option<LeastLoaded>,
    /// Per flow; meaningless for vacant indices.
    terms: Vec<PromiseTerms>,
    /// By the first copy of a protected contract, the others.
    copies: BTreeMap<FlowId, Vec<FlowId>>,
}

/// All reservations with their terms, without the memory of searches.
#[derive(Clone)]
pub struct PlacedFlow {
    ledger: Ledger,
    terms: Vec<PromiseTerms>,
    copies: BTreeMap<FlowId, Vec<FlowId>>,
}

impl Placement {
    /// A copy of all that is reserved.
    pub fn placed(&self) -> PlacedFlow {
        PlacedFlow { ledger: self.ledger.clone(), terms: self.terms.clone(), copies: self.copies.clone() }
    }

    /// Has this reserved, and nothing else. It is a copy from another placement in the same network, with the same model and budgets.
    pub fn take_over(&mut self, placed: PlacedFlow) {
        PlacedFlow { ledger: self.ledger, terms: self.terms, copies: self.copies } = placed;
        // Its prices belong to another load.
        self.quiet = None;
    }

    /// Around an empty or filled ledger.
    pub fn new(ledger: Ledger) -> Self {
        let graph = QueueGraph::new(&ledger);
        Self {
            by_delay: LeastDelay::new(&graph),
            by_cost: LeastCost::new(&graph),
            inner: LeastDelay::new(&graph),
            quiet: None,
            terms: Vec::new(),
            copies: BTreeMap::new(),
            graph,
            ledger,
        }
    }

    /// Returns the ledger with all reservations.
    pub fn ledger(&self) -> &Ledger {
        &self.ledger
    }

    /// Returns the ledger mutably, for shares of the classes below the latency queues.
    pub(crate) fn ledger_mut(&mut self) -> &mut Ledger {
        &mut self.ledger
    }

    /// The network.
    pub fn network(&self) -> &Arc<Network> {
        self.ledger.network()
    }

    /// The deadline of an admitted flow.
    pub fn deadline(&self, flow: FlowId) -> Option<Time> {
        self.terms_of(flow).map(|terms| terms.deadline)
    }

    /// Returns `true` if an admitted flow may be moved: its route was not given, and it is not one of several
    /// disjoint ones.
    pub fn may_move(&self, flow: FlowId) -> bool {
        self.terms_of(flow).is_some_and(|terms| terms.mobility == Mobility::Free)
    }

    /// The reservations of the contract that a flow belongs to, one for each of its routes.
    pub fn routes_of(&self, flow: FlowId) -> Vec<FlowId> {
        let Some(first) = self.terms_of(flow).map(|terms| terms.first) else { return Vec::new() };
        std::iter::once(first).chain(self.copies.get(&first).into_iter().flatten().copied()).collect()
    }

    /// Returns the bound that is promised to the contract of a flow: the bound of its longest route.
    pub fn promised(&self, flow: FlowId) -> Option<Time> {
        let bound = |flow| self.ledger.flow(flow).map(|reservation| self.bound(&reservation.route));
        self.routes_of(flow).into_iter().filter_map(bound).max()
    }

    fn terms_of(&self, flow: FlowId) -> Option<PromiseTerms> {
        self.ledger.flow(flow).and_then(|_| self.terms.get(flow.index()).copied())
    }

    /// Returns an admitted flow with its promised terms.
    pub fn held(&self, flow: FlowId) -> Option<AdmittedFlow<'_>> {
        let reservation = self.ledger.flow(flow)?;
        let bound = self.bound(&reservation.route);
        let (route, demand) = (&reservation.route, reservation.demand);
        Some(AdmittedFlow { route, demand, deadline: self.deadline(flow)?, bound, released: bound })
    }

    /// Returns the terms of a route's bound: the source's tagger, then, for every link, its queue, its propagation,
    /// and the switch that it enters. Zeros are left out, except for queues.
    pub fn terms(&self, route: &Route) -> Vec<Term> {
        let network = self.ledger.network();
        let mut terms = Vec::new();
        let processing = |node: NodeId| {
            let time = network.node(node).processing;
            Some(Term::Processing(node, time)).filter(|_| time > Time::ZERO)
        };
        terms.extend(route.hops.first().and_then(|hop| processing(network.link(hop.link).from)));
        for &hop in &route.hops {
            let link = network.link(hop.link);
            terms.push(Term::Queue(hop, self.ledger.budget(hop)));
            if link.propagation > Time::ZERO {
                terms.push(Term::Propagation(hop.link, link.propagation));
            }
            if network.node(link.to).kind == NodeKind::Switch {
                terms.extend(processing(link.to));
            }
        }
        terms
    }

    /// The end-to-end bound of a route.
    pub fn bound(&self, route: &Route) -> Time {
        self.graph.bound(route)
    }

    /// Returns the minimum delay of a packet through a link, ns; `None` if contracts may use none of its queues.
    pub(crate) fn least_through(&self, link: LinkId) -> Option<u64> {
        Some(self.graph.fastest(link.0)).filter(|&least| least < u64::MAX)
    }

    /// The least that any route between two hosts takes in an empty network; `None` if nothing joins them.
    pub fn fastest(&mut self, from: NodeId, to: NodeId) -> Option<Time> {
        self.graph.fastest_route(&self.ledger.network().clone(), from, to)
    }

    /// The least-delay route with room, in time.
    pub fn least_delay(&mut self, query: &RouteQuery) -> Option<FoundRoute> {
        let found = self.by_delay.search(&mut self.graph, &self.ledger, query);
        if found.is_some() || !self.graph.is_irregular() {
            return found;
        }
        // One label a link is exact only where less delay means less waiting.
        self.exact_least_delay(query, SearchScope::Allowed)
    }

    /// Returns the route of least cost in scarce resources along one of the least loaded paths; if those have no
    /// room, that of least delay.
    pub fn least_loaded_route(&mut self, query: &RouteQuery, scarcity: Scarcity) -> Option<FoundRoute> {
        let quiet = self.quiet.get_or_insert_with(|| LeastLoaded::new(&self.ledger, scarcity));
        match quiet.search(&mut self.graph, &self.ledger, query) {
            LeastLoadedResult::Found(found) => Some(found),
            LeastLoadedResult::NoRoom => self.least_delay(query),
            LeastLoadedResult::Stuck => {
                quiet.spare(&mut self.by_delay);
                None
            }
        }
    }

    /// Returns the least-delay route with room, in time, among those with the least delay in an empty network: a
    /// faster path with more switches does not hide it.
    pub fn least_delay_without_detours(&mut self, query: &RouteQuery) -> Option<FoundRoute> {
        self.exact_least_delay(query, SearchScope::None)
    }

    fn exact_least_delay(&mut self, query: &RouteQuery, detours: SearchScope) -> Option<FoundRoute> {
        let weigh = CostWeights { cost: &DelayCost, cost_factor: 0, delay_factor: 1, cost_bounds: &[] };
        let (deadline, labels) = (Some(query.deadline), LabelLimit::Undominated);
        let rules = Rules { deadline, denied: Denied::Avoid, labels, detours };
        self.by_cost.search(&mut self.graph, &self.ledger, query, &weigh, rules).map(|priced| priced.found)
    }

    /// The route of least cost among those in time, by exact label setting.
    pub fn least_cost(&mut self, query: &RouteQuery, cost: &dyn Cost, cost_bounds: &[u64]) -> Option<FoundRoute> {
        self.cheapest(query, cost, cost_bounds, (Denied::Avoid, LabelLimit::Undominated))
    }

    /// Returns a route of low cost in time, as found with one label per node.
    pub fn cheap_route(&mut self, query: &RouteQuery, cost: &dyn Cost, cost_bounds: &[u64]) -> Option<FoundRoute> {
        self.cheapest(query, cost, cost_bounds, (Denied::Avoid, LabelLimit::OnePerNode))
    }

    /// Returns the route of least cost among those in time, independent of reservations: [`Self::check`] checks for
    /// room.
    pub fn least_cost_without_load(
        &mut self,
        query: &RouteQuery,
        cost: &dyn Cost,
        cost_bounds: &[u64],
    ) -> Option<FoundRoute> {
        self.cheapest(query, cost, cost_bounds, (Denied::Ignore, LabelLimit::Undominated))
    }

    fn cheapest(
        &mut self,
        query: &RouteQuery,
        cost: &dyn Cost,
        cost_bounds: &[u64],
        (denied, labels): (Denied, LabelLimit),
    ) -> Option<FoundRoute> {
        let weigh = CostWeights { cost, cost_factor: 1, delay_factor: 0, cost_bounds };
        let (graph, ledger) = (&mut self.graph, &self.ledger);
        let rules = Rules { deadline: Some(query.deadline), denied, labels, detours: SearchScope::Allowed };
        self.by_cost.search(graph, ledger, query, &weigh, rules).map(|priced| priced.found)
    }

    /// Returns `true` if freeing these links lets the query into any queue that denied it access during the last
    /// least-delay search; if not, that search would fail again.
    pub fn would_help(&self, query: &RouteQuery, freed: &Route) -> bool {
        self.by_delay.would_help(&self.ledger, query, |link| freed.hops.iter().any(|hop| hop.link == link))
    }

    /// The route that LARAC finds for a cost.
    pub fn larac(&mut self, query: &RouteQuery, cost: &dyn Cost, cost_bounds: &[u64]) -> Option<FoundRoute> {
        let searches = (&mut self.by_cost, &mut self.inner);
        larac::search(&mut self.graph, &self.ledger, query, cost, cost_bounds, searches).map(|priced| priced.found)
    }

    /// Per switch, the least sum of `weight(link, least budget)` to a switch.
    pub fn cost_bounds(&self, switch: NodeId, weight: impl Fn(LinkId, u64) -> u64) -> Box<[u64]> {
        self.graph.cost_bounds(self.ledger.network(), switch, weight)
    }

    /// Returns the query that would place an admitted flow again.
    pub fn query_of(&self, flow: FlowId) -> Option<RouteQuery> {
        let reservation = self.ledger.flow(flow)?;
        RouteQuery::of_flow(&self.graph, &reservation.demand, &reservation.route, self.deadline(flow)?)
    }

    /// Checks a given route queue by queue.
    ///
    /// # Errors
    /// What it would break, or that it takes too long.
    pub fn check(&self, query: &RouteQuery, route: &Route) -> Result<FoundRoute, Refusal> {
        for hop in &route.hops {
            let queues = self.ledger.budgets(hop.link).len() as u8;
            if hop.queue >= queues {
                return Err(Refusal::NoSuchQueue { link: hop.link, queue: hop.queue, queues });
            }
            if let Some(frame) = query.max_frame.filter(|&frame| frame > self.ledger.largest_frame(hop.link)) {
                return Err(Refusal::FrameTooLarge { frame });
            }
        }
        if let Some(limit) = self.ledger.model().max_switches().filter(|&limit| route.hops.len() > limit as usize + 1) {
            return Err(Refusal::TooManySwitches { limit });
        }
        let delay = self.bound(route);
        let mut bindings = self.bindings(query, route).into_iter();
        if let Some(binding) = bindings.next() {
            return Err(Refusal::Blocked { route: route.clone(), binding, others: bindings.collect() });
        }
        if delay > query.deadline {
            return Err(Refusal::TooSlow { route: route.clone(), bound: delay, deadline: query.deadline });
        }
        Ok(FoundRoute { route: route.clone(), delay })
    }

    /// The promises that a flow would break along a route, from the source on.
    pub fn bindings(&self, query: &RouteQuery, route: &Route) -> Vec<Binding> {
        let mut input = PortInput::LOCAL;
        let mut burst: Amount = query.burst;
        let mut bindings = Vec::new();
        for &hop in &route.hops {
            if let Some(denial) = self.ledger.denial(hop.link, hop.queue, input, query.rate, burst) {
                bindings.push(binding(hop.link, denial));
            }
            input = PortInput::link(hop.link);
            burst = self.ledger.model().grown(burst, query.rate, self.ledger.budget(hop));
        }
        bindings
    }

    /// Returns the reason why a query has no route: the shortest route that breaks the fewest promises, and those
    /// promises.
    pub fn diagnose(&mut self, query: &RouteQuery) -> Refusal {
        let network = self.ledger.network().clone();
        let Some(fastest) = self.graph.fastest_route(&network, query.from, query.to) else {
            return Refusal::Disconnected;
        };
        if fastest > query.deadline {
            return Refusal::Deadline { fastest, least: self.least_possible(query), deadline: query.deadline };
        }
        let weigh = CostWeights { cost: &DelayCost, cost_factor: 0, delay_factor: 1, cost_bounds: &[] };
        // Without detours it is found soon; a deadline that only a detour meets needs the others.
        let mut search = |detours| {
            let (deadline, labels) = (Some(query.deadline), LabelLimit::Undominated);
            let rules = Rules { deadline, denied: Denied::Count, labels, detours };
            self.by_cost.search(&mut self.graph, &self.ledger, query, &weigh, rules)
        };
        let least_broken = search(SearchScope::None).or_else(|| search(SearchScope::Allowed));
        let Some(route) = least_broken.map(|priced| priced.found.route) else {
            let links = || network.links().map(|(link, _)| link);
            let too_large = query.max_frame.filter(|_| links().any(|link| !query.carries(&self.ledger, link)));
            return match (too_large, self.ledger.model().max_switches()) {
                (Some(frame), _) => Refusal::FrameTooLarge { frame },
                (None, Some(limit)) => Refusal::TooManySwitches { limit },
                (None, None) => {
                    Refusal::Deadline { fastest, least: self.least_possible(query), deadline: query.deadline }
                }
            };
        };
        let mut bindings = self.bindings(query, &route).into_iter();
        let (bound, limit) = (self.bound(&route), self.ledger.model().max_switches());
        match (bindings.next(), limit) {
            (Some(binding), _) => Refusal::Blocked { route, binding, others: bindings.collect() },
            // There is room in time, but the paths to it that the search keeps have too many switches.
            (None, Some(limit)) if bound <= query.deadline => Refusal::TooManySwitches { limit },
            (None, _) => Refusal::TooSlow { bound, route, deadline: query.deadline },
        }
    }

    /// Returns a lower bound of a query's delay bound, for any delay budgets.
    pub(crate) fn least_possible(&self, query: &RouteQuery) -> Time {
        least_possible(&self.ledger, query).unwrap_or(Time::ZERO)
    }

    /// Reserves a route that was found or checked.
    pub fn reserve(&mut self, request: &Request, found: FoundRoute) -> Decision {
        let mobility = if request.route.is_some() { Mobility::Fixed } else { Mobility::Free };
        let flow = self.occupy(request, found.route.clone(), mobility);
        if let Some(quiet) = &mut self.quiet {
            quiet.refresh(&self.ledger, &found.route);
        }
        let FoundRoute { route, delay: bound } = found;
        Decision { flow, route, copies: Vec::new(), bound, moved: Vec::new(), handover: Handover::New }
    }

    /// Reserves one of several routes; [`Placement::join`] defines which belong together.
    pub(crate) fn reserve_copy(&mut self, request: &Request, route: Route) -> FlowId {
        self.occupy(request, route, Mobility::Fixed)
    }

    /// Of an admitted flow no larger frames are promised.
    pub(crate) fn limit_frame(&mut self, flow: FlowId, largest: Bytes) {
        self.ledger.limit_frame(flow, largest);
    }

    fn occupy(&mut self, request: &Request, route: Route, mobility: Mobility) -> FlowId {
        let demand = BucketDemand { rate: request.rate, burst: request.burst, max_frame: request.max_frame };
        let first = self.ledger.reserve(demand, route);
        self.remember(first, PromiseTerms { deadline: request.deadline, mobility, first });
        first
    }

    /// Restores a contract: the reservation of each of its routes, the longest first, with its deadline, and its
    /// pinning. It does not check if the contract fits: it did before.
    pub fn put_back(&mut self, routes: Vec<Reservation>, deadline: Time, is_pinned: bool) -> Option<FlowId> {
        let mobility = if is_pinned || routes.len() > 1 { Mobility::Fixed } else { Mobility::Free };
        let mut flows = Vec::with_capacity(routes.len());
        for reservation in routes {
            let flow = self.ledger.reserve_again(reservation);
            self.remember(flow, PromiseTerms { deadline, mobility, first: flow });
            flows.push(flow);
        }
        if flows.len() > 1 {
            self.join(&flows);
        }
        flows.first().copied()
    }

    /// Pins or unpins a flow, with the copies of its packets. A pinned flow is never moved; copies never are.
    pub fn pin(&mut self, flow: FlowId, is_pinned: bool) {
        let routes = self.routes_of(flow);
        let mobility = if is_pinned || routes.len() > 1 { Mobility::Fixed } else { Mobility::Free };
        for flow in routes {
            self.terms[flow.index()].mobility = mobility;
        }
    }

    /// Reserves hops of an old route for packets that are still in flight there, if they fit beside everything else.
    /// Each hop is reserved separately: with the burst that it may have grown to, and without its input line. That is
    /// never less than before.
    pub fn hold(&mut self, left: &Reservation, is_meant: impl Fn(usize, Hop) -> bool) -> Option<Vec<FlowId>> {
        let demand = left.demand;
        let (mut burst, mut held) = (Amount::from(demand.burst), Vec::new());
        for (index, &hop) in left.route.hops.iter().enumerate() {
            if is_meant(index, hop) {
                let grown = u64::try_from(burst.bytes_rounded_up()).ok().map(Bytes::new);
                let amount = grown.map(Amount::from);
                let denial = |amount| self.ledger.denial(hop.link, hop.queue, PortInput::LOCAL, demand.rate, amount);
                let (Some(burst), Some(None)) = (grown, amount.map(denial)) else {
                    self.release_holds(held);
                    return None;
                };
                held.push(self.ledger.reserve(BucketDemand { burst, ..demand }, Route { hops: vec![hop] }));
            }
            burst = self.ledger.model().grown(burst, demand.rate, self.ledger.budget(hop));
        }
        Some(held)
    }

    /// Takes back what [`Placement::hold`] has reserved.
    pub fn release_holds(&mut self, held: Vec<FlowId>) {
        for flow in held.into_iter().rev() {
            self.ledger.release(flow);
        }
    }

    /// Holds a minimum of the guaranteed class on one link, if it fits beside everything else; `None` where queues are not divided among
    /// classes.
    ///
    /// # Errors
    /// Why it does not fit.
    pub fn hold_minimum(&mut self, link: LinkId, min: Rate) -> Result<Option<ShareId>, ShareDenial> {
        let queue = self.ledger.network().classes().map_or(0, |classes| classes.queue_of(Class::Guaranteed));
        let share = ReservedShare::Pair { min, route: Route { hops: vec![Hop { link, queue }] }, is_timed: false };
        match self.ledger.share_denial(&share) {
            Some(denial) => Err(denial),
            None => Ok(self.ledger.reserve_share(share)),
        }
    }

    /// Holds a share that was held before, without asking whether it fits: that is the caller's to know.
    pub fn put_share_back(&mut self, share: ReservedShare) -> Option<ShareId> {
        self.ledger.reserve_share(share)
    }

    /// Lets nothing more into a link, because it is down.
    pub fn close(&mut self, link: LinkId) {
        self.ledger.close(link);
    }

    /// Lets flows into a link again.
    pub fn open(&mut self, link: LinkId) {
        self.ledger.open(link);
    }

    /// Closes or opens several links at once.
    pub fn turn(&mut self, links: &[LinkId], closed: bool) {
        self.ledger.turn(links, closed);
    }

    /// Joins flows that carry copies of the same packets: statements about one hold for all from now on.
    pub(crate) fn join(&mut self, flows: &[FlowId]) {
        let [first, others @ ..] = flows else { return };
        self.copies.insert(*first, others.to_vec());
        for flow in flows {
            self.terms[flow.index()].first = *first;
        }
    }

    fn remember(&mut self, flow: FlowId, terms: PromiseTerms) {
        if self.terms.len() <= flow.index() {
            self.terms.resize(flow.index() + 1, terms);
        }
        self.terms[flow.index()] = terms;
    }

    /// Reserves `route` for an admitted flow, then frees its old one, as Fig. 6 does (lines 9 and 10).
    pub fn move_to(&mut self, flow: FlowId, route: Route) -> Option<MovedFlow> {
        let old = self.ledger.also_reserve(flow, route.clone())?;
        self.ledger.leave(flow, &old);
        Some(MovedFlow { flow, old, to: route })
    }

    /// Takes moves back, last first.
    pub(crate) fn undo_moves(&mut self, moved: Vec<MovedFlow>) {
        for MovedFlow { flow, old, .. } in moved.into_iter().rev() {
            self.undo(flow, old);
        }
    }

    /// Puts a flow back where it was.
    pub fn undo(&mut self, flow: FlowId, earlier: Reservation) {
        self.ledger.restore(flow, earlier);
    }

    /// Takes a decision back that nothing was decided after: everything is as it was before.
    pub fn take_back(&mut self, decision: &Decision) {
        self.release(decision.flow);
        for moved in decision.moved.iter().rev() {
            let Some(demand) = self.ledger.flow(moved.flow).map(|reservation| reservation.demand) else { continue };
            self.undo(moved.flow, Reservation { demand, route: moved.from.clone(), placed: moved.placed });
        }
    }

    /// Ends a flow, with all copies of its packets; the reservation of the first.
    pub fn release(&mut self, flow: FlowId) -> Option<Reservation> {
        let first = self.terms_of(flow)?.first;
        for copy in self.copies.remove(&first).into_iter().flatten().rev() {
            self.ledger.release(copy);
        }
        self.ledger.release(first)
    }

    /// Changes the terms of a flow. If old and new reservation fit together, the flow holds both, which is safe at
    /// any moment. Otherwise the new one replaces the old one, and its terms hold only after the packets in flight
    /// have left. The flow is not moved for its own sake.
    ///
    /// # Errors
    /// The refusal of `admit` without the old reservation; the flow then keeps it, bit for bit.
    pub fn change(
        &mut self,
        flow: FlowId,
        mut admit: impl FnMut(&mut Self) -> Result<Decision, Refusal>,
    ) -> Option<Result<Decision, Refusal>> {
        self.terms_of(flow)?;
        let routes = self.routes_of(flow);
        let keep = |flow: FlowId| Some((flow, self.ledger.flow(flow)?.clone(), self.terms_of(flow)?));
        let old: Vec<(FlowId, Reservation, PromiseTerms)> = routes.iter().copied().filter_map(keep).collect();
        self.pin(flow, true);
        if let Ok(decision) = admit(self) {
            self.release(flow);
            return Some(Ok(Decision { handover: Handover::Beside, ..decision }));
        }
        self.release(flow);
        Some(match admit(self) {
            Ok(decision) => Ok(Decision { handover: Handover::Instead, ..decision }),
            Err(refusal) => {
                for (flow, reservation, terms) in old {
                    self.ledger.restore(flow, reservation);
                    self.remember(flow, terms);
                }
                if routes.len() > 1 {
                    self.join(&routes);
                }
                Err(refusal)
            }
        })
    }
}

fn binding(link: LinkId, denial: Denial) -> Binding {
    let queue = denial.queue;
    match denial.limit {
        QueueLimitKind::Closed => Binding::Down { link, queue },
        QueueLimitKind::Rate { asked, left } => Binding::Rate { link, queue, asked, left },
        QueueLimitKind::Delay { bound, budget } => Binding::Delay { link, queue, bound, budget },
        QueueLimitKind::Buffer { backlog, buffer } => Binding::Buffer { link, queue, backlog, buffer },
    }
}
