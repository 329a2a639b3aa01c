//! The sections of an earlier document, for figures that are not measured again: all figures in full take longer than anybody measures at once.

use std::collections::BTreeMap;

use crate::CATALOGUE;

use super::{mark, section};
use crate::reproduce::totals::Tally;

/// What an earlier document says of its figures, by their names.
#[derive(Debug, Default)]
pub(crate) struct Kept {
    figures: BTreeMap<&'static str, Section>,
}

/// A figure in an earlier document.
#[derive(Debug)]
pub(super) struct Section {
    /// Its statements, as the table of all figures counts them.
    pub(super) tally: Tally,
    /// From its heading to the next one, as it stands there.
    pub(super) text: String,
}

impl Kept {
    /// The figures of a document. Those that the catalogue no longer has, and those that were not measured, are not among them.
    ///
    /// # Errors
    /// If it is no such document or was edited by hand.
    pub(crate) fn read(document: &str) -> Result<Self, String> {
        let (first, text) = document.split_once('\n').unwrap_or((document, ""));
        if first != mark(text) {
            return Err("it is no document of results, or was edited by hand: its first line does not belong to what \
                        follows"
                .to_owned());
        }
        let mut figures = BTreeMap::new();
        for entry in CATALOGUE {
            let row = format!("| [{0}](#{0}) ", entry.id);
            let Some(row) = text.lines().find(|line| line.starts_with(&row)) else { continue };
            let tally = Tally::of_cells(row.split('|').skip(2))
                .ok_or_else(|| format!("{}: five numbers were expected in its row: {row}", entry.id))?;
            let begin = text.find(&section::heading(entry)).ok_or_else(|| format!("{} has no section", entry.id))?;
            // The blank line before the next heading is that heading's.
            let length = text[begin + 1..].find("\n\n##").map_or(text.len() - begin, |end| end + 2);
            figures.insert(entry.id, Section { tally, text: text[begin..begin + length].to_owned() });
        }
        Ok(Self { figures })
    }

    pub(super) fn figure(&self, id: &str) -> Option<&Section> {
        self.figures.get(id)
    }
}
