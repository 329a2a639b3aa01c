//! Ranges that a measurement can hardly miss: each has to follow from the words of its statement, or is argued in a list.

use super::{Check, Statement};

/// Largest ratio of the ends of a range: half to twice a single number.
const MAX_RATIO: f64 = 4.0;

/// Words for a range with one end that is named, such as "at most 5".
const BOUNDS: &[&str] = &[
    "at most",
    "at least",
    "below",
    "above",
    "within",
    "less than",
    "more than",
    "fewer than",
    "smaller than",
    "no more",
    "never",
    "up to",
    "and more",
    "or more",
    "between",
    "limited to",
    "exceed",
    "no longer than",
];

/// Numbers in words.
const NUMBER_WORDS: &[&str] = &["millisecond", "half", "three", "four", "six", "twice", "tenths"];

/// Words for a direction without a number, such as "faster".
const DIRECTIONS: &[&str] = &[
    "more", "less", "fewer", "faster", "slower", "grow", "higher", "lower", "costs", "save", "better", "longer",
    "shorter", "worse", "suffers", "improves",
];

/// Returns the reason why a range is too wide; none if it follows from the words of the statement.
pub(crate) fn too_wide(statement: &Statement) -> Option<&'static str> {
    let [low, high] = statement.range?;
    if matches!(statement.check, Check::Nothing | Check::Truth) {
        return None;
    }
    let has = |words: &[&str]| words.iter().any(|word| statement.claim_text.contains(word));
    // D2TCP is no number.
    let words = statement.claim_text.split(|c: char| !c.is_alphanumeric());
    let names_number = words.into_iter().any(|word| word.starts_with(|c: char| c.is_ascii_digit()));
    match (low.is_finite() && low != 0.0, high.is_finite() && high != 0.0) {
        (true, true) if low < 0.0 || high / low <= MAX_RATIO => None,
        // The text names both ends, such as 2x to 10x, or one as a bound of a count: fewer than 15 are at most 14.
        (true, true) if names(&statement.claim_text, low) && names(&statement.claim_text, high) => None,
        (true, true) if has(BOUNDS) && [high, high + 1.0].iter().any(|&end| names(&statement.claim_text, end)) => None,
        (true, true) => Some("its ends are farther apart than half and twice a number"),
        _ if low == high => None,
        _ if (names_number || has(NUMBER_WORDS)) && has(BOUNDS) => None,
        _ if names_number => Some("it names a number, and one end is open"),
        // From a ratio of one on, or with a margin.
        (true, false) if low >= 1.0 && has(DIRECTIONS) => None,
        (false, true) if high <= 1.0 && has(DIRECTIONS) => None,
        (false, false) if has(DIRECTIONS) => None,
        _ => Some("one end is open, and no word of it is a bound or a direction"),
    }
}

/// Returns `true` if a text has a number.
fn names(text: &str, number: f64) -> bool {
    let text = text.replace(',', "");
    let numbers = text.split(|c: char| !(c.is_ascii_digit() || c == '.'));
    numbers.filter_map(|part| part.trim_matches('.').parse::<f64>().ok()).any(|named| named == number)
}

#[test]
fn ranges_follow_from_the_words_of_a_statement() {
    let open = f64::INFINITY;
    let reason = |claim_text: &str, low: f64, high: f64| {
        too_wide(&Statement::within("1", claim_text, low..=high, &[low], "")).is_some()
    };
    assert!(!reason("it takes 10 s", 5.0, 20.0));
    assert!(reason("it takes 10 s", 1.0, 20.0));
    assert!(!reason("2x to 10x the flows", 2.0, 10.0));
    assert!(reason("2x to 10x the flows", 2.0, 20.0));
    assert!(!reason("at most 5 rounds", 0.0, 5.0));
    assert!(reason("it takes 5 rounds", 0.0, 5.0));
    assert!(!reason("fewer than 1,500 rounds", 1.0, 1_499.0));
    assert!(reason("fewer than 1,500 rounds", 1.0, 15_000.0));
    assert!(reason("2.5 times as fast", 1.0, open));
    assert!(!reason("it is faster", 1.0, open));
    assert!(!reason("it is faster", 1.05, open));
    assert!(reason("it is faster", 0.95, open));
    assert!(reason("D2TCP serves it", 1.05, open) && !reason("it is faster than D2TCP", 1.05, open));
    assert!(!reason("within a millisecond", 0.0, 1.0) && reason("in a millisecond", 0.0, 1.0));
    assert!(reason("four at most", 1.0, 40.0));
    assert!(reason("it is faster", 0.1, open), "an end that no word names");
    assert!(reason("it is there", 1.0, open));
}
