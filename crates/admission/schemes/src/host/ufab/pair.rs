//! One pair at its sender: which paths it uses, what it may have in flight there, and its probes.

mod initial;
mod limiter;
mod moves;

use wayleave_scheme_api::{
    HostAction, IntHop, Outgoing, PairSpec, PathIndex, PathUse, Probe, ProbeAnswer, ProbeKind, ProbeOutcome,
};
use wayleave_units::{Bytes, Rate, Time};

use super::admission::{Admission, PathTerms, Usage};
use super::hose::Hose;
use super::maxima::Allowance;
use super::monitor::PathMonitor;
use super::path::PathState;
use super::registration::Changes;
use super::search::{Search, SearchReason, left, round_trips, tokens_of};
use super::settings::{ExcessSharing, Settings};
use super::{Action, Timer};
use crate::random::SplitMix;

/// Number of parts in which the time is observed for which another path has to be better.
const INSPECTION_BATCH: u64 = 8;

/// State of the host that a pair needs to handle an event.
pub(super) struct PairContext<'a> {
    pub(super) now: Time,
    pub(super) pair: Outgoing,
    pub(super) settings: &'a Settings,
    pub(super) random: &'a mut SplitMix,
    /// The host moves no pair before.
    pub(super) frozen_until: &'a mut Time,
    /// Known room on the host's paths.
    pub(super) monitor: &'a mut PathMonitor,
}

/// One pair.
#[derive(Clone, Debug)]
pub(super) struct SendingPair {
    pub(super) spec: PairSpec,
    /// `true` if it has data to send.
    wants: bool,
    ended_at: Time,
    is_idle_armed: bool,
    /// Rate that it is given of its hose, and rate that its receiver admits; in bit/s.
    given: u64,
    admitted: Option<u64>,
    /// The terms of its hose.
    hose: Hose,
    /// Its part of the receiver's maximum, and the level up to which the sender's is divided, in bit/s.
    allowance: Allowance,
    level: Option<u64>,
    /// Rate that its limiter lets through, if it has one.
    limit: Option<Rate>,
    paths: Vec<PathState>,
    in_use: Vec<PathIndex>,
    /// Paths that a pair without data has stopped using. Its host leaves them when it takes another, so that there is
    /// always one.
    rested: Vec<PathIndex>,
    search: Option<Search>,
    serial: u32,
    changes: Changes,
}

impl SendingPair {
    pub(super) fn new(spec: PairSpec) -> Self {
        Self {
            spec,
            wants: false,
            ended_at: Time::ZERO,
            is_idle_armed: false,
            given: 0,
            admitted: None,
            hose: Hose::UNKNOWN,
            allowance: Allowance::default(),
            level: None,
            limit: None,
            paths: Vec::new(),
            in_use: Vec::new(),
            rested: Vec::new(),
            search: None,
            serial: 0,
            changes: Changes::default(),
        }
    }

    /// Returns `true` if it takes part in its hose.
    pub(super) fn is_active(&self) -> bool {
        self.wants || !self.in_use.is_empty()
    }

    /// Returns the rate that its receiver admits, in bit/s.
    pub(super) fn admitted(&self) -> Option<u64> {
        self.admitted
    }

    /// Returns its sending rate, in bit/s, if that is less than it may send.
    pub(super) fn sends_less(&self) -> Option<u64> {
        let rests = |path: &PathIndex| {
            self.paths.get(path.index()).and_then(|path| path.admission.as_ref()).is_some_and(Admission::rests)
        };
        let is_less = !self.in_use.is_empty() && self.in_use.iter().all(rests);
        is_less.then(|| self.in_use.iter().map(|path| self.sends(*path)).sum())
    }

    fn sends(&self, path: PathIndex) -> u64 {
        let admission = self.paths.get(path.index()).and_then(|path| path.admission.as_ref());
        admission.map_or(0, Admission::sends)
    }

    /// It is one of this hose.
    pub(super) fn belongs_to(&mut self, hose: Hose) {
        self.hose = hose;
    }

    /// Returns the rate that it is given of its hose, in bit/s.
    #[cfg(test)]
    pub(super) fn given(&self) -> u64 {
        self.given
    }

    /// Returns its part of its hose, in bit/s.
    fn part(&self) -> u64 {
        self.given.min(self.admitted.unwrap_or(u64::MAX))
    }

    fn candidate(&self, settings: &Settings) -> Probe {
        let tokens = tokens_of(self.part(), settings.unit_bandwidth);
        Probe { request: self.allowance.request(), ..Probe::new(self.spec.key, ProbeKind::Candidate, tokens) }
    }

    /// Its part of the hose; paths in use share it (F, Algorithm 2).
    pub(super) fn give(&mut self, given: u64) {
        self.given = given;
        let given = self.part();
        let rest = |path: &PathIndex| {
            let admission = self.paths.get(path.index())?.admission.as_ref()?;
            admission.rests().then(|| admission.sends())
        };
        let sends: Vec<Option<u64>> = self.in_use.iter().map(rest).collect();
        for (path, part) in self.in_use.iter().zip(super::tokens::spread(given, &sends)) {
            if let Some(path) = self.paths.get_mut(path.index()) {
                path.part = part;
            }
        }
    }

    fn terms(&self, path: PathIndex, settings: &Settings) -> PathTerms {
        let part = self.paths.get(path.index()).map_or(0, |path| path.part);
        self.terms_of(path, part, settings)
    }

    fn terms_of(&self, path: PathIndex, part: u64, settings: &Settings) -> PathTerms {
        let tokens = tokens_of(part, settings.unit_bandwidth);
        let weight = match settings.excess_sharing {
            ExcessSharing::Minima => tokens,
            ExcessSharing::Weights => self.hose.weight(part),
        };
        PathTerms {
            tokens,
            weight,
            round_trip: self.round_trip(path),
            most: self.limit_rate().into_iter().chain(self.level).min(),
        }
    }

    /// Records the round trip of a path without queues.
    pub(super) fn measured(&mut self, path: PathIndex, round_trip: Time) {
        self.path(path).round_trip = Some(round_trip);
    }

    /// Returns the round trip of a path without queues, or of the first one if it is unknown.
    fn round_trip(&self, path: PathIndex) -> Time {
        self.paths.get(path.index()).and_then(|path| path.round_trip).unwrap_or(self.spec.round_trip)
    }

    /// Returns the longest known round trip of its paths.
    fn longest_round_trip(&self) -> Time {
        self.paths.iter().filter_map(|path| path.round_trip).fold(self.spec.round_trip, Time::max)
    }

    fn path(&mut self, path: PathIndex) -> &mut PathState {
        if self.paths.len() <= path.index() {
            self.paths.resize_with(path.index() + 1, PathState::default);
        }
        &mut self.paths[path.index()]
    }

    fn timeout(&self, around: &PairContext<'_>) -> Time {
        around.now + round_trips(self.longest_round_trip(), around.settings.probe_timeout_rtts)
    }

    /// Nothing may be sent yet.
    pub(super) fn open(&mut self, around: &mut PairContext<'_>, act: &mut dyn FnMut(Action)) {
        self.hold(around, act);
        self.begins(around, act);
    }

    /// Holds everything back on all paths.
    fn hold(&self, around: &PairContext<'_>, act: &mut dyn FnMut(Action)) {
        for path in (0..self.spec.paths).map(PathIndex) {
            act(HostAction::SetWindow { pair: around.pair, path, window: Some(Bytes::ZERO) });
        }
    }

    /// Takes part in its hose again, because it is going to have something to send. Its rate is measured anew.
    pub(super) fn wakes(&mut self, around: &mut PairContext<'_>, act: &mut dyn FnMut(Action)) {
        if std::mem::replace(&mut self.wants, true) {
            return;
        }
        let (now, pair) = (around.now, around.pair);
        let is_late = now.saturating_sub(self.ended_at) >= self.longest_round_trip();
        for &path in &self.in_use {
            let Some(state) = self.paths.get_mut(path.index()) else { continue };
            (state.unanswered, state.answered_at) = (0, now);
            if let Some(admission) = &mut state.admission {
                admission.resumes(is_late, around.settings);
                act(HostAction::SetWindow { pair, path, window: Some(admission.window()) });
            }
        }
    }

    /// It has something to send.
    pub(super) fn begins(&mut self, around: &mut PairContext<'_>, act: &mut dyn FnMut(Action)) {
        if self.in_use.is_empty() && self.search.is_none() {
            self.join(around, act);
        } else if self.limit_rate() == Some(0) {
            self.ask(around, act);
        }
    }

    /// Returns its tokens, because it has nothing more to send: the other pairs of its hose have them from the next division on.
    pub(super) fn ends(&mut self, around: &mut PairContext<'_>, act: &mut dyn FnMut(Action)) {
        (self.wants, self.ended_at) = (false, around.now);
        for path in &self.in_use {
            let admission = self.paths.get_mut(path.index()).and_then(|path| path.admission.as_mut());
            admission.into_iter().for_each(Admission::ends);
        }
        if !std::mem::replace(&mut self.is_idle_armed, true) {
            let at = around.now + round_trips(self.longest_round_trip(), around.settings.idle_rtts);
            act(HostAction::Arm { at, timer: Timer::Idle { pair: around.pair, key: self.spec.key } });
        }
    }

    /// It may have been idle for long enough.
    pub(super) fn idle(&mut self, around: &mut PairContext<'_>, act: &mut dyn FnMut(Action)) {
        self.is_idle_armed = false;
        if self.wants {
            return;
        }
        let at = self.ended_at + round_trips(self.longest_round_trip(), around.settings.idle_rtts);
        if at > around.now {
            self.is_idle_armed = true;
            act(HostAction::Arm { at, timer: Timer::Idle { pair: around.pair, key: self.spec.key } });
            return;
        }
        self.search = None;
        self.allowance.release();
        self.limit(around.pair, act);
        for path in std::mem::take(&mut self.in_use) {
            self.rested.push(path);
            self.stop(path, around, act);
        }
    }

    /// Candidates are other ones than before: what was known of them means nothing.
    pub(super) fn replaced(&mut self, paths: u32, around: &mut PairContext<'_>, act: &mut dyn FnMut(Action)) {
        around.monitor.forget(self.spec.peer);
        self.spec.paths = paths;
        for path in &mut self.paths {
            let mut registration = std::mem::take(&mut path.registration);
            registration.forget();
            *path = PathState { registration, is_compared: path.is_compared, ..PathState::default() };
        }
        self.in_use.clear();
        self.rested.clear();
        self.search = None;
        if !self.wants {
            return;
        }
        self.hold(around, act);
        if paths > 1 {
            // Not at once: what is in flight is answered by the new numbers of paths, and would open the new windows.
            self.search_paths(SearchReason::Join, around, act);
        } else {
            self.begins(around, act);
        }
    }

    /// A probe is back.
    pub(super) fn returned(
        &mut self,
        (path, probe, outcome): (PathIndex, &Probe, ProbeOutcome),
        hops: &[IntHop],
        around: &mut PairContext<'_>,
        act: &mut dyn FnMut(Action),
    ) {
        let answer = match outcome {
            ProbeOutcome::Answered(answer) => Some(answer),
            ProbeOutcome::Failed => None,
        };
        if let Some(ProbeAnswer { tokens, grant }) = answer
            && probe.kind != ProbeKind::Finish
        {
            let unit = around.settings.unit_bandwidth.bits_per_second();
            self.admitted = tokens.map(|tokens| tokens.saturating_mul(unit));
            self.granted(grant, around, act);
        }
        match (probe.kind, answer) {
            (ProbeKind::Candidate, _) => self.on_search_result(path, answer.map(|_| hops), around, act),
            (_, Some(_)) => self.answered(path, probe, hops, around, act),
            // The path is dead, according to the switch before the failure.
            (ProbeKind::Active, None) if self.in_use.contains(&path) && self.search.is_none() => {
                self.search_paths(SearchReason::Lost(path), around, act);
            }
            _ => {}
        }
    }

    /// Starts to use paths, in addition to others if there are any: all share the pair's tokens before its part is
    /// sent on the first.
    fn take(&mut self, chosen: &[PathIndex], from: Time, around: &mut PairContext<'_>, act: &mut dyn FnMut(Action)) {
        for &path in chosen {
            self.in_use.push(path);
            self.path(path);
        }
        self.give(self.given);
        chosen.iter().for_each(|&path| self.begin_on(path, from, around, act));
    }

    fn begin_on(&mut self, path: PathIndex, from: Time, around: &mut PairContext<'_>, act: &mut dyn FnMut(Action)) {
        let pair = around.pair;
        let terms = self.terms(path, around.settings);
        let admission = Admission::join(terms, around.settings);
        act(HostAction::UsePath { pair, path, purpose: PathUse::Share, from });
        for rested in self.rested.drain(..).filter(|&rested| rested != path) {
            act(HostAction::LeavePath { pair, path: rested });
        }
        act(HostAction::SetWindow { pair, path, window: Some(admission.window()) });
        let state = self.path(path);
        state.admission = Some(admission);
        (state.unprobed, state.unanswered, state.answered_at) = (0, 0, around.now);
        (state.violated_since, state.worse_since) = (None, None);
        self.reconcile(path, around, act);
        self.compare_later(path, around, act);
    }

    /// Compares a path with others after a random time: pairs that compare at the same time would move to the same path together.
    fn compare_later(&mut self, path: PathIndex, around: &mut PairContext<'_>, act: &mut dyn FnMut(Action)) {
        if self.spec.paths > 1 && !std::mem::replace(&mut self.path(path).is_compared, true) {
            let usual = (around.settings.migration_hold_time.as_nanos() / INSPECTION_BATCH).max(1);
            let at = around.now
                + Time::from_nanos(
                    usual / 2 + u64::from(around.random.below(u32::try_from(usual).unwrap_or(u32::MAX))),
                );
            act(HostAction::Arm { at, timer: Timer::Better { pair: around.pair, key: self.spec.key, path } });
        }
    }

    /// Stops using a path, and notifies its ports.
    fn stop(&mut self, path: PathIndex, around: &mut PairContext<'_>, act: &mut dyn FnMut(Action)) {
        let admission = self.path(path).admission.take();
        if admission.is_some_and(|admission| admission.floor() > 0) {
            act(HostAction::SetFloor { pair: around.pair, path, rate: Rate::ZERO });
        }
        act(HostAction::SetWindow { pair: around.pair, path, window: Some(Bytes::ZERO) });
        self.reconcile(path, around, act);
    }

    /// 3.5: to another path.
    fn migrate(&mut self, old: PathIndex, path: PathIndex, around: &mut PairContext<'_>, act: &mut dyn FnMut(Action)) {
        self.in_use.retain(|&other| other != old);
        let wait = if around.settings.in_order { self.round_trip(old) } else { Time::ZERO };
        self.take(&[path], around.now + wait, around, act);
        act(HostAction::LeavePath { pair: around.pair, path: old });
        self.stop(old, around, act);
        let freeze = 1 + around.random.below(around.settings.migration_backoff);
        *around.frozen_until = around.now + round_trips(self.longest_round_trip(), freeze);
    }

    /// Sends changes to the ports if none is pending: one change at a time.
    fn reconcile(&mut self, path: PathIndex, around: &mut PairContext<'_>, act: &mut dyn FnMut(Action)) {
        let PathTerms { tokens, weight, .. } = self.terms(path, around.settings);
        let now = around.now;
        let (settings, round_trip) = (around.settings, self.round_trip(path));
        let every = settings.probe_every.get();
        self.path(path);
        let Self { paths, changes, .. } = self;
        let state = &mut paths[path.index()];
        if state.registration.is_changing() {
            return;
        }
        let is_counted = state.registration.is_counted();
        match &state.admission {
            Some(admission) if !is_counted || state.unprobed >= every => {
                state.unprobed = 0;
                let windows = admission.counted(round_trip, settings);
                state.registration.begin(now, changes, (ProbeKind::Active, tokens, weight), windows);
            }
            None if is_counted => state.registration.begin(now, changes, (ProbeKind::Finish, 0, 0), Vec::new()),
            _ => return,
        }
        self.send(path, around, act);
    }

    /// Sends or retransmits the pending change.
    fn send(&mut self, path: PathIndex, around: &mut PairContext<'_>, act: &mut dyn FnMut(Action)) {
        let (pair, key, at) = (around.pair, self.spec.key, self.timeout(around));
        let request = self.allowance.request();
        if let Some((probe, windows)) = self.path(path).registration.probe(key) {
            let probe = Probe { request, ..probe };
            act(HostAction::SendProbe { pair, path, probe, windows });
            act(HostAction::Arm { at, timer: Timer::Lost { pair, key, path, change: probe.change } });
        }
    }

    /// Bytes left for the network.
    pub(super) fn sent(
        &mut self,
        path: PathIndex,
        bytes: u64,
        around: &mut PairContext<'_>,
        act: &mut dyn FnMut(Action),
    ) {
        let every = around.settings.probe_every.get();
        let state = self.path(path);
        state.unprobed += bytes;
        state.unanswered += bytes;
        if state.unprobed >= every {
            self.reconcile(path, around, act);
        }
    }

    /// A probe of a path that is, or was, in use is answered.
    fn answered(
        &mut self,
        path: PathIndex,
        probe: &Probe,
        hops: &[IntHop],
        around: &mut PairContext<'_>,
        act: &mut dyn FnMut(Action),
    ) {
        let (now, settings) = (around.now, around.settings);
        if !self.path(path).registration.answered(now, probe, hops) {
            return;
        }
        if matches!(self.search, Some(Search { why: SearchReason::Lost(lost), .. }) if lost == path) {
            self.search = None;
        }
        let terms = self.terms(path, settings);
        let left = left(hops, settings);
        let is_active = probe.kind == ProbeKind::Active;
        let state = self.path(path);
        if is_active && let Some(admission) = &mut state.admission {
            let usage =
                Usage { bytes: std::mem::take(&mut state.unanswered), elapsed: now.saturating_sub(state.answered_at) };
            state.answered_at = now;
            state.links.clear();
            state.links.extend(hops.iter().filter_map(|hop| hop.link));
            let floor = admission.floor();
            admission.answered(hops, usage, terms, settings);
            let window = Some(admission.window());
            act(HostAction::SetWindow { pair: around.pair, path, window });
            if floor != admission.floor() {
                let rate = Rate::from_bits_per_second(admission.floor());
                act(HostAction::SetFloor { pair: around.pair, path, rate });
            }
            if left < 0 {
                let since = *state.violated_since.get_or_insert(now);
                let long = round_trips(terms.round_trip, settings.violation_rtts);
                let may = now >= *around.frozen_until && self.search.is_none() && self.spec.paths > 1;
                if may && now.saturating_sub(since) >= long {
                    self.search_paths(SearchReason::Violated(path), around, act);
                }
            } else {
                state.violated_since = None;
            }
            around.monitor.record((self.spec.peer, path), left + terms.guarantee(settings.unit_bandwidth));
            if self.is_initial() {
                self.initial_answered(path, left >= 0, around, act);
            }
        }
        self.reconcile(path, around, act);
    }

    /// A probe may be lost.
    pub(super) fn lost(
        &mut self,
        path: PathIndex,
        change: u16,
        around: &mut PairContext<'_>,
        act: &mut dyn FnMut(Action),
    ) {
        let now = around.now;
        let Some((kind, begun, tries)) = self.path(path).registration.overdue(change) else { return };
        if now.saturating_sub(begun) >= around.settings.give_up() {
            self.path(path).registration.forget();
            if kind == ProbeKind::Active {
                self.reconcile(path, around, act);
            }
            return;
        }
        self.send(path, around, act);
        if kind == ProbeKind::Active {
            around.monitor.lose(self.spec.peer, path);
        }
        // Noticed after the first one; left if the next one stays away as well.
        let is_used = kind == ProbeKind::Active && self.in_use.contains(&path);
        if is_used && tries == 1 && self.spec.paths > 1 && !self.is_joining() {
            self.search_paths(SearchReason::Lost(path), around, act);
        }
    }

    /// Searches periodically for a path with more capacity.
    pub(super) fn compare(&mut self, path: PathIndex, around: &mut PairContext<'_>, act: &mut dyn FnMut(Action)) {
        self.path(path).is_compared = false;
        if !self.in_use.contains(&path) {
            return;
        }
        if self.search.is_none() && self.spec.paths > 1 {
            self.search_paths(SearchReason::Better(path), around, act);
        }
        self.compare_later(path, around, act);
    }

    /// Probes paths that have been silent for `every`: ports forget a pair that is silent for too long.
    pub(super) fn keep_alive(&mut self, every: Time, around: &mut PairContext<'_>, act: &mut dyn FnMut(Action)) {
        for path in self.in_use.clone() {
            let state = self.path(path);
            if around.now.saturating_sub(state.registration.answered_at()) >= every {
                state.unprobed = state.unprobed.max(around.settings.probe_every.get());
                self.reconcile(path, around, act);
            }
        }
    }
}
