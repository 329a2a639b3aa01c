//! Additions of a scheme to an answer, beside routes and bounds, as plain values: `explain` prints them.

/// A part of an answer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Section {
    /// Subject of the section.
    pub title: String,
    /// Below it, one line each.
    pub lines: Vec<String>,
    /// Below them.
    pub table: Option<Rows>,
    /// Below that, wrapped.
    pub sentence: Option<String>,
}

/// A table.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rows {
    /// The headings of its columns.
    pub head: Vec<&'static str>,
    /// As many cells each.
    pub rows: Vec<Vec<String>>,
}
