//! Cuts of networks in tiers: sets of hosts with the links that lead out of them, from single hosts over racks to
//! pods.
//!
//! The height of a switch is its distance from the nearest host. The switches up to a height, with the hosts below,
//! fall into parts that only higher switches join; the links between a part and higher switches are a cut. So the
//! cuts of a fat tree are its hosts, racks and pods. A network is *regular* if three conditions hold. Every switch of
//! a height has as many links of one rate to each part below it as every other switch of its own part. The switches
//! on top of a part have as many links upwards each. Switches of one height are not joined.
//!
//! In a regular network every pair with its ends on both sides of a cut may use each of the n links of the cut, with
//! an n-th of its traffic if every node splits evenly (docs/theory/admission.md, section 14). So the worst loads that
//! `paths` and `transport` compute for any network are `min(inside, outside)` and an n-th of that here, and one
//! record for each cut is enough.

use std::collections::BTreeMap;

use wayleave_topology::{LinkId, Network, NodeId, NodeKind};

use crate::paths::Footprint;
use crate::transport::SCALE;

/// A cut, as a dense index.
pub(crate) type CutId = u32;

/// A set of hosts, and the links that join it to the others.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Cut {
    /// The links that leave it.
    pub(crate) out: Vec<LinkId>,
    /// The links that enter it.
    pub(crate) into: Vec<LinkId>,
    /// The next larger cut around it.
    pub(crate) around: Option<CutId>,
    /// Number of hosts inside.
    pub(crate) hosts: u32,
}

/// All cuts of a network.
#[derive(Clone, Debug)]
pub(crate) struct Cuts {
    pub(crate) cuts: Vec<Cut>,
    /// By node: the smallest cut around it, for hosts.
    of_host: Vec<Option<CutId>>,
    /// By link: the cut that it crosses.
    of_link: Vec<Option<CutId>>,
    /// `true` if the traffic that leaves a cut spreads evenly over its links when every packet may take every
    /// shortest path.
    pub(crate) regular: bool,
}

impl Cuts {
    /// Of a network.
    pub(crate) fn of(network: &Network) -> Self {
        let heights = heights(network);
        let top = heights.iter().flatten().copied().max().unwrap_or(0);
        let hosts = network.hosts().count() as u32;
        let mut cuts = Self {
            cuts: Vec::new(),
            of_host: vec![None; network.nodes().len()],
            of_link: vec![None; network.links().len()],
            regular: true,
        };
        // By host: the largest cut so far.
        let mut largest: Vec<Option<CutId>> = vec![None; network.nodes().len()];
        let mut below: Vec<usize> = (0..network.nodes().len()).collect();
        for height in 0..=top {
            let parts = parts(network, &heights, height);
            cuts.regular &= height == 0 || is_regular(network, &heights, height, &parts, &below);
            cuts.add_height(network, &heights, (height, hosts), &parts, &mut largest);
            below = parts;
        }
        for (cut, links) in (0..).zip(&cuts.cuts) {
            links.out.iter().chain(&links.into).for_each(|link| cuts.of_link[link.index()] = Some(cut));
        }
        cuts
    }

    /// The cut that a link crosses; in networks in tiers there is at most one.
    pub(crate) fn cut_of(&self, link: LinkId) -> Option<CutId> {
        self.of_link[link.index()]
    }

    /// The links that leave a cut or enter it.
    pub(crate) fn links(&self, cut: CutId) -> impl Iterator<Item = LinkId> + '_ {
        let cut = &self.cuts[cut as usize];
        cut.out.iter().chain(&cut.into).copied()
    }

    /// Returns the load of members with a minimum of 1 on each link of the cuts that part them.
    pub(crate) fn footprints(&self, members: &[NodeId]) -> impl Iterator<Item = (CutId, Footprint)> + '_ {
        let all = members.len() as u64;
        self.parting(members).into_iter().map(move |(cut, inside)| {
            let (inside, outside) = (u64::from(inside), all - u64::from(inside));
            let (across, width) = (inside.min(outside), self.cuts[cut as usize].out.len() as u64);
            let even = u128::from(across) * u128::from(SCALE.div_ceil(width.max(1)));
            (cut, Footprint { full: across, even, pairs: inside * outside })
        })
    }

    fn add_height(
        &mut self,
        network: &Network,
        heights: &[Option<u32>],
        (height, hosts): (u32, u32),
        parts: &[usize],
        largest: &mut [Option<CutId>],
    ) {
        let within = |node: NodeId| heights[node.index()].is_some_and(|at| at <= height);
        let mut found: BTreeMap<usize, Cut> = BTreeMap::new();
        for host in network.hosts() {
            found.entry(parts[host.index()]).or_default().hosts += 1;
        }
        for (id, link) in network.links() {
            match (within(link.from), within(link.to)) {
                (true, false) => found.entry(parts[link.from.index()]).or_default().out.push(id),
                (false, true) => found.entry(parts[link.to.index()]).or_default().into.push(id),
                _ => {}
            }
        }
        let mut number = BTreeMap::new();
        for (part, cut) in found {
            // A part that is not joined to anything else, or has no host inside or outside, is no cut.
            if cut.hosts > 0 && cut.hosts < hosts && !cut.out.is_empty() {
                number.insert(part, self.cuts.len() as CutId);
                self.cuts.push(cut);
            }
        }
        for host in network.hosts() {
            let Some(&cut) = number.get(&parts[host.index()]) else { continue };
            match largest[host.index()].replace(cut) {
                Some(smaller) => self.cuts[smaller as usize].around = Some(cut),
                None => self.of_host[host.index()] = Some(cut),
            }
        }
    }

    /// The cuts around a host, the smallest first.
    pub(crate) fn around(&self, host: NodeId) -> impl Iterator<Item = CutId> + '_ {
        std::iter::successors(self.of_host[host.index()], |&cut| self.cuts[cut as usize].around)
    }

    /// The cuts that part some of these hosts from the others, each with the number of these hosts inside; in order.
    pub(crate) fn parting(&self, hosts: &[NodeId]) -> Vec<(CutId, u32)> {
        let mut inside: Vec<CutId> = hosts.iter().flat_map(|&host| self.around(host)).collect();
        inside.sort_unstable();
        let counted = inside.chunk_by(PartialEq::eq).map(|same| (same[0], same.len() as u32));
        counted.filter(|&(_, inside)| (inside as usize) < hosts.len()).collect()
    }
}

/// The parts below a switch, each with the links down to it and up from it.
type Below = Vec<(usize, (u32, u32))>;

/// Distance of every node from its nearest host; `None` where no path leads to one.
fn heights(network: &Network) -> Vec<Option<u32>> {
    let mut heights = vec![None; network.nodes().len()];
    let mut layer: Vec<NodeId> = network.hosts().collect();
    let mut height = 0;
    while !layer.is_empty() {
        let mut next = Vec::new();
        for node in layer {
            if heights[node.index()].is_none() {
                heights[node.index()] = Some(height);
                let above = network.links_from(node).iter().map(|&link| network.link(link).to);
                next.extend(above.filter(|node| heights[node.index()].is_none()));
            }
        }
        (layer, height) = (next, height + 1);
    }
    heights
}

/// By node: a number of the part that it belongs to, where only nodes up to a height count.
fn parts(network: &Network, heights: &[Option<u32>], height: u32) -> Vec<usize> {
    let mut parts: Vec<usize> = (0..network.nodes().len()).collect();
    let within = |node: NodeId| heights[node.index()].is_some_and(|at| at <= height);
    for (_, link) in network.links() {
        if height > 0 && within(link.from) && within(link.to) {
            let (a, b) = (root(&mut parts, link.from.index()), root(&mut parts, link.to.index()));
            let (low, high) = (a.min(b), a.max(b));
            parts[high] = low;
        }
    }
    (0..parts.len()).map(|node| root(&mut parts, node)).collect()
}

fn root(parts: &mut [usize], mut node: usize) -> usize {
    while parts[node] != node {
        parts[node] = parts[parts[node]];
        node = parts[node];
    }
    node
}

/// Returns `true` if traffic that enters the switches of a height spreads evenly over the parts below and back.
fn is_regular(network: &Network, heights: &[Option<u32>], height: u32, parts: &[usize], below: &[usize]) -> bool {
    // Per switch of the height and part below it: links down and up, with their rate.
    let mut joined: BTreeMap<(usize, usize), (u32, u32)> = BTreeMap::new();
    let mut upwards: BTreeMap<usize, u32> = BTreeMap::new();
    let mut rates: BTreeMap<usize, u64> = BTreeMap::new();
    for (_, link) in network.links() {
        let (Some(from), Some(to)) = (heights[link.from.index()], heights[link.to.index()]) else { continue };
        if from == height && to == height {
            return false;
        }
        let (upper, lower, is_down) = if from > to { (link.from, link.to, true) } else { (link.to, link.from, false) };
        if heights[upper.index()] != Some(height) {
            continue;
        }
        let counts = joined.entry((upper.index(), below[lower.index()])).or_default();
        if is_down {
            counts.0 += 1;
        } else {
            counts.1 += 1;
            if network.node(lower).kind == NodeKind::Switch {
                *upwards.entry(lower.index()).or_default() += 1;
            }
        }
        let rate = link.rate.bits_per_second();
        if *rates.entry(below[lower.index()]).or_insert(rate) != rate {
            return false;
        }
    }
    // The same for all switches of a part that have anything below.
    let mut of_switch: BTreeMap<usize, Below> = BTreeMap::new();
    for ((switch, part), counts) in joined {
        if counts.0 != counts.1 {
            return false;
        }
        of_switch.entry(switch).or_default().push((part, counts));
    }
    let mut of_part: BTreeMap<usize, Below> = BTreeMap::new();
    for (switch, below) in of_switch {
        if *of_part.entry(parts[switch]).or_insert_with(|| below.clone()) != below {
            return false;
        }
    }
    // In a part below, every switch on top has as many links upwards.
    let mut of_lower: BTreeMap<usize, u32> = BTreeMap::new();
    let tops = network.switches().filter(|node| heights[node.index()] == height.checked_sub(1));
    tops.map(|node| node.index()).all(|node| {
        let count = upwards.get(&node).copied().unwrap_or(0);
        *of_lower.entry(below[node]).or_insert(count) == count
    })
}
