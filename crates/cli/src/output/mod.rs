//! What commands print: JSON for programs, tables and sentences for people.

pub(crate) mod explain_json;
pub(crate) mod json;
pub(crate) mod plan;
pub(crate) mod table;
pub(crate) mod topology;
pub(crate) mod verify;

use std::io::{BufWriter, IsTerminal, StdoutLock, stdout};

/// The standard output, buffered: its errors are seen, which `println!` would panic on.
pub(crate) fn out() -> BufWriter<StdoutLock<'static>> {
    BufWriter::with_capacity(1 << 16, stdout().lock())
}

/// Whether the standard output shows colours: a terminal, and nobody has said no (<https://no-color.org>).
pub(crate) fn is_colourful() -> bool {
    stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
}
