//! Measured load of links, contracts and tenants: the present rates, their histories, and the minutes in which contracts
//! were kept.
//!
//! ```text
//! reports ──> links, traffic ── every 10 s ──> series (an hour) ── every 10 min ──> disk (chunks of minutes)
//! engine  ──> tracker ───────── every minute ─────────────────────────────────────> disk (intervals)
//! ```
//!
//! Agents report counters every second; the times of their readings are [checked](reading), and rates above the
//! [line rate](limit) are unknown. [`Shared::record_load`](crate::state::Shared::record_load) turns them into one
//! point of each history. Only the controller that leads receives reports; a new leader knows the measurements of the
//! times in which it led before.

mod clock;
mod disk;
mod excess;
mod limit;
mod links;
mod minutes;
mod node_track;
mod point;
mod presence;
mod reading;
mod sample;
mod series;
mod suspicion;
mod timer;
mod track;
mod tracker;
mod window;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Mutex;
use std::time::Instant;

use wayleave_protocol::load::{LinkCounters, MAX_REPORT_GAP, MeasuredLoad};
use wayleave_topology::{LinkId, Network, NodeId};
use wayleave_units::{Time, WallTime};

pub(crate) use disk::RecordedPeriod;
pub(crate) use limit::{FRESH, is_believable, line_of_host};
pub(crate) use links::MIN_INTERVAL;
pub(crate) use minutes::{ContractMinutes, Sums, sums};
pub(crate) use point::Point;
pub(crate) use reading::ReadTime;
pub(crate) use sample::reserved_bps;
pub(crate) use series::{MINUTE_S, SLOT_S, SeriesKey};
pub(crate) use timer::LoadTimer;
pub(crate) use track::MINUTE_NS;
pub(crate) use tracker::Missed;
pub(crate) use window::Window;

use crate::read_guard::LeafGuard;
use crate::read_view::{Edit, Tables};
use clock::{Moment, RecordClock};
use disk::LoadDisk;
use excess::ExcessTracker;
use links::CountedLinks;
use presence::Presence;
use reading::ReportClocks;
use series::{Histories, SLOTS_OF_MINUTE};
use suspicion::Suspicion;
use tracker::Tracker;

/// Measured load of a process. The locks are independent: the engine never waits for the disk.
#[derive(Debug)]
pub(crate) struct Load {
    clock: RecordClock,
    inner: Mutex<Inner>,
    presence: Mutex<Presence>,
    tracker: Mutex<Tracker>,
    excess: Mutex<ExcessTracker>,
    disk: Mutex<LoadDisk>,
}

#[derive(Debug, Default)]
struct Inner {
    clocks: ReportClocks,
    links: CountedLinks,
    /// Traffic of links since the last point.
    windows: BTreeMap<LinkId, Window>,
    histories: Histories,
}

fn lock<T>(mutex: &Mutex<T>) -> LeafGuard<'_, T> {
    LeafGuard::new(mutex)
}

impl Load {
    /// With a file, or only in memory. The file is not opened yet.
    pub(crate) fn new(file: Option<PathBuf>) -> Self {
        Self {
            clock: RecordClock::new(),
            inner: Mutex::default(),
            presence: Mutex::default(),
            tracker: Mutex::default(),
            excess: Mutex::default(),
            disk: Mutex::new(LoadDisk::new(file)),
        }
    }

    /// Sets the time. From now on, it advances only by this function.
    pub(crate) fn set_time(&self, now: WallTime) {
        self.clock.set(now);
    }

    /// Returns the time at which reports arrive now.
    pub(crate) fn now(&self) -> Moment {
        self.clock.now()
    }

    /// Returns a time since the start of this process.
    pub(crate) fn steady(&self, now: Instant) -> Time {
        Time::from_nanos(u64::try_from(self.clock.steady(now).as_nanos()).unwrap_or(u64::MAX))
    }

    /// Opens the file, which may take seconds. Requests and records do not wait for it.
    pub(crate) fn open(&self) {
        let Some(path) = lock(&self.disk).begin_open() else { return };
        let opened = LoadDisk::open(path.as_deref(), self.now().1);
        lock(&self.disk).end_open(opened);
    }

    /// Takes the arrival of a node's heartbeat.
    pub(crate) fn on_heartbeat(&self, now: Moment, node: NodeId) {
        lock(&self.presence).on_report(now, node);
    }

    /// Takes a node's report that contradicts itself about contracts, by serial number.
    pub(crate) fn on_contradictions(&self, now: Moment, node: NodeId, serials: &[u64]) {
        // The report is about the time since the last one.
        let begin = WallTime::from_nanos(
            now.1.as_nanos().saturating_sub(u64::try_from(MAX_REPORT_GAP.as_nanos()).unwrap_or(u64::MAX)),
        );
        let suspicions = serials.iter().map(|&serial| (serial, Suspicion::Contradiction(node)));
        lock(&self.tracker).on_suspicions(begin, now.1, suspicions);
    }

    /// Returns the problems of hosts whose counters cannot be compared with the rules of their contracts, by node.
    pub(crate) fn uncompared(&self) -> Vec<(NodeId, String)> {
        let excess = lock(&self.excess);
        excess.uncompared().map(|(node, host)| (node, host.problem())).collect()
    }

    /// Takes a node's report of foreign changes that its agent has reverted.
    pub(crate) fn on_repairs(&self, now: Moment, node: NodeId) {
        lock(&self.tracker).on_repairs(now.1, node);
    }

    /// Checks the time of a reading in a report that arrives now.
    pub(crate) fn check_reading(&self, now: Moment, node: NodeId, read_ns: u64) -> ReadTime {
        lock(&self.inner).clocks.check(now.0, self.clock.steady(now.0), node, read_ns)
    }

    /// Takes a node's counters of its links.
    pub(crate) fn put_links(
        &self,
        now: Moment,
        read: ReadTime,
        network: &Network,
        node: NodeId,
        counters: Vec<LinkCounters>,
    ) {
        let mut inner = lock(&self.inner);
        for interval in inner.links.put(now, read, network, node, counters) {
            inner.windows.entry(interval.link).or_default().add(interval.bits, interval.took, interval.rate_bps());
        }
    }

    /// Returns the load of a link now.
    pub(crate) fn measured(&self, link: LinkId) -> Option<MeasuredLoad> {
        lock(&self.inner).links.measured(self.now().0, link)
    }

    /// Returns the rates of all links that are counted now.
    pub(crate) fn rates(&self) -> BTreeMap<LinkId, u64> {
        lock(&self.inner).links.rates(self.now().0)
    }

    /// Returns the problems of reported counters, by node.
    pub(crate) fn problems(&self) -> Vec<(NodeId, String)> {
        let inner = lock(&self.inner);
        inner.clocks.problems(self.now().0).chain(inner.links.problems()).collect()
    }

    /// Returns the problems of the disk.
    pub(crate) fn disk_problems(&self) -> Vec<String> {
        // A disk that is busy has no new problem.
        self.disk.try_lock().map(|disk| disk.problems()).unwrap_or_default()
    }

    /// Begins to observe the contracts of a ledger that this controller leads from now on.
    pub(crate) fn begin(&self, edits: &[Edit]) {
        lock(&self.tracker).begin(self.now().1, edits);
    }

    /// Ends the observation: this controller does not lead, or cannot write.
    pub(crate) fn end(&self) {
        lock(&self.tracker).end();
    }

    /// Takes changes that are on disk.
    pub(crate) fn on_edits(&self, edits: &[Edit]) {
        lock(&self.tracker).on_edits(self.now().1, edits);
    }

    /// Takes contracts as readers see them from now on.
    pub(crate) fn on_published(&self, view: &Tables) {
        lock(&self.tracker).on_shown(|contract| view.as_shown(contract));
    }

    /// Returns the loads of an interval of seconds since 1970, in points of `step` seconds.
    pub(crate) fn points(&self, network: &Network, key: &SeriesKey, from: u64, to: u64, step: u64) -> Vec<Point> {
        let is_fine = step < MINUTE_S;
        let stored = match is_fine {
            true => BTreeMap::new(),
            false => lock(&self.disk).minutes(network, key, from / MINUTE_S, to / MINUTE_S),
        };
        let inner = lock(&self.inner);
        let minute = |minute: u64| {
            let point = inner.histories.minute(key, minute);
            if point.mean().is_some() { point } else { stored.get(&minute).copied().unwrap_or(point) }
        };
        let of = |at: u64| -> Point {
            let parts: Vec<Point> = if is_fine {
                (at / SLOT_S..(at + step) / SLOT_S).map(|slot| inner.histories.slot(key, slot)).collect()
            } else {
                (at / MINUTE_S..(at + step) / MINUTE_S).map(minute).collect()
            };
            Point::of_all(&parts)
        };
        (from..to).step_by(usize::try_from(step).unwrap_or(usize::MAX)).map(of).collect()
    }

    /// Returns the begin of the points of ten seconds of a history, in seconds since 1970.
    pub(crate) fn fine_since(&self, key: &SeriesKey) -> Option<u64> {
        lock(&self.inner).histories.first(key).map(|slot| slot * SLOT_S)
    }

    /// Returns the begin of the first known point of a history, in seconds since 1970, but not before the begin of the
    /// record.
    pub(crate) fn since(&self, network: &Network, key: &SeriesKey) -> Option<u64> {
        let stored = lock(&self.disk).since(network, key);
        let fine = lock(&self.inner).histories.first_known(key).map(|slot| slot * SLOT_S);
        let fine = fine.map(|fine| fine.max(self.clock.started()));
        [fine, stored].into_iter().flatten().min()
    }

    /// Returns the contracts of a tenant in a period of minutes since 1970, without those up to the serial number `after`,
    /// and the minutes that are recorded.
    ///
    /// # Errors
    /// If they cannot be read.
    pub(crate) fn contracts(&self, tenant: &str, after: u64, from: u64, to: u64) -> Result<RecordedPeriod, String> {
        // The record forgets a tenant before the tracker does.
        let is_forgotten = lock(&self.tracker).forgets(tenant);
        let recorded = lock(&self.disk).contracts(tenant, after, from, to)?;
        let contracts = if is_forgotten { Vec::new() } else { recorded.contracts };
        Ok(RecordedPeriod { contracts, ..recorded })
    }
}

const _: () = assert!(MINUTE_S == SLOT_S * SLOTS_OF_MINUTE, "minutes are whole slots");
