//! Path searches of a pair (3.5): it joins, and it moves.

use wayleave_scheme_api::{HopWindow, HostAction, IntHop, PathIndex};
use wayleave_topology::LinkId;

use super::super::search::{Candidate, Search, SearchReason, round_trips, sample};
use super::super::settings::InitialPath;
use super::super::{Action, Timer};
use super::{PairContext, SendingPair};

impl SendingPair {
    /// Begins on a path. With `admit_before_send`, nothing is sent before a receiver has answered.
    pub(super) fn join(&mut self, around: &mut PairContext<'_>, act: &mut dyn FnMut(Action)) {
        let is_probed = self.spec.paths > 1 && around.settings.initial_path == InitialPath::Probed;
        if is_probed || around.settings.admit_before_send {
            self.search_paths(SearchReason::Join, around, act);
        } else {
            self.join_at_once(around, act);
        }
    }

    /// Probes candidates, all at once.
    pub(super) fn search_paths(
        &mut self,
        why: SearchReason,
        around: &mut PairContext<'_>,
        act: &mut dyn FnMut(Action),
    ) {
        let mut waiting = sample(self.spec.paths, around.settings.candidate_paths, &self.in_use, around.random);
        self.serial += 1;
        let (pair, serial) = (around.pair, self.serial);
        let probe = self.candidate(around.settings);
        for &path in &waiting {
            act(HostAction::SendProbe { pair, path, probe, windows: vec![HopWindow::default()] });
        }
        if why == SearchReason::Initial {
            waiting.extend(&self.in_use);
        }
        self.search = Some(Search::new(why, serial, waiting));
        let timer = Timer::Search { pair, key: self.spec.key, serial };
        act(HostAction::Arm { at: self.timeout(around), timer });
    }

    /// Handles the answer of a candidate; without records the path is dead.
    pub(super) fn on_search_result(
        &mut self,
        path: PathIndex,
        hops: Option<&[IntHop]>,
        around: &mut PairContext<'_>,
        act: &mut dyn FnMut(Action),
    ) {
        let Some(search) = &mut self.search else { return };
        let Some(at) = search.waiting.iter().position(|&other| other == path) else { return };
        search.waiting.swap_remove(at);
        match hops {
            Some(hops) => search.answers.push((path, hops.to_vec())),
            None => around.monitor.lose(self.spec.peer, path),
        }
        // The path that may be dead has until the end of the search to answer.
        if search.waiting.is_empty() && !matches!(search.why, SearchReason::Lost(_)) {
            self.settle(around, act);
        }
    }

    /// Ends a search that has lasted long enough.
    pub(in crate::host::ufab) fn searched(
        &mut self,
        serial: u32,
        around: &mut PairContext<'_>,
        act: &mut dyn FnMut(Action),
    ) {
        if self.search.as_ref().is_some_and(|search| search.serial == serial) {
            self.settle(around, act);
        }
    }

    /// Compares the candidates that have answered, and takes one of them if that is better.
    pub(super) fn settle(&mut self, around: &mut PairContext<'_>, act: &mut dyn FnMut(Action)) {
        let Some(mut search) = self.search.take() else { return };
        self.evaluate(&mut search, around);
        match search.why {
            SearchReason::Join => {
                if !self.wants {
                    return;
                }
                let mut chosen = Vec::new();
                while chosen.len() < around.settings.paths.max(1) as usize
                    && let Some(path) = search.choose(around.random)
                {
                    search.found.retain(|candidate| candidate.path != path);
                    chosen.push(path);
                }
                self.take(&chosen, around.now, around, act);
                if self.in_use.is_empty() {
                    self.search_paths(SearchReason::Join, around, act);
                }
            }
            SearchReason::Initial => {
                if self.wants {
                    self.leave_initial(search, around, act);
                }
            }
            why => {
                if let Some(path) = self.better(&search, around)
                    && let Some(old) = why.path()
                {
                    self.migrate(old, path, around, act);
                }
            }
        }
    }

    /// Computes the candidates of a search from their answers. Links that the pair's paths share with them count the pair already; the
    /// links of an initial path are known once it has answered.
    fn evaluate(&self, search: &mut Search, around: &mut PairContext<'_>) {
        let settings = around.settings;
        let used = self.in_use.iter().filter_map(|path| self.paths.get(path.index()));
        let counted: Vec<LinkId> = used.flat_map(|path| &path.links).copied().collect();
        let counted = Some(counted).filter(|_| !self.in_use.is_empty());
        for (path, hops) in std::mem::take(&mut search.answers) {
            let terms = self.terms_of(path, self.part(), settings);
            let candidate = Candidate::of(path, &hops, terms, counted.as_deref(), settings);
            around
                .monitor
                .record((self.spec.peer, path), candidate.headroom + terms.guarantee(settings.unit_bandwidth));
            search.found.push(candidate);
        }
    }

    /// Returns the path to which a pair with a path moves, if it moves.
    fn better(&mut self, search: &Search, around: &mut PairContext<'_>) -> Option<PathIndex> {
        let (now, settings) = (around.now, around.settings);
        let old = search.why.path().filter(|old| self.in_use.contains(old))?;
        let chosen = search.choose(around.random);
        let terms = self.terms(old, settings);
        let state = self.path(old);
        match search.why {
            SearchReason::Lost(_) => chosen.filter(|_| state.registration.is_changing()),
            SearchReason::Violated(_) => {
                // If no path is better, the pair searches again after an equal time.
                state.violated_since = state.violated_since.map(|_| now);
                let freeze = 1 + around.random.below(settings.migration_backoff);
                *around.frozen_until = now + round_trips(terms.round_trip, freeze);
                chosen
            }
            _ => {
                let rate =
                    |path: PathIndex| search.found.iter().find(|found| found.path == path).map(|found| found.rate);
                let has = state.admission.as_ref().map_or(0, |admission| admission.rate(terms));
                if chosen.and_then(rate).is_none_or(|rate| rate <= has) {
                    state.worse_since = None;
                    return None;
                }
                let since = *state.worse_since.get_or_insert(now);
                chosen.filter(|_| {
                    now.saturating_sub(since) >= settings.migration_hold_time && now >= *around.frozen_until
                })
            }
        }
    }
}
