//! `wayleave verify`: an admitted set under the worst traffic that its contracts allow, packet by packet.

use clap::{Args, ValueEnum};
use wayleave_explain::human::count;
use wayleave_topology::Network;
use wayleave_verify::{Attack, Claim, Effort, Fault, Report, replay, verify};

use crate::args::OutputFormat;
use crate::exit::{self, Exit};
use crate::failure::Failure;
use crate::inputs::{Lists, check_stdin};
use crate::output::verify::{Verified, json, table};
use crate::progress::Progress;
use crate::session::{Session, SessionArgs};
use crate::sim::interrupt;
use crate::verify::{of_session, read_plan};

const EXAMPLE: &str = "\
Examples:
  wayleave verify -t fat-tree:k=4 -f contracts.yaml
  wayleave verify -t fat-tree:k=4 --plan plan.json --flow ptp-7 --effort long
  wayleave verify -t fat-tree:k=4 -f contracts.yaml --break shaper-off";

/// How many violations a person reads.
const SHOWN: usize = 10;

/// Replay an admitted set packet by packet with the worst traffic that its contracts allow
#[derive(Args, Clone, Debug)]
#[command(after_help = exit::after(EXAMPLE))]
pub(crate) struct VerifyArgs {
    /// Contracts in YAML, JSON or CSV, which are admitted first; several files are read in order, - is stdin
    #[arg(short = 'f', long = "file", value_name = "CONTRACTS", required_unless_present = "plan")]
    files: Vec<String>,
    /// A plan that `wayleave plan -o json` has printed, in place of contracts
    #[arg(long, value_name = "FILE", conflicts_with_all = ["files", "scheme", "budgets", "host_budget", "silo_budget",
        "qjump_n", "qjump_packet", "qjump_epsilon", "qjump_reading",
        "loko_table", "loko_scenario", "loko_allocation", "loko_counting", "loko_services",
        "routing", "reroute", "model", "residual", "max_frame", "overhead", "tags", "best_effort", "compare", "shaping"])]
    plan: Option<String>,
    /// The contract that the search for worse phases is for [default: the one that came closest to its limit]
    #[arg(long, value_name = "CONTRACT")]
    flow: Option<String>,
    /// How hard to try
    #[arg(long, value_enum, default_value_t)]
    effort: EffortName,
    /// How many failures of cables and switches are tried of each protected contract: all, none or a number (of many
    /// contracts only some are tried then) [default: 4, 8 or all, by --effort]
    #[arg(long, value_name = "all|none|COUNT", value_parser = cuts, conflicts_with = "replay")]
    cut: Option<u32>,
    /// Of all random numbers
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Make one attack only, as the message of a violation names it
    #[arg(long, value_name = "PATTERN,SEED[,SHIFTS]", conflicts_with = "flow")]
    replay: Option<Attack>,
    /// Put a fault into the set after admission: shows that the check can fail
    #[arg(long = "break", value_enum, value_name = "FAULT")]
    fault: Option<FaultName>,
    /// How to print the result
    #[arg(short, long, value_enum, default_value_t)]
    output: OutputFormat,
    /// Show every contract in the table, not only the 40 that came closest to their limits
    #[arg(long)]
    all: bool,
    /// Show progress even if the standard error is no terminal
    #[arg(long)]
    progress: bool,
    #[command(flatten)]
    session: SessionArgs,
}

#[derive(ValueEnum, Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum EffortName {
    /// A first look
    Quick,
    /// Seconds for 2,000 contracts on a fat tree
    #[default]
    Usual,
    /// Every contract is attacked for itself
    Long,
}

#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FaultName {
    /// Every queue gets half the time that it needs today
    BudgetHalved,
    /// Every contract sends twice its burst, at twice its rate
    ShaperOff,
    /// The queues of switches hold two frames
    BuffersGone,
    /// Packets of protected contracts go over one of their routes only
    DuplicationOff,
}

/// `all`, `none` or a number.
fn cuts(text: &str) -> Result<u32, String> {
    match text {
        "all" => Ok(u32::MAX),
        "none" => Ok(0),
        number => number.parse().map_err(|_| "all, none or a number such as 8 is expected".to_owned()),
    }
}

/// Runs the command.
pub(crate) fn run(args: &VerifyArgs) -> Result<Exit, Failure> {
    let inputs = args.files.iter().chain(&args.plan).chain([&args.session.network.topology]);
    check_stdin(inputs.map(String::as_str))?;
    let (topology, claim) = args.claim()?;
    let (effort, chosen) = (args.effort(), args.chosen(&claim)?);
    interrupt::listen()?;
    let mut progress = None;
    let step = |_, total: u64| {
        let total = usize::try_from(total).unwrap_or(usize::MAX);
        progress.get_or_insert_with(|| Progress::new(total, args.progress)).step();
        !interrupt::is_stopped()
    };
    let report = match &args.replay {
        Some(attack) => replay(&claim, &effort, attack),
        None => verify(&claim, &effort, chosen, step),
    };
    let report = report.map_err(|error| Failure::Usage(error.to_string()))?;
    drop(progress);
    let verified = Verified {
        topology: &topology,
        claim: &claim,
        report: &report,
        effort,
        chosen,
        fault: args.fault.map(word),
        command: command_line(),
    };
    match args.output {
        OutputFormat::Json => json(&verified)?,
        OutputFormat::Table => table(&verified, args.all)?,
    }
    Ok(judge(&claim, &report, &verified))
}

impl VerifyArgs {
    /// What the topology is called, and what is put to the test.
    fn claim(&self) -> Result<(String, Claim), Failure> {
        let (topology, claim) = match &self.plan {
            Some(file) => {
                let (topology, network) = self.session.network.read()?;
                (topology, read_plan(file, &network)?)
            }
            None => {
                let mut session = Session::open(&self.session)?;
                let lists = Lists::read(&self.files, &session.network)?;
                let total = lists.len();
                let refused = lists.iter().filter(|(_, contract)| session.admit(contract).decision.is_err()).count();
                if refused > 0 {
                    eprintln!("{refused} of {} refused: nothing was promised to them", count(total, "contract"));
                }
                (session.topology.clone(), of_session(&session))
            }
        };
        let broken = match self.fault {
            None => return Ok((topology, claim)),
            Some(FaultName::BudgetHalved) => claim.broken_by(Fault::BudgetHalved),
            Some(FaultName::ShaperOff) => claim.broken_by(Fault::ShaperOff),
            Some(FaultName::BuffersGone) => claim.broken_by(Fault::BuffersGone),
            Some(FaultName::DuplicationOff) => claim.broken_by(Fault::DuplicationOff),
        };
        let broken = broken.map_err(|error| Failure::Internal(format!("the network cannot be rebuilt: {error}")))?;
        Ok((topology, broken))
    }

    fn effort(&self) -> Effort {
        let usual = match self.effort {
            EffortName::Quick => Effort::QUICK,
            EffortName::Usual => Effort::USUAL,
            EffortName::Long => Effort::LONG,
        };
        Effort { seed: self.seed, cuts: self.cut.unwrap_or(usual.cuts), ..usual }
    }

    /// The number of the contract that was asked for.
    fn chosen(&self, claim: &Claim) -> Result<Option<usize>, Failure> {
        let Some(name) = &self.flow else { return Ok(None) };
        let mut promises = claim.promises.iter();
        if let Some(number) = promises.position(|promise| promise.name == *name) {
            return Ok(Some(number));
        }
        let names = claim.promises.iter().map(|promise| promise.name.as_str());
        let hint = wayleave_explain::sentences::nearest(name, names).map(|near| format!("; did you mean \"{near}\"?"));
        Err(Failure::Usage(format!("no contract \"{name}\" is admitted{}", hint.unwrap_or_default())))
    }
}

/// What an option's value is called.
fn word(value: impl ValueEnum) -> String {
    value.to_possible_value().map_or_else(String::new, |value| value.get_name().to_owned())
}

/// Says on the standard error what did not hold, each with the command that shows it again.
fn judge(claim: &Claim, report: &Report, verified: &Verified<'_>) -> Exit {
    for violation in report.violations.iter().take(SHOWN) {
        let name = &claim.promises[violation.promise].name;
        eprintln!("broken promise to {name}: {}", violation.breach);
        eprintln!("  replay: {}", verified.replay(&violation.attack));
    }
    if let Some(more) = report.violations.len().checked_sub(SHOWN).filter(|&more| more > 0) {
        eprintln!("and {}", count(more, "more broken promise"));
    }
    match report.is_sound() {
        false => Exit::Unsound,
        true if interrupt::is_stopped() => Exit::Stopped,
        true => Exit::Fine,
    }
}

/// How this command was called, without what a replay does not need.
fn command_line() -> Vec<String> {
    let mut kept = vec!["wayleave".to_owned()];
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        let name = argument.split('=').next().unwrap_or_default();
        match name {
            "--replay" | "--flow" => {
                if !argument.contains('=') {
                    arguments.next();
                }
            }
            "--progress" | "--all" => {}
            _ => kept.push(argument),
        }
    }
    kept
}

/// A short name for a network with all its promises: FNV-1a (Fowler, Noll, Vo; draft-eastlake-fnv) over their text.
pub(crate) fn fingerprint(claim: &Claim) -> String {
    const OFFSET: u64 = 0xcbf2_9ce4_8422_2325;
    const PRIME: u64 = 0x0100_0000_01b3;
    let network: &Network = &claim.network;
    let mut hash = OFFSET;
    let mut add = |text: String| {
        for byte in text.bytes().chain([b'\n']) {
            hash = (hash ^ u64::from(byte)).wrapping_mul(PRIME);
        }
    };
    network.nodes().for_each(|(_, node)| add(format!("{node:?}")));
    network.links().for_each(|(id, link)| add(format!("{link:?} {:?}", network.queues(id))));
    add(format!("{:?}", claim.background));
    claim.promises.iter().for_each(|promise| add(format!("{promise:?}")));
    claim.protected.iter().for_each(|protected| add(format!("{protected:?}")));
    format!("{hash:016x}")
}
