//! Paths: all shortest ways between two switches, kept once for all hosts behind them.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use wayleave_topology::{LinkId, Network, NodeId, NodeKind};

use crate::fabric::Step;

/// The most paths that are kept between two switches: the number of one fits a byte of its packet.
const MAX_PATHS: usize = 256;

/// All paths between two switches, in one class of queues.
pub(crate) type PathSetId = u32;

/// Where a host is attached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Attachment {
    /// The link from the host.
    pub(crate) up: LinkId,
    /// The link to the host, from the same switch.
    pub(crate) down: LinkId,
    pub(crate) switch: NodeId,
}

/// The paths of a network as it is now.
#[derive(Debug)]
pub(crate) struct Router {
    network: Arc<Network>,
    /// Per link.
    is_up: Vec<bool>,
    /// Per node, for each destination that was asked for: links to go.
    distances: HashMap<NodeId, Vec<u32>>,
    known: HashMap<(NodeId, NodeId, u8), PathSetId>,
    /// Sets with one path that never changes, by where it begins in the table of routes.
    fixed: HashMap<u32, PathSetId>,
    sets: Vec<PathSet>,
}

#[derive(Debug)]
struct PathSet {
    from: NodeId,
    to: NodeId,
    queue: u8,
    is_fixed: bool,
    /// Where each path begins in the table of routes.
    starts: Vec<u32>,
}

impl Router {
    pub(crate) fn new(network: Arc<Network>) -> Self {
        let is_up = vec![true; network.links().len()];
        let (distances, known, fixed) = (HashMap::new(), HashMap::new(), HashMap::new());
        Self { network, is_up, distances, known, fixed, sets: Vec::new() }
    }

    /// The first link of a host that has a counterpart; hosts with several use it for all traffic without a route.
    pub(crate) fn attachment(&self, host: NodeId) -> Option<Attachment> {
        self.network.links_from(host).iter().find_map(|&up| {
            let switch = self.network.link(up).to;
            let down = self.network.links_into(host).iter().find(|&&down| self.network.link(down).from == switch);
            down.map(|&down| Attachment { up, down, switch })
        })
    }

    /// The paths between two switches; their steps are appended to `routes` when they are asked for first.
    pub(crate) fn paths(&mut self, from: NodeId, to: NodeId, queue: u8, routes: &mut Vec<Step>) -> PathSetId {
        if let Some(&known) = self.known.get(&(from, to, queue)) {
            return known;
        }
        let starts = self.find(from, to, queue, routes);
        let id = self.sets.len() as PathSetId;
        self.sets.push(PathSet { from, to, queue, is_fixed: false, starts });
        self.known.insert((from, to, queue), id);
        id
    }

    /// A set with one path that never changes.
    pub(crate) fn fixed(&mut self, start: u32) -> PathSetId {
        if let Some(&known) = self.fixed.get(&start) {
            return known;
        }
        let id = self.sets.len() as PathSetId;
        self.sets.push(PathSet { from: NodeId(0), to: NodeId(0), queue: 0, is_fixed: true, starts: vec![start] });
        self.fixed.insert(start, id);
        id
    }

    /// How many paths a set has: none if nothing joins its ends now.
    #[inline]
    pub(crate) fn count(&self, set: PathSetId) -> u32 {
        self.sets[set as usize].starts.len() as u32
    }

    /// Where a path begins in the table of routes.
    #[inline]
    pub(crate) fn start(&self, set: PathSetId, path: u32) -> Option<u32> {
        let starts = &self.sets[set as usize].starts;
        match starts.get(path as usize) {
            Some(&start) => Some(start),
            // A division that is seldom needed.
            None if starts.is_empty() => None,
            None => Some(starts[path as usize % starts.len()]),
        }
    }

    /// A link failed or works again: all sets are found again.
    pub(crate) fn set_link(&mut self, link: LinkId, is_up: bool) {
        self.is_up[link.index()] = is_up;
        self.distances.clear();
    }

    /// Whether a link works.
    pub(crate) fn is_up(&self, link: LinkId) -> bool {
        self.is_up[link.index()]
    }

    /// After changes: all sets are found again.
    pub(crate) fn refresh(&mut self, routes: &mut Vec<Step>) {
        for index in 0..self.sets.len() {
            let PathSet { from, to, queue, is_fixed, .. } = self.sets[index];
            if is_fixed {
                continue;
            }
            self.sets[index].starts = self.find(from, to, queue, routes);
        }
    }

    fn find(&mut self, from: NodeId, to: NodeId, queue: u8, routes: &mut Vec<Step>) -> Vec<u32> {
        let distances = self.distances.entry(to).or_insert_with(|| distances(&self.network, &self.is_up, to));
        let mut search = Search { network: &self.network, is_up: &self.is_up, distances, queue, to, routes };
        let mut starts = Vec::new();
        search.walk(from, &mut Vec::new(), &mut starts);
        starts
    }
}

/// A walk over all shortest ways.
struct Search<'a> {
    network: &'a Network,
    is_up: &'a [bool],
    distances: &'a [u32],
    queue: u8,
    to: NodeId,
    routes: &'a mut Vec<Step>,
}

impl Search<'_> {
    fn walk(&mut self, at: NodeId, way: &mut Vec<Step>, starts: &mut Vec<u32>) {
        if at == self.to {
            starts.push(self.routes.len() as u32);
            self.routes.extend_from_slice(way);
            self.routes.push(Step::END);
            return;
        }
        let here = self.distances[at.index()];
        let network = self.network;
        for &link in network.links_to_switches(at) {
            if starts.len() == MAX_PATHS {
                return;
            }
            let next = network.link(link).to;
            if self.is_up[link.index()] && here != u32::MAX && self.distances[next.index()] == here - 1 {
                way.push(Step::new(link.0, self.queue));
                self.walk(next, way, starts);
                way.pop();
            }
        }
    }
}

/// Links to go from every switch to `to`.
fn distances(network: &Network, is_up: &[bool], to: NodeId) -> Vec<u32> {
    let mut distances = vec![u32::MAX; network.nodes().len()];
    distances[to.index()] = 0;
    let mut queue = VecDeque::from([to]);
    while let Some(node) = queue.pop_front() {
        for &link in network.links_from_switches(node) {
            let from = network.link(link).from;
            if is_up[link.index()] && distances[from.index()] == u32::MAX && network.node(from).kind == NodeKind::Switch
            {
                distances[from.index()] = distances[node.index()] + 1;
                queue.push_back(from);
            }
        }
    }
    distances
}
