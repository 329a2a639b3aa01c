//! `wayleave trace`: shows the packet events that `wayleave sim --trace` wrote.

use std::io::Write;
use std::path::PathBuf;

use clap::{Args, Subcommand};
use wayleave_sim::trace::{ReadError, Reader};

use crate::exit::{self, Exit};
use crate::failure::Failure;
use crate::output::out;

/// Print the packet events of a simulation run
#[derive(Subcommand, Clone, Debug)]
pub(crate) enum TraceCommand {
    Show(ShowArgs),
}

const EXAMPLE: &str = "\
Example:
  wayleave sim scenario.yaml --trace packets.trace
  wayleave trace show packets.trace | grep dropped";

/// Print a trace, one event per line: time, event, place, packet, bytes on the wire
#[derive(Args, Clone, Debug)]
#[command(after_help = EXAMPLE, after_long_help = exit::after(EXAMPLE))]
pub(crate) struct ShowArgs {
    /// Output of `wayleave sim --trace`
    #[arg(value_name = "FILE")]
    file: PathBuf,
}

/// Runs the command.
pub(crate) fn run(command: &TraceCommand) -> Result<Exit, Failure> {
    let TraceCommand::Show(args) = command;
    let failure = |error: ReadError| {
        let message = format!("{}: {error}", args.file.display());
        match error {
            ReadError::Io(_) => Failure::Internal(message),
            _ => Failure::Located(message),
        }
    };
    let reader = Reader::open(&args.file).map_err(failure)?;
    let header = reader.header().clone();
    let (seen, kept) = (reader.seen(), reader.kept());
    let mut out = out();
    writeln!(out, "# wayleave {}, seed {}, input {:016x}", header.program, header.seed, header.input_hash)?;
    if seen > kept {
        writeln!(out, "# the last {kept} of {seen} packet events")?;
    }
    for record in reader {
        writeln!(out, "{}", header.line(&record.map_err(failure)?))?;
    }
    out.flush()?;
    Ok(Exit::Fine)
}
