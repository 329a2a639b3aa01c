//! Tables for people: columns without lines.

use std::io::{self, Write};

use comfy_table::{Attribute, Cell, ColumnConstraint, ContentArrangement, Table, Width, presets};

/// How wide a table is where nothing says otherwise.
pub const USUAL_WIDTH: u16 = 100;

/// How tables are laid out.
#[derive(Clone, Copy, Debug)]
pub struct Layout {
    /// In columns; `None` is as wide as the terminal.
    pub width: Option<u16>,
    /// Whether headings are bold.
    pub bold: bool,
}

impl Default for Layout {
    /// Plain text of the usual width, for no terminal.
    fn default() -> Self {
        Self { width: Some(USUAL_WIDTH), bold: false }
    }
}

/// A table without lines: columns, and headings.
pub fn plain_table(headings: &[&str], layout: Layout) -> Table {
    let mut table = Table::new();
    table.load_preset(presets::NOTHING).set_content_arrangement(ContentArrangement::Dynamic);
    if let Some(width) = layout.width {
        table.force_no_tty().set_width(width);
    }
    let heading = |text: &&str| match layout.bold {
        true => Cell::new(*text).add_attribute(Attribute::Bold),
        false => Cell::new(*text),
    };
    table.set_header(headings.iter().map(heading));
    // Only the last column is broken into lines.
    let last = headings.len() - 1;
    for (index, column) in table.column_iter_mut().enumerate() {
        column.set_padding((0, if index == last { 0 } else { 2 }));
        if index < last {
            column.set_constraint(ColumnConstraint::ContentWidth);
        } else {
            column.set_constraint(ColumnConstraint::LowerBoundary(Width::Fixed(24)));
        }
    }
    table
}

/// Prints a table without the spaces at the ends of its lines; spaces that must not break are spaces again.
///
/// # Errors
/// If it cannot be written.
pub fn write_table(out: &mut impl Write, table: &mut Table) -> io::Result<()> {
    for line in table.lines() {
        writeln!(out, "{}", line.replace('\u{a0}', " ").trim_end())?;
    }
    Ok(())
}

/// Prints a text that is indented by two, in lines of at most 100 columns.
///
/// # Errors
/// If it cannot be written.
pub fn write_wrapped(out: &mut impl Write, text: &str) -> io::Result<()> {
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
