//! What of etcd is used: transactions, ranges and leases. [`Gateway`](crate::Gateway) speaks to one; tests have a model of it.

/// Revision of a read that wants what the keys say now.
pub const NOW: i64 = 0;

/// A key as it is in etcd.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyValue {
    /// Its name.
    pub key: String,
    /// What it says.
    pub value: Vec<u8>,
    /// The revision at which it was written last.
    pub revision: i64,
}

/// What has to be so for a transaction to be carried out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Compare {
    /// The key was written last at this revision.
    Revision(String, i64),
    /// The key says this.
    Value(String, Vec<u8>),
    /// There is no such key.
    Missing(String),
}

/// What a transaction does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Op {
    /// Writes a key, which ends with a lease if there is one.
    Put {
        /// Its name.
        key: String,
        /// What it says from now on.
        value: Vec<u8>,
        /// 0 is none.
        lease: i64,
    },
    /// Deletes all keys from this one up to that one, which stays.
    Delete {
        /// The first.
        from: String,
        /// The first that stays.
        to: String,
    },
}

/// What became of a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TransactionResult {
    /// Whether everything was as compared, so that it was carried out.
    pub is_carried_out: bool,
    /// The revision of etcd then.
    pub revision: i64,
}

/// Keys in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Range {
    /// Those that were found, at most as many as were asked for.
    pub keys: Vec<KeyValue>,
    /// Whether there are more.
    pub is_cut: bool,
    /// The revision of etcd then.
    pub revision: i64,
}

/// A range of keys that is asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Query {
    /// The first key.
    pub from: String,
    /// The first key behind the range.
    pub to: String,
    /// Maximum number of keys in the answer.
    pub most: usize,
}

/// Why etcd did not answer as expected.
#[derive(thiserror::Error, Clone, Debug, PartialEq, Eq)]
pub enum EtcdError {
    /// Nothing was done: no member could be reached.
    #[error("etcd cannot be reached: {0}")]
    Unreachable(String),
    /// It may have been done, now or later.
    #[error("no answer from etcd; the request may have been carried out: {0}")]
    Unknown(String),
    /// It said no.
    #[error("etcd refused: {0}")]
    Refused(String),
    /// It has forgotten what the keys said at the revision that was asked for.
    #[error("etcd has compacted the requested revision: {0}")]
    Compacted(String),
}

/// An etcd, of one member or several. Reads are linearizable.
pub trait Etcd: Send {
    /// Does all of it if everything is as compared, or nothing.
    ///
    /// # Errors
    /// If it is not known that it was carried out or refused by the comparison.
    fn transact(&mut self, compares: &[Compare], then: &[Op]) -> Result<TransactionResult, EtcdError>;

    /// Reads several ranges, all of them at one revision, which each range names.
    ///
    /// # Errors
    /// If there is no answer.
    fn read(&mut self, queries: &[Query]) -> Result<Vec<Range>, EtcdError>;

    /// Reads a range as it was at a revision, or as it is ([`NOW`]).
    ///
    /// # Errors
    /// [`EtcdError::Compacted`] if that revision is no longer kept, and if there is no answer.
    fn range_at(&mut self, query: &Query, revision: i64) -> Result<Range, EtcdError>;

    /// Keys from one up to another, without it, as they are.
    ///
    /// # Errors
    /// If there is no answer.
    fn range(&mut self, from: &str, to: &str, most: usize) -> Result<Range, EtcdError> {
        self.range_at(&Query { from: from.to_owned(), to: to.to_owned(), most }, NOW)
    }

    /// A new lease of so many seconds.
    ///
    /// # Errors
    /// If there is no answer.
    fn grant(&mut self, seconds: u32) -> Result<i64, EtcdError>;

    /// Prolongs a lease; whether it was still there.
    ///
    /// # Errors
    /// If there is no answer.
    fn keep_alive(&mut self, lease: i64) -> Result<bool, EtcdError>;

    /// Ends a lease, and the keys that it holds.
    ///
    /// # Errors
    /// If there is no answer.
    fn revoke(&mut self, lease: i64) -> Result<(), EtcdError>;

    /// Forgets what keys said before this revision.
    ///
    /// # Errors
    /// If there is no answer.
    fn compact(&mut self, revision: i64) -> Result<(), EtcdError>;
}
