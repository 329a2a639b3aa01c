//! Networks and contracts as YAML that reads back unchanged.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::fmt::Write;
use std::hash::Hash;
use std::net::IpAddr;
use std::num::NonZeroU16;

use wayleave_contracts::{Accounting, Contract, ContractRequest, Endpoints, Excess, LatencyContract, Match, Priority};
use wayleave_topology::{Link, LinkId, Network, NodeId, NodeKind, PortQueue};
use wayleave_units::{Bytes, Rate, Time};

use crate::document::{API_VERSION, DocumentKind};
use crate::quote::scalar;
use crate::topology::written_classes;

/// Returns a topology document with every node and link, in order: reading it back gives equal indices.
///
/// The most common values of links are in `defaults`; two consecutive links that are one cable are written as one
/// `between`.
///
/// ```
/// use wayleave_formats::{Source, parse_builder, read_topology, write_topology};
/// let network = parse_builder("star:hosts=2")?.network;
/// let text = write_topology(&network, "pair");
/// assert!(text.contains("- { between: [h1, s1] }"), "{text}");
/// assert_eq!(read_topology(&Source::new("pair.yaml", text))?.network.links().len(), 4);
/// # Ok::<(), wayleave_formats::InputErrors>(())
/// ```
pub fn write_topology(network: &Network, name: &str) -> String {
    let usual = Usual::of(network);
    let mut text = head(DocumentKind::Topology, name);
    let defaults = usual.settings(None);
    if !defaults.is_empty() {
        push(&mut text, format_args!("  defaults: {{ {} }}\n", defaults.join(", ")));
    }
    if let Some(classes) = network.classes() {
        push(&mut text, format_args!("  classes: {}\n", written_classes(classes)));
    }
    push_list(
        &mut text,
        "nodes",
        network.nodes().map(|(_, node)| {
            let kind = if node.kind == NodeKind::Host { "host" } else { "switch" };
            let mut line = format!("name: {}, kind: {kind}", scalar(&node.name));
            for (key, time) in [("processing", node.processing), ("jitter", node.jitter)] {
                if time > Time::ZERO {
                    push(&mut line, format_args!(", {key}: {time}"));
                }
            }
            line
        }),
    );
    push_list(&mut text, "links", Cables { network, next: 0 }.map(|cable| cable.line(network, &usual)));
    text
}

/// A contracts document.
///
/// # Panics
/// If a contract names nodes or links that the network does not have.
pub fn write_contracts(contracts: &[LatencyContract], network: &Network, name: &str) -> String {
    let mut text = head(DocumentKind::Contracts, name);
    push_list(&mut text, "contracts", contracts.iter().map(|contract| contract_line(contract, network)));
    text
}

/// A contracts document with contracts of every kind.
///
/// # Panics
/// If a contract names nodes or links that the network does not have.
pub fn write_contracts_of_all_kinds(contracts: &[Contract], network: &Network, name: &str) -> String {
    let mut text = head(DocumentKind::Contracts, name);
    push_list(&mut text, "contracts", contracts.iter().map(|contract| any_line(contract, network)));
    text
}

/// A contracts document of orders, with the names of their ends as they were written.
///
/// # Panics
/// If an order names links that the network does not have.
pub fn write_orders(orders: &[ContractRequest], network: &Network, name: &str) -> String {
    let mut text = head(DocumentKind::Contracts, name);
    push_list(&mut text, "contracts", orders.iter().map(|order| order_line(order, network)));
    text
}

/// One order alone, as [`read_order`](crate::read_order) reads it.
///
/// # Panics
/// If the order names links that the network does not have.
pub fn write_order(order: &ContractRequest, network: &Network) -> String {
    format!("{{ {} }}\n", order_line(order, network))
}

/// One contract as the inside of a flow mapping: `name: a, from: h1, ...`.
fn contract_line(contract: &LatencyContract, network: &Network) -> String {
    let node = |id: NodeId| network.node(id).name.as_str();
    terms_line(contract, [node(contract.from), node(contract.to)], network)
}

fn any_line(contract: &Contract, network: &Network) -> String {
    let hosts: Vec<&str> = contract.hosts().into_iter().map(|host| network.node(host).name.as_str()).collect();
    line_of(contract, &hosts, network)
}

/// A contract with its members as they were written.
fn line_of(contract: &Contract, members: &[&str], network: &Network) -> String {
    let whole = members;
    let members: Vec<_> = members.iter().map(|&member| scalar(member)).collect();
    let list = members.join(", ");
    let body = match contract {
        Contract::Bandwidth(contract) => {
            let mut body = match (&contract.between, members.as_slice()) {
                (Endpoints::Pair(..), [from, to]) => format!("bandwidth: {{ from: {from}, to: {to}"),
                _ => format!("bandwidth: {{ hose: [{list}]"),
            };
            push(&mut body, format_args!(", min: {}", contract.min));
            let max = contract.max.map(|max| format!(", max: {max}"));
            let weight = contract.weight.map(|weight| format!(", weight: {weight}"));
            let within = contract.within.map(|within| format!(", within: {within}"));
            body + &[max, weight, within].into_iter().flatten().collect::<String>()
        }
        Contract::Objective(contract) => {
            let goal = match contract.deadline {
                Some(deadline) => format!("deadline: {deadline}"),
                None => format!("goal: {}", contract.objective.name()),
            };
            format!("objective: {{ {goal}, members: [{list}], weight: {}", contract.min)
        }
        Contract::BestEffort(contract) => {
            let max = contract.max.map(|max| format!(", max: {max}")).unwrap_or_default();
            format!("bestEffort: {{ members: [{list}]{max}")
        }
        Contract::Latency(contract) => {
            let end = |at: usize| whole.get(at).copied().unwrap_or_default();
            return terms_line(contract, [end(0), end(1)], network);
        }
    };
    let tenant = contract.tenant().map(|tenant| format!(", tenant: {}", scalar(tenant))).unwrap_or_default();
    format!("name: {}{tenant}, {body} }}", scalar(contract.name()))
}

fn order_line(order: &ContractRequest, network: &Network) -> String {
    let members: Vec<&str> = order.members.iter().map(String::as_str).collect();
    let mut line = line_of(&order.contract, &members, network);
    if order.priority != Priority::default() {
        push(&mut line, format_args!(", priority: {}", order.priority));
    }
    for (key, time) in [("starts", order.starts), ("ends", order.ends)] {
        if let Some(time) = time {
            push(&mut line, format_args!(", {key}: \"{time}\""));
        }
    }
    if !order.labels.is_empty() {
        let labels = order.labels.iter().map(|(key, value)| format!("{}: {}", scalar(key), scalar(value)));
        push(&mut line, format_args!(", labels: {{ {} }}", labels.collect::<Vec<_>>().join(", ")));
    }
    if let Some(matching) = &order.matching {
        push(&mut line, format_args!(", match: {{ {} }}", match_line(matching)));
    }
    line
}

/// Returns the inside of a match; addresses have colons and are therefore quoted.
fn match_line(matching: &Match) -> String {
    let address = |key: &str, address: Option<IpAddr>| address.map(|address| format!("{key}: \"{address}\""));
    let port = |key: &str, port: Option<NonZeroU16>| port.map(|port| format!("{key}: {port}"));
    let parts = [
        matching.protocol.map(|protocol| format!("protocol: {protocol}")),
        address("sourceAddress", matching.source_address),
        port("sourcePort", matching.source_port),
        address("destinationAddress", matching.destination_address),
        port("destinationPort", matching.destination_port),
    ];
    parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

fn terms_line(contract: &LatencyContract, [from, to]: [&str; 2], network: &Network) -> String {
    let mut line = format!("name: {}", scalar(&contract.name));
    if let Some(tenant) = &contract.tenant {
        push(&mut line, format_args!(", tenant: {}", scalar(tenant)));
    }
    push(&mut line, format_args!(", from: {}, to: {}", scalar(from), scalar(to)));
    let (rate, burst, deadline) = (contract.rate, contract.burst, contract.deadline);
    push(&mut line, format_args!(", rate: {rate}, burst: {burst}, deadline: {deadline}"));
    if let Accounting::Frame { min_frame } = contract.accounting {
        push(&mut line, format_args!(", accounting: frame, minFrame: {min_frame}"));
    }
    if let Some(max_frame) = contract.max_frame {
        push(&mut line, format_args!(", maxFrame: {max_frame}"));
    }
    if contract.protection > 1 {
        push(&mut line, format_args!(", protection: {}", contract.protection));
    }
    if contract.excess != Excess::default() {
        push(&mut line, format_args!(", excess: {}", contract.excess.name()));
    }
    if let Some(route) = &contract.route {
        let hops = route.hops.iter().map(|hop| format!("{}:{}", network.link(hop.link).name, hop.queue));
        let hops: Vec<String> = hops.map(|hop| scalar(&hop).into_owned()).collect();
        push(&mut line, format_args!(", route: [{}]", hops.join(", ")));
    }
    line
}

fn head(kind: DocumentKind, name: &str) -> String {
    let kind = kind.name();
    format!("apiVersion: {API_VERSION}\nkind: {kind}\nmetadata: {{ name: {} }}\nspec:\n", scalar(name))
}

fn push_list(text: &mut String, key: &str, items: impl Iterator<Item = String>) {
    let start = text.len();
    push(text, format_args!("  {key}:\n"));
    let before = text.len();
    items.for_each(|item| push(text, format_args!("    - {{ {item} }}\n")));
    if text.len() == before {
        text.truncate(start);
        push(text, format_args!("  {key}: []\n"));
    }
}

fn push(text: &mut String, arguments: std::fmt::Arguments<'_>) {
    // Writing to a String does not fail.
    let _ = text.write_fmt(arguments);
}

/// Most common properties of links and ports.
struct Usual<'n> {
    rate: Rate,
    delay: Time,
    mtu: Bytes,
    queues: &'n [PortQueue],
    host_queues: &'n [PortQueue],
}

impl<'n> Usual<'n> {
    /// Returns the most frequent value of each; for a network without links, unused values.
    fn of(network: &'n Network) -> Self {
        let links = || network.links().map(|(_, link)| link);
        let queues = |kind| {
            let ids = network.links().filter(move |(_, link)| network.node(link.from).kind == kind);
            most_frequent(ids.map(|(id, _)| network.queues(id))).unwrap_or_default()
        };
        Self {
            rate: most_frequent(links().map(|link| link.rate)).unwrap_or_default(),
            delay: most_frequent(links().map(|link| link.propagation)).unwrap_or_default(),
            mtu: most_frequent(links().map(|link| link.mtu)).unwrap_or_default(),
            queues: queues(NodeKind::Switch),
            host_queues: queues(NodeKind::Host),
        }
    }

    /// `key: value` of everything that is not as in `other`, or of everything that is anything.
    fn settings(&self, other: Option<&Usual<'_>>) -> Vec<String> {
        let mut settings = Vec::new();
        let Self { rate, delay, mtu, .. } = self;
        if *rate > Rate::ZERO && other.is_none_or(|other| other.rate != *rate) {
            settings.push(format!("rate: {rate}"));
        }
        if *rate > Rate::ZERO && other.is_none_or(|other| other.delay != *delay) {
            settings.push(format!("delay: {delay}"));
        }
        if *rate > Rate::ZERO && other.is_none_or(|other| other.mtu != *mtu) {
            settings.push(format!("mtu: {mtu}"));
        }
        if !self.queues.is_empty() && other.is_none_or(|other| other.queues != self.queues) {
            settings.push(port(self.queues, ["queues", "buffer", "budgets"]));
        }
        if !self.host_queues.is_empty() && other.is_none_or(|other| other.host_queues != self.host_queues) {
            settings.push(port(self.host_queues, ["hostQueues", "hostBuffer", "hostBudgets"]));
        }
        settings
    }
}

/// The one that comes most often; of several, the one that comes first.
fn most_frequent<T: Copy + Eq + Hash>(items: impl Iterator<Item = T>) -> Option<T> {
    let mut counts: HashMap<T, (usize, Reverse<usize>)> = HashMap::new();
    for (index, item) in items.enumerate() {
        counts.entry(item).or_insert((0, Reverse(index))).0 += 1;
    }
    counts.into_iter().max_by_key(|&(_, rank)| rank).map(|(item, _)| item)
}

/// Returns a count with one buffer size and leading budgets if this is complete, otherwise the list.
fn port(queues: &[PortQueue], [key, buffer_key, budgets_key]: [&str; 3]) -> String {
    let buffer = queues.first().map_or(Bytes::ZERO, |queue| queue.buffer);
    let budgets: Vec<String> = queues.iter().map_while(|queue| queue.budget).map(|budget| budget.to_string()).collect();
    let simple = queues.iter().all(|queue| queue.buffer == buffer)
        && queues[budgets.len()..].iter().all(|queue| queue.budget.is_none());
    if !simple {
        let list: Vec<String> = queues.iter().map(queue).collect();
        return format!("{key}: [{}]", list.join(", "));
    }
    let mut text = format!("{key}: {}, {buffer_key}: {buffer}", queues.len());
    if !budgets.is_empty() {
        push(&mut text, format_args!(", {budgets_key}: [{}]", budgets.join(", ")));
    }
    text
}

fn queue(queue: &PortQueue) -> String {
    match queue.budget {
        Some(budget) => format!("{{ budget: {budget}, buffer: {} }}", queue.buffer),
        None => format!("{{ buffer: {} }}", queue.buffer),
    }
}

/// The links of a network, those of one cable together.
struct Cables<'n> {
    network: &'n Network,
    next: u32,
}

/// One link, or the two of a cable.
struct Cable {
    link: LinkId,
    back: Option<LinkId>,
}

impl Iterator for Cables<'_> {
    type Item = Cable;

    fn next(&mut self) -> Option<Cable> {
        let count = self.network.links().len() as u32;
        let link = Some(LinkId(self.next)).filter(|link| link.0 < count)?;
        let back = Some(LinkId(link.0 + 1)).filter(|back| back.0 < count && is_cable(self.network, link, *back));
        self.next += if back.is_some() { 2 } else { 1 };
        Some(Cable { link, back })
    }
}

/// Returns `true` if `between` can express both links: between two switches both ports are one description.
fn is_cable(network: &Network, link: LinkId, back: LinkId) -> bool {
    let (there, here) = (network.link(link), network.link(back));
    let line = |link: &Link| (link.rate, link.propagation, link.mtu);
    let kind = |node| network.node(node).kind;
    let ports = kind(there.from) != kind(there.to) || there.port == here.port;
    (there.from, there.to) == (here.to, here.from) && line(there) == line(here) && ports
}

impl Cable {
    /// The names of its ports, as `interface` or `interfaces`.
    fn interfaces(&self, network: &Network) -> Option<String> {
        let name = |link: LinkId| network.interfaces().get(&link).map(|name| scalar(name).to_string());
        let there = name(self.link);
        match self.back.map(name) {
            Some(back) if there.is_some() || back.is_some() => {
                let [there, back] = [there, back].map(|name| name.unwrap_or_else(|| "~".to_owned()));
                Some(format!("interfaces: [{there}, {back}]"))
            }
            Some(_) => None,
            None => there.map(|name| format!("interface: {name}")),
        }
    }

    fn line(&self, network: &Network, usual: &Usual<'_>) -> String {
        let link = network.link(self.link);
        let (from, to) = (&network.node(link.from), &network.node(link.to));
        let (rate, delay, mtu) = (link.rate, link.propagation, link.mtu);
        let mut own = Usual { rate, delay, mtu, queues: &[], host_queues: &[] };
        let ends = format!("{}, {}", scalar(&from.name), scalar(&to.name));
        let (ends, mut settings) = match self.back {
            Some(back) => {
                for link in [self.link, back] {
                    match network.node(network.link(link).from).kind {
                        NodeKind::Switch => own.queues = network.queues(link),
                        NodeKind::Host => own.host_queues = network.queues(link),
                    }
                }
                (format!("between: [{ends}]"), Vec::new())
            }
            None => {
                // One direction has one port, described by `queues` also at a host.
                let inherited = if from.kind == NodeKind::Host { usual.host_queues } else { usual.queues };
                let queues = network.queues(self.link);
                let port = (queues != inherited).then(|| port(queues, ["queues", "buffer", "budgets"]));
                (format!("from: {}, to: {}", scalar(&from.name), scalar(&to.name)), port.into_iter().collect())
            }
        };
        let mut line = own.settings(Some(usual));
        line.append(&mut settings);
        line.insert(0, ends);
        line.extend(self.interfaces(network));
        line.join(", ")
    }
}
