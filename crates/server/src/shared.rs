//! What all requests share.

use std::sync::Arc;
use std::sync::mpsc::{SyncSender, TrySendError};

use bytes::Bytes;
use tokio::sync::{Semaphore, oneshot, watch};
use wayleave_controller::{Controller, Setup};
use wayleave_protocol::problem::{Code, Problem};
use wayleave_topology::{LinkId, Network, NodeId};

use crate::answer::{Outcome, not_found, problem};
use crate::engine::{Executor, Job, Message, Repeat, unavailable};
use crate::limits::Limits;
use crate::metrics::Metrics;
use crate::traffic::Counted;
use crate::trial;
use crate::view::{Health, View};

pub(crate) struct Shared {
    pub(crate) setup: Setup,
    /// What the topology is called.
    pub(crate) name: String,
    /// Its document.
    pub(crate) document: String,
    /// Where the ledger is.
    pub(crate) ledger: String,
    pub(crate) scheme: String,
    pub(crate) view: Arc<View>,
    pub(crate) metrics: Arc<Metrics>,
    /// What hosts have counted.
    pub(crate) counted: Arc<Counted>,
    pub(crate) jobs: SyncSender<Message>,
    pub(crate) limits: Limits,
    /// Questions that make a controller of their own: each takes memory and time.
    pub(crate) questions: Semaphore,
    pub(crate) watchers: Semaphore,
    /// Whether the server ends.
    pub(crate) ending: watch::Receiver<bool>,
    pub(crate) openapi: Bytes,
}

impl Shared {
    pub(crate) fn network(&self) -> &Network {
        &self.setup.network
    }

    /// Has the engine do something, and waits until it is on disk.
    pub(crate) async fn submit(
        &self,
        repeat: Option<Repeat>,
        work: impl FnOnce(&mut Executor<'_>) -> Outcome + Send + 'static,
    ) -> Outcome {
        let (reply, answer) = oneshot::channel();
        match self.jobs.try_send(Message::Job(Job { work: Box::new(work), repeat, reply })) {
            Ok(()) => {}
            Err(TrySendError::Full(_)) => {
                return Err(problem(Code::Unavailable, "too much is waiting to be done: nothing was done, ask again"));
            }
            Err(TrySendError::Disconnected(_)) => return Err(problem(Code::Unavailable, "the server is ending")),
        }
        Ok(answer.await.unwrap_or_else(|_| unavailable()))
    }

    /// Asks a controller that is made for this one question, and thrown away.
    pub(crate) async fn try_out(
        self: &Arc<Self>,
        question: impl FnOnce(&mut Controller) -> Outcome + Send + 'static,
    ) -> Outcome {
        let Ok(_permit) = self.questions.acquire().await else {
            return Err(problem(Code::Unavailable, "the server is ending"));
        };
        let shared = self.clone();
        let asked = tokio::task::spawn_blocking(move || trial::try_out(&shared.setup, &shared.view, question));
        asked.await.unwrap_or_else(|_| Err(problem(Code::Internal, "this question has found a mistake in the server")))
    }

    /// Whether anything can be answered.
    pub(crate) fn check_health(&self) -> Result<(), Box<Problem>> {
        match &self.view.read().health {
            Health::Ready => Ok(()),
            other => Err(problem(Code::Unavailable, unready(other))),
        }
    }

    pub(crate) fn node(&self, name: &str) -> Result<NodeId, Box<Problem>> {
        self.network().find_node(name).ok_or_else(|| not_found("node", name))
    }

    pub(crate) fn link(&self, name: &str) -> Result<LinkId, Box<Problem>> {
        self.network().find_link(name).ok_or_else(|| not_found("link", name))
    }
}

/// Why nothing can be answered.
pub(crate) fn unready(health: &Health) -> String {
    match health {
        Health::Ready => "it can answer".to_owned(),
        Health::Starting => "the ledger is being read".to_owned(),
        Health::Broken(why) => format!("the ledger cannot be written, and is tried again every second: {why}"),
        Health::Ending => "the server is ending".to_owned(),
    }
}
