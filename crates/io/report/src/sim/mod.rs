//! The report of `wayleave sim`: one self-contained page, a pure function of the results.
//!
//! | module | content |
//! |---|---|
//! | [`result`] | the result of a run as plain data: its JSON document |
//! | [`measure`] | the figures by which runs of a sweep are compared |
//! | [`summary`], [`text`] | the text for the terminal, and numbers as text |
//! | [`figures`] | the figures of a run |
//! | [`tables`] | the tables of a run |
//! | [`sweep`] | figures and tables of a sweep |
//! | [`page`] | `report.html` |

pub mod figures;
pub mod measure;
pub mod page;
pub mod result;
pub mod summary;
pub mod sweep;
pub mod tables;
pub mod text;

use crate::markup::MarkupElement;
use crate::{palette, svg};
use result::RunResult;

impl RunResult {
    /// Returns distributions of completion times and delays, slowdowns, and recorded series of the scenario, each as
    /// the text of an SVG file.
    pub fn pictures(&self) -> Vec<String> {
        let times = [figures::completions(self), figures::delays(self)].into_iter().flatten();
        let over_time = [figures::throughput(self), figures::round_trips(self), figures::backlogs(self)];
        let all = times.chain(figures::slowdowns(self)).chain(over_time.into_iter().flatten());
        all.map(alone).collect()
    }
}

/// Returns a figure outside of a page, with its colours, as the text of an SVG file.
pub fn alone(figure: MarkupElement) -> String {
    let background = format!(
        "svg.figure {{ background: {}; }}\n@media screen and (prefers-color-scheme: dark) {{ svg.figure {{ background: {}; }} }}\n",
        palette::PAPER.light,
        palette::PAPER.dark
    );
    svg::file(&figure.child(MarkupElement::new("style").text(palette::stylesheet() + &background)))
}
