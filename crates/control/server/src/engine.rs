//! The thread that owns the controller and the ledger.
//!
//! Jobs are taken in batches: all are carried out, all changes go to disk in one commit, and only then are clients answered and changes
//! shown. Long jobs are carried out in steps, which go to disk with the batches that they are in; they are answered after the last one.
//! If a commit fails, it is unknown what is on disk: the controller is thrown away, and the ledger is opened again.

use std::collections::HashSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::oneshot;
use wayleave_controller::{CommandOutput, Controller, ControllerConfig, RecordChange, Timestamps};
use wayleave_protocol::problem::Code;
use wayleave_store::{Store, StoreError};
use wayleave_units::Time;

use crate::account::Account;
use crate::answer::{HttpReply, problem, unavailable};
use crate::audit::{Note, PendingEntries};
use crate::clock::{uptime, wall};
use crate::disk::{Disk, WriterTurn, stored};
use crate::history::History;
use crate::load::Load;
use crate::metrics::{ClientMemory, Metrics};
use crate::past::ChangedContract;
use crate::pulse::EngineHeartbeat;
use crate::queue::{Message, NextJob, Queue};
use crate::read_view::{Edit, Health, View};
use crate::render;
use crate::replica_follower::{FollowerState, Loaded, Reader};
use crate::view_update::Stage;
use crate::work::{Executor, Job, Performed, perform};

/// Most jobs in one commit, so that those that came first are not delayed by all that came later.
const BATCH: usize = 256;
/// Maximum time until a batch is written to disk, independently of other waiting jobs: this bounds the delay of the
/// first job.
const BATCH_TIME: Duration = Duration::from_millis(5);
/// Time after a batch for which reads are answered, before the changes that have arrived since.
const READ_TIME: Duration = Duration::from_millis(1);
/// Number of links computed while the queue is empty, before the engine polls for jobs again. Each takes up to some
/// tenths of a millisecond for exact curves, and a job that arrives in this time waits.
const INSPECTION_BATCH: usize = 2;
/// Time without jobs before links are computed: clients that were just answered send their next request within it.
const IDLE_DELAY: Duration = Duration::from_micros(200);
/// But not longer than this after the last look, however busy the engine is.
const POLL_INTERVAL: Duration = Duration::from_millis(20);
/// After this long without jobs the ledger is put in order.
const QUIET: Duration = Duration::from_millis(500);
/// Interval at which refusals are written.
const REFUSALS_INTERVAL: Duration = Duration::from_secs(1);
/// Interval at which a follower polls for changes of other controllers.
const FOLLOW_EVERY: Duration = Duration::from_millis(100);
/// Interval at which an idle leader checks its lead.
const LEAD_EVERY: Duration = Duration::from_millis(250);
/// Interval at which a ledger that cannot be written is retried.
const RETRY_DELAY: Duration = Duration::from_secs(1);

/// First action on every loaded controller; returns the token that was created, if one was.
pub(crate) type First = Box<dyn FnMut(&mut Controller, Timestamps) -> Result<Option<String>, String> + Send>;

/// State while the ledger can be written.
struct Running {
    controller: Controller,
    stage: Stage,
    store: Box<dyn Store>,
    sequence: u64,
    /// Time at which the controller was loaded.
    began: Instant,
    /// `true` if records were written since the last compaction of the ledger.
    is_untidy: bool,
    /// The keys of requests of which a part was done.
    keys: HashSet<String>,
    history: History,
    /// Time at which refusals were last written.
    refused: Instant,
    /// Time at which links were last computed.
    looked: Instant,
    /// `true` if the distrusted clock was reported.
    is_clock_suspect: bool,
}

/// Time at which the figures of links are computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FigureSchedule {
    /// While nothing else is to be done, so that answers find them.
    Ahead,
    /// On request ([`Message::Look`]): for a single question most would never be read.
    WhenAsked,
}

pub(crate) struct Engine {
    pub(crate) setup: ControllerConfig,
    pub(crate) disk: Box<dyn Disk>,
    pub(crate) view: Arc<View>,
    pub(crate) metrics: Arc<Metrics>,
    pub(crate) jobs: Arc<Queue>,
    pub(crate) pulse: Arc<EngineHeartbeat>,
    pub(crate) first: First,
    pub(crate) looks: FigureSchedule,
    /// Refusals that are to be written.
    pub(crate) refusals: PendingEntries,
    /// Bytes of a tenant's events, decisions and audit.
    pub(crate) history_bytes: u64,
    /// Observes the minutes of contracts.
    pub(crate) load: Arc<Load>,
}

/// Reason for which a ledger was not opened.
enum Unopened {
    /// The store that several controllers share did not answer, and may answer later.
    Later(String),
    /// Nothing changes that by itself: a first attempt ends the process.
    Never(String),
}

/// Closes the queue when the thread ends, also if it panics, so that waiting clients are notified.
struct Closing(Arc<Queue>);

impl Drop for Closing {
    fn drop(&mut self) {
        self.0.close();
    }
}

impl Running {
    fn now(&self) -> Timestamps {
        let steady = Time::from_nanos(u64::try_from(self.began.elapsed().as_nanos()).unwrap_or(u64::MAX));
        Timestamps { steady, wall: wall() }
    }

    /// Returns the time until the next timer expires.
    fn rest(&self) -> Duration {
        let now = self.now();
        let (steady, wall) = self.controller.due();
        let until_steady = steady.map(|due| due.as_nanos().saturating_sub(now.steady.as_nanos()));
        // The calendar may be set while the engine waits: an engine that waits for a calendar time checks at least
        // once a second.
        let until_wall = wall.map(|due| due.as_nanos().saturating_sub(now.wall.as_nanos()).min(1_000_000_000));
        let nanos = until_steady.into_iter().chain(until_wall).min();
        nanos.map_or(Duration::from_secs(3600), Duration::from_nanos)
    }

    /// Returns the output for the disk, and the edits of the readers' view beside the changed objects.
    fn output(&mut self, now: Timestamps) -> (CommandOutput, Vec<Edit>) {
        let output = self.controller.take_output();
        let changed = self.stage.changed_contracts(&self.controller, &output);
        self.remembered(now, output, &changed)
    }

    /// Returns the output and edits with the history added.
    fn remembered(
        &mut self,
        now: Timestamps,
        mut output: CommandOutput,
        changed: &[ChangedContract],
    ) -> (CommandOutput, Vec<Edit>) {
        let (changes, edits) = self.history.add(now.wall, &self.controller, &output, changed);
        output.changes.extend(changes);
        (output, edits)
    }
}

impl Engine {
    /// Opens the ledger for the first time.
    pub(crate) fn run(mut self, opened: oneshot::Sender<Result<(), String>>) {
        let _closing = Closing(self.jobs.clone());
        self.disk.watch(self.pulse.clone());
        let mut opened = Some(opened);
        while let Some(running) = self.begin(&mut opened) {
            match self.serve(running) {
                None => break,
                Some(error) => {
                    tracing::error!(error, "the ledger cannot be written: reopening it");
                }
            }
        }
        self.disk.resign();
        self.view.set_health(Health::Ending);
    }

    /// Opens the ledger as soon as this controller may write; until then it shows the records of other controllers.
    /// `opened` receives the result of the first attempt, and the server does not start serving if it failed. Later
    /// attempts are repeated, and in the meantime every request is answered with 503.
    fn begin(&mut self, opened: &mut Option<oneshot::Sender<Result<(), String>>>) -> Option<Running> {
        self.load.end();
        let is_first = opened.is_some();
        let (view, metrics) = (self.view.clone(), self.metrics.clone());
        let mut following = FollowerState::new(self.reader(), &view, &metrics);
        // A controller that gave up the lead, for instance because its disk is full, is not the first to take it
        // again.
        let has_given_up = !is_first && self.has_lost_lead();
        let mut next = Instant::now() + if has_given_up { RETRY_DELAY } else { Duration::ZERO };
        loop {
            self.pulse.record_progress();
            let rest = next.saturating_duration_since(Instant::now());
            let idle_delay = if following.has_stale() { IDLE_DELAY } else { rest };
            match self.jobs.next(rest.min(idle_delay)) {
                NextJob::Nothing if idle_delay < rest => following.poll(INSPECTION_BATCH),
                NextJob::Job(account, job) => {
                    if let Some(took) = following.answer(job) {
                        self.jobs.charge(&account, true, took);
                    }
                }
                NextJob::Message(Message::Look(done)) => drop(done.send(())),
                NextJob::Message(_) => {}
                NextJob::End => return None,
                NextJob::Nothing => {
                    self.pulse.reads(true);
                    let tried = self.take_turn(&mut following, opened.is_some());
                    self.pulse.reads(false);
                    next = Instant::now() + if following.is_reading() { FOLLOW_EVERY } else { RETRY_DELAY };
                    match tried {
                        Ok(running) => {
                            if let Some(opened) = opened.take() {
                                let _ = opened.send(Ok(()));
                            }
                            if let Some(running) = running {
                                if !is_first || following.is_reading() {
                                    tracing::info!("the ledger was reopened");
                                }
                                return Some(running);
                            }
                        }
                        Err(error) => {
                            let (error, is_final) = match error {
                                Unopened::Later(error) => (error, false),
                                Unopened::Never(error) => (error, true),
                            };
                            if let Some(opened) = opened.take() {
                                let _ = opened.send(if is_final { Err(error.clone()) } else { Ok(()) });
                                if is_final {
                                    return None;
                                }
                            }
                            tracing::warn!(error, "the ledger still cannot be opened");
                            self.cannot_begin(error);
                            next = Instant::now() + RETRY_DELAY;
                        }
                    }
                }
            }
        }
    }

    /// Acts according to the present turn. Returns the running state if it is this controller's turn. The first turn
    /// of a process ends the process if it can never continue.
    fn take_turn(&mut self, following: &mut FollowerState<'_>, is_first: bool) -> Result<Option<Running>, Unopened> {
        let turn = self.disk.turn(&mut |records| following.reader().read(records).map(drop));
        match turn.map_err(|error| Unopened::Never(error.to_string()))? {
            // A controller that cannot continue from the present records lets others try.
            WriterTurn::Own => self.load().inspect_err(|_| self.disk.pass()).map(Some),
            WriterTurn::Others { leader, news } => {
                let followed = following.follow(leader, news, &mut || self.disk.records());
                followed.map(|()| None).map_err(Unopened::Never)
            }
            WriterTurn::Unknown { why } => Err(Unopened::Later(why)),
            WriterTurn::Barred { why, waits } if waits || !is_first => {
                following.stop_following(why);
                Ok(None)
            }
            WriterTurn::Barred { why, .. } => Err(Unopened::Never(why)),
        }
    }

    fn reader(&self) -> Reader {
        Reader { setup: self.setup.clone(), history_bytes: self.history_bytes }
    }

    /// It is not known whose turn it is, or the ledger cannot be opened.
    fn cannot_begin(&self, error: String) {
        if matches!(self.view.read().health, Health::Barred(_)) {
            // The earlier state cannot be judged any more than the present one.
            return;
        }
        // A controller that has read no records yet cannot answer reads.
        let is_shared = self.disk.lease().is_some() && self.view.read().generation > 0;
        self.view.set_health(if is_shared { Health::Apart(error) } else { Health::Broken(error) });
    }

    fn load(&mut self) -> Result<Running, Unopened> {
        let opened = self.disk.open().map_err(|error| Unopened::Never(error.to_string()))?;
        let (began, count) = (Instant::now(), opened.records.len());
        let Loaded { controller, stage, history, forgotten, past } =
            self.reader().read(&opened.records).map_err(Unopened::Never)?;
        let (store, sequence) = (opened.store, opened.sequence);
        let (keys, refused, is_clock_suspect) = (HashSet::new(), began, false);
        let mut running = Running {
            controller,
            stage,
            store,
            sequence,
            began,
            is_untidy: false,
            keys,
            history,
            refused,
            looked: began,
            is_clock_suspect,
        };
        let now = running.now();
        if let Some(uptime) = uptime() {
            running.controller.set_uptime(now, uptime);
        }
        if !running.controller.has_vm_secret() {
            let mut random = [0; 16];
            let failed = |_| Unopened::Never("no random numbers from the operating system".to_owned());
            getrandom::fill(&mut random).map_err(failed)?;
            running.controller.set_vm_secret(random);
        }
        if let Some(token) = (self.first)(&mut running.controller, now).map_err(Unopened::Never)? {
            running.history.note(Note::of_server("createToken", &token).answered(now.wall, 201, ""));
        }
        // To load a ledger creates, changes and ends no contract.
        let output = running.controller.take_output();
        let (output, reports) = running.remembered(now, output, &[]);
        running.commit(&self.metrics, &output, forgotten).map_err(|error| match error {
            // Another controller that holds the ledger may release it later.
            StoreError::Elsewhere { .. } => Unopened::Later(error.to_string()),
            error => Unopened::Never(error.to_string()),
        })?;
        let mut edits = running.stage.begin(&running.controller, opened.records);
        edits.extend(running.stage.edits(&running.controller, &output));
        edits.extend(past.into_iter().chain(reports));
        self.load.begin(&edits);
        let (revision, generation) = (running.controller.revision(), running.controller.generation());
        self.view.replace(edits, (running.sequence, revision, generation), Health::Ready);
        self.load.on_published(&self.view.read());
        for token in running.controller.tokens() {
            if let Some(warning) = render::token_warning(token) {
                tracing::warn!(token = token.id, warning, "this token matches no certificate");
            }
        }
        tracing::info!(records = count, generation, seconds = began.elapsed().as_secs_f64(), "the ledger is open");
        Ok(running)
    }

    /// Until it ends (`None`) or cannot write (why).
    fn serve(&mut self, mut running: Running) -> Option<String> {
        loop {
            self.pulse.record_progress();
            if self.has_lost_lead() {
                self.give_up_begun();
                return Some(
                    "the leader lease of this controller has expired: another one may be the leader".to_owned(),
                );
            }
            let done = match self.wait(&mut running) {
                NextJob::Message(Message::Progress) => continue,
                NextJob::Message(Message::Backup(begun)) => {
                    let _ = begun.send(running.store.begin_backup());
                    continue;
                }
                NextJob::Message(Message::Look(done)) => {
                    self.compute_figures(&mut running, usize::MAX);
                    // A client that no longer waits needs no answer.
                    let _ = done.send(());
                    continue;
                }
                NextJob::Job(account, job) => self.execute(&mut running, Some((account, job))),
                // Expired timers.
                NextJob::Nothing => self.execute(&mut running, None),
                NextJob::End => {
                    self.take_refusals(&mut running, Duration::ZERO);
                    let now = running.now();
                    running.controller.keep_time(now);
                    if let Err(error) = running.finish(self, now) {
                        tracing::error!(error, "recent refusals could not be written");
                    }
                    if let Err(error) = running.store.idle() {
                        tracing::error!(%error, "ledger maintenance at shutdown failed");
                    }
                    return None;
                }
            };
            if let Err(error) = done {
                self.give_up_begun();
                if self.jobs.is_ending() && self.jobs.waiting() == 0 {
                    // All clients were notified that their request may not have been executed, and no job is left for
                    // which to open the ledger again.
                    tracing::error!(error, "the final commit failed");
                    return None;
                }
                return Some(error);
            }
        }
    }

    /// Returns `true` if another controller may have taken the lead. Without this check, a controller that has
    /// nothing to write would not notice, and would show its old state for ever.
    fn has_lost_lead(&self) -> bool {
        self.disk.lease().is_some_and(|lease| !lease.is_held())
    }

    /// Discards the progress of jobs that are executed in steps.
    fn give_up_begun(&self) {
        self.jobs.take_begun().into_iter().for_each(|job| drop(job.reply.send(unavailable())));
    }

    /// Computes links whose figures are outdated.
    fn compute_figures(&self, running: &mut Running, most: usize) {
        let looked = running.stage.stale.look(running.controller.ledger(), most);
        let edits = looked.into_iter().map(|(link, figures)| Edit::Link(link, figures)).collect();
        self.view.publish(edits, running.sequence, running.controller.revision());
    }

    /// Uses the time until something comes, or is due.
    fn wait(&self, running: &mut Running) -> NextJob {
        let mut idle_delay = if running.looked.elapsed() < POLL_INTERVAL { IDLE_DELAY } else { Duration::ZERO };
        while self.looks == FigureSchedule::Ahead && !running.stage.stale.is_empty() {
            match self.jobs.next(idle_delay) {
                NextJob::Nothing if self.rest(running).is_zero() => return NextJob::Nothing,
                NextJob::Nothing => {
                    self.compute_figures(running, INSPECTION_BATCH);
                    (running.looked, idle_delay) = (Instant::now(), Duration::ZERO);
                }
                next => return next,
            }
        }
        let rest = self.rest(running);
        let quiet = if running.is_untidy { rest.min(QUIET) } else { rest };
        let next = self.jobs.next(quiet);
        if matches!(next, NextJob::Nothing) && running.is_untidy && quiet < rest {
            running.is_untidy = false;
            if let Err(error) = running.store.idle() {
                // The next commit fails too, and its error is reported to the client.
                tracing::error!(%error, "ledger maintenance failed");
            }
        }
        next
    }

    /// Returns the time until the next timer expires, or refusals are due to be written.
    fn rest(&self, running: &Running) -> Duration {
        let rest = running.rest().min(if self.disk.lease().is_some() { LEAD_EVERY } else { Duration::MAX });
        if self.refusals.is_empty() {
            rest
        } else {
            rest.min(REFUSALS_INTERVAL.saturating_sub(running.refused.elapsed()))
        }
    }

    /// Has what was refused written with the next commit, if that is due.
    fn take_refusals(&self, running: &mut Running, every: Duration) {
        if running.refused.elapsed() >= every && !self.refusals.is_empty() {
            running.refused = Instant::now();
            self.refusals.take().into_iter().for_each(|note| running.history.note(note));
        }
    }

    /// Carries out a batch and answers it; a few reads come after it, so that neither waits for many of the other.
    fn execute(&self, running: &mut Running, first: Option<(Account, Job)>) -> Result<(), String> {
        let (now, began) = (running.now(), Instant::now());
        let mut batch = Batch::default();
        let mut next = first;
        while let Some((account, job)) = next {
            let is_read = job.is_read;
            let start = Instant::now();
            let more = self.step(running, now, job, &mut batch);
            self.jobs.charge(&account, is_read, start.elapsed());
            self.pulse.record_progress();
            if let Some(job) = more {
                self.jobs.push_back(account, job);
            }
            let is_full = is_read || batch.replies.len() >= BATCH || began.elapsed() >= BATCH_TIME || batch.is_panicked;
            next = if is_full { None } else { self.jobs.next_write() };
        }
        self.take_refusals(running, REFUSALS_INTERVAL);
        self.finish(running, now, batch)?;
        let began = Instant::now();
        while began.elapsed() < READ_TIME
            && let Some((account, job)) = self.jobs.next_read()
        {
            let (mut read, start) = (Batch::default(), Instant::now());
            self.step(running, now, job, &mut read);
            self.jobs.charge(&account, true, start.elapsed());
            self.finish(running, now, read)?;
        }
        Ok(())
    }

    /// Executes one step of a job; returns the remaining job.
    fn step(&self, running: &mut Running, now: Timestamps, job: Job, batch: &mut Batch) -> Option<Job> {
        let Job { work, repeat, note, reply, is_read, is_begun } = job;
        let Running { controller, keys, history, .. } = running;
        let mut executor = Executor { controller, now, metrics: &self.metrics, view: &self.view };
        let answer = match catch_unwind(AssertUnwindSafe(|| perform(&mut executor, keys, work, repeat, is_begun))) {
            Ok(Performed::Done(answer)) => {
                // A refusal is written to the audit by the thread that answers.
                if let Some(note) = note.filter(|_| answer.status < 400) {
                    history.note(answer.noted(*note, now.wall));
                }
                answer
            }
            Ok(Performed::Known(answer)) => answer,
            Ok(Performed::More(work, repeat)) => {
                if let Some(note) = note.as_deref().filter(|_| !is_begun) {
                    history.note(Note::clone(note).answered(now.wall, 102, "begun"));
                }
                return Some(Job { work, repeat, note, reply, is_read, is_begun: true });
            }
            Err(_) => {
                batch.is_panicked = true;
                problem(Code::Internal, "internal error: this request has triggered a bug in the server").into()
            }
        };
        batch.replies.push((reply, answer));
        None
    }

    /// Puts what a batch has changed on disk, and answers it.
    fn finish(&self, running: &mut Running, now: Timestamps, batch: Batch) -> Result<(), String> {
        let committed = if batch.is_panicked {
            Err("a job panicked in the controller: reloading its state from the ledger".to_owned())
        } else {
            running.finish(self, now)
        };
        // Set before any client is notified, so that a client that then asks for readiness gets the true state.
        if let Err(error) = &committed {
            self.view.set_health(Health::Broken(error.clone()));
        }
        let is_internal = |answer: &HttpReply| answer.status == 500;
        for (reply, answer) in batch.replies {
            let answer = if committed.is_err() && !is_internal(&answer) { unavailable() } else { answer };
            // A client that no longer waits has no answer, and may retry.
            let _ = reply.send(answer);
        }
        committed
    }
}

/// Jobs that are answered together.
#[derive(Default)]
struct Batch {
    replies: Vec<(oneshot::Sender<HttpReply>, HttpReply)>,
    is_panicked: bool,
}

impl Running {
    /// Handles expired timers, then writes all changes to disk, and then publishes them to readers.
    fn finish(&mut self, engine: &Engine, now: Timestamps) -> Result<(), String> {
        let tick = AssertUnwindSafe(|| self.controller.tick(now));
        if catch_unwind(tick).is_err() {
            return Err("the controller panicked: reloading its state from the ledger".to_owned());
        }
        let (output, reports) = self.output(now);
        self.check_clock(&engine.metrics);
        engine.metrics.keeps(ClientMemory::Answers, self.controller.answer_bytes());
        engine.metrics.keeps(ClientMemory::History, self.history.bytes());
        if output.changes.is_empty() && output.events.is_empty() {
            return Ok(());
        }
        let mut edits = self.stage.edits(&self.controller, &output);
        edits.extend(reports);
        self.commit(&engine.metrics, &output, Vec::new()).map_err(|error| error.to_string())?;
        engine.load.on_edits(&edits);
        engine.view.publish(edits, self.sequence, self.controller.revision());
        engine.load.on_published(&engine.view.read());
        Ok(())
    }

    /// Reports the beginning and the end of the time in which the clock is distrusted.
    fn check_clock(&mut self, metrics: &Metrics) {
        let ahead = self.controller.clock_ahead();
        metrics.clock_is_ahead(ahead.unwrap_or(Time::ZERO));
        match (self.is_clock_suspect, ahead) {
            (false, Some(by)) => tracing::warn!(
                %by,
                "the clock jumped forward: scheduled starts and ends are suspended until it has been steady for a while (--clock-step-holddown)"
            ),
            (true, None) => tracing::info!("the clock is trusted again"),
            _ => {}
        }
        self.is_clock_suspect = ahead.is_some();
    }

    fn commit(
        &mut self,
        metrics: &Metrics,
        output: &CommandOutput,
        before: Vec<RecordChange>,
    ) -> Result<(), StoreError> {
        if output.changes.is_empty() && before.is_empty() {
            return Ok(());
        }
        let changes: Vec<wayleave_store::CommitStep> = before.iter().chain(&output.changes).map(stored).collect();
        let start = Instant::now();
        self.sequence = self.store.commit(&changes)?;
        metrics.committed(start.elapsed());
        self.is_untidy = true;
        Ok(())
    }
}
