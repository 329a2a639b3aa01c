//! Hosts with the same attachments, and the known properties of pairs of such groups.
//!
//! *Groups are exact.* Two hosts are exchangeable if they have the same neighbours: equally many parallel links of
//! the same lengths to each, in each direction, open in the same pattern. Exchanging them, and their links one by
//! one, maps the network onto itself, with allowed paths, even splits and lengths. So the load of a pair on a link
//! between switches depends only on the groups of its ends, and its load on a host's own link on the place of that
//! link among those of its host. A worst load over members is then one over groups: members of a group may be
//! averaged, which keeps all limits and the load. `x_ab` units between groups a and b spread evenly over their pairs
//! (over `m (m - 1)` pairs if a = b) keep the limits of members. No link joins two hosts (the builder of networks
//! refuses it).
//!
//! *Bundles.* Links that carry the same part of every pair of groups seen so far have the same worst loads. A pair
//! that distinguishes two of them splits their bundle, and the known properties of the bundle hold for both parts.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

use wayleave_topology::{LinkId, Network, NodeId, NodeKind};

use super::part::Part;
use super::paths::{Explored, Paths};

/// Hosts of a network by their attachments.
pub(crate) struct Groups {
    /// By node; `u32::MAX` for switches.
    of: Vec<u32>,
    /// By group: its first two hosts (one twice, if it has no other).
    first: Vec<[NodeId; 2]>,
    /// By node: a host's open links, and those to it, in the order of their attachments.
    own: Vec<[Vec<LinkId>; 2]>,
}

/// Properties of a host at one of its links: the neighbour, and the lengths there.
type Attachment = (NodeId, u64, u64);

impl Groups {
    pub(crate) fn of(paths: &Paths<'_>) -> Self {
        let network = paths.network();
        let mut known: HashMap<(u64, Vec<Attachment>, Vec<Attachment>), u32> = HashMap::new();
        let nodes = network.nodes().len();
        let mut groups =
            Self { of: vec![u32::MAX; nodes], first: Vec::new(), own: vec![[const { Vec::new() }; 2]; nodes] };
        for host in network.hosts() {
            let own = [out_of(paths, host), into(paths, host)];
            let out = own[0].iter().map(|&link| attachment(paths, network.link(link).to, link));
            let into = own[1].iter().map(|&link| attachment(paths, network.link(link).from, link));
            let (out, into): (Vec<_>, Vec<_>) = (out.collect(), into.collect());
            let processing = paths.lengths().processing.get(host.index()).copied().unwrap_or(0);
            let next = groups.first.len() as u32;
            let group = *known.entry((processing, out, into)).or_insert(next);
            groups.of[host.index()] = group;
            groups.own[host.index()] = own;
            match groups.first.get_mut(group as usize) {
                None => groups.first.push([host, host]),
                Some(two) if two[0] == two[1] => two[1] = host,
                Some(_) => {}
            }
        }
        groups
    }

    pub(crate) fn group(&self, host: NodeId) -> u32 {
        self.of.get(host.index()).copied().unwrap_or(u32::MAX)
    }

    /// Returns a host's open links and those to it, in the order of their attachments.
    pub(crate) fn own(&self, host: NodeId) -> &[Vec<LinkId>; 2] {
        &self.own[host.index()]
    }

    pub(crate) fn count(&self) -> usize {
        self.first.len()
    }

    /// Returns two different hosts of these groups; `None` if there are none.
    fn hosts(&self, from: u32, to: u32) -> Option<(NodeId, NodeId)> {
        let (from, to) = (self.first.get(from as usize)?[0], self.first.get(to as usize)?[usize::from(from == to)]);
        (from != to).then_some((from, to))
    }
}

fn attachment(paths: &Paths<'_>, node: NodeId, link: LinkId) -> Attachment {
    let length = |of: &[u64]| of.get(link.index()).copied().unwrap_or(0);
    (node, length(&paths.lengths().trip), length(&paths.lengths().budget))
}

/// Open links of a host, in the order of their attachments.
fn out_of(paths: &Paths<'_>, host: NodeId) -> Vec<LinkId> {
    let links = paths.network().links_from(host).iter().copied().filter(|&link| paths.is_open(link));
    sorted(links.collect(), |link| attachment(paths, paths.network().link(link).to, link))
}

/// Open links to a host, in the order of their attachments.
fn into(paths: &Paths<'_>, host: NodeId) -> Vec<LinkId> {
    let links = paths.network().links_into(host).iter().copied().filter(|&link| paths.is_open(link));
    sorted(links.collect(), |link| attachment(paths, paths.network().link(link).from, link))
}

fn sorted(mut links: Vec<LinkId>, key: impl Fn(LinkId) -> Attachment) -> Vec<LinkId> {
    links.sort_by_key(|&link| (key(link), link));
    links
}

/// Loads of pairs of two groups on links.
#[derive(Clone, Debug, Default)]
pub(crate) struct PairLoads {
    /// Bundles of links between switches.
    pub(crate) bundles: Vec<(u32, Part)>,
    /// Links of the sender, by their place in [`Groups::own`].
    pub(crate) out: Vec<(u32, Part)>,
    /// Links of the receiver, by their place in [`Groups::own`].
    pub(crate) into: Vec<(u32, Part)>,
    pub(crate) trip: u64,
    pub(crate) budget: u64,
    version: u32,
}

/// One state of the network: all links up, or those of now.
pub(crate) struct View<'n> {
    pub(crate) paths: Paths<'n>,
    pub(crate) groups: Groups,
    /// `None` where no path leads.
    facts: HashMap<(u32, u32), Option<PairLoads>, BuildHasherDefault<Numbers>>,
}

impl<'n> View<'n> {
    pub(crate) fn new(paths: Paths<'n>) -> Self {
        Self { groups: Groups::of(&paths), paths, facts: HashMap::default() }
    }

    /// Learns what pairs of these groups do.
    pub(crate) fn learn(&mut self, from: u32, to: u32, bundles: &mut Bundles) {
        if self.facts.contains_key(&(from, to)) {
            return;
        }
        let facts = self.groups.hosts(from, to).and_then(|(from, to)| {
            let explored = self.paths.explore(from, to)?;
            Some(self.facts_of(&explored, from, to, bundles))
        });
        self.facts.insert((from, to), facts);
    }

    fn facts_of(&self, explored: &Explored, from: NodeId, to: NodeId, bundles: &mut Bundles) -> PairLoads {
        let network = self.paths.network();
        let is_switch = |node| network.node(node).kind == NodeKind::Switch;
        let (outs, intos) = (&self.groups.own(from)[0], &self.groups.own(to)[1]);
        let (mut out, mut into, mut between) = (Vec::new(), Vec::new(), Vec::new());
        for &(link, part) in &explored.links {
            let ends = network.link(link);
            let place = |of: &[LinkId]| of.iter().position(|&one| one == link).map_or(u32::MAX, |place| place as u32);
            if !is_switch(ends.from) {
                out.push((place(outs), part));
            } else if is_switch(ends.to) {
                between.push((link, part));
            } else {
                into.push((place(intos), part));
            }
        }
        let bundles_of = bundles.split(&between);
        let (trip, budget) = (explored.trip, explored.budget);
        PairLoads { bundles: bundles_of, out, into, trip, budget, version: bundles.version }
    }

    /// Returns `true` if a path was found between these groups.
    fn joins(&self, from: u32, to: u32) -> bool {
        self.facts.get(&(from, to)).is_some_and(Option::is_some)
    }

    /// Returns the first two of these hosts, in their order, without a path.
    pub(crate) fn apart(&self, hosts: &[NodeId]) -> Option<(NodeId, NodeId)> {
        let pairs = hosts.iter().flat_map(|&from| hosts.iter().map(move |&to| (from, to)));
        let mut different = pairs.filter(|(from, to)| from != to);
        different.find(|&(from, to)| !self.joins(self.groups.group(from), self.groups.group(to)))
    }

    /// Returns what pairs of these groups do; `None` if no path leads from one to the other.
    pub(crate) fn facts(&mut self, from: u32, to: u32, bundles: &Bundles) -> Option<&PairLoads> {
        let facts = self.facts.get_mut(&(from, to))?.as_mut()?;
        bundles.refresh(facts);
        Some(facts)
    }
}

/// A hash of small numbers: looked up once for each pair of each hose.
#[derive(Default)]
struct Numbers(u64);

impl Hasher for Numbers {
    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|&byte| self.write_u32(u32::from(byte)));
    }

    fn write_u32(&mut self, number: u32) {
        // The multiplier of splitmix64.
        self.0 = (self.0.rotate_left(32) ^ u64::from(number)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }

    fn finish(&self) -> u64 {
        self.0 ^ (self.0 >> 32)
    }
}

/// Links between switches that carry the same part of every pair.
pub(crate) struct Bundles {
    /// By link.
    of: Vec<u32>,
    links: Vec<Vec<LinkId>>,
    /// By bundle: what was split off, and when.
    children: Vec<Vec<(u32, u32)>>,
    version: u32,
}

impl Bundles {
    pub(crate) fn new(network: &Network) -> Self {
        let is_host = |node| network.node(node).kind == NodeKind::Host;
        let between = network.links().filter(|(_, link)| !is_host(link.from) && !is_host(link.to));
        let between: Vec<LinkId> = between.map(|(link, _)| link).collect();
        let of = vec![0; network.links().len()];
        Self { of, links: vec![between], children: vec![Vec::new()], version: 0 }
    }

    pub(crate) fn count(&self) -> usize {
        self.links.len()
    }

    pub(crate) fn links(&self, bundle: u32) -> &[LinkId] {
        &self.links[bundle as usize]
    }

    pub(crate) fn of(&self, link: LinkId) -> u32 {
        self.of[link.index()]
    }

    /// Returns the bundle from which a later one was split, for all bundles since `first`.
    pub(crate) fn parents_since(&self, first: usize) -> Vec<u32> {
        let mut parents = vec![0; self.count() - first];
        if parents.is_empty() {
            return parents;
        }
        for (parent, children) in self.children.iter().enumerate() {
            for &(_, child) in children.iter().filter(|(_, child)| *child as usize >= first) {
                parents[child as usize - first] = parent as u32;
            }
        }
        parents
    }

    /// Splits bundles until each is wholly among these links, with one part, or wholly outside.
    fn split(&mut self, parts: &[(LinkId, Part)]) -> Vec<(u32, Part)> {
        let mut classes: Vec<(u32, Part, LinkId)> =
            parts.iter().map(|&(link, part)| (self.of(link), part, link)).collect();
        classes.sort_unstable();
        let mut covered = Vec::new();
        for class in classes.chunk_by(|one, other| (one.0, one.1) == (other.0, other.1)) {
            let (bundle, part, _) = class[0];
            let links = class.iter().map(|&(.., link)| link);
            if links.len() == self.links[bundle as usize].len() {
                covered.push((bundle, part));
                continue;
            }
            let fresh = self.links.len() as u32;
            self.version += 1;
            self.children[bundle as usize].push((self.version, fresh));
            links.clone().for_each(|link| self.of[link.index()] = fresh);
            let of = &self.of;
            self.links[bundle as usize].retain(|link| of[link.index()] == bundle);
            self.links.push(links.collect());
            self.children.push(Vec::new());
            covered.push((fresh, part));
        }
        covered
    }

    /// Adds what has been split off bundles since facts were noted.
    fn refresh(&self, facts: &mut PairLoads) {
        if facts.version == self.version {
            return;
        }
        let mut place = 0;
        while let Some(&(bundle, part)) = facts.bundles.get(place) {
            let since = self.children[bundle as usize].iter().filter(|(version, _)| *version > facts.version);
            facts.bundles.extend(since.map(|&(_, child)| (child, part)));
            place += 1;
        }
        facts.version = self.version;
    }
}
