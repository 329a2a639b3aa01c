//! Prometheus metrics of a controller in a cluster, and of its etcd requests.

use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::atomic::AtomicU64;
use std::time::Instant;

use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::{Registry, Unit};
use wayleave_protocol::status::ClusterRole;
use wayleave_replica::{Compare, Etcd, EtcdError, Gateway, KeyRange, Op, Range, TransactionResult};

use crate::cluster_role::{ClusterState, old_name};
use crate::measure::{seconds, signed};

/// Label `standing` with the old name of a role: the metric keeps its name and values for one release.
type RoleLabel = [(&'static str, &'static str); 1];

/// Everything that is counted.
pub struct ClusterMetrics {
    role: Family<RoleLabel, Gauge>,
    commit: Gauge,
    epoch: Gauge,
    lease_left: Gauge<f64, AtomicU64>,
    batches: Counter,
    snapshots: Counter,
    leaders: Counter,
    transaction_seconds: Histogram,
    failures: Counter,
    /// Leader that was seen last.
    leader: Mutex<Option<String>>,
}

impl Default for ClusterMetrics {
    fn default() -> Self {
        Self {
            role: Family::default(),
            commit: Gauge::default(),
            epoch: Gauge::default(),
            lease_left: Gauge::default(),
            batches: Counter::default(),
            snapshots: Counter::default(),
            leaders: Counter::default(),
            transaction_seconds: seconds(),
            failures: Counter::default(),
            leader: Mutex::default(),
        }
    }
}

impl ClusterMetrics {
    pub(crate) fn register(&self, of: &mut Registry) {
        of.register("cluster_standing", "Role of this controller: 1 for the present one", self.role.clone());
        of.register("cluster_commit", "Last batch known to this controller", self.commit.clone());
        of.register("cluster_epoch", "Leader epoch; it increases with every leader", self.epoch.clone());
        let help = "Remaining leader lease, if this controller is the leader";
        of.register_with_unit("cluster_lease_left", help, Unit::Seconds, self.lease_left.clone());
        of.register("cluster_batches", "Batches written by this controller", self.batches.clone());
        of.register("cluster_snapshots", "Snapshots written by this controller", self.snapshots.clone());
        of.register("cluster_leaders", "Leader changes seen by this controller", self.leaders.clone());
        let help = "Duration of etcd transactions, including those without an answer";
        of.register_with_unit("etcd_transaction", help, Unit::Seconds, self.transaction_seconds.clone());
        of.register("etcd_failures", "etcd requests without an answer", self.failures.clone());
    }

    /// Updates the metrics from the present role.
    pub(crate) fn update(&self, cluster_state: &ClusterState) {
        for role in ClusterRole::ALL {
            let labels = [("standing", old_name(role))];
            self.role.get_or_create(&labels).set(i64::from(cluster_state.role == role));
        }
        self.commit.set(signed(cluster_state.commit));
        self.epoch.set(signed(cluster_state.generation));
        self.lease_left.set(cluster_state.lease_left_ns as f64 / 1e9);
    }

    /// This process leads.
    pub(crate) fn led_by(&self, process: &str) {
        let mut leader = self.leader.lock().unwrap_or_else(PoisonError::into_inner);
        if leader.as_deref() != Some(process) {
            *leader = Some(process.to_owned());
            self.leaders.inc();
        }
    }

    pub(crate) fn wrote_batch(&self) {
        self.batches.inc();
    }

    pub(crate) fn wrote_snapshot(&self) {
        self.snapshots.inc();
    }
}

/// An etcd whose transactions are timed.
pub(crate) struct Timed {
    pub(crate) etcd: Gateway,
    pub(crate) metrics: std::sync::Arc<ClusterMetrics>,
}

impl Timed {
    fn counted<T>(&mut self, ask: impl FnOnce(&mut Gateway) -> Result<T, EtcdError>) -> Result<T, EtcdError> {
        ask(&mut self.etcd).inspect_err(|_| {
            self.metrics.failures.inc();
        })
    }
}

impl Etcd for Timed {
    fn transact(&mut self, compares: &[Compare], then: &[Op]) -> Result<TransactionResult, EtcdError> {
        let start = Instant::now();
        let done = self.counted(|etcd| etcd.transact(compares, then));
        self.metrics.transaction_seconds.observe(start.elapsed().as_secs_f64());
        done
    }

    fn read(&mut self, queries: &[KeyRange]) -> Result<Vec<Range>, EtcdError> {
        self.counted(|etcd| etcd.read(queries))
    }

    fn range_at(&mut self, query: &KeyRange, revision: i64) -> Result<Range, EtcdError> {
        self.counted(|etcd| etcd.range_at(query, revision))
    }

    fn grant(&mut self, seconds: u32) -> Result<i64, EtcdError> {
        self.counted(|etcd| etcd.grant(seconds))
    }

    fn keep_alive(&mut self, lease: i64) -> Result<bool, EtcdError> {
        self.counted(|etcd| etcd.keep_alive(lease))
    }

    fn revoke(&mut self, lease: i64) -> Result<(), EtcdError> {
        self.counted(|etcd| etcd.revoke(lease))
    }

    fn compact(&mut self, revision: i64) -> Result<(), EtcdError> {
        self.counted(|etcd| etcd.compact(revision))
    }
}
