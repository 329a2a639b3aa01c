//! Fields of CSV (RFC 4180), in one form for all writers.
//!
//! Spreadsheets evaluate a cell that begins with `=`, `+`, `-`, `@`, a tab or a carriage return (OWASP, CSV injection).
//! Names come from tenants, so such a cell is written behind an apostrophe, which spreadsheets take as the mark of a text.
//! Numbers stay as they are. Spreadsheets with a decimal comma separate cells by semicolons, and a few by tabs:
//! cells that would begin behind a separator within a field are treated likewise. Apostrophes before a formula get one
//! more, so that no two texts are written alike.

use std::borrow::Cow;

/// Mark of a text.
const MARK: char = '\'';
/// Characters behind which a spreadsheet may begin a cell.
const SEPARATORS: [char; 5] = [',', ';', '\t', '\r', '\n'];

/// Returns `true` for the first character of a cell that spreadsheets evaluate. Some accept wide forms, too.
fn is_formula(first: char) -> bool {
    matches!(first, '=' | '+' | '-' | '@' | '\t' | '\r' | '＝' | '＋' | '－' | '＠')
}

/// Returns `true` for a formula behind any number of marks.
fn is_marked_formula(cell: &str) -> bool {
    cell.trim_start_matches(MARK).starts_with(is_formula)
}

/// Returns a field as it is written: a formula behind an apostrophe, and a text with separators in quotation marks.
///
/// ```
/// use wayleave_formats::csv_field;
/// assert_eq!(csv_field("pod1-edge1"), "pod1-edge1");
/// assert_eq!(csv_field("=HYPERLINK(\"x\")"), "\"'=HYPERLINK(\"\"x\"\")\"");
/// assert_eq!(csv_field("-5"), "-5");
/// ```
pub fn csv_field(text: &str) -> Cow<'_, str> {
    let marked = marked(text);
    let needs_quotes = marked.contains('"') || marked.contains(SEPARATORS) || marked.trim() != marked;
    if needs_quotes { Cow::Owned(format!("\"{}\"", marked.replace('"', "\"\""))) } else { marked }
}

fn marked(text: &str) -> Cow<'_, str> {
    let begins = |(at, _): (usize, char)| {
        let before = text[..at].chars().next_back();
        let is_begin = before.is_none_or(|before| SEPARATORS.contains(&before) || before == '"');
        is_begin && is_marked_formula(&text[at..])
    };
    let is_number = text.parse::<f64>().is_ok_and(f64::is_finite);
    if is_number || !text.char_indices().any(begins) {
        return Cow::Borrowed(text);
    }
    let mut marked = String::with_capacity(text.len() + 1);
    for (at, sign) in text.char_indices() {
        if begins((at, sign)) {
            marked.push(MARK);
        }
        marked.push(sign);
    }
    Cow::Owned(marked)
}

/// Returns a cell without the mark that [`csv_field`] writes before a formula.
pub(crate) fn without_mark(cell: Cow<'_, str>) -> Cow<'_, str> {
    let is_marked = cell.strip_prefix(MARK).is_some_and(is_marked_formula);
    match cell {
        Cow::Borrowed(text) if is_marked => Cow::Borrowed(&text[MARK.len_utf8()..]),
        Cow::Owned(text) if is_marked => Cow::Owned(text[MARK.len_utf8()..].to_owned()),
        cell => cell,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_formula_becomes_a_text_wherever_a_spreadsheet_begins_a_cell() {
        for (text, written) in [
            ("=1+1", "'=1+1"),
            ("-x", "'-x"),
            ("+cmd|' /C calc'!A0", "'+cmd|' /C calc'!A0"),
            ("@SUM(A1)", "'@SUM(A1)"),
            ("\t=1", "\"'\t'=1\""),
            ("a;=1", "\"a;'=1\""),
            ("a,-b", "\"a,'-b\""),
            ("two\n=1", "\"two\n'=1\""),
            ("say \"=1\"", "\"say \"\"'=1\"\"\""),
            ("＝1", "'＝1"),
            ("a-b=c", "a-b=c"),
            ("-7", "-7"),
            ("+1.5e3", "+1.5e3"),
            ("-1+2", "'-1+2"),
            ("-inf", "'-inf"),
            ("'=1", "''=1"),
            ("''=1", "'''=1"),
            ("a;'=1", "\"a;''=1\""),
            ("'-7", "''-7"),
            ("'a", "'a"),
            ("", ""),
            (" a", "\" a\""),
        ] {
            assert_eq!(csv_field(text), written, "{text:?}");
        }
    }

    #[test]
    fn a_marked_cell_is_read_as_it_was() {
        for text in ["-x", "=1", "'quoted'", "x", "", "'=1", "''=1", "'-7"] {
            assert_eq!(without_mark(marked(text)), text);
        }
    }
}
