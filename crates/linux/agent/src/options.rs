//! Options of an agent, ready to be used: tokens are read, folders are chosen.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use wayleave_client::{Address, encode};
use wayleave_dataplane::host::Settings;
use wayleave_dataplane::switch::OvsBridge;
use wayleave_topology::Network;

use crate::endpoints::Attachment;
use crate::samples::FOLLOW;

/// Parser of the controller's document of the network. The program supplies it: the reader of files knows all
/// schemes, and an agent needs none of them.
pub type ReadTopology = fn(&str) -> Result<Network, String>;

/// The folder that all agents of a kernel share to measure delays; no node's folder is called so.
const DELAYS: &str = "+delays";

/// Options of the agents of a process.
#[derive(Clone, Debug)]
pub struct Options {
    /// Settings of host data planes.
    pub settings: Settings,
    /// Nodes that the process drives.
    pub nodes: Vec<NodeOptions>,
}

/// A node that is driven.
#[derive(Clone, Debug)]
pub struct NodeOptions {
    /// Its name in the topology.
    pub name: String,
    /// Address of the controller, with the token of this node's agent.
    pub address: Address,
    /// Its network namespace, if it is not that of the process.
    pub netns: Option<String>,
    /// The bridge of Open vSwitch that forwards for it, if it is a switch and this kernel does not.
    pub ovs: Option<OvsBridge>,
    /// Interfaces by the names of links.
    pub interfaces: BTreeMap<String, String>,
    /// Interfaces by the names of endpoints.
    pub endpoints: BTreeMap<String, Attachment>,
    /// Address at which it receives messages from agents of other hosts. Default: a free port of the address by which
    /// it reaches the controller.
    pub listen: Option<SocketAddr>,
    /// Maximum number of packets per second that it notes and reports, so that lost and late ones are found; none
    /// with 0.
    pub follow: u32,
    /// Folder for state that must survive a restart of the agent.
    pub state: PathBuf,
    /// Folder of a bpf file system in which programs and maps are pinned.
    pub pins: PathBuf,
}

/// Returns the location through which agents of one kernel with this folder for pins share delay measurements.
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

    /// Returns the socket to which the rack broker of the machine connects.
    pub fn broker_socket(&self) -> PathBuf {
        self.state.join("broker.sock")
    }

    /// Returns the folder in which endpoints that come and go are declared.
    pub fn endpoints_folder(&self) -> PathBuf {
        self.state.join("endpoints")
    }
}
