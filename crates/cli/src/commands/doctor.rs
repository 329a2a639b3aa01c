//! `wayleave doctor`: what this machine has and lacks for the data plane.

use std::io::Write;

use clap::Args;
use serde::Serialize;
use wayleave_dataplane::doctor::{Check, CheckFinding, Need, can_run, examine};
use wayleave_explain::human::count;
use wayleave_explain::table::write_table;

use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::{OutputFormat, out, plain_table};

const EXAMPLE: &str = "\
Examples:
  sudo wayleave doctor
  wayleave doctor -o json

Exit codes:
  0  agents and labs can run here
  1  a requirement is missing";

/// Check this machine's prerequisites for agents and labs
///
/// All checks run in a temporary network namespace; the machine is not changed.
#[derive(Args, Clone, Debug)]
#[command(after_help = EXAMPLE)]
pub(crate) struct DoctorArgs {
    /// Output format
    #[arg(short, long, value_enum, default_value_t)]
    output: OutputFormat,
}

/// One check, for programs.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct CheckJson<'a> {
    name: &'a str,
    is_required: bool,
    /// `present`, `missing` or `untried`.
    state: &'static str,
    detail: String,
    purpose: &'a str,
    remedy: &'a str,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct DoctorJson<'a> {
    can_run: bool,
    checks: Vec<CheckJson<'a>>,
}

/// Runs the command.
pub(crate) fn run(args: &DoctorArgs) -> Result<Exit, Failure> {
    let checks = examine();
    let mut out = out();
    match args.output {
        OutputFormat::Table => table(&mut out, &checks)?,
        OutputFormat::Json => {
            let checks_json = checks.iter().map(json).collect();
            serde_json::to_writer_pretty(&mut out, &DoctorJson { can_run: can_run(&checks), checks: checks_json })?;
            writeln!(out)?;
        }
    }
    out.flush()?;
    Ok(if can_run(&checks) { Exit::Fine } else { Exit::Internal })
}

const fn state(finding: &CheckFinding) -> &'static str {
    match finding {
        CheckFinding::Present(_) => "present",
        CheckFinding::Missing(_) => "missing",
        CheckFinding::Untried(_) => "untried",
    }
}

fn json(check: &Check) -> CheckJson<'_> {
    CheckJson {
        name: check.name,
        is_required: check.need == Need::Required,
        state: state(&check.finding),
        detail: check.finding.to_string(),
        purpose: check.purpose,
        remedy: check.remedy,
    }
}

fn are(missing: usize) -> String {
    format!("{} {}", count(missing, "thing"), if missing == 1 { "is" } else { "are" })
}

fn table(out: &mut impl Write, checks: &[Check]) -> Result<(), Failure> {
    let mut table = plain_table(&["WHAT", "STATE", "NEEDED", "FOR"]);
    for check in checks {
        let needed = if check.need == Need::Required { "yes" } else { "no" };
        table.add_row([check.name, state(&check.finding), needed, check.purpose]);
    }
    write_table(out, &mut table)?;
    let is_missing = |check: &&Check| matches!(check.finding, CheckFinding::Missing(_));
    for need in [Need::Required, Need::Useful] {
        for check in checks.iter().filter(is_missing).filter(|check| check.need == need) {
            // Errors of the kernel's verifier have many lines; the last one names the cause.
            let detail = check.finding.to_string();
            let detail = detail.lines().last().unwrap_or_default();
            writeln!(out, "\n{}: {detail}\n  {}", check.name, check.remedy)?;
        }
    }
    let untried = checks.iter().filter(|check| matches!(check.finding, CheckFinding::Untried(_))).count();
    if untried > 0 {
        writeln!(out, "\n{} could not be tested because of missing requirements.", count(untried, "thing"))?;
    }
    let missing = checks.iter().filter(is_missing).filter(|check| check.need == Need::Required).count();
    if can_run(checks) {
        writeln!(out, "\nAgents and labs can run here.")?;
    } else {
        writeln!(out, "\nAgents and labs cannot run here: {} missing.", are(missing))?;
    }
    Ok(())
}
