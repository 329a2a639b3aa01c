//! VMs with contracts that are put on another host.

use wayleave_contracts::{ContractRequest, Quota};
use wayleave_controller::{
    Command, CommandError, Controller, ControllerConfig, EnforcedBy, Id, Outcome, Precondition, RecordKind, Reply,
    UnmovableVm, VmRequest,
};
use wayleave_topology::Network;
use wayleave_units::Rate;

use super::smoke::{apply, at, order, reload, setup};

fn id(name: &str) -> Id {
    Id::new("default", name)
}

fn put(controller: &mut Controller, vm: &str, host: &str) -> Result<Outcome, CommandError> {
    let placement = VmRequest::On(host.to_owned());
    let command = Command::PutVm { id: id(vm), placement, mac: None, check: Precondition::None };
    match controller.handle(at(0), command)? {
        Reply::Done { outcome, .. } => Ok(outcome),
        other => panic!("{other:?}"),
    }
}

/// From VM a on h1.
fn from_a(network: &Network, name: &str, to: &str, mbit: u64) -> ContractRequest {
    let mut order = ContractRequest { members: vec!["a".to_owned(), to.to_owned()], ..order(network, name, "h1", to) };
    order.as_latency_mut().unwrap().rate = Rate::from_mbit(mbit);
    order
}

fn start(setup: &ControllerConfig) -> Controller {
    let mut controller = Controller::load(setup, at(0).wall, []).unwrap();
    assert_eq!(put(&mut controller, "a", "h1"), Ok(Outcome::Created));
    controller
}

/// The quota has room for one contract: what moves is counted once.
#[test]
fn contracts_move_with_their_vm_and_hold_the_old_capacity_until_it_drains() {
    let setup = setup(EnforcedBy::Hosts);
    let mut controller = start(&setup);
    let quota = Quota { contracts: Some(1), ..Quota::default() };
    controller
        .handle(at(0), Command::PutTenant { name: "default".to_owned(), quota, check: Precondition::None })
        .unwrap();
    apply(&mut controller, at(0), from_a(&setup.network, "ab", "h16", 10)).result.unwrap();
    let old = controller.grant(&id("ab")).unwrap().serial;
    assert_eq!(put(&mut controller, "a", "h2"), Ok(Outcome::Changed));
    let h2 = setup.network.find_node("h2").unwrap();
    let grant = controller.grant(&id("ab")).unwrap();
    assert_eq!((grant.sender().unwrap(), controller.vm(&id("a")).unwrap().host), (h2, h2));
    assert!(grant.serial > old && grant.waits_for() == 0, "it fits beside what it had");
    let routes = controller.routes(grant);
    assert_eq!(setup.network.link(routes[0].1.hops[0].link).from, h2);
    // The sender on h1 may still send: until it has stopped, that is reserved, too.
    let of = |host: &str| setup.network.links_from(setup.network.find_node(host).unwrap())[0];
    let rate = |controller: &Controller| ["h1", "h2"].map(|host| controller.ledger().reserved(of(host)));
    assert_eq!(rate(&controller), [Rate::from_mbit(10); 2]);
    assert!(controller.ledger() == reload(&controller, &setup).ledger());
    let draining = CommandError::Draining { what: format!("VM {}", id("a")), contract: id("ab") };
    assert_eq!(put(&mut controller, "a", "h3"), Err(draining));
    controller.handle(at(1), Command::Forget { id: id("ab") }).unwrap();
    controller.tick(at(10_000));
    assert_eq!(rate(&controller), [Rate::ZERO, Rate::from_mbit(10)]);
    assert_eq!(put(&mut controller, "a", "h3"), Ok(Outcome::Changed));
    let other = apply(&mut controller, at(10_000), from_a(&setup.network, "second", "h16", 10));
    assert!(other.result.is_err(), "the quota counts one: {other:?}");
}

#[test]
fn a_vm_is_not_moved_if_a_contract_does_not_fit_elsewhere() {
    let setup = setup(EnforcedBy::Hosts);
    let mut controller = start(&setup);
    let rate = setup.network.links().next().unwrap().1.rate.bits_per_second() / 1_000_000;
    let mut load = order(&setup.network, "load", "h9", "h5");
    load.as_latency_mut().unwrap().rate = Rate::from_mbit(rate * 7 / 10);
    apply(&mut controller, at(0), load).result.unwrap();
    apply(&mut controller, at(0), from_a(&setup.network, "large", "h16", rate / 2)).result.unwrap();
    apply(&mut controller, at(0), from_a(&setup.network, "small", "h16", 1)).result.unwrap();
    let before = reload(&controller, &setup);
    let Err(CommandError::CannotMove(unmovable)) = put(&mut controller, "a", "h9") else {
        panic!("large does not fit on h9");
    };
    let UnmovableVm { vm, host, refused, others } = *unmovable;
    assert_eq!((vm, host.as_str(), &others[..]), (id("a"), "h9", &[id("small")][..]));
    assert!(refused.len() == 1 && refused[0].0 == id("large"), "{refused:?}");
    assert_eq!(controller.vm(&id("a")).unwrap().host, setup.network.find_node("h1").unwrap());
    // All is as it was, but for the number of decisions.
    let contracts = |controller: &Controller| -> Vec<_> {
        let records = controller.records().into_iter().filter(|one| one.kind == RecordKind::Contract);
        records.map(|one| (one.key, one.body)).collect()
    };
    assert_eq!(contracts(&controller), contracts(&before));
    assert!(controller.ledger() == before.ledger());
    // Without it the other one moves.
    controller.handle(at(0), Command::Delete { ids: vec![(id("large"), Precondition::None)] }).unwrap();
    controller.handle(at(1), Command::Forget { id: id("large") }).unwrap();
    controller.tick(at(10_000));
    assert_eq!(put(&mut controller, "a", "h9"), Ok(Outcome::Changed));
}
