//! Fast-forward against the full simulation: on random workloads, and on those for which it was wrong before.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests assert by panicking")]

mod recorded;
mod workloads;

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use wayleave_scenarios::{FastForward, Scenario};
use wayleave_sim::stats::Histogram;
use wayleave_sim::{FlowOutcome, ForwardOutcome, Outcome, TrafficOutcome, run};

use workloads::{CLASSES, Class, Drawn, draw};

/// One workload in full and with fast-forward.
struct Compared {
    seed: u64,
    class: Class,
    control: &'static str,
    /// By traffic: how far the completion times are off, as a share of them.
    errors: Vec<f64>,
    /// Differences of the outcomes.
    differences: Vec<String>,
    events: (u64, u64),
    hops: (u64, u64),
    segments: u64,
    forward: ForwardOutcome,
}

/// A run in full and one with fast-forward.
fn both(scenario: &Scenario, seed: u64) -> (Outcome, Outcome, ForwardOutcome) {
    let mut scenario = scenario.clone();
    let full = run(&scenario, seed, |_| true).unwrap();
    scenario.fast_forward = Some(FastForward::default());
    let fast = run(&scenario, seed, |_| true).unwrap();
    let forward = fast.forward.clone().unwrap();
    (full, fast, forward)
}

fn compare(seed: u64, scale: u64) -> Compared {
    let Drawn { class, control, scenario } = draw(seed, scale);
    let (full, fast, forward) = both(&scenario, seed);
    assert_eq!(forward.refusal, None, "seed {seed}");
    Compared {
        seed,
        class,
        control,
        errors: errors(&full, &fast),
        differences: differences(&full, &fast),
        events: (full.events, fast.events),
        hops: (full.hops, fast.hops),
        segments: full.flows.iter().map(|flow| flow.delivered).sum(),
        forward,
    }
}

/// Returns, by traffic, the relative error of the sum of its completion times.
fn errors(full: &Outcome, fast: &Outcome) -> Vec<f64> {
    let sums = |outcome: &Outcome| -> Vec<f64> {
        outcome.traffic.iter().map(|traffic| traffic.completions.times().sum() as f64).collect()
    };
    sums(full).iter().zip(sums(fast)).map(|(full, fast)| (fast - full).abs() / full.max(1.0)).collect()
}

/// Returns all results that differ. Measures of effort are left out: events, packets on links, and packets at once.
fn differences(full: &Outcome, fast: &Outcome) -> Vec<String> {
    let mut found = Vec::new();
    let mut compare = |what: String, one: String, other: String| {
        if one != other {
            found.push(format!("{what}: {} instead of {}", shortened(&other), shortened(&one)));
        }
    };
    for (one, other) in full.traffic.iter().zip(&fast.traffic) {
        let of = |traffic: &TrafficOutcome| format!("{} {:?}", traffic.begun, traffic.completions);
        compare(format!("completions of {}", one.name), of(one), of(other));
    }
    for (number, (one, other)) in full.flows.iter().zip(&fast.flows).enumerate() {
        compare(format!("delays of flow {number}"), format!("{:?}", one.delay), format!("{:?}", other.delay));
        let counts = |flow: &FlowOutcome| format!("{:?}", FlowOutcome { delay: Histogram::new(), ..flow.clone() });
        compare(format!("counts of flow {number}"), counts(one), counts(other));
    }
    for (one, other) in full.links.iter().zip(&fast.links) {
        compare(format!("link {:?}", one.link), format!("{one:?}"), format!("{other:?}"));
    }
    for (one, other) in full.queues.iter().zip(&fast.queues) {
        compare(format!("queue {:?}", one.link), format!("{:?}", one.counts), format!("{:?}", other.counts));
    }
    found
}

fn shortened(text: &str) -> String {
    text.chars().take(500).collect()
}

/// Compares workloads on two threads, and prints what was found.
fn compare_all(seeds: std::ops::Range<u64>, scale: u64) -> Vec<Compared> {
    let next = AtomicU64::new(seeds.start);
    let found = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                loop {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    if seed >= seeds.end {
                        break;
                    }
                    let compared = compare(seed, scale);
                    found.lock().unwrap().push(compared);
                }
            });
        }
    });
    let mut found = found.into_inner().unwrap();
    found.sort_by_key(|compared| compared.seed);
    found
}

fn worst(errors: &[f64]) -> f64 {
    errors.iter().copied().fold(0.0, f64::max)
}

fn bound(forward: &ForwardOutcome) -> f64 {
    forward.errors.max().unwrap_or(0) as f64 / 1e6
}

fn print(found: &[Compared]) {
    for one in found {
        println!(
            "seed {:>3} {:?} {}: error {:.4} % (bound {:.4} %), {:.0} % skipped, events {} / {} = {:.1}, hops {:.1}, {:?}",
            one.seed,
            one.class,
            one.control,
            worst(&one.errors) * 100.0,
            bound(&one.forward) * 100.0,
            one.forward.skipped_segments as f64 / one.segments as f64 * 100.0,
            one.events.0,
            one.events.1,
            one.events.0 as f64 / one.events.1 as f64,
            one.hops.0 as f64 / one.hops.1 as f64,
            one.forward.declined,
        );
    }
    let mut classes: BTreeMap<Class, Vec<&Compared>> = BTreeMap::new();
    found.iter().for_each(|one| classes.entry(one.class).or_default().push(one));
    for (class, all) in classes {
        let ratio = |one: &&Compared| one.events.0 as f64 / one.events.1 as f64;
        let sum = |of: fn(&Compared) -> u64| all.iter().map(|one| of(one)).sum::<u64>() as f64;
        println!(
            "{class:?}: {} workloads, events full over fast {:.2} together, {:.1} at most; error {:.4} % at most",
            all.len(),
            sum(|one| one.events.0) / sum(|one| one.events.1),
            all.iter().map(ratio).fold(0.0, f64::max),
            all.iter().map(|one| worst(&one.errors)).fold(0.0, f64::max) * 100.0,
        );
    }
}

fn number(name: &str, usual: u64) -> u64 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(usual)
}

#[test]
fn results_equal_those_of_the_full_simulation() {
    let (first, count) = (number("WAYLEAVE_FORWARD_FIRST", 0), number("WAYLEAVE_FORWARD", 40));
    let found = compare_all(first..first + count, number("WAYLEAVE_FORWARD_SCALE", 30));
    print(&found);
    let sum = |of: fn(&Compared) -> u64| found.iter().map(of).sum::<u64>() as f64;
    println!(
        "{} workloads, {} traffics: {:.1} % of segments skipped; events {:.2} times fewer",
        found.len(),
        found.iter().map(|one| one.errors.len()).sum::<usize>(),
        sum(|one| one.forward.skipped_segments) / sum(|one| one.segments) * 100.0,
        sum(|one| one.events.0) / sum(|one| one.events.1),
    );
    for one in &found {
        assert!(worst(&one.errors) <= bound(&one.forward), "seed {}: {:?}", one.seed, one.errors);
        assert!(one.differences.is_empty(), "seed {}: {:#?}", one.seed, one.differences);
    }
    for class in CLASSES {
        let skips = found.iter().filter(|one| one.class == class).map(|one| one.forward.skips).sum::<u64>();
        assert!(skips > 0, "nothing of {class:?} was skipped, so nothing was tested");
    }
}
