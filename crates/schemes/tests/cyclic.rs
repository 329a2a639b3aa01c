//! Random networks in whose queues flows depend on one another in cycles, checked by the independent calculator.
//!
//! Bounds that follow today's delays have no meaning there (each would wait for the other); those that follow budgets do.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests assert by panicking")]

mod common;

use std::sync::Arc;

use common::wild::{self, Backbone, Constants, Wild};
use common::{Dice, assert_sound, claim};
use wayleave_ledger::Model;
use wayleave_policy::Admission;
use wayleave_recheck::{Report, Violation, check};
use wayleave_schemes::chameleon::{Chameleon, Params, Rerouting};
use wayleave_schemes::placement::Placement;
use wayleave_topology::Network;
use wayleave_units::Time;

const WILD: Wild = Wild {
    switches: (3, 6),
    hosts: (4, 8),
    backbone: Backbone::Ring,
    extra_cables: (0, 3),
    queues: (1, 4),
    budgets: &[3, 5, 8, 13, 21, 34],
    rates: &[100, 1000, 1000, 10_000],
    mtus: &[1500, 1500, 9000],
    constants: Constants::Short,
};

/// A random network with what it admits of sixty requests; half of them bring a random route of their own and much time:
/// those close cycles more often than the fastest routes do.
fn filled(seed: u64) -> (Chameleon, Dice) {
    let mut dice = Dice::new(seed);
    let network: Arc<Network> = WILD.build(&mut dice);
    let rerouting = dice.percent(50).then(Rerouting::default);
    let params = Params { rerouting, ..Params::default() };
    let mut scheme = Chameleon::new(network.clone(), Model::default(), params).unwrap();
    let load = dice.between(1, 50);
    for _ in 0..60 {
        let mut request = wild::request(&mut dice, &network, load);
        if dice.percent(50) {
            request.deadline = Time::from_millis(1000);
            request.route = wild::random_route(&mut dice, scheme.placement().ledger(), request.from, request.to);
        }
        if let Ok(decision) = scheme.admit(&request) {
            assert!(decision.bound <= request.deadline, "seed {seed}: {decision:?}");
        }
    }
    (scheme, dice)
}

/// Whether some flow enters a link after another, which a second enters after a third, and so on round to the first.
fn has_cycle(placement: &Placement) -> bool {
    let links = placement.network().links().len();
    let mut after = vec![vec![false; links]; links];
    for (_, flow) in placement.ledger().flows() {
        for pair in flow.route.hops.windows(2) {
            after[pair[0].link.index()][pair[1].link.index()] = true;
        }
    }
    for through in 0..links {
        for from in 0..links {
            if after[from][through] {
                let onward = after[through].clone();
                after[from].iter_mut().zip(onward).for_each(|(known, more)| *known |= more);
            }
        }
    }
    (0..links).any(|link| after[link][link])
}

/// Whether the calculator finds a queue's delay above a budget that is lowered to `budget`.
fn is_broken(placement: &Placement, report: &Report, at: usize, budget: Time) -> bool {
    let found = &report.queues[at];
    let mut lowered = claim(placement);
    lowered.budgets[found.link.index()][usize::from(found.queue)] = budget;
    let name = &placement.network().link(found.link).name;
    let is_it = |violation: &Violation| match violation {
        Violation::Budget { link, queue, .. } => link == name && *queue == found.queue,
        _ => false,
    };
    check(&lowered).violations.iter().any(is_it)
}

#[test]
fn whatever_is_admitted_in_a_cyclic_network_passes_the_independent_calculator() {
    let (mut flows, mut queues, mut cyclic) = (0, 0, 0);
    for seed in 0..300 {
        let (scheme, _) = filled(seed);
        let report = assert_sound(scheme.placement(), &format!("seed {seed}"));
        flows += report.flows.len();
        queues += report.queues.len();
        cyclic += u32::from(has_cycle(scheme.placement()));
    }
    println!("{flows} flows in {queues} queues; {cyclic} of 300 networks with a cycle");
    assert!(flows > 5000 && cyclic > 50);
}

#[test]
fn a_budget_that_is_lowered_by_its_slack_and_one_ns_is_noticed() {
    let mut lowered = 0;
    for seed in 1000..1100 {
        let (scheme, mut dice) = filled(seed);
        let placement = scheme.placement();
        let report = check(&claim(placement));
        if report.queues.is_empty() {
            continue;
        }
        let at = dice.index(report.queues.len());
        let delay = report.queues[at].delay_rounded_up().unwrap();
        assert!(!is_broken(placement, &report, at, delay), "seed {seed}: the delay itself is enough");
        assert!(is_broken(placement, &report, at, delay - Time::from_nanos(1)), "seed {seed}");
        lowered += 1;
    }
    assert!(lowered > 90, "only {lowered}");
}
