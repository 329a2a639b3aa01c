//! Search for the widest shortest path between two hosts: the one whose narrowest link has the most room.

use std::collections::{HashMap, VecDeque};

use wayleave_topology::{LinkId, Network, NodeId, NodeKind};

const FAR: u16 = u16::MAX;

/// Distances, remembered by where they lead.
#[derive(Default)]
pub(super) struct PathCache {
    /// By the only switch of a destination, or by a destination with several: hops of every node to it.
    distances: HashMap<NodeId, Box<[u16]>>,
    /// Number of times that links had been closed or opened.
    turns: u32,
}

/// A path, and the room on its narrowest link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct CandidatePath {
    pub(super) links: Vec<LinkId>,
    pub(super) room: u64,
}

/// A node that was reached: over which link, from which label, with the least room so far.
struct Label {
    node: NodeId,
    link: LinkId,
    before: Option<usize>,
    room: u64,
}

impl PathCache {
    /// Forgets distances if links have been closed or opened since.
    pub(super) fn follow(&mut self, turns: u32) {
        if std::mem::replace(&mut self.turns, turns) != turns {
            self.distances.clear();
        }
    }

    /// Returns the widest of the open paths with the fewest links, the first of equals; `None` if none joins the
    /// hosts. One search visits each link on these paths once.
    pub(super) fn widest(
        &mut self,
        network: &Network,
        (from, to): (NodeId, NodeId),
        is_open: impl Fn(LinkId) -> bool,
        room: impl Fn(LinkId) -> u64,
    ) -> Option<CandidatePath> {
        let goal = goal(network, to);
        let distances = self.distances.entry(goal).or_insert_with(|| distances(network, goal, &is_open));
        let mut labels: Vec<Label> = Vec::new();
        let mut layer = 0..0;
        let mut at = vec![(from, None, u64::MAX)];
        loop {
            let start = labels.len();
            for &(node, before, so_far) in &at {
                let away = distances[node.index()];
                for &link in network.links_from(node).iter().filter(|&&link| is_open(link)) {
                    let next = network.link(link).to;
                    let is_nearer =
                        away != FAR && distances[next.index()] < away && network.node(next).kind == NodeKind::Switch;
                    // The last link, or two hosts at one switch.
                    if next != to && !(is_nearer || node == from && distances[next.index()] != FAR && away == FAR) {
                        continue;
                    }
                    let room = so_far.min(room(link));
                    match labels[start..].iter_mut().find(|label| label.node == next) {
                        Some(known) if known.room >= room => {}
                        Some(known) => (known.link, known.before, known.room) = (link, before, room),
                        None => labels.push(Label { node: next, link, before, room }),
                    }
                }
            }
            layer = layer.end.max(start)..labels.len();
            if layer.is_empty() {
                return None;
            }
            if let Some(last) = labels[layer.clone()].iter().position(|label| label.node == to) {
                return Some(candidate_path(&labels, layer.start + last));
            }
            at = layer.clone().map(|index| (labels[index].node, Some(index), labels[index].room)).collect();
        }
    }
}

fn candidate_path(labels: &[Label], last: usize) -> CandidatePath {
    let before = |&at: &usize| labels[at].before;
    let mut links: Vec<LinkId> = std::iter::successors(Some(last), before).map(|at| labels[at].link).collect();
    links.reverse();
    CandidatePath { links, room: labels[last].room }
}

/// Returns the node under which distances to a host are cached.
fn goal(network: &Network, host: NodeId) -> NodeId {
    match network.links_into(host) {
        [only] => network.link(*only).from,
        _ => host,
    }
}

/// Hops from every switch to a node, and from every host to it over its nearest switch.
fn distances(network: &Network, goal: NodeId, is_open: impl Fn(LinkId) -> bool) -> Box<[u16]> {
    let mut distances = vec![FAR; network.nodes().len()].into_boxed_slice();
    distances[goal.index()] = 0;
    let mut queue = VecDeque::from([goal]);
    while let Some(node) = queue.pop_front() {
        let next = distances[node.index()].saturating_add(1);
        for &link in network.links_into(node).iter().filter(|&&link| is_open(link)) {
            let from = network.link(link).from;
            if distances[from.index()] == FAR {
                distances[from.index()] = next;
                if network.node(from).kind == NodeKind::Switch {
                    queue.push_back(from);
                }
            }
        }
    }
    distances
}
