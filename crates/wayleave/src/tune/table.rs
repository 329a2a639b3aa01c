//! `tune` for people.

use std::io::Write;

use wayleave_contracts::Category;
use wayleave_explain::table::{TableLayout, plain_table, write_table};
use wayleave_schemes::tune::TuneObjective;
use wayleave_units::{Human as _, count};

use super::tuned::{Ceiling, Tuned, classes_line, options};
use crate::error::Error;

/// Maximum number of printed kinds of ports.
const MAX_PORTS: usize = 8;

impl Tuned {
    /// Writes it for people.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn write_text(&self, out: &mut impl Write, layout: TableLayout) -> Result<(), Error> {
        write(self, out, layout)
    }
}

fn write(report: &Tuned, out: &mut impl Write, layout: TableLayout) -> Result<(), Error> {
    let [(first, trained), (judging, judged)] = report.seeds;
    writeln!(out, "{} on {}: {}", report.mix, report.topology, what(report.objective))?;
    writeln!(
        out,
        "{} on training seeds {first} to {}, evaluated on seeds {judging} to {} (mean ± 95 % confidence interval)\n",
        count(report.tried.len(), "candidate"),
        first + trained - 1,
        judging + judged - 1,
    )?;
    let mut head = vec!["method", "until refusal", "long list", "long list, Gbit/s"];
    if report.has_categories {
        head.extend(Category::ALL.map(Category::short));
    }
    let mut table = plain_table(&head, layout);
    for (at, summary) in report.verdict.summaries.iter().enumerate() {
        let mark = if at == report.verdict.choice { " *" } else { "" };
        let flows = |(mean, margin): (f64, f64)| format!("{mean:.0} ± {margin:.0}");
        let until =
            if summary.was_refused { flows(summary.until_refusal) } else { format!("all {:.0}", summary.flows.0) };
        let rate = format!("{:.2} ± {:.2}", summary.rate.0 / 1e9, summary.rate.1 / 1e9);
        let mut row = vec![format!("{}{mark}", summary.name), until, flows(summary.flows), rate];
        if report.has_categories {
            row.extend(summary.shares.map(|share| format!("{:.1} %", share * 100.0)));
        }
        table.add_row(row);
    }
    write_table(out, &mut table)?;
    writeln!(
        out,
        "\nthe long list is the same for all methods: {} times the flows that the best candidate admits until its first refusal",
        report.list
    )?;
    let known: Vec<usize> = report.bounds.iter().copied().flatten().collect();
    if !known.is_empty() {
        let mean = known.iter().sum::<usize>() as f64 / known.len() as f64;
        writeln!(out, "upper bound by link rates alone, until the first refusal: {mean:.0} flows")?;
    }
    if let Some(Ceiling { offered, flows, rate }) = report.ceiling {
        writeln!(
            out,
            "upper bound by link rates alone, for the {offered} requests of seed {judging}: {:.0} flows or {:.2} Gbit/s (linear program)",
            flows.floor(),
            rate / 1e9
        )?;
    }
    let chosen = report.verdict.summaries.get(report.verdict.choice);
    if let Some(chosen) = chosen {
        writeln!(out, "\n* recommended; options for plan, explain and verify:\n  {}", options(&chosen.candidate))?;
        if let Some(division) = chosen.candidate.division.filter(|division| division.is_free) {
            writeln!(out, "and in the topology:\n  {}", classes_line(&division.classes))?;
        }
        if report.ports.len() <= MAX_PORTS {
            writeln!(out, "the delay budgets of its ports are then:")?;
            for ports in &report.ports {
                writeln!(out, "  {} links: {}", ports.rate.down(), ports.keys())?;
            }
        }
    }
    Ok(())
}

fn what(objective: TuneObjective) -> &'static str {
    match objective {
        TuneObjective::UntilRefusal => "flows until the first refusal",
        TuneObjective::Flows => "flows of a long list",
        TuneObjective::Rate => "bit rate of a long list",
    }
}
