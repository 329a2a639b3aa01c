//! Largest flow from senders to receivers with limits at both, and the dearest one: the linear programs behind worst
//! loads.
//!
//! Members of a hose send and receive at most their minimum each, so with group capacities `s_a` (members of sending
//! group a) and `r_b`:
//!
//! ```text
//! maximise    sum of w_ab x_ab        subject to    sum over b of x_ab <= s_a,  sum over a of x_ab <= r_b,  x >= 0
//! dual        minimise sum of s_a u_a + sum of r_b v_b    subject to    u_a + v_b >= w_ab,  u, v >= 0
//! ```
//!
//! over the pairs (a, b) that may use a link. With w = 1 the optimum is the largest matching (the matrix is totally
//! unimodular). Successive longest augmenting paths keep a flow optimal for its amount; the amount grows until no
//! path gains. The lengths of the last search are the dual prices. The result is the *dual* value of prices that were
//! made feasible: any feasible prices bound every flow (weak duality), so an error of the search could only make the
//! figure larger. Tests compare it with the primal value.

use std::collections::VecDeque;

/// A pair of groups that may use a link.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Lane {
    /// The place of the sending group in the list of capacities.
    pub(crate) from: usize,
    /// The place of the receiving group.
    pub(crate) to: usize,
    /// Value of a unit of flow.
    pub(crate) weight: u64,
}

/// An optimal flow and its certificate.
#[derive(Clone, Debug, Default)]
pub(crate) struct Optimum {
    /// The sum of capacities times prices: no flow is worth more.
    pub(crate) bound: u128,
    /// The worth of the flow that was found.
    #[cfg_attr(not(test), allow(dead_code, reason = "tests compare it with the bound"))]
    pub(crate) worth: u128,
    /// The dual prices of senders.
    #[cfg_attr(not(test), allow(dead_code, reason = "tests look at the certificate"))]
    pub(crate) send_prices: Vec<u128>,
    /// The dual prices of receivers.
    #[cfg_attr(not(test), allow(dead_code, reason = "tests look at the certificate"))]
    pub(crate) receive_prices: Vec<u128>,
}

/// Returns the worth of the dearest flow over these lanes.
pub(crate) fn dearest(send: &[u64], receive: &[u64], lanes: &[Lane]) -> Optimum {
    let mut search = Search::new(send, receive, lanes);
    // With equal weights every flow is as dear as any other of its amount.
    if lanes.windows(2).all(|two| two[0].weight == two[1].weight) {
        search.fill();
    }
    while search.augment() {}
    search.certify(send, receive)
}

/// Returns the worth of the dearest flow if all may send to all, and the lanes of one sender (or all lanes to one
/// receiver) have equal worth. Any amounts of one side fit as long as the other side has room, so the dearest are
/// filled first. `None` otherwise.
pub(crate) fn by_one_side(send: &[u64], receive: &[u64], lanes: &[Lane]) -> Option<u128> {
    if lanes.len() != send.len() * receive.len() {
        return None;
    }
    let of_side = |count: usize, place: fn(&Lane) -> usize| {
        let mut weights = vec![None; count];
        lanes.iter().all(|lane| *weights[place(lane)].get_or_insert(lane.weight) == lane.weight).then_some(weights)
    };
    let (weights, capacities, mut room) = match of_side(send.len(), |lane| lane.from) {
        Some(weights) => (weights, send, receive.iter().sum::<u64>()),
        None => (of_side(receive.len(), |lane| lane.to)?, receive, send.iter().sum::<u64>()),
    };
    let mut dearest_first: Vec<(u64, u64)> =
        weights.into_iter().zip(capacities).map(|(weight, &capacity)| (weight.unwrap_or(0), capacity)).collect();
    dearest_first.sort_unstable_by(|one, other| other.cmp(one));
    let mut worth = 0;
    for (weight, capacity) in dearest_first {
        let amount = capacity.min(room);
        room -= amount;
        worth += u128::from(weight) * u128::from(amount);
    }
    Some(worth)
}

struct Search<'a> {
    lanes: &'a [Lane],
    flow: Vec<u64>,
    /// Remaining capacities: senders first, receivers behind them.
    spare: Vec<u64>,
    used: Vec<u64>,
    /// By node (sender or receiver), its lanes.
    around: Vec<Vec<u32>>,
    senders: usize,
    gain: Vec<Option<i128>>,
    reached_by: Vec<u32>,
}

impl<'a> Search<'a> {
    fn new(send: &[u64], receive: &[u64], lanes: &'a [Lane]) -> Self {
        let senders = send.len();
        let nodes = senders + receive.len();
        let mut around = vec![Vec::new(); nodes];
        for (number, lane) in (0..).zip(lanes) {
            around[lane.from].push(number);
            around[senders + lane.to].push(number);
        }
        Self {
            lanes,
            flow: vec![0; lanes.len()],
            spare: send.iter().chain(receive).copied().collect(),
            used: vec![0; nodes],
            around,
            senders,
            gain: vec![None; nodes],
            reached_by: vec![u32::MAX; nodes],
        }
    }

    /// Fills lane by lane.
    fn fill(&mut self) {
        for number in 0..self.lanes.len() {
            let (from, to) = self.ends(number);
            let amount = self.spare[from].min(self.spare[to]);
            self.flow[number] += amount;
            self.take(from, amount);
            self.take(to, amount);
        }
    }

    fn ends(&self, lane: usize) -> (usize, usize) {
        (self.lanes[lane].from, self.senders + self.lanes[lane].to)
    }

    fn take(&mut self, node: usize, amount: u64) {
        self.spare[node] -= amount;
        self.used[node] += amount;
    }

    /// Finds the longest paths from these nodes in the residual network (Bellman and Ford with a queue).
    fn search(&mut self, sources: impl Iterator<Item = usize>) {
        self.gain.fill(None);
        let mut queue: VecDeque<usize> = sources.collect();
        let mut waits = vec![false; self.gain.len()];
        for &node in &queue {
            (self.gain[node], self.reached_by[node], waits[node]) = (Some(0), u32::MAX, true);
        }
        while let Some(node) = queue.pop_front() {
            waits[node] = false;
            let Some(here) = self.gain[node] else { continue };
            for place in 0..self.around[node].len() {
                let number = self.around[node][place];
                let (from, to) = self.ends(number as usize);
                let weight = i128::from(self.lanes[number as usize].weight);
                let (next, gain) = match node == from {
                    true => (to, here + weight),
                    false if self.flow[number as usize] == 0 => continue,
                    false => (from, here - weight),
                };
                if self.gain[next].is_none_or(|before| before < gain) {
                    (self.gain[next], self.reached_by[next]) = (Some(gain), number);
                    if !std::mem::replace(&mut waits[next], true) {
                        queue.push_back(next);
                    }
                }
            }
        }
    }

    /// Sends as much as possible along the path that gains most; returns `false` if none gains.
    fn augment(&mut self) -> bool {
        let with_room: Vec<usize> = (0..self.senders).filter(|&node| self.spare[node] > 0).collect();
        self.search(with_room.into_iter());
        let open = (self.senders..self.spare.len()).filter(|&node| self.spare[node] > 0);
        let best = open.filter_map(|node| Some((self.gain[node]?, node))).max_by_key(|&(gain, _)| gain);
        let Some((_, end)) = best.filter(|&(gain, _)| gain > 0) else { return false };
        let mut path = Vec::new();
        let (mut node, mut amount) = (end, self.spare[end]);
        while self.reached_by[node] != u32::MAX {
            let number = self.reached_by[node] as usize;
            let (from, to) = self.ends(number);
            path.push((number, node == to));
            if node == from {
                amount = amount.min(self.flow[number]);
            }
            node = if node == to { from } else { to };
        }
        amount = amount.min(self.spare[node]);
        for (number, forwards) in path {
            match forwards {
                true => self.flow[number] += amount,
                false => self.flow[number] -= amount,
            }
        }
        self.take(node, amount);
        self.take(end, amount);
        true
    }

    /// Derives dual prices. The price of a node is its gain over a node that can give or take a unit at no cost.
    fn certify(mut self, send: &[u64], receive: &[u64]) -> Optimum {
        let free = |node: usize| match node < self.senders {
            true => self.spare[node] > 0,
            false => self.used[node] > 0,
        };
        let sources: Vec<usize> = (0..self.spare.len()).filter(|&node| free(node)).collect();
        self.search(sources.into_iter());
        let positive = |gain: i128| u128::try_from(gain).unwrap_or(0);
        let send_prices: Vec<u128> =
            self.gain[..self.senders].iter().map(|gain| positive(-gain.unwrap_or(0))).collect();
        let mut receive_prices: Vec<u128> =
            self.gain[self.senders..].iter().map(|gain| positive(gain.unwrap_or(0))).collect();
        // Feasible for any result of the search.
        for lane in self.lanes {
            let short = u128::from(lane.weight).saturating_sub(send_prices[lane.from]);
            receive_prices[lane.to] = receive_prices[lane.to].max(short);
        }
        let sum = |capacities: &[u64], prices: &[u128]| -> u128 {
            capacities.iter().zip(prices).map(|(&capacity, price)| u128::from(capacity) * price).sum()
        };
        let worth = |(lane, &flow): (&Lane, &u64)| u128::from(lane.weight) * u128::from(flow);
        Optimum {
            bound: sum(send, &send_prices) + sum(receive, &receive_prices),
            worth: self.lanes.iter().zip(&self.flow).map(worth).sum(),
            send_prices,
            receive_prices,
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Returns the best of all assignments of whole amounts to lanes; the polytope has no other vertices.
    fn by_enumeration(send: &mut [u64], receive: &mut [u64], lanes: &[Lane]) -> u128 {
        let Some((lane, rest)) = lanes.split_first() else { return 0 };
        let most = send[lane.from].min(receive[lane.to]);
        let mut best = 0;
        for amount in 0..=most {
            send[lane.from] -= amount;
            receive[lane.to] -= amount;
            best = best.max(u128::from(amount * lane.weight) + by_enumeration(send, receive, rest));
            send[lane.from] += amount;
            receive[lane.to] += amount;
        }
        best
    }

    fn lane(from: usize, to: usize, weight: u64) -> Lane {
        Lane { from, to, weight }
    }

    /// Filling the dearest lane first is worth 10 and blocks both others; 7 + 7 is better.
    #[test]
    fn the_most_valuable_lane_is_dropped_if_two_others_are_worth_more() {
        let found = dearest(&[1, 1], &[1, 1], &[lane(0, 0, 10), lane(0, 1, 7), lane(1, 0, 7)]);
        assert_eq!((found.worth, found.bound), (14, 14));
        let found = dearest(&[1, 1], &[1, 1], &[lane(0, 0, 15), lane(0, 1, 7), lane(1, 0, 7)]);
        assert_eq!((found.worth, found.bound), (15, 15));
    }

    #[test]
    fn an_empty_assignment_has_a_value_of_zero() {
        assert_eq!(dearest(&[], &[], &[]).bound, 0);
        assert_eq!(dearest(&[3], &[2], &[lane(0, 0, 1)]).bound, 2);
    }

    prop_compose! {
        fn one_sided()(send in prop::collection::vec(1..4_u64, 1..4), receive in prop::collection::vec(1..4_u64, 1..3))(
            weights in prop::collection::vec(0..9_u64, send.len().max(receive.len())),
            by_sender in any::<bool>(),
            (send, receive) in Just((send, receive)),
        ) -> (Vec<u64>, Vec<u64>, Vec<Lane>) {
            let all = (0..send.len()).flat_map(|from| (0..receive.len()).map(move |to| (from, to)));
            let lanes = all.map(|(from, to)| lane(from, to, weights[if by_sender { from } else { to }])).collect();
            (send, receive, lanes)
        }
    }

    prop_compose! {
        fn problems()(send in prop::collection::vec(1..4_u64, 1..4), receive in prop::collection::vec(1..4_u64, 1..4))(
            lanes in prop::collection::btree_map((0..send.len(), 0..receive.len()), 0..9_u64, 0..7),
            (send, receive) in Just((send, receive)),
        ) -> (Vec<u64>, Vec<u64>, Vec<Lane>) {
            let lanes = lanes.into_iter().map(|((from, to), weight)| lane(from, to, weight)).collect();
            (send, receive, lanes)
        }
    }

    proptest! {
        #[test]
        fn weights_of_one_side_are_filled_in_order_of_value((send, receive, lanes) in one_sided()) {
            let found = by_one_side(&send, &receive, &lanes);
            prop_assert_eq!(found, Some(dearest(&send, &receive, &lanes).worth));
            if let Some((_, fewer)) = lanes.split_last() {
                prop_assert_eq!(by_one_side(&send, &receive, fewer), None);
            }
        }

        #[test]
        fn the_optimum_is_that_of_enumeration_and_prices_certify_it((send, receive, lanes) in problems()) {
            let best = by_enumeration(&mut send.clone(), &mut receive.clone(), &lanes);
            let found = dearest(&send, &receive, &lanes);
            prop_assert_eq!((found.worth, found.bound), (best, best));
            for lane in &lanes {
                prop_assert!(found.send_prices[lane.from] + found.receive_prices[lane.to] >= u128::from(lane.weight));
            }
            let even: Vec<Lane> = lanes.iter().map(|one| lane(one.from, one.to, 1)).collect();
            let most = by_enumeration(&mut send.clone(), &mut receive.clone(), &even);
            prop_assert_eq!(dearest(&send, &receive, &even).bound, most);
        }
    }
}
