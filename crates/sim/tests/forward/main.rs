//! Fast-forward against the full simulation, on random workloads.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests assert by panicking")]

mod workloads;

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use wayleave_scenarios::FastForward;
use wayleave_sim::{Outcome, run};

use workloads::{Class, Drawn, draw};

/// One workload in full and with fast-forward.
struct Compared {
    seed: u64,
    class: Class,
    control: &'static str,
    /// By traffic: how far the completion time is off, as a share of it.
    errors: Vec<f64>,
    events: (u64, u64),
    hops: (u64, u64),
    skipped: u64,
    segments: u64,
    declined: BTreeMap<&'static str, u64>,
    estimated: f64,
}

fn compare(seed: u64, scale: u64) -> Compared {
    let Drawn { class, control, mut scenario } = draw(seed, scale);
    let full = run(&scenario, seed, |_| true).unwrap();
    scenario.fast_forward = Some(FastForward::default());
    let fast = run(&scenario, seed, |_| true).unwrap();
    let forward = fast.forward.clone().unwrap();
    assert_eq!(forward.refusal, None, "seed {seed}");
    let payload = |outcome: &Outcome| outcome.flows.iter().map(|flow| flow.payload.get()).sum::<u64>();
    assert_eq!(payload(&full), payload(&fast), "seed {seed}: payload is neither lost nor made");
    let sent = |outcome: &Outcome| outcome.links.iter().map(|link| link.sent.get()).sum::<u64>() as f64;
    assert!(
        (sent(&fast) / sent(&full) - 1.0).abs() < 0.02,
        "seed {seed}: {} and {} B on links",
        sent(&full),
        sent(&fast)
    );
    let longest = |outcome: &Outcome| outcome.flows.iter().filter_map(|flow| flow.delay.max()).max().unwrap_or(0);
    assert!(
        longest(&fast) <= longest(&full) * 3 / 2,
        "seed {seed}: delays of {} and {} ps",
        longest(&full),
        longest(&fast)
    );
    if std::env::var("WAYLEAVE_FORWARD_CHAOS").is_ok() {
        let mut other = draw(seed, scale).scenario;
        other.traffic[0].start += wayleave_units::Time::from_nanos(100);
        let other = run(&other, seed, |_| true).unwrap();
        for (at, (full, other)) in full.traffic.iter().zip(&other.traffic).enumerate() {
            let (a, b) = (full.completions.times().sum() as f64, other.completions.times().sum() as f64);
            let c = fast.traffic[at].completions.times().sum() as f64;
            println!(
                "seed {seed} traffic {at}: chaos {:.3} % forward {:.3} %",
                (a - b).abs() / a * 100.0,
                (a - c).abs() / a * 100.0
            );
        }
    }
    let mut errors = Vec::new();
    for (full, fast) in full.traffic.iter().zip(&fast.traffic) {
        let (full, fast) = (&full.completions, &fast.completions);
        assert_eq!(full.finished(), fast.finished(), "seed {seed}");
        let (full, fast) = (full.times().sum() as f64, fast.times().sum() as f64);
        errors.push((fast - full).abs() / full);
    }
    Compared {
        seed,
        class,
        control,
        errors,
        events: (full.events, fast.events),
        hops: (full.hops, fast.hops),
        skipped: forward.skipped_segments,
        segments: full.flows.iter().map(|flow| flow.delivered).sum(),
        declined: forward.declined,
        estimated: forward.errors.max().unwrap_or(0) as f64 / 1e6,
    }
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

fn print(found: &[Compared]) {
    for one in found {
        let worst = one.errors.iter().copied().fold(0.0, f64::max);
        println!(
            "seed {:>3} {:?} {}: error {:.3} % (estimated {:.3} %), {:.0} % skipped, events {} / {} = {:.1}, hops {:.1}, {:?}",
            one.seed,
            one.class,
            one.control,
            worst * 100.0,
            one.estimated * 100.0,
            one.skipped as f64 / one.segments as f64 * 100.0,
            one.events.0,
            one.events.1,
            one.events.0 as f64 / one.events.1 as f64,
            one.hops.0 as f64 / one.hops.1 as f64,
            one.declined,
        );
    }
}

/// The error that no more than so many per cent exceed.
fn percentile(errors: &mut [f64], percent: f64) -> f64 {
    errors.sort_by(f64::total_cmp);
    let rank = (percent / 100.0 * errors.len() as f64).ceil() as usize;
    errors[rank.clamp(1, errors.len()) - 1]
}

#[test]
fn completion_times_are_those_of_the_full_simulation() {
    let number = |name: &str, usual| std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(usual);
    let (first, count) = (number("WAYLEAVE_FORWARD_FIRST", 0), number("WAYLEAVE_FORWARD", 10));
    let found = compare_all(first..first + count, number("WAYLEAVE_FORWARD_SCALE", 30));
    print(&found);
    let mut errors: Vec<f64> = found.iter().flat_map(|one| one.errors.iter().copied()).collect();
    let (p50, p90, p99, most) = (
        percentile(&mut errors, 50.0),
        percentile(&mut errors, 90.0),
        percentile(&mut errors, 99.0),
        percentile(&mut errors, 100.0),
    );
    let sum = |of: fn(&Compared) -> u64| found.iter().map(of).sum::<u64>() as f64;
    println!(
        "{} workloads, {} completion times: error {:.4} % at 50 %, {:.4} % at 90 %, {:.4} % at 99 %, {:.4} % at most; \
         {:.1} % of segments skipped; events {:.2} times fewer",
        found.len(),
        errors.len(),
        p50 * 100.0,
        p90 * 100.0,
        p99 * 100.0,
        most * 100.0,
        sum(|one| one.skipped) / sum(|one| one.segments) * 100.0,
        sum(|one| one.events.0) / sum(|one| one.events.1),
    );
    assert!(p99 <= 0.01, "{p99}");
}
