//! Measured figures: one figure, and a run of several.

use crate::{Entry, Figure};
use serde::{Deserialize, Serialize};

/// A measured figure, and its origin.
pub struct Measured {
    /// The figure's catalogue entry.
    pub entry: &'static Entry,
    /// The measured figure.
    pub figure: Figure,
    /// `full` or `quick`.
    pub effort: String,
    /// Command that measures it again.
    pub command: String,
    /// Program and date of the measurement.
    pub origin: MeasuredBy,
}

/// Program that measured a figure, and the date. A program does not know its commit, and results must not depend on a
/// clock: the caller passes both.
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

/// Outcome of a reproduction.
pub struct Reproduced {
    /// The figures, in the order in which they were asked for.
    pub figures: Vec<Measured>,
    /// Figures that were left out, each with the requirement that this machine lacks.
    pub left_out: Vec<(&'static Entry, String)>,
    /// Figures whose measurement failed, each with the reason. The others were still measured.
    pub failed: Vec<(&'static Entry, String)>,
    /// Figure whose measurement was cancelled, if one was.
    pub cancelled: Option<CancelledFigure>,
}

/// A figure whose measurement was cancelled.
#[derive(Clone, Debug)]
pub struct CancelledFigure {
    /// The figure's catalogue entry.
    pub entry: &'static Entry,
    /// The figures after it, which were not begun.
    pub not_begun: Vec<&'static Entry>,
    /// Number of completed runs in the folder of [`ReproduceOptions::with_resume`](crate::ReproduceOptions::with_resume)
    /// that figures of this reproduction use.
    pub kept_runs: usize,
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
    /// Returns a short name for the inputs of a measurement: FNV-1a over the figure's name, settings and seeds, and
    /// the effort.
    pub fn input_hash(&self) -> String {
        let Figure { settings, seeds, .. } = &self.figure;
        let text = format!("{} {} {settings:?} {seeds:?}", self.entry.id, self.effort);
        format!("{:016x}", wayleave_sim::trace::fnv1a(text.as_bytes()))
    }
}
