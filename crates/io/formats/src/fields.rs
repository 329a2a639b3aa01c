//! Reader of a mapping: its permitted keys, its required keys, and their values.

use std::fmt::Display;
use std::str::FromStr;

use wayleave_units::plural;

use crate::location::Span;
use crate::messages::{all_of, did_you_mean, nearest, one_of, quoted};
use crate::problem::{Message, ProblemKind, Problems};
use crate::renamed::renamed_key;
use crate::tree::{Entry, Node, Value};

/// A sort of mapping: what messages call it, and its keys. The JSON Schemas are tested against these.
#[derive(Debug)]
pub(crate) struct Shape {
    /// With an article: "a contract".
    pub(crate) what: &'static str,
    /// Every key that is read.
    pub(crate) keys: &'static [&'static str],
}

/// More keys than any shape has.
pub(crate) const MAX_KEYS: usize = 32;

/// The values of a mapping by key.
pub(crate) struct Fields<'n, 'a> {
    /// Position of the mapping.
    pub(crate) at: Span,
    shape: &'static Shape,
    slots: [Option<&'n Entry<'a>>; MAX_KEYS],
    /// Probable intended keys of misspelt ones: they are not reported as missing.
    misspelt: [bool; MAX_KEYS],
}

impl<'n, 'a> Fields<'n, 'a> {
    /// Sorts the keys of a mapping; reports a value that is no mapping, and unknown and duplicate keys.
    pub(crate) fn read(node: &'n Node<'a>, shape: &'static Shape, problems: &mut Problems<'_>) -> Option<Self> {
        let Value::Mapping(entries) = &node.value else {
            problems.report(ProblemKind::WrongType, node.span, || {
                let keys = one_of(&shape.keys[..shape.keys.len().min(3)]);
                let message = format!("{} is expected here, not {}", shape.what, node.description());
                (message, format!("it is a mapping with keys such as {keys}"))
            });
            return None;
        };
        let mut fields = Self { at: node.span, shape, slots: [None; MAX_KEYS], misspelt: [false; MAX_KEYS] };
        for entry in entries {
            let Some(key) = entry.key.text() else {
                let message = || format!("a key is expected here, not {}", entry.key.description());
                problems.report(ProblemKind::WrongType, entry.key.span, message);
                continue;
            };
            let slot = fields.slot(key).or_else(|| {
                let renamed = renamed_key(shape.what, key)?;
                problems.warn_of_old_key(renamed, entry.key.span);
                fields.slot(renamed.new)
            });
            match slot {
                None => fields.report_unknown(key, entry.key.span, problems),
                Some(slot) => match fields.slots[slot] {
                    None => fields.slots[slot] = Some(entry),
                    Some(first) => report_twice(key, entry.key.span, first, problems),
                },
            }
        }
        Some(fields)
    }

    fn report_unknown(&mut self, key: &str, span: Span, problems: &mut Problems<'_>) {
        let keys = self.shape.keys;
        // `{ rate:1Mbit }` is a mapping with the key "rate:1Mbit".
        let glued = key.split_once(':').and_then(|(start, _)| keys.iter().copied().find(|known| *known == start));
        let near = || nearest(key, keys.iter().copied()).filter(|_| !problems.are_full());
        let meant = glued.or_else(near);
        if let Some(slot) = meant.and_then(|meant| self.slot(meant)) {
            self.misspelt[slot] = true;
        }
        problems.report(ProblemKind::UnknownKey, span, || {
            if let Some(known) = glued {
                let message = format!("a space is missing after the colon of {}", quoted(known));
                return (message, format!("write `{known}: ...`"));
            }
            if key == "<<" {
                let message = "merge keys (<<) are not read".to_owned();
                return (message, "repeat the keys, or generate the file".to_owned());
            }
            let message = format!("unknown key {}{}", quoted(key), did_you_mean(meant));
            let these = if keys.len() == 1 { "the only key" } else { "the keys" };
            (message, format!("{these} of {}: {}", self.shape.what, keys.join(", ")))
        });
    }

    /// The value of a key, unless it is absent or null.
    pub(crate) fn get(&self, key: &str) -> Option<&'n Node<'a>> {
        self.entry(key).map(|entry| &entry.value).filter(|node| !matches!(node.value, Value::Null))
    }

    /// The value of a key that must be there.
    pub(crate) fn require(&self, key: &'static str, problems: &mut Problems<'_>) -> Option<&'n Node<'a>> {
        self.require_all([key], problems);
        self.get(key)
    }

    /// Reports those keys that must be there and are not.
    pub(crate) fn require_all(&self, keys: impl IntoIterator<Item = &'static str>, problems: &mut Problems<'_>) {
        self.require_with(keys, |_| None, problems);
    }

    /// Reports missing keys as [`Self::require_all`] does, with the hint for the first of them.
    pub(crate) fn require_with(
        &self,
        keys: impl IntoIterator<Item = &'static str>,
        hint: impl Fn(&str) -> Option<&'static str>,
        problems: &mut Problems<'_>,
    ) {
        let mut missing = Vec::new();
        for key in keys.into_iter().filter(|key| self.get(key).is_none()) {
            match self.entry(key) {
                Some(empty) => {
                    let message = || format!("{} has no value", quoted(key));
                    problems.report(ProblemKind::MissingKey, empty.key.span, message);
                }
                None if self.slot(key).is_some_and(|slot| self.misspelt[slot]) => {}
                None => missing.push(key),
            }
        }
        if missing.is_empty() {
            return;
        }
        problems.report(ProblemKind::MissingKey, self.at, || {
            let keys = plural(&missing.len(), "key");
            let hint = missing.first().and_then(|key| hint(key)).map(str::to_owned);
            let missing: Vec<String> = missing.into_iter().map(quoted).collect();
            Message { text: format!("{} needs the {keys} {}", self.shape.what, all_of(&missing)), hint }
        });
    }

    /// Returns the position of a key, or of the mapping if the key is absent.
    pub(crate) fn key_span(&self, key: &str) -> Span {
        self.entry(key).map_or(self.at, |entry| entry.key.span)
    }

    /// Returns the position of a key's value, or of the mapping if there is none.
    pub(crate) fn value_span(&self, key: &str) -> Span {
        self.get(key).map_or(self.at, |node| node.span)
    }

    fn entry(&self, key: &str) -> Option<&'n Entry<'a>> {
        let slot = self.slot(key);
        debug_assert!(slot.is_some(), "{key} is not a key of {}", self.shape.what);
        self.slots[slot?]
    }

    fn slot(&self, key: &str) -> Option<usize> {
        self.shape.keys.iter().position(|known| *known == key)
    }

    /// Text that may be absent.
    pub(crate) fn text(&self, key: &str, problems: &mut Problems<'_>) -> Option<&'n str> {
        self.get(key)?.expect_text(problems)
    }

    /// A whole number that may be absent.
    pub(crate) fn count(&self, key: &str, problems: &mut Problems<'_>) -> Option<u64> {
        self.get(key)?.count(problems)
    }
}

/// Reports a key that a mapping contains twice, under one name or under its old and its new name.
fn report_twice(key: &str, span: Span, first: &Entry<'_>, problems: &mut Problems<'_>) {
    let source = problems.source();
    problems.report(ProblemKind::DuplicateKey, span, || {
        let line = source.line_of(first.key.span);
        match first.key.text() {
            Some(other) if other != key => {
                format!("{} and {} on line {line} are two names of one key: remove one", quoted(key), quoted(other))
            }
            _ => format!("{} is given twice: first on line {line}", quoted(key)),
        }
    });
}

/// A rate, a time, a size or a date.
pub(crate) trait Quantity: FromStr<Err: Display> {}
impl Quantity for wayleave_units::Rate {}
impl Quantity for wayleave_units::Time {}
impl Quantity for wayleave_units::Bytes {}
impl Quantity for wayleave_units::WallTime {}

/// Reads a quantity from its text.
pub(crate) fn quantity<T: Quantity>(text: &str, span: Span, problems: &mut Problems<'_>) -> Option<T> {
    match text.parse() {
        Ok(quantity) => Some(quantity),
        Err(error) => {
            problems.report(ProblemKind::BadValue, span, || error.to_string());
            None
        }
    }
}

impl<'a> Node<'a> {
    /// Its text.
    pub(crate) fn expect_text(&self, problems: &mut Problems<'_>) -> Option<&str> {
        if self.text().is_none() {
            problems
                .report(ProblemKind::WrongType, self.span, || format!("text is expected, not {}", self.description()));
        }
        self.text()
    }

    /// Its items.
    pub(crate) fn expect_list(&self, of: &str, problems: &mut Problems<'_>) -> Option<&[Node<'a>]> {
        if let Value::Sequence(items) = &self.value {
            return Some(items);
        }
        problems.report(ProblemKind::WrongType, self.span, || {
            let message = format!("a list of {of} is expected, not {}", self.description());
            (message, "a list is written [a, b], or with a line for each item that begins with \"- \"")
        });
        None
    }

    /// A rate, a time or a size.
    pub(crate) fn quantity<T: Quantity>(&self, problems: &mut Problems<'_>) -> Option<T> {
        quantity(self.expect_text(problems)?, self.span, problems)
    }

    /// A whole number.
    pub(crate) fn count(&self, problems: &mut Problems<'_>) -> Option<u64> {
        let text = self.expect_text(problems)?;
        let count =
            Some(text).filter(|text| text.bytes().all(|byte| byte.is_ascii_digit())).and_then(|t| t.parse().ok());
        if count.is_none() {
            let message = || format!("{} is not accepted: expected a whole number such as 4", quoted(text));
            problems.report(ProblemKind::BadValue, self.span, message);
        }
        count
    }
}
