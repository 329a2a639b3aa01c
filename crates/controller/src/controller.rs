//! The controller: what it knows, and how commands reach what they are about.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use wayleave_contracts::NameError;
use wayleave_ledger::{Ledger, Model};
use wayleave_schemes::registry::Scheme;
use wayleave_topology::{FlowId, Network, NodeId, Route};
use wayleave_units::{Time, WallTime};
use wayleave_wire::Mac;

use crate::agents::NodeState;
use crate::book::Book;
use crate::clock::Now;
use crate::command::{Command, ElementName, Fault, Reply};
use crate::decision::{DecisionRecord, Decisions};
use crate::down::Down;
use crate::event::{Event, EventKind};
use crate::grant::Grant;
use crate::leaving::Leavings;
use crate::load::LoadError;
use crate::macs;
use crate::memory::Remembered;
use crate::output::Output;
use crate::record::change;
use crate::tenants::TenantState;
use crate::timers::{Due, Timers};
use crate::tokens::Token;
use crate::vms::VmState;
use wayleave_protocol::Id;

/// What a controller is made of.
#[derive(Clone)]
pub struct Setup {
    /// The network.
    pub network: Arc<Network>,
    /// How bytes and delays are counted.
    pub model: Model,
    /// Makes the scheme that decides, with nothing admitted. It has to keep a ledger of queues.
    pub scheme: Arc<dyn Fn() -> Scheme + Send + Sync>,
    /// Who tells senders.
    pub southbound: Southbound,
    /// How long things are waited for.
    pub timing: Timing,
}

/// Whether nodes say what they have done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Southbound {
    /// Nobody tells them, and nobody is asked: what they should do counts as done at once.
    #[default]
    Assumed,
    /// Agents on hosts confirm; switches were set up by somebody else.
    Hosts,
    /// Agents on hosts and on switches confirm.
    HostsAndSwitches,
}

/// How long things are waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timing {
    /// How long a sender may take to confirm before its contract counts as degraded.
    pub confirm_within: Time,
    /// How often degraded contracts without a place are tried again.
    pub retry_every: Time,
    /// How long after the last late packet a contract counts as kept again.
    pub heal_after: Time,
}

impl Default for Timing {
    fn default() -> Self {
        Self {
            confirm_within: Time::from_millis(10_000),
            retry_every: Time::from_millis(10_000),
            heal_after: Time::from_millis(60_000),
        }
    }
}

/// Numbers that never go back, over restarts too.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Counters {
    pub(crate) serial: u64,
    pub(crate) revision: u64,
    pub(crate) decision: u64,
    pub(crate) leaving: u64,
    pub(crate) event: u64,
    pub(crate) answer: u64,
    /// How often a controller was loaded from these records.
    pub(crate) generation: u64,
}

/// A record that is no longer what is on disk.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Dirty {
    Counters,
    Tenant(String),
    Token(String),
    Vm(Id),
    Contract(u64),
    Leaving(u64),
    Down(ElementName),
    Node(NodeId),
    Answer(String),
}

/// The controller.
pub struct Controller {
    pub(crate) network: Arc<Network>,
    pub(crate) model: Model,
    pub(crate) southbound: Southbound,
    pub(crate) timing: Timing,
    pub(crate) book: Book,
    pub(crate) counters: Counters,
    pub(crate) tenants: BTreeMap<String, TenantState>,
    pub(crate) tokens: BTreeMap<String, Token>,
    pub(crate) vms: BTreeMap<Id, VmState>,
    /// Whose the addresses of interfaces are.
    pub(crate) macs: BTreeMap<Mac, Id>,
    pub(crate) host_macs: BTreeMap<Mac, NodeId>,
    /// By serial number, also those that are being released.
    pub(crate) grants: BTreeMap<u64, Grant>,
    /// The contract that has the name now.
    pub(crate) by_id: BTreeMap<Id, u64>,
    pub(crate) leavings: Leavings,
    /// By a route that is being left: who waits for it.
    pub(crate) waiters: HashMap<u64, BTreeSet<u64>>,
    pub(crate) down: BTreeMap<ElementName, Down>,
    pub(crate) nodes: BTreeMap<NodeId, NodeState>,
    pub(crate) decisions: Decisions,
    pub(crate) memory: BTreeMap<String, Remembered>,
    /// By number, whose answers are remembered.
    pub(crate) remembered: BTreeMap<u64, String>,
    pub(crate) timers: Timers,
    /// The time of the last call.
    pub(crate) now: Now,
    dirty: BTreeSet<Dirty>,
    events: Vec<Event>,
}

pub(crate) fn wrong_name(field: &'static str, error: &NameError) -> Fault {
    Fault::Invalid { field, message: error.to_string() }
}

impl Controller {
    /// With nothing at all; [`Controller::load`] is how one begins.
    pub(crate) fn empty(setup: &Setup) -> Result<Self, LoadError> {
        let Some(book) = Book::new((setup.scheme)()) else { return Err(LoadError::NoQueues) };
        let mac = |host| (macs::of_host(&setup.network.node(host).name), host);
        let host_macs = setup.network.hosts().map(mac).collect();
        Ok(Self {
            network: setup.network.clone(),
            model: setup.model,
            southbound: setup.southbound,
            timing: setup.timing,
            book,
            counters: Counters::default(),
            tenants: BTreeMap::new(),
            tokens: BTreeMap::new(),
            vms: BTreeMap::new(),
            macs: BTreeMap::new(),
            host_macs,
            grants: BTreeMap::new(),
            by_id: BTreeMap::new(),
            leavings: Leavings::default(),
            waiters: HashMap::new(),
            down: BTreeMap::new(),
            nodes: BTreeMap::new(),
            decisions: Decisions::default(),
            memory: BTreeMap::new(),
            remembered: BTreeMap::new(),
            timers: Timers::default(),
            now: Now { steady: Time::ZERO, wall: WallTime::from_nanos(0) },
            dirty: BTreeSet::new(),
            events: Vec::new(),
        })
    }

    /// Does what is asked, or says why not and changes nothing.
    ///
    /// # Errors
    /// Why not.
    pub fn handle(&mut self, now: Now, command: Command) -> Result<Reply, Fault> {
        self.tick(now);
        match command {
            Command::PutTenant { name, quota, check } => self.put_tenant(name, quota, check),
            Command::DeleteTenant { name, check } => self.delete_tenant(&name, check),
            Command::PutToken { id, hash, role, label } => self.put_token(id, hash, role, label),
            Command::DeleteToken { id } => Ok(self.delete_token(&id)),
            Command::PutVm { id, wish, mac, check } => self.put_vm(id, &wish, mac, check),
            Command::DeleteVm { id, check } => self.delete_vm(&id, check),
            Command::Apply { orders, mode, standing } => Ok(Reply::Each(self.apply(orders, mode, standing))),
            Command::Delete { ids } => Ok(Reply::Each(self.delete(ids))),
            Command::Forget { id } => self.forget(&id),
            Command::SetElement { element, down } => self.set_element(element, down),
            Command::Begin { node, after, installed } => self.begin(&node, after, &installed),
            Command::Confirm { node, epoch, done } => self.confirm(&node, epoch, &done),
            Command::Measure { node, epoch, measured } => self.measure(&node, epoch, &measured),
            Command::See { node, epoch, without_carrier } => self.see(&node, epoch, without_carrier),
        }
    }

    /// Does what is due by now.
    pub fn tick(&mut self, now: Now) {
        // A clock that is steady does not go back; if a driver says so all the same, nothing ends early.
        self.now = Now { steady: self.now.steady.max(now.steady), wall: now.wall };
        while let Some(due) = self.timers.pop(self.now.steady) {
            match due {
                Due::Empty(leaving) => self.emptied(leaving),
                Due::Confirmed(serial, version) => self.overdue(serial, version),
                Due::Retry => self.retry(),
                Due::Healed(serial) => self.healed(serial),
            }
        }
        while let Some(serial) = self.timers.pop_wall(self.now.wall) {
            self.started_or_ended(serial);
        }
    }

    /// When [`Controller::tick`] has something to do, by each of the clocks.
    pub fn due(&self) -> (Option<Time>, Option<WallTime>) {
        self.timers.next()
    }

    /// What is to be put on disk and told since the last time.
    pub fn take_output(&mut self) -> Output {
        let changes = std::mem::take(&mut self.dirty).into_iter().map(|dirty| change(self, &dirty)).collect();
        Output { changes, events: std::mem::take(&mut self.events) }
    }

    pub(crate) fn mark(&mut self, dirty: Dirty) {
        self.dirty.insert(dirty);
    }

    pub(crate) fn next_revision(&mut self) -> u64 {
        self.counters.revision += 1;
        self.mark(Dirty::Counters);
        self.counters.revision
    }

    pub(crate) fn event(
        &mut self,
        kind: EventKind,
        object: &str,
        tenant: Option<String>,
        revision: u64,
        detail: String,
    ) {
        self.counters.event += 1;
        self.mark(Dirty::Counters);
        let (number, at, object) = (self.counters.event, self.now.wall, object.to_owned());
        self.events.push(Event { number, at, kind, object, tenant, revision, detail });
    }

    /// The network.
    pub fn network(&self) -> &Arc<Network> {
        &self.network
    }

    /// How bytes and delays are counted.
    pub fn model(&self) -> &Model {
        &self.model
    }

    /// What is reserved.
    pub fn ledger(&self) -> &Ledger {
        self.book.ledger()
    }

    /// The scheme that decides.
    pub fn scheme(&self) -> &Scheme {
        &self.book.scheme
    }

    /// The same, for questions that use its memory and leave everything as it is (`refine::nearest`, `survey::paths`).
    pub fn scheme_for_questions(&mut self) -> &mut Scheme {
        &mut self.book.scheme
    }

    /// How often a controller was loaded from these records.
    pub fn generation(&self) -> u64 {
        self.counters.generation
    }

    /// The number of the last event.
    pub fn last_event(&self) -> u64 {
        self.counters.event
    }

    /// The revision of the last change.
    pub fn revision(&self) -> u64 {
        self.counters.revision
    }

    /// The contract of this name; the last that had it, while what it had is held.
    pub fn grant(&self, id: &Id) -> Option<&Grant> {
        self.grants.get(self.by_id.get(id)?)
    }

    /// The contract of this serial number.
    pub fn grant_of(&self, serial: u64) -> Option<&Grant> {
        self.grants.get(&serial)
    }

    /// All contracts, by name; those that are being released, while nobody else has the name.
    pub fn grants(&self) -> impl Iterator<Item = &Grant> {
        self.by_id.values().filter_map(|serial| self.grants.get(serial))
    }

    /// The routes that a contract has reserved, each with its flow; the longest first.
    pub fn routes(&self, grant: &Grant) -> Vec<(FlowId, Route)> {
        let held = || self.leavings.of(grant.serial).filter_map(|(_, leaving)| leaving.held).last();
        let Some(flow) = grant.flow.or_else(held) else { return Vec::new() };
        let placement = self.book.placement();
        let route = |flow| Some((flow, placement.ledger().flow(flow)?.route.clone()));
        placement.routes_of(flow).into_iter().filter_map(route).collect()
    }

    /// The contract that a flow belongs to.
    pub fn owner(&self, flow: FlowId) -> Option<&Grant> {
        self.grants.get(&self.book.owner(flow))
    }

    /// A decision, if it is remembered.
    pub fn decision(&self, number: u64) -> Option<&DecisionRecord> {
        self.decisions.find(number)
    }

    /// The decisions that are remembered, the latest last.
    pub fn decisions(&self) -> impl DoubleEndedIterator<Item = &DecisionRecord> {
        self.decisions.iter()
    }

    /// What is down, and why.
    pub fn down(&self) -> impl Iterator<Item = (&ElementName, &str)> {
        self.down.iter().map(|(element, down)| (element, down.why()))
    }

    /// The node of this name.
    ///
    /// # Errors
    /// If there is none.
    pub fn node(&self, name: &str) -> Result<NodeId, Fault> {
        self.network.find_node(name).ok_or_else(|| Fault::NotFound { what: "node", name: name.to_owned() })
    }
}
