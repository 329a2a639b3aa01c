//! pFabric at one port, against shortest remaining first as it is defined, and beyond what a port can do.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use rand::rngs::ChaCha8Rng;
use rand::{Rng, SeedableRng};
use wayleave_scenarios::{Buffering, Congestion, Discipline, Reliable, Scenario, TransportConfig, Workload};
use wayleave_schemes::transport::pfabric;
use wayleave_sim::Outcome;
use wayleave_units::{Bytes, Rate, Time};

use super::networks::{FRAME, SEGMENT, Star, finished, flow, listed, once, ports, queue, run, star};

/// A bandwidth-delay product of 10 Gbit/s and 14.6 us, in packets: about that of the paper's network.
const PRODUCT: u64 = 12;

/// Hosts of 10 Gbit/s at one switch; all send to the last.
fn port(senders: usize) -> Star {
    star(&vec![Rate::from_gbit(10); senders + 1], 3_000)
}

/// Two bandwidth-delay products of buffer, as in the paper.
fn scenario(star: &Star, milliseconds: u64) -> Scenario {
    let mut scenario = Scenario::new("pfabric", star.network.clone(), Time::from_millis(milliseconds));
    let buffer = Buffering::EachQueue(Bytes::new(2 * PRODUCT * FRAME));
    scenario.switches = ports(Discipline::SmallestRemainingFirst, buffer);
    scenario.hosts = ports(Discipline::SmallestRemainingFirst, Buffering::Unlimited);
    scenario.transport = TransportConfig { congestion: Congestion::pfabric(), ..TransportConfig::default() };
    scenario
}

/// A flow: its beginning in ns, its sender and its payload.
type Arrival = (u64, usize, u64);

/// Returns `count` flows of 2 kB to 20 MB, log-uniform (2.2 MB on average), which load 10 Gbit/s by `load`.
fn arrivals(seed: u64, count: usize, senders: usize, load: f64) -> Vec<Arrival> {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let mut unit = || (rng.next_u64() >> 11) as f64 / (1_u64 << 53) as f64;
    let mean_gap = (2e7 - 2e3) / 10_000_f64.ln() * 0.8 / load;
    let mut now = 0.0;
    let mut flow = |_| {
        now += -mean_gap * (1.0 - unit()).ln();
        let sender = (unit() * senders as f64) as usize;
        (now as u64, sender, (2e3 * 10_000_f64.powf(unit())) as u64)
    };
    (0..count).map(&mut flow).collect()
}

/// Bytes on the wire.
fn wire(payload: u64) -> u64 {
    payload + payload.div_ceil(SEGMENT) * (FRAME - SEGMENT)
}

/// Returns the time in ns at `gbit` Gbit/s.
fn takes(payload: u64, gbit: u64) -> u64 {
    wire(payload) * 8 / gbit
}

/// Returns the mean time in ns from arrival to departure at `gbit` Gbit/s, shortest remaining first with preemption
/// at any time: no order is better (L. Schrage, 1968).
fn shortest_remaining_first(flows: &[Arrival], gbit: u64) -> f64 {
    let (mut now, mut sum) = (0_u64, 0_u64);
    let mut waiting: BinaryHeap<Reverse<(u64, u64)>> = BinaryHeap::new();
    let mut coming = flows.iter().peekable();
    while let Some(Reverse((left, arrived))) = waiting.pop().or_else(|| {
        let &(at, _, bytes) = coming.next()?;
        now = now.max(at);
        Some(Reverse((takes(bytes, gbit), at)))
    }) {
        match coming.next_if(|flow| flow.0 < now + left) {
            None => {
                now += left;
                sum += now - arrived;
            }
            Some(&(at, _, bytes)) => {
                waiting.push(Reverse((left - (at - now), arrived)));
                waiting.push(Reverse((takes(bytes, gbit), at)));
                now = at;
            }
        }
    }
    sum as f64 / flows.len() as f64
}

fn mean_time(star: &Star, scenario: &Scenario, flows: &[Arrival]) -> (f64, Outcome) {
    let mut scenario = scenario.clone();
    let last = star.hosts.len() - 1;
    let specs: Vec<_> = flows.iter().map(|&(at, from, size)| (at, star.hosts[from], star.hosts[last], size)).collect();
    scenario.traffic = vec![listed("flows", &specs)];
    let outcome = run(&scenario, 1);
    assert_eq!(finished(&outcome, 0), flows.len() as u64);
    (outcome.traffic[0].completions.times().mean().unwrap() / 1e3, outcome)
}

/// Catches: urgencies that are not the remaining size, flows that starve after a time-out, and time-outs that are too
/// long. Beyond the minimum there is a round trip for each flow, and the hosts' missing information. When it is a
/// flow's turn, up to a time-out passes until it notices, and waiting or dropped packets are sent a second time.
/// Together less than the additional time of a link of 9 Gbit/s over one of 10.
#[test]
fn completion_times_are_near_those_of_shortest_remaining_first() {
    let star = port(20);
    for (seed, load) in [(1, 0.5), (2, 0.8), (3, 0.8)] {
        let flows = arrivals(seed, 1_000, 20, load);
        let scenario = scenario(&star, 10_000);
        let (alone, _) = mean_time(&star, &scenario, &[(0, 0, SEGMENT)]);
        let delay = alone - takes(SEGMENT, 10) as f64;
        let [least, slower] = [10, 9].map(|gbit| (shortest_remaining_first(&flows, gbit) + delay) / 1e6);
        let (mean, outcome) = mean_time(&star, &scenario, &flows);
        let mean = mean / 1e6;
        let counts = flow(&outcome, 0);
        let (again, duplicates, timeouts) = (counts.again, counts.duplicates, counts.timeouts);
        println!("load {load}: {mean:.3} ms, least {least:.3} ms, at 9 Gbit/s {slower:.3} ms");
        println!("  {} sent, {again} again, {duplicates} for nothing, {timeouts} time-outs", counts.sent);
        assert!(mean >= 0.999 * least && mean < slower, "load {load}: {mean} ms, least {least}, at 9 Gbit/s {slower}");
    }
}

/// Catches a time-out that backs off or follows round trips, and probes that never end. 20 flows of 300 to 850 kB
/// begin at once: the one with the least left is first, and the others time out, probe, and resume when it is their
/// turn. A flow's turn lasts 17 to 50 round trips, of which it may lose a time-out and a slow start: a quarter at
/// most.
#[test]
fn an_incast_is_served_one_flow_after_another() {
    let star = port(20);
    let flows: Vec<Arrival> = (0..20).map(|at| (at, at as usize, (at + 10) * 20 * SEGMENT)).collect();
    let (mean, outcome) = mean_time(&star, &scenario(&star, 1_000), &flows);
    let least = shortest_remaining_first(&flows, 10);
    let sent: u64 = flow(&outcome, 0).sent;
    let needed: u64 = flows.iter().map(|flow| flow.2 / SEGMENT).sum();
    println!("{:.3} ms, least {:.3} ms; {sent} packets for {needed}", mean / 1e6, least / 1e6);
    assert!(mean < 1.25 * least, "{mean} and {least} ns");
    assert!(sent < needed * 3 / 2, "{sent} packets for {needed}");
    assert!(queue(&outcome, star.down[20], 0).drops > 100);
}

/// Catches classes that ports do not see: a flow of the first class with much left goes before one of the second with little.
#[test]
fn a_class_is_served_before_smaller_flows_of_a_later_class() {
    let star = port(2);
    let mut scenario = scenario(&star, 1_000);
    let class = |class| Congestion::Pfabric(pfabric::Params { class, ..pfabric::Params::default() });
    let mut of = |name: &str, from: usize, segments: u64, congestion: Congestion| {
        let mut traffic = once(name, &[(star.hosts[from], star.hosts[2])], segments * SEGMENT);
        if let Workload::Flows(Reliable { transport, .. }) = &mut traffic.workload {
            *transport = Some(TransportConfig { congestion, ..TransportConfig::default() });
        }
        scenario.traffic.push(traffic);
    };
    of("large", 0, 1_000, class(0));
    of("small", 1, 500, class(1));
    let outcome = run(&scenario, 1);
    let [large, small] = [0, 1].map(|traffic| outcome.traffic[traffic].completions.times().max().unwrap() as f64 / 1e9);
    println!("{large:.3} and {small:.3} ms");
    // 1,000 frames take 1.23 ms, 1,500 take 1.85 ms.
    assert!(large < 1.3, "{large} ms");
    assert!(small > 1.84 && small < 2.0, "{small} ms");
}
