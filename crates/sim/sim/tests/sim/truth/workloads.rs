//! The offered traffic equals the configured traffic.

use std::sync::Arc;

use wayleave_scenarios::{
    Buffering, Deadline, Discipline, FlowArrivals, FlowEndpoints, FlowSizes, OnOff, PacketKind, Rpc, RpcServer,
    Scenario, StartPhase, Traffic, Workload,
};
use wayleave_topology::NodeId;
use wayleave_topology::builders::{Cabling, FatTree, build};
use wayleave_units::{Bytes, Rate, Time};

use crate::truth::networks::{
    Cables, SEGMENT, assert_near, finished, fixed_window, flow, highest, listed, ports, queue, run, star,
};

/// Little's law: in a closed loop without pauses, requests per second times the mean time of one is the number
/// outstanding. Catches loops that lose a request, start one too many, or stop.
#[test]
fn a_closed_loop_has_a_constant_number_of_outstanding_requests() {
    for outstanding in [1, 3, 8] {
        let star = star(&[Rate::from_gbit(10); 4], 1_000);
        let mut scenario = Scenario::new("rpc", star.network.clone(), Time::from_millis(40));
        let answer = FlowSizes::Uniform(Bytes::new(1_000), Bytes::new(60_000));
        let rpc = FlowArrivals::Rpc(Rpc { outstanding, ..Rpc::new(answer) });
        let pairs = vec![(star.hosts[0], star.hosts[1]), (star.hosts[2], star.hosts[1])];
        scenario.transport = fixed_window(30);
        scenario.switches = ports(Discipline::Fifo, Buffering::Unlimited);
        scenario.traffic =
            vec![Traffic::flows("rpc", FlowEndpoints::Pairs(pairs), rpc, FlowSizes::Fixed(Bytes::new(500)))];
        let outcome = run(&scenario, 1);
        let all = outcome.traffic[0].completions.all();
        let busy = all.times.sum() as f64 / 40e9;
        assert_near(busy, 2.0 * f64::from(outstanding), 0.01, &format!("{outstanding} outstanding"));
    }
}

/// Catches pauses that are left out or do not have an exponential mean: requests with negligible time, and a pause of
/// 1 ms each.
#[test]
fn a_closed_loop_pauses_between_its_requests() {
    let star = star(&[Rate::from_gbit(10); 2], 0);
    let mut scenario = Scenario::new("think", star.network.clone(), Time::from_millis(200));
    let answer = FlowSizes::Fixed(Bytes::new(100));
    let rpc = FlowArrivals::Rpc(Rpc { outstanding: 100, think_time: Time::from_millis(1), ..Rpc::new(answer) });
    let pairs = vec![(star.hosts[0], star.hosts[1])];
    scenario.traffic = vec![Traffic::flows("rpc", FlowEndpoints::Pairs(pairs), rpc, FlowSizes::Fixed(Bytes::new(100)))];
    let outcome = run(&scenario, 1);
    // 100 loops of 200 ms each, one request a ms: a standard deviation of 0.7 %.
    assert_near(finished(&outcome, 0) as f64, 20_000.0, 0.03, "requests");
}

/// Catches rounds that are left out or begin at the wrong time: every 2 ms from 1 ms on, that is 1, 3, 5 and 7 ms, up to
/// the stop and without it.
#[test]
fn incast_begins_in_rounds() {
    for (stop, rounds) in [(7_000_000, 3), (7_000_001, 4), (9_000_000, 4)] {
        let star = star(&[Rate::from_gbit(10); 5], 0);
        let mut scenario = Scenario::new("rounds", star.network.clone(), Time::from_millis(20));
        scenario.transport = fixed_window(10);
        let ends = FlowEndpoints::AllToAll(star.hosts[..4].to_vec(), vec![star.hosts[4]]);
        let every = FlowArrivals::Every(Time::from_millis(2));
        let mut traffic = Traffic::flows("incast", ends, every, FlowSizes::Fixed(Bytes::new(14_600)));
        traffic.start = Time::from_millis(1);
        traffic.stop = Some(Time::from_nanos(stop));
        scenario.traffic = vec![traffic];
        let outcome = run(&scenario, 1);
        assert_eq!((outcome.traffic[0].begun, finished(&outcome, 0)), (4 * rounds, 4 * rounds), "until {stop} ns");
        // Forty segments cross one port: the last is there after one hop of its own and all forty in turn.
        let segment = 1_538 * 800;
        assert_eq!(outcome.traffic[0].completions.times().max(), Some(segment + 40 * segment));
        assert_eq!(flow(&outcome, 0).delivered, 10 * rounds);
    }
}

/// Catches a load that counts other links than those of the senders, frames for payload, or the wrong mean.
#[test]
fn a_load_is_a_fraction_of_the_links_of_senders() {
    let cabling = Cabling { rate: Rate::from_gbit(10), ..Cabling::default() };
    let network = Arc::new(build::fat_tree(&FatTree { cabling, ..FatTree::default() }).unwrap());
    let hosts: Vec<NodeId> = network.hosts().collect();
    let sizes = [FlowSizes::Fixed(Bytes::new(2_920)), FlowSizes::Exponential(Bytes::new(3_000))];
    for (load, sizes) in [0.2, 0.5].into_iter().flat_map(|load| sizes.clone().map(|sizes| (load, sizes))) {
        let mut scenario = Scenario::new("load", network.clone(), Time::from_millis(12));
        scenario.warmup = Time::from_millis(2);
        scenario.switches = ports(Discipline::Fifo, Buffering::Unlimited);
        scenario.transport = fixed_window(20);
        let ends = FlowEndpoints::Random(hosts[..8].to_vec(), hosts[8..].to_vec());
        scenario.traffic = vec![Traffic::flows("load", ends, FlowArrivals::Load(load), sizes.clone())];
        let outcome = run(&scenario, 1);
        let payload = outcome.flows[0].payload.get() as f64;
        // Eight senders, 10 ms.
        let offered = load * 8.0 * 10e9 * 0.01 / 8.0;
        // 6,600 flows at least: 1.2 % of standard deviation where they have one size, 1.7 % where they are exponential.
        assert_near(payload, offered, 0.07, &format!("load {load}, {sizes:?}"));
    }
}

/// Catches flows a second that are not.
#[test]
fn flows_begin_at_the_configured_frequency() {
    let star = star(&[Rate::from_gbit(100); 3], 0);
    let mut scenario = Scenario::new("rate", star.network.clone(), Time::from_millis(200));
    let ends = FlowEndpoints::Pairs(vec![(star.hosts[0], star.hosts[1]), (star.hosts[1], star.hosts[2])]);
    let sizes = FlowSizes::Fixed(Bytes::new(1_000));
    scenario.traffic = vec![Traffic::flows("f", ends, FlowArrivals::PerSecond(100_000.0), sizes)];
    let outcome = run(&scenario, 1);
    // 20,000 in 200 ms: a standard deviation of 0.7 %.
    assert_near(outcome.traffic[0].begun as f64, 20_000.0, 0.03, "flows");
    assert!(outcome.traffic[0].begun - finished(&outcome, 0) < 10);
}

/// Catches sources whose rate is off: each kind for a second at 100 Mbit/s on average.
#[test]
fn every_kind_of_source_sends_at_its_rate() {
    let rate = Rate::from_mbit(100);
    let (on, off) = (Time::from_micros(10), Time::from_micros(390));
    let kinds = [
        (PacketKind::ConstantRate { rate }, 0.001),
        (PacketKind::Poisson { rate }, 0.03),
        (PacketKind::OnOff(OnOff { rate: Rate::from_gbit(4), on, off }), 0.08),
        (PacketKind::TokenBucket { rate, burst: Bytes::new(1_000), phase: StartPhase::Random }, 0.01),
    ];
    for (kind, tolerance) in kinds {
        let star = star(&[Rate::from_gbit(10); 2], 0);
        let mut scenario = Scenario::new("source", star.network.clone(), Time::from_millis(1_000));
        let ends = FlowEndpoints::Pairs(vec![(star.hosts[0], star.hosts[1])]);
        // Frames of 100 B, fifty in a period of being on: that a period begins with one adds 1 % to the mean.
        scenario.traffic = vec![Traffic::packets("s", ends, kind, Bytes::new(100))];
        let outcome = run(&scenario, 1);
        assert_near(flow(&outcome, 0).sent_bytes.get() as f64 * 8.0, 100e6, tolerance, &format!("{kind:?}"));
    }
}

/// Catches warm-ups that are counted: a flood that ends before the warm-up does leaves no trace, and later packets
/// are counted from the first one on.
#[test]
fn the_warm_up_is_not_counted() {
    let star = star(&[Rate::from_gbit(10), Rate::from_gbit(1)], 0);
    for discipline in [Discipline::Fifo, Discipline::StrictPriority] {
        let mut scenario = Scenario::new("warm-up", star.network.clone(), Time::from_millis(20));
        scenario.warmup = Time::from_millis(10);
        scenario.switches = ports(discipline, Buffering::EachQueue(Bytes::new(100_000)));
        let ends = FlowEndpoints::Pairs(vec![(star.hosts[0], star.hosts[1])]);
        let kind = PacketKind::ConstantRate { rate: Rate::from_gbit(5) };
        let mut flood = highest(Traffic::packets("flood", ends, kind, Bytes::new(1_000)));
        flood.stop = Some(Time::from_millis(8));
        let late = (12_000_000, star.hosts[0], star.hosts[1], 14_600);
        let early = (1_000_000, star.hosts[0], star.hosts[1], 14_600);
        scenario.transport = fixed_window(20);
        scenario.traffic = vec![flood, listed("flows", &[early, late])];
        let outcome = run(&scenario, 1);
        assert_eq!((flow(&outcome, 0).sent, flow(&outcome, 0).delivered, flow(&outcome, 0).drops), (0, 0, 0));
        assert_eq!((flow(&outcome, 1).sent, finished(&outcome, 1)), (10, 1));
        let port = queue(&outcome, star.down[1], 0);
        assert_eq!((port.wait.count(), port.drops), (10, 0));
        assert_eq!(outcome.links[star.down[1].index()].sent.get(), 10 * 1_538);
    }
}

/// Catches bursts that miss each other: from hosts whose cables take 1, 4 and 9 us, frames come to the last port at
/// the same instant, so that one does not wait, one waits for a frame and one for two.
#[test]
fn colliding_bursts_meet_at_the_last_port() {
    for (phase, waits) in
        [(StartPhase::Colliding, [0, 8_000_000, 16_000_000]), (StartPhase::Together, [0, 5_000_000, 8_000_000])]
    {
        let mut cables = Cables::new();
        let (switch, to) = (cables.switch("s"), cables.host("to"));
        let last = cables.join(switch, to, Rate::from_gbit(1), 0).0;
        let hosts = [1_000, 4_000, 9_000].map(|propagation| {
            let host = cables.host(&format!("h{propagation}"));
            cables.join(host, switch, Rate::from_gbit(10), propagation);
            (host, to)
        });
        let mut scenario = Scenario::new("collision", cables.build(), Time::from_millis(1));
        let (rate, burst) = (Rate::from_mbit(1), Bytes::new(1_000));
        let kind = PacketKind::TokenBucket { rate, burst, phase };
        scenario.traffic = vec![Traffic::packets("b", FlowEndpoints::Pairs(hosts.to_vec()), kind, burst)];
        let outcome = run(&scenario, 1);
        let wait = &queue(&outcome, last, 0).wait;
        let sum = waits.iter().sum::<u64>();
        assert_eq!((wait.min(), wait.max(), wait.sum()), (Some(0), Some(waits[2]), u128::from(sum)), "{phase:?}");
    }
}

/// Catches flows that vanish because they have not finished when the run ends: percentiles without them are too small.
#[test]
fn unfinished_flows_are_reported() {
    let star = star(&[Rate::from_mbit(10), Rate::from_gbit(1)], 0);
    let mut scenario = Scenario::new("unfinished", star.network.clone(), Time::from_millis(5));
    scenario.traffic = vec![listed("f", &[(0, star.hosts[0], star.hosts[1], 10_000_000)])];
    assert_eq!(run(&scenario, 1).traffic[0].completions.unfinished(), 1);
}

/// Catches: gaps that are not uniform, pairs that share one process.
#[test]
fn every_pair_has_its_own_uniform_gaps() {
    let star = star(&[Rate::from_gbit(10); 5], 1_000);
    let mut scenario = Scenario::new("uniform", star.network.clone(), Time::from_millis(400));
    let mean = Time::from_micros(400);
    let arrivals = FlowArrivals::Uniform { mean, connections: None };
    let ends = FlowEndpoints::AllToAll(star.hosts[1..].to_vec(), vec![star.hosts[0]]);
    scenario.traffic = vec![Traffic::flows("rpc", ends, arrivals, FlowSizes::Fixed(Bytes::new(1_000)))];
    let begun = run(&scenario, 1).traffic[0].begun;
    // Four pairs with 1,000 flows each. Gaps have a variance of a third of the squared mean: 18 flows a pair, 37 of all; five
    // times that.
    assert!(begun.abs_diff(4_000) < 185, "{begun} flows");
}

/// Catches: connections that are lost, flows that overtake one another, times that begin when a connection is free.
#[test]
fn flows_wait_for_a_free_connection_of_their_pair() {
    let star = star(&[Rate::from_gbit(10); 2], 1_000);
    let times = |connections: u32| {
        let mut scenario = Scenario::new("connections", star.network.clone(), Time::from_millis(100));
        scenario.transport = fixed_window(1_000);
        // 730,000 B are 500 segments, 615 us on the line: twice as much as arrives in a gap.
        let arrivals = FlowArrivals::Uniform { mean: Time::from_micros(300), connections: Some(connections) };
        let ends = FlowEndpoints::Pairs(vec![(star.hosts[0], star.hosts[1])]);
        let mut traffic = Traffic::flows("rpc", ends, arrivals, FlowSizes::Fixed(Bytes::new(500 * SEGMENT)));
        traffic.stop = Some(Time::from_millis(40));
        scenario.traffic = vec![traffic];
        run(&scenario, 1).traffic[0].clone()
    };
    let (one, many) = (times(1), times(1_000));
    assert_eq!(one.begun, many.begun);
    assert_eq!(one.completions.finished(), one.begun);
    // One after the other: the last one waits for all before it, at 617 us each.
    let longest = one.completions.times().max().unwrap() as f64 / 1e6;
    let all = one.begun as f64 * 617.7 - 40_000.0;
    assert!((longest / all - 1.0).abs() < 0.06, "{longest} us of {all} us");
    // All at once they share the line: no flow is complete before its fair share is, so the mean is longer.
    let mean = |traffic: &wayleave_sim::TrafficOutcome| traffic.completions.times().mean().unwrap();
    assert!(mean(&many) > 1.2 * mean(&one), "{} and {}", mean(&many), mean(&one));
}

/// Catches: one deadline for all flows, deadlines that change what is sent, late flows that are counted by another flow's
/// deadline. A flow of 500 segments takes one hop of its first segment and all of them in turn: 1,538 B are 1.2304 us at
/// 10 Gbit/s, so 501 of them 616.4 us, without propagation.
#[test]
fn every_flow_has_its_own_deadline() {
    let star = star(&[Rate::from_gbit(10); 2], 0);
    let us = Time::from_micros;
    let outcome = |deadline: Option<Deadline>| {
        let mut scenario = Scenario::new("deadlines", star.network.clone(), Time::from_millis(400));
        scenario.transport = fixed_window(1_000);
        let arrivals = FlowArrivals::Every(Time::from_millis(1));
        let ends = FlowEndpoints::Pairs(vec![(star.hosts[0], star.hosts[1])]);
        let mut traffic = Traffic::flows("f", ends, arrivals, FlowSizes::Fixed(Bytes::new(500 * SEGMENT)));
        if let Workload::Flows(reliable) = &mut traffic.workload {
            reliable.deadline = deadline;
        }
        scenario.traffic = vec![traffic];
        run(&scenario, 1).traffic[0].completions.clone()
    };
    let none = outcome(None);
    assert_eq!((none.finished(), none.times().max()), (400, Some(501 * 1_230_400)));
    let fixed = |time| outcome(Some(Deadline::Fixed(time))).deadlines();
    assert_eq!([fixed(Time::from_nanos(616_430)).missed, fixed(Time::from_nanos(616_431)).missed], [400, 0]);
    // 400 draws: five deviations are 50 of a half, and 49 of e^-1.
    let uniform = Deadline::Uniform(us(400), us(800));
    let exponential = Deadline::Exponential { mean: Time::from_nanos(616_430), min: us(1) };
    let values = Deadline::Values(vec![us(600), us(700), us(100), us(900)]);
    let longer = Deadline::Exponential { mean: us(100), min: us(700) };
    for (deadline, missed, tolerance) in [
        (uniform, 400.0 * 0.541, 50.0),
        (exponential, 400.0 * (1.0 - (-1.0_f64).exp()), 49.0),
        (values, 200.0, 50.0),
        (longer, 0.0, 5.0),
    ] {
        let found = outcome(Some(deadline.clone()));
        assert_eq!(found.times(), none.times(), "{deadline:?}");
        assert_eq!(found.deadlines().missed + found.deadlines().met, 400, "{deadline:?}");
        let late = found.deadlines().missed as f64;
        assert!((late - missed).abs() <= tolerance, "{deadline:?}: {late} late, {missed} expected");
    }
}

/// A client and eight servers at one switch, 10 Gbit/s, without propagation: a request of 100 B takes 142.4 ns on a link,
/// an acknowledgement 67.2 ns, an answer of one segment 1,230.4 ns.
fn requests(rpc: Rpc, milliseconds: u64) -> wayleave_sim::Outcome {
    let star = star(&[Rate::from_gbit(10); 9], 0);
    let mut scenario = Scenario::new("requests", star.network.clone(), Time::from_millis(milliseconds));
    scenario.transport = fixed_window(20);
    let ends = FlowEndpoints::AllToAll(vec![star.hosts[0]], star.hosts[1..].to_vec());
    scenario.traffic = vec![Traffic::flows("q", ends, FlowArrivals::Rpc(rpc), FlowSizes::Fixed(Bytes::new(100)))];
    run(&scenario, 1)
}

/// Catches: parts that are counted each for itself, a request that is over with its first answer, servers that are asked
/// twice. The first request is at its server after 284.8 ns; its answer, behind the acknowledgement, at the switch at
/// 1,582.4 ns, and all eight have passed the client's link after eight times 1,230.4 ns.
#[test]
fn a_fan_out_request_is_complete_with_its_last_answer() {
    let pause = Time::from_millis(1_000);
    let rpc = Rpc {
        server: RpcServer::Drawn,
        fan_out: 8,
        think_time: pause,
        ..Rpc::new(FlowSizes::Fixed(Bytes::new(SEGMENT)))
    };
    let outcome = requests(rpc, 1);
    let traffic = &outcome.traffic[0];
    assert_eq!((traffic.begun, finished(&outcome, 0)), (1, 1));
    let all = traffic.completions.all();
    assert_eq!(all.times.max(), Some(1_582_400 + 8 * 1_230_400));
    assert_eq!(all.bytes, 8 * u128::from(SEGMENT));
    // Alone all of them would share the client's link too: 11,358.4 ns.
    assert_eq!(all.slowdowns.max(), Some(1_006));
    // One request to each server, and one answer back.
    assert_eq!(outcome.flows.iter().map(|flow| flow.delivered).collect::<Vec<_>>(), [1; 16]);
}

/// Catches: steps that overlap or that are left out. Each takes 284.8 ns, 67.2 ns behind the acknowledgement, and
/// 2,460.8 ns; all but the first one also wait for the acknowledgement of the answer before, which is on the link.
#[test]
fn the_steps_of_a_request_are_consecutive() {
    let pause = Time::from_millis(1_000);
    let rpc = Rpc {
        server: RpcServer::Drawn,
        chain: 3,
        think_time: pause,
        ..Rpc::new(FlowSizes::Fixed(Bytes::new(SEGMENT)))
    };
    let outcome = requests(rpc, 1);
    let all = outcome.traffic[0].completions.all();
    assert_eq!((outcome.traffic[0].begun, all.finished()), (1, 1));
    assert_eq!(all.times.max(), Some(3 * 2_812_800 + 2 * 67_200));
    assert_eq!(all.bytes, 3 * u128::from(SEGMENT));
    // 2,745.6 ns each if nothing else were in flight: 8,572.8 over 8,236.8.
    assert_eq!(all.slowdowns.max(), Some(1_041));
}

/// Catches servers that are drawn once, and draws that are not uniform.
#[test]
fn a_server_is_drawn_for_every_request() {
    let rpc = Rpc { server: RpcServer::Drawn, ..Rpc::new(FlowSizes::Fixed(Bytes::new(100))) };
    let outcome = requests(rpc, 10);
    let all = finished(&outcome, 0);
    assert!(all > 8_000, "{all} requests");
    let client = outcome.flows.iter().filter_map(|flow| flow.from).min().unwrap();
    let asked: Vec<u64> =
        outcome.flows.iter().filter(|flow| flow.from == Some(client)).map(|flow| flow.delivered).collect();
    assert_eq!((asked.len(), asked.iter().sum::<u64>().abs_diff(all) <= 1), (8, true));
    // An eighth each, with five standard deviations.
    let (mean, deviation) = (all as f64 / 8.0, (all as f64 * 7.0 / 64.0).sqrt());
    for server in asked {
        assert!((server as f64 - mean).abs() < 5.0 * deviation, "{server} of {all}");
    }
}

/// Catches requests that are counted as unfinished once for each part.
#[test]
fn an_unfinished_request_is_counted_once() {
    let rpc = Rpc { server: RpcServer::Drawn, fan_out: 8, ..Rpc::new(FlowSizes::Fixed(Bytes::new(10_000_000))) };
    let outcome = requests(rpc, 1);
    assert_eq!((outcome.traffic[0].begun, outcome.traffic[0].completions.unfinished()), (1, 1));
}
