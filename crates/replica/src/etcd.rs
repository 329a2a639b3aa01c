//! What of etcd is used: transactions, ranges and leases. [`Gateway`](crate::Gateway) speaks to one; tests have a model of it.

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
pub struct Done {
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

/// Why etcd did not answer as expected.
#[derive(thiserror::Error, Clone, Debug, PartialEq, Eq)]
pub enum EtcdError {
    /// Nothing was done: no member could be reached.
    #[error("etcd cannot be reached: {0}")]
    Unreachable(String),
    /// It may have been done, now or later.
    #[error("etcd has not answered, and may have done what it was asked: {0}")]
    Unknown(String),
    /// It said no.
    #[error("etcd refused: {0}")]
    Refused(String),
}

/// An etcd, of one member or several. Reads are linearizable.
pub trait Etcd: Send {
    /// Does all of it if everything is as compared, or nothing.
    ///
    /// # Errors
    /// If it is not known that it was carried out or refused by the comparison.
    fn transact(&mut self, compares: &[Compare], then: &[Op]) -> Result<Done, EtcdError>;

    /// Keys from one up to another, without it.
    ///
    /// # Errors
    /// If there is no answer.
    fn range(&mut self, from: &str, to: &str, most: usize) -> Result<Range, EtcdError>;

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
