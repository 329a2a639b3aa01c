//! Plan of a list of requests: admitted contracts with routes and bounds, contracts that would move, and refusals
//! with reasons.
//!
//! [`plan`] decides a list and keeps every decision in a [`Plan`]. [`decide`] passes each decision immediately to a
//! [`Sink`] and keeps none: lists of millions need no memory for earlier decisions.

mod advice;
mod certainty;
mod json;
mod lifetimes;
mod remedy;
mod replay;
mod saved;
mod sink;
mod summary;
mod table;

use std::io::Write;

use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};
use serde_json::value::{RawValue, to_raw_value};
use wayleave_contracts::{Contract, LatencyContract};
use wayleave_explain::table::TableLayout;
use wayleave_explain::{
    DecidedContract, DecidedFlow, DecidedShare, GrantedShares, RequestEvent, RequestJson, ShareJson, sentences, shapes,
};
use wayleave_scenarios::Tenants;
use wayleave_scheme_api::{Decision, Refusal, ShareDecision};
use wayleave_units::Time;

use crate::error::Error;
use crate::network::Network;
use crate::progress::Watch;
use crate::schemes::PlanOptions;
use crate::session::Session;
use crate::verify::{ClassContracts, History, Promises};
use certainty::Certainties;

pub use advice::BudgetAdvice;
pub use json::Document;
pub(crate) use json::{Head, ModelJson};
pub use lifetimes::ReservationLog;
pub use remedy::{BudgetPlace, BudgetRemedy, PortBudgets};
pub use saved::{SavedPlan, states_default_budgets};
pub use sink::{PlanInput, PlanOutcome, ReleaseHold, Sink};
pub use summary::{PlanSummary, Released, Times};
pub use table::RequestTable;

/// Decides what is asked for, in its order, and hands on every decision.
///
/// # Errors
/// Only what the sink returns.
pub fn decide(
    session: &mut Session,
    asked: PlanInput<'_>,
    sink: &mut dyn Sink,
    watch: &mut Watch<'_>,
) -> Result<PlanOutcome, Error> {
    match asked {
        PlanInput::Contracts(contracts) => replay::contracts(session, contracts, sink, watch),
        PlanInput::Events(events, hold) => replay::Replay::new(session, hold).run(events, sink, watch),
    }
}

/// Decides contracts sequentially, in their order.
///
/// # Errors
/// If the scheme cannot be set up on this network. A refusal is no error: it is part of the plan.
pub fn plan<'a>(
    network: &Network,
    asked: impl Into<PlanInput<'a>>,
    options: &PlanOptions,
    watch: &mut Watch<'_>,
) -> Result<Plan, Error> {
    plan_in(Session::open(network, options)?, asked.into(), watch)
}

/// The same in a session that may hold contracts already, or whose scheme is not in the list ([`Session::with_scheme`]).
///
/// # Errors
/// If an event cannot happen at its place.
pub fn plan_in(mut session: Session, asked: PlanInput<'_>, watch: &mut Watch<'_>) -> Result<Plan, Error> {
    let mut entries = Entries::default();
    let outcome = decide(&mut session, asked, &mut entries, watch)?;
    let Entries { entries, history, certainties } = entries;
    Ok(Plan { session, entries, outcome, history, certainties })
}

/// A list of requests with their decisions. Serialised, it is the document that `wayleave plan -o json` prints.
pub struct Plan {
    session: Session,
    entries: Vec<PlanEntry>,
    outcome: PlanOutcome,
    history: History,
    certainties: Certainties,
}

/// A request that was decided, or the end of a contract.
#[derive(Clone, Debug)]
pub struct PlanEntry {
    name: String,
    kind: EntryKind,
    document: Box<RawValue>,
}

/// An event of a contract.
#[derive(Clone, Debug)]
pub enum EntryKind {
    /// It was asked for.
    Decided {
        /// Its terms.
        contract: Box<LatencyContract>,
        /// Its route, queues and bound, or the reason for the refusal.
        decision: Result<Decision, Refusal>,
        /// For a refusal: the reason as a sentence.
        reason: Option<String>,
        /// Among events, which and when.
        event: Option<(RequestEvent, Time)>,
    },
    /// It was asked for, and is about something else than latency.
    DecidedShare {
        /// Its terms.
        contract: Box<Contract>,
        /// Its share (none for best effort), or the reason for the refusal.
        decision: Result<Option<ShareDecision>, Refusal>,
        /// For a refusal: the reason as a sentence.
        reason: Option<String>,
        /// Earliest start, counted from the decision.
        start: Option<Time>,
        /// Among events, which and when.
        event: Option<(RequestEvent, Time)>,
    },
    /// It ended.
    Released {
        /// Time of the event.
        at: Time,
        /// Time when its reservation is freed; `None` if it had reserved nothing.
        held_until: Option<Time>,
    },
}

impl PlanEntry {
    /// Returns the name of the contract.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the decision with its terms, or the end of the contract.
    pub fn kind(&self) -> &EntryKind {
        &self.kind
    }

    /// The decision; `None` for the end of a contract, and for contracts of other kinds than latency.
    pub fn decision(&self) -> Option<&Result<Decision, Refusal>> {
        match &self.kind {
            EntryKind::Decided { decision, .. } => Some(decision),
            EntryKind::DecidedShare { .. } | EntryKind::Released { .. } => None,
        }
    }
}

/// Keeps everything.
#[derive(Default)]
struct Entries {
    entries: Vec<PlanEntry>,
    history: History,
    certainties: Certainties,
}

impl Sink for Entries {
    fn decided(&mut self, session: &Session, decided: &DecidedContract<'_>) -> Result<(), Error> {
        let network = &*session.network;
        // The owner of each flow is known now; indices of ended flows are used again.
        let (kind, document) = match *decided {
            DecidedContract::Flow(flow) => {
                let DecidedFlow { contract, decision, event, .. } = flow;
                let reason = decision.as_ref().err().map(|refusal| sentences::refusal(network, contract, refusal));
                let (contract, decision) = (Box::new(contract.clone()), decision.clone());
                let document = to_raw_value(&RequestJson::of(&session.context(), &flow))?;
                (EntryKind::Decided { contract, decision, reason, event }, document)
            }
            DecidedContract::Share(share) => {
                self.certainties.decided(&share);
                let DecidedShare { contract, decision, start, event } = share;
                let reason = decision.as_ref().err().map(|refusal| sentences::class_refusal(network, refusal));
                let (contract, decision) = (Box::new(contract.clone()), decision.clone());
                let document = to_raw_value(&ShareJson::of(network, &share))?;
                (EntryKind::DecidedShare { contract, decision, reason, start, event }, document)
            }
        };
        self.entries.push(PlanEntry { name: decided.name().to_owned(), kind, document });
        self.history.decided(session, decided)
    }

    fn released(&mut self, released: &Released<'_>) -> Result<(), Error> {
        self.certainties.released(released.name);
        let document = to_raw_value(&json::ReleaseJson::of(released))?;
        let kind = EntryKind::Released { at: released.at, held_until: released.held_until };
        self.entries.push(PlanEntry { name: released.name.to_owned(), kind, document });
        self.history.released(released)
    }
}

impl Plan {
    /// Returns the session with everything that is admitted at the end.
    pub fn session(&self) -> &Session {
        &self.session
    }

    /// Returns every request and every end of a contract, in their order.
    pub fn entries(&self) -> &[PlanEntry] {
        &self.entries
    }

    /// Returns counts and findings.
    pub fn outcome(&self) -> &PlanOutcome {
        &self.outcome
    }

    /// The latency contracts that were admitted, in the order of the requests.
    pub fn admitted(&self) -> impl Iterator<Item = (&str, &Decision)> {
        self.entries.iter().filter_map(|entry| Some((entry.name.as_str(), entry.decision()?.as_ref().ok()?)))
    }

    /// Returns refused contracts, each with the reason as a sentence.
    pub fn refused(&self) -> impl Iterator<Item = (&str, &str)> {
        self.entries.iter().filter_map(|entry| match &entry.kind {
            EntryKind::Decided { reason: Some(reason), .. } | EntryKind::DecidedShare { reason: Some(reason), .. } => {
                Some((entry.name.as_str(), reason.as_str()))
            }
            _ => None,
        })
    }

    /// Everything that is promised when the plan ends, for [`crate::verify()`].
    pub fn promises(&self) -> Promises {
        self.history.promises(&self.session)
    }

    /// Writes every request with its outcome, as `wayleave plan --all` prints it.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn write_text(&self, out: &mut impl Write, layout: TableLayout) -> Result<(), Error> {
        let has_events = self
            .entries
            .iter()
            .any(|entry| matches!(entry.kind, EntryKind::Released { .. } | EntryKind::Decided { event: Some(_), .. }));
        let mut table = RequestTable::new(layout, true, has_events);
        for PlanEntry { name, kind, .. } in &self.entries {
            match kind {
                EntryKind::Decided { contract, decision, event, .. } => {
                    let event = *event;
                    let flow = DecidedFlow { contract, decision, starts: None, event, keeps_old_terms: false };
                    table.decided(&self.session, &DecidedContract::Flow(flow))?;
                }
                EntryKind::DecidedShare { contract, decision, start, event, .. } => {
                    let share = DecidedShare { contract, decision, start: *start, event: *event };
                    table.decided(&self.session, &DecidedContract::Share(share))?;
                }
                EntryKind::Released { at, held_until } => {
                    table.released(&Released { name, at: *at, held_until: *held_until })?;
                }
            }
        }
        table.write(out, &self.session, &self.outcome.summary)
    }

    /// Returns all admitted tenants, for [`crate::verify_kinds`]; `None` if all contracts are about latency.
    ///
    /// # Errors
    /// If the network has no classes.
    pub fn tenants(&self) -> Result<Option<Tenants>, Error> {
        let mut kinds = ClassContracts::default();
        for entry in &self.entries {
            match &entry.kind {
                EntryKind::Decided { contract, decision: Ok(decision), .. } => kinds.add_latency(contract, decision),
                EntryKind::DecidedShare { contract, decision: Ok(decision), .. } => {
                    kinds.add_share(contract, decision.as_ref());
                }
                _ => {}
            }
        }
        kinds.tenants(&self.session)
    }

    /// Derives every promise again with an independent calculator; `None` for schemes that reserve no queues.
    pub fn recheck(&self) -> Option<wayleave_recheck::RecheckReport> {
        crate::recheck(&self.session.context(), &mut Watch::none())
    }
}

impl Serialize for Plan {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let context = self.session.context();
        let head = Head::of(&self.session);
        let given_away = GrantedShares::of(&context);
        let mut plan = serializer.serialize_map(None)?;
        plan.serialize_entry("wayleave", head.wayleave)?;
        plan.serialize_entry("scheme", head.scheme)?;
        plan.serialize_entry("model", &head.model)?;
        plan.serialize_entry("topology", &head.topology)?;
        plan.serialize_entry("requests", &self.entries.iter().map(|entry| &entry.document).collect::<Vec<_>>())?;
        let reports = self.session.ledger().into_iter().flat_map(|ledger| {
            let links = self.session.network.links();
            links.flat_map(move |(link, _)| ledger.report(link))
        });
        let reports: Vec<_> = reports.collect();
        let queues: Vec<_> = reports.iter().map(|report| shapes::queue(&self.session.network, report)).collect();
        plan.serialize_entry("queues", &queues)?;
        if let Some((name, value)) = given_away.member() {
            plan.serialize_entry(name, &value)?;
        }
        let changed = self.certainties.changed(&self.session);
        if !changed.is_empty() {
            plan.serialize_entry("changed_certainty", &changed)?;
        }
        let short = json::short_buffers(&self.session);
        if !short.is_empty() {
            plan.serialize_entry("short_buffers", &short)?;
        }
        plan.serialize_entry("summary", &json::SummaryJson::of(&self.outcome.summary))?;
        plan.end()
    }
}
