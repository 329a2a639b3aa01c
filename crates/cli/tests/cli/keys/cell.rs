//! Treatment of a key by a driver, with the test that shows it.

/// Treatment of a key by a driver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Cell {
    /// It is carried out: another value gives another outcome in the simulator (`effects.json`).
    Changes,
    /// It is carried out: this test shows it.
    Test(&'static str),
    /// It is not carried out, and an error, a warning or a note with these words names it.
    Named(&'static str),
    /// It is for something else than this driver.
    By(&'static str),
}

/// Words in braces are alternatives.
pub(super) fn expanded(pattern: &str) -> Vec<String> {
    let Some((before, rest)) = pattern.split_once('{') else { return vec![pattern.to_owned()] };
    let (words, after) = rest.split_once('}').unwrap();
    words.split(',').flat_map(|word| expanded(&format!("{before}{word}{after}"))).collect()
}
