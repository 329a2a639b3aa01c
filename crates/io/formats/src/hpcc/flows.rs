//! `flow.txt`: a count, and `SRC DST PG DPORT SIZE START` a flow.
//!
//! Forks of the release leave `DPORT` out. The form of its predecessor (DCQCN's simulator), `SRC DST PG PACKETS START
//! STOP`, has six columns too, but counts packets: a size with a fraction betrays it, and is refused with a hint.

use wayleave_scenarios::FlowSpec;
use wayleave_topology::{Network, NodeId};
use wayleave_units::{Bytes, Time};

use super::config;
use crate::columns::{Line, Word, expect_line, lines};
use crate::messages::quoted;
use crate::problem::{InputErrors, Message, ProblemKind, Problems};
use crate::source::Source;

/// Reads the flows of an HPCC simulation, sorted by their start (those that start together stay in order).
///
/// `numbers` maps numbers to nodes. The priority group becomes the queue, or the last queue of the network if it has
/// fewer; the port of the destination is ignored. Starts are in seconds and rounded to nanoseconds.
///
/// ```
/// use wayleave_formats::{Source, parse_builder, read_hpcc_flows};
/// let network = parse_builder("star:hosts=2")?.network;
/// let hosts: Vec<_> = network.hosts().collect();
/// let source = Source::new("flow.txt", "1\n0 1 3 100 200000 2.000001\n");
/// let flows = read_hpcc_flows(&source, &network, &hosts)?;
/// assert_eq!((flows[0].to, flows[0].start.to_string()), (hosts[1], "2.000001s".to_owned()));
/// # Ok::<(), wayleave_formats::InputErrors>(())
/// ```
///
/// # Errors
/// All problems of the file, in order of position.
pub fn read_hpcc_flows(source: &Source, network: &Network, numbers: &[NodeId]) -> Result<Vec<FlowSpec>, InputErrors> {
    let mut problems = Problems::new(source);
    let flows = read(source.text(), network, numbers, &mut problems);
    problems.finish(flows)
}

fn read(text: &str, network: &Network, numbers: &[NodeId], problems: &mut Problems<'_>) -> Option<Vec<FlowSpec>> {
    let mut lines = lines(text);
    let header = expect_line(&mut lines, text, || "the number of flows is expected".to_owned(), problems)?;
    if config::is_config(text) {
        problems.report(ProblemKind::WrongKind, header.span, || config::refusal(text));
        return None;
    }
    let [count] = header.words[..] else {
        let message = || format!("{} words: the number of flows is expected on the first line", header.words.len());
        problems.report(ProblemKind::Syntax, header.span, message);
        return None;
    };
    let count = count.whole("number of flows", problems)?;
    let queues = network.links().map(|(id, _)| network.queues(id).len()).max().unwrap_or(1);
    let mut flows = Vec::new();
    for number in 1..=count {
        let line = expect_line(&mut lines, text, || format!("flow {number} of {count} is missing"), problems)?;
        flows.extend(read_flow(&line, queues, numbers, problems));
    }
    flows.sort_by_key(|flow: &FlowSpec| flow.start);
    Some(flows)
}

fn read_flow(line: &Line<'_>, queues: usize, numbers: &[NodeId], problems: &mut Problems<'_>) -> Option<FlowSpec> {
    let (from, to, group, size, start) = match line.words[..] {
        [from, to, group, _, size, start] | [from, to, group, size, start] => (from, to, group, size, start),
        _ => {
            problems.report(ProblemKind::Syntax, line.span, || {
                let words = line.words.len();
                format!("{words} words: SRC DST PG DPORT SIZE START, or the same without DPORT, is expected for a flow")
            });
            return None;
        }
    };
    let (from, to) = (node(from, numbers, problems), node(to, numbers, problems));
    let group = group.whole("priority group", problems);
    let size = read_size(size, problems);
    let start = start.number("start in seconds", problems).and_then(|seconds| nanos(seconds * 1e9, start, problems));
    let queue = group?.min(queues.saturating_sub(1) as u64) as u8;
    Some(FlowSpec { start: start?, from: from?, to: to?, size: size?, queue: Some(queue) })
}

/// Payload in bytes.
fn read_size(word: Word<'_>, problems: &mut Problems<'_>) -> Option<Bytes> {
    if word.text.contains('.') {
        problems.report(ProblemKind::BadValue, word.span, || {
            let message = format!("{} is not a size: a whole number of bytes is expected", quoted(word.text));
            (message, "lists of SRC DST PG PACKETS START STOP are not supported: they do not give the packet size")
        });
        return None;
    }
    bytes(word, problems)
}

/// Payload in bytes, above zero.
pub(crate) fn bytes(word: Word<'_>, problems: &mut Problems<'_>) -> Option<Bytes> {
    let size = Bytes::new(word.whole("size in bytes", problems)?);
    if size == Bytes::ZERO || size > Bytes::MAX {
        let message = format!("a size of {} bytes: expected 1 to {}", word.text, Bytes::MAX);
        problems.report(ProblemKind::Impossible, word.span, || match size > Bytes::MAX {
            // 10^12 B and more mean flows without end (`flow-fairnessExp.txt` of ns3-datacenter).
            true => {
                (message, "a flow without end is a traffic source of its own: { from: h0, to: h32, sizes: endless }")
                    .into()
            }
            false => Message::from(message),
        });
        return None;
    }
    Some(size)
}

/// The node with a number.
pub(crate) fn node(word: Word<'_>, numbers: &[NodeId], problems: &mut Problems<'_>) -> Option<NodeId> {
    let number = word.whole("node", problems)?;
    let node = usize::try_from(number).ok().and_then(|number| numbers.get(number)).copied();
    if node.is_none() {
        let message = || format!("there is no node {number}: the network has {}, counted from 0", numbers.len());
        problems.report(ProblemKind::UnknownName, word.span, message);
    }
    node
}

/// Nanoseconds, rounded to whole ones.
pub(crate) fn nanos(nanos: f64, word: Word<'_>, problems: &mut Problems<'_>) -> Option<Time> {
    if nanos > Time::MAX.as_nanos() as f64 {
        let message = || format!("{} is later than the latest accepted, {}", quoted(word.text), Time::MAX);
        problems.report(ProblemKind::BadValue, word.span, message);
        return None;
    }
    Some(Time::from_nanos(nanos.round() as u64))
}
