//! Errors of namespaces, links and queues. Every error names the operation, and the message of the kernel or the
//! tool.

use std::fmt;
use std::io;

use wayleave_units::Rate;

/// Reason for which an operation on namespaces, links or queues failed.
#[derive(Debug)]
pub enum NetError {
    /// A tool is not installed.
    Missing {
        /// Its name.
        tool: &'static str,
        /// The package of most distributions that has it.
        package: &'static str,
    },
    /// A tool refused a line or a command.
    Tool {
        /// Its name.
        tool: &'static str,
        /// Command.
        command: String,
        /// Namespace of the command.
        place: String,
        /// Output of the tool.
        output: String,
    },
    /// A call of the kernel failed.
    Io {
        /// Failed operation.
        what: String,
        /// Error of the kernel.
        error: io::Error,
    },
    /// A name that Linux does not take for an interface or a namespace.
    Name {
        /// Kind of the name.
        what: &'static str,
        /// The name.
        name: String,
        /// Accepted form.
        expected: &'static str,
    },
    /// A tool printed something else than was expected.
    Output {
        /// Name and arguments of the tool.
        command: String,
        /// Fault of the answer.
        why: String,
    },
    /// A port has no queue, or more than the qdisc can order.
    Queues {
        /// Number of queues.
        given: usize,
        /// Maximum number of queues.
        most: usize,
    },
    /// A port is faster than its queues can be.
    Rate {
        /// Its rate.
        given: Rate,
        /// The highest rate.
        most: Rate,
    },
}

impl NetError {
    pub(crate) fn io(what: impl Into<String>, error: impl Into<io::Error>) -> Self {
        Self::Io { what: what.into(), error: error.into() }
    }
}

impl fmt::Display for NetError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing { tool, package } => {
                write!(
                    f,
                    "`{tool}` is not installed: install {package} (`wayleave doctor` lists everything that is missing)"
                )
            }
            Self::Tool { tool, command, place, output } => {
                write!(f, "`{tool} {command}` failed in {place}: {output}")?;
                if output.contains("Operation not permitted") || output.contains("Permission denied") {
                    write!(f, "; requires root (`wayleave doctor`)")?;
                }
                Ok(())
            }
            Self::Io { what, error } => {
                write!(f, "{what}: {error}")?;
                if error.kind() == io::ErrorKind::PermissionDenied {
                    write!(f, "; requires root (`wayleave doctor`)")?;
                }
                Ok(())
            }
            Self::Name { what, name, expected } => {
                write!(f, "{name:?} is not a valid name for {what}: expected {expected}")
            }
            Self::Output { command, why } => write!(f, "unexpected output of `{command}`: {why}"),
            Self::Queues { given, most } => {
                write!(f, "a port has {given} queues: expected 1 to {most}")
            }
            Self::Rate { given, most } => {
                write!(
                    f,
                    "a port of {given:#} is too fast for Linux queues, which forward at most {most:#}: use the queues of its hardware"
                )
            }
        }
    }
}

impl std::error::Error for NetError {}
