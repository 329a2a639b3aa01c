//! Choice of paths by minima alone, without packets: existence of an assignment that serves all, and success rate of
//! the rule of section 3.5.

use std::collections::HashMap;

use rand::seq::SliceRandom;
use rand::{Rng, RngExt};
use wayleave_topology::{HopDistances, LinkId, Network, NodeId};

/// A minimum in Gbit/s, from where, to where.
pub(super) type Pair = (u64, NodeId, NodeId);

/// Promisable rate of a link, in Gbit/s: 9.5 of 10, and minima are integers.
const MAX: u64 = 9;

/// Returns `true` if every pair can have one of its shortest paths so that no link carries more minima than
/// promisable: all assignments are tried, large minima first.
pub(super) fn is_feasible(network: &Network, pairs: &[Pair]) -> bool {
    let mut wanted: Vec<(u64, Vec<Vec<LinkId>>)> =
        pairs.iter().map(|&(min, from, to)| (min, shortest_paths(network, from, to))).collect();
    wanted.sort_by_key(|(min, _)| std::cmp::Reverse(*min));
    fits(&wanted, &mut HashMap::new())
}

fn fits(wanted: &[(u64, Vec<Vec<LinkId>>)], used: &mut HashMap<LinkId, u64>) -> bool {
    let Some(((min, paths), rest)) = wanted.split_first() else { return true };
    paths.iter().any(|path| {
        if path.iter().any(|link| used.get(link).copied().unwrap_or(0) + min > MAX) {
            return false;
        }
        path.iter().for_each(|&link| *used.entry(link).or_default() += min);
        let all_fit = fits(rest, used);
        path.iter().for_each(|&link| *used.entry(link).or_default() -= min);
        all_fit
    })
}

/// Returns the fraction of random draws in which the rule ends in a dead end: a pair has no path with room for its
/// minimum, and no pair on an overbooked link can move to a path that has room. It is a dead end since "it will not
/// continue this migration" (3.3). Pairs arrive sequentially. Each inspects `candidatePaths` of its paths, and takes one
/// of those with room at random, weighted by the room, or the one with most.
pub(super) fn dead_ends(
    network: &Network,
    pairs: &[Pair],
    candidates: usize,
    draws: usize,
    random: &mut impl Rng,
) -> f64 {
    let paths: Vec<Vec<Vec<LinkId>>> = pairs.iter().map(|&(_, from, to)| shortest_paths(network, from, to)).collect();
    let minima: Vec<u64> = pairs.iter().map(|pair| pair.0).collect();
    let ends =
        (0..draws).filter(|_| Choice { paths: &paths, minima: &minima, taken: Vec::new() }.ends(candidates, random));
    ends.count() as f64 / draws as f64
}

/// Path of each pair that has arrived.
struct Choice<'a> {
    paths: &'a [Vec<Vec<LinkId>>],
    minima: &'a [u64],
    taken: Vec<usize>,
}

impl Choice<'_> {
    fn ends(mut self, candidates: usize, random: &mut impl Rng) -> bool {
        for pair in 0..self.paths.len() {
            let looked_at = self.sample(pair, candidates, random);
            let most = looked_at.iter().copied().max_by_key(|&path| self.residual(pair, path));
            let drawn = self.draw(pair, looked_at, random).or(most);
            self.taken.push(drawn.unwrap_or_default());
            while self.moves(candidates, random) {}
        }
        (0..self.taken.len()).any(|pair| self.residual(pair, self.taken[pair]) < 0)
    }

    /// Moves a pair without room that can move. Candidates are inspected repeatedly, so only the existence of a path
    /// with room matters.
    fn moves(&mut self, candidates: usize, random: &mut impl Rng) -> bool {
        let has_room = |pair: usize, path: usize| self.residual(pair, path) >= 0;
        let can_move = |&pair: &usize| {
            !has_room(pair, self.taken[pair]) && (0..self.paths[pair].len()).any(|path| has_room(pair, path))
        };
        let mut movable: Vec<usize> = (0..self.taken.len()).filter(can_move).collect();
        movable.shuffle(random);
        let Some(&pair) = movable.first() else { return false };
        let looked_at = self.sample(pair, candidates, random);
        if let Some(path) = self.draw(pair, looked_at, random) {
            self.taken[pair] = path;
        }
        true
    }

    fn sample(&self, pair: usize, candidates: usize, random: &mut impl Rng) -> Vec<usize> {
        let mut all: Vec<usize> = (0..self.paths[pair].len()).collect();
        all.shuffle(random);
        all.truncate(candidates);
        all
    }

    /// One of those with room.
    fn draw(&self, pair: usize, looked_at: Vec<usize>, random: &mut impl Rng) -> Option<usize> {
        let good: Vec<(usize, f64)> = (looked_at.into_iter().map(|path| (path, self.residual(pair, path))))
            .filter(|&(_, room)| room >= 0)
            // Half a Gbit/s more can be promised than whole ones need.
            .map(|(path, room)| (path, room as f64 + 0.5))
            .collect();
        let mut left = random.random_range(0.0..1.0) * good.iter().map(|(_, room)| room).sum::<f64>();
        let drawn = good.iter().find(|(_, room)| {
            left -= room;
            left < 0.0
        });
        drawn.or(good.last()).map(|&(path, _)| path)
    }

    /// Returns the room that a path has for others once a pair is on it, in Gbit/s; negative if it does not fit.
    fn residual(&self, pair: usize, path: usize) -> i64 {
        let others = (0..self.taken.len()).filter(|&other| other != pair);
        let used = |link: &LinkId| -> u64 {
            let on = |&other: &usize| self.paths[other][self.taken[other]].contains(link);
            others.clone().filter(on).map(|other| self.minima[other]).sum()
        };
        let room = |link: &LinkId| MAX as i64 - (used(link) + self.minima[pair]) as i64;
        self.paths[pair][path].iter().map(room).min().unwrap_or(MAX as i64)
    }
}

/// All shortest paths between two hosts, link by link.
fn shortest_paths(network: &Network, from: NodeId, to: NodeId) -> Vec<Vec<LinkId>> {
    let distances = HopDistances::to(network, to);
    let mut paths: Vec<Vec<LinkId>> = vec![Vec::new()];
    loop {
        let at = |path: &Vec<LinkId>| path.last().map_or(from, |&link| network.link(link).to);
        if paths.iter().all(|path| at(path) == to) {
            return paths;
        }
        let longer = |path: Vec<LinkId>| {
            let here = at(&path);
            let nearer = |link: &LinkId| {
                distances.from(network.link(*link).to).is_some_and(|left| Some(left + 1) == distances.from(here))
            };
            let next: Vec<LinkId> = network.links_from(here).iter().copied().filter(nearer).collect();
            next.into_iter().map(move |link| [path.clone(), vec![link]].concat())
        };
        paths = paths.into_iter().flat_map(longer).collect();
    }
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;
    use rand::rngs::ChaCha8Rng;
    use wayleave_units::Rate;

    use super::super::testbed::{network, servers};
    use super::*;

    #[test]
    fn minima_fit_where_a_rack_has_capacity_for_them_and_not_elsewhere() {
        let network = network(Rate::from_gbit(10)).unwrap();
        let servers = servers(&network);
        assert_eq!(shortest_paths(&network, servers[0], servers[7]).len(), 8);
        let pairs = |minima: &[u64]| -> Vec<_> { minima.iter().map(|&min| (min, servers[0], servers[7])).collect() };
        // Two links leave the first rack, and a host has one, so the last test has pairs of another host as well.
        assert!(is_feasible(&network, &pairs(&[5, 2, 2])) && !is_feasible(&network, &pairs(&[5, 5])));
        let other = [(6, servers[1], servers[6]), (6, servers[0], servers[5])];
        assert!(
            is_feasible(&network, &other)
                && !is_feasible(&network, &[&other[..], &[(4, servers[1], servers[4])]].concat())
        );
    }

    /// Two links leave the rack of both hosts. 5 and 4 fill one if they arrive first, and then 5 and 4 the other; 5
    /// and 5 never meet. But 4 and 4 may, and then 5 finds room and the other 5 does not: 4 of 9 cannot move to a
    /// link with 5, since no pair searches for others.
    #[test]
    fn the_rule_has_dead_ends_where_one_pair_would_have_to_yield_to_another() {
        let network = network(Rate::from_gbit(10)).unwrap();
        let servers = servers(&network);
        let mut random = ChaCha8Rng::seed_from_u64(1);
        let pair = |min, from: usize, to: usize| (min, servers[from], servers[to]);
        let mut ends = |pairs: &[Pair]| dead_ends(&network, pairs, 8, 300, &mut random);
        assert_eq!(ends(&[pair(5, 0, 4), pair(5, 1, 6)]), 0.0, "a move is enough");
        let pairs = [pair(4, 0, 4), pair(4, 1, 6), pair(5, 0, 5), pair(5, 1, 7)];
        assert!(is_feasible(&network, &pairs));
        let part = ends(&pairs);
        assert!(part > 0.02 && part < 0.9, "{part}");
        assert_eq!(ends(&[pair(5, 0, 4), pair(5, 0, 6)]), 1.0, "a host has one link");
    }
}
