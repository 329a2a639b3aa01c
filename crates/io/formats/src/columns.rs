//! Files of numbers in columns, as other simulators read them: lines of words that know their places.

use crate::location::Span;
use crate::messages::quoted;
use crate::problem::{ProblemKind, Problems};

/// A word and its place.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Word<'t> {
    pub(crate) text: &'t str,
    pub(crate) span: Span,
}

/// A line that is not empty.
#[derive(Clone, Debug)]
pub(crate) struct Line<'t> {
    /// At least one.
    pub(crate) words: Vec<Word<'t>>,
    /// From the first word to the last.
    pub(crate) span: Span,
}

/// The lines of a text, without empty ones and those that begin with `#`.
pub(crate) fn lines(text: &str) -> impl Iterator<Item = Line<'_>> {
    let mut at = 0;
    text.split('\n').filter_map(move |line| {
        let start = at;
        at += line.len() + 1;
        // The words are parts of the line, so their distance from its start is their place.
        let offset = |word: &str| start + (word.as_ptr() as usize - line.as_ptr() as usize);
        let words: Vec<Word<'_>> = line
            .split_whitespace()
            .map(|text| Word { text, span: Span::new(offset(text)..offset(text) + text.len()) })
            .collect();
        let (first, last) = (words.first()?, words.last()?);
        let span = first.span.to(last.span);
        (!first.text.starts_with('#')).then_some(Line { words, span })
    })
}

impl Word<'_> {
    /// A whole number.
    pub(crate) fn whole(self, what: &str, problems: &mut Problems<'_>) -> Option<u64> {
        let digits = self.text.bytes().all(|byte| byte.is_ascii_digit());
        let number = Some(self.text).filter(|_| digits).and_then(|text| text.parse().ok());
        if number.is_none() {
            let message = || format!("{} is not a {what}: a whole number is expected", quoted(self.text));
            problems.report(ProblemKind::BadValue, self.span, message);
        }
        number
    }

    /// A number of at least zero.
    pub(crate) fn number(self, what: &str, problems: &mut Problems<'_>) -> Option<f64> {
        let plain = self.text.bytes().all(|byte| byte.is_ascii_digit() || b"+-.eE".contains(&byte));
        let number = Some(self.text).filter(|_| plain).and_then(|text| text.parse().ok());
        let number = number.filter(|number: &f64| *number >= 0.0 && number.is_finite());
        if number.is_none() {
            let message = || format!("{} is not a {what}: a number of at least 0 is expected", quoted(self.text));
            problems.report(ProblemKind::BadValue, self.span, message);
        }
        number
    }
}

/// Returns the next line, which is required; `what` names it in the error if it is missing.
pub(crate) fn expect_line<'t>(
    lines: &mut impl Iterator<Item = Line<'t>>,
    text: &str,
    what: impl FnOnce() -> String,
    problems: &mut Problems<'_>,
) -> Option<Line<'t>> {
    let line = lines.next();
    if line.is_none() {
        let end = text.trim_end().len();
        problems.report(ProblemKind::MissingKey, Span::new(end..end), || format!("unexpected end of file: {}", what()));
    }
    line
}
