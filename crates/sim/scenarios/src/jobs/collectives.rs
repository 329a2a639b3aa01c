//! Collective operations as graphs of messages.
//!
//! Ring and recursive halving and doubling follow Thakur, Rabenseifner and Gropp, Optimization of Collective Communication Operations in MPICH,
//! IJHPCA 2005, sections 4.1 to 4.5; trees and rings of training are those of NCCL.

use wayleave_units::{Bytes, Time};

use super::{Dependency, GraphError, JobGraph, JobOperation, MAX_OPERATIONS, OperationAction, WaitUntil};

/// Collective operation of the ranks of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Collective {
    /// Every rank gets the sum of all data: parts are passed around a ring to be added, and once more to be
    /// distributed. Each rank sends 2(N-1)/N of the data.
    RingAllReduce,
    /// The same along a binary tree: sums go up to rank 0, the result comes down.
    TreeAllReduce,
    /// The same between partners that differ in one bit of their number: halves, quarters and so on are exchanged and added, then collected again.
    /// The number of ranks is a power of two.
    HalvingDoublingAllReduce,
    /// Every rank gets the sum of one part: the first half of a ring all-reduce.
    RingReduceScatter,
    /// Every rank gets the parts of all: the second half.
    RingAllGather,
    /// Every rank sends a different part to every other rank, all at once.
    AllToAll,
}

/// Data of a collective operation, and its algorithm.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CollectiveExchange {
    /// The algorithm.
    pub collective: Collective,
    /// Data that each rank has in the end, or sends in an all-to-all, including the part that stays local.
    pub data: Bytes,
    /// Number of equal chunks into which the data is split: the hops of a tree or ring then work concurrently. At
    /// least 1.
    pub chunks: u32,
    /// Time for which each rank computes before it sends.
    pub compute: Time,
}

/// Error of a collective operation.
#[derive(thiserror::Error, Clone, Copy, Debug, PartialEq, Eq)]
pub enum CollectiveError {
    /// There are no partners.
    #[error("a collective operation of {0} ranks: expected at least 2")]
    TooFewRanks(u32),
    /// The number of ranks must be a power of two, because partners differ in one bit.
    #[error("halving and doubling among {0} ranks: expected a power of two (ring-all-reduce works with any number)")]
    NoPowerOfTwo(u32),
    /// No data.
    #[error("the data is 0B: expected a size above zero")]
    NoData,
    /// No chunks.
    #[error("0 chunks: expected at least 1")]
    NoChunks,
    /// The graph cannot be.
    #[error("{0}")]
    Graph(GraphError),
}

impl Collective {
    /// All, with the names that files give them.
    pub const ALL: [(&'static str, Self); 6] = [
        ("ring-all-reduce", Self::RingAllReduce),
        ("tree-all-reduce", Self::TreeAllReduce),
        ("halving-doubling-all-reduce", Self::HalvingDoublingAllReduce),
        ("ring-reduce-scatter", Self::RingReduceScatter),
        ("ring-all-gather", Self::RingAllGather),
        ("all-to-all", Self::AllToAll),
    ];

    /// Returns the number of messages for one chunk.
    fn messages(self, ranks: u32) -> u64 {
        let ranks = u64::from(ranks);
        match self {
            Self::RingAllReduce => 2 * ranks * (ranks - 1),
            Self::TreeAllReduce => 2 * (ranks - 1),
            Self::HalvingDoublingAllReduce => 2 * ranks * u64::from(ranks.ilog2()),
            Self::RingReduceScatter | Self::RingAllGather | Self::AllToAll => ranks * (ranks - 1),
        }
    }
}

impl CollectiveExchange {
    /// Returns the graph of messages among `ranks` ranks. Parts that do not divide the data evenly differ by one
    /// byte.
    ///
    /// ```
    /// use wayleave_scenarios::{Collective, CollectiveExchange};
    /// use wayleave_units::{Bytes, Time};
    ///
    /// let ring = CollectiveExchange { collective: Collective::RingAllReduce, data: Bytes::new(4000), chunks: 1, compute: Time::ZERO };
    /// // Four ranks, each of which sends six parts of 1000 B.
    /// assert_eq!(ring.graph(4)?.payload(), 24_000);
    /// # Ok::<(), wayleave_scenarios::CollectiveError>(())
    /// ```
    ///
    /// # Errors
    /// Fewer than two ranks, no data or chunks, a number of ranks that the algorithm does not support, more than
    /// [`MAX_OPERATIONS`].
    pub fn graph(&self, ranks: u32) -> Result<JobGraph, CollectiveError> {
        if ranks < 2 {
            return Err(CollectiveError::TooFewRanks(ranks));
        }
        if self.collective == Collective::HalvingDoublingAllReduce && !ranks.is_power_of_two() {
            return Err(CollectiveError::NoPowerOfTwo(ranks));
        }
        if self.data == Bytes::ZERO {
            return Err(CollectiveError::NoData);
        }
        if self.chunks == 0 {
            return Err(CollectiveError::NoChunks);
        }
        let operations =
            self.collective.messages(ranks).saturating_mul(2 * u64::from(self.chunks)).saturating_add(u64::from(ranks));
        if operations > MAX_OPERATIONS as u64 {
            let operations = usize::try_from(operations).unwrap_or(usize::MAX);
            return Err(CollectiveError::Graph(GraphError::TooLarge { operations }));
        }
        let mut messages = Messages { ranks, compute: self.compute, operations: Vec::new(), dependencies: Vec::new() };
        if self.compute > Time::ZERO {
            for rank in 0..ranks {
                messages.add(rank, OperationAction::Compute(self.compute));
            }
        }
        for chunk in 0..self.chunks {
            let data = part(self.data.get(), u64::from(self.chunks), u64::from(chunk));
            match self.collective {
                Collective::RingAllReduce => messages.ring(chunk, data, 2 * (ranks - 1)),
                Collective::RingReduceScatter | Collective::RingAllGather => messages.ring(chunk, data, ranks - 1),
                Collective::TreeAllReduce => messages.tree(chunk, data),
                Collective::HalvingDoublingAllReduce => messages.halving_doubling(chunk, data),
                Collective::AllToAll => messages.all_to_all(chunk, data),
            }
        }
        JobGraph::new(ranks, messages.operations, &messages.dependencies).map_err(CollectiveError::Graph)
    }
}

/// Returns the size of the part with this number, out of `parts` parts of `whole`.
fn part(whole: u64, parts: u64, number: u64) -> u64 {
    whole / parts + u64::from(number < whole % parts)
}

/// Collects the messages of a collective operation.
struct Messages {
    ranks: u32,
    compute: Time,
    operations: Vec<JobOperation>,
    dependencies: Vec<Dependency>,
}

impl Messages {
    fn add(&mut self, rank: u32, action: OperationAction) -> u32 {
        self.operations.push(JobOperation { rank, action, cpu: 0, nic: 0 });
        (self.operations.len() - 1) as u32
    }

    /// A message; it leaves when the sender's operations of a list are over. Its receive.
    fn message(&mut self, (from, to): (u32, u32), size: u64, tag: u32, after: &[u32]) -> u32 {
        let size = Bytes::new(size);
        let send = self.add(from, OperationAction::Send { to, size, tag });
        // The first operation of each rank is its computation, if it computes.
        let computed = (self.compute > Time::ZERO).then_some(from);
        let needed = computed.iter().chain(after);
        let needs = needed.map(|&on| Dependency { operation: send, on, until: WaitUntil::Over });
        self.dependencies.extend(needs);
        self.add(to, OperationAction::Receive { from: Some(from), size, tag: Some(tag) })
    }

    /// In each step every rank passes a part on: in the first its own, then the one that arrived.
    fn ring(&mut self, chunk: u32, data: u64, steps: u32) {
        let ranks = self.ranks;
        let mut came: Vec<Option<u32>> = vec![None; ranks as usize];
        for step in 0..steps {
            let before = came.clone();
            for rank in 0..ranks {
                // Each step takes the part before, so that each has been passed around when the first half is over.
                let number = (rank + 2 * ranks - step) % ranks;
                let size = part(data, u64::from(ranks), u64::from(number));
                let to = (rank + 1) % ranks;
                let after: Vec<u32> = before[rank as usize].into_iter().collect();
                came[to as usize] = Some(self.message((rank, to), size, chunk * steps + step, &after));
            }
        }
    }

    /// Up and down a binary tree in which the parent of rank r is (r - 1) / 2.
    fn tree(&mut self, chunk: u32, data: u64) {
        let mut from_children: Vec<Vec<u32>> = vec![Vec::new(); self.ranks as usize];
        for rank in (1..self.ranks).rev() {
            let parent = (rank - 1) / 2;
            let after = std::mem::take(&mut from_children[rank as usize]);
            let received = self.message((rank, parent), data, 2 * chunk, &after);
            from_children[parent as usize].push(received);
        }
        let mut known = vec![Vec::new(); self.ranks as usize];
        known[0] = std::mem::take(&mut from_children[0]);
        for rank in 1..self.ranks {
            let parent = (rank - 1) / 2;
            let after = known[parent as usize].clone();
            known[rank as usize] = vec![self.message((parent, rank), data, 2 * chunk + 1, &after)];
        }
    }

    /// Adds messages of half of the data to the partner that differs in the highest bit, a quarter to the next, and
    /// all in the reverse order.
    fn halving_doubling(&mut self, chunk: u32, data: u64) {
        let bits = self.ranks.ilog2();
        let mut came: Vec<Option<u32>> = vec![None; self.ranks as usize];
        // Of the data that each rank is still to add up: where it begins and ends.
        let mut own = vec![(0, data); self.ranks as usize];
        for step in 0..2 * bits {
            let is_halving = step < bits;
            let bit = if is_halving { bits - 1 - step } else { step - bits };
            let (before, owned) = (came.clone(), own.clone());
            for rank in 0..self.ranks {
                let partner = rank ^ (1 << bit);
                let (low, high) = owned[rank as usize];
                let size = if is_halving {
                    let middle = low + (high - low) / 2;
                    let is_upper = rank & (1 << bit) != 0;
                    own[rank as usize] = if is_upper { (middle, high) } else { (low, middle) };
                    if is_upper { middle - low } else { high - middle }
                } else {
                    let (other_low, other_high) = owned[partner as usize];
                    own[rank as usize] = (low.min(other_low), high.max(other_high));
                    high - low
                };
                let after: Vec<u32> = before[rank as usize].into_iter().collect();
                let received = self.message((rank, partner), size, chunk * 2 * bits + step, &after);
                came[partner as usize] = Some(received);
            }
        }
    }

    fn all_to_all(&mut self, chunk: u32, data: u64) {
        for distance in 1..self.ranks {
            for rank in 0..self.ranks {
                let to = (rank + distance) % self.ranks;
                let size = part(data, u64::from(self.ranks), u64::from(to));
                self.message((rank, to), size, chunk, &[]);
            }
        }
    }
}
