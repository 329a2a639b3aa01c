//! Ledgers of earlier formats.

use wayleave_contracts::{ContractKind, ContractRequest, Priority};
use wayleave_controller::{BudgetPolicy, Controller, ControllerConfig, EnforcedBy, Id, RecordKind, State};
use wayleave_scheme_api::Certainty;
use wayleave_schemes::admission::chameleon::DefaultBudgets;
use wayleave_schemes::admission::fabric::Settings;
use wayleave_topology::builders::{Cabling, FatTree, LeafSpine, build};
use wayleave_topology::{Classes, Network};
use wayleave_units::{Rate, Time};

use super::smoke::{apply, at, classed, classed_with, order, reload};

fn setup(network: Network) -> ControllerConfig {
    classed(network, Settings::default(), EnforcedBy::Nobody)
}

fn cabling() -> Cabling {
    Cabling { rate: Rate::from_gbit(10), propagation: Time::from_micros(1), ..Cabling::default() }
}

fn id(name: &str) -> Id {
    Id::new("default", name)
}

/// Returns the records of a contract on disk, with their kinds.
fn records(controller: &Controller, serial: u64) -> Vec<(RecordKind, String)> {
    let key = format!("{serial:020}");
    let of = controller.records().into_iter().filter(|one| one.key == key);
    of.filter_map(|one| Some((one.kind, one.body?.to_string()))).collect()
}

/// The records of a ledger of format 1 with one latency contract that is enforced, as the version before contracts of every kind wrote them.
const FORMAT_1: [(RecordKind, &str, &str); 3] = [
    (
        RecordKind::Controller,
        "counters",
        r#"{"serial":1,"revision":3,"decision":1,"leaving":0,"event":1,"answer":0,"generation":1}"#,
    ),
    (RecordKind::Tenant, "default", r#"{"revision":1}"#),
    (
        RecordKind::OldLatency,
        "00000000000000000001",
        r#"{"tenant":"default","name":"ptp","from":"h1","to":"h16","from_host":"h1","to_host":"h16","rate_bps":10000000,"burst_bytes":3000,"deadline_ns":5000000,"protection":1,"priority":50,"revision":3,"created":1795422499425400369,"decision":1,"bound_ns":2206000,"places":[{"hops":[["h1->pod1-edge1",0],["pod1-edge1->pod1-agg1",0],["pod1-agg1->core1",0],["core1->pod4-agg1",1],["pod4-agg1->pod4-edge2",1],["pod4-edge2->h16",1]],"placed":1,"rate_bps":10000000,"burst_bytes":3000}],"sender":{"version":1,"run":1,"since":1,"told":[1,true],"confirmed":[1,true]}}"#,
    ),
];

#[test]
fn a_ledger_of_format_1_opens_with_its_queues_and_bounds() {
    let network = build::fat_tree(&FatTree { k: 4, cabling: cabling(), ..FatTree::default() }).unwrap();
    let setup = setup(network);
    let mut old = Controller::load(&setup, at(0).wall, FORMAT_1).unwrap();
    let mut new = Controller::load(&setup, at(0).wall, []).unwrap();
    apply(&mut new, at(0), order(&setup.network, "ptp", "h1", "h16")).result.unwrap();
    assert!(old.ledger() == new.ledger());
    let (was, is) = (old.grant(&id("ptp")).unwrap(), new.grant(&id("ptp")).unwrap());
    assert_eq!((was.bound(), was.versions()), (is.bound(), is.versions()));
    let other = order(&setup.network, "other", "h2", "h15");
    apply(&mut old, at(1), other).result.unwrap();
    let again = reload(&old, &setup);
    assert!(again.ledger() == old.ledger());
    assert_eq!(records(&again, 1), records(&old, 1));
}

/// A budget is a part of every bound, so a ledger keeps the rule with which its contracts were admitted.
#[test]
fn a_ledger_keeps_the_default_budgets_with_which_it_was_created() {
    let setup = |budgets| {
        let network = build::fat_tree(&FatTree { k: 4, cabling: cabling(), ..FatTree::default() }).unwrap();
        classed_with(budgets, network, Settings::default(), EnforcedBy::Nobody)
    };
    let [by_link, published] =
        [DefaultBudgets::ByLink, DefaultBudgets::Published].map(|new| setup(BudgetPolicy::Recorded { new }));
    let bound = |controller: &Controller| controller.grant(&id("ptp")).unwrap().bound().unwrap();
    // A ledger of an older version records none, and an upgraded one reloads with those that it had.
    let old = Controller::load(&by_link, at(0).wall, FORMAT_1).unwrap();
    assert_eq!(bound(&old), Time::from_nanos(2_206_000));
    assert_eq!(bound(&reload(&old, &by_link)), bound(&old));
    let mut new = Controller::load(&by_link, at(0).wall, []).unwrap();
    apply(&mut new, at(0), order(&by_link.network, "ptp", "h1", "h16")).result.unwrap();
    assert_ne!(bound(&new), bound(&old));
    let again = reload(&new, &published);
    assert_eq!(bound(&again), bound(&new));
    assert!(again.ledger() == new.ledger());
    // Only an operator changes them.
    let stated = setup(BudgetPolicy::Stated(DefaultBudgets::ByLink));
    let changed = Controller::load(&stated, at(0).wall, FORMAT_1).unwrap();
    assert!(bound(&changed) < bound(&old));
    assert_eq!(bound(&reload(&changed, &published)), bound(&changed));
}

/// Contracts of all kinds, a policy and a host that is down, as version 0.2.0 wrote them (`wayleave serve -t docs/examples/network-fabric.yaml`).
const FORMAT_4: &str = include_str!("format-4.tsv");

fn format_4() -> impl Iterator<Item = (RecordKind, &'static str, &'static str)> {
    FORMAT_4.lines().map(|line| {
        let mut parts = line.splitn(3, '\t');
        let mut next = || parts.next().unwrap();
        (RecordKind::of(next()).unwrap(), next(), next())
    })
}

#[test]
fn a_ledger_of_format_4_opens_to_the_same_contracts() {
    let shape = LeafSpine { leaves: 2, spines: 2, hosts_per_leaf: 4, cabling: cabling(), ..LeafSpine::default() };
    let classes = Classes { latency: 5, guaranteed: 6, objective: 3, best_effort: 1, ..Classes::default() };
    let setup = setup(build::leaf_spine(&shape).unwrap().with_classes(classes).unwrap());
    let mut controller = Controller::load(&setup, at(0).wall, format_4()).unwrap();
    // As `wayleave get contracts` of 0.2.0 showed them.
    let seen: Vec<_> = controller
        .grants()
        .map(|grant| {
            let promised = (grant.certainty(), grant.bound().map(Time::as_nanos), grant.order.priority.get());
            (grant.id.name.as_str(), grant.order.kind(), grant.state, promised)
        })
        .collect();
    let proven = Some(Certainty::Proven);
    let expected = [
        ("bulk", ContractKind::BestEffort, State::Admitted, (None, None, 50)),
        ("camera", ContractKind::Latency, State::Admitted, (None, Some(1_204_000), 50)),
        ("copy", ContractKind::Bandwidth, State::Degraded, (proven, None, 50)),
        ("db", ContractKind::Bandwidth, State::Admitted, (Some(Certainty::Measured), None, 70)),
        ("index", ContractKind::Objective, State::Admitted, (proven, None, 50)),
        ("later", ContractKind::Latency, State::Pending, (None, Some(1_204_000), 50)),
        ("robot", ContractKind::Latency, State::Admitted, (None, Some(804_000), 80)),
        ("search", ContractKind::Objective, State::Admitted, (proven, None, 50)),
        ("twice", ContractKind::Latency, State::Admitted, (None, Some(1_604_000), 50)),
    ];
    assert_eq!(seen, expected);
    assert_eq!(controller.grant(&id("robot")).unwrap().order.matching.unwrap().destination_port.unwrap().get(), 319);
    assert_eq!(controller.policies().count(), 1);
    let again = reload(&controller, &setup);
    assert!(again.ledger() == controller.ledger());
    for grant in controller.grants() {
        assert_eq!(again.grant(&grant.id).unwrap().order, grant.order);
        assert_eq!(records(&again, grant.serial), records(&controller, grant.serial), "{}", grant.id);
    }
    // A record is replaced when its contract changes, and not before.
    controller.take_output();
    for (name, old) in [("robot", RecordKind::OldLatency), ("db", RecordKind::OldShare), ("bulk", RecordKind::OldShare)]
    {
        let grant = controller.grant(&id(name)).unwrap();
        let (serial, order) =
            (grant.serial, ContractRequest { priority: Priority::new(9).unwrap(), ..grant.order.clone() });
        apply(&mut controller, at(1), order).result.unwrap();
        let key = format!("{serial:020}");
        let changes = controller.take_output().changes;
        let of: Vec<_> =
            changes.iter().filter(|one| one.key == key).map(|one| (one.kind, one.body.is_some())).collect();
        assert_eq!(of, [(old, false), (RecordKind::Contract, true)], "{name}");
    }
}
