//! Proofs of admitted contracts, with everything that a reader needs to check them without this program.
//!
//! A proof states the topology; for latency contracts the curves and bounds of every queue; for minima and weights
//! the load of every share on every link, with a certificate. `tools/check_proof.py` checks a proof in exact
//! arithmetic (docs/theory/analysis.md).

mod minima;
mod paths;
mod prices;

use std::collections::{BTreeMap, HashMap};

use serde::Serialize;
use wayleave_calculus::{ArrivalCurve, Rational, ServiceCurve};
use wayleave_explain::sentences::route_name;
use wayleave_explain::{Context, claim};
use wayleave_ledger::{QueueReport, Shaping};
use wayleave_recheck::PromisedFlow;
use wayleave_schemes::admitted::AdmittedSet as _;
use wayleave_topology::{Class, LinkId, Network, NodeKind};

use self::minima::{ShareTerms, State, states, terms};

/// Version of the document. It changes when an earlier checker could not read the new form.
const FORM: u32 = 2;

/// A proof of every contract that is admitted. Serialised, it is the document of `wayleave plan --proof`: rates in bit/s, times in ns,
/// amounts in nanobits (their product); fractions as `"a/b"`.
#[derive(Clone, Debug, Serialize)]
pub struct Proof {
    proof: u32,
    wayleave: &'static str,
    /// `true` if traffic from a link counts as no more than its line carries.
    shaping: bool,
    /// Names of all admitted contracts that are promised something, and of policies with minima.
    contracts: Vec<String>,
    nodes: Vec<Node>,
    links: Vec<Link>,
    flows: Vec<Flow>,
    queues: Vec<Queue>,
    /// Division of the queues below the latency queues, where the topology has one.
    classes: Option<Weights>,
    shares: Vec<ShareTerms>,
    minima: Vec<State>,
}

/// Assumptions about a node.
#[derive(Clone, Debug, Serialize)]
struct Node {
    name: String,
    kind: &'static str,
    processing_ns: u64,
    jitter_ns: u64,
}

/// Weights of the classes, and limits of the promised traffic, per cent.
#[derive(Clone, Debug, Serialize)]
struct Weights {
    /// Number of latency queues of a switch port.
    latency: u8,
    guaranteed: u16,
    objective: u16,
    best_effort: u16,
    promise: u8,
    target: u8,
}

/// Assumptions about a directed link.
#[derive(Clone, Debug, Serialize)]
struct Link {
    name: String,
    from: String,
    to: String,
    rate: u64,
    /// With all that is on the wire.
    max_frame_bytes: u64,
    propagation_ns: u64,
    /// Longest time by which packets of a queue may overtake one another: the jitter of the node that the link leaves, or 0.
    spread_ns: u64,
    /// The other direction of the cable.
    reverse: Option<String>,
    open: bool,
}

/// Traffic of a contract, and the promise to its sender.
#[derive(Clone, Debug, Serialize)]
struct Flow {
    /// The contract's name, with the number of the route where it has several.
    name: String,
    contract: String,
    from: String,
    to: String,
    rate: u64,
    burst_bytes: u64,
    deadline_ns: u64,
    bound_ns: u64,
    /// Links with their queues, 0 being the highest.
    hops: Vec<(String, u8)>,
}

/// Curves of a queue, and the bounds derived from them.
#[derive(Clone, Debug, Serialize)]
struct Queue {
    link: String,
    queue: u8,
    budget_ns: u64,
    buffer_bytes: u64,
    /// Terms (burst, rate), whose minimum is the arrival curve.
    arrival: Vec<(String, String)>,
    /// Terms (rate, latency), whose maximum is the service curve.
    service: Vec<(String, String)>,
    /// No packet takes longer from its arrival at the node.
    delay: Option<String>,
    /// It never holds more.
    backlog: Option<String>,
}

impl Proof {
    /// Returns the proof of everything that is admitted; `None` for schemes that reserve no queues.
    pub fn of(context: &Context<'_>) -> Option<Self> {
        let ledger = context.scheme.queues()?.ledger();
        let claim = claim(context)?;
        let network = context.network;
        let ids = || network.links().map(|(id, _)| id);
        let contracts_of = contracts_of_flows(context);
        let contract = |flow: &PromisedFlow| contracts_of.get(&flow.name).unwrap_or(&flow.name).clone();
        let mut latency = BTreeMap::<LinkId, u64>::new();
        for (flow, hop) in claim.flows.iter().flat_map(|flow| flow.route.hops.iter().map(move |hop| (flow, hop))) {
            *latency.entry(hop.link).or_default() += flow.rate.bits_per_second();
        }
        let reports = latency.keys().flat_map(|&link| ledger.report(link)).filter(|report| report.flows > 0);
        let shares = terms(context, ledger);
        let mut contracts: Vec<String> = claim.flows.iter().map(contract).collect();
        contracts.extend(shares.iter().map(|share| share.contract.clone()));
        contracts.sort_unstable();
        contracts.dedup();
        Some(Self {
            proof: FORM,
            wayleave: env!("CARGO_PKG_VERSION"),
            shaping: context.model.shaping == Shaping::InputLinks,
            contracts,
            nodes: network.nodes().map(|(_, one)| node(one)).collect(),
            links: ids()
                .map(|id| link(context, id, claim.max_frame[id.index()].get(), !ledger.is_closed(id)))
                .collect(),
            flows: claim.flows.iter().map(|flow| of_flow(network, flow, contract(flow))).collect(),
            queues: reports.map(|report| queue(network, &report)).collect(),
            classes: network.classes().map(weights),
            minima: if shares.is_empty() { Vec::new() } else { states(network, ledger, &latency) },
            shares,
        })
    }
}

/// Returns the contract of every route by the route's name.
fn contracts_of_flows(context: &Context<'_>) -> HashMap<String, String> {
    let routes = context.scheme.flows().into_iter().flat_map(|flow| {
        let routes = context.scheme.routes_of(flow).into_iter().enumerate();
        routes.map(|(route, flow)| {
            let contract = context.names.name_of(flow);
            (route_name(contract, route), contract.to_owned())
        })
    });
    routes.collect()
}

fn node(node: &wayleave_topology::Node) -> Node {
    Node {
        name: node.name.clone(),
        kind: match node.kind {
            NodeKind::Host => "host",
            NodeKind::Switch => "switch",
        },
        processing_ns: node.processing.as_nanos(),
        jitter_ns: node.jitter.as_nanos(),
    }
}

fn weights(classes: &wayleave_topology::Classes) -> Weights {
    Weights {
        latency: classes.latency,
        guaranteed: classes.weight(Class::Guaranteed),
        objective: classes.weight(Class::Objective),
        best_effort: classes.weight(Class::BestEffort),
        promise: classes.promise,
        target: classes.target,
    }
}

fn link(context: &Context<'_>, id: LinkId, max_frame_bytes: u64, open: bool) -> Link {
    let network = context.network;
    let link = network.link(id);
    Link {
        name: link.name.clone(),
        from: network.node(link.from).name.clone(),
        to: network.node(link.to).name.clone(),
        rate: link.rate.bits_per_second(),
        max_frame_bytes,
        propagation_ns: link.propagation.as_nanos(),
        spread_ns: context.model.spread(network, link).as_nanos(),
        reverse: network.reverse(id).map(|reverse| network.link(reverse).name.clone()),
        open,
    }
}

fn of_flow(network: &Network, flow: &PromisedFlow, contract: String) -> Flow {
    Flow {
        name: flow.name.clone(),
        contract,
        from: network.node(flow.from).name.clone(),
        to: network.node(flow.to).name.clone(),
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
