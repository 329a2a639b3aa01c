//! A ledger that is opened with another network than it was written for.

use wayleave_contracts::{BandwidthContract, ContractRequest, Priority};
use wayleave_controller::{
    Command, Controller, ControllerConfig, DegradedReason, EnforcedBy, Id, LoadError, RecordKind, Reply, State,
    UnfitPolicy,
};
use wayleave_schemes::admission::fabric::Settings;
use wayleave_topology::Network;
use wayleave_topology::builders::{Cabling, LeafSpine, build};
use wayleave_units::{Rate, Time};

use super::smoke::{apply, at, classed, order};

fn network(spines: u64, hosts_per_leaf: u64, gbit: u64) -> Network {
    let cabling = Cabling { rate: Rate::from_gbit(gbit), propagation: Time::from_micros(1), ..Cabling::default() };
    let shape = LeafSpine { leaves: 2, spines, hosts_per_leaf, cabling, ..LeafSpine::default() };
    build::leaf_spine(&shape).unwrap()
}

fn setup(network: Network, unfit: UnfitPolicy) -> ControllerConfig {
    ControllerConfig { unfit, ..classed(network, Settings::default(), EnforcedBy::Hosts) }
}

fn load(controller: &Controller, setup: &ControllerConfig) -> Result<Controller, LoadError> {
    let records: Vec<_> =
        controller.records().into_iter().filter_map(|one| Some((one.kind, one.key, one.body?))).collect();
    let records = records.iter().map(|(kind, key, body)| (*kind, key.as_str(), &**body));
    Controller::load(setup, at(0).wall, records)
}

fn id(name: &str) -> Id {
    Id::new("default", name)
}

fn pair(network: &Network, name: &str, [from, to]: [&str; 2], mbit: u64) -> ContractRequest {
    let node = |name: &str| network.find_node(name).unwrap();
    ContractRequest::plain(BandwidthContract::pair(name, node(from), node(to), Rate::from_mbit(mbit)), &[from, to])
}

/// Confirms all operations of hosts.
fn confirm(controller: &mut Controller) {
    let hosts: Vec<String> =
        controller.network().hosts().map(|host| controller.network().node(host).name.clone()).collect();
    for node in hosts {
        let state = controller.node_state(controller.node(&node).unwrap());
        let after = state.map_or(0, |state| state.epoch);
        let installed = controller.grants().filter_map(|grant| Some((grant.serial, grant.versions().1?))).collect();
        let begin = Command::Begin { node: node.clone(), after, installed };
        let Ok(Reply::Begun { epoch }) = controller.handle(at(1), begin) else { panic!("{node} begins") };
        let done = controller.outbox(&node).iter().map(|one| (one.serial, one.version)).collect();
        controller.handle(at(1), Command::Confirm { node, epoch, done }).unwrap();
    }
}

/// Latency contracts and pairs over both spines; host h1 has a contract with h5 on each.
fn full(setup: &ControllerConfig) -> Controller {
    let mut controller = Controller::load(setup, at(0).wall, []).unwrap();
    for number in 0..6 {
        let (from, to) = (format!("h{}", 1 + number % 4), format!("h{}", 5 + number % 4));
        apply(&mut controller, at(0), order(&setup.network, &format!("l{number}"), &from, &to)).result.unwrap();
        let pair = pair(&setup.network, &format!("p{number}"), [&from, &to], 500);
        apply(&mut controller, at(0), pair).result.unwrap();
    }
    confirm(&mut controller);
    controller
}

fn uses(controller: &Controller, name: &str, node: &str) -> bool {
    let grant = controller.grant(&id(name)).unwrap();
    let network = controller.network();
    let routes = controller.routes(grant).into_iter().map(|(_, route)| route);
    let of_share = controller.promise_of(grant).and_then(|promise| promise.route);
    let mut hops = routes.chain(of_share).flat_map(|route| route.hops);
    hops.any(|hop| network.link(hop.link).name.contains(node))
}

#[test]
fn contracts_of_a_removed_switch_are_decided_again_on_request() {
    let before = setup(network(2, 4, 10), UnfitPolicy::Refuse);
    let controller = full(&before);
    let names: Vec<String> = (0..6).flat_map(|number| [format!("l{number}"), format!("p{number}")]).collect();
    let moved: Vec<&String> = names.iter().filter(|name| uses(&controller, name, "spine2")).collect();
    assert!(moved.iter().any(|name| name.starts_with('l')) && moved.iter().any(|name| name.starts_with('p')));

    let one_spine = || network(1, 4, 10);
    let refused = load(&controller, &setup(one_spine(), UnfitPolicy::Refuse)).err().unwrap().to_string();
    assert!(refused.contains("spine2") && refused.contains("--decide-again"), "{refused}");

    let after = setup(one_spine(), UnfitPolicy::DecideAgain);
    let mut changed = load(&controller, &after).unwrap();
    for name in &names {
        let grant = changed.grant(&id(name)).unwrap();
        assert!(grant.degraded_reason.is_none() && uses(&changed, name, "spine1"), "{name}: {grant:?}");
        // Existing contracts continue by the rule that their hosts have.
        let kept = controller.grant(&id(name)).unwrap().versions() == grant.versions();
        assert_eq!(kept, !moved.contains(&name), "{name}");
    }
    // The written records load on the new network alone, and packets of old rules are counted until hosts have the
    // new ones.
    changed.take_output();
    let releases = |controller: &Controller| {
        controller.records().iter().filter(|one| one.kind == RecordKind::Release && one.body.is_some()).count()
    };
    assert!(releases(&changed) > 0);
    let strict = ControllerConfig { unfit: UnfitPolicy::Refuse, ..after };
    let mut again = load(&changed, &strict).unwrap();
    assert!(again.ledger() == changed.ledger());
    confirm(&mut again);
    again.tick(at(1_000));
    assert_eq!(releases(&again), 0);
    assert!(again.grants().all(|grant| matches!(grant.state, State::Enforced | State::Admitted)));
}

#[test]
fn contracts_that_slower_links_cannot_carry_are_dropped_by_priority() {
    let controller = full(&setup(network(2, 4, 10), UnfitPolicy::Refuse));
    let mut controller = controller;
    for (name, priority, mbit) in [("low", 1, 600), ("high", 90, 600)] {
        let mut one = order(controller.network(), name, "h1", "h5");
        one.as_latency_mut().unwrap().rate = Rate::from_mbit(mbit);
        one.priority = Priority::new(priority).unwrap();
        apply(&mut controller, at(2), one).result.unwrap();
    }
    let slow = || network(2, 4, 1);
    let refused = load(&controller, &setup(slow(), UnfitPolicy::Refuse)).err().unwrap();
    assert!(matches!(refused, LoadError::Overfull { .. }), "{refused}");
    let changed = load(&controller, &setup(slow(), UnfitPolicy::DecideAgain)).unwrap();
    let degraded_reason = |name: &str| changed.grant(&id(name)).unwrap().degraded_reason.clone();
    assert!(matches!(degraded_reason("low"), Some(DegradedReason::Unfit { .. })), "{:?}", degraded_reason("low"));
    assert_eq!(degraded_reason("high"), None);
    let ledger = changed.ledger();
    assert!(changed.network().links().all(|(link, _)| ledger.keeps(link) && ledger.keeps_shares(link)));
    for grant in changed.grants().filter(|grant| grant.degraded_reason.is_none()) {
        assert!(grant.bound() <= grant.terms().map(|terms| terms.deadline), "{grant:?}");
    }
}

#[test]
fn contracts_of_removed_hosts_are_an_error_that_names_them() {
    let controller = full(&setup(network(2, 4, 10), UnfitPolicy::Refuse));
    let fewer = setup(network(2, 3, 10), UnfitPolicy::DecideAgain);
    // h4 is the first host of the second leaf now, and h7 and h8 no longer exist.
    let error = load(&controller, &fewer).err().unwrap().to_string();
    assert!(error.contains("contract default:") && error.contains("delete the contract"), "{error}");
}
