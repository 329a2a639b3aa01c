//! The JSON of figures: everything that was measured, with where it comes from and how to do it again.

use serde::Serialize;
use wayleave_experiments::{Figure, Paper};

use super::measured::Measured;

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Document<'a> {
    wayleave: &'static str,
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

/// One figure.
pub(crate) fn of(measured: &Measured) -> serde_json::Result<String> {
    let entry = measured.entry;
    serde_json::to_string_pretty(&Document {
        wayleave: env!("CARGO_PKG_VERSION"),
        figure: entry.id,
        paper: entry.paper,
        place: entry.place,
        title: entry.title,
        effort: measured.effort,
        command: &measured.command,
        input_hash: measured.input_hash(),
        measured: &measured.figure,
    })
}
