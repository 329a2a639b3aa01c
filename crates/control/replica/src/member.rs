//! A controller in a cluster: it follows the log, and leads when no other controller does. Time is an argument.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};

use serde::{Deserialize, Serialize};
use wayleave_store::CommitStep;

use crate::config_fingerprint::{ClusterConfig, Difference};
use crate::etcd::{Compare, Etcd, EtcdError, KeyValue, Op, TransactionResult};
use crate::log::{LogError, LogSurvey, MIN_PAGE, Names, Parts, State, apply, json, next_page, put};

/// Number of batches after which a snapshot is written, unless the limit of bytes is reached first: etcd holds 2 GB,
/// including keys deleted since the last compaction.
const SNAPSHOT_BATCHES: u64 = 2_048;
const SNAPSHOT_BYTES: usize = 64 << 20;
const SECOND_NS: u64 = 1_000_000_000;

/// Receiver of batches that others have written: the changes of one or several, in order, and the number of the last one.
pub type OnBatch<'a> = dyn FnMut(u64, &[CommitStep]) -> Result<(), LogError> + 'a;

/// Check that all promises of a cluster can be kept with the configuration of this controller; the error is the
/// reason that they cannot.
pub type AcceptRecords<'a> = dyn FnMut(&State) -> Result<(), String> + 'a;

/// Settings of a controller in a cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Name of the cluster, common to all its controllers.
    pub cluster: String,
    /// Another one for each process.
    pub id: String,
    /// Address at which it answers.
    pub address: String,
    /// Time after which a silent leader is replaced, in seconds.
    pub lease_s: u32,
    /// Its configuration: that of the cluster, or the cluster's first; `None` for a process that decides nothing.
    pub basis: Option<ClusterConfig>,
    /// The fingerprint of a basis that may be replaced by that of this controller.
    pub replaces: Option<String>,
}

/// The leader, from its key.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Leader {
    /// The process.
    pub id: String,
    /// Address at which it answers.
    pub address: String,
}

/// Role of a controller.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MemberRole {
    /// No other controller may write.
    Leads,
    /// Another one may, if there is one.
    Follows(Option<Leader>),
    /// It decides with something else than the cluster: it may not write, and cannot judge what others write.
    Barred(ConfigMismatch),
}

/// Reason that a controller takes no part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ConfigMismatch {
    /// Its basis is another one.
    Differs(Difference),
    /// Its configuration shall replace that of the cluster as soon as no controller leads with the old one.
    Waits(Difference),
    /// Its basis shall replace that of the cluster, whose promises could not all be kept by it: why.
    Unfit(Difference, String),
}

/// Action of a new leader on the configuration of the cluster.
enum ConfigAction {
    /// Nothing: this one decides nothing.
    Any,
    /// There is none yet.
    First(ClusterConfig),
    /// It equals the cluster's, as written.
    Same(Vec<u8>),
    /// It replaces the cluster's, as written, with this difference.
    Replaced(Vec<u8>, Difference),
}

/// Lease of a leader, shared by the thread that renews it and the threads that check it.
#[derive(Clone, Debug, Default)]
pub struct Lease(Arc<Inner>);

#[derive(Debug, Default)]
struct Inner {
    /// 0 is none.
    number: AtomicI64,
    /// Time until which no other controller leads, in nanoseconds of the callers' clock.
    until: AtomicU64,
}

impl Lease {
    /// Returns `true` if no other controller can lead now.
    pub fn is_good(&self, now: u64) -> bool {
        self.0.number.load(Ordering::Acquire) != 0 && now < self.0.until.load(Ordering::Acquire)
    }

    /// Returns the time for which no other controller can lead, in nanoseconds; 0 if another one may lead now.
    pub fn left(&self, now: u64) -> u64 {
        if self.is_held() { self.0.until.load(Ordering::Acquire).saturating_sub(now) } else { 0 }
    }

    /// Returns `true` if this controller holds a lease, as far as it knows.
    pub fn is_held(&self) -> bool {
        self.number() != 0
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
pub struct ClusterMember<E> {
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
    /// The revision at which the last snapshot was written. Etcd keeps what followers may still be reading until the next one is there.
    snapshot: Option<i64>,
    /// Number of batches that are read at once.
    page: usize,
    /// Number of the batch after which the promises were last checked against another configuration, with the result.
    checked: Option<(u64, Result<(), String>)>,
}

impl<E: Etcd> ClusterMember<E> {
    /// Creates a member with the state of its local copy, after the batch of this number. Every holder of the lease
    /// can check at any time that it is valid.
    pub fn new(etcd: E, settings: Settings, lease: Lease, (state, number): (State, u64)) -> Self {
        let names = Names::new(&settings.cluster);
        Self {
            etcd,
            names,
            settings,
            lease,
            state,
            number,
            leads: None,
            since_snapshot: (0, 0),
            snapshot: None,
            page: MIN_PAGE,
            checked: None,
        }
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

    /// Returns its settings.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Reads all batches since the last call, and takes the lead if no other controller has it. Batches written
    /// during the call are read the next time. `on_batch` receives batches with the number of the last one, in order;
    /// a snapshot is passed as the changes that turn the previous state into its own. `fits` is called before this
    /// controller replaces the configuration of the cluster.
    ///
    /// # Errors
    /// If etcd does not answer. Then the leader is unknown; batches already passed are valid.
    pub fn follow(
        &mut self,
        now: u64,
        on_batch: &mut OnBatch<'_>,
        fits: &mut AcceptRecords<'_>,
    ) -> Result<MemberRole, LogError> {
        self.leads = None;
        let LogSurvey { leader: found, basis, .. } = self.catch_up(on_batch)?;
        let config_action = match self.config_action(basis) {
            Ok(config_action) => config_action,
            Err(difference) => return self.bar(ConfigMismatch::Differs(difference)),
        };
        let key = self.names.leader();
        let compare = match &found {
            None => Compare::Missing(key.clone()),
            Some(found) => {
                let leader = leader(found)?;
                if leader.id != self.settings.id {
                    self.lease.end();
                    return self.follow_leader(leader, config_action, fits);
                }
                // Its own key, of a time when it got no answer. Written again, nothing of that time can be carried out any more.
                Compare::Revision(key.clone(), found.revision)
            }
        };
        let Some(done) = self.take_lead(compare, &config_action, now)? else { return Ok(MemberRole::Follows(None)) };
        // All batches of other controllers were written before this revision.
        let LogSurvey { head, snapshot, .. } = self.catch_up(on_batch)?;
        if head.is_none() {
            self.names.begin(&mut self.etcd, done.revision)?;
        }
        self.snapshot = snapshot.map(|(_, written)| written);
        if let ConfigAction::Replaced(_, difference) = config_action {
            if let Err(why) = self.check(fits) {
                return self.bar(ConfigMismatch::Unfit(difference, why));
            }
            self.names.replace_basis(&mut self.etcd, done.revision, &difference.own)?;
        }
        self.leads = Some(done.revision);
        Ok(MemberRole::Leads)
    }

    /// Compares the configuration of this controller with that of the cluster; the error is a difference that it may
    /// not replace.
    fn config_action(&self, cluster: Option<(Vec<u8>, ClusterConfig)>) -> Result<ConfigAction, Difference> {
        let Some(own) = &self.settings.basis else { return Ok(ConfigAction::Any) };
        let Some((text, cluster)) = cluster else { return Ok(ConfigAction::First(own.clone())) };
        match own.difference(&cluster) {
            None => Ok(ConfigAction::Same(text)),
            Some(difference) if self.settings.replaces.as_ref() == Some(&cluster.fingerprint) => {
                Ok(ConfigAction::Replaced(text, difference))
            }
            Some(difference) => Err(difference),
        }
    }

    /// While another one leads.
    fn follow_leader(
        &mut self,
        leader: Leader,
        config_action: ConfigAction,
        fits: &mut AcceptRecords<'_>,
    ) -> Result<MemberRole, LogError> {
        let ConfigAction::Replaced(_, difference) = config_action else { return Ok(MemberRole::Follows(Some(leader))) };
        // Checked once, so that the operator who starts the controller gets the result at once. The check takes long,
        // and is repeated when no controller leads.
        let checked = match &self.checked {
            Some((_, checked)) => checked.clone(),
            None => self.check(fits),
        };
        self.bar(match checked {
            Ok(()) => ConfigMismatch::Waits(difference),
            Err(why) => ConfigMismatch::Unfit(difference, why),
        })
    }

    /// Checks that all promises can be kept with the configuration of this controller.
    fn check(&mut self, fits: &mut AcceptRecords<'_>) -> Result<(), String> {
        match &self.checked {
            Some((number, checked)) if *number == self.number => checked.clone(),
            _ => {
                let checked = fits(&self.state);
                self.checked = Some((self.number, checked.clone()));
                checked
            }
        }
    }

    /// Lets others lead.
    fn bar(&mut self, bar: ConfigMismatch) -> Result<MemberRole, LogError> {
        self.resign()?;
        Ok(MemberRole::Barred(bar))
    }

    /// Writes the key of the leader, if no other controller has written the key or the configuration since; `None` if
    /// one has.
    fn take_lead(
        &mut self,
        compare: Compare,
        config_action: &ConfigAction,
        now: u64,
    ) -> Result<Option<TransactionResult>, LogError> {
        let lease = match self.lease.number() {
            0 => self.etcd.grant(self.settings.lease_s)?,
            lease => lease,
        };
        let leader = Leader { id: self.settings.id.clone(), address: self.settings.address.clone() };
        let (mut compares, key) = (vec![compare], self.names.leader());
        let mut then = vec![Op::Put { key, value: json(&leader)?, lease }];
        match config_action {
            ConfigAction::Any => {}
            ConfigAction::First(basis) => {
                compares.push(Compare::Missing(self.names.basis()));
                then.push(put(self.names.basis(), json(basis)?));
            }
            ConfigAction::Same(text) | ConfigAction::Replaced(text, _) => {
                compares.push(Compare::Value(self.names.basis(), text.clone()));
            }
        }
        let done = match self.etcd.transact(&compares, &then) {
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
            // Another controller was faster.
            self.lease.end();
            self.etcd.revoke(lease)?;
            return Ok(None);
        }
        self.lease.begin(lease, 0, 0);
        self.lease.keep(&mut self.etcd, self.settings.lease_s, now)?;
        Ok(Some(done))
    }

    /// Reads everything up to the head that the log has now, which is the first one that is seen: later batches are for the next time, so a leader that writes cannot keep a follower here.
    /// Values of the keys then.
    fn catch_up(&mut self, on_batch: &mut OnBatch<'_>) -> Result<LogSurvey, LogError> {
        let mut parts = Parts::default();
        let mut survey = self.survey()?;
        let (target, seen) = (survey.head.unwrap_or(0), LogSurvey { page: Vec::new(), ..survey.clone() });
        while self.number < target {
            match self.advance(survey, &mut parts, on_batch) {
                Ok(()) => break,
                // Etcd has compacted the revision. Batches already read stay valid; the rest is read at the present
                // revision.
                Err(LogError::Etcd(EtcdError::Compacted(_))) => survey = self.survey()?,
                Err(error) => {
                    // The answer may have been too large.
                    self.page = MIN_PAGE;
                    return Err(error);
                }
            }
        }
        Ok(seen)
    }

    fn survey(&mut self) -> Result<LogSurvey, LogError> {
        let survey = self.names.survey(&mut self.etcd, self.number, self.page);
        if survey.is_err() {
            self.page = MIN_PAGE;
        }
        survey
    }

    /// Reads everything up to the head of a survey, as it was at its revision.
    fn advance(&mut self, survey: LogSurvey, parts: &mut Parts, on_batch: &mut OnBatch<'_>) -> Result<(), LogError> {
        let LogSurvey { revision, head, snapshot, page: mut keys, .. } = survey;
        let head = head.unwrap_or(0);
        if keys.is_empty()
            && let Some((pointer, written)) = snapshot.filter(|(pointer, _)| pointer.number > self.number)
        {
            let state = self.names.read_snapshot(&mut self.etcd, (pointer, written), revision, parts)?;
            on_batch(pointer.number, &difference(&self.state, &state))?;
            (self.state, self.number) = (state, pointer.number);
        }
        while self.number < head {
            if keys.is_empty() {
                let range = (self.number + 1, head);
                keys = self.names.read_log(&mut self.etcd, range, self.page, revision)?;
            }
            let page = self.names.page(&mut self.etcd, self.number + 1, &keys, revision)?;
            if page.last == self.number {
                return Err(self.names.lost(self.number + 1));
            }
            on_batch(page.last, &page.changes)?;
            apply(&mut self.state, &page.changes);
            (self.number, self.page) = (page.last, next_page(&keys, self.page));
            keys.clear();
        }
        Ok(())
    }

    /// Writes a batch: all controllers will have it when this returns its number.
    ///
    /// # Errors
    /// After an error it does not lead until [`Self::follow`] reports that it does; the batch may or may not have
    /// been written, and `follow` reads it if it was.
    pub fn commit(&mut self, changes: &[CommitStep]) -> Result<u64, LogError> {
        let leader = self.leads.take().ok_or(LogError::Deposed)?;
        let bytes = self.names.append(&mut self.etcd, leader, self.number, changes)?;
        apply(&mut self.state, changes);
        self.number += 1;
        self.since_snapshot = (self.since_snapshot.0 + 1, self.since_snapshot.1 + bytes);
        self.leads = Some(leader);
        Ok(self.number)
    }

    /// Writes a snapshot if the log has grown enough or `anyway` is set. Returns `true` if it has.
    ///
    /// # Errors
    /// As [`Self::commit`]; no committed batch is lost.
    pub fn tidy(&mut self, anyway: bool) -> Result<bool, LogError> {
        let (batches, bytes) = self.since_snapshot;
        if !(anyway || batches >= SNAPSHOT_BATCHES || bytes >= SNAPSHOT_BYTES) {
            return Ok(false);
        }
        let leader = self.leads.take().ok_or(LogError::Deposed)?;
        let written = self.names.write_snapshot(&mut self.etcd, leader, self.number, &self.state)?;
        // Without compaction etcd keeps every old value. Values written since the previous snapshot are kept for
        // controllers that are reading them.
        if let Some(before) = self.snapshot.replace(written) {
            self.etcd.compact(before)?;
        }
        (self.since_snapshot, self.leads) = ((0, 0), Some(leader));
        Ok(true)
    }

    /// Gives up the lead, so that another controller need not wait.
    ///
    /// # Errors
    /// If etcd does not answer: then the lease expires by itself.
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

fn leader(found: &KeyValue) -> Result<Leader, LogError> {
    serde_json::from_slice(&found.value)
        .map_err(|error| LogError::Damaged { key: found.key.clone(), why: error.to_string() })
}

/// Returns the changes that turn one state into another.
fn difference(from: &State, to: &State) -> Vec<CommitStep> {
    let gone = from.keys().filter(|key| !to.contains_key(*key));
    let gone = gone.map(|(kind, key)| CommitStep::delete(kind.clone(), key.clone()));
    let new = to.iter().filter(|(key, body)| from.get(*key) != Some(*body));
    let new = new.map(|((kind, key), body)| {
        CommitStep::Put(wayleave_store::StoredRecord::new(kind.clone(), key.clone(), body.clone()))
    });
    gone.chain(new).collect()
}
