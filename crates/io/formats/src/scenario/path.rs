//! Paths with dots into the tree of a file: `traffic.web.load`.
//!
//! A step is a key of a mapping, or an item of a list: its `name`, or its number counted from 0. Names that have dots
//! themselves are found: the longest one that fits is taken.

use std::borrow::Cow;

use crate::location::Span;
use crate::tree::{Entry, Node, Value};

/// Returns the target of a path, or its deepest existing part.
pub(super) fn locate(root: &Node<'_>, path: &str) -> Span {
    let mut node = root;
    let mut span = root.span;
    let mut rest = path;
    while !rest.is_empty() {
        let next = match &node.value {
            Value::Mapping(entries) => {
                let (key, after) = rest.split_once('.').unwrap_or((rest, ""));
                entries.iter().find(|entry| entry.key.text() == Some(key)).map(|entry| (&entry.value, after))
            }
            Value::Sequence(items) => item(items, rest).map(|(index, after)| (&items[index], after)),
            Value::Null | Value::Scalar(_) | Value::Streamed => None,
        };
        let Some((next, after)) = next else { break };
        (node, rest, span) = (next, after, next.span);
    }
    span
}

/// The item of a list that a path begins with, and the rest of the path.
fn item<'p>(items: &[Node<'_>], path: &'p str) -> Option<(usize, &'p str)> {
    let mut ends: Vec<usize> = path.match_indices('.').map(|(at, _)| at).collect();
    ends.push(path.len());
    let named = |name: &str| items.iter().position(|item| name_of(item) == Some(name));
    let longest = ends.iter().rev().find_map(|&end| Some((named(&path[..end])?, end)));
    let by_number = || {
        let end = ends[0];
        let number: usize = path[..end].parse().ok()?;
        (number < items.len()).then_some((number, end))
    };
    let (index, end) = longest.or_else(by_number)?;
    Some((index, path[end..].trim_start_matches('.')))
}

fn name_of<'n>(item: &'n Node<'_>) -> Option<&'n str> {
    let Value::Mapping(entries) = &item.value else { return None };
    entries.iter().find(|entry| entry.key.text() == Some("name"))?.value.text()
}

/// Reason why no value can be put at a path.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Blocked {
    /// A list has no such item.
    NoItem(String),
    /// There is text where a mapping would be needed.
    Text(String),
}

/// Puts a value at a path; missing mappings on the path are made, with keys at `span`.
pub(super) fn put<'a>(node: &mut Node<'a>, path: &str, span: Span, value: &Node<'a>) -> Result<(), Blocked> {
    if path.is_empty() {
        *node = value.clone();
        return Ok(());
    }
    if matches!(node.value, Value::Null) {
        node.value = Value::Mapping(Vec::new());
    }
    match &mut node.value {
        Value::Mapping(entries) => {
            let (key, rest) = path.split_once('.').unwrap_or((path, ""));
            if let Some(entry) = entries.iter_mut().find(|entry| entry.key.text() == Some(key)) {
                return put(&mut entry.value, rest, span, value);
            }
            let mut made = Node { span, value: Value::Null };
            put(&mut made, rest, span, value)?;
            let key = Node { span, value: Value::Scalar(Cow::Owned(key.to_owned())) };
            entries.push(Entry { key, value: made });
            Ok(())
        }
        Value::Sequence(items) => {
            let (index, rest) = item(items, path).ok_or_else(|| Blocked::NoItem(first(path)))?;
            put(&mut items[index], rest, span, value)
        }
        Value::Null | Value::Scalar(_) | Value::Streamed => Err(Blocked::Text(first(path))),
    }
}

fn first(path: &str) -> String {
    path.split('.').next().unwrap_or(path).to_owned()
}
