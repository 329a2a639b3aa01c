//! Capacity of a buffer: drop-tail and dynamic thresholds.

use wayleave_scenarios::{Buffering, Discipline, FlowEndpoints, PacketKind, Scenario, Traffic};
use wayleave_units::{Bytes, Rate, Time};

use crate::truth::networks::{burst, flow, highest, ports, queue, run, star};

const FAST: Rate = Rate::from_gbit(100);
const SLOW: Rate = Rate::from_gbit(1);

/// Delivered and dropped of twenty frames of 1,000 B that meet an empty port while it sends the first one.
fn twenty(discipline: Discipline, limit: u64) -> (u64, u64, u64) {
    let star = star(&[FAST, SLOW], 0);
    let mut scenario = Scenario::new("twenty", star.network.clone(), Time::from_millis(1));
    scenario.switches = ports(discipline, Buffering::EachQueue(Bytes::new(limit)));
    scenario.traffic = vec![burst("b", star.hosts[0], star.hosts[1], 1_000, 20, 0)];
    let outcome = run(&scenario, 1);
    let port = queue(&outcome, star.down[1], 0);
    let flow = flow(&outcome, 0);
    assert_eq!(flow.drops, port.drops);
    (flow.sent, flow.delivered, port.drops)
}

/// Catches a limit that counts parts of packets, leaves out the one that is being sent, or is off by one byte.
#[test]
fn a_buffer_takes_whole_packets_up_to_its_limit() {
    for discipline in [Discipline::Fifo, Discipline::StrictPriority, Discipline::SmallestRemainingFirst] {
        for (limit, taken) in [(999, 0), (1_000, 1), (9_999, 9), (10_000, 10), (10_999, 10), (19_999, 19), (20_000, 20)]
        {
            let expected = (20, taken, 20 - taken);
            assert_eq!(twenty(discipline.clone(), limit), expected, "{discipline:?} with {limit} B");
        }
    }
}

/// Catches room that comes back too early or too late: a place is free again when the last bit of its packet has left,
/// at that instant and not a nanosecond before; in a port that is empty then, and in one that has more to send.
#[test]
fn buffer_space_is_free_when_the_last_bit_has_left() {
    for discipline in [Discipline::Fifo, Discipline::StrictPriority] {
        // The first frame is at the port from 80 ns on and sent until 8,080 ns; the last one comes at 8,080 ns or
        // before.
        for (before, at, taken) in [(1, 7_999, 1), (1, 8_000, 2), (2, 7_999, 2), (2, 8_000, 3)] {
            let star = star(&[FAST, FAST, SLOW], 0);
            let mut scenario = Scenario::new("room", star.network.clone(), Time::from_millis(1));
            let buffer = Buffering::EachQueue(Bytes::new(1_000 * before + 500));
            scenario.switches = ports(discipline.clone(), buffer);
            scenario.traffic = vec![
                burst("a", star.hosts[0], star.hosts[2], 1_000, before, 0),
                burst("b", star.hosts[1], star.hosts[2], 1_000, 1, at),
            ];
            let outcome = run(&scenario, 1);
            let delivered: u64 = outcome.flows.iter().map(|flow| flow.delivered).sum();
            assert_eq!(delivered, taken, "{discipline:?}, {before} frames, then one at {at} ns");
        }
    }
}

const POOL: u64 = 1_000_000;
const PACKET: u64 = 1_000;

/// The least and the most that each of `count` overloaded queues holds after 40 ms, in bytes.
fn lengths(alpha: f64, count: usize, discipline: Discipline) -> Vec<(u64, u64)> {
    let mut rates = vec![Rate::from_gbit(10); count];
    rates.extend(vec![SLOW; count]);
    let star = star(&rates, 0);
    let mut scenario = Scenario::new("threshold", star.network.clone(), Time::from_millis(60));
    scenario.warmup = Time::from_millis(40);
    scenario.switches = ports(discipline, Buffering::Shared { total: Bytes::new(POOL), alpha });
    for index in 0..count {
        // Different overloads: the threshold does not depend on them.
        let kind = PacketKind::ConstantRate { rate: Rate::from_mbit(1_500 + 500 * index as u64) };
        let pair = vec![(star.hosts[index], star.hosts[count + index])];
        let overload = Traffic::packets(&format!("o{index}"), FlowEndpoints::Pairs(pair), kind, Bytes::new(PACKET));
        scenario.traffic.push(highest(overload));
    }
    let outcome = run(&scenario, 1);
    let length = |index: usize| {
        let port = queue(&outcome, star.down[count + index], 0);
        (port.found.min().unwrap(), port.peak.get())
    };
    (0..count).map(length).collect()
}

/// Choudhury and Hahne, 1998: n overloaded queues each hold alpha B / (1 + alpha n). Catches a threshold computed
/// from the whole buffer, from the used part, or from a pool that leaks.
#[test]
fn overloaded_queues_each_hold_their_dynamic_threshold() {
    for (alpha, count) in [(0.5, 1), (1.0, 1), (2.0, 1), (1.0, 2), (0.5, 4), (4.0, 4), (8.0, 3)] {
        let theory = alpha * POOL as f64 / (1.0 + alpha * count as f64);
        for discipline in [Discipline::Fifo, Discipline::StrictPriority] {
            for (least, most) in lengths(alpha, count, discipline) {
                // A packet that is accepted finds room for itself. The others may each have left one, and a packet
                // that leaves moves the threshold by alpha times its size.
                let slack = PACKET as f64 * (2.0 + alpha * count as f64);
                let what = format!("alpha {alpha}, {count} queues: {least} to {most} B, theory {theory} B");
                assert!(most as f64 <= theory + slack && least as f64 >= theory - slack, "{what}");
            }
        }
    }
}

/// Catches a pool that is not given back: after an overload the buffer takes as much as before it.
#[test]
fn a_shared_buffer_is_completely_free_after_an_overload() {
    let star = star(&[FAST, SLOW], 0);
    let mut scenario = Scenario::new("twice", star.network.clone(), Time::from_millis(60));
    scenario.switches = ports(Discipline::Fifo, Buffering::Shared { total: Bytes::new(POOL), alpha: 1.0 });
    let (from, to) = (star.hosts[0], star.hosts[1]);
    scenario.traffic =
        vec![burst("first", from, to, PACKET, 2_000, 0), burst("second", from, to, PACKET, 2_000, 30_000_000)];
    let outcome = run(&scenario, 1);
    let delivered = [0, 1].map(|traffic| flow(&outcome, traffic).delivered);
    assert_eq!(delivered[0], delivered[1]);
    // Half of the buffer, and the packets that leave during the 160 us of the burst.
    assert!((500..=521).contains(&delivered[0]), "{delivered:?}");
    assert_eq!(flow(&outcome, 0).drops + delivered[0], 2_000);
}
