//! `explain -o json`.

use std::io::Write;

use serde::Serialize;
use wayleave_policy::Refusal;
use wayleave_schemes::survey::{PathOutcome, PathTried, Survey};
use wayleave_topology::{LinkId, Network};

use super::json::{EpochShape, ModelShape, RequestShape, SchemeShape, ServicesShape, TopologyShape};
use super::plan::Decided;
use super::shapes::{self, BindingShape, HopShape, QueueShape};
use super::{out, words};
use crate::commands::explain::{Explanation, Refused};
use crate::failure::Failure;
use crate::scheme_args::SchemeArgs;
use crate::session::{Session, routes};

/// Prints the document.
pub(crate) fn print(session: &Session, scheme: &SchemeArgs, explanation: &Explanation<'_>) -> Result<(), Failure> {
    let (network, verdict) = (&*session.network, explanation.verdict);
    let looked_at = match &verdict.decision {
        Ok(decision) => routes(decision),
        Err(refusal) => match refusal.innermost() {
            Refusal::Blocked { route, .. } | Refusal::TooSlow { route, .. } => vec![route.clone()],
            _ => Vec::new(),
        },
    };
    let (terms, copies_terms) = session.terms_of(verdict);
    let (contract, copies_terms) = (explanation.contract, copies_terms.as_slice());
    let decided = Decided { contract, verdict, terms: &terms, copies_terms, event: None, keeps_old_terms: false };
    let mut links: Vec<LinkId> = Vec::new();
    for hop in looked_at.iter().flat_map(|route| &route.hops) {
        if !links.contains(&hop.link) {
            links.push(hop.link);
        }
    }
    let reports =
        links.into_iter().flat_map(|link| session.ledger().map_or_else(Vec::new, |ledger| ledger.report(link)));
    let (refusal, refused) = (verdict.decision.as_ref().err(), explanation.refused.as_ref());
    let document = Document {
        wayleave: env!("CARGO_PKG_VERSION"),
        scheme: SchemeShape::of(scheme, session.base),
        model: ModelShape::of(&session.model),
        topology: TopologyShape::of(session),
        before: Before { admitted: explanation.before.admitted, refused: explanation.before.refused },
        request: RequestShape::of(session, &decided),
        breaks: refusal.zip(refused).and_then(|(refusal, refused)| BreaksShape::of(session, refusal, refused)),
        epoch: EpochShape::of(session),
        services: ServicesShape::of(session),
        queues: reports.map(|report| shapes::queue(network, &report)).collect(),
        paths: refused.and_then(|refused| refused.survey.as_ref()).map(|survey| PathsShape::of(network, survey)),
        nearest: refused.map(NearestShape::of),
    };
    let mut out = out();
    serde_json::to_writer_pretty(&mut out, &document)?;
    writeln!(out)?;
    Ok(out.flush()?)
}

#[derive(Serialize)]
struct Document<'a> {
    wayleave: &'static str,
    scheme: SchemeShape,
    model: ModelShape,
    topology: TopologyShape<'a>,
    before: Before,
    request: RequestShape<'a>,
    /// Whose promise would break.
    #[serde(skip_serializing_if = "Option::is_none")]
    breaks: Option<BreaksShape<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    epoch: Option<EpochShape>,
    #[serde(skip_serializing_if = "Option::is_none")]
    services: Option<ServicesShape<'a>>,
    /// All queues of the links on the route: with the request if it was admitted, without it if not.
    queues: Vec<QueueShape<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    paths: Option<PathsShape<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    nearest: Option<NearestShape>,
}

/// What became of the contracts before it.
#[derive(Serialize)]
struct Before {
    admitted: u64,
    refused: u64,
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
    fn of(session: &'a Session, refusal: &Refusal, refused: &Refused) -> Option<Self> {
        let Refusal::Blocked { route, binding, .. } = refusal else { return None };
        let entered = words::entered(route, binding);
        Some(Self {
            whose: if entered == binding.queue() { "entered" } else { "lower" },
            entered_queue: entered,
            flows: session.flows_in(binding.link(), binding.queue()),
            in_every_queue: refused
                .at_binding
                .iter()
                .enumerate()
                .map(|(queue, broken)| {
                    let binding = broken.as_ref().map(|broken| shapes::binding(&session.network, broken));
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
    fn of(network: &'a Network, survey: &Survey) -> Self {
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
#[derive(Serialize)]
struct NearestShape {
    burst_bytes: Option<u64>,
    rate_bps: Option<u64>,
    deadline_ns: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    protection: Option<u8>,
}

impl NearestShape {
    fn of(refused: &Refused) -> Self {
        let nearest = &refused.nearest;
        Self {
            burst_bytes: nearest.burst.map(|burst| burst.get()),
            rate_bps: nearest.rate.map(|rate| rate.bits_per_second()),
            deadline_ns: nearest.deadline.map(|deadline| deadline.as_nanos()),
            protection: nearest.protection,
        }
    }
}
