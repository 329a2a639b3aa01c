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
  0  success
  1  internal error, a file could not be written, or the controller could not be reached
  2  invalid input or usage, or a file that is missing or unreadable
  3  a request was refused, or a guarantee would be lost
  4  the recheck or verify found a violated guarantee, or a discrepancy from the plan
  5  verify --inject: the fault was not detected, or had no effect
  6  diff found differences
  7  incomplete: guarantees were not tested, traffic did not arrive, or the history of a tenant is unknown
  130  stopped by Ctrl-C without an error before it; partial results (sim, verify, reproduce, lab run) are kept and marked as such";

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        ExitCode::from(exit as u8)
    }
}
