//! `wayleave explain`: why one contract is admitted, term by term, or refused, with what would fit instead.

use std::io::Write;

use clap::Args;
use wayleave_contracts::Contract;
use wayleave_explain::{Before, Explained, human, look_around, sentences, text};
use wayleave_protocol::decision::{Decision, Verdict};
use wayleave_roles::Refusal;

use crate::args::OutputFormat;
use crate::client::names::{Names, did_you_mean};
use crate::client::{Service, Target, encode};
use crate::exit::{self, Exit};
use crate::failure::Failure;
use crate::inputs::{Lists, Place, check_stdin};
use crate::output::plan::Summary;
use crate::output::{explain_json, out, table};
use crate::progress::Progress;
use crate::session::Session;

const EXAMPLE: &str = "\
Examples:
  wayleave explain ptp-7 -t fat-tree:k=4 -f contracts.yaml
  wayleave explain hadoop-a-12 -t network.yaml -f first.csv -f second.csv -o json
  wayleave explain acme:web-db
  wayleave explain web-db --ledger wayleave.db -t fat-tree:k=4 --tenant acme";

/// Say why a contract is admitted, term by term, or why not and what would fit
#[derive(Args, Clone, Debug)]
#[command(after_help = exit::after(EXAMPLE))]
pub(crate) struct ExplainArgs {
    /// The contract; of a controller NAME or TENANT:NAME
    #[arg(value_name = "NAME")]
    name: String,
    /// Decide without a controller: contracts in YAML, JSON or CSV, on the network that -t names; those before NAME are
    /// decided first. Several files are read in order, - is stdin
    #[arg(short = 'f', long = "file", value_name = "CONTRACTS", conflicts_with_all = ["server", "context", "ledger"])]
    files: Vec<String>,
    /// How to print the explanation
    #[arg(short, long, value_enum, default_value_t)]
    output: OutputFormat,
    /// Show progress even if the standard error is no terminal
    #[arg(long)]
    progress: bool,
    #[command(flatten)]
    target: Target,
}

/// Runs the command.
pub(crate) fn run(args: &ExplainArgs) -> Result<Exit, Failure> {
    if args.files.is_empty() {
        return ask(args);
    }
    let session_args = args.target.setup.session("explain -f")?;
    check_stdin(args.files.iter().chain([&session_args.network.topology]).map(String::as_str))?;
    let mut session = Session::open(&session_args)?;
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
        OutputFormat::Json => explain_json::print(&session, &session_args.scheme, &explained)?,
    }
    let Err(refusal) = &verdict.decision else { return Ok(Exit::Fine) };
    locate(&session, &lists, place, contract, refusal);
    Ok(Exit::Refused)
}

/// Asks a controller: a contract that is there, or else the last decision that refused it.
fn ask(args: &ExplainArgs) -> Result<Exit, Failure> {
    let service = args.target.service()?;
    let id = service.id(&args.name);
    let accept = match args.output {
        OutputFormat::Table => "text/plain",
        OutputFormat::Json => "application/json",
    };
    let there = service.text(&format!("/v1/contracts/{}/explanation", encode(&id)), accept);
    let (text, exit) = match there {
        Ok(text) => (text, Exit::Fine),
        Err(trouble) => {
            let refused = if trouble.is_not_found() { last_refusal(&service, &id)? } else { None };
            let Some(number) = refused else {
                return Err(did_you_mean(&service, trouble, "contract", &args.name, Names::OfTenants("/v1/contracts")));
            };
            (service.text(&format!("/v1/decisions/{number}/explanation"), accept)?, Exit::Refused)
        }
    };
    let mut out = out();
    match args.output {
        OutputFormat::Table => write!(out, "{text}")?,
        OutputFormat::Json => {
            let document: serde_json::Value = serde_json::from_str(&text)?;
            serde_json::to_writer_pretty(&mut out, &document)?;
            writeln!(out)?;
        }
    }
    out.flush()?;
    Ok(exit)
}

/// The last decision that refused a contract of this name, as far as they are remembered.
fn last_refusal(service: &Service, id: &str) -> Result<Option<u64>, Failure> {
    let decisions: Vec<Decision> = service.list("/v1/decisions", &[], usize::MAX)?;
    let wanted = |contract: &str| contract == id || contract.strip_prefix("default:") == Some(id);
    let last = decisions.into_iter().find(|decision| wanted(&decision.contract));
    Ok(last.filter(|decision| decision.verdict == Verdict::Refused).map(|decision| decision.number))
}

/// The contract of this name.
fn find<'a>(lists: &'a Lists, name: &str) -> Result<(Place, &'a Contract), Failure> {
    lists.iter().find(|(_, contract)| contract.name == name).ok_or_else(|| {
        let near = sentences::nearest(name, lists.iter().map(|(_, contract)| contract.name.as_str()));
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
    if let Some((field, message)) = sentences::finding(&session.network, contract, refusal) {
        eprintln!("{}", lists.finding(place, field, &message));
    }
}
