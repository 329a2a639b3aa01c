//! `wayleave audit`: who did what.

use std::io::Write;

use clap::Args;
use wayleave_protocol::audit::AuditEntry;
use wayleave_units::escaped;

use crate::client::Target;
use crate::client::show::short;
use crate::exit::{self, Exit};
use crate::failure::Failure;
use crate::output::{OutputFormat, out};

const EXAMPLE: &str = "\
Examples:
  wayleave audit
  wayleave audit --who t-8606be049c91
  wayleave audit --object acme:backup -o json";

/// List changes and refused requests with the token that made them, latest first
#[derive(Args, Clone, Debug)]
#[command(after_help = EXAMPLE, after_long_help = exit::after(EXAMPLE))]
pub(crate) struct AuditArgs {
    /// Only actions of this token (run `wayleave get tokens`); `nobody` means unknown tokens
    #[arg(long, value_name = "TOKEN")]
    who: Option<String>,
    /// Only actions on this object: TENANT:NAME of a contract or VM, or another name
    #[arg(long, value_name = "OBJECT")]
    object: Option<String>,
    /// Maximum number
    #[arg(long, value_name = "COUNT", default_value_t = 100)]
    limit: usize,
    /// Output format, one line each
    #[arg(short, long, value_enum, default_value_t)]
    output: OutputFormat,
    #[command(flatten)]
    target: Target,
}

/// Runs the command.
pub(crate) fn run(args: &AuditArgs) -> Result<Exit, Failure> {
    let service = args.target.service()?;
    let filters = [("who", args.who.as_deref()), ("object", args.object.as_deref())];
    let entries: Vec<AuditEntry> = service.list("/v1/audit", &filters, args.limit)?;
    let mut out = out();
    for entry in &entries {
        match args.output {
            OutputFormat::Json => serde_json::to_writer(&mut out, entry)?,
            OutputFormat::Table => write!(out, "{}", line(entry))?,
        }
        writeln!(out)?;
    }
    out.flush()?;
    Ok(Exit::Fine)
}

/// An entry in a line.
fn line(entry: &AuditEntry) -> String {
    let AuditEntry { at, who, from, operation, object, status, detail, count, .. } = entry;
    let times = if *count > 1 { format!("  {count} times") } else { String::new() };
    let detail = if detail.is_empty() { String::new() } else { format!("  {detail}") };
    let from = if from.is_empty() { "-" } else { from };
    let line = format!("{at:<30}  {who:<14}  {from:<15}  {operation:<15}  {status}  {}{detail}{times}", short(object));
    escaped(&line).into_owned()
}
