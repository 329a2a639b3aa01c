//! A figure that was measured.

use wayleave_experiments::{Entry, Figure};

/// A figure that was measured, and how.
pub struct Measured {
    /// Which.
    pub entry: &'static Entry,
    /// What came of it.
    pub figure: Figure,
    /// `full` or `quick`.
    pub effort: &'static str,
    /// The command that does the same.
    pub command: String,
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
