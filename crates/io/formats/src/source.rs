//! A text with its name.

use std::path::Path;
use std::sync::Arc;

use crate::location::{SourceLocation, Span};

/// A text and the name that messages give it. Cheap to clone.
///
/// ```
/// use wayleave_formats::Source;
/// let source = Source::new("contracts.yaml", "kind: Contracts\n");
/// assert_eq!(source.name(), "contracts.yaml");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    pub(crate) name: Arc<str>,
    pub(crate) text: Arc<str>,
    /// Of a file in a binary form that is read here; its text is empty.
    pub(crate) bytes: Option<Arc<[u8]>>,
}

impl Source {
    /// A text from memory. A byte order mark at its start is dropped.
    pub fn new(name: &str, text: impl Into<Arc<str>>) -> Self {
        let text = text.into();
        let text = match text.strip_prefix('\u{feff}') {
            Some(rest) => Arc::from(rest),
            None => text,
        };
        Self { name: Arc::from(name), text, bytes: None }
    }

    /// Returns the name in messages.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The text, without a byte order mark.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Returns the bytes of a file in a binary form; `None` for text.
    pub(crate) fn bytes(&self) -> Option<&[u8]> {
        self.bytes.as_deref()
    }

    /// The line of a place, counted from 1, for messages that point at a second one.
    pub(crate) fn line_of(&self, span: Span) -> usize {
        SourceLocation::new(&self.text, span).line
    }

    /// The name without folders and ending: what a document without `metadata.name` is called.
    pub(crate) fn stem(&self) -> &str {
        Path::new(&*self.name).file_stem().and_then(|stem| stem.to_str()).unwrap_or(&self.name)
    }

    /// Returns `true` if the name ends in `.ending`.
    pub(crate) fn ends_in(&self, ending: &str) -> bool {
        Path::new(&*self.name).extension().is_some_and(|given| given.eq_ignore_ascii_case(ending))
    }
}
