//! Interface between the agent and a node's data plane.

use wayleave_protocol::agent::Rule;
use wayleave_units::Time;

/// A host's or a switch's data plane.
///
/// Of each contract (serial number) at most one rule is installed, with its version. An installed rule works even
/// when no agent runs.
pub trait Driver {
    /// Serial and version of every rule that is installed; of a switch that is set up, serial 0 with the version it was given.
    ///
    /// # Errors
    /// If that cannot be found out now.
    fn installed(&mut self, now: Time) -> Result<Vec<(u64, u64)>, DriverError>;

    /// Installs a rule on a host: from now on packets of the contract are tagged and shaped as the rule demands. An
    /// existing rule is replaced between one packet and the next, and the bucket keeps its level. On an error the
    /// existing rule is still installed.
    ///
    /// # Errors
    /// If it is not installed, or if that is not known.
    fn install(&mut self, now: Time, serial: u64, version: u64, rule: &Rule) -> Result<(), DriverError>;

    /// A host: from now on nothing is sent of the contract. That nothing is installed is no error.
    ///
    /// # Errors
    /// If something may still be sent.
    fn remove(&mut self, now: Time, serial: u64, version: u64) -> Result<(), DriverError>;

    /// A switch: forward by tag, serve queues by strict priority. Doing it again changes nothing but the version.
    ///
    /// # Errors
    /// If it is not done.
    fn set_up(&mut self, now: Time, version: u64) -> Result<(), DriverError>;
}

/// Reason for which an operation is not done, or not known to be done.
#[derive(thiserror::Error, Clone, Debug, PartialEq, Eq)]
pub enum DriverError {
    /// It may be done if it is tried again.
    #[error("not completed yet: {0}")]
    Later(String),
    /// It will not be done however often it is tried: the node cannot.
    #[error("cannot be carried out: {0}")]
    Never(String),
}

impl DriverError {
    /// The reason, as a clause.
    pub fn why(&self) -> &str {
        match self {
            Self::Later(why) | Self::Never(why) => why,
        }
    }
}
