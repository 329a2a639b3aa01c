//! Order of service: strict priority, deficit round robin, max-min shares.

use wayleave_scenarios::{Buffering, Discipline, Scenario, Traffic};
use wayleave_units::{Rate, Time};

use crate::truth::networks::{
    Cables, FRAME, SEGMENT, Star, assert_near, burst, endless, fixed_window, flow, poisson, ports, queue, run, star,
    star_of,
};

const FAST: Rate = Rate::from_gbit(100);
const SLOW: Rate = Rate::from_gbit(1);

/// Hosts on fast links, and a last one on a slow link, whose port at the switch is where everything waits.
fn funnel(senders: usize) -> Star {
    let mut rates = vec![FAST; senders];
    rates.push(SLOW);
    star(&rates, 0)
}

fn scenario(star: &Star, discipline: Discipline, traffic: Vec<Traffic>, milliseconds: u64) -> Scenario {
    let mut scenario = Scenario::new("order", star.network.clone(), Time::from_millis(milliseconds));
    scenario.switches = ports(discipline, Buffering::Unlimited);
    scenario.traffic = traffic;
    scenario
}

pub(super) fn in_queue(mut traffic: Traffic, queue: u8) -> Traffic {
    traffic.queue = Some(queue);
    traffic
}

/// Catches preemption, and a second frame of a lower class that slips through.
#[test]
fn the_highest_class_waits_for_at_most_one_lower_frame() {
    let star = funnel(2);
    let to = star.hosts[2];
    let low = in_queue(burst("low", star.hosts[0], to, 1_500, 3, 0), 7);
    let high = burst("high", star.hosts[1], to, 500, 1, 15_000);
    let outcome = run(&scenario(&star, Discipline::StrictPriority, vec![low, high], 1), 1);
    // The first low frame is there at 0.12 us, so the second one is sent from 12.12 to 24.12 us; the high frame comes
    // at 15.04 us.
    assert_eq!(flow(&outcome, 1).delay.max(), Some(40_000 + 9_080_000 + 4_000_000));
    // The third low frame is sent behind the high one: 24.12 + 4 + 12.
    assert_eq!(flow(&outcome, 0).delay.max(), Some(40_120_000));
}

/// Catches an event order that serves a lower class first although a higher frame comes at the same instant. With
/// some propagation, without an event at the choice, also a choice that is made too early.
#[test]
fn a_frame_that_arrives_when_the_port_becomes_free_is_not_blocked() {
    for propagation in [0, 1_000] {
        let star = star(&[FAST, FAST, SLOW], propagation);
        let to = star.hosts[2];
        let low = in_queue(burst("low", star.hosts[0], to, 1_500, 3, 0), 7);
        // There at 12.12 us and the propagation exactly: sent at 12.08 us, 40 ns for 500 B.
        let high = burst("high", star.hosts[1], to, 500, 1, 12_080);
        let outcome = run(&scenario(&star, Discipline::StrictPriority, vec![low, high], 1), 1);
        let in_transit = 2 * 1_000 * propagation;
        assert_eq!(flow(&outcome, 1).delay.max(), Some(40_000 + 4_000_000 + in_transit), "{propagation} ns");
    }
}

/// Catches classes that are mixed up: eight frames wait for a ninth, and go in order of their class.
#[test]
fn eight_classes_are_served_from_the_highest_to_the_lowest() {
    let star = funnel(9);
    let to = star.hosts[9];
    let mut traffic = vec![in_queue(burst("first", star.hosts[8], to, 1_500, 1, 0), 7)];
    for class in 0..8 {
        // The lowest class comes first, a nanosecond before the next.
        let at = 1_000 + 7 - u64::from(class);
        let name = format!("class {class}");
        traffic.push(in_queue(burst(&name, star.hosts[usize::from(class)], to, 1_000, 1, at), class));
    }
    let outcome = run(&scenario(&star, Discipline::StrictPriority, traffic, 1), 1);
    for class in 0..8_u64 {
        let sent_at = (1_000 + 7 - class) * 1_000;
        let arrives = 12_120_000 + (class + 1) * 8_000_000;
        assert_eq!(flow(&outcome, class as usize + 1).delay.max(), Some(arrives - sent_at), "class {class}");
    }
}

/// Catches differences between the two forms of first come first served: departures that are computed when a packet
/// comes, and packets that a port holds until it sends them. Overload, drops and ties included.
#[test]
fn both_forms_of_a_port_serve_one_class_equally() {
    let star = funnel(5);
    let mut traffic: Vec<Traffic> = (0..4)
        .map(|index| poisson(&format!("p{index}"), star.hosts[index], star.hosts[5], 300 + 200 * index as u64, SLOW))
        .collect();
    traffic.push(burst("together", star.hosts[4], star.hosts[5], 700, 40, 3_000_000));
    // Waits are counted when packets come, or when they go: in the end nothing is left, so that both are all.
    traffic.iter_mut().for_each(|traffic| traffic.stop = Some(Time::from_millis(19)));
    let outcomes = [Discipline::Fifo, Discipline::StrictPriority].map(|discipline| {
        let mut scenario = scenario(&star, discipline, traffic.clone(), 20);
        scenario.switches.buffering = Buffering::EachQueue(wayleave_units::Bytes::new(9_000));
        let outcome = run(&scenario, 3);
        let counts = |traffic| {
            let flow = flow(&outcome, traffic);
            (flow.delay.clone(), flow.sent, flow.delivered, flow.drops)
        };
        let dropped: u64 = outcome.flows.iter().map(|flow| flow.drops).sum();
        assert!((1_000..outcome.hops).contains(&dropped), "{dropped} drops");
        ((0..5).map(counts).collect::<Vec<_>>(), crate::truth::networks::queue(&outcome, star.down[5], 0).wait.clone())
    });
    assert_eq!(outcomes[0], outcomes[1]);
}

/// Returns the bytes that each of some queues delivers in 40 ms if all are always backlogged.
fn deficit_bytes(weights: &[u32], frames: &[u64]) -> Vec<u64> {
    let mut cables = Cables::new();
    cables.queues = weights.len();
    let mut rates = vec![FAST; frames.len()];
    rates.push(SLOW);
    let star = star_of(cables, &rates, 0);
    let to = star.hosts[frames.len()];
    let bursts = frames.iter().enumerate().map(|(index, &frame)| {
        in_queue(burst(&format!("q{index}"), star.hosts[index], to, frame, 6_000_000 / frame, 0), index as u8)
    });
    let weights = weights.to_vec();
    let outcome = run(&scenario(&star, Discipline::DeficitRoundRobin { weights }, bursts.collect(), 40), 1);
    (0..frames.len()).map(|index| flow(&outcome, index).delivered_bytes.get()).collect()
}

/// Catches quanta that are not in proportion, credit that is lost or kept, and shares that depend on frame size.
/// Shreedhar and Varghese bound the difference of two queues' service by Q + 2 Max, each divided by its weight.
#[test]
fn deficit_round_robin_shares_bytes_in_proportion_to_weights() {
    let quantum = 1_562;
    let cases: [(&[u32], &[u64]); 4] = [
        (&[1, 2, 5], &[1_500, 1_500, 1_500]),
        (&[1, 1, 1], &[100, 700, 1_538]),
        (&[3, 1, 2, 2], &[1_538, 84, 300, 999]),
        (&[1, 1, 1, 1, 1, 1, 1, 1], &[84, 200, 400, 600, 800, 1_000, 1_200, 1_538]),
    ];
    for (weights, frames) in cases {
        let bytes = deficit_bytes(weights, frames);
        let per_weight: Vec<u64> =
            bytes.iter().zip(weights).map(|(bytes, &weight)| bytes / u64::from(weight)).collect();
        let (least, most) = (per_weight.iter().min().unwrap(), per_weight.iter().max().unwrap());
        assert!(most - least <= 3 * quantum, "weights {weights:?}, frames {frames:?}: {bytes:?}");
        // 40 ms at 1 Gbit/s are 5 MB; nothing is lost but the start and the packet that is being sent.
        assert_near(bytes.iter().sum::<u64>() as f64, 5e6, 0.001, "all together");
    }
}

/// Catches a scheduler that keeps the share of an empty queue for it.
#[test]
fn the_share_of_an_empty_queue_is_used_by_the_others() {
    let bytes = deficit_bytes(&[1, 3, 4], &[1_000, 1_000]);
    assert_near(bytes[0] as f64, 1.25e6, 0.005, "one of four");
    assert_near(bytes[1] as f64, 3.75e6, 0.005, "three of four");
}

/// Catches credit that is saved up while a queue has nothing to send: one that begins after 20 ms gets its third of the
/// next 15 ms, and nothing for the time before.
#[test]
fn an_empty_queue_accumulates_no_credit() {
    let mut cables = Cables::new();
    cables.queues = 3;
    let star = star_of(cables, &[FAST, FAST, FAST, SLOW], 0);
    let bursts = [20_000_000, 0, 0].into_iter().enumerate().map(|(index, at)| {
        let name = format!("q{index}");
        in_queue(burst(&name, star.hosts[index], star.hosts[3], 1_000, 4_000, at), index as u8)
    });
    let discipline = Discipline::DeficitRoundRobin { weights: vec![1; 3] };
    let outcome = run(&scenario(&star, discipline, bursts.collect(), 35), 1);
    // 20 ms are 2,500 frames for two, 15 ms 1,875 for three.
    for (index, frames) in [625, 1_875, 1_875].into_iter().enumerate() {
        let delivered = flow(&outcome, index).delivered;
        assert!(delivered.abs_diff(frames) <= 4, "queue {index}: {delivered} frames, {frames} are fair");
    }
}

/// Catches flows that a host or a port treats better than others: windows are equal, so are round trips, so are rates.
#[test]
fn equal_windows_share_one_bottleneck_equally() {
    let star = funnel(5);
    let flows = (0..5).map(|index| endless(&format!("f{index}"), star.hosts[index], star.hosts[5])).collect();
    let mut scenario = scenario(&star, Discipline::Fifo, flows, 60);
    scenario.transport = fixed_window(40);
    scenario.warmup = Time::from_millis(10);
    let outcome = run(&scenario, 1);
    let fair = 1e9 * 0.05 / 8.0 * SEGMENT as f64 / FRAME as f64 / 5.0;
    for index in 0..5 {
        assert_near(flow(&outcome, index).payload.get() as f64, fair, 0.01, "a fifth");
    }
}

/// Catches rates that are not max-min fair where every flow has a queue of its own: A crosses both links, B the first,
/// C and D the second. The second gives a third to each of A, C, D; B gets the two thirds that A leaves.
#[test]
fn a_flow_over_two_bottlenecks_gets_the_rate_of_the_tighter_one() {
    let mut cables = Cables::new();
    cables.queues = 3;
    let switches = [cables.switch("s1"), cables.switch("s2"), cables.switch("s3")];
    for pair in switches.windows(2) {
        cables.join(pair[0], pair[1], SLOW, 1_000);
    }
    let host = |cables: &mut Cables, name: &str, at: usize| {
        let host = cables.host(name);
        cables.join(host, switches[at], Rate::from_gbit(10), 1_000);
        host
    };
    let ends = [("a", 0, 2), ("b", 0, 1), ("c", 1, 2), ("d", 1, 2)].map(|(name, from, to)| {
        (name, host(&mut cables, &format!("{name}1"), from), host(&mut cables, &format!("{name}2"), to))
    });
    let mut scenario = Scenario::new("parking lot", cables.build(), Time::from_millis(60));
    scenario.switches = ports(Discipline::DeficitRoundRobin { weights: vec![1; 3] }, Buffering::Unlimited);
    scenario.transport = fixed_window(60);
    scenario.warmup = Time::from_millis(10);
    for ((name, from, to), queue) in ends.into_iter().zip([0, 1, 1, 2]) {
        scenario.traffic.push(in_queue(endless(name, from, to), queue));
    }
    let outcome = run(&scenario, 1);
    let all = 1e9 * 0.05 / 8.0 * SEGMENT as f64 / FRAME as f64;
    for (index, thirds) in [1.0, 2.0, 1.0, 1.0].into_iter().enumerate() {
        let payload = flow(&outcome, index).payload.get() as f64;
        assert_near(payload, all * thirds / 3.0, 0.01, &format!("flow {index}"));
    }
}

/// Catches traffic that is put beside contracts because it names no queue. Without a queue it is in the lowest queue
/// of each port, and in the only one of ports that serve all as one.
#[test]
fn traffic_without_a_queue_waits_in_the_lowest() {
    let star = funnel(2);
    let to = star.hosts[2];
    let anywhere = Traffic { queue: None, ..burst("anywhere", star.hosts[0], to, 1_000, 10, 0) };
    let first = burst("first", star.hosts[1], to, 1_000, 10, 0);
    let outcome = |discipline| run(&scenario(&star, discipline, vec![anywhere.clone(), first.clone()], 1), 1);
    let strict = outcome(Discipline::StrictPriority);
    assert_eq!([0, 7].map(|number| queue(&strict, star.down[2], number).wait.count()), [10, 10]);
    // Ten frames of 8 us each precede the second one of the lowest queue, of which one arrived first.
    assert_eq!(flow(&strict, 1).delay.max(), Some(80_000 + 11 * 8_000_000));
    assert_eq!(flow(&strict, 0).delay.max(), Some(80_000 + 20 * 8_000_000));
    assert_eq!(queue(&outcome(Discipline::Fifo), star.down[2], 0).wait.count(), 20);
}
