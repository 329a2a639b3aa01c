//! Statements of a paper's text, their measurements and verdicts.

mod claim;
#[cfg(test)]
mod ranges;
#[cfg(test)]
mod testing;
mod verdict;

use std::ops::RangeInclusive;

use serde::{Deserialize, Serialize};

use crate::digits::number;
use crate::numbers;

pub use claim::{Claim, claims};
#[cfg(test)]
pub(crate) use ranges::too_wide;
#[cfg(test)]
pub(crate) use testing::{assert_all_can_fail, assert_each_can_change, recorded};
use verdict::MIN_RUNS_OF_MEAN;
pub use verdict::{Check, Effect, Estimate, Experiment, Outcome, Verdict};

/// Runs of a measurement, and runs that a verdict needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Runs {
    /// Number of seeds that were run.
    pub made: usize,
    /// Number of seeds of a full measurement.
    pub needed: usize,
}

/// Statement of a paper's text in our words, with the measurement under one reading of the text.
///
/// Statements of a figure with the same `claim_text` are readings of one [`Claim`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Statement {
    /// The section of the paper.
    pub section: String,
    /// The claim. Together with the range it identifies the definition of the statement.
    #[serde(rename = "says")]
    pub claim_text: String,
    /// The reading of the text under which this was measured; empty for the only one.
    #[serde(skip_serializing_if = "String::is_empty", default)]
    pub reading: String,
    /// The rule that compares `values` with `range`.
    pub check: Check,
    /// The range of the text; infinite where it is open.
    #[serde(skip_serializing_if = "Option::is_none", default, deserialize_with = "numbers::interval")]
    pub range: Option<[f64; 2]>,
    /// The numbers that are compared with the range.
    #[serde(skip_serializing_if = "Vec::is_empty", default, deserialize_with = "numbers::many")]
    pub values: Vec<f64>,
    /// The same in short, from which the verdict follows.
    pub estimate: Estimate,
    /// The measurement in words.
    pub measured: String,
    /// The verdict. It follows from the other fields and is computed again when a statement is read.
    pub verdict: Verdict,
    /// A remark; empty if there is none.
    #[serde(rename = "why")]
    pub remark: String,
    /// Experiments with numbers that may explain a difference.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub experiments: Vec<Experiment>,
    /// A cause without numbers that support it; empty if there is none.
    #[serde(skip_serializing_if = "String::is_empty", default)]
    pub hypothesis: String,
    /// Changes that were tried and leave the difference as it is.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub ruled_out: Vec<String>,
    /// Runs that were made and that are needed; none where the measurement does not depend on a seed.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub runs: Option<Runs>,
}

impl Statement {
    fn new(
        (section, claim_text): (&str, String),
        check: Check,
        range: Option<[f64; 2]>,
        values: Vec<f64>,
        measured: String,
    ) -> Self {
        let statement = Self {
            section: section.to_owned(),
            claim_text,
            reading: String::new(),
            check,
            range,
            estimate: check.estimate(&values),
            values,
            measured,
            verdict: Verdict::NotCompared,
            remark: String::new(),
            experiments: Vec::new(),
            hypothesis: String::new(),
            ruled_out: Vec::new(),
            runs: None,
        };
        statement.judged()
    }

    /// Returns a statement that is true or false of what was measured.
    pub fn claim(section: &str, claim_text: impl Into<String>, is_so: bool, measured: impl Into<String>) -> Self {
        let values = vec![f64::from(u8::from(is_so))];
        Self::new((section, claim_text.into()), Check::Truth, Some([1.0, 1.0]), values, measured.into())
    }

    /// Returns a statement that names a range: it holds if there are numbers and all of them are in the range.
    ///
    /// # Panics
    /// If the range is empty or has no finite end: such a statement cannot fail.
    pub fn within(
        section: &str,
        claim_text: impl Into<String>,
        range: RangeInclusive<f64>,
        numbers: &[f64],
        measured: impl Into<String>,
    ) -> Self {
        let range = Some(ends(&range));
        Self::new((section, claim_text.into()), Check::Every, range, numbers.to_vec(), measured.into())
    }

    /// Returns a statement that names a range for a mean over seeds, with one number for each seed. It holds if the 95 % confidence
    /// interval of the mean is in the range. It is undecided if the interval crosses an end, or if there is a single run.
    ///
    /// # Panics
    /// As [`Self::within`].
    pub fn mean_within(
        section: &str,
        claim_text: impl Into<String>,
        range: RangeInclusive<f64>,
        runs: &[f64],
        measured: impl Into<String>,
    ) -> Self {
        let range = Some(ends(&range));
        Self::new((section, claim_text.into()), Check::Mean, range, runs.to_vec(), measured.into())
    }

    /// Returns a statement with which no measurement here can be compared.
    pub fn not_compared(section: &str, claim_text: impl Into<String>, measured: impl Into<String>) -> Self {
        Self::new((section, claim_text.into()), Check::Nothing, None, Vec::new(), measured.into())
    }

    /// Sets the reading of the text under which this was measured.
    #[must_use]
    pub fn reading(mut self, reading: impl Into<String>) -> Self {
        self.reading = reading.into();
        self
    }

    /// Adds an experiment with its numbers, which are compared with the range of the statement like those of the measurement. A mean needs
    /// a number for each run: with fewer runs than the figure an experiment explains nothing. Truth values are 1 and 0.
    #[must_use]
    pub fn tested(mut self, name: impl Into<String>, values: &[f64]) -> Self {
        self.experiments.push(Experiment { name: name.into(), estimate: self.check.estimate(values) });
        self.judged()
    }

    /// Adds a cause that no numbers of this figure support. The verdict does not depend on it.
    #[must_use]
    pub fn supposed(mut self, cause: impl Into<String>) -> Self {
        self.hypothesis = cause.into();
        self
    }

    /// Adds changes that were tried and leave the difference as it is. The verdict does not depend on them.
    #[must_use]
    pub fn ruled_out<const N: usize>(mut self, tried: [&str; N]) -> Self {
        self.ruled_out.extend(tried.map(str::to_owned));
        self
    }

    /// Adds a remark that is shown only if the statement does not hold.
    #[must_use]
    pub fn because(self, remark: impl Into<String>) -> Self {
        if self.verdict == Verdict::Holds { self } else { self.remark(remark) }
    }

    /// Adds a remark.
    #[must_use]
    pub fn remark(mut self, remark: impl Into<String>) -> Self {
        self.remark = remark.into();
        self
    }

    /// Sets the number of runs. With fewer runs than needed the statement is undecided.
    #[must_use]
    pub fn with_runs(mut self, runs: Option<Runs>) -> Self {
        self.runs = runs;
        self.judged()
    }

    /// Computes the verdict from the other fields.
    #[must_use]
    pub fn judged(mut self) -> Self {
        self.verdict = match self.outcome() {
            Outcome::NotCompared => Verdict::NotCompared,
            _ if self.lacks_runs() => Verdict::Undecided,
            Outcome::Crosses => Verdict::Undecided,
            Outcome::Inside => Verdict::Holds,
            Outcome::Outside => self.explained(),
        };
        self
    }

    /// Compares the numbers with the range, whatever the number of runs.
    pub fn outcome(&self) -> Outcome {
        self.range.map_or(Outcome::NotCompared, |range| self.check.outcome(range, self.estimate))
    }

    /// Returns `true` if there are fewer runs than a verdict needs. A mean needs two, and an interval.
    fn lacks_runs(&self) -> bool {
        let has_no_interval = self.check == Check::Mean && !self.estimate.has_interval_of(MIN_RUNS_OF_MEAN);
        has_no_interval || self.runs.is_some_and(|runs| runs.made < runs.needed)
    }

    /// Returns the class of a difference, by the best experiment.
    fn explained(&self) -> Verdict {
        let class = |experiment: &Experiment| match self.effect(experiment) {
            Effect::Closes => (0, Verdict::HoldsUnderReading),
            Effect::Moves { .. } => (1, Verdict::PartlyExplained),
            Effect::TooFewRuns => (2, Verdict::Undecided),
            Effect::Nothing => (3, Verdict::Unexplained),
        };
        self.experiments.iter().map(class).min().map_or(Verdict::Unexplained, |(_, verdict)| verdict)
    }

    /// Returns the effect of an experiment on the difference.
    pub fn effect(&self, experiment: &Experiment) -> Effect {
        let range = self.range.unwrap_or([f64::NAN; 2]);
        Effect::of(self.check, range, self.estimate, experiment.estimate, self.runs_of_experiment())
    }

    /// Returns the number of runs that an experiment needs: that of the figure, or of the numbers of the measurement.
    fn runs_of_experiment(&self) -> usize {
        match self.check {
            Check::Mean => self.runs.map_or(0, |runs| runs.needed).max(MIN_RUNS_OF_MEAN),
            _ => self.estimate.count,
        }
    }

    /// Returns the experiment that explains most, with its effect; none where nothing differs or no experiment moves the measurement.
    pub fn explanation(&self) -> Option<(&Experiment, Effect)> {
        let all = || self.experiments.iter().map(|experiment| (experiment, self.effect(experiment)));
        let part = |effect: Effect| match effect {
            Effect::Closes => f64::INFINITY,
            Effect::Moves { by, .. } => by,
            Effect::TooFewRuns | Effect::Nothing => f64::NEG_INFINITY,
        };
        // The first one of those that explain as much.
        let found = all().reduce(|best, other| if part(other.1) > part(best.1) { other } else { best });
        let explains = |effect: Effect| matches!(effect, Effect::Closes | Effect::Moves { .. });
        found.filter(|(_, effect)| explains(*effect) && self.outcome() == Outcome::Outside)
    }

    /// Returns the claim with its reading.
    pub fn in_full(&self) -> String {
        if self.reading.is_empty() {
            self.claim_text.clone()
        } else {
            format!("{} ({})", self.claim_text, self.reading)
        }
    }

    /// Returns everything that belongs to the verdict, a sentence or more on each line.
    pub fn remarks(&self) -> Vec<String> {
        let mut all = vec![self.remark.clone()];
        all.extend(self.undecided_because());
        if self.outcome() == Outcome::Outside {
            all.extend(self.experiments.iter().map(|experiment| {
                let effect = match self.effect(experiment) {
                    Effect::Closes => "brings it into the range".to_owned(),
                    Effect::Moves { of, .. } if of.is_infinite() => "ends, where it does not end without".to_owned(),
                    Effect::Moves { by, of } => {
                        format!("moves it by {} of {}", number(by), number(of))
                    }
                    Effect::TooFewRuns => {
                        format!("{} of {} runs", experiment.estimate.count, self.runs_of_experiment())
                    }
                    Effect::Nothing => "does not explain it".to_owned(),
                };
                format!("Experiment, {effect}: {}", experiment.name)
            }));
            if !self.hypothesis.is_empty() {
                all.push(format!("Hypothesis, without numbers: {}", self.hypothesis));
            }
            if !self.ruled_out.is_empty() {
                all.push(format!("Not the cause: {}.", self.ruled_out.join("; ")));
            }
        }
        all.retain(|remark| !remark.is_empty());
        all
    }

    /// Returns the reason why the statement is undecided.
    pub fn undecided_because(&self) -> Option<String> {
        let runs = self.runs.filter(|runs| runs.made < runs.needed);
        if self.verdict != Verdict::Undecided {
            return None;
        }
        let is_short = |experiment: &&Experiment| self.effect(experiment) == Effect::TooFewRuns;
        let short = self.experiments.iter().find(is_short).filter(|_| self.outcome() == Outcome::Outside);
        Some(match (runs, short) {
            (Some(Runs { made, needed }), _) => format!("{made} of {needed} runs."),
            _ if self.estimate.count < MIN_RUNS_OF_MEAN => "A single run has no interval.".to_owned(),
            _ if self.check == Check::Mean && self.estimate.interval.is_none() => {
                "The interval of the runs was not recorded.".to_owned()
            }
            (_, Some(Experiment { name, estimate })) => {
                format!("{} of {} runs of the experiment: {name}", estimate.count, self.runs_of_experiment())
            }
            _ => format!("The interval of {} runs crosses an end of the range.", self.estimate.count),
        })
    }

    /// Returns `true` if the measurement is in the range of the text and there are enough runs.
    pub fn is_held(&self) -> bool {
        self.verdict == Verdict::Holds
    }
}

fn ends(range: &RangeInclusive<f64>) -> [f64; 2] {
    let ends = [*range.start(), *range.end()];
    let can_fail = ends[0] <= ends[1] && ends.iter().any(|end| end.is_finite());
    // A measurement may lack the number that the range is made of.
    assert!(can_fail || ends.iter().any(|end| end.is_nan()), "no statement can fail the range {ends:?}");
    ends
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mean_of(runs: &[f64]) -> Statement {
        Statement::mean_within("1", "2x to 10x", 2.0..=10.0, runs, "")
    }

    #[test]
    fn an_interval_over_an_end_of_the_range_is_undecided() {
        let verdict = |runs: &[f64]| mean_of(runs).verdict;
        assert_eq!(verdict(&[4.0, 4.1, 4.2]), Verdict::Holds);
        assert_eq!(verdict(&[1.0, 1.1, 1.2]), Verdict::Unexplained);
        assert_eq!(verdict(&[11.0, 11.1, 11.2]), Verdict::Unexplained);
        assert_eq!(verdict(&[1.5, 2.0, 2.6]), Verdict::Undecided);
        assert_eq!(verdict(&[1.0, 20.0]), Verdict::Undecided);
    }

    #[test]
    fn fewer_runs_than_needed_never_hold() {
        assert_eq!([mean_of(&[3.0]).verdict, mean_of(&[1.0]).verdict], [Verdict::Undecided; 2]);
        let runs = |made| mean_of(&[4.0, 4.1]).with_runs(Some(Runs { made, needed: 2 })).verdict;
        assert_eq!([runs(1), runs(2)], [Verdict::Undecided, Verdict::Holds]);
        let claim = Statement::claim("1", "says", true, "").with_runs(Some(Runs { made: 1, needed: 5 }));
        assert_eq!((claim.verdict, claim.undecided_because().as_deref()), (Verdict::Undecided, Some("1 of 5 runs.")));
    }

    /// By hand: 1.1 is 0.9 below 2.
    #[test]
    fn numbers_of_experiments_decide_if_they_explain_a_difference() {
        let with = |values: &[f64]| mean_of(&[1.1, 1.1]).tested("a larger buffer", values);
        assert_eq!(with(&[2.5, 2.5]).verdict, Verdict::HoldsUnderReading);
        let partly = with(&[1.55, 1.55]);
        let Some((_, Effect::Moves { by, of })) = partly.explanation() else { panic!("{partly:?}") };
        assert!((by - 0.45).abs() < 1e-9 && (of - 0.9).abs() < 1e-9, "{by} of {of}");
        assert_eq!(partly.verdict, Verdict::PartlyExplained);
        // 0.05 of 0.9 is less than a tenth, and 0.6 is farther away.
        for nothing in [1.15, 0.6, f64::NAN] {
            assert_eq!(with(&[nothing; 2]).verdict, Verdict::Unexplained, "{nothing}");
        }
        // The best of several counts.
        assert_eq!(with(&[1.5; 2]).tested("a smaller one", &[3.0; 2]).verdict, Verdict::HoldsUnderReading);
        // From 20 to 12 is most of the way down to 10.
        let above = mean_of(&[20.0, 20.0]).tested("", &[12.0; 2]);
        assert_eq!(above.explanation().map(|(_, effect)| effect), Some(Effect::Moves { by: 8.0, of: 10.0 }));
    }

    /// Catches: an experiment with one seed, or with an interval over an end of the range, that turns a difference into a reading.
    #[test]
    fn experiments_need_as_many_runs_as_the_figure() {
        let runs = |needed| Some(Runs { made: 3, needed });
        let with = |values: &[f64]| mean_of(&[1.1; 3]).with_runs(runs(3)).tested("a larger buffer", values);
        let short = with(&[2.5, 2.5]);
        assert_eq!([with(&[2.5]).verdict, short.verdict, with(&[1.55]).verdict], [Verdict::Undecided; 3]);
        assert_eq!(short.explanation(), None);
        assert_eq!(short.undecided_because().as_deref(), Some("2 of 3 runs of the experiment: a larger buffer"));
        assert_eq!(with(&[2.5; 3]).verdict, Verdict::HoldsUnderReading);
        // The mean is 2.5, and the interval reaches below 2: it moves the measurement, and does not bring it into the range.
        assert_eq!(with(&[1.9, 2.5, 3.1]).verdict, Verdict::PartlyExplained);
        // An experiment in the wrong direction explains nothing with any number of runs, and another one may still do.
        assert_eq!(with(&[0.5]).verdict, Verdict::Unexplained);
        assert_eq!(short.tested("a smaller one", &[1.5; 3]).verdict, Verdict::PartlyExplained);
        // The order in which runs and experiments are given does not matter.
        assert_eq!(mean_of(&[1.1; 3]).tested("", &[2.5; 2]).with_runs(runs(3)).verdict, Verdict::Undecided);
    }

    /// Catches: a record of older versions, which has the mean alone.
    #[test]
    fn a_mean_without_its_interval_is_undecided() {
        let recorded = |value: f64| {
            let mut statement = mean_of(&[value; 10]);
            statement.estimate.interval = None;
            statement.judged()
        };
        assert_eq!([recorded(4.0).verdict, recorded(1.1).verdict], [Verdict::Undecided; 2]);
        assert_eq!(recorded(4.0).undecided_because().as_deref(), Some("The interval of the runs was not recorded."));
    }

    #[test]
    fn a_hypothesis_without_numbers_explains_nothing() {
        let claim = Statement::claim("1", "says", false, "").supposed("the weather").ruled_out(["the time of day"]);
        assert_eq!(claim.verdict, Verdict::Unexplained);
        assert_eq!(claim.remarks(), ["Hypothesis, without numbers: the weather", "Not the cause: the time of day."]);
        assert_eq!(claim.tested("sunshine", &[1.0]).verdict, Verdict::HoldsUnderReading);
    }

    #[test]
    fn experiments_are_not_mentioned_if_nothing_differs() {
        let held = Statement::claim("1", "says", true, "").tested("sunshine", &[1.0]).supposed("the weather");
        assert_eq!((held.verdict, held.remarks(), held.explanation()), (Verdict::Holds, vec![], None));
    }

    #[test]
    fn a_missing_time_is_infinite() {
        let never = Statement::within("1", "at most 1 ms", 0.0..=1.0, &[0.5, f64::NAN], "");
        assert_eq!(never.verdict, Verdict::Unexplained);
        let tested = never.clone().tested("all paths", &[0.5, 3.0]);
        assert_eq!(tested.verdict, Verdict::PartlyExplained);
        assert_eq!(tested.remarks(), ["Experiment, ends, where it does not end without: all paths"]);
        // One good run of two explains nothing.
        assert_eq!(never.tested("all paths", &[0.5]).verdict, Verdict::Undecided);
    }

    #[test]
    fn a_range_contains_its_ends_and_never_nan() {
        let verdict = |numbers: &[f64]| Statement::within("1", "2x to 10x", 2.0..=10.0, numbers, "").verdict;
        assert_eq!(verdict(&[2.0, 5.0, 10.0]), Verdict::Holds);
        assert_eq!(verdict(&[1.99, 5.0]), Verdict::Unexplained);
        assert_eq!(verdict(&[5.0, f64::NAN]), Verdict::Unexplained);
        assert_eq!(verdict(&[]), Verdict::Unexplained);
    }

    #[test]
    #[should_panic(expected = "no statement can fail")]
    fn a_range_without_ends_is_no_range() {
        let _ = Statement::within("1", "anything", f64::NEG_INFINITY..=f64::INFINITY, &[1.0], "");
    }

    #[test]
    fn a_reason_is_shown_only_if_something_differs() {
        let claim = |is_so| Statement::claim("1", "says", is_so, "measured").because("of that").remark;
        assert_eq!((claim(true).as_str(), claim(false).as_str()), ("", "of that"));
    }
}
