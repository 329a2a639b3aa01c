//! Random networks in whose queues flows depend on one another in cycles, checked by the independent calculator.
//!
//! Bounds that follow today's delays have no meaning there (each would wait for the other); those that follow budgets do.

use std::sync::Arc;

use crate::claims::common::wild::{self, Backbone, Constants, Wild};
use crate::claims::common::{Dice, assert_sound, claim};
use wayleave_ledger::Model;
use wayleave_recheck::{BrokenPromise, RecheckReport, check};
use wayleave_scheme_api::{Admission, Request};
use wayleave_schemes::admission::chameleon::{Chameleon, Params, Rerouting};
use wayleave_schemes::placement::Placement;
use wayleave_topology::Network;
use wayleave_units::{Bytes, Rate, Time};

const WILD: Wild = Wild {
    switches: (3, 6),
    hosts: (4, 8),
    backbone: Backbone::Ring,
    extra_cables: (0, 3),
    queues: (1, 4),
    budgets: &[3, 5, 8, 13, 21, 34],
    rates: &[100, 1000, 1000, 10_000],
    mtus: &[1500, 1500, 9000],
    buffers: &[20_000, 60_000, 97_000, 400_000],
    constants: Constants::Short,
};

/// Returns a random network filled with the admitted ones of sixty requests. Half of them have a random route of
/// their own and much time: those close cycles more often than the fastest routes do.
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

/// Returns `true` if some flow enters a link after another, which a second enters after a third, and so on in a
/// cycle.
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

/// Returns `true` if the calculator finds a queue's delay above a budget that is lowered to `budget`.
fn is_broken(placement: &Placement, report: &RecheckReport, at: usize, budget: Time) -> bool {
    let found = &report.queues[at];
    let mut lowered = claim(placement);
    lowered.budgets[found.link.index()][usize::from(found.queue)] = budget;
    let name = &placement.network().link(found.link).name;
    let is_it = |violation: &BrokenPromise| match violation {
        BrokenPromise::Budget { link, queue, .. } => link == name && *queue == found.queue,
        _ => false,
    };
    check(&lowered).violations.iter().any(is_it)
}

#[test]
fn every_admission_in_a_cyclic_network_passes_the_independent_calculator() {
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

/// From 1 to `most`, each order of magnitude as likely.
fn of_any_size(dice: &mut Dice, most: u64) -> u64 {
    let digits = dice.between(0, u64::from(most.ilog10()));
    dice.between(10u64.pow(digits as u32), most.min(10u64.pow(digits as u32 + 1)))
}

/// Integers might overflow here, and bounds are many orders of magnitude apart.
#[test]
fn from_one_bit_a_second_to_ten_terabit_every_promise_holds() {
    let wild = Wild {
        rates: &[10, 10_000, 10_000_000, 10_000_000],
        budgets: &[10, 100, 300, 3000],
        mtus: &[64, 1500, 65_535],
        buffers: &[20_000, 10_000_000, 100_000_000_000],
        ..WILD
    };
    let (mut flows, mut refused) = (0, 0);
    for seed in 2000..2200 {
        let mut dice = Dice::new(seed);
        let network: Arc<Network> = wild.build(&mut dice);
        let params = Params { rerouting: Some(Rerouting::default()), ..Params::default() };
        let mut scheme = Chameleon::new(network.clone(), Model::default(), params).unwrap();
        for _ in 0..40 {
            let request = Request {
                rate: Rate::from_bits_per_second(of_any_size(&mut dice, Rate::MAX.bits_per_second())),
                burst: Bytes::new(of_any_size(&mut dice, Bytes::MAX.get())),
                deadline: Time::from_nanos(1_000 * of_any_size(&mut dice, 100_000_000)),
                ..wild::request(&mut dice, &network, 1)
            };
            refused += u32::from(scheme.admit(&request).is_err());
        }
        flows += assert_sound(scheme.placement(), &format!("seed {seed}")).flows.len();
    }
    println!("{flows} flows, {refused} refused");
    assert!(flows > 500 && refused > 1000);
}

#[test]
fn a_budget_lowered_by_its_slack_and_one_ns_is_detected() {
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
