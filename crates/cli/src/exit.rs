//! Exit codes: the one place where they are decided, and the text that `--help` shows.

use std::process::ExitCode;

/// Result of a command, as an exit code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    /// Everything that was asked for was done, and granted.
    Fine = 0,
    /// Wayleave or the machine failed: a file could not be written, a controller was not reached.
    Internal = 1,
    /// The input or the command line is wrong.
    BadInput = 2,
    /// Every question was answered, and some request was refused.
    Refused = 3,
    /// The recheck found a promise that does not hold, or a verification saw one broken.
    Unsound = 4,
    /// A fault that was put in on purpose was not noticed, or changes nothing here.
    Unnoticed = 5,
    /// The two things that were compared differ.
    Differs = 6,
    /// No error is known, but a part of the request was not observed: promises that were not tested, traffic that got
    /// nothing, contracts whose past is not known.
    Incomplete = 7,
    /// The command was stopped, and the results until then are kept; the code follows shells for Ctrl-C (128 and the
    /// signal's number).
    Stopped = 130,
}

/// Returns the text of `--help` after a command's examples.
pub(crate) fn after(examples: &str) -> String {
    format!("{examples}\n\n{HELP}")
}

const HELP: &str = "\
Exit codes:
  0  fine
  1  internal failure, a file could not be written, or a controller was not reached
  2  bad input or usage, or a file that does not exist or cannot be read
  3  something was refused, or would break
  4  the recheck found a violated guarantee, or verify found a violation or a discrepancy from the plan
  5  a fault of verify --inject was not detected, or has no effect
  6  what diff compared differs
  7  incomplete: guarantees that were not tested, traffic that was not received, or contracts of tenants whose history is unknown
  130  stopped by Ctrl-C: results until then are kept, and marked as partial";

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        ExitCode::from(exit as u8)
    }
}
