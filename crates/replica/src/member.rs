//! A controller among others: it follows the log, and leads when nobody else does. Time is an argument.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};

use serde::{Deserialize, Serialize};
use wayleave_store::Change;

use crate::etcd::{Compare, Etcd, EtcdError, Op};
use crate::log::{LogError, Names, State, apply};

/// A snapshot is written after so many batches, or so many bytes of them, whichever is first: etcd holds 2 GB, and what was deleted in between.
const SNAPSHOT_BATCHES: u64 = 2_048;
const SNAPSHOT_BYTES: usize = 64 << 20;
/// How often a snapshot is looked for.
const SNAPSHOTS: usize = 10;
const SECOND_NS: u64 = 1_000_000_000;

/// Who is told of batches that others have written, each with its number.
pub type OnBatch<'a> = dyn FnMut(u64, &[Change]) -> Result<(), LogError> + 'a;

/// How a controller takes part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// What all its controllers call the cluster.
    pub cluster: String,
    /// Another one for each process.
    pub id: String,
    /// Where it answers.
    pub address: String,
    /// How long others wait for a leader that says nothing, in seconds.
    pub lease_s: u32,
}

/// Who leads, as the key says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Leader {
    /// The process.
    pub id: String,
    /// Where it answers.
    pub address: String,
}

/// What a controller is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Standing {
    /// Nobody else may write.
    Leads,
    /// Another one may, if there is one.
    Follows(Option<Leader>),
}

/// The lease of a leader, for whoever prolongs it and for those who ask whether it is good.
#[derive(Clone, Debug, Default)]
pub struct Lease(Arc<Inner>);

#[derive(Debug, Default)]
struct Inner {
    /// 0 is none.
    number: AtomicI64,
    /// Until when nobody else leads, in nanoseconds of the clock of those who ask.
    until: AtomicU64,
}

impl Lease {
    /// Whether nobody else can lead now.
    pub fn is_good(&self, now: u64) -> bool {
        self.0.number.load(Ordering::Acquire) != 0 && now < self.0.until.load(Ordering::Acquire)
    }

    /// Prolongs it if there is one. `now` is the time before the question.
    ///
    /// # Errors
    /// If etcd does not answer; it may be asked again.
    pub fn keep(&self, etcd: &mut dyn Etcd, lease_s: u32, now: u64) -> Result<(), EtcdError> {
        let number = self.0.number.load(Ordering::Acquire);
        if number == 0 {
            return Ok(());
        }
        if etcd.keep_alive(number)? {
            self.good_until(now, lease_s);
        } else {
            let _ = self.0.number.compare_exchange(number, 0, Ordering::AcqRel, Ordering::Acquire);
        }
        Ok(())
    }

    fn good_until(&self, now: u64, lease_s: u32) {
        // A tenth less than it lasts: clocks differ.
        self.0.until.fetch_max(now + u64::from(lease_s) * SECOND_NS / 10 * 9, Ordering::AcqRel);
    }

    fn begin(&self, number: i64, now: u64, lease_s: u32) {
        self.0.until.store(0, Ordering::Release);
        self.0.number.store(number, Ordering::Release);
        self.good_until(now, lease_s);
    }

    fn number(&self) -> i64 {
        self.0.number.load(Ordering::Acquire)
    }

    fn end(&self) {
        self.0.number.store(0, Ordering::Release);
    }
}

/// A controller among others.
pub struct Member<E> {
    etcd: E,
    names: Names,
    settings: Settings,
    lease: Lease,
    state: State,
    /// The number of the last batch in the state.
    number: u64,
    /// The revision of the leader's key while this is the leader.
    leads: Option<i64>,
    since_snapshot: (u64, usize),
}

impl<E: Etcd> Member<E> {
    /// With the state that it had after a batch: that of its local copy. Whoever has the lease can say at any time whether it is good.
    pub fn new(etcd: E, settings: Settings, lease: Lease, (state, number): (State, u64)) -> Self {
        let names = Names::new(&settings.cluster);
        Self { etcd, names, settings, lease, state, number, leads: None, since_snapshot: (0, 0) }
    }

    /// The lease, while it leads.
    pub fn lease(&self) -> Lease {
        self.lease.clone()
    }

    /// Everything up to [`Self::number`].
    pub fn state(&self) -> &State {
        &self.state
    }

    /// The number of the last batch that it knows.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// How it takes part.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Reads what has been decided since the last time, and leads from now on if nobody else does. `on_batch` is told every batch with its number, in order; a snapshot is told as the changes
    /// that make its state of the one before.
    ///
    /// # Errors
    /// If etcd does not answer. Then nothing is known of who leads; what was told is so.
    pub fn follow(&mut self, now: u64, on_batch: &mut OnBatch<'_>) -> Result<Standing, LogError> {
        self.leads = None;
        self.catch_up(on_batch)?;
        let key = self.names.leader();
        let found = self.etcd.range(&key, &format!("{key}\0"), 1)?.keys.into_iter().next();
        let compare = match &found {
            None => Compare::Missing(key.clone()),
            Some(found) => {
                let leader: Leader = serde_json::from_slice(&found.value)
                    .map_err(|error| LogError::Damaged { key: key.clone(), why: error.to_string() })?;
                if leader.id != self.settings.id {
                    self.lease.end();
                    return Ok(Standing::Follows(Some(leader)));
                }
                // Its own key, of a time when it got no answer. Written again, nothing of that time can be carried out any more.
                Compare::Revision(key.clone(), found.revision)
            }
        };
        let lease = match self.lease.number() {
            0 => self.etcd.grant(self.settings.lease_s)?,
            lease => lease,
        };
        let leader = Leader { id: self.settings.id.clone(), address: self.settings.address.clone() };
        let value = serde_json::to_vec(&leader)
            .map_err(|error| LogError::Damaged { key: key.clone(), why: error.to_string() })?;
        let done = match self.etcd.transact(&[compare], &[Op::Put { key, value, lease }]) {
            Ok(done) => done,
            // The lease has ended.
            Err(error @ EtcdError::Refused(_)) => {
                self.lease.end();
                return Err(error.into());
            }
            Err(error) => {
                self.lease.begin(lease, 0, 0);
                return Err(error.into());
            }
        };
        if !done.is_carried_out {
            // Somebody was faster.
            self.lease.end();
            self.etcd.revoke(lease)?;
            return Ok(Standing::Follows(None));
        }
        self.lease.begin(lease, 0, 0);
        self.lease.keep(&mut self.etcd, self.settings.lease_s, now)?;
        // What others wrote before this revision is all that there will be.
        self.catch_up(on_batch)?;
        match self.names.read_head(&mut self.etcd)? {
            None => self.names.begin(&mut self.etcd, done.revision)?,
            Some(head) if head == self.number => {}
            Some(head) => {
                let why = format!("says {head}, and the log ends with {}", self.number);
                return Err(LogError::Damaged { key: "head".to_owned(), why });
            }
        }
        self.leads = Some(done.revision);
        Ok(Standing::Leads)
    }

    fn catch_up(&mut self, on_batch: &mut OnBatch<'_>) -> Result<(), LogError> {
        let mut snapshots = 0;
        loop {
            let batches = self.names.read_after(&mut self.etcd, self.number)?;
            let is_at_end = batches.as_ref().is_some_and(Vec::is_empty);
            for (number, changes) in batches.iter().flatten() {
                on_batch(*number, changes)?;
                apply(&mut self.state, changes);
                self.number = *number;
            }
            if is_at_end && self.names.read_head(&mut self.etcd)?.unwrap_or(0) <= self.number {
                return self.check_end();
            }
            if is_at_end || batches.is_none() {
                // The log begins later. A snapshot may be replaced while it is read, but not again and again.
                snapshots += 1;
                if snapshots > SNAPSHOTS {
                    let why = format!("does not have what is behind batch {}: etcd has lost some", self.number);
                    return Err(LogError::Damaged { key: "snapshot".to_owned(), why });
                }
                self.take_snapshot(on_batch)?;
            }
        }
    }

    /// What this controller knows is no more than what the log has.
    fn check_end(&mut self) -> Result<(), LogError> {
        match self.names.read_head(&mut self.etcd)? {
            None if self.number > 0 => Err(self.ahead("is not there")),
            Some(head) if head < self.number => Err(self.ahead(&format!("says {head}"))),
            _ => Ok(()),
        }
    }

    fn ahead(&self, says: &str) -> LogError {
        let why = format!(
            "{says}, and this controller has seen batch {}: is it another etcd, or was an older state of it restored?",
            self.number
        );
        LogError::Damaged { key: "head".to_owned(), why }
    }

    fn take_snapshot(&mut self, on_batch: &mut OnBatch<'_>) -> Result<(), LogError> {
        // A snapshot that is replaced while it is read is looked for again by whoever reads the log.
        let Some((number, state)) = self.names.read_snapshot(&mut self.etcd)? else { return Ok(()) };
        if number <= self.number {
            return Ok(());
        }
        on_batch(number, &difference(&self.state, &state))?;
        (self.state, self.number) = (state, number);
        Ok(())
    }

    /// Writes a batch: everybody will have it when this returns its number.
    ///
    /// # Errors
    /// After an error it leads no more until [`Self::follow`] says so, which also says whether the batch was written.
    pub fn commit(&mut self, changes: &[Change]) -> Result<u64, LogError> {
        let leader = self.leads.take().ok_or(LogError::Deposed)?;
        let bytes = self.names.append(&mut self.etcd, leader, self.number, changes)?;
        apply(&mut self.state, changes);
        self.number += 1;
        self.since_snapshot = (self.since_snapshot.0 + 1, self.since_snapshot.1 + bytes);
        self.leads = Some(leader);
        Ok(self.number)
    }

    /// Writes a snapshot if the log has grown enough, or `now` if it is to be written anyway.
    ///
    /// # Errors
    /// As [`Self::commit`]; nothing that was committed is lost.
    pub fn tidy(&mut self, anyway: bool) -> Result<(), LogError> {
        let (batches, bytes) = self.since_snapshot;
        if !(anyway || batches >= SNAPSHOT_BATCHES || bytes >= SNAPSHOT_BYTES) {
            return Ok(());
        }
        let leader = self.leads.take().ok_or(LogError::Deposed)?;
        self.names.write_snapshot(&mut self.etcd, leader, self.number, &self.state)?;
        (self.since_snapshot, self.leads) = ((0, 0), Some(leader));
        Ok(())
    }

    /// Gives up leading, so that somebody else need not wait.
    ///
    /// # Errors
    /// If etcd does not answer: then the lease ends by itself.
    pub fn resign(&mut self) -> Result<(), LogError> {
        self.leads = None;
        let lease = self.lease.number();
        self.lease.end();
        if lease != 0 {
            self.etcd.revoke(lease)?;
        }
        Ok(())
    }
}

/// What makes one state of another.
fn difference(from: &State, to: &State) -> Vec<Change> {
    let gone = from.keys().filter(|key| !to.contains_key(*key));
    let gone = gone.map(|(kind, key)| Change::delete(kind.clone(), key.clone()));
    let new = to.iter().filter(|(key, body)| from.get(*key) != Some(*body));
    let new = new
        .map(|((kind, key), body)| Change::Put(wayleave_store::Record::new(kind.clone(), key.clone(), body.clone())));
    gone.chain(new).collect()
}
