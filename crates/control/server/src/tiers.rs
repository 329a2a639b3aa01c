//! The tiers, pods and racks of a network: what follows from its links alone, computed once.

use std::collections::{BTreeMap, VecDeque};

use wayleave_topology::{LinkId, Network, NodeId, NodeKind};

/// Maximum number of switches that are shown individually.
const FEW_SWITCHES: usize = 48;

/// Group of every node.
#[derive(Debug)]
pub(crate) struct Layers {
    /// The distance to the nearest host in links, by node: 0 for hosts.
    tier: Vec<u32>,
    /// The highest tier.
    pub(crate) top: u32,
    /// The switch of a host's rack, by node; of a switch itself.
    rack: Vec<NodeId>,
    /// Its pod, by node; none for switches of the highest tier and where there are no pods.
    pod: Vec<Option<u32>>,
    /// The pods.
    pods: Vec<Pod>,
    /// Number of switches.
    switches: usize,
}

/// Switches below the highest tier that reach one another without it.
#[derive(Debug)]
struct Pod {
    /// Common part of its switches' names, or the name of the first one.
    name: String,
    /// Its first switch, by whose name it is asked for.
    first: NodeId,
}

/// Part of a network that is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    Network,
    Pod(u32),
    /// A switch, with its neighbours.
    Switch(NodeId),
}

/// Nodes that are shown as one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum NodeBlock {
    /// Nodes of a tier outside of the shown part.
    Outside(u32),
    /// Nodes of a tier in a pod, or in no pod.
    Tier(Option<u32>, u32),
    /// The hosts attached to a switch.
    Rack(NodeId),
    Node(NodeId),
}

impl Layers {
    pub(crate) fn of(network: &Network) -> Self {
        let tier = tiers(network);
        let top = tier.iter().copied().max().unwrap_or(0);
        let rack = network.nodes().map(|(node, _)| rack(network, &tier, node)).collect();
        let mut layers = Self {
            pod: vec![None; tier.len()],
            tier,
            top,
            rack,
            pods: Vec::new(),
            switches: network.switches().count(),
        };
        layers.find_pods(network);
        layers
    }

    /// The distance of a node to the nearest host.
    pub(crate) fn tier(&self, node: NodeId) -> u32 {
        self.tier[node.index()]
    }

    /// Pods are of use if there are several and one of them has more than one switch.
    fn find_pods(&mut self, network: &Network) {
        let is_below = |node: NodeId| network.node(node).kind == NodeKind::Switch && self.tier(node) < self.top;
        let mut pod: Vec<Option<u32>> = vec![None; self.tier.len()];
        let mut pods: Vec<Vec<NodeId>> = Vec::new();
        for switch in network.switches().filter(|&switch| is_below(switch)) {
            if pod[switch.index()].is_some() {
                continue;
            }
            let number = pods.len() as u32;
            let (mut open, mut found) = (vec![switch], Vec::new());
            pod[switch.index()] = Some(number);
            while let Some(next) = open.pop() {
                found.push(next);
                for near in neighbours(network, next).filter(|&near| is_below(near)) {
                    if pod[near.index()].is_none() {
                        pod[near.index()] = Some(number);
                        open.push(near);
                    }
                }
            }
            found.sort_unstable();
            pods.push(found);
        }
        if pods.len() < 2 || pods.iter().all(|pod| pod.len() < 2) {
            return;
        }
        for host in network.hosts() {
            pod[host.index()] = pod[self.rack[host.index()].index()];
        }
        let shape =
            |(at, switches): (usize, &Vec<NodeId>)| Pod { name: name(network, at, switches), first: switches[0] };
        (self.pods, self.pod) = (pods.iter().enumerate().map(shape).collect(), pod);
    }

    /// Returns the requested part: `pod:` or `switch:` and the name of a switch.
    pub(crate) fn part(&self, network: &Network, group: &str) -> Option<Part> {
        let (kind, name) = group.split_once(':')?;
        let switch = network.find_node(name).filter(|&node| network.node(node).kind == NodeKind::Switch)?;
        match kind {
            "pod" => self.pod[switch.index()].map(Part::Pod),
            "switch" => Some(Part::Switch(switch)),
            _ => None,
        }
    }

    /// Returns the part that shows the inside of a block; `None` for a host.
    pub(crate) fn group(&self, network: &Network, block: NodeBlock) -> Option<String> {
        match block {
            NodeBlock::Tier(Some(pod), _) => Some(self.pod_group(network, pod)),
            NodeBlock::Rack(node) | NodeBlock::Node(node) if network.node(node).kind == NodeKind::Switch => {
                Some(format!("switch:{}", network.node(node).name))
            }
            NodeBlock::Tier(None, _) | NodeBlock::Outside(_) | NodeBlock::Rack(_) | NodeBlock::Node(_) => None,
        }
    }

    fn pod_group(&self, network: &Network, pod: u32) -> String {
        format!("pod:{}", network.node(self.pods[pod as usize].first).name)
    }

    /// Returns the parts that contain a part, from the network down: name and group.
    pub(crate) fn within(&self, network: &Network, part: Part, of: &str) -> Vec<(String, Option<String>)> {
        let whole = (of.to_owned(), None);
        let pod = |pod: u32| (self.pods[pod as usize].name.clone(), Some(self.pod_group(network, pod)));
        match part {
            Part::Network => Vec::new(),
            Part::Pod(_) => vec![whole],
            Part::Switch(switch) => std::iter::once(whole)
                .chain(self.pod[switch.index()].filter(|_| self.has_pods_in_view()).map(pod))
                .collect(),
        }
    }

    pub(crate) fn name_of(&self, network: &Network, part: Part, of: &str) -> String {
        match part {
            Part::Network => of.to_owned(),
            Part::Pod(pod) => self.pods[pod as usize].name.clone(),
            Part::Switch(switch) => network.node(switch).name.clone(),
        }
    }

    /// Returns `true` if the network is shown by pods.
    fn has_pods_in_view(&self) -> bool {
        self.switches > FEW_SWITCHES && !self.pods.is_empty()
    }

    /// The block in which a node is shown.
    pub(crate) fn block(&self, part: Part, node: NodeId) -> NodeBlock {
        let (tier, pod, rack) = (self.tier(node), self.pod[node.index()], self.rack[node.index()]);
        let by_rack = if tier == 0 { NodeBlock::Rack(rack) } else { NodeBlock::Node(node) };
        match part {
            Part::Network if self.switches <= FEW_SWITCHES => by_rack,
            Part::Network if !self.pods.is_empty() => NodeBlock::Tier(pod, tier),
            // Without pods the groups are racks: switches with attached hosts are shown individually, others by tier.
            Part::Network if tier <= 1 => by_rack,
            Part::Network => NodeBlock::Tier(None, tier),
            Part::Pod(of) if pod == Some(of) => by_rack,
            Part::Pod(_) => NodeBlock::Outside(tier),
            Part::Switch(_) => NodeBlock::Node(node),
        }
    }

    /// The links of a part: all that touch one of its nodes, in order.
    pub(crate) fn links(&self, network: &Network, part: Part) -> Vec<LinkId> {
        match part {
            Part::Network => return network.links().map(|(link, _)| link).collect(),
            Part::Switch(switch) => return [network.links_from(switch), network.links_into(switch)].concat(),
            Part::Pod(_) => {}
        }
        let is_in = |node: NodeId| !matches!(self.block(part, node), NodeBlock::Outside(_));
        let nodes = network.nodes().map(|(node, _)| node).filter(|&node| is_in(node));
        let mut links: Vec<LinkId> =
            nodes.flat_map(|node| network.links_from(node).iter().chain(network.links_into(node)).copied()).collect();
        links.sort_unstable();
        links.dedup();
        links
    }

    /// Returns `true` if a block is outside of the shown part.
    pub(crate) fn is_outside(&self, part: Part, block: NodeBlock) -> bool {
        match (part, block) {
            (_, NodeBlock::Outside(_)) => true,
            (Part::Switch(of), NodeBlock::Node(node)) => self.rack[node.index()] != of,
            _ => false,
        }
    }

    /// Returns the name of a block.
    pub(crate) fn block_name(&self, network: &Network, block: NodeBlock) -> String {
        match block {
            NodeBlock::Node(node) => network.node(node).name.clone(),
            NodeBlock::Rack(switch) => format!("hosts of {}", network.node(switch).name),
            // The row names the tier.
            NodeBlock::Tier(Some(pod), _) => self.pods[pod as usize].name.clone(),
            NodeBlock::Tier(None, tier) => format!("{} switches", tier_name(tier, self.top)),
            NodeBlock::Outside(tier) => format!("{} outside", tier_name(tier, self.top)),
        }
    }

    /// The tier in which a block is shown.
    pub(crate) fn block_tier(&self, block: NodeBlock) -> u32 {
        match block {
            NodeBlock::Outside(tier) | NodeBlock::Tier(_, tier) => tier,
            NodeBlock::Rack(_) => 0,
            NodeBlock::Node(node) => self.tier(node),
        }
    }
}

/// Returns the usual term for a tier.
pub(crate) fn tier_name(tier: u32, top: u32) -> &'static str {
    match (tier, top) {
        (0, _) => "hosts",
        (_, 1) => "switches",
        (1, 2) => "leaf",
        (2, 2) => "spine",
        (1, _) => "edge",
        (2, 3) => "aggregation",
        (3, 3) => "core",
        (tier, top) if tier == top => "top",
        _ => "middle",
    }
}

fn neighbours(network: &Network, node: NodeId) -> impl Iterator<Item = NodeId> {
    let from = network.links_from(node).iter().map(|&link| network.link(link).to);
    from.chain(network.links_into(node).iter().map(|&link| network.link(link).from))
}

/// Returns the distance of every node to the nearest host. A switch without a path to a host gets the tier of
/// switches with attached hosts.
fn tiers(network: &Network) -> Vec<u32> {
    let mut tier: Vec<Option<u32>> = vec![None; network.nodes().len()];
    let mut open: VecDeque<NodeId> = network.hosts().collect();
    open.iter().for_each(|host| tier[host.index()] = Some(0));
    while let Some(node) = open.pop_front() {
        let next = tier[node.index()].unwrap_or(0) + 1;
        for near in neighbours(network, node) {
            if tier[near.index()].is_none() {
                tier[near.index()] = Some(next);
                open.push_back(near);
            }
        }
    }
    tier.into_iter().map(|tier| tier.unwrap_or(1)).collect()
}

/// Returns the first switch to which a host is attached; for a switch, or a host without one, the node itself.
fn rack(network: &Network, tier: &[u32], node: NodeId) -> NodeId {
    if tier[node.index()] > 0 {
        return node;
    }
    neighbours(network, node).filter(|near| tier[near.index()] > 0).min().unwrap_or(node)
}

/// Returns the common prefix of the names of switches, without the separator before the rest. A number is added if
/// the prefix is empty, or other switches share it.
fn name(network: &Network, at: usize, switches: &[NodeId]) -> String {
    let names: Vec<&str> = switches.iter().map(|&switch| network.node(switch).name.as_str()).collect();
    let first = names.first().copied().unwrap_or_default();
    let is_common =
        |length: usize| first.get(..length).is_some_and(|start| names.iter().all(|name| name.starts_with(start)));
    let length = (0..=first.len()).rev().find(|&length| is_common(length)).unwrap_or(0);
    let common = first[..length].trim_end_matches(|sign: char| !sign.is_ascii_alphanumeric());
    let others = network.switches().filter(|switch| !switches.contains(switch));
    let is_shared = others.into_iter().any(|other| network.node(other).name.starts_with(&first[..length]));
    if common.is_empty() || is_shared { format!("group {}", at + 1) } else { common.to_owned() }
}

/// Returns the nodes in each block of a part.
pub(crate) fn count(
    network: &Network,
    layers: &Layers,
    part: Part,
    links: &[LinkId],
) -> BTreeMap<NodeBlock, Vec<NodeId>> {
    let mut blocks: BTreeMap<NodeBlock, Vec<NodeId>> = BTreeMap::new();
    let mut add = |node: NodeId| blocks.entry(layers.block(part, node)).or_default().push(node);
    if part == Part::Network {
        network.nodes().for_each(|(node, _)| add(node));
        return blocks;
    }
    let mut nodes: Vec<NodeId> =
        links.iter().flat_map(|&link| [network.link(link).from, network.link(link).to]).collect();
    nodes.sort_unstable();
    nodes.dedup();
    nodes.into_iter().for_each(&mut add);
    blocks
}
