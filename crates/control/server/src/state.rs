//! Shared state of all requests.

use std::sync::Arc;

use bytes::Bytes;
use tokio::runtime::Handle;
use tokio::sync::{oneshot, watch};
use wayleave_controller::{Controller, ControllerConfig, Id, Principal};
use wayleave_protocol::load::MeasuredLoad;
use wayleave_protocol::problem::{Code, Problem};
use wayleave_protocol::status::ClusterRole;
use wayleave_replica::Lease;
use wayleave_topology::{LinkId, Network, NodeId};

use crate::account::{Account, Open, OpenBytes};
use crate::alerts::AlertState;
use crate::answer::{HttpReply, OVERDUE, Outcome, lease_overdue, not_found, not_leader, problem, unavailable};
use crate::audit::{Note, PendingEntries};
use crate::checks::Checks;
use crate::clock::boottime;
use crate::cluster_metrics::ClusterMetrics;
use crate::cluster_role::ClusterState;
use crate::fair::QueueRefusal;
use crate::http::call::AuthorizedRequest;
use crate::limits::ServerLimits;
use crate::liveness::Alive;
use crate::load::Load;
use crate::metrics::{Limit, Metrics};
use crate::pulse::EngineHeartbeat;
use crate::queue::Queue;
use crate::read_view::{Health, View};
use crate::reads::{ReadFailure, Reads};
use crate::rendered::ContractObject;
use crate::secret::Secret;
use crate::tiers::Layers;
use crate::traffic::ReportedTraffic;
use crate::trial;
use crate::work::{Executor, Job, Repeat, Step, Work};

/// Bodies up to this size are parsed by the thread that has received them, which takes less than a millisecond.
const SHORT_BYTES: usize = 32 << 10;

/// Number of contracts or links read from the view before its lock is released: a fraction of a millisecond.
pub(crate) const AT_A_TIME: usize = 2_000;

pub(crate) struct Shared {
    pub(crate) setup: ControllerConfig,
    /// Name of the topology.
    pub(crate) name: String,
    /// Its document.
    pub(crate) document: String,
    /// Location of the ledger.
    pub(crate) ledger: String,
    /// Of the leader, where several controllers share a ledger.
    pub(crate) lease: Option<Lease>,
    /// Metrics of the cluster.
    pub(crate) cluster: Option<Arc<ClusterMetrics>>,
    pub(crate) scheme: String,
    pub(crate) view: Arc<View>,
    pub(crate) metrics: Arc<Metrics>,
    pub(crate) jobs: Arc<Queue>,
    /// Refusals that the engine is to write down.
    pub(crate) refusals: PendingEntries,
    pub(crate) pulse: Arc<EngineHeartbeat>,
    /// Of requests that are being answered.
    pub(crate) open_bytes: Arc<OpenBytes>,
    /// Checks that are on.
    pub(crate) checks: Arc<Checks>,
    /// Counters of hosts.
    pub(crate) counted: Arc<ReportedTraffic>,
    /// Alerts that fire.
    pub(crate) alerts: AlertState,
    /// Counters of links, and the histories of measured load.
    pub(crate) load: Arc<Load>,
    /// Key with which agents sign their messages to each other; a new one after each start.
    pub(crate) agents_secret: Secret,
    pub(crate) limits: ServerLimits,
    /// The threads that serve connections and carry requests out.
    pub(crate) requests: Handle,
    pub(crate) alive: Arc<Alive>,
    /// Threads for reads that need no engine.
    pub(crate) reads: Reads,
    /// Questions that make a controller of their own: each takes memory and time.
    pub(crate) questions: Reads,
    /// The network by tier.
    pub(crate) layers: Layers,
    /// Streams of events of operators.
    pub(crate) watching_operators: Arc<Open<Account>>,
    /// Streams of all other accounts.
    pub(crate) watchers: Arc<Open<Account>>,
    /// Agents that wait for messages, by node.
    pub(crate) waiting_agents: Arc<Open<String>>,
    /// `true` once the server is ending.
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
        call: &AuthorizedRequest,
        work: impl FnOnce(&mut Executor<'_>) -> Outcome + Send + 'static,
    ) -> Outcome {
        let repeat = self.repeat(call)?;
        self.submit_steps(call, repeat, Box::new(|executor| Step::Done(work(executor)))).await
    }

    /// Executes a read in the engine, when no change waits.
    pub(crate) async fn read_view(
        &self,
        call: &AuthorizedRequest,
        work: impl FnOnce(&mut Executor<'_>) -> Outcome + Send + 'static,
    ) -> Outcome {
        let account = Account::of(call.role());
        self.wait_for(&account, None, None, Box::new(|executor| Step::Done(work(executor))), true).await
    }

    /// Submits a job that is executed in steps, like [`Shared::submit`].
    pub(crate) async fn submit_steps(&self, call: &AuthorizedRequest, repeat: Option<Repeat>, work: Work) -> Outcome {
        self.wait_for(&Account::of(call.role()), call.note(), repeat, work, false).await
    }

    /// Returns the key that makes a request repeatable, if it has one.
    pub(crate) fn repeat(&self, call: &AuthorizedRequest) -> Result<Option<Repeat>, Box<Problem>> {
        call.repeat(self.limits.answer_bytes)
    }

    async fn wait_for(
        &self,
        account: &Account,
        note: Option<Note>,
        repeat: Option<Repeat>,
        work: Work,
        is_read: bool,
    ) -> Outcome {
        let (reply, answer) = oneshot::channel();
        let job = Job { work, repeat, note: note.map(Box::new), reply, is_read, is_begun: false };
        self.jobs.push(account, job).map_err(|why| self.no_place(account, why))?;
        Ok(answer.await.unwrap_or_else(|_| unavailable()))
    }

    /// Asks a controller that is made for this one question, and then discarded. The engine copies its state in a
    /// separate job, which is charged to the client.
    pub(crate) async fn try_out(
        self: &Arc<Self>,
        call: &AuthorizedRequest,
        question: impl FnOnce(&mut Controller) -> Outcome + Send + 'static,
    ) -> Outcome {
        let account = Account::of(call.role());
        let (shared, of, handle) = (self.clone(), account.clone(), Handle::current());
        let ask = move || {
            let (give, copied) = oneshot::channel();
            let copy = move |executor: &mut Executor<'_>| {
                // A client that no longer waits does not need the copy.
                let _ = give.send(executor.controller.copy());
                Ok(HttpReply::nothing())
            };
            let work: Work = Box::new(|executor| Step::Done(copy(executor)));
            // A thread of its own may wait for the engine.
            let done = handle.block_on(shared.wait_for(&of, None, None, work, true))?;
            // Without a copy the answer has the reason.
            let Ok(copied) = copied.blocking_recv() else { return Ok(done) };
            trial::try_copy(&shared.setup, copied, question)
        };
        self.questions.run(&account, ask).await.unwrap_or_else(|unread| Err(self.unread(&account, unread)))
    }

    /// Reads something that takes longer than a fraction of a millisecond, when it is the turn of the account that asks.
    pub(crate) async fn scan_view<T: Send + 'static>(
        &self,
        call: &AuthorizedRequest,
        look: impl FnOnce() -> Result<T, Box<Problem>> + Send + 'static,
    ) -> Result<T, Box<Problem>> {
        let account = Account::of(call.role());
        self.reads.run(&account, look).await.unwrap_or_else(|unread| Err(self.unread(&account, unread)))
    }

    /// Reads what a request asks for, when it is the turn of its account.
    pub(crate) async fn read(
        self: Arc<Self>,
        call: AuthorizedRequest,
        read: fn(&Arc<Self>, &AuthorizedRequest) -> Outcome,
    ) -> Outcome {
        let account = Account::of(call.role());
        let shared = self.clone();
        let read = self.reads.run(&account, move || read(&shared, &call)).await;
        read.unwrap_or_else(|unread| Err(self.unread(&account, unread)))
    }

    /// Reads what the body of a request asks for: a long one when it is the turn of its account.
    pub(crate) async fn parse<T: Send + 'static>(
        self: &Arc<Self>,
        call: &Arc<AuthorizedRequest>,
        read: impl FnOnce(&Self, &AuthorizedRequest) -> Result<T, Box<Problem>> + Send + 'static,
    ) -> Result<T, Box<Problem>> {
        if call.body.len() <= SHORT_BYTES {
            return read(self, call);
        }
        let (shared, of) = (self.clone(), call.clone());
        self.scan_view(call, move || read(&shared, &of)).await
    }

    fn unread(&self, account: &Account, unread: ReadFailure) -> Box<Problem> {
        match unread {
            ReadFailure::Panicked => {
                problem(Code::Internal, "internal error: this request has triggered a bug in the server")
            }
            ReadFailure::NoPlace(why) => self.no_place(account, why),
        }
    }

    fn no_place(&self, account: &Account, why: QueueRefusal) -> Box<Problem> {
        if why == QueueRefusal::Ended {
            return problem(Code::Unavailable, "the server is shutting down");
        }
        self.metrics.limited(Limit::Waiting);
        if why == QueueRefusal::All {
            return problem(Code::Unavailable, "the request queue is full: nothing was done; retry later");
        }
        let detail = format!("too many requests of {account} are waiting: nothing was done; retry later");
        problem(Code::RateLimited, detail)
    }

    /// Shows each contract of a tenant, or of all. The lock of the view is released at intervals, so that the engine
    /// need not wait for the end: contracts that are created or deleted in this time may be included or not.
    pub(crate) fn each_contract(&self, only: Option<&str>, mut show: impl FnMut(&Arc<ContractObject>)) {
        self.each_contract_after(only, None, |contract| {
            show(contract);
            true
        });
    }

    /// Shows each contract after the given one, while `show` returns `true`.
    pub(crate) fn each_contract_after(
        &self,
        only: Option<&str>,
        mut after: Option<Arc<Id>>,
        mut show: impl FnMut(&Arc<ContractObject>) -> bool,
    ) {
        loop {
            let tables = self.view.read();
            let mut last = None;
            for (_, contract) in tables.contracts_of(only, after.as_deref()).take(AT_A_TIME) {
                if !show(contract) {
                    return;
                }
                last = Some(contract.id().clone());
            }
            drop(tables);
            let Some(last) = last else { return };
            after = Some(last);
        }
    }

    /// Returns an error if this request cannot be answered. A follower answers reads for people; agents and changes
    /// need the leader. Only operators and readers of all tenants get the reason: it has paths and addresses.
    pub(crate) fn check_health(&self, is_reading: bool, who: &Principal) -> Result<(), Box<Problem>> {
        match &self.view.read().health {
            Health::Ready if self.is_current() => Ok(()),
            // It was paused, or etcd is silent: others may have written, and it may not know.
            Health::Ready if is_reading => Ok(()),
            Health::Ready => Err(lease_overdue()),
            Health::Following(_) | Health::Apart(_) if is_reading => Ok(()),
            Health::Following(leader) => Err(not_leader(leader.as_deref())),
            other if matches!(who, Principal::Operator | Principal::Reader { tenant: None }) => {
                Err(problem(Code::Unavailable, unready(other)))
            }
            other => Err(problem(Code::Unavailable, unready_to_all(other))),
        }
    }

    /// Replaces an error about a token in a follower, which may not know a new or deleted token yet: the leader
    /// decides if it is valid.
    pub(crate) fn as_known<T>(&self, known: Result<T, Box<Problem>>) -> Result<T, Box<Problem>> {
        known.map_err(|known| match &self.view.read().health {
            _ if known.code != Code::Unauthorized => known,
            Health::Following(leader) => not_leader(leader.as_deref()),
            Health::Barred(_) => problem(Code::Unavailable, BARRED),
            _ => known,
        })
    }

    /// Returns `true` if no other controller can have written records that this controller does not know.
    pub(crate) fn is_current(&self) -> bool {
        self.lease.as_ref().is_none_or(|lease| lease.is_good(boottime()))
    }

    /// Returns `true` if agents report to this controller: it leads. Otherwise nothing is known of them.
    pub(crate) fn receives_reports(&self) -> bool {
        matches!(self.view.read().health, Health::Ready) && self.is_current()
    }

    /// Returns the measured loads of links; none at a controller that receives no reports.
    pub(crate) fn measured(&self, links: &[LinkId]) -> Vec<Option<MeasuredLoad>> {
        let is_known = self.receives_reports();
        links.iter().map(|&link| if is_known { self.load.measured(link) } else { None }).collect()
    }

    /// Returns an error at a controller that receives no reports: what they show is unknown there.
    pub(crate) fn check_reports(&self) -> Result<(), Box<Problem>> {
        match &self.view.read().health {
            Health::Ready if self.is_current() => Ok(()),
            Health::Ready => Err(lease_overdue()),
            Health::Following(leader) => Err(not_leader(leader.as_deref())),
            other => Err(problem(Code::Unavailable, unready_to_all(other))),
        }
    }

    /// Reason for which this controller is not ready; `None` if it is, and then no other controller is. A leader is ready until the deadline of its lease, with or without
    /// changes to write.
    pub(crate) fn unready(&self, health: &Health) -> Option<String> {
        match health {
            Health::Ready if self.is_current() => None,
            Health::Ready => Some(OVERDUE.to_owned()),
            other => Some(unready(other)),
        }
    }

    /// Returns the role of this controller in a cluster; `None` for a standalone one. Contracts are shown by this role.
    pub(crate) fn cluster_state(&self) -> Option<ClusterState> {
        let now = boottime();
        let (is_current, left) = (self.lease.as_ref()?.is_good(now), self.lease.as_ref()?.left(now));
        self.view.set_lead(is_current);
        let tables = self.view.read();
        let role = match &tables.health {
            Health::Ready if is_current => ClusterRole::Leader,
            Health::Following(_) => ClusterRole::Follower,
            _ => ClusterRole::Unknown,
        };
        let lease_left_ns = if role == ClusterRole::Leader { left } else { 0 };
        Some(ClusterState { role, generation: tables.generation, commit: tables.sequence, lease_left_ns })
    }

    pub(crate) fn node(&self, name: &str) -> Result<NodeId, Box<Problem>> {
        self.network().find_node(name).ok_or_else(|| not_found("node", name))
    }

    pub(crate) fn link(&self, name: &str) -> Result<LinkId, Box<Problem>> {
        self.network().find_link(name).ok_or_else(|| not_found("link", name))
    }
}

/// Message to all clients of a controller whose configuration differs from its cluster's.
pub(crate) const BARRED: &str = "the configuration of this controller differs from its cluster's: see its log";

/// Reason for which no request can be answered, without addresses, paths and messages of the system.
pub(crate) fn unready_to_all(health: &Health) -> String {
    match health {
        Health::Apart(_) => {
            "the leader is unknown: installed rules stay in force, nothing is admitted; retry later".to_owned()
        }
        Health::Broken(_) => {
            "the ledger cannot be written; operators find the reason in /v1/status and in the log".to_owned()
        }
        Health::Barred(_) => BARRED.to_owned(),
        Health::Ready | Health::Following(_) | Health::Starting | Health::Ending => unready(health),
    }
}

/// Reason for which no request can be answered, for operators.
pub(crate) fn unready(health: &Health) -> String {
    match health {
        Health::Ready => "ready".to_owned(),
        Health::Following(Some(leader)) => format!("another controller is the leader: {leader}"),
        Health::Following(None) => "there is no leader now".to_owned(),
        Health::Apart(why) => {
            format!("the leader is unknown: installed rules stay in force, nothing is admitted: {why}")
        }
        Health::Barred(why) => why.clone(),
        Health::Starting => "the ledger is being read".to_owned(),
        Health::Broken(why) => format!("the ledger cannot be written; retrying every second: {why}"),
        Health::Ending => "the server is shutting down".to_owned(),
    }
}
