//! GOAL in LogGOPSim's binary form, little-endian and packed.
//!
//! | bytes | |
//! |---|---|
//! | 8 | 4223 |
//! | 4, 1, 1 | ranks, highest processor, highest interface |
//! | 16 a rank | start and end of its part, counted from byte 8 |
//! | a part: 4, 4 | number of operations, number of those without dependencies |
//! | 4 each | the numbers of those |
//! | 39 each | an operation: number of its dependencies (4), 1 send, 2 receive or 3 computation (1), peer (4), size or nanoseconds (8), tag (4), processor (1), interface (1); number of operations that wait for its end (4) and their position in the appendix (4); the same two numbers for those that wait for its start |
//! | 4 each | the appendix: numbers of operations that wait |

use wayleave_scenarios::{Dependency, JobGraph, JobOperation, MAX_OPERATIONS, MAX_RANKS, OperationAction, WaitUntil};
use wayleave_units::{Bytes, Time};

use crate::problem::{InputErrors, Problem, ProblemKind};
use crate::signatures::LOGGOPSIM;
use crate::source::Source;

/// Sends and receives that name no rank or tag in particular have this number.
pub(super) const ANY: u32 = u32::MAX;
/// The parts of ranks are counted from behind the magic number.
const ORIGIN: usize = LOGGOPSIM.len();
const HEADER: usize = ORIGIN + 6;
/// Of one operation.
const NODE: usize = 39;

/// An error and its byte position.
struct Wrong(usize, String);

/// Reads a binary schedule.
pub(super) fn read(source: &Source, bytes: &[u8]) -> Result<JobGraph, InputErrors> {
    schedule(bytes).map_err(|Wrong(at, what)| {
        let message = format!("byte {at}: {what}");
        InputErrors::one(Problem::of_file(source, ProblemKind::Impossible, &message))
    })
}

fn schedule(bytes: &[u8]) -> Result<JobGraph, Wrong> {
    let ranks = u32_at(bytes, ORIGIN)?;
    if !(1..=MAX_RANKS).contains(&ranks) {
        return Err(Wrong(ORIGIN, format!("{ranks} ranks: expected 1 to {MAX_RANKS}")));
    }
    let (mut operations, mut dependencies, mut places) = (Vec::new(), Vec::new(), Vec::new());
    let mut before = HEADER;
    for rank in 0..ranks {
        let entry = HEADER + 16 * rank as usize;
        let bound = |at| Ok(usize::try_from(u64_at(bytes, at)?).unwrap_or(usize::MAX).saturating_add(ORIGIN));
        let (start, end) = (bound(entry)?, bound(entry + 8)?);
        if start > end || end > bytes.len() {
            return Err(Wrong(entry, format!("the part of rank {rank} ends at byte {end} of {}", bytes.len())));
        }
        // Parts and lists that overlapped would make much of a small file.
        if start < before {
            return Err(Wrong(
                entry,
                format!("the part of rank {rank} begins at byte {start}, before the end of another"),
            ));
        }
        before = end;
        // Error positions are those of the file.
        let part = Part::new(&bytes[..end], start)?;
        let first = operations.len();
        if first + part.count > MAX_OPERATIONS {
            return Err(Wrong(start, format!("more than {MAX_OPERATIONS} operations, the most that are simulated")));
        }
        let mut listed = 0;
        for number in 0..part.count {
            let at = part.nodes + NODE * number;
            operations.push(operation(&bytes[..end], at, rank)?);
            places.push(at);
            for (offset, until) in [(23, WaitUntil::Over), (31, WaitUntil::Begun)] {
                let waiting = part.waiting(at + offset)?;
                listed += waiting.len();
                if listed > part.entries() {
                    let what = format!(
                        "the lists of waiting operations overlap in the appendix, which has {}",
                        part.entries()
                    );
                    return Err(Wrong(at + offset, what));
                }
                for index in waiting {
                    let operation = (first + index as usize) as u32;
                    dependencies.push(Dependency { operation, on: (first + number) as u32, until });
                }
            }
        }
    }
    JobGraph::new(ranks, operations, &dependencies).map_err(|error| {
        let place = error.operation().and_then(|operation| places.get(operation as usize).copied());
        Wrong(place.unwrap_or(0), error.to_string())
    })
}

/// The part of one rank: its operations and the appendix.
struct Part<'b> {
    /// The file up to the end of the part.
    bytes: &'b [u8],
    count: usize,
    nodes: usize,
    appendix: usize,
}

impl<'b> Part<'b> {
    fn new(bytes: &'b [u8], start: usize) -> Result<Self, Wrong> {
        let (count, roots) = (u32_at(bytes, start)? as usize, u32_at(bytes, start + 4)? as usize);
        let nodes = start.saturating_add(8).saturating_add(4 * roots);
        let appendix = nodes.saturating_add(NODE * count);
        if appendix > bytes.len() {
            let what =
                format!("{count} operations, {roots} of which wait for nothing, do not fit the part of their rank");
            return Err(Wrong(start, what));
        }
        Ok(Self { bytes, count, nodes, appendix })
    }

    /// Returns the number of entries of the appendix.
    fn entries(&self) -> usize {
        (self.bytes.len() - self.appendix) / 4
    }

    /// Returns the operations that wait for another one, from the list at a position.
    fn waiting(&self, at: usize) -> Result<Vec<u32>, Wrong> {
        let (count, first) = (u32_at(self.bytes, at)? as usize, u32_at(self.bytes, at + 4)? as usize);
        // Without any, where they begin means nothing.
        if count == 0 {
            return Ok(Vec::new());
        }
        let most = self.entries();
        if first > most || count > most - first {
            return Err(Wrong(at, format!("{count} from number {first} of the appendix, which has {most}")));
        }
        (first..first + count)
            .map(|number| {
                let place = self.appendix + 4 * number;
                let operation = u32_at(self.bytes, place)?;
                let is_known = (operation as usize) < self.count;
                let what = || format!("there is no operation {operation}: this rank has {}", self.count);
                if is_known { Ok(operation) } else { Err(Wrong(place, what())) }
            })
            .collect()
    }
}

fn operation(bytes: &[u8], at: usize, rank: u32) -> Result<JobOperation, Wrong> {
    let (peer, size, tag) = (u32_at(bytes, at + 5)?, u64_at(bytes, at + 9)?, u32_at(bytes, at + 17)?);
    let any = |number: u32| Some(number).filter(|&number| number != ANY);
    let kind = array::<1>(bytes, at + 4)?[0];
    if size > Bytes::MAX.get() && kind != 3 {
        return Err(Wrong(at + 9, format!("a size of {size} bytes: expected at most {}", Bytes::MAX)));
    }
    let action = match kind {
        1 => OperationAction::Send { to: peer, size: Bytes::new(size), tag },
        2 => OperationAction::Receive { from: any(peer), size: Bytes::new(size), tag: any(tag) },
        3 => OperationAction::Compute(Time::from_nanos(size.min(Time::MAX.as_nanos()))),
        other => {
            return Err(Wrong(
                at + 4,
                format!("an operation of type {other}: 1 (send), 2 (receive) or 3 (computation) is expected"),
            ));
        }
    };
    let [cpu, nic] = array::<2>(bytes, at + 21)?;
    Ok(JobOperation { rank, action, cpu, nic })
}

fn array<const N: usize>(bytes: &[u8], at: usize) -> Result<[u8; N], Wrong> {
    let taken = bytes.get(at..at.saturating_add(N)).and_then(|slice| slice.try_into().ok());
    taken.ok_or_else(|| Wrong(bytes.len(), format!("unexpected end at byte {at}: expected {N} bytes")))
}

fn u32_at(bytes: &[u8], at: usize) -> Result<u32, Wrong> {
    array(bytes, at).map(u32::from_le_bytes)
}

fn u64_at(bytes: &[u8], at: usize) -> Result<u64, Wrong> {
    array(bytes, at).map(u64::from_le_bytes)
}

/// The operations of one rank.
pub(super) struct RankOperations {
    pub(super) number: u32,
    /// Their places in the graph, rising.
    pub(super) operations: Vec<u32>,
}

impl RankOperations {
    /// Returns the number of an operation in its rank.
    pub(super) fn label(&self, place: u32) -> usize {
        self.operations.partition_point(|&other| other < place)
    }
}

/// The operations of a graph, rank by rank.
pub(super) fn by_rank(graph: &JobGraph) -> Vec<RankOperations> {
    let mut ranks: Vec<RankOperations> =
        (0..graph.ranks()).map(|number| RankOperations { number, operations: Vec::new() }).collect();
    for (place, operation) in (0..).zip(graph.operations()) {
        ranks[operation.rank as usize].operations.push(place);
    }
    ranks
}

/// The binary form of a schedule. Numbers of processors and interfaces stay, which LogGOPSim needs.
///
/// ```
/// use wayleave_formats::{Source, read_goal, write_goal_binary};
/// let text = "num_ranks 2\nrank 0 {\na: calc 1000\nb: send 1024b to 1 tag 7\nb requires a\n}\nrank 1 {\nc: recv 1024b from 0 tag 7\nd: calc 200 cpu 1\n}\n";
/// let graph = read_goal(&Source::new("pair.goal", text))?;
/// let bytes = write_goal_binary(&graph);
/// // As many as LogGOPSim's own converter makes of this text.
/// assert_eq!(bytes.len(), 234);
/// assert_eq!(read_goal(&Source::from_reader("pair.bin", &bytes[..])?)?, graph);
/// # Ok::<(), wayleave_formats::InputErrors>(())
/// ```
pub fn write_goal_binary(graph: &JobGraph) -> Vec<u8> {
    let most = |of: fn(&JobOperation) -> u8| graph.operations().iter().map(of).max().unwrap_or(0);
    let parts: Vec<Vec<u8>> = by_rank(graph).iter().map(|rank| part(graph, rank)).collect();
    let mut bytes = LOGGOPSIM.to_vec();
    bytes.extend(graph.ranks().to_le_bytes());
    bytes.extend([most(|operation| operation.cpu), most(|operation| operation.nic)]);
    let mut at = (HEADER - ORIGIN + 16 * parts.len()) as u64;
    for part in &parts {
        bytes.extend(at.to_le_bytes());
        at += part.len() as u64;
        bytes.extend(at.to_le_bytes());
    }
    parts.iter().for_each(|part| bytes.extend(part));
    bytes
}

fn part(graph: &JobGraph, rank: &RankOperations) -> Vec<u8> {
    let count = rank.operations.len();
    let mut waits_for = vec![0_u32; count];
    for &place in &rank.operations {
        graph.waiting_for(place).iter().for_each(|&(other, _)| waits_for[rank.label(other)] += 1);
    }
    let roots: Vec<u32> = (0..).zip(&waits_for).filter(|(_, waits)| **waits == 0).map(|(number, _)| number).collect();
    let mut bytes = Vec::new();
    for number in [count as u32, roots.len() as u32].into_iter().chain(roots) {
        bytes.extend(number.to_le_bytes());
    }
    let mut appendix: Vec<u32> = Vec::new();
    for (&place, waits) in rank.operations.iter().zip(&waits_for) {
        let operation = graph.operations()[place as usize];
        let any = |number: Option<u32>| number.unwrap_or(ANY);
        let (kind, peer, size, tag) = match operation.action {
            OperationAction::Send { to, size, tag } => (1, to, size.get(), tag),
            OperationAction::Receive { from, size, tag } => (2, any(from), size.get(), any(tag)),
            OperationAction::Compute(time) => (3, 0, time.as_nanos(), 0),
        };
        bytes.extend(waits.to_le_bytes());
        bytes.push(kind);
        bytes.extend(peer.to_le_bytes());
        bytes.extend(size.to_le_bytes());
        bytes.extend(tag.to_le_bytes());
        bytes.extend([operation.cpu, operation.nic]);
        for moment in [WaitUntil::Over, WaitUntil::Begun] {
            let waiting = graph.waiting_for(place).iter().filter(|(_, until)| *until == moment);
            let numbers: Vec<u32> = waiting.map(|&(other, _)| rank.label(other) as u32).collect();
            bytes.extend((numbers.len() as u32).to_le_bytes());
            bytes.extend((appendix.len() as u32).to_le_bytes());
            appendix.extend(numbers);
        }
    }
    appendix.iter().for_each(|number| bytes.extend(number.to_le_bytes()));
    bytes
}
