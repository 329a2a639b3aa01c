//! Counters of contracts and problems that hosts report. They are reported every second and lost when the process
//! ends: they are not on disk.

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use wayleave_protocol::agent::{Measured, SampledPackets, Samples, Traffic};
use wayleave_protocol::traffic::ContractTraffic;
use wayleave_topology::NodeId;
use wayleave_units::{Rate, Time};

use crate::agent_figures::{Bounds, Contradictions, Slowest};
use crate::agent_text::HostCounters;
use crate::load::{FRESH, MIN_INTERVAL, Missed, ReadTime, Window, is_believable};
use crate::loss_tracking::{Follower, LostRun, SampledDelay};
use crate::read_guard::LeafGuard;

/// Number of sessions of a node within [`SESSION_TIME`] that is a problem: an agent that is restarted begins one.
const MAX_SESSIONS: usize = 5;
const SESSION_TIME: Duration = Duration::from_secs(60);
/// Longest believable mean waiting time, in ns. Agents drop packets that wait for longer than about 100 ms.
const MAX_WAIT_NS: u64 = 10_000_000_000;

/// Last reports of nodes.
#[derive(Debug, Default)]
pub(crate) struct ReportedTraffic(Mutex<Reports>);

/// By node.
#[derive(Debug, Default)]
struct Reports {
    /// Its last report of contracts.
    traffic: BTreeMap<String, HostReport>,
    /// Increases of the counters of all contracts, also of deleted ones, since the first report of each; `None` if no counters
    /// of a contract were reported.
    totals: Option<Traffic>,
    /// Counters of all packets, by outcome.
    packets: BTreeMap<String, HostCounters>,
    /// Outcome of packets in transit.
    follower: Follower,
    /// `true` if a host has reported sampled packets that it has sent.
    is_sampled: bool,
    /// Tenants of whose contracts a receiver has measured packets in its present session.
    measured: BTreeMap<String, BTreeSet<String>>,
    /// Problems of nodes.
    troubles: BTreeMap<String, Vec<String>>,
    /// Figures of nodes' last reports that were ignored, as problems.
    ignored: BTreeMap<String, Vec<String>>,
    slowest: Slowest,
    /// Begins of the last sessions of nodes, at most [`MAX_SESSIONS`].
    sessions: BTreeMap<String, VecDeque<Instant>>,
    /// Addresses at which the agents of hosts listen for each other.
    hears_at: BTreeMap<String, String>,
}

/// Counters of the contracts that a host sends, by serial number.
#[derive(Debug)]
struct HostReport {
    at: Instant,
    /// Time of the reading with which the next interval begins.
    read: ReadTime,
    contracts: BTreeMap<u64, Counters>,
    /// Contracts whose last interval showed more than the host's line rate.
    unbelievable: Vec<u64>,
}

/// Counters of a contract at a host.
#[derive(Debug)]
struct Counters {
    traffic: Traffic,
    /// Counters with which the next interval begins.
    before: Option<Traffic>,
    /// In the last interval; `None` if it is unknown.
    since: Option<Since>,
    /// Since the last point of the contract's history.
    window: Window,
}

/// Differences of the counters of two reports.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Since {
    bits_per_second: u64,
    delayed: u64,
    waited_ns: u64,
}

impl Since {
    /// Returns the differences, and the bits; `None` if a counter is smaller than before: it counts from a new start.
    fn between(before: &Traffic, after: &Traffic, took: Duration) -> Option<(Self, u64)> {
        let Traffic { bytes, delayed, waited_ns, .. } = increase(before, after)?;
        let bits = bytes.saturating_mul(8);
        let rate = u128::from(bits) * 1_000_000_000 / took.as_nanos().max(1);
        Some((Self { bits_per_second: u64::try_from(rate).unwrap_or(u64::MAX), delayed, waited_ns }, bits))
    }

    fn add(self, other: Self) -> Self {
        Self {
            bits_per_second: self.bits_per_second.saturating_add(other.bits_per_second),
            delayed: self.delayed.saturating_add(other.delayed),
            waited_ns: self.waited_ns.saturating_add(other.waited_ns),
        }
    }
}

impl Counters {
    /// Ends the interval with these counters, and begins the next one.
    fn end_interval(
        self,
        took: Option<Duration>,
        line: Rate,
        traffic: Traffic,
        is_stated: bool,
        on_unbelievable: impl FnOnce(),
    ) -> Self {
        let (mut since, mut window) = (None, self.window);
        // After a silence the interval is unknown.
        let interval = self.before.as_ref().zip(took.filter(|took| *took <= FRESH));
        match interval.map(|(before, took)| (Since::between(before, &traffic, took), took)) {
            None => window.interrupt(),
            Some((None, _)) => window.start_anew(),
            Some((Some((known, bits)), took)) if is_believable(line, bits, took) => {
                since = Some(known);
                window.add(bits, took, 0);
                if !is_stated {
                    window.on_arrival();
                }
            }
            Some(_) => {
                on_unbelievable();
                window.interrupt();
            }
        }
        Self { before: Some(traffic.clone()), traffic, since, window }
    }
}

/// Returns the increases of the counters of a contract; `None` if one of them is smaller than before: it counts from a new start.
fn increase(before: &Traffic, after: &Traffic) -> Option<Traffic> {
    let since = |of: fn(&Traffic) -> u64| of(after).checked_sub(of(before));
    let classes = before.waits.len().max(after.waits.len());
    let of_class = |traffic: &Traffic, class| traffic.waits.get(class).copied().unwrap_or(0);
    let waits = (0..classes).map(|class| of_class(after, class).checked_sub(of_class(before, class)));
    Some(Traffic {
        packets: since(|traffic| traffic.packets)?,
        bytes: since(|traffic| traffic.bytes)?,
        delayed: since(|traffic| traffic.delayed)?,
        queue_full: since(|traffic| traffic.queue_full)?,
        oversized: since(|traffic| traffic.oversized)?,
        waited_ns: since(|traffic| traffic.waited_ns)?,
        waits: waits.collect::<Option<_>>()?,
        ..Traffic::default()
    })
}

/// Sets the problems of a node.
fn set(all: &mut BTreeMap<String, Vec<String>>, node: &str, problems: Vec<String>) {
    if problems.is_empty() {
        all.remove(node);
    } else {
        all.insert(node.to_owned(), problems);
    }
}

impl ReportedTraffic {
    fn lock(&self) -> LeafGuard<'_, Reports> {
        LeafGuard::new(&self.0)
    }

    /// Replaces the counters of a host by those of its report, which has all contracts that it sends. `line` is the line
    /// rate of the host.
    pub(crate) fn put(&self, now: Instant, node: &str, read: ReadTime, line: Rate, traffic: Vec<Traffic>) {
        let mut reports = self.lock();
        let (mut known, before, mut unbelievable) = match reports.traffic.remove(node) {
            Some(report) => (report.contracts, Some(report.read), report.unbelievable),
            None => Default::default(),
        };
        let took = before.and_then(|before| read.since(before));
        // The next reading ends a longer interval.
        let is_kept = read == ReadTime::Late || took.is_some_and(|took| took < MIN_INTERVAL);
        let read = before.filter(|_| is_kept).unwrap_or(read);
        if !is_kept {
            unbelievable.clear();
        }
        let (took, is_stated) = (took.filter(|_| !is_kept), matches!(read, ReadTime::Stated(_)));
        let mut contracts = BTreeMap::new();
        for traffic in traffic {
            let serial = traffic.serial;
            // Counts before the first report, or before a new start, may be in these totals already.
            let known_before = known.get(&serial).and_then(|known| increase(&known.traffic, &traffic));
            let first = || Traffic { waits: vec![0; traffic.waits.len()], ..Traffic::default() };
            reports.totals.get_or_insert_default().add(&known_before.unwrap_or_else(first));
            let counters = match known.remove(&serial) {
                Some(known) if is_kept => Counters { traffic, ..known },
                Some(known) => known.end_interval(took, line, traffic, is_stated, || unbelievable.push(serial)),
                None => {
                    let before = Some(traffic.clone()).filter(|_| !is_kept);
                    Counters { traffic, before, since: None, window: Window::interrupted() }
                }
            };
            contracts.insert(serial, counters);
        }
        reports.follower.retain(node, |serial| contracts.contains_key(&serial));
        reports.traffic.insert(node.to_owned(), HostReport { at: now, read, contracts, unbelievable });
    }

    /// Returns the contracts whose last interval showed more than the line rate of their host, by host.
    pub(crate) fn unbelievable(&self) -> Vec<(String, Vec<u64>)> {
        let reports = self.lock();
        let of = |(node, report): (&String, &HostReport)| (node.clone(), report.unbelievable.clone());
        reports.traffic.iter().filter(|(_, report)| !report.unbelievable.is_empty()).map(of).collect()
    }

    /// Returns the traffic of contracts since the last call, by host and serial number.
    pub(crate) fn take_windows(&self) -> HashMap<String, HashMap<u64, Window>> {
        let mut reports = self.lock();
        let taken = |counters: (&u64, &mut Counters)| (*counters.0, std::mem::take(&mut counters.1.window));
        let of_host = |(host, report): (&String, &mut HostReport)| {
            (host.clone(), report.contracts.iter_mut().map(taken).collect())
        };
        reports.traffic.iter_mut().map(of_host).collect()
    }

    /// Returns the lost and late sampled packets since the last call, by serial number and the time of the sender's
    /// report.
    pub(crate) fn take_missed(&self) -> BTreeMap<(u64, Time), Missed> {
        self.lock().follower.take_missed()
    }

    /// Processes the samples of a host, of whose sent packets the contracts are known.
    pub(crate) fn put_samples(&self, now: Time, node: &str, samples: &Samples) {
        let mut reports = self.lock();
        reports.is_sampled |= samples.sent.iter().any(|sent| !sent.packets.is_empty());
        reports.follower.on_samples(now, node, samples);
    }

    /// Returns the contracts with sampled packets that their senders have reported until this time, and whose outcome is
    /// not known yet.
    pub(crate) fn unsettled(&self, until: Time) -> BTreeSet<u64> {
        self.lock().follower.unsettled(until)
    }

    /// Returns the outcome of the sampled packets of all contracts, also of deleted ones; `None` if no host has reported any that
    /// it has sent.
    pub(crate) fn followed(&self) -> Option<SampledPackets> {
        let reports = self.lock();
        reports.is_sampled.then(|| reports.follower.totals().clone())
    }

    /// Takes the tenants of whose contracts a receiver has measured packets.
    pub(crate) fn on_measured(&self, node: &str, tenants: BTreeSet<String>) {
        self.lock().measured.entry(node.to_owned()).or_default().extend(tenants);
    }

    /// Returns `true` if one of these receivers has measured packets in its present session: of this tenant, or of any.
    pub(crate) fn has_measured(&self, only: Option<&str>, is_there: impl Fn(&str) -> bool) -> bool {
        let reports = self.lock();
        let is_of = |tenants: &BTreeSet<String>| only.map_or(!tenants.is_empty(), |only| tenants.contains(only));
        reports.measured.iter().any(|(node, tenants)| is_of(tenants) && is_there(node))
    }

    /// Stores a host's counters of all packets by outcome.
    pub(crate) fn put_packets(&self, node: &str, packets: BTreeMap<String, u64>) {
        self.lock().packets.insert(node.to_owned(), HostCounters::of(packets));
    }

    /// Returns the counters of all packets, by host and outcome.
    pub(crate) fn packets(&self) -> Vec<(String, String, u64)> {
        let reports = self.lock();
        let of = |(node, packets): (&String, &HostCounters)| {
            packets.known.iter().map(|(became, &count)| (node.clone(), became.clone(), count)).collect::<Vec<_>>()
        };
        reports.packets.iter().flat_map(of).collect()
    }

    /// Number of counters that were left out of the last report of a host; only hosts with at least one.
    pub(crate) fn counters_left_out(&self) -> Vec<(String, u64)> {
        let reports = self.lock();
        let left_out = reports.packets.iter().filter(|(_, packets)| packets.left_out > 0);
        left_out.map(|(node, packets)| (node.clone(), packets.left_out as u64)).collect()
    }

    /// Stores all problems of a node.
    pub(crate) fn set_problems(&self, node: &str, troubles: Vec<String>) {
        set(&mut self.lock().troubles, node, troubles);
    }

    /// Stores the problems of figures that were ignored in the last report of a node.
    pub(crate) fn set_ignored(&self, node: &str, problems: Vec<String>) {
        set(&mut self.lock().ignored, node, problems);
    }

    /// Leaves contradictions out of the measurements of a receiver.
    pub(crate) fn leave_out_contradictions(
        &self,
        node: &str,
        measured: &mut Vec<Measured>,
        contract: impl Fn(u64) -> Option<Bounds>,
    ) -> Contradictions {
        let mut reports = self.lock();
        Contradictions::leave_out(measured, reports.slowest.entry(node.to_owned()).or_default(), contract)
    }

    /// Takes the begin of a session of a node.
    pub(crate) fn on_session(&self, now: Instant, node: &str) {
        let mut reports = self.lock();
        reports.measured.remove(node);
        let sessions = reports.sessions.entry(node.to_owned()).or_default();
        sessions.push_back(now);
        if sessions.len() > MAX_SESSIONS {
            sessions.pop_front();
        }
    }

    /// Returns a problem for each node with many sessions within a minute.
    pub(crate) fn session_problems(&self, now: Instant) -> Vec<(String, String)> {
        let is_recent = |begun: &Instant| now.saturating_duration_since(*begun) < SESSION_TIME;
        let reports = self.lock();
        let many =
            reports.sessions.iter().filter(|(_, begun)| begun.len() >= MAX_SESSIONS && begun.iter().all(is_recent));
        let problem = |(node, _): (&String, _)| {
            let what = format!(
                "at least {MAX_SESSIONS} sessions within a minute: its agent restarts again and again, or several agents use its name; run one agent for each node, with a token of its own"
            );
            (node.clone(), what)
        };
        many.map(problem).collect()
    }

    /// Stores the address at which a node listens for other agents.
    pub(crate) fn set_peer_address(&self, node: &str, address: String) {
        self.lock().hears_at.insert(node.to_owned(), address);
    }

    /// Returns the address at which a node listens for other agents, if it was reported.
    pub(crate) fn peer_address(&self, node: &str) -> Option<String> {
        self.lock().hears_at.get(node).cloned()
    }

    /// Returns the evidence of sampled packets of each contract, by serial number.
    pub(crate) fn worst(&self, now: Time) -> HashMap<u64, SampledDelay> {
        self.lock().follower.worst(now)
    }

    /// Returns the reported problems, and those of ignored figures, by node.
    pub(crate) fn problems(&self) -> Vec<(String, String)> {
        let reports = self.lock();
        let all = reports.troubles.iter().chain(&reports.ignored);
        all.flat_map(|(node, problems)| problems.iter().map(|what| (node.clone(), what.clone()))).collect()
    }

    /// Contracts of which every followed packet is lost now: sender, number, how many in a row, and where the last was seen last.
    pub(crate) fn cut_off(&self) -> Vec<(String, u64, LostRun)> {
        self.lock().follower.cut_off().map(|(node, serial, run)| (node.to_owned(), serial, run.clone())).collect()
    }

    /// Forgets all reports: agents report to another controller now.
    pub(crate) fn clear(&self) {
        *self.lock() = Reports::default();
    }

    /// Returns what these hosts have reported of a contract within the last five seconds.
    pub(crate) fn counters<'a>(
        &self,
        now: Instant,
        hosts: impl IntoIterator<Item = &'a str>,
        serial: u64,
    ) -> ContractTraffic {
        let reports = self.lock();
        let (mut shown, mut sum) = (ContractTraffic::default(), Some(Since::default()));
        let mut one_host = None;
        for host in hosts {
            shown.hosts += 1;
            one_host = Some(host);
            let fresh = reports.traffic.get(host).filter(|report| now.saturating_duration_since(report.at) < FRESH);
            let Some(counters) = fresh.and_then(|report| report.contracts.get(&serial)) else { continue };
            shown.reporting += 1;
            shown.traffic.get_or_insert_with(|| Traffic { serial, ..Traffic::default() }).add(&counters.traffic);
            sum = sum.zip(counters.since).map(|(sum, since)| sum.add(since));
        }
        // A sum without the rate of a host that reports would look complete.
        let sum = sum.filter(|_| shown.reporting > 0);
        // Only packets of contracts with one sender are followed.
        if let (Some(traffic), Some(host), 1) = (&mut shown.traffic, one_host, shown.hosts) {
            traffic.followed = reports.follower.of(host, serial);
        }
        shown.rate_bps = sum.map(|since| since.bits_per_second);
        let waited_ns = sum.and_then(|since| since.waited_ns.checked_div(since.delayed));
        shown.waited_ns = waited_ns.filter(|&waited| waited <= MAX_WAIT_NS);
        shown
    }

    /// Returns the rates of contracts by serial number, as hosts have reported them within the last five seconds.
    /// `node` returns the node of a host's name.
    pub(crate) fn rates(
        &self,
        now: Instant,
        node: impl Fn(&str) -> Option<NodeId>,
    ) -> HashMap<u64, Vec<(NodeId, u64)>> {
        let mut rates: HashMap<u64, Vec<(NodeId, u64)>> = HashMap::new();
        for (host, report) in &self.lock().traffic {
            let Some(host) = node(host).filter(|_| now.saturating_duration_since(report.at) < FRESH) else { continue };
            for (&serial, counters) in &report.contracts {
                let rate = counters.since.map(|since| (host, since.bits_per_second));
                rate.into_iter().for_each(|rate| rates.entry(serial).or_default().push(rate));
            }
        }
        rates
    }

    /// Returns the increases of the counters of all contracts, also of deleted ones; `None` if no host has reported counters of a
    /// contract.
    pub(crate) fn totals(&self) -> Option<Traffic> {
        self.lock().totals.clone()
    }

    /// Returns the number of packets that wait for tokens; `None` if no host has reported counters of a contract within the last
    /// five seconds.
    pub(crate) fn waiting(&self, now: Instant) -> Option<u64> {
        let reports = self.lock();
        let fresh = reports.traffic.values().filter(|report| now.saturating_duration_since(report.at) < FRESH);
        let contracts = fresh.flat_map(|report| report.contracts.values());
        contracts.map(|counters| counters.traffic.waiting).reduce(u64::saturating_add)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wayleave_protocol::agent::{Clock, SentPackets};

    const LINE: Rate = Rate::from_gbit(1);

    #[test]
    fn samples_of_two_hosts_are_reported_with_the_counts_of_the_sender() {
        let counted = ReportedTraffic::default();
        let clock = Clock { boot: "one".to_owned(), ..Clock::default() };
        let report_samples =
            |second: u64, node: &str, number: u64, sent: Vec<SentPackets>, arrived: Vec<(u64, u64)>| {
                let samples = Samples { number, clock: clock.clone(), sent, arrived, ..Samples::default() };
                counted.put_samples(Time::from_millis(1_000 * second), node, &samples);
            };
        let sent = |to: &str, packets: Vec<(u64, u64)>| {
            vec![SentPackets { serial: 5, to: to.to_owned(), via: Vec::new(), bound_ns: 1_000, packets }]
        };
        let start = Instant::now();
        let of = |serial| counted.counters(start, ["h1"], serial).traffic;
        counted.put(
            start,
            "h1",
            ReadTime::Arrival(start),
            LINE,
            vec![Traffic { serial: 5, packets: 9, ..Traffic::default() }],
        );
        report_samples(1, "h1", 0, sent("h2", vec![(11, 100), (12, 200)]), Vec::new());
        report_samples(1, "h1", 1, sent("a host that is none", vec![(13, 300)]), Vec::new());
        report_samples(2, "h2", 0, Vec::new(), vec![(11, 600), (12, 1_900)]);
        assert_eq!(of(5).unwrap().followed, None, "there may be more packets that look the same");
        report_samples(13, "h2", 1, Vec::new(), Vec::new());
        let known =
            SampledPackets { packets: 2, lost: 0, timed: 2, late: 1, worst_ns: 1_700, ..SampledPackets::default() };
        let reports = of(5).unwrap();
        assert_eq!((reports.packets, reports.followed), (9, Some(known.clone())));
        counted.put(start, "h1", ReadTime::Arrival(start), LINE, Vec::new());
        assert_eq!(of(5), None, "the contract was deleted");
        let totals = SampledPackets { worst_ns: 0, ..known };
        assert_eq!(counted.followed(), Some(totals), "a counter never falls");
    }

    /// 3,000 B in two seconds are 12 kbit/s. A hose of which one member reports nothing has the figures of the other,
    /// and names the silent one.
    #[test]
    fn counters_of_members_are_added_and_those_of_silent_hosts_are_unknown() {
        let (counted, start) = (ReportedTraffic::default(), Instant::now());
        let after = |seconds| start + Duration::from_secs(seconds);
        let report = |second, host: &str, bytes, delayed, waited_ns| {
            let one = Traffic { serial: 7, bytes, packets: 1, delayed, waited_ns, ..Traffic::default() };
            counted.put(after(second), host, ReadTime::Arrival(after(second)), LINE, vec![one]);
        };
        let of = |second| counted.counters(after(second), ["h1", "h2"], 7);
        assert_eq!((of(0), counted.totals()), (ContractTraffic { hosts: 2, ..ContractTraffic::default() }, None));
        report(0, "h1", 1_000, 1, 50);
        report(0, "h2", 500, 0, 0);
        let known = of(0);
        assert_eq!((known.reporting, known.rate_bps, known.traffic.unwrap().bytes), (2, None, 1_500));
        report(2, "h1", 4_000, 5, 450);
        assert_eq!((of(2).reporting, of(2).rate_bps), (2, None), "the rate of h2 is unknown");
        report(2, "h2", 500, 0, 0);
        let known = of(2);
        assert_eq!((known.rate_bps, known.waited_ns, known.traffic.unwrap().packets), (Some(12_000), Some(100), 2));
        // Counters that went back: whether they began at 0 is not known.
        report(6, "h1", 1_000, 2, 40);
        let known = of(7);
        assert_eq!((known.hosts, known.reporting, known.rate_bps, known.waited_ns), (2, 1, None, None));
        let silent = of(11);
        assert_eq!((silent.reporting, silent.rate_bps, silent.traffic), (0, None, None));
    }

    /// A host of 1 Gbit/s. A report shortly after another one begins no interval.
    #[test]
    fn a_rate_above_the_hosts_line_is_unknown_and_named_until_one_is_believable() {
        let (counted, start) = (ReportedTraffic::default(), Instant::now());
        let mut sum = 0;
        let mut after = |millis, bytes| {
            sum += bytes;
            let now = start + Duration::from_millis(millis);
            let one = Traffic { serial: 7, bytes: sum, packets: 1, ..Traffic::default() };
            counted.put(now, "h1", ReadTime::Arrival(now), LINE, vec![one]);
            (counted.counters(now, ["h1"], 7).rate_bps, counted.unbelievable())
        };
        let named = vec![("h1".to_owned(), vec![7])];
        assert_eq!(after(0, 0), (None, vec![]));
        assert_eq!(after(1_000, 125_000_000), (Some(1_000_000_000), vec![]));
        assert_eq!(after(1_001, 12_000), (Some(1_000_000_000), vec![]));
        assert_eq!(after(2_000, 137_500_000), (None, named.clone()));
        assert_eq!(after(2_100, 0), (None, named));
        assert_eq!(after(3_000, 125_000), (Some(1_000_000), vec![]));
        let mean = counted.take_windows()["h1"][&7].mean_bps();
        assert_eq!(mean, None, "only two seconds are known");
    }
}
