//! Interface to etcd: transactions, ranges and leases. [`Gateway`](crate::Gateway) is the client of a real etcd;
//! tests have a model.

/// Revision of a read that wants the present values of keys.
pub const NOW: i64 = 0;

/// A key as it is in etcd.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyValue {
    /// Its name.
    pub key: String,
    /// Value of the key.
    pub value: Vec<u8>,
    /// The revision at which it was written last.
    pub revision: i64,
}

/// Condition of a transaction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Compare {
    /// The key was written last at this revision.
    Revision(String, i64),
    /// The key has this value.
    Value(String, Vec<u8>),
    /// There is no such key.
    Missing(String),
}

/// Operation of a transaction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Op {
    /// Writes a key, which ends with a lease if there is one.
    Put {
        /// Its name.
        key: String,
        /// New value of the key.
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

/// Outcome of a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TransactionResult {
    /// `true` if all conditions held, so that it was executed.
    pub is_carried_out: bool,
    /// The revision of etcd then.
    pub revision: i64,
}

/// Keys in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Range {
    /// Keys found, at most as many as requested.
    pub keys: Vec<KeyValue>,
    /// `true` if there are more.
    pub is_cut: bool,
    /// The revision of etcd then.
    pub revision: i64,
}

/// A range of keys that is asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyRange {
    /// The first key.
    pub from: String,
    /// The first key behind the range.
    pub to: String,
    /// Maximum number of keys in the answer.
    pub most: usize,
}

/// Error of a request to etcd.
#[derive(thiserror::Error, Clone, Debug, PartialEq, Eq)]
pub enum EtcdError {
    /// Nothing was done: no member could be reached.
    #[error("etcd cannot be reached: {0}")]
    Unreachable(String),
    /// It may have been done, now or later.
    #[error("no answer from etcd; the request may have been carried out: {0}")]
    Unknown(String),
    /// Etcd refused the request.
    #[error("etcd refused: {0}")]
    Refused(String),
    /// Etcd has compacted the requested revision.
    #[error("etcd has compacted the requested revision: {0}")]
    Compacted(String),
}

/// An etcd, of one member or several. Reads are linearizable.
pub trait Etcd: Send {
    /// Executes all operations if all conditions hold, or none.
    ///
    /// # Errors
    /// If the outcome is unknown.
    fn transact(&mut self, compares: &[Compare], then: &[Op]) -> Result<TransactionResult, EtcdError>;

    /// Reads several ranges, all of them at one revision, which each range names.
    ///
    /// # Errors
    /// If there is no answer.
    fn read(&mut self, queries: &[KeyRange]) -> Result<Vec<Range>, EtcdError>;

    /// Reads a range as it was at a revision, or as it is ([`NOW`]).
    ///
    /// # Errors
    /// [`EtcdError::Compacted`] if that revision is no longer kept, and if there is no answer.
    fn range_at(&mut self, query: &KeyRange, revision: i64) -> Result<Range, EtcdError>;

    /// Keys from one up to another, without it, as they are.
    ///
    /// # Errors
    /// If there is no answer.
    fn range(&mut self, from: &str, to: &str, most: usize) -> Result<Range, EtcdError> {
        self.range_at(&KeyRange { from: from.to_owned(), to: to.to_owned(), most }, NOW)
    }

    /// Returns a new lease of this duration.
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

    /// Compacts the history of keys before this revision.
    ///
    /// # Errors
    /// If there is no answer.
    fn compact(&mut self, revision: i64) -> Result<(), EtcdError>;
}
