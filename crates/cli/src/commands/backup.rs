//! `wayleave backup`: a copy of the ledger while a server has it open.

use std::io::Write;

use clap::Args;
use wayleave_client::Method;
use wayleave_explain::human::count;
use wayleave_protocol::status::{Backup, BackupSpec};

use crate::client::Target;
use crate::exit::{self, Exit};
use crate::failure::Failure;
use crate::output::out;

const EXAMPLE: &str = "\
Example:
  wayleave backup wayleave-2026-11-23.db

The file is created in the ledger's directory, on the server. docs/operate/ledger.md describes how to restore it.";

/// Back up the ledger of a running server, and check the copy
#[derive(Args, Clone, Debug)]
#[command(after_help = EXAMPLE, after_long_help = exit::after(EXAMPLE))]
pub(crate) struct BackupArgs {
    /// File name; it must not exist
    #[arg(value_name = "NAME")]
    name: String,
    #[command(flatten)]
    target: Target,
}

/// Runs the command.
pub(crate) fn run(args: &BackupArgs) -> Result<Exit, Failure> {
    let service = args.target.service()?;
    let (_, backup) = service.send::<Backup>(Method::Post, "/v1/backups", &BackupSpec { name: args.name.clone() })?;
    let records = count(backup.records, "record");
    let mut out = out();
    writeln!(out, "{}: {records}, all verified, up to commit {}", backup.path, backup.sequence)?;
    out.flush()?;
    Ok(Exit::Fine)
}
