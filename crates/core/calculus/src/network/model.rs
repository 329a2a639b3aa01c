//! Servers and flows, validated: every path exists, and the paths of a flow form a tree.

use std::collections::{HashMap, HashSet};

use num_traits::Zero;

use crate::{ArrivalCurve, BucketCurve, Rational, ServiceCurve};

/// An output port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CurveServer {
    /// Name in messages.
    pub name: String,
    /// Minimum service for the aggregate of its flows. It must be strict for analyses of arbitrary multiplexing.
    pub service: ServiceCurve,
    /// Maximum output of the line behind the server, before a packetizer; `None` if it does not shape.
    pub line: Option<BucketCurve>,
    /// Servers with one number are queues of one port: what leaves them comes over one line, that of the first of them.
    pub port: Option<usize>,
}

impl CurveServer {
    /// Without a line that shapes.
    pub fn new(name: &str, service: ServiceCurve) -> Self {
        Self { name: name.to_owned(), service, line: None, port: None }
    }

    /// With a line of `rate` bit/s.
    #[must_use]
    pub fn with_line(self, rate: Rational) -> Self {
        Self { line: Some(BucketCurve { rate, burst: Rational::zero() }), ..self }
    }
}

/// Traffic that enters the network at the first server of its paths.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerFlow {
    /// Name in messages.
    pub name: String,
    /// Arrival curve of the flow.
    pub arrival: ArrivalCurve,
    /// Its largest packet, in nanobits; zero for a fluid.
    pub max_packet: Rational,
    /// Indices of servers. Several paths are one multicast flow: it counts once where they coincide.
    pub paths: Vec<Vec<usize>>,
}

impl ServerFlow {
    /// A fluid with one path.
    pub fn unicast(name: &str, arrival: ArrivalCurve, path: Vec<usize>) -> Self {
        Self { name: name.to_owned(), arrival, max_packet: Rational::zero(), paths: vec![path] }
    }
}

/// Servers, and the flows that cross them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PortNetwork {
    servers: Vec<CurveServer>,
    flows: Vec<ServerFlow>,
    /// Per flow: the servers that it visits, each with the one before it.
    previous: Vec<HashMap<usize, Option<usize>>>,
    /// Per server: the flows that visit it, in order.
    visitors: Vec<Vec<usize>>,
    /// Per server: the first one of its port.
    first_of_port: Vec<usize>,
}

impl PortNetwork {
    /// Checks that servers and flows belong together.
    ///
    /// # Errors
    /// The first thing that is wrong.
    ///
    /// ```
    /// use wayleave_calculus::network::{ServerFlow, ServerNetworkError, PortNetwork, CurveServer};
    /// use wayleave_calculus::{ArrivalCurve, ServiceCurve};
    /// use wayleave_units::Rate;
    /// let server = CurveServer::new("a", ServiceCurve::constant_rate(Rate::from_mbit(1)));
    /// let flow = ServerFlow::unicast("f", ArrivalCurve::zero(), vec![0, 0]);
    /// let error = PortNetwork::new(vec![server], vec![flow]).unwrap_err();
    /// assert_eq!(error.to_string(), "path 1 of flow \"f\" visits server \"a\" twice");
    /// ```
    pub fn new(servers: Vec<CurveServer>, flows: Vec<ServerFlow>) -> Result<Self, ServerNetworkError> {
        check_servers(&servers)?;
        let mut names = HashSet::new();
        let mut previous = Vec::with_capacity(flows.len());
        let mut visitors = vec![Vec::new(); servers.len()];
        for (index, flow) in flows.iter().enumerate() {
            if !names.insert(flow.name.as_str()) {
                return Err(ServerNetworkError::DuplicateFlow { flow: flow.name.clone() });
            }
            let tree = tree(flow, &servers)?;
            for &server in tree.keys() {
                visitors[server].push(index);
            }
            previous.push(tree);
        }
        let mut ports = HashMap::new();
        let first_of_port = servers.iter().enumerate().map(|(index, server)| match server.port {
            None => index,
            Some(port) => *ports.entry(port).or_insert(index),
        });
        let first_of_port = first_of_port.collect();
        Ok(Self { servers, flows, previous, visitors, first_of_port })
    }

    /// The servers, in their order.
    pub fn servers(&self) -> &[CurveServer] {
        &self.servers
    }

    /// The flows, in their order.
    pub fn flows(&self) -> &[ServerFlow] {
        &self.flows
    }

    /// The flows that visit a server, in order.
    pub fn visitors(&self, server: usize) -> &[usize] {
        &self.visitors[server]
    }

    /// Returns the server that a flow visits before a given one; `None` if it enters the network there.
    pub fn previous(&self, flow: usize, server: usize) -> Option<usize> {
        self.previous[flow].get(&server).copied().flatten()
    }

    /// The server whose line a flow comes over when it enters a server that it visits: the one before it, or the first of
    /// its port. `None` if it enters the network there.
    pub fn line_before(&self, flow: usize, server: usize) -> Option<usize> {
        self.previous(flow, server).map(|before| self.first_of_port[before])
    }

    /// Returns the server whose line is behind a server: the first of its port.
    pub(crate) fn first_of_port(&self, server: usize) -> usize {
        self.first_of_port[server]
    }

    /// Every path: the flow and the index of its path.
    pub fn paths(&self) -> impl Iterator<Item = (usize, usize)> {
        self.flows.iter().enumerate().flat_map(|(flow, of)| (0..of.paths.len()).map(move |path| (flow, path)))
    }

    /// Per server, the servers from which flows come to it, without repetition and in order.
    pub fn predecessors(&self) -> Vec<Vec<usize>> {
        let mut all = vec![Vec::new(); self.servers.len()];
        for tree in &self.previous {
            for (&server, &before) in tree {
                all[server].extend(before);
            }
        }
        for list in &mut all {
            list.sort_unstable();
            list.dedup();
        }
        all
    }

    /// The servers in an order in which no flow goes back; `None` if there is a cycle.
    pub fn topological_order(&self) -> Option<Vec<usize>> {
        let order = ordered(&self.predecessors(), &vec![false; self.servers.len()]);
        Some(order).filter(|order| order.len() == self.servers.len())
    }

    /// The largest packet of the flows that visit a server, in nanobits.
    pub fn max_packet(&self, server: usize) -> Rational {
        let packets = self.visitors[server].iter().map(|&flow| &self.flows[flow].max_packet);
        packets.max().cloned().unwrap_or_else(Rational::zero)
    }
}

/// Servers all of whose predecessors come before them, or are done already; those on a cycle or behind one are missing.
pub(crate) fn ordered(predecessors: &[Vec<usize>], done: &[bool]) -> Vec<usize> {
    let count = predecessors.len();
    let mut successors = vec![Vec::new(); count];
    let mut missing = vec![0usize; count];
    for (server, before) in predecessors.iter().enumerate().filter(|&(server, _)| !done[server]) {
        for &previous in before.iter().filter(|&&previous| !done[previous]) {
            successors[previous].push(server);
            missing[server] += 1;
        }
    }
    let mut order: Vec<usize> = (0..count).filter(|&server| !done[server] && missing[server] == 0).collect();
    let mut next = 0;
    while next < order.len() {
        for &server in &successors[order[next]] {
            missing[server] -= 1;
            if missing[server] == 0 {
                order.push(server);
            }
        }
        next += 1;
    }
    order
}

fn check_servers(servers: &[CurveServer]) -> Result<(), ServerNetworkError> {
    let mut names = HashSet::new();
    for server in servers {
        if !names.insert(server.name.as_str()) {
            return Err(ServerNetworkError::DuplicateServer { server: server.name.clone() });
        }
        if server.service.is_zero() {
            return Err(ServerNetworkError::NoService { server: server.name.clone() });
        }
    }
    Ok(())
}

/// The servers that a flow visits, each with the one before it.
fn tree(flow: &ServerFlow, servers: &[CurveServer]) -> Result<HashMap<usize, Option<usize>>, ServerNetworkError> {
    if flow.paths.is_empty() {
        return Err(ServerNetworkError::NoPath { flow: flow.name.clone() });
    }
    let mut tree: HashMap<usize, Option<usize>> = HashMap::new();
    for (index, path) in flow.paths.iter().enumerate() {
        let (name, number) = (|| flow.name.clone(), index + 1);
        if path.is_empty() {
            return Err(ServerNetworkError::EmptyPath { flow: name(), path: number });
        }
        let mut seen = HashSet::new();
        let mut before = None;
        for &server in path {
            let Some(known) = servers.get(server) else {
                return Err(ServerNetworkError::UnknownServer { flow: name(), path: number, index: server });
            };
            if !seen.insert(server) {
                return Err(ServerNetworkError::RepeatedServer {
                    flow: name(),
                    path: number,
                    server: known.name.clone(),
                });
            }
            if *tree.entry(server).or_insert(before) != before {
                return Err(ServerNetworkError::NoTree { flow: name(), path: number, server: known.name.clone() });
            }
            before = Some(server);
        }
        let has_twin = flow.paths[..index].contains(path);
        if has_twin {
            return Err(ServerNetworkError::RepeatedPath { flow: name(), path: number });
        }
    }
    Ok(tree)
}

/// Reason that servers and flows are no network. Paths are counted from 1.
#[derive(thiserror::Error, Clone, Debug, PartialEq, Eq)]
pub enum ServerNetworkError {
    /// Two servers have one name.
    #[error("two servers are called \"{server}\"")]
    DuplicateServer {
        /// The name.
        server: String,
    },
    /// Two flows have one name.
    #[error("two flows are called \"{flow}\"")]
    DuplicateFlow {
        /// The name.
        flow: String,
    },
    /// A server serves nothing, ever.
    #[error("server \"{server}\" serves nothing: expected a rate above zero")]
    NoService {
        /// Its name.
        server: String,
    },
    /// A flow goes nowhere.
    #[error("flow \"{flow}\" has no path")]
    NoPath {
        /// Its name.
        flow: String,
    },
    /// A path has no server.
    #[error("path {path} of flow \"{flow}\" has no server")]
    EmptyPath {
        /// Flow of the path.
        flow: String,
        /// Number of the path.
        path: usize,
    },
    /// A path visits a server that is not there.
    #[error("path {path} of flow \"{flow}\" visits server {index}, which is not there")]
    UnknownServer {
        /// Flow of the path.
        flow: String,
        /// Number of the path.
        path: usize,
        /// The index that is out of range.
        index: usize,
    },
    /// A path visits a server twice.
    #[error("path {path} of flow \"{flow}\" visits server \"{server}\" twice")]
    RepeatedServer {
        /// Flow of the path.
        flow: String,
        /// Number of the path.
        path: usize,
        /// The server.
        server: String,
    },
    /// Two paths of a flow are equal.
    #[error("path {path} of flow \"{flow}\" is listed twice")]
    RepeatedPath {
        /// Flow of the paths.
        flow: String,
        /// The second one.
        path: usize,
    },
    /// Two paths of a flow come to a server from different places.
    #[error(
        "path {path} of flow \"{flow}\" reaches server \"{server}\" by another route than an earlier path: the paths of a multicast flow must form a tree"
    )]
    NoTree {
        /// Flow of the paths.
        flow: String,
        /// The second of them.
        path: usize,
        /// Server at which the paths meet again.
        server: String,
    },
}
