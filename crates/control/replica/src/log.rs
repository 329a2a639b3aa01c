//! The log of committed batches, as keys of etcd.
//!
//! | key, below `/wayleave/CLUSTER/` | |
//! |---|---|
//! | `leader` | the leader, with its lease. Every write of a leader compares the revision of this key |
//! | `basis` | configuration with which contracts are decided: network, scheme, model. Only a leader writes it, and only a controller with an equal configuration can become leader |
//! | `head` | the number of the last batch |
//! | `log/NUMBER` | a batch: its changes, or the number of its parts; these and the parts of a snapshot are JSON, compressed by zlib |
//! | `part/NUMBER/REVISION/PART` | the parts of a batch above [`LARGEST`]. They count as soon as `log/NUMBER` names them, and not before |
//! | `snapshot` | the number of the last batch that the snapshot contains, and the number of its parts |
//! | `state/NUMBER/PART` | its parts |
//!
//! Leases give liveness, revisions safety: a leader that was paused may write a part that no batch will name, and
//! nothing else.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::sync::Arc;

use flate2::Compression;
use flate2::read::ZlibDecoder;
use flate2::write::ZlibEncoder;
use serde::{Deserialize, Serialize};
use wayleave_store::{CommitStep, StoredRecord};

use crate::config_fingerprint::ClusterConfig;
use crate::etcd::{Compare, Etcd, EtcdError, KeyRange, KeyValue, Op, TransactionResult};

/// The largest value: etcd takes requests of 1.5 MiB.
const LARGEST: usize = 1 << 20;
/// Minimum number of batches that are read at once: as many of the largest size fit in one answer of the gateway, with base64.
pub(crate) const MIN_PAGE: usize = 32;
/// Maximum number of batches that are read at once.
const MAX_PAGE: usize = 1_024;
/// A page has about as many bytes as this, where batches are small: a quarter of the largest page that [`MIN_PAGE`] allows.
const PAGE_BYTES: usize = 8 << 20;
/// Parts of a batch or of a snapshot that are read at once.
const PARTS: usize = 16;

/// Records by kind and key.
pub type State = BTreeMap<(String, String), Arc<str>>;

/// Error of reading or writing the log.
#[derive(thiserror::Error, Clone, Debug, PartialEq, Eq)]
pub enum LogError {
    /// Etcd.
    #[error("{0}")]
    Etcd(#[from] EtcdError),
    /// Another controller leads, or has led since.
    #[error("another controller is the leader now: nothing was written")]
    Deposed,
    /// The content of etcd was not written by this program.
    #[error("{key} in etcd {why}")]
    Damaged {
        /// Key with the error.
        key: String,
        /// Description of the error.
        why: String,
    },
    /// A state of its own, where the cluster has another one.
    #[error("{0}")]
    ForeignState(String),
}

/// A batch as it is written.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
enum Entry {
    /// Kind, key, and new value of the record.
    Changes(Vec<(String, String, Option<Arc<str>>)>),
    /// The leader's revision in the keys of its parts, and the number of parts.
    Parts(i64, usize),
}

/// Content of `snapshot`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Pointer {
    pub(crate) number: u64,
    pub(crate) parts: usize,
}

/// Values of a cluster's keys at one revision of etcd.
#[derive(Clone, Debug)]
pub(crate) struct LogSurvey {
    /// That revision.
    pub(crate) revision: i64,
    /// Number of the last batch; `None` before the first leader.
    pub(crate) head: Option<u64>,
    /// The leader.
    pub(crate) leader: Option<KeyValue>,
    /// Configuration of the cluster, as written and as read; `None` before the first leader.
    pub(crate) basis: Option<(Vec<u8>, ClusterConfig)>,
    /// The last snapshot, and the revision at which it was written.
    pub(crate) snapshot: Option<(Pointer, i64)>,
    /// First batches behind the number that was asked for; empty if there are none, or the snapshot has them.
    pub(crate) page: Vec<KeyValue>,
}

/// Batches that were read together.
pub(crate) struct Page {
    /// Number of the last one.
    pub(crate) last: u64,
    /// Their changes, in order.
    pub(crate) changes: Vec<CommitStep>,
}

/// Parts of a snapshot that have been read so far.
#[derive(Debug, Default)]
pub(crate) struct Parts {
    /// The snapshot, and the revision at which it was written.
    of: Option<(Pointer, i64)>,
    bytes: Vec<u8>,
    count: usize,
}

/// Prefix of the keys of a cluster.
#[derive(Clone, Debug)]
pub(crate) struct Names(String);

impl Names {
    pub(crate) fn new(cluster: &str) -> Self {
        Self(format!("/wayleave/{cluster}/"))
    }

    pub(crate) fn leader(&self) -> String {
        format!("{}leader", self.0)
    }

    pub(crate) fn basis(&self) -> String {
        format!("{}basis", self.0)
    }

    fn head(&self) -> String {
        format!("{}head", self.0)
    }

    fn snapshot(&self) -> String {
        format!("{}snapshot", self.0)
    }

    fn entry(&self, number: u64) -> String {
        format!("{}log/{number:020}", self.0)
    }

    fn part(&self, number: u64, revision: i64, part: usize) -> String {
        format!("{}part/{number:020}/{revision:020}/{part:06}", self.0)
    }

    fn parts_from(&self, number: u64) -> String {
        format!("{}part/{number:020}", self.0)
    }

    fn state(&self, number: u64, part: usize) -> String {
        format!("{}state/{number:020}/{part:06}", self.0)
    }

    fn states_from(&self, number: u64) -> String {
        format!("{}state/{number:020}", self.0)
    }
}

/// The key after this one.
fn after(key: &str) -> String {
    format!("{key}\0")
}

fn damaged(key: &str, why: impl ToString) -> LogError {
    LogError::Damaged { key: key.to_owned(), why: why.to_string() }
}

/// Number of batches to read next, after a page of these: as many as make about [`PAGE_BYTES`].
pub(crate) fn next_page(keys: &[KeyValue], before: usize) -> usize {
    let bytes: usize = keys.iter().map(|found| found.value.len()).sum();
    if keys.len() < before {
        return before;
    }
    (PAGE_BYTES * keys.len() / bytes.max(1)).min(before * 4).clamp(MIN_PAGE, MAX_PAGE)
}

/// Applies changes to a state.
pub(crate) fn apply(state: &mut State, changes: &[CommitStep]) {
    for change in changes {
        match change {
            CommitStep::Put(StoredRecord { kind, key, body }) => {
                state.insert((kind.to_string(), key.clone()), body.clone());
            }
            CommitStep::Delete { kind, key } => {
                state.remove(&(kind.to_string(), key.clone()));
            }
        }
    }
}

/// All records of a state.
pub fn records(state: &State) -> Vec<StoredRecord> {
    state.iter().map(|((kind, key), body)| StoredRecord::new(kind.clone(), key.clone(), body.clone())).collect()
}

impl Names {
    /// Reads, in one request, everything that a controller needs whose state is complete up to this number, and at
    /// most `most` batches behind it.
    ///
    /// # Errors
    /// [`LogError::Damaged`] if the keys contradict one another, or the controller's state: all were read at one
    /// revision, so no batch was written in between.
    pub(crate) fn survey(&self, etcd: &mut dyn Etcd, number: u64, most: usize) -> Result<LogSurvey, LogError> {
        let alone = |key: String| KeyRange { to: after(&key), from: key, most: 1 };
        let log = KeyRange { from: self.entry(number + 1), to: after(&self.entry(u64::MAX)), most };
        let queries = [alone(self.head()), alone(self.leader()), alone(self.basis()), alone(self.snapshot()), log];
        let ranges = etcd.read(&queries)?;
        let revision = ranges.first().map_or(0, |range| range.revision);
        let mut ranges = ranges.into_iter().map(|range| range.keys);
        let mut keys = || ranges.next().unwrap_or_default();
        let mut one = || keys().into_iter().next();
        let (head, leader, basis, snapshot) = (one(), one(), one(), one());
        let head = head.map(|found| self.head_of(&found.value)).transpose()?;
        let basis = basis.map(|found| {
            let basis = serde_json::from_slice(&found.value);
            basis
                .map(|basis| (found.value, basis))
                .map_err(|error| damaged(&found.key, format!("is not a valid basis: {error}")))
        });
        let snapshot = snapshot.map(|found| {
            let pointer: Result<Pointer, _> = serde_json::from_slice(&found.value);
            pointer.map(|pointer| (pointer, found.revision)).map_err(|error| damaged(&found.key, error))
        });
        let (basis, snapshot) = (basis.transpose()?, snapshot.transpose()?);
        let survey = LogSurvey { revision, head, leader, basis, snapshot, page: keys() };
        self.check(survey, number)
    }

    fn head_of(&self, text: &[u8]) -> Result<u64, LogError> {
        let number = std::str::from_utf8(text).ok().and_then(|text| text.parse().ok());
        number.ok_or_else(|| damaged(&self.head(), "is not a number"))
    }

    /// Checks that a controller whose state is complete up to this number can reach the head with the present keys.
    fn check(&self, survey: LogSurvey, number: u64) -> Result<LogSurvey, LogError> {
        let LogSurvey { head, snapshot, page, .. } = &survey;
        let in_snapshot = snapshot.map_or(0, |(pointer, _)| pointer.number);
        let Some(head) = *head else {
            let left = page.first().map(|found| &found.key).or(snapshot.map(|_| self.snapshot()).as_ref()).cloned();
            return match left {
                Some(left) => Err(damaged(&self.head(), format!("is missing, but {left} exists: keys were deleted"))),
                None if number > 0 => Err(self.ahead("is missing", number)),
                None => Ok(survey),
            };
        };
        if head < number {
            return Err(self.ahead(&format!("has {head}"), number));
        }
        if in_snapshot > head {
            let why = format!("has batch {in_snapshot}, but {} has {head}: keys were deleted or changed", self.head());
            return Err(damaged(&self.snapshot(), why));
        }
        if let Some(found) = page.iter().find(|found| found.key > self.entry(head)) {
            return Err(damaged(&found.key, format!("exists, but {} has {head}: keys were changed", self.head())));
        }
        match page.first() {
            _ if head == number => Ok(survey),
            Some(found) if found.key == self.entry(number + 1) => Ok(survey),
            // The log begins later.
            _ if in_snapshot > number => Ok(LogSurvey { page: Vec::new(), ..survey }),
            _ => Err(self.lost(number + 1)),
        }
    }

    fn ahead(&self, text: &str, number: u64) -> LogError {
        let why = format!(
            "{text}, but this controller has seen batch {number}: is this another etcd, or was an older state restored?"
        );
        damaged(&self.head(), why)
    }

    pub(crate) fn lost(&self, number: u64) -> LogError {
        damaged(
            &self.entry(number),
            "is missing from the log and from every snapshot: etcd has lost it, or it was deleted",
        )
    }

    /// Reads the batches from this number up to the head of a survey, a page of them, as they were at its revision.
    ///
    /// # Errors
    /// [`EtcdError::Compacted`] if etcd no longer knows them as they were.
    pub(crate) fn read_log(
        &self,
        etcd: &mut dyn Etcd,
        (first, head): (u64, u64),
        most: usize,
        revision: i64,
    ) -> Result<Vec<KeyValue>, LogError> {
        let query = KeyRange { from: self.entry(first), to: after(&self.entry(head)), most };
        Ok(etcd.range_at(&query, revision)?.keys)
    }

    /// The changes of keys that were read at a revision, from this number on.
    pub(crate) fn page(
        &self,
        etcd: &mut dyn Etcd,
        first: u64,
        keys: &[KeyValue],
        revision: i64,
    ) -> Result<Page, LogError> {
        let mut page = Page { last: first - 1, changes: Vec::new() };
        for (number, found) in (first..).zip(keys) {
            if found.key != self.entry(number) {
                return Err(self.lost(number));
            }
            let entry: Entry =
                unpacked(&found.value).map_err(|error| damaged(&found.key, format!("is not a batch: {error}")))?;
            let changes = match entry {
                Entry::Changes(changes) => changes,
                Entry::Parts(leader, parts) => {
                    let key = |part| self.part(number, leader, part);
                    let mut all = Parts::default();
                    while all.count < parts {
                        self.read_parts(etcd, (&key, parts), (&found.key, found.revision), revision, &mut all)?;
                    }
                    unpacked(&all.bytes).map_err(|error| damaged(&key(0), error))?
                }
            };
            page.changes.extend(changes.into_iter().map(change));
            page.last = number;
        }
        Ok(page)
    }

    /// Reads some parts behind those already read. Parts do not change. If etcd no longer has the revision, they are
    /// read together with the key that names them, which proves that they are current.
    fn read_parts(
        &self,
        etcd: &mut dyn Etcd,
        (key, parts): (&impl Fn(usize) -> String, usize),
        (named, written): (&str, i64),
        revision: i64,
        read: &mut Parts,
    ) -> Result<(), LogError> {
        let query = KeyRange { from: key(read.count), to: key(parts), most: PARTS };
        let found = match etcd.range_at(&query, revision) {
            Err(EtcdError::Compacted(why)) => {
                let name = KeyRange { from: named.to_owned(), to: after(named), most: 1 };
                let mut ranges = etcd.read(&[name, query])?.into_iter().map(|range| range.keys);
                let is_same = ranges.next().is_some_and(|name| name.first().is_some_and(|one| one.revision == written));
                // Otherwise the log was truncated since.
                ranges.next().filter(|_| is_same).ok_or(EtcdError::Compacted(why))?
            }
            found => found?.keys,
        };
        let missing = || damaged(&key(read.count), "is missing: etcd has lost it, or it was deleted");
        if found.is_empty() {
            return Err(missing());
        }
        for (at, found) in (read.count..).zip(&found) {
            if found.key != key(at) {
                return Err(missing());
            }
        }
        read.count += found.len();
        read.bytes.extend(found.into_iter().flat_map(|found| found.value));
        Ok(())
    }

    /// Reads a snapshot as it was at a revision. Parts that were read before are not read again, as long as it is the same one.
    ///
    /// # Errors
    /// [`EtcdError::Compacted`] if etcd no longer knows it as it was.
    pub(crate) fn read_snapshot(
        &self,
        etcd: &mut dyn Etcd,
        (pointer, written): (Pointer, i64),
        revision: i64,
        read: &mut Parts,
    ) -> Result<State, LogError> {
        if read.of != Some((pointer, written)) {
            *read = Parts { of: Some((pointer, written)), ..Parts::default() };
        }
        let key = |part| self.state(pointer.number, part);
        while read.count < pointer.parts {
            self.read_parts(etcd, (&key, pointer.parts), (&self.snapshot(), written), revision, read)?;
        }
        let found: Vec<(String, String, Arc<str>)> = unpacked(&read.bytes).map_err(|error| damaged(&key(0), error))?;
        Ok(found.into_iter().map(|(kind, key, body)| ((kind, key), body)).collect())
    }

    /// Writes the batch of the next number, if the leader is the one of this revision and the log ends where it thinks.
    ///
    /// # Errors
    /// [`LogError::Deposed`] if not: nothing was written. If etcd does not answer, it may have been written, or may be later: until the leader's key is written again.
    pub(crate) fn append(
        &self,
        etcd: &mut dyn Etcd,
        leader: i64,
        head: u64,
        changes: &[CommitStep],
    ) -> Result<usize, LogError> {
        let number = head + 1;
        let entry = Entry::Changes(changes.iter().map(written).collect());
        let mut text = packed(&entry)?;
        let size = text.len();
        if size > LARGEST {
            let Entry::Changes(changes) = &entry else { return Err(damaged("log", "has no changes")) };
            let whole = packed(changes)?;
            let parts = self.write_parts(etcd, leader, &whole, |part| self.part(number, leader, part))?;
            text = packed(&Entry::Parts(leader, parts))?;
        }
        let then = [put(self.entry(number), text), put(self.head(), number.to_string().into_bytes())];
        let last = Compare::Value(self.head(), head.to_string().into_bytes());
        self.write(etcd, &[self.leads(leader), last], &then)?;
        Ok(size)
    }

    /// From now on its controllers decide with this.
    pub(crate) fn replace_basis(
        &self,
        etcd: &mut dyn Etcd,
        leader: i64,
        basis: &ClusterConfig,
    ) -> Result<(), LogError> {
        self.write(etcd, &[self.leads(leader)], &[put(self.basis(), json(basis)?)]).map(drop)
    }

    /// Writes what the log begins with, unless it has begun.
    pub(crate) fn begin(&self, etcd: &mut dyn Etcd, leader: i64) -> Result<(), LogError> {
        self.write(etcd, &[self.leads(leader), Compare::Missing(self.head())], &[put(self.head(), b"0".to_vec())])
            .map(drop)
    }

    /// Writes a snapshot of the state after this batch, and deletes the batches that it contains, and older snapshots. The revision at which it was written.
    pub(crate) fn write_snapshot(
        &self,
        etcd: &mut dyn Etcd,
        leader: i64,
        number: u64,
        state: &State,
    ) -> Result<i64, LogError> {
        let all: Vec<_> = state.iter().map(|((kind, key), body)| (kind, key, body)).collect();
        let parts = self.write_parts(etcd, leader, &packed(&all)?, |part| self.state(number, part))?;
        let pointer = json(&Pointer { number, parts })?;
        let delete = |from: String, to: String| Op::Delete { from, to };
        let then = [
            put(self.snapshot(), pointer),
            delete(self.entry(0), self.entry(number + 1)),
            delete(self.parts_from(0), self.parts_from(number + 1)),
            delete(self.states_from(0), self.states_from(number)),
        ];
        Ok(self.write(etcd, &[self.leads(leader)], &then)?.revision)
    }

    fn write_parts(
        &self,
        etcd: &mut dyn Etcd,
        leader: i64,
        whole: &[u8],
        key: impl Fn(usize) -> String,
    ) -> Result<usize, LogError> {
        let mut parts = 0;
        for chunk in whole.chunks(LARGEST) {
            self.write(etcd, &[self.leads(leader)], &[put(key(parts), chunk.to_vec())])?;
            parts += 1;
        }
        Ok(parts)
    }

    fn leads(&self, revision: i64) -> Compare {
        Compare::Revision(self.leader(), revision)
    }

    fn write(&self, etcd: &mut dyn Etcd, compares: &[Compare], then: &[Op]) -> Result<TransactionResult, LogError> {
        let done = etcd.transact(compares, then)?;
        if done.is_carried_out { Ok(done) } else { Err(LogError::Deposed) }
    }
}

pub(crate) fn put(key: String, value: Vec<u8>) -> Op {
    Op::Put { key, value, lease: 0 }
}

pub(crate) fn json(value: &impl Serialize) -> Result<Vec<u8>, LogError> {
    serde_json::to_vec(value).map_err(|error| damaged("a value", error))
}

/// Serializes to JSON, compressed by zlib: batches are repetitive, and etcd writes each byte several times.
fn packed(value: &impl Serialize) -> Result<Vec<u8>, LogError> {
    let mut packed = ZlibEncoder::new(Vec::new(), Compression::fast());
    packed.write_all(&json(value)?).map_err(|error| damaged("a value", error))?;
    packed.finish().map_err(|error| damaged("a value", error))
}

fn unpacked<T: for<'a> Deserialize<'a>>(packed: &[u8]) -> Result<T, serde_json::Error> {
    let mut text = Vec::new();
    ZlibDecoder::new(packed).read_to_end(&mut text).map_err(serde_json::Error::io)?;
    serde_json::from_slice(&text)
}

fn written(change: &CommitStep) -> (String, String, Option<Arc<str>>) {
    match change {
        CommitStep::Put(StoredRecord { kind, key, body }) => (kind.to_string(), key.clone(), Some(body.clone())),
        CommitStep::Delete { kind, key } => (kind.to_string(), key.clone(), None),
    }
}

fn change((kind, key, body): (String, String, Option<Arc<str>>)) -> CommitStep {
    match body {
        Some(body) => CommitStep::Put(StoredRecord::new(kind, key, body)),
        None => CommitStep::delete(kind, key),
    }
}
