//! State on disk, ready to be read: readers never wait for the engine, and never see a change that is not on disk.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::hash::{BuildHasher, RandomState};
use std::ops::Bound;
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::Instant;

use tokio::sync::{Notify, watch};
use wayleave_controller::{Controller, DEFAULT_TENANT, Down, ElementName, Id, NodeState, Principal};
use wayleave_packet_format::Mac;
use wayleave_protocol::agent::ShareRule;
use wayleave_protocol::network::{self, ObservedState};
use wayleave_topology::{LinkId, Network, NodeId};
use wayleave_units::WallTime;

use crate::caveat::{Caveats, ExcessContracts};
use crate::counts::Counts;
use crate::links::LinkFigures;
use crate::log::{Entry, Log, LogTopic};
use crate::past::KnownSince;
use crate::read_guard::{ReadGuard, check_order};
use crate::rendered::{ContractObject, Object};

/// End of the reason of an element that was reported down by agents that no longer report.
const OUTDATED: &str = " when last reported; no connected agent reports it now";

/// The same at a controller to which agents do not report.
const ELSEWHERE: &str = " when last reported; agents report to the leader";

/// A VM as it is answered.
#[derive(Clone, Debug)]
pub(crate) struct VmObject {
    pub(crate) object: Object,
    pub(crate) host: NodeId,
    pub(crate) mac: Mac,
}

/// A tenant as it is answered.
#[derive(Clone, Debug)]
pub(crate) struct TenantObject {
    pub(crate) object: Object,
    /// Contracts up to this serial number are of an earlier tenant with its name.
    pub(crate) created_after: u64,
}

/// A client that may ask.
#[derive(Debug)]
pub(crate) struct Holder {
    pub(crate) id: String,
    /// SHA-256 of the secret.
    pub(crate) hash: [u8; 32],
    pub(crate) role: Principal,
    /// Time at which it expires.
    pub(crate) expires: Option<WallTime>,
    /// Reason that no client can use it.
    pub(crate) warning: Option<String>,
    pub(crate) bucket: Mutex<Bucket>,
}

impl Holder {
    /// A client that has no token and needs none.
    pub(crate) fn insider(role: Principal) -> Self {
        let bucket = Mutex::new(Bucket { level: 0.0, at: None });
        Self { id: "insider".to_owned(), hash: [0; 32], role, expires: None, warning: None, bucket }
    }

    /// Returns `true` if it has no token: no hash equals this one.
    pub(crate) fn is_insider(&self) -> bool {
        self.hash == [0; 32]
    }
}

/// The requests that a holder has left.
#[derive(Debug)]
pub(crate) struct Bucket {
    pub(crate) level: f64,
    pub(crate) at: Option<Instant>,
}

/// State of the engine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Health {
    /// It reads the ledger.
    Starting,
    /// It can.
    Ready,
    /// Another one writes, at this address if there is one; what it has written can be read.
    Following(Option<String>),
    /// The writer is unknown, for this reason; earlier records can be read.
    Apart(String),
    /// Its configuration differs from that of its cluster, so it may not judge the records of the others: difference
    /// and remedy.
    Barred(String),
    /// It cannot write, for this reason; it retries.
    Broken(String),
    /// It ends.
    Ending,
}

/// Everything that can be read.
pub(crate) struct Tables {
    pub(crate) health: Health,
    /// Rules of contracts of other kinds than latency for the agents of hosts, by host and by number.
    pub(crate) shares_on: HashMap<String, BTreeMap<u64, Arc<ShareRule>>>,
    /// By tenant and name in one text ([`key`]), which needs fewer memory accesses than two texts.
    contracts: BTreeMap<Box<str>, Arc<ContractObject>>,
    pub(crate) vms: BTreeMap<Id, VmObject>,
    pub(crate) vms_on: HashMap<NodeId, BTreeSet<Id>>,
    pub(crate) tenants: BTreeMap<String, TenantObject>,
    pub(crate) policies: BTreeMap<String, Object>,
    pub(crate) tokens: BTreeMap<String, (Object, Arc<Holder>)>,
    pub(crate) holders: HashMap<[u8; 32], Arc<Holder>>,
    pub(crate) nodes: BTreeMap<NodeId, NodeState>,
    caveats: Caveats,
    pub(crate) down: BTreeMap<ElementName, Down>,
    /// By number of the link; none until the engine has computed them.
    links: Vec<Option<LinkFigures>>,
    pub(crate) counts: BTreeMap<String, Counts>,
    pub(crate) events: Log,
    pub(crate) decisions: Log,
    pub(crate) audit: Log,
    pub(crate) undo: Log,
    /// Undo records are kept from here on.
    pub(crate) undo_since: KnownSince,
    /// Number of records on disk, without histories, tokens and answers.
    pub(crate) records: u64,
    pub(crate) sequence: u64,
    pub(crate) revision: u64,
    pub(crate) generation: u64,
    /// Number of changes that agents have to know: of the hosts of VMs, and of elements that are down.
    pub(crate) around: u64,
    /// Random first tag of these changes: a ledger that was replaced by a backup counts its starts and changes again.
    pub(crate) first_tag: u64,
}

/// A change of the readers' state.
pub(crate) enum Edit {
    Contract(Arc<Id>, Option<Arc<ContractObject>>),
    Vm(Id, Option<VmObject>),
    Tenant(String, Option<TenantObject>),
    Policy(String, Option<Object>),
    Token(String, Option<(Object, Arc<Holder>)>),
    /// A node of this name.
    Node(NodeId, String, NodeState),
    Down(BTreeMap<ElementName, Down>),
    /// Number of records on disk.
    Records(u64),
    Link(LinkId, LinkFigures),
    Entry(LogTopic, Arc<Entry>),
    /// An entry is kept no longer, by its number among all.
    Forget(LogTopic, u64),
    /// Numbers of events, entries of the audit and undo records of a tenant.
    Counted(String, [u64; 3]),
    /// A tenant was deleted: later tenants of this name do not see its entries.
    EndTenant(String),
    /// Undo records are kept from here on.
    UndoSince(KnownSince),
    /// Events up to this number are not kept.
    Lost(u64),
    /// Its agent may have something to do.
    Wake(NodeId),
}

/// State for readers, and notifiers for its changes.
pub(crate) struct View {
    tables: RwLock<Tables>,
    /// The number of the last event.
    pub(crate) reports: watch::Sender<u64>,
    agents: Mutex<HashMap<NodeId, Arc<Notify>>>,
}

impl Tables {
    /// Returns `true` if the agent of a node is connected and reports the carriers of its links.
    pub(crate) fn observes(&self, node: NodeId) -> bool {
        !self.is_follower() && self.nodes.get(&node).is_some_and(NodeState::observes_links)
    }

    /// Returns `true` if any connected agent does.
    pub(crate) fn observes_links(&self) -> bool {
        !self.is_follower() && self.nodes.values().any(NodeState::observes_links)
    }

    /// Returns the reason that an element was reported down, and `true` if an operator or a connected agent
    /// reports it now; `None` if it was not.
    pub(crate) fn reported_down(&self, network: &Network, element: &ElementName) -> Option<(String, bool)> {
        let down = self.down.get(element)?;
        let observes = |name: &str| network.find_node(name).is_some_and(|node| self.observes(node));
        let is_observed = down.observers().is_none_or(|nodes| nodes.iter().any(|name| observes(name)));
        if let Some(why) = down.why_in_part(observes) {
            return Some((why, is_observed));
        }
        let outdated = match is_observed {
            true => "",
            false if self.is_follower() => ELSEWHERE,
            false => OUTDATED,
        };
        Some((format!("{}{outdated}", down.why()), is_observed))
    }

    /// Returns all elements that were reported down, with the reasons.
    pub(crate) fn all_reported_down<'a>(&'a self, network: &'a Network) -> impl Iterator<Item = network::Down> + 'a {
        self.down.keys().filter_map(move |element| {
            let (reason, is_observed) = self.reported_down(network, element)?;
            let state = if is_observed { ObservedState::Down } else { ObservedState::Unknown };
            Some(network::Down { element: element.to_string(), state, reason })
        })
    }

    /// Returns the elements that an operator or a connected agent reports down now.
    pub(crate) fn down_now<'a>(&'a self, network: &'a Network) -> impl Iterator<Item = &'a ElementName> + 'a {
        self.down
            .keys()
            .filter(|element| self.reported_down(network, element).is_some_and(|(_, is_observed)| is_observed))
    }

    fn empty() -> Self {
        Self {
            health: Health::Starting,
            contracts: BTreeMap::new(),
            shares_on: HashMap::new(),
            vms: BTreeMap::new(),
            vms_on: HashMap::new(),
            tenants: BTreeMap::new(),
            policies: BTreeMap::new(),
            tokens: BTreeMap::new(),
            holders: HashMap::new(),
            nodes: BTreeMap::new(),
            caveats: Caveats::default(),
            down: BTreeMap::new(),
            links: Vec::new(),
            counts: BTreeMap::new(),
            events: Log::default(),
            decisions: Log::default(),
            audit: Log::default(),
            undo: Log::default(),
            undo_since: KnownSince::default(),
            records: 0,
            sequence: 0,
            revision: 0,
            generation: 0,
            around: 0,
            first_tag: RandomState::new().hash_one(()),
        }
    }

    /// Returns the figures of a link; `None` while they are unknown.
    pub(crate) fn figures(&self, link: LinkId) -> Option<&LinkFigures> {
        self.links.get(link.index())?.as_ref()
    }

    /// The counts of a tenant, or of all together.
    pub(crate) fn counts_of(&self, only: Option<&str>) -> Counts {
        let mut counts = Counts::default();
        let is_shown = |tenant: &str| only.is_none_or(|only| only == tenant);
        self.counts.iter().filter(|(tenant, _)| is_shown(tenant)).for_each(|(_, count)| counts.add(count));
        counts
    }

    /// The contracts of a tenant, or all, from behind this one on.
    pub(crate) fn contracts_of<'a>(
        &'a self,
        tenant: Option<&'a str>,
        after: Option<&Id>,
    ) -> impl Iterator<Item = (&'a Id, &'a Arc<ContractObject>)> {
        // Zero sorts before every character of a name, so the order is that of names.
        let first = tenant.map_or_else(String::new, |tenant| format!("{tenant}\0"));
        let start = match after.map(key).filter(|after| *after >= first) {
            Some(after) => Bound::Excluded(after),
            None => Bound::Included(first),
        };
        let items = self.contracts.range::<str, _>((start.as_ref().map(String::as_str), Bound::Unbounded));
        let items = items.map(|(_, contract)| (&**contract.id(), contract));
        items.take_while(move |(id, _)| tenant.is_none_or(|tenant| id.tenant == tenant))
    }

    /// The contract with this number.
    pub(crate) fn contract_with(&self, serial: u64) -> Option<&Arc<ContractObject>> {
        self.contracts.values().find(|contract| contract.grant().serial == serial)
    }

    /// The contract of this name.
    pub(crate) fn contract(&self, id: &Id) -> Option<&Arc<ContractObject>> {
        self.contracts.get(&*key(id))
    }

    /// Returns a contract as readers see it, if this is its last record.
    pub(crate) fn as_shown(&self, recorded: Arc<ContractObject>) -> Arc<ContractObject> {
        let shown = self.contract(recorded.id()).filter(|shown| std::ptr::eq(shown.recorded(), &*recorded));
        shown.cloned().unwrap_or(recorded)
    }

    /// Returns a contract as a controller has it now, with the caveats of readers.
    pub(crate) fn contract_of(&self, controller: &Controller, serial: u64) -> Option<Arc<ContractObject>> {
        Some(Arc::new(ContractObject::of(controller, serial)?).shown(&self.caveats))
    }

    /// The VMs of a tenant, or all, from behind this one on.
    pub(crate) fn vms_of<'a>(
        &'a self,
        tenant: Option<&'a str>,
        after: Option<&Id>,
    ) -> impl Iterator<Item = (&'a Id, &'a VmObject)> {
        range(&self.vms, tenant, after)
    }

    /// Contracts of a node have a caveat until its agent has opened a session of this controller, and until it has
    /// reported its rules in a new session. Agents have no sessions with a follower.
    fn put_node(&mut self, node: NodeId, name: &str, state: NodeState) {
        if self.health == Health::Ready && !self.nodes.contains_key(&node) {
            self.caveats.on_start(node, &state);
        }
        let (confirmed, has_rules_changed) = self.caveats.on_node(node, &state);
        self.nodes.insert(node, state);
        self.show_again(confirmed);
        if has_rules_changed {
            let rules = self.shares_on.get(name).into_iter().flat_map(BTreeMap::values);
            let ids: Vec<Id> = rules.filter_map(|rule| Id::parse(&rule.id, DEFAULT_TENANT).ok()).collect();
            self.show_again(ids.into_iter().map(Arc::new).collect());
        }
    }

    /// Shows contracts by present evidence.
    fn show_again(&mut self, ids: Vec<Arc<Id>>) {
        for id in ids {
            if let Some(contract) = self.contract(&id).cloned() {
                self.put_contract(contract.id().clone(), Some(contract));
            }
        }
    }

    /// Returns `true` if agents report to another controller, or may do: records alone are known.
    pub(crate) fn is_follower(&self) -> bool {
        self.caveats.is_follower()
    }

    /// Sets whether agents report to another controller.
    fn set_follower(&mut self, is_follower: bool) {
        if self.caveats.set_follower(is_follower) {
            self.show_again(self.contracts.values().map(|contract| contract.id().clone()).collect());
        }
    }

    fn set_health(&mut self, health: Health) {
        self.set_follower(matches!(health, Health::Following(_) | Health::Apart(_)));
        self.health = health;
    }

    /// Returns the contracts of which counters show more than their rules let through.
    pub(crate) fn excess(&self) -> &ExcessContracts {
        self.caveats.excess()
    }

    fn put_contract(&mut self, id: Arc<Id>, contract: Option<Arc<ContractObject>>) {
        let contract = contract.map(|contract| contract.shown(&self.caveats));
        if let Some((contract, caveat)) = contract.as_ref().and_then(|contract| Some((contract, contract.caveat()?))) {
            self.caveats.note(contract.grant(), caveat);
        }
        let counts = self.counts.entry(id.tenant.clone()).or_default();
        if let Some(contract) = &contract {
            counts.count(contract, |count| count + 1);
        }
        let rule = contract.as_ref().and_then(|contract| contract.rule().cloned());
        let old = match contract {
            Some(contract) => self.contracts.insert(key(&id).into(), contract),
            None => self.contracts.remove(&*key(&id)),
        };
        if let Some(old) = &old {
            counts.count(old, |count| count.saturating_sub(1));
        }
        self.put_rule(old.and_then(|old| old.rule().cloned()), rule);
    }

    /// Replaces the rule that the members of a contract receive.
    fn put_rule(&mut self, before: Option<Arc<ShareRule>>, now: Option<Arc<ShareRule>>) {
        if let Some(rule) = before {
            for member in &rule.members {
                if let Some(on) = self.shares_on.get_mut(&member.host) {
                    on.remove(&rule.serial);
                }
            }
        }
        if let Some(rule) = now {
            for member in &rule.members {
                self.shares_on.entry(member.host.clone()).or_default().insert(rule.serial, rule.clone());
            }
        }
    }

    fn put_vm(&mut self, id: Id, vm: Option<VmObject>) {
        let host = vm.as_ref().map(|vm| vm.host);
        let old = match vm {
            Some(vm) => self.vms.insert(id.clone(), vm),
            None => self.vms.remove(&id),
        };
        if let Some(on) = old.and_then(|old| self.vms_on.get_mut(&old.host)) {
            on.remove(&id);
        }
        if let Some(host) = host {
            self.vms_on.entry(host).or_default().insert(id);
        }
    }

    fn put_token(&mut self, id: String, token: Option<(Object, Arc<Holder>)>) {
        if let Some((_, old)) = self.tokens.remove(&id) {
            self.holders.remove(&old.hash);
        }
        if let Some((object, holder)) = token {
            self.holders.insert(holder.hash, holder.clone());
            self.tokens.insert(id, (object, holder));
        }
    }

    fn log(&mut self, topic: LogTopic) -> &mut Log {
        match topic {
            LogTopic::Events => &mut self.events,
            LogTopic::Decisions => &mut self.decisions,
            LogTopic::Audit => &mut self.audit,
            LogTopic::Undo => &mut self.undo,
        }
    }

    fn put(&mut self, edit: Edit) {
        if matches!(edit, Edit::Vm(..) | Edit::Down(_)) {
            self.around += 1;
        }
        match edit {
            Edit::Contract(id, contract) => self.put_contract(id, contract),
            Edit::Vm(id, vm) => self.put_vm(id, vm),
            Edit::Tenant(name, Some(tenant)) => drop(self.tenants.insert(name, tenant)),
            Edit::Tenant(name, None) => {
                self.tenants.remove(&name);
                self.counts.remove(&name);
            }
            Edit::Policy(name, Some(policy)) => drop(self.policies.insert(name, policy)),
            Edit::Policy(name, None) => drop(self.policies.remove(&name)),
            Edit::Token(id, token) => self.put_token(id, token),
            Edit::Node(node, name, state) => self.put_node(node, &name, state),
            Edit::Down(down) => self.down = down,
            Edit::Records(count) => self.records = count,
            Edit::Link(link, figures) => {
                let at = link.0 as usize;
                if self.links.len() <= at {
                    self.links.resize(at + 1, None);
                }
                self.links[at] = Some(figures);
            }
            Edit::Entry(topic, entry) => self.log(topic).put(entry),
            Edit::Forget(topic, number) => self.log(topic).forget(number),
            Edit::Counted(tenant, [events, audit, undo]) => {
                self.events.count(&tenant, events);
                self.audit.count(&tenant, audit);
                self.undo.count(&tenant, undo);
            }
            Edit::EndTenant(tenant) => LogTopic::ALL.into_iter().for_each(|topic| self.log(topic).end_tenant(&tenant)),
            Edit::UndoSince(since) => self.undo_since = since,
            Edit::Lost(number) => self.events.lose(number),
            Edit::Wake(_) => {}
        }
    }
}

/// Returns the sort key of a contract among all.
fn key(id: &Id) -> String {
    [&*id.tenant, &*id.name].join("\0")
}

fn range<'a, T>(
    table: &'a BTreeMap<Id, T>,
    tenant: Option<&'a str>,
    after: Option<&Id>,
) -> impl Iterator<Item = (&'a Id, &'a T)> {
    let first = tenant.map(|tenant| Id::new(tenant, ""));
    let start = match (first, after.cloned()) {
        (Some(first), Some(after)) => Bound::Excluded(first.max(after)),
        (None, Some(after)) => Bound::Excluded(after),
        (Some(first), None) => Bound::Included(first),
        (None, None) => Bound::Unbounded,
    };
    table.range((start, Bound::Unbounded)).take_while(move |(id, _)| tenant.is_none_or(|tenant| id.tenant == tenant))
}

impl View {
    pub(crate) fn new() -> Self {
        let (reports, _) = watch::channel(0);
        Self { tables: RwLock::new(Tables::empty()), reports, agents: Mutex::new(HashMap::new()) }
    }

    pub(crate) fn read(&self) -> ReadGuard<'_, Tables> {
        ReadGuard::new(&self.tables)
    }

    fn write(&self) -> std::sync::RwLockWriteGuard<'_, Tables> {
        check_order();
        self.tables.write().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn set_health(&self, health: Health) {
        self.write().set_health(health);
        self.reports.send_modify(|_| {});
    }

    /// Makes these changes visible at once.
    pub(crate) fn publish(&self, edits: Vec<Edit>, sequence: u64, revision: u64) {
        let mut woken = Vec::new();
        let mut last = None;
        let mut tables = self.write();
        for edit in edits {
            match &edit {
                Edit::Wake(node) => woken.push(*node),
                Edit::Entry(LogTopic::Events, event) => last = Some(event.number),
                _ => {}
            }
            tables.put(edit);
        }
        (tables.sequence, tables.revision) = (sequence, revision);
        drop(tables);
        if let Some(last) = last {
            self.reports.send_replace(last);
        }
        self.wake(&woken);
    }

    /// Makes these changes visible; they do not depend on a later commit.
    pub(crate) fn edit(&self, edits: Vec<Edit>) {
        let (sequence, revision) = {
            let tables = self.read();
            (tables.sequence, tables.revision)
        };
        self.publish(edits, sequence, revision);
    }

    /// Replaces the contracts of which counters show more than their rules let through.
    pub(crate) fn set_excess(&self, excess: ExcessContracts) {
        if *self.read().excess() != excess {
            let mut tables = self.write();
            let changed = tables.caveats.set_excess(excess);
            tables.show_again(changed);
        }
    }

    /// Shows contracts of a leader by its lease: without one, agents may report to another controller.
    pub(crate) fn set_lead(&self, is_leader: bool) {
        let is_changed = |tables: &Tables| tables.health == Health::Ready && tables.is_follower() == is_leader;
        if is_changed(&self.read()) {
            let mut tables = self.write();
            // The engine may have changed it since.
            if is_changed(&tables) {
                tables.set_follower(!is_leader);
            }
        }
    }

    /// Makes changes of another controller visible at once.
    pub(crate) fn follow(&self, edits: Vec<Edit>, (sequence, revision, generation): (u64, u64, u64), health: Health) {
        self.publish(edits, sequence, revision);
        let mut tables = self.write();
        tables.generation = generation;
        tables.set_health(health);
    }

    /// Replaces the whole state after the controller was loaded. Watchers that know an earlier event continue if they
    /// missed none.
    pub(crate) fn replace(&self, edits: Vec<Edit>, (sequence, revision, generation): (u64, u64, u64), health: Health) {
        let mut tables = Tables { sequence, revision, generation, ..Tables::empty() };
        tables.set_health(health);
        edits.into_iter().for_each(|edit| tables.put(edit));
        let last = tables.events.newest(None);
        *self.write() = tables;
        self.reports.send_replace(last);
        let all: Vec<NodeId> = self.agents().keys().copied().collect();
        self.wake(&all);
    }

    fn agents(&self) -> std::sync::MutexGuard<'_, HashMap<NodeId, Arc<Notify>>> {
        self.agents.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wake(&self, nodes: &[NodeId]) {
        if !nodes.is_empty() {
            let agents = self.agents();
            nodes.iter().filter_map(|node| agents.get(node)).for_each(|agent| agent.notify_waiters());
        }
    }

    /// Returns the notifier for the agent of a node about possible operations.
    pub(crate) fn notifier(&self, node: NodeId) -> Arc<Notify> {
        self.agents().entry(node).or_default().clone()
    }
}
