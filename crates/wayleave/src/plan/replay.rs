//! Deciding what the input asks for, in its order: a list of contracts, or events with their times.

use std::collections::{BTreeSet, HashMap};

use wayleave_contracts::{Contract, EventAction, LatencyContract};
use wayleave_explain::{DecidedContract, DecidedFlow, DecidedShare, RequestEvent, sentences};
use wayleave_formats::EventList;
use wayleave_scheme_api::{Admission, Refusal, ShareDecision};
use wayleave_schemes::admitted::AdmittedSet as _;
use wayleave_topology::{FlowId, ShareId};
use wayleave_units::Time;

use super::sink::{PlanOutcome, ReleaseHold, Sink};
use super::summary::{PlanSummary, Released};
use crate::contracts::Contracts;
use crate::error::Error;
use crate::findings::FirstFindings;
use crate::progress::Watch;
use crate::session::{RequestOutcome, Session};

/// Decides every contract of the lists.
pub(super) fn contracts(
    session: &mut Session,
    contracts: &Contracts,
    sink: &mut dyn Sink,
    watch: &mut Watch<'_>,
) -> Result<PlanOutcome, Error> {
    let (mut summary, mut findings) = (PlanSummary::default(), FirstFindings::default());
    let total = contracts.all().count();
    for (number, (place, any)) in (1..).zip(contracts.all()) {
        if watch.is_cancelled() {
            return Ok(PlanOutcome { summary, findings, is_complete: false });
        }
        let Some(contract) = any.as_latency() else {
            let (decision, time) = session.admit_share(any);
            summary.count_share(decision.as_ref().err().map(Refusal::reason), time);
            let start = start_of(session, &decision);
            let share = DecidedShare { contract: any, decision: &decision, start, event: None };
            sink.decided(session, &DecidedContract::Share(share))?;
            watch.items(number, total);
            continue;
        };
        let verdict = session.admit(contract);
        summary.count(&verdict);
        if let Some((field, message)) = finding(session, contract, &verdict) {
            findings.add(|| contracts.finding(place, field, &message));
        }
        decided(session, sink, contract, &verdict, None, false)?;
        watch.items(number, total);
    }
    Ok(PlanOutcome { summary, findings, is_complete: true })
}

/// Returns the problem of a refused contract that does not depend on other admitted contracts.
fn finding(session: &Session, contract: &LatencyContract, verdict: &RequestOutcome) -> Option<(&'static str, String)> {
    sentences::finding(&session.network, contract, verdict.decision.as_ref().err()?)
}

fn decided(
    session: &Session,
    sink: &mut dyn Sink,
    contract: &LatencyContract,
    verdict: &RequestOutcome,
    event: Option<(RequestEvent, Time)>,
    keeps_old_terms: bool,
) -> Result<(), Error> {
    let RequestOutcome { decision, starts, .. } = verdict;
    let flow = DecidedFlow { contract, decision, starts: Some(starts), event, keeps_old_terms };
    sink.decided(session, &DecidedContract::Flow(flow))
}

/// Reservation of an admitted contract.
#[derive(Clone, Copy)]
enum AdmittedState {
    Flow(FlowId),
    /// Nothing for best effort.
    Share(Option<ShareId>),
}

/// Contracts that come, change and go.
pub(super) struct Replay<'a> {
    session: &'a mut Session,
    hold: ReleaseHold,
    /// Admitted contracts.
    present: HashMap<&'a str, AdmittedState>,
    /// Ended reservations that are still held, by the time at which they are freed.
    due: BTreeSet<(Time, EndedReservation)>,
}

/// A reservation of a contract that has ended.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum EndedReservation {
    Flow(FlowId),
    Share(ShareId),
}

impl<'a> Replay<'a> {
    pub(super) fn new(session: &'a mut Session, hold: ReleaseHold) -> Self {
        if hold == ReleaseHold::Nothing {
            session.ignore_packets_in_flight();
        }
        Self { session, hold, present: HashMap::new(), due: BTreeSet::new() }
    }

    /// Goes through all events; what is due by the time of the last one is freed.
    pub(super) fn run(
        mut self,
        events: &'a EventList,
        sink: &mut dyn Sink,
        watch: &mut Watch<'_>,
    ) -> Result<PlanOutcome, Error> {
        let (mut summary, mut findings) = (PlanSummary::of_events(), FirstFindings::default());
        let total = events.events().len();
        for (index, event) in events.events().iter().enumerate() {
            if watch.is_cancelled() {
                return Ok(PlanOutcome { summary, findings, is_complete: false });
            }
            self.free(event.at);
            self.session.set_time(event.at);
            let (contract, kind) = match &event.action {
                EventAction::Release(name) => {
                    let released = self.release(name, event.at);
                    summary.count_release(&released);
                    sink.released(&released)?;
                    continue;
                }
                EventAction::Add(contract) => (contract, RequestEvent::Add),
                EventAction::Change(contract) => (contract, RequestEvent::Change),
            };
            let Some(contract) = contract.as_latency() else {
                self.share(contract, (kind, event.at), &mut summary, sink)?;
                watch.items(index + 1, total);
                continue;
            };
            let (verdict, had_terms) = self.place(contract);
            summary.count(&verdict);
            if let Some((field, message)) = finding(self.session, contract, &verdict) {
                findings.add(|| events.finding(index, field, &message));
            }
            decided(self.session, sink, contract, &verdict, Some((kind, event.at)), had_terms)?;
            watch.items(index + 1, total);
        }
        if let Some(last) = events.events().last() {
            self.free(last.at);
        }
        Ok(PlanOutcome { summary, findings, is_complete: true })
    }

    /// Frees what is due.
    fn free(&mut self, now: Time) {
        while let Some(&(due, ended)) = self.due.first().filter(|(due, _)| *due <= now) {
            self.due.remove(&(due, ended));
            match ended {
                EndedReservation::Flow(flow) => _ = self.session.scheme.release(flow),
                EndedReservation::Share(share) => _ = self.session.scheme.release_share(share),
            }
        }
    }

    fn release(&mut self, name: &'a str, now: Time) -> Released<'a> {
        let held_until = self.present.remove(name).map(|present| {
            let flow = match present {
                AdmittedState::Flow(flow) => flow,
                AdmittedState::Share(None) => return now,
                AdmittedState::Share(Some(share)) => {
                    let drain =
                        if self.hold == ReleaseHold::Bound { self.session.share_drain(share) } else { Time::ZERO };
                    let due = now.checked_add(drain).unwrap_or(Time::MAX);
                    self.due.insert((due, EndedReservation::Share(share)));
                    return due;
                }
            };
            let due = now + self.in_flight(flow);
            // Reservations that are held for the last packets in flight must not be moved.
            if let Some(placement) = self.session.scheme.queues_mut() {
                placement.pin(flow, true);
            }
            self.due.insert((due, EndedReservation::Flow(flow)));
            due
        });
        self.free(now);
        Released { name, at: now, held_until }
    }

    /// Returns the time for which a flow's reservation is held for packets in flight: its bound, or zero unless
    /// `hold` is `ReleaseHold::Bound`.
    fn in_flight(&self, flow: FlowId) -> Time {
        let held = self.session.scheme.held(flow).filter(|_| self.hold == ReleaseHold::Bound);
        held.map_or(Time::ZERO, |held| held.bound)
    }

    /// Admits a contract, or gives an admitted contract new terms; also returns `true` if it had terms before. A
    /// change of a refused contract requests it again.
    fn place(&mut self, contract: &'a LatencyContract) -> (RequestOutcome, bool) {
        let flow = |present: &AdmittedState| if let AdmittedState::Flow(flow) = *present { Some(flow) } else { None };
        let old = self.present.get(contract.name.as_str()).and_then(flow);
        let changed = old.and_then(|flow| self.session.change(flow, contract));
        let verdict = changed.unwrap_or_else(|| self.session.admit(contract));
        if let Ok(decision) = &verdict.decision {
            self.present.insert(&contract.name, AdmittedState::Flow(decision.flow));
        }
        (verdict, old.is_some())
    }

    /// The same for a contract of another kind.
    fn share(
        &mut self,
        contract: &'a Contract,
        event: (RequestEvent, Time),
        summary: &mut PlanSummary,
        sink: &mut dyn Sink,
    ) -> Result<(), Error> {
        let share = |present: &AdmittedState| if let AdmittedState::Share(share) = *present { share } else { None };
        let old = self.present.get(contract.name()).and_then(share);
        let (decision, time, kept) = self.session.change_share(old, contract);
        summary.count_share(decision.as_ref().err().map(Refusal::reason), time);
        match &decision {
            Ok(decision) => {
                let share = decision.as_ref().map(|decision| decision.share);
                self.present.insert(contract.name(), AdmittedState::Share(share));
            }
            Err(_) if kept.is_some() => drop(self.present.insert(contract.name(), AdmittedState::Share(kept))),
            Err(_) => {}
        }
        let start = start_of(self.session, &decision);
        let share = DecidedShare { contract, decision: &decision, start, event: Some(event) };
        sink.decided(self.session, &DecidedContract::Share(share))
    }
}

/// Returns the earliest start of an admitted share.
fn start_of(session: &Session, decision: &Result<Option<ShareDecision>, Refusal>) -> Option<Time> {
    session.share_start(decision.as_ref().ok()?.as_ref()?.share)
}
