//! Reasons for which a lab could not be made, found or removed.

use std::fmt;
use std::io;
use std::path::PathBuf;

use wayleave_dataplane::net::NetError;
use wayleave_dataplane::switch::{LinuxSwitchError, OvsError, PlanError};
use wayleave_units::Bytes;

/// Reason for which a lab could not be made, found or removed.
#[derive(Debug)]
pub enum LabError {
    /// No name of a lab.
    Name(String),
    /// A lab of this name is there already.
    Exists {
        /// Its name.
        name: String,
        /// `true` if it was completely set up.
        is_whole: bool,
    },
    /// There is no lab of this name.
    Unknown {
        /// The name.
        name: String,
        /// Existing labs.
        known: Vec<String>,
    },
    /// Another process is setting it up or taking it away.
    Busy(String),
    /// Only root can make network namespaces.
    NotRoot,
    /// An endpoint is on a host that the topology does not have.
    NoHost {
        /// The endpoint.
        endpoint: String,
        /// The host.
        host: String,
    },
    /// Two endpoints of one name, or a name that cannot be one.
    Endpoint {
        /// Its name.
        endpoint: String,
        /// Fault of the name.
        why: &'static str,
    },
    /// More endpoints than a lab can have.
    TooLarge {
        /// Kind of the elements of which there are too many.
        what: &'static str,
        /// Number of elements.
        given: usize,
        /// Maximum number.
        most: usize,
    },
    /// A link whose MTU the machine cannot set.
    Mtu {
        /// The link.
        link: String,
        /// By the topology.
        mtu: Bytes,
        /// The message of the machine.
        why: String,
    },
    /// Linux cannot have such a switch or host.
    Plan(PlanError),
    /// A switch cannot be measured.
    Calibrate(String),
    /// Something that is no switch of the topology.
    NoSwitch(String),
    /// A bridge of Open vSwitch.
    Bridge(Box<OvsError>),
    /// An interface of a switch is not as its plan needs it.
    Switch(LinuxSwitchError),
    /// Namespaces, links or queues.
    Net(NetError),
    /// eBPF programs and their maps.
    Program(wayleave_dataplane::Error),
    /// A file or a call of the kernel.
    Io {
        /// Failed operation.
        what: String,
        /// Error of the kernel.
        error: io::Error,
    },
    /// The description of the lab cannot be read.
    State {
        /// The file.
        file: PathBuf,
        /// Fault of the description.
        why: String,
    },
    /// The controller, or its state, does not fit a run.
    Controller(String),
    /// The controller did not answer a request or did not carry it out, or agents did not act in time.
    Request(String),
    /// A run is in progress in the lab.
    Running {
        /// Name of the lab.
        name: String,
        /// Process of the run, if it is known.
        pid: Option<i32>,
    },
    /// The controller refused a request.
    Refused(String),
    /// The user has asked to stop (Ctrl-C).
    Stopped,
    /// A program of the lab ended before it was ready.
    Ended {
        /// Its name.
        program: String,
        /// Its last output.
        output: String,
    },
}

impl LabError {
    pub(crate) fn io(what: impl Into<String>, error: impl Into<io::Error>) -> Self {
        Self::Io { what: what.into(), error: error.into() }
    }
}

impl fmt::Display for LabError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name(name) => {
                write!(f, "{name:?} is not a valid lab name: expected 1 to 20 lower-case letters and digits")
            }
            Self::Exists { name, is_whole: true } => {
                write!(
                    f,
                    "lab {name} is already up: remove it with `wayleave lab down --name {name}`, or choose another name with --name"
                )
            }
            Self::Exists { name, is_whole: false } => {
                write!(f, "lab {name} is incomplete: `wayleave lab down --name {name}` removes it")
            }
            Self::Unknown { name, known } if known.is_empty() => write!(f, "no lab {name}; no labs are up"),
            Self::Unknown { name, known } => write!(f, "no lab {name}; labs that are up: {}", known.join(", ")),
            Self::Busy(name) => {
                write!(f, "lab {name} is being set up or removed by another process: wait, or stop that process")
            }
            Self::NotRoot => {
                write!(
                    f,
                    "labs require root, for network namespaces and eBPF (`wayleave doctor` explains the requirements)"
                )
            }
            Self::NoHost { endpoint, host } => {
                write!(f, "endpoint {endpoint} is on {host}, which is not a host of the topology")
            }
            Self::Endpoint { endpoint, why } => write!(f, "endpoint {endpoint:?}: {why}"),
            Self::TooLarge { what, given, most } => {
                write!(f, "{given} {what} are too many for a lab: the limit is {most}")
            }
            Self::Mtu { link, mtu, why } => {
                write!(
                    f,
                    "link {link} has an MTU of {} B, which this machine does not support: {why}; set another `mtu` in the topology",
                    mtu.get()
                )
            }
            Self::Calibrate(why) => f.write_str(why),
            Self::NoSwitch(name) => write!(f, "the topology has no switch {name}"),
            Self::Bridge(error) => error.fmt(f),
            Self::Plan(error) => error.fmt(f),
            Self::Net(error) => error.fmt(f),
            Self::Program(error) => error.fmt(f),
            Self::Switch(error) => error.fmt(f),
            Self::Io { what, error } => write!(f, "{what}: {error}"),
            Self::State { file, why } => {
                write!(f, "cannot read {}: {why}; `wayleave lab down` removes the lab nevertheless", file.display())
            }
            Self::Controller(why) | Self::Request(why) => f.write_str(why),
            Self::Running { name, pid } => {
                let process = pid.map_or_else(|| "pid unknown".to_owned(), |pid| format!("pid {pid}"));
                write!(
                    f,
                    "another run is in progress in lab {name} ({process}): wait until it ends, or stop it with Ctrl-C; `lab down --force` removes the lab nevertheless"
                )
            }
            Self::Refused(output) => write!(f, "the controller refused the VMs of the lab: {output}"),
            Self::Stopped => f.write_str("stopped before it was complete"),
            Self::Ended { program, output } => write!(
                f,
                "{program} exited before it was ready; its last output:
{output}"
            ),
        }
    }
}

impl std::error::Error for LabError {}

impl From<NetError> for LabError {
    fn from(error: NetError) -> Self {
        Self::Net(error)
    }
}

impl From<PlanError> for LabError {
    fn from(error: PlanError) -> Self {
        Self::Plan(error)
    }
}

impl From<wayleave_dataplane::Error> for LabError {
    fn from(error: wayleave_dataplane::Error) -> Self {
        Self::Program(error)
    }
}

impl From<OvsError> for LabError {
    fn from(error: OvsError) -> Self {
        match error {
            OvsError::Linux(error) => error.into(),
            other => Self::Bridge(Box::new(other)),
        }
    }
}

impl From<LinuxSwitchError> for LabError {
    fn from(error: LinuxSwitchError) -> Self {
        match error {
            LinuxSwitchError::Net(error) => Self::Net(error),
            LinuxSwitchError::Program(error) => Self::Program(error),
            error @ LinuxSwitchError::Mtu { .. } => Self::Switch(error),
        }
    }
}
