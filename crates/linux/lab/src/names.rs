//! Names: of a lab, and of the namespaces that belong to it.

use std::collections::HashSet;
use std::fmt;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

use crate::error::LabError;

/// Characters without a meaning in any file system.
const PLAIN: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'~');

/// The longest name of a lab.
const MAX_LAB: usize = 20;
/// The longest part of a namespace's name that a node gives it.
const MAX_NODE: usize = 80;

/// The name of a lab: lower case letters and digits. It has no hyphen, so that the namespaces of `a` never look like those of `a-b`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LabName(String);

impl LabName {
    /// A name.
    ///
    /// # Errors
    /// If it is none.
    pub fn new(name: &str) -> Result<Self, LabError> {
        let fine = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
        if name.is_empty() || name.len() > MAX_LAB || !name.chars().all(fine) {
            return Err(LabError::Name(name.to_owned()));
        }
        Ok(Self(name.to_owned()))
    }

    /// As text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the prefix of its namespaces' names, which no other lab has.
    pub fn prefix(&self) -> String {
        format!("wl-{}-", self.0)
    }
}

impl fmt::Display for LabName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A name as that of a file, on any file system: what others could mean something by is written as `%` and two digits.
pub(crate) fn file_name(name: &str) -> String {
    utf8_percent_encode(name, PLAIN).to_string()
}

/// Gives every node and endpoint a namespace of its own.
pub(crate) struct Namespaces {
    prefix: String,
    taken: HashSet<String>,
}

impl Namespaces {
    pub(crate) fn new(lab: &LabName) -> Self {
        Self { prefix: lab.prefix(), taken: HashSet::new() }
    }

    /// A namespace for a name, in which everything that a file's name should not contain is replaced.
    pub(crate) fn name(&mut self, wanted: &str) -> String {
        let plain = |c: char| if c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.') { c } else { '_' };
        let stem: String = wanted.chars().map(plain).take(MAX_NODE).collect();
        let stem = format!("{}{stem}", self.prefix);
        let mut name = stem.clone();
        let mut number = 2;
        while !self.taken.insert(name.clone()) {
            name = format!("{stem}.{number}");
            number += 1;
        }
        name
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lab_name_has_a_suffix_that_separates_it_from_node_names() {
        for name in ["", "a-b", "A", "a b", "../x", "a.b", &"x".repeat(21)] {
            assert!(LabName::new(name).is_err(), "{name:?}");
        }
        assert_eq!(LabName::new("lab1").unwrap().prefix(), "wl-lab1-");
    }

    #[test]
    fn every_name_is_a_valid_file_name() {
        assert_eq!((file_name("pod1-agg1"), file_name("a/b.c ")), ("pod1-agg1".to_owned(), "a%2Fb%2Ec%20".to_owned()));
    }

    #[test]
    fn nodes_with_unusual_names_have_distinct_namespaces() {
        let mut names = Namespaces::new(&LabName::new("x").unwrap());
        assert_eq!(names.name("h1"), "wl-x-h1");
        assert_eq!(names.name("a/b"), "wl-x-a_b");
        assert_eq!(names.name("a b"), "wl-x-a_b.2");
        assert_eq!(names.name("a?b"), "wl-x-a_b.3");
    }
}
