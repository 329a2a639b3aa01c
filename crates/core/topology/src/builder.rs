//! Construction of a network: nodes and links are added one by one, and checked as they are added.

use std::collections::{BTreeMap, HashMap};

use wayleave_units::{Bytes, Rate, Time, escaped, is_plain};

use crate::limits::{MAX_BUDGET, MAX_INTERFACE_NAME, MAX_QUEUES};
use crate::network::{Adjacency, Link, LinkId, Network, Node, NodeId, NodeKind, Port, PortId, PortQueue};

/// Returns `true` if a text can be an interface name. Such names are written into scripts, so few characters are accepted.
pub fn is_interface_name(text: &str) -> bool {
    text.len() <= MAX_INTERFACE_NAME
        && text.starts_with(|first: char| first.is_ascii_alphanumeric())
        && text.chars().all(|one| one.is_ascii_alphanumeric() || "._/:-".contains(one))
}

/// The queues of one end of a cable.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct PortSpec {
    /// Highest priority first.
    pub queues: Vec<PortQueue>,
}

impl PortSpec {
    /// `count` queues of `buffer` each, with budgets left to the scheme.
    pub fn uniform(count: usize, buffer: Bytes) -> Self {
        Self { queues: vec![PortQueue { buffer, budget: None }; count] }
    }
}

/// One direction of a cable to be.
#[derive(Clone, Debug)]
pub struct LinkSpec {
    /// The node whose port it leaves.
    pub from: NodeId,
    /// The node that it enters.
    pub to: NodeId,
    /// Line rate, above zero.
    pub rate: Rate,
    /// Propagation delay.
    pub propagation: Time,
    /// The largest layer-3 packet.
    pub mtu: Bytes,
    /// The queues of the port that it leaves.
    pub port: PortSpec,
}

/// Error of a network. Every variant names the element.
#[derive(thiserror::Error, Clone, Debug, PartialEq, Eq)]
pub enum NetworkError {
    /// Two nodes of one name.
    #[error("two nodes are called \"{0}\": names must be unique")]
    DuplicateNode(String),
    /// A node without a name, or with one that link names could not carry (`->`, `#`), or that deceives a reader (control, bidirectional and invisible characters).
    #[error("\"{}\" cannot be a node's name: it must not be empty, nor contain \"->\", \"#\", or control, bidirectional or invisible characters", escaped(.0))]
    BadName(String),
    /// A link that begins and ends at the same node.
    #[error("a link from \"{0}\" to itself: a link must join two different nodes")]
    SelfLoop(String),
    /// A link between two hosts, which have no switch to admit them.
    #[error("\"{0}\" and \"{1}\" are both hosts: a link needs a switch on at least one end")]
    HostToHost(String, String),
    /// A line rate of zero.
    #[error("link {0} has a rate of zero: expected a rate such as 10Gbit")]
    ZeroRate(String),
    /// A node delays packets for longer than [`MAX_BUDGET`].
    #[error("\"{node}\" delays packets by {delay}: expected at most {MAX_BUDGET} of processing or jitter")]
    SlowNode {
        /// The node.
        node: String,
        /// Its processing or jitter.
        delay: Time,
    },
    /// A line rate above [`Rate::MAX`].
    #[error("link {link} has a rate of {rate}: expected at most {}", Rate::MAX)]
    FastRate {
        /// The link.
        link: String,
        /// Its rate.
        rate: Rate,
    },
    /// An MTU that carries no frame, or above what a frame can be.
    #[error("link {link} has an MTU of {mtu}: expected 64B to 65535B (1500B is usual)")]
    BadMtu {
        /// The link.
        link: String,
        /// Its MTU.
        mtu: Bytes,
    },
    /// A port with no queue, or with more than eight.
    #[error("link {link} has {queues} queues: expected 1 to {MAX_QUEUES}")]
    QueueCount {
        /// The link.
        link: String,
        /// Its queues.
        queues: usize,
    },
    /// A queue's budget is zero or above [`MAX_BUDGET`].
    #[error("queue {queue} of link {link} has a budget of {budget}: expected more than zero and at most {MAX_BUDGET}")]
    BadBudget {
        /// The link.
        link: String,
        /// The queue.
        queue: usize,
        /// Its budget.
        budget: Time,
    },
    /// An interface name that scripts could not carry.
    #[error(
        "\"{name}\" of link {link} is not an interface name: expected up to {MAX_INTERFACE_NAME} letters, digits and . _ / : -, the first a letter or a digit"
    )]
    BadInterface {
        /// The link that leaves the interface.
        link: String,
        /// The name.
        name: String,
    },
    /// Two links leave one interface of a node.
    #[error(
        "the interface \"{name}\" of link {link} is that of {first} too: every link leaves an interface of its own"
    )]
    DuplicateInterface {
        /// The second link.
        link: String,
        /// The first link.
        first: String,
        /// The interface.
        name: String,
    },
    /// A builder's parameter is outside what it can build.
    #[error("{name} is {given}: expected {expected}")]
    Parameter {
        /// The parameter's name.
        name: &'static str,
        /// Given value.
        given: u64,
        /// Accepted values.
        expected: &'static str,
    },
    /// The classes are none, or do not fit the queues.
    #[error("{0}")]
    Classes(#[from] crate::classes::ClassesError),
    /// More nodes or links than an index can count.
    #[error("the network has too many nodes or links (a builder makes up to ten million cables)")]
    TooLarge,
}

/// Collects nodes and links; [`NetworkBuilder::build`] freezes them.
///
/// ```
/// use wayleave_topology::{LinkSpec, NetworkBuilder, NodeKind, PortSpec};
/// use wayleave_units::{Bytes, Rate, Time};
/// let mut builder = NetworkBuilder::default();
/// let host = builder.add_node("h1", NodeKind::Host)?;
/// let switch = builder.add_node("s1", NodeKind::Switch)?;
/// builder.add_link(LinkSpec {
///     from: host,
///     to: switch,
///     rate: Rate::from_gbit(1),
///     propagation: Time::ZERO,
///     mtu: Bytes::new(1500),
///     port: PortSpec::uniform(1, Bytes::new(97_000)),
/// })?;
/// assert_eq!(builder.build().links().count(), 1);
/// # Ok::<(), wayleave_topology::NetworkError>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct NetworkBuilder {
    nodes: Vec<Node>,
    links: Vec<Link>,
    ports: Vec<Port>,
    port_ids: HashMap<PortSpec, PortId>,
    node_names: HashMap<String, NodeId>,
    link_names: HashMap<String, LinkId>,
    interfaces: BTreeMap<LinkId, String>,
    interface_names: HashMap<(NodeId, String), LinkId>,
}

impl Network {
    /// Returns the network with other ports; nodes and links keep their numbers. `change` receives the kind of node
    /// of a port, and the MTU of its link.
    ///
    /// # Errors
    /// The error of a changed port.
    pub fn with_ports(&self, change: impl Fn(NodeKind, Bytes, &mut PortSpec)) -> Result<Self, NetworkError> {
        self.rebuilt(|_| {}, |link, port| change(self.node(self.link(link).from).kind, self.link(link).mtu, port))
    }

    /// Returns the network with other ports, by the link to which each sends; nodes and links keep their numbers.
    ///
    /// # Errors
    /// The error of a changed port.
    pub fn with_ports_of_links(&self, change: impl Fn(LinkId, &mut PortSpec)) -> Result<Self, NetworkError> {
        self.rebuilt(|_| {}, change)
    }

    /// The same network with other nodes, of the same kinds.
    ///
    /// # Errors
    /// If a changed node is none.
    pub fn with_nodes(&self, change: impl Fn(&mut Node)) -> Result<Self, NetworkError> {
        self.rebuilt(change, |_, _| {})
    }

    fn rebuilt(
        &self,
        change_node: impl Fn(&mut Node),
        change: impl Fn(LinkId, &mut PortSpec),
    ) -> Result<Self, NetworkError> {
        let mut builder = NetworkBuilder::default();
        for (_, node) in self.nodes() {
            let mut node = node.clone();
            change_node(&mut node);
            builder.add(node)?;
        }
        for (id, link) in self.links() {
            let mut port = PortSpec { queues: self.queues(id).to_vec() };
            change(id, &mut port);
            builder.add_link(LinkSpec {
                from: link.from,
                to: link.to,
                rate: link.rate,
                propagation: link.propagation,
                mtu: link.mtu,
                port,
            })?;
        }
        builder.interfaces.clone_from(&self.interfaces);
        let network = builder.build();
        match self.classes() {
            Some(&classes) => network.with_classes(classes),
            None => Ok(network),
        }
    }
}

impl NetworkBuilder {
    /// Adds a node without constant processing or jitter.
    ///
    /// # Errors
    /// If the name is taken or cannot be one.
    pub fn add_node(&mut self, name: &str, kind: NodeKind) -> Result<NodeId, NetworkError> {
        self.add(Node { name: name.to_owned(), kind, processing: Time::ZERO, jitter: Time::ZERO })
    }

    /// Adds a node.
    ///
    /// # Errors
    /// If the name is taken or cannot be one.
    pub fn add(&mut self, node: Node) -> Result<NodeId, NetworkError> {
        let name = &node.name;
        if name.is_empty() || name.contains("->") || name.contains('#') || !is_plain(name) {
            return Err(NetworkError::BadName(name.clone()));
        }
        if let Some(delay) = [node.processing, node.jitter].into_iter().find(|&delay| delay > MAX_BUDGET) {
            return Err(NetworkError::SlowNode { node: name.clone(), delay });
        }
        if self.nodes.len() >= i32::MAX as usize {
            return Err(NetworkError::TooLarge);
        }
        let id = NodeId(self.nodes.len() as u32);
        if self.node_names.contains_key(name) {
            return Err(NetworkError::DuplicateNode(name.clone()));
        }
        self.node_names.insert(name.clone(), id);
        self.nodes.push(node);
        Ok(id)
    }

    /// The node of this name, if it was added.
    pub fn find_node(&self, name: &str) -> Option<NodeId> {
        self.node_names.get(name).copied()
    }

    /// Adds one directed link.
    ///
    /// # Errors
    /// If it leads nowhere, joins two hosts, has no rate, or its queues are not from one to eight.
    pub fn add_link(&mut self, spec: LinkSpec) -> Result<LinkId, NetworkError> {
        let (from, to) = (&self.nodes[spec.from.index()], &self.nodes[spec.to.index()]);
        let stem = format!("{}->{}", from.name, to.name);
        if spec.from == spec.to {
            return Err(NetworkError::SelfLoop(from.name.clone()));
        }
        if from.kind == NodeKind::Host && to.kind == NodeKind::Host {
            return Err(NetworkError::HostToHost(from.name.clone(), to.name.clone()));
        }
        check_link(&stem, &spec)?;
        if self.links.len() >= i32::MAX as usize {
            return Err(NetworkError::TooLarge);
        }
        let id = LinkId(self.links.len() as u32);
        let name = self.free_name(stem);
        self.link_names.insert(name.clone(), id);
        let port = self.intern(spec.port);
        let LinkSpec { from, to, rate, propagation, mtu, .. } = spec;
        self.links.push(Link { name, from, to, rate, propagation, mtu, port });
        Ok(id)
    }

    /// Adds both directions of a cable; `port` is the port at `spec.from`, `back` the one at `spec.to`.
    ///
    /// # Errors
    /// As for [`Self::add_link`].
    pub fn add_cable(&mut self, spec: LinkSpec, back: PortSpec) -> Result<(LinkId, LinkId), NetworkError> {
        let reverse = LinkSpec { from: spec.to, to: spec.from, port: back, ..spec.clone() };
        Ok((self.add_link(spec)?, self.add_link(reverse)?))
    }

    /// Names the interface that a link leaves.
    ///
    /// # Errors
    /// If the name cannot be one, or another link of the node leaves an interface of this name.
    pub fn name_interface(&mut self, link: LinkId, name: &str) -> Result<(), NetworkError> {
        let Link { name: link_name, from, .. } = &self.links[link.index()];
        if !is_interface_name(name) {
            return Err(NetworkError::BadInterface { link: link_name.clone(), name: name.to_owned() });
        }
        let first = *self.interface_names.entry((*from, name.to_owned())).or_insert(link);
        if first != link {
            let first = self.links[first.index()].name.clone();
            return Err(NetworkError::DuplicateInterface { link: link_name.clone(), first, name: name.to_owned() });
        }
        self.interfaces.insert(link, name.to_owned());
        Ok(())
    }

    fn free_name(&self, stem: String) -> String {
        if !self.link_names.contains_key(&stem) {
            return stem;
        }
        (2..).map(|n| format!("{stem}#{n}")).find(|name| !self.link_names.contains_key(name)).unwrap_or(stem)
    }

    fn intern(&mut self, spec: PortSpec) -> PortId {
        if let Some(&id) = self.port_ids.get(&spec) {
            return id;
        }
        let id = PortId(self.ports.len() as u32);
        self.ports.push(Port { queues: spec.queues.clone() });
        self.port_ids.insert(spec, id);
        id
    }

    /// Freezes the network.
    pub fn build(self) -> Network {
        let out = adjacency(&self.nodes, &self.links, |link| (link.from, link.to));
        let into = adjacency(&self.nodes, &self.links, |link| (link.to, link.from));
        let Self { nodes, links, ports, node_names, link_names, interfaces, .. } = self;
        let reverse = crate::physical::pair(&links);
        Network { reverse, nodes, links, ports, out, into, node_names, link_names, interfaces, classes: None }
    }
}

fn check_link(name: &str, spec: &LinkSpec) -> Result<(), NetworkError> {
    if spec.rate == Rate::ZERO {
        return Err(NetworkError::ZeroRate(name.to_owned()));
    }
    if spec.rate > Rate::MAX {
        return Err(NetworkError::FastRate { link: name.to_owned(), rate: spec.rate });
    }
    if !(64..=65_535).contains(&spec.mtu.get()) {
        return Err(NetworkError::BadMtu { link: name.to_owned(), mtu: spec.mtu });
    }
    let queues = spec.port.queues.len();
    if !(1..=MAX_QUEUES).contains(&queues) {
        return Err(NetworkError::QueueCount { link: name.to_owned(), queues });
    }
    for (queue, budget) in spec.port.queues.iter().enumerate().filter_map(|(q, queue)| Some((q, queue.budget?))) {
        if budget == Time::ZERO || budget > MAX_BUDGET {
            return Err(NetworkError::BadBudget { link: name.to_owned(), queue, budget });
        }
    }
    Ok(())
}

/// Links grouped by one end; within a node those whose other end is a switch come first, each in order of index.
fn adjacency(nodes: &[Node], links: &[Link], ends: impl Fn(&Link) -> (NodeId, NodeId)) -> Adjacency {
    let to_host = |link: &Link| nodes[ends(link).1.index()].kind == NodeKind::Host;
    let mut ids: Vec<LinkId> = (0..links.len() as u32).map(LinkId).collect();
    ids.sort_by_key(|&id| (ends(&links[id.index()]).0, to_host(&links[id.index()]), id));
    let mut starts = Vec::with_capacity(nodes.len());
    let mut at = 0;
    for node in 0..nodes.len() as u32 {
        let start = at;
        let mine = |at: usize| ids.get(at).map(|id| &links[id.index()]).filter(|link| ends(link).0 == NodeId(node));
        while mine(at).is_some_and(|link| !to_host(link)) {
            at += 1;
        }
        let hosts = at;
        while mine(at).is_some() {
            at += 1;
        }
        starts.push((start as u32, hosts as u32));
    }
    Adjacency { links: ids, starts }
}
