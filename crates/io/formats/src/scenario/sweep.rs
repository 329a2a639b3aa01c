//! `sweep`: the same scenario with other values and other seeds.

use super::path::{self, Blocked};
use crate::fields::{Fields, Shape};
use crate::location::Span;
use crate::messages::{quoted, shortened};
use crate::problem::{ProblemKind, Problems};
use crate::tree::{Node, Value};

pub(crate) const SWEEP: Shape = Shape { what: "a sweep", keys: &["seeds", "vary"] };

/// The most runs of one file.
const MAX_RUNS: u64 = 10_000;

/// Parameters that vary.
pub(super) struct Sweep<'a> {
    /// At least one.
    pub(super) seeds: Vec<u64>,
    axes: Vec<Axis<'a>>,
}

/// One path and its values.
struct Axis<'a> {
    path: String,
    span: Span,
    values: Vec<Node<'a>>,
}

impl<'a> Sweep<'a> {
    /// Reads `seed` and `sweep`; without a sweep there is one choice, which changes nothing.
    pub(super) fn read(spec: &Node<'a>, problems: &mut Problems<'_>) -> Option<Self> {
        let Value::Mapping(entries) = &spec.value else { return Some(Self { seeds: vec![1], axes: Vec::new() }) };
        let value = |key: &str| {
            let entry = entries.iter().find(|entry| entry.key.text() == Some(key));
            entry.map(|entry| &entry.value).filter(|node| !matches!(node.value, Value::Null))
        };
        let before = problems.mark();
        let seed = value("seed").and_then(|node| node.count(problems));
        let mut sweep = Self { seeds: vec![seed.unwrap_or(1)], axes: Vec::new() };
        if let Some(node) = value("sweep") {
            let fields = Fields::read(node, &SWEEP, problems)?;
            if let Some(seeds) = fields.get("seeds") {
                sweep.seeds = read_seeds(seeds, problems)?;
                if let Some(seed) = value("seed") {
                    let message = "seed cannot be combined with the seeds of a sweep";
                    problems.report(ProblemKind::Impossible, seed.span, || message);
                }
            }
            if let Some(vary) = fields.get("vary") {
                sweep.axes = read_axes(vary, problems)?;
            }
            sweep.check_size(node.span, problems)?;
        }
        (problems.mark() == before).then_some(sweep)
    }

    fn check_size(&self, span: Span, problems: &mut Problems<'_>) -> Option<()> {
        let counts = self.axes.iter().map(|axis| axis.values.len() as u64).chain([self.seeds.len() as u64]);
        let runs = counts.fold(1, u64::saturating_mul);
        if runs <= MAX_RUNS {
            return Some(());
        }
        problems
            .report(ProblemKind::TooLarge, span, || format!("this sweep has {runs} runs: expected at most {MAX_RUNS}"));
        None
    }

    /// Every combination of values, as an index for each path; the first path changes slowest.
    pub(super) fn choices(&self) -> impl Iterator<Item = Vec<usize>> {
        let count: usize = self.axes.iter().map(|axis| axis.values.len()).product();
        (0..count).map(|number| {
            let mut rest = number;
            let mut choice = vec![0; self.axes.len()];
            for (index, axis) in choice.iter_mut().zip(&self.axes).rev() {
                (*index, rest) = (rest % axis.values.len(), rest / axis.values.len());
            }
            choice
        })
    }

    /// The part of a choice that decides about the network.
    pub(super) fn topology_part(&self, choice: &[usize]) -> Vec<usize> {
        let is_topology = |axis: &Axis<'_>| axis.path == "topology" || axis.path.starts_with("topology.");
        choice.iter().zip(&self.axes).filter(|(_, axis)| is_topology(axis)).map(|(&index, _)| index).collect()
    }

    /// Each path with its value, as it is written.
    pub(super) fn labels(&self, choice: &[usize], text: &str) -> Vec<(String, String)> {
        let label = |axis: &Axis<'_>, index: usize| {
            let value = &axis.values[index];
            let written = value.text().or_else(|| text.get(value.span.range())).unwrap_or_default();
            let words: Vec<&str> = written.split_whitespace().collect();
            (axis.path.clone(), shortened(&words.join(" ")))
        };
        choice.iter().zip(&self.axes).map(|(&index, axis)| label(axis, index)).collect()
    }

    /// The tree with the values of a choice.
    pub(super) fn apply(&self, spec: &Node<'a>, choice: &[usize], problems: &mut Problems<'_>) -> Option<Node<'a>> {
        let mut spec = spec.clone();
        for (&index, axis) in choice.iter().zip(&self.axes) {
            if let Err(blocked) = path::put(&mut spec, &axis.path, axis.span, &axis.values[index]) {
                problems.report(ProblemKind::UnknownName, axis.span, || match blocked {
                    Blocked::NoItem(step) => {
                        let message =
                            format!("{} does not exist: the list has no item {}", quoted(&axis.path), quoted(&step));
                        (message, "items of a list are written by their name, or by their number counted from 0")
                    }
                    Blocked::Text(step) => {
                        let message = format!(
                            "{} does not exist: {} would be a key of a text",
                            quoted(&axis.path),
                            quoted(&step)
                        );
                        (message, "write the text in its long form, as a mapping")
                    }
                });
                return None;
            }
        }
        Some(spec)
    }
}

/// `[1, 2, 5]` or `1..20`.
fn read_seeds(node: &Node<'_>, problems: &mut Problems<'_>) -> Option<Vec<u64>> {
    if let Value::Sequence(items) = &node.value {
        let seeds: Vec<Option<u64>> = items.iter().map(|item| item.count(problems)).collect();
        let is_known = |(at, seed): &(usize, &Option<u64>)| seed.is_some() && seeds[..*at].contains(seed);
        if let Some((at, Some(seed))) = seeds.iter().enumerate().find(is_known) {
            let message = || format!("seed {seed} is in the list twice");
            let hint = "remove it: the same seed gives the same run, which would count twice in every mean";
            problems.report(ProblemKind::DuplicateKey, items[at].span, || (message(), hint));
            return None;
        }
        return not_empty(seeds.into_iter().collect::<Option<Vec<u64>>>()?, node, problems);
    }
    let text = node.expect_text(problems)?;
    let bounds =
        text.split_once("..").and_then(|(first, last)| Some((first.trim().parse().ok()?, last.trim().parse().ok()?)));
    let Some((first, last)) = bounds.filter(|(first, last): &(u64, u64)| first <= last) else {
        problems.report(ProblemKind::BadValue, node.span, || {
            format!("{} are not seeds: expected a list such as [1, 2, 5] or a range such as 1..20", quoted(text))
        });
        return None;
    };
    if last - first >= MAX_RUNS {
        problems.report(ProblemKind::TooLarge, node.span, || {
            format!("this sweep has {} runs: expected at most {MAX_RUNS}", (last - first).saturating_add(1))
        });
        return None;
    }
    Some((first..=last).collect())
}

fn read_axes<'a>(node: &Node<'a>, problems: &mut Problems<'_>) -> Option<Vec<Axis<'a>>> {
    let Value::Mapping(entries) = &node.value else {
        let message = || format!("a mapping is expected here, not {}", node.description());
        let hint = "write `vary: { traffic.web.load: [0.2, 0.8] }`";
        problems.report(ProblemKind::WrongType, node.span, || (message(), hint));
        return None;
    };
    let mut axes: Vec<Axis<'a>> = Vec::new();
    for entry in entries {
        let path = entry.key.expect_text(problems)?.to_owned();
        let span = entry.key.span;
        let first = path.split('.').next().unwrap_or_default();
        if matches!(first, "sweep" | "seed") {
            let hint = if first == "seed" { "write `seeds: [1, 2]` beside `vary`" } else { "remove it" };
            problems.report(ProblemKind::Impossible, span, || (format!("{} cannot be varied", quoted(first)), hint));
            return None;
        }
        if axes.iter().any(|axis| axis.path == path) {
            problems.report(ProblemKind::DuplicateKey, span, || format!("{} is given twice", quoted(&path)));
            return None;
        }
        let values = entry.value.expect_list("values", problems)?.to_vec();
        let values = not_empty(values, &entry.value, problems)?;
        let texts: Vec<Option<&str>> = values.iter().map(Node::text).collect();
        let is_known = |(at, text): &(usize, &Option<&str>)| text.is_some() && texts[..*at].contains(text);
        if let Some((at, Some(text))) = texts.iter().enumerate().find(is_known) {
            let message = || format!("{} is in the values of {} twice", quoted(text), quoted(&path));
            let hint = "remove it: its runs would count twice in every mean";
            problems.report(ProblemKind::DuplicateKey, values[at].span, || (message(), hint));
            return None;
        }
        axes.push(Axis { path, span, values });
    }
    Some(axes)
}

fn not_empty<T>(values: Vec<T>, node: &Node<'_>, problems: &mut Problems<'_>) -> Option<Vec<T>> {
    if values.is_empty() {
        problems.report(ProblemKind::Impossible, node.span, || "a list without values makes no run");
        return None;
    }
    Some(values)
}
