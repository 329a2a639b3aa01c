//! Numbers of claims by verdict: of each figure, and of all.

use std::iter::Sum;

use crate::{Entry, Statement, Verdict, claims};
use serde::{Deserialize, Serialize};

use super::measured::{Measured, Reproduced};

/// Numbers of claims by verdict.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Tally {
    /// Claims in the range of the text.
    pub holds: usize,
    /// Claims in the range under another reading of the text, or in a named experiment.
    pub holds_under_reading: usize,
    /// Claims that a named experiment moves towards the range.
    pub partly_explained: usize,
    /// Claims outside of the range that no experiment explains.
    pub unexplained: usize,
    /// Claims with too few runs, or whose interval crosses an end of the range.
    pub undecided: usize,
    /// Claims without a measurement that can be compared.
    pub not_compared: usize,
}

impl Tally {
    /// Counts the claims of some statements: readings of one sentence are one claim.
    pub fn of<'a>(statements: impl IntoIterator<Item = &'a Statement>) -> Self {
        let mut tally = Self::default();
        for claim in claims(statements) {
            let count = match claim.verdict() {
                Verdict::Holds => &mut tally.holds,
                Verdict::HoldsUnderReading => &mut tally.holds_under_reading,
                Verdict::PartlyExplained => &mut tally.partly_explained,
                Verdict::Unexplained => &mut tally.unexplained,
                Verdict::Undecided => &mut tally.undecided,
                Verdict::NotCompared => &mut tally.not_compared,
            };
            *count += 1;
        }
        tally
    }

    /// Returns the sum of two tallies.
    fn plus(self, other: Self) -> Self {
        Self {
            holds: self.holds + other.holds,
            holds_under_reading: self.holds_under_reading + other.holds_under_reading,
            partly_explained: self.partly_explained + other.partly_explained,
            unexplained: self.unexplained + other.unexplained,
            undecided: self.undecided + other.undecided,
            not_compared: self.not_compared + other.not_compared,
        }
    }

    /// Returns the numbers in the order of [`Verdict::ALL`].
    pub(crate) const fn numbers(&self) -> [usize; 6] {
        [
            self.holds,
            self.holds_under_reading,
            self.partly_explained,
            self.unexplained,
            self.undecided,
            self.not_compared,
        ]
    }

    /// Returns the numbers in the order of [`HEADS`]; an empty cell for 0, so that the others are seen.
    pub(crate) fn cells(&self) -> [String; 6] {
        self.numbers().map(|number| if number == 0 { String::new() } else { number.to_string() })
    }
}

impl Sum for Tally {
    fn sum<I: Iterator<Item = Self>>(all: I) -> Self {
        all.fold(Self::default(), Self::plus)
    }
}

/// Heads of the columns of a [`Tally`].
pub(crate) const HEADS: [&str; 6] = {
    let mut heads = [""; 6];
    let mut at = 0;
    while at < heads.len() {
        heads[at] = Verdict::ALL[at].name();
        at += 1;
    }
    heads
};

/// Results of the requested figures.
#[derive(Serialize)]
pub struct Totals {
    /// Measured figures.
    pub figures: Vec<Row>,
    /// Figures that this machine cannot measure.
    #[serde(rename = "leftOut")]
    pub left_out: Vec<Missing>,
    /// Figures whose measurement failed.
    pub failed: Vec<Missing>,
    /// Figures that a cancellation ended, or did not let begin.
    pub stopped: Vec<Missing>,
    /// All claims.
    pub total: Tally,
}

/// A figure that was measured.
#[derive(Serialize)]
pub struct Row {
    /// Its name.
    pub figure: &'static str,
    /// Its claims.
    #[serde(flatten)]
    pub tally: Tally,
}

/// A figure that was not measured.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Missing {
    /// Its name.
    pub figure: String,
    /// The reason.
    pub why: String,
}

impl Missing {
    fn of((entry, why): &(&'static Entry, String)) -> Self {
        Self { figure: entry.id.to_owned(), why: why.clone() }
    }
}

impl Totals {
    /// Of a run.
    pub fn of(reproduced: &Reproduced) -> Self {
        let missing = |of: &[(&'static Entry, String)]| of.iter().map(Missing::of).collect();
        let stopped = reproduced.cancelled.iter().flat_map(|cancelled| {
            let ended = [(cancelled.entry, "stopped before its end".to_owned())];
            ended.into_iter().chain(cancelled.not_begun.iter().map(|&entry| (entry, "not begun".to_owned())))
        });
        Self {
            left_out: missing(&reproduced.left_out),
            failed: missing(&reproduced.failed),
            stopped: missing(&stopped.collect::<Vec<_>>()),
            ..Self::of_figures(&reproduced.figures)
        }
    }

    /// Returns the totals of measured figures only.
    pub(crate) fn of_figures(figures: &[Measured]) -> Self {
        let row =
            |measured: &Measured| Row { figure: measured.entry.id, tally: Tally::of(&measured.figure.statements) };
        Self {
            figures: figures.iter().map(row).collect(),
            left_out: Vec::new(),
            failed: Vec::new(),
            stopped: Vec::new(),
            // Claims of different figures are different claims, also where they read alike.
            total: figures.iter().map(|measured| Tally::of(&measured.figure.statements)).sum(),
        }
    }

    /// A sentence for each figure that was not measured.
    pub(crate) fn missing(&self) -> Vec<String> {
        let sentences = |what: &str, of: &[Missing]| -> Vec<String> {
            of.iter().map(|missing| format!("{} {what}: {}", missing.figure, missing.why)).collect()
        };
        let stopped = sentences("is missing because the command was stopped", &self.stopped);
        [sentences("was left out", &self.left_out), sentences("failed", &self.failed), stopped].concat()
    }
}

/// Reasons for which figures are not in a folder, from the file of totals. It covers the last run, but not runs
/// before it.
#[derive(Deserialize, Default)]
pub(crate) struct Reasons {
    #[serde(rename = "leftOut")]
    left_out: Vec<Missing>,
    failed: Vec<Missing>,
    #[serde(default)]
    stopped: Vec<Missing>,
}

impl Reasons {
    /// Returns the reason for which a figure was not measured, as far as it is known.
    pub(crate) fn of(&self, entry: &Entry) -> String {
        let kinds = [("Left out", &self.left_out), ("Failed", &self.failed), ("Not complete", &self.stopped)];
        let of = |(what, missing): (&str, &Vec<Missing>)| {
            let missing = missing.iter().find(|missing| missing.figure == entry.id)?;
            Some(format!("{what}: {}.", missing.why))
        };
        kinds.into_iter().find_map(of).unwrap_or_else(|| "Not measured in this run.".to_owned())
    }
}
