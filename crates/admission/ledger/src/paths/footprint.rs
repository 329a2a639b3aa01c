//! Footprint of a set of members: the links that pairs of them may use, and the worst that they can put there.

use std::collections::BTreeMap;

use wayleave_topology::{LinkId, NodeId};

use super::{AttachmentId, PathFigures, PathTable};
use crate::transport::{Edge, SCALE, WorstLoads, worst};

/// Load of members with a minimum of 1 on a link.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Footprint {
    /// Members that can send over it at once, for some choice of paths.
    pub(crate) full: u64,
    /// The same if every node splits evenly what it forwards, in parts of [`SCALE`].
    pub(crate) even: u128,
    /// Ordered pairs of members that may use it.
    pub(crate) pairs: u64,
}

/// Footprints on all links that a set of members may use, with figures of their paths.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Footprints {
    /// In the order of links.
    pub(crate) links: Vec<(LinkId, Footprint)>,
    /// Longest round trip between two members without queues, ns.
    pub(crate) round_trip: u64,
    /// Largest sum of budgets along a path between two members, ns.
    pub(crate) budget: u64,
    /// Most links between two members.
    pub(crate) hops: u64,
    /// Two members that no path joins, the sender first. Such pairs count nowhere.
    pub(crate) unjoined: Option<(NodeId, NodeId)>,
}

impl Footprint {
    /// The larger of each figure.
    pub(crate) fn larger(self, other: Self) -> Self {
        Self { full: self.full.max(other.full), even: self.even.max(other.even), pairs: self.pairs.max(other.pairs) }
    }
}

impl Footprints {
    fn add_pair(&mut self, (from, to): (NodeId, NodeId), forward: Option<PathFigures>, backward: Option<PathFigures>) {
        let (Some(forward), Some(backward)) = (forward, backward) else {
            let ends = if forward.is_none() { (from, to) } else { (to, from) };
            self.unjoined.get_or_insert(ends);
            return;
        };
        self.round_trip = self.round_trip.max(forward.transit + backward.transit);
        self.budget = self.budget.max(forward.budget).max(backward.budget);
        self.hops = self.hops.max(forward.hops).max(backward.hops);
    }
}

/// Members with one attachment.
struct Group {
    attachment: AttachmentId,
    members: Vec<NodeId>,
}

impl Group {
    fn size(&self) -> u64 {
        self.members.len() as u64
    }
}

/// Traffic of one member on one of its own links.
#[derive(Clone, Copy, Default)]
struct OwnLink {
    /// Largest part of a pair, in parts of [`SCALE`].
    part: u64,
    /// Other members that it may be used for.
    others: u64,
}

impl OwnLink {
    fn add(&mut self, part: u64, others: u64) {
        (self.part, self.others) = (self.part.max(part), self.others + others);
    }
}

impl PathTable {
    fn groups(&self, members: &[NodeId]) -> Vec<Group> {
        let mut groups: BTreeMap<AttachmentId, Vec<NodeId>> = BTreeMap::new();
        for &member in members {
            groups.entry(self.attachment(member)).or_default().push(member);
        }
        groups.into_iter().map(|(attachment, members)| Group { attachment, members }).collect()
    }

    /// Returns the longest round trip and the largest sum of budgets between two of these members, without their links.
    pub(crate) fn figures_of(&self, members: &[NodeId]) -> Footprints {
        self.figures_of_groups(&self.groups(members), members)
    }

    fn figures_of_groups(&self, groups: &[Group], members: &[NodeId]) -> Footprints {
        let mut found = Footprints::default();
        if !self.direct.is_empty() {
            for (at, &from) in members.iter().enumerate() {
                for &to in &members[..at] {
                    found.add_pair((from, to), self.figures_between(from, to), self.figures_between(to, from));
                }
            }
            return found;
        }
        for (at, from) in groups.iter().enumerate() {
            for to in &groups[..=at] {
                let is_one = from.attachment == to.attachment;
                if is_one && from.size() < 2 {
                    continue;
                }
                let forward = self.figures(from.attachment, to.attachment);
                let backward = if is_one { forward } else { self.figures(to.attachment, from.attachment) };
                found.add_pair((from.members[0], to.members[usize::from(is_one)]), forward, backward);
            }
        }
        found
    }

    /// Returns the footprint of members on every link that a pair of them may use; without worst loads, which take longer, if
    /// only the links are asked for.
    pub(crate) fn footprints(&self, members: &[NodeId], with_loads: bool) -> Footprints {
        let groups = self.groups(members);
        let mut found = self.figures_of_groups(&groups, members);
        let mut walk = Walk::new(self);
        let mut own = vec![OwnLink::default(); self.network.links().len()];
        for (row, from) in groups.iter().enumerate() {
            for (column, to) in groups.iter().enumerate() {
                let others = to.size() - u64::from(row == column);
                if others > 0 && !self.joins_directly(from, to) {
                    walk.pair((row as u32, from.attachment), (column as u32, to.attachment));
                    self.add_own(from, to, &walk.ends, &mut own);
                }
            }
        }
        for (&(from, to), links) in &self.direct {
            if members.contains(&from) && members.contains(&to) {
                let part = SCALE.div_ceil(links.len() as u64);
                links.iter().for_each(|&link| own[link.index()].add(part, 1));
            }
        }
        let used = (0..).map(LinkId).zip(own).filter(|(_, own)| own.others > 0);
        found.links.extend(
            used.map(|(link, own)| (link, Footprint { full: 1, even: u128::from(own.part), pairs: own.others })),
        );
        let sizes: Vec<u64> = groups.iter().map(Group::size).collect();
        found.links.extend(walk.into_links().map(|(link, edges)| {
            let pair = |edge: &Edge| {
                sizes[edge.row as usize] * (sizes[edge.column as usize] - u64::from(edge.row == edge.column))
            };
            let pairs = edges.iter().map(pair).sum();
            if !with_loads {
                return (link, Footprint { pairs, ..Footprint::default() });
            }
            let WorstLoads { full, even } = worst(&edges, |group| sizes[group as usize]);
            (link, Footprint { full, even, pairs })
        }));
        found.links.sort_unstable_by_key(|&(link, _)| link);
        found
    }

    /// Links that packets from one host to another may use.
    pub(super) fn links_of_direction(&self, from: NodeId, to: NodeId) -> Vec<LinkId> {
        if let Some(links) = self.direct.get(&(from, to)) {
            return links.clone();
        }
        let [from, to] = [from, to].map(|host| Group { attachment: self.attachment(host), members: vec![host] });
        let mut walk = Walk::new(self);
        walk.pair((0, from.attachment), (1, to.attachment));
        let mut own = vec![OwnLink::default(); self.network.links().len()];
        self.add_own(&from, &to, &walk.ends, &mut own);
        let own = (0..).map(LinkId).zip(own).filter(|(_, own)| own.others > 0).map(|(link, _)| link);
        own.chain(walk.into_links().map(|(link, _)| link)).collect()
    }

    /// Returns `true` if a direct link joins two groups, each of a single host.
    fn joins_directly(&self, from: &Group, to: &Group) -> bool {
        !self.direct.is_empty() && self.direct.contains_key(&(from.members[0], to.members[0]))
    }

    /// Adds what members put on their own links.
    fn add_own(&self, from: &Group, to: &Group, ends: &Ends, own: &mut [OwnLink]) {
        let is_one = from.attachment == to.attachment;
        for &member in &from.members {
            for (link, _) in self.next(member).filter(|&(_, switch)| ends.first.contains(&switch)) {
                own[link.index()].add(ends.first_part, to.size() - u64::from(is_one));
            }
        }
        for &member in &to.members {
            for &(switch, part) in &ends.last {
                let links = self.network.links_from_switches(member).iter();
                let links = links.filter(|&&link| self.network.link(link).from == switch && self.is_open(link));
                links.for_each(|&link| own[link.index()].add(part, from.size() - u64::from(is_one)));
            }
        }
    }
}

/// Ends of the paths of a pair.
#[derive(Default)]
struct Ends {
    /// Switches to which senders may send.
    first: Vec<NodeId>,
    /// Part of the traffic on each link to them.
    first_part: u64,
    /// Switches from which receivers are reached, with the part on each link.
    last: Vec<(NodeId, u64)>,
}

impl Ends {
    fn clear(&mut self) {
        self.first.clear();
        self.last.clear();
    }
}

/// Walks over the paths of pairs, collecting edges by link.
struct Walk<'a> {
    table: &'a PathTable,
    /// By link.
    edges: Vec<Vec<Edge>>,
    /// By node: the part that has come there, in the present pair.
    part: Vec<u64>,
    /// Of the pair that was walked last.
    ends: Ends,
    /// Empty between pairs.
    layer: Vec<NodeId>,
    /// Empty between pairs.
    next: Vec<NodeId>,
}

impl<'a> Walk<'a> {
    fn new(table: &'a PathTable) -> Self {
        let (edges, part) = (vec![Vec::new(); table.network.links().len()], vec![0; table.network.nodes().len()]);
        Self { table, edges, part, ends: Ends::default(), layer: Vec::new(), next: Vec::new() }
    }

    /// Splits the traffic of a pair evenly at every node over all links that lead nearer; parts are rounded up. Fills `self.ends`.
    fn pair(&mut self, (row, from): (u32, AttachmentId), (column, to): (u32, AttachmentId)) {
        let table = self.table;
        let distances = table.distances(to);
        self.ends.clear();
        let Some(mut hops) = table.hops(from, to) else { return };
        let (mut layer, mut next) = (std::mem::take(&mut self.layer), std::mem::take(&mut self.next));
        let nearest = || table.next(table.host(from)).filter(|&(_, switch)| distances.to[switch.index()] == hops);
        self.ends.first_part = SCALE.div_ceil(nearest().count() as u64);
        for (_, switch) in nearest() {
            self.reach(switch, self.ends.first_part, &mut layer);
        }
        self.ends.first.extend(&layer);
        while hops > 1 {
            for node in layer.drain(..) {
                let part = std::mem::take(&mut self.part[node.index()]);
                let nearer = || table.next(node).filter(|&(_, to)| distances.to[to.index()] == hops - 1);
                let weight = part.div_ceil((nearer().count() as u64).max(1));
                for (link, to) in nearer() {
                    self.edges[link.index()].push(Edge { row, column, weight });
                    self.reach(to, weight, &mut next);
                }
            }
            (layer, next, hops) = (next, layer, hops - 1);
        }
        let host = table.host(to);
        for node in layer.drain(..) {
            let part = std::mem::take(&mut self.part[node.index()]);
            let links = table.network.links_from_switches(host).iter();
            let count = links.filter(|&&link| table.network.link(link).from == node && table.is_open(link)).count();
            self.ends.last.push((node, part.div_ceil((count as u64).max(1))));
        }
        (self.layer, self.next) = (layer, next);
    }

    fn reach(&mut self, node: NodeId, part: u64, layer: &mut Vec<NodeId>) {
        let so_far = &mut self.part[node.index()];
        if *so_far == 0 {
            layer.push(node);
        }
        *so_far += part;
    }

    fn into_links(self) -> impl Iterator<Item = (LinkId, Vec<Edge>)> {
        (0..).map(LinkId).zip(self.edges).filter(|(_, edges)| !edges.is_empty())
    }
}
