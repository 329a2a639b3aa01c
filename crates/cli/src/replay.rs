//! Deciding what the input asks for, in its order: a list of contracts, or events with their times.

use std::collections::{BTreeSet, HashMap};

use wayleave_contracts::{Action, Contract};
use wayleave_explain::{Decided, EventKind, sentences};
use wayleave_formats::EventList;
use wayleave_roles::Admission;
use wayleave_schemes::standing::Standing;
use wayleave_topology::FlowId;
use wayleave_units::Time;

use crate::diagnostics::Diagnostics;
use crate::failure::Failure;
use crate::inputs::Lists;
use crate::output::plan::{Released, Summary, Writer};
use crate::progress::Progress;
use crate::session::{Session, Verdict};

/// Decides every contract of the lists.
pub(crate) fn lists(
    session: &mut Session,
    lists: &Lists,
    writer: &mut Writer,
    mut progress: Progress,
    diagnostics: &mut Diagnostics,
) -> Result<Summary, Failure> {
    let mut summary = Summary::default();
    for (place, contract) in lists.iter() {
        let verdict = session.admit(contract);
        summary.count(&verdict);
        if let Some((field, message)) = finding(session, contract, &verdict) {
            diagnostics.add(|| lists.finding(place, field, &message));
        }
        write(session, writer, contract, &verdict, None, false)?;
        progress.step();
    }
    Ok(summary)
}

/// What can be said against a refused contract whatever else is admitted.
fn finding(session: &Session, contract: &Contract, verdict: &Verdict) -> Option<(&'static str, String)> {
    sentences::finding(&session.network, contract, verdict.decision.as_ref().err()?)
}

fn write(
    session: &Session,
    writer: &mut Writer,
    contract: &Contract,
    verdict: &Verdict,
    event: Option<(EventKind, Time)>,
    keeps_old_terms: bool,
) -> Result<(), Failure> {
    let decided = Decided { contract, decision: &verdict.decision, event, keeps_old_terms };
    writer.request(session, &decided)
}

/// How long what an ended contract had reserved is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Hold {
    /// For its route's bound: its packets may be in flight (design, section 4).
    Bound,
    /// Not at all, as in the publications.
    Nothing,
}

/// Contracts that come, change and go.
pub(crate) struct Replay<'a> {
    session: &'a mut Session,
    hold: Hold,
    /// Who is admitted.
    standing: HashMap<&'a str, FlowId>,
    /// Ended flows that are still held, by the time at which they are freed.
    due: BTreeSet<(Time, FlowId)>,
    /// Until then packets may be in flight on routes that were left by moves and changes, and are free already.
    settled_at: Time,
}

impl<'a> Replay<'a> {
    pub(crate) fn new(session: &'a mut Session, hold: Hold) -> Self {
        Self { session, hold, standing: HashMap::new(), due: BTreeSet::new(), settled_at: Time::ZERO }
    }

    /// Goes through all events; what is due by the time of the last one is freed.
    pub(crate) fn run(
        mut self,
        events: &'a EventList,
        writer: &mut Writer,
        mut progress: Progress,
        diagnostics: &mut Diagnostics,
    ) -> Result<Summary, Failure> {
        let mut summary = Summary::of_events();
        for (index, event) in events.events().iter().enumerate() {
            self.free(event.at);
            let (contract, kind) = match &event.action {
                Action::Release(name) => {
                    let released = self.release(name, event.at);
                    summary.count_release(&released);
                    writer.release(&released)?;
                    continue;
                }
                Action::Add(contract) => (contract, EventKind::Add),
                Action::Change(contract) => (contract, EventKind::Change),
            };
            let (verdict, had_terms) = self.place(contract, event.at);
            summary.count(&verdict);
            if let Some((field, message)) = finding(self.session, contract, &verdict) {
                diagnostics.add(|| events.finding(index, field, &message));
            }
            write(self.session, writer, contract, &verdict, Some((kind, event.at)), had_terms)?;
            progress.step();
        }
        if let Some(last) = events.events().last() {
            self.free(last.at);
        }
        Ok(summary)
    }

    /// Frees what is due.
    fn free(&mut self, now: Time) {
        while let Some(&(due, flow)) = self.due.first().filter(|(due, _)| *due <= now) {
            self.due.remove(&(due, flow));
            self.session.scheme.release(flow);
        }
    }

    fn release(&mut self, name: &'a str, now: Time) -> Released<'a> {
        let held_until = self.standing.remove(name).map(|flow| {
            let due = now + self.in_flight(flow);
            self.due.insert((due, flow));
            due
        });
        self.free(now);
        Released { name, at: now, held_until }
    }

    /// How long packets of a flow can be in flight, as far as that is waited for.
    fn in_flight(&self, flow: FlowId) -> Time {
        let held = self.session.scheme.held(flow).filter(|_| self.hold == Hold::Bound);
        held.map_or(Time::ZERO, |held| held.bound)
    }

    /// Admits a contract, or gives it new terms if it is there; and whether it had terms before. A change of a
    /// contract that was refused asks for it anew.
    fn place(&mut self, contract: &'a Contract, now: Time) -> (Verdict, bool) {
        let old = self.standing.get(contract.name.as_str()).copied();
        let old_in_flight = old.map_or(Time::ZERO, |flow| self.in_flight(flow));
        let changed = old.and_then(|flow| self.session.change(flow, contract));
        let mut verdict = changed.unwrap_or_else(|| self.session.admit(contract));
        if let Ok(decision) = &mut verdict.decision {
            self.standing.insert(&contract.name, decision.flow);
            if self.hold == Hold::Bound {
                // The scheme speaks of the moves for this request; earlier ones may not have settled either.
                let earlier = self.settled_at.saturating_sub(now);
                self.settled_at = self.settled_at.max(now + decision.activate_after.max(old_in_flight));
                decision.activate_after = decision.activate_after.max(earlier);
            }
        }
        (verdict, old.is_some())
    }
}
