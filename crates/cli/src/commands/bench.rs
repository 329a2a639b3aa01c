//! `wayleave bench`: how fast, as JSON lines.
//!
//! Every case runs in a process of its own, so that its memory is its own.

use std::io::{BufRead, BufReader, Write};
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use clap::{Args, Subcommand};

use crate::bench::{Metric, admission, controller, dataplane, hoses, mixed, sharing, sim, write_lines};
use wayleave_experiments::SHARE_CASES;
use wayleave_schemes::admission::chameleon::RoutingName;

use crate::exit::Exit;
use crate::failure::Failure;
use crate::model_args::ModelArgs;
use crate::output::{out, tell};
use crate::program;
use crate::scheme_args::words;

/// Measure the speed of Wayleave itself: one JSON object per line
#[derive(Subcommand, Clone, Debug)]
pub(crate) enum BenchCommand {
    Admission(AdmissionArgs),
    /// The simulator: packet-hops per CPU-second, with all statistics on
    #[command(
        after_help = "Examples:\n  wayleave bench sim k4-cbr k16-dctcp\n  wayleave bench sim k16-dctcp --threads 2"
    )]
    Sim(SimArgs),
    /// Shares in a tree of services: all at once, and after one change of demand
    #[command(after_help = "Example:\n  wayleave bench sharing flat-100k tree4-100k")]
    Sharing(SeededArgs),
    /// The controller: requests per second with a ledger on disk, and time to restart
    #[command(after_help = "Example:\n  wayleave bench controller restart-100k")]
    Controller(CaseArgs),
    /// A host's eBPF programs: cost per packet, precision of rate and burst (root)
    #[command(after_help = "Example:\n  sudo wayleave bench dataplane 2-tags 6-tags")]
    Dataplane(CaseArgs),
}

const EXAMPLE: &str = "\
Example:
  wayleave bench admission k4-q8-noreroute k12-q4-noreroute --scenario 8";

/// Admission control: fill networks until the first refusal
#[derive(Args, Clone, Debug)]
#[command(after_help = EXAMPLE)]
pub(crate) struct AdmissionArgs {
    /// Cases to run [default: all but those of k = 16, which take minutes]
    #[arg(value_name = "CASE")]
    cases: Vec<String>,
    /// List the cases
    #[arg(long)]
    list: bool,
    /// Mix of flow types (Table 2 of Chameleon)
    #[arg(long, default_value_t = 8, value_parser = clap::value_parser!(u64).range(1..=8))]
    scenario: u64,
    /// Seed of the requests
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Run this case in the current process; used by the separate process of each case
    #[arg(long, hide = true, value_name = "CASE")]
    only: Option<String>,
    /// Routing [default: scarcity, or least-delay with --model published]
    #[arg(long, value_name = "HOW", value_parser = words::<RoutingName>(RoutingName::WORDS))]
    routing: Option<RoutingName>,
    #[command(flatten)]
    model: ModelArgs,
}

/// Cases that take no further settings
#[derive(Args, Clone, Debug)]
pub(crate) struct CaseArgs {
    /// Cases to run [default: all]
    #[arg(value_name = "CASE")]
    cases: Vec<String>,
    /// List the cases
    #[arg(long)]
    list: bool,
    /// Run this case in the current process; used by the separate process of each case
    #[arg(long, hide = true, value_name = "CASE")]
    only: Option<String>,
}

/// Cases that are drawn from a seed
#[derive(Args, Clone, Debug)]
pub(crate) struct SeededArgs {
    #[command(flatten)]
    cases: CaseArgs,
    /// Seed of the random numbers
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

/// Cases of the simulator
#[derive(Args, Clone, Debug)]
pub(crate) struct SimArgs {
    #[command(flatten)]
    seeded: SeededArgs,
    /// Compare one run on this number of threads with one on a single thread
    #[arg(long, value_parser = clap::value_parser!(u16).range(2..))]
    threads: Option<u16>,
}

/// Runs the command.
pub(crate) fn run(command: &BenchCommand) -> Result<Exit, Failure> {
    match command {
        BenchCommand::Admission(args) => run_admission(args),
        BenchCommand::Sim(SimArgs { seeded: SeededArgs { cases, seed }, threads }) => {
            let threads = threads.and_then(|threads| NonZeroUsize::new(usize::from(threads)));
            let measure = |name: &str| {
                let case = *named(sim::CASES, |case| case.name, name)?;
                threads.map_or_else(|| sim::run(case, *seed), |threads| sim::run_on(case, *seed, threads))
            };
            run_cases(cases, "sim", &sim::CASES.iter().map(|case| case.name).collect::<Vec<_>>(), measure)
        }
        BenchCommand::Sharing(SeededArgs { cases, seed }) => {
            let measure = |name: &str| sharing::run(*named(SHARE_CASES, |case| case.name, name)?, *seed);
            run_cases(cases, "sharing", &SHARE_CASES.iter().map(|case| case.name).collect::<Vec<_>>(), measure)
        }
        BenchCommand::Controller(cases) => run_controller_cases(cases),
        BenchCommand::Dataplane(cases) => run_cases(cases, "dataplane", dataplane::CASES, dataplane::run),
    }
}

fn run_admission(args: &AdmissionArgs) -> Result<Exit, Failure> {
    let mixed = mixed::MIXED.iter().map(|case| case.name);
    let hoses = hoses::HOSES.iter().map(|case| case.name);
    let names: Vec<&'static str> = admission::CASES.iter().map(|case| case.name).chain(mixed).chain(hoses).collect();
    if args.list {
        return list(&names);
    }
    args.model.model()?;
    if let Some(name) = &args.only {
        return run_in_process(args, name);
    }
    let usual = names.iter().copied().filter(|name| !name.starts_with("k16-")).collect();
    chosen(&args.cases, &names, usual)?.into_iter().try_for_each(run_apart)?;
    Ok(Exit::Fine)
}

/// Runs the cases that this machine has the programs for, and names the others. The exit code is 7 if one of these was asked for by name.
fn run_controller_cases(args: &CaseArgs) -> Result<Exit, Failure> {
    let runs_here = args.list || args.only.is_some();
    let mut cases = chosen(&args.cases, controller::CASES, controller::CASES.to_vec())?;
    cases.retain(|case| {
        let reason = controller::left_out(case).filter(|_| !runs_here);
        reason.inspect(|reason| tell!("{case}: skipped: {reason}")).is_none()
    });
    if cases.is_empty() {
        return Ok(Exit::Incomplete);
    }
    let is_named = |name: &String| cases.iter().any(|case| case == name);
    let is_complete = args.cases.iter().all(is_named);
    let args = CaseArgs { cases: cases.iter().map(ToString::to_string).collect(), ..args.clone() };
    run_cases(&args, "controller", controller::CASES, run_controller)?;
    Ok(if is_complete { Exit::Fine } else { Exit::Incomplete })
}

/// Runs a case of the controller in a folder of its own, which is removed afterwards.
fn run_controller(case: &str) -> Result<Vec<Metric>, String> {
    let program = program::file().map_err(|failure| failure.to_string())?;
    let folder = Folder::new()?;
    controller::run(case, &program, &folder.0)
}

/// A folder that is removed in the end.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Result<Self, String> {
        let path = std::env::temp_dir().join(format!("wayleave-bench-{}", std::process::id()));
        std::fs::create_dir(&path).map_err(|error| format!("cannot create {}: {error}", path.display()))?;
        Ok(Self(path))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // Remaining files are left to the system's cleanup.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn print(bench: &str, case: &str, metrics: &[Metric]) -> Result<Exit, Failure> {
    let mut out = out();
    write_lines(&mut out, bench, case, metrics)?;
    out.flush()?;
    Ok(Exit::Fine)
}

/// The case of a name.
fn named<'a, C>(cases: &'a [C], name_of: fn(&C) -> &'static str, name: &str) -> Result<&'a C, String> {
    cases.iter().find(|case| name_of(case) == name).ok_or_else(|| format!("no case \"{name}\""))
}

fn run_cases(
    args: &CaseArgs,
    group: &str,
    names: &[&'static str],
    measure: impl Fn(&str) -> Result<Vec<Metric>, String>,
) -> Result<Exit, Failure> {
    if args.list {
        return list(names);
    }
    if let Some(name) = &args.only {
        let metrics = measure(name).map_err(Failure::Internal)?;
        return print(group, name, &metrics);
    }
    chosen(&args.cases, names, names.to_vec())?.into_iter().try_for_each(run_apart)?;
    Ok(Exit::Fine)
}

fn list(names: &[&str]) -> Result<Exit, Failure> {
    let mut out = out();
    names.iter().try_for_each(|name| writeln!(out, "{name}"))?;
    out.flush()?;
    Ok(Exit::Fine)
}

/// The cases that were asked for; the usual ones if none was.
fn chosen(names: &[String], all: &[&'static str], usual: Vec<&'static str>) -> Result<Vec<&'static str>, Failure> {
    if names.is_empty() {
        return Ok(usual);
    }
    let all = || all.iter().copied();
    let find = |name: &String| {
        all().find(|known| known == name).ok_or_else(|| {
            let known: Vec<&str> = all().collect();
            Failure::Usage(format!("no case \"{name}\"; cases: {}", known.join(", ")))
        })
    };
    names.iter().map(find).collect()
}

fn run_in_process(args: &AdmissionArgs, name: &str) -> Result<Exit, Failure> {
    let routing = RoutingName::or_usual(args.routing, args.model.model.defaults()).routing(None);
    let (scenario, model) = (args.scenario as usize, args.model.model()?);
    let setting = admission::Setting { scenario, seed: args.seed, model, routing };
    let metrics = if let Some(case) = admission::CASES.iter().find(|case| case.name == name) {
        admission::run(*case, setting)
    } else if let Some(case) = mixed::MIXED.iter().find(|case| case.name == name) {
        mixed::run(*case, setting)
    } else if let Some(case) = hoses::HOSES.iter().find(|case| case.name == name) {
        hoses::run(*case, setting)
    } else {
        return Err(Failure::Usage(format!("no case \"{name}\"")));
    };
    let metrics = metrics.map_err(Failure::Internal)?;
    print("admission", name, &metrics)
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
        let line = line.map_err(|error| failed("could not be monitored", &error))?;
        forwarded = writeln!(out, "{line}").and_then(|()| out.flush());
        if forwarded.is_err() {
            // The output is closed, which the case itself would not notice before its end. The error of a case that
            // has already ended is ignored.
            let _ = child.kill();
            break;
        }
    }
    let status = child.wait().map_err(|error| failed("could not be monitored", &error))?;
    forwarded?;
    if status.success() { Ok(()) } else { Err(failed("failed", &status)) }
}
