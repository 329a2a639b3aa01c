//! Answers to requests that may be repeated (`Idempotency-Key`).
//!
//! An answer is put on disk together with what it answers, so that a request that is repeated after a crash is not carried out twice.
//! Each is charged to an account, by its bytes. An account that has as much as it may have gets no further answers kept, and none of
//! another account is ever forgotten for it: a key is remembered for a day, whatever others do.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use wayleave_units::WallTime;

use crate::journal::{DirtyRecord, Journal};

/// For how long answers are kept, by the calendar: a day, as is usual.
const KEPT_NS: u64 = 24 * 3600 * 1_000_000_000;

/// What an answer takes beside its texts: two entries of maps, numbers and the lengths of texts, roughly.
const ENTRY_BYTES: u64 = 200;

/// An answer that was given.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CachedReply {
    /// What was asked, as a hash: another request with the same key is a mistake.
    pub fingerprint: String,
    /// What was answered, as the driver wants it back.
    pub answer: String,
    /// When, in ns since 1970.
    pub at: u64,
    /// Counted over all answers; never used again.
    pub number: u64,
    /// Who pays for it; nobody for answers of version 0.1.0, which are gone after a day.
    #[serde(default)]
    pub account: String,
}

impl CachedReply {
    /// What it takes in memory, roughly; about as much on disk.
    fn bytes(&self, key: &str) -> u64 {
        let texts = 2 * key.len() + self.fingerprint.len() + self.answer.len() + self.account.len();
        texts as u64 + ENTRY_BYTES
    }
}

/// Why no further answer is kept for an account.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AnswersFull {
    /// What its answers take, in bytes.
    pub used: u64,
    /// When the oldest of them is forgotten.
    pub until: WallTime,
}

/// All answers that are remembered.
#[derive(Default)]
pub(crate) struct ReplyCache {
    by_key: BTreeMap<String, CachedReply>,
    /// Keys by the numbers of their answers: the oldest first.
    keys: BTreeMap<u64, String>,
    used: BTreeMap<String, Used>,
}

/// What the answers of an account take.
#[derive(Default)]
struct Used {
    bytes: u64,
    /// The numbers of its answers.
    numbers: BTreeSet<u64>,
}

impl ReplyCache {
    pub(crate) fn get(&self, key: &str) -> Option<&CachedReply> {
        self.by_key.get(key)
    }

    pub(crate) fn keys(&self) -> impl Iterator<Item = &String> {
        self.by_key.keys()
    }

    /// What all answers take together, in bytes.
    pub(crate) fn bytes(&self) -> u64 {
        self.used.values().map(|used| used.bytes).sum()
    }

    /// Whether another answer is kept for an account whose answers may take so many bytes. The last one may go beyond.
    pub(crate) fn check(
        &mut self,
        journal: &mut Journal,
        now: WallTime,
        account: &str,
        most: u64,
    ) -> Result<(), AnswersFull> {
        self.forget_old(journal, now);
        let Some(used) = self.used.get(account).filter(|used| used.bytes >= most) else { return Ok(()) };
        let oldest = used.numbers.first().and_then(|number| self.by_key.get(self.keys.get(number)?));
        let at = oldest.map_or(now.as_nanos(), |one| one.at);
        Err(AnswersFull { used: used.bytes, until: WallTime::from_nanos(at.saturating_add(KEPT_NS)) })
    }

    /// From a record.
    pub(crate) fn insert(&mut self, key: String, answer: CachedReply) {
        let number = answer.number;
        self.take(&key);
        let used = self.used.entry(answer.account.clone()).or_default();
        used.bytes += answer.bytes(&key);
        used.numbers.insert(number);
        self.by_key.insert(key.clone(), answer);
        self.keys.insert(number, key);
    }

    /// An answer whose record is gone.
    pub(crate) fn forget(&mut self, key: &str) {
        self.take(key);
    }

    /// Forgets an answer.
    fn take(&mut self, key: &str) {
        let Some(old) = self.by_key.remove(key) else { return };
        self.keys.remove(&old.number);
        if let Some(used) = self.used.get_mut(&old.account) {
            used.bytes = used.bytes.saturating_sub(old.bytes(key));
            used.numbers.remove(&old.number);
            if used.numbers.is_empty() {
                self.used.remove(&old.account);
            }
        }
    }

    /// Remembers an answer, and forgets those that are too old.
    pub(crate) fn remember(&mut self, journal: &mut Journal, now: WallTime, key: &str, answer: NewAnswer<'_>) {
        self.forget_old(journal, now);
        let NewAnswer { account, fingerprint, answer } = answer;
        let (number, account) = (journal.next_answer(), account.to_owned());
        self.insert(key.to_owned(), CachedReply { fingerprint, answer, at: now.as_nanos(), number, account });
        journal.mark(DirtyRecord::Answer(key.to_owned()));
    }

    fn forget_old(&mut self, journal: &mut Journal, now: WallTime) {
        while let Some((_, key)) = self.keys.first_key_value() {
            let is_old = self.by_key.get(key).is_none_or(|one| one.at.saturating_add(KEPT_NS) < now.as_nanos());
            if !is_old {
                break;
            }
            let key = key.clone();
            self.take(&key);
            journal.mark(DirtyRecord::Answer(key));
        }
    }
}

/// An answer to be remembered.
#[derive(Clone, Debug)]
pub struct NewAnswer<'a> {
    /// Who pays for it.
    pub account: &'a str,
    /// What was asked, as a hash.
    pub fingerprint: String,
    /// What was answered.
    pub answer: String,
}
