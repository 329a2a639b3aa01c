//! Replication of controllers: the log of committed batches is in etcd, one controller leads and writes, the others
//! follow.
//!
//! A [`ClusterMember`] is a controller of the cluster, driven by a caller that has a clock. It needs an [`Etcd`]: a
//! [`Gateway`] is the client of a real one.
//!
//! Safety: a batch is written in one transaction that compares the revision of the leader's key and the number of the
//! last batch. So if two controllers assume that they lead, at most one writes, and never a batch that does not
//! follow the previous one. Every acknowledged batch is in etcd; an unacknowledged one may be. The next
//! [`ClusterMember::follow`] finds this out, after it has written the leader's key again: from then on no older transaction
//! can be executed.

mod config_fingerprint;
mod etcd;
mod gateway;
mod log;
mod member;

pub use config_fingerprint::{ClusterConfig, ConfigPart, Difference};
pub use etcd::{Compare, Etcd, EtcdError, KeyRange, KeyValue, NOW, Op, Range, TransactionResult};
pub use gateway::{EtcdAccess, Gateway, User};
pub use log::{LogError, State, records};
pub use member::{AcceptRecords, ClusterMember, ConfigMismatch, Leader, Lease, MemberRole, OnBatch, Settings};
