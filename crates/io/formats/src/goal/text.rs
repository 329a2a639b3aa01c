//! GOAL as text: `num_ranks N`, then for each rank `rank R {`, its operations and their dependencies, and `}`.

use std::collections::HashMap;
use std::fmt::Write;

use wayleave_scenarios::{Dependency, JobGraph, JobOperation, MAX_OPERATIONS, MAX_RANKS, OperationAction, WaitUntil};
use wayleave_units::{Bytes, Time};

use super::binary::ANY;
use crate::columns::{Line, Word, lines};
use crate::location::Span;
use crate::messages::{did_you_mean, nearest, quoted};
use crate::problem::{InputErrors, ProblemKind, Problems};
use crate::source::Source;

/// Reads the text of a schedule.
pub(super) fn read(source: &Source) -> Result<JobGraph, InputErrors> {
    let mut problems = Problems::new(source);
    let text = without_comments(source.text());
    let mut schedule = Schedule::default();
    for line in lines(&text) {
        schedule.read_line(&line, &mut problems);
    }
    let graph = schedule.finish(source.text(), &mut problems);
    problems.finish(graph)
}

/// The text with spaces instead of `// ...` and `/* ... */`, so that everything keeps its place.
fn without_comments(text: &str) -> String {
    let mut left = text;
    let mut plain = String::with_capacity(text.len());
    while let Some(at) = left.find('/') {
        let (before, rest) = left.split_at(at);
        plain.push_str(before);
        let end = match rest.as_bytes() {
            [_, b'/', ..] => rest.find('\n').unwrap_or(rest.len()),
            [_, b'*', ..] => rest[2..].find("*/").map_or(rest.len(), |end| end + 4),
            _ => {
                plain.push('/');
                left = &rest[1..];
                continue;
            }
        };
        plain.extend(rest[..end].bytes().map(|byte| if byte == b'\n' { '\n' } else { ' ' }));
        left = &rest[end..];
    }
    plain.push_str(left);
    plain
}

/// Operations read so far.
#[derive(Default)]
struct Schedule<'t> {
    ranks: Option<u32>,
    /// The rank whose block is open, and where it begins.
    open: Option<(u32, Span)>,
    seen: HashMap<u32, Span>,
    labels: HashMap<&'t str, u32>,
    operations: Vec<JobOperation>,
    /// Position of each operation in the text.
    places: Vec<Span>,
    dependencies: Vec<Dependency>,
}

impl<'t> Schedule<'t> {
    fn read_line(&mut self, line: &Line<'t>, problems: &mut Problems<'_>) {
        let words = &line.words[..];
        match (words[0].text, self.ranks, self.open) {
            ("num_ranks", None, _) => self.ranks = Some(read_ranks(line, problems).unwrap_or(MAX_RANKS)),
            (_, None, _) => {
                problems.report(ProblemKind::MissingKey, line.span, || "the schedule begins with `num_ranks N`");
                self.ranks = Some(MAX_RANKS);
                self.read_line(line, problems);
            }
            ("rank", Some(ranks), None) => self.open_rank(line, ranks, problems),
            ("}", _, Some(_)) if words.len() == 1 => self.open = None,
            (_, Some(_), None) => {
                let message = || format!("{} is outside of all ranks: expected `rank R {{`", quoted(words[0].text));
                problems.report(ProblemKind::Syntax, line.span, message);
            }
            (_, _, Some((rank, _))) => self.read_statement(line, rank, problems),
        }
    }

    fn open_rank(&mut self, line: &Line<'t>, ranks: u32, problems: &mut Problems<'_>) {
        let [_, number, Word { text: "{", .. }] = line.words[..] else {
            problems.report(ProblemKind::Syntax, line.span, || "a rank begins with `rank R {` on a line of its own");
            return;
        };
        self.labels.clear();
        let rank = number.whole("rank", problems).map(|rank| u32::try_from(rank).unwrap_or(ANY));
        self.open = Some((rank.unwrap_or(0), line.span));
        let Some(rank) = rank else { return };
        let source = problems.source();
        if rank >= ranks {
            let message = || format!("there is no rank {rank}: num_ranks is {ranks}, counted from 0");
            problems.report(ProblemKind::UnknownName, number.span, message);
        } else if let Some(first) = self.seen.insert(rank, line.span) {
            let message = || format!("rank {rank} is given twice: it begins on line {}", source.line_of(first));
            problems.report(ProblemKind::DuplicateName, number.span, message);
        }
    }

    /// An operation, perhaps with a label, or a dependency of two.
    fn read_statement(&mut self, line: &Line<'t>, rank: u32, problems: &mut Problems<'_>) {
        if let [label, Word { text: "requires" | "irequires", .. }, ..] = line.words[..] {
            return self.read_dependency(line, label, problems);
        }
        let label = line.words[0].text.strip_suffix(':').map(|text| (text, line.words[0].span));
        let words = if label.is_some() { &line.words[1..] } else { &line.words[..] };
        let Some(operation) = read_operation(words, line.span, rank, problems) else { return };
        if self.operations.len() >= MAX_OPERATIONS {
            let message = || format!("more than {MAX_OPERATIONS} operations, the most that are simulated");
            problems.report(ProblemKind::TooLarge, line.span, message);
            return;
        }
        let place = self.operations.len() as u32;
        self.operations.push(operation);
        self.places.push(line.span);
        let Some((label, span)) = label else { return };
        let source = problems.source();
        if let Some(first) = self.labels.insert(label, place) {
            let first = source.line_of(self.places[first as usize]);
            let message = || format!("the label {} is already used on line {first}", quoted(label));
            problems.report(ProblemKind::DuplicateName, span, message);
        }
    }

    fn read_dependency(&mut self, line: &Line<'t>, label: Word<'t>, problems: &mut Problems<'_>) {
        let [_, word, on] = line.words[..] else {
            problems.report(ProblemKind::Syntax, line.span, || "a dependency is `LABEL requires LABEL`");
            return;
        };
        let find = |word: Word<'_>, problems: &mut Problems<'_>| {
            let found = self.labels.get(word.text).copied();
            if found.is_none() {
                problems.report(ProblemKind::UnknownName, word.span, || {
                    let near = did_you_mean(nearest(word.text, self.labels.keys().copied()));
                    format!("no operation of this rank above has the label {}{near}", quoted(word.text))
                });
            }
            found
        };
        let (operation, on) = (find(label, problems), find(on, problems));
        let until = if word.text == "requires" { WaitUntil::Over } else { WaitUntil::Begun };
        self.dependencies.extend(operation.zip(on).map(|(operation, on)| Dependency { operation, on, until }));
    }

    fn finish(self, text: &str, problems: &mut Problems<'_>) -> Option<JobGraph> {
        let end = Span::new(text.trim_end().len()..text.trim_end().len());
        if let Some((rank, span)) = self.open {
            problems.report(ProblemKind::Syntax, span, || {
                format!("the block of rank {rank} is never closed: `}}` is missing")
            });
        }
        if self.ranks.is_none() {
            problems.report(ProblemKind::Empty, end, || "the file is empty: `num_ranks N` is expected");
        }
        if problems.mark() > 0 {
            return None;
        }
        match JobGraph::new(self.ranks?, self.operations, &self.dependencies) {
            Ok(graph) => Some(graph),
            Err(error) => {
                let place = error.operation().and_then(|operation| self.places.get(operation as usize).copied());
                problems.report(ProblemKind::Impossible, place.unwrap_or(end), || error.to_string());
                None
            }
        }
    }
}

fn read_ranks(line: &Line<'_>, problems: &mut Problems<'_>) -> Option<u32> {
    let [_, count] = line.words[..] else {
        problems.report(ProblemKind::Syntax, line.span, || "a number, and nothing else, is expected after num_ranks");
        return None;
    };
    let ranks = count.whole("number of ranks", problems)?;
    let accepted = u32::try_from(ranks).ok().filter(|ranks| (1..=MAX_RANKS).contains(ranks));
    if accepted.is_none() {
        let message = || format!("{ranks} ranks: expected 1 to {MAX_RANKS}");
        problems.report(ProblemKind::Impossible, count.span, message);
    }
    accepted
}

/// `send 8b to 1`, `recv 8b from 1` or `calc 100`, and `tag`, `cpu` and `nic` with their numbers.
fn read_operation(words: &[Word<'_>], line: Span, rank: u32, problems: &mut Problems<'_>) -> Option<JobOperation> {
    let syntax = |problems: &mut Problems<'_>, span, what: &'static str| {
        problems.report(ProblemKind::Syntax, span, || what);
        None::<JobOperation>
    };
    let (mut action, used) = match *words {
        [Word { text: "calc", .. }, time, ..] => {
            let time = time.whole("time in nanoseconds", problems)?;
            (OperationAction::Compute(Time::from_nanos(time.min(Time::MAX.as_nanos()))), 2)
        }
        [Word { text: "send", .. }, size, Word { text: "to", .. }, to, ..] => {
            let (size, to) = (read_size(size, problems), read_number(to, "rank", problems));
            (OperationAction::Send { to: to?, size: size?, tag: 0 }, 4)
        }
        [Word { text: "recv", .. }, size, Word { text: "from", .. }, from, ..] => {
            let (size, from) = (read_size(size, problems), read_any(from, "rank", problems));
            (OperationAction::Receive { from: from?, size: size?, tag: Some(0) }, 4)
        }
        [Word { text: "send", .. }, ..] => {
            return syntax(problems, line, "a message is `send SIZEb to RANK`, such as `send 1024b to 1 tag 7`");
        }
        [Word { text: "recv", .. }, ..] => {
            return syntax(problems, line, "a receive is `recv SIZEb from RANK`, such as `recv 1024b from 0 tag 7`");
        }
        [Word { text: "calc", .. }] => return syntax(problems, line, "a computation is `calc NANOSECONDS`"),
        [] => return syntax(problems, line, "an operation is expected behind the label: send, recv or calc"),
        [word, ..] => {
            problems.report(ProblemKind::Syntax, word.span, || {
                let near = did_you_mean(nearest(word.text, ["send", "recv", "calc", "requires", "irequires"]));
                (
                    format!("{} is not an operation{near}", quoted(word.text)),
                    "send, recv, calc, or LABEL requires LABEL is expected",
                )
            });
            return None;
        }
    };
    let (mut cpu, mut nic) = (0, 0);
    for pair in words[used..].chunks(2) {
        let [key, number] = *pair else {
            let message = || format!("a number is expected after {}", quoted(pair[0].text));
            problems.report(ProblemKind::MissingKey, pair[0].span, message);
            return None;
        };
        let small = |problems: &mut Problems<'_>| {
            let read = read_number(number, "processor or interface", problems)?;
            let small = u8::try_from(read).ok();
            if small.is_none() {
                problems.report(ProblemKind::BadValue, number.span, || format!("{read}: expected at most 255"));
            }
            small
        };
        match (key.text, &mut action) {
            ("tag", OperationAction::Send { tag, .. }) => *tag = read_number(number, "tag", problems)?,
            ("tag", OperationAction::Receive { tag, .. }) => *tag = read_any(number, "tag", problems)?,
            ("cpu", _) => cpu = small(problems)?,
            ("nic", _) => nic = small(problems)?,
            (other, _) => {
                let message =
                    || format!("{} is not valid here: tag (of messages), cpu or nic is expected", quoted(other));
                problems.report(ProblemKind::UnknownKey, key.span, message);
                return None;
            }
        }
    }
    Some(JobOperation { rank, action, cpu, nic })
}

/// `1024b`.
fn read_size(word: Word<'_>, problems: &mut Problems<'_>) -> Option<Bytes> {
    let digits = word.text.strip_suffix('b').filter(|digits| digits.bytes().all(|byte| byte.is_ascii_digit()));
    let size = digits.and_then(|digits| digits.parse().ok()).map(Bytes::new).filter(|&size| size <= Bytes::MAX);
    if size.is_none() {
        let message =
            || format!("{} is not a size: bytes such as 1024b are expected, up to {}", quoted(word.text), Bytes::MAX);
        problems.report(ProblemKind::BadValue, word.span, message);
    }
    size
}

fn read_number(word: Word<'_>, what: &str, problems: &mut Problems<'_>) -> Option<u32> {
    let read = word.whole(what, problems)?;
    let number = u32::try_from(read).ok().filter(|&number| number != ANY);
    if number.is_none() {
        problems.report(ProblemKind::BadValue, word.span, || format!("{read}: expected at most {}", ANY - 1));
    }
    number
}

/// A number, or -1 for any.
fn read_any(word: Word<'_>, what: &str, problems: &mut Problems<'_>) -> Option<Option<u32>> {
    if word.text == "-1" { Some(None) } else { read_number(word, what, problems).map(Some) }
}

/// The text of a schedule, which LogGOPSim's `txt2bin` reads as well. Operations are labelled by their number in their rank.
///
/// ```
/// use wayleave_formats::{Source, read_goal, write_goal_text};
/// let text = "num_ranks 1\nrank 0 {\nl0: calc 5\nl1: calc 7 cpu 1\nl1 irequires l0\n}\n";
/// assert_eq!(write_goal_text(&read_goal(&Source::new("x.goal", text))?), text);
/// # Ok::<(), wayleave_formats::InputErrors>(())
/// ```
pub fn write_goal_text(graph: &JobGraph) -> String {
    let mut text = format!("num_ranks {}\n", graph.ranks());
    for rank in super::binary::by_rank(graph) {
        let _ = writeln!(text, "rank {} {{", rank.number);
        for (label, &place) in rank.operations.iter().enumerate() {
            let operation = graph.operations()[place as usize];
            let _ = write!(text, "l{label}: ");
            let any = |number: Option<u32>| number.map_or_else(|| "-1".to_owned(), |number| number.to_string());
            let tag = match operation.action {
                OperationAction::Compute(time) => {
                    let _ = write!(text, "calc {}", time.as_nanos());
                    None
                }
                OperationAction::Send { to, size, tag } => {
                    let _ = write!(text, "send {}b to {to}", size.get());
                    Some(tag.to_string())
                }
                OperationAction::Receive { from, size, tag } => {
                    let _ = write!(text, "recv {}b from {}", size.get(), any(from));
                    Some(any(tag))
                }
            };
            let numbers = [
                ("tag", tag.unwrap_or_default()),
                ("cpu", operation.cpu.to_string()),
                ("nic", operation.nic.to_string()),
            ];
            for (key, number) in numbers.iter().filter(|(_, number)| !matches!(number.as_str(), "" | "0")) {
                let _ = write!(text, " {key} {number}");
            }
            text.push('\n');
        }
        for (label, &place) in rank.operations.iter().enumerate() {
            for &(other, until) in graph.waiting_for(place) {
                let word = if until == WaitUntil::Over { "requires" } else { "irequires" };
                let _ = writeln!(text, "l{} {word} l{label}", rank.label(other));
            }
        }
        text.push_str("}\n");
    }
    text
}
