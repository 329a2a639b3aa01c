//! Private congestion control of SCC in the simulator, behind limiters of a constant rate: what it does to flows does not
//! depend on the network.

use wayleave_scenarios::{Congestion, Deadline, Routing, Scenario, Traffic, Workload};
use wayleave_scheme_api::{Bucket, ExcessAction, HostAction, HostInput, Limiter, Weighted};
use wayleave_schemes::host::scc::{FlowObjective, Params, PrivateControl, TunnelScheduling};
use wayleave_schemes::path::presto;
use wayleave_sim::{FlowOutcome, Outcome};
use wayleave_topology::{LinkId, NodeId};
use wayleave_units::{Bytes, Rate, Time};

use super::{Diamond, LINE, Parts, diamond, of, run_with, scenario, script};
use crate::truth::networks::{FRAME, SEGMENT, assert_near, endless, once, takes};

const GIVEN: Rate = Rate::from_gbit(1);

/// Every pair has this rate, and a tunnel of a division with this objective.
fn tunnels(objective: FlowObjective, params: Params) -> Parts {
    let mut parts = Parts::new(|_| {
        script(|_, input, act| {
            if let HostInput::Opened { pair, .. } = input {
                let bucket = Bucket { rate: GIVEN, burst: Bytes::new(2 * FRAME), excess: ExcessAction::Waits };
                act(HostAction::SetBucket { limiter: Limiter::Pair(pair), bucket: Some(bucket) });
            }
        })
    });
    parts.tunnel =
        Box::new(move |_, _| Some(Box::new(PrivateControl::new(Some(objective), GIVEN, Rate::MAX, &params))));
    parts
}

/// One flow for each of these sizes in segments, all between one pair, at once.
fn flows(diamond: &Diamond, sizes: &[u64]) -> Vec<Traffic> {
    let pair = (diamond.left[0], diamond.right[0]);
    let flow = |(number, &size): (usize, &u64)| of("a", once(&format!("{number}"), &[pair], size * SEGMENT));
    sizes.iter().enumerate().map(flow).collect()
}

/// Returns the completion time of each, in us.
fn ends(outcome: &Outcome) -> Vec<u64> {
    let ends = outcome.traffic.iter().map(|traffic| traffic.completions.times().max().unwrap_or(u64::MAX) / 1_000_000);
    ends.collect()
}

fn dctcp(diamond: &Diamond, milliseconds: u64) -> Scenario {
    let mut scenario = scenario(&diamond.network, milliseconds);
    scenario.transport.congestion = Congestion::dctcp();
    scenario
}

fn sum(outcome: &Outcome, of: impl Fn(&FlowOutcome) -> u64) -> u64 {
    outcome.flows.iter().map(of).sum()
}

/// Mean completion time of these sizes in segments, shortest first at a link of the rate given, in us.
fn shortest_first(sizes: &[u64]) -> u64 {
    let mut sizes = sizes.to_vec();
    sizes.sort_unstable();
    let ends = sizes.iter().scan(0, |sent, size| {
        *sent += takes(size * FRAME, GIVEN) / 1_000_000;
        Some(*sent)
    });
    ends.sum::<u64>() / sizes.len() as u64
}

/// Catches: an order that is not the tunnel's, a tunnel that holds packets back while its limiter could send, and
/// transports that give up because they wait.
#[test]
fn a_completion_tunnel_serves_shortest_first() {
    let diamond = diamond(2);
    let sizes: Vec<u64> = (0..50).map(|number| 100 + (number * 37) % 50).collect();
    let mut means = Vec::new();
    for scheduling in [TunnelScheduling::Tunnel, TunnelScheduling::Transports] {
        let mut scenario = dctcp(&diamond, 200);
        scenario.traffic = flows(&diamond, &sizes);
        let params = Params { scheduling, ..Params::default() };
        let outcome = run_with(&scenario, tunnels(FlowObjective::Completion, params), 1);
        let ends = ends(&outcome);
        means.push(ends.iter().sum::<u64>() as f64 / ends.len() as f64);
        assert_eq!(sum(&outcome, |flow| flow.again), 0);
        let all = sizes.iter().sum::<u64>() * FRAME;
        let last = *ends.iter().max().unwrap() as f64;
        assert_near(last, takes(all, GIVEN) as f64 / 1e6, 0.01, "the last end");
    }
    let best = shortest_first(&sizes) as f64;
    assert_near(means[0], best, 0.01, "the mean, in us");
    assert!(means[1] > 1.8 * best, "flows that share end together: {means:?}, {best}");
}

/// Catches: a flow that sends the same again while it waits for others: it waits 200 ms, its time-out is 10 ms.
#[test]
fn a_flow_that_waits_for_others_sends_nothing_twice() {
    let diamond = diamond(2);
    let mut scenario = dctcp(&diamond, 400);
    let mut traffic = flows(&diamond, &[2_000]);
    for number in 0..200 {
        let mut short = flows(&diamond, &[80]).remove(0);
        short.name = format!("short {number}");
        short.start = Time::from_micros(5_000 + 900 * number);
        traffic.push(short);
    }
    scenario.traffic = traffic;
    let outcome = run_with(&scenario, tunnels(FlowObjective::Completion, Params::default()), 1);
    let ends = ends(&outcome);
    assert!(ends[0] > 180_000 && ends[0] < 230_000, "{} us", ends[0]);
    assert_eq!(sum(&outcome, |flow| flow.again + flow.timeouts), 0);
}

/// Catches: a deadline tunnel that shares, and so is late with all: the demand is twice the given rate.
#[test]
fn a_deadline_tunnel_meets_feasible_deadlines_instead_of_missing_all() {
    let diamond = diamond(2);
    let mut met = Vec::new();
    for scheduling in [TunnelScheduling::Tunnel, TunnelScheduling::Transports] {
        let mut scenario = dctcp(&diamond, 100);
        // 100 segments in 10 ms are 123 Mbit/s.
        scenario.traffic = flows(&diamond, &[100; 16]);
        for traffic in &mut scenario.traffic {
            if let Workload::Flows(flows) = &mut traffic.workload {
                flows.deadline = Some(Deadline::Fixed(Time::from_millis(10)));
            }
        }
        let params = Params { scheduling, ..Params::default() };
        let outcome = run_with(&scenario, tunnels(FlowObjective::Deadline, params), 1);
        met.push(outcome.traffic.iter().map(|traffic| traffic.completions.deadlines().met).sum::<u64>());
    }
    // 812 segments in 10 ms.
    assert_eq!(met, [8, 0]);
}

/// Catches: a private queue without bound, drops that are not counted, and marks of the network that a transport
/// sees.
#[test]
fn loss_based_transports_get_losses_from_the_private_queue() {
    let diamond = diamond(2);
    for scheduling in [TunnelScheduling::Tunnel, TunnelScheduling::Transports] {
        let mut scenario = dctcp(&diamond, 200);
        scenario.transport.congestion = Congestion::newreno();
        scenario.traffic = flows(&diamond, &[2_000, 2_000]);
        let params = Params { scheduling, ..Params::default() };
        let outcome = run_with(&scenario, tunnels(FlowObjective::Completion, params), 1);
        assert!(ends(&outcome).iter().all(|&end| end < 80_000), "{:?}", ends(&outcome));
        let counts = outcome.sharing.as_ref().unwrap().tunnels[0].counts;
        let again = sum(&outcome, |flow| flow.again);
        assert_eq!(counts.arrived, counts.departed + counts.queued + counts.dropped);
        assert_eq!(counts.dropped.get(), sum(&outcome, |flow| flow.drops) * FRAME, "nothing is lost elsewhere");
        assert!(counts.dropped.get() > 0 && again >= counts.dropped.get() / FRAME);
        let most = if scheduling == TunnelScheduling::Transports { 100 } else { 200 };
        assert!(counts.longest <= most, "{} packets", counts.longest);
    }
}

/// Catches: flowcells that are counted in another order than packets leave in, and one path that carries all.
#[test]
fn flowcells_of_tunnelled_flows_use_all_paths_and_arrive_in_order() {
    let diamond = diamond(2);
    let mut scenario = dctcp(&diamond, 200);
    scenario.routing = Routing::Flowcells(presto::Spreading { size: Bytes::new(64_000), path_timeout: None });
    scenario.traffic = flows(&diamond, &[1_000, 1_000, 1_000]);
    let outcome = run_with(&scenario, tunnels(FlowObjective::Completion, Params::default()), 1);
    assert!(ends(&outcome).iter().all(|&end| end < 40_000), "{:?}", ends(&outcome));
    assert_eq!(sum(&outcome, |flow| flow.again + flow.duplicates + flow.drops), 0);
    let carried = |link: LinkId| outcome.links[link.index()].sent.get();
    let [one, other] = [carried(diamond.to_spine[0]), carried(diamond.to_spine[1])];
    assert_near(one as f64, other as f64, 0.1, "bytes of each path");
}

/// Catches: tunnels whose limiters let more through than the host's line takes, so that packets pile up in its port, first come, first served.
#[test]
fn tunnels_share_the_line_of_their_host_by_weight() {
    const WEIGHTS: [u32; 3] = [100, 300, 600];
    let diamond = diamond(3);
    let mut parts = Parts::new(|_| {
        script(|_, input, act| {
            if let HostInput::Opened { pair, .. } = input {
                let bucket = Bucket { rate: LINE, burst: Bytes::new(2 * FRAME), excess: ExcessAction::Waits };
                act(HostAction::SetBucket { limiter: Limiter::Pair(pair), bucket: Some(bucket) });
                act(HostAction::SetWeight { of: Weighted::Pair(pair), weight: WEIGHTS[pair.index() % 3] });
            }
        })
    });
    parts.tunnel = Box::new(move |_, _| Some(Box::new(PrivateControl::new(None, LINE, LINE, &Params::default()))));
    let mut scenario = dctcp(&diamond, 20);
    scenario.warmup = Time::from_millis(5);
    let flow = |(number, &to): (usize, &NodeId)| of("a", endless(&format!("{number}"), diamond.left[0], to));
    scenario.traffic = diamond.right.iter().enumerate().map(flow).collect();
    let outcome = run_with(&scenario, parts, 1);
    let all = sum(&outcome, |flow| flow.delivered_bytes.get()) as f64;
    for (flow, weight) in outcome.flows.iter().zip(WEIGHTS) {
        assert_near(
            flow.delivered_bytes.get() as f64 / all,
            f64::from(weight) / 1_000.0,
            0.02,
            "the share of a tunnel",
        );
    }
    let line = scenario.network.links_from(diamond.left[0])[0];
    let port = outcome.queues.iter().find(|queue| queue.link == line).unwrap();
    // One packet of each tunnel, and acknowledgements.
    let longest = port.counts.wait.max().unwrap();
    assert!(longest < 4 * takes(FRAME, LINE), "{longest} ps");
    let sent = outcome.links.iter().find(|link| link.link == line).unwrap();
    assert!(sent.utilisation > 0.99, "{}", sent.utilisation);
}
