//! The shapes of JSON output: hops, terms, bindings, queues.

use serde::Serialize;
use wayleave_ledger::QueueReport;
use wayleave_scheme_api::Binding;
use wayleave_topology::{Network, Route, ShortBuffer};

use crate::curves::{self, CurveBucket, Number, Piece};
use wayleave_schemes::admitted::Term;

/// A switch port whose buffer may be too small for the queued traffic of minima.
#[derive(Serialize)]
pub struct ShortBufferJson<'a> {
    link: &'a str,
    buffer_bytes: u64,
    needed_bytes: u64,
}

/// Such a port.
pub fn short_buffer<'a>(network: &'a Network, short: &ShortBuffer) -> ShortBufferJson<'a> {
    let link = network.link(short.link).name.as_str();
    ShortBufferJson { link, buffer_bytes: short.buffer.get(), needed_bytes: short.needed.get() }
}

/// One hop.
#[derive(Serialize)]
pub struct HopJson<'a> {
    link: &'a str,
    queue: u8,
}

/// A route, hop by hop.
pub fn hops<'a>(network: &'a Network, route: &Route) -> Vec<HopJson<'a>> {
    route.hops.iter().map(|hop| HopJson { link: &network.link(hop.link).name, queue: hop.queue }).collect()
}

/// One part of a bound.
#[derive(Serialize)]
pub struct TermJson<'a> {
    kind: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    at: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    queue: Option<u8>,
    delay_ns: u64,
}

/// The parts of a bound.
pub fn terms<'a>(network: &'a Network, terms: &[Term]) -> Vec<TermJson<'a>> {
    let shape = |term: &Term| {
        let (kind, at, queue, delay) = match *term {
            Term::Processing(node, delay) => ("processing", Some(&network.node(node).name), None, delay),
            Term::Propagation(link, delay) => ("propagation", Some(&network.link(link).name), None, delay),
            Term::Queue(hop, budget) => ("queue", Some(&network.link(hop.link).name), Some(hop.queue), budget),
            Term::Own(name, delay) => (name, None, None, delay),
            Term::OwnOfNode(name, node, delay) => (name, Some(&network.node(node).name), None, delay),
            Term::OwnOfLink(name, link, delay) => (name, Some(&network.link(link).name), None, delay),
        };
        TermJson { kind, at: at.map(String::as_str), queue, delay_ns: delay.as_nanos() }
    };
    terms.iter().map(shape).collect()
}

/// A promise that would break.
#[derive(Serialize)]
pub struct BindingJson<'a> {
    link: &'a str,
    queue: u8,
    #[serde(flatten)]
    limit: LimitJson,
}

#[derive(Serialize)]
#[serde(tag = "limit", rename_all = "lowercase")]
enum LimitJson {
    Down,
    Rate { asked_bps: u64, left_bps: u64 },
    Delay { bound_ns: u64, budget_ns: u64 },
    Buffer { backlog_bytes: u64, buffer_bytes: u64 },
}

/// Returns a promise that would break, with the requested and the remaining amount.
pub fn binding<'a>(network: &'a Network, binding: &Binding) -> BindingJson<'a> {
    let limit = match *binding {
        Binding::Down { .. } => LimitJson::Down,
        Binding::Rate { asked, left, .. } => {
            LimitJson::Rate { asked_bps: asked.bits_per_second(), left_bps: left.bits_per_second() }
        }
        Binding::Delay { bound, budget, .. } => {
            LimitJson::Delay { bound_ns: bound.as_nanos(), budget_ns: budget.as_nanos() }
        }
        Binding::Buffer { backlog, buffer, .. } => {
            LimitJson::Buffer { backlog_bytes: backlog.get(), buffer_bytes: buffer.get() }
        }
    };
    BindingJson { link: &network.link(binding.link()).name, queue: binding.queue(), limit }
}

/// Arrivals at a queue from one input.
#[derive(Serialize)]
pub struct InputJson<'a> {
    /// Input link; `None` for traffic that starts at the node itself.
    link: Option<&'a str>,
    flows: u32,
    rate_bps: u64,
    burst_bytes: Number,
    burst_nanobits: i128,
    arrival: Vec<CurveBucket>,
}

/// One queue: its promises, its arrivals, and its bounds.
#[derive(Serialize)]
pub struct QueueJson<'a> {
    link: &'a str,
    queue: u8,
    budget_ns: u64,
    buffer_bytes: u64,
    flows: u32,
    inputs: Vec<InputJson<'a>>,
    arrival: Vec<CurveBucket>,
    service: Vec<Piece>,
    /// Jitter of the node in any order: part of the delay and of the arrivals.
    #[serde(skip_serializing_if = "Option::is_none")]
    jitter_ns: Option<u64>,
    /// Rounded up; `None` is without bound.
    delay_bound_ns: Option<u64>,
    /// Exact, as the nearest double.
    delay_ns: Option<Number>,
    backlog_bound_bytes: Option<u64>,
    backlog_bytes: Option<Number>,
}

/// A queue of the ledger.
pub fn queue<'a>(network: &'a Network, report: &QueueReport) -> QueueJson<'a> {
    let link = |id| network.link(id).name.as_str();
    let inputs = report.inputs.iter().map(|input| InputJson {
        link: input.link.map(link),
        flows: input.flows,
        rate_bps: input.rate.bits_per_second(),
        burst_bytes: curves::bytes(&wayleave_calculus::rational::from_amount(input.burst)),
        burst_nanobits: input.burst.nanobits(),
        arrival: curves::arrival(&input.arrival),
    });
    QueueJson {
        link: link(report.link),
        queue: report.queue,
        budget_ns: report.budget.as_nanos(),
        buffer_bytes: report.buffer.get(),
        flows: report.flows,
        inputs: inputs.collect(),
        arrival: curves::arrival(&report.arrival),
        service: curves::service(&report.service),
        jitter_ns: Some(report.spread.as_nanos()).filter(|&spread| spread > 0),
        delay_bound_ns: report.delay_bound().map(|bound| bound.as_nanos()),
        delay_ns: report.delay.clone().map(Number),
        backlog_bound_bytes: report.backlog_bound().map(|bound| bound.get()),
        backlog_bytes: report.backlog.as_ref().map(curves::bytes),
    }
}
