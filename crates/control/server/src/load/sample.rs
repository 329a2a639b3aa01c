//! Points of all histories, from the counters that agents have reported since the last points.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use wayleave_contracts::{Contract, Endpoints};
use wayleave_controller::State;
use wayleave_store::MinuteChange;
use wayleave_units::{Time, WallTime};

use super::excess::ExcessTracker;
use super::series::SeriesKey;
use super::suspicion::Suspicion;
use super::track::MINUTE_NS;
use super::tracker::{ClosedMinute, Missed, StateChange};
use super::{Point, SLOT_S, lock};
use crate::handlers::traffic::counting_hosts;
use crate::read_view::{Health, TenantObject};
use crate::state::Shared;

/// Sums of a tenant's contracts.
#[derive(Clone, Copy, Debug, Default)]
struct TenantSum {
    mean: u64,
    reserved: u64,
    /// Contracts whose rate is known.
    reported: u64,
    unreported: u32,
}

impl TenantSum {
    /// Without contracts nothing is measured.
    fn point(&self) -> Point {
        let mean = (self.reported > 0).then_some(self.mean);
        Point::new(mean, mean, Some(self.reserved), self.unreported)
    }
}

/// Returns the rate that a contract has reserved: of its sender, or of all members.
pub(crate) fn reserved_bps(contract: &Contract) -> u64 {
    let of_each = |members: usize, min: u64| min.saturating_mul(members as u64);
    match contract {
        Contract::Latency(terms) => terms.rate.bits_per_second(),
        Contract::Bandwidth(terms) => match &terms.between {
            Endpoints::Pair(..) => terms.min.bits_per_second(),
            Endpoints::Hose(members) => of_each(members.len(), terms.min.bits_per_second()),
        },
        Contract::Objective(terms) => of_each(terms.members.len(), terms.min.bits_per_second()),
        Contract::BestEffort(_) => 0,
    }
}

/// Suspicions about contracts, by serial number.
type Suspicions = Vec<(u64, Suspicion)>;

impl Shared {
    /// Appends a point to each history, for the slot of ten seconds that ends at or before `now`.
    pub(crate) fn record_load(&self, now: WallTime) {
        let Some(slot) = (now.as_nanos() / 1_000_000_000 / SLOT_S).checked_sub(1) else { return };
        // A timer that expired early, or a clock that was set back by less than a slot: nothing is lost. Further back, the
        // interval belongs to no slot.
        let last = lock(&self.load.inner).histories.last();
        if last == Some(slot) || last == Some(slot + 1) {
            return;
        }
        let mut points = self.link_points();
        let (of_contracts, uncompared) = self.contract_points();
        points.extend(of_contracts);
        // Slots without a point are as unknown as this one.
        let begin = last.filter(|&last| last < slot).map_or(slot, |last| last + 1);
        self.take_suspicions((begin, slot), now, uncompared);
        lock(&self.load.inner).histories.push(slot, points);
        self.record_chunks(false);
        self.record_minute(now);
    }

    /// Writes histories to the disk, as far as they are due; with `all`, up to now.
    pub(crate) fn record_chunks(&self, all: bool) {
        if all {
            self.load.open();
        }
        let mut disk = lock(&self.load.disk);
        let chunks = disk.due_chunks(self.network(), &lock(&self.load.inner).histories, all);
        disk.put_chunks(chunks);
    }

    /// Writes the observation of contracts in the last minute, if it is over.
    fn record_minute(&self, now: WallTime) {
        let leads = matches!(self.view.read().health, Health::Ready) && self.is_current();
        let missed = self.missed(now);
        let due = lock(&self.load.tracker).due(now);
        let unsettled = due.map(|end| (end, self.unsettled(now, end)));
        let (closed, begins_anew) = {
            let mut tracker = lock(&self.load.tracker);
            if !leads {
                tracker.interrupt(now);
            }
            tracker.on_missed(missed);
            if let Some((end, serials)) = unsettled {
                let last = WallTime::from_nanos(end.as_nanos() - 1);
                tracker.on_suspicions(last, last, serials.into_iter().map(|serial| (serial, Suspicion::Unsettled)));
            }
            let begins_anew = tracker.begins_anew();
            let reporting = |begin, end| {
                let mut presence = lock(&self.load.presence);
                let nodes = presence.covering(begin, end);
                presence.forget_before(end);
                nodes
            };
            (tracker.close(now, reporting), begins_anew)
        };
        let Some(ClosedMinute { until, covered_from, mut changes, states, suspicions, forgotten }) = closed else {
            return;
        };
        changes.extend(states.into_iter().map(|StateChange { serial, at, contract, is_at_begin }| {
            let kind = contract.state().name().to_owned();
            let message = contract.document(self.network(), true).status.message;
            let confirmed = || if kind == State::Enforced.name() { "all of its hosts have confirmed it" } else { "" };
            let message = message.unwrap_or_else(|| confirmed().to_owned());
            let text = if is_at_begin { format!("when the record began anew: {message}") } else { message };
            MinuteChange::State { serial, at: at.as_nanos(), kind, text }
        }));
        let minute = until.saturating_sub(1).saturating_mul(MINUTE_NS);
        changes.extend(suspicions.into_iter().map(|(serial, suspicion)| {
            let text = suspicion.text(self.network());
            MinuteChange::State { serial, at: minute, kind: "unknown".to_owned(), text }
        }));
        // If it was closed by an error.
        self.load.open();
        let mut disk = lock(&self.load.disk);
        let written = disk.put_minute(begins_anew, until, covered_from, &changes);
        let mut tracker = lock(&self.load.tracker);
        match written {
            Ok(()) => tracker.end_write(&forgotten),
            Err(_) => tracker.begin_anew(until),
        }
    }

    /// Returns the contracts with sampled packets that were reported until a past time, and whose outcome is not known.
    fn unsettled(&self, now: WallTime, until: WallTime) -> BTreeSet<u64> {
        let ago = now.as_nanos().saturating_sub(until.as_nanos());
        let steady = self.load.steady(self.load.now().0);
        self.counted.unsettled(Time::from_nanos(steady.as_nanos().saturating_sub(ago)))
    }

    /// Returns the lost and late sampled packets that became known since the last call, by serial number and the time of
    /// the sender's report.
    fn missed(&self, now: WallTime) -> Vec<(u64, WallTime, Missed)> {
        let steady = self.load.steady(self.load.now().0);
        let sent = |at: Time| {
            let ago = steady.as_nanos().saturating_sub(at.as_nanos());
            WallTime::from_nanos(now.as_nanos().saturating_sub(ago))
        };
        let missed = self.counted.take_missed();
        missed.into_iter().map(|((serial, at), missed)| (serial, sent(at), missed)).collect()
    }

    fn link_points(&self) -> Vec<(SeriesKey, Point)> {
        let (windows, known) = {
            let mut inner = lock(&self.load.inner);
            let known: Vec<_> = inner.histories.keys().cloned().collect();
            (std::mem::take(&mut inner.windows), known)
        };
        let known = known.into_iter().filter_map(|key| if let SeriesKey::Link(link) = key { Some(link) } else { None });
        let links: BTreeSet<_> = windows.keys().copied().chain(known).collect();
        let tables = self.view.read();
        let reserved = |link| {
            let figures = tables.figures(link)?;
            Some(figures.capacity.iter().map(|(_, capacity)| capacity.reserved.bits_per_second()).sum())
        };
        let point = |link| {
            let window = windows.get(&link);
            let (mean, max) = (window.and_then(super::Window::mean_bps), window.and_then(super::Window::max_bps));
            (SeriesKey::Link(link), Point::new(mean, max, reserved(link), 0))
        };
        links.into_iter().map(point).collect()
    }

    /// Shows contracts of which counters show more than their rules let through. Takes the contracts that could not be
    /// compared with their rules in these slots.
    fn take_suspicions(&self, (first, last): (u64, u64), now: WallTime, uncompared: Vec<(u64, Suspicion)>) {
        let receives_reports = self.receives_reports();
        // A reader of the tables may wait for both locks: a thread that holds one of them must not wait for the tables.
        let mut excess = lock(&self.load.excess);
        if !receives_reports {
            *excess = ExcessTracker::default();
        }
        let slot = |slot: u64| slot.saturating_mul(SLOT_S * 1_000_000_000);
        let mut tracker = lock(&self.load.tracker);
        let (begin, end) = (WallTime::from_nanos(slot(first)), WallTime::from_nanos(slot(last + 1) - 1));
        tracker.on_suspicions(begin, end, uncompared.into_iter());
        // A point may be late, and its first interval may have begun before the last point.
        let begin = WallTime::from_nanos(now.as_nanos().saturating_sub(slot(2)));
        tracker.on_suspicions(begin, now, excess.suspects());
        let proven = excess.proven();
        drop((excess, tracker));
        self.view.set_excess(proven);
    }

    fn contract_points(&self) -> (Vec<(SeriesKey, Point)>, Suspicions) {
        let windows = self.counted.take_windows();
        // A copy, since the tables are read meanwhile.
        let (mut excess, mut serials) = (lock(&self.load.excess).clone(), HashSet::new());
        excess.begin_point();
        let mut tenants: BTreeMap<String, (u64, TenantSum)> = {
            let tables = self.view.read();
            let sum = |tenant: &TenantObject| (tenant.created_after, TenantSum::default());
            tables.tenants.iter().map(|(name, tenant)| (name.clone(), sum(tenant))).collect()
        };
        let (mut points, mut uncompared) = (Vec::new(), Vec::new());
        self.each_contract(None, |contract| {
            let grant = contract.grant();
            let hosts = counting_hosts(&grant.order.contract);
            if contract.state() == State::Released {
                return;
            }
            // No agent counts best effort: what its tenant sends is not known.
            if hosts.is_empty() {
                if let Some((_, sum)) = tenants.get_mut(&contract.id().tenant) {
                    sum.unreported = sum.unreported.saturating_add(1);
                }
                return;
            }
            let window = |host| windows.get(&self.network().node(host).name)?.get(&grant.serial);
            let suspicion = excess.on_point(contract, self.setup.model.overhead, window, &hosts);
            uncompared.extend(suspicion.map(|suspicion| (grant.serial, suspicion)));
            serials.insert(grant.serial);
            let mean = hosts.into_iter().map(|host| window(host)?.mean_bps()).sum::<Option<u64>>();
            let reserved = reserved_bps(&grant.order.contract);
            // A tenant that was created after the tables were read is in the next point.
            if let Some((_, sum)) = tenants.get_mut(&contract.id().tenant) {
                sum.reserved = sum.reserved.saturating_add(reserved);
                match mean {
                    Some(mean) => {
                        sum.reported += 1;
                        sum.mean = sum.mean.saturating_add(mean);
                    }
                    None => sum.unreported = sum.unreported.saturating_add(1),
                }
            }
            let unreported = u32::from(mean.is_none());
            points.push((SeriesKey::Contract(grant.serial), Point::new(mean, mean, Some(reserved), unreported)));
        });
        excess.retain(|serial| serials.contains(&serial));
        *lock(&self.load.excess) = excess;
        let tenant = |(name, (created_after, sum)): (String, (u64, TenantSum))| {
            (SeriesKey::Tenant(name, created_after), sum.point())
        };
        points.extend(tenants.into_iter().map(tenant));
        (points, uncompared)
    }
}
