//! Observation of contracts, minute by minute.
//!
//! A contract was kept in a minute if all of this held throughout the minute: its state was `enforced` with its present
//! terms confirmed; the agents of all its ends, and of the switches of its links if switches have agents,
//! [reported](super::presence) without a gap above [`MAX_REPORT_GAP`]; those of its ends had listed in each report which
//! contracts they cannot enforce and, but for latency contracts, which rules are in force; no agent repaired a foreign change; no counters showed
//! [more than a rule lets through](super::excess), or left that unknown; the controller led and ran. In addition, no
//! violation was observed. It was broken if for a part of the minute it was `violated`, or `degraded` for a reason other than missing reports (`SILENT`, `UNCONFIRMED`), or if a sampled packet of it
//! was lost or late. Any other minute is unknown, for one [reason](UnknownReason). A minute in which a contract began or ended counts only if it was broken. Agents observe no minima, and a rule without an upper bound on its
//! counters (no `max`, `excess: demote`) is not compared with them: such a kept minute states only that rules were in force.
//!
//! A minute is decided [`DECIDE_AFTER`] its end, when the reports that cover its end and the outcome of its sampled packets
//! have arrived. Reports have no exact time: a change for the worse that arrives within [`MAX_REPORT_GAP`] of the begin of
//! a minute may have been in the minute before, which is then not kept.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use wayleave_controller::{Id, State};
use wayleave_protocol::contract::Kind;
use wayleave_protocol::load::{MAX_REPORT_GAP, UnknownReason};
use wayleave_store::MinuteChange;
use wayleave_topology::NodeId;
use wayleave_units::WallTime;

use super::node_track::{MAX_REPAIR_AGE_NS, NodeTrack, Phase, Worst};
use super::suspicion::Suspicion;
use super::track::{MINUTE_NS, Observation, Track, is_unmet, minute, nodes_of, observe, reason_code};
use crate::read_view::Edit;
use crate::rendered::ContractObject;

/// Time between the end of a minute and its decision: the reports that cover its end arrive within
/// [`MAX_REPORT_GAP`], and the outcome of sampled packets is known after ten more seconds (`TIMEOUT` of loss tracking).
const DECIDE_AFTER: Duration = Duration::from_secs(15);
/// Maximum number of state changes that wait to be written: more are not recorded.
const MAX_WAITING: usize = 100_000;

/// All contracts with a promise.
#[derive(Debug, Default)]
pub(crate) struct Tracker {
    /// The minute that is being observed; `None` while this controller does not lead.
    minute: Option<u64>,
    /// `true` if intervals on disk are to be closed first: this controller leads anew, or a minute was not written.
    begins_anew: bool,
    /// `false` if the minute was observed from its begin on, without an interruption.
    is_partial: Worst<bool>,
    /// By serial number, which no other contract ever has.
    tracks: BTreeMap<u64, Track>,
    /// Serial numbers of contracts that exist.
    serials: HashMap<Arc<Id>, u64>,
    /// Absent nodes never had an agent.
    nodes: HashMap<NodeId, NodeTrack>,
    /// Begin of the observation, until it is written.
    covered_from: Option<WallTime>,
    /// State changes that are not written yet.
    changed: Vec<StateChange>,
    /// Number of those that are as readers saw them.
    shown: usize,
    /// Changes by lost and late sampled packets that are not written yet.
    missed_changes: Vec<MinuteChange>,
    /// By serial number.
    suspicions: BTreeMap<u64, Suspicions>,
    tenants: HashSet<String>,
    /// Tenants that were deleted, or were created with a name of which the record may have contracts.
    forgotten: Vec<String>,
}

/// A new state of a contract.
#[derive(Debug)]
pub(crate) struct StateChange {
    pub(crate) serial: u64,
    pub(crate) at: WallTime,
    pub(crate) contract: Arc<ContractObject>,
    /// `true` if it had the state when the observation began.
    pub(crate) is_at_begin: bool,
}

impl StateChange {
    fn new(at: WallTime, contract: &Arc<ContractObject>) -> Self {
        Self { serial: contract.grant().serial, at, contract: contract.clone(), is_at_begin: false }
    }
}

/// Suspicions about a contract.
#[derive(Debug, Default)]
struct Suspicions {
    /// In the minute that is being observed.
    now: Option<Suspicion>,
    /// In the next one.
    next: Option<Suspicion>,
    /// The suspicion for which the last decided minute is unknown.
    noted: Option<Suspicion>,
}

/// Sampled packets of a contract that did not arrive, or not in time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Missed {
    pub(crate) lost: u64,
    pub(crate) late: u64,
}

impl Missed {
    pub(crate) fn add(&mut self, other: Self) {
        self.lost += other.lost;
        self.late += other.late;
    }
}

/// A closed minute.
#[derive(Debug, Default)]
pub(crate) struct ClosedMinute {
    /// The minute after it.
    pub(crate) until: u64,
    /// Time before which nothing was observed since the last recorded minute; `None` if the two adjoin.
    pub(crate) covered_from: Option<WallTime>,
    pub(crate) changes: Vec<MinuteChange>,
    /// State changes, by serial number.
    pub(crate) states: Vec<StateChange>,
    /// Suspicions for which the minute is unknown and the one before was not, by serial number.
    pub(crate) suspicions: Vec<(u64, Suspicion)>,
    /// Tenants that were deleted.
    pub(crate) forgotten: Vec<String>,
}

impl Tracker {
    /// Begins with all contracts and nodes of a ledger that this controller leads from now on.
    pub(crate) fn begin(&mut self, now: WallTime, edits: &[Edit]) {
        self.end();
        (self.minute, self.begins_anew, self.covered_from) = (Some(minute(now)), true, Some(now));
        self.is_partial.add(true, false);
        let tenant = |edit: &Edit| if let Edit::Tenant(tenant, Some(_)) = edit { Some(tenant.clone()) } else { None };
        self.tenants = edits.iter().filter_map(tenant).collect();
        self.on_edits(now, edits);
        for edit in edits {
            let Edit::Contract(_, Some(contract)) = edit else { continue };
            // It became so before, maybe in a gap of the record.
            if is_unmet(contract.state()) && contract.kind() != Kind::BestEffort {
                self.push_change(StateChange { is_at_begin: true, ..StateChange::new(now, contract) });
            }
        }
    }

    /// Returns `true` if the record may have contracts of another tenant of this name.
    pub(crate) fn forgets(&self, tenant: &str) -> bool {
        self.forgotten.iter().any(|forgotten| forgotten == tenant)
    }

    /// Ends: another controller may lead, or this one cannot write.
    pub(crate) fn end(&mut self) {
        *self = Self { forgotten: std::mem::take(&mut self.forgotten), ..Self::default() };
    }

    /// Returns `true` if the intervals on disk have to be closed before the next minute is written.
    pub(crate) fn begins_anew(&self) -> bool {
        self.begins_anew
    }

    /// Takes the end of a write in which these tenants were forgotten.
    pub(crate) fn end_write(&mut self, forgotten: &[String]) {
        if self.forgotten.starts_with(forgotten) {
            self.forgotten.drain(..forgotten.len());
        }
    }

    /// Begins all intervals anew: the minute before `until` was not written.
    pub(crate) fn begin_anew(&mut self, until: u64) {
        self.begins_anew = true;
        self.covered_from.get_or_insert(WallTime::from_nanos(until.saturating_mul(MINUTE_NS)));
    }

    /// Marks the present minute as not observed throughout.
    pub(crate) fn interrupt(&mut self, now: WallTime) {
        let Some(phase) = self.phase(now) else { return };
        self.is_partial.add(true, phase != Phase::Observed);
        if phase == Phase::Early {
            self.is_partial.add(true, false);
        }
    }

    /// Returns the phase of a time; `None` if nothing is being observed.
    fn phase(&self, now: WallTime) -> Option<Phase> {
        let end = (self.minute? + 1).saturating_mul(MINUTE_NS);
        Some(match now.as_nanos().checked_sub(end) {
            None => Phase::Observed,
            Some(after) if u128::from(after) < MAX_REPORT_GAP.as_nanos() => Phase::Early,
            Some(_) => Phase::Next,
        })
    }

    /// Takes changes of contracts and nodes.
    pub(crate) fn on_edits(&mut self, now: WallTime, edits: &[Edit]) {
        let Some(phase) = self.phase(now) else { return };
        for edit in edits {
            match edit {
                Edit::Contract(id, Some(contract)) => self.on_contract(now, phase, id, contract),
                Edit::Contract(id, None) => self.on_end(now, phase, id),
                Edit::Tenant(tenant, None) => {
                    self.tenants.remove(tenant);
                    self.forgotten.push(tenant.clone());
                }
                // It may have had this name while another controller led.
                Edit::Tenant(tenant, Some(_)) if !self.tenants.contains(tenant) => {
                    self.tenants.insert(tenant.clone());
                    self.forgotten.push(tenant.clone());
                }
                Edit::Node(node, _, state) => {
                    self.nodes.entry(*node).or_insert_with(|| NodeTrack::new(state.epoch)).set(phase, state);
                }
                _ => {}
            }
        }
    }

    /// Takes a node's report of foreign changes that its agent has reverted.
    pub(crate) fn on_repairs(&mut self, now: WallTime, node: NodeId) {
        let Some(observed) = self.minute else { return };
        let begin = WallTime::from_nanos(now.as_nanos().saturating_sub(MAX_REPAIR_AGE_NS));
        if let Some(track) = self.nodes.get_mut(&node) {
            track.on_repairs(minute(begin) <= observed, minute(now) > observed);
        }
    }

    /// Takes evidence, of the time since `begin`, for which it is not known that contracts were kept, by serial number.
    pub(crate) fn on_suspicions(
        &mut self,
        begin: WallTime,
        now: WallTime,
        suspicions: impl Iterator<Item = (u64, Suspicion)>,
    ) {
        let Some(observed) = self.minute else { return };
        let put = |place: &mut Option<Suspicion>, suspicion: &Suspicion| {
            if place.as_ref().is_none_or(|known| known.reason() < suspicion.reason()) {
                *place = Some(suspicion.clone());
            }
        };
        for (serial, suspicion) in suspicions {
            let Some(track) = self.tracks.get_mut(&serial) else { continue };
            let (unknown, suspicions) =
                (Observation::Unknown(suspicion.reason()), self.suspicions.entry(serial).or_default());
            if minute(now) > observed {
                track.observed.add(unknown, true);
                put(&mut suspicions.next, &suspicion);
            }
            if minute(begin) <= observed {
                track.observed.worst = track.observed.worst.max(unknown);
                put(&mut suspicions.now, &suspicion);
            }
        }
    }

    /// Returns the suspicions for which contracts are unknown in the minute that is decided, and not in the one before. Begins
    /// the next minute.
    fn close_suspicions(&mut self, decided: &BTreeMap<u64, Observation>) -> Vec<(u64, Suspicion)> {
        let mut new = Vec::new();
        self.suspicions.retain(|serial, suspicions| {
            let is_reason =
                |suspicion: &Suspicion| decided.get(serial) == Some(&Observation::Unknown(suspicion.reason()));
            let suspicion = std::mem::replace(&mut suspicions.now, suspicions.next.take()).filter(is_reason);
            let is_new =
                |suspicion: &&Suspicion| suspicions.noted.as_ref().is_none_or(|noted| !noted.is_same(suspicion));
            if new.len() < MAX_WAITING {
                new.extend(suspicion.as_ref().filter(is_new).map(|suspicion| (*serial, suspicion.clone())));
            }
            suspicions.noted = suspicion;
            suspicions.now.is_some() || suspicions.noted.is_some()
        });
        new
    }

    fn on_contract(&mut self, now: WallTime, phase: Phase, id: &Arc<Id>, contract: &Arc<ContractObject>) {
        let grant = contract.grant();
        if self.serials.get(id).is_some_and(|serial| *serial != grant.serial) {
            self.on_end(now, phase, id);
        }
        if contract.state() == State::Released {
            return self.on_end(now, phase, id);
        }
        // Best effort promises nothing.
        if contract.kind() == Kind::BestEffort {
            return;
        }
        self.serials.insert(id.clone(), grant.serial);
        let Some(track) = self.tracks.get_mut(&grant.serial) else {
            self.tracks.insert(grant.serial, Track::new(id.clone(), contract));
            return;
        };
        let observed = observe(contract);
        track.observed.take(phase, |known, is_next| known.set(observed, is_next), observed);
        track.set_nodes(nodes_of(contract), phase != Phase::Observed);
        let state = (contract.state(), reason_code(contract));
        let has_changed = (track.state, track.reason) != state;
        (track.state, track.reason) = state;
        track.is_unmet |= is_unmet(track.state);
        if has_changed && track.is_unmet && self.changed.len() < MAX_WAITING {
            track.is_unmet = track.state != State::Enforced;
            self.push_change(StateChange::new(now, contract));
        }
    }

    fn push_change(&mut self, change: StateChange) {
        if self.changed.len() < MAX_WAITING {
            self.changed.push(change);
        }
    }

    /// Takes the contracts with new states as readers see them from now on: later evidence does not change an event.
    pub(crate) fn on_shown(&mut self, shown: impl Fn(Arc<ContractObject>) -> Arc<ContractObject>) {
        for change in self.changed.iter_mut().skip(self.shown) {
            change.contract = shown(change.contract.clone());
        }
        self.shown = self.changed.len();
    }

    fn on_end(&mut self, now: WallTime, phase: Phase, id: &Id) {
        let Some(serial) = self.serials.remove(id) else { return };
        let Some(track) = self.tracks.get_mut(&serial) else { return };
        let is_broken = track.observed.worst.max(track.observed.next()) == Observation::Broken;
        // A contract without a whole minute is in a statement only if it was broken.
        if !track.is_recorded && track.begun >= minute(now) && !is_broken {
            self.tracks.remove(&serial);
            return;
        }
        track.ended = Some(minute(now));
        // From now on it has no state.
        track.observed.set(Observation::Kept, phase != Phase::Observed);
    }

    /// Takes lost and late sampled packets by serial number, with the time of the sender's report. Their contracts are
    /// broken in its minute.
    pub(crate) fn on_missed(&mut self, missed: Vec<(u64, WallTime, Missed)>) {
        for (serial, sent, Missed { lost, late }) in missed {
            let (Some(phase), Some(observed)) = (self.phase(sent), self.minute) else { continue };
            let Some(track) = self.tracks.get_mut(&serial) else { continue };
            // Of a minute that is decided, only the event is recorded.
            if minute(sent) >= observed {
                let broken = Observation::Broken;
                track.observed.take(phase, |known, is_next| known.add(broken, is_next), broken);
            }
            if track.missed >= minute(sent) || self.missed_changes.len() >= MAX_WAITING {
                continue;
            }
            track.missed = minute(sent);
            let kind = if lost > 0 { "lost" } else { "late" }.to_owned();
            let text = format!("sampled packets: {lost} lost, {late} late");
            self.missed_changes.push(MinuteChange::State { serial, at: sent.as_nanos(), kind, text });
        }
    }

    /// Returns the changes by sampled packets, and those of states. Contracts that begin after the decided minute are not
    /// recorded yet, so their changes wait.
    fn take_states(&mut self, decided: u64) -> (Vec<MinuteChange>, Vec<StateChange>) {
        let is_recorded = |serial: &u64| self.tracks.get(serial).is_none_or(|track| track.first <= decided);
        let is_missed = |change: &MinuteChange| match change {
            MinuteChange::State { serial, .. } => is_recorded(serial),
            _ => true,
        };
        let (missed, missed_later) = std::mem::take(&mut self.missed_changes).into_iter().partition(is_missed);
        let (states, later) = std::mem::take(&mut self.changed).into_iter().partition(|one| is_recorded(&one.serial));
        (self.missed_changes, self.changed) = (missed_later, later);
        self.shown = self.changed.len();
        (missed, states)
    }

    /// Returns the end of the minute that is being observed, if its evidence has arrived.
    pub(crate) fn due(&self, now: WallTime) -> Option<WallTime> {
        let end = WallTime::from_nanos((self.minute? + 1).saturating_mul(MINUTE_NS));
        // A clock that went back: the minute lasts until the clock has passed it again.
        (u128::from(now.as_nanos()) >= u128::from(end.as_nanos()) + DECIDE_AFTER.as_nanos()).then_some(end)
    }

    /// Decides the minute that is being observed, if the evidence of its end has arrived. `reporting` returns the nodes
    /// that have reported throughout a period.
    pub(crate) fn close(
        &mut self,
        now: WallTime,
        reporting: impl FnOnce(WallTime, WallTime) -> HashSet<NodeId>,
    ) -> Option<ClosedMinute> {
        let (observed, present, end) = (self.minute?, minute(now), self.due(now)?);
        if std::mem::take(&mut self.begins_anew) {
            self.tracks.values_mut().for_each(|track| (track.open, track.is_recorded) = (None, false));
        }
        self.minute = Some(present);
        // Minutes without a call were not observed, and the present one not from its begin.
        let is_consecutive = present == observed + 1;
        let is_whole = !self.is_partial.close() && is_consecutive;
        self.is_partial.add(!is_consecutive, false);
        let covered_from = self.covered_from.take();
        self.covered_from = Some(now).filter(|_| !is_consecutive);
        let nodes: HashMap<NodeId, _> = self.nodes.iter_mut().map(|(node, track)| (*node, track.close())).collect();
        let reporting = reporting(WallTime::from_nanos(observed.saturating_mul(MINUTE_NS)), end);
        let silent = Some(UnknownReason::AgentSilent);
        let unobserved = |host: &NodeId, [is_end, is_reported]: [bool; 2]| {
            let [reason, unlisted, unreported] = nodes.get(host).copied().unwrap_or([silent, None, None]);
            let unlisted = unlisted.filter(|_| is_end);
            let gap = silent.filter(|_| !reporting.contains(host));
            let partial = (!is_whole).then_some(UnknownReason::NotObserved);
            reason.max(unlisted).max(unreported.filter(|_| is_reported)).max(gap).max(partial)
        };
        let forgotten = self.forgotten.clone();
        let forget = |tenant: &String| MinuteChange::ForgetTenant { tenant: tenant.clone() };
        let mut changes: Vec<MinuteChange> = forgotten.iter().map(forget).collect();
        let mut decided = BTreeMap::new();
        for (serial, track) in &mut self.tracks {
            let observation = track.decide(observed, unobserved);
            if track.ended.is_none() || !forgotten.contains(&track.id.tenant) {
                let observation = observation.map(Observation::recorded);
                changes.extend(track.changes(*serial, observed, observation, is_consecutive));
            }
            decided.extend(observation.filter(|_| self.suspicions.contains_key(serial)).map(|one| (*serial, one)));
        }
        let suspicions = self.close_suspicions(&decided);
        let is_over = |track: &Track| track.is_over(observed) || forgotten.contains(&track.id.tenant);
        self.tracks.retain(|_, track| track.ended.is_none() || !is_over(track));
        let (missed, states) = self.take_states(observed);
        changes.extend(missed);
        Some(ClosedMinute { until: observed + 1, covered_from, changes, states, suspicions, forgotten })
    }
}

#[cfg(test)]
mod tests;
