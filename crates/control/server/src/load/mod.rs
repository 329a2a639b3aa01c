//! Measured load of links, contracts and tenants: the present rates, and their histories.
//!
//! Agents report counters every second. Every ten seconds, [`Shared::record_load`] turns the counters of all agents
//! into one point of each history.

mod links;
mod point;
mod sample;
mod series;

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use wayleave_protocol::load::{LinkReport, MeasuredLoad};
use wayleave_topology::{LinkId, Network, NodeId};
use wayleave_units::WallTime;

pub(crate) use links::FRESH;
pub(crate) use point::Point;
pub(crate) use sample::reserved_bps;
pub(crate) use series::{SLOT_S, SeriesKey};

use links::CountedLinks;
use series::{Histories, SLOTS_OF_MINUTE};

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

/// Measured load of a process.
#[derive(Debug, Default)]
pub(crate) struct Load(Mutex<Inner>);

#[derive(Debug, Default)]
struct Inner {
    links: CountedLinks,
    /// Traffic of links since the last point.
    windows: BTreeMap<LinkId, Window>,
    histories: Histories,
}

impl Load {
    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes a node's counters of its links.
    pub(crate) fn put_links(&self, now: (Instant, WallTime), network: &Network, node: NodeId, report: LinkReport) {
        let mut inner = self.lock();
        for interval in inner.links.put(now, network, node, report) {
            inner.windows.entry(interval.link).or_default().add(interval.bits, interval.took, interval.rate_bps());
        }
    }

    /// Returns the load of a link now.
    pub(crate) fn measured(&self, link: LinkId) -> Option<MeasuredLoad> {
        self.lock().links.measured(Instant::now(), link)
    }

    /// Returns the rates of all links that are counted now.
    pub(crate) fn rates(&self) -> BTreeMap<LinkId, u64> {
        self.lock().links.rates(Instant::now())
    }

    /// Returns the problems of reported counters.
    pub(crate) fn problems(&self, network: &Network) -> Vec<String> {
        self.lock().links.problems(network)
    }

    /// Returns the loads of an interval of seconds since 1970, in points of `step` seconds.
    pub(crate) fn points(&self, key: &SeriesKey, from: u64, to: u64, step: u64) -> Vec<Point> {
        let inner = self.lock();
        let of = |at: u64| -> Point {
            let parts: Vec<Point> = if step < MINUTE_S {
                (at / SLOT_S..(at + step) / SLOT_S).map(|slot| inner.histories.slot(key, slot)).collect()
            } else {
                let minutes = at / MINUTE_S..(at + step) / MINUTE_S;
                minutes.map(|minute| inner.histories.minute(key, minute)).collect()
            };
            Point::of_all(&parts)
        };
        (from..to).step_by(usize::try_from(step).unwrap_or(usize::MAX)).map(of).collect()
    }

    /// Returns the begin of the oldest retained measurement, in seconds since 1970.
    pub(crate) fn since(&self, key: &SeriesKey) -> Option<u64> {
        self.lock().histories.first(key).map(|slot| slot * SLOT_S)
    }
}

const _: () = assert!(MINUTE_S == SLOT_S * SLOTS_OF_MINUTE, "minutes are whole slots");
