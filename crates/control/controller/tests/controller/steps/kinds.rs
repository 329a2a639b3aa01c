//! Contracts of other kinds than latency, step by step.

use wayleave_contracts::{
    BandwidthContract, BestEffortContract, Contract, ContractRequest, FlowObjective, ObjectiveContract, Priority, Quota,
};
use wayleave_controller::{
    AdmittedContract, Command, CommandError, Controller, ControllerConfig, Decided, DegradedReason, Effect,
    ElementName, EnforcedBy, EventKind, Id, LoadError, Mode, Outcome, Precondition, RecordKind, Reply, State,
    Timestamps, VmRequest, WhatIf,
};
use wayleave_scheme_api::Certainty;
use wayleave_schemes::admission::fabric::{Paths, Settings};
use wayleave_topology::builders::{Cabling, Chain, FatTree, build};
use wayleave_topology::{Class, Network, NodeId};
use wayleave_units::{Rate, Time};

use super::smoke::{apply, at, classed, order, reload};

/// A fat tree of 10 Gbit/s.
fn fat_tree(settings: Settings) -> ControllerConfig {
    let cabling = Cabling { rate: Rate::from_gbit(10), propagation: Time::from_micros(1), ..Cabling::default() };
    let network = build::fat_tree(&FatTree { k: 4, cabling, ..FatTree::default() }).unwrap();
    classed(network, settings, EnforcedBy::Hosts)
}

pub(super) fn setup(paths: Paths) -> ControllerConfig {
    fat_tree(Settings { paths, ..Settings::default() })
}

pub(super) fn start(setup: &ControllerConfig) -> Controller {
    Controller::load(setup, at(0).wall, []).unwrap()
}

fn nodes(network: &Network, names: &[&str]) -> Vec<NodeId> {
    names.iter().map(|name| network.find_node(name).unwrap()).collect()
}

fn shared(contract: impl Into<Contract>, members: &[&str]) -> ContractRequest {
    ContractRequest::plain(contract.into(), members)
}

pub(super) fn pair(network: &Network, name: &str, ends: [&str; 2], mbit: u64) -> ContractRequest {
    let nodes = nodes(network, &ends);
    shared(BandwidthContract::pair(name, nodes[0], nodes[1], Rate::from_mbit(mbit)), &ends)
}

pub(super) fn hose(network: &Network, name: &str, members: &[&str], mbit: u64) -> ContractRequest {
    shared(BandwidthContract::hose(name, &nodes(network, members), Rate::from_mbit(mbit)), members)
}

pub(super) fn objective(network: &Network, name: &str, members: &[&str], mbit: u64) -> ContractRequest {
    let (objective, members_at) = (FlowObjective::Completion, nodes(network, members));
    let (name, min) = (name.to_owned(), Rate::from_mbit(mbit));
    shared(ObjectiveContract { name, tenant: None, objective, deadline: None, members: members_at, min }, members)
}

pub(super) fn best_effort(network: &Network, name: &str, members: &[&str]) -> ContractRequest {
    let max = Some(Rate::from_mbit(10));
    shared(BestEffortContract { name: name.to_owned(), tenant: None, members: nodes(network, members), max }, members)
}

pub(super) fn id(name: &str) -> Id {
    Id::new("default", name)
}

pub(super) fn contract_named<'a>(controller: &'a Controller, name: &str) -> &'a AdmittedContract {
    controller.grant(&id(name)).unwrap_or_else(|| panic!("{name} is not there"))
}

pub(super) fn fail(controller: &mut Controller, name: &str, is_down: bool) -> [Vec<Id>; 3] {
    let down = is_down.then(|| "a test".to_owned());
    let set = Command::SetElement { element: ElementName::Node(name.to_owned()), down };
    let Ok(Reply::Changed { rerouted, degraded, restored }) = controller.handle(at(1), set) else { panic!("changed") };
    [rerouted, degraded, restored]
}

fn core(number: usize) -> String {
    format!("core{number}")
}

#[test]
fn every_kind_is_admitted_survives_a_restart_and_ends() {
    let setup = setup(Paths::One);
    let mut controller = start(&setup);
    let network = setup.network.clone();
    let orders: Vec<ContractRequest> = vec![
        order(&network, "ptp", "h1", "h16"),
        pair(&network, "copy", ["h1", "h9"], 1_000),
        hose(&network, "db", &["h1", "h5", "h9"], 500),
        objective(&network, "search", &["h2", "h3"], 500),
        best_effort(&network, "bulk", &["h4", "h8"]),
    ];
    for one in &orders {
        assert_eq!(apply(&mut controller, at(0), one.clone()).result, Ok(Outcome::Created), "{one:?}");
        assert_eq!(apply(&mut controller, at(0), one.clone()).result, Ok(Outcome::Unchanged));
    }
    let known = |controller: &Controller| {
        ["copy", "db", "search", "bulk"]
            .map(|name| (contract_named(controller, name).state, contract_named(controller, name).certainty()))
    };
    let proven = Some(Certainty::Proven);
    let expected = [proven, proven, proven, None].map(|certainty| (State::Admitted, certainty));
    assert_eq!(known(&controller), expected);
    let other = reload(&controller, &setup);
    assert!(other.ledger() == controller.ledger());
    assert_eq!(known(&other), expected);
    for one in &orders {
        assert_eq!(contract_named(&other, one.name()).order, contract_named(&controller, one.name()).order);
    }
    assert_eq!(other.tenant("default").unwrap().usage, controller.tenant("default").unwrap().usage);
    assert!(other.records() != controller.records(), "the generation");
    controller.take_output();
    for name in ["copy", "db", "search", "bulk"] {
        let command = Command::Delete { ids: vec![(id(name), Precondition::None)] };
        let Ok(Reply::Each(applied)) = controller.handle(at(2), command) else { panic!("an answer for each") };
        assert_eq!(applied[0].result, Ok(Outcome::Deleted));
    }
    let output = controller.take_output();
    assert_eq!(output.changes.iter().filter(|one| one.kind == RecordKind::Contract && one.body.is_none()).count(), 4);
    assert!(output.events.iter().any(|one| one.kind == EventKind::Gone && one.object == "default:db"));
    let mut only = start(&setup);
    apply(&mut only, at(0), orders[0].clone());
    // Shares are held until the last packets have left, and no longer.
    let until: Vec<Time> = controller.left_shares().map(|(_, until)| until).collect();
    assert_eq!(until.len(), 3, "best effort holds nothing");
    let (first, last) = (*until.iter().min().unwrap(), *until.iter().max().unwrap());
    assert!(first > at(2).steady && last < at(3).steady, "{until:?}");
    controller.tick(Timestamps { steady: first - Time::from_nanos(1), ..at(2) });
    assert_eq!(controller.left_shares().count(), 3);
    controller.tick(Timestamps { steady: last, ..at(2) });
    assert!(only.ledger() == controller.ledger(), "every bit is free");
    assert_eq!(controller.tenant("default").unwrap().usage, only.tenant("default").unwrap().usage);
}

/// Quotas count a minimum once for a pair and once for every member of a hose or an objective.
#[test]
fn quotas_count_minima_of_members() {
    let setup = setup(Paths::One);
    let mut controller = start(&setup);
    let quota = Quota { rate: Some(Rate::from_mbit(2_000)), burst: None, contracts: Some(3) };
    let put = Command::PutTenant { name: "default".to_owned(), quota, check: Precondition::None };
    controller.handle(at(0), put).unwrap();
    apply(&mut controller, at(0), hose(&setup.network, "db", &["h1", "h5", "h9"], 500)).result.unwrap();
    let before = controller.ledger().clone();
    let refused = apply(&mut controller, at(0), pair(&setup.network, "copy", ["h1", "h2"], 501));
    assert!(matches!(refused.result, Err(CommandError::Refused { reason: "QUOTA", .. })), "{refused:?}");
    assert!(*controller.ledger() == before);
    apply(&mut controller, at(0), pair(&setup.network, "copy", ["h1", "h2"], 500)).result.unwrap();
    apply(&mut controller, at(0), best_effort(&setup.network, "bulk", &["h1", "h2"])).result.unwrap();
    let more = apply(&mut controller, at(0), best_effort(&setup.network, "more", &["h1", "h2"]));
    assert!(matches!(more.result, Err(CommandError::Refused { reason: "QUOTA", .. })), "the number of contracts");
}

/// A link of a host can promise 5.1 Gbit/s.
#[test]
fn a_change_is_checked_without_the_old_terms_and_a_refused_one_keeps_them() {
    let setup = setup(Paths::All);
    let mut controller = start(&setup);
    let db = |mbit| hose(&setup.network, "db", &["h1", "h5", "h9"], mbit);
    apply(&mut controller, at(0), db(4_000)).result.unwrap();
    assert_eq!(apply(&mut controller, at(0), db(5_000)).result, Ok(Outcome::Changed));
    let before = controller.ledger().clone();
    let refused = apply(&mut controller, at(0), db(5_101));
    assert!(matches!(refused.result, Err(CommandError::Refused { reason: "RATE", .. })), "{refused:?}");
    assert!(*controller.ledger() == before && contract_named(&controller, "db").certainty() == Some(Certainty::Proven));
    let record = controller.decision("default", refused.decision.unwrap()).unwrap();
    assert!(matches!(record.decided, Decided::Refused(_)));
    // All or none, and a dry run.
    let orders = |mode, effect| {
        let list: Vec<ContractRequest> = vec![db(1_000), pair(&setup.network, "copy", ["h1", "h2"], 6_000)];
        Command::Apply { orders: list.into_iter().map(|one| (one, Precondition::None)).collect(), mode, effect }
    };
    controller.handle(at(0), orders(Mode::AllOrNothing, Effect::Commit)).unwrap();
    controller.handle(at(0), orders(Mode::Each, Effect::DryRun)).unwrap();
    assert!(*controller.ledger() == before);
    assert_eq!(contract_named(&controller, "db").order, db(5_000));
}

#[test]
fn a_contract_keeps_its_kind() {
    let setup = setup(Paths::One);
    let mut controller = start(&setup);
    apply(&mut controller, at(0), pair(&setup.network, "one", ["h1", "h9"], 10)).result.unwrap();
    apply(&mut controller, at(0), order(&setup.network, "two", "h1", "h9")).result.unwrap();
    let other = apply(&mut controller, at(0), order(&setup.network, "one", "h1", "h9"));
    assert!(
        matches!(&other.result, Err(CommandError::Invalid { message, .. }) if message.contains("of kind bandwidth")),
        "{other:?}"
    );
    let other = apply(&mut controller, at(0), best_effort(&setup.network, "two", &["h1", "h9"]));
    assert!(
        matches!(&other.result, Err(CommandError::Invalid { message, .. }) if message.contains("of kind latency")),
        "{other:?}"
    );
    // Of one name and of any kind, once the name is free.
    let delete = Command::Delete { ids: vec![(id("one"), Precondition::None), (id("two"), Precondition::None)] };
    controller.handle(at(0), delete).unwrap();
    apply(&mut controller, at(0), order(&setup.network, "one", "h1", "h9")).result.unwrap();
    apply(&mut controller, at(0), best_effort(&setup.network, "two", &["h1", "h9"])).result.unwrap();
}

#[test]
fn members_are_vms_of_the_tenant_on_different_hosts() {
    let setup = setup(Paths::One);
    let mut controller = start(&setup);
    for (vm, host) in [("web", "h1"), ("db", "h9"), ("also", "h1")] {
        let placement = VmRequest::On(host.to_owned());
        controller
            .handle(at(0), Command::PutVm { id: id(vm), placement, mac: None, check: Precondition::None })
            .unwrap();
    }
    let hosts = nodes(&setup.network, &["h1", "h9", "h1"]);
    let hose = |members: &[&str]| {
        let contract = BandwidthContract::hose("h", &hosts[..members.len()], Rate::from_mbit(10));
        shared(contract, members)
    };
    let twice = apply(&mut controller, at(0), hose(&["web", "db", "also"]));
    assert!(
        matches!(&twice.result, Err(CommandError::Invalid { message, .. }) if message.contains("same host")),
        "{twice:?}"
    );
    apply(&mut controller, at(0), hose(&["web", "db"])).result.unwrap();
    let delete = Command::DeleteVm { id: id("db"), check: Precondition::None };
    assert!(
        matches!(controller.handle(at(0), delete), Err(CommandError::InUse { by, .. }) if by == "contract default:h")
    );
    // A VM that moves takes its contract along, unless that has two members on one host then.
    let on = |host: &str| Command::PutVm {
        id: id("db"),
        placement: VmRequest::On(host.to_owned()),
        mac: None,
        check: Precondition::None,
    };
    let refused = controller.handle(at(0), on("h1"));
    assert!(
        matches!(&refused, Err(CommandError::CannotMove(why)) if why.refused[0].1.contains("same host")),
        "{refused:?}"
    );
    controller.handle(at(0), on("h5")).unwrap();
    assert_eq!(contract_named(&controller, "h").order.contract.hosts(), nodes(&setup.network, &["h1", "h5"]));
    controller.handle(at(0), on("h9")).unwrap();
    // A drained host: its VM goes elsewhere, and its contract with it.
    let what_if = WhatIf { drain: vec!["h9".to_owned()], ..WhatIf::default() };
    let outcome = reload(&controller, &setup).ask(at(0), what_if).unwrap();
    assert_eq!((outcome.placed.len(), outcome.refused.len(), outcome.degraded.len()), (1, 0, 0), "{outcome:?}");
}

/// A pair finds another route, a hose is measured while a core switch is down, and a contract without its host keeps
/// its reservation.
#[test]
fn failures_reroute_pairs_and_degrade_disconnected_contracts() {
    let setup = setup(Paths::All);
    let mut controller = start(&setup);
    let network = setup.network.clone();
    apply(&mut controller, at(0), pair(&network, "copy", ["h1", "h9"], 1_000)).result.unwrap();
    apply(&mut controller, at(0), hose(&network, "db", &["h1", "h5", "h9"], 1_000)).result.unwrap();
    apply(&mut controller, at(0), objective(&network, "search", &["h2", "h3"], 500)).result.unwrap();
    let before = controller.ledger().clone();
    let route = controller.promise_of(contract_named(&controller, "copy")).unwrap().route.unwrap();
    let used = network.node(network.link(route.hops[2].link).to).name.clone();
    assert_eq!(fail(&mut controller, &used, true), [vec![id("copy")], vec![], vec![]]);
    assert_eq!(contract_named(&controller, "db").certainty(), Some(Certainty::Proven), "evenly over what is left");
    assert_eq!(contract_named(&controller, "copy").certainty(), Some(Certainty::Proven));
    let other = reload(&controller, &setup);
    assert!(other.ledger() == controller.ledger());
    assert_eq!(fail(&mut controller, &used, false), [vec![], vec![], vec![]]);
    assert_eq!(contract_named(&controller, "db").certainty(), Some(Certainty::Proven));
    // The host of a pair and of a hose.
    let [_, degraded, _] = fail(&mut controller, "h9", true);
    assert_eq!(degraded, [id("copy"), id("db")]);
    let kept = |name: &str| {
        matches!(
            contract_named(&controller, name).degraded_reason,
            Some(DegradedReason::Failed { keeps_place: true, .. })
        )
    };
    assert!(kept("copy") && kept("db") && contract_named(&controller, "search").degraded_reason.is_none());
    assert!(reload(&controller, &setup).ledger() == controller.ledger());
    let refused = apply(&mut controller, at(1), hose(&network, "late", &["h8", "h9"], 1));
    assert!(matches!(refused.result, Err(CommandError::Refused { reason: "NO_PATH", .. })));
    let [_, _, restored] = fail(&mut controller, "h9", false);
    assert_eq!(restored, [id("copy"), id("db")]);
    // The pair may take another route than at first.
    let sums = |ledger: &wayleave_ledger::Ledger| {
        network.links().map(|(link, _)| ledger.promised_to(link, Class::Guaranteed).bits_per_second()).sum::<u64>()
    };
    assert_eq!(sums(controller.ledger()), sums(&before));
}

/// Two hoses of 2.5 Gbit/s a host take 5 of the 5.1 Gbit/s of each of a pod's four links. With three of four cores one of them has to go: the
/// one of lower priority, although it is the older one.
#[test]
fn contracts_that_do_not_fit_on_the_remaining_links_are_degraded_by_priority() {
    let setup = setup(Paths::All);
    let mut controller = start(&setup);
    let network = setup.network.clone();
    let members = ["h1", "h2", "h3", "h4", "h5", "h6", "h7", "h8"];
    for (name, priority) in [("low", 10), ("high", 90)] {
        let mut order = hose(&network, name, &members, 2_500);
        order.priority = Priority::new(priority).unwrap();
        apply(&mut controller, at(0), order).result.unwrap();
    }
    let before = controller.ledger().clone();
    assert_eq!(fail(&mut controller, &core(1), true), [vec![], vec![id("low")], vec![]]);
    assert!(matches!(
        contract_named(&controller, "low").degraded_reason,
        Some(DegradedReason::Failed { keeps_place: false, .. })
    ));
    assert_eq!(contract_named(&controller, "high").state, State::Admitted);
    let ledger = controller.ledger();
    assert!(network.links().all(|(link, _)| ledger.is_closed(link) || ledger.keeps_shares(link)));
    assert!(reload(&controller, &setup).ledger() == controller.ledger());
    assert_eq!(fail(&mut controller, &core(1), false), [vec![], vec![], vec![id("low")]]);
    assert!(*controller.ledger() == before, "every bit is as it was");
}

/// Capacity that the last packets of a latency contract still use is promised to no other contract before they have
/// left.
#[test]
fn a_minimum_waits_for_the_last_packets_of_the_capacity_it_reuses() {
    let setup = setup(Paths::All);
    let setup = ControllerConfig { enforced_by: EnforcedBy::Nobody, ..setup };
    let mut controller = start(&setup);
    let large = |mbit: u64| {
        let mut one = order(&setup.network, "large", "h1", "h2");
        let terms = one.as_latency_mut().unwrap();
        (terms.rate, terms.deadline) = (Rate::from_mbit(mbit), Time::from_millis(10));
        one
    };
    apply(&mut controller, at(0), large(9_000)).result.unwrap();
    assert!(apply(&mut controller, at(1), pair(&setup.network, "copy", ["h1", "h2"], 3_000)).result.is_err());
    apply(&mut controller, at(1), large(100)).result.unwrap();
    apply(&mut controller, at(1), pair(&setup.network, "copy", ["h1", "h2"], 3_000)).result.unwrap();
    assert_eq!(
        (contract_named(&controller, "copy").state, contract_named(&controller, "copy").waits_for()),
        (State::Pending, 1)
    );
    let loaded = reload(&controller, &setup);
    assert_eq!(contract_named(&loaded, "copy").waits_for(), 1);
    controller.tick(at(100));
    assert_eq!(
        (contract_named(&controller, "copy").state, contract_named(&controller, "copy").waits_for()),
        (State::Admitted, 0)
    );
}

#[test]
fn a_scheme_without_classes_does_not_load_contracts_that_need_them() {
    let setup = setup(Paths::One);
    let mut controller = start(&setup);
    apply(&mut controller, at(0), pair(&setup.network, "copy", ["h1", "h9"], 10)).result.unwrap();
    let plain = super::smoke::setup(EnforcedBy::Hosts);
    let records = controller.records();
    let records = records.iter().filter_map(|one| Some((one.kind, one.key.as_str(), one.body.as_deref()?)));
    let refused = Controller::load(&plain, at(0).wall, records).err();
    assert_eq!(refused, Some(LoadError::NoClasses { id: id("copy") }));
}

/// Budgets of the guaranteed class that were made larger could keep no time that was promised with the smaller ones.
#[test]
fn times_of_minima_are_derived_again_at_a_start() {
    let budget = |micros| {
        let guaranteed_budget = Time::from_micros(micros);
        fat_tree(Settings { guaranteed_budget, ..Settings::default() })
    };
    let mut controller = start(&budget(260));
    let mut order = pair(&controller.network().clone(), "copy", ["h1", "h9"], 1_000);
    if let Contract::Bandwidth(contract) = &mut order.contract {
        contract.within = Some(Time::from_micros(1_700));
    }
    apply(&mut controller, at(0), order).result.unwrap();
    let records = controller.records();
    let records = || records.iter().filter_map(|one| Some((one.kind, one.key.as_str(), one.body.as_deref()?)));
    assert!(Controller::load(&budget(250), at(0).wall, records()).is_ok());
    let other = Controller::load(&budget(300), at(0).wall, records()).unwrap();
    let degraded_reason = &contract_named(&other, "copy").degraded_reason;
    assert!(matches!(degraded_reason, Some(DegradedReason::Unfit { why }) if why == "LATENCY"), "{degraded_reason:?}");
}

/// Two switches with two hosts each, and a link between them.
fn line(gbit: u64, settings: Settings) -> ControllerConfig {
    let cabling = Cabling { rate: Rate::from_gbit(gbit), propagation: Time::from_micros(1), ..Cabling::default() };
    let network = build::line(&Chain { switches: 2, hosts_per_switch: 2, cabling }).unwrap();
    classed(network, settings, EnforcedBy::Hosts)
}

/// Records of shares that do not fit, as version 0.2.0 wrote them for a line. That version did not charge the link
/// between its switches: 1.02 of 2 Gbit/s can be promised there. The shares are decided again by priority, and
/// refused ones are degraded, also after another start.
#[test]
fn shares_of_an_older_ledger_that_do_not_fit_are_decided_again_by_priority() {
    let mut old = start(&line(10, Settings::default()));
    let network = old.network().clone();
    for (name, ends, mbit, priority) in [("low", ["h1", "h3"], 700, 10), ("high", ["h2", "h4"], 900, 90)] {
        let mut order = hose(&network, name, &ends, mbit);
        order.priority = Priority::new(priority).unwrap();
        apply(&mut old, at(0), order).result.unwrap();
    }
    apply(&mut old, at(0), objective(&network, "web", &["h1", "h4"], 400)).result.unwrap();
    let mut new = reload(&old, &line(2, Settings::default()));
    let ledger = new.ledger();
    assert!(network.links().all(|(link, _)| ledger.keeps(link)));
    let states = |controller: &Controller| ["low", "high", "web"].map(|name| contract_named(controller, name).state);
    assert_eq!(states(&new), [State::Degraded, State::Admitted, State::Admitted]);
    assert!(
        matches!(&contract_named(&new, "low").degraded_reason, Some(DegradedReason::Unfit { why }) if why == "RATE")
    );
    assert!(contract_named(&new, "low").share().is_none(), "it keeps nothing");
    assert!(new.take_output().events.iter().any(|one| one.kind == EventKind::Degraded && one.object == "default:low"));
    let again = reload(&new, &line(2, Settings::default()));
    assert_eq!(states(&again), states(&new));
    // It comes back when there is room.
    let command = Command::Delete { ids: vec![(id("high"), Precondition::None)] };
    new.handle(at(1), command).unwrap();
    new.tick(at(60_000));
    assert_eq!(contract_named(&new, "low").state, State::Admitted);
}

/// A ring of four: with one cable down, paths lead the other way round; when it is repaired while another fails they change again.
#[test]
fn repairs_are_decided_by_priority_like_failures() {
    let cabling = Cabling { rate: Rate::from_gbit(10), propagation: Time::from_micros(1), ..Cabling::default() };
    let network = build::ring(&Chain { switches: 4, hosts_per_switch: 2, cabling }).unwrap();
    let setup = classed(network, Settings::default(), EnforcedBy::Hosts);
    let network = setup.network.clone();
    let mut controller = start(&setup);
    let cable = |controller: &mut Controller, name: &str, is_down: bool| {
        let down = is_down.then(|| "a test".to_owned());
        let set = Command::SetElement { element: ElementName::Link(name.to_owned()), down };
        let Ok(Reply::Changed { degraded, restored, .. }) = controller.handle(at(1), set) else { panic!("changed") };
        (degraded, restored)
    };
    // s1 and s2 are neighbours, and so are s3 and s4. While s1-s2 and s3-s4 are down, each goes over the links beside.
    for (name, ends, priority) in [("low", ["h1", "h3"], 10), ("high", ["h5", "h7"], 90)] {
        let mut order = hose(&network, name, &ends, 3_000);
        order.priority = Priority::new(priority).unwrap();
        apply(&mut controller, at(0), order).result.unwrap();
    }
    let fits = |controller: &Controller| {
        let ledger = controller.ledger();
        network.links().all(|(link, _)| ledger.is_closed(link) || ledger.keeps_shares(link))
    };
    // low: s1-s4-s3-s2, beside high on s4-s3: 6 of 5.1 Gbit/s, so the one of lower priority goes.
    assert_eq!(cable(&mut controller, "s1->s2", true), (vec![id("low")], vec![]));
    assert!(fits(&controller));
    assert_eq!(cable(&mut controller, "s1->s2", false), (vec![], vec![id("low")]));
    // high: s3-s2-s1-s4. Without s2-s3 as well nothing joins its hosts; low has its own cable.
    assert_eq!(cable(&mut controller, "s2->s3", true), (vec![], vec![]));
    assert_eq!(cable(&mut controller, "s3->s4", true), (vec![id("high")], vec![]));
    assert!(fits(&controller) && contract_named(&controller, "low").degraded_reason.is_none());
    // The repair of s2-s3 leads high over s1-s2, where low has 3 Gbit/s. Low goes, although nothing of its own is down.
    let (degraded, restored) = cable(&mut controller, "s2->s3", false);
    assert_eq!((degraded, restored), (vec![id("low")], vec![id("high")]));
    assert!(fits(&controller));
    assert_eq!(cable(&mut controller, "s3->s4", false), (vec![], vec![id("low")]));
    assert!(fits(&controller));
}

/// Questions are about the time when all packets have left; what is tried before it is done, about this moment.
#[test]
fn a_present_copy_holds_the_capacity_of_ended_contracts() {
    let setup = setup(Paths::One);
    let setup = ControllerConfig { enforced_by: EnforcedBy::Nobody, ..setup };
    let mut controller = start(&setup);
    apply(&mut controller, at(0), pair(&setup.network, "old", ["h1", "h9"], 4_000)).result.unwrap();
    let delete = Command::Delete { ids: vec![(id("old"), Precondition::None)] };
    controller.handle(at(1), delete).unwrap();
    assert_eq!(controller.left_shares().count(), 1);
    let new = pair(&setup.network, "new", ["h1", "h9"], 4_000);
    let later = &mut controller.copy().controller(&setup, at(1).wall).unwrap();
    let now = &mut controller.copy().as_it_is(&setup, at(1).wall).unwrap();
    assert!(now.ledger() == controller.ledger() && later.ledger() != controller.ledger());
    assert!(apply(later, at(1), new.clone()).result.is_ok());
    assert!(apply(now, at(1), new.clone()).result.is_err());
    assert!(apply(&mut controller, at(1), new).result.is_err());
}

#[test]
fn a_share_starts_again_after_the_clock_has_jumped_back() {
    let setup = setup(Paths::One);
    let mut controller = start(&setup);
    let later = ContractRequest { starts: Some(at(100).wall), ..pair(&setup.network, "copy", ["h1", "h9"], 1_000) };
    apply(&mut controller, at(0), later).result.unwrap();
    let state = |controller: &Controller| contract_named(controller, "copy").state;
    assert_eq!(state(&controller), State::Pending);
    controller.tick(at(200));
    assert_eq!(state(&controller), State::Admitted);
    // The steady clock advances.
    let back = |ms: u64| Timestamps { steady: at(200 + ms).steady, wall: at(ms).wall };
    let set = |down: Option<&str>| Command::SetElement {
        element: ElementName::Node("h9".to_owned()),
        down: down.map(str::to_owned),
    };
    controller.handle(back(50), set(Some("a test"))).unwrap();
    controller.handle(back(51), set(None)).unwrap();
    assert_eq!(state(&controller), State::Pending);
    controller.tick(back(99));
    assert_eq!(state(&controller), State::Pending);
    controller.tick(back(101));
    assert_eq!(state(&controller), State::Admitted);
}
