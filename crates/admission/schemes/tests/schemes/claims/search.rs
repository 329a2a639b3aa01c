//! The searches against brute force, on small networks of no particular shape that are more or less full.
//!
//! Brute force visits every simple path and every choice of queues. If access does not depend on the incoming link
//! (no shaping), a path with a loop is never admitted where the path without the loop is not, so nothing may be
//! missed. With shaping it can be, and a search that keeps no second label can lose the path without the loop. A
//! search that may run in loops identifies those misses. All other misses are counted.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::Arc;

use crate::claims::common::Dice;
use crate::claims::common::wild::{self, Constants, Wild};
use wayleave_contracts::WireOverhead;
use wayleave_ledger::{Ledger, Model, PortInput, Shaping};
use wayleave_scheme_api::{Admission, Refusal, Request};
use wayleave_schemes::admission::chameleon::{Chameleon, Params};
use wayleave_schemes::costs::{Cost, DelayCost, HopCost};
use wayleave_schemes::placement::Placement;
use wayleave_schemes::routing::{FoundRoute, RouteQuery};
use wayleave_topology::{Hop, LinkId, Network, NodeId, NodeKind, Route};
use wayleave_units::{Amount, Bytes, Time};

const MIXED: &[u64] = &[100, 1000, 1000, 10_000];
/// More switches than any of these networks has.
const TAGS: WireOverhead = WireOverhead::Counted { tags: 8 };

fn shaped() -> Model {
    Model::default().with_overhead(TAGS)
}

fn unshaped() -> Model {
    shaped().with_shaping(Shaping::Off)
}

/// A cost that no order of budgets explains.
struct RandomCost(u64);

impl Cost for RandomCost {
    fn of(&self, _: &Ledger, link: LinkId, queue: u8, _: Amount) -> u64 {
        let mixed = (self.0 << 32) ^ (u64::from(link.0) << 8) ^ u64::from(queue);
        (mixed.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 40) % 1000
    }
}

/// One question to a network.
struct Case {
    placement: Placement,
    query: RouteQuery,
    /// Name under which it can be replayed.
    name: String,
}

/// `queries` for each of the networks of these seeds, each network filled a little further than the one before.
fn cases(wild: Wild, model: Model, seeds: std::ops::Range<u64>, queries: u64, mut ask: impl FnMut(&mut Case)) {
    println!("seeds {seeds:?} of {wild:?}, {model:?}");
    for seed in seeds {
        let mut dice = Dice::new(seed);
        let network = wild.build(&mut dice);
        let mut placement = Placement::new(wild::ledger(&network, model));
        let (attempts, load) = (dice.between(10, 150), dice.between(5, 200));
        wild::fill(&mut dice, &mut placement, attempts, load);
        let mut case = Case { query: query(&mut dice, &network), placement, name: String::new() };
        for question in 0..queries {
            case.name = format!("seed {seed}, question {question}");
            ask(&mut case);
            case.query = query(&mut dice, &network);
        }
    }
}

fn query(dice: &mut Dice, network: &Network) -> RouteQuery {
    let load = dice.between(1, 150);
    let request = wild::request(dice, network, load);
    let frame = dice.percent(30).then(|| Bytes::new(dice.pick(&[600, 1600, 9062])));
    RouteQuery::of(&Request { max_frame: frame, ..request })
}

/// The best of all simple routes.
struct Exhaustive<'a> {
    placement: &'a Placement,
    query: &'a RouteQuery,
    costs: &'a [&'a dyn Cost],
    visited: Vec<NodeId>,
    hops: Vec<Hop>,
    least_delay: Option<Time>,
    least_costs: Vec<Option<u64>>,
}

impl<'a> Exhaustive<'a> {
    fn run(
        placement: &'a Placement,
        query: &'a RouteQuery,
        costs: &'a [&'a dyn Cost],
    ) -> (Option<Time>, Vec<Option<u64>>) {
        let (visited, least_costs) = (vec![query.from], vec![None; costs.len()]);
        let mut this = Self { placement, query, costs, visited, hops: Vec::new(), least_delay: None, least_costs };
        this.extend(query.from, PortInput::LOCAL, query.burst);
        (this.least_delay, this.least_costs)
    }

    fn extend(&mut self, at: NodeId, input: PortInput, burst: Amount) {
        if at == self.query.to {
            return self.arrive();
        }
        let (network, ledger) = (self.placement.network(), self.placement.ledger());
        for &link in network.links_from(at) {
            let head = network.link(link).to;
            let is_allowed = head == self.query.to || network.node(head).kind == NodeKind::Switch;
            if !is_allowed || self.visited.contains(&head) {
                continue;
            }
            self.visited.push(head);
            for (queue, budget) in (0u8..).zip(ledger.budgets(link)) {
                // A hop that denies access denies it to every route that begins like this one.
                if ledger.fits(link, queue, input, self.query.rate, burst) {
                    self.hops.push(Hop { link, queue });
                    self.extend(head, PortInput::link(link), burst + self.query.rate * budget);
                    self.hops.pop();
                }
            }
            self.visited.pop();
        }
    }

    fn arrive(&mut self) {
        let route = Route { hops: self.hops.clone() };
        let Ok(found) = self.placement.check(self.query, &route) else { return };
        self.least_delay = Some(self.least_delay.map_or(found.delay, |least| least.min(found.delay)));
        for (least, cost) in self.least_costs.iter_mut().zip(self.costs) {
            let price = price(self.placement.ledger(), *cost, &route);
            *least = Some(least.map_or(price, |least| least.min(price)));
        }
    }
}

fn price(ledger: &Ledger, cost: &dyn Cost, route: &Route) -> u64 {
    route.hops.iter().map(|hop| cost.of(ledger, hop.link, hop.queue, Amount::ZERO)).sum()
}

/// Number of times that a search found the best route, a worse one, or none.
#[derive(Debug, Default)]
struct Score {
    equal: u64,
    worse: u64,
    missed: u64,
}

impl Score {
    fn add(&mut self, case: &Case, best: Option<u64>, found: Option<u64>) {
        match (best, found) {
            (None, None) => {}
            (Some(best), Some(found)) if best == found => self.equal += 1,
            (Some(best), Some(found)) => {
                assert!(best < found, "{}: {found} is better than the best, {best}", case.name);
                self.worse += 1;
            }
            (Some(_), None) => self.missed += 1,
            (None, Some(found)) => panic!("{}: {found} where nothing is", case.name),
        }
    }

    fn total(&self) -> u64 {
        self.equal + self.worse + self.missed
    }
}

/// A found route leads from host to host, through no host and no node twice, in time, and every queue has room.
fn assert_route(case: &Case, found: &FoundRoute) {
    let Case { placement, query, name } = case;
    assert_eq!(found.route.validate(placement.network(), query.from, query.to), Ok(()), "{name}");
    assert!(found.delay <= query.deadline, "{name}: {found:?}");
    assert_eq!(placement.check(query, &found.route).as_ref(), Ok(found), "{name}");
}

/// Returns the result of the least-delay search, and the best delay; ns.
fn ask_for_delay(case: &mut Case) -> (Option<u64>, Option<u64>) {
    let (best, _) = Exhaustive::run(&case.placement, &case.query, &[]);
    let found = case.placement.least_delay(&case.query);
    if let Some(found) = &found {
        assert_route(case, found);
    }
    (best.map(Time::as_nanos), found.map(|found| found.delay.as_nanos()))
}

fn ask_for_costs(case: &mut Case, seed: u64, scores: &mut [Score; 3]) {
    let random = RandomCost(seed);
    let costs: [&dyn Cost; 3] = [&DelayCost, &HopCost, &random];
    let (_, best) = Exhaustive::run(&case.placement, &case.query, &costs);
    for ((cost, best), score) in costs.into_iter().zip(best).zip(scores) {
        let found = case.placement.least_cost(&case.query, cost, &[]);
        if let Some(found) = &found {
            assert_route(case, found);
        }
        score.add(case, best, found.map(|found| price(case.placement.ledger(), cost, &found.route)));
    }
}

/// Returns the least cost of all paths in time, also of those that run in loops, in a network without constants.
/// Labels are set in order of cost; one that has waited no less than another at the same link is of no use.
fn least_cost_with_loops(placement: &Placement, query: &RouteQuery, cost: &dyn Cost) -> Option<u64> {
    let (network, ledger) = (placement.network(), placement.ledger());
    let carries = |link| query.max_frame.is_none_or(|frame| frame <= ledger.largest_frame(link));
    let mut least_waits = vec![u64::MAX; network.links().len()];
    let mut open = BinaryHeap::from([Reverse((0, 0, None::<LinkId>))]);
    while let Some(Reverse((spent, waited, passed))) = open.pop() {
        let at = passed.map_or(query.from, |link| network.link(link).to);
        if at == query.to {
            return Some(spent);
        }
        if let Some(link) = passed {
            if network.node(at).kind == NodeKind::Host || waited >= least_waits[link.index()] {
                continue;
            }
            least_waits[link.index()] = waited;
        }
        let input = passed.map_or(PortInput::LOCAL, PortInput::link);
        let burst = query.burst + query.rate * Time::from_nanos(waited);
        for &link in network.links_from(at).iter().filter(|&&link| carries(link)) {
            for (queue, budget) in (0u8..).zip(ledger.budgets(link)) {
                let then = waited + budget.as_nanos();
                if then <= query.deadline.as_nanos() && ledger.fits(link, queue, input, query.rate, burst) {
                    open.push(Reverse((spent + cost.of(ledger, link, queue, Amount::ZERO), then, Some(link))));
                }
            }
        }
    }
    None
}

#[test]
fn without_shaping_and_constants_the_least_delay_route_is_found_if_one_exists() {
    for rates in [&[1000], MIXED] {
        let mut score = Score::default();
        let wild = Wild { rates, queues: (0, 3), mtus: &[1500, 1500, 9000], ..Wild::default() };
        cases(wild, unshaped(), 0..200, 20, |case| {
            let (best, found) = ask_for_delay(case);
            score.add(case, best, found);
        });
        println!("{score:?}");
        assert_eq!((score.worse, score.missed), (0, 0));
        assert!(score.equal > 500, "{score:?}");
    }
}

#[test]
fn without_shaping_the_least_cost_route_is_found_if_one_exists() {
    for constants in [Constants::None, Constants::Long] {
        let mut scores: [Score; 3] = Default::default();
        let wild = Wild { constants, rates: MIXED, mtus: &[1500, 1500, 9000], ..Wild::default() };
        let mut seed = 0;
        cases(wild, unshaped(), 1000..1200, 20, |case| {
            seed += 1;
            ask_for_costs(case, seed, &mut scores);
        });
        println!("{scores:?}");
        for score in scores {
            assert_eq!((score.worse, score.missed), (0, 0));
            assert!(score.equal > 500, "{score:?}");
        }
    }
}

/// Here a search takes hundreds of steps and has to look ahead before it continues.
#[test]
fn in_larger_networks_without_shaping_the_best_routes_are_found() {
    let wild = Wild {
        switches: (15, 25),
        hosts: (8, 16),
        extra_cables: (15, 40),
        queues: (1, 5),
        rates: MIXED,
        mtus: &[1500, 1500, 9000],
        ..Wild::default()
    };
    let model = unshaped().with_overhead(WireOverhead::Counted { tags: 30 });
    let (mut by_delay, mut by_cost) = (Score::default(), <[Score; 3]>::default());
    let mut seed = 0;
    for round in 0..4 {
        cases(wild, model, 7000 + 20 * round..7020 + 20 * round, 25, |case| {
            seed += 1;
            wild::fill(&mut Dice::new(seed), &mut case.placement, 40, 30 * (round + 1));
            let best = least_cost_with_loops(&case.placement, &case.query, &DelayCost);
            let found = case.placement.least_delay(&case.query);
            found.iter().for_each(|found| assert_route(case, found));
            by_delay.add(case, best, found.map(|found| found.delay.as_nanos()));
            let random = RandomCost(seed);
            for (cost, score) in [&DelayCost as &dyn Cost, &HopCost, &random].into_iter().zip(&mut by_cost) {
                let best = least_cost_with_loops(&case.placement, &case.query, cost);
                let found = case.placement.least_cost(&case.query, cost, &[]);
                found.iter().for_each(|found| assert_route(case, found));
                score.add(case, best, found.map(|found| price(case.placement.ledger(), cost, &found.route)));
            }
        });
    }
    println!("{by_delay:?} {by_cost:?}");
    for score in by_cost.iter().chain([&by_delay]) {
        assert_eq!((score.worse, score.missed), (0, 0));
        assert!(score.equal > 500, "{score:?}");
    }
}

#[test]
fn with_shaping_a_least_delay_route_is_missed_only_if_a_loop_is_faster() {
    for rates in [&[1000], MIXED] {
        let mut score = Score::default();
        let wild = Wild { rates, queues: (0, 3), ..Wild::default() };
        cases(wild, shaped(), 2000..2400, 20, |case| {
            let (best, found) = ask_for_delay(case);
            if best != found {
                let with_loops = least_cost_with_loops(&case.placement, &case.query, &DelayCost);
                println!("{}: best {best:?}, found {found:?}, in a loop {with_loops:?}", case.name);
                assert!(with_loops < best, "{}", case.name);
            }
            score.add(case, best, found);
        });
        println!("{score:?}");
        assert!((score.worse + score.missed) * 500 <= score.total(), "{score:?}");
        assert!(score.equal > 1000, "{score:?}");
    }
}

#[test]
fn constants_and_short_tag_stacks_hide_at_most_one_route_in_a_hundred() {
    let tags = |tags| Model::default().with_overhead(WireOverhead::Counted { tags });
    let wild = Wild { rates: MIXED, ..Wild::default() };
    for (wild, model) in [
        (Wild { constants: Constants::Short, ..wild }, shaped()),
        (Wild { constants: Constants::Long, ..wild }, shaped()),
        (Wild { constants: Constants::Long, ..wild }, unshaped()),
        (wild, tags(2)),
        (wild, tags(3)),
        (wild, tags(4)),
    ] {
        let (mut by_delay, mut by_cost) = (Score::default(), <[Score; 3]>::default());
        let mut seed = 0;
        cases(wild, model, 3000..3200, 10, |case| {
            seed += 1;
            let (best, found) = ask_for_delay(case);
            by_delay.add(case, best, found);
            ask_for_costs(case, seed, &mut by_cost);
        });
        println!("{by_delay:?} {by_cost:?}");
        for score in by_cost.iter().chain([&by_delay]) {
            assert!((score.worse + score.missed) * 100 <= score.total(), "{score:?}");
            assert!(score.equal > 300, "{score:?}");
        }
    }
}

#[test]
fn larac_finds_a_route_if_least_delay_does_and_never_beats_the_optimum() {
    let wild = Wild { constants: Constants::Short, rates: MIXED, mtus: &[1500, 1500, 9000], ..Wild::default() };
    let mut scores: [Score; 3] = Default::default();
    let mut seed = 0;
    cases(wild, Model::default(), 4000..4250, 20, |case| {
        seed += 1;
        let random = RandomCost(seed);
        let costs: [&dyn Cost; 3] = [&DelayCost, &HopCost, &random];
        let (_, best) = Exhaustive::run(&case.placement, &case.query, &costs);
        let is_found = case.placement.least_delay(&case.query).is_some();
        for ((cost, best), score) in costs.into_iter().zip(best).zip(&mut scores) {
            let found = case.placement.larac(&case.query, cost, &[]);
            if let Some(found) = &found {
                assert_route(case, found);
            }
            assert!(found.is_some() || !is_found, "{}", case.name);
            score.add(case, best, found.map(|found| price(case.placement.ledger(), cost, &found.route)));
        }
    });
    println!("{scores:?}");
    // An approximation, but one that is seldom off.
    for score in scores {
        assert!(score.worse * 20 <= score.total() && score.equal > 500, "{score:?}");
    }
}

#[test]
fn a_lower_bound_of_the_cost_changes_no_result() {
    let wild = Wild { constants: Constants::Short, rates: MIXED, ..Wild::default() };
    let mut asked = 0;
    cases(wild, unshaped(), 5000..5100, 20, |case| {
        let &[last] = case.placement.network().links_into(case.query.to) else { return };
        let switch = case.placement.network().link(last).from;
        let bounds =
            [case.placement.cost_bounds(switch, |_, budget| budget), case.placement.cost_bounds(switch, |_, _| 1)];
        for (cost, bounds) in [&DelayCost as &dyn Cost, &HopCost].into_iter().zip(bounds) {
            let price_of = |found: Option<FoundRoute>, placement: &Placement| {
                found.map(|found| price(placement.ledger(), cost, &found.route))
            };
            let without = case.placement.least_cost(&case.query, cost, &[]);
            let with = case.placement.least_cost(&case.query, cost, &bounds);
            let with_larac = case.placement.larac(&case.query, cost, &bounds);
            with_larac.iter().for_each(|found| assert_route(case, found));
            asked += u64::from(with.is_some());
            assert_eq!(price_of(with, &case.placement), price_of(without, &case.placement), "{}", case.name);
        }
    });
    assert!(asked > 500, "only {asked}");
}

#[test]
fn a_deadline_that_is_met_exactly_is_admitted_and_one_ns_less_is_refused() {
    let wild = Wild { constants: Constants::Short, rates: MIXED, ..Wild::default() };
    let (mut asked, mut too_slow) = (0, 0);
    for seed in 6000..6150 {
        let mut dice = Dice::new(seed);
        let network: Arc<Network> = wild.build(&mut dice);
        let mut scheme = Chameleon::new(network.clone(), Model::default(), Params::default()).unwrap();
        let attempts = dice.between(10, 120);
        wild::fill(&mut dice, scheme.placement_mut(), attempts, 60);
        for _ in 0..10 {
            let generous = Request { deadline: Time::from_millis(1000), ..wild::request(&mut dice, &network, 60) };
            let (Some(least), _) = Exhaustive::run(scheme.placement(), &RouteQuery::of(&generous), &[]) else {
                continue;
            };
            if scheme.placement_mut().least_delay(&RouteQuery::of(&generous)).is_none_or(|found| found.delay > least) {
                continue;
            }
            asked += 1;
            let in_time = Request { deadline: least, ..generous.clone() };
            let decision = scheme.admit(&in_time).unwrap_or_else(|refusal| panic!("seed {seed}: {refusal:?}"));
            assert_eq!(decision.bound, least, "seed {seed}");
            scheme.release(decision.flow).unwrap();
            let late = Request { deadline: least.saturating_sub(Time::from_nanos(1)), ..generous.clone() };
            let refusal = scheme.admit(&late).expect_err("one ns less");
            if let Refusal::TooSlow { bound, deadline, .. } = refusal {
                assert!(bound >= least && deadline == late.deadline, "seed {seed}: {refusal:?}");
                too_slow += 1;
            }
            // The same for a route that is given.
            let pinned = Request { route: Some(decision.route), ..in_time };
            let decision = scheme.admit(&pinned).unwrap_or_else(|refusal| panic!("seed {seed}: {refusal:?}"));
            scheme.release(decision.flow).unwrap();
            let refusal = scheme.admit(&Request { deadline: late.deadline, ..pinned }).expect_err("one ns less");
            assert!(matches!(refusal, Refusal::TooSlow { bound, .. } if bound == least), "seed {seed}: {refusal:?}");
        }
    }
    println!("{asked} asked, of which {too_slow} were too slow");
    assert!(asked > 500);
}
