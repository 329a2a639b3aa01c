//! What `wayleave reproduce` makes of a figure: text, data files, pictures, a page.
//!
//! | module | what |
//! |---|---|
//! | [`values`] | numbers as they are read |
//! | [`terminal`] | tables for people |
//! | [`document`], [`csv`] | JSON and CSV |
//! | [`picture`], [`grid`], [`png`] | the panels and tables of a figure in one picture |
//! | [`progress`] | how far it has come |
//! | [`page`] | `index.html`: all figures, with what the texts say |

pub(crate) mod csv;
pub(crate) mod document;
mod grid;
pub(crate) mod page;
pub(crate) mod picture;
pub(crate) mod png;
pub(crate) mod progress;
pub(crate) mod terminal;
pub(crate) mod values;

#[cfg(test)]
mod tests;

use wayleave_experiments::{Entry, Figure};

/// A figure that was measured, and how.
pub(crate) struct Measured {
    /// Which.
    pub(crate) entry: &'static Entry,
    /// What came of it.
    pub(crate) figure: Figure,
    /// `full` or `quick`.
    pub(crate) effort: &'static str,
    /// The command that does the same.
    pub(crate) command: String,
}

impl Measured {
    /// A short name for what was measured with what: FNV-1a over the figure's name, settings and seeds, and the effort.
    pub(crate) fn input_hash(&self) -> String {
        let Figure { settings, seeds, .. } = &self.figure;
        let text = format!("{} {} {settings:?} {seeds:?}", self.entry.id, self.effort);
        format!("{:016x}", wayleave_sim::trace::fnv1a(text.as_bytes()))
    }

    /// `wayleave 0.1.0`.
    pub(crate) fn program() -> String {
        format!("wayleave {}", env!("CARGO_PKG_VERSION"))
    }
}
