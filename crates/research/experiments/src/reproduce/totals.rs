//! How many statements hold, differ or were not compared: of each figure, and of all.

use crate::{Cause, Entry, Statement, Verdict};
use serde::{Deserialize, Serialize};

use super::measured::{Measured, Reproduced};

/// How many statements came to what.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Tally {
    /// Seen here, too.
    pub hold: usize,
    /// Different, and an experiment shows why.
    pub differ_tested: usize,
    /// Different; experiments show what is not the cause.
    pub differ_ruled_out: usize,
    /// Different, and no experiment says anything about the cause.
    pub differ_unexplained: usize,
    /// Without a measurement that they can be held against.
    pub not_compared: usize,
}

impl Tally {
    /// Of some statements.
    pub fn of<'a>(statements: impl IntoIterator<Item = &'a Statement>) -> Self {
        let mut tally = Self::default();
        for statement in statements {
            let count = match (statement.verdict, &statement.cause) {
                (Verdict::Holds, _) => &mut tally.hold,
                (Verdict::Differs, Some(Cause::Tested(_))) => &mut tally.differ_tested,
                (Verdict::Differs, Some(Cause::RuledOut(_))) => &mut tally.differ_ruled_out,
                (Verdict::Differs, None) => &mut tally.differ_unexplained,
                (Verdict::NotCompared, _) => &mut tally.not_compared,
            };
            *count += 1;
        }
        tally
    }

    /// The numbers, in the order of [`HEADS`]; nothing for 0, so that the others are seen.
    pub(crate) fn cells(&self) -> [String; 5] {
        let numbers =
            [self.hold, self.differ_tested, self.differ_ruled_out, self.differ_unexplained, self.not_compared];
        numbers.map(|number| if number == 0 { String::new() } else { number.to_string() })
    }

    /// What [`Tally::cells`] makes of one. `None` if it is something else.
    pub(crate) fn of_cells<'a>(cells: impl Iterator<Item = &'a str>) -> Option<Self> {
        let number = |cell: &str| if cell.trim().is_empty() { Some(0) } else { cell.trim().parse().ok() };
        let numbers: Vec<usize> = cells.take(HEADS.len()).map(number).collect::<Option<_>>()?;
        let [hold, differ_tested, differ_ruled_out, differ_unexplained, not_compared] = numbers.try_into().ok()?;
        Some(Self { hold, differ_tested, differ_ruled_out, differ_unexplained, not_compared })
    }

    /// With those of another figure.
    pub(crate) fn and(self, other: Self) -> Self {
        Self {
            hold: self.hold + other.hold,
            differ_tested: self.differ_tested + other.differ_tested,
            differ_ruled_out: self.differ_ruled_out + other.differ_ruled_out,
            differ_unexplained: self.differ_unexplained + other.differ_unexplained,
            not_compared: self.not_compared + other.not_compared,
        }
    }

    /// Different for whatever cause.
    pub(crate) fn differ(&self) -> usize {
        self.differ_tested + self.differ_ruled_out + self.differ_unexplained
    }
}

/// What stands above the numbers of a [`Tally`].
pub(crate) const HEADS: [&str; 5] =
    ["hold", "differ, cause tested", "differ, causes ruled out", "differ, unexplained", "not compared"];

/// What became of the figures that were asked for.
#[derive(Serialize)]
pub struct Totals {
    /// Those that were measured.
    pub figures: Vec<Row>,
    /// Those that this machine cannot measure.
    #[serde(rename = "leftOut")]
    pub left_out: Vec<Missing>,
    /// Those that should have been measured.
    pub failed: Vec<Missing>,
    /// All statements.
    pub total: Tally,
}

/// A figure that was measured.
#[derive(Serialize)]
pub struct Row {
    /// Its name.
    pub figure: &'static str,
    /// Its statements.
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
        Self {
            left_out: missing(&reproduced.left_out),
            failed: missing(&reproduced.failed),
            ..Self::of_figures(&reproduced.figures)
        }
    }

    /// Of figures that were measured, whatever became of the others.
    pub(crate) fn of_figures(figures: &[Measured]) -> Self {
        let row =
            |measured: &Measured| Row { figure: measured.entry.id, tally: Tally::of(&measured.figure.statements) };
        Self {
            figures: figures.iter().map(row).collect(),
            left_out: Vec::new(),
            failed: Vec::new(),
            total: Tally::of(figures.iter().flat_map(|measured| &measured.figure.statements)),
        }
    }

    /// A sentence for each figure that was not measured.
    pub(crate) fn missing(&self) -> Vec<String> {
        let sentences = |what: &str, of: &[Missing]| -> Vec<String> {
            of.iter().map(|missing| format!("{} {what}: {}", missing.figure, missing.why)).collect()
        };
        [sentences("was left out", &self.left_out), sentences("failed", &self.failed)].concat()
    }
}

/// Why figures are not in a folder: what the file of totals says about the last run, and nothing about runs before it.
#[derive(Deserialize, Default)]
pub(crate) struct Reasons {
    #[serde(rename = "leftOut")]
    left_out: Vec<Missing>,
    failed: Vec<Missing>,
}

impl Reasons {
    /// Why a figure was not measured, as far as it is known.
    pub(crate) fn of(&self, entry: &Entry) -> String {
        let missing =
            |of: &[Missing]| of.iter().find(|missing| missing.figure == entry.id).map(|missing| missing.why.clone());
        let left_out = missing(&self.left_out).map(|why| format!("Left out: {why}."));
        let failed = || missing(&self.failed).map(|why| format!("Failed: {why}."));
        left_out.or_else(failed).unwrap_or_else(|| "Not measured in this run.".to_owned())
    }
}
