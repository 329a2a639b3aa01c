//! Several controllers, one truth: the log of committed batches is in etcd, one controller leads and writes, the others follow.
//!
//! A [`Member`] is a controller among others, driven by whoever has a clock. It needs an [`Etcd`]: a [`Gateway`] speaks to a real one.
//!
//! Safety: a batch is written in one transaction that compares the revision of the leader's key and the number of the last batch. So of two that believe to lead
//! at most one writes, and never a batch that does not follow the one before. What was acknowledged is in etcd; what was not may be there, and the next
//! [`Member::follow`] says so, after it has written the leader's key again: from then on nothing older can be carried out.

mod config_fingerprint;
mod etcd;
mod gateway;
mod log;
mod member;

pub use config_fingerprint::{ClusterConfig, Difference, Part};
pub use etcd::{Compare, Etcd, EtcdError, KeyValue, NOW, Op, Query, Range, TransactionResult};
pub use gateway::{Access, Gateway, User};
pub use log::{LogError, State, records};
pub use member::{AcceptRecords, ConfigMismatch, Leader, Lease, Member, MemberRole, OnBatch, Settings};
