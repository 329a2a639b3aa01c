//! Values that only scenarios have: fractions, switches, and mappings of which one key is given.

use crate::fields::Fields;
use crate::messages::{all_of, did_you_mean_one_of, one_of, quoted};
use crate::problem::{ProblemKind, Problems};
use crate::tree::Node;

/// A number that need not be whole.
pub(super) fn number(node: &Node<'_>, problems: &mut Problems<'_>) -> Option<f64> {
    let text = node.expect_text(problems)?;
    // `inf` and `nan` would be numbers to the standard library.
    let plain = text.bytes().all(|byte| byte.is_ascii_digit() || b"+-.eE".contains(&byte));
    let number =
        Some(text).filter(|_| plain).and_then(|text| text.parse().ok()).filter(|number: &f64| number.is_finite());
    if number.is_none() {
        let message = || format!("{} is not a number: expected one such as 0.6", quoted(text));
        problems.report(ProblemKind::BadValue, node.span, message);
    }
    number
}

/// A whole number up to `u32::MAX`.
pub(super) fn small(node: &Node<'_>, problems: &mut Problems<'_>) -> Option<u32> {
    let count = node.count(problems)?;
    let small = u32::try_from(count).ok();
    if small.is_none() {
        let message = || format!("{count} is too large: expected at most {}", u32::MAX);
        problems.report(ProblemKind::BadValue, node.span, message);
    }
    small
}

/// The number of a queue.
pub(super) fn queue(node: &Node<'_>, problems: &mut Problems<'_>) -> Option<u8> {
    // Larger than any queue: the network reports the existing ones.
    node.count(problems).map(|queue| u8::try_from(queue).unwrap_or(u8::MAX))
}

/// `true` or `false`.
pub(super) fn flag(node: &Node<'_>, problems: &mut Problems<'_>) -> Option<bool> {
    match node.expect_text(problems)? {
        "true" => Some(true),
        "false" => Some(false),
        other => {
            let message = || format!("{} is not accepted: expected true or false", quoted(other));
            problems.report(ProblemKind::BadValue, node.span, message);
            None
        }
    }
}

/// Reports a word that is none of those that are known.
pub(super) fn unknown_word(node: &Node<'_>, what: &str, word: &str, known: &[&str], problems: &mut Problems<'_>) {
    problems.report(ProblemKind::BadValue, node.span, || {
        format!("unknown {what} {}{}", quoted(word), did_you_mean_one_of(word, known))
    });
}

/// Returns the one of several keys that is given; more than one is reported.
pub(super) fn at_most_one<'n, 'a>(
    fields: &Fields<'n, 'a>,
    what: &str,
    keys: &[&'static str],
    problems: &mut Problems<'_>,
) -> Option<Option<(&'static str, &'n Node<'a>)>> {
    let given: Vec<_> = keys.iter().filter_map(|&key| Some((key, fields.get(key)?))).collect();
    if let [_, (second, _), ..] = given[..] {
        let names: Vec<&str> = given.iter().map(|(key, _)| *key).collect();
        let message = || format!("{what} has exactly one of these keys, but {} are given", all_of(&names));
        problems.report(ProblemKind::WrongType, fields.key_span(second), message);
        return None;
    }
    Some(given.into_iter().next())
}

/// The one of some keys that is given.
pub(super) fn exactly_one<'n, 'a>(
    fields: &Fields<'n, 'a>,
    what: &str,
    keys: &[&'static str],
    problems: &mut Problems<'_>,
) -> Option<(&'static str, &'n Node<'a>)> {
    let before = problems.mark();
    let given = at_most_one(fields, what, keys, problems)?;
    if given.is_none() && problems.mark() == before {
        let message = || format!("{what} needs one of the keys {}", one_of(keys));
        problems.report(ProblemKind::MissingKey, fields.at, message);
    }
    given
}

/// Reports keys that mean nothing beside another.
pub(super) fn refuse_beside(fields: &Fields<'_, '_>, keys: &[&str], beside: &str, problems: &mut Problems<'_>) {
    for key in keys.iter().filter(|key| fields.get(key).is_some()) {
        let message = || format!("{key} does not apply to {beside}");
        problems.report(ProblemKind::Impossible, fields.key_span(key), message);
    }
}
