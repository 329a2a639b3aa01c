//! `wayleave apply`: files of tenants, VMs, contracts and policies become what a controller has, as far as it can promise it.

pub(crate) mod changes;
pub(crate) mod contracts;
pub(crate) mod item;
mod policies;
mod prune;
pub(crate) mod report;
mod tenants;

use crate::client::specs::Document;
use clap::Args;
use wayleave_client::Method;
use wayleave_contracts::LabelSelector;
use wayleave_formats::{DocumentKind, Source, kind_of};
use wayleave_protocol::decision::{ApplyReport, Outcome};

use crate::client::{Service, Target};
use crate::commands::confirm::Confirm;
use crate::exit::{self, Exit};
use crate::failure::Failure;
use crate::inputs::check_stdin;
use crate::output::{OutputFormat, tell};
use item::Item;
use prune::Prune;
use report::ApplySummary;

const EXAMPLE: &str = "\
Examples:
  wayleave apply -f tenants.yaml -f contracts.yaml
  wayleave apply -f contracts.csv --atomic
  wayleave apply -f contracts.yaml --dry-run              (shows changes such as rate: 10Mbit -> 20Mbit)
  wayleave get contracts -o json | wayleave apply -f -    (changes nothing)
  wayleave apply -f shop.yaml --prune -l app=shop         (deletes those with the label that shop.yaml no longer has)
  wayleave generate contracts -t fat-tree:k=4 --count 100 | wayleave apply -f - --dry-run";

/// Create and update tenants, VMs, contracts and policies from files
#[derive(Args, Clone, Debug)]
#[command(after_help = EXAMPLE, after_long_help = exit::after(EXAMPLE))]
pub(crate) struct ApplyArgs {
    /// Contracts (YAML, JSON, CSV), tenants and VMs (kind: Tenants) or a policy (kind: Policy); - is stdin
    #[arg(short = 'f', long = "file", value_name = "FILE", required = true)]
    files: Vec<String>,
    /// Admit all contracts of a file, or none
    #[arg(long)]
    atomic: bool,
    /// Show what would be created, changed or refused, and change nothing; each file on its own
    #[arg(long)]
    dry_run: bool,
    /// Delete the tenant's contracts with the labels of -l that the files lack, after confirmation
    #[arg(long, requires = "selector")]
    prune: bool,
    /// Labels of contracts that --prune may delete: key=value,...; all contracts of the files have them
    #[arg(short = 'l', long, value_name = "LABELS", requires = "prune")]
    selector: Option<LabelSelector>,
    #[command(flatten)]
    confirm: Confirm,
    /// Show all items, not only the first 40 and the first 20 refusals
    #[arg(long)]
    all: bool,
    /// Output format
    #[arg(short, long, value_enum, default_value_t)]
    output: OutputFormat,
    #[command(flatten)]
    target: Target,
}

/// Runs the command.
pub(crate) fn run(args: &ApplyArgs) -> Result<Exit, Failure> {
    if args.confirm.is_given() && !args.prune {
        return Err(Failure::Usage("--yes requires --prune: nothing else is deleted".to_owned()));
    }
    check_stdin(args.files.iter().map(String::as_str))?;
    // All of them before anything is changed: a file that is not there should not leave half a change.
    let sources = args.files.iter().map(Source::read).collect::<Result<Vec<_>, _>>()?;
    let service = args.target.service()?;
    let prune = match &args.selector {
        Some(selector) => Some(Prune::plan(&service, &sources, selector)?),
        None => None,
    };
    if let Some(prune) = prune.as_ref().filter(|_| !args.dry_run) {
        args.confirm.deletion(&prune.ids())?;
    }
    let mut items = Vec::new();
    for source in &sources {
        let applied = match kind_of(source) {
            Some(DocumentKind::Policy) => policies::apply(&service, source, args.dry_run).map(|item| vec![item]),
            Some(DocumentKind::Tenants) => tenants::apply(&service, source, args.dry_run),
            _ => args.contracts(&service, source),
        };
        match applied {
            Ok(applied) => items.extend(applied),
            Err(failure) => {
                if !items.is_empty() {
                    args.print(items, Vec::new())?;
                }
                return Err(failure);
            }
        }
    }
    let is_refused = items.iter().any(|item| item.applied.outcome == Outcome::Refused);
    let mut not_pruned = Vec::new();
    match prune {
        Some(prune) if is_refused => not_pruned = prune.ids(),
        Some(prune) => items.extend(prune.execute(&service, args.dry_run)),
        None => {}
    }
    args.print(items, not_pruned)
}

impl ApplyArgs {
    fn contracts(&self, service: &Service, source: &Source) -> Result<Vec<Item>, Failure> {
        let document = Document::of(source)?;
        for id in document.left_out() {
            tell!("note: {id} is skipped: its state is released");
        }
        // The controller refuses an empty list; with --prune it is a list of which nothing is left.
        if document.is_empty_listing() || (self.prune && document.specs()?.is_empty()) {
            return Ok(Vec::new());
        }
        let asked = [("atomic", self.atomic), ("dryRun", self.dry_run)].into_iter().filter(|(_, is_asked)| *is_asked);
        let asked: Vec<String> = asked.map(|(name, _)| format!("{name}=true")).collect();
        let path = if asked.is_empty() { "/v1/apply".to_owned() } else { format!("/v1/apply?{}", asked.join("&")) };
        let report = service.send_text::<ApplyReport>(Method::Post, &path, document.text());
        let (_, report) = report.map_err(|error| document.locate(error))?;
        if self.dry_run {
            return contracts::with_changes(service, &document, report.items);
        }
        let item = |applied| Item { kind: "contract", applied, changes: Vec::new() };
        Ok(report.items.into_iter().map(item).collect())
    }

    fn print(&self, items: Vec<Item>, not_pruned: Vec<String>) -> Result<Exit, Failure> {
        ApplySummary::new(self.dry_run, items, not_pruned).print(self.output, self.all)
    }
}
