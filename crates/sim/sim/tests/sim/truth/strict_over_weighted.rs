//! Some queues by strict priority, and deficit round robin of the others below them.

use wayleave_scenarios::{Buffering, Discipline, FlowEndpoints, PacketKind, Scenario, Traffic};
use wayleave_topology::NodeId;
use wayleave_units::{Bytes, Rate, Time};

use super::scheduling::in_queue;
use crate::truth::networks::{
    Cables, FRAME, SEGMENT, Star, assert_near, burst, endless, fixed_window, flow, poisson, ports, queue, run, star_of,
    takes,
};

const FAST: Rate = Rate::from_gbit(100);
const SLOW: Rate = Rate::from_gbit(1);

/// A weight of 1: the largest frame of a link with an MTU of 1,500 B.
const QUANTUM: u64 = 1_562;

/// Returns a star of hosts on fast links, and a last one on a slow link, whose port at the switch has `queues`
/// queues.
fn funnel(senders: usize, queues: usize) -> Star {
    let mut cables = Cables::new();
    cables.queues = queues;
    let mut rates = vec![FAST; senders];
    rates.push(SLOW);
    star_of(cables, &rates, 0)
}

fn over(strict: u8, weights: &[u32]) -> Discipline {
    Discipline::StrictOverWeighted { strict, weights: weights.to_vec() }
}

fn scenario(star: &Star, discipline: Discipline, traffic: Vec<Traffic>, milliseconds: u64) -> Scenario {
    let mut scenario = Scenario::new("order", star.network.clone(), Time::from_millis(milliseconds));
    scenario.switches = ports(discipline, Buffering::Unlimited);
    scenario.traffic = traffic;
    for traffic in &mut scenario.traffic {
        traffic.queue.get_or_insert(0);
    }
    scenario
}

fn constant(name: &str, from: NodeId, to: NodeId, frame: u64, rate: Rate) -> Traffic {
    Traffic::packets(name, FlowEndpoints::Pairs(vec![(from, to)]), PacketKind::ConstantRate { rate }, Bytes::new(frame))
}

/// Queue 0 is strict, 1 and 2 share two to one in frames of 1,000 B (8 us): the quanta are 3,124 B and 1,562 B. A
/// frame of 1,500 B is sent until 12.12 us, and four frames of queue 1 and three of queue 2 wait for it:
///
/// | turn | credit | sent |
/// |---|---|---|
/// | queue 1 | 3,124 | b0, b1, b2, 124 left |
/// | queue 2 | 1,562 | c0, 562 left |
/// | queue 1 | 124 + 3,124 | b3, and the rest is lost |
/// | queue 2 | 562 + 1,562 | c1, c2, 124 left |
///
/// A strict frame of 500 B (4 us) comes while b0 is sent, and another one while b1 is: each is sent next, and costs
/// no queue any credit. Catches preemption, a turn that a strict frame ends, and credit that it takes.
#[test]
fn strict_frames_are_sent_between_those_of_a_turn() {
    let star = funnel(4, 3);
    let to = star.hosts[4];
    // Name, queue, size, when it is sent in ns, when its last bit arrives in ns.
    let frames = [
        ("first", 2, 1_500, 0, 12_120),
        ("b0", 1, 1_000, 1_000, 20_120),
        ("b1", 1, 1_000, 1_100, 32_120),
        ("b2", 1, 1_000, 1_200, 44_120),
        ("b3", 1, 1_000, 1_300, 60_120),
        ("c0", 2, 1_000, 1_000, 52_120),
        ("c1", 2, 1_000, 1_100, 68_120),
        ("c2", 2, 1_000, 1_200, 76_120),
        ("s0", 0, 500, 13_000, 24_120),
        ("s1", 0, 500, 25_000, 36_120),
    ];
    let traffic = frames.map(|(name, queue, size, at, _)| {
        let from = if name == "first" { 3 } else { usize::from(queue) };
        in_queue(burst(name, star.hosts[from], to, size, 1, at), queue)
    });
    let outcome = run(&scenario(&star, over(1, &[2, 1]), traffic.to_vec(), 1), 1);
    for (index, (name, _, _, sent, arrives)) in frames.into_iter().enumerate() {
        assert_eq!(flow(&outcome, index).delay.max(), Some((arrives - sent) * 1_000), "{name}");
    }
}

/// Two strict queues take three tenths of the link. Those below are always backlogged, and share the rest in
/// proportion to their weights, at any frame sizes: exactly, except for one quantum of each.
#[test]
fn weighted_queues_share_the_capacity_left_by_strict_ones() {
    let cases: [(&[u32], &[u64]); 3] =
        [(&[3, 1], &[1_538, 1_538]), (&[1, 2, 5], &[300, 1_538, 777]), (&[4, 2, 1], &[84, 84, 1_538])];
    for (weights, frames) in cases {
        let star = funnel(2 + weights.len(), 2 + weights.len());
        let to = star.hosts[2 + weights.len()];
        let mut traffic = vec![
            constant("s0", star.hosts[0], to, 400, Rate::from_mbit(100)),
            in_queue(poisson("s1", star.hosts[1], to, 900, Rate::from_mbit(200)), 1),
        ];
        for (index, &frame) in frames.iter().enumerate() {
            let name = format!("w{index}");
            let burst = burst(&name, star.hosts[2 + index], to, frame, 6_000_000 / frame, 0);
            traffic.push(in_queue(burst, 2 + index as u8));
        }
        let outcome = run(&scenario(&star, over(2, weights), traffic, 40), 1);
        let what = format!("weights {weights:?}, frames {frames:?}");
        for strict in 0..2 {
            let flow = flow(&outcome, strict);
            // At most what waits for the frame on the line, and a handful that arrived together.
            assert!(flow.sent > 400 && flow.sent - flow.delivered < 8, "{what}: {} of {}", flow.delivered, flow.sent);
        }
        let bytes: Vec<u64> = (0..weights.len()).map(|index| flow(&outcome, 2 + index).delivered_bytes.get()).collect();
        let (left, sum) = (bytes.iter().sum::<u64>(), u64::from(weights.iter().sum::<u32>()));
        for (&got, &weight) in bytes.iter().zip(weights) {
            let share = left * u64::from(weight) / sum;
            let most = u64::from(weight) * QUANTUM;
            assert!(got.abs_diff(share) <= most, "{what}: {got} B, {share} B +- {most} B are fair");
        }
        assert_near(left as f64, 5e6 * 0.7, 0.02, &format!("{what}: all that is left"));
    }
}

/// Lower queues hold a strict frame up for at most one frame in transmission.
#[test]
fn a_strict_queue_waits_for_one_lower_frame_at_most() {
    let star = funnel(3, 3);
    let to = star.hosts[3];
    let traffic = vec![
        // A frame every 400 us, and 37 ns more, so that it comes at all times of a lower frame.
        constant("strict", star.hosts[0], to, 400, Rate::from_bits_per_second(7_999_260)),
        in_queue(burst("w1", star.hosts[1], to, FRAME, 20_000, 0), 1),
        in_queue(burst("w2", star.hosts[2], to, FRAME, 20_000, 0), 2),
    ];
    let outcome = run(&scenario(&star, over(1, &[8, 1]), traffic, 200), 1);
    let waits = &queue(&outcome, star.down[3], 0).wait;
    let (longest, frame) = (waits.max().unwrap(), takes(FRAME, SLOW));
    assert!(waits.count() >= 450, "{} frames", waits.count());
    assert!(longest <= frame && longest > frame / 2, "{longest} ps, a lower frame takes {frame} ps");
    // Behind as many bytes in one queue they would wait a thousand times as long.
    assert!(queue(&outcome, star.down[3], 1).wait.max().unwrap() > 1_000 * frame);
}

/// The same order at a host, whose flows are pulled one segment at a time: strict flows leave a fifth of the uplink, of
/// which the others get three parts and one.
#[test]
fn a_host_serves_its_flows_strict_over_weighted() {
    let mut cables = Cables::new();
    cables.queues = 3;
    let star = star_of(cables, &[SLOW, FAST], 0);
    let (from, to) = (star.hosts[0], star.hosts[1]);
    let strict = in_queue(constant("strict", from, to, 1_000, Rate::from_mbit(800)), 0);
    let flows = [("w1", 1), ("w2", 2)].map(|(name, queue)| in_queue(endless(name, from, to), queue));
    let mut scenario = Scenario::new("host", star.network.clone(), Time::from_millis(60));
    scenario.hosts = ports(over(1, &[3, 1]), Buffering::Unlimited);
    scenario.transport = fixed_window(40);
    scenario.warmup = Time::from_millis(10);
    scenario.traffic = [vec![strict], flows.to_vec()].concat();
    let outcome = run(&scenario, 1);
    let left = 0.2 * 1e9 * 0.05 / 8.0 * SEGMENT as f64 / FRAME as f64;
    assert_near(flow(&outcome, 0).delivered as f64, 5_000.0, 0.001, "the strict queue");
    assert_near(flow(&outcome, 1).payload.get() as f64, left * 0.75, 0.01, "three parts");
    assert_near(flow(&outcome, 2).payload.get() as f64, left * 0.25, 0.01, "one part");
}
