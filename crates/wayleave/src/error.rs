//! Errors of this library's operations.

use std::io;

use wayleave_formats::{InputErrors, Problem};

/// Reason why an operation ended without a result. Each text explains what to do; [`Error::is_input`] distinguishes
/// input errors from failures.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A file is wrong: every problem with file, line, column, what was expected, and a hint.
    #[error(transparent)]
    Input(#[from] InputErrors),
    /// Files are wrong together (one name in two of them); each problem has its place.
    #[error("{}", joined(.0))]
    Problems(Vec<Problem>),
    /// An input is wrong, in a message that begins with its place.
    #[error("{0}")]
    Located(String),
    /// The request makes no sense; the message names a valid one.
    #[error("{0}")]
    Usage(String),
    /// Something that should work did not: a file could not be written, a controller was not reached.
    #[error("{0}")]
    Internal(String),
    /// The operation was stopped before there were results (Ctrl-C).
    #[error("stopped before completion")]
    Stopped,
    /// The output could not be written.
    #[error("the output could not be written: {0}")]
    Write(#[from] io::Error),
}

impl Error {
    /// Returns `true` if another input or another question would help. Otherwise the machine or Wayleave failed.
    pub fn is_input(&self) -> bool {
        matches!(self, Self::Input(_) | Self::Problems(_) | Self::Located(_) | Self::Usage(_))
    }

    /// Returns the problems in files, each with its position and, if available, a hint.
    pub fn problems(&self) -> &[Problem] {
        match self {
            Self::Input(errors) => errors.problems(),
            Self::Problems(problems) => problems,
            _ => &[],
        }
    }
}

/// One problem after another, with an empty line between.
fn joined(problems: &[Problem]) -> String {
    problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n\n")
}

impl From<serde_json::Error> for Error {
    fn from(error: serde_json::Error) -> Self {
        match error.io_error_kind() {
            Some(kind) => Self::Write(kind.into()),
            None => Self::Internal(format!("the output could not be composed: {error}")),
        }
    }
}
