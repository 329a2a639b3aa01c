//! Measurement of promises to classes, if a scenario records them. It covers the bytes in flight of pairs' windows on
//! every link, and the lag of receiving hoses behind their guarantees while there was demand.
//!
//! In flight is the unconfirmed traffic of a pair along a path, on all links of the path at once. It includes lost
//! packets until a later packet is confirmed: a host has no better information. A path that is left keeps its bytes
//! in flight.

use std::collections::HashMap;

use wayleave_contracts::Direction;
use wayleave_scenarios::Scenario;
use wayleave_schemes::services::Services;
use wayleave_topology::{LinkId, NodeId};
use wayleave_units::Bytes;

use super::carried_bytes::CarriedTotals;
use super::guarantee::minimum;
use super::slot::PairSlot;
use crate::clock::{self, Instant};
use crate::stats::Lag;

/// A pair on a path: its place, which of the pairs that had it, and the path.
type PairOnPath = (PairSlot, u32, u8);

/// Per host and class: how the guarantee there is kept, if there is one.
pub(super) type Lags = Vec<Option<Box<Lag>>>;

/// One pair on one path.
#[derive(Debug, Default)]
struct Flight {
    links: Vec<u32>,
    sent: u64,
    answered: u64,
}

/// Bytes in flight on a link: present and maximum.
#[derive(Clone, Copy, Debug, Default)]
struct Level {
    now: u64,
    peak: u64,
}

/// Measured values.
#[derive(Debug)]
pub(super) struct PromiseMonitor {
    flights: HashMap<PairOnPath, Flight>,
    links: Vec<Level>,
    /// Per host and class: number of pairs with demand there, and the lag behind its guarantee if it has one.
    pub(super) receivers: Vec<(u32, Option<Box<Lag>>)>,
    /// Traffic of pairs along each path.
    pub(super) carried: CarriedTotals,
}

impl PromiseMonitor {
    /// Creates the measurement, if a scenario records promises.
    pub(super) fn of(scenario: &Scenario, links: u32, services: &Services, hosts: &[NodeId]) -> Option<Box<Self>> {
        let sharing = scenario.sharing.as_ref().filter(|_| scenario.record.promises)?;
        let minimum =
            |class| services.name(class).map_or(0, |name| minimum(&sharing.machine, Direction::Receive, name));
        let is_here = |class, host| services.name(class).is_some_and(|name| sharing.is_at(name, host));
        let lag = |class, host| {
            let rate = minimum(class);
            (rate > 0 && is_here(class, host)).then(|| Box::new(Lag::new(rate)))
        };
        let receivers = hosts.iter().flat_map(|&host| services.classes().map(move |class| lag(class, host))).collect();
        let carried = CarriedTotals::after(clock::from_time(scenario.record.carried_from));
        Some(Box::new(Self { carried, ..Self::new(links, receivers) }))
    }

    fn new(links: u32, receivers: Lags) -> Self {
        let receivers = receivers.into_iter().map(|lag| (0, lag)).collect();
        Self {
            flights: HashMap::new(),
            links: vec![Level::default(); links as usize],
            receivers,
            carried: CarriedTotals::default(),
        }
    }

    /// Returns `true` if a class is guaranteed a minimum at a host.
    pub(super) fn is_guaranteed(&self, place: u32) -> bool {
        self.receivers.get(place as usize).is_some_and(|(_, lag)| lag.is_some())
    }

    /// Records a packet that leaves; `sent` is the count of its pair along the path, with the packet.
    pub(super) fn sent(&mut self, pair_path: PairOnPath, sent: u64, links: impl FnOnce() -> Vec<u32>) {
        let flight = self.flights.entry(pair_path).or_insert_with(|| Flight { links: links(), ..Flight::default() });
        // Windows that begin anew, because all paths are others, count from zero.
        if sent < flight.sent {
            land(&mut self.links, flight, flight.sent);
            *flight = Flight { links: std::mem::take(&mut flight.links), ..Flight::default() };
        }
        let bytes = sent - flight.sent;
        flight.sent = sent;
        for &link in &flight.links {
            let level = &mut self.links[link as usize];
            level.now += bytes;
            level.peak = level.peak.max(level.now);
        }
    }

    /// Records the count `sent` as having left the path.
    pub(super) fn answered(&mut self, pair_path: PairOnPath, sent: u64) {
        if let Some(flight) = self.flights.get_mut(&pair_path) {
            land(&mut self.links, flight, sent);
        }
    }

    /// Nothing that a pair has in flight will be answered.
    pub(super) fn forget(&mut self, slot: PairSlot, epoch: u32) {
        let of_pair = |pair_path: &PairOnPath| (pair_path.0, pair_path.1) == (slot, epoch);
        for (_, flight) in self.flights.iter_mut().filter(|(pair_path, _)| of_pair(pair_path)) {
            land(&mut self.links, flight, u64::MAX);
        }
    }

    /// A pair wants to send to a class of a host, or does not any more.
    pub(super) fn wants(&mut self, place: u32, wants: bool, now: Instant) {
        let (count, lag) = &mut self.receivers[place as usize];
        *count = if wants { *count + 1 } else { count.saturating_sub(1) };
        if let Some(lag) = lag {
            if *count > 0 { lag.begin(now) } else { lag.end(now) }
        }
    }

    /// Bytes arrive at a class of a host.
    pub(super) fn received(&mut self, place: u32, bytes: u32, now: Instant) {
        if let Some(lag) = &mut self.receivers[place as usize].1 {
            lag.arrive(now, u64::from(bytes));
        }
    }

    /// The warm-up is over.
    pub(super) fn end_warmup(&mut self, now: Instant) {
        self.links.iter_mut().for_each(|level| level.peak = level.now);
        self.receivers.iter_mut().filter_map(|(_, lag)| lag.as_mut()).for_each(|lag| lag.forget(now));
        self.carried.forget(now);
    }

    /// Returns the results at the end of the run: the maximum in flight on each link, and the lags of guarantees.
    pub(super) fn outcome(mut self, end: Instant) -> (Vec<(LinkId, Bytes)>, Lags) {
        self.receivers.iter_mut().filter_map(|(_, lag)| lag.as_mut()).for_each(|lag| lag.end(end));
        let used = self.links.iter().enumerate().filter(|(_, level)| level.peak > 0);
        let links = used.map(|(link, level)| (LinkId(link as u32), Bytes::new(level.peak))).collect();
        (links, self.receivers.into_iter().map(|(_, lag)| lag).collect())
    }
}

fn land(links: &mut [Level], flight: &mut Flight, sent: u64) {
    let sent = sent.min(flight.sent);
    let bytes = sent.saturating_sub(flight.answered);
    flight.answered += bytes;
    for &link in &flight.links {
        let level = &mut links[link as usize];
        level.now = level.now.saturating_sub(bytes);
    }
}
