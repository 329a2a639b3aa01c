//! Tests of an agent's reports on its cables, and of their order with confirmations.

use std::collections::BTreeMap;
use std::sync::mpsc::{Receiver, Sender, channel, sync_channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use wayleave_agent::NodeDriver;
use wayleave_agent::controller_client::ControllerReply;
use wayleave_agent::environment::Environment;
use wayleave_agent::machine::{AgentReply, AgentRequest, Driver, DriverError};
use wayleave_agent::worker::{Cables, Carriers, ControllerNotice, DownReason, LinkState, Worker, WorkerEvent};

use wayleave_protocol::agent::{ContractProblem, Measured, Messages, Operation, Rule, Work};
use wayleave_units::Time;

/// A node that does nothing. A removal is a problem of the contract.
#[derive(Default)]
struct Idle {
    problems: Vec<ContractProblem>,
}

impl Driver for Idle {
    fn installed(&mut self, _: Time) -> Result<Vec<(u64, u64)>, DriverError> {
        Ok(Vec::new())
    }

    fn install(&mut self, _: Time, _: u64, _: u64, _: &Rule) -> Result<(), DriverError> {
        Ok(())
    }

    fn remove(&mut self, _: Time, serial: u64, _: u64) -> Result<(), DriverError> {
        self.problems.push(ContractProblem { serial, why: "its packets belong to another one".to_owned() });
        Ok(())
    }

    fn set_up(&mut self, _: Time, _: u64) -> Result<(), DriverError> {
        Ok(())
    }
}

impl NodeDriver for Idle {
    fn repair(&mut self) -> Vec<String> {
        Vec::new()
    }

    fn refresh(&mut self) {}

    fn set_environment(&mut self, _: Arc<Environment>) {}

    fn contract_problems(&self) -> Option<Vec<ContractProblem>> {
        Some(self.problems.clone())
    }

    fn reports(&mut self) -> Vec<Measured> {
        Vec::new()
    }
}

/// A node whose links the test changes, and the channels of its worker.
struct Testbed {
    carriers: Arc<Mutex<Carriers>>,
    events: Sender<WorkerEvent>,
    notices: Receiver<ControllerNotice>,
    runs: std::thread::JoinHandle<bool>,
    polls: Receiver<(u64, u64)>,
}

impl Testbed {
    /// Starts the worker of a host with two links.
    fn start(carriers: Carriers) -> Self {
        let (events, received) = channel();
        let (notifier, notices) = channel();
        let (poller, polls) = sync_channel(1);
        let carriers = Arc::new(Mutex::new(carriers));
        let interfaces: BTreeMap<String, String> = [("h1->s1", "up1"), ("s1->h1", "up2")]
            .map(|(link, interface)| (link.to_owned(), interface.to_owned()))
            .into();
        let read = carriers.clone();
        let network = Arc::new(wayleave_topology::builders::build::star(2, Default::default()).unwrap());
        let cables = Cables {
            interfaces,
            carriers: Box::new(move || read.lock().unwrap().clone()),
            node: network.find_node("h1").unwrap(),
            counters: Box::new(|| None),
        };
        let worker = Worker::new(Idle::default(), network, cables, poller, notifier);
        let runs = std::thread::spawn(move || worker.run(&received).is_none());
        Self { carriers, events, notices, runs, polls }
    }

    fn set(&self, carriers: Carriers) {
        *self.carriers.lock().unwrap() = carriers;
        self.events.send(WorkerEvent::Interfaces).unwrap();
    }

    /// Returns the next report of links.
    fn next(&self) -> LinkState {
        sight(&self.notices, &self.events, 1)
    }

    fn acknowledge(&self, state: LinkState) {
        self.events.send(WorkerEvent::Seen(state)).unwrap();
    }

    fn end(self) {
        self.events.send(WorkerEvent::End).unwrap();
        assert!(self.runs.join().unwrap());
    }
}

fn up(interfaces: &[&str]) -> Carriers {
    Carriers::Up(interfaces.iter().map(|&name| name.to_owned()).collect())
}

fn down(links: &[&str], reason: DownReason) -> LinkState {
    LinkState { epoch: 1, down: links.iter().map(|&link| (link.to_owned(), reason)).collect() }
}

/// Returns the next report on cables; begins sessions until then.
fn sight(neighbours: &Receiver<ControllerNotice>, events: &Sender<WorkerEvent>, epoch: u64) -> LinkState {
    loop {
        match neighbours.recv_timeout(Duration::from_secs(20)).expect("something is told of cables") {
            ControllerNotice::See(sight) => return sight,
            ControllerNotice::Request(request) if matches!(request.ask, AgentRequest::Begin { .. }) => {
                events.send(WorkerEvent::Answered(request.number, AgentReply::Begun { epoch })).unwrap();
            }
            ControllerNotice::Request(_) | ControllerNotice::Report(..) => {}
        }
    }
}

/// Catches: a contract that is "enforced" until the next report, although the agent knows that its packets belong to another
/// one.
#[test]
fn problems_are_reported_before_the_rule_is_confirmed() {
    let node = Testbed::start(up(&["up1", "up2"]));
    node.next();
    let (number, epoch) = node.polls.recv_timeout(Duration::from_secs(20)).unwrap();
    let operations = vec![Operation { serial: 7, version: 1, work: Work::Remove }];
    let messages = Messages { epoch, generation: 1, operations };
    node.events.send(WorkerEvent::Messages(number, Some(ControllerReply::Done(messages)))).unwrap();
    let mut known = Vec::new();
    loop {
        match node.notices.recv_timeout(Duration::from_secs(20)).unwrap() {
            ControllerNotice::Report(report) => known = report.contract_problems.unwrap(),
            ControllerNotice::Request(request) if matches!(request.ask, AgentRequest::Confirm { .. }) => break,
            ControllerNotice::Request(_) | ControllerNotice::See(_) => {}
        }
    }
    assert_eq!(known.iter().map(|one| one.serial).collect::<Vec<_>>(), [7]);
    node.end();
}

#[test]
fn carrier_changes_are_reported_until_acknowledged() {
    let node = Testbed::start(up(&["up1", "up2"]));
    // In a new session the agent reports at once that all links are up.
    let first = node.next();
    assert_eq!(first, down(&[], DownReason::NoCarrier));
    node.acknowledge(first);
    // A lost carrier is reported at once, and again until the controller has it.
    node.set(up(&["up1"]));
    let gone = down(&["s1->h1"], DownReason::NoCarrier);
    assert_eq!(node.next(), gone);
    assert_eq!(node.next(), gone);
    node.acknowledge(gone);
    // An unknown state changes nothing.
    node.set(Carriers::Unknown);
    // A carrier that is back is reported once it stays.
    node.set(up(&["up1", "up2"]));
    assert_eq!(node.next(), down(&[], DownReason::NoCarrier));
    node.end();
}

/// Catches: links of a switch that hangs, reported as cables that were pulled.
#[test]
fn links_of_a_silent_switch_are_down_for_another_reason_than_a_carrier() {
    let node = Testbed::start(Carriers::SwitchSilent);
    let silent = down(&["h1->s1", "s1->h1"], DownReason::SwitchSilent);
    assert_eq!(node.next(), silent);
    node.acknowledge(silent);
    assert_eq!(DownReason::SwitchSilent.to_string(), "Open vSwitch does not answer");
    // The switch answers again, and shows that a cable was pulled meanwhile.
    node.set(up(&["up1"]));
    let pulled = loop {
        let state = node.next();
        if state.down.len() == 1 {
            break state;
        }
    };
    assert_eq!(pulled, down(&["s1->h1"], DownReason::NoCarrier));
    node.end();
}
