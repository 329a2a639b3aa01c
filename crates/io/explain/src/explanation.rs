//! Everything that there is to say about one decision.

use serde::Serialize;
use wayleave_contracts::{Accounting, LatencyContract};
use wayleave_ledger::Model;
use wayleave_scheme_api::{Binding, Decision, Refusal, Request};
use wayleave_schemes::admitted::AdmittedSet;
use wayleave_schemes::registry::Scheme;
use wayleave_schemes::reservations::{PathOutcome, PathTried, ShortestPathSurvey, paths};
use wayleave_schemes::routing::Query;
use wayleave_schemes::suggest::{self, NearestRequest};
use wayleave_schemes::transition::StartTimes;
use wayleave_topology::{LinkId, Network, Route};
use wayleave_units::{Bytes, Rate};

use crate::context::{Context, routes};
use crate::request::{DecidedFlow, RequestShape};
use crate::schemes::GrantedShares;
use crate::sentences;
use crate::shapes::{self, BindingShape, HopShape, QueueShape};

/// As many paths as are looked at for a refusal.
const MAX_PATHS: usize = 16;

/// A decision with all that explains it.
pub struct Explained<'a> {
    /// What was asked.
    pub contract: &'a LatencyContract,
    /// The same in wire bytes.
    pub request: &'a Request,
    /// What became of it; for a contract that is admitted already, see [`Context::standing`].
    pub decision: &'a Result<Decision, Refusal>,
    /// When it, and what was moved for it, may start. `None`: at once, or when a controller says so.
    pub starts: Option<&'a StartTimes>,
    /// What became of the contracts before it, where they are known.
    pub before: Option<EarlierDecisions>,
    /// For a refusal, what [`look_around`] found.
    pub refused: Option<&'a Refused>,
}

/// How many contracts were decided before.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct EarlierDecisions {
    /// Those that were admitted.
    pub admitted: u64,
    /// Those that were refused.
    pub refused: u64,
}

/// What is looked up for a refusal.
#[derive(Clone, Debug)]
pub struct Refused {
    /// What each queue of the link that blocks it would break, highest priority first.
    pub at_binding: Vec<Option<Binding>>,
    /// Where queues are reserved: the paths, each with what its queues offer.
    pub survey: Option<ShortestPathSurvey>,
    /// In the contract's own way of counting.
    pub nearest: NearestRequest,
}

/// Looks for the paths, and for the nearest request that fits. The scheme has to be as it was when it refused, and is
/// left so.
pub fn inspect_links(
    scheme: &mut Scheme,
    model: &Model,
    contract: &LatencyContract,
    request: &Request,
    refusal: &Refusal,
) -> Refused {
    let query = Query::of(request);
    let at_binding = at_binding(scheme, &query, refusal);
    let survey = scheme.queues().map(|placement| paths(placement, &query, MAX_PATHS));
    let nearest = suggest::nearest(scheme, request);
    Refused { at_binding, survey, nearest: in_terms_of(contract, model, nearest) }
}

/// The nearest request that fits, in the contract's own way of counting: what [`look_around`] finds that says nothing of others.
pub fn nearest(scheme: &mut Scheme, model: &Model, contract: &LatencyContract, request: &Request) -> NearestRequest {
    in_terms_of(contract, model, suggest::nearest(scheme, request))
}

/// Enters every queue of the binding link in turn, on the way on which the refusal was found.
fn at_binding(scheme: &Scheme, query: &Query, refusal: &Refusal) -> Vec<Option<Binding>> {
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

/// A contract in frame bytes is told frame bytes: as much as grows to no more than what fits on the wire.
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
pub struct ExplanationShape<'a> {
    request: RequestShape<'a>,
    /// Whose promise would break.
    #[serde(skip_serializing_if = "Option::is_none")]
    breaks: Option<BreaksShape<'a>>,
    #[serde(flatten)]
    given_away: GrantedShares,
    /// All queues of the links on the route: with the request if it was admitted, without it if not.
    queues: Vec<QueueShape<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    paths: Option<PathsShape<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    nearest: Option<NearestShape>,
}

impl<'a> ExplanationShape<'a> {
    /// Of a decision, by what its scheme has admitted at present.
    pub fn of(context: &Context<'a>, explained: &Explained<'a>) -> Self {
        let Explained { contract, decision, starts, refused, .. } = *explained;
        let decided = DecidedFlow { contract, decision, starts, event: None, keeps_old_terms: false };
        let refusal = decision.as_ref().err();
        let reports = inspected_links(decision).into_iter().flat_map(|link| context.reports(link));
        Self {
            request: RequestShape::of(context, &decided),
            breaks: refusal.zip(refused).and_then(|(refusal, refused)| BreaksShape::of(context, refusal, refused)),
            given_away: GrantedShares::of(context),
            queues: reports.map(|report| shapes::queue(context.network, &report)).collect(),
            paths: refused
                .and_then(|refused| refused.survey.as_ref())
                .map(|survey| PathsShape::of(context.network, survey)),
            nearest: refused.map(NearestShape::of),
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
struct BreaksShape<'a> {
    /// The queue that the request would enter, or one below it.
    whose: &'static str,
    entered_queue: u8,
    flows: u32,
    /// What the request would break in each queue of the link, entered on the same way.
    in_every_queue: Vec<EntryShape<'a>>,
}

#[derive(Serialize)]
struct EntryShape<'a> {
    queue: usize,
    binding: Option<BindingShape<'a>>,
}

impl<'a> BreaksShape<'a> {
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
                    EntryShape { queue, binding }
                })
                .collect(),
        })
    }
}

#[derive(Serialize)]
struct PathsShape<'a> {
    total: usize,
    tried: Vec<PathShape<'a>>,
}

#[derive(Serialize)]
struct PathShape<'a> {
    links: Vec<&'a str>,
    outcome: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    at: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    route: Option<Vec<HopShape<'a>>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    bound_ns: Option<u64>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    bindings: Vec<BindingShape<'a>>,
}

impl<'a> PathsShape<'a> {
    fn of(network: &'a Network, survey: &ShortestPathSurvey) -> Self {
        let tried = survey.paths.iter().map(|path| PathShape::of(network, path)).collect();
        Self { total: survey.total, tried }
    }
}

impl<'a> PathShape<'a> {
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
pub struct NearestShape {
    burst_bytes: Option<u64>,
    rate_bps: Option<u64>,
    deadline_ns: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    protection: Option<u8>,
}

impl NearestShape {
    fn of(refused: &Refused) -> Self {
        Self::of_nearest(&refused.nearest)
    }

    /// Of what was found.
    pub fn of_nearest(nearest: &NearestRequest) -> Self {
        Self {
            burst_bytes: nearest.burst.map(|burst| burst.get()),
            rate_bps: nearest.rate.map(|rate| rate.bits_per_second()),
            deadline_ns: nearest.deadline.map(|deadline| deadline.as_nanos()),
            protection: nearest.protection,
        }
    }
}
