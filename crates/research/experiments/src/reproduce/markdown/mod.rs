//! Results as Markdown: a page for each figure, with settings, tables and seeds, and an index. They are made from the results in a folder
//! and are not committed.

mod section;
mod text;

#[cfg(test)]
mod tests;

use crate::{CATALOGUE, Paper};

use super::measured::Measured;
use super::totals::{HEADS, Reasons, Tally, Totals};
pub(crate) use text::{Align, escaped, paragraph, table};

/// Returns the page of a figure.
pub(crate) fn figure(measured: &Measured) -> String {
    section::of(measured)
}

/// Returns the index of the pages: for each paper its systems and readings, and its figures by verdict. Figures without results have the
/// reason.
pub(crate) fn index(measured: &[Measured], reasons: &Reasons) -> String {
    let totals = Totals::of_figures(measured);
    let mut text = format!("# Figures\n\n{} of {} figures were measured.\n", measured.len(), CATALOGUE.len());
    let mut papers: Vec<&Paper> = Vec::new();
    for entry in CATALOGUE {
        if !papers.contains(&entry.paper) {
            papers.push(entry.paper);
        }
    }
    for paper in papers {
        let figures: Vec<_> = CATALOGUE.iter().filter(|entry| entry.paper == paper).collect();
        let row = |entry: &&&crate::Entry| {
            let tally = &totals.figures.iter().find(|row| row.figure == entry.id)?.tally;
            Some([vec![format!("[{0}]({0}.md)", entry.id)], tally.cells().to_vec()].concat())
        };
        let rows: Vec<Vec<String>> = figures.iter().filter_map(|entry| row(&entry)).collect();
        let is_missing = |entry: &&&crate::Entry| measured.iter().all(|of| of.entry.id != entry.id);
        let missing: String = figures
            .iter()
            .filter(is_missing)
            .map(|entry| paragraph(&format!("{}: {}", entry.id, reasons.of(entry))))
            .collect();
        text += &format!("\n## {}\n\n{}\n{}", paper.name, paragraph(&format!("{}.", paper.citation)), paper.about);
        if !rows.is_empty() {
            text += &format!("\n{}", by_verdict("claims of", &rows));
        }
        if !missing.is_empty() {
            text += &format!("\n{missing}");
        }
    }
    text
}

/// Returns a table with a column for each verdict.
pub(crate) fn by_verdict(first: &str, rows: &[Vec<String>]) -> String {
    let heads: Vec<String> = [first].iter().chain(&HEADS).map(|&head| head.to_owned()).collect();
    table(&heads, rows, Align::NumbersRight)
}

/// Returns a row of [`by_verdict`] for all of some tallies.
pub(crate) fn row(name: &str, tally: &Tally) -> Vec<String> {
    [vec![name.to_owned()], tally.cells().to_vec()].concat()
}
