//! `docs/reproduction.md`: the results of a folder as a document. Every number in it comes from the results; the texts around them are in
//! `intro.md.in`, in the `about.md.in` of each paper, and in the notes, remarks and causes of the figures.

mod kept;
mod section;
mod text;

#[cfg(test)]
mod tests;

use crate::{CATALOGUE, Paper};

use super::measured::Measured;
use super::totals::{HEADS, Reasons, Tally};
pub(crate) use kept::Kept;
use text::{Align, paragraph, table};

/// What is compared, and how.
const INTRO: &str = include_str!("intro.md.in");

/// The document of what was measured, and of what an earlier document says of the other figures. Those that are in neither have their reason.
pub(crate) fn render(measured: &[Measured], kept: &Kept, reasons: &Reasons) -> String {
    let found = |id: &str| measured.iter().find(|measured| measured.entry.id == id);
    let tallies: Vec<(&str, Tally)> = CATALOGUE
        .iter()
        .filter_map(|entry| {
            let measured = found(entry.id).map(|measured| Tally::of(&measured.figure.statements));
            Some((entry.id, measured.or_else(|| kept.figure(entry.id).map(|section| section.tally))?))
        })
        .collect();
    let mut text = format!(
        "{INTRO}\n## What came of it\n\n{}\n{}",
        paragraph(&format!(
            "{} of {} figures were measured; each section says when and by what.",
            tallies.len(),
            CATALOGUE.len()
        )),
        totals(&tallies)
    );
    let mut paper: Option<&Paper> = None;
    for entry in CATALOGUE {
        if paper != Some(entry.paper) {
            text += &format!("\n## {}\n\n{}\n", entry.paper.name, paragraph(&format!("{}.", entry.paper.citation)));
            text += entry.paper.about;
        }
        paper = Some(entry.paper);
        text += &match (found(entry.id), kept.figure(entry.id)) {
            (Some(this), _) => {
                // Figures of one paper have much in common.
                let same = measured
                    .iter()
                    .take_while(|of| of.entry.id != entry.id)
                    .find(|of| of.figure.settings == this.figure.settings && !of.figure.settings.is_empty());
                section::of(this, same.map(|of| of.entry.id))
            }
            (None, Some(section)) => section.text.clone(),
            (None, None) => format!("{}\n{}", section::head(entry), paragraph(&reasons.of(entry))),
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

/// A row for each figure that was measured, and one for all of them.
fn totals(figures: &[(&str, Tally)]) -> String {
    let row = |name: String, tally: &Tally| [vec![name], tally.cells().to_vec()].concat();
    let total = figures.iter().fold(Tally::default(), |sum, (_, tally)| sum.and(*tally));
    let rows = figures.iter().map(|(figure, tally)| row(format!("[{figure}](#{figure})"), tally));
    let rows: Vec<Vec<String>> = rows.chain([row("all".to_owned(), &total)]).collect();
    let heads: Vec<String> = ["statements that"].iter().chain(&HEADS).map(|&head| head.to_owned()).collect();
    table(&heads, &rows, Align::NumbersRight)
}
