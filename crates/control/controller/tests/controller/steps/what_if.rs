//! Tests of hypothetical questions to a controller that is discarded afterwards.

use wayleave_contracts::{ContractRequest, LatencyContract};
use wayleave_controller::{
    Command, CommandError, Controller, ControllerConfig, Effect, ElementName, EnforcedBy, Id, Mode, Precondition,
    RecordKind, Reply, State, Timestamps, VmRequest, WhatIf,
};
use wayleave_topology::Network;
use wayleave_units::{Bytes, Rate, Time, WallTime};

use super::smoke::setup;

const NOW: Timestamps = Timestamps { steady: Time::ZERO, wall: WallTime::from_nanos(1_700_000_000_000_000_000) };

fn order(network: &Network, name: &str, [from, to]: [(&str, &str); 2], mbit: u64) -> ContractRequest {
    let contract = LatencyContract {
        tenant: Some("default".to_owned()),
        ..LatencyContract::new(
            name,
            network.find_node(from.1).unwrap(),
            network.find_node(to.1).unwrap(),
            Rate::from_mbit(mbit),
            Bytes::new(3000),
            Time::from_millis(5),
        )
    };
    ContractRequest::plain(contract, &[from.0, to.0])
}

fn apply(controller: &mut Controller, order: ContractRequest) {
    let orders = vec![(order, Precondition::None)];
    let command = Command::Apply { orders, mode: Mode::Each, effect: Effect::Commit };
    let Ok(Reply::Each(applied)) = controller.handle(NOW, command) else { panic!("an answer for each") };
    assert!(applied[0].result.is_ok(), "{applied:?}");
}

/// With VM `a` on h1, VM `b` on h16, contract `ab` between them and contract `hosts` from h1 itself.
fn controller(setup: &ControllerConfig) -> Controller {
    let mut controller = Controller::load(setup, NOW.wall, []).unwrap();
    for (name, host) in [("a", "h1"), ("b", "h16")] {
        let put = Command::PutVm {
            id: Id::new("default", name),
            placement: VmRequest::On(host.into()),
            mac: None,
            check: Precondition::None,
        };
        controller.handle(NOW, put).unwrap();
    }
    apply(&mut controller, order(&setup.network, "ab", [("a", "h1"), ("b", "h16")], 10));
    apply(&mut controller, order(&setup.network, "hosts", [("h1", "h1"), ("h9", "h9")], 10));
    controller
}

fn fork(controller: &Controller, setup: &ControllerConfig) -> Controller {
    let records: Vec<(RecordKind, String, std::sync::Arc<str>)> =
        controller.records().into_iter().filter_map(|change| Some((change.kind, change.key, change.body?))).collect();
    let records = records.iter().map(|(kind, key, body)| (*kind, key.as_str(), &**body));
    Controller::load(setup, NOW.wall, records).unwrap()
}

fn id(name: &str) -> Id {
    Id::new("default", name)
}

#[test]
fn a_failure_lists_moved_and_lost_contracts() {
    let setup = setup(EnforcedBy::Nobody);
    let controller = controller(&setup);
    let routes = controller.routes(controller.grant(&id("ab")).unwrap());
    let core = setup.network.link(routes[0].1.hops[2].link).name.clone();
    let what_if = WhatIf { fail: vec![ElementName::Link(core)], ..WhatIf::default() };
    let outcome = fork(&controller, &setup).ask(NOW, what_if).unwrap();
    assert!(outcome.rerouted.contains(&id("ab")) && outcome.degraded.is_empty(), "{outcome:?}");
    let what_if = WhatIf { fail: vec![ElementName::Node("h16".into())], ..WhatIf::default() };
    let outcome = fork(&controller, &setup).ask(NOW, what_if).unwrap();
    assert_eq!((outcome.degraded, outcome.rerouted), (vec![id("ab")], vec![]));
    let what_if = WhatIf { fail: vec![ElementName::Node("nowhere".into())], ..WhatIf::default() };
    assert!(matches!(fork(&controller, &setup).ask(NOW, what_if), Err(CommandError::NotFound { .. })));
}

#[test]
fn a_restored_element_restores_its_contracts() {
    let setup = setup(EnforcedBy::Nobody);
    let mut controller = controller(&setup);
    let element = ElementName::Node("h16".into());
    controller.handle(NOW, Command::SetElement { element: element.clone(), down: Some("broken".into()) }).unwrap();
    let what_if = WhatIf { restore: vec![element], ..WhatIf::default() };
    let mut fork = fork(&controller, &setup);
    assert_eq!(fork.ask(NOW, what_if).unwrap().restored, [id("ab")]);
    assert_eq!(fork.grant(&id("ab")).unwrap().state, State::Admitted, "nothing is waited for");
}

#[test]
fn contracts_are_admitted_refused_and_ended() {
    let setup = setup(EnforcedBy::Nobody);
    let controller = controller(&setup);
    let ends = [("a", "h1"), ("b", "h16")];
    let apply = vec![
        order(&setup.network, "ab", ends, 20),
        order(&setup.network, "more", ends, 30),
        order(&setup.network, "too-much", ends, 2000),
    ];
    let what_if = WhatIf { apply, delete: vec![id("hosts")], ..WhatIf::default() };
    let outcome = fork(&controller, &setup).ask(NOW, what_if).unwrap();
    assert_eq!(outcome.admitted, [id("ab"), id("more")]);
    assert_eq!(outcome.deleted, [id("hosts")]);
    assert!(matches!(&outcome.refused[..], [(refused, CommandError::Refused { .. })] if *refused == id("too-much")));
}

#[test]
fn a_drained_host_has_no_vms_and_no_contracts() {
    let setup = setup(EnforcedBy::Nobody);
    let controller = controller(&setup);
    let what_if = WhatIf { drain: vec!["h1".into()], ..WhatIf::default() };
    let mut fork = fork(&controller, &setup);
    let outcome = fork.ask(NOW, what_if).unwrap();
    let h1 = setup.network.find_node("h1").unwrap();
    assert!(matches!(&outcome.placed[..], [(vm, from, Some(to))] if *vm == id("a") && *from == h1 && *to != h1));
    assert_eq!(outcome.rerouted, [id("ab")]);
    assert_eq!(outcome.degraded, [id("hosts")], "a contract of the host itself has nowhere to go");
    assert!(fork.vms().all(|(_, vm)| vm.host != h1));
    assert_eq!(fork.grant(&id("ab")).unwrap().terms().unwrap().from, fork.vm(&id("a")).unwrap().host);
}
