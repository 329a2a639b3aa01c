//! The source line of a problem, with a caret under what is meant.

use std::fmt;

use unicode_width::UnicodeWidthChar;

use crate::location::{SourceLocation, boundary};
use crate::messages::is_invisible;

/// Lines up to this length (in bytes) are shown whole.
const WHOLE: usize = 140;
/// Maximum number of characters of a longer line that are shown before, at, and after the position.
const PART: usize = 60;

/// A line of text with carets below it.
pub(crate) struct Excerpt {
    line: usize,
    shown: String,
    indent: usize,
    carets: usize,
}

impl Excerpt {
    pub(crate) fn new(text: &str, location: &SourceLocation) -> Self {
        let start = boundary(text, location.bytes.start);
        let line_start = text[..start].rfind('\n').map_or(0, |newline| newline + 1);
        let line_end = text[start..].find('\n').map_or(text.len(), |length| start + length);
        let end = boundary(text, location.bytes.end).clamp(start, line_end);

        let part = if line_end - line_start <= WHOLE { WHOLE } else { PART };
        let before = last_characters(&text[line_start..start], part);
        let marked = first_characters(text[start..end].trim_end(), part);
        let after = first_characters(text[start + marked.len()..line_end].trim_end(), part);

        let mut shown = String::new();
        if before.len() < start - line_start {
            shown.push('…');
        }
        let indent = width(&shown) + push(&mut shown, before);
        let carets = push(&mut shown, marked).max(1);
        push(&mut shown, after);
        if start + marked.len() + after.len() < text[..line_end].trim_end().len() {
            shown.push('…');
        }
        Self { line: location.line, shown, indent, carets }
    }
}

impl fmt::Display for Excerpt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let number = self.line.to_string();
        let gutter = number.len().max(4);
        write!(f, "\n{number:>gutter$} | {}", self.shown)?;
        write!(f, "\n{:gutter$} | {:indent$}{}", "", "", "^".repeat(self.carets), indent = self.indent)
    }
}

/// Appends what stays one cell per character however it is displayed, and returns its width.
fn push(shown: &mut String, text: &str) -> usize {
    let mut cells = 0;
    for c in text.chars() {
        let c = match c {
            '\t' => '→',
            c if is_invisible(c) => '\u{fffd}',
            c => c,
        };
        shown.push(c);
        cells += c.width().unwrap_or(1);
    }
    cells
}

fn width(text: &str) -> usize {
    text.chars().filter_map(UnicodeWidthChar::width).sum()
}

fn first_characters(text: &str, count: usize) -> &str {
    text.char_indices().nth(count).map_or(text, |(end, _)| &text[..end])
}

fn last_characters(text: &str, count: usize) -> &str {
    text.char_indices().rev().nth(count.saturating_sub(1)).map_or(text, |(start, _)| &text[start..])
}
