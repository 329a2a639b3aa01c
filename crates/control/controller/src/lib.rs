//! The controller as a pure state machine: tenants, VMs, contracts, failures and the senders that enforce contracts.
//!
//! Chameleon (CoNEXT 2020), sections 3.5 and 4.1: tenants create VMs and flows between them; the controller places
//! the flows and sends the hosts their routes and shapers. Three subjects that the paper leaves open are here as
//! well: the time between a decision and its enforcement at the hosts, failures, and restarts of the controller.
//!
//! Time, identities and hashes of secrets are arguments; there is no clock, no socket and no file here. Two drivers
//! run the same code: the server, and the seeded world of the tests.
//!
//! ```text
//! Command ── handle ─> Reply            outcome, at once
//!    │
//!    └── take_output ─> Changes         records to be put on disk, all or none, before any answer
//!                       Events          for watchers
//! due ── tick                           timers: holds end, contracts start and end
//! outbox ─> Operation                   operations that a node has not confirmed yet, for the driver to deliver
//! ```
//!
//! The order of updates never breaks a promise (Fig. 6 of the paper; docs/operate/controller.md):
//! - The routes that a sender may still use are known (`enforcement::sender`): a rule that was sent counts as in use
//!   until the sender confirms that it is not.
//! - A contract that is deleted keeps its reservation until its sender has stopped and its last packets have left.
//! - A route that was left by a move is free in the ledger at once, since the flow for which it was moved was
//!   admitted beside it. A contract that needs the capacity waits until the old route is empty (`releases`,
//!   `enforcement::waits`).
//! - A promise of the classes below the latency queues (`shared`) begins when the last packets of latency contracts
//!   have left its capacity. It ends at once: these classes delay a latency contract by at most a frame, which is
//!   always counted.
//! - The records hold all state that is needed after a crash; the time of pending releases starts again then, which
//!   is safe.

mod admission;
mod announcement;
mod answers;
mod calendar;
mod clock;
mod command;
mod contract_record;
mod contracts;
mod controller;
mod decision;
mod elements;
mod enforcement;
mod event;
mod grant;
mod journal;
mod load_error;
mod macs;
mod nodes;
mod old_record;
mod output;
mod placed;
mod policies;
mod policy_spec;
mod quota;
mod record;
mod releases;
mod scheme_ledger;
mod setup;
mod shares;
mod tenants;
mod timers;
mod tokens;
mod vms;
mod what_if;

pub use answers::{AnswersFull, CachedReply, NewAnswer};
pub use clock::{Timestamps, Uptime};
pub use command::{
    Command, CommandError, Effect, ElementName, ItemResult, Mode, Outcome, Precondition, Principal, Reply, UnmovableVm,
    VmRequest,
};
pub use controller::Controller;
pub use controller::copy::Copied;
pub use controller::follow::FollowError;
pub use decision::{ContractPromise, Decided, DecisionRecord, QuotaShort};
pub use elements::Down;
pub use event::{Event, EventKind};
pub use grant::{AdmittedContract, DegradedReason, LateDelivery};
pub use load_error::LoadError;
pub use nodes::NodeState;
pub use output::{CommandOutput, RecordChange, RecordKind};
pub use placed::{PlacedReservation, ReservationKind, records};
pub use policies::PolicyState;
pub use policy_spec::{needs as policy_needs, spec as policy_spec};
pub use setup::{BudgetPolicy, ControllerConfig, EnforcedBy, SchemeFactory, Timeouts, UnfitPolicy};
pub use shares::in_shares;
pub use tenants::TenantState;
pub use tokens::Token;
pub use vms::VmState;
pub use wayleave_protocol::contract::State;
pub use wayleave_protocol::{DEFAULT_TENANT, Id};
pub use what_if::{WhatIf, WhatIfOutcome};
