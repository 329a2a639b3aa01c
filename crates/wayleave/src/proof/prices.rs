//! Dual prices of the largest load that a hose puts on a link: the certificate of the bound.
//!
//! Groups of senders and receivers have a capacity, their number of members. A pair of groups brings a value for each
//! unit that it sends: its part on the link, or 1 if it may use the link. The largest sum is a transportation
//! problem. Its dual has prices `u` and `v` with `u[i] + v[j] >= value[i][j]`, and the sum of prices times capacities
//! equals the largest load. With values of 1 all prices are 0 or 1: they are a vertex cover (D. Koenig, 1931).
//!
//! The flow of the greatest value grows along the best augmenting path until no path gains anything. The distances in
//! the residual network are the prices.

use std::collections::BTreeMap;

/// A link between two groups, with the value of a unit.
#[derive(Clone, Copy, Debug)]
pub(super) struct Edge {
    /// The group of senders.
    pub(super) from: usize,
    /// The group of receivers.
    pub(super) to: usize,
    /// Positive.
    pub(super) value: i128,
}

/// Prices of senders and receivers.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Prices {
    /// Of each group of senders.
    pub(super) senders: Vec<i128>,
    /// Of each group of receivers.
    pub(super) receivers: Vec<i128>,
}

/// Returns the prices of the cheapest dual solution, for groups of these sizes on either side.
pub(super) fn prices(sizes: &[i128], edges: &[Edge]) -> Prices {
    let mut flow =
        Flow { sizes, edges, on: vec![0; edges.len()], sent: vec![0; sizes.len()], received: vec![0; sizes.len()] };
    while flow.augment() {}
    flow.potentials()
}

/// A flow between the groups.
struct Flow<'a> {
    sizes: &'a [i128],
    edges: &'a [Edge],
    /// On each edge.
    on: Vec<i128>,
    sent: Vec<i128>,
    received: Vec<i128>,
}

impl Flow<'_> {
    /// Sends as much as possible over the path that gains most for a unit. Returns `false` if no path gains anything.
    fn augment(&mut self) -> bool {
        let size = self.sizes.len();
        // Gains of a path from the source to each sender and receiver, with the edge before.
        let mut gain: [Vec<Option<i128>>; 2] = [vec![None; size], vec![None; size]];
        let mut before: [Vec<Option<usize>>; 2] = [vec![None; size], vec![None; size]];
        for (group, gain) in gain[0].iter_mut().enumerate() {
            *gain = (self.sent[group] < self.sizes[group]).then_some(0);
        }
        let mut changes = true;
        while changes {
            changes = false;
            for (index, edge) in self.edges.iter().enumerate() {
                if let Some(forward) = gain[0][edge.from].map(|gain| gain + edge.value)
                    && gain[1][edge.to].is_none_or(|known| forward > known)
                {
                    (gain[1][edge.to], before[1][edge.to], changes) = (Some(forward), Some(index), true);
                }
                if self.on[index] > 0
                    && let Some(back) = gain[1][edge.to].map(|gain| gain - edge.value)
                    && gain[0][edge.from].is_none_or(|known| back > known)
                {
                    (gain[0][edge.from], before[0][edge.from], changes) = (Some(back), Some(index), true);
                }
            }
        }
        let open = (0..size).filter(|&group| self.received[group] < self.sizes[group]);
        let best = open.filter_map(|group| Some((gain[1][group]?, group))).max_by_key(|&(gain, _)| gain);
        let Some((_, end)) = best.filter(|&(gain, _)| gain > 0) else { return false };
        self.push(end, &before);
        true
    }

    /// Sends along the path that ends at a group of receivers.
    fn push(&mut self, end: usize, before: &[Vec<Option<usize>>; 2]) {
        let (mut path, mut receiver) = (BTreeMap::new(), end);
        let mut amount = self.sizes[end] - self.received[end];
        let start = loop {
            let Some(forward) = before[1][receiver] else { return };
            path.insert(forward, 1);
            let sender = self.edges[forward].from;
            let Some(back) = before[0][sender] else { break sender };
            path.insert(back, -1);
            amount = amount.min(self.on[back]);
            receiver = self.edges[back].to;
        };
        amount = amount.min(self.sizes[start] - self.sent[start]);
        self.sent[start] += amount;
        self.received[end] += amount;
        path.into_iter().for_each(|(edge, sign)| self.on[edge] += sign * amount);
    }

    /// Returns the prices that prove the flow to be the largest: distances from anywhere in the residual network, where no cycle gains.
    fn potentials(&self) -> Prices {
        let size = self.sizes.len();
        // Distances to the source, to the sink, to senders and to receivers.
        let (mut source, mut sink) = (0, 0);
        let (mut senders, mut receivers) = (vec![0_i128; size], vec![0_i128; size]);
        let flows = self.sent.iter().any(|&sent| sent > 0);
        let mut changes = true;
        let lower = |distance: &mut i128, to: i128, changes: &mut bool| {
            if to < *distance {
                (*distance, *changes) = (to, true);
            }
        };
        while changes {
            changes = false;
            lower(&mut source, sink, &mut changes);
            if flows {
                lower(&mut sink, source, &mut changes);
            }
            for group in 0..size {
                if self.sent[group] < self.sizes[group] {
                    lower(&mut senders[group], source, &mut changes);
                }
                if self.sent[group] > 0 {
                    lower(&mut source, senders[group], &mut changes);
                }
                if self.received[group] < self.sizes[group] {
                    lower(&mut sink, receivers[group], &mut changes);
                }
                if self.received[group] > 0 {
                    lower(&mut receivers[group], sink, &mut changes);
                }
            }
            for (edge, &on) in self.edges.iter().zip(&self.on) {
                lower(&mut receivers[edge.to], senders[edge.from] - edge.value, &mut changes);
                if on > 0 {
                    lower(&mut senders[edge.from], receivers[edge.to] + edge.value, &mut changes);
                }
            }
        }
        // No edge joins an empty group, and nothing limits its distance.
        let price = |distance: i128, size: &i128| if *size > 0 { distance.max(0) } else { 0 };
        let senders = senders.into_iter().map(|distance| distance - source).zip(self.sizes);
        let receivers = receivers.into_iter().map(|distance| sink - distance).zip(self.sizes);
        Prices {
            senders: senders.map(|(distance, size)| price(distance, size)).collect(),
            receivers: receivers.map(|(distance, size)| price(distance, size)).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn edges(all: &[(usize, usize, i128)]) -> Vec<Edge> {
        all.iter().map(|&(from, to, value)| Edge { from, to, value }).collect()
    }

    /// Returns the sum of prices, after it has checked that they cover all edges.
    fn cost(sizes: &[i128], edges: &[Edge]) -> i128 {
        let prices = prices(sizes, edges);
        for edge in edges {
            assert!(prices.senders[edge.from] + prices.receivers[edge.to] >= edge.value, "{edge:?} {prices:?}");
        }
        let all = sizes.iter().zip(prices.senders.iter().zip(&prices.receivers));
        all.map(|(size, (sender, receiver))| size * (sender + receiver)).sum()
    }

    /// Two racks of 3 and 2 hosts: 2 cross, in either direction. A path 0 -> 1, 2 -> 1, 2 -> 3: a matching of 2.
    #[test]
    fn covers_are_as_small_as_the_largest_matching() {
        assert_eq!(cost(&[3, 2], &edges(&[(0, 1, 1)])), 2);
        assert_eq!(cost(&[1; 4], &edges(&[(0, 1, 1), (2, 1, 1), (2, 3, 1)])), 2);
        assert_eq!(cost(&[1; 4], &edges(&[(0, 1, 1), (0, 2, 1), (0, 3, 1)])), 1);
    }

    /// Values 4 and 3 from one sender, 2 from another to the receiver of the 4: 3 + 2 is more than 4.
    #[test]
    fn prices_add_up_to_the_largest_load() {
        assert_eq!(cost(&[1; 4], &edges(&[(0, 2, 4), (0, 3, 3), (1, 2, 2)])), 5);
        assert_eq!(cost(&[2, 1, 1, 1], &edges(&[(0, 2, 4), (0, 3, 3), (1, 2, 2)])), 7);
    }

    /// The first group has no members here: it represents hosts behind other links.
    #[test]
    fn empty_groups_have_no_price() {
        let found = prices(&[0, 3, 1], &edges(&[(2, 1, 1)]));
        assert_eq!(found, Prices { senders: vec![0, 0, 1], receivers: vec![0, 0, 0] });
    }

    /// All values of three by three, against all permutations (vertices of the polytope, G. Birkhoff 1946).
    #[test]
    fn prices_equal_the_best_of_all_permutations() {
        const ORDERS: [[usize; 3]; 6] = [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]];
        for code in 0..19_683_i128 {
            let value = |from: usize, to: usize| code / 3_i128.pow((3 * from + to) as u32) % 3;
            let pairs = (0..9).map(|pair| (pair / 3, pair % 3)).filter(|&(from, to)| value(from, to) > 0);
            let edges: Vec<Edge> = pairs.map(|(from, to)| Edge { from, to, value: value(from, to) }).collect();
            let best = ORDERS.map(|order| (0..3).map(|from| value(from, order[from])).sum::<i128>());
            assert_eq!(Some(cost(&[1; 3], &edges)), best.into_iter().max(), "code {code}");
        }
    }
}
