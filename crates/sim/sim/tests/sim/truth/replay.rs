//! The same input gives the same run.

use wayleave_scenarios::{
    Buffering, Congestion, Discipline, Ecn, FlowArrivals, FlowEndpoints, FlowSizes, OnOff, PacketKind, Rpc, Scenario,
    Traffic, TransportConfig,
};
use wayleave_topology::NodeId;
use wayleave_topology::builders::{Cabling, FatTree, build};
use wayleave_units::{Bytes, Rate, Time};

use crate::truth::networks::{flow, poisson, ports, run, star};

/// Something of everything that draws random numbers.
fn mixture() -> Scenario {
    let cabling = Cabling { rate: Rate::from_gbit(10), propagation: Time::from_nanos(500), ..Cabling::default() };
    let network = std::sync::Arc::new(build::fat_tree(&FatTree { cabling, ..FatTree::default() }).unwrap());
    let hosts: Vec<NodeId> = network.hosts().collect();
    let mut scenario = Scenario::new("mixture", network, Time::from_millis(4));
    scenario.warmup = Time::from_millis(1);
    scenario.switches = ports(Discipline::StrictPriority, Buffering::EachQueue(Bytes::new(60_000)));
    scenario.switches.ecn = Ecn::above(Bytes::new(30_000)).into();
    scenario.transport = TransportConfig { congestion: Congestion::dctcp(), ..TransportConfig::default() };
    let everybody = || FlowEndpoints::AllToAll(hosts.clone(), hosts.clone());
    let sizes = FlowSizes::published("web-search").unwrap();
    let poisson = PacketKind::Poisson { rate: Rate::from_mbit(30) };
    let on_off =
        PacketKind::OnOff(OnOff { rate: Rate::from_gbit(1), on: Time::from_micros(50), off: Time::from_micros(100) });
    let answer = FlowSizes::Exponential(Bytes::new(20_000));
    let rpc = FlowArrivals::Rpc(Rpc { outstanding: 2, think_time: Time::from_micros(20), ..Rpc::new(answer) });
    scenario.traffic = vec![
        Traffic::packets("poisson", everybody(), poisson, Bytes::new(700)),
        Traffic::packets("on and off", FlowEndpoints::Permutation(hosts.clone()), on_off, Bytes::new(1_538)),
        Traffic::flows("load", FlowEndpoints::Random(hosts.clone(), hosts.clone()), FlowArrivals::Load(0.3), sizes),
        Traffic::flows("rpc", FlowEndpoints::Permutation(hosts.clone()), rpc, FlowSizes::Fixed(Bytes::new(200))),
    ];
    scenario
}

/// Catches clocks, addresses and the order of hash tables that affect a run: every histogram, count and level of the
/// outcome is compared.
#[test]
fn a_run_repeats_bit_for_bit() {
    let scenario = mixture();
    let [one, two, other] = [7, 7, 8].map(|seed| format!("{:?}", run(&scenario, seed)));
    assert!(one == two, "two runs with seed 7 differ");
    assert!(one != other, "seeds 7 and 8 give the same run");
}

/// Catches a run that depends on the number of its observations.
#[test]
fn observing_a_run_does_not_change_it() {
    let scenario = mixture();
    let mut looks = Vec::new();
    let watched = wayleave_sim::run(&scenario, 7, |now| {
        looks.push(now);
        true
    });
    assert!(looks.len() > 3 && looks.is_sorted(), "{looks:?}");
    assert_eq!(format!("{:?}", watched.unwrap()), format!("{:?}", run(&scenario, 7)));
}

/// Catches a run that continues after a request to stop, or takes a part for the whole.
#[test]
fn a_stopped_run_reports_its_end_and_progress() {
    let scenario = mixture();
    let outcome = wayleave_sim::run(&scenario, 7, |now| now < Time::from_millis(2)).unwrap();
    assert_eq!(outcome.ending, wayleave_sim::RunEnd::Stopped);
    assert!(outcome.simulated >= Time::from_millis(2) && outcome.simulated < Time::from_millis(4));
    assert_eq!(outcome.counted, outcome.simulated.saturating_sub(Time::from_millis(1)));
}

/// Catches random numbers that several kinds of traffic take from one row: another one beside a traffic, between other
/// hosts, changes nothing.
#[test]
fn a_traffic_draws_equal_values_beside_another_one() {
    let star = star(&[Rate::from_gbit(10); 4], 0);
    let delays = |others: bool| {
        let mut scenario = Scenario::new("draws", star.network.clone(), Time::from_millis(10));
        scenario.traffic = vec![poisson("a", star.hosts[0], star.hosts[1], 1_000, Rate::from_gbit(5))];
        if others {
            scenario.traffic.push(poisson("b", star.hosts[2], star.hosts[3], 1_000, Rate::from_gbit(5)));
        }
        let outcome = run(&scenario, 1);
        (flow(&outcome, 0).sent, flow(&outcome, 0).delay.clone())
    };
    assert_eq!(delays(false), delays(true));
}
