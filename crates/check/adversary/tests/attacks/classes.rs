//! Minima below latency contracts, and objectives beside them, under adversaries; and faults on purpose, each of which is seen.

use std::num::NonZeroU16;
use std::sync::Arc;

use wayleave_adversary::{
    ClassAttack, ClassBreach, ClassClaim, ClassFault, InFlightPromise, MinimumPromise, SharePromise, verify_classes,
};
use wayleave_contracts::{
    Bandwidth, Division, FlowObjective, Match, PerDirection, Policy, PolicyLevel, Protocol, ServiceSpec,
};
use wayleave_scenarios::{
    Buffering, Congestion, Discipline, Ecn, FlowArrivals, FlowEndpoints, HostSchemeConfig, PacketKind, PortEcn,
    Reliable, Scenario, SchemeOf, Sharing, StartPhase, StaticLimits, Traffic, TransportConfig, Workload,
};
use wayleave_schemes::host::scc;
use wayleave_schemes::host::ufab;
use wayleave_topology::builders::{Cabling, build};
use wayleave_topology::{Class, Classes, Network, NodeId, PortSpec, SharedLink, StrictResidual};
use wayleave_units::{Amount, Bytes, Rate, Time};

const LINE: Rate = Rate::from_gbit(10);
const FRAME: Bytes = Bytes::new(1_562);
/// Of latency contracts on the link to the receiver: four of them, with 24 kB each at once.
const RESERVED: Rate = Rate::from_gbit(4);
const CONTRACTS: u64 = 4;
const BURST: Bytes = Bytes::new(24_250);
const ROUND: Time = Time::from_micros(250);

/// A star in which all hosts send to the last one.
struct Star {
    network: Arc<Network>,
    hosts: Vec<NodeId>,
    link: SharedLink,
    residual: StrictResidual,
}

fn star(senders: u64) -> Star {
    let cabling = Cabling {
        rate: LINE,
        propagation: Time::from_micros(4),
        switch_port: PortSpec::uniform(8, Bytes::new(500_000)),
        host_port: PortSpec::uniform(8, Bytes::MAX),
        ..Cabling::default()
    };
    let network = Arc::new(build::star(senders + 1, cabling).unwrap());
    let link = SharedLink { classes: Classes::default(), line: LINE, frame: FRAME, round_trip: Time::from_micros(20) };
    let bursts = Amount::from(Bytes::new(BURST.get() * CONTRACTS));
    let residual = StrictResidual::below(LINE, Amount::from(Bytes::new(2 * FRAME.get())), RESERVED, bursts);
    let hosts = network.hosts().collect();
    Star { network, hosts, link, residual }
}

fn service(name: &str, port: u16, min: Option<Rate>, division: Option<Division>) -> ServiceSpec {
    let filter = Match { protocol: Some(Protocol::TCP), destination_port: NonZeroU16::new(port), ..Match::default() };
    let bandwidth = Bandwidth { min, ..Bandwidth::default() };
    ServiceSpec {
        name: name.to_owned(),
        filter: Some(filter),
        bandwidth: PerDirection { transmit: bandwidth, receive: bandwidth },
        division,
        ..ServiceSpec::default()
    }
}

fn policy(network: &Network, services: Vec<ServiceSpec>) -> Policy {
    Policy::new(network, "all", PolicyLevel::Machine, Vec::new(), None, services).unwrap()
}

fn endless(name: &str, service: &str, queue: u8, pair: (NodeId, NodeId), congestion: Congestion) -> Traffic {
    let mut reliable = Reliable::new(FlowArrivals::Once, None);
    let window = 10_000;
    let transport =
        TransportConfig { congestion, initial_window: 10, max_window: window, ..TransportConfig::default() };
    reliable.transport = Some(transport);
    let mut traffic = Traffic::new(name, FlowEndpoints::Pairs(vec![pair]), Workload::Flows(reliable));
    (traffic.service, traffic.queue) = (Some(service.to_owned()), Some(queue));
    traffic
}

/// Latency contracts that use all they may: their bursts come together, again and again.
fn latency(star: &Star, scenario: &mut Scenario) {
    let to = *star.hosts.last().unwrap();
    let rate = Rate::from_bits_per_second(RESERVED.bits_per_second() / CONTRACTS);
    let rounds = scenario.duration.as_nanos() / ROUND.as_nanos();
    for round in 1..rounds {
        for (number, &from) in star.hosts[..CONTRACTS as usize].iter().enumerate() {
            let kind = PacketKind::TokenBucket { rate, burst: BURST, phase: StartPhase::Together };
            let mut traffic = Traffic::packets(
                &format!("l{number} {round}"),
                FlowEndpoints::Pairs(vec![(from, to)]),
                kind,
                Bytes::new(970),
            );
            (traffic.service, traffic.queue) = (Some("latency".to_owned()), Some(0));
            traffic.start = Time::from_nanos(ROUND.as_nanos() * round);
            // The tokens of a burst are restored 194 us after it.
            traffic.stop = Some(traffic.start + Time::from_micros(50));
            scenario.traffic.push(traffic);
        }
    }
}

/// Traffic beside the guaranteed class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Beside {
    Nothing,
    /// The other classes always have something to send.
    FullQueues,
}

/// Returns pairs with these minima in total, below latency contracts.
fn minima(pairs: u64, minima: Rate, beside: Beside) -> ClassClaim {
    let star = star(CONTRACTS + pairs + 1);
    let to = *star.hosts.last().unwrap();
    let minimum = Rate::from_bits_per_second(minima.bits_per_second() / pairs);
    let mut scenario = Scenario::new("minima", star.network.clone(), Time::from_millis(6));
    let order = Discipline::StrictOverWeighted { strict: 5, weights: vec![6, 3, 1] };
    (scenario.switches.discipline, scenario.hosts.discipline) = (order.clone(), order);
    scenario.switches.buffering = Buffering::EachQueue(Bytes::new(500_000));
    scenario.reserved = star.network.links().map(|_| RESERVED).collect();
    latency(&star, &mut scenario);
    let mut services = vec![service("latency", 1, None, None), service("others", 2, None, None)];
    let mut promises = Vec::new();
    let theta = star.link.lateness(&star.residual, pairs, minimum, Time::from_micros(32)).unwrap();
    for pair in 0..pairs {
        let name = format!("g{pair}");
        let from = star.hosts[(CONTRACTS + pair) as usize];
        let mut own = service(&name, 10 + pair as u16, Some(minimum), None);
        own.endpoints = vec![from, to];
        services.push(own);
        scenario.traffic.push(endless(&name, &name, 5, (from, to), Congestion::fixed_window(10_000)));
        promises.push(MinimumPromise { service: name, host: to, within: theta });
    }
    let other = star.hosts[(CONTRACTS + pairs) as usize];
    let rate = if beside == Beside::Nothing { Rate::from_mbit(1) } else { Rate::from_gbit(5) };
    for (name, queue) in [("objective", 6), ("best", 7)] {
        let kind = PacketKind::ConstantRate { rate };
        let mut traffic = Traffic::packets(name, FlowEndpoints::Pairs(vec![(other, to)]), kind, Bytes::new(1_538));
        (traffic.service, traffic.queue) = (Some("others".to_owned()), Some(queue));
        scenario.traffic.push(traffic);
    }
    let unlimited = HostSchemeConfig::StaticLimits(StaticLimits::default());
    let mut sharing = Sharing::new(unlimited, policy(&star.network, services));
    let names = promises.iter().map(|promise| promise.service.clone()).collect();
    sharing.other_schemes.push(SchemeOf { scheme: HostSchemeConfig::Ufab(ufab::Settings::default()), services: names });
    scenario.sharing = Some(sharing);
    let down = star.network.links_into(to)[0];
    let held = star.link.held(&star.residual, pairs, minima).unwrap();
    let most = Bytes::new((held.nanobits() / 8_000_000_000) as u64);
    ClassClaim {
        scenario,
        minima: promises,
        in_flight: vec![InFlightPromise { link: down, most }],
        shares: Vec::new(),
        weights: Vec::new(),
        maxima: Vec::new(),
        contention: None,
        tolerance_percent: 5,
    }
}

/// All that can be promised below these latency contracts.
fn most(senders: u64) -> Rate {
    let star = star(senders);
    star.link.promisable(Class::Guaranteed, star.residual.rate)
}

fn attacks() -> Vec<ClassAttack> {
    let shifted = |seed| ClassAttack::Shifted { seed, most: ROUND };
    [ClassAttack::AsClaimed].into_iter().chain((1..4).map(shifted)).collect()
}

#[test]
fn minima_hold_under_every_attack_and_faults_are_detected() {
    let claim = minima(4, most(2), Beside::FullQueues);
    let report = verify_classes(&claim, &attacks(), 1).unwrap();
    assert!(report.is_sound(), "{report:?}");
    assert_eq!((report.runs, report.promises), (4, 4));
    assert!(report.largest_lag > 300 && report.largest_in_flight > 300, "bounds that say something: {report:?}");
    for fault in [ClassFault::WeightsReversed, ClassFault::ResidualForgotten, ClassFault::ClassLeaked] {
        let mut broken = claim.clone();
        assert!(fault.put_into(&mut broken), "{fault:?}");
        let report = verify_classes(&broken, &attacks()[..1], 1).unwrap();
        let missed = |(_, breach): &(ClassAttack, ClassBreach)| matches!(breach, ClassBreach::Minimum { .. });
        assert!(report.breaches.iter().any(missed), "{fault:?}: {report:?}");
    }
}

/// Returns windows alone, without other traffic of pairs: then at most `I` is in flight, plus the excess of a frame
/// over the part of a pair.
fn windows(pairs: u64) -> ClassClaim {
    let mut claim = minima(pairs, most(2), Beside::Nothing);
    let star = star(CONTRACTS + pairs + 1);
    assert!(claim.scenario.sharing.as_mut().unwrap().set_word("ufab", "fullWindowRate", "nothing"));
    claim.minima.clear();
    let windows = star.link.in_flight(&star.residual).nanobits() / 8_000_000_000;
    let carried =
        star.link.capacity(&star.residual).bits_per_second() / 8 * star.link.round_trip.as_nanos() / 1_000_000_000;
    // Each pair may have a frame in flight, if that is more than its part.
    let frames = pairs * FRAME.get().saturating_sub(carried / pairs);
    claim.in_flight[0].most = Bytes::new(windows as u64 + frames);
    claim
}

#[test]
fn windows_that_rise_without_steps_are_detected() {
    let claim = windows(6);
    // An overshoot takes a burst that ends at the moment when many pairs are answered.
    let attacks: Vec<ClassAttack> = (1..=12).map(|seed| ClassAttack::Shifted { seed, most: ROUND }).collect();
    let report = verify_classes(&claim, &attacks, 1).unwrap();
    assert!(report.is_sound() && report.largest_in_flight > 500, "{report:?}");
    let mut broken = claim;
    assert!(ClassFault::StepsUnlimited.put_into(&mut broken));
    let report = verify_classes(&broken, &attacks, 1).unwrap();
    assert!(matches!(report.breaches[..], [(_, ClassBreach::InFlight { .. }), ..]), "{report:?}");
}

/// A fault does not break a claim without the elements that it affects.
#[test]
fn a_fault_without_effect_is_reported_as_such() {
    let mut claim = minima(2, most(2), Beside::FullQueues);
    claim.scenario.sharing = None;
    claim.scenario.switches.discipline = Discipline::Fifo;
    claim.scenario.reserved.clear();
    for fault in ClassFault::ALL {
        assert!(!fault.put_into(&mut claim.clone()), "{}", fault.name());
    }
}

/// Divisions with weights of 3, 2 and 1 send to one host, below the latency contracts: SCC shares their queue by weights.
#[test]
fn objectives_get_their_shares_below_latency_contracts() {
    let star = star(CONTRACTS + 3);
    let to = *star.hosts.last().unwrap();
    let mut scenario = Scenario::new("shares", star.network.clone(), Time::from_millis(120));
    scenario.warmup = Time::from_millis(40);
    let order = Discipline::StrictOverWeighted { strict: 5, weights: vec![6, 3, 1] };
    (scenario.switches.discipline, scenario.hosts.discipline) = (order.clone(), order);
    scenario.switches.buffering = Buffering::EachQueue(Bytes::new(500_000));
    let marks = Some(Ecn::above(Bytes::new(25_000)));
    scenario.switches.ecn = PortEcn::PerQueue(vec![None, None, None, None, None, None, marks.clone(), marks]);
    scenario.reserved = star.network.links().map(|_| RESERVED).collect();
    latency(&star, &mut scenario);
    let mut services = vec![service("latency", 1, None, None)];
    let mut shares = Vec::new();
    for (number, weight) in [3, 2, 1].into_iter().enumerate() {
        let name = format!("d{weight}");
        let division = Division { share: Rate::from_gbit(weight), objective: Some(FlowObjective::Completion) };
        services.push(service(&name, 20 + weight as u16, None, Some(division)));
        let from = star.hosts[CONTRACTS as usize + number];
        for flow in 0..4 {
            scenario.traffic.push(endless(&format!("{name} {flow}"), &name, 6, (from, to), Congestion::dctcp()));
        }
        shares.push(SharePromise { service: name, weight });
    }
    let params = scc::Params { feedback_period: Time::from_micros(100), ..scc::Params::default() };
    let mut sharing = Sharing::new(HostSchemeConfig::Scc(params), policy(&star.network, services));
    let unlimited = HostSchemeConfig::StaticLimits(StaticLimits::default());
    sharing.other_schemes.push(SchemeOf { scheme: unlimited, services: vec!["latency".to_owned()] });
    scenario.sharing = Some(sharing);
    let mut claim = ClassClaim {
        scenario,
        minima: Vec::new(),
        in_flight: Vec::new(),
        shares,
        weights: Vec::new(),
        maxima: Vec::new(),
        contention: None,
        tolerance_percent: 5,
    };
    let report = verify_classes(&claim, &[ClassAttack::AsClaimed], 1).unwrap();
    assert!(report.is_sound(), "{report:?}");
    // Shares that differ from those configured at hosts are reported as missed.
    claim.shares.iter_mut().for_each(|promise| promise.weight = 1);
    let report = verify_classes(&claim, &[ClassAttack::AsClaimed], 1).unwrap();
    assert!(matches!(report.breaches[0].1, ClassBreach::Share { due: 333, got: 476.., .. }), "{report:?}");
}
