//! Log of the senders' routes and times while a plan is decided: input of the independent calculator.

use std::collections::{BTreeSet, HashMap};

use wayleave_explain::{DecidedContract, DecidedFlow, DecidedShare, promised_share, share_times};
use wayleave_recheck::{
    PromisedFlow, RouteLifetime, ShareLifetime, ShareTerms, ShareTransitions, Transitions, check_share_transitions,
    check_transitions_watched,
};
use wayleave_scheme_api::{Decision, Handover};
use wayleave_schemes::admitted::AdmittedSet;
use wayleave_topology::{FlowId, Route};
use wayleave_units::Time;

use super::sink::Sink;
use super::summary::Released;
use crate::error::Error;
use crate::progress::{ProgressStep, Watch};
use crate::session::Session;

/// Records the instructions to senders, and passes every decision to another sink.
pub struct ReservationLog<S> {
    sink: S,
    stays: Vec<RouteLifetime>,
    /// By flow, its latest stay.
    of_flow: HashMap<FlowId, usize>,
    /// By contract, its flows.
    of_contract: HashMap<String, Vec<FlowId>>,
    shares: Vec<ShareLifetime>,
    /// By contract, the latest stay of its share.
    of_sharer: HashMap<String, usize>,
}

impl<S> ReservationLog<S> {
    /// Returns a log without instructions.
    pub fn new(sink: S) -> Self {
        let (of_flow, of_contract, of_sharer) = (HashMap::new(), HashMap::new(), HashMap::new());
        Self { sink, stays: Vec::new(), of_flow, of_contract, shares: Vec::new(), of_sharer }
    }

    /// The sink behind.
    pub fn into_inner(self) -> S {
        self.sink
    }

    /// Checks that everything that can be in flight at once fits, at every moment; `None` for schemes that reserve no queues.
    pub fn check(&self, session: &Session, watch: &mut Watch<'_>) -> Option<Transitions> {
        let claim = wayleave_explain::claim(&session.context())?;
        Some(check_transitions_watched(&claim, &self.stays, &mut |done, total| {
            watch.step(ProgressStep::Items { done, total })
        }))
    }

    /// Checks that minima and weights fit at every moment, beside all latency flows that can have packets on their links; `None` where
    /// there are no shares.
    pub fn check_shares(&self, session: &Session, watch: &mut Watch<'_>) -> Option<ShareTransitions> {
        if self.shares.is_empty() {
            return None;
        }
        let context = session.context();
        let (claim, times) = (wayleave_explain::claim(&context)?, share_times(&context)?);
        let closed = BTreeSet::new();
        let terms = ShareTerms { classes: session.network.classes()?, closed: &closed, times: &times };
        let mut progress = |done, total| watch.step(ProgressStep::Items { done, total });
        Some(check_share_transitions(&claim, &terms, &self.stays, &self.shares, &mut progress))
    }

    fn follow_share(&mut self, session: &Session, decided: &DecidedShare<'_>) {
        let Ok(Some(decision)) = decided.decision else { return };
        let now = decided.event.map_or(Time::ZERO, |(_, at)| at);
        let name = decided.contract.name();
        self.leave_share(name, now);
        let share = session.ledger().and_then(|ledger| ledger.share(decision.share));
        let Some(mut share) = share.and_then(|share| promised_share(&session.context(), decision.share, share)) else {
            return;
        };
        // Certainty depends on later contracts; it is checked in the end.
        share.certainty = None;
        let from = now + decided.start.unwrap_or(Time::ZERO);
        self.of_sharer.insert(name.to_owned(), self.shares.len());
        self.shares.push(ShareLifetime { share, from, until: None });
    }

    fn leave_share(&mut self, name: &str, at: Time) {
        if let Some(stay) = self.of_sharer.remove(name) {
            self.shares[stay].until = Some(at);
        }
    }

    fn leave(&mut self, flow: FlowId, at: Time) {
        if let Some(&stay) = self.of_flow.get(&flow) {
            self.stays[stay].until = Some(at);
        }
    }

    fn take(&mut self, flow: FlowId, promised: PromisedFlow, from: Time, previous: Option<usize>) {
        self.of_flow.insert(flow, self.stays.len());
        self.stays.push(RouteLifetime { flow: promised, from, until: None, previous });
    }

    fn follow(&mut self, session: &Session, decided: &DecidedFlow<'_>, decision: &Decision) {
        let now = decided.event.map_or(Time::ZERO, |(_, at)| at);
        let after = |moved: usize| decided.starts.and_then(|starts| starts.moves.get(moved).copied());
        let start = now + decided.starts.map_or(Time::ZERO, |starts| starts.flow);
        let name = &decided.contract.name;
        let given_up = self.of_contract.remove(name).unwrap_or_default();
        if decision.handover == Handover::Instead {
            given_up.iter().for_each(|&flow| self.leave(flow, now));
        }
        for (number, moved) in decision.moved.iter().enumerate() {
            let at = now + after(number).unwrap_or(Time::ZERO);
            self.leave(moved.flow, at);
            if let Some(flow) = promised(session, moved.flow, session.name_of(moved.flow), &moved.to) {
                let previous = self.of_flow.get(&moved.flow).copied();
                self.take(moved.flow, flow, at, previous);
            }
        }
        if decision.handover == Handover::Beside {
            given_up.iter().for_each(|&flow| self.leave(flow, start));
        }
        let first = std::iter::once((decision.flow, &decision.route));
        let routes = first.chain(decision.copies.iter().map(|copy| (copy.flow, &copy.route)));
        let mut flows = Vec::new();
        for (flow, route) in routes {
            if let Some(promised) = promised(session, flow, name, route) {
                self.take(flow, promised, start, None);
                flows.push(flow);
            }
        }
        self.of_contract.insert(name.clone(), flows);
    }
}

/// A flow with its bucket, on a route.
fn promised(session: &Session, flow: FlowId, name: &str, route: &Route) -> Option<PromisedFlow> {
    let held = session.scheme.held(flow)?;
    let (first, last) = (route.hops.first()?, route.hops.last()?);
    Some(PromisedFlow {
        name: name.to_owned(),
        from: session.network.link(first.link).from,
        to: session.network.link(last.link).to,
        route: route.clone(),
        covered: 0,
        rate: held.demand.rate,
        burst: held.demand.burst,
        deadline: held.deadline,
        promised_bound: held.bound,
    })
}

impl<S: Sink> Sink for ReservationLog<S> {
    fn decided(&mut self, session: &Session, decided: &DecidedContract<'_>) -> Result<(), Error> {
        match decided {
            DecidedContract::Flow(flow) => {
                if let Ok(decision) = flow.decision {
                    self.follow(session, flow, decision);
                }
            }
            DecidedContract::Share(share) => self.follow_share(session, share),
        }
        self.sink.decided(session, decided)
    }

    fn released(&mut self, released: &Released<'_>) -> Result<(), Error> {
        self.leave_share(released.name, released.at);
        for flow in self.of_contract.remove(released.name).unwrap_or_default() {
            self.leave(flow, released.at);
        }
        self.sink.released(released)
    }
}
