//! A request and its decision, as JSON.

use serde::Serialize;
use wayleave_contracts::LatencyContract;
use wayleave_scheme_api::{Decision, Refusal};
use wayleave_schemes::admitted::AdmittedSet;
use wayleave_schemes::transition::StartTimes;
use wayleave_topology::Network;
use wayleave_units::Time;

use crate::context::{Context, routes};
use crate::event::RequestEvent;
use crate::sentences;
use crate::shapes::{self, BindingJson, HopJson, TermJson};
use crate::waits::longest_wait;

/// A latency contract that was decided.
#[derive(Clone, Copy)]
pub struct DecidedFlow<'a> {
    /// The requested contract.
    pub contract: &'a LatencyContract,
    /// Decision on it.
    pub decision: &'a Result<Decision, Refusal>,
    /// Start times of the contract and of the moves for it. `None`: at once, or at a controller's command.
    pub starts: Option<&'a StartTimes>,
    /// The event, and when it happened.
    pub event: Option<(RequestEvent, Time)>,
    /// `true` if the contract keeps its older terms when these do not fit.
    pub keeps_old_terms: bool,
}

impl DecidedFlow<'_> {
    /// Returns the text that follows the reason for a refusal.
    pub fn afterwards(&self) -> &'static str {
        if self.keeps_old_terms { "; the contract keeps its present terms" } else { "" }
    }
}

#[derive(Serialize)]
struct MoveJson<'a> {
    name: &'a str,
    from: Vec<HopJson<'a>>,
    to: Vec<HopJson<'a>>,
    /// Earliest time of the move, counted from the decision.
    after_ns: u64,
}

#[derive(Serialize)]
struct Reserved {
    rate_bps: u64,
    burst_bytes: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_frame_bytes: Option<u64>,
}

/// A request and its decision.
#[derive(Serialize)]
pub struct RequestJson<'a> {
    name: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    event: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    at_ns: Option<u64>,
    tenant: Option<&'a str>,
    from: &'a str,
    to: &'a str,
    rate_bps: u64,
    burst_bytes: u64,
    deadline_ns: u64,
    /// Number of disjoint routes, if several are requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    protection: Option<u8>,
    decision: &'static str,
    reason: Option<&'static str>,
    message: Option<String>,
    reserved: Option<Reserved>,
    route: Option<Vec<HopJson<'a>>>,
    bound_ns: Option<u64>,
    /// The longest that a packet waits for tokens on a Linux host before that, if it exceeds the contract.
    #[serde(skip_serializing_if = "Option::is_none")]
    longest_wait_ns: Option<u64>,
    terms: Vec<TermJson<'a>>,
    /// The further routes of a protected contract.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    copies: Vec<CopyJson<'a>>,
    /// Elements shared by the routes of a protected contract: links and switches whose failure is not survived.
    #[serde(skip_serializing_if = "Option::is_none")]
    shared: Option<Vec<&'a str>>,
    moved: Vec<MoveJson<'a>>,
    activate_after_ns: Option<u64>,
    /// Of a change: until then its sender keeps to the old terms, counted from the decision.
    #[serde(skip_serializing_if = "Option::is_none")]
    old_terms_end_after_ns: Option<u64>,
    binding: Option<BindingJson<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    other_bindings: Vec<BindingJson<'a>>,
    /// For a refusal: the route on which the binding promise would break, or which takes too long.
    #[serde(skip_serializing_if = "Option::is_none")]
    tried: Option<Vec<HopJson<'a>>>,
    /// For a refusal of protection: the number of disjoint routes, and the elements that separate the hosts.
    #[serde(skip_serializing_if = "Option::is_none")]
    disjoint: Option<DisjointJson<'a>>,
    /// For a refusal of protection: which of the disjoint routes has no room, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    copy: Option<u8>,
}

/// One of the further routes of a protected contract.
#[derive(Serialize)]
struct CopyJson<'a> {
    route: Vec<HopJson<'a>>,
    bound_ns: u64,
    terms: Vec<TermJson<'a>>,
}

/// Number of disjoint routes, regardless of the admitted contracts.
#[derive(Serialize)]
struct DisjointJson<'a> {
    most: u8,
    cut: Vec<&'a str>,
}

impl<'a> RequestJson<'a> {
    /// Of a contract and its verdict.
    pub fn of(context: &Context<'a>, decided: &DecidedFlow<'a>) -> Self {
        let (contract, network) = (decided.contract, context.network);
        let mut shape = Self {
            name: &contract.name,
            event: decided.event.map(|(kind, _)| kind.name()),
            at_ns: decided.event.map(|(_, at)| at.as_nanos()),
            tenant: contract.tenant.as_deref(),
            from: sentences::name(network, contract.from),
            to: sentences::name(network, contract.to),
            rate_bps: contract.rate.bits_per_second(),
            burst_bytes: contract.burst.get(),
            deadline_ns: contract.deadline.as_nanos(),
            protection: Some(contract.protection).filter(|&routes| routes > 1),
            decision: "admitted",
            reason: None,
            message: None,
            reserved: None,
            route: None,
            bound_ns: None,
            longest_wait_ns: None,
            terms: Vec::new(),
            copies: Vec::new(),
            shared: None,
            moved: Vec::new(),
            activate_after_ns: None,
            old_terms_end_after_ns: None,
            binding: None,
            other_bindings: Vec::new(),
            tried: None,
            disjoint: None,
            copy: None,
        };
        match decided.decision {
            Ok(decision) => {
                shape.reserved = context.scheme.held(decision.flow).map(|held| Reserved {
                    rate_bps: held.demand.rate.bits_per_second(),
                    burst_bytes: held.demand.burst.get(),
                    max_frame_bytes: held.demand.max_frame.map(|frame| frame.get()),
                });
                shape.route = Some(shapes::hops(network, &decision.route));
                shape.bound_ns = Some(decision.bound.as_nanos());
                shape.longest_wait_ns = longest_wait(context, decision).map(Time::as_nanos);
                shape.terms = shapes::terms(network, &context.scheme.terms(decision.flow));
                let starts = decided.starts.map_or(&[][..], |starts| &starts.moves);
                shape.moved = decision
                    .moved
                    .iter()
                    .zip(starts.iter().chain(std::iter::repeat(&Time::ZERO)))
                    .map(|(moved, after)| MoveJson {
                        name: context.names.name_of(moved.flow),
                        from: shapes::hops(network, &moved.from),
                        to: shapes::hops(network, &moved.to),
                        after_ns: after.as_nanos(),
                    })
                    .collect();
                shape.protect(context, decision);
                let start = decided.starts.map_or(Time::ZERO, |starts| starts.flow);
                shape.activate_after_ns = Some(start.as_nanos());
                shape.old_terms_end_after_ns = decision.handover.old_terms_end(start).map(Time::as_nanos);
            }
            Err(refusal) => shape.refuse(context, decided, refusal),
        }
        shape
    }

    /// Adds the further routes, and the elements that all of them share.
    fn protect(&mut self, context: &Context<'a>, decision: &Decision) {
        if decision.copies.is_empty() {
            return;
        }
        let network = context.network;
        let of_copy = |route| context.scheme.queues().map_or_else(Vec::new, |placement| placement.terms(route));
        let copies = decision.copies.iter().map(|copy| CopyJson {
            route: shapes::hops(network, &copy.route),
            bound_ns: copy.bound.as_nanos(),
            terms: shapes::terms(network, &of_copy(&copy.route)),
        });
        self.copies = copies.collect();
        let shared = wayleave_schemes::protection::shared(network, &routes(decision));
        self.shared = Some(shared.into_iter().map(|element| network.element_name(element)).collect());
    }

    fn refuse(&mut self, context: &Context<'a>, decided: &DecidedFlow<'a>, refusal: &Refusal) {
        self.decision = "refused";
        self.reason = Some(refusal.reason().code());
        let clause = sentences::refusal(context.network, decided.contract, refusal);
        self.message = Some(sentences::sentence(&(clause + decided.afterwards())));
        self.obstacle(context.network, refusal);
    }

    fn obstacle(&mut self, network: &'a Network, refusal: &Refusal) {
        match refusal {
            Refusal::Copy { copy, refusal, .. } => {
                self.copy = Some(*copy);
                self.obstacle(network, refusal);
            }
            Refusal::TooFewDisjoint { most, cut, .. } => {
                let cut = cut.iter().map(|&element| network.element_name(element)).collect();
                self.disjoint = Some(DisjointJson { most: *most, cut });
            }
            Refusal::Blocked { route, binding, others } => {
                self.tried = Some(shapes::hops(network, route));
                self.binding = Some(shapes::binding(network, binding));
                self.other_bindings = others.iter().map(|other| shapes::binding(network, other)).collect();
            }
            Refusal::TooSlow { route, .. } => self.tried = Some(shapes::hops(network, route)),
            _ => {}
        }
    }
}
