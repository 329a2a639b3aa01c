//! The same problems for `miette`, so that the command line can draw them.

use std::fmt;

use miette::{Diagnostic, LabeledSpan, MietteError, SourceCode, SourceSpan, SpanContents};

use crate::problem::{InputErrors, Problem};
use crate::source::Source;

impl SourceCode for Source {
    fn read_span<'a>(
        &'a self,
        span: &SourceSpan,
        context_lines_before: usize,
        context_lines_after: usize,
    ) -> Result<Box<dyn SpanContents<'a> + 'a>, MietteError> {
        let contents = self.text().read_span(span, context_lines_before, context_lines_after)?;
        Ok(Box::new(miette::MietteSpanContents::new_named(
            self.name().to_owned(),
            contents.data(),
            *contents.span(),
            contents.line(),
            contents.column(),
            contents.line_count(),
        )))
    }
}

/// A problem as `miette` wants it: the message alone, with place, hint and source text beside it. (`Display` of a
/// [`Problem`] shows all of that itself, and would show it twice.)
#[derive(Clone, Debug)]
pub struct Report(Problem);

impl Report {
    /// The problem.
    pub fn problem(&self) -> &Problem {
        &self.0
    }
}

impl From<Problem> for Report {
    fn from(problem: Problem) -> Self {
        Self(problem)
    }
}

impl InputErrors {
    /// The problems, one report each, for a `miette` handler. [`Self::more`] says how many are not among them.
    pub fn reports(&self) -> impl Iterator<Item = Report> {
        self.problems().iter().cloned().map(Report)
    }
}

impl fmt::Display for Report {
    /// The file is part of the message only where there is no place to show it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.location() {
            Some(_) => f.write_str(self.0.message()),
            None => write!(f, "{}", self.0),
        }
    }
}

impl std::error::Error for Report {}

impl Diagnostic for Report {
    fn help<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        self.0.location()?;
        self.0.hint().map(|hint| Box::new(hint) as Box<dyn fmt::Display>)
    }

    fn source_code(&self) -> Option<&dyn SourceCode> {
        self.0.location().map(|_| self.0.source_text() as &dyn SourceCode)
    }

    fn labels(&self) -> Option<Box<dyn Iterator<Item = LabeledSpan> + '_>> {
        let location = self.0.location()?;
        let label = self.0.context().map(|context| format!("in {context}"));
        Some(Box::new(std::iter::once(LabeledSpan::new(label, location.bytes.start, location.bytes.len()))))
    }
}
