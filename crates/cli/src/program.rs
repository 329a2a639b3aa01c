//! This program's own file, for starting it again: a lab's agents, a benchmark's server.

use std::path::PathBuf;

use wayleave_lab::LabError;

use crate::failure::Failure;

/// Returns the path of this program.
pub(crate) fn file() -> Result<PathBuf, Failure> {
    let file = std::env::current_exe();
    Ok(file.map_err(|error| LabError::Io { what: "this program's file".into(), error })?)
}
