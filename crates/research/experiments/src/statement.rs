//! What a text says, and whether that was seen.

use std::ops::RangeInclusive;

use serde::{Deserialize, Serialize};

use crate::numbers;
use crate::stats::Summary;

/// What became of a statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// It was seen here, too.
    Holds,
    /// Something else was seen; the statement says why, as far as that is known.
    Differs,
    /// It cannot be held against a measurement here: times of another program on another machine.
    NotCompared,
}

impl Verdict {
    /// In words.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Holds => "holds",
            Self::Differs => "differs",
            Self::NotCompared => "not compared",
        }
    }
}

/// What stands behind a difference.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Cause {
    /// An experiment shows what makes the difference: which one, and what came of it.
    Tested(String),
    /// What does not make it: each of these was tried, and the difference stayed.
    RuledOut(Vec<String>),
}

/// What the paper's text says, in our words, beside what was measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Statement {
    /// The section of the paper.
    pub section: String,
    /// What it says.
    pub says: String,
    /// The range in which it puts a number, where it names one; infinite where it is open.
    #[serde(skip_serializing_if = "Option::is_none", default, deserialize_with = "numbers::interval")]
    pub range: Option<[f64; 2]>,
    /// What was measured.
    pub measured: String,
    /// Whether that agrees.
    pub verdict: Verdict,
    /// What else belongs to it; empty if there is nothing to say.
    pub why: String,
    /// Why it differs, as far as experiments have shown; nothing if it does not differ.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub cause: Option<Cause>,
}

impl Statement {
    /// A statement that is true or false of what was measured.
    pub fn claim(section: &'static str, says: impl Into<String>, is_so: bool, measured: impl Into<String>) -> Self {
        let verdict = if is_so { Verdict::Holds } else { Verdict::Differs };
        Self {
            section: section.to_owned(),
            says: says.into(),
            range: None,
            measured: measured.into(),
            verdict,
            why: String::new(),
            cause: None,
        }
    }

    /// A statement that puts numbers into a range: it holds if there are any, and all of them are in it.
    pub fn within(
        section: &'static str,
        says: impl Into<String>,
        range: RangeInclusive<f64>,
        numbers: &[f64],
        measured: impl Into<String>,
    ) -> Self {
        let is_so = !numbers.is_empty() && numbers.iter().all(|number| range.contains(number));
        Self { range: Some([*range.start(), *range.end()]), ..Self::claim(section, says, is_so, measured) }
    }

    /// A statement that puts a mean into a range, where chance plays: one value for each seed. It holds if the 95 % confidence interval of
    /// the mean is in the range, and differs if it is outside. An interval that reaches over an end decides nothing, and the
    /// statement is not compared: more seeds would decide it. A single run has no interval and decides by its value.
    pub fn mean_within(
        section: &'static str,
        says: impl Into<String>,
        range: RangeInclusive<f64>,
        runs: &[f64],
        measured: impl Into<String>,
    ) -> Self {
        let Summary { mean, ci95, .. } = Summary::of_runs(runs);
        let [low, high] = ci95.unwrap_or([mean, mean]);
        let statement = Self::within(section, says, range.clone(), &[low, high], measured);
        if low <= *range.end() && high >= *range.start() && !statement.is_held() {
            let remark =
                format!("The interval of {} seeds reaches over an end of the range, and decides nothing.", runs.len());
            return Self { verdict: Verdict::NotCompared, ..statement }.remark(remark);
        }
        statement
    }

    /// A statement that nothing here can be held against.
    pub fn not_compared(section: &'static str, says: impl Into<String>, measured: impl Into<String>) -> Self {
        Self { verdict: Verdict::NotCompared, ..Self::claim(section, says, true, measured) }
    }

    /// With the experiment that shows why it differs, and what came of it; nothing if it does not differ.
    #[must_use]
    pub fn tested(self, cause: impl Into<String>) -> Self {
        let cause = Cause::Tested(cause.into());
        self.caused(cause)
    }

    /// With what was tried and is not the cause of the difference; nothing if it does not differ.
    #[must_use]
    pub fn ruled_out<const N: usize>(self, tried: [&str; N]) -> Self {
        let cause = Cause::RuledOut(tried.map(str::to_owned).to_vec());
        self.caused(cause)
    }

    fn caused(mut self, cause: Cause) -> Self {
        if self.verdict == Verdict::Differs {
            self.cause = Some(cause);
        }
        self
    }

    /// With the reason, which stands there only if the statement does not hold.
    #[must_use]
    pub fn because(mut self, why: impl Into<String>) -> Self {
        if self.verdict != Verdict::Holds {
            self.why = why.into();
        }
        self
    }

    /// With a remark, whatever came of it.
    #[must_use]
    pub fn remark(mut self, remark: impl Into<String>) -> Self {
        self.why = remark.into();
        self
    }

    /// Everything that belongs to it, a sentence or more on each line: remark and cause.
    pub fn remarks(&self) -> Vec<String> {
        let cause = self.cause.as_ref().map(|cause| match cause {
            Cause::Tested(text) => format!("Cause: {text}"),
            Cause::RuledOut(tried) => format!("Not the cause: {}.", tried.join("; ")),
        });
        Some(self.why.clone()).filter(|why| !why.is_empty()).into_iter().chain(cause).collect()
    }

    /// Whether it was seen here, too.
    pub fn is_held(&self) -> bool {
        self.verdict == Verdict::Holds
    }
}

/// What is changed, and how.
#[cfg(test)]
pub(crate) type Change<'a, D> = (&'a str, &'a dyn Fn(&mut D));

/// Asserts that verdicts can change: for each statement that is compared there is a change of the data that turns "holds" into "differs" or back,
/// and two of them where it names a range with two ends. Every change does turn one.
///
/// # Panics
/// If a verdict stays, or a change does nothing; with the statement or the name of the change.
#[cfg(test)]
pub(crate) fn assert_each_can_change<D: Clone>(
    data: &D,
    statements: impl Fn(&D) -> Vec<Statement>,
    changes: &[Change<'_, D>],
) {
    let before = statements(data);
    let mut turned = vec![0; before.len()];
    for (name, change) in changes {
        let mut data = data.clone();
        change(&mut data);
        let after = statements(&data);
        assert_eq!(before.len(), after.len(), "{name}: other statements");
        let pairs = before.iter().zip(&after).map(|(before, after)| [before.verdict, after.verdict]);
        let turns: Vec<usize> =
            pairs.map(|pair| usize::from(pair[0] != pair[1] && !pair.contains(&Verdict::NotCompared))).collect();
        assert!(turns.contains(&1), "{name} changes no verdict: {after:#?}");
        turned.iter_mut().zip(turns).for_each(|(turned, turn)| *turned += turn);
    }
    for (statement, turned) in before.iter().zip(turned) {
        let ends = statement.range.map_or(1, |range| range.iter().filter(|end| end.is_finite()).count());
        let is_compared = statement.verdict != Verdict::NotCompared;
        assert!(!is_compared || turned >= ends, "{turned} of {ends} changes turn its verdict: {statement:#?}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interval_over_an_end_of_the_range_decides_nothing() {
        let verdict = |runs: &[f64]| Statement::mean_within("1", "2x to 10x", 2.0..=10.0, runs, "").verdict;
        assert_eq!(verdict(&[4.0, 4.1, 4.2]), Verdict::Holds);
        assert_eq!(verdict(&[1.0, 1.1, 1.2]), Verdict::Differs);
        assert_eq!(verdict(&[11.0, 11.1, 11.2]), Verdict::Differs);
        assert_eq!(verdict(&[1.5, 2.0, 2.6]), Verdict::NotCompared);
        assert_eq!(verdict(&[1.0, 20.0]), Verdict::NotCompared);
        assert_eq!(
            [verdict(&[3.0]), verdict(&[1.0]), verdict(&[])],
            [Verdict::Holds, Verdict::Differs, Verdict::Differs]
        );
    }

    #[test]
    fn a_cause_stands_only_where_something_differs() {
        let claim = |is_so| Statement::claim("1", "says", is_so, "measured").tested("of that").cause;
        assert_eq!((claim(true), claim(false)), (None, Some(Cause::Tested("of that".to_owned()))));
        let tried = Statement::claim("1", "says", false, "").ruled_out(["this", "that"]).cause;
        assert_eq!(tried, Some(Cause::RuledOut(vec!["this".to_owned(), "that".to_owned()])));
    }

    #[test]
    #[should_panic(expected = "1 of 2 changes")]
    fn a_range_with_two_ends_needs_two_changes() {
        let statements = |number: &f64| vec![Statement::within("1", "says", 1.0..=2.0, &[*number], "")];
        assert_each_can_change(&1.5, statements, &[("more", &|number| *number = 3.0)]);
    }

    #[test]
    fn a_range_holds_only_what_is_in_it_and_never_nothing() {
        let verdict = |numbers: &[f64]| Statement::within("1", "2x to 10x", 2.0..=10.0, numbers, "").verdict;
        assert_eq!(verdict(&[2.0, 5.0, 10.0]), Verdict::Holds);
        assert_eq!(verdict(&[1.99, 5.0]), Verdict::Differs);
        assert_eq!(verdict(&[5.0, f64::NAN]), Verdict::Differs);
        assert_eq!(verdict(&[]), Verdict::Differs);
    }

    #[test]
    fn a_reason_stands_only_where_something_differs() {
        let claim = |is_so| Statement::claim("1", "says", is_so, "measured").because("of that").why;
        assert_eq!((claim(true).as_str(), claim(false).as_str()), ("", "of that"));
    }
}
