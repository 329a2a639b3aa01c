//! `tune` for programs.

use std::io::Write;

use serde::Serialize;
use wayleave_schemes::tune::{MethodSummary, TuneObjective};

use super::tuned::{Ceiling, Tuned, classes_line, options};
use crate::error::Error;

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Document<'a> {
    wayleave: &'static str,
    topology: &'a str,
    mix: &'a str,
    objective: &'static str,
    training_seeds: [u64; 2],
    judging_seeds: [u64; 2],
    list_times: usize,
    /// Per judging seed.
    most_until_refusal: &'a [Option<usize>],
    /// Of the first judging seed's long list, by link rates as a linear program.
    most_of_list: Option<CeilingJson>,
    candidates: Vec<Candidate<'a>>,
    methods: Vec<MethodJson<'a>>,
    recommended: Option<&'a str>,
    /// Delay budgets of the ports with the recommended method.
    ports: Vec<PortJson>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct PortJson {
    is_host: bool,
    rate_bps: u64,
    budgets_ns: Vec<u64>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct CeilingJson {
    offered: usize,
    flows: f64,
    rate_bps: f64,
}

#[derive(Serialize)]
struct Candidate<'a> {
    step: &'a str,
    value: f64,
    options: String,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct MethodJson<'a> {
    name: &'a str,
    options: String,
    /// Queues of the classes, as in the topology; absent if queues are not divided among classes.
    #[serde(skip_serializing_if = "Option::is_none")]
    classes: Option<String>,
    was_refused: bool,
    until_refusal: Mean,
    flows: Mean,
    rate_bps: Mean,
    /// Of Table 1's categories, in its order.
    admitted_shares: [f64; 4],
}

/// A mean with half the width of its 95 % confidence interval.
#[derive(Serialize)]
struct Mean {
    mean: f64,
    margin: Option<f64>,
}

impl From<(f64, f64)> for Mean {
    fn from((mean, margin): (f64, f64)) -> Self {
        Self { mean, margin: Some(margin).filter(|margin| margin.is_finite()) }
    }
}

impl Tuned {
    /// Writes it as one document of JSON.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn write_json(&self, out: &mut impl Write) -> Result<(), Error> {
        write(self, out)
    }
}

fn write(report: &Tuned, out: &mut impl Write) -> Result<(), Error> {
    let [(first, trained), (judging, judged)] = report.seeds;
    let chosen = report.verdict.summaries.get(report.verdict.choice);
    let document = Document {
        wayleave: env!("CARGO_PKG_VERSION"),
        topology: &report.topology,
        mix: &report.mix,
        objective: match report.objective {
            TuneObjective::UntilRefusal => "until-refusal",
            TuneObjective::Flows => "flows",
            TuneObjective::Rate => "rate",
        },
        training_seeds: [first, first + trained - 1],
        judging_seeds: [judging, judging + judged - 1],
        list_times: report.list,
        most_until_refusal: &report.bounds,
        most_of_list: report.ceiling.map(|Ceiling { offered, flows, rate }| CeilingJson {
            offered,
            flows,
            rate_bps: rate,
        }),
        candidates: report
            .tried
            .iter()
            .map(|method| Candidate { step: &method.name, value: method.value, options: options(&method.candidate) })
            .collect(),
        methods: report.verdict.summaries.iter().map(shape).collect(),
        recommended: chosen.map(|summary| summary.name.as_str()),
        ports: report
            .ports
            .iter()
            .map(|ports| PortJson {
                is_host: ports.is_host,
                rate_bps: ports.rate.bits_per_second(),
                budgets_ns: ports.budgets.iter().map(|budget| budget.as_nanos()).collect(),
            })
            .collect(),
    };
    serde_json::to_writer_pretty(&mut *out, &document)?;
    Ok(writeln!(out)?)
}

fn shape(summary: &MethodSummary) -> MethodJson<'_> {
    MethodJson {
        name: &summary.name,
        options: options(&summary.candidate),
        classes: summary.candidate.division.map(|division| classes_line(&division.classes)),
        was_refused: summary.was_refused,
        until_refusal: summary.until_refusal.into(),
        flows: summary.flows.into(),
        rate_bps: summary.rate.into(),
        admitted_shares: summary.shares,
    }
}
