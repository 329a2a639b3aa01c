//! `wayleave lab calibrate`.

use std::io::Write;

use clap::{Args, ValueEnum};
use wayleave::ProgressStep;
use wayleave_explain::human::Human;
use wayleave_explain::table::write_table;
use wayleave_formats::{parse_device_scenario, write_benchmark};
use wayleave_lab::{Calibrated, LabName, Labs, StopRequest, calibrate};
use wayleave_topology::devices::{Case, Measurement, PacketScenario, Table};

use super::name::{USUAL, parse_name};
use crate::exit::{self, Exit};
use crate::failure::Failure;
use crate::interrupt;
use crate::output::{out, plain_table};
use crate::progress::Progress;

const EXAMPLE: &str = "\
Examples:
  sudo wayleave lab up -f star:hosts=3 --scale-rate 100Mbit --service s1=12Mbit,16kB --no-controller
  sudo wayleave lab calibrate s1
  sudo wayleave lab calibrate s1 -o csv > table.csv
  sudo wayleave lab run -f contracts.yaml --scheme loko --loko-table table.csv --loko-scenario entries=17,match=five-tuple,action=output,used=last,priorities=decreasing,packet=100B+306B

Sizes are those on the wire, as contracts count them: the frame, a tag, and 24 B.";

/// Default scenario: the combinations of Loko's slides, and sizes that probes can have.
const USUAL_SCENARIO: &str = "entries=17,match=five-tuple,action=output,used=last,priorities=decreasing,packet=100B+306B+548B+790B+1032B+1274B+1516B";

/// Measure a switch of a lab with real packets: throughput, delay and buffer
///
/// Probes are sent between hosts attached to the switch: single packets, bursts up to the longest one without loss,
/// and loads above its throughput, from one port and from two. `--loko-table` reads the resulting table.
#[derive(Args, Clone, Debug)]
#[command(after_help = EXAMPLE, after_long_help = exit::after(EXAMPLE))]
pub(crate) struct CalibrateArgs {
    /// Name of the lab
    #[arg(long, default_value = USUAL, value_parser = parse_name)]
    name: LabName,
    /// The switch
    #[arg(value_name = "SWITCH")]
    switch: String,
    /// Values of each dimension; a switch other than Open vSwitch is measured as configured
    #[arg(long, value_name = "SCENARIO", default_value = USUAL_SCENARIO, value_parser = parse_device_scenario)]
    scenario: PacketScenario,
    /// Output format
    #[arg(short, long, value_enum, default_value_t)]
    output: Form,
    /// Show progress even if standard error is not a terminal
    #[arg(long)]
    progress: bool,
}

#[derive(ValueEnum, Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Form {
    /// Measurements of each size
    #[default]
    Table,
    /// Every combination, as --loko-table reads it
    Csv,
}

/// Runs the command.
pub(crate) fn run(args: &CalibrateArgs) -> Result<Exit, Failure> {
    let cancel = interrupt::listen()?;
    let lab = Labs::default().stopping(StopRequest::of(cancel.flag())).open(&args.name)?;
    let _claim = lab.claim()?;
    let (mut table, mut all) = (Table::default(), Vec::new());
    let mut progress = Progress::new(args.progress);
    let cases: Vec<Case> = args.scenario.cases().collect();
    let total = cases.len() as u64;
    calibrate(&lab, &args.switch, &cases, &mut |case, calibrated| {
        table.enter(case, calibrated.measurement);
        all.push((case, calibrated));
        wayleave::Progress::step(&mut progress, ProgressStep::Items { done: all.len() as u64, total });
    })?;
    drop(progress);
    let stalled: usize = all.iter().map(|(_, one)| one.stalled).sum();
    if stalled > 0 {
        let runs = wayleave_explain::human::count(stalled, "run");
        crate::output::tell!("warning: {runs} included although a CPU of this machine stalled during them");
    }
    let mut out = out();
    match args.output {
        Form::Csv => out.write_all(write_benchmark(&table).as_bytes())?,
        Form::Table => show(&mut out, &all)?,
    }
    out.flush()?;
    Ok(Exit::Fine)
}

fn show(out: &mut impl Write, all: &[(Case, Calibrated)]) -> Result<(), Failure> {
    let mut rows = plain_table(&["CASE", "THROUGHPUT", "TWO PORTS", "DELAY", "BUFFER"]);
    for (case, one) in all {
        let Measurement { throughput, delay, buffer } = one.measurement;
        let packets = wayleave_explain::human::count(buffer as usize, "packet");
        rows.add_row([case.to_string(), throughput.down(), one.together.down(), delay.up(), packets]);
    }
    write_table(out, &mut rows)?;
    let shared = all.iter().filter(|(_, one)| one.is_shared()).count();
    let together = match (shared, all.len()) {
        (shared, cases) if shared == cases => "two ports together get the rate of one: they share a service",
        (0, _) => "two ports together get more than one: each port has its own service (--loko-services port)",
        _ => "two ports together get the rate of one, but not in all cases: treat them as one service",
    };
    Ok(writeln!(out, "{together}")?)
}
