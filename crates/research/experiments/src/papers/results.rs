//! Full measurements of all figures, as `docs/papers/results.json` has them: version, command, seeds and verdicts, and the numbers of headline claims in
//! short.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{HEADLINES, Headline};
use crate::reproduce::{Measured, MeasuredBy, Tally};
use crate::statement::{Runs, Statement};

/// Statements by figure.
#[derive(Default, Serialize, Deserialize)]
pub(super) struct Results {
    figures: BTreeMap<String, Record>,
}

/// A measurement of a figure.
#[derive(Serialize, Deserialize)]
pub(super) struct Record {
    #[serde(flatten)]
    pub(super) origin: MeasuredBy,
    /// The command that measures it again.
    pub(super) command: String,
    /// Seeds of the figure; unknown in records of older versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) runs: Option<Runs>,
    /// All claims of the figure by verdict; unknown in records of older versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) claims: Option<Tally>,
    /// Statements that headline claims name, without the numbers of single runs.
    pub(super) statements: Vec<Statement>,
}

impl Results {
    /// Reads the file. Verdicts are computed again.
    pub(super) fn read(text: &str) -> Result<Self, String> {
        let mut results: Self = serde_json::from_str(text).map_err(|error| error.to_string())?;
        for record in results.figures.values_mut() {
            record.statements = record.statements.drain(..).map(Statement::judged).collect();
        }
        Ok(results)
    }

    /// Returns the text of the file.
    pub(super) fn text(&self) -> serde_json::Result<String> {
        Ok(format!("{}\n", serde_json::to_string_pretty(self)?))
    }

    /// Takes the statements of figures that were measured in full. A measurement with fewer seeds than a verdict needs replaces none that has enough.
    pub(super) fn update(&mut self, measured: &[Measured]) {
        for of in measured.iter().filter(|of| of.effort == "full") {
            let is_named = |statement: &&Statement| {
                HEADLINES
                    .iter()
                    .any(|headline| headline.figure == of.entry.id && headline.claim_text == statement.claim_text)
            };
            let short = |statement: &Statement| Statement { values: Vec::new(), ..statement.clone() };
            let statements: Vec<Statement> = of.figure.statements.iter().filter(is_named).map(short).collect();
            let record = Record {
                origin: of.origin.clone(),
                command: of.command.clone(),
                runs: of.figure.statements.iter().find_map(|statement| statement.runs),
                claims: Some(Tally::of(&of.figure.statements)),
                statements,
            };
            let is_whole = |record: &Record| record.seeds().is_none_or(|runs| runs.made >= runs.needed);
            if is_whole(&record) || self.figure(of.entry.id).is_none_or(|known| !is_whole(known)) {
                self.figures.insert(of.entry.id.to_owned(), record);
            }
        }
    }

    /// Returns the measurement of a figure.
    pub(super) fn figure(&self, id: &str) -> Option<&Record> {
        self.figures.get(id)
    }

    /// Returns the statements of a headline claim: a reading each, the default one first.
    pub(super) fn statements(&self, headline: &Headline) -> Vec<&Statement> {
        let all = self.figure(headline.figure).into_iter().flat_map(|record| &record.statements);
        all.filter(|statement| statement.claim_text == headline.claim_text).collect()
    }
}

impl Record {
    /// Returns the number of seeds; `None` if the figure has none, or the record does not name it.
    pub(super) fn seeds(&self) -> Option<Runs> {
        self.runs.or_else(|| self.statements.iter().find_map(|statement| statement.runs))
    }
}
