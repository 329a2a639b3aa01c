//! The JSON of figures: all measurements, their origin and the command that repeats them. Written documents can be
//! read again.

use crate::{Figure, Paper, Statement, find};
use serde::{Deserialize, Serialize};

use super::measured::{Measured, MeasuredBy};
use wayleave::Error;

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Document<'a> {
    #[serde(flatten)]
    origin: &'a MeasuredBy,
    figure: &'a str,
    paper: &'static Paper,
    place: &'a str,
    title: &'a str,
    effort: &'a str,
    command: &'a str,
    input_hash: String,
    #[serde(flatten)]
    measured: &'a Figure,
}

/// A document without the catalogue's texts about the figure: they may have been improved since.
#[derive(Deserialize)]
struct Read {
    #[serde(flatten)]
    origin: MeasuredBy,
    figure: String,
    effort: String,
    command: String,
    #[serde(flatten)]
    measured: Figure,
}

impl Measured {
    /// Returns the figure's document, as the folder of a measurement and `wayleave reproduce -o json` have it.
    ///
    /// # Errors
    /// If it has a figure that JSON cannot hold.
    pub fn to_json(&self) -> Result<String, Error> {
        Ok(of(self)?)
    }
}

/// One figure.
pub(crate) fn of(measured: &Measured) -> serde_json::Result<String> {
    let entry = measured.entry;
    serde_json::to_string_pretty(&Document {
        origin: &measured.origin,
        figure: entry.id,
        paper: entry.paper,
        place: entry.place,
        title: entry.title,
        effort: &measured.effort,
        command: &measured.command,
        input_hash: measured.input_hash(),
        measured: &measured.figure,
    })
}

/// Returns the figure of a document.
///
/// # Errors
/// If it is no such document, or this program has no figure of its name; with the reason.
pub(crate) fn read(text: &str) -> Result<Measured, String> {
    let Read { origin, figure, effort, command, measured } =
        serde_json::from_str(text).map_err(|error| error.to_string())?;
    let entry = find(&figure).ok_or_else(|| format!("there is no figure {figure}"))?;
    let statements = measured.statements.into_iter().map(Statement::judged).collect();
    Ok(Measured { entry, figure: Figure { statements, ..measured }, effort, command, origin })
}
