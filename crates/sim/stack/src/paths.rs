//! Candidate paths of a pair that are in use, with their purposes.

use wayleave_scheme_api::{PathIndex, PathUse};

use crate::clock::Instant;

/// The candidate paths of one pair. Until the host role chooses, all of them share its packets
/// ([`PairSpec::paths`](wayleave_scheme_api::PairSpec::paths)).
#[derive(Clone, Debug)]
pub struct CandidatePaths {
    count: u32,
    /// Paths that the host role has taken into use, in the order of their indices; `None`: it has never chosen.
    in_use: Option<Vec<InUse>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct InUse {
    path: PathIndex,
    purpose: PathUse,
    from: Instant,
}

/// A path that shares a pair's packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SharedPath {
    /// The path.
    pub path: PathIndex,
    /// No packet takes it before.
    pub from: Instant,
}

impl CandidatePaths {
    /// Creates `count` candidates, all in use.
    pub fn new(count: u32) -> Self {
        Self { count, in_use: None }
    }

    /// Returns the number of candidates.
    pub fn count(&self) -> u32 {
        self.count
    }

    /// Returns `true` if the host role has chosen.
    pub fn is_chosen(&self) -> bool {
        self.in_use.is_some()
    }

    /// Takes a path into use ([`HostAction::UsePath`](wayleave_scheme_api::HostAction::UsePath)): the first one replaces all
    /// that were in use by default. An index that is no candidate is ignored, since the list may just have changed.
    pub fn use_path(&mut self, path: PathIndex, purpose: PathUse, from: Instant) {
        if path.0 >= self.count {
            return;
        }
        let in_use = self.in_use.get_or_insert_default();
        in_use.retain(|used| used.path != path);
        in_use.push(InUse { path, purpose, from });
        in_use.sort_unstable_by_key(|used| used.path);
    }

    /// Takes a path out of use. The one that leaves first leaves the others of the default in use.
    pub fn leave(&mut self, path: PathIndex) {
        let count = self.count;
        let all = || (0..count).map(|path| InUse { path: PathIndex(path), purpose: PathUse::Share, from: 0 }).collect();
        self.in_use.get_or_insert_with(all).retain(|used| used.path != path);
    }

    /// Some candidates were added behind the others; they are not in use once the role has chosen.
    pub fn added(&mut self, count: u32) {
        self.count = count.max(self.count);
    }

    /// Every index means something else: all paths are in use until the role chooses again.
    pub fn replaced(&mut self, count: u32) {
        *self = Self::new(count);
    }

    /// Returns the number of paths that share the pair's packets.
    pub fn shared(&self) -> u32 {
        match &self.in_use {
            None => self.count,
            Some(in_use) => in_use.iter().filter(|used| used.purpose == PathUse::Share).count() as u32,
        }
    }

    /// The path that shares packets with this number, counted from zero in the order of the candidates.
    pub fn share(&self, number: u32) -> Option<SharedPath> {
        match &self.in_use {
            None => (number < self.count).then_some(SharedPath { path: PathIndex(number), from: 0 }),
            Some(in_use) => {
                let mut shared = in_use.iter().filter(|used| used.purpose == PathUse::Share);
                shared.nth(number as usize).map(|used| SharedPath { path: used.path, from: used.from })
            }
        }
    }

    /// The paths that get a copy of every packet from `now` on.
    pub fn copies(&self, now: Instant) -> impl Iterator<Item = PathIndex> + '_ {
        let in_use = self.in_use.as_deref().unwrap_or_default();
        in_use.iter().filter(move |used| used.purpose == PathUse::Copy && used.from <= now).map(|used| used.path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shares(paths: &CandidatePaths) -> Vec<u32> {
        (0..paths.shared()).filter_map(|number| paths.share(number)).map(|shared| shared.path.0).collect()
    }

    #[test]
    fn all_candidates_are_used_until_one_is_chosen() {
        let mut paths = CandidatePaths::new(3);
        assert_eq!(shares(&paths), [0, 1, 2]);
        paths.use_path(PathIndex(2), PathUse::Share, 50);
        assert_eq!(shares(&paths), [2]);
        assert_eq!(paths.share(0).map(|shared| shared.from), Some(50));
        paths.use_path(PathIndex(0), PathUse::Share, 0);
        assert_eq!(shares(&paths), [0, 2]);
        paths.replaced(2);
        assert_eq!(shares(&paths), [0, 1]);
    }

    #[test]
    fn leaving_a_path_keeps_the_others_and_leaving_the_last_keeps_none() {
        let mut paths = CandidatePaths::new(2);
        paths.leave(PathIndex(0));
        assert_eq!(shares(&paths), [1]);
        paths.leave(PathIndex(1));
        assert_eq!((paths.shared(), paths.share(0)), (0, None));
    }

    #[test]
    fn copies_are_no_shares_and_begin_at_their_time() {
        let mut paths = CandidatePaths::new(3);
        paths.use_path(PathIndex(0), PathUse::Share, 0);
        paths.use_path(PathIndex(1), PathUse::Copy, 10);
        assert_eq!(shares(&paths), [0]);
        assert_eq!(paths.copies(9).count(), 0);
        assert_eq!(paths.copies(10).collect::<Vec<_>>(), [PathIndex(1)]);
    }

    #[test]
    fn an_index_out_of_range_changes_nothing() {
        let mut paths = CandidatePaths::new(2);
        paths.use_path(PathIndex(2), PathUse::Share, 0);
        assert!(!paths.is_chosen());
    }
}
