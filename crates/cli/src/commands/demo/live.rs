//! Agents of the hosts of `demo --serve`: they confirm every contract, and report the traffic of a simulation as
//! agents report their counters.
//!
//! A run of 12 ms is simulated once. Its intervals of half a millisecond are replayed in a loop, one each second of this
//! machine's clock, so the dashboard shows the rates of the simulation however busy the machine is. Each host has a thread,
//! as each real host has an agent: a slow one delays no other. Contracts that are not part of the simulation send nothing.

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
        self.threads.push(std::thread::spawn(simulation));
        for host in hosts {
            let (stop, replay) = (self.stop.clone(), replay.clone());
            let address = Address { url: url.clone(), token: Some(token.clone()), ..Address::default() };
            let agent = move || match target::of_address(address, None) {
                Ok(service) => run(&service, &stop, &replay, HostAgent::new(host)),
                Err(error) => crate::output::tell!("warning: no agent of {host} in this demo: {error}"),
            };
            self.threads.push(std::thread::spawn(agent));
        }
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

fn run(service: &Service, stop: &AtomicBool, replay: &OnceLock<Replay>, mut agent: HostAgent) {
    let mut next = Instant::now();
    while !stop.load(Ordering::Relaxed) {
        // A session that was refused, as after a restart of the controller, begins again.
        if agent.exchange(service, replay.get()).is_err() {
            agent.epoch = None;
        }
        next = (next + EVERY).max(Instant::now());
        while Instant::now() < next && !stop.load(Ordering::Relaxed) {
            std::thread::sleep(STEP.min(next.saturating_duration_since(Instant::now())));
        }
    }
}

/// Agent of a host.
struct HostAgent {
    host: String,
    epoch: Option<u64>,
    /// Names of contracts that the host sends, by serial number.
    contracts: BTreeMap<u64, String>,
    /// Bytes on the wire of each contract, by its name, in whole seconds of the replay.
    sent: BTreeMap<String, u64>,
    /// Bytes on the wire of each link of the host, in both directions.
    links: BTreeMap<String, u64>,
    /// Number of seconds that are counted.
    seconds: usize,
    /// Begin of the replay.
    began: Option<Instant>,
    started: Instant,
}

impl HostAgent {
    fn new(host: String) -> Self {
        let (sent, links, started) = (BTreeMap::new(), BTreeMap::new(), Instant::now());
        Self { host, epoch: None, contracts: BTreeMap::new(), sent, links, seconds: 0, began: None, started }
    }

    /// Returns the bytes of contracts and of links that were sent until now.
    fn counters(&mut self, replay: &Replay, now: Instant) -> [BTreeMap<String, u64>; 2] {
        let passed = now.saturating_duration_since(*self.began.get_or_insert(now));
        let whole = usize::try_from(passed.as_secs()).unwrap_or(usize::MAX);
        let rest = u64::from(passed.subsec_nanos());
        let add = |sums: &mut BTreeMap<String, u64>, (name, bytes): (&str, u64)| {
            let sum = sums.entry(name.to_owned()).or_default();
            *sum = sum.saturating_add(bytes);
        };
        while self.seconds < whole {
            replay.sent(&self.host, self.seconds).for_each(|sent| add(&mut self.sent, sent));
            replay.on_links(&self.host, self.seconds).for_each(|sent| add(&mut self.links, sent));
            self.seconds += 1;
        }
        // Of the present second, the part that has passed.
        let part = |bytes: u64| u64::try_from(u128::from(bytes) * u128::from(rest) / 1_000_000_000).unwrap_or(u64::MAX);
        let (mut sent, mut links) = (self.sent.clone(), self.links.clone());
        replay.sent(&self.host, whole).for_each(|(name, bytes)| add(&mut sent, (name, part(bytes))));
        replay.on_links(&self.host, whole).for_each(|(name, bytes)| add(&mut links, (name, part(bytes))));
        [sent, links]
    }

    /// Takes the instructions of the controller, confirms them, and reports the counters.
    fn exchange(&mut self, service: &Service, replay: Option<&Replay>) -> Result<(), RequestError> {
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
        let reports = self.reports(epoch, &shares, replay);
        service.post(&path, &reports)
    }

    fn reports(&mut self, epoch: u64, shares: &Shares, replay: Option<&Replay>) -> Reports {
        let now = Instant::now();
        let [sent, links] = replay.map(|replay| self.counters(replay, now)).unwrap_or_default();
        let rules = shares.contracts.iter().map(|rule| (rule.serial, rule.id.as_str()));
        let installed = self.contracts.iter().map(|(&serial, id)| (serial, id.as_str()));
        let all: BTreeSet<(u64, &str)> = installed.chain(rules).collect();
        let traffic = all.into_iter().map(|(serial, id)| {
            let name = id.split_once(':').map_or(id, |(_, name)| name);
            let bytes = sent.get(name).copied().unwrap_or(0);
            Traffic { serial, bytes, packets: bytes.div_ceil(FRAME), ..Traffic::default() }
        });
        let counters = links.iter().map(|(link, &bytes)| {
            let packets = bytes.div_ceil(FRAME);
            LinkCounters { link: link.clone(), interface: 1, bytes, packets, dropped: 0 }
        });
        let read_ns = u64::try_from(now.saturating_duration_since(self.started).as_nanos()).unwrap_or(u64::MAX);
        let links = LinkReport { read_ns, counters: counters.collect() };
        Reports {
            epoch,
            // Before the first interval nothing is known of the links.
            links: Some(links).filter(|links| !links.counters.is_empty()),
            beat: true,
            rules_in_force: Some(shares.contracts.iter().map(|rule| (rule.serial, rule.version)).collect()),
            enforces: KEYS_SINCE_0_2.map(str::to_owned).to_vec(),
            contract_problems: Some(Vec::new()),
            without_carrier: Some(Vec::new()),
            traffic: Some(traffic.collect()),
            ..Reports::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two agents of one host report at different times: every second, and after half a minute of a busy machine.
    #[test]
    fn counters_follow_the_clock_and_not_the_number_of_reports() {
        let replay = simulate(&|| true).unwrap().unwrap();
        let host = (1..=16).map(|number| format!("h{number}")).find(|host| replay.sent(host, 0).next().is_some());
        let host = host.expect("a host that sends");
        let [mut regular, mut late] = [HostAgent::new(host.clone()), HostAgent::new(host)];
        let start = Instant::now();
        let _ = (regular.counters(&replay, start), late.counters(&replay, start));
        let half = Duration::from_millis(500);
        let mut before = 0;
        for second in 1..=30 {
            let now = start + EVERY * second + half;
            let sum = regular.counters(&replay, now)[0].values().sum::<u64>();
            assert!(sum >= before, "{second}");
            before = sum;
        }
        assert!(before > 0);
        assert_eq!(
            regular.counters(&replay, start + EVERY * 30 + half),
            late.counters(&replay, start + EVERY * 30 + half)
        );
    }
}
