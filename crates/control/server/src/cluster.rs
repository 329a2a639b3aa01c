//! A ledger that several controllers share: the log is in etcd, and each has a copy on its own disk.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

pub use crate::cluster_metrics::ClusterMetrics;
pub use crate::copy_of::CopyOf;
pub use wayleave_replica::{ClusterConfig, ConfigPart, EtcdAccess, Settings, User};
use wayleave_replica::{ClusterMember, ConfigMismatch, Gateway, Lease, LogError, MemberRole, State, records};
use wayleave_store::{CommitStep, Options, SqliteStore, Store, StoreError, StoredRecord};

use crate::clock::boottime;
use crate::cluster_metrics::Timed;
use crate::copy_of::POSITION;
use crate::disk::{CheckRecords, Disk, ForeignChanges, Opened, WriterTurn};
use crate::pulse::{EngineHeartbeat, Watch};
use crate::secret::{hash, hex};

/// Time for which a controller takes no part after a failed write of its copy, for instance because its disk is full.
/// Others take the lead in this time, and do not lose it again to a controller that cannot lead.
const REST: Duration = Duration::from_secs(5);
const POSITION_KEY: &str = "position";

/// Returns a part of a cluster's configuration: its whole text as a fingerprint, and a human-readable summary.
pub fn part(name: &str, text: &str, summary: Vec<String>) -> ConfigPart {
    ConfigPart { name: name.to_owned(), hash: fingerprint(text), summary }
}

/// Returns the configuration with which a cluster decides.
pub fn basis(parts: Vec<ConfigPart>) -> ClusterConfig {
    let hashes: Vec<String> = parts.iter().map(|part| format!("{} {}", part.name, part.hash)).collect();
    ClusterConfig { fingerprint: fingerprint(&hashes.join("\n")), parts }
}

/// Returns the first 64 bits of the SHA-256. A collision gives an attacker no advantage.
fn fingerprint(text: &str) -> String {
    let mut digits = hex(&hash(text));
    digits.truncate(16);
    digits
}

/// A ledger in etcd.
pub struct Cluster {
    access: EtcdAccess,
    settings: Settings,
    copy: PathBuf,
    shared: Option<Arc<Mutex<Both>>>,
    lease: Lease,
    keeper: Option<(Arc<AtomicBool>, JoinHandle<()>)>,
    /// Progress of the engine, without which the lease is not prolonged.
    pulse: Arc<EngineHeartbeat>,
    /// Set when the process is to end.
    ending: Arc<AtomicBool>,
    /// Changes since the last call; `None` if all records have to be read.
    news: Option<Vec<CommitStep>>,
    metrics: Arc<ClusterMetrics>,
    /// Until when it takes no part.
    rests: Option<Instant>,
}

/// The log, and its copy.
struct Both {
    member: ClusterMember<Timed>,
    copy: SqliteStore,
    /// `true` if the log has a batch that the copy lacks: then the copy has to be opened again.
    is_copy_broken: bool,
}

/// Store of a leader: writes to the log and the copy.
struct Shared(Arc<Mutex<Both>>, Arc<ClusterMetrics>);

impl Cluster {
    /// Creates a disk with access to an etcd, and the file for the copy; nothing is opened yet.
    pub fn new(access: EtcdAccess, settings: Settings, copy: PathBuf) -> Self {
        Self {
            access,
            settings,
            copy,
            shared: None,
            lease: Lease::default(),
            keeper: None,
            pulse: Arc::default(),
            ending: Arc::default(),
            news: None,
            metrics: Arc::default(),
            rests: None,
        }
    }

    /// Opens the copy. If it has records and is no copy of this cluster, a new cluster begins with its records.
    fn shared(&mut self) -> Result<Arc<Mutex<Both>>, StoreError> {
        if let Some(shared) = self.shared.as_ref().filter(|shared| !lock(shared).is_copy_broken) {
            return Ok(shared.clone());
        }
        // Its file is locked as long as it is open.
        (self.shared, self.news) = (None, None);
        let (copy, found) = SqliteStore::open(&self.copy, &Options::default())?;
        let position = found.iter().find(|record| record.kind == POSITION);
        let position = position.map(|record| self.position(&record.body)).transpose()?;
        if position.is_none() && !found.is_empty() {
            return Err(self.error(format!(
                "{} is the ledger of a standalone controller: `wayleave ledger join` starts a cluster from it; to join an existing cluster, give a path without a file",
                self.copy.display()
            )));
        }
        let state: State = found
            .into_iter()
            .filter(|record| record.kind != POSITION)
            .map(|StoredRecord { kind, key, body }| ((kind.into_owned(), key), body))
            .collect();
        let gateway = Gateway::new(self.access.clone()).until(self.ending.clone());
        let etcd = Timed { etcd: gateway, metrics: self.metrics.clone() };
        let member =
            ClusterMember::new(etcd, self.settings.clone(), self.lease.clone(), (state, position.unwrap_or(0)));
        self.keep();
        let shared = Arc::new(Mutex::new(Both { member, copy, is_copy_broken: false }));
        self.shared = Some(shared.clone());
        Ok(shared)
    }

    /// Returns an error until the rest time after a failed write of the copy is over.
    fn rest(&mut self) -> Result<(), StoreError> {
        let is_broken = self.shared.as_ref().is_some_and(|shared| lock(shared).is_copy_broken);
        if is_broken {
            let until = *self.rests.get_or_insert_with(|| Instant::now() + REST);
            if Instant::now() < until {
                let copy = self.copy.display();
                return Err(self.error(format!(
                    "{copy} could not be written: this controller does not lead until a retry succeeds"
                )));
            }
        }
        self.rests = None;
        Ok(())
    }

    fn position(&self, text: &str) -> Result<u64, StoreError> {
        let (cluster, number) = text.rsplit_once(' ').unwrap_or(("", text));
        if cluster != self.settings.cluster {
            let file = self.copy.display();
            return Err(self.error(format!("{file} is a copy of the ledger of cluster {cluster}: choose another path")));
        }
        number.parse().map_err(|_| self.error(format!("{} does not record its position", self.copy.display())))
    }

    fn error(&self, message: String) -> StoreError {
        StoreError::Elsewhere { place: self.name(), message }
    }

    /// Returns the reason that it takes no part, and the remedy.
    fn barred(&self, bar: &ConfigMismatch) -> String {
        let cluster = &self.settings.cluster;
        match bar {
            ConfigMismatch::Differs(difference) => format!(
                "this controller has {difference}: it neither decides nor answers requests. Start it with the configuration of cluster {cluster}, or replace the cluster's configuration with --force-config {} (docs/operate/high-availability.md, \"Another network\")",
                difference.cluster.fingerprint
            ),
            ConfigMismatch::Waits(difference) => format!(
                "this controller has {difference}, which replaces that of cluster {cluster} when the present leader has stopped"
            ),
            ConfigMismatch::Unfit(difference, why) => format!(
                "this controller has {difference}, which cannot replace that of cluster {cluster}: not all guarantees could be kept: {why}"
            ),
        }
    }

    /// Renews the lease from a separate thread while the engine makes progress. Without an engine nothing is decided,
    /// and another controller can take over.
    fn keep(&mut self) {
        self.end_keeper();
        let (lease, seconds) = (self.lease.clone(), self.settings.lease_s);
        // A member that hangs must not cost the lease.
        let timeout = Duration::from_millis(u64::from(seconds) * 250);
        let mut etcd = Gateway::new(self.access.clone()).with_timeout(timeout);
        let end = Arc::new(AtomicBool::new(false));
        let ended = end.clone();
        let every = Duration::from_millis(u64::from(seconds) * 250);
        let pulse = self.pulse.clone();
        let mut watch = Watch::new(Duration::from_secs(seconds.into()), boottime());
        let mut hangs = false;
        let keep = move || {
            while !ended.load(Ordering::Relaxed) {
                let silent = watch.look(&pulse, boottime()).filter(|_| lease.is_held());
                if let Some(silent) = silent
                    && !hangs
                {
                    let seconds = silent.as_secs_f64();
                    tracing::error!(
                        seconds,
                        "the engine has stalled: the lease is not renewed, so that another controller can take over"
                    );
                }
                hangs = silent.is_some();
                if !hangs && let Err(error) = lease.keep(&mut etcd, seconds, boottime()) {
                    tracing::warn!(%error, "the leader lease could not be renewed");
                }
                std::thread::park_timeout(every);
            }
        };
        if let Ok(thread) = std::thread::Builder::new().name("lease".to_owned()).spawn(keep) {
            self.keeper = Some((end, thread));
        }
    }

    fn end_keeper(&mut self) {
        if let Some((end, thread)) = self.keeper.take() {
            end.store(true, Ordering::Relaxed);
            thread.thread().unpark();
            let _ = thread.join();
        }
    }
}

fn lock(both: &Mutex<Both>) -> MutexGuard<'_, Both> {
    both.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Both {
    fn keep_copy(copy: &mut SqliteStore, cluster: &str, number: u64, changes: &[CommitStep]) -> Result<(), StoreError> {
        let position = StoredRecord::new(POSITION, POSITION_KEY, format!("{cluster} {number}"));
        let all: Vec<CommitStep> = changes.iter().cloned().chain([CommitStep::Put(position)]).collect();
        copy.commit(&all).map(drop)
    }
}

impl Disk for Cluster {
    fn open(&mut self) -> Result<Opened, StoreError> {
        let shared = self.shared()?;
        let both = lock(&shared);
        let (records, sequence) = (records(both.member.state()), both.member.number());
        drop(both);
        self.news = None;
        Ok(Opened { store: Box::new(Shared(shared, self.metrics.clone())), records, sequence })
    }

    fn turn(&mut self, fits: &mut CheckRecords<'_>) -> Result<WriterTurn, StoreError> {
        self.rest()?;
        let shared = self.shared()?;
        let mut both = lock(&shared);
        let Both { member, copy, is_copy_broken } = &mut *both;
        let cluster = self.settings.cluster.clone();
        let mut broken = None;
        let news = &mut self.news;
        let mut on_batch = |number: u64, changes: &[CommitStep]| {
            Both::keep_copy(copy, &cluster, number, changes).map_err(|error| {
                let why = LogError::ForeignState(error.to_string());
                broken = Some(error);
                why
            })?;
            if let Some(news) = news {
                news.extend_from_slice(changes);
            }
            Ok(())
        };
        let cluster_state = member.follow(boottime(), &mut on_batch, &mut |state| fits(&records(state)));
        if let Some(error) = broken {
            *is_copy_broken = true;
            return Err(error);
        }
        let cluster_state = match cluster_state {
            Ok(cluster_state) => cluster_state,
            // The outcome is unknown and the request may be retried.
            Err(error @ (LogError::Etcd(_) | LogError::Deposed)) => {
                return Ok(WriterTurn::Unknown { why: error.to_string() });
            }
            Err(error) => return Err(self.error(error.to_string())),
        };
        match cluster_state {
            MemberRole::Leads => {
                self.metrics.led_by(&self.settings.id);
                Ok(WriterTurn::Own)
            }
            MemberRole::Follows(leader) => {
                if let Some(leader) = &leader {
                    self.metrics.led_by(&leader.id);
                }
                let news = ForeignChanges { changes: self.news.replace(Vec::new()), sequence: member.number() };
                Ok(WriterTurn::Others { leader: leader.map(|leader| leader.address), news })
            }
            MemberRole::Barred(bar) => {
                // If the cluster adopts this controller's configuration later, all records are news.
                self.news = None;
                Ok(WriterTurn::Barred { waits: matches!(bar, ConfigMismatch::Waits(_)), why: self.barred(&bar) })
            }
        }
    }

    fn records(&mut self) -> Result<Vec<StoredRecord>, StoreError> {
        let shared = self.shared()?;
        let both = lock(&shared);
        Ok(records(both.member.state()))
    }

    fn watch(&mut self, pulse: Arc<EngineHeartbeat>) {
        self.pulse = pulse;
    }

    fn ending(&self) -> Option<Arc<AtomicBool>> {
        Some(self.ending.clone())
    }

    fn metrics(&self) -> Option<Arc<ClusterMetrics>> {
        Some(self.metrics.clone())
    }

    fn lease(&self) -> Option<Lease> {
        Some(self.lease.clone())
    }

    fn resign(&mut self) {
        self.end_keeper();
        self.pass();
    }

    fn pass(&mut self) {
        if let Some(shared) = &self.shared
            && let Err(error) = lock(shared).member.resign()
        {
            tracing::warn!(%error, "the other controllers wait until the lease of this one has expired");
        }
    }

    fn name(&self) -> String {
        format!(
            "cluster {} in {}, with a copy in {}",
            self.settings.cluster,
            self.access.members.join(", "),
            self.copy.display()
        )
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        self.end_keeper();
    }
}

impl Store for Shared {
    fn commit(&mut self, changes: &[CommitStep]) -> Result<u64, StoreError> {
        let mut both = lock(&self.0);
        let Both { member, copy, is_copy_broken } = &mut *both;
        if changes.is_empty() {
            return Ok(member.number());
        }
        let failed = |error: LogError, place: &str| StoreError::Elsewhere {
            place: place.to_owned(),
            message: error.to_string(),
        };
        let cluster = member.settings().cluster.clone();
        let number = member.commit(changes).map_err(|error| failed(error, &cluster))?;
        if let Err(error) = Both::keep_copy(copy, &cluster, number, changes) {
            // It is in the log. Others may lead whose disks are not full.
            *is_copy_broken = true;
            let _ = member.resign();
            return Err(error);
        }
        self.1.wrote_batch();
        if member.tidy(false).map_err(|error| failed(error, &cluster))? {
            self.1.wrote_snapshot();
        }
        Ok(number)
    }

    fn begin_backup(&mut self) -> Result<Option<wayleave_store::Backup>, StoreError> {
        lock(&self.0).copy.begin_backup()
    }

    fn idle(&mut self) -> Result<(), StoreError> {
        lock(&self.0).copy.idle()
    }
}

/// Makes the ledger of a controller by itself the beginning of a cluster, as long as that has none.
///
/// # Errors
/// If the cluster has begun, etcd does not answer, or the ledger cannot be read.
pub fn join(access: EtcdAccess, cluster: &str, ledger: &std::path::Path) -> Result<usize, String> {
    let (mut store, found) = SqliteStore::open(ledger, &Options::default()).map_err(|error| error.to_string())?;
    if found.iter().any(|record| record.kind == POSITION) {
        return Err(format!("{} already is a copy of a cluster's ledger", ledger.display()));
    }
    let count = found.len();
    let changes: Vec<CommitStep> = found.into_iter().map(CommitStep::Put).collect();
    let settings = Settings {
        cluster: cluster.to_owned(),
        id: format!("join-{}", std::process::id()),
        address: String::new(),
        lease_s: 10,
        basis: None,
        replaces: None,
    };
    let mut member = ClusterMember::new(Gateway::new(access), settings, Lease::default(), (State::new(), 0));
    let cluster_state =
        member.follow(boottime(), &mut |_, _| Ok(()), &mut |_| Ok(())).map_err(|error| error.to_string())?;
    if cluster_state != MemberRole::Leads || member.number() > 0 {
        return Err(format!("cluster {cluster} has a ledger already: it was not touched"));
    }
    let number = member.commit(&changes).map_err(|error| error.to_string())?;
    Both::keep_copy(&mut store, cluster, number, &[]).map_err(|error| error.to_string())?;
    member.resign().map_err(|error| error.to_string())?;
    Ok(count)
}

/// Makes a copy of a cluster's ledger that of a controller by itself.
///
/// # Errors
/// If it is none, or cannot be written.
pub fn leave(ledger: &std::path::Path) -> Result<(), String> {
    let (mut store, found) = SqliteStore::open(ledger, &Options::default()).map_err(|error| error.to_string())?;
    if !found.iter().any(|record| record.kind == POSITION) {
        return Err(format!("{} is not a copy of a cluster's ledger", ledger.display()));
    }
    store.commit(&[CommitStep::delete(POSITION, POSITION_KEY)]).map(drop).map_err(|error| error.to_string())
}
