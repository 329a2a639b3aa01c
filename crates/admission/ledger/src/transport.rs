//! Worst loads of a link: the largest flow that senders can send over it to receivers, plain and weighted.
//!
//! Rows are groups of senders and columns groups of receivers, each with a capacity (its members, of which each sends or receives at most
//! one unit). An edge joins a sender and a receiver that may use the link; its weight is the part of their traffic that uses it. The plain
//! problem is a maximum flow, the weighted one a transportation problem; both have integral solutions. Rows with equal edges are one row,
//! since only the sum of their capacities matters, and so are columns.

use std::collections::VecDeque;

/// Weight of traffic that uses a link with all of its packets. Divisible by the numbers of equal-cost links that occur, so that parts of
/// one are exact; other parts are rounded up.
pub(crate) const SCALE: u64 = (1 << 16) * 6_561 * 625 * 49 * 11 * 13;

/// Number of steps above which a weighted problem gets an upper bound instead of its optimum.
const MAX_STEPS: usize = 20_000_000;

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
pub(crate) struct WorstLoads {
    /// Largest number of members that can send over the link at once.
    pub(crate) full: u64,
    /// Largest weighted sum, in parts of [`SCALE`]; rounded up.
    pub(crate) even: u128,
}

/// Returns the worst loads over these edges; `capacity` is the number of members of a group.
pub(crate) fn worst(edges: &[Edge], capacity: impl Fn(u32) -> u64) -> WorstLoads {
    let mut problem = Problem::new(edges, capacity);
    if let Some(worst) = problem.product() {
        return worst;
    }
    problem.merge();
    if let Some(worst) = problem.product() {
        return worst;
    }
    WorstLoads { full: problem.solve(|_| 1) as u64, even: problem.weighted() }
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
        let (places, rows) = dense(edges.iter().map(|edge| edge.row), &capacity);
        let row = |edge: &Edge| places[edge.row as usize];
        let (places, columns) = dense(edges.iter().map(|edge| edge.column), &capacity);
        let edges = edges.iter().map(|edge| (row(edge), places[edge.column as usize], edge.weight)).collect();
        Self { rows, columns, edges }
    }

    /// Solves problems in which every row meets every column, and weights depend on rows alone or on columns alone: receivers (or senders)
    /// are served in the order of their weights.
    fn product(&self) -> Option<WorstLoads> {
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
        Some(WorstLoads { full: sent.min(received), even })
    }

    /// Makes rows with equal edges one, and columns likewise.
    fn merge(&mut self) {
        merge(&mut self.rows, &mut self.edges);
        transpose(&mut self.edges);
        merge(&mut self.columns, &mut self.edges);
        transpose(&mut self.edges);
    }

    fn weighted(&self) -> u128 {
        if self.edges.len().saturating_mul(self.rows.len().min(self.columns.len())) > MAX_STEPS {
            return self.bound();
        }
        self.solve(|weight| weight as i64)
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

    /// Returns the optimum by successive augmentation along paths of largest gain, all paths of one gain at a time (Ahuja, Magnanti,
    /// Orlin, *Network Flows*, 9.7 and 9.8: successive shortest paths, primal-dual).
    fn solve(&self, gain: impl Fn(u64) -> i64) -> u128 {
        let mut search = Search::new(self, gain);
        let mut sum = 0;
        while let Some(gain) = search.label() {
            sum += u128::from(gain.unsigned_abs()) * u128::from(search.fill(gain));
        }
        sum
    }
}

/// Numbers groups in the order in which they occur: the number of each, and the capacities in that order.
fn dense(groups: impl Iterator<Item = u32> + Clone, capacity: impl Fn(u32) -> u64) -> (Vec<usize>, Vec<u64>) {
    let mut places = vec![usize::MAX; groups.clone().max().map_or(0, |last| last as usize + 1)];
    let mut capacities = Vec::new();
    for group in groups {
        let place = &mut places[group as usize];
        if *place == usize::MAX {
            *place = capacities.len();
            capacities.push(capacity(group));
        }
    }
    (places, capacities)
}

/// Returns the weight of each group if all of its edges have an equal weight.
fn uniform(groups: usize, edges: impl Iterator<Item = (usize, u64)>) -> Option<Vec<u64>> {
    let mut weights = vec![None; groups];
    for (group, weight) in edges {
        if *weights[group].get_or_insert(weight) != weight {
            return None;
        }
    }
    Some(weights.into_iter().map(Option::unwrap_or_default).collect())
}

fn transpose(edges: &mut [(usize, usize, u64)]) {
    edges.iter_mut().for_each(|edge| *edge = (edge.1, edge.0, edge.2));
}

/// Merges groups with equal edges, which are those in the first place of each edge: adds up their capacities.
fn merge(capacities: &mut Vec<u64>, edges: &mut Vec<(usize, usize, u64)>) {
    edges.sort_unstable();
    let mut lists: Vec<&[(usize, usize, u64)]> = edges.chunk_by(|one, other| one.0 == other.0).collect();
    fn ends<'a>(list: &&'a [(usize, usize, u64)]) -> impl Iterator<Item = (usize, u64)> + use<'a> {
        list.iter().map(|&(_, end, weight)| (end, weight))
    }
    lists.sort_by(|one, other| one.len().cmp(&other.len()).then_with(|| ends(one).cmp(ends(other))));
    let (mut sums, mut merged) = (Vec::new(), Vec::with_capacity(edges.len()));
    for same in lists.chunk_by(|one, other| one.len() == other.len() && ends(one).eq(ends(other))) {
        merged.extend(same[0].iter().map(|&(_, end, weight)| (sums.len(), end, weight)));
        sums.push(same.iter().map(|list| capacities[list[0].0]).sum());
    }
    (*capacities, *edges) = (sums, merged);
}

/// Label of a node that no path reaches.
const UNREACHED: i64 = i64::MIN;

/// Augmenting paths over the residual graph; rows come first, then columns.
///
/// Gains are at most [`SCALE`]. A path meets every node of the smaller side once, of which there are at most the root of [`MAX_STEPS`]
/// where gains are weights, so the sum of the gains of a path fits 64 bits.
struct Search<'a> {
    problem: &'a Problem,
    gains: Vec<i64>,
    flow: Vec<u64>,
    /// By node: the first of its edges in `edges`; one more at the end.
    first: Vec<usize>,
    edges: Vec<usize>,
    left: Vec<u64>,
    /// By node: the largest gain of a path to it.
    labels: Vec<i64>,
    /// By node: the next of its edges to be tried.
    cursors: Vec<usize>,
    is_seen: Vec<bool>,
}

const _: () = assert!(MAX_STEPS.isqrt() as u64 * SCALE < i64::MAX as u64, "sums of gains fit");

impl<'a> Search<'a> {
    fn new(problem: &'a Problem, gain: impl Fn(u64) -> i64) -> Self {
        let rows = problem.rows.len();
        let nodes = rows + problem.columns.len();
        let mut first = vec![0; nodes + 1];
        for &(row, column, _) in &problem.edges {
            first[row + 1] += 1;
            first[rows + column + 1] += 1;
        }
        for node in 0..nodes {
            first[node + 1] += first[node];
        }
        let (mut next, mut edges) = (first.clone(), vec![0; 2 * problem.edges.len()]);
        for (index, &(row, column, _)) in problem.edges.iter().enumerate() {
            for node in [row, rows + column] {
                edges[next[node]] = index;
                next[node] += 1;
            }
        }
        Self {
            problem,
            gains: problem.edges.iter().map(|&(_, _, weight)| gain(weight)).collect(),
            flow: vec![0; problem.edges.len()],
            first,
            edges,
            left: problem.rows.iter().chain(&problem.columns).copied().collect(),
            labels: vec![UNREACHED; nodes],
            cursors: vec![0; nodes],
            is_seen: vec![false; nodes],
        }
    }

    fn rows(&self) -> usize {
        self.problem.rows.len()
    }

    /// The node at the other end of an edge, and the label that it has over this edge; `None` if nothing can be sent
    /// in that direction.
    fn over(&self, node: usize, edge: usize) -> Option<(usize, i64)> {
        let (row, column, _) = self.problem.edges[edge];
        let (here, gain) = (self.labels[node], self.gains[edge]);
        if node == row {
            return Some((self.rows() + column, here + gain));
        }
        (self.flow[edge] > 0).then_some((row, here - gain))
    }

    /// Labels all nodes and returns the largest gain of a path to a column with capacity left; `None` if no path gains anything. An
    /// optimal flow has no cycle that gains, so labels settle.
    fn label(&mut self) -> Option<i64> {
        let rows = self.rows();
        self.labels.fill(UNREACHED);
        self.is_seen.fill(false);
        let mut queue: VecDeque<usize> = (0..rows).filter(|&row| self.left[row] > 0).collect();
        for &row in &queue {
            (self.labels[row], self.is_seen[row]) = (0, true);
        }
        while let Some(node) = queue.pop_front() {
            self.is_seen[node] = false;
            for at in self.first[node]..self.first[node + 1] {
                let Some((next, label)) = self.over(node, self.edges[at]) else { continue };
                if self.labels[next] < label {
                    self.labels[next] = label;
                    if !std::mem::replace(&mut self.is_seen[next], true) {
                        queue.push_back(next);
                    }
                }
            }
        }
        let columns = (rows..self.left.len()).filter(|&node| self.left[node] > 0);
        columns.map(|node| self.labels[node]).max().filter(|&gain| gain > 0)
    }

    /// Sends as much as possible along all paths with this gain.
    fn fill(&mut self, gain: i64) -> u64 {
        let mut sum = 0;
        loop {
            self.is_seen.fill(false);
            self.cursors.copy_from_slice(&self.first[..self.left.len()]);
            let before = sum;
            for row in 0..self.rows() {
                while self.left[row] > 0 && !self.is_seen[row] {
                    sum += self.send(row, gain);
                }
            }
            if sum == before {
                return sum;
            }
        }
    }

    /// Sends along one path with this gain from a row. Nodes from which none was found stay marked.
    fn send(&mut self, from: usize, gain: i64) -> u64 {
        let (mut path, mut node) = (Vec::new(), from);
        self.is_seen[from] = true;
        while node < self.rows() || self.left[node] == 0 || self.labels[node] != gain {
            match self.next(node) {
                Some((edge, next)) => {
                    path.push((edge, node));
                    self.is_seen[next] = true;
                    node = next;
                }
                None => match path.pop() {
                    Some((_, before)) => node = before,
                    None => return 0,
                },
            }
        }
        let back = path.iter().filter(|&&(_, node)| node >= self.rows()).map(|&(edge, _)| self.flow[edge]);
        let amount = back.fold(self.left[from].min(self.left[node]), u64::min);
        (self.left[from], self.left[node]) = (self.left[from] - amount, self.left[node] - amount);
        self.is_seen[node] = false;
        for (edge, node) in path {
            let is_forward = node < self.rows();
            self.flow[edge] = if is_forward { self.flow[edge] + amount } else { self.flow[edge] - amount };
            self.is_seen[node] = false;
        }
        amount
    }

    /// The next edge from a node that is part of a path of largest gain, to a node that is not marked.
    fn next(&mut self, node: usize) -> Option<(usize, usize)> {
        while self.cursors[node] < self.first[node + 1] {
            let edge = self.edges[self.cursors[node]];
            match self.over(node, edge) {
                Some((next, label)) if self.labels[next] == label && !self.is_seen[next] => return Some((edge, next)),
                _ => self.cursors[node] += 1,
            }
        }
        None
    }
}
