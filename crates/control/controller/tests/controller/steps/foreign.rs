//! Versions of rules that this ledger never sent, such as after it was replaced by a backup.

use wayleave_controller::{
    Command, Controller, ControllerConfig, EnforcedBy, Id, Precondition, Reply, State, Timestamps,
};
use wayleave_protocol::agent::Work;
use wayleave_topology::NodeKind;

use super::smoke::{apply, at, order, reload, setup};

fn begin(controller: &mut Controller, ms: u64, node: &str, after: u64, installed: &[(u64, u64)]) -> u64 {
    let command = Command::Begin { node: node.to_owned(), after, installed: installed.to_vec() };
    let Ok(Reply::Begun { epoch }) = controller.handle(at(ms), command) else { panic!("a session begins") };
    epoch
}

fn confirm(controller: &mut Controller, ms: u64, node: &str, epoch: u64, done: (u64, u64)) {
    let command = Command::Confirm { node: node.to_owned(), epoch, done: vec![done] };
    controller.handle(at(ms), command).unwrap();
}

/// Returns serial and version of the operations of a node; `true` for a rule to install.
fn work(controller: &Controller, node: &str) -> Vec<(u64, u64, bool)> {
    let operations = controller.outbox(node);
    operations.iter().map(|one| (one.serial, one.version, matches!(one.work, Work::Install { .. }))).collect()
}

/// Returns the setup and a controller with a contract that its sender, h1, has confirmed in session 1.
fn enforced() -> (ControllerConfig, Controller, Id) {
    let setup = setup(EnforcedBy::Hosts);
    let mut controller = Controller::load(&setup, at(0).wall, []).unwrap();
    apply(&mut controller, at(1), order(&setup.network, "a", "h1", "h16")).result.unwrap();
    let epoch = begin(&mut controller, 2, "h1", 0, &[]);
    confirm(&mut controller, 2, "h1", epoch, (1, 1));
    let id = Id::new("default", "a");
    assert_eq!(controller.grant(&id).unwrap().state, State::Enforced);
    (setup, controller, id)
}

/// Catches: a reservation that is given to others while a rule of another ledger still sends on it.
#[test]
fn a_version_that_was_never_sent_proves_no_stop() {
    let (setup, mut controller, id) = enforced();
    let empty = Controller::load(&setup, at(0).wall, []).unwrap().ledger().clone();
    let bound = controller.grant(&id).unwrap().bound().unwrap();
    controller.handle(at(3), Command::Delete { ids: vec![(id.clone(), Precondition::None)] }).unwrap();
    // It has to remove version 1 by version 2.
    confirm(&mut controller, 4, "h1", 1, (1, 7));
    controller.tick(at(1_000));
    assert!(*controller.ledger() != empty, "a confirmation of what was not sent");
    let epoch = begin(&mut controller, 1_001, "h1", 1, &[(1, 7)]);
    controller.tick(at(2_000));
    assert!(*controller.ledger() != empty, "a rule that was not sent may still send");
    assert_eq!(work(&controller, "h1"), [(1, 8, false)], "the agent ignores versions up to its own");
    confirm(&mut controller, 2_001, "h1", epoch, (1, 8));
    controller.tick(Timestamps { steady: at(2_001).steady + bound, ..at(2_001) });
    assert!(*controller.ledger() == empty && controller.grant(&id).is_none());
}

/// Catches: a contract that counts as enforced by a rule whose terms and route are unknown.
#[test]
fn a_rule_that_was_never_sent_is_replaced() {
    let (_, mut controller, id) = enforced();
    let state = |controller: &Controller| controller.grant(&id).unwrap().state;
    let epoch = begin(&mut controller, 3, "h1", 1, &[(1, 7)]);
    assert_eq!((state(&controller), work(&controller, "h1")), (State::Admitted, vec![(1, 9, true)]));
    confirm(&mut controller, 5, "h1", epoch, (1, 9));
    assert_eq!((state(&controller), work(&controller, "h1")), (State::Enforced, vec![]));
    // No later version exists: the agent carries nothing out, and is not trusted.
    for after in [2, 3] {
        let epoch = begin(&mut controller, 6, "h1", after, &[(1, u64::MAX)]);
        confirm(&mut controller, 7, "h1", epoch, (1, u64::MAX));
        assert_eq!(state(&controller), State::Admitted);
    }
}

/// Catches: a contract that counts as enforced by the rule of a contract that was lost with its serial number, or a serial
/// number that two contracts have.
#[test]
fn a_backup_does_not_take_rules_of_lost_contracts_for_those_of_later_ones() {
    let (setup, backup, _) = enforced();
    let apply = |controller: &mut Controller, ms: u64, name: &str| {
        apply(controller, at(ms), order(&setup.network, name, "h1", "h9")).result.unwrap();
        let grant = controller.grant(&Id::new("default", name)).unwrap();
        (grant.serial, grant.state)
    };
    let state = |controller: &Controller, name: &str| controller.grant(&Id::new("default", name)).unwrap().state;
    // Contract 2 was lost; its rule is in force at h1.
    let lost = [(1, 1), (2, 1)];
    let mut controller = reload(&backup, &setup);
    assert_eq!(apply(&mut controller, 1, "later"), (2, State::Admitted));
    let epoch = begin(&mut controller, 2, "h1", 1, &lost);
    assert_eq!((state(&controller, "a"), state(&controller, "later")), (State::Enforced, State::Admitted));
    assert_eq!(work(&controller, "h1"), [(2, 3, true)]);
    confirm(&mut controller, 3, "h1", epoch, (2, 3));
    assert_eq!(state(&controller, "later"), State::Enforced);
    begin(&mut controller, 4, "h1", epoch, &[(1, 1), (2, 3)]);
    assert_eq!((state(&controller, "later"), work(&controller, "h1")), (State::Enforced, vec![]));
    // The agent of h1 connects first.
    let mut controller = reload(&backup, &setup);
    let epoch = begin(&mut controller, 1, "h1", 1, &[(1, 1), (7, 1), (u64::MAX, 1)]);
    assert_eq!(work(&controller, "h1"), [(7, 2, false), (u64::MAX, 2, false)]);
    assert_eq!(apply(&mut controller, 2, "later").0, 8, "no number that an agent knows, unless it is absurd");
    // The agent has removed version 4 of a lost contract, and ignores versions up to that one.
    confirm(&mut controller, 3, "h1", epoch, (8, 4));
    assert_eq!(state(&controller, "later"), State::Admitted);
    let again = work(&controller, "h1").pop().unwrap();
    assert!(again.0 == 8 && again.1 > 4 && again.2, "{again:?}");
    confirm(&mut controller, 4, "h1", epoch, (8, 4));
    assert_eq!((state(&controller, "later"), work(&controller, "h1").pop().unwrap()), (State::Admitted, again));
    confirm(&mut controller, 5, "h1", epoch, (8, again.1));
    assert_eq!(state(&controller, "later"), State::Enforced);
}

/// Catches: a switch that counts as set up by a version that no session of this controller had.
#[test]
fn a_switch_that_names_a_version_that_was_never_sent_is_not_set_up() {
    let setup = setup(EnforcedBy::HostsAndSwitches);
    let switch = setup.network.nodes().map(|(_, node)| node).find(|node| node.kind == NodeKind::Switch).unwrap();
    let is_set_up = |controller: &Controller| controller.outbox(&switch.name).is_empty();
    for (version, later) in [(0, 1), (1, 2), (999, 1_000)] {
        let mut controller = Controller::load(&setup, at(0).wall, []).unwrap();
        let epoch = begin(&mut controller, 1, &switch.name, 0, &[(0, version)]);
        assert_eq!(work(&controller, &switch.name), [(0, later, false)], "later than its own");
        confirm(&mut controller, 2, &switch.name, epoch, (0, later + 1));
        assert!(!is_set_up(&controller), "version {} was not sent", later + 1);
        confirm(&mut controller, 3, &switch.name, epoch, (0, later));
        assert!(is_set_up(&controller));
        begin(&mut controller, 4, &switch.name, epoch, &[(0, later)]);
        assert!(is_set_up(&controller), "it was sent in the session before");
        // No session asked for a set-up since.
        begin(&mut controller, 5, &switch.name, epoch + 1, &[(0, later + 1)]);
        assert!(!is_set_up(&controller), "version {} was not sent", later + 1);
    }
    let mut controller = Controller::load(&setup, at(0).wall, []).unwrap();
    for after in [0, u64::MAX / 2 + 1] {
        let epoch = begin(&mut controller, 1, &switch.name, after, &[(0, u64::MAX)]);
        confirm(&mut controller, 2, &switch.name, epoch, (0, u64::MAX));
        assert!(!is_set_up(&controller));
    }
}
