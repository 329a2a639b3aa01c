//! `.cm`, a connection matrix: `Nodes N`, `Connections N`, and `SRC->DST id I start PS size BYTES` a flow.
//!
//! Flows that wait for others (`Triggers`) and broken links (`Failures`) are refused: a list of flows cannot mean them.

use wayleave_scenarios::FlowSpec;
use wayleave_topology::{Network, NodeId, NodeKind};

use crate::columns::{Line, Word, expect_line, lines};
use crate::hpcc::{bytes, nanos, node};
use crate::location::Span;
use crate::messages::{did_you_mean, nearest, quoted};
use crate::problem::{InputErrors, ProblemKind, Problems};
use crate::source::Source;

/// Reads the flows of a connection matrix, sorted by their start (those that start together stay in order).
///
/// `numbers` maps numbers to hosts. Starts are in picoseconds and rounded to nanoseconds.
///
/// ```
/// use wayleave_formats::{Source, parse_builder, read_htsim_flows};
/// let network = parse_builder("star:hosts=2")?.network;
/// let hosts: Vec<_> = network.hosts().collect();
/// let source = Source::new("pair.cm", "Nodes 2\nConnections 1\n0->1 id 1 start 5000 size 2000000\n");
/// let flows = read_htsim_flows(&source, &network, &hosts)?;
/// assert_eq!((flows[0].to, flows[0].start.as_nanos()), (hosts[1], 5));
/// # Ok::<(), wayleave_formats::InputErrors>(())
/// ```
///
/// # Errors
/// All problems of the file, in order of position; triggers, failures, priorities and flows without end.
pub fn read_htsim_flows(source: &Source, network: &Network, numbers: &[NodeId]) -> Result<Vec<FlowSpec>, InputErrors> {
    let mut problems = Problems::new(source);
    let flows = read(source.text(), network, numbers, &mut problems);
    problems.finish(flows)
}

fn read(text: &str, network: &Network, numbers: &[NodeId], problems: &mut Problems<'_>) -> Option<Vec<FlowSpec>> {
    let mut flows = Vec::new();
    let mut announced: Option<(u64, Span)> = None;
    let mut seen = 0;
    let mut lines = lines(text).peekable();
    if lines.peek().is_none() {
        expect_line(&mut lines, text, || "Nodes N and Connections N are expected".to_owned(), problems)?;
    }
    for line in lines {
        let first = line.words[0];
        if first.text.contains("->") {
            seen += 1;
            flows.extend(read_flow(&line, network, numbers, problems));
            continue;
        }
        match first.text {
            "Nodes" => drop(read_count(&line, problems)),
            "Connections" => announced = read_count(&line, problems).map(|count| (count, line.span)),
            "Triggers" | "Failures" => {
                if read_count(&line, problems).is_some_and(|count| count > 0) {
                    refuse(first, problems);
                }
            }
            "trigger" | "failure" => refuse(first, problems),
            other => problems.report(ProblemKind::Syntax, first.span, || {
                let near = did_you_mean(nearest(other, ["Nodes", "Connections", "Triggers", "Failures"]));
                (
                    format!("{} begins no line of a connection matrix{near}", quoted(other)),
                    "a flow is `0->1 start 0 size 1000`",
                )
            }),
        }
    }
    match announced {
        Some((count, span)) if count != seen => {
            problems.report(ProblemKind::Impossible, span, || {
                format!("{count} connections are announced, but {seen} are listed")
            });
        }
        Some(_) => {}
        None => problems.report(ProblemKind::MissingKey, Span::default(), || "the line `Connections N` is missing"),
    }
    flows.sort_by_key(|flow: &FlowSpec| flow.start);
    Some(flows)
}

/// `NAME COUNT`.
fn read_count(line: &Line<'_>, problems: &mut Problems<'_>) -> Option<u64> {
    if let [name, count] = line.words[..] {
        return count.whole(&format!("number of {}", name.text.to_lowercase()), problems);
    }
    let name = line.words[0].text;
    problems.report(ProblemKind::Syntax, line.span, || format!("a number, and nothing else, is expected after {name}"));
    None
}

fn refuse(word: Word<'_>, problems: &mut Problems<'_>) {
    let (what, hint) = match word.text {
        "Failures" | "failure" => ("failures", "write them as `outages` of the scenario"),
        "prio" => ("priorities of flows", "remove it; use `queue` of a traffic to choose the queue of its packets"),
        _ => ("triggers", "flows that begin when others end are not simulated: give each a start"),
    };
    problems
        .report(ProblemKind::Impossible, word.span, || (format!("{what} are not read from a connection matrix"), hint));
}

fn read_flow(line: &Line<'_>, network: &Network, numbers: &[NodeId], problems: &mut Problems<'_>) -> Option<FlowSpec> {
    let ends = line.words[0];
    let (from, to) = ends.text.split_once("->")?;
    let part =
        |text: &'_ str, start: usize| Span::new(ends.span.start() + start..ends.span.start() + start + text.len());
    let host = |text, start, problems: &mut Problems<'_>| {
        let node = node(Word { text, span: part(text, start) }, numbers, problems)?;
        debug_assert!(network.node(node).kind == NodeKind::Host || numbers.len() == network.nodes().len());
        Some(node)
    };
    let (from, to) = (host(from, 0, problems), host(to, from.len() + 2, problems));
    let (mut start, mut size) = (None, None);
    let mut words = line.words[1..].iter().copied();
    while let Some(key) = words.next() {
        if matches!(key.text, "trigger" | "send_done_trigger" | "recv_done_trigger" | "addon" | "prio") {
            refuse(key, problems);
            return None;
        }
        if !matches!(key.text, "id" | "start" | "size") {
            let near = nearest(key.text, ["id", "start", "size"]);
            let message = || format!("{} is not a keyword of a flow{}", quoted(key.text), did_you_mean(near));
            problems.report(ProblemKind::UnknownKey, key.span, message);
            return None;
        }
        let Some(value) = words.next() else {
            problems.report(ProblemKind::MissingKey, key.span, || format!("a number is expected after {}", key.text));
            return None;
        };
        match key.text {
            "start" => {
                let picos = value.number("start in picoseconds", problems)?;
                start = Some(nanos(picos / 1e3, value, problems)?);
            }
            "size" => size = Some(read_size(value, problems)?),
            _ => drop(value.whole("flow", problems)?),
        }
    }
    for (key, given) in [("start", start.is_some()), ("size", size.is_some())] {
        if !given {
            problems.report(ProblemKind::MissingKey, line.span, || format!("a flow needs a {key}"));
        }
    }
    Some(FlowSpec { start: start?, from: from?, to: to?, size: size?, queue: None })
}

fn read_size(word: Word<'_>, problems: &mut Problems<'_>) -> Option<wayleave_units::Bytes> {
    if word.text == "0" {
        problems.report(ProblemKind::Impossible, word.span, || {
            let message = "a size of 0 means a flow without end, and the flows of a list end";
            (message, "write it as a traffic source of its own with `sizes: endless`")
        });
        return None;
    }
    bytes(word, problems)
}
