//! `wayleave diff`: what differs between two plans, runs or sweeps.

use std::io::Write;
use std::path::Path;

use clap::Args;
use serde_json::{Value, json};
use wayleave::diff::{self, DiffInput};
use wayleave_formats::Source;

use crate::exit::{self, Exit};
use crate::failure::Failure;
use crate::inputs::check_stdin;
use crate::output::{OutputFormat, layout, out};

/// Maximum number of differences that are shown.
const MAX: usize = 40;

const EXAMPLE: &str = "\
Examples:
  wayleave diff before.json after.json        (of wayleave plan -o json)
  wayleave diff results-dctcp results-ufab    (folders of wayleave sim --out)
  wayleave plan -t network.yaml -f contracts.yaml -o json | wayleave diff before.json -";

/// Compare two plans, two simulation runs or two sweeps
#[derive(Args, Clone, Debug)]
#[command(after_help = EXAMPLE, after_long_help = exit::after(EXAMPLE))]
pub(crate) struct DiffArgs {
    /// Output of plan or sim with -o json, or a folder of results; - is stdin
    #[arg(value_name = "FIRST")]
    first: String,
    /// Second output, of the same kind
    #[arg(value_name = "SECOND")]
    second: String,
    /// Output format
    #[arg(short, long, value_enum, default_value_t)]
    output: OutputFormat,
    /// Show all differences, not only the first 40
    #[arg(long)]
    all: bool,
}

/// Runs the command.
pub(crate) fn run(args: &DiffArgs) -> Result<Exit, Failure> {
    check_stdin([args.first.as_str(), args.second.as_str()])?;
    let difference = diff::diff_values(read(&args.first)?, read(&args.second)?)?;
    let mut out = out();
    match args.output {
        OutputFormat::Table => difference.write_text(&mut out, layout(), if args.all { usize::MAX } else { MAX })?,
        OutputFormat::Json => {
            serde_json::to_writer_pretty(&mut out, &difference).map_err(wayleave::Error::from)?;
            writeln!(out)?;
        }
    }
    out.flush()?;
    Ok(if difference.is_none() { Exit::Fine } else { Exit::Differs })
}

/// A document, or all runs of a folder as one.
fn read(path: &str) -> Result<(DiffInput, Value), Failure> {
    let runs = Path::new(path).join("runs");
    if !runs.is_dir() {
        return Ok(diff::read(&Source::read(path)?)?);
    }
    let unreadable = |error: std::io::Error| Failure::Usage(format!("cannot read {}: {error}", runs.display()));
    let mut files = Vec::new();
    for entry in runs.read_dir().map_err(unreadable)? {
        let file = entry.map_err(unreadable)?.path();
        files.extend(Some(file).filter(|file| file.extension().is_some_and(|ending| ending == "json")));
    }
    files.sort();
    let all: Result<Vec<Value>, Failure> = files.iter().map(|file| Ok(diff::read(&Source::read(file)?)?.1)).collect();
    Ok((DiffInput::Sweep, json!({ "runs": all? })))
}
