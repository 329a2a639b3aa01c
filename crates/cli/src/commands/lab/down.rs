//! `wayleave lab down`.

use std::io::Write;

use clap::Args;
use wayleave_explain::human::count;
use wayleave_lab::{LabName, Labs};

use super::name::{USUAL, parse_name};
use crate::exit::{self, Exit};
use crate::failure::Failure;
use crate::output::out;

/// Take a lab away with everything that belongs to it, also one that was left half made
#[derive(Args, Clone, Debug)]
#[command(after_help = exit::after("Examples:\n  sudo wayleave lab down\n  sudo wayleave lab down --name second"))]
pub(crate) struct DownArgs {
    /// Which lab
    #[arg(long, default_value = USUAL, value_parser = parse_name)]
    name: LabName,
}

/// Runs the command.
pub(crate) fn run(args: &DownArgs) -> Result<Exit, Failure> {
    let removed = Labs::default().down(&args.name)?;
    let mut out = out();
    let (namespaces, programs) = (count(removed.namespaces, "namespace"), count(removed.programs, "program"));
    writeln!(out, "lab {} is gone: {namespaces}, {programs}", args.name)?;
    out.flush()?;
    Ok(Exit::Fine)
}
