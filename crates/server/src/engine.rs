//! The thread that owns the controller and the ledger.
//!
//! Jobs are taken in batches: all are carried out, all changes go to disk in one commit, and only then are clients answered and changes
//! shown. If a commit fails, it is unknown what is on disk: the controller is thrown away, and the ledger is opened again.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use tokio::sync::oneshot;
use wayleave_controller::{Command, Controller, Fault, Kind, Now, Output, Reply, Setup};
use wayleave_protocol::problem::Code;
use wayleave_store::{Record, Store};
use wayleave_units::Time;

use crate::answer::{Answer, Outcome, problem};
use crate::disk::{Disk, stored};
use crate::metrics::Metrics;
use crate::stage::Stage;
use crate::trial::wall;
use crate::view::{Edit, Health, View};

/// Most jobs in one commit, so that those that came first are not delayed by all that came later.
const BATCH: usize = 256;
/// How many links are looked at while the queue is empty, before the engine looks for jobs again. A look computes exact curves, up to some
/// tenths of a millisecond, and a job that arrives meanwhile waits for it.
const LOOKS: usize = 2;
/// After this long without jobs the ledger is put in order.
const QUIET: Duration = Duration::from_millis(500);
/// How often a ledger that cannot be written is tried again.
const TRY_AGAIN: Duration = Duration::from_secs(1);

/// What a job uses: the controller, at the time of the job.
pub(crate) struct Executor<'a> {
    pub(crate) controller: &'a mut Controller,
    pub(crate) now: Now,
    metrics: &'a Metrics,
}

impl Executor<'_> {
    /// Carries a command out.
    pub(crate) fn handle(&mut self, command: Command) -> Result<Reply, Fault> {
        let decides = matches!(command, Command::Apply { .. });
        let start = Instant::now();
        let reply = self.controller.handle(self.now, command);
        if decides && let Ok(Reply::Each(applied)) = &reply {
            self.metrics.decided(applied, start.elapsed());
        }
        reply
    }
}

/// What is to be done.
pub(crate) type Work = Box<dyn FnOnce(&mut Executor<'_>) -> Outcome + Send>;

/// A request that may be repeated.
pub(crate) struct Repeat {
    pub(crate) key: String,
    pub(crate) fingerprint: String,
}

/// What is done first of all on every controller that is loaded.
pub(crate) type First = Box<dyn FnMut(&mut Controller, Now) -> Result<(), String> + Send>;

/// Something to be done, and where its answer goes.
pub(crate) struct Job {
    pub(crate) work: Work,
    pub(crate) repeat: Option<Repeat>,
    pub(crate) reply: oneshot::Sender<Answer>,
}

/// What comes to the engine.
pub(crate) enum Message {
    Job(Job),
    /// Look at all links whose figures are old, and say when that is done.
    Look(oneshot::Sender<()>),
    /// Finish what was taken before this, and end.
    End,
}

/// What runs while the ledger can be written.
struct Running {
    controller: Controller,
    stage: Stage,
    store: Box<dyn Store>,
    sequence: u64,
    /// When the controller was loaded.
    began: Instant,
    /// Whether something was written since the ledger was put in order.
    is_untidy: bool,
}

/// When the figures of links are worked out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Looks {
    /// While nothing else is to be done, so that answers find them.
    Ahead,
    /// When somebody asks for them ([`Message::Look`]): of one question most would never be read.
    WhenAsked,
}

pub(crate) struct Engine {
    pub(crate) setup: Setup,
    pub(crate) disk: Box<dyn Disk>,
    pub(crate) view: Arc<View>,
    pub(crate) metrics: Arc<Metrics>,
    pub(crate) jobs: Receiver<Message>,
    pub(crate) first: First,
    pub(crate) looks: Looks,
}

impl Running {
    fn now(&self) -> Now {
        let steady = Time::from_nanos(u64::try_from(self.began.elapsed().as_nanos()).unwrap_or(u64::MAX));
        Now { steady, wall: wall() }
    }

    /// How long nothing is due.
    fn rest(&self) -> Duration {
        let now = self.now();
        let (steady, wall) = self.controller.due();
        let until_steady = steady.map(|due| due.as_nanos().saturating_sub(now.steady.as_nanos()));
        // The calendar may be set while the engine waits: it looks at least once a second if it waits for it.
        let until_wall = wall.map(|due| due.as_nanos().saturating_sub(now.wall.as_nanos()).min(1_000_000_000));
        let nanos = until_steady.into_iter().chain(until_wall).min();
        nanos.map_or(Duration::from_secs(3600), Duration::from_nanos)
    }
}

impl Engine {
    /// Opens the ledger for the first time.
    pub(crate) fn run(mut self, opened: oneshot::Sender<Result<(), String>>) {
        let mut running = match self.load() {
            Ok(running) => running,
            Err(error) => {
                let _ = opened.send(Err(error));
                return;
            }
        };
        let _ = opened.send(Ok(()));
        loop {
            match self.serve(running) {
                None => break,
                Some(error) => {
                    tracing::error!(error, "the ledger cannot be written: it is opened again");
                }
            }
            running = match self.reopen() {
                Some(running) => running,
                None => break,
            };
            tracing::info!("the ledger is open again");
        }
        self.view.set_health(Health::Ending);
    }

    fn load(&mut self) -> Result<Running, String> {
        let opened = self.disk.open().map_err(|error| error.to_string())?;
        let began = Instant::now();
        let mut records = Vec::with_capacity(opened.records.len());
        for Record { kind, key, body } in &opened.records {
            let Some(kind) = Kind::of(kind) else {
                return Err(format!("the ledger has a {kind} record, which this version does not know"));
            };
            records.push((kind, key.as_str(), &**body));
        }
        let count = records.len();
        let controller = Controller::load(&self.setup, wall(), records).map_err(|error| error.to_string())?;
        let stage = Stage::new(&controller);
        let (store, sequence) = (opened.store, opened.sequence);
        let mut running = Running { controller, stage, store, sequence, began, is_untidy: false };
        let now = running.now();
        let known = running.controller.last_event();
        (self.first)(&mut running.controller, now)?;
        let output = running.controller.take_output();
        running.commit(&self.metrics, &output)?;
        let mut edits = running.stage.begin(&running.controller, opened.records);
        edits.extend(running.stage.edits(&running.controller, &output));
        let (revision, generation) = (running.controller.revision(), running.controller.generation());
        self.view.replace(edits, running.sequence, revision, generation, known);
        tracing::info!(records = count, generation, seconds = began.elapsed().as_secs_f64(), "the ledger is open");
        Ok(running)
    }

    /// Tries until the ledger can be written again; meanwhile every request is answered with 503.
    fn reopen(&mut self) -> Option<Running> {
        let mut next = Instant::now();
        loop {
            match self.jobs.recv_timeout(next.saturating_duration_since(Instant::now())) {
                Ok(Message::Job(job)) => drop(job.reply.send(unavailable())),
                Ok(Message::Look(_)) => {}
                Ok(Message::End) | Err(RecvTimeoutError::Disconnected) => return None,
                Err(RecvTimeoutError::Timeout) => match self.load() {
                    Ok(running) => return Some(running),
                    Err(error) => {
                        tracing::warn!(error, "the ledger cannot be opened yet");
                        self.view.set_health(Health::Broken(error));
                        next = Instant::now() + TRY_AGAIN;
                    }
                },
            }
        }
    }

    /// Until it ends (`None`) or cannot write (why).
    fn serve(&mut self, mut running: Running) -> Option<String> {
        loop {
            let mut batch = Vec::new();
            let is_last = self.take(&mut running, &mut batch);
            if let Err(error) = self.carry_out(&mut running, batch) {
                if is_last {
                    // All clients were told that it may not have been done, and no job is left for which to open the ledger again.
                    tracing::error!(error, "the last commit failed");
                    return None;
                }
                return Some(error);
            }
            if is_last {
                if let Err(error) = running.store.idle() {
                    tracing::error!(%error, "the ledger could not be put in order at the end");
                }
                return None;
            }
        }
    }

    /// Waits for jobs; whether these are the last.
    fn take(&self, running: &mut Running, batch: &mut Vec<Job>) -> bool {
        let first = match self.jobs.try_recv() {
            Ok(message) => Some(message),
            Err(_) => self.wait(running),
        };
        let mut next = first;
        while let Some(message) = next {
            match message {
                Message::Job(job) => batch.push(job),
                Message::Look(done) => {
                    self.look(running, usize::MAX);
                    // Who does not wait any more does not need to know.
                    let _ = done.send(());
                }
                Message::End => return true,
            }
            next = if batch.len() < BATCH { self.jobs.try_recv().ok() } else { None };
        }
        false
    }

    /// Looks at links whose figures are old.
    fn look(&self, running: &mut Running, most: usize) {
        let looked = running.stage.stale.look(running.controller.ledger(), most);
        let edits = looked.into_iter().map(|(link, figures)| Edit::Link(link, figures)).collect();
        self.view.publish(edits, running.sequence, running.controller.revision());
    }

    /// Uses the time until something comes, or is due.
    fn wait(&self, running: &mut Running) -> Option<Message> {
        while self.looks == Looks::Ahead && !running.stage.stale.is_empty() {
            if running.rest().is_zero() {
                return None;
            }
            self.look(running, LOOKS);
            if let Ok(message) = self.jobs.try_recv() {
                return Some(message);
            }
        }
        let rest = running.rest();
        let quiet = if running.is_untidy { rest.min(QUIET) } else { rest };
        match self.jobs.recv_timeout(quiet) {
            Ok(message) => Some(message),
            Err(RecvTimeoutError::Disconnected) => Some(Message::End),
            Err(RecvTimeoutError::Timeout) => {
                if running.is_untidy && quiet < rest {
                    running.is_untidy = false;
                    if let Err(error) = running.store.idle() {
                        // The next commit says so too, and then somebody is told.
                        tracing::error!(%error, "the ledger could not be put in order");
                    }
                }
                None
            }
        }
    }

    /// Carries out a batch and answers it.
    fn carry_out(&self, running: &mut Running, batch: Vec<Job>) -> Result<(), String> {
        let now = running.now();
        let (mut answers, mut replies) = (Vec::with_capacity(batch.len()), Vec::with_capacity(batch.len()));
        let mut is_panicked = false;
        for Job { work, repeat, reply } in batch {
            replies.push(reply);
            if is_panicked {
                answers.push(unavailable());
                continue;
            }
            let mut executor = Executor { controller: &mut running.controller, now, metrics: &self.metrics };
            match catch_unwind(AssertUnwindSafe(|| perform(&mut executor, work, repeat))) {
                Ok(answer) => answers.push(answer),
                Err(_) => {
                    is_panicked = true;
                    answers.push(problem(Code::Internal, "this request has found a mistake in the server").into());
                }
            }
        }
        let committed = if is_panicked {
            Err("a job has failed inside the controller, which is therefore loaded again".to_owned())
        } else {
            running.finish(self, now)
        };
        // Before anybody is told: who then asks whether it is ready is told the truth.
        if let Err(error) = &committed {
            self.view.set_health(Health::Broken(error.clone()));
        }
        let is_internal = |answer: &Answer| answer.status == 500;
        for (reply, answer) in replies.into_iter().zip(answers) {
            let answer = if committed.is_err() && !is_internal(&answer) { unavailable() } else { answer };
            // Who does not wait any more has been told nothing, and may ask again.
            let _ = reply.send(answer);
        }
        committed
    }
}

/// One job, unless it was done before.
fn perform(executor: &mut Executor<'_>, work: Work, repeat: Option<Repeat>) -> Answer {
    let Some(Repeat { key, fingerprint }) = repeat else { return work(executor).unwrap_or_else(Answer::from) };
    if let Some(known) = executor.controller.recall(&key) {
        if known.fingerprint != fingerprint {
            let detail = "this Idempotency-Key was used for another request: use a new one for each request";
            return problem(Code::IdempotencyMismatch, detail).into();
        }
        if let Some(answer) = Answer::kept(&known.answer) {
            return answer;
        }
    }
    let answer = work(executor).unwrap_or_else(Answer::from);
    executor.controller.remember(executor.now.wall, &key, fingerprint, answer.keep());
    answer
}

pub(crate) fn unavailable() -> Answer {
    let detail = "the ledger cannot be written now, and the request may or may not have been carried out: ask again with \
                  the same Idempotency-Key, or look";
    problem(Code::Unavailable, detail).into()
}

impl Running {
    /// What is due, then all changes to disk, then to readers.
    fn finish(&mut self, engine: &Engine, now: Now) -> Result<(), String> {
        let tick = AssertUnwindSafe(|| self.controller.tick(now));
        if catch_unwind(tick).is_err() {
            return Err("the controller has failed, and is loaded again".to_owned());
        }
        let output = self.controller.take_output();
        if output.changes.is_empty() && output.events.is_empty() {
            return Ok(());
        }
        let edits = self.stage.edits(&self.controller, &output);
        self.commit(&engine.metrics, &output)?;
        engine.view.publish(edits, self.sequence, self.controller.revision());
        Ok(())
    }

    fn commit(&mut self, metrics: &Metrics, output: &Output) -> Result<(), String> {
        if output.changes.is_empty() {
            return Ok(());
        }
        let changes: Vec<wayleave_store::Change> = output.changes.iter().map(stored).collect();
        let start = Instant::now();
        self.sequence = self.store.commit(&changes).map_err(|error| error.to_string())?;
        metrics.committed(start.elapsed());
        self.is_untidy = true;
        Ok(())
    }
}
