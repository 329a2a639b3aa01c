//! The controller as a pure state machine: tenants, VMs, contracts, failures and the senders that keep to them.
//!
//! Chameleon (CoNEXT 2020), sections 3.5 and 4.1: tenants create VMs and flows between them; the controller places the
//! flows and tells the hosts their routes and shapers. What the paper leaves open is here as well: what happens between a
//! decision and the moment at which hosts keep to it, when something fails, and when a controller starts again.
//!
//! Time, identities and hashes of secrets are arguments; there is no clock, no socket and no file here. Two drivers run
//! the same code: the server, and the seeded world of the tests.
//!
//! ```text
//! Command ── handle ─> Reply            what became of it, at once
//!    │
//!    └── take_output ─> Changes         records to be put on disk, all or none, before anybody hears of them
//!                       Events          for who watches
//! due ── tick                           what time alone brings about: holds end, contracts start and end
//! outbox ─> Operation                   what a node has not confirmed yet, for whoever carries it there
//! ```
//!
//! The order of things never breaks a promise (`design.md`, section 4; Fig. 6 of the paper):
//! - What a sender may still be using is known: `sender`. A rule that was sent counts as in use until it is confirmed
//!   that it is not.
//! - A contract that is deleted keeps its reservation until its sender has stopped and its last packets have left.
//! - A route that was left by a move is free in the ledger at once, since the flow that it made room for was admitted beside it.
//!   Whoever needs that room waits until the old route is empty: `leaving`.
//! - All that is needed to go on after a crash is in the records; holds begin anew then, which is the careful way.

mod agents;
mod apply;
mod book;
mod clock;
mod command;
mod controller;
mod decision;
mod down;
mod event;
mod failures;
mod grant;
mod leaving;
mod load;
mod macs;
mod memory;
mod output;
mod quota;
mod record;
mod release;
mod sender;
mod shares;
mod tenants;
mod timers;
mod tokens;
mod vms;
mod what_if;

pub use agents::NodeState;
pub use clock::Now;
pub use command::{Applied, Check, Command, ElementName, Fault, Mode, Outcome, Reply, Standing};
pub use controller::{Controller, Setup, Southbound, Timing};
pub use decision::{Decided, DecisionRecord, QuotaShort};
pub use event::{Event, EventKind};
pub use grant::{Grant, Trouble, Violation};
pub use load::LoadError;
pub use memory::Remembered;
pub use output::{Change, Kind, Output};
pub use shares::in_shares;
pub use tenants::TenantState;
pub use tokens::{Role, Token};
pub use vms::{VmState, VmWish};
pub use wayleave_protocol::contract::State;
pub use wayleave_protocol::{DEFAULT_TENANT, Id};
pub use what_if::{Prospect, Question};
