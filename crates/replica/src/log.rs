//! The log of committed batches, as keys of etcd.
//!
//! | key, below `/wayleave/CLUSTER/` | |
//! |---|---|
//! | `leader` | who leads, with its lease. Its revision is compared by everything that a leader writes |
//! | `basis` | with what contracts are decided: network, scheme, model. Only a leader writes it, and only who has the same can become one |
//! | `head` | the number of the last batch |
//! | `log/NUMBER` | a batch: its changes, or how many parts it has; these and the parts of a snapshot are JSON, made smaller by zlib |
//! | `part/NUMBER/REVISION/PART` | the parts of a batch above [`LARGEST`]. They count as soon as `log/NUMBER` names them, and not before |
//! | `snapshot` | the number of the last batch that the snapshot contains, and how many parts it has |
//! | `state/NUMBER/PART` | its parts |
//!
//! Leases give liveness, revisions safety: a leader that was paused may write a part that nobody will name, and nothing else.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::sync::Arc;

use flate2::Compression;
use flate2::read::ZlibDecoder;
use flate2::write::ZlibEncoder;
use serde::{Deserialize, Serialize};
use wayleave_store::{Change, Record};

use crate::basis::Basis;
use crate::etcd::{Compare, Done, Etcd, EtcdError, Op, Range};

/// The largest value: etcd takes requests of 1.5 MiB.
const LARGEST: usize = 1 << 20;
/// Batches that are read at once.
const PAGE: usize = 32;

/// Records by kind and key.
pub type State = BTreeMap<(String, String), Arc<str>>;

/// Batches with their numbers.
pub(crate) type Batches = Vec<(u64, Vec<Change>)>;

/// Why the log could not be read or written.
#[derive(thiserror::Error, Clone, Debug, PartialEq, Eq)]
pub enum LogError {
    /// Etcd.
    #[error("{0}")]
    Etcd(#[from] EtcdError),
    /// Somebody else leads, or did meanwhile.
    #[error("another controller leads now: nothing was written")]
    Deposed,
    /// What is in etcd is not what this program writes.
    #[error("{key} in etcd {why}")]
    Damaged {
        /// Which key.
        key: String,
        /// What is wrong with it.
        why: String,
    },
    /// A state of its own, where the cluster has another one.
    #[error("{0}")]
    Stranger(String),
}

/// A batch as it is written.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
enum Entry {
    /// Kind, key, and what the record says from now on.
    Changes(Vec<(String, String, Option<Arc<str>>)>),
    /// The leader's revision in the keys of its parts, and how many these are.
    Parts(i64, usize),
}

/// What `snapshot` says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Pointer {
    pub(crate) number: u64,
    pub(crate) parts: usize,
}

/// Where the keys of a cluster are.
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

fn one(etcd: &mut dyn Etcd, key: &str) -> Result<Option<Vec<u8>>, EtcdError> {
    Ok(etcd.range(key, &after(key), 1)?.keys.into_iter().next().map(|found| found.value))
}

fn damaged(key: &str, why: impl ToString) -> LogError {
    LogError::Damaged { key: key.to_owned(), why: why.to_string() }
}

/// Makes a state of what it was before.
pub(crate) fn apply(state: &mut State, changes: &[Change]) {
    for change in changes {
        match change {
            Change::Put(Record { kind, key, body }) => {
                state.insert((kind.to_string(), key.clone()), body.clone());
            }
            Change::Delete { kind, key } => {
                state.remove(&(kind.to_string(), key.clone()));
            }
        }
    }
}

/// All records of a state.
pub fn records(state: &State) -> Vec<Record> {
    state.iter().map(|((kind, key), body)| Record::new(kind.clone(), key.clone(), body.clone())).collect()
}

impl Names {
    /// The number of the last batch; `None` before the first.
    pub(crate) fn read_head(&self, etcd: &mut dyn Etcd) -> Result<Option<u64>, LogError> {
        let Some(text) = one(etcd, &self.head())? else { return Ok(None) };
        let number = std::str::from_utf8(&text).ok().and_then(|text| text.parse().ok());
        Ok(Some(number.ok_or_else(|| damaged(&self.head(), "is no number"))?))
    }

    /// Batches behind this number, at most a page of them, with the number of each. Empty if there are none; an error is never taken for that. `None`: the log
    /// begins later, so the snapshot has to be read.
    pub(crate) fn read_after(&self, etcd: &mut dyn Etcd, number: u64) -> Result<Option<Batches>, LogError> {
        let Range { keys, .. } = etcd.range(&self.entry(number + 1), &after(&self.entry(u64::MAX)), PAGE)?;
        let mut batches = Vec::with_capacity(keys.len());
        for (expected, found) in (number + 1..).zip(keys) {
            if found.key != self.entry(expected) {
                // Also a gap further on: then the log was cut while it was read.
                return Ok(if batches.is_empty() { None } else { Some(batches) });
            }
            let entry: Entry =
                unpacked(&found.value).map_err(|error| damaged(&found.key, format!("is no batch: {error}")))?;
            let changes = match entry {
                Entry::Changes(changes) => changes,
                Entry::Parts(revision, parts) => {
                    match self.read_parts(etcd, |part| self.part(expected, revision, part), parts)? {
                        Some(changes) => changes,
                        // The log was cut meanwhile.
                        None => return Ok(if batches.is_empty() { None } else { Some(batches) }),
                    }
                }
            };
            batches.push((expected, changes.into_iter().map(change).collect()));
        }
        Ok(Some(batches))
    }

    fn read_parts<T: for<'a> Deserialize<'a>>(
        &self,
        etcd: &mut dyn Etcd,
        key: impl Fn(usize) -> String,
        parts: usize,
    ) -> Result<Option<T>, LogError> {
        let mut whole = Vec::new();
        for part in 0..parts {
            let Some(bytes) = one(etcd, &key(part))? else { return Ok(None) };
            whole.extend(bytes);
        }
        Ok(Some(unpacked(&whole).map_err(|error| damaged(&key(0), error))?))
    }

    /// The last snapshot, with the number of the last batch in it.
    pub(crate) fn read_snapshot(&self, etcd: &mut dyn Etcd) -> Result<Option<(u64, State)>, LogError> {
        let Some(pointer) = self.read_pointer(etcd)? else { return Ok(None) };
        let found: Option<Vec<(String, String, Arc<str>)>> =
            self.read_parts(etcd, |part| self.state(pointer.number, part), pointer.parts)?;
        Ok(found.map(|all| (pointer.number, all.into_iter().map(|(kind, key, body)| ((kind, key), body)).collect())))
    }

    pub(crate) fn read_pointer(&self, etcd: &mut dyn Etcd) -> Result<Option<Pointer>, LogError> {
        let key = self.snapshot();
        let Some(text) = one(etcd, &key)? else { return Ok(None) };
        Ok(Some(serde_json::from_slice(&text).map_err(|error| damaged(&key, error))?))
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
        changes: &[Change],
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

    /// What its controllers decide with, as it is written and as it is read; `None` before the first leader.
    pub(crate) fn read_basis(&self, etcd: &mut dyn Etcd) -> Result<Option<(Vec<u8>, Basis)>, LogError> {
        let key = self.basis();
        let Some(text) = one(etcd, &key)? else { return Ok(None) };
        let basis = serde_json::from_slice(&text).map_err(|error| damaged(&key, format!("is no basis: {error}")))?;
        Ok(Some((text, basis)))
    }

    /// From now on its controllers decide with this.
    pub(crate) fn replace_basis(&self, etcd: &mut dyn Etcd, leader: i64, basis: &Basis) -> Result<(), LogError> {
        self.write(etcd, &[self.leads(leader)], &[put(self.basis(), json(basis)?)]).map(drop)
    }

    /// Writes what the log begins with, unless it has begun.
    pub(crate) fn begin(&self, etcd: &mut dyn Etcd, leader: i64) -> Result<(), LogError> {
        self.write(etcd, &[self.leads(leader), Compare::Missing(self.head())], &[put(self.head(), b"0".to_vec())])
            .map(drop)
    }

    /// Writes a snapshot of the state after this batch, and deletes the batches that it contains, and older snapshots.
    pub(crate) fn write_snapshot(
        &self,
        etcd: &mut dyn Etcd,
        leader: i64,
        number: u64,
        state: &State,
    ) -> Result<(), LogError> {
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
        let done = self.write(etcd, &[self.leads(leader)], &then)?;
        // What keys said before: without it etcd keeps everything that was ever written.
        Ok(etcd.compact(done.revision)?)
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

    fn write(&self, etcd: &mut dyn Etcd, compares: &[Compare], then: &[Op]) -> Result<Done, LogError> {
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

/// As JSON, and that as zlib makes it smaller: batches say the same again and again, and etcd writes each byte several times.
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

fn written(change: &Change) -> (String, String, Option<Arc<str>>) {
    match change {
        Change::Put(Record { kind, key, body }) => (kind.to_string(), key.clone(), Some(body.clone())),
        Change::Delete { kind, key } => (kind.to_string(), key.clone(), None),
    }
}

fn change((kind, key, body): (String, String, Option<Arc<str>>)) -> Change {
    match body {
        Some(body) => Change::Put(Record::new(kind, key, body)),
        None => Change::delete(kind, key),
    }
}
