//! The two threads of a node that send requests to the controller, and their copy of its answers.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender};
use std::time::{Duration, Instant};

use crate::machine::{AgentReply, AgentRequest};
use wayleave_client::Error;
use wayleave_protocol::agent::{Measured, Neighbours, Reports};
use wayleave_protocol::load::MAX_REPORT_GAP;
use wayleave_topology::Network;

use crate::controller_client::{ControllerClient, ControllerReply};
use crate::environment::Environment;
use crate::options::ReadTopology;
use crate::worker::{ControllerNotice, WorkerEvent};

/// Poll interval for the locations of VMs.
const POLL_INTERVAL: Duration = Duration::from_secs(1);
/// Before something that failed is tried again; doubled every time after.
const FIRST_PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_secs(2);
/// Maximum number of measurements, and of repairs, that the next report repeats.
const MAX_UNSENT: usize = 64;

/// Asks what there is to do, and waits for it; each request is a number and a session.
pub(crate) fn poll(client: &ControllerClient, requests: &Receiver<(u64, u64)>, events: &Sender<WorkerEvent>) {
    let mut pause = FIRST_PAUSE;
    while let Ok((number, epoch)) = requests.recv() {
        let outgoing = client.messages(epoch).ok();
        match outgoing {
            Some(_) => pause = FIRST_PAUSE,
            None => {
                std::thread::sleep(pause);
                pause = (pause * 2).min(LONGEST_PAUSE);
            }
        }
        if events.send(WorkerEvent::Messages(number, outgoing)).is_err() {
            return;
        }
    }
}

/// Sends what the worker reports, and asks where VMs are.
pub(crate) struct Notifier {
    client: ControllerClient,
    events: Sender<WorkerEvent>,
    inbox: Receiver<ControllerNotice>,
    known: KnownRules,
    tag: Option<String>,
    /// That of the contracts of other kinds than latency.
    shares_tag: Option<String>,
    last_error: Option<Error>,
    unsent: Unsent,
}

/// Answers of the controller, also stored on disk: an agent that starts without a controller uses them.
#[derive(Debug)]
pub(crate) struct KnownRules {
    folder: PathBuf,
    read: ReadTopology,
    document: String,
    network: Option<Arc<Network>>,
    generation: u64,
}

impl KnownRules {
    /// Reads the stored answers, and the environment that follows from them, if there is one.
    pub(crate) fn read(folder: &Path, read: ReadTopology) -> (Self, Option<Arc<Environment>>) {
        let mut known = Self { folder: folder.to_owned(), read, document: String::new(), network: None, generation: 0 };
        let topology = fs::read_to_string(known.topology_file()).ok();
        let neighbours = fs::read_to_string(known.neighbours_file()).ok();
        let neighbours = neighbours.and_then(|text| serde_json::from_str::<Neighbours>(&text).ok());
        let environment = topology.zip(neighbours).and_then(|(document, neighbours)| {
            let network = read(&document).ok().map(Arc::new)?;
            known.document = document;
            known.network = Some(network.clone());
            Some(Arc::new(Environment::of(network, &neighbours)))
        });
        (known, environment)
    }

    fn topology_file(&self) -> PathBuf {
        self.folder.join("topology.yaml")
    }

    fn neighbours_file(&self) -> PathBuf {
        self.folder.join("neighbours.json")
    }

    /// For the next start; that it cannot be written is no reason to stop.
    fn write(path: &Path, text: &str) {
        let beside = path.with_extension("new");
        if let Err(error) = fs::write(&beside, text).and_then(|()| fs::rename(&beside, path)) {
            tracing::warn!("{} cannot be written: {error}", path.display());
        }
    }
}

/// Late packets and repairs of reports that the controller may not have received. No later report repeats them.
#[derive(Debug, Default)]
struct Unsent {
    /// Begin of the first request that failed.
    since: Option<Instant>,
    measured: Vec<Measured>,
    repairs: Vec<String>,
}

impl Unsent {
    /// Keeps what a request has not delivered that began at this time.
    fn keep(&mut self, began: Instant, reports: Reports) {
        self.measured.extend(reports.measured.into_iter().filter(|one| one.late > 0));
        self.repairs.extend(reports.repairs);
        self.measured.truncate(MAX_UNSENT);
        self.repairs.truncate(MAX_UNSENT);
        self.since.get_or_insert(began);
    }

    /// Adds it to the next report. After a longer silence it is discarded: the controller knows nothing of that time, and
    /// would count it for a later one.
    fn add_to(&mut self, now: Instant, reports: &mut Reports) {
        let Self { since, measured, repairs } = std::mem::take(self);
        if since.is_some_and(|since| now.saturating_duration_since(since) <= MAX_REPORT_GAP) {
            reports.measured.splice(0..0, measured);
            reports.repairs.splice(0..0, repairs);
        }
    }
}

/// Returns `true` if a notice is only a heartbeat: the next one supersedes it.
fn is_heartbeat(notice: &ControllerNotice) -> bool {
    matches!(notice, ControllerNotice::Report(reports) if reports.measured.is_empty() && reports.repairs.is_empty() && !reports_packets(reports))
}

/// Returns `true` if a report covers packets, which no later report repeats.
fn reports_packets(reports: &Reports) -> bool {
    reports.samples.as_ref().is_some_and(|samples| !samples.sent.is_empty() || !samples.arrived.is_empty())
}

impl Notifier {
    /// Creates the notifier of a node; `known` holds the stored answers.
    pub(crate) fn new(
        client: ControllerClient,
        events: Sender<WorkerEvent>,
        inbox: Receiver<ControllerNotice>,
        known: KnownRules,
    ) -> Self {
        Self { client, events, inbox, known, tag: None, shares_tag: None, last_error: None, unsent: Unsent::default() }
    }

    /// Until the worker has ended.
    pub(crate) fn run(mut self) {
        let (mut pause, mut look_at) = (FIRST_PAUSE, Instant::now());
        loop {
            if Instant::now() >= look_at {
                let result = self.poll();
                pause = if result.is_ok() { FIRST_PAUSE } else { (pause * 2).min(LONGEST_PAUSE) };
                look_at = Instant::now() + if result.is_ok() { POLL_INTERVAL } else { pause };
                self.note(result);
            }
            match self.inbox.recv_timeout(look_at.saturating_duration_since(Instant::now())) {
                Ok(first) => {
                    let result = self.notify(first);
                    self.note(result);
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return,
            }
        }
    }

    /// Logs a trouble when it begins, and when it is over.
    fn note(&mut self, result: Result<(), Error>) {
        match result {
            Ok(()) if self.last_error.take().is_some() => tracing::info!("the controller answers"),
            Err(error) if self.last_error.as_ref() != Some(&error) => {
                tracing::warn!("{error}; installed rules stay in force; retrying");
                self.last_error = Some(error);
            }
            _ => {}
        }
    }

    /// Fetches the locations of VMs, the failed elements, and the contracts that share the links here, if these have
    /// changed.
    fn poll(&mut self) -> Result<(), Error> {
        self.poll_state()?;
        if let Some((tag, shares)) = self.client.shares(self.shares_tag.as_deref())? {
            self.shares_tag = Some(tag);
            let _ = self.events.send(WorkerEvent::Shares(Box::new(shares)));
        }
        Ok(())
    }

    fn poll_state(&mut self) -> Result<(), Error> {
        let Some((tag, neighbours)) = self.client.neighbours(self.tag.as_deref())? else { return Ok(()) };
        let mut is_other = false;
        if self.known.network.is_none() || self.known.generation != neighbours.generation {
            let document = self.client.topology()?.document;
            if self.known.network.is_none() || document != self.known.document {
                self.known.network = Some((self.known.read)(&document).map(Arc::new).map_err(Error::Failed)?);
                KnownRules::write(&self.known.topology_file(), &document);
                self.known.document = document;
                is_other = true;
            }
            self.known.generation = neighbours.generation;
        }
        let Some(network) = self.known.network.clone() else { return Ok(()) };
        if let Ok(text) = serde_json::to_string(&neighbours) {
            KnownRules::write(&self.known.neighbours_file(), &text);
        }
        let environment = Arc::new(Environment::of(network, &neighbours));
        let event =
            if is_other { WorkerEvent::OtherNetwork(environment) } else { WorkerEvent::Environment(environment) };
        self.tag = Some(tag);
        // If the receiver no longer exists, the inbox shows that, too.
        let _ = self.events.send(event);
        Ok(())
    }

    /// Sends all queued notices. Of several requests for a session only the last counts: it names what is installed
    /// now.
    fn notify(&mut self, first: ControllerNotice) -> Result<(), Error> {
        let mut all = vec![first];
        while let Ok(more) = self.inbox.try_recv() {
            all.push(more);
        }
        let begins = |one: &ControllerNotice| matches!(one, ControllerNotice::Request(request) if matches!(request.ask, AgentRequest::Begin { .. }));
        let last = all.iter().rposition(begins);
        let (mut result, count) = (Ok(()), all.len());
        for (at, one) in all.into_iter().enumerate() {
            let is_outdated = begins(&one) && Some(at) != last;
            if is_outdated || (is_heartbeat(&one) && at + 1 < count) {
                continue;
            }
            result = self.notify_one(one);
        }
        result
    }

    fn notify_one(&mut self, one: ControllerNotice) -> Result<(), Error> {
        let request = match one {
            ControllerNotice::Report(mut reports) => {
                let began = Instant::now();
                self.unsent.add_to(began, &mut reports);
                let reply = self.client.report(&reports);
                match reply {
                    Ok(ControllerReply::Done(tasks)) => {
                        let _ = self.events.send(WorkerEvent::Checks(tasks.unwrap_or_default().checks));
                    }
                    Ok(ControllerReply::Stale(_)) => self.unsent.keep(began, *reports),
                    Err(error) => {
                        self.unsent.keep(began, *reports);
                        return Err(error);
                    }
                }
                return Ok(());
            }
            ControllerNotice::See(sight) => {
                let links = sight.down.keys().cloned().collect();
                if let ControllerReply::Done(()) = self.client.see(sight.epoch, links)? {
                    let _ = self.events.send(WorkerEvent::Seen(sight));
                }
                return Ok(());
            }
            ControllerNotice::Request(request) => request,
        };
        if matches!(request.ask, AgentRequest::Begin { .. }) {
            // A new session may not know the contracts yet: they are fetched once more.
            self.shares_tag = None;
        }
        let answer = match request.ask {
            AgentRequest::Begin { after, installed } => match self.client.begin(after, installed)? {
                ControllerReply::Done(session) => AgentReply::Begun { epoch: session.epoch },
                ControllerReply::Stale(current) => AgentReply::Stale { current },
            },
            AgentRequest::Confirm { epoch, done } => match self.client.confirm(epoch, done)? {
                ControllerReply::Done(()) => AgentReply::Noted,
                ControllerReply::Stale(current) => AgentReply::Stale { current },
            },
            AgentRequest::Operations { .. } => return Ok(()),
        };
        let _ = self.events.send(WorkerEvent::Answered(request.number, answer));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Catches: late packets that are lost with a report, in a minute that then counts as kept.
    #[test]
    fn late_packets_and_repairs_of_a_failed_report_are_in_the_next_one_unless_it_is_too_late() {
        let measured = |serial, late| Measured { serial, late, ..Measured::default() };
        let of = |serial| Reports {
            measured: vec![measured(serial, 1), measured(serial, 0)],
            repairs: vec![format!("repair {serial}")],
            ..Reports::default()
        };
        for (after, is_sent) in [(2, true), (4, false)] {
            let (mut unsent, start) = (Unsent::default(), Instant::now());
            unsent.keep(start, of(1));
            unsent.keep(start + Duration::from_secs(1), of(2));
            let mut next = of(3);
            unsent.add_to(start + Duration::from_secs(after), &mut next);
            let serials: Vec<(u64, u64)> = next.measured.iter().map(|one| (one.serial, one.late)).collect();
            let (earlier, own) = ([(1, 1), (2, 1)], [(3, 1), (3, 0)]);
            let expected = if is_sent { [earlier, own].concat() } else { own.to_vec() };
            assert_eq!((serials, next.repairs.len()), (expected, if is_sent { 3 } else { 1 }));
            let mut later = of(4);
            unsent.add_to(start + Duration::from_secs(after), &mut later);
            assert_eq!(later, of(4));
        }
        let mut unsent = Unsent::default();
        (0..100).for_each(|serial| unsent.keep(Instant::now(), of(serial)));
        assert_eq!((unsent.measured.len(), unsent.repairs.len()), (MAX_UNSENT, MAX_UNSENT));
    }
}
