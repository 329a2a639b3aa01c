//! The standard output: what goes there, how wide it is, and whether it has colours.

use std::io::{BufWriter, IsTerminal, StdoutLock, stdout};

use clap::ValueEnum;
use comfy_table::Table;
use wayleave_explain::table::{self, Layout, USUAL_WIDTH};

/// How data is printed.
#[derive(ValueEnum, Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum OutputFormat {
    /// For people
    #[default]
    Table,
    /// For programs
    Json,
}

/// A line on the standard error, written at once so that no line of the log comes into its middle. That nobody reads it is no reason to stop, where
/// `eprintln!` panics.
macro_rules! tell {
    ($($words:tt)*) => {{
        use std::io::Write as _;
        let line = format!("{}\n", format_args!($($words)*));
        let _ = std::io::stderr().write_all(line.as_bytes());
    }};
}

pub(crate) use tell;

/// The standard output, buffered: its errors are seen, which `println!` would panic on.
pub(crate) fn out() -> BufWriter<StdoutLock<'static>> {
    BufWriter::with_capacity(1 << 16, stdout().lock())
}

/// Whether the standard output shows colours: a terminal, and nobody has said no (<https://no-color.org>).
pub(crate) fn is_colourful() -> bool {
    stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
}

/// As wide as the terminal, or as the environment says.
pub(crate) fn layout() -> Layout {
    Layout { width: (!stdout().is_terminal()).then(width_of_environment), bold: is_colourful() }
}

/// A table without lines: columns, and headings in bold.
pub(crate) fn plain_table(headings: &[&str]) -> Table {
    table::plain_table(headings, layout())
}

fn width_of_environment() -> u16 {
    let columns = std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok());
    columns.filter(|&columns| columns >= 40).unwrap_or(USUAL_WIDTH)
}
