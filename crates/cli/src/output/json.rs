//! `plan -o json`: one document, written as it comes, one request or queue a line, so that no plan needs a tree in
//! memory.

use std::io::Write;

use clap::ValueEnum;
use serde::Serialize;
use wayleave_contracts::WireOverhead;
use wayleave_explain::{Decided, EpochShape, RequestShape, ServicesShape, shapes};
use wayleave_ledger::{BestEffort, Comparison, Model, Residual, Shaping};
use wayleave_schemes::costs::Scarcity;
use wayleave_schemes::qjump::{self, Reading};
use wayleave_units::Time;

use super::plan::{Released, Summary};
use crate::failure::Failure;
use crate::loko_args::LokoShape;
use crate::model_args::Base;
use crate::scheme_args::{RoutingName, SchemeArgs, SchemeName};
use crate::session::Session;

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
        self.item(&RequestShape::of(&session.context(), decided))
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
        if let Some(epoch) = EpochShape::of(&session.context()) {
            writeln!(self.out, "\"epoch\":{},", serde_json::to_string(&epoch)?)?;
        }
        if let Some(services) = ServicesShape::of(&session.context()) {
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
