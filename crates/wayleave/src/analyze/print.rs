//! Prints bounds as text and as JSON. Values shown in whole ns or bytes are rounded up; JSON has exact fractions too.

use std::io::Write;

use comfy_table::Cell;
use serde::Serialize;
use serde_json::{Map, Value, json};
use wayleave_calculus::Rational;
use wayleave_calculus::network::{LineShaping, Multiplexing, Packetizer, PortNetwork};
use wayleave_calculus::rational::{time_rounded_up, whole};
use wayleave_explain::human::{Human, count};
use wayleave_explain::table::{Style, TableLayout, plain_table, styled, write_table};
use wayleave_units::{Bytes, Time};

use super::report::{Report, Row};
use super::subject::AnalysisSubject;
use crate::error::Error;

impl AnalysisSubject {
    /// Writes bounds for people: flows as rows and analyses as columns, and servers too if they are asked for.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn write_text(
        &self,
        report: &Report,
        out: &mut impl Write,
        layout: TableLayout,
        with_servers: bool,
    ) -> Result<(), Error> {
        table(self, report, out, layout, with_servers)
    }

    /// Writes bounds as one document of JSON, with exact fractions.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn write_json(&self, report: &Report, out: &mut impl Write) -> Result<(), Error> {
        json(self, report, out)
    }
}

/// Flows as rows and analyses as columns, and servers too if they are asked for.
fn table(
    subject: &AnalysisSubject,
    report: &Report,
    out: &mut impl Write,
    layout: TableLayout,
    with_servers: bool,
) -> Result<(), Error> {
    writeln!(out, "{}\n", head(subject))?;
    let mut reasons: Vec<&str> = Vec::new();
    let names: Vec<String> = report.analyses.iter().map(|analysis| analysis.name().to_uppercase()).collect();
    let mut headings = vec!["flow"];
    headings.extend(names.iter().map(String::as_str));
    if subject.extras.is_some() {
        headings.push("budgets");
    }
    headings.push("path");
    let mut table = plain_table(&headings, layout);
    for row in &report.rows {
        let mut cells = vec![Cell::new(&subject.network.flows()[row.flow].name)];
        cells.extend((0..row.bounds.len()).map(|place| cell(row, place, &mut reasons, layout)));
        cells.extend(row.budget.iter().map(|budget| Cell::new(time_text(budget))));
        cells.push(Cell::new(path(&subject.network, row)));
        table.add_row(cells);
    }
    write_table(out, &mut table)?;
    if report.more > 0 {
        writeln!(out, "... and {} more (--all shows all, --flow NAME shows one)", count(report.more, "flow"))?;
    }
    writeln!(out, "\n* the tightest bound of its row; bounds are rounded up, exact values: -o json")?;
    for (number, reason) in (1..).zip(&reasons) {
        writeln!(out, "[{number}] no bound: {reason}")?;
    }
    for note in &report.notes {
        writeln!(out, "note: {note}")?;
    }
    if with_servers {
        servers(out, subject, report, layout)?;
    }
    Ok(())
}

/// `demo: 3 servers, 4 flows; FIFO, arrivals shaped by links, no packetizer`.
fn head(subject: &AnalysisSubject) -> String {
    let AnalysisSubject { name, network, options, .. } = subject;
    let order = match options.multiplexing {
        Multiplexing::Fifo => "FIFO",
        Multiplexing::Arbitrary => "any order of service",
    };
    let lines = match options.shaping {
        LineShaping::On => "arrivals shaped by links",
        LineShaping::Off => "no shaping by links",
    };
    let packets = match options.packetizer {
        Packetizer::On => "packetizer",
        Packetizer::Off => "no packetizer",
    };
    let what = if subject.extras.is_some() { "queue" } else { "server" };
    let (servers, flows) = (count(network.servers().len(), what), count(network.flows().len(), "flow"));
    format!("{name}: {servers}, {flows}; {order}, {lines}, {packets}")
}

fn cell<'r>(row: &'r Row, place: usize, reasons: &mut Vec<&'r str>, layout: TableLayout) -> Cell {
    match &row.bounds[place] {
        Ok(delay) if row.is_tightest(place) => {
            let cell = Cell::new(format!("{}*", time_text(delay)));
            if layout.bold { styled(cell, Style::Bold) } else { cell }
        }
        Ok(delay) => Cell::new(match row.instead[place] {
            Some(other) => format!("{} ({})", time_text(delay), other.name().to_uppercase()),
            None => time_text(delay),
        }),
        Err(reason) => {
            let known = reasons.iter().position(|known| known == reason);
            let index = known.unwrap_or_else(|| {
                reasons.push(reason);
                reasons.len() - 1
            });
            Cell::new(format!("- [{}]", index + 1))
        }
    }
}

fn time_text(delay: &Rational) -> String {
    time_rounded_up(delay).map_or_else(|| format!("{} ns", delay.ceil()), Human::up)
}

fn path(network: &PortNetwork, row: &Row) -> String {
    let path = &network.flows()[row.flow].paths[row.path];
    let names: Vec<&str> = path.iter().map(|&server| network.servers()[server].name.as_str()).collect();
    names.join(" -> ")
}

fn servers(out: &mut impl Write, subject: &AnalysisSubject, report: &Report, layout: TableLayout) -> Result<(), Error> {
    let what = if subject.extras.is_some() { "queue" } else { "server" };
    let mut table = plain_table(&[what, "flows", "delay", "backlog", "service curve"], layout);
    for (index, (server, bound)) in subject.network.servers().iter().zip(&report.servers).enumerate() {
        let (delay, backlog) = match bound {
            Ok(bound) => (time_text(&bound.delay), Bytes::new(bytes(&bound.backlog)).up()),
            Err(_) => ("-".to_owned(), "-".to_owned()),
        };
        let flows = subject.network.visitors(index).len().to_string();
        table.add_row([server.name.clone(), flows, delay, backlog, server.service.to_string()]);
    }
    writeln!(out, "\nTFA, server by server:\n")?;
    Ok(write_table(out, &mut table)?)
}

/// Rounded up; the most there is if it is more than that.
fn bytes(nanobits: &Rational) -> u64 {
    u64::try_from((nanobits / whole(8_000_000_000)).ceil().to_integer()).unwrap_or(u64::MAX)
}

/// A number exactly and rounded up.
fn time_json(delay: &Rational) -> Value {
    json!({ "exact": format!("{delay} ns"), "ns": time_rounded_up(delay).map(Time::as_nanos) })
}

#[derive(Serialize)]
struct Document<'a> {
    wayleave: &'static str,
    network: &'a str,
    multiplexing: &'static str,
    shaping: bool,
    packetizer: bool,
    flows: Vec<Value>,
    flows_left_out: usize,
    servers: Vec<Value>,
    notes: &'a [String],
}

/// One document.
fn json(subject: &AnalysisSubject, report: &Report, out: &mut impl Write) -> Result<(), Error> {
    let network = &subject.network;
    let servers = network.servers().iter().zip(&report.servers).map(|(server, bound)| match bound {
        Ok(bound) => json!({
            "name": server.name,
            "delay": time_json(&bound.delay),
            "backlog": {
                "exact": format!("{} bit", &bound.backlog / whole(1_000_000_000)),
                "bytes": bytes(&bound.backlog),
            },
        }),
        Err(reason) => json!({ "name": server.name, "none": reason }),
    });
    let document = Document {
        wayleave: env!("CARGO_PKG_VERSION"),
        network: &subject.name,
        multiplexing: match subject.options.multiplexing {
            Multiplexing::Fifo => "fifo",
            Multiplexing::Arbitrary => "arbitrary",
        },
        shaping: subject.options.shaping == LineShaping::On,
        packetizer: subject.options.packetizer == Packetizer::On,
        flows: report.rows.iter().map(|row| row_json(network, report, row)).collect(),
        flows_left_out: report.more,
        servers: servers.collect(),
        notes: &report.notes,
    };
    serde_json::to_writer_pretty(&mut *out, &document)?;
    Ok(writeln!(out)?)
}

fn row_json(network: &PortNetwork, report: &Report, row: &Row) -> Value {
    let flow = &network.flows()[row.flow];
    let named = || report.analyses.iter().zip(&row.bounds);
    let bounds = named().zip(&row.instead).map(|((analysis, bound), instead)| {
        let mut bound = bound.as_ref().map_or_else(|reason| json!({ "none": reason }), time_json);
        if let Some(other) = instead {
            // The analysis itself gave nothing better.
            bound["of"] = json!(other.name());
        }
        (analysis.name().to_owned(), bound)
    });
    let bounds: Map<String, Value> = bounds.collect();
    let tightest = report.analyses.iter().enumerate().filter(|(place, _)| row.is_tightest(*place));
    let tightest: Vec<&str> = tightest.map(|(_, analysis)| analysis.name()).collect();
    let path: Vec<&str> = flow.paths[row.path].iter().map(|&server| network.servers()[server].name.as_str()).collect();
    let mut value = json!({ "name": flow.name, "path": path, "bounds": bounds, "tightest": tightest });
    if let Some(budget) = &row.budget {
        value["budgets"] = time_json(budget);
    }
    value
}
