//! `wayleave bench`: how fast, as JSON lines.
//!
//! Every case runs in a process of its own, so that its memory is its own.

use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};

use clap::{Args, Subcommand};

use crate::bench::{admission, print};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::model_args::ModelArgs;
use crate::output::out;

/// Measure how long things take, as one JSON object a line
#[derive(Subcommand, Clone, Debug)]
pub(crate) enum BenchCommand {
    Admission(AdmissionArgs),
}

const EXAMPLE: &str = "\
Example:
  wayleave bench admission k4-q8-noreroute k12-q4-noreroute --scenario 8";

/// Admission control: networks are filled until the first refusal
#[derive(Args, Clone, Debug)]
#[command(after_help = EXAMPLE)]
pub(crate) struct AdmissionArgs {
    /// What to run [default: all but those of k = 16, which take minutes]
    #[arg(value_name = "CASE")]
    cases: Vec<String>,
    /// Name the cases and stop
    #[arg(long)]
    list: bool,
    /// The mix of requests (Table 2 of Chameleon)
    #[arg(long, default_value_t = 8, value_parser = clap::value_parser!(u64).range(1..=8))]
    scenario: u64,
    /// The seed of the requests
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Run this one here: what each case's own process is told
    #[arg(long, hide = true, value_name = "CASE")]
    only: Option<String>,
    #[command(flatten)]
    model: ModelArgs,
}

/// Runs the command.
pub(crate) fn run(command: &BenchCommand) -> Result<Exit, Failure> {
    let BenchCommand::Admission(args) = command;
    if args.list {
        let mut out = out();
        admission::CASES.iter().try_for_each(|case| writeln!(out, "{}", case.name))?;
        out.flush()?;
        return Ok(Exit::Fine);
    }
    args.model.model()?;
    if let Some(name) = &args.only {
        return run_here(args, name);
    }
    for name in chosen(&args.cases)? {
        run_apart(name)?;
    }
    Ok(Exit::Fine)
}

/// The cases that were asked for.
fn chosen(names: &[String]) -> Result<Vec<&'static str>, Failure> {
    let all = || admission::CASES.iter().map(|case| case.name);
    if names.is_empty() {
        return Ok(all().filter(|name| !name.starts_with("k16-")).collect());
    }
    let find = |name: &String| {
        all().find(|known| known == name).ok_or_else(|| {
            let known: Vec<&str> = all().collect();
            Failure::Usage(format!("there is no case \"{name}\": the cases are {}", known.join(", ")))
        })
    };
    names.iter().map(find).collect()
}

fn run_here(args: &AdmissionArgs, name: &str) -> Result<Exit, Failure> {
    let case = admission::CASES.iter().find(|case| case.name == name);
    let case = case.ok_or_else(|| Failure::Usage(format!("there is no case \"{name}\"")))?;
    let setting = admission::Setting { scenario: args.scenario as usize, seed: args.seed, model: args.model.model()? };
    let metrics = admission::run(*case, setting).map_err(Failure::Internal)?;
    print("admission", name, &metrics).map_err(Failure::Internal)?;
    Ok(Exit::Fine)
}

/// Runs a case in a process of its own and hands its lines on.
fn run_apart(name: &str) -> Result<(), Failure> {
    let failed = |what: &str, error: &dyn std::fmt::Display| Failure::Internal(format!("case {name} {what}: {error}"));
    let program = std::env::current_exe().map_err(|error| failed("could not be started", &error))?;
    let mut child = Command::new(program)
        .args(std::env::args_os().skip(1))
        .args(["--only", name])
        .stdout(Stdio::piped())
        .spawn()
        .map_err(|error| failed("could not be started", &error))?;
    let mut out = out();
    let mut forwarded = Ok(());
    for line in child.stdout.take().into_iter().flat_map(|stdout| BufReader::new(stdout).lines()) {
        let line = line.map_err(|error| failed("could not be followed", &error))?;
        forwarded = writeln!(out, "{line}").and_then(|()| out.flush());
        if forwarded.is_err() {
            // Nobody reads on; the case itself would not notice before its end. If it has ended already, all the better.
            let _ = child.kill();
            break;
        }
    }
    let status = child.wait().map_err(|error| failed("could not be followed", &error))?;
    forwarded?;
    if status.success() { Ok(()) } else { Err(failed("ended badly", &status)) }
}
