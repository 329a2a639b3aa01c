//! Small networks of low-cost switches at random, filled by Loko and then attacked: never late, nothing lost.
//!
//! `VERIFY_CASES=100000` tries more of them.

use std::sync::Arc;

use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};
use wayleave_adversary::{AdmittedClaim, Background, Effort, Promise, verify};
use wayleave_scenarios::SharedService;
use wayleave_scheme_api::{Admission, Request};
use wayleave_schemes::admission::loko::{AcceptedRate, Loko, Params, ServiceModel, Services, SwitchAccounting};
use wayleave_schemes::admitted::AdmittedSet;
use wayleave_topology::builders::{Cabling, Chain, build};
use wayleave_topology::{Network, NodeId};
use wayleave_units::{Bytes, Rate, Time};

const EFFORT: Effort = Effort::QUICK
    .with_seeds(1)
    .with_victims(2)
    .with_rounds(2)
    .with_searched(1)
    .with_packet_hops(2_500)
    .with_cuts(0)
    .with_seed(1);

/// A line or a ring of up to four switches, with up to three hosts each.
fn network(rng: &mut ChaCha8Rng, slowest: u64) -> Arc<Network> {
    let rate = Rate::from_bits_per_second(slowest * rng.random_range(1..10));
    let cabling = Cabling { rate, propagation: Time::from_nanos(rng.random_range(0..5_000)), ..Cabling::default() };
    let switches = rng.random_range(1..=4);
    let chain = Chain { switches, hosts_per_switch: rng.random_range(2..=3), cabling };
    let is_ring = switches >= 3 && rng.random_range(0..2) == 0;
    Arc::new(if is_ring { build::ring(&chain) } else { build::line(&chain) }.unwrap())
}

fn loko(rng: &mut ChaCha8Rng) -> Loko {
    let packet = rng.random_range(100..1500);
    let rate = rng.random_range(1_000_000..100_000_000);
    let latency = Time::from_nanos(rng.random_range(0..500_000));
    let service = Time::from_nanos(packet * 8_000_000_000 / rate + 1);
    let held = rng.random_range(4..12);
    let model = ServiceModel {
        rate: Rate::from_bits_per_second(rate),
        processing: latency + service,
        latency,
        // The simulator wants room for the largest frame of its lines.
        buffer: Bytes::new((packet * held).max(1562)),
        largest_packet: Bytes::new(packet),
    };
    let network = network(rng, rate);
    let share = [AcceptedRate::FullRate, AcceptedRate::FifthRate][rng.random_range(0..2)];
    let params = |share| Params { model, share, services: Services::PerSwitch, counting: SwitchAccounting::Sound };
    // With much latency a full rate leaves no burst.
    let small = AcceptedRate::Rate(Rate::from_bits_per_second(rate / 50));
    Loko::new(network.clone(), params(share)).or_else(|_| Loko::new(network, params(small))).unwrap()
}

/// Flows at random, many more than fit; some with smaller packets.
fn fill(rng: &mut ChaCha8Rng, loko: &mut Loko, network: &Network) {
    let hosts: Vec<NodeId> = network.hosts().collect();
    let (allocated, packet) = (*loko.allocation(), loko.params().model.largest_packet.get());
    for _ in 0..40 {
        let [from, to] = [(); 2].map(|()| hosts[rng.random_range(0..hosts.len())]);
        let frame = rng.random_range(packet / 2..=packet);
        let burst = Bytes::new(frame * rng.random_range(1..4));
        let rate = Rate::from_bits_per_second(rng.random_range(1..=allocated.rate.bits_per_second() / 3));
        let (deadline, max_frame) = (Time::from_millis(10_000), Some(Bytes::new(frame)));
        if from != to {
            let _ = loko.admit(&Request { from, to, rate, burst, deadline, max_frame, route: None, protection: 1 });
        }
    }
}

fn claim(loko: &Loko, network: &Arc<Network>, bound: impl Fn(Time) -> Time) -> AdmittedClaim {
    let ServiceModel { rate, latency, buffer, .. } = loko.params().model;
    let promise = |flow| {
        let held = loko.held(flow)?;
        let (rate, burst, frame) = (held.demand.rate, held.demand.burst, held.demand.max_frame?);
        let (name, route) = (format!("{flow:?}"), held.route.clone());
        Some(Promise { name, route, rate, burst, frame, bound: bound(held.released), today: None })
    };
    let promises = loko.flows().into_iter().filter_map(promise).collect();
    let service = |switch| SharedService { switch, rate, processing: latency, buffer };
    AdmittedClaim::new(network.clone(), Background::Dropped, promises)
        .with_services(network.switches().map(service).collect())
}

/// Returns `true` if all promises held, and the number of flows.
fn attacked(seed: u64, bound: impl Fn(Time) -> Time) -> (bool, usize) {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let mut loko = loko(&mut rng);
    let network = loko.network().clone();
    fill(&mut rng, &mut loko, &network);
    let claim = claim(&loko, &network, bound);
    let report = verify(&claim, &EFFORT, None, |_, _| true).unwrap();
    (report.is_sound(), claim.promises.len())
}

#[test]
fn contracts_admitted_by_loko_are_never_late_nor_lost() {
    let cases = std::env::var("VERIFY_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(2_000);
    let mut flows = 0;
    for seed in 0..cases {
        let (is_sound, admitted) = attacked(seed, |bound| bound);
        assert!(is_sound, "seed {seed}");
        flows += admitted as u64;
    }
    assert!(flows > 2 * cases, "{flows}");
}

#[test]
fn less_than_two_thirds_of_a_guarantee_is_too_little() {
    let broken = |seed: &u64| !attacked(*seed, |bound| Time::from_nanos(bound.as_nanos() * 6 / 10)).0;
    assert!((0..100).filter(broken).count() > 10);
}
