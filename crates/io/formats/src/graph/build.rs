//! Conversion of a graph to a network: roles of nodes, their names, and defaults of links without data.

use std::collections::HashMap;

use wayleave_topology::builders::Cabling;
use wayleave_topology::{LinkId, LinkSpec, Network, NetworkBuilder, NetworkError, NodeId, NodeKind, PortSpec};
use wayleave_units::{Rate, Time};

use super::attributes::{NodeAttributes, Reader};
use super::lines::{Edge, Line, Lines};
use super::model::{Graph, GraphEdge, GraphEnd, HostSelector, ImportOptions, MAX_HOSTS_PER_NODE};
use super::names::Names;
use super::remark::Remark;
use super::remarks::{about_hosts, about_parts, self_loops};
use crate::location::Span;
use crate::messages::{MAX_NAMES, did_you_mean, nearest, quoted};
use crate::names::differs_by_number_only;
use crate::problem::{Message, ProblemKind, Problems};

/// Maximum number of links that may join two nodes in one direction, as in a topology document.
const MAX_PARALLEL: u32 = 64;
/// The most cables, with those of attached hosts; as many as a builder makes.
const MAX_CABLES: usize = 1_000_000;

/// Makes the network, and records the assumptions and omissions.
pub(super) fn build(
    mut graph: Graph<'_>,
    options: &ImportOptions,
    problems: &mut Problems<'_>,
) -> Option<(Network, Vec<Remark>)> {
    let mut remarks = std::mem::take(&mut graph.remarks);
    graph.edges.iter_mut().for_each(GraphEdge::take_interfaces);
    let mut reader = Reader::new(options, std::mem::take(&mut graph.unused));
    let traits: Vec<NodeAttributes<'_>> = graph.nodes.iter().map(|node| reader.node(&node.attributes)).collect();
    let edges = resolve(&graph, problems)?;
    let lines = Lines::read(&graph, &edges, &traits, options, &mut reader, problems)?;
    let stated: Vec<Option<NodeKind>> =
        graph.nodes.iter().zip(&traits).map(|(node, its)| node.kind.or(its.kind)).collect();
    let neighbours = neighbours(graph.nodes.len(), &edges);
    let (kinds, attach) = kinds(&stated, &edges, &neighbours, options.hosts);
    let mut plan = Plan::default();
    for ((node, its), kind) in graph.nodes.iter().zip(&traits).zip(&kinds) {
        let name = plan.names.give(its.label.unwrap_or(&node.id), &node.id);
        if let Err(error) = plan.builder.add_node(&name, *kind) {
            problems.report(ProblemKind::Impossible, node.at, || error.to_string());
            return None;
        }
        plan.called.push(name);
    }
    let before = problems.mark();
    for (edge, line) in edges.iter().zip(&lines.of_edges) {
        plan.join(edge, line, &kinds, problems);
    }
    if problems.mark() > before {
        return None;
    }
    let mut attached = None;
    if let Some(count) = attach {
        let switches = switches(&edges, &lines, &kinds, options);
        plan.attach(count, &switches, graph.at, problems)?;
        attached = Some((count, switches.len()));
    }
    remarks.extend(self_loops(&graph, problems));
    remarks.extend(plan.names.remark());
    remarks.extend(plan.interfaces_remark());
    let network = plan.builder.build();
    remarks.extend(about_hosts(&network, &stated, options.hosts, attached));
    remarks.extend(lines.remarks(edges.len(), options));
    remarks.extend(about_parts(&network, &neighbours));
    remarks.extend(reader.unused.remarks(problems));
    if options.strict {
        reader.unused.report(problems);
    }
    Some((network, remarks))
}

/// Finds the ends of edges; those that begin where they end are left out.
fn resolve<'g>(graph: &'g Graph<'g>, problems: &mut Problems<'_>) -> Option<Vec<Edge<'g>>> {
    let before = problems.mark();
    if graph.nodes.is_empty() {
        problems.report(ProblemKind::Empty, graph.at, || "the network has no nodes");
    }
    if graph.edges.len().max(graph.nodes.len()) > MAX_CABLES {
        let (nodes, edges) = (graph.nodes.len(), graph.edges.len());
        let message = || format!("{nodes} nodes and {edges} edges: at most {MAX_CABLES} of each are read");
        problems.report(ProblemKind::TooLarge, graph.at, message);
        return None;
    }
    let mut indices: HashMap<&str, usize> = HashMap::new();
    for (index, node) in graph.nodes.iter().enumerate() {
        if let Some(&first) = indices.get(&*node.id) {
            let source = problems.source();
            problems.report(ProblemKind::DuplicateName, node.at, || {
                let line = source.line_of(graph.nodes[first].at);
                format!("the id {} is already used on line {line}", quoted(&node.id))
            });
            continue;
        }
        indices.insert(&node.id, index);
    }
    let mut edges = Vec::with_capacity(graph.edges.len());
    for of in &graph.edges {
        let [from, to] = &of.ends;
        let mut find = |end: &GraphEnd<'_>| {
            let found = indices.get(&*end.id).copied();
            if found.is_none() {
                problems.report(ProblemKind::UnknownName, end.at, || unknown(&end.id, &indices));
            }
            found
        };
        if let (Some(from), Some(to)) = (find(from), find(to))
            && from != to
        {
            edges.push(Edge { from, to, of });
        }
    }
    (problems.mark() == before).then_some(edges)
}

fn unknown(id: &str, indices: &HashMap<&str, usize>) -> Message {
    let names = indices.keys().copied().take(MAX_NAMES);
    let near = nearest(id, names).filter(|near| !differs_by_number_only(id, near));
    let message = format!("there is no node {}{}", quoted(id), did_you_mean(near));
    match near {
        Some(_) => message.into(),
        None => (message, "every end of an edge is the id of a node of this file").into(),
    }
}

/// Returns the neighbours of each node, without duplicates.
fn neighbours(nodes: usize, edges: &[Edge<'_>]) -> Vec<Vec<usize>> {
    let mut neighbours = vec![Vec::new(); nodes];
    for edge in edges {
        neighbours[edge.from].push(edge.to);
        neighbours[edge.to].push(edge.from);
    }
    for list in &mut neighbours {
        list.sort_unstable();
        list.dedup();
    }
    neighbours
}

/// Returns the kind of every node, and the number of hosts attached to every switch.
fn kinds(
    stated: &[Option<NodeKind>],
    edges: &[Edge<'_>],
    neighbours: &[Vec<usize>],
    rule: HostSelector,
) -> (Vec<NodeKind>, Option<u32>) {
    let mut kinds: Vec<NodeKind> = stated.iter().map(|kind| kind.unwrap_or(NodeKind::Switch)).collect();
    if rule == HostSelector::Leaves {
        let is_leaf = |node: usize| stated[node].is_none() && neighbours[node].len() == 1;
        for node in (0..kinds.len()).filter(|&node| is_leaf(node)) {
            // Two leaves that are joined with each other only: one of them would have to forward.
            let other = neighbours[node][0];
            if !is_leaf(other) && stated[other] != Some(NodeKind::Host) {
                kinds[node] = NodeKind::Host;
            }
        }
    }
    let attach = match rule {
        HostSelector::Attach(count) => Some(count),
        HostSelector::Auto if !kinds.contains(&NodeKind::Host) && !edges.is_empty() => Some(1),
        HostSelector::Auto | HostSelector::Leaves | HostSelector::None => None,
    };
    (kinds, attach)
}

/// The network while it is built.
#[derive(Default)]
struct Plan {
    builder: NetworkBuilder,
    names: Names,
    /// Names of the file's nodes.
    called: Vec<String>,
    parallel: HashMap<(usize, usize), u32>,
    /// Interface names that were left out: the reason for the first one, and their number.
    unnamed: (Option<String>, usize),
}

impl Plan {
    fn join(&mut self, edge: &Edge<'_>, lines: &[Line; 2], kinds: &[NodeKind], problems: &mut Problems<'_>) {
        let (from, to) = (edge.from, edge.to);
        let there = self.parallel.entry((from, to)).or_default();
        *there += 1;
        let mut most = *there;
        if !edge.of.directed {
            let back = self.parallel.entry((to, from)).or_default();
            *back += 1;
            most = most.max(*back);
        }
        if most > MAX_PARALLEL {
            let message = || format!("more than {MAX_PARALLEL} links between two nodes");
            problems.report(ProblemKind::TooLarge, edge.of.at, message);
            return;
        }
        let cabling = Cabling::default();
        let id = |node: usize| NodeId(node as u32);
        let spec = |[from, to]: [usize; 2], line: &Line| LinkSpec {
            from: id(from),
            to: id(to),
            rate: line.rate,
            propagation: line.delay,
            mtu: line.mtu,
            port: port(&cabling, kinds[from], line),
        };
        // One after the other they are a cable.
        let directions = [([from, to], 0), ([to, from], 1)];
        for (ends, at) in directions.into_iter().take(if edge.of.directed { 1 } else { 2 }) {
            match self.builder.add_link(spec(ends, &lines[at])) {
                Ok(link) => self.name_interface(link, edge.of.ends[at].interface.as_deref()),
                Err(error @ NetworkError::HostToHost(..)) => {
                    let hint = "mark one of them as a switch (kind: switch; in a lab the label wayleave.role), or put a switch between them";
                    problems.report(ProblemKind::Impossible, edge.of.at, || (error.to_string(), hint));
                    return;
                }
                Err(error) => {
                    problems.report(ProblemKind::Impossible, edge.of.at, || error.to_string());
                    return;
                }
            }
        }
    }

    fn name_interface(&mut self, link: LinkId, name: Option<&str>) {
        if let Some(Err(error)) = name.map(|name| self.builder.name_interface(link, name)) {
            self.unnamed.0.get_or_insert_with(|| error.to_string());
            self.unnamed.1 += 1;
        }
    }

    /// Interface names of the file that the network cannot have.
    fn interfaces_remark(&self) -> Option<Remark> {
        let (first, count) = &self.unnamed;
        let others = if *count > 1 { format!(" ({} more)", count - 1) } else { String::new() };
        first.as_ref().map(|first| Remark::LeftOut(format!("an interface name was left out: {first}{others}")))
    }

    /// Attaches hosts to switches, with links of these rates.
    fn attach(&mut self, count: u32, switches: &[(usize, Rate)], at: Span, problems: &mut Problems<'_>) -> Option<()> {
        let cables = switches.len() * count as usize + self.parallel.len();
        if count > MAX_HOSTS_PER_NODE || cables > MAX_CABLES {
            let message = || format!("{count} hosts for each of {} switches: that is too large", switches.len());
            problems.report(ProblemKind::TooLarge, at, message);
            return None;
        }
        let cabling = Cabling::default();
        for &(switch, rate) in switches {
            for number in 1..=count {
                let name = self.names.free(format!("{}-h{number}", self.called[switch]));
                let host = self.builder.add_node(&name, NodeKind::Host).ok()?;
                let spec = LinkSpec {
                    from: host,
                    to: NodeId(switch as u32),
                    rate,
                    propagation: Time::ZERO,
                    mtu: cabling.mtu,
                    port: cabling.host_port_of(rate, cabling.mtu),
                };
                if let Err(error) = self.builder.add_cable(spec, cabling.switch_port.clone()) {
                    problems.report(ProblemKind::Impossible, at, || error.to_string());
                    return None;
                }
            }
        }
        Some(())
    }
}

/// The switches that have links, with the rate of the link of a host there: that of the fastest one.
fn switches(edges: &[Edge<'_>], lines: &Lines, kinds: &[NodeKind], options: &ImportOptions) -> Vec<(usize, Rate)> {
    let mut fastest: Vec<Option<Rate>> = vec![None; kinds.len()];
    for (edge, line) in edges.iter().zip(&lines.of_edges) {
        for node in [edge.from, edge.to] {
            fastest[node] = fastest[node].max(Some(line[0].rate.max(line[1].rate)));
        }
    }
    let fastest = fastest.into_iter().enumerate().filter(|&(node, _)| kinds[node] == NodeKind::Switch);
    fastest
        .filter_map(|(node, rate)| {
            let rate = rate?;
            Some((node, options.host_rate.unwrap_or(rate)))
        })
        .collect()
}

fn port(cabling: &Cabling, kind: NodeKind, line: &Line) -> PortSpec {
    match kind {
        NodeKind::Host => cabling.host_port_of(line.rate, line.mtu),
        NodeKind::Switch => cabling.switch_port.clone(),
    }
}
