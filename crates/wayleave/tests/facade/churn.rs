//! Random histories of contracts that are added, changed, moved and removed. No flow starts on a path before there is
//! room for all of its packets beside all packets that can be in flight, as the independent calculator derives it.
//!
//! `WAYLEAVE_CHURNS=10000 cargo test -p wayleave churn::` runs more of them (`make churn-long`); `WAYLEAVE_CHURN=17`
//! runs one.

use std::collections::HashMap;

use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};
use rayon::prelude::*;
use wayleave::{
    Error, Network, PlanInput, PlanOptions, ReleaseHold, Released, SchemeOptions, Session, Sink, Source, Watch,
};
use wayleave::{ReservationLog, decide};
use wayleave_explain::{DecidedContract, DecidedFlow};
use wayleave_formats::{EventList, read_events};
use wayleave_recheck::Transitions;
use wayleave_scheme_api::Handover;
use wayleave_schemes::admitted::AdmittedSet;
use wayleave_schemes::transition::StartTimes;
use wayleave_units::Time;

/// As many as take a few seconds without optimisation.
const CHURNS: u64 = 150;

fn number(variable: &str) -> Option<u64> {
    std::env::var(variable).ok()?.parse().ok()
}

/// Outcome of a history.
struct Outcome {
    moved: u64,
    found: Transitions,
}

struct Quiet;

impl Sink for Quiet {
    fn decided(&mut self, _: &Session, _: &DecidedContract<'_>) -> Result<(), Error> {
        Ok(())
    }

    fn released(&mut self, _: &Released<'_>) -> Result<(), Error> {
        Ok(())
    }
}

/// Version 0.1.0: moved flows start at once, and the flow itself when all routes are empty that were left by then.
struct AsBefore<S> {
    sink: S,
    settled_at: Time,
    bounds: HashMap<String, Time>,
}

impl<S: Sink> Sink for AsBefore<S> {
    fn decided(&mut self, session: &Session, decided: &DecidedContract<'_>) -> Result<(), Error> {
        let DecidedContract::Flow(decided) = *decided else { return self.sink.decided(session, decided) };
        let now = decided.event.map_or(Time::ZERO, |(_, at)| at);
        let Ok(decision) = decided.decision else {
            return self.sink.decided(session, &DecidedContract::Flow(decided));
        };
        let bound = |route| session.scheme().queues().unwrap().bound(route);
        let own = decision.moved.iter().map(|moved| bound(&moved.from)).max().unwrap_or(Time::ZERO);
        let replaced = self.bounds.insert(decided.contract.name.clone(), decision.bound);
        let replaced = replaced.filter(|_| decision.handover != Handover::New).unwrap_or(Time::ZERO);
        let own = if decision.handover == Handover::Instead { own.max(replaced) } else { own };
        let flow = own.max(self.settled_at.saturating_sub(now));
        self.settled_at = self.settled_at.max(now + own.max(replaced));
        let starts = StartTimes { moves: vec![Time::ZERO; decision.moved.len()], flow };
        self.sink.decided(session, &DecidedContract::Flow(DecidedFlow { starts: Some(&starts), ..decided }))
    }

    fn released(&mut self, released: &Released<'_>) -> Result<(), Error> {
        self.sink.released(released)
    }
}

/// Returns contracts that are large enough to compete for capacity.
fn history(dice: &mut ChaCha8Rng, hosts: u64) -> String {
    let mut text = "apiVersion: wayleave/v1\nkind: Events\nspec:\n  events:\n".to_owned();
    let (mut now, mut there, mut count) = (0u64, Vec::new(), 0);
    for _ in 0..dice.random_range(40..160) {
        now += dice.random_range(0..3_000_000);
        let roll = dice.random_range(0..100);
        if roll < 30 && !there.is_empty() {
            let name: u64 = there.swap_remove(dice.random_range(0..there.len()));
            text += &format!("    - {{ at: {now}ns, release: c{name} }}\n");
            continue;
        }
        let (verb, name) = if roll < 40 && !there.is_empty() {
            ("change", there[dice.random_range(0..there.len())])
        } else {
            count += 1;
            there.push(count);
            ("add", count)
        };
        let from = dice.random_range(1..=hosts);
        let to = 1 + (from + dice.random_range(0..hosts - 1)) % hosts;
        let rate = [5, 30, 100, 200, 400][dice.random_range(0..5usize)];
        let burst = [300, 1_600, 5_000, 12_000][dice.random_range(0..4usize)];
        let deadline = [3, 5, 10, 30][dice.random_range(0..4usize)];
        text += &format!(
            "    - {{ at: {now}ns, {verb}: {{ name: c{name}, from: h{from}, to: h{to}, rate: {rate}Mbit, burst: {burst}B, deadline: {deadline}ms }} }}\n"
        );
    }
    text
}

/// The network, the scheme and the events of a seed.
fn drawn(seed: u64) -> (Network, SchemeOptions, EventList) {
    let mut dice = ChaCha8Rng::seed_from_u64(seed);
    let (topology, hosts) = [
        ("leaf-spine:leaves=2,spines=2,hosts=2,queues=3", 4),
        ("leaf-spine:leaves=2,spines=3,hosts=3,queues=4", 6),
        ("leaf-spine:leaves=3,spines=2,hosts=2,queues=2", 6),
        ("fat-tree:k=4,queues=3", 16),
    ][dice.random_range(0..4usize)];
    let network = Network::open(topology).unwrap();
    let mut scheme = SchemeOptions::named("chameleon").unwrap().with("reroute", "true").unwrap();
    for (key, value) in [("routing", "least-delay"), ("tighten", "20"), ("sort", "rate")] {
        if dice.random_range(0..2) == 0 {
            scheme = scheme.with(key, value).unwrap();
        }
    }
    let text = history(&mut dice, hosts);
    let events = read_events(&Source::new("events.yaml", text), &network.graph).unwrap();
    (network, scheme, events)
}

fn live(seed: u64, as_before: bool) -> Outcome {
    let (network, scheme, events) = drawn(seed);
    let options = PlanOptions::default().with_scheme(scheme);
    let mut session = Session::open(&network, &options).unwrap();
    let mut stays = ReservationLog::new(Quiet);
    let asked = PlanInput::Events(&events, ReleaseHold::Bound);
    let outcome = if as_before {
        let mut sink = AsBefore { sink: &mut stays, settled_at: Time::ZERO, bounds: HashMap::new() };
        decide(&mut session, asked, &mut sink, &mut Watch::none())
    } else {
        decide(&mut session, asked, &mut stays, &mut Watch::none())
    };
    Outcome { moved: outcome.unwrap().summary.moved, found: stays.check(&session, &mut Watch::none()).unwrap() }
}

#[test]
fn no_port_is_overbooked_at_any_moment() {
    let seeds = match number("WAYLEAVE_CHURN") {
        Some(seed) => seed..seed + 1,
        None => 1..1 + number("WAYLEAVE_CHURNS").unwrap_or(CHURNS),
    };
    let lived: Vec<(u64, Outcome)> = seeds.clone().into_par_iter().map(|seed| (seed, live(seed, false))).collect();
    let (mut moved, mut sets) = (0, 0);
    for (seed, Outcome { moved: some, found }) in &lived {
        if let Some(one) = found.overbooked.first() {
            panic!("seed {seed}: {one}\nagain: WAYLEAVE_CHURN={seed} cargo test -p wayleave churn::");
        }
        (moved, sets) = (moved + some, sets + found.sets);
    }
    println!("{} histories, {moved} moves, {sets} sets of flows on a link looked at", lived.len());
    assert!(moved > 0 || lived.len() == 1, "nothing was moved");
}

/// The calculator would see it: what version 0.1.0 did overbooks ports.
#[test]
fn overbooking_by_moves_without_waiting_is_detected() {
    let overbooked =
        (1..1 + CHURNS).into_par_iter().filter(|&seed| !live(seed, true).found.overbooked.is_empty()).count();
    println!("{overbooked} of {CHURNS} histories overbook a port");
    assert!(overbooked > 0);
}

/// Exact derivation and decision agree: no history has a discrepancy, with reservations held or not.
#[test]
fn derivation_agrees_with_plans_of_histories() {
    let moved: u64 = (1..=40_u64)
        .into_par_iter()
        .map(|seed| {
            let (network, scheme, events) = drawn(seed);
            let options = PlanOptions::default().with_scheme(scheme);
            let hold = ReleaseHold::Bound;
            let plan = crate::printed(&network, PlanInput::Events(&events, hold), &options);
            assert_eq!(crate::leaves::noticed(&plan.to_string(), &network, None), Vec::<String>::new(), "seed {seed}");
            plan["summary"]["moved"].as_u64().unwrap()
        })
        .sum();
    assert!(moved > 10, "{moved}");
}
