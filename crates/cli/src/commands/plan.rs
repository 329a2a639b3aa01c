//! `wayleave plan`: what would be admitted, where, with which bound; what would move.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use wayleave::{
    BudgetAdvice, BudgetPlace, BudgetRemedy, Contracts, Document, FirstFindings, NetworkName, PlanInput, PlanOutcome,
    PlanSummary, PolicyMinima, Proof, ReleaseHold, RequestTable, ReservationLog, Session, Sink, Watch,
};
use wayleave::{decide, read_event_file};
use wayleave_explain::human::count;
use wayleave_formats::{Source, read_policy};

use crate::exit::{self, Exit};
use crate::failure::Failure;
use crate::inputs::check_stdin;
use crate::model_args::Base;
use crate::output::{OutArgs, OutputFormat, tell};
use crate::progress::{Progress, waiting};
use crate::recheck::{BoundSource, recheck, recheck_transitions};
use crate::session::SessionArgs;

const EXAMPLE: &str = "\
Examples:
  wayleave plan -t fat-tree:k=4 -f contracts.yaml
  wayleave plan -t network.yaml -f contracts.csv --reroute --recheck -o json
  wayleave generate contracts -t fat-tree:k=4 --count 500 | wayleave plan -t fat-tree:k=4 -f -";

/// Longest list for which budgets are searched: a moment.
const MAX_ADVISED: usize = 2_500;

/// Dry-run admission: which contracts fit, with routes and delay bounds
#[derive(Args, Clone, Debug)]
#[command(after_help = EXAMPLE, after_long_help = exit::after(EXAMPLE))]
pub(crate) struct PlanArgs {
    /// Contracts in YAML, JSON or CSV; several files in order, - is stdin
    #[arg(short = 'f', long = "file", value_name = "CONTRACTS", required_unless_present = "events")]
    files: Vec<String>,
    /// Events in place of contracts: additions, changes and releases at given times
    #[arg(long, value_name = "FILE", conflicts_with = "files")]
    events: Option<String>,
    /// Policies (kind: Policy) whose minima are reserved before any contract; needs classes
    #[arg(long, value_name = "FILE")]
    policy: Vec<String>,
    /// Time for which the reservation of a released contract is held for packets in flight [default: bound, or none
    /// with --model published]
    #[arg(long, alias = "hold", value_enum, value_name = "HOW", requires = "events", hide_short_help = true)]
    release_hold: Option<HoldName>,
    /// Output format
    #[arg(short, long, value_enum, default_value_t)]
    output: OutputFormat,
    #[command(flatten)]
    out: OutArgs,
    /// Show all requests, not only the first 40 and the first 20 refusals
    #[arg(long)]
    all: bool,
    /// Recompute every bound independently; the default if there are contracts of other kinds than latency
    #[arg(long)]
    recheck: bool,
    /// Do not recompute bounds
    #[arg(long, conflicts_with = "recheck", hide_short_help = true)]
    no_recheck: bool,
    /// Write a proof with the curves of queues and loads of links (tools/check_proof.py)
    #[arg(long, value_name = "FILE")]
    proof: Option<PathBuf>,
    /// Show progress even if standard error is not a terminal
    #[arg(long)]
    progress: bool,
    #[command(flatten)]
    session: SessionArgs,
}

#[derive(ValueEnum, Clone, Copy, Debug)]
enum HoldName {
    /// For the delay bound of its route
    Bound,
    /// Not held
    None,
}

/// Runs the command.
pub(crate) fn run(args: &PlanArgs) -> Result<Exit, Failure> {
    let mut args = args.clone();
    let inputs = args.files.iter().chain(&args.events).chain(&args.policy).chain([&args.session.network.topology]);
    check_stdin(inputs.map(String::as_str))?;
    let (session, outcome, in_flight) = match &args.events {
        None => {
            args.session.check_options()?;
            let network = args.session.network.read()?;
            let contracts =
                waiting(args.progress, "reading contracts", || Contracts::read_all_kinds(&args.files, &network))?;
            let mut session = args.session.open_for(&network, &contracts)?;
            args.check_recheck(&session)?;
            args.hold_policies(&mut session)?;
            args.recheck |= args.rechecks_others(&session, contracts.all().any(|(_, any)| any.as_latency().is_none()));
            let (outcome, in_flight) = args.decide(&mut session, PlanInput::Contracts(&contracts))?;
            args.advise(&session, &contracts, &outcome.summary)?;
            if let Some(note) = contracts.indistinguishable() {
                tell!("note: {note}");
            }
            (session, outcome, in_flight)
        }
        Some(file) => {
            args.session.check_options()?;
            let network = args.session.network.read()?;
            let events = waiting(args.progress, "reading events", || read_event_file(file, &network))?;
            let mut session = args.session.open_on(&network, events.has_other_kinds())?;
            args.check_recheck(&session)?;
            args.hold_policies(&mut session)?;
            args.recheck |= args.rechecks_others(&session, events.has_other_kinds());
            let (outcome, in_flight) = args.decide(&mut session, PlanInput::Events(&events, args.hold()))?;
            (session, outcome, in_flight)
        }
    };
    print(&outcome.findings);
    args.write_proof(&session)?;
    Ok(args.exit(&session, &outcome.summary, in_flight))
}

/// Prints problems of requests that do not depend on other admitted contracts, on the standard error.
fn print(findings: &FirstFindings) {
    for (index, problem) in findings.problems().iter().enumerate() {
        crate::output::tell!("{}{problem}", if index == 0 { "" } else { "\n" });
    }
    if findings.more() > 0 {
        crate::output::tell!(
            "\nand {} that this network refuses, whatever else is admitted",
            count(findings.more(), "more request")
        );
    }
}

impl PlanArgs {
    /// Decides, and prints: as JSON while decisions fall, as a table in the end.
    fn decide(&self, session: &mut Session, asked: PlanInput<'_>) -> Result<(PlanOutcome, BoundSource), Failure> {
        let mut out = self.out.open();
        let decided = match self.output {
            OutputFormat::Json => {
                let mut document = Document::begin(&mut out, session)?;
                let (outcome, in_flight) = self.decide_into(&mut document, session, asked)?;
                document.end(session, &outcome.summary)?;
                (outcome, in_flight)
            }
            OutputFormat::Table => {
                let mut table = RequestTable::new(self.out.layout(), self.all, self.events.is_some());
                let (outcome, in_flight) = self.decide_into(&mut table, session, asked)?;
                table.write(&mut out, session, &outcome.summary)?;
                (outcome, in_flight)
            }
        };
        out.finish(&format!("Plan of {}", session.topology()))?;
        Ok(decided)
    }

    /// Prints delay budgets that admit what the present ones refuse, and names `tune`, on the standard error.
    fn advise(&self, session: &Session, contracts: &Contracts, summary: &PlanSummary) -> Result<(), Failure> {
        if summary.refused_by_budgets == 0 || session.ledger().is_none() {
            return Ok(());
        }
        let refused = count(summary.refused_by_budgets, "contract");
        let files: String = self.files.iter().map(|file| format!(" -f {file}")).collect();
        let tune = format!("`wayleave tune -t {}{files}`", self.session.network.topology);
        let is_short = contracts.all().count() <= MAX_ADVISED;
        let advice = if is_short { BudgetAdvice::search(session, contracts, summary.admitted)? } else { None };
        let is_builder = matches!(NetworkName::of(&self.session.network.topology), Ok(NetworkName::Builder));
        let Some(advice) = advice else {
            tell!("\nhint: delay budgets refuse {refused}: {tune} searches for budgets that fit this list");
            let place = if is_builder { BudgetPlace::Builder } else { BudgetPlace::Link };
            let first = if is_short { BudgetRemedy::of_first(session, contracts, place)? } else { None };
            if let Some((name, remedy)) = first {
                let lines: String = remedy.lines(place).iter().map(|line| format!("\n  {line}")).collect();
                tell!("contract {name} alone is admitted after those before it with{lines}");
            }
            return Ok(());
        };
        let (place, keys) = match is_builder {
            true => ("Add them to the builder", advice.builder_keys()),
            false => ("Put them into `defaults` or the builder of the topology", advice.keys()),
        };
        let others = if advice.replaces_several { ", and remove the budgets of single links" } else { "" };
        let (admitted, all) = (advice.admitted, advice.admitted + advice.refused);
        tell!(
            "\nhint: delay budgets refuse {refused}; with these, {admitted} of {all} are admitted. {place}{others}:\n  {keys}\n{tune} searches longer"
        );
        Ok(())
    }

    /// Decides; with `--recheck`, the packets in flight at any time are checked too.
    fn decide_into<S: Sink>(
        &self,
        sink: &mut S,
        session: &mut Session,
        asked: PlanInput<'_>,
    ) -> Result<(PlanOutcome, BoundSource), Failure> {
        let mut progress = Progress::new(self.progress);
        // Without a hold, reservations are free while packets are on them, and nothing else is claimed.
        if !self.recheck || matches!(asked, PlanInput::Events(_, ReleaseHold::Nothing)) {
            return Ok((decide(session, asked, sink, &mut Watch::progress(&mut progress))?, BoundSource::Sound));
        }
        let mut stays = ReservationLog::new(sink);
        let outcome = decide(session, asked, &mut stays, &mut Watch::progress(&mut progress))?;
        drop(progress);
        Ok((outcome, recheck_transitions(&stays, session, &mut Progress::new(self.progress))))
    }

    /// Promises to other kinds than latency are derived again unless that is declined.
    fn rechecks_others(&self, session: &Session, has_other_kinds: bool) -> bool {
        has_other_kinds && !self.no_recheck && session.ledger().is_some_and(|ledger| ledger.has_shares())
    }

    /// Refuses options whose result could not be rechecked, before anything is decided.
    fn check_recheck(&self, session: &Session) -> Result<(), Failure> {
        if session.ledger().is_some() {
            return Ok(());
        }
        let what = match (self.recheck, &self.proof) {
            (true, _) => "--recheck derives the bounds of queues again",
            (false, Some(_)) => "--proof states the curves of queues",
            (false, None) => return Ok(()),
        };
        let name = session.scheme().name();
        Err(Failure::Usage(format!(
            "{what}, and --scheme {name} reserves none: use `wayleave verify` to test its guarantees packet by packet"
        )))
    }

    /// Writes the proof of the finally admitted contracts, if requested.
    fn write_proof(&self, session: &Session) -> Result<(), Failure> {
        let Some((path, proof)) = self.proof.as_ref().zip(Proof::of(&session.context())) else { return Ok(()) };
        let text = serde_json::to_string_pretty(&proof).map_err(wayleave::Error::from)? + "\n";
        std::fs::write(path, text)
            .map_err(|error| Failure::Internal(format!("cannot write {}: {error}", path.display())))
    }

    /// Minima of policies, before any contract.
    fn hold_policies(&self, session: &mut Session) -> Result<(), Failure> {
        if self.policy.is_empty() {
            return Ok(());
        }
        if session.ledger().is_none_or(|ledger| !ledger.has_shares()) {
            let why = "--policy needs a topology with `classes` and --scheme fabric: `wayleave policy check` checks policies without them";
            return Err(Failure::Usage(why.to_owned()));
        }
        let mut minima = PolicyMinima::default();
        for file in &self.policy {
            let read = read_policy(&Source::read(file)?, session.network())?;
            let held = minima.hold(session, &read.policy);
            held.map_err(|short| Failure::Problems(vec![read.finding(&format!("refused (RATE): {short}"))]))?;
        }
        Ok(())
    }

    fn hold(&self) -> ReleaseHold {
        match (self.release_hold, self.session.model.model) {
            (Some(HoldName::Bound), _) | (None, Base::Default) => ReleaseHold::Bound,
            (Some(HoldName::None), _) | (None, Base::Published) => ReleaseHold::Nothing,
        }
    }

    fn exit(&self, session: &Session, summary: &PlanSummary, in_flight: BoundSource) -> Exit {
        let derived = || recheck(&session.context(), &mut Progress::new(self.progress));
        if self.recheck && (derived() == BoundSource::Unsound || in_flight == BoundSource::Unsound) {
            return Exit::Unsound;
        }
        if summary.refused > 0 { Exit::Refused } else { Exit::Fine }
    }
}
