//! Worst loads of a link: the largest flow that senders can send over it to receivers, plain and weighted.
//!
//! Rows are groups of senders and columns groups of receivers, each with a capacity (its members, of which each sends or receives at most
//! one unit). An edge joins a sender and a receiver that may use the link; its weight is the part of their traffic that uses it. The plain
//! problem is a maximum flow, the weighted one a transportation problem; both have integral solutions. Rows with equal edges are one row,
//! since only the sum of their capacities matters, and so are columns.

use std::collections::{HashMap, HashSet};

/// Weight of traffic that uses a link with all of its packets. Divisible by the numbers of equal-cost links that occur, so that parts of
/// one are exact; other parts are rounded up.
pub(crate) const SCALE: u64 = (1 << 16) * 6_561 * 625 * 49 * 11 * 13;

/// Number of steps above which a weighted problem gets an upper bound instead of its optimum.
const MOST_STEPS: usize = 20_000_000;

/// A sender group and a receiver group that may use a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Edge {
    pub(crate) row: u32,
    pub(crate) column: u32,
    /// In parts of [`SCALE`].
    pub(crate) weight: u64,
}

/// Worst loads in units of one member's traffic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Worst {
    /// Largest number of members that can send over the link at once.
    pub(crate) full: u64,
    /// Largest weighted sum, in parts of [`SCALE`]; rounded up.
    pub(crate) even: u128,
}

/// Returns the worst loads over these edges; `capacity` is the number of members of a group.
pub(crate) fn worst(edges: &[Edge], capacity: impl Fn(u32) -> u64) -> Worst {
    let mut problem = Problem::new(edges, capacity);
    if let Some(worst) = problem.product() {
        return worst;
    }
    problem.merge();
    if let Some(worst) = problem.product() {
        return worst;
    }
    Worst { full: problem.solve(|_| 1) as u64, even: problem.weighted() }
}

/// Edges with dense rows and columns.
struct Problem {
    rows: Vec<u64>,
    columns: Vec<u64>,
    /// Row, column, weight.
    edges: Vec<(usize, usize, u64)>,
}

impl Problem {
    fn new(edges: &[Edge], capacity: impl Fn(u32) -> u64) -> Self {
        let mut all = Self { rows: Vec::new(), columns: Vec::new(), edges: Vec::with_capacity(edges.len()) };
        let (mut rows, mut columns) = (HashMap::new(), HashMap::new());
        for edge in edges {
            let row = *rows.entry(edge.row).or_insert_with(|| {
                all.rows.push(capacity(edge.row));
                all.rows.len() - 1
            });
            let column = *columns.entry(edge.column).or_insert_with(|| {
                all.columns.push(capacity(edge.column));
                all.columns.len() - 1
            });
            all.edges.push((row, column, edge.weight));
        }
        all
    }

    /// Solves problems in which every row meets every column, and weights depend on rows alone or on columns alone: receivers (or senders)
    /// are served in the order of their weights.
    fn product(&self) -> Option<Worst> {
        if self.edges.len() != self.rows.len() * self.columns.len() {
            return None;
        }
        let (sent, received) = (self.rows.iter().sum::<u64>(), self.columns.iter().sum::<u64>());
        let of_columns = uniform(self.columns.len(), self.edges.iter().map(|&(_, column, weight)| (column, weight)));
        let greedy = |weights: Vec<u64>, capacities: &[u64], mut left: u64| {
            let mut order: Vec<(u64, u64)> = weights.into_iter().zip(capacities.iter().copied()).collect();
            order.sort_unstable_by(|a, b| b.cmp(a));
            order.into_iter().fold(0_u128, |sum, (weight, capacity)| {
                let taken = capacity.min(left);
                left -= taken;
                sum + u128::from(weight) * u128::from(taken)
            })
        };
        let even = match of_columns {
            Some(weights) => greedy(weights, &self.columns, sent),
            None => {
                let weights = uniform(self.rows.len(), self.edges.iter().map(|&(row, _, weight)| (row, weight)))?;
                greedy(weights, &self.rows, received)
            }
        };
        Some(Worst { full: sent.min(received), even })
    }

    /// Makes rows with equal edges one, and columns likewise.
    fn merge(&mut self) {
        let merged = merged(&mut self.rows, self.edges.iter().map(|&(row, column, weight)| (row, (column, weight))));
        self.edges.iter_mut().for_each(|edge| edge.0 = merged[edge.0]);
        self.unique();
        let merged = merged_columns(&mut self.columns, &self.edges);
        self.edges.iter_mut().for_each(|edge| edge.1 = merged[edge.1]);
        self.unique();
    }

    fn unique(&mut self) {
        let mut seen = HashSet::with_capacity(self.edges.len());
        self.edges.retain(|&(row, column, _)| seen.insert((row, column)));
    }

    fn weighted(&self) -> u128 {
        if self.edges.len().saturating_mul(self.rows.len().min(self.columns.len())) > MOST_STEPS {
            return self.bound();
        }
        self.solve(i128::from).unsigned_abs()
    }

    /// Returns the smaller of two dual solutions: every sender at its largest weight, or every receiver.
    fn bound(&self) -> u128 {
        let (mut rows, mut columns) = (vec![0; self.rows.len()], vec![0; self.columns.len()]);
        for &(row, column, weight) in &self.edges {
            rows[row] = weight.max(rows[row]);
            columns[column] = weight.max(columns[column]);
        }
        let sum = |weights: &[u64], capacities: &[u64]| {
            let products = weights.iter().zip(capacities).map(|(&w, &c)| u128::from(w) * u128::from(c));
            products.sum::<u128>()
        };
        sum(&rows, &self.rows).min(sum(&columns, &self.columns))
    }

    /// Returns the optimum by successive augmentation along paths of largest gain (Ahuja, Magnanti, Orlin, *Network Flows*, 9.7).
    fn solve(&self, gain: impl Fn(u64) -> i128) -> i128 {
        let mut search = Search::new(self, gain);
        let mut sum = 0;
        while let Some(gained) = search.augment() {
            sum += gained;
        }
        sum
    }
}

/// Returns the weight of each group if all of its edges have the same.
fn uniform(groups: usize, edges: impl Iterator<Item = (usize, u64)>) -> Option<Vec<u64>> {
    let mut weights = vec![None; groups];
    for (group, weight) in edges {
        if *weights[group].get_or_insert(weight) != weight {
            return None;
        }
    }
    Some(weights.into_iter().map(Option::unwrap_or_default).collect())
}

fn merged_columns(capacities: &mut Vec<u64>, edges: &[(usize, usize, u64)]) -> Vec<usize> {
    merged(capacities, edges.iter().map(|&(row, column, weight)| (column, (row, weight))))
}

/// Merges groups with equal edges: adds up their capacities and returns the new index of each group.
fn merged(capacities: &mut Vec<u64>, edges: impl Iterator<Item = (usize, (usize, u64))>) -> Vec<usize> {
    let mut lists: Vec<Vec<(usize, u64)>> = vec![Vec::new(); capacities.len()];
    edges.for_each(|(group, edge)| lists[group].push(edge));
    lists.iter_mut().for_each(|list| list.sort_unstable());
    let (mut known, mut sums) = (HashMap::new(), Vec::new());
    let place = |(list, &capacity): (Vec<(usize, u64)>, &u64)| {
        let at = *known.entry(list).or_insert(sums.len());
        if at == sums.len() {
            sums.push(0);
        }
        sums[at] += capacity;
        at
    };
    let places = lists.into_iter().zip(capacities.iter()).map(place).collect();
    *capacities = sums;
    places
}

/// Augmenting paths over the residual graph; rows come first, then columns.
struct Search<'a> {
    problem: &'a Problem,
    gains: Vec<i128>,
    flow: Vec<u64>,
    /// By row, then by column: edges.
    of_node: Vec<Vec<usize>>,
    left: Vec<u64>,
}

impl<'a> Search<'a> {
    fn new(problem: &'a Problem, gain: impl Fn(u64) -> i128) -> Self {
        let rows = problem.rows.len();
        let mut of_node = vec![Vec::new(); rows + problem.columns.len()];
        for (index, &(row, column, _)) in problem.edges.iter().enumerate() {
            of_node[row].push(index);
            of_node[rows + column].push(index);
        }
        let gains = problem.edges.iter().map(|&(_, _, weight)| gain(weight)).collect();
        let left = problem.rows.iter().chain(&problem.columns).copied().collect();
        Self { problem, gains, flow: vec![0; problem.edges.len()], of_node, left }
    }

    /// Sends as much as possible along the path with the largest gain; `None` if no path gains anything.
    fn augment(&mut self) -> Option<i128> {
        let rows = self.problem.rows.len();
        let (best, through) = self.longest();
        let columns = (rows..self.left.len()).filter(|&node| self.left[node] > 0);
        let (gain, end) = columns.filter_map(|node| Some((best[node]?, node))).max_by_key(|&(gain, _)| gain)?;
        if gain <= 0 {
            return None;
        }
        let (mut path, mut node) = (Vec::new(), end);
        while let Some(edge) = through[node] {
            path.push((edge, node >= rows));
            let (row, column, _) = self.problem.edges[edge];
            node = if node >= rows { row } else { rows + column };
        }
        let back = path.iter().filter(|(_, is_forward)| !is_forward).map(|&(edge, _)| self.flow[edge]);
        let amount = back.chain([self.left[node], self.left[end]]).min()?;
        for (edge, is_forward) in path {
            self.flow[edge] = if is_forward { self.flow[edge] + amount } else { self.flow[edge] - amount };
        }
        (self.left[node], self.left[end]) = (self.left[node] - amount, self.left[end] - amount);
        Some(gain * i128::from(amount))
    }

    /// Longest paths from rows with capacity left, with the edge over which each node is reached. An optimal flow has no cycle that gains,
    /// so labels settle.
    fn longest(&self) -> (Vec<Option<i128>>, Vec<Option<usize>>) {
        let rows = self.problem.rows.len();
        let (mut best, mut through) = (vec![None; self.left.len()], vec![None; self.left.len()]);
        let mut queue: std::collections::VecDeque<usize> = (0..rows).filter(|&row| self.left[row] > 0).collect();
        let mut is_queued = vec![false; self.left.len()];
        for &row in &queue {
            (best[row], is_queued[row]) = (Some(0), true);
        }
        while let Some(node) = queue.pop_front() {
            is_queued[node] = false;
            let Some(here) = best[node] else { continue };
            for &edge in &self.of_node[node] {
                let (row, column, _) = self.problem.edges[edge];
                let (next, gain) = if node < rows {
                    (rows + column, here + self.gains[edge])
                } else if self.flow[edge] > 0 {
                    (row, here - self.gains[edge])
                } else {
                    continue;
                };
                if best[next].is_none_or(|known| known < gain) {
                    (best[next], through[next]) = (Some(gain), Some(edge));
                    if !std::mem::replace(&mut is_queued[next], true) {
                        queue.push_back(next);
                    }
                }
            }
        }
        (best, through)
    }
}
