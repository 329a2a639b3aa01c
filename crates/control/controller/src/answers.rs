//! Answers to requests that may be repeated (`Idempotency-Key`).
//!
//! An answer is written to disk together with the change it reports, so that a request that is repeated after a crash
//! is not executed twice. Each answer is charged to an account, by its bytes. No further answers are kept for an
//! account at its limit, and an account's answers are never evicted for another account. A key is therefore
//! remembered for a day, independently of the load from other accounts.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use wayleave_units::WallTime;

use crate::journal::{DirtyRecord, Journal};

/// Retention of answers, by the calendar: a day, as is usual.
const KEPT_NS: u64 = 24 * 3600 * 1_000_000_000;

/// Approximate memory of an answer beside its texts: two map entries, numbers and the lengths of texts.
const ENTRY_BYTES: u64 = 200;

/// An answer that was given.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CachedReply {
    /// Hash of the request: another request with the same key is a mistake.
    pub fingerprint: String,
    /// The answer, as the driver wants it back.
    pub answer: String,
    /// Time of the answer, in ns since 1970.
    pub at: u64,
    /// Counted over all answers; never used again.
    pub number: u64,
    /// Account that is charged; empty for answers of version 0.1.0, which expire after a day.
    #[serde(default)]
    pub account: String,
}

impl CachedReply {
    /// Returns the approximate size in memory; the size on disk is about equal.
    fn bytes(&self, key: &str) -> u64 {
        let texts = 2 * key.len() + self.fingerprint.len() + self.answer.len() + self.account.len();
        texts as u64 + ENTRY_BYTES
    }
}

/// Error: no further answer is kept for an account.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AnswersFull {
    /// Size of the account's answers, in bytes.
    pub used: u64,
    /// Time at which the oldest answer expires.
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

/// Memory use of an account's answers.
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

    /// Returns the size of all answers, in bytes.
    pub(crate) fn bytes(&self) -> u64 {
        self.used.values().map(|used| used.bytes).sum()
    }

    /// Returns `Ok` if another answer is kept for an account whose answers may take `most` bytes. The last one may
    /// exceed the limit.
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

    /// Forgets an answer whose record was deleted.
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
    /// Account that is charged.
    pub account: &'a str,
    /// Hash of the request.
    pub fingerprint: String,
    /// The answer.
    pub answer: String,
}
