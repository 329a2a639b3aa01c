//! What an agent is told, ready to be used: tokens are read, folders are chosen.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use wayleave_client::{Address, encode};
use wayleave_dataplane::host::Settings;
use wayleave_dataplane::switch::OvsBridge;
use wayleave_topology::Network;

use crate::endpoints::Attachment;
use crate::samples::FOLLOW;

/// How the controller's document of the network is read. The program gives it: the reader of files knows all schemes, and an agent
/// needs none of them.
pub type ReadTopology = fn(&str) -> Result<Network, String>;

/// The folder that all agents of a kernel share to measure delays; no node's folder is called so.
const DELAYS: &str = "+delays";

/// What the agents of a process are told.
#[derive(Clone, Debug)]
pub struct Options {
    /// How host data planes work.
    pub settings: Settings,
    /// What it drives.
    pub nodes: Vec<NodeOptions>,
}

/// A node that is driven.
#[derive(Clone, Debug)]
pub struct NodeOptions {
    /// Its name in the topology.
    pub name: String,
    /// Where the controller is, with the token of this node's agent.
    pub address: Address,
    /// Its network namespace, if it is not that of the process.
    pub netns: Option<String>,
    /// The bridge of Open vSwitch that forwards for it, if it is a switch and this kernel does not.
    pub ovs: Option<OvsBridge>,
    /// Interfaces by the names of links.
    pub interfaces: BTreeMap<String, String>,
    /// Interfaces by the names of endpoints.
    pub endpoints: BTreeMap<String, Attachment>,
    /// Where it hears agents of other hosts; a free port of the address by which it reaches the controller if not given.
    pub listen: Option<SocketAddr>,
    /// So many packets a second it notes and tells of at most, so that lost and late ones are found; none with 0.
    pub follow: u32,
    /// The folder for what has to outlive the agent.
    pub state: PathBuf,
    /// The folder of a bpf file system for what enforces.
    pub pins: PathBuf,
}

/// Where agents of a kernel with this folder for pins measure delays together.
pub fn delays(pins: &Path) -> PathBuf {
    pins.join(DELAYS)
}

/// The folder of a node. A bpf file system has no dots in names.
fn folder(node: &str) -> String {
    encode(node).replace('.', "%2E").replace(':', "%3A")
}

impl NodeOptions {
    /// A node without interfaces and without a controller, with folders of its own in these.
    pub fn new(name: &str, state: &Path, pins: &Path) -> Self {
        Self {
            name: name.to_owned(),
            address: Address::default(),
            netns: None,
            ovs: None,
            interfaces: BTreeMap::new(),
            endpoints: BTreeMap::new(),
            listen: None,
            follow: FOLLOW,
            state: state.join(folder(name)),
            pins: pins.join(folder(name)),
        }
    }

    /// Where the rack broker of the machine connects.
    pub fn broker_socket(&self) -> PathBuf {
        self.state.join("broker.sock")
    }

    /// Where endpoints are declared that come and go.
    pub fn endpoints_folder(&self) -> PathBuf {
        self.state.join("endpoints")
    }
}
