//! `wayleave verify`: an admitted set under the worst traffic that its contracts allow, packet by packet.

use std::borrow::Cow;

use clap::builder::PossibleValue;
use clap::{Args, ValueEnum};
use wayleave::{
    Cancel, ClassContracts, ClassFault, ClassFaultOutcome, ClassVerification, Contracts, Error, FaultOutcome, History,
    LeftOutClasses, LeftOutReason, Network, NoProgress, PlanFile, PlanInput, Promises, Released, Session, Sink,
    StatedPlan, VerifyOptions, VerifyReport, Watch, decide, read_plan, verify, verify_kinds,
};
use wayleave_adversary::{Attack, Effort, Fault};
use wayleave_explain::DecidedContract;
use wayleave_explain::human::count;
use wayleave_formats::Source;
use wayleave_ledger::Model;
use wayleave_scenarios::Tenants;

use crate::exit::{self, Exit};
use crate::failure::Failure;
use crate::inputs::check_stdin;
use crate::interrupt;
use crate::output::{OutArgs, OutputFormat};
use crate::progress::{Progress, waiting};
use crate::scheme_args::SCHEME_OPTIONS;
use crate::session::SessionArgs;

const EXAMPLE: &str = "\
Examples:
  wayleave verify -t fat-tree:k=4 -f contracts.yaml
  wayleave verify -t fat-tree:k=4 --plan plan.json --flow ptp-7 --effort long
  wayleave verify -t fat-tree:k=4 -f contracts.yaml --inject shaper-off";

/// Maximum number of violations that are printed.
const SHOWN: usize = 10;

/// Verify a plan: recompute every bound independently, then simulate worst-case traffic
#[derive(Args, Clone, Debug)]
#[command(after_help = EXAMPLE, after_long_help = exit::after(EXAMPLE))]
pub(crate) struct VerifyArgs {
    /// Contracts in YAML, JSON or CSV, admitted first, or compared with --plan; - is stdin
    #[arg(short = 'f', long = "file", value_name = "CONTRACTS", required_unless_present = "plan")]
    files: Vec<String>,
    /// Plan to verify (`wayleave plan -o json`); without -f, contracts are those of the plan
    #[arg(long, value_name = "FILE", conflicts_with_all = [SCHEME_OPTIONS, "compare"])]
    plan: Option<String>,
    /// Contract whose worst phases are searched [default: the one closest to its limit]
    #[arg(long, value_name = "CONTRACT")]
    flow: Option<String>,
    /// Effort of the search
    #[arg(long, value_enum, default_value_t)]
    effort: EffortName,
    /// Failures tried for each protected contract: all, none or a number [default: 4, 8 or all, by --effort]
    #[arg(long, value_name = "all|none|COUNT", value_parser = cuts, conflicts_with = "replay")]
    cut: Option<u32>,
    /// Seed of all random numbers
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Run one attack only, as named in the message of a violation
    #[arg(long, value_name = "PATTERN,SEED[,SHIFTS]", conflicts_with = "flow")]
    replay: Option<Attack>,
    /// Inject a fault after admission, to show that verification can fail
    #[arg(long = "inject", alias = "break", value_enum, value_name = "FAULT")]
    fault: Option<FaultName>,
    /// Output format
    #[arg(short, long, value_enum, default_value_t)]
    output: OutputFormat,
    #[command(flatten)]
    out: OutArgs,
    /// Show all contracts, not only the 40 closest to their limits
    #[arg(long)]
    all: bool,
    /// Show progress even if standard error is not a terminal
    #[arg(long)]
    progress: bool,
    #[command(flatten)]
    session: SessionArgs,
}

#[derive(ValueEnum, Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum EffortName {
    /// Fewest attacks
    Quick,
    /// Seconds for 2,000 contracts on a fat tree
    #[default]
    Usual,
    /// Attack every contract individually
    Long,
}

/// A fault that can be put in, by its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FaultName {
    /// Of latency contracts.
    Latency(Fault),
    /// Of the classes below them.
    Classes(ClassFault),
}

impl FaultName {
    fn latency(self) -> Option<Fault> {
        if let Self::Latency(fault) = self { Some(fault) } else { None }
    }

    fn classes(self) -> Option<ClassFault> {
        if let Self::Classes(fault) = self { Some(fault) } else { None }
    }
}

impl ValueEnum for FaultName {
    fn value_variants<'a>() -> &'a [Self] {
        const { &all_faults() }
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        let fault = match self {
            Self::Latency(fault) => *fault,
            Self::Classes(fault) => {
                let help = match fault {
                    ClassFault::WeightsReversed => "The weights of the classes below latency are reversed",
                    ClassFault::ResidualForgotten => "Minima are admitted as if nothing were reserved above them",
                    ClassFault::StepsUnlimited => "Window increases are not limited",
                    ClassFault::ClassLeaked => "Best effort is sent in the queue of the guaranteed class",
                    ClassFault::MaxIgnored => "No maximum is enforced",
                    ClassFault::WeightIgnored => "Capacity above the minima is shared by minima instead of weights",
                };
                return Some(PossibleValue::new(fault.name()).help(help));
            }
        };
        let help = match fault {
            Fault::BudgetHalved => "Every queue gets half the time that it needs today",
            Fault::ShaperOff => "Every contract sends twice its burst, at twice its rate",
            Fault::BuffersGone => "The queues of switches hold two frames",
            Fault::DuplicationOff => "Packets of protected contracts go over one of their routes only",
            Fault::PrioritiesSwapped => "The highest two priorities of every port are served in the wrong order",
            Fault::CalculusLow => "The stated delays of queues are 2 % too small",
            Fault::FrameForgotten => "The stated delay of one queue lacks one frame",
            Fault::BurstLarger => "One contract's burst is a frame larger than what was reserved",
            Fault::RateLarger => "Contracts have 1.1 times the rate that was reserved",
            Fault::MoveForgotten => "One flow that was moved stays on its old route",
            Fault::MovesChained => "Moves and contracts do not wait for the packets of flows that were moved before",
            Fault::JitterIgnored => "The stated delays of queues omit the jitter of nodes",
        };
        let value = PossibleValue::new(fault.name()).help(help);
        Some(match fault {
            Fault::CalculusLow => value.alias("calculus-low"),
            Fault::FrameForgotten => value.alias("frame-forgotten"),
            Fault::JitterIgnored => value.alias("jitter-ignored"),
            Fault::MovesChained => value.alias("moves-chained"),
            _ => value,
        })
    }
}

/// Number of faults.
const FAULTS: usize = Fault::ALL.len() + ClassFault::ALL.len();

const fn all_faults() -> [FaultName; FAULTS] {
    let mut all = [FaultName::Latency(Fault::BudgetHalved); FAULTS];
    let mut number = 0;
    while number < FAULTS {
        all[number] = match number.checked_sub(Fault::ALL.len()) {
            Some(below) => FaultName::Classes(ClassFault::ALL[below]),
            None => FaultName::Latency(Fault::ALL[number]),
        };
        number += 1;
    }
    all
}

/// `all`, `none` or a number.
fn cuts(text: &str) -> Result<u32, String> {
    match text {
        "all" => Ok(u32::MAX),
        "none" => Ok(0),
        number => number.parse().map_err(|_| "expected all, none or a number such as 8".to_owned()),
    }
}

/// Promises to be tested.
struct Read {
    /// Name of the topology.
    topology: String,
    promises: Promises,
    /// Tenants, if there are contracts of other kinds than latency.
    others: Others,
}

/// Tenants with minima, objectives and best effort.
enum Others {
    /// There are none.
    None,
    /// They were admitted.
    Admitted(Box<Tenants>),
    /// The tenants stated by a plan.
    Planned(Box<StatedPlan>, Model),
}

impl Others {
    /// Returns the number of contracts.
    fn contracts(&self) -> usize {
        match self {
            Self::None => 0,
            Self::Admitted(tenants) => tenants.sharing().len(),
            Self::Planned(planned, _) => planned.class_contracts(),
        }
    }

    /// Returns all tenants, with latency contracts as derived.
    fn tenants(&self, verified: &VerifyReport) -> Result<Option<Cow<'_, Tenants>>, Error> {
        match self {
            Self::None => Ok(None),
            Self::Admitted(tenants) => Ok(Some(Cow::Borrowed(tenants))),
            Self::Planned(planned, model) => Ok(planned.tenants(&verified.claim, model)?.map(Cow::Owned)),
        }
    }
}

/// Records every decision.
#[derive(Default)]
struct All {
    history: History,
    kinds: ClassContracts,
}

impl Sink for All {
    fn decided(&mut self, session: &Session, decided: &DecidedContract<'_>) -> Result<(), Error> {
        self.kinds.decided(session, decided)?;
        self.history.decided(session, decided)
    }

    fn released(&mut self, released: &Released<'_>) -> Result<(), Error> {
        self.history.released(released)
    }
}

/// Runs the command.
pub(crate) fn run(args: &VerifyArgs) -> Result<Exit, Failure> {
    let inputs = args.files.iter().chain(&args.plan).chain([&args.session.network.topology]);
    check_stdin(inputs.map(String::as_str))?;
    let cancel = interrupt::end_without_results()?;
    let Read { topology, promises, others } = args.promises(&mut Progress::new(args.progress), &cancel)?;
    let class_fault = args.fault.and_then(FaultName::classes);
    if class_fault.is_some() && matches!(others, Others::None) {
        let why = "--inject of a class is for files with minima, objectives or best effort, of which there are none"
            .to_owned();
        return Err(Failure::from(Error::Usage(why)));
    }
    if let Some(fault) = class_fault.filter(|_| args.replay.is_some() || args.flow.is_some()) {
        let option = if args.replay.is_some() { "--replay" } else { "--flow" };
        let name = fault.name();
        return Err(Failure::Usage(format!(
            "{option} is about latency contracts, and --inject {name} about classes below: leave one of them out"
        )));
    }
    let (effort, fault) = (args.effort(), args.fault.and_then(FaultName::latency));
    let options = VerifyOptions::default()
        .with_effort(effort)
        .with_flow(args.flow.clone())
        .with_replay(args.replay.clone())
        .with_fault(fault)
        .with_command(command_line());
    let mut verified = verify(&promises, &options, &mut Watch::new(&mut Progress::new(args.progress), &cancel))?;
    let left_out = |reason| LeftOutClasses::new(others.contracts(), reason);
    verified.left_out = args.left_out(fault, &cancel).filter(|_| others.contracts() > 0).map(left_out);
    if verified.left_out.is_none()
        && let Some(tenants) = others.tenants(&verified)?
    {
        let mut shown = NoProgress;
        let mut watch = Watch::new(&mut shown, &cancel);
        let verify = || verify_kinds(&tenants, &effort, class_fault, verified.short_buffers(), &mut watch);
        match waiting(args.progress, "minima and objectives", verify) {
            Ok(kinds) => verified.kinds = Some(kinds),
            // More was promised than links carry: this traffic cannot be sent.
            Err(error) if !verified.is_sound() => {
                crate::output::tell!("minima and objectives were not sent: {error}");
                verified.left_out = Some(left_out(LeftOutReason::Overbooked));
            }
            Err(error) => return Err(error.into()),
        }
    }
    let mut out = args.out.open();
    match args.output {
        OutputFormat::Json => verified.write_json(&mut out, &topology)?,
        OutputFormat::Table => verified.write_text(&mut out, args.out.layout(), args.all)?,
    }
    out.finish(&format!("Verification of {topology}"))?;
    Ok(judge(&verified))
}

impl VerifyArgs {
    /// Returns the promises to be tested.
    fn promises(&self, progress: &mut Progress, cancel: &Cancel) -> Result<Read, Failure> {
        if let Some(file) = &self.plan {
            let network = self.session.network.read()?;
            // Messages call the plan what the command line calls it.
            let reading = format!("reading {file}");
            let source = Source::new(file, waiting(self.progress, &reading, || Source::read(file))?.text());
            let contracts = (!self.files.is_empty()).then(|| self.contracts(&network)).transpose()?;
            let model = &self.session.model.model()?;
            let plan = PlanFile::new(&source, &network.graph, model).with_contracts(contracts.as_ref());
            let planned = waiting(self.progress, &reading, || read_plan(&plan))?;
            let promises = planned.promises.clone();
            let others = planned.kinds.is_some();
            let others = if others { Others::Planned(Box::new(planned), *model) } else { Others::None };
            return Ok(Read { topology: network.name.clone(), promises, others });
        }
        self.session.check_options()?;
        let network = self.session.network.read()?;
        let read = || Contracts::read_all_kinds(&self.files, &network);
        let contracts = waiting(self.progress, "reading contracts", read)?;
        let mut session = self.session.open_for(&network, &contracts)?;
        let mut all = All::default();
        let outcome =
            decide(&mut session, PlanInput::Contracts(&contracts), &mut all, &mut Watch::new(progress, cancel))?;
        if outcome.summary.refused > 0 {
            let total = count(contracts.all().count(), "contract");
            crate::output::tell!("{} of {total} refused: they have no guarantee", outcome.summary.refused);
        }
        let others = all.kinds.tenants(&session)?.map_or(Others::None, |tenants| Others::Admitted(Box::new(tenants)));
        Ok(Read { topology: network.name, promises: all.history.promises(&session), others })
    }

    /// Returns the reason for which contracts of classes below latency are not tested. A fault of latency contracts, an
    /// attack and a contract that are named are about latency contracts alone.
    fn left_out(&self, fault: Option<Fault>, cancel: &Cancel) -> Option<LeftOutReason> {
        match (fault, &self.replay, &self.flow) {
            (_, Some(_), _) => Some(LeftOutReason::Replay),
            (Some(fault), ..) => Some(LeftOutReason::Fault(fault)),
            (.., Some(_)) => Some(LeftOutReason::Flow),
            _ => cancel.is_cancelled().then_some(LeftOutReason::Stopped),
        }
    }

    fn contracts(&self, network: &Network) -> Result<Contracts, Failure> {
        Ok(waiting(self.progress, "reading contracts", || Contracts::read_all_kinds(&self.files, network))?)
    }

    fn effort(&self) -> Effort {
        let usual = match self.effort {
            EffortName::Quick => Effort::QUICK,
            EffortName::Usual => Effort::USUAL,
            EffortName::Long => Effort::LONG,
        };
        usual.with_seed(self.seed).with_cuts(self.cut.unwrap_or(usual.cuts))
    }
}

/// Reports failures on the standard error: statements that differ from the derivation, and broken promises, each with
/// the command that reproduces it.
fn judge(verified: &VerifyReport) -> Exit {
    let VerifyReport { claim, report, .. } = verified;
    let discrepancies = verified.discrepancies();
    for discrepancy in discrepancies.iter().take(SHOWN) {
        crate::output::tell!("discrepancy: {discrepancy}");
    }
    left_out(discrepancies.len(), "more discrepancy", "more discrepancies");
    for violation in report.violations.iter().take(SHOWN) {
        let name = &claim.promises[violation.promise].name;
        crate::output::tell!("guarantee violated: {name}: {}", violation.breach);
        crate::output::tell!("  replay: {}", verified.replay(&violation.attack));
    }
    left_out(report.violations.len(), "more violation", "more violations");
    if let Some(kinds) = &verified.kinds {
        let breaches = kinds.breaches();
        breaches.iter().take(SHOWN).for_each(|breach| crate::output::tell!("guarantee violated: {breach}"));
        left_out(breaches.len(), "more violation", "more violations");
        let conditions = kinds.conditions();
        for condition in conditions.iter().take(SHOWN).filter(|_| breaches.is_empty()) {
            crate::output::tell!("unexpected, but not guaranteed: {condition}");
        }
        match kinds.noticed() {
            Some(ClassFaultOutcome::NoEffect) => {
                crate::output::tell!("--inject has no effect here: no contract is affected");
                return Exit::Unnoticed;
            }
            Some(ClassFaultOutcome::ByNobody) if kinds.is_stopped() => return stopped(verified),
            Some(ClassFaultOutcome::ByNobody) => {
                let untested = kinds.untested_maxima();
                if untested > 0 {
                    let maxima = if untested == 1 { "maximum is" } else { "maxima are" };
                    crate::output::tell!(
                        "--inject was not detected, and {untested} {maxima} not tested with these contracts and this effort"
                    );
                } else {
                    crate::output::tell!(
                        "--inject was not detected: try contracts with a higher load, or --effort long"
                    );
                }
                return Exit::Unnoticed;
            }
            Some(ClassFaultOutcome::ByPackets) => return Exit::Unsound,
            None if !kinds.is_sound() => return Exit::Unsound,
            None => {}
        }
    }
    match (verified.noticed(), verified.is_sound()) {
        (Some(FaultOutcome::ByNobody), _) if verified.is_stopped() => stopped(verified),
        (Some(FaultOutcome::ByNobody), _) => unnoticed(verified),
        (Some(FaultOutcome::ByDerivation | FaultOutcome::ByPackets), _) | (None, false) => Exit::Unsound,
        (None, true) if verified.is_stopped() => stopped(verified),
        (None, true) if verified.promises_nothing() => {
            crate::output::tell!("no guarantees: nothing was tested");
            Exit::Incomplete
        }
        (None, true) => incomplete(verified),
    }
}

/// Reports that the verification was stopped.
fn stopped(verified: &VerifyReport) -> Exit {
    let runs = match (verified.report.stopped_of, &verified.kinds) {
        (Some(planned), _) => format!("{} of {planned} runs are complete", verified.report.runs),
        (None, Some(_)) => "attacks on latency contracts are complete, those on classes below are not".to_owned(),
        (None, None) => "attacks on latency contracts are complete, those on classes below were not made".to_owned(),
    };
    crate::output::tell!("stopped: {runs}; no guarantee is tested completely");
    Exit::Stopped
}

/// Reports unknown results if nothing was broken.
fn incomplete(verified: &VerifyReport) -> Exit {
    let unknown = verified.kinds.as_ref().map_or(0, ClassVerification::unknown);
    if unknown > 0 {
        crate::output::tell!(
            "{} missed a minimum or a weight that is not guaranteed: a buffer on the route may be too small (`wayleave plan` names it)",
            count(unknown, "contract")
        );
    }
    let untested = verified.untested();
    if untested > 0 {
        let were = if untested == 1 { "was" } else { "were" };
        let longer = if verified.effort.seeds < Effort::LONG.seeds { "; --effort long runs for longer" } else { "" };
        crate::output::tell!("{} {were} not tested{longer}", count(untested, "promise"));
    }
    if unknown + untested == 0 { Exit::Fine } else { Exit::Incomplete }
}

/// Reports the number of omitted lines.
fn left_out(all: usize, one: &str, many: &str) {
    match all.saturating_sub(SHOWN) {
        0 => {}
        1 => crate::output::tell!("and 1 {one}"),
        more => crate::output::tell!("and {more} {many}"),
    }
}

/// A fault was put in, and nothing shows it.
fn unnoticed(verified: &VerifyReport) -> Exit {
    let fault = verified.fault.map_or("", Fault::name);
    match verified.no_effect {
        Some(why) => crate::output::tell!("--inject {fault} has no effect here: {why}"),
        None => crate::output::tell!(
            "--inject {fault} was not detected: no packet was late or lost with these contracts and this effort. Try contracts that use more of their budgets, or --effort long"
        ),
    }
    Exit::Unnoticed
}

/// Returns the command line, without options that a replay does not need.
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
