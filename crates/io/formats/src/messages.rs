//! Texts in messages: quoted safely, shortened, and the nearest known word.

/// Maximum length of a name or value in a message.
const SHOWN: usize = 40;
/// The longest message; names that other crates put into theirs are not shortened.
const LONGEST_MESSAGE: usize = 600;

/// Returns `"text"`, shortened, with all terminal control characters escaped.
pub(crate) fn quoted(text: &str) -> String {
    format!("\"{}\"", shortened(text))
}

/// Returns the first characters and, if there are more, the total number.
pub(crate) fn shortened(text: &str) -> String {
    let mut shown = String::new();
    text.chars().take(SHOWN).for_each(|c| push_visible(&mut shown, c));
    // Counting a name of megabytes would take longer than reading it.
    if text.len() > SHOWN && text.chars().nth(SHOWN).is_some() { shown + "…" } else { shown }
}

/// The same message without anything that a terminal would act upon.
pub(crate) fn printable(message: &str) -> String {
    let mut shown = String::with_capacity(message.len().min(LONGEST_MESSAGE));
    message.chars().take(LONGEST_MESSAGE).for_each(|c| push_visible(&mut shown, c));
    if message.chars().nth(LONGEST_MESSAGE).is_some() { shown + "…" } else { shown }
}

fn push_visible(shown: &mut String, c: char) {
    if is_invisible(c) { shown.extend(c.escape_unicode()) } else { shown.push(c) }
}

/// Control characters, and the format characters that reverse or hide text.
pub(crate) fn is_invisible(c: char) -> bool {
    wayleave_units::is_deceptive(c)
}

/// Maximum number of names that a search for the nearest one inspects: it must not take longer than reading the file.
pub(crate) const MAX_NAMES: usize = 100_000;

/// The candidate that was probably meant; of several that are as near, the first in the alphabet.
pub(crate) fn nearest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    if word.is_empty() || word.len() > 64 {
        return None;
    }
    let folded = fold(word);
    let length = folded.chars().count();
    let accepted = (1 + length / 4).min(length / 3);
    candidates
        .into_iter()
        .filter(|candidate| candidate.len().abs_diff(word.len()) <= 2 + accepted)
        .map(|candidate| (strsim::osa_distance(&folded, &fold(candidate)), candidate))
        .filter(|&(distance, _)| distance <= accepted)
        .min()
        .map(|(_, candidate)| candidate)
}

/// `min_frame`, `min-frame` and `MinFrame` are `minFrame` to people.
fn fold(word: &str) -> String {
    word.chars().filter(|c| !matches!(c, '_' | '-' | ' ')).flat_map(char::to_lowercase).collect()
}

/// `a, b or c`.
pub(crate) fn one_of(words: &[&str]) -> String {
    joined(words, "or")
}

/// `a, b and c`.
pub(crate) fn all_of<T: AsRef<str>>(words: &[T]) -> String {
    joined(&words.iter().map(AsRef::as_ref).collect::<Vec<_>>(), "and")
}

fn joined(words: &[&str], with: &str) -> String {
    match words {
        [] => String::new(),
        [only] => (*only).to_owned(),
        [head @ .., last] => format!("{} {with} {last}", head.join(", ")),
    }
}

/// `, did you mean "x"?` or nothing.
pub(crate) fn did_you_mean(near: Option<&str>) -> String {
    near.map_or_else(String::new, |word| format!(", did you mean {}?", quoted(word)))
}

/// `, did you mean "x"?`, or all the words if none is near.
pub(crate) fn did_you_mean_one_of(word: &str, words: &[&str]) -> String {
    match nearest(word, words.iter().copied()) {
        Some(near) => did_you_mean(Some(near)),
        None => format!(": expected {}", one_of(words)),
    }
}
