//! Path monitor of a host (4.1): the room on the paths to each peer, as answers to probes have reported it. A pair that begins at once takes
//! its initial path from here.

use std::collections::BTreeMap;

use wayleave_scheme_api::PathIndex;
use wayleave_topology::NodeId;

use super::search::{Candidate, draw};
use crate::random::SplitMix;

/// Room on paths, by peer and path. All pairs of two hosts number their paths alike.
#[derive(Clone, Debug, Default)]
pub(super) struct PathMonitor {
    rooms: BTreeMap<(NodeId, PathIndex), Room>,
}

/// Known room on a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Room {
    /// The least of C - Phi B_u over its links without the pair that has asked, in bit/s.
    Left(i128),
    /// Its last probe was not answered.
    Lost,
}

impl PathMonitor {
    /// Records the room on a path, in bit/s.
    pub(super) fn record(&mut self, (peer, path): (NodeId, PathIndex), room: i128) {
        self.rooms.insert((peer, path), Room::Left(room));
    }

    /// Records that a path does not answer.
    pub(super) fn lose(&mut self, peer: NodeId, path: PathIndex) {
        self.rooms.insert((peer, path), Room::Lost);
    }

    /// Forgets the paths to a peer, because all have other numbers.
    pub(super) fn forget(&mut self, peer: NodeId) {
        self.rooms.retain(|&(other, _), _| other != peer);
    }

    /// Returns a path for a pair with a guarantee of `needed` bit/s, out of `free`: one that it has used before if that has room, or
    /// else another one with room, or an unknown one, at random; otherwise the one with most room. Returns `None` if `free` is empty.
    pub(super) fn choose(
        &self,
        peer: NodeId,
        (free, used): (&[PathIndex], &[PathIndex]),
        needed: u64,
        random: &mut SplitMix,
    ) -> Option<PathIndex> {
        let room = |path: PathIndex| self.rooms.get(&(peer, path)).copied();
        let candidate = |path: PathIndex| match room(path) {
            Some(Room::Left(room)) => Some(Candidate { path, headroom: room - i128::from(needed), rate: 0 }),
            _ => None,
        };
        let known: Vec<Candidate> = free.iter().copied().filter_map(candidate).collect();
        let good = || known.iter().filter(|candidate| candidate.qualifies());
        let again = good().map(|candidate| candidate.path).find(|path| used.contains(path));
        let unknown: Vec<PathIndex> = free.iter().copied().filter(|&path| room(path).is_none()).collect();
        let any = |paths: &[PathIndex], random: &mut SplitMix| {
            (!paths.is_empty()).then(|| paths[random.below(paths.len() as u32) as usize])
        };
        let most = || known.iter().max_by_key(|candidate| candidate.headroom).map(|candidate| candidate.path);
        again
            .or_else(|| draw(good(), random))
            .or_else(|| any(&unknown, random))
            .or_else(most)
            .or_else(|| any(free, random))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PEER: NodeId = NodeId(9);
    const GBIT: i128 = 1_000_000_000;

    fn paths(numbers: &[u32]) -> Vec<PathIndex> {
        numbers.iter().copied().map(PathIndex).collect()
    }

    /// Rooms of 3 Gbit/s, 500 Mbit/s and a lost path; the fourth is unknown.
    fn monitor() -> PathMonitor {
        let mut monitor = PathMonitor::default();
        monitor.record((PEER, PathIndex(0)), 3 * GBIT);
        monitor.record((PEER, PathIndex(1)), GBIT / 2);
        monitor.lose(PEER, PathIndex(2));
        monitor
    }

    fn chosen(monitor: &PathMonitor, free: &[u32], used: &[u32], needed: i128) -> Vec<u32> {
        let mut random = SplitMix::new(5);
        let choose = |_| monitor.choose(PEER, (&paths(free), &paths(used)), needed as u64, &mut random);
        let mut all: Vec<u32> = (0..200).filter_map(choose).map(|path| path.0).collect();
        all.sort_unstable();
        all.dedup();
        all
    }

    #[test]
    fn a_path_with_room_is_preferred_and_then_an_unknown_one() {
        let monitor = monitor();
        assert_eq!(chosen(&monitor, &[0, 1, 2, 3], &[], GBIT), [0], "it alone is known to have room");
        assert_eq!(chosen(&monitor, &[0, 1, 2, 3], &[], GBIT / 4), [0, 1]);
        assert_eq!(chosen(&monitor, &[0, 1, 2, 3], &[], 4 * GBIT), [3]);
        assert_eq!(chosen(&monitor, &[0, 1, 2], &[], 4 * GBIT), [0], "the one with most room");
        assert_eq!(chosen(&monitor, &[2], &[], GBIT), [2], "there is no other");
        assert_eq!(chosen(&monitor, &[], &[], GBIT), [0_u32; 0]);
    }

    #[test]
    fn a_path_that_the_pair_has_used_is_taken_again_while_it_has_room() {
        let monitor = monitor();
        assert_eq!(chosen(&monitor, &[0, 1, 3], &[1], GBIT / 2), [1]);
        assert_eq!(chosen(&monitor, &[0, 1, 3], &[1], GBIT), [0]);
    }

    #[test]
    fn paths_to_a_peer_are_forgotten_where_their_numbers_change() {
        let mut monitor = monitor();
        monitor.record((NodeId(1), PathIndex(0)), 0);
        monitor.forget(PEER);
        assert_eq!(chosen(&monitor, &[0, 1], &[], GBIT), [0, 1]);
        assert_eq!(monitor.rooms.len(), 1);
    }
}
