//! Contracts about bandwidth, objectives and best effort: what became of them, as sentences and JSON.

use serde::Serialize;
use wayleave_contracts::{BandwidthContract, BestEffortContract, Contract, ContractKind, Endpoints};
use wayleave_scheme_api::{Certainty, Refusal, ShareDecision};
use wayleave_schemes::share_request;
use wayleave_topology::{Network, NodeId};
use wayleave_units::Time;

use crate::event::RequestEvent;
use crate::human::Human;
use crate::sentences;
use crate::shapes::HopJson;

/// A contract of another kind than latency that was decided.
#[derive(Clone, Copy)]
pub struct DecidedShare<'a> {
    /// The requested contract.
    pub contract: &'a Contract,
    /// Decision on it; nothing is reserved for best effort.
    pub decision: &'a Result<Option<ShareDecision>, Refusal>,
    /// Earliest start, counted from the decision; `None` if packets in flight are not waited for.
    pub start: Option<Time>,
    /// Among events, which and when.
    pub event: Option<(RequestEvent, Time)>,
}

impl DecidedShare<'_> {
    /// Returns the end points: `h1 -> h9`, `h1, h5, h9`, or `h1, h2, h3 and 5 more`.
    pub fn ends(&self, network: &Network) -> String {
        const SHOWN: usize = 4;
        let name = |node: &NodeId| network.node(*node).name.clone();
        let members = match self.contract {
            Contract::Latency(contract) => return format!("{} -> {}", name(&contract.from), name(&contract.to)),
            Contract::Bandwidth(contract) => match &contract.between {
                Endpoints::Pair(from, to) => return format!("{} -> {}", name(from), name(to)),
                Endpoints::Hose(members) => members,
            },
            Contract::Objective(contract) => &contract.members,
            Contract::BestEffort(contract) => &contract.members,
        };
        let shown: Vec<String> = members.iter().take(SHOWN).map(name).collect();
        match members.len().saturating_sub(SHOWN) {
            0 => shown.join(", "),
            more => format!("{} and {more} more", shown.join(", ")),
        }
    }

    /// Returns the promise, or the reason for the refusal, in one clause.
    pub fn sentence(&self, network: &Network) -> String {
        match self.decision {
            Ok(decision) => promise(network, self.contract, decision.as_ref()),
            Err(refused) => sentences::class_refusal(network, refused),
        }
    }
}

/// Returns the promise to an admitted contract, and its certainty.
fn promise(network: &Network, contract: &Contract, decision: Option<&ShareDecision>) -> String {
    let Some(decision) = decision else {
        let unused = "no guarantee: it gets the capacity that other classes leave unused";
        return match contract {
            Contract::BestEffort(BestEffortContract { max: Some(max), .. }) => {
                format!("{unused}; each member sends at most {} to all others together", max.up())
            }
            _ => unused.to_owned(),
        };
    };
    let word = Certainty::OF_TIMES.name();
    let within = decision
        .within
        .map(|within| format!(", reached within {} ({word}, not guaranteed)", within.up()))
        .unwrap_or_default();
    match contract {
        Contract::Bandwidth(bandwidth) => {
            let (min, above) = (bandwidth.min.down(), above(bandwidth));
            match (&decision.route, decision.certainty) {
                (Some(route), _) => format!("{min}{within}{above}: {}", sentences::route(network, route)),
                (None, Certainty::Proven) => {
                    format!(
                        "{min} to and from each{within}{above}: it fits on every link, for any traffic matrix and any choice of paths"
                    )
                }
                (None, Certainty::Measured) => format!(
                    "{min} to and from each{within}{above}: it fits on every link if hosts spread their pairs over the paths (measured, not guaranteed)"
                ),
            }
        }
        Contract::Objective(objective) => {
            format!("a share of at least {} of every link between them, while all weights fit", objective.min.down())
        }
        Contract::Latency(_) | Contract::BestEffort(_) => String::new(),
    }
}

/// Returns the terms of a bandwidth contract above its minimum.
fn above(contract: &BandwidthContract) -> String {
    let max = contract.max.map(|max| format!(", at most {}", max.up()));
    let weight = contract.weight.map(|weight| format!(", weight {weight} for the remaining capacity"));
    max.into_iter().chain(weight).collect()
}

/// A contract of another kind than latency and its decision, as JSON.
#[derive(Serialize)]
pub struct ShareJson<'a> {
    name: &'a str,
    kind: &'static str,
    tenant: Option<&'a str>,
    class: &'static str,
    members: Vec<&'a str>,
    /// Of bandwidth: `pair` (its members are sender and receiver) or `hose`.
    #[serde(skip_serializing_if = "Option::is_none")]
    between: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    objective: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    deadline_ns: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    min_bps: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_bps: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    weight: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    within_ns: Option<u64>,
    decision: &'static str,
    reason: Option<&'static str>,
    message: Option<String>,
    /// `proven` or `measured`.
    #[serde(skip_serializing_if = "Option::is_none")]
    certainty: Option<&'static str>,
    /// So soon after there is something to send the minimum is there.
    #[serde(skip_serializing_if = "Option::is_none")]
    there_within_ns: Option<u64>,
    /// The certainty of that time: `measured`.
    #[serde(skip_serializing_if = "Option::is_none")]
    there_within_certainty: Option<&'static str>,
    /// Earliest start, counted from the decision, when traffic that used its links before has left.
    #[serde(skip_serializing_if = "Option::is_none")]
    activate_after_ns: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    route: Option<Vec<HopJson<'a>>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    binding: Option<ShareBinding<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    event: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    at_ns: Option<u64>,
}

/// Link on which a share does not fit.
#[derive(Serialize)]
struct ShareBinding<'a> {
    link: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    asked_bps: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    left_bps: Option<u64>,
    /// As minimum.
    #[serde(skip_serializing_if = "Option::is_none")]
    fits_bps: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    bound_ns: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    budget_ns: Option<u64>,
}

impl<'a> ShareJson<'a> {
    /// Of a contract and its decision.
    pub fn of(network: &'a Network, decided: &DecidedShare<'a>) -> Self {
        let contract = decided.contract;
        let request = share_request(contract);
        let members = contract.hosts();
        let bandwidth = if let Contract::Bandwidth(bandwidth) = contract { Some(bandwidth) } else { None };
        let objective = if let Contract::Objective(objective) = contract { Some(objective) } else { None };
        let max = match contract {
            Contract::Bandwidth(bandwidth) => bandwidth.max,
            Contract::BestEffort(best_effort) => best_effort.max,
            Contract::Latency(_) | Contract::Objective(_) => None,
        };
        let admitted = decided.decision.as_ref().ok().and_then(Option::as_ref);
        let refused = decided.decision.as_ref().err();
        Self {
            name: contract.name(),
            kind: match contract.kind() {
                ContractKind::BestEffort => "best-effort",
                kind => kind.name(),
            },
            tenant: contract.tenant(),
            class: contract.kind().class().name(),
            members: members.iter().map(|&host| network.node(host).name.as_str()).collect(),
            between: bandwidth.map(|bandwidth| match bandwidth.between {
                Endpoints::Pair(..) => "pair",
                Endpoints::Hose(_) => "hose",
            }),
            objective: objective.map(|objective| objective.objective.name()),
            deadline_ns: objective.and_then(|objective| objective.deadline).map(|deadline| deadline.as_nanos()),
            max_bps: max.map(|max| max.bits_per_second()),
            weight: bandwidth.and_then(|bandwidth| bandwidth.weight).map(|weight| weight.get()),
            min_bps: request.as_ref().map(|request| request.min.bits_per_second()),
            within_ns: request.and_then(|request| request.within).map(|within| within.as_nanos()),
            decision: if refused.is_some() { "refused" } else { "admitted" },
            reason: refused.map(|refusal| refusal.reason().code()),
            message: refused.map(|refusal| sentences::class_refusal(network, refusal)),
            certainty: admitted.map(|decision| decision.certainty.name()),
            there_within_ns: admitted.and_then(|decision| decision.within).map(|within| within.as_nanos()),
            there_within_certainty: admitted
                .filter(|decision| decision.within.is_some())
                .map(|_| Certainty::OF_TIMES.name()),
            activate_after_ns: decided.start.filter(|_| admitted.is_some()).map(Time::as_nanos),
            route: admitted
                .and_then(|decision| decision.route.as_ref())
                .map(|route| crate::shapes::hops(network, route)),
            binding: refused.and_then(|refusal| ShareBinding::of(network, refusal)),
            event: decided.event.map(|(kind, _)| kind.name()),
            at_ns: decided.event.map(|(_, at)| at.as_nanos()),
        }
    }
}

impl<'a> ShareBinding<'a> {
    fn of(network: &'a Network, refusal: &Refusal) -> Option<Self> {
        let none = |link| Self {
            link: &network.link(link).name,
            asked_bps: None,
            left_bps: None,
            fits_bps: None,
            bound_ns: None,
            budget_ns: None,
        };
        match *refusal {
            Refusal::ClassRate { link, asked, left, fits, .. } => Some(Self {
                asked_bps: Some(asked.bits_per_second()),
                left_bps: Some(left.bits_per_second()),
                fits_bps: Some(fits.bits_per_second()),
                ..none(link)
            }),
            Refusal::ClassDelay { link, bound, budget } => {
                Some(Self { bound_ns: Some(bound.as_nanos()), budget_ns: Some(budget.as_nanos()), ..none(link) })
            }
            Refusal::LinkDown { link } => Some(none(link)),
            _ => None,
        }
    }
}
