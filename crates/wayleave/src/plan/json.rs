//! `plan -o json`: one document, written as it comes, one request or queue a line, so that no plan needs a tree in
//! memory.

use std::io::Write;

use serde::Serialize;
use wayleave_contracts::WireOverhead;
use wayleave_explain::{DecidedContract, GrantedShares, RequestJson, SettingsJson, ShareJson, shapes};
use wayleave_ledger::{BestEffort, Comparison, JitterModel, Model, Residual, Shaping};

use super::certainty::Certainties;
use super::sink::Sink;
use super::summary::{PlanSummary, Released};
use crate::error::Error;
use crate::session::Session;

/// A document that is being written.
pub struct Document<W> {
    out: W,
    is_first: bool,
    certainties: Certainties,
}

impl<W: Write> Document<W> {
    /// Writes everything up to the first request.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn begin(mut out: W, session: &Session) -> Result<Self, Error> {
        let head = serde_json::to_string(&Head::of(session))?;
        // The document continues where the head's own object would end.
        write!(out, "{},\n\"requests\":[", head.strip_suffix('}').unwrap_or(&head))?;
        Ok(Self { out, is_first: true, certainties: Certainties::default() })
    }

    fn item(&mut self, item: &impl Serialize) -> Result<(), Error> {
        self.out.write_all(if self.is_first { b"\n" } else { b",\n" })?;
        self.is_first = false;
        Ok(serde_json::to_writer(&mut self.out, item)?)
    }

    /// Writes every queue, and the summary.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn end(mut self, session: &Session, summary: &PlanSummary) -> Result<(), Error> {
        self.out.write_all(b"\n],\n\"queues\":[")?;
        self.is_first = true;
        for (link, _) in session.network.links() {
            for report in session.ledger().map_or_else(Vec::new, |ledger| ledger.report(link)) {
                self.item(&shapes::queue(&session.network, &report))?;
            }
        }
        self.out.write_all(b"\n],\n")?;
        if let Some((name, value)) = GrantedShares::of(&session.context()).member() {
            writeln!(self.out, "\"{name}\":{},", serde_json::to_string(&value)?)?;
        }
        let changed = self.certainties.changed(session);
        if !changed.is_empty() {
            writeln!(self.out, "\"changed_certainty\":{},", serde_json::to_string(&changed)?)?;
        }
        let short: Vec<_> = short_buffers(session);
        if !short.is_empty() {
            writeln!(self.out, "\"short_buffers\":{},", serde_json::to_string(&short)?)?;
        }
        self.out.write_all(b"\"summary\":")?;
        serde_json::to_writer(&mut self.out, &SummaryJson::of(summary))?;
        self.out.write_all(b"}\n")?;
        Ok(self.out.flush()?)
    }
}

impl<W: Write> Sink for Document<W> {
    fn decided(&mut self, session: &Session, decided: &DecidedContract<'_>) -> Result<(), Error> {
        match decided {
            DecidedContract::Flow(flow) => self.item(&RequestJson::of(&session.context(), flow)),
            DecidedContract::Share(share) => {
                self.certainties.decided(share);
                self.item(&ShareJson::of(&session.network, share))
            }
        }
    }

    fn released(&mut self, released: &Released<'_>) -> Result<(), Error> {
        self.certainties.released(released.name);
        self.item(&ReleaseJson::of(released))
    }
}

/// Returns switch ports whose buffers may be too small for the queued traffic of minima.
pub(super) fn short_buffers(session: &Session) -> Vec<shapes::ShortBufferJson<'_>> {
    let short = session.ledger().into_iter().flat_map(wayleave_ledger::Ledger::short_buffers);
    short.map(|short| shapes::short_buffer(&session.network, &short)).collect()
}

/// Head of a document.
#[derive(Serialize)]
pub(crate) struct Head<'a> {
    pub(super) wayleave: &'static str,
    pub(super) scheme: &'a SettingsJson,
    pub(super) model: ModelJson,
    pub(super) topology: TopologyJson<'a>,
}

impl<'a> Head<'a> {
    pub(crate) fn of(session: &'a Session) -> Self {
        Self {
            wayleave: env!("CARGO_PKG_VERSION"),
            scheme: &session.settings,
            model: ModelJson::of(&session.model),
            topology: TopologyJson::of(session),
        }
    }
}

/// Delays and overheads that the model counts.
#[derive(Serialize)]
pub(crate) struct ModelJson {
    residual: &'static str,
    /// `None`: each link's MTU and the overhead.
    max_frame_bytes: Option<u64>,
    overhead: bool,
    tags: Option<u32>,
    best_effort: bool,
    compare: &'static str,
    shaping: bool,
    jitter: &'static str,
}

impl ModelJson {
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
            jitter: match model.jitter {
                JitterModel::Ordered => "ordered",
                JitterModel::Any => "any",
            },
        }
    }
}

#[derive(Serialize)]
pub(super) struct TopologyJson<'a> {
    name: &'a str,
    hosts: usize,
    switches: usize,
    /// Directed: two for a cable.
    links: usize,
}

impl<'a> TopologyJson<'a> {
    fn of(session: &'a Session) -> Self {
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
pub(super) struct ReleaseJson<'a> {
    name: &'a str,
    event: &'static str,
    at_ns: u64,
    decision: &'static str,
    /// Time until which its packets may be in flight; its reservation is not given away before.
    held_until_ns: Option<u64>,
}

impl<'a> ReleaseJson<'a> {
    pub(super) fn of(released: &Released<'a>) -> Self {
        Self {
            name: released.name,
            event: "release",
            at_ns: released.at.as_nanos(),
            decision: if released.held_until.is_some() { "released" } else { "not-admitted" },
            held_until_ns: released.held_until.map(|time| time.as_nanos()),
        }
    }
}

#[derive(Serialize)]
pub(super) struct SummaryJson<'a> {
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

impl<'a> SummaryJson<'a> {
    pub(super) fn of(summary: &'a PlanSummary) -> Self {
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
