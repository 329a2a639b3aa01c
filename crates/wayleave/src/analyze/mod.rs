//! Bounds over a whole network, one analysis beside the other: of an output-port network, or of admitted contracts.

mod admitted;
mod print;
mod report;
mod subject;

pub use report::{Analysis, AnalysisBound, Report, Row};
pub use subject::AnalysisSubject;
