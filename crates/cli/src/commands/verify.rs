//! `wayleave verify`: an admitted set under the worst traffic that its contracts allow, packet by packet.

use std::io::Write;

use clap::{Args, ValueEnum};
use wayleave::{Contracts, Network, Verified, VerifyOptions, of_session, read_plan, verify_watched};
use wayleave_explain::human::count;
use wayleave_formats::Source;
use wayleave_verify::{Attack, Claim, Effort, Fault};

use crate::exit::{self, Exit};
use crate::failure::Failure;
use crate::inputs::check_stdin;
use crate::interrupt;
use crate::output::{OutputFormat, layout, out};
use crate::progress::Progress;
use crate::scheme_args::SCHEME_OPTIONS;
use crate::session::SessionArgs;

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
    #[arg(long, value_name = "FILE", conflicts_with_all = ["files", SCHEME_OPTIONS,
        "model", "residual", "max_frame", "overhead", "tags", "best_effort", "compare", "shaping", "jitter"])]
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
    let options = VerifyOptions {
        effort: args.effort(),
        flow: args.flow.clone(),
        replay: args.replay.clone(),
        fault: args.fault.map(FaultName::fault),
        command: command_line(),
    };
    let cancel = interrupt::listen()?;
    let verified = verify_watched(&claim, &options, &mut Progress::new(args.progress), &cancel)?;
    let mut out = out();
    match args.output {
        OutputFormat::Json => verified.write_json(&mut out, &topology)?,
        OutputFormat::Table => verified.write_text(&mut out, layout(), args.all)?,
    }
    out.flush()?;
    Ok(judge(&verified, cancel.is_cancelled()))
}

impl FaultName {
    fn fault(self) -> Fault {
        match self {
            Self::BudgetHalved => Fault::BudgetHalved,
            Self::ShaperOff => Fault::ShaperOff,
            Self::BuffersGone => Fault::BuffersGone,
            Self::DuplicationOff => Fault::DuplicationOff,
        }
    }
}

impl VerifyArgs {
    /// What the topology is called, and what is put to the test.
    fn claim(&self) -> Result<(String, Claim), Failure> {
        if let Some(file) = &self.plan {
            let Network { name, graph } = self.session.network.read()?;
            // Messages call the plan what the command line calls it.
            let source = Source::new(file, Source::read(file)?.text());
            return Ok((name, read_plan(&source, &graph)?));
        }
        let mut session = self.session.open()?;
        let network = session.to_network();
        let contracts = Contracts::read(&self.files, &network)?;
        let total = contracts.len();
        let refused = contracts.iter().filter(|(_, contract)| session.admit(contract).decision.is_err()).count();
        if refused > 0 {
            eprintln!("{refused} of {} refused: nothing was promised to them", count(total, "contract"));
        }
        Ok((network.name, of_session(&session)))
    }

    fn effort(&self) -> Effort {
        let usual = match self.effort {
            EffortName::Quick => Effort::QUICK,
            EffortName::Usual => Effort::USUAL,
            EffortName::Long => Effort::LONG,
        };
        Effort { seed: self.seed, cuts: self.cut.unwrap_or(usual.cuts), ..usual }
    }
}

/// Says on the standard error what did not hold, each with the command that shows it again.
fn judge(verified: &Verified, is_stopped: bool) -> Exit {
    let Verified { claim, report, .. } = verified;
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
        true if is_stopped => Exit::Stopped,
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
