//! Output of the outcomes of all objects of a list, as a table or in JSON.

use std::io::Write;

use comfy_table::{Cell, Color};
use serde::Serialize;
use wayleave_protocol::contract::State;
use wayleave_protocol::decision::Outcome;

use super::changes::FieldChange;
use super::item::Item;
use crate::client::show::{self, bare_state, cell, cell_of_lines, coloured, short, time, word, write_rows};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::{OutputFormat, out};

/// Number of rows that are shown unless all are asked for, and of refusals beyond them.
const SHOWN: usize = 40;
const REFUSALS_SHOWN: usize = 20;

/// Results of all objects.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ApplySummary {
    dry_run: bool,
    done: usize,
    refused: usize,
    /// Contracts that would have been deleted, and were not since something was refused.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    not_pruned: Vec<String>,
    items: Vec<Item>,
}

impl ApplySummary {
    /// Of these items, in the order in which they are shown.
    pub(crate) fn new(dry_run: bool, items: Vec<Item>, not_pruned: Vec<String>) -> Self {
        let refused = items.iter().filter(|item| item.applied.outcome == Outcome::Refused).count();
        Self { dry_run, done: items.len() - refused, refused, not_pruned, items }
    }

    /// Prints it; `all` prints every row of the table.
    pub(crate) fn print(&self, output: OutputFormat, all: bool) -> Result<Exit, Failure> {
        match output {
            OutputFormat::Json => show::json(self)?,
            OutputFormat::Table => self.print_table(all)?,
        }
        Ok(self.exit())
    }

    /// Returns the code that the command ends with.
    pub(crate) const fn exit(&self) -> Exit {
        if self.refused > 0 { Exit::Refused } else { Exit::Fine }
    }

    /// Prints it as a table; `all` prints every row.
    pub(crate) fn print_table(&self, all: bool) -> Result<(), Failure> {
        let mut refusals = 0;
        let shown = self.items.iter().enumerate().filter(|(index, item)| {
            let is_refused = item.applied.outcome == Outcome::Refused;
            refusals += usize::from(is_refused);
            all || *index < SHOWN || (is_refused && refusals <= REFUSALS_SHOWN)
        });
        let rows: Vec<Vec<Cell>> = shown.map(|(_, item)| row(item, self.dry_run)).collect();
        let more = self.items.len() - rows.len();
        let mut out = out();
        let last = if self.dry_run { "changes or reason" } else { "why" };
        write_rows(&mut out, &["what", "outcome", "state", "bound", last], rows, "nothing to do")?;
        if more > 0 {
            writeln!(out, "... and {more} more (--all shows them, -o json has everything)")?;
        }
        writeln!(out, "\n{}", self.sum_up())?;
        if !self.not_pruned.is_empty() {
            let not = if self.dry_run { "would be" } else { "was" };
            writeln!(
                out,
                "nothing {not} deleted, because a change {not} refused; no longer in the files: {}",
                self.not_pruned.join(", ")
            )?;
        }
        Ok(out.flush()?)
    }

    /// `3 created, 1 unchanged, 2 refused`.
    fn sum_up(&self) -> String {
        let words = [
            (Outcome::Created, "created"),
            (Outcome::Changed, "changed"),
            (Outcome::Unchanged, "unchanged"),
            (Outcome::Deleted, "deleted"),
            (Outcome::Absent, "already gone"),
            (Outcome::Refused, "refused"),
        ];
        let count = |outcome| self.items.iter().filter(|item| item.applied.outcome == outcome).count();
        let parts: Vec<String> = words
            .into_iter()
            .map(|(outcome, word)| (count(outcome), word))
            .filter(|(count, _)| *count > 0)
            .map(|(count, word)| format!("{count} {word}"))
            .collect();
        let would = if self.dry_run { "nothing was changed; planned: " } else { "" };
        let pending = self.items.iter().filter(|item| item.applied.state == Some(State::Pending)).count();
        let waits = if pending > 0 {
            format!(" ({pending} pending: for the reasons run `wayleave get contracts`)")
        } else {
            String::new()
        };
        format!("{would}{}{waits}", if parts.is_empty() { "nothing".to_owned() } else { parts.join(", ") })
    }
}

fn row(item: &Item, is_dry_run: bool) -> Vec<Cell> {
    let Item { kind, applied, .. } = item;
    let colour = match applied.outcome {
        Outcome::Refused => Some(Color::Red),
        Outcome::Created | Outcome::Changed => Some(Color::Green),
        Outcome::Deleted => Some(Color::Yellow),
        _ => None,
    };
    let outcome = match &applied.error {
        Some(error) => error.code.text().to_owned(),
        None => word(&applied.outcome),
    };
    vec![
        cell(format!("{kind} {}", short(&applied.id))),
        coloured(&outcome, colour),
        applied.state.map_or_else(|| cell(""), bare_state),
        cell(applied.bound_ns.map(time).or_else(|| applied.certainty.clone()).unwrap_or_default()),
        cell_of_lines(&why(item, is_dry_run)),
    ]
}

/// Reason of a refusal, and changes of the object: of a new or deleted one its terms on a line, of others a line for each field.
fn why(Item { applied, changes, .. }: &Item, is_dry_run: bool) -> Vec<String> {
    let mut lines: Vec<String> = applied.error.iter().map(|error| error.detail.clone()).collect();
    match applied.outcome {
        Outcome::Created | Outcome::Deleted => {
            let value = |change: &FieldChange| change.after.clone().or_else(|| change.before.clone());
            let terms = changes.iter().filter_map(|change| Some(format!("{} {}", change.field, value(change)?)));
            lines.extend(Some(terms.collect::<Vec<_>>().join(", ")).filter(|terms| !terms.is_empty()));
        }
        // Names can mean other hosts than before.
        Outcome::Changed if is_dry_run && changes.is_empty() => {
            lines.push("no difference in the files' fields".to_owned())
        }
        _ => lines.extend(changes.iter().map(FieldChange::line)),
    }
    lines
}
