//! Answers to requests that may be repeated (`Idempotency-Key`).
//!
//! An answer is put on disk together with what it answers, so that a request that is repeated after a crash is not carried out twice.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use wayleave_units::WallTime;

use crate::journal::{Dirty, Journal};

/// For how long answers are kept, by the calendar: a day, as is usual.
const KEPT_NS: u64 = 24 * 3600 * 1_000_000_000;

/// How many are kept at most; the oldest go first.
const MOST: usize = 100_000;

/// An answer that was given.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Remembered {
    /// What was asked, as a hash: another request with the same key is a mistake.
    pub fingerprint: String,
    /// What was answered, as the driver wants it back.
    pub answer: String,
    /// When, in ns since 1970.
    pub at: u64,
    /// Counted over all answers; never used again.
    pub number: u64,
}

/// All answers that are remembered.
#[derive(Default)]
pub(crate) struct Answers {
    by_key: BTreeMap<String, Remembered>,
    /// Keys by the numbers of their answers: the oldest first.
    keys: BTreeMap<u64, String>,
}

impl Answers {
    pub(crate) fn get(&self, key: &str) -> Option<&Remembered> {
        self.by_key.get(key)
    }

    pub(crate) fn keys(&self) -> impl Iterator<Item = &String> {
        self.by_key.keys()
    }

    /// From a record.
    pub(crate) fn insert(&mut self, key: String, answer: Remembered) {
        let number = answer.number;
        if let Some(old) = self.by_key.insert(key.clone(), answer) {
            self.keys.remove(&old.number);
        }
        self.keys.insert(number, key);
    }

    /// Remembers an answer, and forgets those that are too old or too many.
    pub(crate) fn remember(
        &mut self,
        journal: &mut Journal,
        now: WallTime,
        key: &str,
        fingerprint: String,
        answer: String,
    ) {
        self.forget_old(journal, now);
        let number = journal.next_answer();
        self.insert(key.to_owned(), Remembered { fingerprint, answer, at: now.as_nanos(), number });
        journal.mark(Dirty::Answer(key.to_owned()));
    }

    fn forget_old(&mut self, journal: &mut Journal, now: WallTime) {
        while let Some((&number, key)) = self.keys.first_key_value() {
            let is_old = self.by_key.get(key).is_none_or(|one| one.at.saturating_add(KEPT_NS) < now.as_nanos());
            if !is_old && self.keys.len() < MOST {
                break;
            }
            let key = key.clone();
            self.keys.remove(&number);
            self.by_key.remove(&key);
            journal.mark(Dirty::Answer(key));
        }
    }
}
