//! Transports with objectives at one port, D2TCP and L2DCT: who gets more than DCTCP would give.

use wayleave_scenarios::{
    Congestion, Deadline, Ecn, FlowArrivals, FlowEndpoints, FlowSizes, Reliable, Scenario, Traffic, TransportConfig,
    Workload,
};
use wayleave_sim::Outcome;
use wayleave_units::{Bytes, Rate, Time};

use super::networks::{FRAME, Star, assert_near, finished, flow, highest, run, star};

/// Marks above 20 packets, as SCC (2017, II-B) has them.
fn scenario(star: &Star, milliseconds: u64, congestion: Congestion) -> Scenario {
    let mut scenario = Scenario::new("shares", star.network.clone(), Time::from_millis(milliseconds));
    scenario.switches.ecn = Ecn::above(Bytes::new(20 * FRAME)).into();
    scenario.transport = TransportConfig { congestion, ..TransportConfig::default() };
    scenario
}

/// One port of 1 Gbit/s, base round trip about 300 us.
fn port(senders: usize) -> Star {
    star(&vec![Rate::from_gbit(1); senders + 1], 70_000)
}

/// Returns the rates of two flows of 500 MB in 2 s, in Gbit/s, with these deadlines in ms.
fn shares(congestion: Congestion, deadlines: [u64; 2]) -> [f64; 2] {
    let star = port(2);
    let mut scenario = scenario(&star, 2_100, congestion);
    scenario.warmup = Time::from_millis(100);
    scenario.traffic = (0..2)
        .map(|at| {
            let ends = FlowEndpoints::Pairs(vec![(star.hosts[at], star.hosts[2])]);
            let mut flows = Reliable::new(FlowArrivals::Once, Some(FlowSizes::Fixed(Bytes::new(500_000_000))));
            flows.deadline = Some(Deadline::Fixed(Time::from_millis(deadlines[at])));
            highest(Traffic::new(&format!("f{at}"), ends, Workload::Flows(flows)))
        })
        .collect();
    let outcome = run(&scenario, 1);
    [0, 1].map(|traffic| flow(&outcome, traffic).delivered as f64 * FRAME as f64 * 8.0 / 2e9)
}

/// Catches deadlines that do not reach flows, and urgencies with the wrong sign. 500 MB take 4 s alone: with 5 s a
/// flow is urgent (d = 2 at half of the rate), with 50 s it has more than ten times its transfer time (d = 1/2).
#[test]
fn a_tight_deadline_gets_more_than_a_loose_one() {
    let equal = shares(Congestion::dctcp(), [5_000, 50_000]);
    // Two flows alone can stay in step for long, one a little above the other, with any deadlines.
    assert!(equal[0] < 1.5 * equal[1] && equal[1] < 1.5 * equal[0], "DCTCP knows no deadlines: {equal:?}");
    // Nor does it depend on the order of flows.
    for deadlines in [[5_000, 50_000], [50_000, 5_000]] {
        let mut shares = shares(Congestion::d2tcp(), deadlines);
        println!("D2TCP {shares:.3?}, DCTCP {equal:.3?}");
        if deadlines[0] > deadlines[1] {
            shares.reverse();
        }
        assert!(shares[0] > 2.0 * shares[1], "{shares:?}");
        assert_near(shares[0] + shares[1], equal[0] + equal[1], 0.02, "both together");
    }
}

/// Long flows from two hosts and short ones of 100 kB from a third into one port, for 1 s: the outcome.
fn short_beside_long(congestion: Congestion, seed: u64) -> Outcome {
    let star = port(3);
    let mut scenario = scenario(&star, 1_000, congestion);
    let to = |from: usize| FlowEndpoints::Pairs(vec![(star.hosts[from], star.hosts[3])]);
    let fixed = |bytes| FlowSizes::Fixed(Bytes::new(bytes));
    scenario.traffic = vec![
        highest(Traffic::flows("a", to(0), FlowArrivals::Once, fixed(200_000_000))),
        highest(Traffic::flows("b", to(1), FlowArrivals::Once, fixed(200_000_000))),
        highest(Traffic::flows("short", to(2), FlowArrivals::PerSecond(200.0), fixed(100_000))),
    ];
    run(&scenario, seed)
}

/// Catches weights that do not fall with the amount sent, or that move windows in the wrong direction: short flows
/// beside long ones finish sooner than with DCTCP, with every seed. The cost follows from the formulas. Two long
/// flows grow by a twentieth of a segment in a round trip each, and lose nearly half of their windows if alpha is not
/// small. So they leave a third of the port unused.
#[test]
fn short_flows_finish_before_long_ones() {
    for seed in 1..=3 {
        let [l2dct, dctcp] = [Congestion::l2dct(), Congestion::dctcp()].map(|congestion| {
            let outcome = short_beside_long(congestion, seed);
            let times = &outcome.traffic[2].completions.all().times;
            let carried: u64 = (0..3).map(|traffic| flow(&outcome, traffic).delivered).sum();
            assert!(finished(&outcome, 2) > 150);
            (times.mean().unwrap() / 1e9, (carried * FRAME) as f64 * 8.0 / 1e9)
        });
        println!(
            "seed {seed}: L2DCT {:.3} ms, {:.3} Gbit/s; DCTCP {:.3} ms, {:.3} Gbit/s",
            l2dct.0, l2dct.1, dctcp.0, dctcp.1
        );
        assert!(l2dct.0 < 0.5 * dctcp.0, "seed {seed}: {} and {} ms", l2dct.0, dctcp.0);
        assert!(l2dct.1 > 0.5 && dctcp.1 > 0.99, "seed {seed}: {} and {} Gbit/s", l2dct.1, dctcp.1);
    }
}
