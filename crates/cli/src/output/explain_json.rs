//! `explain -o json`.

use std::io::Write;

use serde::Serialize;
use wayleave_explain::{Before, Explained, ExplanationShape, SettingsShape};

use super::json::{ModelShape, TopologyShape};
use super::out;
use crate::failure::Failure;
use crate::scheme_args::SchemeArgs;
use crate::session::Session;

/// Prints the document.
pub(crate) fn print(session: &Session, scheme: &SchemeArgs, explained: &Explained<'_>) -> Result<(), Failure> {
    let document = Document {
        wayleave: env!("CARGO_PKG_VERSION"),
        scheme: scheme.settings(session.base)?,
        model: ModelShape::of(&session.model),
        topology: TopologyShape::of(session),
        before: explained.before,
        explanation: ExplanationShape::of(&session.context(), explained),
    };
    let mut out = out();
    serde_json::to_writer_pretty(&mut out, &document)?;
    writeln!(out)?;
    Ok(out.flush()?)
}

#[derive(Serialize)]
struct Document<'a> {
    wayleave: &'static str,
    scheme: SettingsShape,
    model: ModelShape,
    topology: TopologyShape<'a>,
    before: Option<Before>,
    #[serde(flatten)]
    explanation: ExplanationShape<'a>,
}
