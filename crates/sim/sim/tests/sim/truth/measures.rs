//! Measurements over time: round trips, and shortfalls of guarantees.

use std::num::NonZeroU16;

use wayleave_contracts::{Bandwidth, Match, PerDirection, Policy, PolicyLevel, Protocol, ServiceSpec};
use wayleave_scenarios::{
    HostSchemeConfig, Scenario, Schedule, SendSchedule, Sharing, StaticLimits, Traffic, Workload,
};
use wayleave_sim::stats::Shortfall;
use wayleave_sim::{MachineShare, Outcome};
use wayleave_units::{Bytes, Rate, Time};

use crate::truth::networks::{FRAME, assert_near, endless, fixed_window, flow, run, star};

const LINE: Rate = Rate::from_gbit(10);

/// Catches: round trips of other segments, or from other times. A segment takes 1,230.4 ns and its acknowledgement
/// 67.2 ns on each of two links of 1,000 ns, 6,595.2 ns together; one segment is in flight at a time.
#[test]
fn round_trips_are_those_of_each_segment() {
    let star = star(&[LINE; 2], 1_000);
    let mut scenario = Scenario::new("round trips", star.network.clone(), Time::from_millis(3));
    scenario.transport = fixed_window(1);
    scenario.warmup = Time::from_millis(1);
    scenario.record.series = Some(Time::from_millis(1));
    scenario.traffic = vec![endless("one", star.hosts[0], star.hosts[1])];
    let outcome = run(&scenario, 1);
    let round_trips = outcome.traffic[0].round_trips.as_ref().unwrap();
    let bins: Vec<_> = round_trips.bins(3_000_000_000).map(|bin| bin.values.clone()).collect();
    assert_eq!(bins.iter().map(|bin| bin.mean()).collect::<Vec<_>>(), [None, Some(6_595_200.0), Some(6_595_200.0)]);
    // 151.6 of them in a millisecond; the one that begins during the warm-up is not counted.
    assert!(bins[1..].iter().all(|bin| bin.count().abs_diff(151) <= 1), "{bins:?}");
    scenario.record.series = None;
    assert!(run(&scenario, 1).traffic[0].round_trips.is_none());
}

/// Little's law: two flows with 20 segments each in flight to one port, which sends one in 1,230.4 ns.
#[test]
fn round_trips_include_queueing() {
    let star = star(&[LINE; 3], 0);
    let mut scenario = Scenario::new("round trips", star.network.clone(), Time::from_millis(10));
    scenario.transport = fixed_window(20);
    scenario.record.series = Some(Time::from_millis(5));
    scenario.traffic = [0, 1].map(|from| endless(&format!("{from}"), star.hosts[from], star.hosts[2])).to_vec();
    let outcome = run(&scenario, 1);
    for traffic in &outcome.traffic {
        let last = traffic.round_trips.as_ref().unwrap().bins(10_000_000_000).last().unwrap();
        assert_near(last.values.mean().unwrap(), 40.0 * 1_230_400.0, 0.01, &traffic.name);
    }
}

/// Two hosts whose service `a` has 4 Gbit/s in both directions by its policy, and never gets more than `pair`.
fn guaranteed(pair: Option<Rate>, change: impl FnOnce(&mut Traffic)) -> Outcome {
    let star = star(&[LINE; 2], 0);
    let mut scenario = Scenario::new("guaranteed", star.network.clone(), Time::from_millis(20));
    scenario.transport = fixed_window(200);
    scenario.record.series = Some(Time::from_millis(1));
    let bandwidth = Bandwidth { min: Some(Rate::from_gbit(4)), ..Bandwidth::default() };
    let filter = Match { protocol: Some(Protocol::TCP), destination_port: NonZeroU16::new(80), ..Match::default() };
    let service = ServiceSpec {
        name: "a".to_owned(),
        filter: Some(filter),
        bandwidth: PerDirection { transmit: bandwidth, receive: bandwidth },
        ..ServiceSpec::default()
    };
    let machine =
        Policy::new(&star.network, "machines", PolicyLevel::Machine, Vec::new(), None, vec![service]).unwrap();
    let limits = StaticLimits { pair_rate: pair, burst: Bytes::new(10 * FRAME) };
    scenario.sharing = Some(Sharing::new(HostSchemeConfig::StaticLimits(limits), machine));
    let mut traffic = endless("flow", star.hosts[0], star.hosts[1]);
    traffic.service = Some("a".to_owned());
    change(&mut traffic);
    scenario.traffic = vec![traffic];
    run(&scenario, 1)
}

fn machine(outcome: &Outcome, host: usize) -> &MachineShare {
    &outcome.sharing.as_ref().unwrap().service("a").unwrap().machines[host]
}

fn missed(shortfall: &Shortfall) -> Vec<u64> {
    shortfall.series().bins(20_000_000_000).map(|bin| bin.amount).collect()
}

/// Catches: guarantees that are measured at one end only, or against another rate. 4 Gbit/s are 500,000 B in a
/// millisecond; the limiter lets 1 Gbit/s through.
#[test]
fn a_guarantee_misses_the_shortfall_of_its_service() {
    let outcome = guaranteed(Some(Rate::from_gbit(1)), |_| {});
    let (sender, receiver) = (machine(&outcome, 0), machine(&outcome, 1));
    let transmit = sender.transmit_shortfall.as_ref().unwrap();
    let receive = receiver.receive_shortfall.as_ref().unwrap();
    assert_eq!((transmit.owed(), receive.owed()), (10_000_000, 10_000_000));
    assert_eq!(transmit.missed(), 10_000_000 - sender.sent.get());
    assert_eq!(receive.missed(), 10_000_000 - receiver.received.get());
    assert_near(transmit.fraction().unwrap(), 0.75, 0.01, "three of four parts are missed");
    assert_eq!(missed(transmit).iter().sum::<u64>(), transmit.missed());
    // There is no demand in the other direction.
    let idle = sender.receive_shortfall.as_ref().unwrap();
    assert_eq!((idle.owed(), idle.missed(), idle.fraction()), (0, 0, None));
}

/// Catches: guarantees that are owed without demand. A segment in 100 us is all the demand.
#[test]
fn a_guarantee_owes_no_more_than_the_demand() {
    let outcome = guaranteed(None, |traffic| {
        if let Workload::Flows(reliable) = &mut traffic.workload {
            reliable.send_schedule = Some(SendSchedule::Rate(Rate::from_bits_per_second(116_800_000)));
        }
    });
    let sender = machine(&outcome, 0);
    let shortfall = sender.transmit_shortfall.as_ref().unwrap();
    // The segment of the last instant belongs to no interval.
    assert_eq!((flow(&outcome, 0).sent, shortfall.owed(), shortfall.missed()), (200, 199 * FRAME, 0));
    // Without a limit the line is full, and more than the guarantee is there.
    let outcome = guaranteed(None, |_| {});
    let shortfall = machine(&outcome, 0).transmit_shortfall.as_ref().unwrap();
    assert_eq!((shortfall.owed(), shortfall.missed()), (10_000_000, 0));
}

/// Catches: pauses in which guarantees are owed. On in every other millisecond.
#[test]
fn a_guarantee_owes_nothing_while_an_application_is_off() {
    let ms = Time::from_millis;
    let outcome = guaranteed(Some(Rate::from_gbit(1)), |traffic| {
        traffic.active = Some(Schedule::periodic(ms(0), ms(1), ms(1)));
    });
    let sender = machine(&outcome, 0);
    let shortfall = sender.transmit_shortfall.as_ref().unwrap();
    assert_eq!(shortfall.owed(), 10 * 500_000);
    // It is on again in the last instant, whose frame belongs to no interval.
    assert_eq!(shortfall.missed(), 10 * 500_000 - (sender.sent.get() - FRAME));
    assert!(missed(shortfall).iter().enumerate().all(|(at, &bytes)| (bytes > 0) == (at % 2 == 0)), "{shortfall:?}");
}
