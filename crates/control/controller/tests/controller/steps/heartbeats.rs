//! Tests of heartbeats and silent agents.

use wayleave_controller::{Command, Controller, EnforcedBy, EventKind, Id, Reply, State, Timestamps};
use wayleave_protocol::agent::Measured;
use wayleave_units::Time;

use super::smoke::{apply, at, installs, order, reload, setup};

fn begin(controller: &mut Controller, ms: u64, after: u64, installed: Vec<(u64, u64)>) -> u64 {
    let command = Command::Begin { node: "h1".into(), after, installed };
    let Ok(Reply::Begun { epoch }) = controller.handle(at(ms), command) else { panic!("a session begins") };
    epoch
}

fn heartbeat(controller: &mut Controller, ms: u64, epoch: u64, repairs: &[&str]) {
    let repairs = repairs.iter().map(|&what| what.to_owned()).collect();
    controller.handle(at(ms), Command::Heartbeat { node: "h1".into(), epoch, repairs }).unwrap();
}

/// Returns the events about agents since the last call.
fn notices(controller: &mut Controller) -> Vec<(EventKind, String)> {
    let events = controller.take_output().events.into_iter().filter(|event| event.object == "h1");
    events.map(|event| (event.kind, event.detail)).collect()
}

#[test]
fn a_contract_with_a_silent_host_is_not_reported_as_enforced() {
    let setup = setup(EnforcedBy::Hosts);
    let mut controller = Controller::load(&setup, at(0).wall, []).unwrap();
    let id = Id::new("default", "a");
    apply(&mut controller, at(1), order(&setup.network, "a", "h1", "h16"));
    let epoch = begin(&mut controller, 2, 0, vec![]);
    let done = installs(&controller.outbox("h1"));
    controller.handle(at(3), Command::Confirm { node: "h1".into(), epoch, done: done.clone() }).unwrap();
    for second in 1..=10 {
        heartbeat(&mut controller, 1_000 * second, epoch, &[]);
    }
    notices(&mut controller);
    controller.tick(at(14_999));
    assert_eq!(controller.grant(&id).unwrap().state, State::Enforced);
    controller.tick(at(15_000));
    assert_eq!(controller.grant(&id).unwrap().state, State::Degraded);
    assert_eq!(controller.grant(&id).unwrap().degraded_reason.as_ref().unwrap().code(), "SILENT");
    assert_eq!(notices(&mut controller), [(EventKind::AgentSilent, "agent silent for 5 s".to_owned())]);

    // It was only slow, or its cable was cut.
    heartbeat(&mut controller, 20_000, epoch, &["the queues of up0 had been changed"]);
    assert_eq!(controller.grant(&id).unwrap().state, State::Enforced);
    let repaired = (EventKind::Repaired, "the queues of up0 had been changed".to_owned());
    assert_eq!(notices(&mut controller), [repaired, (EventKind::AgentUp, "agent reports again".to_owned())]);

    // After a start of the controller no agent has sent a heartbeat yet.
    let mut controller = reload(&controller, &setup);
    controller.tick(at(4_999));
    assert_eq!(controller.grant(&id).unwrap().state, State::Enforced);
    controller.tick(at(5_000));
    assert_eq!(controller.grant(&id).unwrap().state, State::Degraded);
    // A session is no report.
    let epoch = begin(&mut controller, 6_000, epoch, done);
    assert_eq!(controller.grant(&id).unwrap().state, State::Degraded);
    heartbeat(&mut controller, 7_000, epoch, &[]);
    assert_eq!(controller.grant(&id).unwrap().state, State::Enforced);
}

#[test]
fn contracts_of_an_uninstalled_node_are_degraded_at_once() {
    let setup = setup(EnforcedBy::Hosts);
    let mut controller = Controller::load(&setup, at(0).wall, []).unwrap();
    let (id, node) = (Id::new("default", "a"), setup.network.find_node("h1").unwrap());
    apply(&mut controller, at(1), order(&setup.network, "a", "h1", "h16"));
    let epoch = begin(&mut controller, 2, 0, vec![]);
    let done = installs(&controller.outbox("h1"));
    controller.handle(at(3), Command::Confirm { node: "h1".into(), epoch, done }).unwrap();
    assert_eq!(controller.grant(&id).unwrap().state, State::Enforced);
    // `wayleave agent uninstall` begins a session in which nothing is installed, and leaves.
    let epoch = begin(&mut controller, 4, epoch, vec![]);
    notices(&mut controller);
    controller.handle(at(5), Command::Leave { node: "h1".into(), epoch }).unwrap();
    let grant = controller.grant(&id).unwrap();
    assert_eq!((grant.state, grant.degraded_reason.as_ref().unwrap().code()), (State::Degraded, "SILENT"));
    let detail = "uninstalled: the agent has removed all its rules".to_owned();
    assert_eq!(notices(&mut controller), [(EventKind::AgentSilent, detail)]);
    let state = controller.node_state(node).unwrap();
    assert!(state.is_silent && !state.is_open);
    assert!(controller.handle(at(6), Command::Leave { node: "h1".into(), epoch }).is_err(), "its session is over");

    let epoch = begin(&mut controller, 7, epoch, vec![]);
    let done = installs(&controller.outbox("h1"));
    controller.handle(at(8), Command::Confirm { node: "h1".into(), epoch, done }).unwrap();
    heartbeat(&mut controller, 9, epoch, &[]);
    assert_eq!(controller.grant(&id).unwrap().state, State::Enforced);
}

/// Catches: an agent that opens a session every two seconds and reports nothing, and keeps its contracts enforced.
#[test]
fn sessions_without_reports_start_the_time_until_an_agent_is_silent_and_do_not_prolong_it() {
    let setup = setup(EnforcedBy::Hosts);
    let node = setup.network.find_node("h1").unwrap();
    for reports_once in [false, true] {
        let mut controller = Controller::load(&setup, at(0).wall, []).unwrap();
        let id = Id::new("default", "a");
        apply(&mut controller, at(1), order(&setup.network, "a", "h1", "h16"));
        let mut epoch = begin(&mut controller, 2_000, 0, vec![]);
        let done = installs(&controller.outbox("h1"));
        let confirm = Command::Confirm { node: "h1".into(), epoch, done: done.clone() };
        controller.handle(at(2_000), confirm).unwrap();
        assert_eq!(controller.grant(&id).unwrap().state, State::Enforced);
        if reports_once {
            heartbeat(&mut controller, 2_000, epoch, &[]);
        }
        for second in [4, 6] {
            epoch = begin(&mut controller, 1_000 * second, epoch, done.clone());
            assert_eq!(controller.grant(&id).unwrap().state, State::Enforced, "{second}");
        }
        controller.tick(at(7_000));
        for second in [8, 10, 12] {
            epoch = begin(&mut controller, 1_000 * second, epoch, done.clone());
            let state = controller.node_state(node).unwrap();
            assert!(state.is_silent && state.is_open, "{second}");
            assert_eq!(controller.grant(&id).unwrap().state, State::Degraded, "{second}");
        }
        // A restart knows that it was silent.
        let mut controller = reload(&controller, &setup);
        assert!(controller.node_state(node).unwrap().is_silent);
        let epoch = begin(&mut controller, 100, epoch, done);
        assert_eq!(controller.grant(&id).unwrap().state, State::Degraded);
        heartbeat(&mut controller, 200, epoch, &[]);
        assert_eq!(controller.grant(&id).unwrap().state, State::Enforced);
    }
}

/// Catches: a restart after which a violation counts for another minute, and a violation that is over because its only
/// observer is silent.
#[test]
fn a_violation_ends_a_minute_after_the_last_late_packet_if_its_receiver_reports() {
    let setup = setup(EnforcedBy::Hosts);
    let mut controller = Controller::load(&setup, at(0).wall, []).unwrap();
    apply(&mut controller, at(1), order(&setup.network, "a", "h1", "h16")).result.unwrap();
    let is_violated =
        |controller: &Controller| controller.grant(&Id::new("default", "a")).unwrap().violation().is_some();
    let node = || "h16".to_owned();
    let session = |controller: &mut Controller, now: Timestamps, after: u64| {
        let reply = controller.handle(now, Command::Begin { node: node(), after, installed: vec![] });
        let Ok(Reply::Begun { epoch }) = reply else { panic!("a session begins") };
        controller.handle(now, Command::Heartbeat { node: node(), epoch, repairs: vec![] }).unwrap();
        epoch
    };
    let epoch = session(&mut controller, at(2), 0);
    let measured = vec![Measured { serial: 1, packets: 5, late: 1, worst_ns: 9_000_000_000 }];
    controller.handle(at(3), Command::Measure { node: node(), epoch, measured }).unwrap();
    assert!(is_violated(&controller));
    // 50 s later it starts again: its steady clock begins anew, its calendar does not.
    let started = 50_003;
    let restart = |controller: &Controller| {
        let records = controller.records();
        let records = records.iter().filter_map(|one| Some((one.kind, one.key.as_str(), one.body.as_deref()?)));
        Controller::load(&setup, at(started).wall, records).unwrap()
    };
    let after = |ms: u64| Timestamps { steady: Time::from_millis(ms), wall: at(started + ms).wall };
    let mut observed = restart(&controller);
    session(&mut observed, after(8_000), epoch);
    observed.tick(after(9_000));
    assert!(is_violated(&observed));
    observed.tick(after(10_000));
    assert!(!is_violated(&observed));
    // Its receiver does not connect for two minutes; then it has the usual time.
    let mut unobserved = restart(&controller);
    for second in [4, 10, 70, 130] {
        unobserved.tick(after(1_000 * second));
        assert!(is_violated(&unobserved), "{second}");
    }
    let epoch = session(&mut unobserved, after(131_000), epoch);
    for second in 132..190 {
        let beat = Command::Heartbeat { node: node(), epoch, repairs: vec![] };
        unobserved.handle(after(1_000 * second), beat).unwrap();
    }
    unobserved.tick(after(190_000));
    assert!(!is_violated(&unobserved));
}
