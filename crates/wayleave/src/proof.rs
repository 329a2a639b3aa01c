//! Proofs: what admission promises of latency contracts, with everything that somebody needs to check it without this program.
//!
//! A proof states the curves of every queue that holds flows, its bounds, and what they follow from. `tools/check_proof.py` checks one in exact
//! arithmetic; what it checks stands in docs/analysis.md.

use serde::Serialize;
use wayleave_calculus::{ArrivalCurve, Rational, ServiceCurve};
use wayleave_explain::{Context, claim};
use wayleave_ledger::{QueueReport, Shaping};
use wayleave_recheck::PromisedFlow;
use wayleave_schemes::standing::Standing as _;
use wayleave_topology::{LinkId, Network};

/// The form of the document; it changes when a checker of the one before could not read it.
const FORM: u32 = 1;

/// A proof of every latency contract that is admitted. Serialised, it is the document of `wayleave plan --proof`: rates in bit/s, times in ns,
/// amounts in nanobits (their product); fractions as `"a/b"`.
#[derive(Clone, Debug, Serialize)]
pub struct Proof {
    proof: u32,
    wayleave: &'static str,
    /// Whether what comes over a link counts as no more than its line carries.
    shaping: bool,
    links: Vec<Link>,
    flows: Vec<Flow>,
    queues: Vec<Queue>,
}

/// What is assumed of a link that a flow uses.
#[derive(Clone, Debug, Serialize)]
struct Link {
    name: String,
    from: String,
    to: String,
    rate: u64,
    /// With all that is on the wire.
    max_frame_bytes: u64,
    propagation_ns: u64,
    /// Of the node that it leaves.
    processing_ns: u64,
    jitter_ns: u64,
    /// How late a packet may enter a queue behind others that came after it: all of the jitter, or nothing.
    spread_ns: u64,
}

/// What a contract sends, and what it was told.
#[derive(Clone, Debug, Serialize)]
struct Flow {
    name: String,
    rate: u64,
    burst_bytes: u64,
    deadline_ns: u64,
    bound_ns: u64,
    /// Links with their queues, 0 being the highest.
    hops: Vec<(String, u8)>,
}

/// The curves of a queue, and what they say.
#[derive(Clone, Debug, Serialize)]
struct Queue {
    link: String,
    queue: u8,
    budget_ns: u64,
    buffer_bytes: u64,
    /// Its minimum is what may arrive: (burst, rate).
    arrival: Vec<(String, String)>,
    /// Their maximum is what is served: (rate, latency).
    service: Vec<(String, String)>,
    /// No packet takes longer from its arrival at the node.
    delay: Option<String>,
    /// It never holds more.
    backlog: Option<String>,
}

impl Proof {
    /// Of everything that is admitted; `None` for schemes that reserve no queues.
    pub fn of(context: &Context<'_>) -> Option<Self> {
        let ledger = context.scheme.queues()?.ledger();
        let claim = claim(context)?;
        let network = context.network;
        let used = |link: &LinkId| claim.flows.iter().any(|flow| flow.route.hops.iter().any(|hop| hop.link == *link));
        let used: Vec<LinkId> = network.links().map(|(id, _)| id).filter(used).collect();
        let reports = used.iter().flat_map(|&link| ledger.report(link)).filter(|report| report.flows > 0);
        Some(Self {
            proof: FORM,
            wayleave: env!("CARGO_PKG_VERSION"),
            shaping: context.model.shaping == Shaping::InputLinks,
            queues: reports.map(|report| queue(network, &report)).collect(),
            flows: claim.flows.iter().map(|flow| of_flow(network, flow)).collect(),
            links: used.iter().map(|&id| link(context, id, claim.max_frame[id.index()].get())).collect(),
        })
    }
}

fn link(context: &Context<'_>, id: LinkId, max_frame_bytes: u64) -> Link {
    let network = context.network;
    let link = network.link(id);
    let from = network.node(link.from);
    Link {
        name: link.name.clone(),
        from: from.name.clone(),
        to: network.node(link.to).name.clone(),
        rate: link.rate.bits_per_second(),
        max_frame_bytes,
        propagation_ns: link.propagation.as_nanos(),
        processing_ns: from.processing.as_nanos(),
        jitter_ns: from.jitter.as_nanos(),
        spread_ns: context.model.spread(network, link).as_nanos(),
    }
}

fn of_flow(network: &Network, flow: &PromisedFlow) -> Flow {
    Flow {
        name: flow.name.clone(),
        rate: flow.rate.bits_per_second(),
        burst_bytes: flow.burst.get(),
        deadline_ns: flow.deadline.as_nanos(),
        bound_ns: flow.promised_bound.as_nanos(),
        hops: flow.route.hops.iter().map(|hop| (network.link(hop.link).name.clone(), hop.queue)).collect(),
    }
}

fn queue(network: &Network, report: &QueueReport) -> Queue {
    Queue {
        link: network.link(report.link).name.clone(),
        queue: report.queue,
        budget_ns: report.budget.as_nanos(),
        buffer_bytes: report.buffer.get(),
        arrival: arrival(&report.arrival),
        service: service(&report.service),
        delay: report.delay.as_ref().map(Rational::to_string),
        backlog: report.backlog.as_ref().map(Rational::to_string),
    }
}

fn arrival(curve: &ArrivalCurve) -> Vec<(String, String)> {
    curve.pieces().iter().map(|piece| (piece.burst.to_string(), piece.rate.to_string())).collect()
}

/// Pieces that serve nothing are left out: the curve is not negative in any case.
fn service(curve: &ServiceCurve) -> Vec<(String, String)> {
    let pieces = curve.pieces().iter().filter_map(|piece| Some((piece.rate.to_string(), piece.latency()?.to_string())));
    pieces.collect()
}
