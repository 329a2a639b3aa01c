//! What an agent is told, ready to be used: tokens are read, folders are chosen.

use std::collections::BTreeMap;
use std::path::PathBuf;

use wayleave_dataplane::host::{Settings, Unmatched};
use wayleave_formats::{AgentFile, AgentNode, UnmatchedPackets};
use wayleave_protocol::client::{Address, Error, encode, read_token, url};

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
    /// Interfaces by the names of links.
    pub interfaces: BTreeMap<String, String>,
    /// Interfaces by the names of endpoints.
    pub endpoints: BTreeMap<String, String>,
    /// The folder for what has to outlive the agent.
    pub state: PathBuf,
    /// The folder of a bpf file system for what enforces.
    pub pins: PathBuf,
}

impl Options {
    /// As a file says; the tokens are read.
    ///
    /// # Errors
    /// If a token cannot be read, or the address of the controller is none.
    pub fn of(file: &AgentFile) -> Result<Self, Error> {
        let url = url(&file.server)?;
        let shared = file.token_file.as_deref().map(read_token).transpose()?;
        let mut options = Self::without_tokens(file);
        for (node, of) in options.nodes.iter_mut().zip(&file.nodes) {
            let token = match &of.token_file {
                Some(path) => read_token(path)?,
                None => shared.clone().ok_or_else(|| no_token(of))?,
            };
            node.address = Address { url: url.clone(), token: Some(token), ca: file.ca.clone() };
        }
        Ok(options)
    }

    /// The same for what needs no controller.
    pub fn without_tokens(file: &AgentFile) -> Self {
        let node = |node: &AgentNode| NodeOptions {
            name: node.node.clone(),
            address: Address::default(),
            netns: node.netns.clone(),
            interfaces: node.interfaces.clone(),
            endpoints: node.endpoints.clone(),
            state: file.state.join(folder(&node.node)),
            pins: file.pins.join(folder(&node.node)),
        };
        let unmatched = match file.unmatched {
            UnmatchedPackets::BestEffort => Unmatched::BestEffort,
            UnmatchedPackets::Drop => Unmatched::Dropped,
        };
        let measure = file.measures.then(|| file.pins.join(DELAYS));
        Self {
            settings: Settings { unmatched, measure, ..Settings::default() },
            nodes: file.nodes.iter().map(node).collect(),
        }
    }
}

/// The folder of a node. A bpf file system has no dots in names.
fn folder(node: &str) -> String {
    encode(node).replace('.', "%2E").replace(':', "%3A")
}

fn no_token(node: &AgentNode) -> Error {
    let text = "nothing says where the token of its agent is: tokenFile of the node, or of the file";
    Error::Usage(format!("node {}: {text}", node.node))
}

impl NodeOptions {
    /// Where endpoints are declared that come and go.
    pub fn endpoints_folder(&self) -> PathBuf {
        self.state.join("endpoints")
    }
}
