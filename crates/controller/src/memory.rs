//! Answers to requests that may be repeated (`Idempotency-Key`).
//!
//! An answer is put on disk together with what it answers, so that a request that is repeated after a crash is not carried out twice.

use serde::{Deserialize, Serialize};
use wayleave_units::WallTime;

use crate::controller::{Controller, Dirty};

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
    /// The how-manieth answer.
    pub number: u64,
}

impl Controller {
    /// The answer that was given to a key.
    pub fn recall(&self, key: &str) -> Option<&Remembered> {
        self.memory.get(key)
    }

    /// Remembers an answer; called before [`Controller::take_output`] gives away what it answers.
    pub fn remember(&mut self, now: WallTime, key: &str, fingerprint: String, answer: String) {
        self.forget_old_answers(now);
        self.counters.answer += 1;
        let number = self.counters.answer;
        if let Some(old) =
            self.memory.insert(key.to_owned(), Remembered { fingerprint, answer, at: now.as_nanos(), number })
        {
            self.remembered.remove(&old.number);
        }
        self.remembered.insert(number, key.to_owned());
        self.mark(Dirty::Answer(key.to_owned()));
        self.mark(Dirty::Counters);
    }

    fn forget_old_answers(&mut self, now: WallTime) {
        while let Some((&number, key)) = self.remembered.first_key_value() {
            let is_old = self.memory.get(key).is_none_or(|one| one.at.saturating_add(KEPT_NS) < now.as_nanos());
            if !is_old && self.remembered.len() < MOST {
                break;
            }
            let key = key.clone();
            self.remembered.remove(&number);
            self.memory.remove(&key);
            self.mark(Dirty::Answer(key));
        }
    }
}
