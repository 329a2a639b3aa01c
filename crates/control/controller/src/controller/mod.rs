//! The controller: dispatch of commands to the component that owns their object, and queries.
//!
//! | owner | state |
//! |---|---|
//! | [`Controller`] | VMs, tokens, elements that are down, remembered answers |
//! | `Admission` | tenants and their usage, decisions |
//! | `Enforcement` | the scheme with its reservations, contracts, pending releases, sessions of nodes, timers |
//! | `Journal` | changes since the last output, and the numbers that never decrease |

mod apply;
mod changed;
pub(crate) mod copy;
mod delete;
mod elements;
pub(crate) mod follow;
mod load;
mod records;
mod vms;
mod what_if;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use wayleave_ledger::{Ledger, Model, ReservedShare};
use wayleave_protocol::agent::Operation;
use wayleave_protocol::{DEFAULT_TENANT, Id};
use wayleave_scheme_api::ShareDecision;
use wayleave_schemes::registry::Scheme;
use wayleave_topology::{FlowId, Network, NodeId, Route, ShareId};
use wayleave_units::{Time, WallTime};

use crate::admission::Admission;
use crate::answers::{AnswersFull, CachedReply, NewAnswer, ReplyCache};
use crate::clock::{Timestamps, Uptime};
use crate::command::{Command, CommandError, ElementName, Outcome, Precondition, Principal, Reply};
use crate::contracts::Contracts;
use crate::decision::DecisionRecord;
use crate::elements::{Down, Elements};
use crate::enforcement::Enforcement;
use crate::grant::AdmittedContract;
use crate::journal::Journal;
use crate::macs::VmSecret;
use crate::nodes::NodeState;
use crate::output::{CommandOutput, RecordKind};
use crate::policies::PolicyState;
use crate::tenants::TenantState;
use crate::timers::TimerEvent;
use crate::tokens::{Token, Tokens};
use crate::vms::{VmState, Vms};

/// The controller; [`Controller::load`] makes one.
pub struct Controller {
    network: Arc<Network>,
    tokens: Tokens,
    vms: Vms,
    elements: Elements,
    answers: ReplyCache,
    admission: Admission,
    /// Contracts, by serial number, whose records are of formats before 5, until they are written again.
    old_records: BTreeMap<u64, RecordKind>,
}

impl Controller {
    /// Executes a command, or returns the reason for its failure and changes nothing.
    ///
    /// # Errors
    /// The reason.
    pub fn handle(&mut self, now: Timestamps, command: Command) -> Result<Reply, CommandError> {
        self.tick(now);
        self.execute(command)
    }

    fn execute(&mut self, command: Command) -> Result<Reply, CommandError> {
        match command {
            Command::PutTenant { name, quota, check } => {
                let (tenants, journal) = self.admission.tenants_mut();
                tenants.put(journal, name, quota, check)
            }
            Command::DeleteTenant { name, check } => self.delete_tenant(&name, check),
            Command::PutToken { id, hash, role, label, expires, certificate } => {
                self.put_token(Token { id, hash, role, label, expires, certificate, is_revoked: false, revision: 0 })
            }
            Command::DeleteToken { id } => {
                let journal = self.admission.enforcement_mut().journal_mut();
                Ok(self.tokens.delete(journal, &id))
            }
            Command::PutPolicy { policy, check } => self.admission.put_policy(*policy, check),
            Command::DeletePolicy { name, check } => self.admission.delete_policy(&name, check),
            Command::PutVm { id, placement, mac, check } => self.put_vm(id, &placement, mac, check),
            Command::DeleteVm { id, check } => self.delete_vm(&id, check),
            Command::Apply { orders, mode, effect } => Ok(Reply::Each(self.apply(orders, mode, effect))),
            Command::Delete { ids } => Ok(Reply::Each(self.delete(ids))),
            Command::Forget { id } => self.forget(&id),
            Command::SetElement { element, down } => self.set_element(element, down),
            Command::Begin { node, after, installed } => self.enforcement_mut().begin(&node, after, &installed),
            Command::Confirm { node, epoch, done } => self.enforcement_mut().confirm(&node, epoch, &done),
            Command::Measure { node, epoch, measured } => self.enforcement_mut().measure(&node, epoch, &measured),
            Command::Leave { node, epoch } => self.enforcement_mut().take_leave(&node, epoch),
            Command::Heartbeat { node, epoch, repairs } => self.enforcement_mut().on_heartbeat(&node, epoch, &repairs),
            Command::ReportRules { node, epoch, in_force, enforces, problems } => {
                self.enforcement_mut().report_rules(&node, epoch, in_force, &enforces, problems)
            }
            Command::See { node, epoch, without_carrier } => self.see(&node, epoch, without_carrier),
        }
    }

    /// Does what is due by now.
    pub fn tick(&mut self, now: Timestamps) {
        self.journal_mut().set_now(now);
        while let Some(due) = self.enforcement_mut().pop_due() {
            match due {
                TimerEvent::Empty(release) => self.enforcement_mut().emptied(release),
                TimerEvent::Confirmed(serial, version) => self.enforcement_mut().overdue(serial, version),
                TimerEvent::Retry => self.admission.retry(),
                TimerEvent::Healed(serial) => self.enforcement_mut().healed(serial),
                TimerEvent::ShareEmpty => self.admission.free_left_shares(now.steady),
                TimerEvent::Heartbeat(node) => self.enforcement_mut().mark_silent(node),
                TimerEvent::Reported(node, epoch) => self.enforcement_mut().not_reported(node, epoch),
            }
        }
        while let Some(serial) = self.enforcement_mut().pop_start_or_end() {
            self.admission.start_or_end(serial);
        }
    }

    /// Returns the next time at which [`Controller::tick`] has work to do, by each of the clocks.
    pub fn due(&self) -> (Option<Time>, Option<WallTime>) {
        self.enforcement().next_due()
    }

    /// Sets the uptime of this controller's machine, directly after loading: a restart is no jump of the clock.
    pub fn set_uptime(&mut self, now: Timestamps, uptime: Uptime) {
        self.journal_mut().set_uptime(now, uptime);
    }

    /// Returns `true` if addresses of new VMs depend on a secret, so that they cannot be computed from names.
    pub fn has_vm_secret(&self) -> bool {
        self.journal().counters().vm_secret.is_some()
    }

    /// Keeps random bytes as the secret for addresses of VMs, unless there is one. VMs keep the addresses that they have.
    pub fn set_vm_secret(&mut self, random: [u8; 16]) {
        self.journal_mut().set_vm_secret(VmSecret::new(random));
    }

    /// It ends soon: the next start is to know how late it was.
    pub fn keep_time(&mut self, now: Timestamps) {
        self.journal_mut().set_now(now);
        self.journal_mut().keep_time();
    }

    /// Returns the lead of the clock over the calendar by which contracts start and end, while it is distrusted.
    pub fn clock_ahead(&self) -> Option<Time> {
        self.journal().calendar().ahead()
    }

    /// Returns the records to write and the events to publish since the last call.
    pub fn take_output(&mut self) -> CommandOutput {
        let dirty = self.journal_mut().take_dirty();
        let changes = dirty.iter().flat_map(|dirty| self.changes(dirty)).collect();
        CommandOutput { changes, events: self.journal_mut().take_events() }
    }

    fn enforcement(&self) -> &Enforcement {
        self.admission.enforcement()
    }

    fn enforcement_mut(&mut self) -> &mut Enforcement {
        self.admission.enforcement_mut()
    }

    fn contracts(&self) -> &Contracts {
        self.enforcement().contracts()
    }

    fn journal(&self) -> &Journal {
        self.enforcement().journal()
    }

    fn journal_mut(&mut self) -> &mut Journal {
        self.enforcement_mut().journal_mut()
    }

    fn delete_tenant(&mut self, name: &str, check: Precondition) -> Result<Reply, CommandError> {
        let known = self.admission.tenants().get(name);
        check.hold(known.map(|tenant| tenant.revision))?;
        if known.is_none() {
            return Ok(Reply::Done { outcome: Outcome::Absent, revision: self.journal().revision() });
        }
        if name == DEFAULT_TENANT {
            return Err(CommandError::Forbidden { message: format!("tenant {DEFAULT_TENANT} is built in") });
        }
        let what = || format!("tenant {name}");
        let of_tenant = |grant: &&AdmittedContract| grant.id.tenant == name;
        let contracts = || self.contracts().iter().filter(of_tenant);
        // A contract that a client has to delete comes before those that only need time.
        if let Some(grant) = contracts().find(|grant| !grant.is_ended()).or_else(|| contracts().next()) {
            return Err(CommandError::in_use(what(), grant));
        }
        if let Some((id, _)) = self.vms.iter().find(|(id, _)| id.tenant == name) {
            return Err(CommandError::InUse { what: what(), by: format!("VM {id}") });
        }
        let (tenants, journal) = self.admission.tenants_mut();
        self.tokens.delete_of_tenant(journal, name);
        Ok(tenants.remove(journal, name))
    }

    fn put_token(&mut self, token: Token) -> Result<Reply, CommandError> {
        match &token.role {
            Principal::Tenant { tenant } | Principal::Reader { tenant: Some(tenant) } => drop(self.tenant(tenant)?),
            Principal::Agent { node } => drop(self.node(node)?),
            Principal::Operator | Principal::Reader { tenant: None } => {}
        }
        let journal = self.admission.enforcement_mut().journal_mut();
        self.tokens.put(journal, token)
    }

    /// Remembers an answer; called before [`Controller::take_output`] gives away what it answers.
    pub fn remember(&mut self, now: WallTime, key: &str, answer: NewAnswer<'_>) {
        let journal = self.admission.enforcement_mut().journal_mut();
        self.answers.remember(journal, now, key, answer);
    }

    /// Returns `Ok` if another answer can be remembered for an account whose answers may take `most` bytes. Called
    /// before a command is executed.
    ///
    /// # Errors
    /// The present size of the account's answers, and the time at which the oldest expires.
    pub fn check_answers(&mut self, now: WallTime, account: &str, most: u64) -> Result<(), AnswersFull> {
        let journal = self.admission.enforcement_mut().journal_mut();
        self.answers.check(journal, now, account, most)
    }

    /// Returns the size of the remembered answers, in bytes.
    pub fn answer_bytes(&self) -> u64 {
        self.answers.bytes()
    }

    /// The answer that was given to a key.
    pub fn recall(&self, key: &str) -> Option<&CachedReply> {
        self.answers.get(key)
    }

    /// The network.
    pub fn network(&self) -> &Arc<Network> {
        &self.network
    }

    /// Returns the model by which bytes and delays are counted.
    pub fn model(&self) -> &Model {
        self.admission.model()
    }

    /// Returns the ledger of reservations.
    pub fn ledger(&self) -> &Ledger {
        self.enforcement().ledger()
    }

    /// The scheme that decides.
    pub fn scheme(&self) -> &Scheme {
        self.enforcement().scheme_ledger().scheme()
    }

    /// Returns the scheme for questions that use its memory and leave its state unchanged (`refine::nearest`,
    /// `survey::paths`).
    pub fn scheme_for_questions(&mut self) -> &mut Scheme {
        self.enforcement_mut().scheme_ledger_mut().scheme_mut()
    }

    /// Returns the number of times that a controller was loaded from these records.
    pub fn generation(&self) -> u64 {
        self.journal().counters().generation
    }

    /// The number of the last event.
    pub fn last_event(&self) -> u64 {
        self.journal().counters().event
    }

    /// The revision of the last change.
    pub fn revision(&self) -> u64 {
        self.journal().revision()
    }

    /// The contract of this name; the last that had it, while its reservation is held.
    pub fn grant(&self, id: &Id) -> Option<&AdmittedContract> {
        self.contracts().named(id)
    }

    /// The contract of this serial number, to be kept as it is now.
    pub fn grant_of(&self, serial: u64) -> Option<&Arc<AdmittedContract>> {
        self.contracts().get_shared(serial)
    }

    /// Returns the lowest bound by which late packets of a latency contract may have been measured.
    pub fn lowest_bound(&self, serial: u64) -> Option<Time> {
        let latency = self.contracts().get(serial)?.latency()?;
        let left = self.enforcement().releases().of(serial).map(|(_, release)| release.drain);
        left.chain(latency.lowest_bound).chain([latency.bound]).min()
    }

    /// Returns the bound of a latency contract, unless it has changed since this controller was loaded.
    pub fn only_bound(&self, serial: u64) -> Option<Time> {
        let latency = self.contracts().get(serial)?.latency()?;
        let has_changed = latency.lowest_bound.is_some() || self.enforcement().releases().of(serial).next().is_some();
        (!has_changed).then_some(latency.bound)
    }

    /// All contracts, by name; those that are being released, while no other contract has the name.
    pub fn grants(&self) -> impl Iterator<Item = &AdmittedContract> {
        self.contracts().iter_named()
    }

    /// Shares of contracts that have ended, with the times by the steady clock until which they are held.
    pub fn left_shares(&self) -> impl Iterator<Item = (ShareId, Time)> + '_ {
        self.enforcement().scheme_ledger().left_shares()
    }

    /// The contract that a share belongs to.
    pub fn owner_of_share(&self, share: ShareId) -> Option<&AdmittedContract> {
        self.contracts().get(self.enforcement().scheme_ledger().owner_of_share(share))
    }

    /// Returns the share that a contract holds of the classes below the latency queues; `None` for best effort, and
    /// if it has no placement now.
    pub fn share_of(&self, grant: &AdmittedContract) -> Option<&ReservedShare> {
        self.ledger().share(grant.share()?)
    }

    /// Returns `true` if hosts have agents that carry out operations.
    pub fn has_agents(&self) -> bool {
        self.enforcement().confirms()
    }

    /// Returns the switches whose queues a contract uses, if switches have agents.
    pub fn switches_of(&self, grant: &AdmittedContract) -> BTreeSet<NodeId> {
        self.enforcement().switches_of(grant)
    }

    /// Returns the promise of such a contract, as a decision that is made now; `None` for best effort, and if it has
    /// no placement now.
    pub fn promise_of(&self, grant: &AdmittedContract) -> Option<ShareDecision> {
        let route = |share: &ReservedShare| {
            if let ReservedShare::Pair { route, .. } = share { Some(route.clone()) } else { None }
        };
        let (share, certainty) = grant.share().zip(grant.certainty())?;
        let route = self.share_of(grant).and_then(route);
        Some(ShareDecision { share, route, certainty, within: grant.within() })
    }

    /// Returns the serial number and the revision of the contract, of any kind, that has a name now.
    pub fn version_of(&self, id: &Id) -> Option<(u64, u64)> {
        self.admission.version_of(id)
    }

    /// The routes that a contract has reserved, each with its flow; the longest first.
    pub fn routes(&self, grant: &AdmittedContract) -> Vec<(FlowId, Route)> {
        self.enforcement().routes(grant)
    }

    /// The contract that a flow belongs to.
    pub fn owner(&self, flow: FlowId) -> Option<&AdmittedContract> {
        self.contracts().get(self.enforcement().scheme_ledger().owner(flow))
    }

    /// Returns the pending operations of a node, in the order of versions.
    pub fn outbox(&self, name: &str) -> Vec<Operation> {
        self.enforcement().outbox(name)
    }

    /// A decision of a tenant, if it is remembered.
    pub fn decision(&self, tenant: &str, number: u64) -> Option<&DecisionRecord> {
        self.admission.decisions().find(tenant, number)
    }

    /// The decisions that are remembered, the latest last.
    pub fn decisions(&self) -> impl DoubleEndedIterator<Item = &DecisionRecord> {
        self.admission.decisions().iter()
    }

    /// Returns the elements that are down, with the reasons.
    pub fn down(&self) -> impl Iterator<Item = (&ElementName, &Down)> {
        self.elements.iter()
    }

    /// The node of this name.
    ///
    /// # Errors
    /// If there is none.
    pub fn node(&self, name: &str) -> Result<NodeId, CommandError> {
        self.network.find_node(name).ok_or_else(|| CommandError::NotFound { what: "node", name: name.to_owned() })
    }

    /// Returns the known state of a node's agent.
    pub fn node_state(&self, node: NodeId) -> Option<&NodeState> {
        self.enforcement().nodes().get(node)
    }

    /// All tenants, by name.
    pub fn tenants(&self) -> impl Iterator<Item = (&str, &TenantState)> {
        self.admission.tenants().iter()
    }

    /// A tenant.
    ///
    /// # Errors
    /// If there is none of this name.
    pub fn tenant(&self, name: &str) -> Result<&TenantState, CommandError> {
        self.admission.tenants().find(name)
    }

    /// All policies of services, by name.
    pub fn policies(&self) -> impl Iterator<Item = (&str, &PolicyState)> {
        self.admission.policies().iter()
    }

    /// A policy.
    pub fn policy(&self, name: &str) -> Option<&PolicyState> {
        self.admission.policies().get(name)
    }

    /// The policies for which shares are held, in words: `policy racks, policy web`.
    pub fn policies_by_share(&self) -> BTreeMap<ShareId, String> {
        self.admission.policies().by_share(&self.network)
    }

    /// Returns all tokens, by name.
    pub fn tokens(&self) -> impl Iterator<Item = &Token> {
        self.tokens.iter()
    }

    /// Returns `true` if an operator's token with this SHA-256 was deleted.
    pub fn is_revoked(&self, hash: &str) -> bool {
        self.tokens.is_revoked(hash)
    }

    /// All VMs, by their names.
    pub fn vms(&self) -> impl Iterator<Item = (&Id, &VmState)> {
        self.vms.iter()
    }

    /// A VM.
    pub fn vm(&self, id: &Id) -> Option<&VmState> {
        self.vms.get(id)
    }
}
