//! `plan -o json`: one document, written as it comes, one request or queue a line, so that no plan needs a tree in
//! memory.

use std::io::Write;

use clap::ValueEnum;
use serde::Serialize;
use wayleave_contracts::WireOverhead;
use wayleave_ledger::{BestEffort, Comparison, Model, Residual, Shaping};
use wayleave_policy::{Decision, Refusal};
use wayleave_schemes::costs::Scarcity;
use wayleave_schemes::qjump::{self, Reading};
use wayleave_schemes::registry::Scheme;
use wayleave_schemes::standing::Standing;
use wayleave_topology::Network;
use wayleave_units::Time;

use super::plan::{Decided, EventKind, Released, Summary};
use super::shapes::{self, BindingShape, HopShape, TermShape};
use super::words;
use crate::failure::Failure;
use crate::loko_args::LokoShape;
use crate::model_args::Base;
use crate::scheme_args::{RoutingName, SchemeArgs, SchemeName};
use crate::session::Session;
use crate::session::routes;

/// A document that is being written.
pub(crate) struct Document<W> {
    out: W,
    is_first: bool,
}

impl<W: Write> Document<W> {
    /// Writes everything up to the first request.
    pub(crate) fn begin(mut out: W, session: &Session, scheme: &SchemeArgs) -> Result<Self, Failure> {
        let head = Head {
            wayleave: env!("CARGO_PKG_VERSION"),
            scheme: SchemeShape::of(scheme, session.base),
            model: ModelShape::of(&session.model),
            topology: TopologyShape::of(session),
        };
        let head = serde_json::to_string(&head)?;
        // The document goes on where the head's own object would end.
        write!(out, "{},\n\"requests\":[", head.strip_suffix('}').unwrap_or(&head))?;
        Ok(Self { out, is_first: true })
    }

    fn item(&mut self, item: &impl Serialize) -> Result<(), Failure> {
        self.out.write_all(if self.is_first { b"\n" } else { b",\n" })?;
        self.is_first = false;
        Ok(serde_json::to_writer(&mut self.out, item)?)
    }

    /// Writes a request and what became of it.
    pub(crate) fn request(&mut self, session: &Session, decided: &Decided<'_>) -> Result<(), Failure> {
        self.item(&RequestShape::of(session, decided))
    }

    /// Writes the end of a contract.
    pub(crate) fn release(&mut self, released: &Released<'_>) -> Result<(), Failure> {
        self.item(&ReleaseShape {
            name: released.name,
            event: "release",
            at_ns: released.at.as_nanos(),
            decision: if released.held_until.is_some() { "released" } else { "not-admitted" },
            held_until_ns: released.held_until.map(|time| time.as_nanos()),
        })
    }

    /// Writes every queue, and the summary.
    pub(crate) fn end(mut self, session: &Session, summary: &Summary) -> Result<(), Failure> {
        self.out.write_all(b"\n],\n\"queues\":[")?;
        self.is_first = true;
        for (link, _) in session.network.links() {
            for report in session.ledger().map_or_else(Vec::new, |ledger| ledger.report(link)) {
                self.item(&shapes::queue(&session.network, &report))?;
            }
        }
        self.out.write_all(b"\n],\n")?;
        if let Some(epoch) = EpochShape::of(session) {
            writeln!(self.out, "\"epoch\":{},", serde_json::to_string(&epoch)?)?;
        }
        if let Some(services) = ServicesShape::of(session) {
            writeln!(self.out, "\"services\":{},", serde_json::to_string(&services)?)?;
        }
        self.out.write_all(b"\"summary\":")?;
        serde_json::to_writer(&mut self.out, &SummaryShape::of(summary))?;
        self.out.write_all(b"}\n")?;
        Ok(self.out.flush()?)
    }
}

#[derive(Serialize)]
struct Head<'a> {
    wayleave: &'static str,
    scheme: SchemeShape,
    model: ModelShape,
    topology: TopologyShape<'a>,
}

/// The scheme and its parameters.
#[derive(Serialize)]
#[serde(tag = "name", rename_all = "lowercase")]
pub(crate) enum SchemeShape {
    Chameleon {
        routing: String,
        #[serde(skip_serializing_if = "Option::is_none")]
        scarcity: Option<ScarcityShape>,
        /// `None` for the table of section 4.1.2.
        budgets_ns: Option<Vec<u64>>,
        host_budgets_ns: Vec<u64>,
        reroute: Option<RerouteShape>,
    },
    Silo {
        budget_ns: u64,
    },
    Qjump {
        applications: u32,
        packet_bytes: u64,
        epsilon_ns: u64,
        reading: &'static str,
    },
    Loko(LokoShape),
}

/// The cost of scarce resources.
#[derive(Serialize)]
pub(crate) struct ScarcityShape {
    steepness: f64,
    dormant: f64,
    large: f64,
}

impl From<Scarcity> for ScarcityShape {
    fn from(Scarcity { steepness, dormant, large }: Scarcity) -> Self {
        Self { steepness, dormant, large }
    }
}

#[derive(Serialize)]
pub(crate) struct RerouteShape {
    limit: usize,
    sort: String,
    factor: u64,
    avoid: String,
    search: String,
    moves: String,
    tighten: usize,
}

impl SchemeShape {
    /// What the options describe, in their words.
    pub(crate) fn of(args: &SchemeArgs, base: Base) -> Self {
        match args.scheme {
            SchemeName::Chameleon => Self::chameleon(args, base),
            SchemeName::Silo => Self::Silo { budget_ns: args.silo().budget.as_nanos() },
            SchemeName::Loko => Self::Loko(args.loko.shape()),
            SchemeName::Qjump => {
                let qjump::Params { applications, packet, epsilon, reading } = args.qjump.params();
                let reading = match reading {
                    Reading::Refused => "refused",
                    Reading::Charged => "charged",
                    Reading::Flat => "flat",
                };
                let (packet_bytes, epsilon_ns) = (packet.get(), epsilon.as_nanos());
                Self::Qjump { applications, packet_bytes, epsilon_ns, reading }
            }
        }
    }

    fn chameleon(args: &SchemeArgs, base: Base) -> Self {
        let allocation = args.chameleon(base).allocation;
        let nanos = |times: Vec<Time>| times.into_iter().map(Time::as_nanos).collect();
        Self::Chameleon {
            routing: word(args.routing(base)),
            scarcity: (args.routing(base) == RoutingName::Scarcity).then(|| args.scarcity.unwrap_or_default().into()),
            budgets_ns: allocation.switch.map(nanos),
            host_budgets_ns: nanos(allocation.host),
            reroute: args.reroute.reroute.then(|| RerouteShape {
                limit: args.reroute.reroute_limit,
                sort: word(args.reroute.reroute_sort),
                factor: args.reroute.reroute_factor,
                avoid: word(args.reroute.reroute_avoid),
                search: word(args.reroute.reroute_search),
                moves: word(args.reroute.reroute_moves),
                tighten: args.reroute.tighten(args.routing(base)),
            }),
        }
    }
}

/// What an option's value is called.
fn word(value: impl ValueEnum) -> String {
    value.to_possible_value().map_or_else(String::new, |value| value.get_name().to_owned())
}

/// What the model counts.
#[derive(Serialize)]
pub(crate) struct ModelShape {
    residual: &'static str,
    /// `None`: each link's MTU and the overhead.
    max_frame_bytes: Option<u64>,
    overhead: bool,
    tags: Option<u32>,
    best_effort: bool,
    compare: &'static str,
    shaping: bool,
}

impl ModelShape {
    /// In the words of the options.
    pub(crate) fn of(model: &Model) -> Self {
        let tags = match model.overhead {
            WireOverhead::Counted { tags } => Some(tags),
            WireOverhead::Ignored => None,
        };
        Self {
            residual: match model.residual {
                Residual::Full => "full",
                Residual::FirstSlope => "first-slope",
            },
            max_frame_bytes: model.max_frame.map(|frame| frame.get()),
            overhead: tags.is_some(),
            tags,
            best_effort: model.best_effort == BestEffort::LowestQueue,
            compare: match model.comparison {
                Comparison::Strict => "strict",
                Comparison::NonStrict => "non-strict",
            },
            shaping: model.shaping == Shaping::InputLinks,
        }
    }
}

#[derive(Serialize)]
pub(crate) struct TopologyShape<'a> {
    name: &'a str,
    hosts: usize,
    switches: usize,
    /// Directed: two for a cable.
    links: usize,
}

impl<'a> TopologyShape<'a> {
    pub(crate) fn of(session: &'a Session) -> Self {
        let network = &session.network;
        Self {
            name: &session.topology,
            hosts: network.hosts().count(),
            switches: network.switches().count(),
            links: network.links().len(),
        }
    }
}

#[derive(Serialize)]
pub(crate) struct MoveShape<'a> {
    name: &'a str,
    from: Vec<HopShape<'a>>,
    to: Vec<HopShape<'a>>,
}

#[derive(Serialize)]
struct Reserved {
    rate_bps: u64,
    burst_bytes: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_frame_bytes: Option<u64>,
}

/// A request and what became of it.
#[derive(Serialize)]
pub(crate) struct RequestShape<'a> {
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
    /// Where several disjoint routes are asked for, how many.
    #[serde(skip_serializing_if = "Option::is_none")]
    protection: Option<u8>,
    decision: &'static str,
    reason: Option<&'static str>,
    message: Option<String>,
    reserved: Option<Reserved>,
    route: Option<Vec<HopShape<'a>>>,
    bound_ns: Option<u64>,
    terms: Vec<TermShape<'a>>,
    /// The further routes of a protected contract.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    copies: Vec<CopyShape<'a>>,
    /// What the routes of a protected contract have in common: links and switches whose failure is not survived.
    #[serde(skip_serializing_if = "Option::is_none")]
    shared: Option<Vec<&'a str>>,
    moved: Vec<MoveShape<'a>>,
    activate_after_ns: Option<u64>,
    binding: Option<BindingShape<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    other_bindings: Vec<BindingShape<'a>>,
    /// For a refusal: the route on which the binding promise would break, or which takes too long.
    #[serde(skip_serializing_if = "Option::is_none")]
    tried: Option<Vec<HopShape<'a>>>,
    /// For a refusal of protection: how many disjoint routes there are, and what parts the hosts.
    #[serde(skip_serializing_if = "Option::is_none")]
    disjoint: Option<DisjointShape<'a>>,
    /// For a refusal of protection: which of the disjoint routes has no room, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    copy: Option<u8>,
}

/// One of the further routes of a protected contract.
#[derive(Serialize)]
struct CopyShape<'a> {
    route: Vec<HopShape<'a>>,
    bound_ns: u64,
    terms: Vec<TermShape<'a>>,
}

/// How many disjoint routes there are, whatever is admitted.
#[derive(Serialize)]
struct DisjointShape<'a> {
    most: u8,
    cut: Vec<&'a str>,
}

impl<'a> RequestShape<'a> {
    /// Of a contract and its verdict.
    pub(crate) fn of(session: &'a Session, decided: &Decided<'a>) -> Self {
        let (contract, network, verdict) = (decided.contract, &*session.network, decided.verdict);
        let mut shape = Self {
            name: &contract.name,
            event: decided.event.map(|(kind, _)| match kind {
                EventKind::Add => "add",
                EventKind::Change => "change",
            }),
            at_ns: decided.event.map(|(_, at)| at.as_nanos()),
            tenant: contract.tenant.as_deref(),
            from: words::name(network, contract.from),
            to: words::name(network, contract.to),
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
            terms: Vec::new(),
            copies: Vec::new(),
            shared: None,
            moved: Vec::new(),
            activate_after_ns: None,
            binding: None,
            other_bindings: Vec::new(),
            tried: None,
            disjoint: None,
            copy: None,
        };
        match &verdict.decision {
            Ok(decision) => {
                shape.reserved = session.scheme.held(decision.flow).map(|held| Reserved {
                    rate_bps: held.demand.rate.bits_per_second(),
                    burst_bytes: held.demand.burst.get(),
                    max_frame_bytes: held.demand.max_frame.map(|frame| frame.get()),
                });
                shape.route = Some(shapes::hops(network, &decision.route));
                shape.bound_ns = Some(decision.bound.as_nanos());
                shape.terms = shapes::terms(network, decided.terms);
                shape.moved = decision
                    .moved
                    .iter()
                    .map(|moved| MoveShape {
                        name: session.name_of(moved.flow),
                        from: shapes::hops(network, &moved.from),
                        to: shapes::hops(network, &moved.to),
                    })
                    .collect();
                shape.protect(session, decided, decision);
                shape.activate_after_ns = Some(decision.activate_after.as_nanos());
            }
            Err(refusal) => shape.refuse(session, decided, refusal),
        }
        shape
    }

    /// The further routes, and what all of them share.
    fn protect(&mut self, session: &'a Session, decided: &Decided<'a>, decision: &Decision) {
        if decision.copies.is_empty() {
            return;
        }
        let network = &*session.network;
        let copies = decision.copies.iter().zip(decided.copies_terms).map(|(copy, terms)| CopyShape {
            route: shapes::hops(network, &copy.route),
            bound_ns: copy.bound.as_nanos(),
            terms: shapes::terms(network, terms),
        });
        self.copies = copies.collect();
        let shared = wayleave_schemes::protection::shared(network, &routes(decision));
        self.shared = Some(shared.into_iter().map(|element| network.element_name(element)).collect());
    }

    fn refuse(&mut self, session: &'a Session, decided: &Decided<'a>, refusal: &Refusal) {
        self.decision = "refused";
        self.reason = Some(refusal.reason().code());
        let clause = words::refusal(&session.network, decided.contract, refusal);
        self.message = Some(words::sentence(&(clause + decided.afterwards())));
        self.obstacle(&session.network, refusal);
    }

    fn obstacle(&mut self, network: &'a Network, refusal: &Refusal) {
        match refusal {
            Refusal::Copy { copy, refusal, .. } => {
                self.copy = Some(*copy);
                self.obstacle(network, refusal);
            }
            Refusal::TooFewDisjoint { most, cut, .. } => {
                let cut = cut.iter().map(|&element| network.element_name(element)).collect();
                self.disjoint = Some(DisjointShape { most: *most, cut });
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

/// What Loko has measured, allocated and given away.
#[derive(Serialize)]
pub(crate) struct ServicesShape<'a> {
    rate_bps: u64,
    processing_ns: u64,
    buffer_bytes: u64,
    allocated_rate_bps: u64,
    allocated_burst_bytes: u64,
    delay_ns: u64,
    in_use: Vec<UseShape<'a>>,
}

#[derive(Serialize)]
struct UseShape<'a> {
    switch: &'a str,
    /// Of a service a port.
    #[serde(skip_serializing_if = "Option::is_none")]
    link: Option<&'a str>,
    rate_bps: u64,
    burst_bytes: u64,
    flows: u32,
}

impl<'a> ServicesShape<'a> {
    /// `None` for other schemes.
    pub(crate) fn of(session: &'a Session) -> Option<Self> {
        let Scheme::Loko(loko) = &session.scheme else { return None };
        let (model, allocation, network) = (&loko.params().model, loko.allocation(), &session.network);
        let used = loko.in_use_by_switch().map(|(switch, link, used)| UseShape {
            switch: &network.node(switch).name,
            link: link.map(|link| network.link(link).name.as_str()),
            rate_bps: used.rate,
            burst_bytes: u64::try_from(used.burst.bytes_rounded_up()).unwrap_or(u64::MAX),
            flows: used.flows,
        });
        Some(Self {
            rate_bps: model.rate.bits_per_second(),
            processing_ns: model.processing.as_nanos(),
            buffer_bytes: model.buffer.get(),
            allocated_rate_bps: allocation.rate.bits_per_second(),
            allocated_burst_bytes: allocation.burst.get(),
            delay_ns: allocation.delay.as_nanos(),
            in_use: used.collect(),
        })
    }
}

/// What QJump has given away of its epoch.
#[derive(Serialize)]
pub(crate) struct EpochShape {
    length_ns: u64,
    contention_ns: u64,
    epsilon_ns: u64,
    unit_bps: u64,
    shares: u64,
    shares_left: u64,
}

impl EpochShape {
    /// `None` for other schemes.
    pub(crate) fn of(session: &Session) -> Option<Self> {
        let Scheme::Qjump(qjump) = &session.scheme else { return None };
        let epoch = qjump.epoch();
        Some(Self {
            length_ns: epoch.length().as_nanos(),
            contention_ns: epoch.contention().as_nanos(),
            epsilon_ns: epoch.epsilon().as_nanos(),
            unit_bps: epoch.unit().bits_per_second(),
            shares: qjump.shares(),
            shares_left: qjump.shares_left(),
        })
    }
}

#[derive(Serialize)]
struct ReleaseShape<'a> {
    name: &'a str,
    event: &'static str,
    at_ns: u64,
    decision: &'static str,
    /// Until then its packets may be in flight, and what it had reserved is not given away.
    held_until_ns: Option<u64>,
}

#[derive(Serialize)]
struct SummaryShape<'a> {
    admitted: u64,
    refused: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    released: Option<u64>,
    by_reason: &'a std::collections::BTreeMap<&'static str, u64>,
    moved: u64,
    decision_us: DecisionTimes,
}

#[derive(Serialize)]
struct DecisionTimes {
    mean: Option<f64>,
    p50: Option<f64>,
    p99: Option<f64>,
}

impl<'a> SummaryShape<'a> {
    fn of(summary: &'a Summary) -> Self {
        let times = summary.times();
        let micros = |nanos: u64| nanos as f64 / 1e3;
        Self {
            admitted: summary.admitted,
            refused: summary.refused,
            released: summary.released,
            by_reason: &summary.by_reason,
            moved: summary.moved,
            decision_us: DecisionTimes {
                mean: times.map(|times| micros(times.mean)),
                p50: times.map(|times| micros(times.p50)),
                p99: times.map(|times| micros(times.p99)),
            },
        }
    }
}
