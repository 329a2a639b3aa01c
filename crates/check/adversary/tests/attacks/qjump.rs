//! QJump's flows, each one packet an epoch and all at once: no packet takes longer than the epoch.

use std::sync::Arc;

use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};
use wayleave_adversary::{AdmittedClaim, Background, Effort, Promise, Verification, verify};
use wayleave_ledger::{BestEffort, Model};
use wayleave_scheme_api::{Admission, Request};
use wayleave_schemes::admission::qjump::{Epoch, Params, Qjump, Reading};
use wayleave_schemes::admitted::AdmittedSet;
use wayleave_topology::builders::{FatTree, build};
use wayleave_topology::{Network, NodeId};
use wayleave_units::{Bytes, Rate, Time};

const EFFORT: Effort = Effort::QUICK
    .with_seeds(2)
    .with_victims(4)
    .with_rounds(8)
    .with_searched(1)
    .with_packet_hops(20_000)
    .with_cuts(0)
    .with_seed(1);

/// Eight queues a port, with the buffers of Chameleon's section 5.1.1.
fn network() -> Arc<Network> {
    Arc::new(build::fat_tree(&FatTree::default()).unwrap())
}

/// As many flows as there is room for, each with all that its shares allow; `to` is where all of them go, if that is set.
fn filled(rng: &mut ChaCha8Rng, params: Params, model: Model, to: Option<NodeId>) -> Qjump {
    let network = network();
    let hosts: Vec<NodeId> = network.hosts().collect();
    let unit = Epoch::new(&params, Rate::from_gbit(1)).unit();
    let mut qjump = Qjump::new(network, model, params);
    for _ in 0..4 * params.applications {
        let to = to.unwrap_or_else(|| hosts[rng.random_range(0..hosts.len())]);
        let from = hosts[rng.random_range(0..hosts.len())];
        let rate = unit * if params.reading == Reading::Charged { rng.random_range(1..4) } else { 1 };
        let (burst, deadline) = (Bytes::new(rng.random_range(84..4 * params.packet.get())), Time::from_millis(100));
        if from != to {
            let _ =
                qjump.admit(&Request { from, to, rate, burst, deadline, max_frame: None, route: None, protection: 1 });
        }
    }
    qjump
}

fn claim(qjump: &Qjump, model: Model, bound: impl Fn(Time) -> Time) -> AdmittedClaim {
    let network = network();
    let promise = |flow| {
        let held = qjump.held(flow)?;
        let frame = held.demand.max_frame?;
        let (rate, burst) = (held.demand.rate, held.demand.burst);
        let name = format!("{flow:?}");
        Some(Promise { name, route: held.route.clone(), rate, burst, frame, bound: bound(held.released), today: None })
    };
    let largest = network.links().map(|(_, link)| model.largest_frame(link)).collect();
    let background = match model.best_effort {
        BestEffort::LowestQueue => Background::Saturating { largest },
        BestEffort::Dropped => Background::Dropped,
    };
    let promises = qjump.flows().into_iter().filter_map(promise).collect();
    AdmittedClaim::new(network, background, promises)
}

fn attacked(seed: u64, bound: impl Fn(Time) -> Time) -> Verification {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let applications = [11, 16, 32, 48][rng.random_range(0..4)];
    let packet = Bytes::new([300, 1_500][rng.random_range(0..2)]);
    let reading = if rng.random_range(0..2) == 0 { Reading::Flat } else { Reading::Charged };
    let best_effort = if rng.random_range(0..2) == 0 { BestEffort::LowestQueue } else { BestEffort::Dropped };
    let model = Model::default().with_best_effort(best_effort);
    // If packets are small compared with the frames below them, an epoch has to allow for those.
    let epsilon = if packet.get() == 300 { Time::from_micros(100) } else { Time::from_micros(4) };
    let to = network().find_node("h16").filter(|_| rng.random_range(0..2) == 0);
    let qjump = filled(&mut rng, Params { applications, packet, epsilon, reading }, model, to);
    assert!(!qjump.flows().is_empty(), "nothing is admitted for seed {seed}");
    verify(&claim(&qjump, model, bound), &EFFORT, None, |_, _| true).unwrap()
}

#[test]
fn no_packet_takes_longer_than_the_epoch() {
    for seed in 0..40 {
        let report = attacked(seed, |bound| bound);
        assert!(report.is_sound(), "seed {seed}: {:?}", report.violations);
        assert!(report.findings.iter().any(|finding| finding.packets > 0));
    }
}

#[test]
fn a_quarter_of_the_epoch_is_too_short() {
    // One packet of every application after the other is nearly half an epoch.
    let broken = |seed: &u64| !attacked(*seed, |bound| Time::from_nanos(bound.as_nanos() / 4)).is_sound();
    assert!((0..40).filter(broken).count() > 15);
}
