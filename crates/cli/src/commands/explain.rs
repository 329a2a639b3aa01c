//! `wayleave explain`: the terms of an admitted contract's bound, or the reason for a refusal and a request that
//! would fit.

use std::io::Write;

use crate::client::{Names, did_you_mean};
use clap::Args;
use wayleave::{
    BudgetPlace, Contracts, Explanation, NetworkName, SavedPlan, Session, Watch, explain_in, explain_planned,
};
use wayleave_explain::camel_case;
use wayleave_formats::Source;
use wayleave_protocol::decision::{Decision, DecisionOutcome};

use crate::client::{Service, Target, encode};
use crate::exit::{self, Exit};
use crate::failure::Failure;
use crate::inputs::check_stdin;
use crate::output::{OutArgs, OutputFormat};
use crate::progress::{Progress, waiting};

const EXAMPLE: &str = "\
Examples:
  wayleave explain ptp-7 -t fat-tree:k=4 -f contracts.yaml
  wayleave explain hadoop-a-12 -t network.yaml -f first.csv -f second.csv -o json
  wayleave explain ptp-7 -t fat-tree:k=4 -f contracts.yaml --plan plan.json
  wayleave explain acme:web-db
  wayleave explain web-db --ledger wayleave.db -t fat-tree:k=4 --tenant acme";

/// Explain a decision: the delay bound hop by hop, or the reason for a refusal
#[derive(Args, Clone, Debug)]
#[command(after_help = EXAMPLE, after_long_help = exit::after(EXAMPLE))]
pub(crate) struct ExplainArgs {
    /// Contract: NAME or TENANT:NAME
    #[arg(value_name = "NAME")]
    name: String,
    /// Decide without a controller, on the topology of -t: contracts up to NAME in these files
    #[arg(short = 'f', long = "file", value_name = "CONTRACTS", conflicts_with_all = ["server", "context", "ledger"])]
    files: Vec<String>,
    /// Plan of these contracts (`wayleave plan -o json`): checked, and not decided again
    #[arg(long, value_name = "FILE", requires = "files")]
    plan: Option<String>,
    /// Output format
    #[arg(short, long, value_enum, default_value_t)]
    output: OutputFormat,
    #[command(flatten)]
    out: OutArgs,
    /// Show progress even if standard error is not a terminal
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
    let inputs = args.files.iter().chain(&args.plan).chain([&session_args.network.topology]);
    check_stdin(inputs.map(String::as_str))?;
    session_args.check_options()?;
    let network = session_args.network.read()?;
    let contracts = waiting(args.progress, "reading contracts", || Contracts::read_all_kinds(&args.files, &network))?;
    let plan = args.plan.as_ref().map(|file| waiting(args.progress, &format!("reading {file}"), || Source::read(file)));
    let plan = plan.transpose()?;
    let session_args = plan.as_ref().map_or_else(|| session_args.clone(), |plan| session_args.like_plan(plan));
    let session = session_args.open_for(&network, &contracts)?;
    let mut explanation = args.explain(session, &contracts, plan.as_ref())?;
    let topology = &session_args.network.topology;
    let is_builder = matches!(NetworkName::of(topology), Ok(NetworkName::Builder));
    let place = if is_builder { BudgetPlace::Builder } else { BudgetPlace::Link };
    waiting(args.progress, "searching delay budgets", || explanation.search_budgets(&contracts, place))?;
    let mut out = args.out.open();
    match args.output {
        OutputFormat::Table => explanation.write_text(&mut out, args.out.layout())?,
        OutputFormat::Json => {
            writeln!(out, "{}", camel_case(&serde_json::to_string_pretty(&explanation)?))?;
        }
    }
    out.finish(&format!("Explanation of {}", args.name))?;
    if let Some(finding) = &explanation.finding {
        crate::output::tell!("{finding}");
    }
    Ok(if explanation.is_admitted() { Exit::Fine } else { Exit::Refused })
}

impl ExplainArgs {
    /// Without a controller.
    fn explain(&self, session: Session, contracts: &Contracts, plan: Option<&Source>) -> Result<Explanation, Failure> {
        let mut progress = Progress::new(self.progress);
        let watch = &mut Watch::progress(&mut progress);
        let Some(source) = plan else { return Ok(explain_in(session, contracts, &self.name, watch)?) };
        let reading = format!("reading {}", source.name());
        let plan = waiting(self.progress, &reading, || SavedPlan::read(source, &session))?;
        Ok(explain_planned(session, contracts, &self.name, &plan, watch)?)
    }
}

/// Asks a controller about an existing contract, or about the last decision that refused it.
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
        Err(error) => {
            let refused = if error.is_not_found() { last_refusal(&service, &id)? } else { None };
            let Some(number) = refused else {
                let names = Names::OfTenants("/v1/contracts");
                return Err(did_you_mean(&service, error, "contract", &args.name, names));
            };
            (service.text(&format!("/v1/decisions/{number}/explanation"), accept)?, Exit::Refused)
        }
    };
    let mut out = args.out.open();
    match args.output {
        OutputFormat::Table => write!(out, "{text}")?,
        OutputFormat::Json => {
            let document: serde_json::Value = serde_json::from_str(&text)?;
            serde_json::to_writer_pretty(&mut out, &document)?;
            writeln!(out)?;
        }
    }
    out.finish(&format!("Explanation of {}", args.name))?;
    Ok(exit)
}

/// The last decision that refused a contract of this name, as far as they are remembered.
fn last_refusal(service: &Service, id: &str) -> Result<Option<String>, Failure> {
    let decisions: Vec<Decision> = service.list("/v1/decisions", &[], usize::MAX)?;
    let wanted = |contract: &str| contract == id || contract.strip_prefix("default:") == Some(id);
    let last = decisions.into_iter().find(|decision| wanted(&decision.contract));
    let refused = last.filter(|decision| decision.verdict == DecisionOutcome::Refused);
    Ok(refused.map(|Decision { number, contract, .. }| match contract.split_once(':') {
        Some((tenant, _)) => format!("{tenant}:{number}"),
        None => number.to_string(),
    }))
}
