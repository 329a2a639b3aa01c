//! `wayleave policy`: who shares the bandwidth of a contention point, checked and computed.

use std::io::Write;

use clap::{Args, Subcommand, ValueEnum};
use wayleave::policy::{PointOptions, reserved, shares, summary};
use wayleave::{Contracts, PolicyMinima, Session};
use wayleave_contracts::{Contract, Direction, Policy};
use wayleave_explain::human::count;
use wayleave_formats::{PolicyFile, Source, read_policy};
use wayleave_topology::Network;
use wayleave_units::WallTime;

use crate::exit::{self, Exit};
use crate::failure::Failure;
use crate::inputs::check_stdin;
use crate::output::{OutputFormat, layout, out};
use crate::session::SessionArgs;

const EXAMPLE: &str = "\
Examples:
  wayleave policy check -t testbed:parley-testbed policy.yaml
  wayleave policy show -t testbed:parley-testbed -f policy.yaml --demands dfs=20Gbit,hbase=all,vms=all";

/// Check bandwidth policies against a network, and show how they share a link
#[derive(Subcommand, Clone, Debug)]
#[command(after_help = EXAMPLE, after_long_help = exit::after(EXAMPLE))]
pub(crate) enum PolicyCommand {
    Check(Box<CheckArgs>),
    Show(Box<ShowArgs>),
}

const CHECK_EXAMPLE: &str = "\
Example:
  wayleave policy check -t testbed:parley-testbed policy.yaml";

/// Check policy files, and that a network can keep their guarantees
#[derive(Args, Clone, Debug)]
#[command(after_help = CHECK_EXAMPLE, after_long_help = exit::after(CHECK_EXAMPLE))]
pub(crate) struct CheckArgs {
    /// Files (kind: Policy); - is stdin
    #[arg(value_name = "FILE", required = true)]
    files: Vec<String>,
    /// Contracts, whose reservations reduce the bandwidth of services; several files in order
    #[arg(long, value_name = "FILE")]
    contracts: Vec<String>,
    #[command(flatten)]
    session: SessionArgs,
}

const SHOW_EXAMPLE: &str = "\
Examples:
  wayleave policy show -t testbed:parley-testbed -f policy.yaml
  wayleave policy show -t testbed:parley-testbed -f policy.yaml --demands dfs=20Gbit,hbase=all,vms=all
  wayleave policy show -t testbed:parley-testbed -f policy.yaml --demands vms@h1=2Gbit,vms@h2=all -o json";

/// Show how the services of one contention point share it for given demands
#[derive(Args, Clone, Debug)]
#[command(after_help = SHOW_EXAMPLE, after_long_help = exit::after(SHOW_EXAMPLE))]
pub(crate) struct ShowArgs {
    /// Policy (kind: Policy); - is stdin
    #[arg(short, long, value_name = "FILE")]
    file: String,
    /// Policy of the level below, whose maxima apply as well: machines for a rack, racks for the fabric
    #[arg(long, value_name = "FILE")]
    inner: Option<String>,
    /// Host, or switch of the rack [default: the first to which the policy applies]
    #[arg(long, value_name = "NODE")]
    at: Option<String>,
    /// Direction of the traffic
    #[arg(long, value_enum, default_value_t)]
    direction: DirectionName,
    /// Apply the changes until this time, such as 2027-01-01T20:00:00Z [default: before all changes]
    #[arg(long, value_name = "TIME")]
    when: Option<WallTime>,
    /// Demands of services: SERVICE=RATE or SERVICE@NODE=RATE; RATE can be all; other is traffic that belongs to no
    /// service. Services that are not listed have no demand. Without @NODE the rate is that of each machine (or rack)
    /// of the
    /// service
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    demands: Vec<String>,
    /// Output format
    #[arg(short, long, value_enum, default_value_t)]
    output: OutputFormat,
    /// Contracts, whose reservations reduce the bandwidth of services; several files in order
    #[arg(long, value_name = "FILE")]
    contracts: Vec<String>,
    #[command(flatten)]
    session: SessionArgs,
}

#[derive(ValueEnum, Clone, Copy, Debug, Default)]
enum DirectionName {
    /// Traffic sent by the machine or rack
    #[default]
    Transmit,
    /// Traffic received by the machine or rack
    Receive,
}

/// Runs the command.
pub(crate) fn run(command: &PolicyCommand) -> Result<Exit, Failure> {
    match command {
        PolicyCommand::Check(args) => check(args),
        PolicyCommand::Show(args) => show(args),
    }
}

fn check(args: &CheckArgs) -> Result<Exit, Failure> {
    let topology = args.session.network.topology.as_str();
    check_stdin(args.files.iter().chain(&args.contracts).map(String::as_str).chain([topology]))?;
    let mut session = beside(&args.session, &args.contracts)?;
    let (network, mut minima) = (session.network().clone(), PolicyMinima::default());
    let network = &*network;
    let mut exit = Exit::Fine;
    let mut out = out();
    for file in &args.files {
        match read(file, network) {
            Ok(read) => match check_one(&mut session, &mut minima, &read.policy) {
                Ok(()) => writeln!(out, "ok: {file} is {}", summary(&read.policy, network))?,
                Err(over) => {
                    out.flush()?;
                    let hint = "lower the minima, or give the contention point more capacity";
                    crate::output::tell!("{}", read.finding(&format!("refused (RATE): {over}")).with_hint(hint));
                    exit = if exit == Exit::Fine { Exit::Refused } else { exit };
                }
            },
            Err(failure) => {
                out.flush()?;
                crate::output::tell!("{failure}");
                exit = failure.exit();
            }
        }
    }
    out.flush()?;
    Ok(exit)
}

/// Checks that a policy can be kept beside the contracts of a session. If queues are divided among classes, it counts
/// in one sum with minima of contracts and of earlier policies, and is reserved from then on.
fn check_one(session: &mut Session, minima: &mut PolicyMinima, policy: &Policy) -> Result<(), String> {
    if session.network().classes().is_some() {
        return minima.hold(session, policy).map_err(|short| short.to_string());
    }
    let over = policy.check_capacity_beside(session.network(), &|link| reserved(session, link));
    over.map_err(|over| over.to_string())
}

/// A network with the contracts that are admitted on it.
fn beside(args: &SessionArgs, contracts: &[String]) -> Result<Session, Failure> {
    let network = args.network.read()?;
    let lists = Contracts::read_all_kinds(contracts, &network)?;
    let mut session = args.open_for(&network, &lists)?;
    let mut is_refused = |any: &Contract| match any.as_latency() {
        Some(contract) => session.admit(contract).decision.is_err(),
        None => session.admit_share(any).0.is_err(),
    };
    let refused = lists.all().map(|(_, any)| any).filter(|any| is_refused(any)).count();
    if refused > 0 {
        let of = count(lists.len(), "contract");
        crate::output::tell!("refused of {of}: {refused} (see `wayleave plan`); services share the remaining capacity");
    }
    Ok(session)
}

fn read(file: &str, network: &Network) -> Result<PolicyFile, Failure> {
    Ok(read_policy(&Source::read(file)?, network)?)
}

fn show(args: &ShowArgs) -> Result<Exit, Failure> {
    let inputs = [Some(&args.session.network.topology), Some(&args.file), args.inner.as_ref()];
    check_stdin(inputs.into_iter().flatten().chain(&args.contracts).map(String::as_str))?;
    let session = beside(&args.session, &args.contracts)?;
    let network = session.network();
    let policy = read(&args.file, network)?.policy;
    let inner = args.inner.as_ref().map(|file| read(file, network)).transpose()?;
    let direction = match args.direction {
        DirectionName::Transmit => Direction::Transmit,
        DirectionName::Receive => Direction::Receive,
    };
    let options = PointOptions::new(direction)
        .with_at(args.at.as_deref())
        .with_when(args.when)
        .with_inner(inner.as_ref().map(|file| &file.policy));
    let shared = shares(&session, &policy, options, &args.demands)?;
    let mut out = out();
    if args.output == OutputFormat::Json {
        let text = serde_json::to_string_pretty(&shared.rows).map_err(|error| Failure::Internal(error.to_string()))?;
        writeln!(out, "{text}")?;
    } else {
        let (capacity, direction) = (shared.capacity, direction.name());
        writeln!(out, "{}: {capacity:#} to {direction} at {}\n", policy.name(), shared.place)?;
        shared.write_table(&mut out, layout(), args.demands.is_empty())?;
    }
    out.flush()?;
    Ok(Exit::Fine)
}
