//! Measured load of links, contracts and tenants: the present rates, their histories, and the minutes in which contracts
//! were kept.
//!
//! ```text
//! reports ──> links, traffic ── every 10 s ──> series (an hour) ── every 10 min ──> disk (chunks of minutes)
//! engine  ──> tracker ───────── every minute ─────────────────────────────────────> disk (intervals)
//! ```
//!
//! Agents report counters every second. [`Shared::record_load`](crate::state::Shared::record_load) turns them into one
//! point of each history. Only the controller that leads receives reports; a new leader knows the measurements of the
//! times in which it led before.

mod disk;
mod links;
mod minutes;
mod point;
mod sample;
mod series;
mod timer;
mod tracker;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use wayleave_protocol::load::{LinkReport, MeasuredLoad};
use wayleave_store::RecordedContract;
use wayleave_topology::{LinkId, Network, NodeId};
use wayleave_units::WallTime;

pub(crate) use links::FRESH;
pub(crate) use minutes::{Sums, sums};
pub(crate) use point::Point;
pub(crate) use sample::reserved_bps;
pub(crate) use series::{SLOT_S, SeriesKey};
pub(crate) use timer::LoadTimer;
pub(crate) use tracker::{MINUTE_NS, Missed};

use crate::read_view::Edit;
use disk::LoadDisk;
use links::CountedLinks;
use series::{Histories, SLOTS_OF_MINUTE};
use tracker::Tracker;

/// Seconds of a point on disk.
pub(crate) const MINUTE_S: u64 = 60;

/// Traffic between two points of a history.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Window {
    bits: u64,
    covered: Duration,
    /// Highest rate of an interval.
    max_bps: u64,
}

impl Window {
    /// Adds the traffic of an interval.
    pub(crate) fn add(&mut self, bits: u64, took: Duration, rate_bps: u64) {
        self.bits = self.bits.saturating_add(bits);
        self.covered = self.covered.saturating_add(took);
        self.max_bps = self.max_bps.max(rate_bps);
    }

    /// Returns the mean rate; `None` if less than half of [`SLOT_S`] was observed.
    pub(crate) fn mean_bps(&self) -> Option<u64> {
        let is_known = self.covered >= Duration::from_secs(SLOT_S) / 2;
        let mean = u128::from(self.bits) * 1_000_000_000 / self.covered.as_nanos().max(1);
        is_known.then(|| u64::try_from(mean).unwrap_or(u64::MAX))
    }

    /// Returns the highest rate; `None` if the mean is unknown.
    pub(crate) fn max_bps(&self) -> Option<u64> {
        self.mean_bps().map(|mean| self.max_bps.max(mean))
    }
}

/// Measured load of a process. The locks are independent: the engine never waits for the disk.
#[derive(Debug)]
pub(crate) struct Load {
    inner: Mutex<Inner>,
    tracker: Mutex<Tracker>,
    disk: Mutex<LoadDisk>,
}

#[derive(Debug, Default)]
struct Inner {
    links: CountedLinks,
    /// Traffic of links since the last point.
    windows: BTreeMap<LinkId, Window>,
    histories: Histories,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Load {
    /// With a file, or only in memory.
    pub(crate) fn new(file: Option<PathBuf>) -> Self {
        Self { inner: Mutex::default(), tracker: Mutex::default(), disk: Mutex::new(LoadDisk::new(file)) }
    }

    /// Takes a node's counters of its links.
    pub(crate) fn put_links(&self, now: (Instant, WallTime), network: &Network, node: NodeId, report: LinkReport) {
        let mut inner = lock(&self.inner);
        for interval in inner.links.put(now, network, node, report) {
            inner.windows.entry(interval.link).or_default().add(interval.bits, interval.took, interval.rate_bps());
        }
    }

    /// Returns the load of a link now.
    pub(crate) fn measured(&self, link: LinkId) -> Option<MeasuredLoad> {
        lock(&self.inner).links.measured(Instant::now(), link)
    }

    /// Returns the rates of all links that are counted now.
    pub(crate) fn rates(&self) -> BTreeMap<LinkId, u64> {
        lock(&self.inner).links.rates(Instant::now())
    }

    /// Returns the problems of reported counters, and of the disk.
    pub(crate) fn problems(&self, network: &Network) -> Vec<String> {
        let problems = lock(&self.inner).links.problems(network);
        // A disk that is busy has no new problem.
        let of_disk = self.disk.try_lock().map(|disk| disk.problems()).unwrap_or_default();
        problems.into_iter().chain(of_disk).collect()
    }

    /// Begins to observe the contracts of a ledger that this controller leads from now on.
    pub(crate) fn begin(&self, now: WallTime, edits: &[Edit]) {
        lock(&self.tracker).begin(now, edits);
    }

    /// Ends the observation: this controller does not lead, or cannot write.
    pub(crate) fn end(&self) {
        lock(&self.tracker).end();
    }

    /// Takes changes that are on disk.
    pub(crate) fn on_edits(&self, now: WallTime, edits: &[Edit]) {
        lock(&self.tracker).on_edits(now, edits);
        for edit in edits {
            if let Edit::Tenant(tenant, None) = edit {
                lock(&self.inner).histories.remove(&SeriesKey::Tenant(tenant.clone()));
            }
        }
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

    /// Returns the begin of the retained measurements, in seconds since 1970.
    pub(crate) fn since(&self, key: &SeriesKey) -> Option<u64> {
        let stored = lock(&self.disk).oldest().map(|minute| minute * MINUTE_S);
        [self.fine_since(key), stored].into_iter().flatten().min()
    }

    /// Returns the contracts of a tenant in a period of minutes since 1970, and the first minute that is not recorded.
    ///
    /// # Errors
    /// If they cannot be read.
    pub(crate) fn contracts(&self, tenant: &str, from: u64, to: u64) -> Result<(Vec<RecordedContract>, u64), String> {
        lock(&self.disk).contracts(tenant, from, to)
    }
}

const _: () = assert!(MINUTE_S == SLOT_S * SLOTS_OF_MINUTE, "minutes are whole slots");
