//! `plan -o json`: one document, written as it comes, one request or queue a line, so that no plan needs a tree in
//! memory.

use std::io::Write;

use serde::Serialize;
use wayleave_contracts::WireOverhead;
use wayleave_explain::{Decided, GivenAway, RequestShape, SettingsShape, shapes};
use wayleave_ledger::{BestEffort, Comparison, Model, Residual, Shaping};

use super::plan::{Released, Summary};
use crate::failure::Failure;
use crate::scheme_args::SchemeArgs;
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
            scheme: scheme.settings(session.base)?,
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
        if let Some((name, value)) = GivenAway::of(&session.context()).member() {
            writeln!(self.out, "\"{name}\":{},", serde_json::to_string(&value)?)?;
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
    scheme: SettingsShape,
    model: ModelShape,
    topology: TopologyShape<'a>,
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
