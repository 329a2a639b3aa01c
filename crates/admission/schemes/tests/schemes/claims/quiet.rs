//! The search along lightly loaded paths gives the results of a plain computation. That computes every price anew
//! from the ledger, keeps every label, and remembers nothing from one request to the next.

use std::sync::Arc;

use wayleave_contracts::RequestMix;
use wayleave_ledger::{Ledger, Model, PortInput, TrialFlow, Utilisation};
use wayleave_scheme_api::{Admission, Request};
use wayleave_schemes::admission::chameleon::{Allocation, Chameleon, Params, Rerouting, Routing};
use wayleave_schemes::costs::Scarcity;
use wayleave_schemes::routing::{LeastLoaded, LeastLoadedResult, QueueGraph, RouteQuery};
use wayleave_topology::builders::{FatTree, build};
use wayleave_topology::{FlowId, Hop, LinkId, Network, NodeId, NodeKind, Route};
use wayleave_units::{Amount, Time};

const SCARCITY: Scarcity = Scarcity { steepness: 24.0, dormant: 0.3, large: 0.06 };

#[test]
fn least_loaded_routes_equal_those_of_a_plain_computation() {
    let (mut found, mut none) = (0, 0);
    for (model, scenario, queues) in
        [(Model::default(), 8, 8), (Model::PUBLISHED, 8, 8), (Model::default(), 1, 8), (Model::PUBLISHED, 3, 4)]
    {
        let (network, mut scheme) = scheme(model, queues);
        let mut graph = QueueGraph::new(scheme.placement().ledger());
        let mut quiet = LeastLoaded::new(scheme.placement().ledger(), SCARCITY);
        let mut live = Vec::new();
        for (number, request) in mix(&network, scenario, 11, model).take(900).enumerate() {
            let paths = shortest_paths(&network, request.from, request.to);
            let (ledger, query) = (scheme.placement().ledger(), RouteQuery::of(&request));
            let expected = Plain { ledger, query: &query }.search(&paths);
            let seen = match quiet.search(&mut graph, ledger, &query) {
                LeastLoadedResult::Found(found) => Some(found.route),
                LeastLoadedResult::NoRoom | LeastLoadedResult::Stuck => None,
            };
            // With fewer than four paths, the search considers detours as well.
            if paths.len() >= 4 {
                assert_eq!(seen, expected, "scenario {scenario}, request {number}: {request:?}");
                *(if seen.is_some() { &mut found } else { &mut none }) += 1;
            }
            decide(&mut scheme, &request, number, &mut live);
        }
    }
    assert!(found > 1500 && none > 100, "{found} routes and {none} refusals show little");
}

#[test]
fn the_cache_of_a_search_does_not_change_decisions() {
    // One scheme has seen flows come and go; the other has the same flows, and remembers nothing.
    for (model, rerouting) in
        [(Model::default(), None), (Model::PUBLISHED, None), (Model::default(), Some(Rerouting::with_tightening()))]
    {
        let (network, mut lived) = scheme_with(model, 8, rerouting);
        let mut live = Vec::new();
        let requests: Vec<Request> = mix(&network, 8, 5, model).take(3000).collect();
        for (round, requests) in requests.chunks(300).enumerate() {
            let (_, mut fresh) = scheme_with(model, 8, rerouting);
            fresh.placement_mut().take_over(lived.placement().placed());
            for (number, request) in requests.iter().enumerate() {
                let mut others = live.clone();
                let decision = decide(&mut lived, request, number, &mut live);
                assert_eq!(decision, decide(&mut fresh, request, number, &mut others), "round {round}, {number}");
                assert_eq!(live, others);
            }
            assert!(fresh.placement().ledger() == lived.placement().ledger());
        }
    }
}

/// Asks for a flow, and after every second one ends another.
fn decide(scheme: &mut Chameleon, request: &Request, number: usize, live: &mut Vec<FlowId>) -> String {
    let decision = scheme.admit(request);
    live.extend(decision.iter().map(|decision| decision.flow));
    if number % 2 == 1 && live.len() > 100 {
        let flow = live.swap_remove(number * 7919 % live.len());
        scheme.release(flow).unwrap();
    }
    format!("{decision:?}")
}

fn mix(network: &Network, scenario: usize, seed: u64, model: Model) -> impl Iterator<Item = Request> {
    RequestMix::new(network, scenario, seed).map(move |contract| wayleave_schemes::request(&contract, &model))
}

fn scheme(model: Model, queues: usize) -> (Arc<Network>, Chameleon) {
    scheme_with(model, queues, None)
}

fn scheme_with(model: Model, queues: usize, rerouting: Option<Rerouting>) -> (Arc<Network>, Chameleon) {
    let mut tree = FatTree::default();
    tree.cabling.switch_port.queues.truncate(queues);
    let network = Arc::new(build::fat_tree(&tree).unwrap());
    let params = Params { allocation: Allocation::default(), routing: Routing::Scarcity(SCARCITY), rerouting };
    let scheme = Chameleon::new(network.clone(), model, params).unwrap();
    (network, scheme)
}

/// Returns all paths with the fewest links, in order of their links.
fn shortest_paths(network: &Network, from: NodeId, to: NodeId) -> Vec<Vec<LinkId>> {
    let mut paths: Vec<Vec<LinkId>> = vec![Vec::new()];
    loop {
        let end = |path: &[LinkId]| path.last().map_or(from, |&link| network.link(link).to);
        let arrived: Vec<_> = paths.iter().filter(|path| end(path) == to).cloned().collect();
        if !arrived.is_empty() || paths.is_empty() {
            return arrived;
        }
        let open = paths.iter().filter(|path| path.is_empty() || network.node(end(path)).kind == NodeKind::Switch);
        let longer =
            open.flat_map(|path| network.links_from(end(path)).iter().map(|&link| [&path[..], &[link]].concat()));
        paths = longer.collect();
    }
}

/// One request at one moment.
struct Plain<'a> {
    ledger: &'a Ledger,
    query: &'a RouteQuery,
}

#[derive(Clone)]
struct Label {
    cost: u64,
    waited: u64,
    delay: u64,
    hops: Vec<Hop>,
}

impl Plain<'_> {
    /// Searches along the four least loaded paths, in order. Of equally loaded ones the first is taken, until one was
    /// removed: then the last one takes its position.
    fn search(&self, paths: &[Vec<LinkId>]) -> Option<Route> {
        let open = paths.iter().filter(|path| path.iter().all(|&link| self.ledger.has_rate(link, self.query.rate)));
        let mut offers: Vec<(f64, &Vec<LinkId>)> = open.map(|path| (self.price(path), path)).collect();
        for _ in 0..4 {
            let (at, &(_, path)) = offers.iter().enumerate().min_by(|(_, a), (_, b)| a.0.total_cmp(&b.0))?;
            if let Some(route) = self.cheapest_queues(path) {
                return Some(route);
            }
            offers.swap_remove(at);
        }
        None
    }

    fn rate(&self) -> f64 {
        self.query.rate.bits_per_second() as f64
    }

    fn price(&self, path: &[LinkId]) -> f64 {
        let [first, inner @ .., last] = path else { panic!("a way has two hosts' links") };
        self.link_price(*first) + self.link_price(*last) + inner.iter().map(|&link| self.link_price(link)).sum::<f64>()
    }

    fn link_price(&self, link: LinkId) -> f64 {
        let per_rate = 1.0 / self.ledger.network().link(link).rate.bits_per_second() as f64;
        let used = self.ledger.reserved(link).bits_per_second() as f64 * per_rate;
        let more = self.rate() * per_rate;
        let small = SCARCITY.steepness * more;
        let of_rate = if small < 0.02 && used + more <= 1.0 {
            phi(used) * small * (1.0 + 0.5 * small)
        } else {
            phi(used + more) - phi(used)
        };
        of_rate + self.pressures(link).iter().sum::<f64>()
    }

    /// The price of each queue as it is.
    fn pressures(&self, link: LinkId) -> Vec<f64> {
        let seen = self.ledger.gauges(link).each(TrialFlow::Here, 0.0, 0.0);
        seen.iter().zip(self.are_used(link)).map(|(&seen, is_used)| if is_used { price(seen) } else { 1.0 }).collect()
    }

    fn are_used(&self, link: LinkId) -> Vec<bool> {
        let mut are_used = vec![false; self.ledger.budgets(link).len()];
        for &(_, flow) in self.ledger.flows_on(link) {
            let route = &self.ledger.flow(flow).unwrap().route;
            for hop in route.hops.iter().filter(|hop| hop.link == link) {
                are_used[usize::from(hop.queue)] = true;
            }
        }
        are_used
    }

    /// Returns the cost of each queue of a link after this waiting time, with its number and its budget, fastest
    /// first.
    fn costs(&self, path: &[LinkId], link: LinkId, waited: u64) -> Vec<(u64, u8, u64)> {
        let line = self.ledger.network().link(path[0]).rate.bits_per_second() as f64;
        let burst = self.burst(waited).nanobits() as f64;
        let (pressures, are_used) = (self.pressures(link), self.are_used(link));
        let [here, above] =
            [TrialFlow::Here, TrialFlow::Above].map(|with| self.ledger.gauges(link).each(with, self.rate(), burst));
        let cost = |queue: usize, budget: Time| {
            if self.rate() >= SCARCITY.large * line {
                return budget.as_nanos();
            }
            let mut sum = price(here[queue]) - pressures[queue];
            for lower in (queue + 1..pressures.len()).filter(|&lower| are_used[lower]) {
                sum += price(above[lower]) - pressures[lower];
            }
            (sum.max(0.0) * 1_048_576.0) as u64
        };
        let budgets = self.ledger.budgets(link).enumerate();
        let mut costs: Vec<_> =
            budgets.map(|(queue, budget)| (cost(queue, budget), queue as u8, budget.as_nanos())).collect();
        costs.sort_by_key(|&(_, _, budget)| budget);
        costs
    }

    fn burst(&self, waited: u64) -> Amount {
        self.query.burst + self.query.rate * Time::from_nanos(waited)
    }

    /// Returns the delay of a packet on a link beside its wait.
    fn constant(&self, link: LinkId) -> u64 {
        let network = self.ledger.network();
        let link = network.link(link);
        let entered = network.node(link.to);
        let processing = if entered.kind == NodeKind::Switch { entered.processing } else { Time::ZERO };
        (link.propagation + processing).as_nanos()
    }

    /// By cost with the least that remains, then by delay, then the newest first.
    fn cheapest_queues(&self, path: &[LinkId]) -> Option<Route> {
        // From each link on: the least delay and the least cost, with the least burst that the flow can have there.
        let (mut rests, mut waited) = (vec![(0, 0); path.len() + 1], 0);
        for (place, &link) in path.iter().enumerate() {
            let costs = self.costs(path, link, waited);
            let fastest = costs.first()?.2;
            rests[place] = (fastest + self.constant(link), costs.iter().map(|&(cost, ..)| cost).min()?);
            waited += fastest;
        }
        for place in (0..path.len()).rev() {
            rests[place] = (rests[place].0 + rests[place + 1].0, rests[place].1 + rests[place + 1].1);
        }
        let start = self.ledger.network().node(self.query.from).processing.as_nanos();
        let mut open = vec![Label { cost: 0, waited: 0, delay: start, hops: Vec::new() }];
        let mut least_waited = vec![u64::MAX; path.len() + 1];
        loop {
            let key = |label: &Label| (label.cost + rests[label.hops.len()].1, label.delay);
            let at = (0..open.len()).rev().min_by_key(|&at| key(&open[at]))?;
            let label = open.remove(at);
            let place = label.hops.len();
            if label.waited >= least_waited[place] || !self.is_let_in(&label) {
                continue;
            }
            least_waited[place] = label.waited;
            let Some(&link) = path.get(place) else { return Some(Route { hops: label.hops }) };
            for (cost, queue, budget) in self.costs(path, link, label.waited) {
                let delay = label.delay + budget + self.constant(link);
                if delay + rests[place + 1].0 <= self.query.deadline.as_nanos() {
                    let hops = [&label.hops[..], &[Hop { link, queue }]].concat();
                    open.push(Label { cost: label.cost + cost, waited: label.waited + budget, delay, hops });
                }
            }
        }
    }

    /// Returns `true` if the last queue of a label admits the flow.
    fn is_let_in(&self, label: &Label) -> bool {
        let Some(&last) = label.hops.last() else { return true };
        let before = label.hops.len().checked_sub(2).map(|at| label.hops[at].link);
        let waited = label.waited - self.ledger.budget(last).as_nanos();
        let input = before.map_or(PortInput::LOCAL, PortInput::link);
        self.ledger.fits(last.link, last.queue, input, self.query.rate, self.burst(waited))
    }
}

fn price(seen: Utilisation) -> f64 {
    phi((1.0 - SCARCITY.dormant) * seen.now + SCARCITY.dormant * seen.dormant)
}

/// `e^(24 u)` up to 1, its tangent beyond; by the series that the search uses, so that equal prices stay equal.
fn phi(used: f64) -> f64 {
    let binary = SCARCITY.steepness * std::f64::consts::LOG2_E;
    if used > 1.0 {
        return exp2(binary) * (1.0 + SCARCITY.steepness * (used - 1.0));
    }
    exp2(binary * used)
}

fn exp2(x: f64) -> f64 {
    let t = (x - x.floor()) * std::f64::consts::LN_2;
    let (mut sum, mut factor) = (0.0, 40_320.0);
    for divisor in [8.0, 7.0, 6.0, 5.0, 4.0, 3.0, 2.0, 1.0] {
        sum = sum * t + 1.0 / factor;
        factor /= divisor;
    }
    x.floor().exp2() * (1.0 + t * sum)
}
