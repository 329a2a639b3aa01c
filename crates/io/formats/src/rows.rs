//! The rows of a CSV text.
//!
//! `csv-core` returns the number of bytes of each field, so a problem in row 800,000 has its column.

use std::borrow::Cow;

use csv_core::{ReadFieldResult, Reader, ReaderBuilder};

use crate::contracts::Text;
use crate::csv_field::without_mark;
use crate::location::Span;

/// The rows of a CSV text, every cell with its place and without spaces around it.
///
/// Fields are separated by commas, or by semicolons or tabs where the first line has no comma, as spreadsheets write them
/// in countries with a decimal comma. There a comma between two digits is a decimal point.
pub(crate) struct Rows<'a> {
    text: &'a str,
    at: usize,
    reader: Reader,
    unquoted: Vec<u8>,
    delimiter: char,
    /// A quotation mark that is never closed.
    pub(crate) open_quote: Option<Span>,
}

impl<'a> Rows<'a> {
    pub(crate) fn new(text: &'a str) -> Self {
        let delimiter = delimiter(text);
        let reader = ReaderBuilder::new().delimiter(delimiter as u8).build();
        Self { text, at: 0, reader, unquoted: vec![0; 256], delimiter, open_quote: None }
    }

    /// Reads the next row into `row`; false at the end.
    pub(crate) fn next(&mut self, row: &mut Vec<Text<'a>>) -> bool {
        row.clear();
        loop {
            let start = self.at;
            let mut written = 0;
            let last = loop {
                let input = &self.text.as_bytes()[self.at..];
                let (result, read, wrote) = self.reader.read_field(input, &mut self.unquoted[written..]);
                self.at += read;
                written += wrote;
                match result {
                    ReadFieldResult::InputEmpty => {}
                    ReadFieldResult::OutputFull => self.unquoted.resize(self.unquoted.len() * 2, 0),
                    ReadFieldResult::Field { record_end } => break record_end,
                    ReadFieldResult::End => return !row.is_empty(),
                }
            };
            let cell = self.cell(start, written, row.is_empty());
            row.push(cell);
            if last {
                return true;
            }
        }
    }

    /// Returns the cell read from the bytes since `start`, with its terminator and, in a row's first cell, the line
    /// ends before it.
    fn cell(&mut self, start: usize, written: usize, first: bool) -> Text<'a> {
        let consumed = &self.text[start..self.at];
        let body = if first { consumed.trim_start_matches(['\r', '\n']) } else { consumed };
        let begin = self.at - body.len();
        let body = body.strip_suffix([self.delimiter, '\r', '\n']).unwrap_or(body);
        if body.starts_with('"') {
            if self.at == self.text.len() && !body.matches('"').count().is_multiple_of(2) {
                self.open_quote = Some(Span::new(begin..begin + 1));
            }
            let text = String::from_utf8_lossy(&self.unquoted[..written]).trim().to_owned();
            return Text {
                text: without_mark(Cow::Owned(text)),
                span: Span::new(begin..begin + body.trim_end().len()),
            };
        }
        let text = body.trim();
        let begin = begin + body.len() - body.trim_start().len();
        let span = Span::new(begin..begin + text.len());
        let text = if self.delimiter == ',' { Cow::Borrowed(text) } else { with_point(text) };
        Text { text: without_mark(text), span }
    }
}

/// Returns the separator of fields, by the first line with text.
fn delimiter(text: &str) -> char {
    let header = text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
    let others = [';', '\t'].into_iter().find(|&other| header.contains(other));
    others.filter(|_| !header.contains(',')).unwrap_or(',')
}

/// Returns a number with a decimal point, if a comma is between its digits: `2,5Mbit` is `2.5Mbit`.
fn with_point(text: &str) -> Cow<'_, str> {
    let digits = |text: &str| text.chars().take_while(char::is_ascii_digit).count();
    match text.split_once(',') {
        Some((whole, rest)) if !whole.is_empty() && digits(whole) == whole.len() && digits(rest) > 0 => {
            Cow::Owned(format!("{whole}.{rest}"))
        }
        _ => Cow::Borrowed(text),
    }
}
