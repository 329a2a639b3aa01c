//! `/v1/topology/summary`: the network, or a part, in groups of nodes and of links.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use wayleave_controller::ElementName;
use wayleave_protocol::network::{Down, ObservedState};
use wayleave_protocol::topology_summary::{Group, LinkGroup, LinkUse, NodeGroup, Tier, TopologySummary, Use};
use wayleave_topology::{Class, LinkId, Network, NodeId, NodeKind};

use crate::answer::{HttpReply, Outcome, not_found};
use crate::handlers::network::node_state;
use crate::http::call::AuthorizedRequest;
use crate::links::LinkFigures;
use crate::read_view::Tables;
use crate::state::{AT_A_TIME, Shared};
use crate::tiers::{NodeBlock, Part, count, tier_name};

/// Maximum number of most used links that are named.
const BUSIEST: usize = 10;
/// Maximum number of elements that are down.
const DOWN: usize = 100;

pub(crate) fn get(shared: &Arc<Shared>, call: &AuthorizedRequest) -> Outcome {
    let part = match call.query.text("group") {
        None => Part::Network,
        Some(group) => {
            let part = shared.layers.part(shared.network(), group);
            part.ok_or_else(|| not_found("group", group))?
        }
    };
    Ok(HttpReply::json(200, &shared.topology_summary(part)))
}

/// Figures of a group of links while its links are added up.
struct Sum {
    links: u64,
    down: u64,
    unknown: u64,
    /// Sum of the reserved parts of links that are not down; `None` if one is unknown.
    up_ppm: Option<u64>,
    most: Use,
    measured_ppm: Option<u64>,
    /// The link of which most of the rate is promised.
    busiest: Option<(u64, LinkId)>,
}

impl Default for Sum {
    fn default() -> Self {
        Self { links: 0, down: 0, unknown: 0, up_ppm: Some(0), most: Use::default(), measured_ppm: None, busiest: None }
    }
}

impl Sum {
    fn add(&mut self, link: LinkId, of: Use, measured_ppm: Option<u64>, state: ObservedState) {
        self.links += 1;
        // An unknown share is less than any known one.
        self.measured_ppm = self.measured_ppm.max(measured_ppm);
        self.unknown += u64::from(state == ObservedState::Unknown);
        if state == ObservedState::Down {
            self.down += 1;
        } else {
            self.up_ppm = self.up_ppm.zip(of.rate_ppm).map(|(sum, rate)| sum + rate);
        }
        self.most = Use {
            rate_ppm: self.most.rate_ppm.max(of.rate_ppm),
            delay_ppm: self.most.delay_ppm.max(of.delay_ppm),
            buffer_ppm: self.most.buffer_ppm.max(of.buffer_ppm),
        };
        let rate_ppm = of.rate_ppm.unwrap_or(0);
        if self.busiest.is_none_or(|(rate, _)| rate_ppm > rate) {
            self.busiest = Some((rate_ppm, link));
        }
    }
}

/// Elements that are reported down, and nodes whose agents are silent.
#[derive(Default)]
struct Troubled {
    down_nodes: BTreeSet<NodeId>,
    down_links: BTreeSet<LinkId>,
    /// Links that were reported down by agents that no longer report.
    outdated_links: BTreeSet<LinkId>,
    silent: BTreeSet<NodeId>,
}

impl Troubled {
    /// Returns the state of a link between these nodes.
    fn state_of(&self, link: LinkId, ends: [NodeId; 2], tables: &Tables) -> ObservedState {
        if self.down_links.contains(&link) || ends.iter().any(|node| self.down_nodes.contains(node)) {
            return ObservedState::Down;
        }
        let is_observed = !self.outdated_links.contains(&link) && ends.iter().any(|&node| tables.observes(node));
        if is_observed { ObservedState::Up } else { ObservedState::Unknown }
    }
}

impl Shared {
    fn topology_summary(&self, part: Part) -> TopologySummary {
        let (network, layers) = (self.network(), &self.layers);
        let links = layers.links(network, part);
        let blocks = count(network, layers, part, &links);
        let troubled = self.troubled();
        let unknown = self.unknown_nodes();
        let is_known = self.receives_reports();
        let mut link_groups: BTreeMap<(NodeBlock, NodeBlock), Sum> = BTreeMap::new();
        let mut busiest: BTreeSet<(u64, LinkId)> = BTreeSet::new();
        let mut uses: HashMap<LinkId, Use> = HashMap::new();
        let mut links_not_measured = 0;
        let rates = if is_known { self.load.rates() } else { BTreeMap::new() };
        let measured_ppm = |id: LinkId| Some(ppm(*rates.get(&id)?, network.link(id).rate.bits_per_second()));
        for links in links.chunks(AT_A_TIME) {
            let tables = self.view.read();
            for &id in links {
                let link = network.link(id);
                let figures = tables.figures(id);
                links_not_measured += u64::from(figures.is_none());
                let of = figures.map(|figures| link_use(network, id, figures)).unwrap_or_default();
                let ends = (layers.block(part, link.from), layers.block(part, link.to));
                let state = troubled.state_of(id, [link.from, link.to], &tables);
                link_groups.entry(ends).or_default().add(id, of, measured_ppm(id), state);
                let most = of.rate_ppm.max(of.delay_ppm).max(of.buffer_ppm).unwrap_or(0);
                if most > 0 {
                    busiest.insert((u64::MAX - most, id));
                    uses.insert(id, of);
                }
                if busiest.len() > BUSIEST {
                    busiest.pop_last();
                }
            }
        }
        let number: HashMap<NodeBlock, u32> = blocks.keys().copied().zip(0..).collect();
        let of_node = |nodes: &[NodeId], known: &BTreeSet<NodeId>| {
            nodes.iter().filter(|node| known.contains(node)).count() as u64
        };
        let mut tiers: Vec<Tier> = Vec::new();
        for tier in (0..=layers.top).rev() {
            let of_tier = blocks.iter().filter(|(block, _)| layers.block_tier(**block) == tier);
            let shown: Vec<NodeGroup> = of_tier
                .map(|(&block, nodes)| NodeGroup {
                    id: number[&block],
                    name: layers.block_name(network, block),
                    nodes: nodes.len() as u64,
                    down: of_node(nodes, &troubled.down_nodes),
                    unknown: of_node(nodes, &unknown),
                    silent: is_known.then(|| of_node(nodes, &troubled.silent)),
                    node: if let NodeBlock::Node(node) = block { Some(network.node(node).name.clone()) } else { None },
                    group: layers.group(network, block),
                    outside: layers.is_outside(part, block),
                })
                .collect();
            if !shown.is_empty() {
                tiers.push(Tier { tier, name: tier_name(tier, layers.top).to_owned(), node_groups: shown });
            }
        }
        let name_of = |link: LinkId| network.link(link).name.clone();
        let link_group = |((from, to), sum): ((NodeBlock, NodeBlock), Sum)| {
            // Links between two parts that are both outside are not counted.
            Some(LinkGroup {
                from: *number.get(&from)?,
                to: *number.get(&to)?,
                links: sum.links,
                down: sum.down,
                unknown: sum.unknown,
                mean_rate_ppm: sum.up_ppm.map(|up| up / (sum.links - sum.down).max(1)),
                most: sum.most,
                measured_ppm: sum.measured_ppm,
                busiest: sum.busiest.map(|(_, link)| name_of(link)).unwrap_or_default(),
            })
        };
        let within = layers.within(network, part, &self.name).into_iter();
        let most = |link: LinkId| uses.get(&link).copied().unwrap_or_default();
        TopologySummary {
            name: layers.name_of(network, part, &self.name),
            within: within.map(|(name, group)| Group { name, group }).collect(),
            tiers,
            link_groups: link_groups.into_iter().filter_map(link_group).collect(),
            links_not_measured,
            down: self.down(),
            busiest: busiest
                .into_iter()
                .map(|(_, link)| LinkUse { link: name_of(link), most: most(link), measured_ppm: measured_ppm(link) })
                .collect(),
        }
    }

    fn down(&self) -> Vec<Down> {
        let tables = self.view.read();
        tables.all_reported_down(self.network()).take(DOWN).collect()
    }

    fn unknown_nodes(&self) -> BTreeSet<NodeId> {
        let (network, tables) = (self.network(), self.view.read());
        let is_unknown = |node: &NodeId| node_state(network, &tables, *node) == ObservedState::Unknown;
        network.nodes().map(|(node, _)| node).filter(is_unknown).collect()
    }

    fn troubled(&self) -> Troubled {
        let network = self.network();
        let tables = self.view.read();
        let silent = tables.nodes.iter().filter(|(_, node)| node.is_silent).map(|(&node, _)| node).collect();
        let mut troubled = Troubled { silent, ..Troubled::default() };
        for element in tables.down.keys() {
            let is_down = tables.reported_down(network, element).is_some_and(|(_, is_observed)| is_observed);
            match element {
                ElementName::Node(name) => troubled.down_nodes.extend(network.find_node(name).filter(|_| is_down)),
                ElementName::Link(name) => {
                    let link = network.find_link(name);
                    let both = [link, link.and_then(|link| network.reverse(link))].into_iter().flatten();
                    if is_down { &mut troubled.down_links } else { &mut troubled.outdated_links }.extend(both);
                }
            }
        }
        troubled
    }
}

/// Returns the use of a link, as last computed by the engine.
pub(crate) fn link_use(network: &Network, id: LinkId, figures: &LinkFigures) -> Use {
    let delay = figures.queues.iter().filter_map(|queue| Some(ppm(queue.delay?.as_nanos(), queue.budget?.as_nanos())));
    let queues = network.queues(id);
    let is_switch = network.node(network.link(id).from).kind == NodeKind::Switch;
    // Minima wait in the memory of a host, which has no such buffer.
    let buffered = figures.queues.iter().filter(|queue| is_switch || queue.class == Class::Latency);
    let buffer = buffered.filter_map(|queue| {
        let buffer = queues.get(usize::from(queue.number))?.buffer;
        Some(ppm(queue.backlog_bytes?, buffer.get()))
    });
    let known = |ppm: Option<u64>| Some(ppm.unwrap_or(0));
    Use { rate_ppm: Some(figures.used_ppm()), delay_ppm: known(delay.max()), buffer_ppm: known(buffer.max()) }
}

/// A share in millionths, rounded up; of nothing, nothing.
fn ppm(part: u64, whole: u64) -> u64 {
    if whole == 0 {
        return 0;
    }
    u64::try_from((u128::from(part) * 1_000_000).div_ceil(u128::from(whole))).unwrap_or(u64::MAX)
}
