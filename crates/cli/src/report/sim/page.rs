//! Stub.
use crate::sim::batch::Batch;
use crate::sim::result::RunResult;
pub(crate) fn render(_: &Batch, _: &[RunResult], _: &str) -> String { String::new() }
