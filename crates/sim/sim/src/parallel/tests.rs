//! Runs on several threads against runs on one.

use std::num::NonZeroUsize;
use std::sync::Arc;

use rand::rngs::ChaCha8Rng;
use rand::seq::IndexedRandom;
use rand::{RngExt, SeedableRng};
use wayleave_scenarios::{
    Buffering, Congestion, Discipline, Ecn, FlowArrivals, FlowEndpoints, FlowSizes, Pacing, PacketKind, PortBehaviour,
    Red, Reliable, Routing, Scenario, Schedule, StartPhase, Traffic, TransportConfig, Workload,
};
use wayleave_topology::builders::{Cabling, Chain, FatTree, LeafSpine, build};
use wayleave_topology::{Network, NodeId, PortSpec};
use wayleave_units::{Bytes, Rate, Time};

use super::{Obstacle, TrafficObstacle, obstacle, run_on};
use crate::fabric::Cut;
use crate::outcome::RunEnd;

/// Scenarios at random that can be divided.
struct Maker {
    rng: ChaCha8Rng,
}

impl Maker {
    fn of<T: Clone>(&mut self, choices: &[T]) -> T {
        choices.choose(&mut self.rng).unwrap().clone()
    }

    fn network(&mut self, case: u64) -> Network {
        let queues = self.rng.random_range(1..=3);
        let buffer = Bytes::new(self.rng.random_range(4_000..90_000));
        let cabling = Cabling {
            rate: Rate::from_mbit(self.of(&[3_000, 10_000, 100_000])),
            propagation: Time::from_nanos(self.rng.random_range(700..4_000)),
            switch_port: PortSpec::uniform(queues, buffer),
            host_port: PortSpec::uniform(queues, Bytes::MAX),
            ..Cabling::default()
        };
        match case % 4 {
            0 => build::line(&Chain { switches: 4, hosts_per_switch: 2, cabling }),
            1 => build::ring(&Chain { switches: 5, hosts_per_switch: 2, cabling }),
            2 => build::leaf_spine(&LeafSpine {
                leaves: 4,
                spines: 3,
                hosts_per_leaf: 3,
                cabling,
                ..LeafSpine::default()
            }),
            _ => build::fat_tree(&FatTree { k: 4, cabling, ..FatTree::default() }),
        }
        .unwrap()
    }

    fn ports(&mut self, queues: usize) -> PortBehaviour {
        let weights = (0..queues).map(|_| self.rng.random_range(1..4)).collect();
        let disciplines = [
            Discipline::Fifo,
            Discipline::Fifo,
            Discipline::StrictPriority,
            Discipline::DeficitRoundRobin { weights },
            Discipline::SmallestRemainingFirst,
        ];
        let shared = Buffering::Shared { total: Bytes::new(150_000), alpha: 1.0 };
        let red = Ecn::Red(Red { min: Bytes::new(5_000), max: Bytes::new(50_000), probability: 0.2, weight: 0.1 });
        let ecn = self.of(&[Ecn::above(Bytes::new(20_000)), red]);
        let buffering = self.of(&[Buffering::AsBuilt, Buffering::AsBuilt, shared]);
        PortBehaviour { discipline: self.of(&disciplines), buffering, ecn: ecn.into(), telemetry: false }
    }

    fn ends(&mut self, hosts: &[NodeId]) -> FlowEndpoints {
        let (first, others) = (hosts[0], hosts[1..].to_vec());
        let across = hosts.iter().zip(hosts.iter().rev()).filter(|(from, to)| from != to);
        self.of(&[
            FlowEndpoints::Permutation(hosts.to_vec()),
            FlowEndpoints::AllToAll(others, vec![first]),
            FlowEndpoints::Pairs(across.map(|(&from, &to)| (from, to)).collect()),
        ])
    }

    /// All flows begin at `start`.
    fn traffic(&mut self, number: usize, hosts: &[NodeId], queues: usize, start: Time) -> Traffic {
        let rate = Rate::from_mbit(self.of(&[200, 900, 2_500]));
        let burst = Bytes::new(20_000);
        let phase = self.of(&[StartPhase::Together, StartPhase::Colliding, StartPhase::Random]);
        let kinds = [PacketKind::TokenBucket { rate, burst, phase }, PacketKind::ConstantRate { rate }];
        let sizes = [None, Some(FlowSizes::Uniform(Bytes::new(1), Bytes::new(40_000)))];
        let is_source = self.rng.random_bool(0.35);
        let workload = if is_source {
            Workload::Packets { kind: self.of(&kinds), frame: Bytes::new(self.rng.random_range(64..=1_538)) }
        } else {
            Workload::Flows(Reliable::new(FlowArrivals::Once, self.of(&sizes)))
        };
        let mut traffic = Traffic::new(&format!("traffic {number}"), self.ends(hosts), workload);
        traffic.queue = Some(self.rng.random_range(0..queues) as u8);
        traffic.start = start;
        if is_source && self.rng.random_bool(0.3) {
            let us = Time::from_micros;
            traffic.active = Some(Schedule::periodic(us(10), us(50), us(40)));
        }
        traffic
    }

    fn scenario(&mut self, case: u64) -> Scenario {
        let network = Arc::new(self.network(case));
        let hosts: Vec<NodeId> = network.hosts().collect();
        let queues = network.links().map(|(id, _)| network.queues(id).len()).max().unwrap();
        let mut scenario = Scenario::new("case", network, Time::from_micros(self.rng.random_range(150..300)));
        scenario.warmup = Time::from_micros(self.of(&[0, 0, 70]));
        scenario.switches = self.ports(queues);
        scenario.hosts = PortBehaviour { discipline: scenario.switches.discipline.clone(), ..PortBehaviour::default() };
        scenario.hosts.buffering = Buffering::Unlimited;
        scenario.routing = self.of(&[Routing::ecmp(), Routing::spraying()]);
        let kinds = [Congestion::fixed_window(7), Congestion::newreno(), Congestion::cubic(), Congestion::dctcp()];
        scenario.transport = TransportConfig {
            congestion: self.of(&kinds),
            min_timeout: Time::from_micros(self.of(&[60, 1_000])),
            pacing: self.of(&[Pacing::Off, Pacing::Window]),
            ..TransportConfig::default()
        };
        let start = Time::from_micros(self.of(&[0, 0, 15]));
        let count = self.rng.random_range(1..4);
        scenario.traffic = (0..count).map(|number| self.traffic(number, &hosts, queues, start)).collect();
        scenario
    }
}

/// Everything that a run found out, but for its memory.
fn found(scenario: &Scenario, seed: u64, threads: usize) -> String {
    let mut outcome = run_on(NonZeroUsize::new(threads).unwrap(), scenario, seed, |_| true).unwrap();
    assert_eq!(outcome.ending, RunEnd::Complete);
    outcome.packet_memory = 0;
    format!("{outcome:?}")
}

#[test]
fn the_outcome_does_not_depend_on_the_number_of_threads() {
    let (mut hops, mut drops, mut completed) = (0, 0, 0);
    for case in 0..40 {
        let mut maker = Maker { rng: ChaCha8Rng::seed_from_u64(case) };
        let scenario = maker.scenario(case);
        assert_eq!(obstacle(&scenario), None, "case {case}");
        let one = crate::run(&scenario, case, |_| true).unwrap();
        hops += one.hops;
        drops += one.queues.iter().map(|queue| queue.counts.drops).sum::<u64>();
        completed += one.traffic.iter().map(|traffic| traffic.completions.finished()).sum::<u64>();
        let one = found(&scenario, case, 1);
        for threads in 2..=4 {
            let several = found(&scenario, case, threads);
            let at = one.bytes().zip(several.bytes()).position(|(one, other)| one != other);
            let around =
                at.map(|at| (&one[at.saturating_sub(200)..at + 40], &several[at.saturating_sub(200)..at + 40]));
            assert!(one == several, "case {case}, {threads} threads: {around:#?}\n{scenario:?}");
        }
    }
    assert!(hops > 150_000 && drops > 500 && completed > 100, "{hops} hops, {drops} drops, {completed} flows");
}

/// A network of 1,500 links, whose events are in calendars.
#[test]
fn the_outcome_of_a_large_network_does_not_depend_on_the_number_of_threads() {
    let mut scenario = fat_tree(10);
    scenario.duration = Time::from_micros(100);
    let one = found(&scenario, 5, 1);
    for threads in 2..=3 {
        assert!(one == found(&scenario, 5, threads), "{threads} threads");
    }
}

/// A fat tree of k = 4 with a permutation of endless flows.
fn plain() -> Scenario {
    fat_tree(4)
}

fn fat_tree(k: u64) -> Scenario {
    let cabling = Cabling { rate: Rate::from_gbit(10), propagation: Time::from_micros(1), ..Cabling::default() };
    let network = Arc::new(build::fat_tree(&FatTree { k, cabling, ..FatTree::default() }).unwrap());
    let ends = FlowEndpoints::Permutation(network.hosts().collect());
    let mut scenario = Scenario::new("plain", network, Time::from_micros(300));
    scenario.traffic = vec![Traffic::new("bulk", ends, Workload::Flows(Reliable::new(FlowArrivals::Once, None)))];
    scenario
}

#[test]
fn a_run_that_cannot_be_divided_uses_one_thread_and_gives_a_reason() {
    let why = |change: &dyn Fn(&mut Scenario)| {
        let mut scenario = plain();
        change(&mut scenario);
        assert_eq!(found(&scenario, 1, 2), found(&scenario, 1, 1));
        obstacle(&scenario).map(|obstacle| obstacle.to_string())
    };
    assert_eq!(why(&|_| {}), None);
    assert_eq!(why(&|scenario| scenario.switches.telemetry = true).as_deref(), Some("packets carry telemetry"));
    let series = why(&|scenario| scenario.record.series = Some(Time::from_micros(10)));
    assert_eq!(series.as_deref(), Some("a trace or a series is recorded"));
    let poisson = why(&|scenario| {
        let kind = PacketKind::Poisson { rate: Rate::from_mbit(100) };
        scenario.traffic[0].workload = Workload::Packets { kind, frame: Bytes::new(500) };
    });
    assert_eq!(poisson.as_deref(), Some("traffic \"bulk\": its sources share random numbers"));
    let mut later = plain();
    later.traffic[0].workload =
        Workload::Flows(Reliable::new(FlowArrivals::Once, Some(FlowSizes::Fixed(Bytes::new(9_000)))));
    assert_eq!(obstacle(&later), None, "all of them begin at once");
    let mut second = later.traffic[0].clone();
    (second.name, second.start) = ("second".to_owned(), Time::from_micros(50));
    later.traffic.push(second);
    assert_eq!(obstacle(&later), Some(Obstacle::Traffic("bulk".to_owned(), TrafficObstacle::Ends)));
}

#[test]
fn a_run_on_several_threads_can_be_stopped() {
    let scenario = plain();
    let outcome = run_on(NonZeroUsize::new(3).unwrap(), &scenario, 1, |_| false).unwrap();
    assert_eq!(outcome.ending, RunEnd::Stopped);
}

#[test]
fn a_panic_of_one_thread_ends_the_others() {
    let threads = NonZeroUsize::new(3).unwrap();
    let run = || run_on(threads, &plain(), 1, |_| panic!("whoever looks at the run"));
    assert!(std::panic::catch_unwind(run).is_err());
}

#[test]
fn pods_stay_together_and_the_core_is_divided() {
    let network = build::fat_tree(&FatTree { k: 8, ..FatTree::default() }).unwrap();
    for parts in 2..=4 {
        let cut = Cut::new(&network, parts).unwrap();
        assert_eq!(cut.parts(), parts);
        let mut links = vec![0; parts];
        for (id, link) in network.links() {
            let (from, to) = cut.ends(id.0);
            links[from] += 1;
            let is_host = |node| network.node(node).kind == wayleave_topology::NodeKind::Host;
            assert!(from == to || !is_host(link.from) && !is_host(link.to), "a host is with its switch");
        }
        let (least, most) = (links.iter().min().unwrap(), links.iter().max().unwrap());
        assert!(most * 2 <= least * 3, "{links:?} links in {parts} parts");
        let crossings = network.links().filter(|(id, _)| cut.ends(id.0).0 != cut.ends(id.0).1).count();
        assert!(crossings * 3 <= network.links().len(), "{crossings} links are cut into {parts} parts");
    }
}
