//! Findings for tests: a fat tree, and contenders with names that need escaping.

use std::time::Duration;

use wayleave_units::{Bytes, Rate, Time};

use super::findings::*;
use super::scale::ShareOfWhole;

/// The nodes and links of a k-ary fat tree.
pub(crate) fn fat_tree(k: usize) -> (Vec<DrawnNode>, Vec<DrawnLink>) {
    let half = k / 2;
    let mut nodes: Vec<DrawnNode> = (0..half * half)
        .map(|i| DrawnNode { name: format!("core{}", i + 1), tier: NodeTier::Core, pod: None })
        .collect();
    let mut links = Vec::new();
    let add = |nodes: &mut Vec<DrawnNode>, name: String, tier: NodeTier, pod: usize| {
        nodes.push(DrawnNode { name, tier, pod: Some(pod) });
        nodes.len() - 1
    };
    let mut join = |nodes: &[DrawnNode], low: usize, high: usize, up: LinkTier, down: LinkTier| {
        for (from, to, tier) in [(low, high, up), (high, low, down)] {
            let name = format!("{}->{}", nodes[from].name, nodes[to].name);
            links.push(DrawnLink { name, from, to, tier, rate: Rate::from_gbit(1) });
        }
    };
    for pod in 0..k {
        let aggs: Vec<usize> = (0..half)
            .map(|i| add(&mut nodes, format!("pod{}-agg{}", pod + 1, i + 1), NodeTier::Aggregation, pod))
            .collect();
        for (i, &agg) in aggs.iter().enumerate() {
            for core in i * half..(i + 1) * half {
                join(&nodes, agg, core, LinkTier::AggregationToCore, LinkTier::CoreToAggregation);
            }
        }
        for i in 0..half {
            let edge = add(&mut nodes, format!("pod{}-edge{}", pod + 1, i + 1), NodeTier::Edge, pod);
            for &agg in &aggs {
                join(&nodes, edge, agg, LinkTier::EdgeToAggregation, LinkTier::AggregationToEdge);
            }
            for j in 0..half {
                let number = (pod * half + i) * half + j + 1;
                let host = add(&mut nodes, format!("h{number}"), NodeTier::Host, pod);
                join(&nodes, host, edge, LinkTier::HostToEdge, LinkTier::EdgeToHost);
            }
        }
    }
    (nodes, links)
}

/// Findings that are made up, with every kind of thing in them.
pub(crate) fn findings() -> Findings {
    let (nodes, links) = fat_tree(4);
    let contenders = vec![contender("First & <best>", &links, 7, 1_940), contender("Last \"one\"", &links, 2, 461)];
    let answers = vec![
        ContenderDecision::Admitted { bound: Time::from_millis(1), queues: vec![0, 1, 2], moved: 3 },
        ContenderDecision::Refused("LATENCY"),
    ];
    Findings {
        setting: ReportSetting {
            version: "0.1.0",
            command: "wayleave demo --scenario 8 --out 'a & b'".into(),
            topology: "fat-tree:k=4,queues=8".into(),
            scenario: 8,
            seed: 1,
            requests: 2_500,
            parameters: vec![("service", "full <convex> curve".into())],
        },
        decisions: vec![DecisionRow { ask: ask(1), answers }],
        proof: Some(proof(&links)),
        nodes,
        links,
        contenders,
        verified: verified(),
    }
}

fn verified() -> VerifiedSet {
    let contract = |number: u64| VerifiedContract {
        name: format!("ptp-<{number}>"),
        bound: Time::from_micros(600 * number),
        today: Some(Time::from_micros(400)),
        worst: Time::from_micros(310),
        drops: 0,
    };
    VerifiedSet {
        contracts: (1..=9).map(contract).collect(),
        runs: 107,
        packets: 585_400,
        shares: vec![(0.01, 0.5), (0.3, 0.9), (0.52, 1.0)],
        violations: Vec::new(),
    }
}

fn ask(number: usize) -> RequestRow {
    RequestRow {
        number,
        name: format!("ptp-<{number}>"),
        from: "h1".into(),
        to: "h16".into(),
        rate: Rate::from_bits_per_second(143_217),
        burst: Bytes::new(201),
        deadline: Time::from_nanos(2_914_567),
    }
}

fn proof(links: &[DrawnLink]) -> BoundTerms {
    let hop = |(index, link): (usize, &DrawnLink)| ProofHop {
        link: link.name.clone(),
        queue: index as u8,
        budget: Time::from_micros(100),
        worst_now: Time::from_nanos(31_234),
        flows: 17,
    };
    let hops = links.iter().take(6).enumerate().map(hop).collect();
    BoundTerms { ask: ask(7), hops, constants: Time::ZERO, bound: Time::from_micros(600) }
}

fn contender(name: &'static str, links: &[DrawnLink], step: u64, admitted: usize) -> Contender {
    let link = |index: usize| LinkUse {
        reserved: Rate::from_mbit(index as u64 * step % 1_001),
        flows: index,
        fullest: ShareOfWhole::of(index as f64, 100.0),
    };
    let level = |queue: usize| QueueLevel {
        place: if queue == 0 { PortKind::Host } else { PortKind::Switch },
        queue: queue.saturating_sub(1),
        role: match queue {
            7 => LevelRole::Unused,
            8 => LevelRole::BestEffort,
            _ => LevelRole::Contracts {
                budget: Time::from_micros(500),
                used_most: ShareOfWhole::of(9.0, 10.0),
                used_mean: ShareOfWhole::of(3.0, 10.0),
                flows: 100 * queue,
            },
        },
    };
    Contender {
        name,
        about: "admits <everything>.",
        options: "--scheme 'a & b'".into(),
        before_refusal: admitted / 2,
        admitted,
        first_refusal: Some(FirstRefusal { ask: ask(admitted / 2 + 1), why: "it was <full>".into() }),
        reasons: vec![("LATENCY", 2_500 - admitted)],
        time_to_admit: Some(Duration::from_nanos(3_100)),
        time_to_refuse: None,
        moves: 12,
        links: (0..links.len()).map(link).collect(),
        levels: (0..9).map(level).collect(),
        recheck: Recheck { flows: admitted, queues: 300, violations: Vec::new() },
    }
}
