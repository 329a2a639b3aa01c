//! Initial paths of a pair (4.1): it sends on them at once, and probes candidates beside its data.
//!
//! The first answer of an initial path decides if the pair stays. Ports count pairs in the order of their first probes. So a pair
//! whose first answer has no room for its tokens came too late for that path: it moves to a candidate with room, and the pairs that came
//! before it stay. A path that does not answer is dead, and any candidate is better.

use wayleave_scheme_api::PathIndex;
use wayleave_units::Time;

use super::super::Action;
use super::super::search::{Search, SearchReason};
use super::{PairContext, SendingPair};

impl SendingPair {
    /// Begins on initial paths at once.
    pub(super) fn join_at_once(&mut self, around: &mut PairContext<'_>, act: &mut dyn FnMut(Action)) {
        let chosen = self.initial_paths(around);
        // Packets may be in flight on the path that the pair used before.
        let is_other = !self.rested.is_empty() && chosen.iter().any(|path| !self.rested.contains(path));
        let wait = if is_other && around.settings.in_order { self.longest_round_trip() } else { Time::ZERO };
        self.take(&chosen, around.now + wait, around, act);
        if self.spec.paths as usize > chosen.len() {
            self.search_paths(SearchReason::Initial, around, act);
        }
    }

    fn initial_paths(&self, around: &mut PairContext<'_>) -> Vec<PathIndex> {
        let mut free: Vec<PathIndex> = (0..self.spec.paths).map(PathIndex).collect();
        let count = around.settings.paths.clamp(1, self.spec.paths.max(1));
        let needed = self.part() / u64::from(count);
        let mut chosen = Vec::new();
        while chosen.len() < count as usize
            && let Some(path) = around.monitor.choose(self.spec.peer, (&free, &self.rested), needed, around.random)
        {
            free.retain(|&other| other != path);
            chosen.push(path);
        }
        chosen
    }

    /// Returns `true` while the pair does not know if its initial paths have room.
    pub(super) fn is_initial(&self) -> bool {
        self.search.as_ref().is_some_and(|search| search.why == SearchReason::Initial)
    }

    /// Returns `true` while the pair searches its first paths.
    pub(super) fn is_joining(&self) -> bool {
        self.is_initial() || self.search.as_ref().is_some_and(|search| search.why == SearchReason::Join)
    }

    /// Handles the first answer of an initial path, which has room for the pair or not.
    pub(super) fn initial_answered(
        &mut self,
        path: PathIndex,
        has_room: bool,
        around: &mut PairContext<'_>,
        act: &mut dyn FnMut(Action),
    ) {
        let Some(search) = &mut self.search else { return };
        let Some(at) = search.waiting.iter().position(|&other| other == path) else { return };
        search.waiting.swap_remove(at);
        if !has_room {
            search.unfit.push(path);
        }
        if search.waiting.is_empty() {
            self.settle(around, act);
        }
    }

    /// Moves from an initial path that has no room, or that is dead. If several have none, the usual rules follow for the others.
    pub(super) fn leave_initial(
        &mut self,
        mut search: Search,
        around: &mut PairContext<'_>,
        act: &mut dyn FnMut(Action),
    ) {
        let of = |paths: &[PathIndex]| self.in_use.iter().copied().find(|path| paths.contains(path));
        search.why = match (of(&search.waiting), of(&search.unfit)) {
            (Some(dead), _) => SearchReason::Lost(dead),
            (None, Some(unfit)) if around.now >= *around.frozen_until => SearchReason::Violated(unfit),
            _ => return,
        };
        if let Some(path) = search.choose(around.random)
            && let Some(old) = search.why.path()
        {
            self.migrate(old, path, around, act);
        }
    }
}
