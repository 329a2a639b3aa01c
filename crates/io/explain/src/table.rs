//! Tables for people: columns without lines.

use std::io::{self, Write};

use comfy_table::{Cell, ColumnConstraint, ContentArrangement, Table, Width, presets};

/// Default width of a table.
pub const USUAL_WIDTH: u16 = 100;

/// Layout of tables.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct TableLayout {
    /// In columns; `None` is the width of the terminal (feature `terminal`).
    pub width: Option<u16>,
    /// `true` for bold headings (feature `terminal`).
    pub bold: bool,
}

impl Default for TableLayout {
    /// Plain text of the usual width, for no terminal.
    fn default() -> Self {
        Self { width: Some(USUAL_WIDTH), bold: false }
    }
}

impl TableLayout {
    /// Sets the width in columns; `None` is the width of the terminal (feature `terminal`).
    #[must_use]
    pub const fn with_width(self, width: Option<u16>) -> Self {
        Self { width, ..self }
    }

    /// Sets bold headings (feature `terminal`).
    #[must_use]
    pub const fn with_bold(self, bold: bool) -> Self {
        Self { bold, ..self }
    }
}

/// A table without lines: columns, and headings.
pub fn plain_table(headings: &[&str], layout: TableLayout) -> Table {
    let mut table = Table::new();
    table.load_preset(presets::NOTHING).set_content_arrangement(ContentArrangement::Dynamic);
    if let Some(width) = layout.width {
        #[cfg(feature = "terminal")]
        table.force_no_tty();
        table.set_width(width);
    }
    table.set_header(headings.iter().map(|text| heading(text, layout)));
    // Only the last column is broken into lines.
    let last = headings.len() - 1;
    for (index, column) in table.column_iter_mut().enumerate() {
        column.set_padding((0, if index == last { 0 } else { 2 }));
        if index < last {
            column.set_constraint(ColumnConstraint::ContentWidth);
        } else {
            column.set_constraint(ColumnConstraint::LowerBoundary(Width::Fixed(LAST)));
        }
    }
    table
}

fn heading(text: &str, layout: TableLayout) -> Cell {
    styled(Cell::new(text), if layout.bold { Style::Bold } else { Style::Plain })
}

/// Style of a cell on a terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    /// As the terminal prints text.
    Plain,
    /// Bold.
    Bold,
    /// Green: good.
    Green,
    /// Yellow: not certain.
    Yellow,
    /// Red: bad.
    Red,
}

/// Returns a cell in a style; without the feature `terminal` the cell stays plain.
#[cfg(feature = "terminal")]
pub fn styled(cell: Cell, style: Style) -> Cell {
    use comfy_table::{Attribute, Color};

    match style {
        Style::Plain => cell,
        Style::Bold => cell.add_attribute(Attribute::Bold),
        Style::Green => cell.fg(Color::Green),
        Style::Yellow => cell.fg(Color::Yellow),
        Style::Red => cell.fg(Color::Red),
    }
}

/// Returns the cell as it is: the feature `terminal` has styles.
#[cfg(not(feature = "terminal"))]
pub fn styled(cell: Cell, _style: Style) -> Cell {
    cell
}

/// Minimum width of the last column.
const LAST: u16 = 24;

/// Minimum width of a wrapped column: most words fit.
const NARROWEST: u16 = 12;

/// Wraps all columns if those before the last leave no room for it. Columns that are narrower than an equal part of
/// the remaining width keep their width.
pub fn fit(table: &mut Table) {
    let widths = table.column_max_content_widths();
    let (Some(width), Some((&last, others))) = (table.width(), widths.split_last()) else { return };
    let gaps = 2 * others.len();
    if others.iter().map(|&other| usize::from(other)).sum::<usize>() + gaps + usize::from(last.min(LAST))
        <= width.into()
    {
        return;
    }
    let mut order: Vec<usize> = (0..widths.len()).collect();
    order.sort_by_key(|&column| widths[column]);
    let mut left = usize::from(width).saturating_sub(gaps);
    for (place, &column) in order.iter().enumerate() {
        let part = (left / (order.len() - place)).max(NARROWEST.into());
        let own = widths[column].min(u16::try_from(part).unwrap_or(u16::MAX));
        left = left.saturating_sub(own.into());
        let gap = if column + 1 == widths.len() { 0 } else { 2 };
        if let Some(column) = table.column_mut(column) {
            column.set_constraint(ColumnConstraint::Absolute(Width::Fixed(own + gap)));
        }
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(rows: &[[&str; 4]]) -> Vec<String> {
        let mut table = plain_table(
            &["system", "what is broken, and the slowest packet", "how long they are short", "says"],
            TableLayout::default(),
        );
        for row in rows {
            table.add_row(*row);
        }
        let mut out = Vec::new();
        fit(&mut table);
        write_table(&mut out, &mut table).unwrap();
        String::from_utf8(out).unwrap().lines().map(str::to_owned).collect()
    }

    #[test]
    fn wide_columns_are_wrapped_and_never_touch() {
        let long = "220 of 304 contracts; 2.73 of the deadline at most; none lost";
        let lines = lines(&[["ECMP+DCTCP", long, long, long], ["ECMP+CUBIC", "0", long, "1.00"]]);
        assert!(lines.iter().all(|line| line.chars().count() <= 100), "{lines:#?}");
        assert!(lines.iter().any(|line| line.starts_with("ECMP+DCTCP  220 of 304")), "{lines:#?}");
        // Second columns begin at one place, behind two spaces.
        let second = lines[0].find("what").unwrap();
        for line in &lines {
            let gap = line.get(second - 2..second);
            assert!(gap.is_none_or(|gap| gap == "  "), "{line:?}");
        }
    }

    #[test]
    fn if_only_the_last_column_is_long_only_it_is_wrapped() {
        let long = "a sentence that is longer than what is left of a line of one hundred columns, even where nothing stands before it";
        let lines = lines(&[["one", "1", "2", long]]);
        assert!(
            lines[0].contains("what is broken, and the slowest packet  how long they are short  says"),
            "{lines:#?}"
        );
        assert!(lines.len() > 3, "{lines:#?}");
    }
}
