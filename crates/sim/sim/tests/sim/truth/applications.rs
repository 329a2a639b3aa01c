//! Applications: traffic that is switched on and off at fixed times, and flows whose data comes bit by bit.
//!
//! A full segment takes 1,230,400 ps at 10 Gbit/s, over two links 2,460,800 ps, without propagation.

use wayleave_scenarios::{
    FlowArrivals, FlowEndpoints, FlowSizes, PacketKind, Period, Reliable, Scenario, Schedule, SendSchedule, StartPhase,
    Traffic, Workload,
};
use wayleave_units::{Bytes, Rate, Time};

use crate::truth::networks::{SEGMENT, Star, endless, finished, fixed_window, flow, run, star};

const FULL: u64 = 1_230_400;

fn two() -> Star {
    star(&[Rate::from_gbit(10); 2], 0)
}

fn scenario(star: &Star, milliseconds: u64, traffic: Vec<Traffic>) -> Scenario {
    let mut scenario = Scenario::new("applications", star.network.clone(), Time::from_millis(milliseconds));
    scenario.transport = fixed_window(20);
    scenario.traffic = traffic;
    scenario
}

fn ends(star: &Star) -> FlowEndpoints {
    FlowEndpoints::Pairs(vec![(star.hosts[0], star.hosts[1])])
}

/// Flows of this payload whose data is offered so.
fn offered(star: &Star, arrivals: FlowArrivals, size: u64, offer: SendSchedule) -> Traffic {
    let mut reliable = Reliable::new(arrivals, Some(FlowSizes::Fixed(Bytes::new(size))));
    reliable.send_schedule = Some(offer);
    Traffic::new("f", ends(star), Workload::Flows(reliable))
}

/// Catches: pauses that end a flow, that last too long, or that let segments through. The line is full while the flow is
/// on, from the first ps of a millisecond to the last: segments begin at 0, 1.2304, ... us, of which 813 are below 1 ms.
#[test]
fn a_flow_without_end_sends_while_it_is_on() {
    let star = two();
    let mut bulk = endless("bulk", star.hosts[0], star.hosts[1]);
    let ms = Time::from_millis;
    bulk.active = Some(Schedule::periodic(ms(1), ms(1), ms(2)));
    let mut scenario = scenario(&star, 9, vec![bulk]);
    scenario.record.series = Some(ms(1));
    let outcome = run(&scenario, 1);
    // On from 1, 4 and 7 ms on.
    assert_eq!((flow(&outcome, 0).sent, flow(&outcome, 0).delivered), (3 * 813, 3 * 813));
    assert_eq!(outcome.traffic[0].begun, 1);
    let series = outcome.traffic[0].throughput.as_ref().unwrap();
    let arrived: Vec<u64> = series.bins(9_000_000_000).map(|bin| bin.amount / 1_538).collect();
    // For each, two segments are in flight when the millisecond is over.
    assert_eq!(arrived, [0, 811, 2, 0, 811, 2, 0, 811, 2]);
}

/// Catches entries of a list that overlap, or that are left out: on once from 2 to 3 ms, then in turn from 5 ms on.
#[test]
fn entries_of_a_schedule_apply_one_after_another() {
    let star = two();
    let mut bulk = endless("bulk", star.hosts[0], star.hosts[1]);
    let ms = Time::from_millis;
    let periods =
        vec![Period { from: ms(2), on: ms(1), off: None }, Period { from: ms(5), on: ms(1), off: Some(ms(1)) }];
    bulk.active = Some(Schedule { periods });
    let outcome = run(&scenario(&star, 9, vec![bulk]), 1);
    assert_eq!(flow(&outcome, 0).delivered, 3 * 813);
}

/// Catches sources that continue while they are off, or begin again. 1,000 B at 8 Mbit/s are a millisecond, so that
/// frames leave when the source was on for 0, 1, 2, ... ms. On for 2 ms from 1 ms on, and off for 3 ms: 1, 2, 6, 7,
/// 11 ms.
#[test]
fn a_source_resumes_where_it_stopped() {
    let star = two();
    let ms = Time::from_millis;
    let (rate, burst) = (Rate::from_mbit(8), Bytes::new(1_000));
    let kind = PacketKind::TokenBucket { rate, burst, phase: StartPhase::Together };
    let mut packets = Traffic::packets("p", ends(&star), kind, burst);
    packets.active = Some(Schedule::periodic(ms(1), ms(2), ms(3)));
    let mut scenario = scenario(&star, 12, vec![packets]);
    scenario.record.series = Some(ms(1));
    let outcome = run(&scenario, 1);
    let series = outcome.traffic[0].throughput.as_ref().unwrap();
    let arrived: Vec<u64> = series.bins(12_000_000_000).map(|bin| bin.amount / 1_000).collect();
    assert_eq!(arrived, [0, 1, 1, 0, 0, 0, 1, 1, 0, 0, 0, 1]);
}

/// Catches flows that begin while their traffic is off, and rounds that are lost: every millisecond of being on, which is
/// 2.5 ms in 10.
#[test]
fn flows_begin_while_their_traffic_is_on() {
    let star = two();
    let time = Time::from_micros;
    let schedule = Schedule::periodic(Time::ZERO, time(2_500), time(7_500));
    let begun = |arrivals: FlowArrivals, milliseconds: u64| {
        let mut traffic = Traffic::flows("f", ends(&star), arrivals, FlowSizes::Fixed(Bytes::new(SEGMENT)));
        traffic.active = Some(schedule.clone());
        let outcome = run(&scenario(&star, milliseconds, vec![traffic]), 1);
        assert_eq!(finished(&outcome, 0), outcome.traffic[0].begun);
        outcome.traffic[0].begun
    };
    // At 0, 1, 2, 10.5 and 11.5 ms; the next one at 20 ms.
    assert_eq!(begun(FlowArrivals::Every(Time::from_millis(1)), 19), 5);
    // A quarter of 20,000; five deviations are 354.
    let poisson = begun(FlowArrivals::PerSecond(100_000.0), 200);
    assert!(poisson.abs_diff(5_000) < 354, "{poisson} flows");
}

/// Catches senders that send what is not written yet, or that fall asleep: a segment is written in 100 us, and the last
/// one leaves when it is.
#[test]
fn a_flow_sends_no_faster_than_its_application_writes() {
    let star = two();
    let rate = Rate::from_bits_per_second(116_800_000);
    let traffic = offered(&star, FlowArrivals::Once, 100 * SEGMENT, SendSchedule::Rate(rate));
    let outcome = run(&scenario(&star, 20, vec![traffic]), 1);
    let completions = &outcome.traffic[0].completions;
    assert_eq!(completions.times().max(), Some(10_000_000_000 + 2 * FULL));
    // No flow could have been faster.
    assert_eq!(completions.all().slowdowns.max(), Some(1_000));
    assert_eq!((flow(&outcome, 0).sent, flow(&outcome, 0).timeouts), (100, 0));
}

/// Catches writes that are merged or lost, parts of segments that are sent, a last part that is not.
#[test]
fn a_segment_is_sent_when_all_its_bytes_are_written() {
    let star = two();
    let us = Time::from_micros;
    // Ten segments at 0, 1 and 2 ms: the last ten follow one another.
    let writes = SendSchedule::Writes { bytes: Bytes::new(10 * SEGMENT), every: us(1_000) };
    let took = |size, offer| {
        let outcome = run(&scenario(&star, 10, vec![offered(&star, FlowArrivals::Once, size, offer)]), 1);
        outcome.traffic[0].completions.times().max()
    };
    assert_eq!(took(30 * SEGMENT, writes), Some(2_000_000_000 + 11 * FULL));
    // 1,000 B every 100 us: the last 1,080 of 4,000 B, 1,158 on the wire, are there after the fourth write.
    let writes = SendSchedule::Writes { bytes: Bytes::new(1_000), every: us(100) };
    assert_eq!(took(4_000, writes), Some(300_000_000 + 2 * 926_400));
}

/// Catches a clock of writes that continues while the application is off: 1 ms of being on in 4 ms, so 250 us of
/// writing in each millisecond.
#[test]
fn an_application_that_is_off_writes_nothing() {
    let star = two();
    let rate = Rate::from_bits_per_second(116_800_000);
    let mut traffic = offered(&star, FlowArrivals::Once, 25 * SEGMENT, SendSchedule::Rate(rate));
    let ms = Time::from_millis;
    traffic.active = Some(Schedule::periodic(ms(0), ms(1), ms(3)));
    let outcome = run(&scenario(&star, 20, vec![traffic]), 1);
    // Ten segments by 1 ms, ten by 5 ms, and five by 8.5 ms.
    assert_eq!(outcome.traffic[0].completions.times().max(), Some(8_500_000_000 + 2 * FULL));
}

/// Catches an offer that is forgotten where the network is slower than the application: 20 Gbit/s on a line of 10.
#[test]
fn an_application_faster_than_the_network_limits_nothing() {
    let star = two();
    let all = |offer: Option<SendSchedule>| {
        let mut reliable = Reliable::new(FlowArrivals::Once, Some(FlowSizes::Fixed(Bytes::new(500 * SEGMENT))));
        reliable.send_schedule = offer;
        let traffic = Traffic::new("f", ends(&star), Workload::Flows(reliable));
        run(&scenario(&star, 10, vec![traffic]), 1).traffic[0].completions.times().max()
    };
    assert_eq!(all(None), Some(501 * FULL));
    // The first segment is written in 584 ns.
    assert_eq!(all(Some(SendSchedule::Rate(Rate::from_gbit(20)))), Some(501 * FULL + 584_000));
}
