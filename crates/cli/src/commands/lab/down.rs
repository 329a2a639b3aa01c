//! `wayleave lab down`.

use std::io::Write;

use clap::Args;
use wayleave_explain::human::count;
use wayleave_lab::{LabName, Labs};

use super::name::{USUAL, parse_name};
use crate::exit::{self, Exit};
use crate::failure::Failure;
use crate::output::out;

const EXAMPLE: &str = "\
Examples:
  sudo wayleave lab down
  sudo wayleave lab down --name second";

/// Delete a lab completely, also after an interrupted `lab up`
#[derive(Args, Clone, Debug)]
#[command(after_help = EXAMPLE, after_long_help = exit::after(EXAMPLE))]
pub(crate) struct DownArgs {
    /// Name of the lab
    #[arg(long, default_value = USUAL, value_parser = parse_name)]
    name: LabName,
    /// Remove the lab during a run too; the run then fails
    #[arg(long)]
    force: bool,
}

/// Runs the command.
pub(crate) fn run(args: &DownArgs) -> Result<Exit, Failure> {
    let labs = Labs::default();
    let removed = if args.force { labs.force_down(&args.name) } else { labs.down(&args.name) }?;
    let mut out = out();
    let (namespaces, programs) = (count(removed.namespaces, "namespace"), count(removed.programs, "program"));
    writeln!(out, "lab {} removed: {namespaces}, {programs}", args.name)?;
    out.flush()?;
    Ok(Exit::Fine)
}
