//! Work of the engine: jobs, in steps if they are long.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Instant;

use tokio::sync::oneshot;
use wayleave_controller::{Command, CommandError, Controller, Id, NewAnswer, Reply, Timestamps};
use wayleave_protocol::problem::Code;

use crate::answer::{HttpReply, Outcome, problem};
use crate::audit::Note;
use crate::metrics::{Limit, Metrics};
use crate::read_view::View;
use crate::rendered::ContractObject;

/// Context of a job: the controller, at the time of the job.
pub(crate) struct Executor<'a> {
    pub(crate) controller: &'a mut Controller,
    pub(crate) now: Timestamps,
    pub(crate) metrics: &'a Metrics,
    pub(crate) view: &'a View,
}

impl Executor<'_> {
    /// Returns the contract of a name as readers will see it, unless it has ended.
    pub(crate) fn contract(&self, id: &Id) -> Option<Arc<ContractObject>> {
        let grant = self.controller.grant(id).filter(|grant| !grant.is_ended())?;
        self.view.read().contract_of(self.controller, grant.serial)
    }

    /// Carries a command out.
    pub(crate) fn handle(&mut self, command: Command) -> Result<Reply, CommandError> {
        let decides = matches!(command, Command::Apply { .. });
        let start = Instant::now();
        let reply = self.controller.handle(self.now, command);
        if decides && let Ok(Reply::Each(applied)) = &reply {
            self.metrics.decided(applied, start.elapsed());
        }
        reply
    }
}

/// Work of one step.
pub(crate) type Work = Box<dyn FnOnce(&mut Executor<'_>) -> Step + Send>;

/// Progress of a job.
pub(crate) enum Step {
    /// To its end.
    Done(Outcome),
    /// Others may come first; then this.
    More(Work),
}

/// A request that may be repeated.
pub(crate) struct Repeat {
    pub(crate) key: String,
    pub(crate) fingerprint: String,
    /// Account that is charged for the stored answer, and the maximum bytes of its answers.
    pub(crate) account: Arc<str>,
    pub(crate) most: u64,
}

/// Something to be done, and where its answer goes.
pub(crate) struct Job {
    pub(crate) work: Work,
    pub(crate) repeat: Option<Repeat>,
    /// Audit note of the job, written if it is executed.
    pub(crate) note: Option<Box<Note>>,
    pub(crate) reply: oneshot::Sender<HttpReply>,
    /// `true` if it changes nothing, so that changes have precedence.
    pub(crate) is_read: bool,
    /// `true` if it is partly executed.
    pub(crate) is_begun: bool,
}

/// Result of one step of a job.
pub(crate) enum Performed {
    Done(HttpReply),
    /// It was done before.
    Known(HttpReply),
    More(Work, Option<Repeat>),
}

/// One step of a job, unless it was done before. `running` has the keys of requests of which a part was done.
pub(crate) fn perform(
    executor: &mut Executor<'_>,
    running: &mut HashSet<String>,
    work: Work,
    repeat: Option<Repeat>,
    is_begun: bool,
) -> Performed {
    if let Some(repeat) = repeat.as_ref().filter(|_| !is_begun)
        && let Some(answer) = known(executor, running, repeat)
    {
        return Performed::Known(answer);
    }
    match work(executor) {
        Step::More(work) => {
            if let Some(repeat) = &repeat {
                running.insert(repeat.key.clone());
            }
            Performed::More(work, repeat)
        }
        Step::Done(outcome) => {
            let answer = outcome.unwrap_or_else(HttpReply::from);
            if let Some(Repeat { key, fingerprint, account, .. }) = repeat {
                running.remove(&key);
                let kept = NewAnswer { account: &account, fingerprint, answer: answer.keep() };
                executor.controller.remember(executor.now.wall, &key, kept);
            }
            Performed::Done(answer)
        }
    }
}

/// The answer to a request that was made before, or that cannot be remembered.
fn known(executor: &mut Executor<'_>, running: &HashSet<String>, repeat: &Repeat) -> Option<HttpReply> {
    let Repeat { key, fingerprint, account, most } = repeat;
    if let Some(known) = executor.controller.recall(key) {
        if known.fingerprint != *fingerprint {
            let detail = "this Idempotency-Key was used for another request: use a new key for each request";
            return Some(problem(Code::IdempotencyMismatch, detail).into());
        }
        if let Some(answer) = HttpReply::kept(&known.answer) {
            return Some(answer);
        }
    }
    if running.contains(key) {
        let detail = "the request with this Idempotency-Key is in progress: retry for its answer";
        return Some(problem(Code::Unavailable, detail).into());
    }
    let full = executor.controller.check_answers(executor.now.wall, account, *most).err()?;
    executor.metrics.limited(Limit::Answers);
    let detail = format!(
        "stored answers of {account} take {} B, and the limit is {most} B: nothing was done; retry without an Idempotency-Key, or wait until {}",
        full.used, full.until
    );
    Some(problem(Code::RateLimited, detail).into())
}
