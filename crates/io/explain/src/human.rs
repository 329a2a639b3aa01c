//! Quantities and numbers as people read them.

use wayleave_units::Bytes;
pub use wayleave_units::{Human, count};

/// A buffer's size; a host queues in its own memory, which no buffer bounds.
pub fn buffer(size: Bytes) -> String {
    if size == Bytes::MAX { "unlimited".to_owned() } else { format!("{size:#}") }
}
