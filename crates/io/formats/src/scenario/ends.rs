//! Between whom: `from`, `to` and `pairs`.

use std::collections::HashSet;

use wayleave_scenarios::{Endpoint, FlowEndpoints};
use wayleave_topology::{Network, NodeId, NodeKind};
use wayleave_units::count;

use super::endpoints::Names;
use super::scalars::{refuse_beside, unknown_word};
use crate::fields::Fields;
use crate::messages::quoted;
use crate::names::unknown_node;
use crate::problem::{ProblemKind, Problems};
use crate::tree::{Node, Value};

const PATTERNS: [&str; 3] = ["all-to-all", "random", "permutation"];

/// Default selection of pairs.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum DefaultPairs {
    /// From every host to every other host.
    AllToAll,
    /// A random pair for each flow.
    Random,
}

/// Reads `from`, `to` and `pairs`; all hosts are meant where one is absent.
pub(super) fn read(
    fields: &Fields<'_, '_>,
    usual: DefaultPairs,
    names: &Names<'_>,
    problems: &mut Problems<'_>,
) -> Option<FlowEndpoints<Endpoint>> {
    let pattern = match fields.get("pairs") {
        Some(Node { value: Value::Sequence(items), .. }) => {
            refuse_beside(fields, &["from", "to"], "a list of pairs", problems);
            let pairs: Vec<_> = items.iter().map(|item| read_pair(item, names, problems)).collect();
            return pairs.into_iter().collect::<Option<_>>().map(FlowEndpoints::Pairs);
        }
        Some(node) => {
            let word = node.expect_text(problems)?;
            if !PATTERNS.contains(&word) {
                unknown_word(node, "pattern", word, &PATTERNS, problems);
                return None;
            }
            word
        }
        None if usual == DefaultPairs::Random => "random",
        None => "all-to-all",
    };
    let all = || names.network.hosts().map(Endpoint::from).collect();
    let from = fields.get("from").map_or_else(|| Some(all()), |node| read_ends(node, names, problems));
    if pattern == "permutation" {
        refuse_beside(fields, &["to"], "a permutation, whose hosts are listed in from", problems);
        return from.map(FlowEndpoints::Permutation);
    }
    let to = fields.get("to").map_or_else(|| Some(all()), |node| read_ends(node, names, problems));
    match pattern {
        "random" => Some(FlowEndpoints::Random(from?, to?)),
        _ => Some(FlowEndpoints::AllToAll(from?, to?)),
    }
}

/// `[h1, h2]`.
fn read_pair(node: &Node<'_>, names: &Names<'_>, problems: &mut Problems<'_>) -> Option<(Endpoint, Endpoint)> {
    let items = node.expect_list("two hosts", problems)?;
    let [from, to] = items else {
        let message = || format!("{}: a pair is [SENDER, RECEIVER]", count(items.len(), "host"));
        problems.report(ProblemKind::WrongType, node.span, message);
        return None;
    };
    let mut read = |node: &Node<'_>| end(node.expect_text(problems)?, node, names, problems);
    let (from, to) = (read(from), read(to));
    Some((from?, to?))
}

/// `all` hosts, a host or a virtual machine, a range `h1..h4`, or a list of these.
fn read_ends(node: &Node<'_>, names: &Names<'_>, problems: &mut Problems<'_>) -> Option<Vec<Endpoint>> {
    let items = match &node.value {
        Value::Sequence(items) => &items[..],
        _ => std::slice::from_ref(node),
    };
    let mut ends = Vec::new();
    let mut seen = HashSet::new();
    let mut right = true;
    for item in items {
        match read_some(item, names, problems) {
            Some(some) => {
                let twice = some.iter().find(|end| !seen.insert(**end));
                if let Some(&twice) = twice {
                    let message = || format!("{} is given twice", names.name(twice));
                    problems.report(ProblemKind::DuplicateName, item.span, message);
                    right = false;
                }
                ends.extend(some);
            }
            None => right = false,
        }
    }
    right.then_some(ends)
}

pub(super) fn read_some(node: &Node<'_>, names: &Names<'_>, problems: &mut Problems<'_>) -> Option<Vec<Endpoint>> {
    let text = node.expect_text(problems)?;
    if !names.knows(text) {
        if text == "all" {
            return Some(names.network.hosts().map(Endpoint::from).collect());
        }
        if let Some((first, last)) = text.split_once("..") {
            return read_range(node, first, last, names, problems);
        }
    }
    end(text, node, names, problems).map(|end| vec![end])
}

/// Hosts or virtual machines whose names differ in the number at their end only.
fn read_range(
    node: &Node<'_>,
    first: &str,
    last: &str,
    names: &Names<'_>,
    problems: &mut Problems<'_>,
) -> Option<Vec<Endpoint>> {
    let bounds = numbered(first).zip(numbered(last)).filter(|(first, last)| first.0 == last.0 && first.1 <= last.1);
    let Some(((stem, low), (_, high))) = bounds else {
        problems.report(ProblemKind::BadValue, node.span, || {
            format!("{}..{} is not a range of hosts: expected one such as h1..h4", quoted(first), quoted(last))
        });
        return None;
    };
    // A range that is longer than the network ends at its first host that is missing.
    (low..=high).map(|number| end(&format!("{stem}{number}"), node, names, problems)).collect()
}

/// `h12` as `h` and 12.
fn numbered(name: &str) -> Option<(&str, u64)> {
    let stem = name.trim_end_matches(|c: char| c.is_ascii_digit());
    Some((stem, name[stem.len()..].parse().ok()?))
}

/// The name of a virtual machine or of a host.
fn end(name: &str, node: &Node<'_>, names: &Names<'_>, problems: &mut Problems<'_>) -> Option<Endpoint> {
    names.vm(name).or_else(|| host(name, node, names.network, problems).map(Endpoint::from))
}

/// The name of a host.
pub(super) fn read_host(node: &Node<'_>, network: &Network, problems: &mut Problems<'_>) -> Option<NodeId> {
    host(node.expect_text(problems)?, node, network, problems)
}

fn host(name: &str, node: &Node<'_>, network: &Network, problems: &mut Problems<'_>) -> Option<NodeId> {
    let Some(id) = network.find_node(name) else {
        problems.report(ProblemKind::UnknownName, node.span, || unknown_node(name, network));
        return None;
    };
    if network.node(id).kind != NodeKind::Host {
        let message = || format!("{name} is a switch: hosts send and receive");
        problems.report(ProblemKind::Impossible, node.span, message);
        return None;
    }
    Some(id)
}
