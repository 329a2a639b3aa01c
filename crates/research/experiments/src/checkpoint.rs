//! Results of runs that outlive the program: an interrupted figure resumes with the missing runs.
//!
//! The result of a run is written as words, and read back bit for bit, also where it is infinite or not a number. A
//! resumed figure is therefore identical to the byte. The storage of the words is not known here ([`Checkpoints`]).

use std::fmt::Write;
use std::str::SplitWhitespace;

use wayleave_units::Time;

use crate::failed::Failed;

/// Storage of the results of runs.
pub trait Checkpoints: Sync {
    /// Returns the result of the run with these inputs, if it is stored.
    ///
    /// # Errors
    /// If the stored result is damaged, belongs to another run, or was measured by another program.
    fn load(&self, inputs: &str) -> Result<Option<String>, Failed>;

    /// Keeps the result of the run with these inputs, at once.
    ///
    /// # Errors
    /// If it cannot be kept.
    fn save(&self, inputs: &str, result: &str) -> Result<(), Failed>;
}

/// A result that can be stored: a sequence of values, each a word.
pub(crate) trait Stored: Sized {
    /// Appends it.
    fn write(&self, words: &mut String);

    /// Takes it from the front; nothing if it is not there.
    fn read(words: &mut SplitWhitespace<'_>) -> Option<Self>;
}

/// As a text.
pub(crate) fn text(result: &impl Stored) -> String {
    let mut words = String::new();
    result.write(&mut words);
    words.trim_end().to_owned()
}

/// Read from a text that holds it and nothing else.
pub(crate) fn parse<R: Stored>(text: &str) -> Option<R> {
    let mut words = text.split_whitespace();
    let result = R::read(&mut words)?;
    words.next().is_none().then_some(result)
}

/// Values whose text is parsed to an equal value: Rust prints enough digits of a fraction to distinguish it from its
/// neighbours.
macro_rules! stored_as_text {
    ($($type:ty),+) => {$(
        impl Stored for $type {
            fn write(&self, words: &mut String) {
                // Writing into a string cannot fail.
                let _ = write!(words, "{self:?} ");
            }

            fn read(words: &mut SplitWhitespace<'_>) -> Option<Self> {
                words.next()?.parse().ok()
            }
        }
    )+};
}

stored_as_text!(f64, u32, u64, usize, bool);

impl Stored for Time {
    fn write(&self, words: &mut String) {
        self.as_nanos().write(words);
    }

    fn read(words: &mut SplitWhitespace<'_>) -> Option<Self> {
        u64::read(words).map(Self::from_nanos)
    }
}

impl<T: Stored> Stored for Vec<T> {
    fn write(&self, words: &mut String) {
        self.len().write(words);
        self.iter().for_each(|value| value.write(words));
    }

    fn read(words: &mut SplitWhitespace<'_>) -> Option<Self> {
        let count = usize::read(words)?;
        (0..count).map(|_| T::read(words)).collect()
    }
}

impl<T: Stored, const COUNT: usize> Stored for [T; COUNT] {
    fn write(&self, words: &mut String) {
        self.iter().for_each(|value| value.write(words));
    }

    fn read(words: &mut SplitWhitespace<'_>) -> Option<Self> {
        let values: Option<Vec<T>> = (0..COUNT).map(|_| T::read(words)).collect();
        values?.try_into().ok()
    }
}

impl<A: Stored, B: Stored> Stored for (A, B) {
    fn write(&self, words: &mut String) {
        self.0.write(words);
        self.1.write(words);
    }

    fn read(words: &mut SplitWhitespace<'_>) -> Option<Self> {
        Some((A::read(words)?, B::read(words)?))
    }
}

/// Lets a struct be kept: `stored!(Measured { missed, tail_us })` with all of its fields.
macro_rules! stored {
    ($type:ty { $($field:ident),+ $(,)? }) => {
        impl $crate::checkpoint::Stored for $type {
            fn write(&self, words: &mut String) {
                $($crate::checkpoint::Stored::write(&self.$field, words);)+
            }

            fn read(words: &mut std::str::SplitWhitespace<'_>) -> Option<Self> {
                Some(Self { $($field: $crate::checkpoint::Stored::read(words)?),+ })
            }
        }
    };
}

pub(crate) use stored;

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Clone, Debug, PartialEq)]
    struct Case {
        curve: Vec<(f64, f64)>,
        by_size: [f64; 2],
        count: usize,
        is_feasible: bool,
    }

    stored!(Case { curve, by_size, count, is_feasible });

    #[test]
    fn saved_values_are_read_back_bit_for_bit() {
        let values = [0.1 + 0.2, -0.0, f64::MIN_POSITIVE / 8.0, f64::MAX, f64::INFINITY, f64::NEG_INFINITY, f64::NAN];
        let bits = |values: &[f64]| values.iter().map(|value| value.to_bits()).collect::<Vec<_>>();
        let read: Vec<f64> = parse(&text(&values.to_vec())).unwrap();
        assert_eq!(bits(&read), bits(&values));
        let case = Case { curve: vec![(1.5, 2.0), (2.5, 1.0 / 3.0)], by_size: [7.0, 8.0], count: 3, is_feasible: true };
        assert_eq!(parse(&text(&case)), Some(case));
    }

    #[test]
    fn a_text_with_too_few_or_too_many_words_is_not_parsed() {
        let whole = text(&[1.0, 2.0]);
        assert_eq!(parse::<[f64; 2]>(&whole), Some([1.0, 2.0]));
        assert_eq!(parse::<[f64; 3]>(&whole), None);
        assert_eq!(parse::<f64>(&whole), None);
        assert_eq!(parse::<Vec<f64>>("18446744073709551615 1.0"), None);
        assert_eq!(parse::<bool>("perhaps"), None);
    }
}
