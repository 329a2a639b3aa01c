//! States of contracts of every kind after reports of their hosts' agents.

use std::collections::BTreeMap;

use wayleave_controller::{
    Command, Controller, ControllerConfig, DegradedReason, ElementName, EnforcedBy, EventKind, Precondition,
    RecordKind, Reply, State,
};
use wayleave_ledger::ReservedShare;
use wayleave_protocol::agent::{ContractProblem, KEYS_SINCE_0_2};
use wayleave_schemes::admission::fabric::Paths;
use wayleave_topology::NodeKind;
use wayleave_units::{Time, WallTime};

use super::kinds::{best_effort, contract_named, fail, hose, id, objective, pair, setup, start};
use super::smoke::{apply, at, installs, order, reload};

const HOSTS: [&str; 3] = ["h1", "h5", "h9"];
/// Of other kinds than latency.
const SHARES: [&str; 4] = ["pair", "hose", "objective", "rest"];

/// Agents of three hosts.
#[derive(Default)]
struct Agents {
    epochs: BTreeMap<&'static str, u64>,
}

impl Agents {
    /// All begin a session with these rules installed.
    fn begin(&mut self, controller: &mut Controller, ms: u64) {
        for host in HOSTS {
            let after = self.epochs.get(host).copied().unwrap_or(0);
            let begin = Command::Begin { node: host.to_owned(), after, installed: Vec::new() };
            let Ok(Reply::Begun { epoch }) = controller.handle(at(ms), begin) else { panic!("a session begins") };
            self.epochs.insert(host, epoch);
            let done = installs(&controller.outbox(host));
            let confirm = Command::Confirm { node: host.to_owned(), epoch, done };
            controller.handle(at(ms), confirm).unwrap();
        }
    }

    fn heartbeat(&self, controller: &mut Controller, ms: u64, host: &str) {
        let (node, epoch) = (host.to_owned(), self.epochs[host]);
        controller.handle(at(ms), Command::Heartbeat { node, epoch, repairs: Vec::new() }).unwrap();
    }

    fn report(&self, controller: &mut Controller, ms: u64, host: &str, problems: &[(&str, &str)]) {
        let versions = rules(controller);
        let is_problem = |name: &str| problems.iter().any(|(other, _)| *other == name);
        let in_force = versions.iter().filter(|(name, _)| !is_problem(name)).map(|(_, &rule)| rule).collect();
        let problem =
            |&(name, why): &(&str, &str)| ContractProblem { serial: serial(controller, name), why: why.to_owned() };
        let problems = problems.iter().map(problem).collect();
        let (node, epoch) = (host.to_owned(), self.epochs[host]);
        let report =
            Command::ReportRules { node, epoch, in_force: Some(in_force), enforces: known(), problems: Some(problems) };
        controller.handle(at(ms), report).unwrap();
    }

    fn report_all(&self, controller: &mut Controller, ms: u64) {
        HOSTS.iter().for_each(|host| self.report(controller, ms, host, &[]));
    }
}

/// Returns the keys that an agent of this version enforces.
fn known() -> Vec<String> {
    KEYS_SINCE_0_2.map(str::to_owned).to_vec()
}

/// A switch begins its first session, and sets up its queues.
fn set_up(controller: &mut Controller, ms: u64, switch: &str) {
    let begin = Command::Begin { node: switch.to_owned(), after: 0, installed: Vec::new() };
    assert!(matches!(controller.handle(at(ms), begin), Ok(Reply::Begun { epoch: 1 })));
    let confirm = Command::Confirm { node: switch.to_owned(), epoch: 1, done: vec![(0, 1)] };
    controller.handle(at(ms), confirm).unwrap();
}

fn serial(controller: &Controller, name: &str) -> u64 {
    contract_named(controller, name).serial
}

/// Returns serial and version of the rules of hosts.
fn rules(controller: &Controller) -> BTreeMap<String, (u64, u64)> {
    let notices = controller.grants().filter(|grant| grant.is_announced_to_hosts());
    notices.map(|grant| (grant.id.name.clone(), (grant.serial, grant.rule_version()))).collect()
}

/// One contract of every kind.
fn all_kinds() -> Controller {
    all_kinds_of(&setup(Paths::All))
}

fn all_kinds_of(setup: &ControllerConfig) -> Controller {
    let mut controller = start(setup);
    let network = &setup.network;
    apply(&mut controller, at(1), order(network, "delay", "h1", "h9"));
    for one in [
        pair(network, "pair", ["h1", "h9"], 100),
        hose(network, "hose", &HOSTS, 100),
        objective(network, "objective", &HOSTS, 50),
        best_effort(network, "rest", &HOSTS),
    ] {
        assert!(apply(&mut controller, at(1), one).result.is_ok());
    }
    controller
}

/// One contract of every kind, with agents that have begun sessions at 2 ms and confirmed all rules at 3 ms.
fn confirmed() -> (Controller, Agents) {
    let (mut controller, mut agents) = (all_kinds(), Agents::default());
    agents.begin(&mut controller, 2);
    agents.report_all(&mut controller, 3);
    (controller, agents)
}

fn states(controller: &Controller) -> Vec<State> {
    SHARES.iter().map(|name| contract_named(controller, name).state).collect()
}

fn code(controller: &Controller, name: &str) -> Option<&'static str> {
    contract_named(controller, name).degraded_reason.as_ref().map(DegradedReason::code)
}

#[test]
fn an_older_agent_does_not_confirm_a_key_that_it_does_not_enforce() {
    let mut controller = all_kinds();
    let mut agents = Agents::default();
    agents.begin(&mut controller, 2);
    let report = |controller: &mut Controller, ms, host: &str, enforces: Vec<String>| {
        let (node, epoch) = (host.to_owned(), agents.epochs[host]);
        let in_force = Some(rules(controller).into_values().collect());
        let report = Command::ReportRules { node, epoch, in_force, enforces, problems: None };
        controller.handle(at(ms), report).unwrap();
    };
    HOSTS.iter().for_each(|host| report(&mut controller, 3, host, Vec::new()));
    let expected = [State::Enforced, State::Enforced, State::Enforced, State::Degraded];
    assert_eq!(states(&controller), expected, "contracts without a newer key are confirmed");
    let rest = |controller: &Controller| contract_named(controller, "rest").clone();
    assert_eq!(rest(&controller).versions(), (Some(1), None));
    let Some(DegradedReason::NotCarriedOut { why, .. }) = rest(&controller).degraded_reason else { panic!() };
    assert_eq!(why, "this version of the agent does not enforce bestEffort.max: upgrade the agent");
    // Every agent has to be upgraded.
    HOSTS[..2].iter().for_each(|host| report(&mut controller, 4, host, known()));
    assert_eq!(rest(&controller).state, State::Degraded);
    report(&mut controller, 5, HOSTS[2], known());
    assert_eq!((rest(&controller).state, rest(&controller).degraded_reason), (State::Enforced, None));
}

#[test]
fn every_kind_is_enforced_once_all_its_hosts_have_confirmed() {
    let mut controller = all_kinds();
    let mut agents = Agents::default();
    assert_eq!(states(&controller), [State::Admitted; 4]);
    agents.begin(&mut controller, 2);
    assert_eq!(contract_named(&controller, "delay").state, State::Enforced);
    assert_eq!(states(&controller), [State::Admitted; 4], "beginning a session confirms no share");
    agents.report(&mut controller, 3, "h1", &[]);
    agents.report(&mut controller, 3, "h9", &[]);
    let expected = [State::Enforced, State::Admitted, State::Admitted, State::Admitted];
    assert_eq!(states(&controller), expected, "h5 is in all but the pair");
    assert_eq!(contract_named(&controller, "hose").versions(), (Some(1), None));
    agents.report(&mut controller, 4, "h5", &[]);
    assert_eq!(states(&controller), [State::Enforced; 4]);
    assert_eq!(contract_named(&controller, "hose").versions(), (Some(1), Some(1)));

    // Other terms have to be confirmed again, by all.
    let network = controller.network().clone();
    assert!(apply(&mut controller, at(5), hose(&network, "hose", &HOSTS, 200)).result.is_ok());
    assert_eq!(contract_named(&controller, "hose").state, State::Admitted);
    let outdated = (serial(&controller, "hose"), 1);
    let (node, epoch) = ("h1".to_owned(), agents.epochs["h1"]);
    let report = Command::ReportRules {
        node,
        epoch,
        in_force: Some(vec![outdated]),
        enforces: known(),
        problems: Some(Vec::new()),
    };
    controller.handle(at(6), report).unwrap();
    assert_eq!(contract_named(&controller, "hose").unconfirmed().count(), 3, "h1 still has the old version");
    agents.report_all(&mut controller, 7);
    assert_eq!(states(&controller), [State::Enforced; 4]);
}

#[test]
fn agents_that_confirm_nothing_degrade_every_kind() {
    let mut controller = all_kinds();
    let mut agents = Agents::default();
    agents.begin(&mut controller, 2);
    for second in 1..10 {
        HOSTS.iter().for_each(|host| agents.heartbeat(&mut controller, 1_000 * second, host));
    }
    controller.tick(at(10_000));
    assert_eq!(states(&controller), [State::Admitted; 4]);
    controller.tick(at(10_001));
    assert_eq!(states(&controller), [State::Degraded; 4]);
    assert_eq!(code(&controller, "hose"), Some("UNCONFIRMED"));
    agents.report_all(&mut controller, 10_002);
    assert_eq!(states(&controller), [State::Enforced; 4]);
}

/// Returns a controller and its agents after ten seconds; that of h5 has been silent since the fourth.
fn with_h5_silent() -> (Controller, Agents) {
    with_silent("h5")
}

fn with_silent(silent: &str) -> (Controller, Agents) {
    let (mut controller, agents) = confirmed();
    for second in 1..=10 {
        for host in HOSTS.iter().filter(|&&host| second < 4 || host != silent) {
            agents.heartbeat(&mut controller, 1_000 * second, host);
        }
        controller.tick(at(1_000 * second));
    }
    (controller, agents)
}

/// Catches: a contract that has "no other route" because its agent is silent.
#[test]
fn a_failure_reroutes_a_pair_whose_agent_is_silent() {
    let (mut controller, agents) = with_silent("h9");
    let route = |controller: &Controller| match controller.share_of(contract_named(controller, "pair")) {
        Some(ReservedShare::Pair { route, .. }) => route.clone(),
        other => panic!("{other:?}"),
    };
    let before = route(&controller);
    let network = controller.network().clone();
    let name = network.node(network.link(before.hops[1].link).to).name.clone();
    let [rerouted, degraded, _] = fail(&mut controller, &name, true);
    assert!(rerouted.contains(&id("pair")) && !degraded.contains(&id("pair")), "{rerouted:?}, {degraded:?}");
    assert_ne!(route(&controller), before);
    assert_eq!(code(&controller, "pair"), Some("SILENT"), "its agent is silent still");
    agents.heartbeat(&mut controller, 11_000, "h9");
    assert_eq!(code(&controller, "pair"), None);
}

#[test]
fn a_silent_agent_degrades_every_kind_with_its_host_as_a_member() {
    let (mut controller, agents) = with_h5_silent();
    let expected = [State::Enforced, State::Degraded, State::Degraded, State::Degraded];
    assert_eq!(states(&controller), expected);
    let h5 = controller.network().find_node("h5").unwrap();
    assert_eq!(contract_named(&controller, "rest").degraded_reason, Some(DegradedReason::Silent { nodes: vec![h5] }));
    // A restart of the controller knows it still.
    let setup = setup(Paths::All);
    assert_eq!(states(&reload(&controller, &setup)), expected);
    agents.heartbeat(&mut controller, 11_000, "h5");
    assert_eq!(states(&controller), [State::Enforced; 4]);
}

/// Catches: a reason that changes while the contract stays degraded, without an event.
#[test]
fn a_degraded_contract_with_another_reason_has_another_event() {
    let (mut controller, agents) = with_h5_silent();
    let reasons = |controller: &mut Controller| -> Vec<String> {
        let events = controller.take_output().events.into_iter();
        events
            .filter(|one| one.kind == EventKind::Degraded && one.object == "default:hose")
            .map(|one| one.detail)
            .collect()
    };
    assert_eq!(reasons(&mut controller), ["the agent of one of its hosts or switches is silent"]);
    let (h5, network) = (controller.network().find_node("h5").unwrap(), controller.network());
    let name = network.link(network.links_from(h5)[0]).name.clone();
    let element = |down| Command::SetElement { element: ElementName::Link(name.clone()), down };
    controller.handle(at(10_500), element(Some("cut".to_owned()))).unwrap();
    assert_eq!(code(&controller, "hose"), Some("FAILURE"));
    assert_eq!(reasons(&mut controller), [format!("link {name} is down: NO_PATH")]);
    for host in HOSTS.iter().filter(|&&host| host != "h5") {
        agents.heartbeat(&mut controller, 10_600, host);
    }
    assert_eq!(reasons(&mut controller), Vec::<String>::new(), "the same reason is announced once");
    controller.handle(at(10_700), element(None)).unwrap();
    assert_eq!(code(&controller, "hose"), Some("SILENT"));
    assert_eq!(reasons(&mut controller), ["the agent of one of its hosts or switches is silent"]);
}

/// Catches: contracts that stay enforced while the queues of a switch on their links may be gone.
#[test]
fn a_silent_switch_degrades_the_contracts_on_its_links_and_a_missing_one_too() {
    let setup = ControllerConfig { enforced_by: EnforcedBy::HostsAndSwitches, ..setup(Paths::All) };
    let mut controller = all_kinds_of(&setup);
    let switches: Vec<String> = setup
        .network
        .nodes()
        .map(|(_, node)| node)
        .filter(|node| node.kind == NodeKind::Switch)
        .map(|node| node.name.clone())
        .collect();
    let mut agents = Agents::default();
    agents.begin(&mut controller, 2);
    agents.report_all(&mut controller, 3);
    // Best effort promises nothing, and needs no queue.
    assert_eq!(states(&controller), [State::Degraded, State::Degraded, State::Degraded, State::Enforced]);
    for name in &switches {
        set_up(&mut controller, 4, name);
    }
    let done = installs(&controller.outbox("h1"));
    controller.handle(at(5), Command::Confirm { node: "h1".to_owned(), epoch: 1, done }).unwrap();
    assert_eq!(states(&controller), [State::Enforced; 4]);
    assert_eq!(contract_named(&controller, "delay").state, State::Enforced);
    let heartbeats = |controller: &mut Controller, ms: u64, silent: &str| {
        HOSTS.iter().for_each(|host| agents.heartbeat(controller, ms, host));
        for name in switches.iter().filter(|name| *name != silent) {
            let beat = Command::Heartbeat { node: name.clone(), epoch: 1, repairs: Vec::new() };
            controller.handle(at(ms), beat).unwrap();
        }
        controller.tick(at(ms));
    };
    // The switch of h5, and then that of h1.
    for (from, silent, expected) in [
        (1, "pod2-edge1", [State::Enforced, State::Degraded, State::Degraded, State::Enforced, State::Enforced]),
        (11, "pod1-edge1", [State::Degraded, State::Degraded, State::Degraded, State::Enforced, State::Degraded]),
    ] {
        (from..from + 3).for_each(|second| heartbeats(&mut controller, 1_000 * second, ""));
        (from + 3..from + 9).for_each(|second| heartbeats(&mut controller, 1_000 * second, silent));
        let delay = contract_named(&controller, "delay").state;
        assert_eq!([states(&controller), vec![delay]].concat(), expected, "{silent}");
        let switch = controller.network().find_node(silent).unwrap();
        let reason = contract_named(&controller, "hose").degraded_reason.clone();
        assert_eq!(reason, Some(DegradedReason::Silent { nodes: vec![switch] }));
        assert_eq!(states(&reload(&controller, &setup)), expected[..4]);
        heartbeats(&mut controller, 1_000 * (from + 9), "");
        assert_eq!(states(&controller), [State::Enforced; 4]);
    }
}

/// Catches: contracts that stay enforced while a switch on their links reports that it has no queues.
#[test]
fn a_switch_without_its_queues_degrades_the_contracts_on_its_links() {
    let setup = ControllerConfig { enforced_by: EnforcedBy::HostsAndSwitches, ..setup(Paths::All) };
    let mut controller = all_kinds_of(&setup);
    let mut agents = Agents::default();
    agents.begin(&mut controller, 2);
    agents.report_all(&mut controller, 3);
    // No switch has ever been connected: none is silent.
    assert_eq!(code(&controller, "hose"), Some("UNCONFIRMED"));
    let nodes = setup.network.nodes().map(|(_, node)| node);
    let switches: Vec<String> =
        nodes.filter(|node| node.kind == NodeKind::Switch).map(|node| node.name.clone()).collect();
    let begin = |controller: &mut Controller, ms: u64, node: &str, after: u64, installed: Vec<(u64, u64)>| {
        controller.handle(at(ms), Command::Begin { node: node.to_owned(), after, installed }).unwrap();
    };
    switches.iter().for_each(|name| set_up(&mut controller, 4, name));
    let done = installs(&controller.outbox("h1"));
    controller.handle(at(5), Command::Confirm { node: "h1".to_owned(), epoch: 1, done }).unwrap();
    let all = |controller: &Controller| [states(controller), vec![contract_named(controller, "delay").state]].concat();
    assert_eq!(all(&controller), [State::Enforced; 5]);
    begin(&mut controller, 6, "pod1-edge1", 1, Vec::new());
    let degraded = [State::Degraded, State::Degraded, State::Degraded, State::Enforced, State::Degraded];
    assert_eq!(all(&controller), degraded);
    assert_eq!(code(&controller, "delay"), Some("UNCONFIRMED"));
    assert_eq!(all(&reload(&controller, &setup)), degraded);
    let done = vec![(0, 2)];
    controller.handle(at(7), Command::Confirm { node: "pod1-edge1".to_owned(), epoch: 2, done }).unwrap();
    assert_eq!(all(&controller), [State::Enforced; 5]);
}

/// Catches: contracts that are enforced again as soon as the agent of a silent host begins a session, before it has reported a rule.
#[test]
fn a_silent_agent_that_begins_a_session_has_to_report_its_rules_again() {
    let (mut controller, mut agents) = with_h5_silent();
    agents.begin(&mut controller, 11_000);
    let now = states(&controller);
    assert!(now[0] == State::Enforced && now[1..].iter().all(|state| *state != State::Enforced), "{now:?}");
    agents.report_all(&mut controller, 11_100);
    agents.heartbeat(&mut controller, 11_100, "h5");
    assert_eq!(states(&controller), [State::Enforced; 4]);
}

#[test]
fn a_rule_that_an_agent_cannot_install_is_degraded_with_its_reason() {
    let (mut controller, mut agents) = confirmed();
    let why = "the interface of h1 is not there";
    agents.report(&mut controller, 4, "h1", &[("delay", why), ("hose", why)]);
    let h1 = controller.network().find_node("h1").unwrap();
    let expected = Some(DegradedReason::NotCarriedOut { host: h1, why: why.to_owned() });
    for name in ["delay", "hose"] {
        let grant = contract_named(&controller, name);
        assert_eq!((grant.state, &grant.degraded_reason), (State::Degraded, &expected), "{name}");
    }
    assert_eq!(contract_named(&controller, "pair").state, State::Enforced);
    // The record has it, and the first report of a session after a restart takes it back.
    let mut controller = reload(&controller, &setup(Paths::All));
    assert_eq!(contract_named(&controller, "delay").degraded_reason, expected);
    agents.begin(&mut controller, 5);
    agents.report_all(&mut controller, 6);
    assert_eq!(contract_named(&controller, "delay").state, State::Enforced);
    assert_eq!(states(&controller), [State::Enforced; 4]);
}

#[test]
fn a_session_without_reports_does_not_confirm_rules_for_long() {
    let (controller, mut agents) = confirmed();
    // Agents of an earlier version begin sessions and never report rules.
    let mut controller = reload(&controller, &setup(Paths::All));
    assert_eq!(states(&controller), [State::Enforced; 4], "confirmed before the restart");
    agents.begin(&mut controller, 100);
    // An agent that was just started has not received the contracts, and reports only that it has no problem.
    let (node, epoch) = ("h1".to_owned(), agents.epochs["h1"]);
    let report = Command::ReportRules { node, epoch, in_force: None, enforces: known(), problems: Some(Vec::new()) };
    controller.handle(at(101), report).unwrap();
    for second in 1..=5 {
        HOSTS.iter().for_each(|host| agents.heartbeat(&mut controller, 1_000 * second, host));
        controller.tick(at(1_000 * second));
    }
    assert_eq!(states(&controller), [State::Enforced; 4]);
    controller.tick(at(5_100));
    assert_eq!(states(&controller), [State::Degraded; 4]);
}

/// Catches: confirmations that last for ever, since the agent sends heartbeats.
#[test]
fn an_agent_that_stops_reporting_its_rules_confirms_them_no_longer() {
    let mut controller = all_kinds();
    let mut agents = Agents::default();
    agents.begin(&mut controller, 2);
    agents.report_all(&mut controller, 3);
    let h5 = controller.network().find_node("h5").unwrap();
    let has_reported = |controller: &Controller| controller.node_state(h5).unwrap().has_reported_rules();
    assert!(has_reported(&controller));
    // Longer than the time in which a session has to report its rules.
    for second in 1..=6 {
        agents.report_all(&mut controller, 1_000 * second);
        HOSTS.iter().for_each(|host| agents.heartbeat(&mut controller, 1_000 * second, host));
        controller.tick(at(1_000 * second));
    }
    for second in 7..=12 {
        let (node, epoch) = ("h5".to_owned(), agents.epochs["h5"]);
        let report =
            Command::ReportRules { node, epoch, in_force: None, enforces: known(), problems: Some(Vec::new()) };
        controller.handle(at(1_000 * second), report).unwrap();
        HOSTS.iter().for_each(|host| agents.heartbeat(&mut controller, 1_000 * second, host));
        controller.tick(at(1_000 * second));
        assert!(!has_reported(&controller));
        assert_eq!(code(&controller, "hose").is_some(), second == 12, "{second}");
    }
    let expected = [State::Enforced, State::Degraded, State::Degraded, State::Degraded];
    assert_eq!((states(&controller), code(&controller, "hose")), (expected.to_vec(), Some("UNCONFIRMED")));
    agents.report_all(&mut controller, 12_001);
    assert_eq!(states(&controller), [State::Enforced; 4]);
}

/// Catches: a record of each of its contracts, whenever an agent is restarted.
#[test]
fn a_restart_of_an_agent_writes_no_record_of_a_contract() {
    let mut controller = all_kinds();
    let mut agents = Agents::default();
    agents.begin(&mut controller, 2);
    agents.report_all(&mut controller, 3);
    HOSTS.iter().for_each(|host| agents.heartbeat(&mut controller, 4, host));
    // The routes that were left are empty.
    controller.tick(at(900));
    controller.take_output();
    let delay = contract_named(&controller, "delay");
    let installed = vec![(delay.serial, delay.versions().1.unwrap())];
    let begin = Command::Begin { node: "h1".to_owned(), after: agents.epochs["h1"], installed };
    let Ok(Reply::Begun { epoch }) = controller.handle(at(1_000), begin) else { panic!("a session begins") };
    agents.epochs.insert("h1", epoch);
    let h1 = controller.network().find_node("h1").unwrap();
    assert!(!controller.node_state(h1).unwrap().has_reported_rules());
    let kinds = |controller: &mut Controller| {
        let changes = controller.take_output().changes.into_iter().map(|change| change.kind);
        changes.filter(|kind| *kind != RecordKind::Controller).collect::<Vec<_>>()
    };
    assert_eq!(kinds(&mut controller), [RecordKind::Node]);
    agents.report(&mut controller, 2_000, "h1", &[]);
    agents.report(&mut controller, 3_000, "h1", &[]);
    assert!(controller.node_state(h1).unwrap().has_reported_rules());
    assert_eq!(kinds(&mut controller), [RecordKind::Node], "its rules are known again");
    HOSTS.iter().for_each(|host| agents.heartbeat(&mut controller, 3_000, host));
    controller.tick(at(7_900));
    assert_eq!((states(&controller), kinds(&mut controller)), (vec![State::Enforced; 4], vec![]));
}

/// Catches: `enforced` before `admitted`, when the agent of a silent host begins a session without rules.
#[test]
fn a_session_without_installed_rules_enforces_nothing_before_a_confirmation() {
    let (mut controller, mut agents) = with_h5_silent();
    let begin = |controller: &mut Controller, ms, host: &str, after| {
        let begin = Command::Begin { node: host.to_owned(), after, installed: Vec::new() };
        controller.handle(at(ms), begin).unwrap();
    };
    for host in ["h1", "h9"] {
        controller.tick(at(20_000));
        begin(&mut controller, 20_001, host, agents.epochs[host]);
    }
    let events: Vec<(EventKind, String)> =
        controller.take_output().events.into_iter().map(|event| (event.kind, event.object)).collect();
    let of_delay = events.iter().filter(|(_, object)| object == "default:delay").map(|(kind, _)| *kind);
    let last: Vec<EventKind> = of_delay.collect::<Vec<_>>().split_off(1);
    assert_eq!(last, [EventKind::Enforced, EventKind::Degraded], "{events:?}");
    *agents.epochs.get_mut("h1").unwrap() += 1;
    agents.heartbeat(&mut controller, 20_002, "h1");
    assert_eq!(contract_named(&controller, "delay").state, State::Admitted);
    let (node, epoch) = ("h1".to_owned(), agents.epochs["h1"]);
    let done = installs(&controller.outbox("h1"));
    controller.handle(at(20_002), Command::Confirm { node, epoch, done }).unwrap();
    assert_eq!(contract_named(&controller, "delay").state, State::Enforced);
}

#[test]
fn a_disconnected_share_is_confirmed_anew_when_it_recovers() {
    let (mut controller, agents) = confirmed();
    let network = controller.network().clone();
    let uplink = network.links_from(network.find_node("h5").unwrap())[0];
    let switch = network.node(network.link(uplink).to).name.clone();
    fail(&mut controller, &switch, true);
    assert_eq!(code(&controller, "hose"), Some("FAILURE"), "h5 is cut off");
    assert!(!rules(&controller).contains_key("hose"), "its hosts are not told of it");
    fail(&mut controller, &switch, false);
    assert_eq!((contract_named(&controller, "hose").state, code(&controller, "hose")), (State::Admitted, None));
    agents.report_all(&mut controller, 4);
    assert_eq!(states(&controller), [State::Enforced; 4]);
}

#[test]
fn a_share_is_sent_to_hosts_at_its_start_time() {
    let setup = setup(Paths::All);
    let mut controller = start(&setup);
    let starts = WallTime::from_nanos(at(5_000).wall.as_nanos());
    let mut later = hose(&setup.network, "hose", &HOSTS, 100);
    later.starts = Some(starts);
    apply(&mut controller, at(1), later);
    let mut agents = Agents::default();
    agents.begin(&mut controller, 2);
    agents.report_all(&mut controller, 3);
    assert_eq!((contract_named(&controller, "hose").state, rules(&controller).len()), (State::Pending, 0));
    controller.take_output();
    controller.tick(at(5_000));
    assert_eq!((contract_named(&controller, "hose").state, rules(&controller).len()), (State::Admitted, 1));
    agents.report_all(&mut controller, 5_001);
    assert_eq!(contract_named(&controller, "hose").state, State::Enforced);
    let events = controller.take_output().events.into_iter().filter(|event| event.object == "default:hose");
    let kinds: Vec<EventKind> = events.map(|event| event.kind).collect();
    assert_eq!(kinds, [EventKind::Admitted, EventKind::Enforced]);
    controller.handle(at(5_002), Command::Delete { ids: vec![(id("hose"), Precondition::None)] }).unwrap();
    assert!(controller.grant(&id("hose")).is_none() && controller.due().0 > Some(Time::ZERO));
}
