//! The standard output: its contents, its width and its colours.
//!
//! Names and messages come from other people. Every command writes to [`out`] and [`tell!`], which escape all
//! terminal control sequences. A field on a single line is escaped earlier by [`wayleave_units::escaped`], so that it
//! does not begin another line.

use std::io::{self, BufWriter, IsTerminal, StdoutLock, Write, stdout};
use std::path::PathBuf;

use clap::{Args, ValueEnum};
use comfy_table::Table;
use wayleave_explain::table::{self, TableLayout, USUAL_WIDTH};
use wayleave_units::escaped_but;

use crate::failure::Failure;

/// Format of printed data.
#[derive(ValueEnum, Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum OutputFormat {
    /// Human-readable table
    #[default]
    Table,
    /// JSON
    Json,
}

/// Writes a line to the standard error, at once so that log lines are not mixed into it. A closed standard error does
/// not stop the program, where `eprintln!` panics.
macro_rules! tell {
    ($($words:tt)*) => {{
        use std::io::Write as _;
        let line = format!("{}\n", format_args!($($words)*));
        let _ = std::io::stderr().write_all($crate::output::shown(&line).as_bytes());
    }};
}

pub(crate) use tell;

/// Characters that lay out a text of several lines.
const LAYOUT: [char; 2] = ['\n', '\t'];

/// Returns a text without anything that a terminal would obey, in its lines.
pub(crate) fn shown(text: &str) -> std::borrow::Cow<'_, str> {
    escaped_but(text, &LAYOUT)
}

/// The standard output, buffered: its errors are seen, which `println!` would panic on. Texts are escaped.
pub(crate) fn out() -> EscapingWriter<BufWriter<StdoutLock<'static>>> {
    EscapingWriter { to: raw_out(), has_colours: is_colourful() }
}

/// The same without escaping, for bytes that are not read at a terminal and for sequences of this program.
pub(crate) fn raw_out() -> BufWriter<StdoutLock<'static>> {
    BufWriter::with_capacity(1 << 16, stdout().lock())
}

/// File for the data of a command.
#[derive(Args, Clone, Debug)]
pub(crate) struct OutArgs {
    /// Write to this file instead of standard output; a name that ends in .html makes a page
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

/// The standard output, or the contents of a file.
pub(crate) enum Destination {
    /// The standard output.
    Stdout(EscapingWriter<BufWriter<StdoutLock<'static>>>),
    /// A file that is written at the end.
    File(EscapingWriter<Vec<u8>>, PathBuf),
}

impl OutArgs {
    pub(crate) fn open(&self) -> Destination {
        match &self.out {
            None => Destination::Stdout(out()),
            Some(path) => Destination::File(EscapingWriter { to: Vec::new(), has_colours: false }, path.clone()),
        }
    }

    /// Returns the layout of tables.
    pub(crate) fn layout(&self) -> TableLayout {
        if self.out.is_some() { TableLayout::default() } else { layout() }
    }
}

impl Destination {
    /// Writes what is left; `title` heads a page.
    ///
    /// # Errors
    /// If it cannot be written.
    pub(crate) fn finish(self, title: &str) -> Result<(), Failure> {
        match self {
            Self::Stdout(mut out) => Ok(out.flush()?),
            Self::File(text, path) => {
                let is_page = path.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("html"));
                let text = String::from_utf8_lossy(&text.to).into_owned();
                let command: Vec<String> = std::env::args().skip(1).collect();
                let page = || wayleave_report::page::of_text(title, &text, &format!("wayleave {}", command.join(" ")));
                let written = std::fs::write(&path, if is_page { page() } else { text.clone() });
                written.map_err(|error| Failure::Internal(format!("{} could not be written: {error}", path.display())))
            }
        }
    }
}

impl Write for Destination {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Stdout(out) => out.write(bytes),
            Self::File(text, _) => text.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Stdout(out) => out.flush(),
            Self::File(..) => Ok(()),
        }
    }
}

/// A writer that escapes what a terminal would obey. Colours of tables pass if they are on.
pub(crate) struct EscapingWriter<W> {
    to: W,
    has_colours: bool,
}

impl<W: Write> EscapingWriter<W> {
    fn write_text(&mut self, text: &str) -> io::Result<()> {
        let mut rest = text;
        while self.has_colours
            && let Some((before, sequence, behind)) = colour_in(rest)
        {
            self.to.write_all(shown(before).as_bytes())?;
            self.to.write_all(sequence.as_bytes())?;
            rest = behind;
        }
        self.to.write_all(shown(rest).as_bytes())
    }
}

/// Returns the first sequence that selects a colour or a weight (SGR of ECMA-48, section 8.3.117), with the text
/// before and after it.
fn colour_in(text: &str) -> Option<(&str, &str, &str)> {
    let is_parameter = |character: char| character.is_ascii_digit() || character == ';';
    text.match_indices("\x1b[").find_map(|(at, introducer)| {
        let rest = &text[at + introducer.len()..];
        let behind = rest.trim_start_matches(is_parameter).strip_prefix('m')?;
        Some((&text[..at], &text[at..text.len() - behind.len()], behind))
    })
}

impl<W: Write> Write for EscapingWriter<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        // All writers of text write whole characters.
        for part in bytes.utf8_chunks() {
            self.write_text(part.valid())?;
            self.to.write_all(part.invalid())?;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.to.flush()
    }
}

/// Returns `true` if the standard output shows colours: it is a terminal, and colours are not disabled
/// (<https://no-color.org>).
pub(crate) fn is_colourful() -> bool {
    stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
}

/// Returns a layout with the width of the terminal, or of the environment.
pub(crate) fn layout() -> TableLayout {
    TableLayout::default().with_width((!stdout().is_terminal()).then(width_of_environment)).with_bold(is_colourful())
}

/// A table without lines: columns, and headings in bold.
pub(crate) fn plain_table(headings: &[&str]) -> Table {
    table::plain_table(headings, layout())
}

fn width_of_environment() -> u16 {
    let columns = std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok());
    columns.filter(|&columns| columns >= 40).unwrap_or(USUAL_WIDTH)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(text: &str, has_colours: bool) -> String {
        let mut to = Vec::new();
        EscapingWriter { to: &mut to, has_colours }.write_all(text.as_bytes()).unwrap();
        String::from_utf8(to).unwrap()
    }

    #[test]
    fn only_colours_pass_to_tables_and_only_if_they_are_enabled() {
        let text = "\x1b[1mbold\x1b[0m\x1b]0;title\u{7}\x1b[2J\r\u{9b}1m\u{202e}\n\tend \x1b[";
        let rest = "\\u001b]0;title\\u0007\\u001b[2J\\u000d\\u009b1m\\u202e\n\tend \\u001b[";
        assert_eq!(written(text, true), format!("\x1b[1mbold\x1b[0m{rest}"));
        assert_eq!(written(text, false), format!("\\u001b[1mbold\\u001b[0m{rest}"));
    }
}
