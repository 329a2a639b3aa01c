//! A bridge of Open vSwitch: its location, and its errors.

use std::fmt;
use std::io;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::time::Duration;

use wayleave_openflow::{Client, ClientError, FlowMod};

use super::linux::LinuxSwitchError;
use crate::net::NetError;

/// The cookie of our rules: "wayleave" in ASCII.
pub(super) const COOKIE: u64 = u64::from_be_bytes(*b"wayleave");
/// Timeout of Open vSwitch for an answer, and for taking a request: shorter than the silence after which an agent
/// counts as failed (5 s).
const TIMEOUT: Duration = Duration::from_secs(2);
/// Timeout of the check for an answering bridge, which runs twice a second.
const GLANCE: Duration = Duration::from_secs(1);
/// Packets of the low queue that are sent to see whether a packet of the high one overtakes them.
pub(super) const LOW: usize = 20;

/// A bridge of Open vSwitch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OvsBridge {
    /// Its name.
    pub name: String,
    /// The folder with the sockets of Open vSwitch.
    pub run: PathBuf,
}

/// Reason for which a bridge could not be driven.
#[derive(thiserror::Error, Debug)]
pub enum OvsError {
    /// No program listens at the socket.
    #[error("cannot reach bridge {bridge} of Open vSwitch at {}: {error}; is ovs-vswitchd running, and does the bridge exist (`ovs-vsctl list-br`)?", .socket.display())]
    Unreachable {
        /// The bridge.
        bridge: String,
        /// Its management socket.
        socket: PathBuf,
        /// Error of the connection.
        error: io::Error,
    },
    /// A conversation that came to no end.
    #[error("bridge {bridge} of Open vSwitch: {error}")]
    Client {
        /// The bridge.
        bridge: String,
        /// Error of the OpenFlow client.
        error: ClientError,
    },
    /// An interface of the plan does not belong to the bridge.
    #[error("{interface} is not a port of bridge {bridge}: add it with `ovs-vsctl add-port {bridge} {interface}`")]
    NotAPort {
        /// The bridge.
        bridge: String,
        /// The interface.
        interface: String,
    },
    /// Packets would not be ordered.
    #[error("bridge {bridge} of Open vSwitch {why}: it cannot carry contracts")]
    Disorder {
        /// The bridge.
        bridge: String,
        /// Observed disorder.
        why: Disorder,
    },
    /// Queues, programs and interfaces.
    #[error("{0}")]
    Linux(#[from] LinuxSwitchError),
}

impl From<NetError> for OvsError {
    fn from(error: NetError) -> Self {
        Self::Linux(error.into())
    }
}

impl OvsBridge {
    /// Returns the management socket of the bridge.
    pub fn socket(&self) -> PathBuf {
        self.run.join(format!("{}.mgmt", self.name))
    }

    /// Returns the address at which the database of Open vSwitch listens.
    pub(super) fn database(&self) -> String {
        format!("--db=unix:{}", self.run.join("db.sock").display())
    }

    /// Returns `true` if Open vSwitch answers for the bridge. One that does not answer does not forward: its
    /// userspace datapath is in the same program.
    pub fn answers(&self) -> bool {
        self.connect_within(GLANCE).is_ok()
    }

    pub(super) fn connect(&self) -> Result<Client<UnixStream>, OvsError> {
        self.connect_within(TIMEOUT)
    }

    fn connect_within(&self, timeout: Duration) -> Result<Client<UnixStream>, OvsError> {
        let stream = UnixStream::connect(self.socket()).and_then(|stream| {
            stream.set_read_timeout(Some(timeout))?;
            stream.set_write_timeout(Some(timeout))?;
            Ok(stream)
        });
        let stream = stream.map_err(|error| {
            let (bridge, socket) = (self.name.clone(), self.socket());
            OvsError::Unreachable { bridge, socket, error }
        })?;
        Ok(Client::greet(stream).map_err(|error| self.failed(error))?.0)
    }

    pub(super) fn failed(&self, error: ClientError) -> OvsError {
        OvsError::Client { bridge: self.name.clone(), error }
    }

    /// Removes all rules that are Wayleave's.
    ///
    /// # Errors
    /// If it cannot be reached.
    pub fn clear(&self) -> Result<(), OvsError> {
        let deletion = FlowMod::delete_all(COOKIE);
        self.connect()?.change(&[deletion]).map_err(|error| self.failed(error))
    }
}

/// Observation which shows that packets are not ordered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Disorder {
    /// Not all of the packets arrived.
    Lost {
        /// Number of packets that arrived.
        arrived: usize,
    },
    /// The packet of the high queue came too late.
    Late {
        /// Its place among all that arrived, from 1 on.
        place: usize,
    },
}

impl fmt::Display for Disorder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Lost { arrived } => {
                write!(f, "loses packets: {arrived} of {} test packets arrived without their tag", LOW + 1)
            }
            Self::Late { place } => write!(
                f,
                "does not serve queues by priority: a packet of the highest priority behind {LOW} others arrived as number {place}, so its datapath does not use Linux queues"
            ),
        }
    }
}
