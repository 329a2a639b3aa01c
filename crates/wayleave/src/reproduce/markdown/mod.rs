//! `docs/reproduction.md`: the results of a folder as a document. Every number in it comes from the results; the texts around them are in
//! `intro.md.in`, in the `about.md.in` of each paper, and in the notes, remarks and causes of the figures.

mod section;
mod text;

#[cfg(test)]
mod tests;

use wayleave_experiments::{CATALOGUE, Paper};

use super::measured::{Measured, MeasuredBy};
use super::totals::{HEADS, Reasons, Tally, Totals};
use text::{Align, paragraph, table};

/// What is compared, and how.
const INTRO: &str = include_str!("intro.md.in");

/// The document of what was measured. `None` stands for a figure of the catalogue without results.
pub(crate) fn render(measured: &[Measured], reasons: &Reasons) -> String {
    let found = |id: &str| measured.iter().find(|measured| measured.entry.id == id);
    let common = common(measured);
    let mut text = format!("{INTRO}\n## What came of it\n\n{}\n{}", origins(measured), totals(measured));
    let mut paper: Option<&Paper> = None;
    for entry in CATALOGUE {
        if paper != Some(entry.paper) {
            text += &format!("\n## {}\n\n{}\n", entry.paper.name, paragraph(&format!("{}.", entry.paper.citation)));
            text += entry.paper.about;
        }
        paper = Some(entry.paper);
        text += &match found(entry.id) {
            Some(this) => {
                // Figures of one paper have much in common.
                let same = measured
                    .iter()
                    .take_while(|of| of.entry.id != entry.id)
                    .find(|of| of.figure.settings == this.figure.settings && !of.figure.settings.is_empty());
                section::of(this, common.is_none(), same.map(|of| of.entry.id))
            }
            None => format!("{}\n{}", section::head(entry), paragraph(&reasons.of(entry))),
        };
    }
    marked(&text)
}

/// With a first line that says where the rest comes from, and shows whether somebody has edited it.
fn marked(text: &str) -> String {
    format!("{}\n{text}", mark(text))
}

/// The first line of a document with this text below.
fn mark(text: &str) -> String {
    let hash = wayleave_sim::trace::fnv1a(text.as_bytes());
    format!(
        "<!-- Made by `make reproduction` from results, and not to be edited. FNV-1a of what follows: {hash:016x} -->"
    )
}

/// By what, when and how thoroughly all figures were measured; nothing if that is not the same for all.
fn common(measured: &[Measured]) -> Option<(&MeasuredBy, &str)> {
    let mut all = measured.iter().map(|of| (&of.origin, of.effort.as_str()));
    let first = all.next()?;
    all.all(|of| of == first).then_some(first)
}

fn origins(measured: &[Measured]) -> String {
    let so_many = format!("{} of {} figures were measured", measured.len(), CATALOGUE.len());
    match common(measured) {
        Some((origin, effort)) => paragraph(&format!("{so_many}, {}.", section::origin(origin, effort))),
        None => paragraph(&format!("{so_many}; each section says when and by what.")),
    }
}

/// A row for each figure that was measured, and one for all of them.
fn totals(measured: &[Measured]) -> String {
    let totals = Totals::of_figures(measured);
    let row = |name: String, tally: &Tally| [vec![name], tally.cells().to_vec()].concat();
    let rows = totals.figures.iter().map(|of| row(format!("[{0}](#{0})", of.figure), &of.tally));
    let rows: Vec<Vec<String>> = rows.chain([row("all".to_owned(), &totals.total)]).collect();
    let heads: Vec<String> = ["statements that"].iter().chain(&HEADS).map(|&head| head.to_owned()).collect();
    table(&heads, &rows, Align::NumbersRight)
}
