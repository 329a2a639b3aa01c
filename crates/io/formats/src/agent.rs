//! Configuration of an agent: the controller's address, the nodes that it drives, and their interfaces. `kind:
//! Agent`.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::PathBuf;

use wayleave_contracts::Named;

use crate::document::{self, DocumentKind};
use crate::fields::{Fields, Shape};
use crate::messages::{did_you_mean_one_of, quoted};
use crate::problem::{InputErrors, ProblemKind, Problems};
use crate::source::Source;
use crate::tree::{Node, Value};

/// A ring of 64 kB holds some fifteen hundred notes of a second.
const MAX_FOLLOWED: u32 = 1_000;

pub(crate) const AGENT_SPEC: Shape = Shape {
    what: "the spec of Agent",
    keys: &[
        "server",
        "ca",
        "tokenFile",
        "cert",
        "certKey",
        "state",
        "pins",
        "measure",
        "unmatched",
        "excess",
        "follow",
        "nodes",
    ],
};
pub(crate) const AGENT_NODE: Shape = Shape {
    what: "a node",
    keys: &["node", "tokenFile", "cert", "certKey", "netns", "listen", "ovs", "interfaces", "endpoints"],
};
pub(crate) const AGENT_BRIDGE: Shape = Shape { what: "a bridge of Open vSwitch", keys: &["bridge", "run"] };
pub(crate) const ENDPOINT: Shape = Shape { what: "an endpoint", keys: &["vm", "host", "interface", "vlan"] };

/// Treatment of packets that belong to no contract.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum UnmatchedPackets {
    /// They go into the lowest queues.
    #[default]
    BestEffort,
    /// They are dropped, as in Chameleon, section 4.2.2.
    Drop,
}

/// Treatment of packets whose contract has no tokens at present.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ExcessPackets {
    /// They wait for tokens, as long as not too many do.
    #[default]
    Wait,
    /// They are dropped, as in Chameleon, section 4.2.3.
    Drop,
}

/// Credential of an agent for the controller.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AgentCredential {
    /// By the token in this file.
    Token(PathBuf),
    /// By a certificate.
    Certificate {
        /// The file with the certificate, and those between it and the authority.
        chain: PathBuf,
        /// The file with its private key.
        key: PathBuf,
    },
}

/// An agent as its file describes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentFile {
    /// The address of the controller.
    pub server: String,
    /// Certificates to trust in place of those of the web.
    pub ca: Option<PathBuf>,
    /// Credential of nodes without one of their own.
    pub credential: Option<AgentCredential>,
    /// Folder for state that outlives the agent, but not the machine.
    pub state: PathBuf,
    /// Folder in a bpf file system for the pinned objects that enforce contracts.
    pub pins: PathBuf,
    /// `true` if delays are measured: only useful if sender and receiver share a kernel.
    pub measures: bool,
    /// Treatment of packets that belong to no contract.
    pub unmatched: UnmatchedPackets,
    /// Treatment of packets whose contract has no tokens at present.
    pub excess: ExcessPackets,
    /// Maximum number of packets a second that each node records and reports, if given; none with 0.
    pub follow: Option<u32>,
    /// Nodes that it drives.
    pub nodes: Vec<AgentNode>,
}

/// A host or switch that an agent drives.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AgentNode {
    /// Its name in the topology.
    pub node: String,
    /// Credential of its agent, if it differs from that of all nodes of the file.
    pub credential: Option<AgentCredential>,
    /// Its network namespace, if it is not that of the agent.
    pub netns: Option<String>,
    /// Address on which it receives from agents of other hosts, if given.
    pub listen: Option<SocketAddr>,
    /// The bridge of Open vSwitch that forwards for it, if it is a switch and the kernel does not.
    pub ovs: Option<AgentBridge>,
    /// Interfaces by the names of links that leave it; where none leaves by an interface, of the one that enters by it.
    pub interfaces: BTreeMap<String, String>,
    /// Interfaces of VMs (`tenant:name`) and of the host itself (`host:name`).
    pub endpoints: BTreeMap<String, AgentEndpoint>,
}

/// A bridge of Open vSwitch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentBridge {
    /// Its name.
    pub bridge: String,
    /// The folder with the sockets of Open vSwitch.
    pub run: PathBuf,
}

/// Attachment of an endpoint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentEndpoint {
    /// The host's end of its interface.
    pub interface: String,
    /// The VLAN whose tag its frames have there; they have none if none is given.
    pub vlan: Option<u16>,
}

/// Reads an agent's file.
///
/// ```
/// use wayleave_formats::{Source, read_agent};
/// let text = "
/// apiVersion: wayleave/v1
/// kind: Agent
/// spec:
///   server: http://127.0.0.1:7480
///   tokenFile: /etc/wayleave/h1.token
///   nodes:
///     - { node: h1, interfaces: { \"h1->s1\": eth1 }, endpoints: [ { vm: \"acme:web\", interface: tap0 } ] }
/// ";
/// let agent = read_agent(&Source::new("agent.yaml", text))?;
/// assert_eq!(agent.nodes[0].interfaces["h1->s1"], "eth1");
/// assert_eq!(agent.nodes[0].endpoints["acme:web"].interface, "tap0");
/// # Ok::<(), wayleave_formats::InputErrors>(())
/// ```
///
/// # Errors
/// Everything that is wrong with the file, in order of place.
pub fn read_agent(source: &Source) -> Result<AgentFile, InputErrors> {
    let mut problems = Problems::new(source);
    let agent = read_document(source, &mut problems);
    problems.finish(agent)
}

fn read_document(source: &Source, problems: &mut Problems<'_>) -> Option<AgentFile> {
    let document = document::read(source.text(), DocumentKind::Agent, problems, |_, _| {})?;
    let spec = Fields::read(&document.spec, &AGENT_SPEC, problems)?;
    spec.require_all(["server", "nodes"], problems);
    let path = |key, problems: &mut Problems<'_>| spec.text(key, problems).map(PathBuf::from);
    let nodes = spec.get("nodes")?.expect_list("nodes", problems)?;
    let mut read = Vec::new();
    for (index, entry) in nodes.iter().enumerate() {
        let mark = problems.mark();
        read.extend(node(entry, &read, problems));
        problems.explain_since(mark, || format!("node {}", index + 1));
    }
    Some(AgentFile {
        server: spec.text("server", problems)?.to_owned(),
        ca: path("ca", problems),
        credential: credential(&spec, problems),
        state: path("state", problems).unwrap_or_else(|| "/run/wayleave/agent".into()),
        pins: path("pins", problems).unwrap_or_else(|| "/sys/fs/bpf/wayleave".into()),
        measures: flag(&spec, "measure", problems),
        unmatched: unmatched(&spec, problems),
        excess: excess(&spec, problems),
        follow: follow(&spec, problems),
        nodes: read,
    })
}

/// A token, or a certificate with its key.
fn credential(fields: &Fields<'_, '_>, problems: &mut Problems<'_>) -> Option<AgentCredential> {
    let mut path = |key| fields.text(key, problems).map(PathBuf::from);
    let (token, chain, key) = (path("tokenFile"), path("cert"), path("certKey"));
    let lacks = |lacking: &str| format!("\"cert\" and \"certKey\" go together: \"{lacking}\" is missing");
    match (token, chain, key) {
        (token, None, None) => token.map(AgentCredential::Token),
        (None, Some(chain), Some(key)) => Some(AgentCredential::Certificate { chain, key }),
        (Some(_), ..) => {
            let message =
                || "either a token or a certificate is expected here: a request with a token shows no certificate";
            problems.report(ProblemKind::Impossible, fields.value_span("tokenFile"), message);
            None
        }
        (None, Some(_), None) => {
            problems.report(ProblemKind::MissingKey, fields.value_span("cert"), || lacks("certKey"));
            None
        }
        (None, None, Some(_)) => {
            problems.report(ProblemKind::MissingKey, fields.value_span("certKey"), || lacks("cert"));
            None
        }
    }
}

fn flag(fields: &Fields<'_, '_>, key: &'static str, problems: &mut Problems<'_>) -> bool {
    let Some(node) = fields.get(key) else { return false };
    match node.text() {
        Some("true") => true,
        Some("false") => false,
        _ => {
            problems.report(ProblemKind::BadValue, node.span, || "true or false is expected");
            false
        }
    }
}

/// Packets a second.
fn follow(fields: &Fields<'_, '_>, problems: &mut Problems<'_>) -> Option<u32> {
    let node = fields.get("follow")?;
    let follow = node.text().and_then(|text| text.parse().ok()).filter(|&follow| follow <= MAX_FOLLOWED);
    if follow.is_none() {
        let message = || format!("packets a second are expected, from 0 (none) to {MAX_FOLLOWED}");
        problems.report(ProblemKind::BadValue, node.span, message);
    }
    follow
}

fn unmatched(fields: &Fields<'_, '_>, problems: &mut Problems<'_>) -> UnmatchedPackets {
    let words = [("best-effort", UnmatchedPackets::BestEffort), ("drop", UnmatchedPackets::Drop)];
    treatment(fields, "unmatched", words, problems)
}

fn excess(fields: &Fields<'_, '_>, problems: &mut Problems<'_>) -> ExcessPackets {
    let words = [("wait", ExcessPackets::Wait), ("drop", ExcessPackets::Drop)];
    treatment(fields, "excess", words, problems)
}

/// Returns the meaning of a key with two possible words; the default if none is given.
fn treatment<T: Copy + Default>(
    fields: &Fields<'_, '_>,
    key: &'static str,
    words: [(&'static str, T); 2],
    problems: &mut Problems<'_>,
) -> T {
    let Some(node) = fields.get(key) else { return T::default() };
    let Some(text) = node.expect_text(problems) else { return T::default() };
    if let Some((_, value)) = words.iter().find(|(word, _)| *word == text) {
        return *value;
    }
    let names = words.map(|(word, _)| word);
    let message = || format!("unknown treatment {}{}", quoted(text), did_you_mean_one_of(text, &names));
    problems.report(ProblemKind::BadValue, node.span, message);
    T::default()
}

fn node(entry: &Node<'_>, before: &[AgentNode], problems: &mut Problems<'_>) -> Option<AgentNode> {
    let fields = Fields::read(entry, &AGENT_NODE, problems)?;
    fields.require_all(["node", "interfaces"], problems);
    let name = fields.text("node", problems)?.to_owned();
    if before.iter().any(|other| other.node == name) {
        problems.report(ProblemKind::DuplicateName, fields.value_span("node"), || "this node is already listed above");
    }
    let interfaces = interfaces(fields.get("interfaces")?, problems);
    let mut endpoints = BTreeMap::new();
    let list = fields.get("endpoints").and_then(|node| node.expect_list("endpoints", problems)).unwrap_or_default();
    for item in list {
        if let Some((endpoint, attached)) = endpoint(item, &name, problems)
            && endpoints.insert(endpoint, attached).is_some()
        {
            problems.report(ProblemKind::DuplicateName, item.span, || "this endpoint is already listed above");
        }
    }
    Some(AgentNode {
        credential: credential(&fields, problems),
        netns: fields.text("netns", problems).map(str::to_owned),
        listen: listen(&fields, problems),
        ovs: fields.get("ovs").and_then(|node| bridge(node, problems)),
        node: name,
        interfaces,
        endpoints,
    })
}

fn bridge(node: &Node<'_>, problems: &mut Problems<'_>) -> Option<AgentBridge> {
    let fields = Fields::read(node, &AGENT_BRIDGE, problems)?;
    fields.require_all(["bridge"], problems);
    let run = fields.text("run", problems).unwrap_or("/run/openvswitch").into();
    Some(AgentBridge { bridge: fields.text("bridge", problems)?.to_owned(), run })
}

/// An address and a port.
fn listen(fields: &Fields<'_, '_>, problems: &mut Problems<'_>) -> Option<SocketAddr> {
    let node = fields.get("listen")?;
    let listen = node.text().and_then(|text| text.parse().ok());
    if listen.is_none() {
        let message = "an address of IP and a port of UDP are expected, such as 10.0.0.5:7481";
        problems.report(ProblemKind::BadValue, node.span, || message);
    }
    listen
}

/// A mapping of links to interfaces.
fn interfaces(node: &Node<'_>, problems: &mut Problems<'_>) -> BTreeMap<String, String> {
    let mut interfaces = BTreeMap::new();
    let Value::Mapping(entries) = &node.value else {
        problems.report(ProblemKind::WrongType, node.span, || {
            let message = format!("interfaces by links are expected, not {}", node.description());
            (message, "as in { \"h1->s1\": eth1 }")
        });
        return interfaces;
    };
    for entry in entries {
        let (Some(link), Some(interface)) = (entry.key.expect_text(problems), entry.value.expect_text(problems)) else {
            continue;
        };
        if interfaces.insert(link.to_owned(), interface.to_owned()).is_some() {
            problems.report(ProblemKind::DuplicateKey, entry.key.span, || "this link is given twice");
        }
    }
    interfaces
}

fn endpoint(node: &Node<'_>, host: &str, problems: &mut Problems<'_>) -> Option<(String, AgentEndpoint)> {
    let fields = Fields::read(node, &ENDPOINT, problems)?;
    fields.require_all(["interface"], problems);
    let (vm, own) = (fields.text("vm", problems), fields.text("host", problems));
    let name = match (vm, own) {
        (Some(vm), None) => {
            let (tenant, name) = vm.split_once(':').unwrap_or(("default", vm));
            if let Err(error) = Named::Tenant.check(tenant).and_then(|()| Named::Vm.check(name)) {
                problems.report(ProblemKind::BadValue, fields.value_span("vm"), || error.to_string());
                return None;
            }
            format!("{tenant}:{name}")
        }
        (None, Some(own)) if own == host => format!("host:{own}"),
        (None, Some(_)) => {
            let message =
                || format!("this is the entry of {host}: only {host} itself, or a VM, can have an interface here");
            problems.report(ProblemKind::Impossible, fields.value_span("host"), message);
            return None;
        }
        _ => {
            let message = "an endpoint needs one of the keys \"vm\" and \"host\"";
            problems.report(ProblemKind::MissingKey, fields.at, || message);
            return None;
        }
    };
    let vlan = vlan(&fields, problems);
    Some((name, AgentEndpoint { interface: fields.text("interface", problems)?.to_owned(), vlan }))
}

/// The number of a VLAN (IEEE 802.1Q: 0 and 4095 are none).
fn vlan(fields: &Fields<'_, '_>, problems: &mut Problems<'_>) -> Option<u16> {
    let node = fields.get("vlan")?;
    let vlan = node.text().and_then(|text| text.parse().ok()).filter(|vlan| (1..=4094).contains(vlan));
    if vlan.is_none() {
        problems.report(ProblemKind::BadValue, node.span, || "the number of a VLAN is expected, 1 to 4094");
    }
    vlan
}
