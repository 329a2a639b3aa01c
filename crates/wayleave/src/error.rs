//! Why an operation of this library ended without a result.

use std::io;

use wayleave_formats::{InputErrors, Problem};

/// Why an operation ended without a result. The text of each says what to do; whose fault it is, [`Error::is_input`] says.
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
    /// What was asked for makes no sense; the message says what does.
    #[error("{0}")]
    Usage(String),
    /// Something that should work did not: a file could not be written, a controller was not reached.
    #[error("{0}")]
    Internal(String),
    /// Somebody asked to stop before there were results (Ctrl-C).
    #[error("stopped before completion")]
    Stopped,
    /// What was to be written could not be written.
    #[error("the output could not be written: {0}")]
    Write(#[from] io::Error),
}

impl Error {
    /// Whether another input or another question would help; otherwise the machine or Wayleave failed.
    pub fn is_input(&self) -> bool {
        matches!(self, Self::Input(_) | Self::Problems(_) | Self::Located(_) | Self::Usage(_))
    }

    /// What is wrong with files, each with its place and, where there is one, a hint.
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
