//! `wayleave characterize-switch`: measures a simulated low-cost switch as a black box, as Loko (CoNEXT 2019) measures a real one.

use std::io::Write;

use clap::{Args, ValueEnum};
use wayleave_explain::human::{Human, count};
use wayleave_explain::table::write_table;
use wayleave_formats::{parse_device_scenario, write_benchmark};
use wayleave_schemes::admission::loko::{AcceptedRate, Allocation, ServiceModel};
use wayleave_topology::devices::{Case, PacketScenario, SoftwareSwitch, Table, WorstMeasurements};

use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::out;
use crate::output::plain_table;
use crate::progress::Progress;

const EXAMPLE: &str = "\
Examples:
  wayleave characterize-switch
  wayleave characterize-switch --scenario entries=17,match=five-tuple,packet=306B -o csv > table.csv
  wayleave characterize-switch --scenario whole -o csv > table.csv";

/// Measure a simulated low-cost switch: throughput, delay and buffer
///
/// The switch is a model of the Zodiac FX, calibrated to the two measurements that Loko's slides print. A table of a real
/// switch has the same columns; `--loko-table` reads both.
#[derive(Args, Clone, Debug)]
#[command(after_help = EXAMPLE)]
pub(crate) struct CharacterizeSwitchArgs {
    /// Scenario: proof-of-concept, whole (12,096 combinations), or entries=17,match=five-tuple,...
    #[arg(long, value_name = "SCENARIO", default_value = "proof-of-concept", value_parser = parse_device_scenario)]
    scenario: PacketScenario,
    /// Output format
    #[arg(short, long, value_enum, default_value_t)]
    output: Form,
    /// Show progress even if standard error is not a terminal
    #[arg(long)]
    progress: bool,
}

#[derive(ValueEnum, Clone, Copy, Debug, Default)]
enum Form {
    /// The worst measurement of the scenario, and Loko's allocation
    #[default]
    Table,
    /// Every combination, as --loko-table reads it
    Csv,
}

/// Runs the command.
pub(crate) fn run(args: &CharacterizeSwitchArgs) -> Result<Exit, Failure> {
    let table = wayleave::switch_benchmark::benchmark(
        &SoftwareSwitch::ZODIAC_FX,
        &args.scenario,
        &mut wayleave::Watch::progress(&mut Progress::new(args.progress)),
    );
    let table = table.map_err(|error| Failure::Usage(error.to_string()))?;
    match args.output {
        Form::Csv => {
            let mut out = out();
            out.write_all(write_benchmark(&table).as_bytes())?;
            out.flush()?;
        }
        Form::Table => summary(&table, &args.scenario)?,
    }
    Ok(Exit::Fine)
}

fn summary(table: &Table, scenario: &PacketScenario) -> Result<(), Failure> {
    let missing = |missing: wayleave_topology::devices::MissingMeasurements| Failure::Usage(missing.to_string());
    let WorstMeasurements { throughput, delay, buffer, .. } = table.worst(scenario).map_err(missing)?;
    let model = ServiceModel::of(table, scenario).map_err(missing)?;
    let mut out = out();
    writeln!(out, "{} measured; worst result of each quantity", count(table.iter().len(), "combination"))?;
    let mut worst = plain_table(&["  quantity", "worst", "combination"]);
    let mut row = |what: &str, value: String, case: Case| {
        worst.add_row([format!("  {what}"), value, case.to_string()]);
    };
    row("throughput, R", throughput.0.down(), throughput.1);
    row("processing time, T", delay.0.up(), delay.1);
    row("buffer", buffer.0.down(), buffer.1);
    write_table(&mut out, &mut worst)?;
    writeln!(out, "\nAllocation of Loko for this switch")?;
    let mut allocations = plain_table(&["  allocation", "rate", "burst", "delay"]);
    for (name, share) in [("full rate", AcceptedRate::FullRate), ("fifth rate", AcceptedRate::FifthRate)] {
        let cells = match Allocation::new(&model, share) {
            Ok(Allocation { rate, burst, delay }) => [rate.down(), burst.down(), delay.up()],
            Err(error) => ["-".to_owned(), "-".to_owned(), error.to_string()],
        };
        allocations.add_row([format!("  {name}")].into_iter().chain(cells));
    }
    write_table(&mut out, &mut allocations)?;
    Ok(out.flush()?)
}
