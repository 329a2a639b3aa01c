//! A controller while another one leads, and the loading of a controller from records.

use std::collections::HashSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::{Duration, Instant};

use wayleave_controller::{CommandOutput, Controller, ControllerConfig, RecordChange, RecordKind, Timestamps};
use wayleave_protocol::problem::Code;
use wayleave_store::{StoreError, StoredRecord};
use wayleave_units::Time;

use crate::answer::{not_leader, problem, unavailable};
use crate::clock::wall;
use crate::disk::ForeignChanges;
use crate::history::History;
use crate::metrics::Metrics;
use crate::read_view::{Edit, Health, View};
use crate::view_update::Stage;
use crate::work::{Executor, Job, Performed, perform};

/// Factor for the time between reads: after reading, a follower answers for at least this multiple of the reading
/// time.
const FOLLOW_PART: u32 = 5;

/// State loaded from records.
pub(crate) struct Loaded {
    pub(crate) controller: Controller,
    pub(crate) stage: Stage,
    pub(crate) history: History,
    /// Histories that are too long.
    pub(crate) forgotten: Vec<RecordChange>,
    pub(crate) past: Vec<Edit>,
}

/// Makes controllers of records.
pub(crate) struct Reader {
    pub(crate) setup: ControllerConfig,
    pub(crate) history_bytes: u64,
}

impl Reader {
    /// Makes a controller of records.
    pub(crate) fn read(&self, all: &[StoredRecord]) -> Result<Loaded, String> {
        let mut records = Vec::with_capacity(all.len());
        for StoredRecord { kind, key, body } in all {
            let Some(kind) = RecordKind::of(kind) else {
                return Err(unknown_kind(kind));
            };
            records.push((kind, key.as_str(), &**body));
        }
        let chunks =
            records.iter().filter(|(kind, ..)| *kind == RecordKind::History).map(|&(_, key, body)| (key, body));
        let chunks: Vec<(&str, &str)> = chunks.collect();
        let controller = Controller::load(&self.setup, wall(), records).map_err(|error| error.to_string())?;
        let stage = Stage::new(&controller);
        let last_event = controller.last_event();
        let (history, forgotten, past) = History::load(self.history_bytes, wall(), last_event, chunks.into_iter())?;
        Ok(Loaded { controller, stage, history, forgotten, past })
    }
}

/// State from which reads are answered.
struct Reading {
    controller: Controller,
    stage: Stage,
    history: History,
    /// Time at which all records were read.
    began: Instant,
}

impl Reading {
    /// Takes over the changes of another controller; returns the edits for readers.
    fn apply(&mut self, changes: &[wayleave_store::CommitStep]) -> Result<Vec<Edit>, String> {
        let changes = changes.iter().map(read_change).collect::<Result<Vec<RecordChange>, String>>()?;
        self.controller.follow(self.now(), &changes).map_err(|error| error.to_string())?;
        let mut edits = Vec::new();
        for RecordChange { key, body, .. } in changes.iter().filter(|change| change.kind == RecordKind::History) {
            self.history.follow(key, body.as_deref(), &mut edits)?;
        }
        let output = CommandOutput { changes, events: Vec::new() };
        edits.extend(self.stage.edits(&self.controller, &output));
        Ok(edits)
    }

    fn now(&self) -> Timestamps {
        let steady = Time::from_nanos(u64::try_from(self.began.elapsed().as_nanos()).unwrap_or(u64::MAX));
        Timestamps { steady, wall: wall() }
    }

    fn numbers(&self, sequence: u64) -> (u64, u64, u64) {
        // To load a controller counts as a generation, and this one does not write it.
        (sequence, self.controller.revision(), self.controller.generation().saturating_sub(1))
    }
}

fn read_change(change: &wayleave_store::CommitStep) -> Result<RecordChange, String> {
    let (kind, key, body) = match change {
        wayleave_store::CommitStep::Put(record) => (&record.kind, &record.key, Some(record.body.clone())),
        wayleave_store::CommitStep::Delete { kind, key } => (kind, key, None),
    };
    let kind = RecordKind::of(kind).ok_or_else(|| unknown_kind(kind))?;
    Ok(RecordChange { kind, key: key.clone(), body })
}

fn unknown_kind(kind: &str) -> String {
    format!("the ledger has a record of unknown kind {kind}: use the version that wrote it, or a later one")
}

/// State of a controller while another one leads.
pub(crate) struct FollowerState<'a> {
    reader: Reader,
    view: &'a Arc<View>,
    metrics: &'a Metrics,
    /// State from which reads are answered.
    reading: Option<Reading>,
    /// `true` if all records have to be read again, because changes alone do not determine the state.
    is_behind: bool,
    /// Earliest time at which all records are read again.
    next: Option<Instant>,
    /// The present leader, as far as it is known.
    leader: Option<Option<String>>,
}

impl<'a> FollowerState<'a> {
    /// Nothing yet.
    pub(crate) fn new(reader: Reader, view: &'a Arc<View>, metrics: &'a Metrics) -> Self {
        Self { reader, view, metrics, reading: None, is_behind: true, next: None, leader: None }
    }

    pub(crate) fn reader(&self) -> &Reader {
        &self.reader
    }

    /// Returns `true` if reads are answered.
    pub(crate) fn is_reading(&self) -> bool {
        self.reading.is_some()
    }

    /// Returns `true` if figures of some links are old.
    pub(crate) fn has_stale(&self) -> bool {
        self.reading.as_ref().is_some_and(|reading| !reading.stage.stale.is_empty())
    }

    /// Computes some links whose figures are outdated.
    pub(crate) fn poll(&mut self, most: usize) {
        let Some(Reading { controller, stage, .. }) = &mut self.reading else { return };
        let looked = stage.stale.look(controller.ledger(), most);
        let edits = looked.into_iter().map(|(link, figures)| Edit::Link(link, figures)).collect();
        self.view.edit(edits);
    }

    /// Shows the records of another controller: its changes, or all `records` where changes alone do not determine
    /// the state.
    pub(crate) fn follow(
        &mut self,
        leader: Option<String>,
        news: ForeignChanges,
        records: &mut dyn FnMut() -> Result<Vec<StoredRecord>, StoreError>,
    ) -> Result<(), String> {
        let ForeignChanges { changes, sequence } = news;
        match changes {
            None => self.is_behind = true,
            Some(changes) if !changes.is_empty() => self.apply(&changes, &leader, sequence),
            Some(_) => {}
        }
        // To read everything takes the longer the more there is; most of the time is for answers.
        let is_time = self.next.is_none_or(|next| Instant::now() >= next);
        if self.is_behind && is_time {
            self.read_all(&leader, sequence, records().map_err(|error| error.to_string())?)?;
        }
        if self.leader.as_ref() != Some(&leader) {
            tracing::info!(
                leader = leader.as_deref().unwrap_or("nobody"),
                "another controller is the leader: this one follows"
            );
        }
        self.leader = Some(leader.clone());
        self.view.set_health(Health::Following(leader));
        Ok(())
    }

    fn apply(&mut self, changes: &[wayleave_store::CommitStep], leader: &Option<String>, sequence: u64) {
        let Some(reading) = self.reading.as_mut().filter(|_| !self.is_behind) else { return };
        match catch_unwind(AssertUnwindSafe(|| reading.apply(changes))) {
            Ok(Ok(edits)) => self.view.follow(edits, reading.numbers(sequence), Health::Following(leader.clone())),
            Ok(Err(why)) => {
                tracing::debug!(why, "reading all records again");
                self.is_behind = true;
            }
            Err(_) => {
                tracing::error!("cannot apply the log of another controller: reading all records again");
                self.is_behind = true;
            }
        }
    }

    fn read_all(&mut self, leader: &Option<String>, sequence: u64, records: Vec<StoredRecord>) -> Result<(), String> {
        let began = Instant::now();
        let Loaded { controller, past, mut stage, history, .. } = self.reader.read(&records)?;
        let mut edits = stage.begin(&controller, records);
        edits.extend(past);
        let reading = Reading { controller, stage, history, began };
        self.view.replace(edits, reading.numbers(sequence), Health::Following(leader.clone()));
        self.next = Some(Instant::now() + began.elapsed() * FOLLOW_PART);
        (self.reading, self.is_behind) = (Some(reading), false);
        Ok(())
    }

    /// Answers nothing: what others write cannot be judged here.
    pub(crate) fn stop_following(&mut self, why: String) {
        (self.reading, self.is_behind, self.next, self.leader) = (None, true, None, None);
        let is_new = self.view.read().health != Health::Barred(why.clone());
        if is_new {
            tracing::error!(why, "this controller stopped following the cluster");
            self.view.set_health(Health::Barred(why));
        }
    }

    /// Answers reads from the known state; all other requests have to go to the leader. Returns the duration, if it
    /// is charged to an account.
    pub(crate) fn answer(&mut self, job: Job) -> Option<Duration> {
        let Some(Reading { controller, began, .. }) = &mut self.reading else {
            let _ = job.reply.send(unavailable());
            return None;
        };
        if !job.is_read {
            let problem = match &self.view.read().health {
                Health::Following(leader) => not_leader(leader.as_deref()).into(),
                _ => unavailable(),
            };
            let _ = job.reply.send(problem);
            return None;
        }
        let steady = Time::from_nanos(u64::try_from(began.elapsed().as_nanos()).unwrap_or(u64::MAX));
        let (start, now) = (Instant::now(), Timestamps { steady, wall: wall() });
        let mut executor = Executor { controller, now, metrics: self.metrics, view: self.view };
        let mut keys = HashSet::new();
        let Job { work, repeat, reply, is_begun, .. } = job;
        let performed = catch_unwind(AssertUnwindSafe(|| perform(&mut executor, &mut keys, work, repeat, is_begun)));
        let answer = match performed {
            Ok(Performed::Done(answer) | Performed::Known(answer)) => answer,
            Ok(Performed::More(..)) => unavailable(),
            Err(_) => problem(Code::Internal, "internal error: this request has triggered a bug in the server").into(),
        };
        let _ = reply.send(answer);
        Some(start.elapsed())
    }
}
