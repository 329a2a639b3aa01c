//! Minima of one host whose interface is full: its turns decide, not windows.

use std::sync::Arc;

use wayleave_adversary::{ClassAttack, Effort, TenantsClaim, verify_tenants};
use wayleave_contracts::{BandwidthContract, Contract, Endpoints, FlowObjective, ObjectiveContract};
use wayleave_scenarios::{FabricSettings, Tenants};
use wayleave_topology::builders::{Cabling, build};
use wayleave_topology::{Classes, Network, NodeId, PortSpec};
use wayleave_units::{Bytes, Rate, Time};

/// Six hosts at 10 Gbit/s, of which minima and weights have 5.1.
fn star() -> Arc<Network> {
    let cabling = Cabling {
        rate: Rate::from_gbit(10),
        propagation: Time::from_micros(8),
        switch_port: PortSpec::uniform(8, Bytes::new(1_000_000)),
        host_port: PortSpec::uniform(1, Bytes::new(1_000_000)),
        ..Cabling::default()
    };
    Arc::new(build::star(6, cabling).unwrap().with_classes(Classes::default()).unwrap())
}

/// Pairs from the first host to others (1 to 5) with minima in Mbit/s, beside an objective of all hosts, which fills what minima leave.
#[track_caller]
fn assert_kept(pairs: &[(usize, u64)]) {
    let network = star();
    let hosts: Vec<NodeId> = network.hosts().collect();
    let pair = |(number, &(to, mbit)): (usize, &(usize, u64))| {
        Contract::Bandwidth(BandwidthContract {
            name: format!("n{number}"),
            tenant: None,
            between: Endpoints::Pair(hosts[0], hosts[to]),
            min: Rate::from_mbit(mbit),
            max: None,
            weight: None,
            within: None,
        })
    };
    let mut contracts: Vec<Contract> = pairs.iter().enumerate().map(pair).collect();
    contracts.push(Contract::Objective(ObjectiveContract {
        name: "o".to_owned(),
        tenant: None,
        objective: FlowObjective::Completion,
        deadline: None,
        members: hosts,
        min: Rate::from_mbit(200),
    }));
    let (tenants, refused) = Tenants::admit(&network, &contracts, &FabricSettings::default()).unwrap();
    assert_eq!(refused, Vec::<String>::new());
    let mut claim = TenantsClaim::of(&tenants, Time::from_millis(8)).unwrap();
    claim.attack_links(&tenants, &Effort::QUICK);
    let report = verify_tenants(&claim, &[ClassAttack::AsClaimed], 1).unwrap();
    assert!(report.is_sound(), "{:#?}", report.minima);
    // A minimum of a frame in 8 ms is not tested.
    let rates: Vec<u64> = report.minima.iter().filter_map(|tested| tested.rate).collect();
    assert!(report.minima[0].rate.is_some() && rates.iter().all(|&rate| rate >= 950), "{rates:?}");
}

/// With deficit round robin the pair of 1.6 Gbit/s had 67 % for good: of each turn of others, which was as long as their windows, it had one packet.
#[test]
fn several_pairs_between_the_same_hosts() {
    assert_kept(&[(3, 200), (3, 1_600), (3, 1_000), (5, 1_000), (4, 1_000)]);
}

/// In the eight steps of the text, 2,480 and 1,255 Mbit/s have the same weight: the larger one had 80 %.
#[test]
fn minima_that_differ_by_less_than_a_factor_of_two() {
    assert_kept(&[(1, 2_480), (2, 1_255), (3, 1_255)]);
}

/// With start-time fair queueing the large one had 33 %: it waited for a packet of each small one.
#[test]
fn one_large_minimum_beside_a_hundred_small_ones() {
    let small = (0..100).map(|number| (1 + number % 5, 23));
    assert_kept(&std::iter::once((1, 2_400)).chain(small).collect::<Vec<_>>());
}

/// Most of the interface is one pair's: it has its turn again before others have all had theirs.
#[test]
fn one_minimum_of_most_of_the_line_beside_two_hundred_small_ones() {
    let small = (0..200).map(|number| (1 + number % 5, 1));
    assert_kept(&std::iter::once((1, 4_500)).chain(small).collect::<Vec<_>>());
}
