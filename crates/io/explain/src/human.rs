//! Quantities and numbers as people read them.

use wayleave_units::Bytes;
pub use wayleave_units::Human;

/// A buffer's size; a host queues in its own memory, which no buffer bounds.
pub fn buffer(size: Bytes) -> String {
    if size == Bytes::MAX { "unlimited".to_owned() } else { format!("{size:#}") }
}

/// `1 flow`, `2 flows`.
pub fn count(number: usize, what: &str) -> String {
    let plural = if number == 1 {
        ""
    } else if what.ends_with("ch") {
        "es"
    } else {
        "s"
    };
    format!("{number} {what}{plural}")
}
