//! `wayleave apply`: files of tenants, VMs, contracts and policies become what a controller has, as far as it can promise it.

mod changes;
mod contracts;
mod item;
mod policies;
mod tenants;

use std::io::Write;

use clap::Args;
use comfy_table::{Cell, Color};
use serde::Serialize;
use wayleave::remote::{Document, Method};
use wayleave_formats::{Kind, Source, kind_of};
use wayleave_protocol::contract::State;
use wayleave_protocol::decision::{ApplyReport, Outcome};

use crate::client::show::{coloured, short, state, time, word, write_rows};
use crate::client::{Service, Target, show};
use crate::exit::{self, Exit};
use crate::failure::Failure;
use crate::inputs::check_stdin;
use crate::output::{OutputFormat, out, tell};
use item::Item;

const EXAMPLE: &str = "\
Examples:
  wayleave apply -f tenants.yaml -f contracts.yaml
  wayleave apply -f contracts.csv --atomic
  wayleave apply -f contracts.yaml --dry-run              (what would change: rate: 10Mbit -> 20Mbit)
  wayleave get contracts -o json | wayleave apply -f -    (changes nothing)
  wayleave requests -t fat-tree:k=4 --count 100 | wayleave apply -f - --dry-run";

/// How many rows are shown unless all are asked for, and how many refusals beyond them.
const SHOWN: usize = 40;
const REFUSALS_SHOWN: usize = 20;

/// Create and change what files say: tenants, VMs, contracts and policies
#[derive(Args, Clone, Debug)]
#[command(after_help = exit::after(EXAMPLE))]
pub(crate) struct ApplyArgs {
    /// Contracts (YAML, JSON, CSV, or what `get contracts -o json` prints), tenants and VMs (kind: Tenants), or a policy of services (kind: Policy); several files in order, - is stdin
    #[arg(short = 'f', long = "file", value_name = "FILE", required = true)]
    files: Vec<String>,
    /// All contracts of a file, or none of them
    #[arg(long)]
    atomic: bool,
    /// Show what would be created, changed (field: old -> new) or refused, and change nothing. Each file is looked at by itself
    #[arg(long)]
    dry_run: bool,
    /// Show every item in the table, not only the first 40 and the first 20 refusals
    #[arg(long)]
    all: bool,
    /// How to print what became of them
    #[arg(short, long, value_enum, default_value_t)]
    output: OutputFormat,
    #[command(flatten)]
    target: Target,
}

/// Everything that came of it.
#[derive(Serialize)]
struct ApplySummary {
    #[serde(rename = "dryRun")]
    dry_run: bool,
    done: usize,
    refused: usize,
    items: Vec<Item>,
}

/// Runs the command.
pub(crate) fn run(args: &ApplyArgs) -> Result<Exit, Failure> {
    check_stdin(args.files.iter().map(String::as_str))?;
    // All of them before anything is changed: a file that is not there should not leave half a change.
    let sources = args.files.iter().map(Source::read).collect::<Result<Vec<_>, _>>()?;
    let service = args.target.service()?;
    let mut items = Vec::new();
    for source in &sources {
        let applied = match kind_of(source) {
            Some(Kind::Policy) => policies::apply(&service, source, args.dry_run).map(|item| vec![item]),
            Some(Kind::Tenants) => tenants::apply(&service, source, args.dry_run),
            _ => args.contracts(&service, source),
        };
        match applied {
            Ok(applied) => items.extend(applied),
            Err(failure) => {
                if !items.is_empty() {
                    args.print(items)?;
                }
                return Err(failure);
            }
        }
    }
    args.print(items)
}

impl ApplyArgs {
    fn contracts(&self, service: &Service, source: &Source) -> Result<Vec<Item>, Failure> {
        let document = Document::of(source)?;
        for id in document.left_out() {
            tell!("note: {id} is left out: its status says that it is released");
        }
        if document.is_empty_listing() {
            return Ok(Vec::new());
        }
        let asked = [("atomic", self.atomic), ("dryRun", self.dry_run)].into_iter().filter(|(_, is_asked)| *is_asked);
        let asked: Vec<String> = asked.map(|(name, _)| format!("{name}=true")).collect();
        let path = if asked.is_empty() { "/v1/apply".to_owned() } else { format!("/v1/apply?{}", asked.join("&")) };
        let report = service.send_text::<ApplyReport>(Method::Post, &path, document.text());
        let (_, report) = report.map_err(|trouble| document.locate(trouble))?;
        if self.dry_run {
            return contracts::with_changes(service, &document, report.items);
        }
        let item = |applied| Item { kind: "contract", applied, changes: Vec::new() };
        Ok(report.items.into_iter().map(item).collect())
    }

    fn print(&self, items: Vec<Item>) -> Result<Exit, Failure> {
        let refused = items.iter().filter(|item| item.applied.outcome == Outcome::Refused).count();
        let report = ApplySummary { dry_run: self.dry_run, done: items.len() - refused, refused, items };
        match self.output {
            OutputFormat::Json => show::json(&report)?,
            OutputFormat::Table => self.print_table(&report)?,
        }
        Ok(if refused > 0 { Exit::Refused } else { Exit::Fine })
    }

    fn print_table(&self, report: &ApplySummary) -> Result<(), Failure> {
        let mut refusals = 0;
        let shown = report.items.iter().enumerate().filter(|(index, item)| {
            let is_refused = item.applied.outcome == Outcome::Refused;
            refusals += usize::from(is_refused);
            self.all || *index < SHOWN || (is_refused && refusals <= REFUSALS_SHOWN)
        });
        let rows: Vec<Vec<Cell>> = shown.map(|(_, item)| row(item, report.dry_run)).collect();
        let more = report.items.len() - rows.len();
        let mut out = out();
        let last = if report.dry_run { "what changes, or why not" } else { "why" };
        write_rows(&mut out, &["what", "outcome", "state", "bound", last], rows, "nothing to do")?;
        if more > 0 {
            writeln!(out, "... and {more} more (--all shows them, -o json has everything)")?;
        }
        writeln!(out, "\n{}", sum_up(report))?;
        Ok(out.flush()?)
    }
}

fn row(item: &Item, is_dry_run: bool) -> Vec<Cell> {
    let Item { kind, applied, .. } = item;
    let colour = match applied.outcome {
        Outcome::Refused => Some(Color::Red),
        Outcome::Created | Outcome::Changed => Some(Color::Green),
        _ => None,
    };
    let outcome = match &applied.error {
        Some(error) => error.code.text().to_owned(),
        None => word(&applied.outcome),
    };
    vec![
        Cell::new(format!("{kind} {}", short(&applied.id))),
        coloured(&outcome, colour),
        applied.state.map_or_else(|| Cell::new(""), state),
        Cell::new(applied.bound_ns.map(time).or_else(|| applied.certainty.clone()).unwrap_or_default()),
        Cell::new(why(item, is_dry_run)),
    ]
}

/// Why an object is refused, and what changes of it: of a new one its terms on a line, of others a line for each field.
fn why(Item { applied, changes, .. }: &Item, is_dry_run: bool) -> String {
    let mut lines: Vec<String> = applied.error.iter().map(|error| error.detail.clone()).collect();
    match applied.outcome {
        Outcome::Created => {
            let terms =
                changes.iter().filter_map(|change| Some(format!("{} {}", change.field, change.after.as_ref()?)));
            lines.extend(Some(terms.collect::<Vec<_>>().join(", ")).filter(|terms| !terms.is_empty()));
        }
        // Names can mean other hosts than before.
        Outcome::Changed if is_dry_run && changes.is_empty() => lines.push("no field differs as written".to_owned()),
        _ => lines.extend(changes.iter().map(changes::FieldChange::line)),
    }
    lines.join("\n")
}

/// `3 created, 1 unchanged, 2 refused`.
fn sum_up(report: &ApplySummary) -> String {
    let words = [
        (Outcome::Created, "created"),
        (Outcome::Changed, "changed"),
        (Outcome::Unchanged, "unchanged"),
        (Outcome::Refused, "refused"),
    ];
    let count = |outcome| report.items.iter().filter(|item| item.applied.outcome == outcome).count();
    let parts: Vec<String> = words
        .into_iter()
        .map(|(outcome, word)| (count(outcome), word))
        .filter(|(count, _)| *count > 0)
        .map(|(count, word)| format!("{count} {word}"))
        .collect();
    let would = if report.dry_run { "nothing was changed; there would be: " } else { "" };
    let pending = report.items.iter().filter(|item| item.applied.state == Some(State::Pending)).count();
    let waits =
        if pending > 0 { format!(" ({pending} pending: `wayleave get contracts` says why)") } else { String::new() };
    format!("{would}{}{waits}", if parts.is_empty() { "nothing".to_owned() } else { parts.join(", ") })
}
