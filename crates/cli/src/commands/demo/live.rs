//! Agents of the hosts of `demo --serve`: they confirm every contract, and report the traffic of a simulation as
//! agents report their counters.
//!
//! A run of 12 ms is simulated once. Its intervals of half a millisecond are replayed in a loop, one each second, so the
//! dashboard shows the rates of the simulation, and one thread serves all hosts. Contracts that are not part of the
//! simulation send nothing.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use wayleave_client::{Address, Method};
use wayleave_protocol::agent::{
    Confirmations, KEYS_SINCE_0_2, Messages, Reports, Session, SessionSpec, Shares, Traffic, Work,
};
use wayleave_protocol::load::{LinkCounters, LinkReport};

use crate::client::{RequestError, Service, target};
use crate::demo::{Replay, simulate};

/// Interval of reports, as of agents.
const EVERY: Duration = Duration::from_secs(1);
/// Interval at which a waiting thread looks for the end.
const STEP: Duration = Duration::from_millis(50);
/// Mean size of the packets of hoses, objectives and best effort on the wire: a full Ethernet frame (IEEE 802.3: 1,500 B, 18 B
/// of header and check sequence, 20 B of preamble and gap). The simulation records their bytes only.
const FRAME: u64 = 1_538;

/// Agents that run until they are stopped.
#[derive(Default)]
pub(super) struct Agents {
    stop: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
}

impl Agents {
    /// Starts the simulation and the agents of these hosts. They ask the controller with an operator's token.
    pub(super) fn start(&mut self, url: String, token: String, hosts: Vec<String>) {
        let replay = Arc::new(OnceLock::new());
        let (stop, result) = (self.stop.clone(), replay.clone());
        let simulation = move || match simulate(&|| !stop.load(Ordering::Relaxed)) {
            Ok(Some(replayed)) => drop(result.set(replayed)),
            Ok(None) => {}
            Err(error) => crate::output::tell!("warning: no traffic in this demo: {error}"),
        };
        let stop = self.stop.clone();
        let agents = move || {
            let address = Address { url, token: Some(token), ..Address::default() };
            match target::of_address(address, None) {
                Ok(service) => run(&service, &stop, &replay, hosts),
                Err(error) => crate::output::tell!("warning: no agents in this demo: {error}"),
            }
        };
        self.threads.push(std::thread::spawn(simulation));
        self.threads.push(std::thread::spawn(agents));
    }

    /// Stops the agents, and waits until they have ended.
    pub(super) fn stop(self) {
        self.stop.store(true, Ordering::Relaxed);
        for thread in self.threads {
            // A thread that has panicked has written its message already.
            let _ = thread.join();
        }
    }
}

fn run(service: &Service, stop: &AtomicBool, replay: &OnceLock<Replay>, hosts: Vec<String>) {
    let mut agents: Vec<HostAgent> = hosts.into_iter().map(HostAgent::new).collect();
    let mut second = 0;
    while !stop.load(Ordering::Relaxed) {
        let began = Instant::now();
        for agent in &mut agents {
            if let Some(replay) = replay.get() {
                agent.send(replay, second);
            }
            if stop.load(Ordering::Relaxed) {
                return;
            }
            // A session that was refused, as after a restart of the controller, begins again.
            if agent.exchange(service).is_err() {
                agent.epoch = None;
            }
        }
        second += usize::from(replay.get().is_some());
        while began.elapsed() < EVERY && !stop.load(Ordering::Relaxed) {
            std::thread::sleep(STEP);
        }
    }
}

/// Agent of a host.
struct HostAgent {
    host: String,
    epoch: Option<u64>,
    /// Names of contracts that the host sends, by serial number.
    contracts: BTreeMap<u64, String>,
    /// Bytes on the wire of each contract, by its name.
    sent: BTreeMap<String, u64>,
    /// The same of each link of the host, in both directions.
    links: BTreeMap<String, u64>,
    began: Instant,
}

impl HostAgent {
    fn new(host: String) -> Self {
        let (sent, links) = (BTreeMap::new(), BTreeMap::new());
        Self { host, epoch: None, contracts: BTreeMap::new(), sent, links, began: Instant::now() }
    }

    /// Counts what the host has sent in a second of the replay.
    fn send(&mut self, replay: &Replay, second: usize) {
        let add = |sums: &mut BTreeMap<String, u64>, (name, bytes): (&str, u64)| {
            let sum = sums.entry(name.to_owned()).or_default();
            *sum = sum.saturating_add(bytes);
        };
        replay.sent(&self.host, second).for_each(|sent| add(&mut self.sent, sent));
        replay.on_links(&self.host, second).for_each(|sent| add(&mut self.links, sent));
    }

    /// Takes the instructions of the controller, confirms them, and reports the counters.
    fn exchange(&mut self, service: &Service) -> Result<(), RequestError> {
        let path = |what: &str| format!("/v1/agents/{}/{what}", self.host);
        let epoch = match self.epoch {
            Some(epoch) => epoch,
            None => {
                let (_, session): (_, Session) =
                    service.send(Method::Post, &path("session"), &SessionSpec::default())?;
                self.contracts.clear();
                session.epoch
            }
        };
        let messages: Messages = service.get(&path(&format!("messages?epoch={epoch}")))?;
        let shares: Shares = service.get(&path("shares"))?;
        let done: Vec<(u64, u64)> = messages.operations.iter().map(|one| (one.serial, one.version)).collect();
        if !done.is_empty() {
            service.post(&path("confirmations"), &Confirmations { epoch, done })?;
        }
        let path = path("reports");
        self.epoch = Some(epoch);
        for operation in messages.operations {
            match operation.work {
                Work::Install { rule } => drop(self.contracts.insert(operation.serial, rule.id)),
                Work::Remove => drop(self.contracts.remove(&operation.serial)),
                Work::SetUp => {}
            }
        }
        service.post(&path, &self.reports(epoch, &shares))
    }

    fn reports(&self, epoch: u64, shares: &Shares) -> Reports {
        let rules = shares.contracts.iter().map(|rule| (rule.serial, rule.id.as_str()));
        let installed = self.contracts.iter().map(|(&serial, id)| (serial, id.as_str()));
        let all: BTreeSet<(u64, &str)> = installed.chain(rules).collect();
        let traffic = all.into_iter().map(|(serial, id)| {
            let name = id.split_once(':').map_or(id, |(_, name)| name);
            let bytes = self.sent.get(name).copied().unwrap_or(0);
            Traffic { serial, bytes, packets: bytes.div_ceil(FRAME), ..Traffic::default() }
        });
        let counters = self.links.iter().map(|(link, &bytes)| {
            let packets = bytes.div_ceil(FRAME);
            LinkCounters { link: link.clone(), interface: 1, bytes, packets, dropped: 0 }
        });
        let read_ns = u64::try_from(self.began.elapsed().as_nanos()).unwrap_or(u64::MAX);
        let links = LinkReport { read_ns, counters: counters.collect() };
        Reports {
            epoch,
            // Before the first interval nothing is known of the links.
            links: Some(links).filter(|links| !links.counters.is_empty()),
            beat: true,
            rules_in_force: Some(shares.contracts.iter().map(|rule| (rule.serial, rule.version)).collect()),
            enforces: KEYS_SINCE_0_2.map(str::to_owned).to_vec(),
            contract_problems: Some(Vec::new()),
            traffic: Some(traffic.collect()),
            ..Reports::default()
        }
    }
}
