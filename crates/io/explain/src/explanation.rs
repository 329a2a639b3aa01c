//! Complete explanation of one decision.

use serde::Serialize;
use wayleave_contracts::{Accounting, LatencyContract};
use wayleave_ledger::Model;
use wayleave_scheme_api::{Binding, Decision, Refusal, Request};
use wayleave_schemes::admitted::AdmittedSet;
use wayleave_schemes::registry::Scheme;
use wayleave_schemes::reservations::{PathOutcome, PathTried, ShortestPathSurvey, paths};
use wayleave_schemes::routing::RouteQuery;
use wayleave_schemes::suggest::{self, NearestRequest};
use wayleave_schemes::transition::StartTimes;
use wayleave_topology::{LinkId, Network, Route};
use wayleave_units::{Bytes, Rate};

use crate::context::{Context, routes};
use crate::request::{DecidedFlow, RequestJson};
use crate::schemes::GrantedShares;
use crate::sentences;
use crate::shapes::{self, BindingJson, HopJson, QueueJson};

/// Maximum number of paths that are inspected for a refusal.
const MAX_PATHS: usize = 16;

/// A decision with all that explains it.
pub struct Explained<'a> {
    /// The requested contract.
    pub contract: &'a LatencyContract,
    /// The same in wire bytes.
    pub request: &'a Request,
    /// Decision on it; for a contract that is admitted already, see [`Context::admitted`].
    pub decision: &'a Result<Decision, Refusal>,
    /// Start times of the contract and of the moves for it. `None`: at once, or at a controller's command.
    pub starts: Option<&'a StartTimes>,
    /// Decisions on the contracts before it, if known.
    pub before: Option<EarlierDecisions>,
    /// For a refusal, what [`inspect_links`] found.
    pub refused: Option<&'a Refused>,
}

/// Numbers of earlier decisions.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct EarlierDecisions {
    /// Number of admitted contracts.
    pub admitted: u64,
    /// Number of refused contracts.
    pub refused: u64,
}

/// Details of a refusal.
#[derive(Clone, Debug)]
pub struct Refused {
    /// Promise that the contract would break in each queue of the blocking link, highest priority first.
    pub at_binding: Vec<Option<Binding>>,
    /// If the scheme reserves queues: the paths, each with the capacity of its queues.
    pub survey: Option<ShortestPathSurvey>,
    /// Nearest request that fits, in the contract's own accounting.
    pub nearest: NearestRequest,
}

/// Searches the paths, and the nearest request that fits. The scheme must be in the state in which it refused, and is
/// left in that state.
pub fn inspect_links(
    scheme: &mut Scheme,
    model: &Model,
    contract: &LatencyContract,
    request: &Request,
    refusal: &Refusal,
) -> Refused {
    let query = RouteQuery::of(request);
    let at_binding = at_binding(scheme, &query, refusal);
    let survey = scheme.queues().map(|placement| paths(placement, &query, MAX_PATHS));
    let nearest = suggest::nearest(scheme, request);
    Refused { at_binding, survey, nearest: in_terms_of(contract, model, nearest) }
}

/// Returns the nearest request that fits, in the contract's own accounting: the part of the result of [`inspect_links`]
/// that reveals nothing about other contracts.
pub fn nearest(scheme: &mut Scheme, model: &Model, contract: &LatencyContract, request: &Request) -> NearestRequest {
    in_terms_of(contract, model, suggest::nearest(scheme, request))
}

/// Enters every queue of the binding link in turn, on the route for which the refusal was found.
fn at_binding(scheme: &Scheme, query: &RouteQuery, refusal: &Refusal) -> Vec<Option<Binding>> {
    let Refusal::Blocked { route, binding, .. } = refusal else { return Vec::new() };
    let Some(placement) = scheme.queues() else { return Vec::new() };
    let Some(at) = route.hops.iter().position(|hop| hop.link == binding.link()) else { return Vec::new() };
    let enter = |(queue, _)| {
        let mut hops = route.hops[..=at].to_vec();
        hops[at].queue = queue;
        placement.bindings(query, &Route { hops }).into_iter().find(|broken| broken.link() == binding.link())
    };
    (0u8..).zip(placement.ledger().budgets(binding.link())).map(enter).collect()
}

/// Converts a result to frame bytes for a contract in frame bytes, rounded down so that it fits on the wire.
fn in_terms_of(contract: &LatencyContract, model: &Model, wire: NearestRequest) -> NearestRequest {
    let Accounting::Frame { min_frame } = contract.accounting else { return wire };
    let (frame, on_the_wire) = (min_frame.get(), model.overhead.on_the_wire(min_frame).get());
    let shrink = |value: u64| (u128::from(value) * u128::from(frame) / u128::from(on_the_wire)) as u64;
    let least = contract.max_frame.unwrap_or(min_frame).max(min_frame);
    let burst = wire.burst.map(|burst| Bytes::new(shrink(burst.get())));
    let rate = wire.rate.map(|rate| Rate::from_bits_per_second(shrink(rate.bits_per_second())));
    NearestRequest {
        burst: burst.filter(|&burst| burst >= least),
        rate: rate.filter(|&rate| rate > Rate::ZERO),
        deadline: wire.deadline,
        protection: wire.protection,
    }
}

/// An explanation as JSON.
#[derive(Serialize)]
pub struct ExplanationJson<'a> {
    request: RequestJson<'a>,
    /// The promise that would break.
    #[serde(skip_serializing_if = "Option::is_none")]
    breaks: Option<BreaksJson<'a>>,
    #[serde(flatten)]
    given_away: GrantedShares,
    /// All queues of the links on the route: with the request if it was admitted, without it if not.
    queues: Vec<QueueJson<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    paths: Option<PathsJson<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    nearest: Option<NearestJson>,
}

impl<'a> ExplanationJson<'a> {
    /// Returns the explanation of a decision, from the contracts that its scheme has admitted at present.
    pub fn of(context: &Context<'a>, explained: &Explained<'a>) -> Self {
        let Explained { contract, decision, starts, refused, .. } = *explained;
        let decided = DecidedFlow { contract, decision, starts, event: None, keeps_old_terms: false };
        let refusal = decision.as_ref().err();
        let reports = inspected_links(decision).into_iter().flat_map(|link| context.reports(link));
        Self {
            request: RequestJson::of(context, &decided),
            breaks: refusal.zip(refused).and_then(|(refusal, refused)| BreaksJson::of(context, refusal, refused)),
            given_away: GrantedShares::of(context),
            queues: reports.map(|report| shapes::queue(context.network, &report)).collect(),
            paths: refused
                .and_then(|refused| refused.survey.as_ref())
                .map(|survey| PathsJson::of(context.network, survey)),
            nearest: refused.map(NearestJson::of),
        }
    }
}

/// The links of the routes that were taken or that came closest, each once.
fn inspected_links(decision: &Result<Decision, Refusal>) -> Vec<LinkId> {
    let looked_at = match decision {
        Ok(decision) => routes(decision),
        Err(refusal) => match refusal.innermost() {
            Refusal::Blocked { route, .. } | Refusal::TooSlow { route, .. } => vec![route.clone()],
            _ => Vec::new(),
        },
    };
    let mut links: Vec<LinkId> = Vec::new();
    for hop in looked_at.iter().flat_map(|route| &route.hops) {
        if !links.contains(&hop.link) {
            links.push(hop.link);
        }
    }
    links
}

#[derive(Serialize)]
struct BreaksJson<'a> {
    /// The queue that the request would enter, or one below it.
    whose: &'static str,
    entered_queue: u8,
    flows: u32,
    /// Promises that the request would break in each queue of the link, entered on the same route.
    in_every_queue: Vec<EntryJson<'a>>,
}

#[derive(Serialize)]
struct EntryJson<'a> {
    queue: usize,
    binding: Option<BindingJson<'a>>,
}

impl<'a> BreaksJson<'a> {
    fn of(context: &Context<'a>, refusal: &Refusal, refused: &Refused) -> Option<Self> {
        let Refusal::Blocked { route, binding, .. } = refusal else { return None };
        let entered = sentences::entered(route, binding);
        Some(Self {
            whose: if entered == binding.queue() { "entered" } else { "lower" },
            entered_queue: entered,
            flows: context.flows_in(binding.link(), binding.queue()),
            in_every_queue: refused
                .at_binding
                .iter()
                .enumerate()
                .map(|(queue, broken)| {
                    let binding = broken.as_ref().map(|broken| shapes::binding(context.network, broken));
                    EntryJson { queue, binding }
                })
                .collect(),
        })
    }
}

#[derive(Serialize)]
struct PathsJson<'a> {
    total: usize,
    tried: Vec<PathJson<'a>>,
}

#[derive(Serialize)]
struct PathJson<'a> {
    links: Vec<&'a str>,
    outcome: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    at: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    route: Option<Vec<HopJson<'a>>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    bound_ns: Option<u64>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    bindings: Vec<BindingJson<'a>>,
}

impl<'a> PathsJson<'a> {
    fn of(network: &'a Network, survey: &ShortestPathSurvey) -> Self {
        let tried = survey.paths.iter().map(|path| PathJson::of(network, path)).collect();
        Self { total: survey.total, tried }
    }
}

impl<'a> PathJson<'a> {
    fn of(network: &'a Network, path: &PathTried) -> Self {
        let name = |link: LinkId| network.link(link).name.as_str();
        let links = path.links.iter().map(|&link| name(link)).collect();
        let shape = Self { links, outcome: "", at: None, route: None, bound_ns: None, bindings: Vec::new() };
        match &path.outcome {
            PathOutcome::Open { route, bound } => Self {
                outcome: "open",
                route: Some(shapes::hops(network, route)),
                bound_ns: Some(bound.as_nanos()),
                ..shape
            },
            PathOutcome::Blocked { route, bound, bindings } => Self {
                outcome: "blocked",
                route: Some(shapes::hops(network, route)),
                bound_ns: Some(bound.as_nanos()),
                bindings: bindings.iter().map(|binding| shapes::binding(network, binding)).collect(),
                ..shape
            },
            PathOutcome::TooSlow { fastest } => {
                Self { outcome: "too-slow", bound_ns: Some(fastest.as_nanos()), ..shape }
            }
            PathOutcome::NoQueue { link } => Self { outcome: "no-queue", at: Some(name(*link)), ..shape },
            PathOutcome::FrameTooLarge { link, .. } => {
                Self { outcome: "frame-too-large", at: Some(name(*link)), ..shape }
            }
            PathOutcome::TooManySwitches { .. } => Self { outcome: "too-many-switches", ..shape },
        }
    }
}

/// Counted as the contract's own burst and rate are.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct NearestJson {
    burst_bytes: Option<u64>,
    rate_bps: Option<u64>,
    deadline_ns: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    protection: Option<u8>,
}

impl NearestJson {
    fn of(refused: &Refused) -> Self {
        Self::of_nearest(&refused.nearest)
    }

    /// Returns the JSON document of a nearest request.
    pub fn of_nearest(nearest: &NearestRequest) -> Self {
        Self {
            burst_bytes: nearest.burst.map(|burst| burst.get()),
            rate_bps: nearest.rate.map(|rate| rate.bits_per_second()),
            deadline_ns: nearest.deadline.map(|deadline| deadline.as_nanos()),
            protection: nearest.protection,
        }
    }
}
