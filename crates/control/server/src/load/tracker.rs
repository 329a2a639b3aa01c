//! Observation of contracts, minute by minute.
//!
//! A contract was kept in a minute if all of this held throughout the minute: its state was `enforced` with its present
//! terms confirmed; the agents of all its ends reported without a silence ([`FRESH`](super::FRESH)); the controller led
//! and ran. In addition, no violation was observed. It was broken if for a part of the minute it was `violated`, or
//! `degraded` for a reason other than missing reports (`SILENT`, `UNCONFIRMED`), or if a sampled packet of it was lost or
//! late. Any other minute is unknown. Agents observe no minima: a kept minute of a bandwidth contract states only that its
//! rules were in force.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use wayleave_controller::{DegradedReason, Id, State};
use wayleave_protocol::contract::Kind;
use wayleave_store::MinuteChange;
use wayleave_topology::NodeId;
use wayleave_units::WallTime;

use crate::read_view::Edit;
use crate::rendered::ContractObject;

/// Nanoseconds of a minute.
pub(crate) const MINUTE_NS: u64 = 60_000_000_000;
/// Maximum number of state changes that wait to be written: more are not recorded.
const MAX_WAITING: usize = 100_000;

/// Observation of a contract, the worst last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Observation {
    Kept,
    Unknown,
    Broken,
}

/// The worst value of a minute. Changes that arrive after the minute, and before it is closed, count for the next one.
#[derive(Clone, Copy, Debug)]
struct Worst<T> {
    now: T,
    worst: T,
    next: Option<T>,
}

impl<T: Ord + Copy> Worst<T> {
    fn new(now: T) -> Self {
        Self { now, worst: now, next: None }
    }

    fn set(&mut self, value: T, is_next: bool) {
        if is_next {
            self.next = Some(self.next.unwrap_or(self.now).max(value));
        } else {
            self.worst = self.worst.max(value);
        }
        self.now = value;
    }

    /// Returns the worst value of the minute, and begins the next one.
    fn close(&mut self) -> T {
        let worst = self.worst;
        self.worst = self.next.take().unwrap_or(self.now);
        worst
    }
}

/// A contract that exists.
#[derive(Debug)]
struct Track {
    serial: u64,
    state: State,
    /// `true` from a state in which it is not kept until it is enforced again.
    is_unmet: bool,
    /// Its first whole minute.
    begun: u64,
    /// Hosts of its ends.
    hosts: Box<[NodeId]>,
    observed: Worst<Observation>,
    /// The interval that is open on disk: `true` for kept.
    open: Option<bool>,
    is_recorded: bool,
}

/// All contracts with a promise.
#[derive(Debug, Default)]
pub(crate) struct Tracker {
    /// The minute that is being observed; `None` while this controller does not lead.
    minute: Option<u64>,
    /// `true` if intervals on disk are to be closed first: this controller leads anew, or a minute was not written.
    begins_anew: bool,
    /// `true` if the minute was observed from its begin on.
    is_whole: bool,
    tracks: BTreeMap<Arc<Id>, Track>,
    /// `true` for nodes whose agents do not report. Absent nodes never had an agent.
    silent: HashMap<NodeId, Worst<bool>>,
    /// State changes that are not written yet.
    changed: Vec<(u64, WallTime, Arc<ContractObject>)>,
    /// Lost and late sampled packets, by serial number.
    missed: BTreeMap<u64, Missed>,
    /// Changes that they caused and that are not written yet.
    missed_changes: Vec<MinuteChange>,
    /// Tenants that were deleted.
    forgotten: Vec<String>,
    /// Contracts that ended and are not written yet, with their first minute without them and their open intervals.
    ended: Vec<(u64, u64, bool)>,
}

/// Sampled packets of a contract that did not arrive, or not in time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Missed {
    pub(crate) lost: u64,
    pub(crate) late: u64,
}

/// A closed minute.
#[derive(Debug, Default)]
pub(crate) struct ClosedMinute {
    /// The minute after it.
    pub(crate) until: u64,
    pub(crate) changes: Vec<MinuteChange>,
    /// State changes, by serial number.
    pub(crate) states: Vec<(u64, WallTime, Arc<ContractObject>)>,
    /// Tenants that were deleted.
    pub(crate) forgotten: Vec<String>,
}

fn minute(now: WallTime) -> u64 {
    now.as_nanos() / MINUTE_NS
}

fn is_unmet(state: State) -> bool {
    matches!(state, State::Degraded | State::Violated)
}

fn observe(contract: &ContractObject) -> Observation {
    match (contract.state(), contract.grant().degraded_reason.as_ref()) {
        (State::Violated, _) => Observation::Broken,
        (State::Degraded, None | Some(DegradedReason::Silent { .. } | DegradedReason::Unconfirmed)) => {
            Observation::Unknown
        }
        (State::Degraded, Some(_)) => Observation::Broken,
        (State::Enforced, _) if contract.is_effective() => Observation::Kept,
        _ => Observation::Unknown,
    }
}

impl Tracker {
    /// Begins with all contracts and nodes of a ledger that this controller leads from now on.
    pub(crate) fn begin(&mut self, now: WallTime, edits: &[Edit]) {
        self.end();
        (self.minute, self.begins_anew) = (Some(minute(now)), true);
        self.on_edits(now, edits);
    }

    /// Ends: another controller may lead, or this one cannot write.
    pub(crate) fn end(&mut self) {
        // Sampled packets are counted since the start of the process.
        *self = Self { missed: std::mem::take(&mut self.missed), ..Self::default() };
    }

    /// Returns `true` if the intervals on disk have to be closed before the next minute is written.
    pub(crate) fn begins_anew(&self) -> bool {
        self.begins_anew
    }

    /// Begins all intervals anew: the last minute was not written. These tenants are still to be forgotten.
    pub(crate) fn begin_anew(&mut self, forgotten: Vec<String>) {
        self.begins_anew = true;
        self.forgotten.extend(forgotten);
    }

    /// Marks the present minute as not observed throughout.
    pub(crate) fn interrupt(&mut self) {
        self.is_whole = false;
    }

    /// Takes changes of contracts and nodes.
    pub(crate) fn on_edits(&mut self, now: WallTime, edits: &[Edit]) {
        let Some(current) = self.minute else { return };
        let is_next = minute(now) > current;
        for edit in edits {
            match edit {
                Edit::Contract(id, Some(contract)) => self.on_contract(now, is_next, id, contract),
                Edit::Contract(id, None) => self.on_end(now, id),
                Edit::Tenant(tenant, None) => self.forgotten.push(tenant.clone()),
                Edit::Node(node, state) => {
                    let is_silent = !state.is_there();
                    let known = self.silent.entry(*node).or_insert_with(|| Worst::new(true));
                    known.set(is_silent, is_next);
                }
                _ => {}
            }
        }
    }

    fn on_contract(&mut self, now: WallTime, is_next: bool, id: &Arc<Id>, contract: &Arc<ContractObject>) {
        let grant = contract.grant();
        if self.tracks.get(id).is_some_and(|track| track.serial != grant.serial) {
            self.on_end(now, id);
        }
        if contract.state() == State::Released {
            return self.on_end(now, id);
        }
        // Best effort promises nothing.
        if contract.kind() == Kind::BestEffort {
            return;
        }
        let observed = observe(contract);
        let Some(track) = self.tracks.get_mut(id) else {
            let begun = grant.order.starts.map_or(grant.created, |starts| starts.max(grant.created));
            let track = Track {
                serial: grant.serial,
                state: contract.state(),
                is_unmet: is_unmet(contract.state()),
                begun: begun.as_nanos().div_ceil(MINUTE_NS),
                hosts: grant.order.contract.hosts().into(),
                observed: Worst::new(observed),
                open: None,
                is_recorded: false,
            };
            self.tracks.insert(id.clone(), track);
            return;
        };
        track.observed.set(observed, is_next);
        // The host of an end may have changed.
        track.hosts = grant.order.contract.hosts().into();
        let before = std::mem::replace(&mut track.state, contract.state());
        track.is_unmet |= is_unmet(track.state);
        if before != track.state && track.is_unmet && self.changed.len() < MAX_WAITING {
            self.changed.push((track.serial, now, contract.clone()));
            track.is_unmet = track.state != State::Enforced;
        }
    }

    fn on_end(&mut self, now: WallTime, id: &Id) {
        if let Some(track) = self.tracks.remove(id)
            && track.is_recorded
        {
            self.ended.push((track.serial, minute(now), track.open.is_some()));
        }
    }

    /// Takes the number of lost and late sampled packets of each contract. Contracts with more than before are broken in
    /// the present minute.
    pub(crate) fn on_missed(&mut self, now: WallTime, missed: BTreeMap<u64, Missed>) {
        let before = std::mem::replace(&mut self.missed, missed);
        let more = |serial: &u64| {
            let (now, before) = (*self.missed.get(serial)?, before.get(serial).copied().unwrap_or_default());
            let lost = now.lost.saturating_sub(before.lost);
            let late = now.late.saturating_sub(before.late);
            (lost + late > 0).then_some(Missed { lost, late })
        };
        let more: BTreeMap<u64, Missed> =
            self.missed.keys().filter_map(|serial| Some((*serial, more(serial)?))).collect();
        if more.is_empty() {
            return;
        }
        for track in self.tracks.values_mut().filter(|track| track.observed.worst != Observation::Broken) {
            let Some(Missed { lost, late }) = more.get(&track.serial) else { continue };
            track.observed.worst = Observation::Broken;
            let kind = if *lost > 0 { "lost" } else { "late" }.to_owned();
            let text = format!("sampled packets: {lost} lost, {late} late");
            self.missed_changes.push(MinuteChange::State { serial: track.serial, at: now.as_nanos(), kind, text });
        }
    }

    /// Closes the minute that is being observed, if it is over.
    pub(crate) fn close(&mut self, now: WallTime) -> Option<ClosedMinute> {
        let (observed, present) = (self.minute?, minute(now));
        // A clock that went back: the minute lasts until the clock has passed it again.
        if present <= observed {
            return None;
        }
        if std::mem::take(&mut self.begins_anew) {
            self.tracks.values_mut().for_each(|track| (track.open, track.is_recorded) = (None, false));
        }
        self.minute = Some(present);
        // Minutes without a call were not observed, and the present one not from its begin.
        let is_consecutive = present == observed + 1;
        let is_whole = std::mem::replace(&mut self.is_whole, is_consecutive) && is_consecutive;
        let silent: HashMap<NodeId, bool> =
            self.silent.iter_mut().map(|(node, silent)| (*node, silent.close())).collect();
        let forgotten = std::mem::take(&mut self.forgotten);
        let forget = |tenant: &String| MinuteChange::ForgetTenant { tenant: tenant.clone() };
        let mut changes = std::mem::take(&mut self.missed_changes);
        for (serial, ended, is_open) in self.ended.drain(..) {
            if is_open {
                changes.push(MinuteChange::Close { serial, minute: ended.min(observed) });
            }
            changes.push(MinuteChange::End { serial, ended });
        }
        changes.extend(forgotten.iter().map(forget));
        for (id, track) in &mut self.tracks {
            let worst = track.observed.close();
            let is_silent = |host: &NodeId| silent.get(host).copied().unwrap_or(true);
            let kept = match worst {
                _ if track.begun > observed => None,
                // Also in a minute of which only a part was observed.
                Observation::Broken => Some(false),
                Observation::Kept if is_whole && !track.hosts.iter().any(is_silent) => Some(true),
                Observation::Kept | Observation::Unknown => None,
            };
            if !track.is_recorded {
                track.is_recorded = true;
                changes.push(MinuteChange::Contract {
                    serial: track.serial,
                    tenant: id.tenant.clone(),
                    name: id.name.clone(),
                    begun: track.begun,
                });
            }
            if kept != track.open {
                if track.open.is_some() {
                    changes.push(MinuteChange::Close { serial: track.serial, minute: observed });
                }
                changes.extend(kept.map(|kept| MinuteChange::Begin { serial: track.serial, minute: observed, kept }));
                track.open = kept;
            }
            if !is_consecutive && track.open.take().is_some() {
                changes.push(MinuteChange::Close { serial: track.serial, minute: observed + 1 });
            }
        }
        let states = std::mem::take(&mut self.changed);
        Some(ClosedMinute { until: observed + 1, changes, states, forgotten })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The reference keeps every change with its time. Minutes have 60 ticks; a minute is closed at any tick of the next
    /// one.
    #[test]
    fn the_worst_value_of_a_minute_is_that_of_all_its_changes_whenever_it_is_closed() {
        for seed in 1..400_u64 {
            let mut state = u64::wrapping_mul(seed, 0x9e37_79b9_7f4a_7c15);
            let mut random = |below: u64| {
                state ^= state << 13;
                state ^= state >> 7;
                state ^= state << 17;
                state % below
            };
            let values = [Observation::Kept, Observation::Unknown, Observation::Broken];
            let value = |random: &mut dyn FnMut(u64) -> u64| values[usize::try_from(random(3)).unwrap()];
            let first = value(&mut random);
            let (mut worst, mut changes) = (Worst::new(first), vec![(0, first)]);
            let (mut tick, mut observed) = (0, 0);
            while observed < 20 {
                tick += 1 + random(20);
                // Every minute is closed, at the latest before the next one ends.
                while tick / 60 > observed + 1 || (tick / 60 > observed && random(2) == 0) {
                    let before = changes.iter().rev().find(|(at, _)| *at < observed * 60).map(|(_, value)| *value);
                    let within = changes.iter().filter(|(at, _)| at / 60 == observed).map(|(_, value)| *value);
                    let expected = within.chain(before).max();
                    assert_eq!(Some(worst.close()), expected, "seed {seed}, minute {observed}: {changes:?}");
                    observed += 1;
                }
                let new = value(&mut random);
                changes.push((tick, new));
                worst.set(new, tick / 60 > observed);
            }
        }
    }
}
