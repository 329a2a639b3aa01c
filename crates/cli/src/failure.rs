//! Failures of commands, and their exit codes.

use std::fmt;
use std::io;

use wayleave::Error;
use wayleave_client::RequestError;
use wayleave_experiments::lab::ControlError;
use wayleave_formats::{InputErrors, Problem};
use wayleave_lab::LabError;

use crate::exit::Exit;

/// Reason why a command stopped.
#[derive(Debug)]
pub(crate) enum Failure {
    /// A file is wrong, with places.
    Input(InputErrors),
    /// Files are wrong together (one name in two of them), with places.
    Problems(Vec<Problem>),
    /// An input is wrong, in a message that begins with its place.
    Located(String),
    /// The request makes no sense; the text names a valid one.
    Usage(String),
    /// Something that should work did not.
    Internal(String),
    /// The command was stopped before there were results.
    Stopped,
    /// The reader of the output has closed it.
    ClosedPipe,
}

impl Failure {
    /// The code that it ends with.
    pub(crate) fn exit(&self) -> Exit {
        match self {
            Self::Input(_) | Self::Problems(_) | Self::Located(_) | Self::Usage(_) => Exit::BadInput,
            Self::Internal(_) => Exit::Internal,
            Self::Stopped => Exit::Stopped,
            Self::ClosedPipe => Exit::Fine,
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Input(errors) => errors.fmt(f),
            Self::Problems(problems) => {
                for (index, problem) in problems.iter().enumerate() {
                    write!(f, "{}{problem}", if index == 0 { "" } else { "\n\n" })?;
                }
                Ok(())
            }
            Self::Located(message) => f.write_str(message),
            Self::Usage(message) | Self::Internal(message) => write!(f, "error: {message}"),
            Self::Stopped => f.write_str("stopped before completion; no output was kept"),
            Self::ClosedPipe => Ok(()),
        }
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        match error {
            Error::Input(errors) => Self::Input(errors),
            Error::Problems(problems) => Self::Problems(problems),
            Error::Located(message) => Self::Located(message),
            Error::Usage(message) => Self::Usage(message),
            Error::Internal(message) => Self::Internal(message),
            Error::Stopped => Self::Stopped,
            Error::Write(error) => error.into(),
            other => Self::Internal(other.to_string()),
        }
    }
}

impl From<InputErrors> for Failure {
    fn from(errors: InputErrors) -> Self {
        Self::Input(errors)
    }
}

impl From<RequestError> for Failure {
    fn from(error: RequestError) -> Self {
        wayleave_client::Error::from(error).into()
    }
}

impl From<wayleave_client::Error> for Failure {
    fn from(error: wayleave_client::Error) -> Self {
        match error {
            wayleave_client::Error::Usage(message) => Self::Usage(message),
            wayleave_client::Error::Failed(message) => Self::Internal(message),
        }
    }
}

impl From<LabError> for Failure {
    fn from(error: LabError) -> Self {
        match error {
            LabError::Name(_)
            | LabError::Exists { .. }
            | LabError::Unknown { .. }
            | LabError::NoHost { .. }
            | LabError::NoSwitch(_)
            | LabError::Calibrate(_)
            | LabError::Endpoint { .. }
            | LabError::Controller(_)
            | LabError::TooLarge { .. }
            | LabError::Plan(_) => Self::Usage(error.to_string()),
            LabError::Stopped => Self::Stopped,
            _ => Self::Internal(error.to_string()),
        }
    }
}

impl From<ControlError> for Failure {
    fn from(error: ControlError) -> Self {
        match error {
            ControlError::Lab(error) => error.into(),
            ControlError::Client(error) => error.into(),
        }
    }
}

impl From<serde_json::Error> for Failure {
    fn from(error: serde_json::Error) -> Self {
        Error::from(error).into()
    }
}

impl From<io::Error> for Failure {
    /// Converts an error of writing to the standard output: all other errors name their operation.
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::BrokenPipe => Self::ClosedPipe,
            _ => Self::Internal(Error::Write(error).to_string()),
        }
    }
}
