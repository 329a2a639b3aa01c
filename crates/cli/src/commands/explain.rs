//! `wayleave explain`: why one contract is admitted, term by term, or refused, with what would fit instead.

use std::io::Write;

use clap::Args;
use wayleave_answers::{Before, Explained, human, look_around, text, words};
use wayleave_contracts::Contract;
use wayleave_policy::Refusal;

use crate::args::OutputFormat;
use crate::exit::{self, Exit};
use crate::failure::Failure;
use crate::inputs::{Lists, Place, check_stdin};
use crate::output::plan::Summary;
use crate::output::{explain_json, out, table};
use crate::progress::Progress;
use crate::session::{Session, SessionArgs};

const EXAMPLE: &str = "\
Examples:
  wayleave explain ptp-7 -t fat-tree:k=4 -f contracts.yaml
  wayleave explain hadoop-a-12 -t network.yaml -f first.csv -f second.csv -o json";

/// Say why a contract is admitted, term by term, or why not and what would fit
#[derive(Args, Clone, Debug)]
#[command(after_help = exit::after(EXAMPLE))]
pub(crate) struct ExplainArgs {
    /// The contract; those before it are decided first
    #[arg(value_name = "NAME")]
    name: String,
    /// Contracts in YAML, JSON or CSV; several files are read in order, - is stdin
    #[arg(short = 'f', long = "file", value_name = "CONTRACTS", required = true)]
    files: Vec<String>,
    /// How to print the explanation
    #[arg(short, long, value_enum, default_value_t)]
    output: OutputFormat,
    /// Show progress even if the standard error is no terminal
    #[arg(long)]
    progress: bool,
    #[command(flatten)]
    pub(crate) session: SessionArgs,
}

/// Runs the command.
pub(crate) fn run(args: &ExplainArgs) -> Result<Exit, Failure> {
    check_stdin(args.files.iter().chain([&args.session.network.topology]).map(String::as_str))?;
    let mut session = Session::open(&args.session)?;
    let lists = Lists::read(&args.files, &session.network)?;
    let (place, contract) = find(&lists, &args.name)?;
    let before = decide_those_before(&mut session, &lists, &args.name, args.progress);
    let verdict = session.admit(contract);
    let (request, decision) = (&verdict.request, &verdict.decision);
    let refusal = decision.as_ref().err();
    let refused = refusal.map(|refusal| look_around(&mut session.scheme, &session.model, contract, request, refusal));
    let before = Some(Before { admitted: before.admitted, refused: before.refused });
    let explained = Explained { contract, request, decision, before, refused: refused.as_ref() };
    match args.output {
        OutputFormat::Table => {
            let mut out = out();
            text::write(&mut out, &session.context(), &explained, table::layout())?;
            out.flush()?;
        }
        OutputFormat::Json => explain_json::print(&session, &args.session.scheme, &explained)?,
    }
    let Err(refusal) = &verdict.decision else { return Ok(Exit::Fine) };
    locate(&session, &lists, place, contract, refusal);
    Ok(Exit::Refused)
}

/// The contract of this name.
fn find<'a>(lists: &'a Lists, name: &str) -> Result<(Place, &'a Contract), Failure> {
    lists.iter().find(|(_, contract)| contract.name == name).ok_or_else(|| {
        let near = words::nearest(name, lists.iter().map(|(_, contract)| contract.name.as_str()));
        let near = near.map_or_else(String::new, |near| format!(", did you mean \"{near}\"?"));
        let count = human::count(lists.len(), "contract");
        Failure::Usage(format!("there is no contract \"{name}\" among the {count} that were read{near}"))
    })
}

fn decide_those_before(session: &mut Session, lists: &Lists, name: &str, is_forced: bool) -> Summary {
    let before = || lists.iter().map(|(_, contract)| contract).take_while(|contract| contract.name != name);
    let mut progress = Progress::new(before().count(), is_forced);
    let mut summary = Summary::default();
    for contract in before() {
        summary.count(&session.admit(contract));
        progress.step();
    }
    summary
}

/// What can be said against the contract whatever else is admitted, at its place in the file.
fn locate(session: &Session, lists: &Lists, place: Place, contract: &Contract, refusal: &Refusal) {
    if let Some((field, message)) = words::finding(&session.network, contract, refusal) {
        eprintln!("{}", lists.finding(place, field, &message));
    }
}
