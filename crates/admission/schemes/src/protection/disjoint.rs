//! Disjoint paths on the physical graph: a flow of least cost with unit capacities.

use std::collections::VecDeque;

use wayleave_topology::{FailureElement, LinkId, Network, NodeId, NodeKind};

use super::Detached;

/// Paths of least sum that share nothing but what they must, or the most that there are.
pub(super) enum Disjoint {
    /// As many as were asked for, shortest first.
    Paths(Vec<Vec<LinkId>>),
    /// Fewer: the maximum number, and the elements that separate the hosts.
    Cut { most: u8, cut: Vec<FailureElement> },
}

/// Finds `count` paths; `weight` is the least that a link costs, `None` where it cannot be used.
pub(super) fn find(
    network: &Network,
    (from, to): (NodeId, NodeId),
    detached: &Detached,
    count: u8,
    weight: impl Fn(LinkId) -> Option<u64>,
) -> Disjoint {
    if detached.is_hopeless {
        let cut = detached.switches.first().map(|&switch| FailureElement::Switch(switch));
        return Disjoint::Cut { most: 1, cut: cut.into_iter().collect() };
    }
    let mut flow = Flow::new(network, (from, to), detached, count, weight);
    for found in 0..count {
        if !flow.augment() {
            return Disjoint::Cut { most: found, cut: flow.cut() };
        }
    }
    Disjoint::Paths(flow.paths(count))
}

/// An arc, with the one that takes it back beside it: of an even number the next, of an odd one the one before.
#[derive(Clone, Copy, Debug)]
struct Arc {
    to: u32,
    /// Number of paths that may still take it.
    left: u8,
    cost: i64,
    what: FailureElement,
}

/// Switches as two nodes each, in and out, joined by an arc that is as wide as the switch may be shared; and the two hosts.
struct Flow {
    arcs: Vec<Arc>,
    /// Per node, its arcs.
    out: Vec<Vec<u32>>,
    source: u32,
    sink: u32,
}

impl Flow {
    fn new(
        network: &Network,
        (from, to): (NodeId, NodeId),
        detached: &Detached,
        count: u8,
        weight: impl Fn(LinkId) -> Option<u64>,
    ) -> Self {
        let nodes = network.nodes().len() as u32;
        let (source, sink) = (2 * nodes, 2 * nodes + 1);
        let mut flow = Self { arcs: Vec::new(), out: vec![Vec::new(); 2 * nodes as usize + 2], source, sink };
        let width = |is_shared| if is_shared { count } else { 1 };
        for switch in network.switches() {
            let wide = width(detached.is_shared_switch(switch));
            flow.join(2 * switch.0, 2 * switch.0 + 1, wide, 0, FailureElement::Switch(switch));
        }
        for (id, link) in network.links() {
            let is_first = link.from == from;
            let is_last = link.to == to;
            let is_inner = |node: NodeId| network.node(node).kind == NodeKind::Switch;
            if !(is_first || is_inner(link.from)) || !(is_last || is_inner(link.to)) {
                continue;
            }
            let Some(cost) = weight(id) else { continue };
            let tail = if is_first { source } else { 2 * link.from.0 + 1 };
            let head = if is_last { sink } else { 2 * link.to.0 };
            let cost = i64::try_from(cost).unwrap_or(i64::MAX / 1024);
            flow.join(tail, head, width(detached.is_shared_link(id)), cost, FailureElement::Cable(id));
        }
        flow
    }

    fn join(&mut self, from: u32, to: u32, left: u8, cost: i64, what: FailureElement) {
        let at = self.arcs.len() as u32;
        self.arcs.push(Arc { to, left, cost, what });
        self.arcs.push(Arc { to: from, left: 0, cost: -cost, what });
        self.out[from as usize].push(at);
        self.out[to as usize].push(at + 1);
    }

    /// Adds one more path, the cheapest when earlier ones return capacity. It uses Bellman and Ford with a queue,
    /// because returned capacity has a negative cost. Returns `true` if there is one.
    fn augment(&mut self) -> bool {
        let mut cost = vec![i64::MAX; self.out.len()];
        let mut came: Vec<u32> = vec![u32::MAX; self.out.len()];
        let mut is_waiting = vec![false; self.out.len()];
        cost[self.source as usize] = 0;
        let mut waiting = VecDeque::from([self.source]);
        while let Some(node) = waiting.pop_front() {
            is_waiting[node as usize] = false;
            for &id in &self.out[node as usize] {
                let arc = self.arcs[id as usize];
                let through = cost[node as usize] + arc.cost;
                if arc.left > 0 && through < cost[arc.to as usize] {
                    (cost[arc.to as usize], came[arc.to as usize]) = (through, id);
                    if !std::mem::replace(&mut is_waiting[arc.to as usize], true) {
                        waiting.push_back(arc.to);
                    }
                }
            }
        }
        let mut at = self.sink;
        if came[at as usize] == u32::MAX {
            return false;
        }
        while at != self.source {
            let id = came[at as usize] as usize;
            self.arcs[id].left -= 1;
            self.arcs[id ^ 1].left += 1;
            at = self.arcs[id ^ 1].to;
        }
        true
    }

    /// The full arcs between what the source reaches and the rest.
    fn cut(&self) -> Vec<FailureElement> {
        let mut is_reached = vec![false; self.out.len()];
        is_reached[self.source as usize] = true;
        let mut waiting = VecDeque::from([self.source]);
        while let Some(node) = waiting.pop_front() {
            for arc in self.out[node as usize].iter().map(|&id| self.arcs[id as usize]).filter(|arc| arc.left > 0) {
                if !std::mem::replace(&mut is_reached[arc.to as usize], true) {
                    waiting.push_back(arc.to);
                }
            }
        }
        let forward = self.arcs.iter().zip(self.arcs.iter().skip(1)).step_by(2);
        let is_cut = |(arc, back): &(&Arc, &Arc)| is_reached[back.to as usize] && !is_reached[arc.to as usize];
        forward.filter(is_cut).map(|(arc, _)| arc.what).collect()
    }

    /// Follows the flow from the source, `count` times.
    fn paths(mut self, count: u8) -> Vec<Vec<LinkId>> {
        let mut paths: Vec<(i64, Vec<LinkId>)> = Vec::new();
        for _ in 0..count {
            let (mut at, mut sum, mut links) = (self.source, 0, Vec::new());
            while at != self.sink {
                // A reverse arc returns the amount that was taken.
                let taken = self.out[at as usize].iter().map(|&id| id as usize);
                let Some(id) = taken.into_iter().find(|id| id % 2 == 0 && self.arcs[id ^ 1].left > 0) else { break };
                self.arcs[id ^ 1].left -= 1;
                sum += self.arcs[id].cost;
                if let FailureElement::Cable(link) = self.arcs[id].what {
                    links.push(link);
                }
                at = self.arcs[id].to;
            }
            paths.push((sum, links));
        }
        paths.sort_by_key(|(sum, _)| *sum);
        paths.into_iter().map(|(_, links)| links).collect()
    }
}
