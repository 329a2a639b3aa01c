//! What commands print: JSON for programs, tables and sentences for people.

pub(crate) mod curves;
pub(crate) mod explain_json;
pub(crate) mod explain_schemes;
pub(crate) mod explain_table;
pub(crate) mod human;
pub(crate) mod json;
pub(crate) mod plan;
pub(crate) mod shapes;
pub(crate) mod table;
pub(crate) mod topology;
pub(crate) mod verify;
pub(crate) mod words;

use std::io::{self, BufWriter, IsTerminal, StdoutLock, Write, stdout};

/// The standard output, buffered: its errors are seen, which `println!` would panic on.
pub(crate) fn out() -> BufWriter<StdoutLock<'static>> {
    BufWriter::with_capacity(1 << 16, stdout().lock())
}

/// Whether the standard output shows colours: a terminal, and nobody has said no (<https://no-color.org>).
pub(crate) fn is_colourful() -> bool {
    stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
}

/// Prints a text that is indented by two, in lines of at most 100 columns.
pub(crate) fn write_wrapped(out: &mut impl Write, text: &str) -> io::Result<()> {
    const WIDTH: usize = 100;
    let mut line = String::new();
    for word in text.split(' ') {
        if !line.is_empty() && 3 + line.chars().count() + word.chars().count() > WIDTH {
            writeln!(out, "  {line}")?;
            line.clear();
        }
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
    }
    writeln!(out, "  {line}")
}
