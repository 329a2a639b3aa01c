//! Positions in a text: byte spans for machines, lines and columns for people.

use std::ops::Range;

/// Bytes of a source, as a start and a length; texts are at most [`MAX_TEXT`](crate::MAX_TEXT) long.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Span {
    start: u32,
    length: u32,
}

impl Span {
    /// From byte offsets; what lies beyond `u32` is cut off (no text that long is accepted).
    pub(crate) fn new(range: Range<usize>) -> Self {
        let clamp = |offset: usize| u32::try_from(offset).unwrap_or(u32::MAX);
        let start = clamp(range.start);
        Self { start, length: clamp(range.end).saturating_sub(start) }
    }

    /// A place in no text.
    pub(crate) const fn nowhere() -> Self {
        Self { start: u32::MAX, length: u32::MAX }
    }

    pub(crate) fn start(self) -> usize {
        self.start as usize
    }

    pub(crate) fn end(self) -> usize {
        self.start as usize + self.length as usize
    }

    pub(crate) fn range(self) -> Range<usize> {
        self.start()..self.end()
    }

    /// From the start of this one to the end of the other.
    pub(crate) fn to(self, other: Self) -> Self {
        Self::new(self.start()..other.end().max(self.end()))
    }

    /// Returns a part of the span, in bytes from its start.
    pub(crate) fn part(self, range: Range<usize>) -> Self {
        Self::new(self.start() + range.start..(self.start() + range.end).min(self.end()))
    }
}

/// A place in a source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceLocation {
    /// Counted from 1.
    pub line: usize,
    /// In characters, counted from 1.
    pub column: usize,
    /// In bytes of [`Source::text`](crate::Source::text).
    pub bytes: Range<usize>,
}

impl SourceLocation {
    /// Finds line and column; offsets inside a character or beyond the text move back to the nearest boundary.
    pub(crate) fn new(text: &str, span: Span) -> Self {
        let start = boundary(text, span.start());
        let end = boundary(text, span.end()).max(start);
        let before = &text.as_bytes()[..start];
        let line = 1 + before.iter().filter(|&&byte| byte == b'\n').count();
        let line_start = before.iter().rposition(|&byte| byte == b'\n').map_or(0, |newline| newline + 1);
        Self { line, column: 1 + text[line_start..start].chars().count(), bytes: start..end }
    }
}

/// The nearest start of a character at or before `offset`.
pub(crate) fn boundary(text: &str, offset: usize) -> usize {
    let mut offset = offset.min(text.len());
    while !text.is_char_boundary(offset) {
        offset -= 1;
    }
    offset
}
