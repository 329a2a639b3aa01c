//! Tests of an agent's reports on its cables.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::mpsc::{Receiver, Sender, channel, sync_channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use wayleave_agent::NodeDriver;
use wayleave_agent::environment::Environment;
use wayleave_agent::machine::{AgentReply, AgentRequest, Driver, DriverError};
use wayleave_agent::worker::{Cables, CarrierState, ControllerNotice, Worker, WorkerEvent};
use wayleave_protocol::agent::Measured;
use wayleave_protocol::agent::Rule;
use wayleave_units::Time;

/// A node that does nothing.
struct Idle;

impl Driver for Idle {
    fn installed(&mut self, _: Time) -> Result<Vec<(u64, u64)>, DriverError> {
        Ok(Vec::new())
    }

    fn install(&mut self, _: Time, _: u64, _: u64, _: &Rule) -> Result<(), DriverError> {
        Ok(())
    }

    fn remove(&mut self, _: Time, _: u64, _: u64) -> Result<(), DriverError> {
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

    fn reports(&mut self) -> Vec<Measured> {
        Vec::new()
    }
}

/// Returns the next report on cables; begins sessions until then.
fn sight(neighbours: &Receiver<ControllerNotice>, events: &Sender<WorkerEvent>, epoch: u64) -> CarrierState {
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

#[test]
fn carrier_changes_are_reported_until_acknowledged() {
    let (events, received) = channel();
    let (notifier, neighbours) = channel();
    let (poller, _asked) = sync_channel(1);
    let bright: BTreeSet<String> = ["up1", "up2"].map(str::to_owned).into();
    let there = Arc::new(Mutex::new(Some(bright.clone())));
    let interfaces: BTreeMap<String, String> =
        [("h1->s1", "up1"), ("s1->h1", "up2")].map(|(link, interface)| (link.to_owned(), interface.to_owned())).into();
    let looked = there.clone();
    let network = Arc::new(wayleave_topology::builders::build::star(2, Default::default()).unwrap());
    let cables = Cables {
        interfaces,
        with_carrier: Box::new(move || looked.lock().unwrap().clone()),
        node: network.find_node("h1").unwrap(),
        counters: Box::new(|| None),
    };
    let worker = Worker::new(Idle, network, cables, poller, notifier);
    let runs = std::thread::spawn(move || worker.run(&received).is_none());
    let links = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect::<BTreeSet<String>>();

    // In a new session the agent reports at once that all carriers are up.
    let first = sight(&neighbours, &events, 1);
    assert_eq!(first, CarrierState { epoch: 1, without_carrier: links(&[]) });
    events.send(WorkerEvent::Seen(first)).unwrap();
    // A lost carrier is reported at once, and again until the controller has it.
    there.lock().unwrap().as_mut().unwrap().remove("up2");
    events.send(WorkerEvent::Interfaces).unwrap();
    let gone = CarrierState { epoch: 1, without_carrier: links(&["s1->h1"]) };
    assert_eq!(sight(&neighbours, &events, 1), gone);
    assert_eq!(sight(&neighbours, &events, 1), gone);
    events.send(WorkerEvent::Seen(gone)).unwrap();
    // That it cannot be found out is no news.
    *there.lock().unwrap() = None;
    events.send(WorkerEvent::Interfaces).unwrap();
    // A carrier that is back is reported once it stays.
    *there.lock().unwrap() = Some(bright);
    events.send(WorkerEvent::Interfaces).unwrap();
    let back = sight(&neighbours, &events, 1);
    assert_eq!(back, CarrierState { epoch: 1, without_carrier: links(&[]) });
    events.send(WorkerEvent::End).unwrap();
    assert!(runs.join().unwrap());
}
