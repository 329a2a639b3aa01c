//! What a text says, and whether that was seen.

use std::ops::RangeInclusive;

use serde::Serialize;

/// What became of a statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
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

/// What the paper's text says, in our words, beside what was measured.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Statement {
    /// The section of the paper.
    pub section: &'static str,
    /// What it says.
    pub says: String,
    /// The range in which it puts a number, where it names one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub range: Option<[f64; 2]>,
    /// What was measured.
    pub measured: String,
    /// Whether that agrees.
    pub verdict: Verdict,
    /// Why it does not, or what else belongs to it; empty if there is nothing to say.
    pub why: String,
}

impl Statement {
    /// A statement that is true or false of what was measured.
    pub fn claim(section: &'static str, says: impl Into<String>, is_so: bool, measured: impl Into<String>) -> Self {
        let verdict = if is_so { Verdict::Holds } else { Verdict::Differs };
        Self { section, says: says.into(), range: None, measured: measured.into(), verdict, why: String::new() }
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

    /// A statement that nothing here can be held against.
    pub fn not_compared(section: &'static str, says: impl Into<String>, measured: impl Into<String>) -> Self {
        Self { verdict: Verdict::NotCompared, ..Self::claim(section, says, true, measured) }
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

    /// Whether it was seen here, too.
    pub fn is_held(&self) -> bool {
        self.verdict == Verdict::Holds
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
