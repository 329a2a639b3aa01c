//! What was measured: a figure, and a run of several.

use crate::{Entry, Figure};
use serde::{Deserialize, Serialize};

/// A figure that was measured, and how.
pub struct Measured {
    /// Which.
    pub entry: &'static Entry,
    /// What came of it.
    pub figure: Figure,
    /// `full` or `quick`.
    pub effort: String,
    /// The command that does the same.
    pub command: String,
    /// By what, and when.
    pub origin: MeasuredBy,
}

/// What measured a figure, and when. A program does not know its commit, and results should not depend on a clock: both are told.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MeasuredBy {
    /// The version of the program.
    #[serde(rename = "wayleave")]
    pub version: String,
    /// The commit it was built from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
    /// The day, as `2026-11-22`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub date: Option<String>,
}

/// What came of a run.
pub struct Reproduced {
    /// The figures, in the order in which they were asked for.
    pub figures: Vec<Measured>,
    /// Those that were left out, each with what this machine lacks.
    pub left_out: Vec<(&'static Entry, String)>,
    /// Those that could not be measured although they should, each with the reason. The others were measured all the same.
    pub failed: Vec<(&'static Entry, String)>,
    /// Whether somebody has stopped it.
    pub is_stopped: bool,
}

impl Default for MeasuredBy {
    /// This program, of an unknown commit, at an unknown time.
    fn default() -> Self {
        Self { version: env!("CARGO_PKG_VERSION").to_owned(), commit: None, date: None }
    }
}

impl MeasuredBy {
    /// `wayleave 0.1.0`.
    pub(crate) fn program(&self) -> String {
        format!("wayleave {}", self.version)
    }
}

impl Measured {
    /// A short name for what was measured with what: FNV-1a over the figure's name, settings and seeds, and the effort.
    pub fn input_hash(&self) -> String {
        let Figure { settings, seeds, .. } = &self.figure;
        let text = format!("{} {} {settings:?} {seeds:?}", self.entry.id, self.effort);
        format!("{:016x}", wayleave_sim::trace::fnv1a(text.as_bytes()))
    }
}
