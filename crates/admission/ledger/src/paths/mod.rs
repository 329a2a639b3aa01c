//! Paths that pairs of hosts may use: all paths with the fewest links over the links that are open.
//!
//! Hosts forward nothing. A host with several links may use each of them, and parallel links are separate. Hosts that
//! are attached alike (to one set of switches, over links that take equal times and have equal budgets) form one
//! *attachment*: the links between switches that they may use are shared. Distances of an attachment are computed
//! when it is first asked for, and kept.

mod footprint;

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, OnceLock};

use wayleave_topology::{LinkId, Network, NodeId, NodeKind};

pub(crate) use footprint::{Footprint, Footprints};

/// Attachment of a host, as a dense index.
pub(crate) type AttachmentId = u32;

/// Distance of a node from which no path leads to its goal.
const FAR: u16 = u16::MAX;

/// Contribution of a link to the figures of a path, ns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct LinkCost {
    /// Transmission of its largest frame, propagation, and processing of the switch that it enters.
    pub(crate) transit: u64,
    /// Longest wait of the guaranteed class where a minimum has a time.
    pub(crate) budget: u64,
}

/// Figures of the paths of a pair, in one direction, ns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct PathFigures {
    /// Of the slowest path, without queues.
    pub(crate) transit: u64,
    /// Of the path with the largest sum of budgets.
    pub(crate) budget: u64,
    /// Links; all paths of a pair have as many.
    pub(crate) hops: u64,
}

/// Attachment of a host: its open links to and from switches, in order.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Signature {
    processing: u64,
    up: Vec<(NodeId, LinkCost)>,
    down: Vec<(NodeId, LinkCost)>,
    /// A host with links to other hosts is alone.
    alone: Option<NodeId>,
}

/// Hosts that are attached alike.
#[derive(Debug)]
struct Attachment {
    /// One of them.
    host: NodeId,
    distances: OnceLock<Distances>,
}

/// Hops and figures between one attachment and all switches.
#[derive(Debug)]
struct Distances {
    /// By node: links to the host.
    to: Vec<u16>,
    /// By node: the slowest path to the host with the fewest links, and the largest sum of budgets.
    figures: Vec<PathFigures>,
}

/// Paths over the open links of a network.
#[derive(Debug)]
pub(crate) struct PathTable {
    network: Arc<Network>,
    costs: Arc<[LinkCost]>,
    /// By link.
    closed: Vec<bool>,
    /// By node; `u32::MAX` for switches.
    of_host: Vec<AttachmentId>,
    attachments: Vec<Attachment>,
    /// Links from hosts to hosts, if any.
    direct: HashMap<(NodeId, NodeId), Vec<LinkId>>,
}

impl PathTable {
    /// Attachments of all hosts over the links that are not closed.
    pub(crate) fn new(network: Arc<Network>, costs: Arc<[LinkCost]>, closed: Vec<bool>) -> Self {
        let (of_host, attachments, direct) = (vec![u32::MAX; network.nodes().len()], Vec::new(), HashMap::new());
        let mut table = Self { network, costs, closed, of_host, attachments, direct };
        let network = table.network.clone();
        let mut known: HashMap<Signature, AttachmentId> = HashMap::new();
        for host in network.hosts() {
            let signature = table.signature(host);
            let id = *known.entry(signature).or_insert_with(|| {
                table.attachments.push(Attachment { host, distances: OnceLock::new() });
                table.attachments.len() as AttachmentId - 1
            });
            table.of_host[host.index()] = id;
            for &link in network.links_from(host).iter().filter(|link| !table.closed[link.index()]) {
                let to = network.link(link).to;
                if network.node(to).kind == NodeKind::Host {
                    table.direct.entry((host, to)).or_default().push(link);
                }
            }
        }
        table
    }

    /// The same network with these links closed.
    pub(crate) fn with_closed(&self, closed: Vec<bool>) -> Self {
        Self::new(self.network.clone(), self.costs.clone(), closed)
    }

    /// Returns `true` if hosts are joined without a switch.
    pub(crate) fn has_direct_links(&self) -> bool {
        !self.direct.is_empty()
    }

    fn signature(&self, host: NodeId) -> Signature {
        let network = &self.network;
        let is_host = |node: NodeId| network.node(node).kind == NodeKind::Host;
        let ends = |links: &[LinkId], far: fn(&wayleave_topology::Link) -> NodeId| {
            let open = links.iter().filter(|link| !self.closed[link.index()]);
            let mut ends: Vec<_> = open.map(|&link| (far(network.link(link)), self.costs[link.index()])).collect();
            ends.sort_unstable();
            ends
        };
        let (up, down) = (ends(network.links_from(host), |l| l.to), ends(network.links_into(host), |l| l.from));
        let alone = Some(host).filter(|_| up.iter().chain(&down).any(|&(end, _)| is_host(end)));
        Signature { processing: network.node(host).processing.as_nanos(), up, down, alone }
    }

    /// Attachment of a host.
    pub(crate) fn attachment(&self, host: NodeId) -> AttachmentId {
        self.of_host[host.index()]
    }

    /// Returns `true` if a link is open.
    pub(crate) fn is_open(&self, link: LinkId) -> bool {
        !self.closed[link.index()]
    }

    /// Open links from a node to switches, and their ends.
    fn next(&self, node: NodeId) -> impl Iterator<Item = (LinkId, NodeId)> + '_ {
        let links = self.network.links_to_switches(node).iter();
        links.filter(|&&link| self.is_open(link)).map(|&link| (link, self.network.link(link).to))
    }

    fn host(&self, attachment: AttachmentId) -> NodeId {
        self.attachments[attachment as usize].host
    }

    fn distances(&self, to: AttachmentId) -> &Distances {
        let attachment = &self.attachments[to as usize];
        attachment.distances.get_or_init(|| self.find(attachment.host))
    }

    /// Breadth-first search backwards from a host; figures follow in the order of the distances.
    fn find(&self, host: NodeId) -> Distances {
        let nodes = self.network.nodes().len();
        let mut found = Distances { to: vec![FAR; nodes], figures: vec![PathFigures::default(); nodes] };
        found.to[host.index()] = 0;
        let mut queue = VecDeque::from([host]);
        while let Some(node) = queue.pop_front() {
            let (hops, figures) = (found.to[node.index()].saturating_add(1), found.figures[node.index()]);
            for &link in self.network.links_from_switches(node).iter().filter(|&&link| self.is_open(link)) {
                let from = self.network.link(link).from.index();
                if found.to[from] == FAR {
                    found.to[from] = hops;
                    queue.push_back(self.network.link(link).from);
                }
                if found.to[from] == hops {
                    found.figures[from] = found.figures[from].slower(figures.over(self.costs[link.index()]));
                }
            }
        }
        found
    }

    /// Links of the paths from one host to another; `None` if no path over switches joins them.
    fn hops(&self, from: AttachmentId, to: AttachmentId) -> Option<u16> {
        let distances = self.distances(to);
        self.next(self.host(from)).map(|(_, switch)| distances.to[switch.index()]).min().filter(|&hops| hops < FAR - 1)
    }

    /// Figures of the paths from hosts of one attachment to those of another; `None` if none joins them.
    pub(crate) fn figures(&self, from: AttachmentId, to: AttachmentId) -> Option<PathFigures> {
        let (host, distances) = (self.host(from), self.distances(to));
        let (mut hops, mut slowest) = (FAR - 1, PathFigures::default());
        for (link, switch) in self.next(host) {
            let of_switch = distances.to[switch.index()];
            if of_switch < hops {
                (hops, slowest) = (of_switch, PathFigures::default());
            }
            if of_switch == hops {
                slowest = slowest.slower(distances.figures[switch.index()].over(self.costs[link.index()]));
            }
        }
        let transit = slowest.transit + self.network.node(host).processing.as_nanos();
        (hops < FAR - 1).then_some(PathFigures { transit, ..slowest })
    }

    /// Figures between two hosts, which may be joined directly.
    pub(crate) fn figures_between(&self, from: NodeId, to: NodeId) -> Option<PathFigures> {
        let Some(links) = self.direct.get(&(from, to)) else {
            return self.figures(self.attachment(from), self.attachment(to));
        };
        let over = |link: &LinkId| PathFigures::default().over(self.costs[link.index()]);
        let slowest = links.iter().map(over).fold(PathFigures::default(), PathFigures::slower);
        Some(PathFigures { transit: slowest.transit + self.network.node(from).processing.as_nanos(), ..slowest })
    }

    /// Links that packets from one host to another may use.
    pub(crate) fn links_between(&self, from: NodeId, to: NodeId) -> Vec<LinkId> {
        self.links_of_direction(from, to)
    }

    /// Figures of a route from a host.
    pub(crate) fn figures_along(&self, links: impl Iterator<Item = LinkId>) -> PathFigures {
        let mut links = links.peekable();
        let first = links.peek().map(|&link| self.network.link(link).from);
        let processing = first.map_or(0, |host| self.network.node(host).processing.as_nanos());
        let sum = links.fold(PathFigures::default(), |sum, link| sum.over(self.costs[link.index()]));
        PathFigures { transit: sum.transit + processing, ..sum }
    }
}

impl PathFigures {
    fn over(self, link: LinkCost) -> Self {
        let budget = self.budget.saturating_add(link.budget);
        Self { transit: self.transit + link.transit, budget, hops: self.hops + 1 }
    }

    /// The larger of each figure.
    pub(crate) fn slower(self, other: Self) -> Self {
        Self {
            transit: self.transit.max(other.transit),
            budget: self.budget.max(other.budget),
            hops: self.hops.max(other.hops),
        }
    }
}
