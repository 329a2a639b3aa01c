//! Paths: all paths with the fewest links between two hosts, over all of their links that work.
//!
//! Most hosts have one cable. Paths between their switches are kept once for all hosts behind them. Where a host has several links, paths
//! are kept for each pair of hosts, and each has its own first and last link.

use std::collections::HashMap;
use std::sync::Arc;

use wayleave_topology::{HopDistances, LinkId, Network, NodeId, NodeKind};

use crate::fabric::Step;

/// The most paths that are kept between two hosts: the number of one fits a byte of its packet.
const MAX_PATHS: usize = 256;

/// All paths between two hosts or switches, in one class of queues.
pub(crate) type PathSetId = u32;

/// One cable between a host and a switch.
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
    /// For each switch that was asked for: links to go.
    distances: HashMap<NodeId, HopDistances>,
    known: HashMap<(NodeId, NodeId, u8), PathSetId>,
    /// Sets with one path that never changes, by where it begins in the table of routes.
    fixed: HashMap<u32, PathSetId>,
    sets: Vec<PathSet>,
}

#[derive(Debug)]
struct PathSet {
    /// Hosts, or the switches of hosts with one cable each.
    from: NodeId,
    to: NodeId,
    queue: u8,
    is_fixed: bool,
    /// Start of each path in the table of routes.
    starts: Vec<u32>,
    /// The first and the last step of each path between hosts of which one has several links; otherwise empty.
    ends: Vec<(Step, Step)>,
}

impl Router {
    pub(crate) fn new(network: Arc<Network>) -> Self {
        let is_up = vec![true; network.links().len()];
        let (distances, known, fixed) = (HashMap::new(), HashMap::new(), HashMap::new());
        Self { network, is_up, distances, known, fixed, sets: Vec::new() }
    }

    /// The cable of a host that has no other link to or from a switch.
    pub(crate) fn attachment(&self, host: NodeId) -> Option<Attachment> {
        let (&[up], &[down]) = (self.network.links_to_switches(host), self.network.links_from_switches(host)) else {
            return None;
        };
        let switch = self.network.link(up).to;
        (self.network.link(down).from == switch).then_some(Attachment { up, down, switch })
    }

    /// Returns `true` if paths between two hosts have first and last links of their own.
    pub(crate) fn has_several_links(&self, from: NodeId, to: NodeId) -> bool {
        [from, to].into_iter().any(|host| self.attachment(host).is_none())
    }

    /// The paths between two switches, or between two hosts of which one has several links; their steps are appended to `routes` when they
    /// are asked for first.
    pub(crate) fn paths(&mut self, from: NodeId, to: NodeId, queue: u8, routes: &mut Vec<Step>) -> PathSetId {
        if let Some(&known) = self.known.get(&(from, to, queue)) {
            return known;
        }
        let (starts, ends) = self.find(from, to, queue, routes);
        let id = self.sets.len() as PathSetId;
        self.sets.push(PathSet { from, to, queue, is_fixed: false, starts, ends });
        self.known.insert((from, to, queue), id);
        id
    }

    /// A set with one path that never changes.
    pub(crate) fn fixed(&mut self, start: u32) -> PathSetId {
        if let Some(&known) = self.fixed.get(&start) {
            return known;
        }
        let id = self.sets.len() as PathSetId;
        let (node, ends) = (NodeId(0), Vec::new());
        self.sets.push(PathSet { from: node, to: node, queue: 0, is_fixed: true, starts: vec![start], ends });
        self.fixed.insert(start, id);
        id
    }

    /// The first and the last step of a path, where paths of a set differ in these.
    #[inline]
    pub(crate) fn ends(&self, set: PathSetId, path: u32) -> Option<(Step, Step)> {
        let ends = &self.sets[set as usize].ends;
        match ends.get(path as usize) {
            None if !ends.is_empty() => Some(ends[path as usize % ends.len()]),
            known => known.copied(),
        }
    }

    /// Returns the number of paths of a set: zero if nothing joins its ends now.
    #[inline]
    pub(crate) fn count(&self, set: PathSetId) -> u32 {
        self.sets[set as usize].starts.len() as u32
    }

    /// Returns the start of a path in the table of routes.
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

    /// Returns `true` if a link is up.
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
            let (starts, ends) = self.find(from, to, queue, routes);
            (self.sets[index].starts, self.sets[index].ends) = (starts, ends);
        }
    }

    fn find(&mut self, from: NodeId, to: NodeId, queue: u8, routes: &mut Vec<Step>) -> (Vec<u32>, Vec<(Step, Step)>) {
        let network = self.network.clone();
        if network.node(from).kind == NodeKind::Switch {
            return (self.walk(from, to, queue, MAX_PATHS, routes), Vec::new());
        }
        let is_up = |link: &&LinkId| self.is_up[link.index()];
        let ups: Vec<LinkId> = network.links_to_switches(from).iter().filter(is_up).copied().collect();
        let downs: Vec<LinkId> = network.links_from_switches(to).iter().filter(is_up).copied().collect();
        let all = ups.iter().flat_map(|&up| downs.iter().map(move |&down| (up, down)));
        let between: Vec<(u32, LinkId, LinkId)> = all
            .filter_map(|(up, down)| {
                let hops = self.distances_to(network.link(down).from).from(network.link(up).to)?;
                Some((hops, up, down))
            })
            .collect();
        let Some(fewest) = between.iter().map(|&(hops, ..)| hops).min() else { return Default::default() };
        let nearest = || between.iter().filter(|&&(hops, ..)| hops == fewest);
        // No link of a host is left out.
        let most = (MAX_PATHS / nearest().count()).max(1);
        let (mut starts, mut ends) = (Vec::new(), Vec::new());
        for &(_, up, down) in nearest().take(MAX_PATHS) {
            starts.extend(self.walk(network.link(up).to, network.link(down).from, queue, most, routes));
            ends.resize(starts.len(), (Step::new(up.0, queue), Step::new(down.0, queue)));
        }
        (starts, ends)
    }

    fn distances_to(&mut self, to: NodeId) -> &HopDistances {
        let find = || HopDistances::over(&self.network, to, |link| self.is_up[link.index()]);
        self.distances.entry(to).or_insert_with(find)
    }

    /// Paths between two switches, `most` of them.
    fn walk(&mut self, from: NodeId, to: NodeId, queue: u8, most: usize, routes: &mut Vec<Step>) -> Vec<u32> {
        self.distances_to(to);
        let Some(distances) = self.distances.get(&to) else { return Vec::new() };
        let mut search = Search { network: &self.network, is_up: &self.is_up, distances, queue, to, most, routes };
        let mut starts = Vec::new();
        search.walk(from, &mut Vec::new(), &mut starts);
        starts
    }
}

/// A walk over all shortest paths.
struct Search<'a> {
    network: &'a Network,
    is_up: &'a [bool],
    distances: &'a HopDistances,
    queue: u8,
    to: NodeId,
    /// The most paths that are listed.
    most: usize,
    routes: &'a mut Vec<Step>,
}

impl Search<'_> {
    fn walk(&mut self, at: NodeId, path: &mut Vec<Step>, starts: &mut Vec<u32>) {
        if at == self.to {
            starts.push(self.routes.len() as u32);
            self.routes.extend_from_slice(path);
            self.routes.push(Step::END);
            return;
        }
        let Some(here) = self.distances.from(at) else { return };
        let network = self.network;
        for &link in network.links_to_switches(at) {
            if starts.len() == self.most {
                return;
            }
            let next = network.link(link).to;
            if self.is_up[link.index()] && self.distances.from(next) == Some(here - 1) {
                path.push(Step::new(link.0, self.queue));
                self.walk(next, path, starts);
                path.pop();
            }
        }
    }
}
