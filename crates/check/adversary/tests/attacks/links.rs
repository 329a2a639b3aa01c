//! The worst demands on single links: they break minima that all other runs keep, and keep those that fit.

use std::sync::Arc;

use wayleave_adversary::{
    ClassAttack, ClassBreach, ClassFault, Effort, Pattern, TenantsClaim, TenantsReport, TestedMinimum, verify_tenants,
};
use wayleave_contracts::{
    BandwidthContract, BestEffortContract, Contract, Endpoints, FlowObjective, ObjectiveContract,
};
use wayleave_scenarios::{SharingTenant, Tenants};
use wayleave_topology::builders::{Cabling, Chain, build};
use wayleave_topology::{Classes, Network, NodeId, PortSpec, SharedLink, StrictResidual};
use wayleave_units::{Amount, Bytes, Rate, Time};

const LINE: Rate = Rate::from_gbit(10);
const FRAME: Bytes = Bytes::new(1_562);

/// Two switches with two hosts each, and one cable between them.
fn line() -> Arc<Network> {
    let cabling = Cabling {
        rate: LINE,
        propagation: Time::from_micros(1),
        switch_port: PortSpec::uniform(8, Bytes::new(500_000)),
        host_port: PortSpec::uniform(1, Bytes::new(500_000)),
        ..Cabling::default()
    };
    let network = build::line(&Chain { switches: 2, hosts_per_switch: 2, cabling }).unwrap();
    Arc::new(network.with_classes(Classes::default()).unwrap())
}

fn bandwidth(name: &str, between: Endpoints, mbit: u64) -> Contract {
    let (name, min) = (name.to_owned(), Rate::from_mbit(mbit));
    Contract::Bandwidth(BandwidthContract {
        name,
        tenant: None,
        between,
        min,
        max: None,
        weight: None,
        within: Some(Time::from_micros(800)),
    })
}

/// Returns contracts on a line, beside an objective and best effort, without an admission: nothing here depends on
/// one.
fn tenants(mut contracts: Vec<Contract>) -> Tenants {
    let (tenant, deadline, min) = (None, None, Rate::from_mbit(500));
    let (name, objective) = ("search".to_owned(), FlowObjective::Completion);
    contracts.push(Contract::Objective(ObjectiveContract {
        name,
        tenant: tenant.clone(),
        objective,
        deadline,
        members: hosts(),
        min,
    }));
    contracts.push(Contract::BestEffort(BestEffortContract {
        name: "bulk".to_owned(),
        tenant,
        members: hosts(),
        max: None,
    }));
    let network = line();
    let link = SharedLink { classes: Classes::default(), line: LINE, frame: FRAME, round_trip: Time::from_micros(20) };
    let residual = StrictResidual::below(LINE, Amount::from(Bytes::new(2 * FRAME.get())), Rate::ZERO, Amount::ZERO);
    let links = network.links().map(|_| (link, residual)).collect();
    let mut tenants = Tenants::new(&network, links).unwrap();
    for contract in contracts {
        tenants.add(SharingTenant { contract, within: Some(Time::from_micros(800)), route: None });
    }
    tenants
}

fn hosts() -> Vec<NodeId> {
    line().hosts().collect()
}

fn verified(tenants: &Tenants, fault: Option<ClassFault>) -> TenantsReport {
    let mut claim = TenantsClaim::of(tenants, Time::from_millis(8)).unwrap();
    claim.attack_links(tenants, &Effort::QUICK);
    fault.iter().for_each(|&fault| assert!(claim.break_by(fault), "{}", fault.name()));
    verify_tenants(&claim, &[ClassAttack::AsClaimed], 1).unwrap()
}

fn is_missed(breaches: &[(ClassAttack, ClassBreach)]) -> bool {
    breaches.iter().any(|(_, breach)| matches!(breach, ClassBreach::Minimum { .. }))
}

/// A hose of four has 4 Gbit/s at every host. Around a ring one of four crosses the cable, and to one host its own link binds. Both
/// hosts of a side can send to the other side: 8 Gbit/s, where 5.1 can be given.
#[test]
fn an_overbooked_cable_is_detected_only_by_its_worst_demand() {
    let report = verified(&tenants(vec![bandwidth("hose", Endpoints::Hose(hosts()), 4_000)]), None);
    assert!(report.whole.is_sound(), "{:#?}", report.whole);
    let broken: Vec<_> = report.links.iter().filter(|attack| is_missed(&attack.report.breaches)).collect();
    let network = line();
    assert!(broken.iter().any(|attack| network.link(attack.link).name == "s1->s2"), "{:#?}", report.links);
    assert!(!report.is_sound());
    assert!(report.minima.iter().all(|tested| tested.by.is_some()), "{:#?}", report.minima);
    assert!(report.minima.iter().any(|tested| tested.rate < Some(900)), "{:#?}", report.minima);
}

/// 5 Gbit/s fit into 5.1, in every pattern.
#[test]
fn minima_that_fit_on_the_cable_hold_in_every_pattern() {
    let report = verified(&tenants(vec![bandwidth("hose", Endpoints::Hose(hosts()), 2_500)]), None);
    assert!(report.is_sound(), "{report:#?}");
    let patterns: Vec<Pattern> = report.links.iter().take(3).map(|attack| attack.pattern).collect();
    assert_eq!(patterns, Pattern::ALL);
    assert_eq!((report.links.len(), report.links[0].demand), (6, Rate::from_mbit(5_000)));
    assert!(report.minima.iter().all(|tested| tested.rate >= Some(950)), "{:#?}", report.minima);
}

/// Links are attacked in the order of need, and a minimum that no attack asks for is not tested.
#[test]
fn a_minimum_without_an_attack_is_not_tested() {
    let hosts = hosts();
    let across = bandwidth("across", Endpoints::Hose(hosts.clone()), 2_000);
    let aside = bandwidth("aside", Endpoints::Pair(hosts[0], hosts[1]), 100);
    let tenants = tenants(vec![across, aside]);
    let mut claim = TenantsClaim::of(&tenants, Time::from_millis(4)).unwrap();
    let few = Effort::QUICK.with_seeds(1);
    claim.attack_links(&tenants, &few);
    let network = tenants.network();
    let attacked: Vec<&str> = claim.links.iter().map(|attack| network.link(attack.link).name.as_str()).collect();
    assert_eq!(attacked, ["s1->s2", "s1->s2", "s1->s2", "s2->s1", "s2->s1", "s2->s1"]);
    let report = verify_tenants(&claim, &[ClassAttack::AsClaimed], 1).unwrap();
    let aside = claim.whole.minima.iter().position(|promise| promise.service == "aside").unwrap();
    assert_eq!((report.minima[aside].by, report.minima[aside].rate), (None, None));
    assert!(report.minima[aside].lag.is_some(), "the run of all tenants asks for it");
    let nothing = verify_tenants(&claim, &[], 1).unwrap();
    let is_untested = |tested: &TestedMinimum| (tested.lag, tested.rate, tested.by) == (None, None, None);
    assert!(nothing.minima.iter().all(is_untested), "{:#?}", nothing.minima);
}

/// Faults of ports and of admission are seen by attacks on links alone.
#[test]
fn faults_are_detected_on_links() {
    let hosts = hosts();
    let pair = bandwidth("pair", Endpoints::Pair(hosts[0], hosts[2]), 2_500);
    let hose = bandwidth("hose", Endpoints::Hose(vec![hosts[1], hosts[3]]), 2_500);
    let tenants = tenants(vec![pair, hose]);
    assert!(verified(&tenants, None).is_sound());
    for fault in [ClassFault::WeightsReversed, ClassFault::ClassLeaked] {
        let report = verified(&tenants, Some(fault));
        let missed = report.links.iter().any(|attack| is_missed(&attack.report.breaches));
        assert!(missed, "{}: {:#?}", fault.name(), report.links);
    }
}
