//! Promises to be tested: all statements of an admission control or, for a scheme without statements about queues,
//! its promises only.

use std::collections::HashSet;

use wayleave_adversary::{
    Admitted, AdmittedClaim, AttackBucket, Background, ByteAccounting, DecisionKind, DelayPart, Duplication, Exactness,
    HistoryError, Lines, LowestQueue, MinimaTerms, ModelAccounting, PacketOrder, PlanEvent, Promise, Protected,
    Relocation, RequestedTerms, StatedQueue, StatedRoute, StatedTerm, Statement, TransitionRule, derive,
};
use wayleave_contracts::{LatencyContract, WireOverhead};
use wayleave_explain::{DecidedContract, DecidedFlow, DecidedShare, RequestEvent, claimed_shares, promised_share};
use wayleave_ledger::{BestEffort, JitterModel, Model, QueueReport, Residual, Shaping};
use wayleave_scenarios::SharedService;
use wayleave_scheme_api::{Admission as _, Move};
use wayleave_schemes::admission::fabric::Settings;
use wayleave_schemes::admitted::{self, AdmittedFlow, AdmittedSet, Term};
use wayleave_topology::{FlowId, Route};
use wayleave_units::{Bytes, Time};

use crate::error::Error;
use crate::plan::{Released, Sink};
use crate::session::Session;

/// Promises that [`crate::verify()`] tests.
#[derive(Clone, Debug)]
pub enum Promises {
    /// Promises of a scheme that reserves queues: all its statements are derived again first.
    Stated(Statement),
    /// Of any other scheme: packets alone decide.
    Claimed(AdmittedClaim),
}

impl Promises {
    /// Returns the claim that packets must confirm.
    ///
    /// # Errors
    /// If the statements contradict each other, so that the admitted contracts and their routes are not determined.
    pub fn claim(&self) -> Result<AdmittedClaim, HistoryError> {
        match self {
            Self::Stated(statement) => derive(statement).map(|derivation| derivation.claim),
            Self::Claimed(claim) => Ok(claim.clone()),
        }
    }
}

/// Decisions in their order: with them every move can be checked as it was carried out.
#[derive(Clone, Debug, Default)]
pub struct History {
    happenings: Vec<PlanEvent>,
    /// Admitted contracts of other kinds than latency.
    sharing: HashSet<String>,
    /// The time of the last event, also of a refused one.
    now: Time,
}

impl Sink for History {
    fn decided(&mut self, session: &Session, decided: &DecidedContract<'_>) -> Result<(), Error> {
        self.now = decided.event().map_or(self.now, |(_, at)| at);
        match decided {
            DecidedContract::Flow(flow) => self.happenings.extend(plan_event(session, flow)),
            DecidedContract::Share(share) => self.decided_share(session, share),
        }
        Ok(())
    }

    fn released(&mut self, released: &Released<'_>) -> Result<(), Error> {
        let Released { name, at, held_until } = *released;
        self.now = at;
        let name = name.to_owned();
        self.happenings.push(match held_until {
            Some(held_until) if !self.sharing.remove(&name) => PlanEvent::Released { name, at, held_until },
            _ => PlanEvent::Shared { name, at, after: Time::ZERO, share: None },
        });
        Ok(())
    }
}

impl History {
    fn decided_share(&mut self, session: &Session, decided: &DecidedShare<'_>) {
        let Ok(decision) = decided.decision else { return };
        let share = decision.as_ref().and_then(|decision| {
            let share = session.ledger()?.share(decision.share)?;
            promised_share(&session.context(), decision.share, share)
        });
        let (name, at) = (decided.contract.name().to_owned(), decided.event.map_or(Time::ZERO, |(_, at)| at));
        let after = decided.start.unwrap_or(Time::ZERO);
        self.sharing.insert(name.clone());
        self.happenings.push(PlanEvent::Shared { name, at, after, share });
    }

    /// Returns all promises of a session, with their history.
    pub fn promises(&self, session: &Session) -> Promises {
        let mut happenings = self.happenings.clone();
        happenings.extend(PlanEvent::time_passes(self.now, &self.happenings));
        match statement(session, happenings) {
            Some(statement) => Promises::Stated(statement),
            None => Promises::Claimed(claimed(session)),
        }
    }
}

/// A decision that the session has just made: who owns which flow is known now.
fn plan_event(session: &Session, decided: &DecidedFlow<'_>) -> Option<PlanEvent> {
    let decision = decided.decision.as_ref().ok()?;
    session.ledger()?;
    let held = session.scheme.held(decision.flow)?;
    let moved = |(number, moved): (usize, &Move)| Relocation {
        name: session.name_of(moved.flow).to_owned(),
        from: moved.from.clone(),
        to: moved.to.clone(),
        after: decided.starts.and_then(|starts| starts.moves.get(number).copied()),
    };
    let copies = decision.copies.iter().map(|copy| (&copy.route, copy.bound));
    let routes = std::iter::once((&decision.route, decision.bound)).chain(copies);
    let contract = decided.contract;
    let start = decided.starts.map_or(Time::ZERO, |starts| starts.flow);
    Some(PlanEvent::Admitted(Box::new(Admitted {
        at: decided.event.map_or(Time::ZERO, |(_, at)| at),
        kind: match decided.event {
            Some((RequestEvent::Change, _)) => DecisionKind::Change,
            Some((RequestEvent::Add, _)) | None => DecisionKind::New,
        },
        from: contract.from,
        to: contract.to,
        asked: terms(contract),
        moved: decision.moved.iter().enumerate().map(moved).collect(),
        routes: routes.map(|(route, bound)| stated(session, route, bound)).collect(),
        activate_after: start,
        old_terms_end_after: decision.handover.old_terms_end(start),
        ..admitted_contract(session, contract.name.clone(), &held)?
    })))
}

/// Returns all current promises of a session, without their history.
pub fn of_session(session: &Session) -> Promises {
    let mut names = HashSet::new();
    let admitted = session.admitted().filter_map(|flows| {
        let &first = flows.first()?;
        let held = session.scheme.held(first)?;
        let routes = flows.iter().filter_map(|&flow| session.scheme.held(flow));
        // A reservation that is still held may have the name of a later contract.
        let name = session.name_of(first);
        let name = if names.insert(name) { name.to_owned() } else { format!("{name} (flow {})", first.0) };
        Some(PlanEvent::Admitted(Box::new(Admitted {
            routes: routes.map(|held| stated(session, held.route, held.bound)).collect(),
            ..admitted_contract(session, name, &held)?
        })))
    });
    let history = History { happenings: admitted.collect(), ..History::default() };
    history.promises(session)
}

fn statement(session: &Session, history: Vec<PlanEvent>) -> Option<Statement> {
    let ledger = session.ledger()?;
    let links = session.network.links();
    Some(Statement {
        network: session.network.clone(),
        counting: counting(&session.model),
        queues: links.flat_map(|(link, _)| ledger.report(link)).map(|report| stated_queue(&report)).collect(),
        history,
        shares: claimed_shares(&session.context()),
        short_buffers: ledger.short_buffers().collect(),
        minima: minima(session),
        transition_rule: TransitionRule::Waits,
        findings: Vec::new(),
    })
}

/// Returns the terms on which times of minima depend in a session.
fn minima(session: &Session) -> MinimaTerms {
    let usual = Settings::default();
    MinimaTerms {
        budget: session.settings.time("guaranteed_budget").unwrap_or(usual.guaranteed_budget),
        token_period: session.scheme.token_period().unwrap_or(usual.token_period),
    }
}

fn stated_queue(report: &QueueReport) -> StatedQueue {
    StatedQueue {
        link: report.link,
        queue: report.queue,
        budget: report.budget,
        buffer: report.buffer,
        flows: report.flows as usize,
        delay: report.delay_bound(),
        backlog: report.backlog_bound(),
    }
}

/// Returns the delays and overheads that the network model counts.
pub(super) fn counting(model: &Model) -> ModelAccounting {
    ModelAccounting {
        tags: match model.overhead {
            WireOverhead::Counted { tags } => Some(tags),
            WireOverhead::Ignored => None,
        },
        max_frame: model.max_frame,
        lowest_queue: match model.best_effort {
            BestEffort::LowestQueue => LowestQueue::BestEffort,
            BestEffort::Dropped => LowestQueue::Contracts,
        },
        lines: match model.shaping {
            Shaping::InputLinks => Lines::Shape,
            Shaping::Off => Lines::Ignored,
        },
        order: order(model.jitter),
        figures: match model.residual {
            Residual::Full => Exactness::Exact,
            Residual::FirstSlope => Exactness::AtLeast,
        },
    }
}

/// Returns the packet order of nodes in a model.
fn order(jitter: JitterModel) -> PacketOrder {
    match jitter {
        JitterModel::Ordered => PacketOrder::Kept,
        JitterModel::Any => PacketOrder::Free,
    }
}

/// Returns the terms of a contract.
pub(super) fn terms(contract: &LatencyContract) -> RequestedTerms {
    RequestedTerms {
        bucket: AttackBucket { rate: contract.rate, burst: contract.burst },
        accounting: match contract.accounting {
            wayleave_contracts::Accounting::Wire => ByteAccounting::Wire,
            wayleave_contracts::Accounting::Frame { min_frame } => ByteAccounting::Frames { smallest: min_frame },
        },
        deadline: contract.deadline,
    }
}

/// Returns an admitted flow whose contract is not available: its reservation is used as its request.
fn admitted_contract(session: &Session, name: String, held: &AdmittedFlow<'_>) -> Option<Admitted> {
    let (first, last) = (held.route.hops.first()?, held.route.hops.last()?);
    let reserved = AttackBucket { rate: held.demand.rate, burst: held.demand.burst };
    Some(Admitted {
        name,
        at: Time::ZERO,
        kind: DecisionKind::New,
        from: session.network.link(first.link).from,
        to: session.network.link(last.link).to,
        asked: RequestedTerms { bucket: reserved, accounting: ByteAccounting::Wire, deadline: held.deadline },
        reserved,
        max_frame: held.demand.max_frame,
        routes: Vec::new(),
        moved: Vec::new(),
        activate_after: Time::ZERO,
        old_terms_end_after: None,
    })
}

fn stated(session: &Session, route: &Route, bound: Time) -> StatedRoute {
    let terms = session.scheme.queues().map_or_else(Vec::new, |placement| placement.terms(route));
    let part = |term: &Term| {
        let (part, delay) = match *term {
            Term::Queue(hop, delay) => (DelayPart::Queue(hop.link, hop.queue), delay),
            Term::Propagation(link, delay) => (DelayPart::Propagation(link), delay),
            Term::Processing(node, delay) => (DelayPart::Processing(node), delay),
            // Schemes that reserve queues have no others.
            _ => return None,
        };
        Some(StatedTerm { part, delay })
    };
    StatedRoute { route: route.clone(), bound, terms: terms.iter().filter_map(part).collect() }
}

/// The promises of a scheme that reserves no queues.
fn claimed(session: &Session) -> AdmittedClaim {
    let (mut promises, mut protected) = (Vec::new(), Vec::new());
    for flows in session.admitted() {
        let first = promises.len();
        let held = flows.into_iter().filter_map(|flow| Some((flow, session.scheme.held(flow)?)));
        promises.extend(held.map(|(flow, held)| promise(session, flow, &held)));
        let routes = first..promises.len();
        protected
            .extend((routes.len() > 1).then(|| Protected { routes: routes.collect(), duplication: Duplication::On }));
    }
    let services: Vec<SharedService> = session.scheme.shared_services().into_iter().map(shared).collect();
    let largest = || session.network.links().map(|(_, link)| session.model.largest_frame(link)).collect();
    let background = match session.model.best_effort {
        // A service's shares have no queue of their own: traffic without a contract is not admitted.
        BestEffort::LowestQueue if services.is_empty() => Background::Saturating { largest: largest() },
        BestEffort::LowestQueue | BestEffort::Dropped => Background::Dropped,
    };
    AdmittedClaim::new(session.network.clone(), background, promises)
        .with_protected(protected)
        .with_order(order(session.model.jitter))
        .with_services(services)
}

/// A switch that the scheme takes for one shared service (Loko).
fn shared(service: admitted::AssumedService) -> SharedService {
    SharedService { switch: service.switch, rate: service.rate, processing: service.latency, buffer: service.buffer }
}

fn promise(session: &Session, flow: FlowId, held: &AdmittedFlow<'_>) -> Promise {
    let carried = held.route.hops.iter().map(|hop| session.model.largest_frame(session.network.link(hop.link)));
    Promise {
        name: session.route_name(flow),
        route: held.route.clone(),
        rate: held.demand.rate,
        burst: held.demand.burst,
        frame: carried.chain(held.demand.max_frame).min().unwrap_or(Bytes::ZERO),
        bound: judged(held),
        today: None,
    }
}

/// Returns the time that no packet may exceed, from the shaper's release to the point of observation: the promise, or
/// the rest of the deadline if a scheme promises more than was requested.
fn judged(held: &AdmittedFlow<'_>) -> Time {
    let shaped = held.bound.saturating_sub(held.released);
    held.released.min(held.deadline.saturating_sub(shaped))
}

#[cfg(test)]
mod tests {
    use wayleave_contracts::BucketDemand;
    use wayleave_units::Rate;

    use super::*;

    /// Catches: a judge that takes a scheme's word where it promises more time than the contract allows.
    #[test]
    fn packets_are_judged_by_the_deadline_as_well_as_by_the_bound() {
        let route = Route { hops: Vec::new() };
        let demand = BucketDemand { rate: Rate::from_mbit(1), burst: Bytes::new(1_500), max_frame: None };
        let judged = |bound, released, deadline| {
            let [bound, released, deadline] = [bound, released, deadline].map(Time::from_micros);
            super::judged(&AdmittedFlow { route: &route, demand, deadline, bound, released })
        };
        assert_eq!(judged(80, 80, 100), Time::from_micros(80));
        assert_eq!(judged(10_000, 10_000, 100), Time::from_micros(100));
        // The shaper may take 40 us.
        assert_eq!(judged(90, 50, 100), Time::from_micros(50));
        assert_eq!(judged(140, 100, 100), Time::from_micros(60));
        assert_eq!(judged(1_000, 0, 100), Time::ZERO);
    }
}
