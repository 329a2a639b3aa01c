//! Commands to a controller, and its immediate replies.

use std::fmt;

use serde::{Deserialize, Serialize};
use wayleave_contracts::{ContractRequest, NameError, Policy, PolicyShort, Quota};
use wayleave_packet_format::Mac;
use wayleave_protocol::agent::{ContractProblem, Measured};
pub use wayleave_protocol::decision::Outcome;
use wayleave_protocol::{DEFAULT_TENANT, Id};
use wayleave_units::WallTime;

use crate::grant::AdmittedContract;

/// A command. The driver checks the permission of the client; the command names the tenant that owns an object.
#[derive(Clone, Debug)]
pub enum Command {
    /// Creates a tenant, or gives it another quota.
    PutTenant {
        /// Its name.
        name: String,
        /// Maximum use of resources.
        quota: Quota,
        /// Under which condition.
        check: Precondition,
    },
    /// Ends a tenant that has nothing left.
    DeleteTenant {
        /// Its name.
        name: String,
        /// Under which condition.
        check: Precondition,
    },
    /// Lets the holder of a secret act.
    PutToken {
        /// Name of the token; never the secret.
        id: String,
        /// SHA-256 of the secret, or of the text that represents a certificate's name, in hexadecimal digits.
        hash: String,
        /// Principal as which its holder acts.
        role: Principal,
        /// Purpose of the token.
        label: String,
        /// Time at which it expires.
        expires: Option<WallTime>,
        /// The name of the certificate that acts as it in place of a secret; no other token may have it.
        certificate: Option<String>,
    },
    /// Lets it act no longer.
    DeleteToken {
        /// Name of the token.
        id: String,
    },
    /// Keeps a policy of services, or another one in its place.
    PutPolicy {
        /// Content of the policy, with its name.
        policy: Box<Policy>,
        /// Under which condition.
        check: Precondition,
    },
    /// Keeps a policy no longer.
    DeletePolicy {
        /// Its name.
        name: String,
        /// Under which condition.
        check: Precondition,
    },
    /// Creates a VM, or finds it where it is.
    PutVm {
        /// Name of the VM.
        id: Id,
        /// Requested placement.
        placement: VmRequest,
        /// The address of its interface. If absent, its present address, or the one derived from its name.
        mac: Option<Mac>,
        /// Under which condition.
        check: Precondition,
    },
    /// Ends a VM that no contract needs.
    DeleteVm {
        /// Name of the VM.
        id: Id,
        /// Under which condition.
        check: Precondition,
    },
    /// Creates contracts, or gives them other terms.
    Apply {
        /// Each with its condition, in order.
        orders: Vec<(ContractRequest, Precondition)>,
        /// All or none, or each for itself.
        mode: Mode,
        /// Commit, or dry run.
        effect: Effect,
    },
    /// Ends contracts. Ending one that is not there does nothing.
    Delete {
        /// Each with its condition.
        ids: Vec<(Id, Precondition)>,
    },
    /// Ends the hold of a contract that was deleted, although its sender has not confirmed that it stopped. Only a person can
    /// know that it has.
    Forget {
        /// Name of the contract.
        id: Id,
    },
    /// A link or a node is down, or up again.
    SetElement {
        /// The element.
        element: ElementName,
        /// Reason that it is down; `None` if it is up.
        down: Option<String>,
    },
    /// The agent of a node begins a session, and reports its installed rules.
    Begin {
        /// The host or switch.
        node: String,
        /// Latest session of the node known to its agent; 0 if it knows none. If another has begun since, this report
        /// may be outdated, and no session begins.
        after: u64,
        /// Serial and version of every rule.
        installed: Vec<(u64, u64)>,
    },
    /// The agent of a node has carried out operations.
    Confirm {
        /// The host or switch.
        node: String,
        /// Of its session.
        epoch: u64,
        /// Serial and version; for the set-up of a switch, serial 0.
        done: Vec<(u64, u64)>,
    },
    /// Measurements of a host's agent.
    Measure {
        /// The host.
        node: String,
        /// Of its session.
        epoch: u64,
        /// Of each contract that arrives there.
        measured: Vec<Measured>,
    },
    /// Heartbeat of a node's agent. After the first one, further heartbeats are expected.
    Heartbeat {
        /// The host or switch.
        node: String,
        /// Of its session.
        epoch: u64,
        /// Foreign changes on the node that the agent has reverted.
        repairs: Vec<String>,
    },
    /// The agent of a host reports the contracts that it enforces.
    ReportRules {
        /// The host.
        node: String,
        /// Of its session.
        epoch: u64,
        /// Serial and version of every rule in force of a contract of another kind than latency; `None` if the agent
        /// does not report them.
        in_force: Option<Vec<(u64, u64)>>,
        /// Keys that the agent enforces (`wayleave_protocol::agent::KEYS_SINCE_0_2`).
        enforces: Vec<String>,
        /// Contracts that it cannot enforce now; `None` if the agent does not report them.
        problems: Option<Vec<ContractProblem>>,
    },
    /// Everything was removed from a node (`wayleave agent uninstall`). The node has no agent until it begins another
    /// session.
    Leave {
        /// The host or switch.
        node: String,
        /// Of its session.
        epoch: u64,
    },
    /// The agent of a node reports its links without carrier.
    See {
        /// The host or switch.
        node: String,
        /// Of its session.
        epoch: u64,
        /// All of its links that have no carrier, in whichever direction.
        without_carrier: Vec<String>,
    },
}

/// Under which condition something is done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Precondition {
    /// Under any.
    #[default]
    None,
    /// If it is not there yet (`If-None-Match: *`).
    Absent,
    /// If it is there (`If-Match: *`).
    Present,
    /// If nothing has changed it since (`If-Match`).
    Revision(u64),
}

/// Treatment of a list of which one item is refused.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// The others are done.
    #[default]
    Each,
    /// None is.
    AllOrNothing,
}

/// Effect of a decision.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Effect {
    /// It does.
    #[default]
    Commit,
    /// It is taken back: only the answer was wanted.
    DryRun,
}

/// A principal: operator, tenant, agent or reader, as which the holder of a token acts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase", tag = "role")]
pub enum Principal {
    /// Everything.
    Operator,
    /// Everything of one tenant, and nothing of others.
    Tenant {
        /// Name of the tenant.
        tenant: String,
    },
    /// The node that it runs on: its operations, confirmations and reports.
    Agent {
        /// The host or switch.
        node: String,
    },
    /// Reads everything, or the objects of one tenant.
    Reader {
        /// Name of the tenant; `None`: everything.
        tenant: Option<String>,
    },
}

/// Requested placement of a VM.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum VmRequest {
    /// There.
    On(String),
    /// On any host; the number chooses.
    Random(u64),
    /// On the host with the most rate left.
    Fit,
}

/// Something that can be down.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ElementName {
    /// Both directions of a cable, by the name of either.
    Link(String),
    /// A host or a switch, with all its links.
    Node(String),
}

impl fmt::Display for ElementName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Link(name) => write!(f, "link {name}"),
            Self::Node(name) => write!(f, "node {name}"),
        }
    }
}

/// Result of a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reply {
    /// It, with the revision of the object that it left.
    Done {
        /// Outcome for the object.
        outcome: Outcome,
        /// Its revision.
        revision: u64,
    },
    /// Each of a list, in its order.
    Each(Vec<ItemResult>),
    /// A session has begun.
    Begun {
        /// Its number: only its own confirmations count from now on.
        epoch: u64,
    },
    /// Effect of a change of an element's state.
    Changed {
        /// Contracts that have another route now.
        rerouted: Vec<Id>,
        /// Contracts that are kept no longer.
        degraded: Vec<Id>,
        /// Contracts that are kept again.
        restored: Vec<Id>,
    },
}

/// Result for one contract of a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ItemResult {
    /// Name of the contract.
    pub id: Id,
    /// Outcome, or the reason why it was not done; never `Ok(Outcome::Refused)`.
    pub result: Result<Outcome, CommandError>,
    /// The decision that was made for it, if one was.
    pub decision: Option<u64>,
}

/// A VM that cannot move: contracts would have to move with it that have no place there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnmovableVm {
    /// The VM.
    pub vm: Id,
    /// The host on which it was to be.
    pub host: String,
    /// Contracts that were refused there, with the reason.
    pub refused: Vec<(Id, String)>,
    /// Contracts that would have moved with it.
    pub others: Vec<Id>,
}

/// Reason that a command failed. No part of a failed command takes effect.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CommandError {
    /// There is no such thing.
    NotFound {
        /// `tenant`, `vm`, `host`, ...
        what: &'static str,
        /// Its name.
        name: String,
    },
    /// It has another revision than was asked for.
    Precondition {
        /// The revision; `None` if it is not there.
        revision: Option<u64>,
    },
    /// A field does not make sense.
    Invalid {
        /// The field.
        field: &'static str,
        /// Description of the error, and the expected form.
        message: String,
    },
    /// Something else still needs it.
    InUse {
        /// Object that was to be ended.
        what: String,
        /// Object that still needs it.
        by: String,
    },
    /// A deleted contract still needs it, until its sender has stopped and its last packets have left.
    Draining {
        /// Object that was to be ended or moved.
        what: String,
        /// The contract.
        contract: Id,
    },
    /// A VM stays where it is.
    CannotMove(Box<UnmovableVm>),
    /// Something else has it already.
    Taken {
        /// Resource that was requested.
        what: String,
        /// Present owner of the resource.
        of: String,
        /// The field that asks for it.
        field: &'static str,
    },
    /// It is not the tenant's to use.
    Forbidden {
        /// Description of the forbidden use.
        message: String,
    },
    /// A contract was refused; the decision explains the reason.
    Refused {
        /// Tenant of the contract.
        tenant: String,
        /// [`Controller::decision`](crate::Controller::decision) of that tenant.
        decision: u64,
        /// The stable code.
        reason: &'static str,
    },
    /// A policy was refused.
    PolicyRefused(Box<PolicyShort>),
    /// Minima of policies cannot be held: there are no classes of queues, or the scheme is one for latency contracts alone.
    NoClasses,
    /// Another of a list that is done as a whole was refused.
    WithOthers,
    /// An agent speaks for a session that is over.
    StaleEpoch {
        /// The session that counts; `None` if none does.
        current: Option<u64>,
    },
}

impl CommandError {
    pub(crate) fn wrong_name(error: &NameError) -> Self {
        Self::Invalid { field: "name", message: error.to_string() }
    }

    /// Returns the error for an object that a contract needs.
    pub(crate) fn in_use(what: String, grant: &AdmittedContract) -> Self {
        match grant.is_ended() {
            true => Self::Draining { what, contract: Id::clone(&grant.id) },
            false => Self::InUse { what, by: format!("contract {}", grant.id) },
        }
    }
}

impl Precondition {
    /// Returns `Ok` if the precondition allows a change of an object with this revision, or of an absent one
    /// (`None`).
    pub(crate) fn hold(self, revision: Option<u64>) -> Result<(), CommandError> {
        let holds = match self {
            Self::None => true,
            Self::Absent => revision.is_none(),
            Self::Present => revision.is_some(),
            Self::Revision(asked) => revision == Some(asked),
        };
        if holds { Ok(()) } else { Err(CommandError::Precondition { revision }) }
    }
}

/// The name of the contract that an order asks for.
pub(crate) fn id_of(order: &ContractRequest) -> Id {
    Id::new(order.tenant().unwrap_or(DEFAULT_TENANT), order.name())
}
