//! A session: one network, one model, one scheme, and contracts that are decided sequentially. `plan` and `explain`
//! share it.

use std::sync::Arc;
use std::time::{Duration, Instant};

use wayleave_contracts::{Contract, LatencyContract};
use wayleave_explain::sentences::route_name;
use wayleave_explain::{Context, Names, SettingsJson};
use wayleave_ledger::{BestEffort, Denial, Ledger, Model, PortInput, QueueLimitKind, Reservation, ShareDenial};
use wayleave_scheme_api::{Admission, Decision, Refusal, Request, ShareDecision};
use wayleave_schemes::admitted::AdmittedSet;
use wayleave_schemes::placement::Placement;
use wayleave_schemes::registry::Scheme;
use wayleave_schemes::replay::{PlannedDecision, ReplayError};
use wayleave_schemes::share_request;
use wayleave_schemes::transition::{StartTimes, Timeline};
use wayleave_topology::{FlowId, LinkId, NodeKind, Route, ShareId};
use wayleave_units::{Amount, Human, Rate, Time};

use crate::error::Error;
use crate::network::Network;
use crate::schemes::{PlanOptions, SchemeOptions};

/// A network with its admitted contracts.
pub struct Session {
    pub(crate) topology: String,
    pub(crate) network: Arc<wayleave_topology::Network>,
    pub(crate) model: Model,
    /// The scheme, with everything that it has admitted.
    pub(crate) scheme: Scheme,
    pub(crate) options: SchemeOptions,
    pub(crate) settings: SettingsJson,
    /// Per flow, whose it is; indices of ended flows are used again.
    names: Vec<String>,
    /// Per share, whose it is.
    share_names: Vec<String>,
    /// Traffic in flight; `None` if decisions do not wait for it.
    timeline: Option<Timeline>,
    /// Time of the next decision.
    now: Time,
}

/// Outcome of a request.
#[non_exhaustive]
pub struct RequestOutcome {
    /// Request to the scheme.
    pub request: Request,
    /// Answer of the scheme.
    pub decision: Result<Decision, Refusal>,
    /// Times when the flow, and the flows that are moved for it, may start.
    pub starts: StartTimes,
    /// Time that the scheme needed.
    pub time: Duration,
}

impl Names for Session {
    fn name_of(&self, flow: FlowId) -> &str {
        self.name_of(flow)
    }

    fn name_of_share(&self, share: ShareId) -> &str {
        self.name_of_share(share)
    }
}

impl Session {
    /// With nothing admitted.
    ///
    /// # Errors
    /// If the scheme cannot be set up on this network.
    pub fn open(network: &Network, options: &PlanOptions) -> Result<Self, Error> {
        let PlanOptions { scheme: options, model } = options.clone();
        let scheme = options.scheme(&network.graph, model)?;
        let settings = options.settings()?;
        Ok(Self { options, settings, ..Self::with_scheme(network, model, scheme) })
    }

    /// With a scheme that a program has made and that is in no list; documents give its name without settings.
    pub fn with_scheme(network: &Network, model: Model, scheme: Scheme) -> Self {
        let Network { name, graph } = network.clone();
        let settings = SettingsJson { name: scheme.name(), settings: Vec::new() };
        Self {
            topology: name,
            network: graph,
            model,
            scheme,
            options: SchemeOptions::default(),
            settings,
            names: Vec::new(),
            share_names: Vec::new(),
            timeline: Some(Timeline::default()),
            now: Time::ZERO,
        }
    }

    /// Returns the name of the topology.
    pub fn topology(&self) -> &str {
        &self.topology
    }

    /// Returns the network.
    pub fn network(&self) -> &Arc<wayleave_topology::Network> {
        &self.network
    }

    /// Returns the network model.
    pub fn model(&self) -> &Model {
        &self.model
    }

    /// Returns the scheme, with everything that it has admitted.
    pub fn scheme(&self) -> &Scheme {
        &self.scheme
    }

    /// Returns the scheme, for requests that belong to no contract. The session does not know the names of flows that are admitted this way.
    pub fn scheme_mut(&mut self) -> &mut Scheme {
        &mut self.scheme
    }

    /// Returns the options of the scheme.
    pub fn options(&self) -> &SchemeOptions {
        &self.options
    }

    /// Returns name and settings of the scheme, for documents.
    pub fn settings(&self) -> &SettingsJson {
        &self.settings
    }

    /// Sets the time of the next decision: not before earlier ones. The initial time is 0.
    pub fn set_time(&mut self, now: Time) {
        self.now = self.now.max(now);
    }

    /// Stops waiting for packets in flight from now on, as in the publications.
    pub fn ignore_packets_in_flight(&mut self) {
        self.timeline = None;
    }

    /// The network with its name.
    pub fn to_network(&self) -> Network {
        Network { name: self.topology.clone(), graph: self.network.clone() }
    }

    /// Returns the reservations of each queue, for schemes that reserve by queue.
    pub fn ledger(&self) -> Option<&Ledger> {
        self.scheme.queues().map(Placement::ledger)
    }

    /// Returns the scheme's request for a contract.
    pub fn request(&self, contract: &LatencyContract) -> Request {
        wayleave_schemes::request(contract, &self.model)
    }

    /// Admits or refuses a contract.
    pub fn admit(&mut self, contract: &LatencyContract) -> RequestOutcome {
        let request = self.request(contract);
        let start = Instant::now();
        let decision = self.scheme.admit(&request);
        let time = start.elapsed();
        self.remember(contract, &decision);
        let starts = self.starts(&decision, &[]);
        RequestOutcome { request, decision, starts, time }
    }

    /// Admits or refuses a contract of another kind than latency; for best effort nothing is reserved.
    ///
    /// # Errors
    /// The binding constraint.
    pub fn admit_share(&mut self, contract: &Contract) -> (Result<Option<ShareDecision>, Refusal>, Duration) {
        let start = Instant::now();
        let decision = share_request(contract).map(|request| self.scheme.admit_share(&request)).transpose();
        let time = start.elapsed();
        if let Ok(Some(decision)) = &decision {
            self.name_share(decision.share, contract.name());
        }
        (decision, time)
    }

    /// Returns the time after the decision when an admitted share may start: when earlier traffic has left its links.
    /// `None` if the session does not wait for packets in flight.
    pub fn share_start(&self, share: ShareId) -> Option<Time> {
        let timeline = self.timeline.as_ref()?;
        let ledger = self.ledger()?;
        let links = ledger.share(share).map(|share| ledger.links_of_share(share))?;
        Some(timeline.start_share(self.now, &links))
    }

    /// Returns the time for which packets of a share can be on its links once its senders have stopped.
    pub(crate) fn share_drain(&self, share: ShareId) -> Time {
        let drain = |ledger: &Ledger| Some(ledger.share_drain(ledger.share(share)?));
        self.ledger().and_then(drain).unwrap_or(Time::ZERO)
    }

    /// Gives up what a share holds for other terms: it is free, and shares that start on its links wait until its last packets have left
    /// them.
    fn replace_share(&mut self, share: ShareId) {
        let left = self.ledger().and_then(|ledger| {
            let held = ledger.share(share)?;
            Some((ledger.links_of_share(held), ledger.share_drain(held)))
        });
        if let (Some((links, drain)), Some(timeline)) = (left, &mut self.timeline) {
            timeline.leave_share(&links, self.now.checked_add(drain).unwrap_or(Time::MAX));
        }
        self.scheme.release_share(share);
    }

    /// Gives new terms to a contract of another kind than latency, or leaves it unchanged. Its old reservation does
    /// not count against the new terms. A refusal is returned with the current reservation.
    pub(crate) fn change_share(
        &mut self,
        old: Option<ShareId>,
        contract: &Contract,
    ) -> (Result<Option<ShareDecision>, Refusal>, Duration, Option<ShareId>) {
        let before = old.and_then(|id| self.ledger()?.share(id).cloned());
        let timeline = self.timeline.clone();
        old.into_iter().for_each(|id| self.replace_share(id));
        let (decision, time) = self.admit_share(contract);
        if decision.is_err() {
            self.timeline = timeline;
        }
        let again = before.filter(|_| decision.is_err());
        let kept = again.and_then(|share| self.scheme.queues_mut()?.put_share_back(share));
        if let Some(kept) = kept {
            self.name_share(kept, contract.name());
        }
        (decision, time, kept)
    }

    /// Holds a minimum of the guaranteed class on a link for a policy; nothing for a minimum of zero, and where there are no classes.
    pub(crate) fn hold_minimum(
        &mut self,
        link: LinkId,
        min: Rate,
        policy: &str,
    ) -> Result<Option<ShareId>, ShareDenial> {
        let Some(placement) = self.scheme.queues_mut().filter(|_| min > Rate::ZERO) else { return Ok(None) };
        let share = placement.hold_minimum(link, min)?;
        share.into_iter().for_each(|share| self.name_share(share, &format!("policy {policy}")));
        Ok(share)
    }

    pub(crate) fn release_minimum(&mut self, share: ShareId) {
        self.scheme.release_share(share);
    }

    fn name_share(&mut self, share: ShareId, name: &str) {
        let index = share.index();
        if self.share_names.len() <= index {
            self.share_names.resize(index + 1, String::new());
        }
        name.clone_into(&mut self.share_names[index]);
    }

    /// The contract that a share belongs to.
    pub fn name_of_share(&self, share: ShareId) -> &str {
        self.share_names.get(share.index()).map_or("", String::as_str)
    }

    /// Admits a contract without a reason for a refusal and without start times; returns `true` if it was admitted.
    pub fn try_admit(&mut self, contract: &LatencyContract) -> bool {
        let request = self.request(contract);
        let decision = self.scheme.try_admit(&request);
        let is_admitted = decision.is_some();
        if let Some(decision) = decision {
            let decision = Ok(decision);
            self.remember(contract, &decision);
            self.starts(&decision, &[]);
        }
        is_admitted
    }

    /// Puts a decision in place that was made before; its flow. After an error the session is of no more use.
    ///
    /// # Errors
    /// Why it cannot have been made here.
    pub(crate) fn decide_as_stated(
        &mut self,
        contract: &LatencyContract,
        stated: &PlannedDecision,
    ) -> Result<FlowId, ReplayError> {
        let request = self.request(contract);
        let Some(placement) = self.scheme.queues_mut() else { return Err(ReplayError::Refused(Refusal::Disconnected)) };
        let decision = placement.decide_as_stated(&request, stated)?;
        let flow = decision.flow;
        let decision = Ok(decision);
        self.remember(contract, &decision);
        self.starts(&decision, &[]);
        Ok(flow)
    }

    /// Gives an admitted flow the terms of a contract, or leaves it with its own; `None` if there is no such flow.
    pub fn change(&mut self, flow: FlowId, contract: &LatencyContract) -> Option<RequestOutcome> {
        let request = self.request(contract);
        let held = |flow| self.scheme.held(flow).map(|held| (held.route.clone(), held.bound));
        let old: Vec<(Route, Time)> = self.scheme.routes_of(flow).into_iter().filter_map(held).collect();
        let start = Instant::now();
        let decision = self.scheme.change(flow, &request)?;
        let time = start.elapsed();
        self.remember(contract, &decision);
        let starts = self.starts(&decision, &old);
        Some(RequestOutcome { request, decision, starts, time })
    }

    fn starts(&mut self, decision: &Result<Decision, Refusal>, given_up: &[(Route, Time)]) -> StartTimes {
        let (Ok(decision), Some(timeline)) = (decision, &mut self.timeline) else {
            let moves = decision.as_ref().map_or(0, |decision| decision.moved.len());
            return StartTimes { moves: vec![Time::ZERO; moves], flow: Time::ZERO };
        };
        // Only schemes with queues move flows.
        let bound = |route: &Route| self.scheme.queues().map_or(Time::ZERO, |placement| placement.bound(route));
        timeline.decide(self.now, decision, given_up, bound)
    }

    fn remember(&mut self, contract: &LatencyContract, decision: &Result<Decision, Refusal>) {
        let Ok(decision) = decision else { return };
        for flow in std::iter::once(decision.flow).chain(decision.copies.iter().map(|copy| copy.flow)) {
            let index = flow.index();
            if self.names.len() <= index {
                self.names.resize(index + 1, String::new());
            }
            self.names[index].clone_from(&contract.name);
        }
    }

    /// The contract that an admitted flow belongs to.
    pub fn name_of(&self, flow: FlowId) -> &str {
        self.names.get(flow.index()).map_or("", String::as_str)
    }

    /// Returns the context of queries.
    pub fn context(&self) -> Context<'_> {
        Context { network: &self.network, model: &self.model, scheme: &self.scheme, names: self }
    }

    /// The contract that an admitted flow belongs to, with the number of the route if it is a further one.
    pub fn route_name(&self, flow: FlowId) -> String {
        let routes = self.scheme.routes_of(flow);
        route_name(self.name_of(flow), routes.iter().position(|&one| one == flow).unwrap_or(0))
    }

    /// The contracts that are admitted, each by its flows: one for each of its routes.
    pub fn admitted(&self) -> impl Iterator<Item = Vec<FlowId>> {
        let flows = self.scheme.flows().into_iter().map(|flow| (flow, self.scheme.routes_of(flow)));
        flows.filter(|(flow, routes)| routes.first() == Some(flow)).map(|(_, routes)| routes)
    }

    /// Returns the reservations of an admitted flow's contract, one for each of its routes, the longest first.
    pub fn reservations(&self, flow: FlowId) -> Vec<Reservation> {
        let Some(ledger) = self.ledger() else { return Vec::new() };
        self.scheme.routes_of(flow).into_iter().filter_map(|flow| ledger.flow(flow).cloned()).collect()
    }

    /// Returns warnings about the network before contracts are decided: ports that contracts cannot use.
    pub fn warnings(&self) -> Vec<String> {
        [self.useless_ports(), self.slow_ports()].into_iter().flatten().collect()
    }

    /// A port without a queue for contracts is mostly an oversight: best effort has taken its only one.
    fn useless_ports(&self) -> Option<String> {
        let ledger = self.ledger()?;
        let useless = |kind| {
            let mut links = self.network.links();
            links.find(|&(id, link)| self.network.node(link.from).kind == kind && ledger.budgets(id).len() == 0)
        };
        let (id, link) = useless(NodeKind::Switch).or_else(|| useless(NodeKind::Host))?;
        let taken = self.model.best_effort == BestEffort::LowestQueue && self.network.queues(id).len() == 1;
        let what_to_do = if taken {
            "its only queue is reserved for best effort: give the port more queues, or add --best-effort off"
        } else {
            "none of its queues has a delay budget: give it one in the topology, or with --budgets or --host-budget"
        };
        Some(format!("contracts cannot use {}: {what_to_do}", link.name))
    }

    /// A budget is a time, and frames take longer on slow links: there the highest queue may be out of reach for every
    /// contract, also in an empty network.
    fn slow_ports(&self) -> Option<String> {
        let ledger = self.ledger()?;
        let smallest = (Rate::from_bits_per_second(1), Amount::from_nanobits(0));
        let out_of_reach = |id| {
            ledger.budgets(id).next()?;
            ledger.denial(id, 0, PortInput::LOCAL, smallest.0, smallest.1)
        };
        let mut slow = self.network.links().filter_map(|(id, link)| Some((link, out_of_reach(id)?)));
        let Some((link, Denial { limit: QueueLimitKind::Delay { bound, budget }, .. })) = slow.next() else {
            return None;
        };
        let others = match slow.count() {
            0 => String::new(),
            1 => " and of one more port".to_owned(),
            count => format!(" and of {count} more ports"),
        };
        Some(format!(
            "queue 0 of {}{others} is unusable for contracts: one packet alone may need {}, above the delay budget of {budget:#}. Set larger budgets for slow links in the topology (`budgets`) or with --budgets",
            link.name,
            bound.up()
        ))
    }
}
