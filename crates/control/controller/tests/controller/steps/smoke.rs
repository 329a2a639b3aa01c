//! The life of a contract, step by step.

use std::sync::Arc;

use wayleave_contracts::{ContractRequest, LatencyContract};
use wayleave_controller::{
    BudgetPolicy, Command, CommandError, Controller, ControllerConfig, Effect, ElementName, EnforcedBy, Id, ItemResult,
    Mode, Outcome, Precondition, RecordKind, Reply, SchemeFactory, State, Timeouts, Timestamps, UnfitPolicy,
};
use wayleave_ledger::Model;
use wayleave_protocol::agent::{Operation, Work};
use wayleave_schemes::admission::chameleon::{Allocation, Chameleon, DefaultBudgets, Params};
use wayleave_schemes::admission::fabric::{Fabric, Settings};
use wayleave_topology::builders::{FatTree, build};
use wayleave_topology::{Classes, Hop, Network, Route};
use wayleave_units::{Bytes, Rate, Time, WallTime};

pub(super) fn setup(enforced_by: EnforcedBy) -> ControllerConfig {
    let network = Arc::new(build::fat_tree(&FatTree::default()).unwrap());
    let of = network.clone();
    ControllerConfig {
        scheme: SchemeFactory::fixed(move || {
            Chameleon::new(of.clone(), Model::default(), Params::default()).unwrap().into()
        }),
        network,
        model: Model::default(),
        enforced_by,
        timing: Timeouts::default(),
        unfit: UnfitPolicy::Refuse,
    }
}

/// A network whose queues are divided among classes, with the scheme for contracts of every kind.
pub(super) fn classed(network: Network, settings: Settings, enforced_by: EnforcedBy) -> ControllerConfig {
    let budgets = BudgetPolicy::Recorded { new: DefaultBudgets::Published };
    classed_with(budgets, network, settings, enforced_by)
}

/// The same with other default delay budgets.
pub(super) fn classed_with(
    budgets: BudgetPolicy,
    network: Network,
    settings: Settings,
    enforced_by: EnforcedBy,
) -> ControllerConfig {
    let network = Arc::new(network.with_classes(Classes::default()).unwrap());
    let of = network.clone();
    let make = move |defaults| {
        let allocation = Allocation { defaults, ..Allocation::default() };
        let params = Params { allocation, ..Params::default() };
        Fabric::new(of.clone(), Model::default(), params, &settings).unwrap().into()
    };
    ControllerConfig { scheme: SchemeFactory::new(budgets, make), network, ..setup(enforced_by) }
}

pub(super) fn at(ms: u64) -> Timestamps {
    Timestamps { steady: Time::from_millis(ms), wall: WallTime::from_nanos(1_700_000_000_000_000_000 + ms * 1_000_000) }
}

pub(super) fn order(network: &Network, name: &str, from: &str, to: &str) -> ContractRequest {
    let contract = LatencyContract::new(
        name,
        network.find_node(from).unwrap(),
        network.find_node(to).unwrap(),
        Rate::from_mbit(10),
        Bytes::new(3000),
        Time::from_millis(5),
    );
    ContractRequest::plain(contract, &[from, to])
}

pub(super) fn apply(controller: &mut Controller, now: Timestamps, order: impl Into<ContractRequest>) -> ItemResult {
    let command =
        Command::Apply { orders: vec![(order.into(), Precondition::None)], mode: Mode::Each, effect: Effect::Commit };
    let Ok(Reply::Each(mut applied)) = controller.handle(now, command) else { panic!("an answer for each") };
    applied.remove(0)
}

pub(super) fn reload(controller: &Controller, setup: &ControllerConfig) -> Controller {
    let records: Vec<(RecordKind, String, std::sync::Arc<str>)> =
        controller.records().into_iter().filter_map(|change| Some((change.kind, change.key, change.body?))).collect();
    let records = records.iter().map(|(kind, key, body)| (*kind, key.as_str(), &**body));
    Controller::load(setup, at(0).wall, records).unwrap()
}

pub(super) fn installs(operations: &[Operation]) -> Vec<(u64, u64)> {
    let installs = operations.iter().filter(|one| matches!(one.work, Work::Install { .. }));
    installs.map(|one| (one.serial, one.version)).collect()
}

#[test]
fn a_contract_is_admitted_enforced_released_and_removed() {
    let setup = setup(EnforcedBy::Hosts);
    let mut controller = Controller::load(&setup, at(0).wall, []).unwrap();
    let empty = controller.ledger().clone();
    let id = Id::new("default", "a");
    let applied = apply(&mut controller, at(1), order(&setup.network, "a", "h1", "h16"));
    assert_eq!(applied.result, Ok(Outcome::Created));
    assert_eq!(controller.grant(&id).unwrap().state, State::Admitted);
    let Ok(Reply::Begun { epoch }) =
        controller.handle(at(2), Command::Begin { node: "h1".into(), after: 0, installed: vec![] })
    else {
        panic!()
    };
    let work = installs(&controller.outbox("h1"));
    assert_eq!(work, [(1, 1)]);
    let confirm = |epoch, done| Command::Confirm { node: "h1".into(), epoch, done };
    assert!(controller.handle(at(2), confirm(epoch + 1, work.clone())).is_err(), "a session that never was");
    controller.handle(at(3), confirm(epoch, work)).unwrap();
    assert_eq!(controller.grant(&id).unwrap().state, State::Enforced);
    let bound = controller.grant(&id).unwrap().bound().unwrap();

    let mut controller = reload(&controller, &setup);
    assert_eq!(controller.grant(&id).unwrap().state, State::Enforced);
    controller.handle(at(4), Command::Delete { ids: vec![(id.clone(), Precondition::None)] }).unwrap();
    assert_eq!(controller.grant(&id).unwrap().state, State::Released);
    assert!(*controller.ledger() != empty, "its sender may still send");
    let Ok(Reply::Begun { epoch }) =
        controller.handle(at(5), Command::Begin { node: "h1".into(), after: 1, installed: vec![(1, 1)] })
    else {
        panic!()
    };
    let work: Vec<(u64, u64)> = controller.outbox("h1").iter().map(|one| (one.serial, one.version)).collect();
    assert_eq!(work, [(1, 2)], "it is to be removed");
    controller.handle(at(6), confirm(epoch, work)).unwrap();
    assert!(*controller.ledger() != empty, "packets are under way");
    let later = Timestamps { steady: at(6).steady + bound, ..at(6) };
    assert_eq!(controller.due().0, Some(later.steady));
    controller.tick(later);
    assert!(*controller.ledger() == empty && controller.grant(&id).is_none());
    assert!(reload(&controller, &setup).grants().next().is_none());
}

#[test]
fn failed_elements_reroute_or_degrade_contracts_and_recover() {
    let setup = setup(EnforcedBy::Nobody);
    let mut controller = Controller::load(&setup, at(0).wall, []).unwrap();
    for name in ["a", "b"] {
        assert!(apply(&mut controller, at(1), order(&setup.network, name, "h1", "h16")).result.is_ok());
    }
    let id = Id::new("default", "a");
    let route = |controller: &Controller| controller.routes(controller.grant(&id).unwrap())[0].1.clone();
    let old = route(&controller);
    let core = setup.network.link(old.hops[2].link).name.clone();
    let set = |element, down: Option<&str>| Command::SetElement { element, down: down.map(str::to_owned) };
    let Ok(Reply::Changed { rerouted, .. }) =
        controller.handle(at(2), set(ElementName::Link(core.clone()), Some("cut")))
    else {
        panic!()
    };
    assert!(rerouted.contains(&id));
    assert_ne!(route(&controller), old);
    let mut controller = reload(&controller, &setup);
    let uplink = setup.network.link(old.hops[0].link).name.clone();
    let Ok(Reply::Changed { degraded, .. }) =
        controller.handle(at(3), set(ElementName::Link(uplink.clone()), Some("unplugged")))
    else {
        panic!()
    };
    assert_eq!(degraded.len(), 2);
    assert_eq!(controller.grant(&id).unwrap().state, State::Degraded);
    let mut controller = reload(&controller, &setup);
    let Ok(Reply::Changed { restored, .. }) = controller.handle(at(4), set(ElementName::Link(uplink), None)) else {
        panic!()
    };
    assert_eq!(restored.len(), 2);
    // The last packets of the other contract may be in transit, and fit beside this one.
    assert_eq!(controller.grant(&id).unwrap().state, State::Admitted);
    assert_eq!(route(&controller).hops[0], old.hops[0]);
}

#[test]
fn a_cable_without_carrier_is_down_until_no_agent_reports_it() {
    let setup = setup(EnforcedBy::Hosts);
    let mut controller = Controller::load(&setup, at(0).wall, []).unwrap();
    assert!(apply(&mut controller, at(1), order(&setup.network, "a", "h1", "h16")).result.is_ok());
    let id = Id::new("default", "a");
    let hops = |controller: &Controller| controller.routes(controller.grant(&id).unwrap())[0].1.hops.clone();
    let old = hops(&controller)[1].link;
    let (ends, name) = (setup.network.link(old), setup.network.link(old).name.clone());
    let mut nodes = [ends.from, ends.to].map(|node| setup.network.node(node).name.clone());
    nodes.sort();
    let see = |controller: &mut Controller, ms, node: &str, epoch, without_carrier: &[&str]| {
        let without_carrier = without_carrier.iter().map(|&link| link.to_owned()).collect();
        controller.handle(at(ms), Command::See { node: node.to_owned(), epoch, without_carrier })
    };
    assert!(matches!(see(&mut controller, 2, &nodes[0], 1, &[&name]), Err(CommandError::StaleEpoch { .. })));
    for node in &nodes {
        let begin = Command::Begin { node: node.clone(), after: 0, installed: Vec::new() };
        controller.handle(at(3), begin).unwrap();
    }
    assert!(matches!(see(&mut controller, 4, &nodes[0], 1, &["h9->pod3-edge1"]), Err(CommandError::Invalid { .. })));
    for node in &nodes {
        see(&mut controller, 5, node, 1, &[&name]).unwrap();
    }
    assert!(hops(&controller).iter().all(|hop| hop.link != old));
    let why = |controller: &Controller| controller.down().map(|(_, down)| down.why().to_owned()).next();
    assert_eq!(why(&controller), Some(format!("no carrier at {} and {}", nodes[0], nodes[1])));
    let mut controller = reload(&controller, &setup);
    for node in &nodes {
        controller.handle(at(6), Command::Begin { node: node.clone(), after: 1, installed: Vec::new() }).unwrap();
    }
    see(&mut controller, 7, &nodes[0], 2, &[]).unwrap();
    assert_eq!(why(&controller), Some(format!("no carrier at {}", nodes[1])));
    // An operator may declare it up; the agents at its ends see that it is not.
    let up =
        |controller: &mut Controller, element| controller.handle(at(8), Command::SetElement { element, down: None });
    up(&mut controller, ElementName::Link(name.clone())).unwrap();
    assert!(why(&controller).is_some());
    see(&mut controller, 9, &nodes[1], 2, &[]).unwrap();
    assert_eq!(why(&controller), None);
}

#[test]
fn a_contract_that_changes_with_one_bucket_does_not_pause() {
    let setup = setup(EnforcedBy::Nobody);
    let mut controller = Controller::load(&setup, at(0).wall, []).unwrap();
    let (id, between) = (Id::new("default", "a"), ["pod1-agg1", "pod1-agg2"]);
    let mut change = |ms: u64, rate: u64, middle: usize| {
        let mut order = order(&setup.network, "a", "h1", "h3");
        let terms = order.as_latency_mut().unwrap();
        terms.rate = Rate::from_mbit(rate);
        let nodes = ["h1", "pod1-edge1", between[middle], "pod1-edge2", "h3"];
        let hop = |pair: &[&str]| setup.network.find_link(&format!("{}->{}", pair[0], pair[1])).unwrap();
        let hops = nodes.windows(2).map(|pair| Hop { link: hop(pair), queue: 0 }).collect();
        terms.route = Some(Route { hops });
        let applied = apply(&mut controller, at(ms), order);
        assert!(applied.result.is_ok(), "{applied:?}");
        controller.grant(&id).unwrap().state
    };
    let line = 1_000;
    assert_eq!(change(1, line * 6 / 10, 0), State::Admitted);
    // More than half of the line, twice: it does not fit beside itself, and need not, on the same route.
    assert_eq!(change(2, line * 7 / 10, 0), State::Admitted);
    assert_eq!(change(3, line * 6 / 10, 0), State::Admitted);
    // The routes meet again at the receiver, from different sides: packets in transit there compete with new ones.
    assert_eq!(change(100, line * 6 / 10, 1), State::Pending);
    controller.tick(at(200));
    assert_eq!(controller.grant(&id).unwrap().state, State::Admitted);
}

#[test]
fn a_vm_of_an_older_ledger_has_the_address_derived_from_its_name() {
    let setup = setup(EnforcedBy::Nobody);
    let older = r#"{"host":"h1","revision":3}"#;
    let of = |key: &str, body: &str| Controller::load(&setup, at(0).wall, [(RecordKind::Vm, key, body)]);
    let controller = of("acme:web", older).unwrap();
    let mac = controller.vm(&Id::new("acme", "web")).unwrap().mac;
    assert_eq!(mac, wayleave_packet_format::mac_of("acme:web"));
    // The written record contains the address, and loading it yields an equal one.
    let change = controller.records().into_iter().find(|change| change.kind == RecordKind::Vm).unwrap();
    let body = change.body.unwrap();
    assert!(body.contains(&mac.to_string()), "{body}");
    assert_eq!(of("acme:web", &body).unwrap().vm(&Id::new("acme", "web")).unwrap().mac, mac);
    assert!(of("acme:web", r#"{"host":"h1","mac":"01:00:5e:00:00:01","revision":3}"#).is_err());
}

#[test]
fn a_bound_is_computed_from_the_budgets_at_the_start_of_the_controller() {
    let setup = setup(EnforcedBy::Nobody);
    let mut controller = Controller::load(&setup, at(0).wall, []).unwrap();
    let id = Id::new("default", "a");
    apply(&mut controller, at(0), order(&setup.network, "a", "h1", "h16")).result.unwrap();
    let (bound, revision) = (controller.grant(&id).unwrap().bound().unwrap(), controller.grant(&id).unwrap().revision);
    // The record as a controller with other budgets writes it.
    let older = |body: &str| body.replace(&format!("\"bound_ns\":{}", bound.as_nanos()), "\"bound_ns\":1");
    let records = controller.records().into_iter().filter_map(|one| Some((one.kind, one.key, older(&one.body?))));
    let records: Vec<(RecordKind, String, String)> = records.collect();
    assert!(records.iter().any(|(_, _, body)| body.contains("\"bound_ns\":1,") || body.contains("\"bound_ns\":1}")));
    let records = records.iter().map(|(kind, key, body)| (*kind, key.as_str(), body.as_str()));
    let mut again = Controller::load(&setup, at(0).wall, records).unwrap();
    assert_eq!(again.grant(&id).unwrap().bound(), Some(bound));
    assert!(again.grant(&id).unwrap().revision > revision, "who knew the older one is told");
    assert!(again.take_output().changes.iter().any(|change| change.kind == RecordKind::Contract));
    assert_eq!(reload(&controller, &setup).grant(&id).unwrap().revision, revision, "and otherwise nothing changes");
}
