//! Pages of papers: the headline claims of each, with the statement of the text, the measurement, the verdict, and the conditions under which the claim would hold.
//! `docs/papers` has these pages; they are made from `docs/papers/results.json`, which has the statements of headline claims as they were measured.

mod headlines;
mod page;
mod results;

#[cfg(test)]
mod tests;

use std::fs;
use std::path::Path;

use wayleave::Error;
use wayleave::sim::write_whole;
use wayleave_explain::sentences::nearest;

use crate::entry::Paper;
use crate::reproduce::read_results;
pub(crate) use headlines::{HEADLINES, Headline};
use results::Results;

/// The file of measured statements, beside the pages.
const RESULTS: &str = "results.json";
/// The same file of the repository, as it was when this program was built.
const COMMITTED: &str = include_str!("../../../../../docs/papers/results.json");
/// Papers with a page.
const PAPERS: [&Paper; 5] = [&crate::CHAMELEON, &crate::LOKO, &crate::PARLEY, &crate::UFAB, &crate::SCC];

/// Returns the page of a paper: of the measurements that this program was built with, or of those in a folder of results.
///
/// # Errors
/// If there is no paper of this name, or the folder has no results that can be read.
pub fn claims_page(paper: &str, folder: Option<&Path>) -> Result<String, Error> {
    let paper = PAPERS.into_iter().find(|of| of.slug == paper).ok_or_else(|| unknown(paper))?;
    let results = match folder {
        None => Results::read(COMMITTED).map_err(Error::Internal)?,
        Some(folder) => {
            let mut results = Results::default();
            results.update(&read_results(folder)?);
            results
        }
    };
    Ok(page::of(paper, &results))
}

fn unknown(paper: &str) -> Error {
    let names = PAPERS.map(|paper| paper.slug);
    let hint = nearest(paper, names.into_iter()).map(|near| format!("; did you mean {near}?"));
    Error::Usage(format!(
        "there is no paper {paper}{}\n  hint: papers with headline claims are {}",
        hint.unwrap_or_default(),
        names.join(", ")
    ))
}

/// Updates the pages of papers in `papers`, and their data, by the results in a folder. Figures without results keep what they have, and so
/// do those that were measured with fewer runs than a verdict needs.
///
/// # Errors
/// If the results or the data of the pages cannot be read, or a page cannot be written.
pub fn update_pages(folder: &Path, papers: &Path) -> Result<(), Error> {
    let path = papers.join(RESULTS);
    let text = fs::read_to_string(&path)
        .map_err(|error| Error::Usage(format!("{} cannot be read: {error}", path.display())))?;
    let mut results = Results::read(&text).map_err(|why| Error::Usage(format!("{}: {why}", path.display())))?;
    results.update(&read_results(folder)?);
    write_pages(&results, papers)
}

/// Writes all pages, and their data.
fn write_pages(results: &Results, papers: &Path) -> Result<(), Error> {
    write_whole(&papers.join(RESULTS), results.text()?.as_bytes())?;
    for paper in PAPERS {
        write_whole(&papers.join(format!("{}.md", paper.slug)), page::of(paper, results).as_bytes())?;
    }
    write_whole(&papers.join("figures.md"), page::figures(results).as_bytes())?;
    write_whole(&papers.join("README.md"), page::overview(&PAPERS, results).as_bytes())
}
