//! Random workloads of long steady traffic.

use std::sync::Arc;

use wayleave_scenarios::{
    Buffering, Collective, CollectiveExchange, Congestion, Ecn, Endpoint, FlowArrivals, FlowEndpoints, FlowSizes, Job,
    Scenario, Traffic, Workload,
};
use wayleave_topology::builders::{Cabling, FatTree, LeafSpine, build};
use wayleave_topology::{Network, NodeId};
use wayleave_units::{Bytes, Rate, Time};

/// Random numbers of a workload.
pub(crate) struct Dice(u64);

impl Dice {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x5851_f42d_4c95_7f2d)
    }

    /// From `low` to `high`, with both.
    pub(crate) fn within(&mut self, low: u64, high: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        low + (self.0 >> 33) % (high - low + 1)
    }

    fn of<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.within(0, all.len() as u64 - 1) as usize]
    }

    fn shuffled(&mut self, hosts: &[NodeId]) -> Vec<NodeId> {
        let mut hosts = hosts.to_vec();
        for at in (1..hosts.len()).rev() {
            hosts.swap(at, self.within(0, at as u64) as usize);
        }
        hosts
    }
}

/// Kind of a workload.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Class {
    Permutation,
    Incast,
    Bulk,
    RingAllReduce,
    OtherCollective,
    JobsAndBulk,
    /// Flows that share some ports of both ends, begin together and yield to one another.
    Crossing,
    /// Flows that come to ports where others are steady, some at the very instant at which a segment leaves.
    Joining,
}

pub(crate) const CLASSES: [Class; 8] = [
    Class::Permutation,
    Class::Incast,
    Class::Bulk,
    Class::RingAllReduce,
    Class::OtherCollective,
    Class::JobsAndBulk,
    Class::Crossing,
    Class::Joining,
];

/// Whole segments of 1,500 B and of 9,000 B in this time at 10, 25 and 100 Gbit/s, in ns: 1,538 B and 9,038 B on the wire.
const WHOLE_SEGMENTS: [u64; 2] = [12_304, 72_304];

/// A workload.
pub(crate) struct Drawn {
    pub(crate) class: Class,
    pub(crate) control: &'static str,
    pub(crate) scenario: Scenario,
}

/// The workload of a seed. `scale`: how long transfers are, in per cent.
pub(crate) fn draw(seed: u64, scale: u64) -> Drawn {
    let mut dice = Dice::new(seed);
    let class = CLASSES[(seed % CLASSES.len() as u64) as usize];
    let network = network(&mut dice);
    let hosts: Vec<NodeId> = network.hosts().collect();
    let mut scenario = Scenario::new("workload", Arc::new(network), Time::from_millis(4_000));
    let control = transport(&mut dice, &mut scenario);
    let mega = move |dice: &mut Dice, low: u64, high: u64| dice.within(low * scale * 10_000, high * scale * 10_000);
    let order = dice.shuffled(&hosts);
    match class {
        Class::Permutation => {
            let used = dice.within(order.len() as u64 / 2, order.len() as u64) as usize;
            for at in 0..used {
                let (from, to) = (order[at], order[(at + 1) % used]);
                let size = mega(&mut dice, 4, 40);
                let start = dice.within(0, 2_000) * 1_000;
                add(&mut scenario, (from, to), size, start);
            }
        }
        Class::Incast => {
            let senders = dice.within(2, 8) as usize;
            let size = mega(&mut dice, 4, 20);
            for &from in &order[1..=senders] {
                let start = dice.within(0, 200) * 1_000;
                add(&mut scenario, (from, order[0]), size, start);
            }
            for pair in order[senders + 1..].chunks_exact(2).take(3) {
                let (size, start) = (mega(&mut dice, 4, 40), dice.within(0, 5_000) * 1_000);
                add(&mut scenario, (pair[0], pair[1]), size, start);
            }
        }
        Class::Bulk => bulk(&mut dice, &mut scenario, &order, 12, &mega),
        Class::RingAllReduce => {
            let ranks = dice.within(4, 16).min(order.len() as u64) as usize;
            let size = mega(&mut dice, 20, 120);
            let graph = exchange(&mut dice, Collective::RingAllReduce, size);
            add_job(&mut scenario, &order[..ranks], graph);
        }
        Class::OtherCollective => {
            let collective = dice.of(&Collective::ALL[1..]).1;
            let ranks = dice.of(&[4, 8]);
            let size = mega(&mut dice, 20, 80);
            let graph = exchange(&mut dice, collective, size);
            add_job(&mut scenario, &order[..ranks], graph);
        }
        Class::JobsAndBulk => {
            let (size, other) = (mega(&mut dice, 20, 60), mega(&mut dice, 20, 60));
            let graph = exchange(&mut dice, Collective::RingAllReduce, size);
            add_job(&mut scenario, &order[..4], graph);
            let graph = exchange(&mut dice, Collective::AllToAll, other);
            add_job(&mut scenario, &order[4..8], graph);
            bulk(&mut dice, &mut scenario, &order, 4, &mega);
        }
        Class::Crossing => {
            let buffer = Bytes::new(500_000);
            scenario.switches.buffering = Buffering::EachQueue(buffer);
            for _ in 0..3 {
                let (size, start) = (mega(&mut dice, 5, 20), dice.of(&[0, 0, 3_000]));
                for _ in 0..dice.within(3, 5) {
                    let pair = (dice.of(&order[..6]), dice.of(&order[3..9]));
                    if pair.0 != pair.1 {
                        add(&mut scenario, pair, size, start * 1_000);
                    }
                }
            }
        }
        Class::Joining => {
            let size = mega(&mut dice, 20, 60);
            for pair in order[..8].chunks_exact(2) {
                add(&mut scenario, (pair[0], pair[1]), size, 0);
            }
            let largest = scenario.transport.mtu;
            let whole = WHOLE_SEGMENTS[usize::from(largest.get() > 1_500)];
            for _ in 0..dice.within(2, 6) {
                let pair = (dice.of(&order[..8]), dice.of(&order[..8]));
                let start = match dice.within(0, 1) {
                    0 => whole * dice.within(10, 1_000),
                    _ => dice.within(100_000, 20_000_000),
                };
                if pair.0 != pair.1 {
                    let size = mega(&mut dice, 1, 10);
                    add(&mut scenario, pair, size, start);
                }
            }
        }
    }
    Drawn { class, control, scenario }
}

fn network(dice: &mut Dice) -> Network {
    let rate = Rate::from_gbit(dice.of(&[10, 25, 100]));
    let mtu = Bytes::new(dice.of(&[1_500, 9_000]));
    let mut cabling =
        Cabling { rate, mtu, propagation: Time::from_nanos(dice.of(&[500, 1_000])), ..Cabling::default() };
    let buffer = Bytes::new(dice.of(&[50_000, 125_000]));
    cabling.switch_port.queues.iter_mut().for_each(|queue| queue.buffer = buffer);
    match dice.within(0, 4) {
        0 | 1 => build::fat_tree(&FatTree { k: 4, cabling, ..FatTree::default() }).unwrap(),
        2 => build::fat_tree(&FatTree { k: 8, cabling, ..FatTree::default() }).unwrap(),
        _ => {
            let (leaves, spines) = (dice.within(2, 4), dice.within(2, 4));
            build::leaf_spine(&LeafSpine { leaves, spines, hosts_per_leaf: 8, cabling, ..LeafSpine::default() })
                .unwrap()
        }
    }
}

fn transport(dice: &mut Dice, scenario: &mut Scenario) -> &'static str {
    let controls = [
        ("newreno", Congestion::NewReno(Default::default())),
        ("cubic", Congestion::Cubic(Default::default())),
        ("dctcp", Congestion::Dctcp(Default::default())),
        ("swift", Congestion::Swift(Default::default())),
    ];
    let (name, congestion) = &controls[dice.of(&[0, 1, 2, 2, 2, 3])];
    let mtu = scenario.network.links().map(|(_, link)| link.mtu).max().unwrap();
    scenario.transport.congestion = congestion.clone();
    scenario.transport.mtu = mtu;
    scenario.transport.min_timeout = Time::from_millis(1);
    scenario.transport.first_timeout = Time::from_millis(1);
    if *name == "dctcp" {
        scenario.switches.ecn = Ecn::above(Bytes::new(mtu.get() * dice.of(&[20, 40]))).into();
    }
    name
}

fn add(scenario: &mut Scenario, (from, to): (NodeId, NodeId), size: u64, start_ns: u64) {
    let name = format!("f{}", scenario.traffic.len());
    let sizes = FlowSizes::Fixed(Bytes::new(size));
    let mut flow = Traffic::flows(&name, FlowEndpoints::Pairs(vec![(from, to)]), FlowArrivals::Once, sizes);
    flow.start = Time::from_nanos(start_ns);
    scenario.traffic.push(flow);
}

fn bulk(
    dice: &mut Dice,
    scenario: &mut Scenario,
    hosts: &[NodeId],
    count: u64,
    mega: &dyn Fn(&mut Dice, u64, u64) -> u64,
) {
    for _ in 0..dice.within(2, count) {
        let from = dice.of(hosts);
        let to = dice.of(hosts);
        if from != to {
            let (size, start) = (mega(dice, 2, 60), dice.within(0, 20_000) * 1_000);
            add(scenario, (from, to), size, start);
        }
    }
}

fn exchange(dice: &mut Dice, collective: Collective, size: u64) -> CollectiveExchange {
    let compute = Time::from_micros(dice.of(&[0, 200]));
    CollectiveExchange { collective, data: Bytes::new(size), chunks: dice.of(&[1, 1, 2]), compute }
}

fn add_job(scenario: &mut Scenario, ranks: &[NodeId], exchange: CollectiveExchange) {
    let graph = Arc::new(exchange.graph(ranks.len() as u32).unwrap());
    let ranks: Vec<Endpoint> = ranks.iter().map(|&rank| rank.into()).collect();
    let job = Job::new(ranks, graph, 2).unwrap();
    let pairs = job.pairs();
    let name = format!("j{}", scenario.traffic.len());
    scenario.traffic.push(Traffic::new(&name, FlowEndpoints::Pairs(pairs), Workload::Job(job)));
}
