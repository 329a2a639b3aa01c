//! The network itself: dense tables of nodes and directed links, and their adjacency.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::ops::Range;

use wayleave_units::{Bytes, Rate, Time};

use crate::classes::Classes;

/// A node, as a dense index.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeId(pub u32);

/// A directed link, as a dense index.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LinkId(pub u32);

/// A class of ports that look alike, as a dense index.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PortId(pub u32);

impl NodeId {
    /// As an index into a vector with one entry per node.
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

impl LinkId {
    /// As an index into a vector with one entry per link.
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// Kind of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NodeKind {
    /// Sends and receives; never forwards.
    Host,
    /// Forwards.
    Switch,
}

/// A host or a switch.
#[derive(Clone, Debug)]
pub struct Node {
    /// Unique in its network.
    pub name: String,
    /// Host or switch.
    pub kind: NodeKind,
    /// The constant part of every packet's delay in this node (forwarding, or a host's tagger): counted once, end to
    /// end, and part of no queue's bound.
    pub processing: Time,
    /// The variable part of a port's overhead, phi in Chameleon 3.2.2: it delays the service of every queue here.
    pub jitter: Time,
}

/// One direction of a cable.
#[derive(Clone, Debug)]
pub struct Link {
    /// Unique in its network: `from->to`, with `#2`, `#3` ... for parallel links.
    pub name: String,
    /// The node whose port it leaves.
    pub from: NodeId,
    /// The node that it enters.
    pub to: NodeId,
    /// Line rate.
    pub rate: Rate,
    /// Propagation delay.
    pub propagation: Time,
    /// The largest layer-3 packet that it carries.
    pub mtu: Bytes,
    /// The queues of the port that it leaves.
    pub port: PortId,
}

/// The queues of a port, highest priority first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Port {
    /// One entry per hardware queue.
    pub queues: Vec<PortQueue>,
}

/// One hardware queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct PortQueue {
    /// Buffer capacity.
    pub buffer: Bytes,
    /// The delay budget that the operator has fixed for it; where none is given the scheme's allocation decides.
    pub budget: Option<Time>,
}

/// An immutable network.
#[derive(Clone)]
pub struct Network {
    pub(crate) nodes: Vec<Node>,
    pub(crate) links: Vec<Link>,
    pub(crate) ports: Vec<Port>,
    pub(crate) out: Adjacency,
    pub(crate) into: Adjacency,
    /// Per link: the other direction of its cable.
    pub(crate) reverse: Vec<Option<LinkId>>,
    pub(crate) node_names: HashMap<String, NodeId>,
    pub(crate) link_names: HashMap<String, LinkId>,
    /// Interface names of ports, by the link that leaves the port.
    pub(crate) interfaces: BTreeMap<LinkId, String>,
    /// Division of the queues of all ports, if they are divided.
    pub(crate) classes: Option<Classes>,
}

/// For every node its links: those to switches first, those to hosts behind them.
#[derive(Clone, Default)]
pub(crate) struct Adjacency {
    pub(crate) links: Vec<LinkId>,
    /// Per node: the start of its links, and where those to hosts begin.
    pub(crate) starts: Vec<(u32, u32)>,
}

impl Adjacency {
    fn range(&self, node: NodeId) -> Range<usize> {
        let end = self.starts.get(node.index() + 1).map_or(self.links.len(), |next| next.0 as usize);
        self.starts[node.index()].0 as usize..end
    }

    fn all(&self, node: NodeId) -> &[LinkId] {
        &self.links[self.range(node)]
    }

    fn switches(&self, node: NodeId) -> &[LinkId] {
        let (start, hosts) = self.starts[node.index()];
        &self.links[start as usize..hosts as usize]
    }
}

impl Network {
    /// The node with this index.
    pub fn node(&self, id: NodeId) -> &Node {
        &self.nodes[id.index()]
    }

    /// The link with this index.
    #[inline]
    pub fn link(&self, id: LinkId) -> &Link {
        &self.links[id.index()]
    }

    /// The port class with this index.
    pub fn port(&self, id: PortId) -> &Port {
        &self.ports[id.0 as usize]
    }

    /// The queues of the port that a link leaves, highest priority first.
    pub fn queues(&self, link: LinkId) -> &[PortQueue] {
        &self.ports[self.link(link).port.0 as usize].queues
    }

    /// All nodes, with their indices.
    pub fn nodes(&self) -> impl ExactSizeIterator<Item = (NodeId, &Node)> {
        self.nodes.iter().enumerate().map(|(index, node)| (NodeId(index as u32), node))
    }

    /// All directed links, with their indices.
    pub fn links(&self) -> impl ExactSizeIterator<Item = (LinkId, &Link)> {
        self.links.iter().enumerate().map(|(index, link)| (LinkId(index as u32), link))
    }

    /// All hosts.
    pub fn hosts(&self) -> impl Iterator<Item = NodeId> {
        self.nodes().filter(|(_, node)| node.kind == NodeKind::Host).map(|(id, _)| id)
    }

    /// All switches.
    pub fn switches(&self) -> impl Iterator<Item = NodeId> {
        self.nodes().filter(|(_, node)| node.kind == NodeKind::Switch).map(|(id, _)| id)
    }

    /// The links that leave a node.
    pub fn links_from(&self, node: NodeId) -> &[LinkId] {
        self.out.all(node)
    }

    /// Returns the links from a node to switches (hosts forward nothing, so a search can ignore the others).
    pub fn links_to_switches(&self, node: NodeId) -> &[LinkId] {
        self.out.switches(node)
    }

    /// The links that enter a node.
    pub fn links_into(&self, node: NodeId) -> &[LinkId] {
        self.into.all(node)
    }

    /// The links that enter a node and come from switches.
    pub fn links_from_switches(&self, node: NodeId) -> &[LinkId] {
        self.into.switches(node)
    }

    /// Names of interfaces, by the link that leaves them; ports whose file names none are absent.
    pub fn interfaces(&self) -> &BTreeMap<LinkId, String> {
        &self.interfaces
    }

    /// The node of this name.
    pub fn find_node(&self, name: &str) -> Option<NodeId> {
        self.node_names.get(name).copied()
    }

    /// The link of this name (`from->to`, `from->to#2`).
    pub fn find_link(&self, name: &str) -> Option<LinkId> {
        self.link_names.get(name).copied()
    }
}

impl fmt::Debug for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Network({} nodes, {} links)", self.nodes.len(), self.links.len())
    }
}
