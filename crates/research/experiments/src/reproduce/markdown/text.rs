//! Markdown that is read as text, too: lines of moderate length, tables with columns below one another.

use crate::reproduce::grid::wrapped;

/// The length of a line.
const WIDTH: usize = 130;
/// Maximum line length of a table with aligned columns: longer ones are not read as text.
const WIDEST: usize = 200;

/// Alignment of the columns of a table; the first one is always aligned to the left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Align {
    Left,
    NumbersRight,
}

/// A paragraph, in lines.
pub(crate) fn paragraph(text: &str) -> String {
    wrapped(text, WIDTH).iter().map(|line| format!("{line}\n")).collect()
}

/// An item of a list, in lines.
pub(crate) fn bullet(text: &str) -> String {
    let lines = wrapped(text, WIDTH - 2);
    (0..).zip(&lines).map(|(at, line)| format!("{}{line}\n", if at == 0 { "- " } else { "  " })).collect()
}

/// Escapes Markdown in a text. Backticks are kept: they always mean code.
pub(crate) fn escaped(text: &str) -> String {
    let mut out = String::new();
    for (at, part) in text.split('`').enumerate() {
        if at > 0 {
            out.push('`');
        }
        // Every other part is code.
        for c in part.chars() {
            if at % 2 == 0 && matches!(c, '*' | '<' | '\\' | '[' | ']') {
                out.push('\\');
            }
            out.push(c);
        }
    }
    let word = |word: &str| match word {
        // At the beginning of a line these would begin a list.
        "-" | "+" | "1." => format!("{}\\{}", &word[..word.len() - 1], &word[word.len() - 1..]),
        _ => word.to_owned(),
    };
    out.split_whitespace().map(word).collect::<Vec<_>>().join(" ")
}

/// A table. Cells are Markdown already where they are links.
pub(crate) fn table(heads: &[String], rows: &[Vec<String>], align: Align) -> String {
    let cell = |text: &String| text.replace('|', "\\|").split_whitespace().collect::<Vec<_>>().join(" ");
    let lines: Vec<Vec<String>> = std::iter::once(heads)
        .chain(rows.iter().map(Vec::as_slice))
        .map(|row| row.iter().map(cell).collect())
        .collect();
    let longest = |at: usize| {
        lines.iter().filter_map(|row| row.get(at)).map(|cell| cell.chars().count()).max().unwrap_or(0).max(3)
    };
    let widths: Vec<usize> = (0..heads.len()).map(longest).collect();
    let is_padded = widths.iter().sum::<usize>() + 3 * widths.len() <= WIDEST;
    let is_right = |at: usize| at > 0 && align == Align::NumbersRight;
    let line = |row: &Vec<String>| {
        let cells = row.iter().zip(&widths).enumerate().map(|(at, (cell, &width))| match (is_padded, is_right(at)) {
            (false, _) => cell.clone(),
            (true, false) => format!("{cell:<width$}"),
            (true, true) => format!("{cell:>width$}"),
        });
        format!("| {} |\n", cells.collect::<Vec<_>>().join(" | "))
    };
    let rule = widths.iter().enumerate().map(|(at, &width)| {
        let dashes = "-".repeat(if is_padded { width - 1 } else { 2 });
        if is_right(at) { format!("{dashes}:") } else { format!("{dashes}-") }
    });
    let rule = format!("| {} |\n", rule.collect::<Vec<_>>().join(" | "));
    let mut all = lines.iter().map(line);
    all.next().into_iter().chain([rule]).chain(all).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_of_markdown_are_escaped_but_not_in_code() {
        assert_eq!(escaped("2 * 3 <b> [1] `a * b`  and\n1. - c"), "2 \\* 3 \\<b> \\[1\\] `a * b` and 1\\. \\- c");
    }

    #[test]
    fn columns_of_a_table_are_aligned() {
        let rows = [vec!["one".to_owned(), "1".to_owned()], vec!["a|b".to_owned(), "10,000".to_owned()]];
        let table = table(&["name".to_owned(), "it".to_owned()], &rows, Align::NumbersRight);
        assert_eq!(table, "| name |     it |\n| ---- | -----: |\n| one  |      1 |\n| a\\|b | 10,000 |\n");
    }
}
