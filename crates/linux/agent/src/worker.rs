//! The loop of one node: the agent as a state machine, driven by messages and the clock.
//!
//! ```text
//! poller   ── operations (long polling) ─────────┐
//! notifier ── sessions, confirmations, reports,  ├─ Event ─> worker ─> Node (data plane)
//!             where VMs are ─────────────────────┘    <─ requests ─
//! ```
//!
//! The worker never waits for the controller, and packets never wait for the worker: what is installed is in the kernel.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, SyncSender};
use std::time::{Duration, Instant};

use crate::checks::Checks;
use crate::machine::{Agent, AgentCall, AgentReply, AgentRequest, PollInterval};
use wayleave_broker::process::LimitsLine;
use wayleave_dataplane::net::CounterReading;
use wayleave_protocol::agent::{ContractProblem, KEYS_SINCE_0_2, Messages, Reports, Shares};
use wayleave_protocol::check::CheckTask;
use wayleave_protocol::load::{LinkReport, REPORT_INTERVAL};
use wayleave_topology::{Network, NodeId};
use wayleave_units::Time;

use crate::controller_client::ControllerReply;
use crate::environment::Environment;
use crate::link_report::link_report;
use crate::node::NodeDriver;
use crate::shares::INTERVAL;
use crate::shares::broker;
use crate::shares::message::PeerMessage;
use crate::shares::peers::UnreadMessage;

/// Poll interval for interfaces.
const POLL_INTERVAL: Duration = Duration::from_millis(500);
/// Interval of reports to the controller while checks are on.
const CHECK_REPORT_EVERY: Duration = Duration::from_millis(200);
/// Interval at which the programs and maps are compared with the installed rules without a notification of the
/// kernel; also the delay after such a notification.
const REPAIR_INTERVAL: Duration = Duration::from_secs(5);
/// Comparison interval where the kernel sends no notifications.
const REPAIR_UNWATCHED: Duration = Duration::from_secs(1);
const REPAIR_AFTER: Duration = Duration::from_millis(500);
/// Interval at which the links of a host are divided among contracts.
const DIVIDE_EVERY: Duration = Duration::from_nanos(INTERVAL.as_nanos());
/// Time for which a carrier must be up again before it counts.
const STEADY_AFTER: Duration = Duration::from_secs(1);

/// Intervals of requests to the controller and of retries: at most a second.
pub const PACE: PollInterval = PollInterval {
    poll_every: Time::from_millis(100),
    retry_first: Time::from_millis(250),
    retry_most: Time::from_millis(1_000),
};

/// Event for a worker.
#[derive(Debug)]
pub enum WorkerEvent {
    /// Pending operations, or `None` if they are not known.
    Messages(u64, Option<ControllerReply<Messages>>),
    /// Something else was answered.
    Answered(u64, AgentReply),
    /// VMs moved, or something failed or was repaired.
    Environment(Arc<Environment>),
    /// The controller has another network: everything is found out again.
    OtherNetwork(Arc<Environment>),
    /// Something has happened to an interface.
    Interfaces,
    /// The controller knows that these links are down.
    Seen(LinkState),
    /// The contracts of other kinds than latency on this node.
    Shares(Box<Shares>),
    /// The checks that are on.
    Checks(Vec<CheckTask>),
    /// A message from the agent of another node.
    PeerMessageReceived(NodeId, PeerMessage, UnreadMessage),
    /// Limits from the rack broker of this machine.
    Limits(LimitsLine, broker::UnreadLimits),
    /// Stop; what is installed stays.
    End,
}

/// Request of the notifier to the controller.
#[derive(Debug)]
pub enum ControllerNotice {
    /// This.
    Request(AgentCall),
    /// Heartbeat, with the measurements, counters and repairs of this session.
    Report(Box<Reports>),
    /// Links that are down.
    See(LinkState),
}

/// Links of a node that are down, as reported in a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LinkState {
    /// The session.
    pub epoch: u64,
    /// Reasons by the names of the links.
    pub down: BTreeMap<String, DownReason>,
}

/// Reason that a link is down at a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DownReason {
    /// Its interface has no carrier, or does not exist.
    NoCarrier,
    /// The switch program of the node does not answer, so it does not forward. The carrier is not known.
    SwitchSilent,
}

impl fmt::Display for DownReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NoCarrier => "no carrier",
            Self::SwitchSilent => "Open vSwitch does not answer",
        })
    }
}

/// State of a node's interfaces.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Carriers {
    /// Names of the interfaces that have a carrier.
    Up(BTreeSet<String>),
    /// The switch program of the node does not answer.
    SwitchSilent,
    /// The kernel does not report them.
    Unknown,
}

/// The cables of a node.
pub struct Cables {
    /// Interfaces by the names of their links.
    pub interfaces: BTreeMap<String, String>,
    /// State of the interfaces.
    pub carriers: Box<dyn FnMut() -> Carriers + Send>,
    /// The node.
    pub node: NodeId,
    /// Counters of interfaces; `None` if they are not known.
    pub counters: Box<dyn FnMut() -> Option<CounterReading> + Send>,
}

impl Cables {
    /// Returns the counters of all links; `None` if they are not known.
    fn link_report(&mut self, network: &Network) -> Option<LinkReport> {
        let reading = (self.counters)()?;
        Some(link_report(network, self.node, &self.interfaces, &reading))
    }

    /// Returns the links that are down, with the reason of all of them; `None` if the state is unknown.
    fn down(&mut self) -> Option<(BTreeSet<String>, DownReason)> {
        let (up, reason) = match (self.carriers)() {
            Carriers::Up(up) => (up, DownReason::NoCarrier),
            Carriers::SwitchSilent => (BTreeSet::new(), DownReason::SwitchSilent),
            Carriers::Unknown => return None,
        };
        let is_down = |(_, interface): &(&String, &String)| !up.contains(*interface);
        Some((self.interfaces.iter().filter(is_down).map(|(link, _)| link.clone()).collect(), reason))
    }
}

/// A node's loop.
pub struct Worker<N> {
    agent: Agent<N>,
    cables: Cables,
    /// Links that are down, or have not been up for long: the reason, and the time at which they count as up.
    down_links: BTreeMap<String, (DownReason, Option<Instant>)>,
    /// State of the links that the controller knows.
    seen: Option<LinkState>,
    see_at: Instant,
    poller: SyncSender<(u64, u64)>,
    notifier: Sender<ControllerNotice>,
    began: Instant,
    /// `true` while the poller waits for an answer.
    is_asking: bool,
    look_at: Instant,
    report_at: Instant,
    repair_at: Instant,
    /// Time of the next division of a host's links; `None` if there is nothing to divide.
    divide_at: Option<Instant>,
    /// Repairs since the last report.
    repairs: Vec<String>,
    /// Contracts that the last report named as not carried out, and the session.
    reported_problems: Option<(u64, Option<Vec<ContractProblem>>)>,
    /// Probes that are sent and watched for on this network.
    checks: Checks,
    network: Arc<Network>,
    check_report_at: Instant,
    /// The rack broker of this machine.
    broker: Option<Arc<broker::Connection>>,
}

impl<N: NodeDriver> Worker<N> {
    /// Of a node of this network.
    pub fn new(
        node: N,
        network: Arc<Network>,
        cables: Cables,
        poller: SyncSender<(u64, u64)>,
        notifier: Sender<ControllerNotice>,
    ) -> Self {
        let began = Instant::now();
        let agent = Agent::new(node, PACE);
        let (look_at, report_at, repair_at) = (began, began + REPORT_INTERVAL, began + REPAIR_AFTER);
        let (down_links, seen) = (BTreeMap::new(), None);
        let is_asking = false;
        Self {
            agent,
            cables,
            down_links,
            seen,
            see_at: began,
            poller,
            notifier,
            began,
            is_asking,
            look_at,
            report_at,
            repair_at,
            divide_at: None,
            repairs: Vec::new(),
            reported_problems: None,
            checks: Checks::default(),
            network,
            check_report_at: began,
            broker: None,
        }
    }

    /// Sets the rack broker that receives reports of the tenants' traffic.
    #[must_use]
    pub fn telling(mut self, broker: Arc<broker::Connection>) -> Self {
        self.broker = Some(broker);
        self
    }

    /// Runs until it is asked to end or the network is replaced; everything installed stays.
    pub fn run(mut self, events: &Receiver<WorkerEvent>) -> Option<Arc<Environment>> {
        loop {
            self.work();
            let due = self.began + Duration::from_nanos(self.agent.due().as_nanos());
            let due = due.min(self.look_at).min(self.report_at).min(self.repair_at);
            let due = [self.divide_at, self.checks.due()].into_iter().flatten().fold(due, Instant::min);
            match events.recv_timeout(due.saturating_duration_since(Instant::now())) {
                Ok(WorkerEvent::End) | Err(RecvTimeoutError::Disconnected) => return None,
                Ok(WorkerEvent::OtherNetwork(environment)) => return Some(environment),
                Ok(event) => self.on_event(event),
                Err(RecvTimeoutError::Timeout) => {}
            }
        }
    }

    fn now(&self) -> Time {
        Time::from_nanos(u64::try_from(self.began.elapsed().as_nanos()).unwrap_or(u64::MAX))
    }

    /// Does what is due.
    fn work(&mut self) {
        let now = Instant::now();
        if now >= self.look_at {
            self.look_at = now + POLL_INTERVAL;
            self.agent.driver_mut().refresh();
            self.check_links(now);
        }
        if now >= self.repair_at {
            for what in self.agent.driver_mut().repair() {
                tracing::warn!("{what}: repaired");
                self.repairs.push(what);
            }
            // The kernel also notifies about the repair itself, which causes one more comparison.
            let is_watched = self.agent.driver_mut().is_watched();
            self.repair_at = Instant::now() + if is_watched { REPAIR_INTERVAL } else { REPAIR_UNWATCHED };
        }
        if self.divide_at.is_some_and(|at| now >= at) {
            let time = self.now();
            let continues = self.agent.driver_mut().divide(time);
            self.divide_at = continues.then(|| now + DIVIDE_EVERY);
        }
        self.see(now);
        self.check(now);
        if now >= self.report_at {
            self.report(now);
        }
        let time = self.now();
        if self.agent.due() <= time {
            self.agent.tick(time);
        }
        let requests = self.agent.take_requests();
        // A rule that is confirmed and whose packets belong to another one is no rule in force: the problem arrives first.
        let confirms = requests.iter().any(|request| matches!(request.ask, AgentRequest::Confirm { .. }));
        if let Some(epoch) = self.agent.epoch().filter(|_| confirms)
            && Some((epoch, self.agent.driver_mut().contract_problems())) != self.reported_problems
        {
            self.report(now);
        }
        for request in requests {
            self.send(request);
        }
    }

    /// Reports everything that is counted and in force.
    fn report(&mut self, now: Instant) {
        self.report_at = now + REPORT_INTERVAL;
        let time = self.now();
        if let Some(broker) = self.broker.as_ref().filter(|broker| broker.is_open())
            && let Some(moved) = self.agent.driver_mut().moved(time)
        {
            broker.send_report(&moved);
        }
        if let Some(epoch) = self.agent.epoch() {
            let repairs = std::mem::take(&mut self.repairs);
            let links = self.cables.link_report(&self.network);
            let driver = self.agent.driver_mut();
            let (measured, traffic) = (driver.reports(), driver.traffic());
            let contract_problems = driver.contract_problems();
            let reports = Reports {
                epoch,
                measured,
                repairs,
                traffic,
                packets: driver.packets(),
                links,
                troubles: Some(driver.problems(time)),
                samples: driver.samples(),
                hears_at: driver.peer_address(),
                rules_in_force: driver.rules_in_force(),
                enforces: KEYS_SINCE_0_2.map(str::to_owned).to_vec(),
                contract_problems: contract_problems.clone(),
                beat: true,
                ..Reports::default()
            };
            let _ = self.notifier.send(ControllerNotice::Report(Box::new(reports)));
            self.reported_problems = Some((epoch, contract_problems));
        }
    }

    /// Runs the checks, and reports them more often than everything else.
    fn check(&mut self, now: Instant) {
        self.checks.work(&self.network);
        let Some(epoch) = self.agent.epoch().filter(|_| now >= self.check_report_at) else { return };
        if let Some(checks) = self.checks.reports(self.agent.driver_mut()) {
            self.check_report_at = now + CHECK_REPORT_EVERY;
            let reports = Reports { epoch, checks: Some(checks), ..Reports::default() };
            let _ = self.notifier.send(ControllerNotice::Report(Box::new(reports)));
        }
    }

    /// Updates the links that are down. A loss counts at once; a link that is up again has to stay up for
    /// `STEADY_AFTER`.
    fn check_links(&mut self, now: Instant) {
        let Some((down_links, reason)) = self.cables.down() else { return };
        for link in &down_links {
            if self.down_links.insert(link.clone(), (reason, None)) != Some((reason, None)) {
                tracing::warn!(link, "link is down: {reason}");
            }
        }
        for (link, (_, over)) in &mut self.down_links {
            if !down_links.contains(link) {
                over.get_or_insert(now + STEADY_AFTER);
            }
        }
        self.down_links.retain(|link, (_, over)| {
            let is_over = over.is_some_and(|over| over <= now);
            if is_over {
                tracing::info!(link, "link is up");
            }
            !is_over
        });
    }

    /// Reports the state of the links until the controller knows it.
    fn see(&mut self, now: Instant) {
        let Some(epoch) = self.agent.epoch() else { return };
        let down = self.down_links.iter().map(|(link, (reason, _))| (link.clone(), *reason)).collect();
        let sight = LinkState { epoch, down };
        // In every session once, since the controller may remember what was seen in one before.
        if self.seen.as_ref() != Some(&sight) && now >= self.see_at {
            self.see_at = now + REPORT_INTERVAL;
            let _ = self.notifier.send(ControllerNotice::See(sight));
        }
    }

    fn send(&mut self, request: AgentCall) {
        if let AgentRequest::Operations { epoch } = request.ask {
            // One request at a time is enough: it is answered as soon as there is an operation.
            if !self.is_asking {
                self.is_asking = self.poller.try_send((request.number, epoch)).is_ok();
            }
            return;
        }
        let _ = self.notifier.send(ControllerNotice::Request(request));
    }

    fn on_event(&mut self, event: WorkerEvent) {
        let now = self.now();
        match event {
            WorkerEvent::Messages(number, outgoing) => {
                self.is_asking = false;
                match outgoing {
                    Some(ControllerReply::Done(messages)) => {
                        self.agent.answer(now, number, AgentReply::Operations(messages.operations));
                    }
                    Some(ControllerReply::Stale(current)) => {
                        self.agent.answer(now, number, AgentReply::Stale { current })
                    }
                    None => {}
                }
            }
            WorkerEvent::Answered(number, answer) => {
                if let AgentReply::Begun { epoch } = &answer {
                    tracing::info!(epoch, "session opened");
                }
                self.agent.answer(now, number, answer);
            }
            WorkerEvent::Interfaces => {
                let now = Instant::now();
                self.check_links(now);
                // News need not wait.
                self.see_at = now;
                self.repair_at = self.repair_at.min(now + REPAIR_AFTER);
            }
            WorkerEvent::Seen(sight) => self.seen = Some(sight),
            WorkerEvent::Shares(shares) => {
                self.agent.driver_mut().set_shares(now, *shares);
                self.divide_at.get_or_insert_with(Instant::now);
                // The controller waits for the new rules to be in force.
                self.report_at = Instant::now();
            }
            WorkerEvent::Checks(tasks) => self.checks.set(tasks, self.agent.driver_mut()),
            WorkerEvent::PeerMessageReceived(from, message, _unread) => {
                self.agent.driver_mut().on_peer_message(now, from, &message)
            }
            WorkerEvent::Limits(limits, _unread) => self.agent.driver_mut().limit(now, limits),
            WorkerEvent::Environment(environment) => self.agent.driver_mut().set_environment(environment),
            WorkerEvent::OtherNetwork(_) | WorkerEvent::End => {}
        }
    }
}
