//! Problems of a file, as text with positions; they are collected, so that one run shows many.

use std::fmt;

use wayleave_units::count;

use crate::excerpt::Excerpt;
use crate::location::{SourceLocation, Span};
use crate::messages::{printable, quoted};
use crate::renamed::{KEY_WARNINGS, RenamedKey};
use crate::source::Source;

/// Maximum number of problems of a file that are kept; the others are counted.
pub const MAX_PROBLEMS: usize = 20;

/// Type of a problem. Stable: scripts may match on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ProblemKind {
    /// The file is not there or cannot be read.
    Unreadable,
    /// Its bytes are no UTF-8 text.
    NotText,
    /// Longer, deeper or more numerous than accepted.
    TooLarge,
    /// Nothing is in it.
    Empty,
    /// It is no YAML, JSON or CSV, or uses a part of YAML that is not read here.
    Syntax,
    /// Another `apiVersion` or `kind`.
    WrongKind,
    /// A list where text is expected, text where a number is expected, and so on.
    WrongType,
    /// An unknown key.
    UnknownKey,
    /// A key that is needed.
    MissingKey,
    /// A duplicate key in one mapping.
    DuplicateKey,
    /// A name that is taken.
    DuplicateName,
    /// A node, link, contract or testbed that does not exist.
    UnknownName,
    /// A quantity that cannot be read: no unit, wrong unit, too large, too fine.
    BadValue,
    /// Everything can be read, but no network or contract can mean it.
    Impossible,
    /// An event that cannot happen at its place.
    BadOrder,
    /// The text contradicts its request.
    Contradiction,
    /// An old name of a key. A warning: the file is accepted.
    OldKey,
    /// Found later, by a user of the contracts: see `ContractList::finding`.
    Finding,
}

/// One thing that is wrong, and where.
///
/// `Display` gives `file:line:column: message`, the source line with a caret, the context and the hint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    kind: ProblemKind,
    message: String,
    hint: Option<String>,
    context: Option<String>,
    location: Option<SourceLocation>,
    source: Source,
}

impl Problem {
    /// A problem at a place.
    pub(crate) fn at(source: &Source, span: Span, kind: ProblemKind, message: &str) -> Self {
        let location = Some(SourceLocation::new(source.text(), span));
        Self { location, ..Self::of_file(source, kind, message) }
    }

    /// A problem of the file as a whole.
    pub(crate) fn of_file(source: &Source, kind: ProblemKind, message: &str) -> Self {
        let message = printable(message);
        Self { kind, message, hint: None, context: None, location: None, source: source.clone() }
    }

    /// Adds what to do about it.
    #[must_use]
    pub fn with_hint(self, hint: &str) -> Self {
        Self { hint: Some(printable(hint)), ..self }
    }

    /// Adds what it is part of, such as `contract "ptp-1"`.
    #[must_use]
    pub fn with_context(self, context: &str) -> Self {
        Self { context: Some(printable(context)), ..self }
    }

    /// Returns the type of the problem.
    pub fn kind(&self) -> ProblemKind {
        self.kind
    }

    /// Returns the problem and the expected form, in one sentence.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// Returns a remedy, if the message does not contain one.
    pub fn hint(&self) -> Option<&str> {
        self.hint.as_deref()
    }

    /// Returns the enclosing object, such as `contract "ptp-1"`.
    pub fn context(&self) -> Option<&str> {
        self.context.as_deref()
    }

    /// Returns the position; `None` if the problem concerns the file as a whole.
    pub fn location(&self) -> Option<&SourceLocation> {
        self.location.as_ref()
    }

    /// The text that it is in.
    pub fn source_text(&self) -> &Source {
        &self.source
    }

    fn position(&self) -> usize {
        self.location.as_ref().map_or(0, |location| location.bytes.start)
    }
}

impl Source {
    /// Something that was found out elsewhere about a place in this text: line and column are counted from 1, the column in
    /// characters.
    ///
    /// ```
    /// let source = wayleave_formats::Source::new("contracts.yaml", "kind: Contracts\nspec: 7\n");
    /// assert_eq!(
    ///     source.finding_at(2, 7, "a mapping is expected").to_string(),
    ///     "contracts.yaml:2:7: a mapping is expected\n   2 | spec: 7\n     |       ^"
    /// );
    /// ```
    pub fn finding_at(&self, line: usize, column: usize, message: &str) -> Problem {
        let lines = self.text.split_inclusive('\n');
        let start: usize = lines.clone().take(line.saturating_sub(1)).map(str::len).sum();
        let text = self.text[start..].lines().next().unwrap_or_default();
        let within = text.char_indices().nth(column.saturating_sub(1)).map_or(text.len(), |(at, _)| at);
        let span = Span::new(start + within..start + within);
        Problem::at(self, span, ProblemKind::Finding, message)
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", printable(self.source.name()))?;
        if let Some(location) = &self.location {
            write!(f, ":{}:{}", location.line, location.column)?;
        }
        write!(f, ": {}", self.message)?;
        if let Some(location) = &self.location {
            write!(f, "{}", Excerpt::new(self.source.text(), location))?;
        }
        if let Some(context) = &self.context {
            write!(f, "\n  in {context}")?;
        }
        if let Some(hint) = &self.hint {
            write!(f, "\n  hint: {hint}")?;
        }
        Ok(())
    }
}

impl std::error::Error for Problem {}

/// Everything that is wrong with a file: at least one problem, in order of place, and at most [`MAX_PROBLEMS`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InputErrors {
    problems: Vec<Problem>,
    more: usize,
}

impl InputErrors {
    /// A single problem.
    pub(crate) fn one(problem: Problem) -> Self {
        Self { problems: vec![problem], more: 0 }
    }

    /// The problems, in order of place.
    pub fn problems(&self) -> &[Problem] {
        &self.problems
    }

    /// Returns the number of further problems.
    pub fn more(&self) -> usize {
        self.more
    }
}

impl fmt::Display for InputErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, problem) in self.problems.iter().enumerate() {
            let separator = if index == 0 { "" } else { "\n\n" };
            write!(f, "{separator}{problem}")?;
        }
        match self.more {
            0 => Ok(()),
            more => write!(f, "\n\nand {}", count(more, "more problem")),
        }
    }
}

impl std::error::Error for InputErrors {}

impl From<Problem> for InputErrors {
    fn from(problem: Problem) -> Self {
        Self::one(problem)
    }
}

/// Collects problems while a source is read.
///
/// Messages are closures: beyond the limit they are never composed, and so cost nothing in a file with a million
/// wrong lines. All scans of the text (for a line number) or of a list of names (for the nearest one) belong inside
/// them.
pub(crate) struct Problems<'s> {
    source: &'s Source,
    found: Vec<Problem>,
    more: usize,
    /// Old keys that were warned of.
    old_keys: Vec<RenamedKey>,
}

impl<'s> Problems<'s> {
    pub(crate) fn new(source: &'s Source) -> Self {
        Self { source, found: Vec::new(), more: 0, old_keys: Vec::new() }
    }

    pub(crate) fn source(&self) -> &'s Source {
        self.source
    }

    /// Notes a problem at a place.
    pub(crate) fn report<M: Into<Message>>(&mut self, kind: ProblemKind, span: Span, message: impl FnOnce() -> M) {
        if self.are_full() {
            self.more += 1;
            return;
        }
        let Message { text, hint } = message().into();
        let problem = Problem::at(self.source, span, kind, &text);
        self.found.push(match hint {
            Some(hint) => problem.with_hint(&hint),
            None => problem,
        });
    }

    /// Warns of an old key, once for each source.
    pub(crate) fn warn_of_old_key(&mut self, key: RenamedKey, span: Span) {
        if self.old_keys.contains(&key) {
            return;
        }
        self.old_keys.push(key);
        let RenamedKey { of, old, new } = key;
        let message = format!("{} of {of} is now called {}", quoted(old), quoted(new));
        let problem = Problem::at(self.source, span, ProblemKind::OldKey, &message);
        let problem = problem.with_hint(&format!("write {new}: the next release refuses {old}"));
        log::warn!(target: KEY_WARNINGS, "{problem}");
    }

    /// Notes the problem that explains all others: they are dropped.
    pub(crate) fn overrule<M: Into<Message>>(&mut self, kind: ProblemKind, span: Span, message: impl FnOnce() -> M) {
        self.found.clear();
        self.more = 0;
        self.report(kind, span, message);
    }

    /// Returns `true` if further problems are only counted, so that a search for hints is useless.
    pub(crate) fn are_full(&self) -> bool {
        self.found.len() == MAX_PROBLEMS
    }

    /// Drops the missing keys since `mark`: a syntax error came before they could.
    pub(crate) fn forget_missing_since(&mut self, mark: usize) {
        let mut index = 0;
        self.found.retain(|problem| {
            index += 1;
            index <= mark || problem.kind != ProblemKind::MissingKey
        });
    }

    /// Notes what is wrong with another file, which this one names.
    pub(crate) fn adopt(&mut self, errors: InputErrors) {
        let room = MAX_PROBLEMS - self.found.len();
        self.more += errors.more + errors.problems.len().saturating_sub(room);
        self.found.extend(errors.problems.into_iter().take(room));
    }

    /// A mark for [`Self::explain_since`].
    pub(crate) fn mark(&self) -> usize {
        self.found.len()
    }

    /// Gives the problems since `mark` a context.
    pub(crate) fn explain_since(&mut self, mark: usize, context: impl Fn() -> String) {
        for problem in &mut self.found[mark..] {
            if problem.context.is_none() {
                problem.context = Some(printable(&context()));
            }
        }
    }

    /// The result, if nothing was wrong.
    pub(crate) fn finish<T>(mut self, result: Option<T>) -> Result<T, InputErrors> {
        match result {
            Some(result) if self.found.is_empty() => Ok(result),
            _ => {
                if self.found.is_empty() {
                    let what = "could not be read, and the parser gave no reason: please report this";
                    self.found.push(Problem::of_file(self.source, ProblemKind::Syntax, what));
                }
                // This file first, then those that it names.
                let own = self.source.name();
                self.found.sort_by(|a, b| {
                    let (a_name, b_name) = (a.source.name(), b.source.name());
                    (a_name != own, a_name, a.position()).cmp(&(b_name != own, b_name, b.position()))
                });
                Err(InputErrors { problems: self.found, more: self.more })
            }
        }
    }
}

/// A message, and perhaps a hint.
pub(crate) struct Message {
    pub(crate) text: String,
    pub(crate) hint: Option<String>,
}

impl From<String> for Message {
    fn from(text: String) -> Self {
        Self { text, hint: None }
    }
}

impl From<&str> for Message {
    fn from(text: &str) -> Self {
        Self::from(text.to_owned())
    }
}

impl<T: Into<String>, H: Into<String>> From<(T, H)> for Message {
    fn from((text, hint): (T, H)) -> Self {
        Self { text: text.into(), hint: Some(hint.into()) }
    }
}
