//! A failure leaves no trace, and a success leaves exactly the requested state: long random lives of a k = 4 fat tree
//! under admission with rerouting, changes and releases.

use std::sync::Arc;

use crate::claims::common::{Dice, Everything, assert_sound, everything};
use wayleave_contracts::{BucketDemand, RequestMix};
use wayleave_ledger::{Ledger, Model};
use wayleave_scheme_api::{Admission, Decision, Refusal, Request};
use wayleave_schemes::admission::chameleon::{Chameleon, Moves, Params, Penalised, Rerouting, Routing, Search, Sort};
use wayleave_schemes::costs::Scarcity;
use wayleave_schemes::placement::Placement;
use wayleave_schemes::routing::RouteQuery;
use wayleave_topology::builders::{FatTree, build};
use wayleave_topology::{FlowId, Network};
use wayleave_units::{Bytes, Time};

fn fat_tree() -> Arc<Network> {
    Arc::new(build::fat_tree(&FatTree::default()).unwrap())
}

/// Scenario 1 of Table 2, which has the most flows of high rate, with some larger bursts and some shorter deadlines: soon a
/// network is full.
struct Requests {
    mix: RequestMix,
    dice: Dice,
}

impl Requests {
    fn new(network: &Network, seed: u64) -> Self {
        Self { mix: RequestMix::new(network, 1, seed), dice: Dice::new(seed) }
    }

    fn next(&mut self) -> Request {
        let mut request = wayleave_schemes::request(&self.mix.next().unwrap(), &Model::default());
        if self.dice.percent(30) {
            request.burst = Bytes::new(self.dice.between(1_000, 40_000));
        }
        if self.dice.percent(30) {
            request.deadline = Time::from_micros(self.dice.between(700, 8_000));
        }
        request
    }

    /// Other terms for a flow; its ends stay, as they would, or not.
    fn other_terms(&mut self, network: &Network, ledger: &Ledger, flow: FlowId) -> Request {
        let request = self.next();
        let hops = &ledger.flow(flow).unwrap().route.hops;
        let ends = (network.link(hops[0].link).from, network.link(hops[hops.len() - 1].link).to);
        if self.dice.percent(20) { request } else { Request { from: ends.0, to: ends.1, ..request } }
    }
}

/// Returns parameters for every kind of rerouting, in turn.
fn params(seed: u64, moves: Moves) -> Params {
    let turn = seed as usize;
    let how = Rerouting {
        sort: [Sort::SharedLinks, Sort::Rate, Sort::Burst, Sort::Deadline, Sort::Placement][turn % 5],
        penalised: [Penalised::NewFlow, Penalised::MovedFlow][turn / 2 % 2],
        search: [Search::OneLabel, Search::LabelSetting, Search::Larac][turn % 3],
        limit: [20, 5, 50][turn / 3 % 3],
        moves,
        tighten: [0, 20][turn / 2 % 2],
        ..Rerouting::default()
    };
    let scarcity = Routing::Scarcity(Scarcity::default());
    let routing = [Routing::LeastDelay, scarcity, Routing::LaracByDelay, Routing::LaracByHops][turn % 4];
    Params { rerouting: Some(how), routing, ..Params::default() }
}

fn chameleon(network: &Arc<Network>, params: Params) -> Chameleon {
    println!("{params:?}");
    Chameleon::new(network.clone(), Model::default(), params).unwrap()
}

/// Next operation.
enum Step {
    Admit(Request),
    Release(FlowId),
    Change(FlowId, Request),
}

fn step(dice: &mut Dice, requests: &mut Requests, scheme: &Chameleon, alive: &[FlowId]) -> Step {
    match dice.between(1, 100) {
        1..=15 if !alive.is_empty() => Step::Release(dice.pick(alive)),
        16..=35 if !alive.is_empty() => {
            let flow = dice.pick(alive);
            let placement = scheme.placement();
            Step::Change(flow, requests.other_terms(placement.network(), placement.ledger(), flow))
        }
        _ => Step::Admit(requests.next()),
    }
}

/// Takes a step and keeps the list of those alive.
fn take(scheme: &mut Chameleon, alive: &mut Vec<FlowId>, step: &Step) -> Option<Result<Decision, Refusal>> {
    let (outcome, ended) = match step {
        Step::Admit(request) => (scheme.admit(request), None),
        Step::Release(flow) => {
            let route = scheme.placement().ledger().flow(*flow).unwrap().route.clone();
            assert_eq!(scheme.release(*flow), Some(route));
            alive.retain(|other| other != flow);
            return None;
        }
        Step::Change(flow, request) => (scheme.change(*flow, request).expect("a flow that is alive"), Some(*flow)),
    };
    if let Ok(decision) = &outcome {
        alive.retain(|other| Some(*other) != ended);
        alive.push(decision.flow);
    }
    Some(outcome)
}

/// Asserts that the ledger follows from its flows alone, after any history.
fn assert_made_of_its_flows(placement: &Placement) {
    let ledger = placement.ledger();
    let links = placement.network().links().map(|(link, _)| link);
    let budgets = links.map(|link| ledger.budgets(link).collect()).collect();
    let mut fresh = Ledger::new(placement.network().clone(), *ledger.model(), budgets).unwrap();
    for (_, flow) in ledger.flows() {
        fresh.reserve(flow.demand, flow.route.clone());
    }
    assert!(fresh == *ledger, "the ledger is not what its flows make it");
}

/// The promise of a decision, and of every flow that it moved.
fn assert_decision(before: &Everything, placement: &Placement, request: &Request, decision: &Decision) {
    let reservation = placement.ledger().flow(decision.flow).expect("an admitted flow");
    let terms = BucketDemand { rate: request.rate, burst: request.burst, max_frame: request.max_frame };
    assert_eq!((reservation.demand, &reservation.route), (terms, &decision.route));
    assert_eq!(placement.deadline(decision.flow), Some(request.deadline));
    assert_eq!(placement.bound(&decision.route), decision.bound);
    assert!(decision.bound <= request.deadline);
    assert_eq!(decision.route.validate(placement.network(), request.from, request.to), Ok(()));
    for moved in &decision.moved {
        let was = before.flow(moved.flow).expect("a flow that was there before");
        assert_eq!(was.0.route, moved.from);
        assert_eq!(placement.ledger().flow(moved.flow).map(|now| &now.route), Some(&moved.to));
        assert!(placement.bound(&moved.to) <= was.1);
    }
}

/// Asserts that all other flows are unchanged, except for the routes of moved ones.
fn assert_others_unchanged(before: &Everything, placement: &Placement, decision: &Decision, ended: Option<FlowId>) {
    let mut others = 0;
    for (flow, reservation) in placement.ledger().flows().filter(|(flow, _)| *flow != decision.flow) {
        let (was, deadline) = before.flow(flow).expect("no flow comes from nowhere");
        assert_eq!((reservation.demand, placement.deadline(flow)), (was.demand, Some(*deadline)));
        if !decision.moved.iter().any(|moved| moved.flow == flow) {
            assert_eq!(reservation, was);
        }
        others += 1;
    }
    assert_eq!(others, before.count() - usize::from(ended.is_some()));
}

#[test]
fn a_refusal_changes_nothing_and_a_success_only_what_it_reports() {
    let network = fat_tree();
    let (mut refused, mut changed, mut unchanged, mut moved) = (0, 0, 0, 0);
    for seed in 1..=8 {
        println!("seed {seed}");
        let mut scheme = chameleon(&network, params(seed, Moves::RolledBack));
        let (mut dice, mut requests) = (Dice::new(seed), Requests::new(&network, seed));
        let mut alive = Vec::new();
        for _ in 0..500 {
            let step = step(&mut dice, &mut requests, &scheme, &alive);
            let before = everything(scheme.placement());
            let outcome = take(&mut scheme, &mut alive, &step);
            let (request, ended) = match &step {
                Step::Admit(request) => (request, None),
                Step::Change(flow, request) => (request, Some(*flow)),
                Step::Release(_) => continue,
            };
            match outcome.unwrap() {
                Err(_) => {
                    assert!(everything(scheme.placement()) == before, "something is left of a refusal");
                    *(if ended.is_some() { &mut unchanged } else { &mut refused }) += 1;
                }
                Ok(decision) => {
                    assert_decision(&before, scheme.placement(), request, &decision);
                    assert_others_unchanged(&before, scheme.placement(), &decision, ended);
                    moved += decision.moved.len();
                    changed += u32::from(ended.is_some());
                }
            }
        }
        assert_made_of_its_flows(scheme.placement());
        assert_sound(scheme.placement(), "at the end");
    }
    println!("{refused} refused, {changed} changed, {unchanged} not changed, {moved} moved");
    assert!(refused > 100 && changed > 100 && unchanged > 50 && moved > 100);
}

#[test]
fn a_dry_run_changes_nothing_and_predicts_the_admission() {
    let network = fat_tree();
    let (mut yes, mut no) = (0, 0);
    for seed in 11..=16 {
        println!("seed {seed}");
        let moves = [Moves::RolledBack, Moves::Kept][(seed % 2) as usize];
        let mut scheme = chameleon(&network, params(seed, moves));
        let (mut dice, mut requests) = (Dice::new(seed), Requests::new(&network, seed));
        let mut alive = Vec::new();
        for _ in 0..400 {
            let step = step(&mut dice, &mut requests, &scheme, &alive);
            let Step::Admit(request) = &step else {
                take(&mut scheme, &mut alive, &step);
                continue;
            };
            let before = everything(scheme.placement());
            let answer = scheme.would_admit(request);
            assert!(everything(scheme.placement()) == before, "a question has changed something");
            assert_eq!(take(&mut scheme, &mut alive, &step).unwrap().is_ok(), answer);
            *(if answer { &mut yes } else { &mut no }) += 1;
        }
    }
    println!("{yes} times yes, {no} times no");
    assert!(yes > 500 && no > 100);
}

/// Removes the count of earlier placements, which grows with the number of queries; the order of placement does not
/// depend on them.
fn unnumbered(outcome: Result<Decision, Refusal>) -> Result<Decision, Refusal> {
    outcome.map(|mut decision| {
        decision.moved.iter_mut().for_each(|moved| moved.placed = 0);
        decision
    })
}

/// Invisible effects of a refusal (the memory of the searches, the order in which indices are used again) must not
/// matter either: a scheme that never received the queries and refusals decides alike, move for move.
#[test]
fn dry_runs_and_refusals_change_no_later_decision() {
    let network = fat_tree();
    let mut decided = 0;
    for seed in 21..=26 {
        println!("seed {seed}");
        let mut busy = chameleon(&network, params(seed, Moves::RolledBack));
        let mut calm = chameleon(&network, params(seed, Moves::RolledBack));
        let (mut dice, mut requests) = (Dice::new(seed), Requests::new(&network, seed));
        let (mut alive, mut alive_in_calm) = (Vec::new(), Vec::new());
        for _ in 0..400 {
            let step = step(&mut dice, &mut requests, &busy, &alive);
            busy.would_admit(&requests.next());
            let outcome = take(&mut busy, &mut alive, &step);
            if !matches!(outcome, Some(Err(_))) {
                assert_eq!(take(&mut calm, &mut alive_in_calm, &step).map(unnumbered), outcome.map(unnumbered));
                decided += 1;
            }
        }
        assert!(busy.placement().ledger() == calm.placement().ledger());
    }
    assert!(decided > 1000, "only {decided}");
}

#[test]
fn kept_moves_keep_every_promise_and_leave_no_free_capacity_untried() {
    let network = fat_tree();
    let (mut refused, mut kept) = (0, 0);
    for seed in 31..=36 {
        println!("seed {seed}");
        let how = params(seed, Moves::Kept);
        let routing = how.routing;
        let mut scheme = chameleon(&network, how);
        let mut requests = Requests::new(&network, seed);
        for _ in 0..300 {
            let request = requests.next();
            let before = everything(scheme.placement());
            if scheme.admit(&request).is_ok() {
                continue;
            }
            let mut moved = 0;
            for (flow, now) in scheme.placement().ledger().flows() {
                let (was, deadline) = before.flow(flow).expect("no flow comes from nowhere");
                assert_eq!((now.demand, scheme.placement().deadline(flow)), (was.demand, Some(*deadline)));
                moved += u32::from(now.route != was.route);
            }
            if moved > 0 && refused % 16 == 0 {
                assert_sound(scheme.placement(), "after moves for a request that was refused");
                assert_made_of_its_flows(scheme.placement());
            }
            (refused, kept) = (refused + 1, kept + moved);
            // Retries are left out where they could not succeed; the last state must indeed have no room.
            if routing == Routing::LeastDelay {
                assert_eq!(scheme.placement_mut().least_delay(&RouteQuery::of(&request)), None);
            }
        }
    }
    println!("{kept} moves were kept for {refused} refused requests");
    assert!(kept > 1000 && refused > 200);
}

#[test]
fn after_2000_steps_the_calculator_agrees_and_releases_leave_nothing() {
    let network = fat_tree();
    for (seed, moves) in [(41, Moves::RolledBack), (42, Moves::Kept)] {
        println!("seed {seed}");
        let params = Params { rerouting: Some(Rerouting { moves, ..Rerouting::default() }), ..Params::default() };
        let mut scheme = chameleon(&network, params);
        let empty = scheme.placement().ledger().clone();
        let (mut dice, mut requests) = (Dice::new(seed), Requests::new(&network, seed));
        let (mut alive, mut moved) = (Vec::new(), 0);
        for _ in 0..2000 {
            let step = step(&mut dice, &mut requests, &scheme, &alive);
            if let Some(Ok(decision)) = take(&mut scheme, &mut alive, &step) {
                moved += decision.moved.len();
            }
        }
        let report = assert_sound(scheme.placement(), "after 2000 steps");
        println!("{} flows in {} queues, {moved} moved", report.flows.len(), report.queues.len());
        assert!(report.flows.len() > 100 && moved > 20);
        // Rounded up they are equal, since claims were exact; they are equal as fractions, too.
        for finding in &report.queues {
            let ours = &scheme.placement().ledger().report(finding.link)[usize::from(finding.queue)];
            let of = |delay: &wayleave_calculus::Rational| (delay.numer().to_string(), delay.denom().to_string());
            let theirs = finding.delay_ns.as_ref().map(|delay| (delay.numer().to_string(), delay.denom().to_string()));
            assert_eq!(ours.delay.as_ref().map(of), theirs);
        }
        assert_made_of_its_flows(scheme.placement());
        for flow in alive {
            assert!(scheme.release(flow).is_some());
        }
        assert!(*scheme.placement().ledger() == empty);
        assert_eq!(scheme.placement().ledger().flows().count(), 0);
    }
}

#[test]
fn an_unknown_flow_cannot_be_released_or_changed() {
    let network = fat_tree();
    let mut requests = Requests::new(&network, 51);
    let mut scheme = chameleon(&network, Params::default());
    let decision = scheme.admit(&requests.next()).unwrap();
    assert!(scheme.release(decision.flow).is_some());
    let before = everything(scheme.placement());
    for flow in [decision.flow, FlowId(1), FlowId(u32::MAX)] {
        assert_eq!(scheme.release(flow), None);
        assert_eq!(scheme.change(flow, &requests.next()), None);
        assert_eq!(scheme.placement().deadline(flow), None);
        assert!(scheme.placement().query_of(flow).is_none());
    }
    assert!(everything(scheme.placement()) == before);
}
