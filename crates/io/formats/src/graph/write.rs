//! Networks as graphs that other tools read: NetworkX node-link JSON, GML, GraphML.
//!
//! A graph contains everything that its format can hold: names, kinds, rates, delays, MTUs and interface names. It
//! cannot hold queues, buffers and budgets, nor the delays that nodes add to a packet's path.

use std::fmt::Write;

use wayleave_topology::builders::Cabling;
use wayleave_topology::{Link, LinkId, Network, NodeId, NodeKind};
use wayleave_units::Time;

use super::model::INTERFACES;
use super::remark::Remark;

/// Format of a written graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GraphFormat {
    /// JSON as NetworkX's `node_link_graph` reads it (with `edges="edges"` before NetworkX 3.6).
    NodeLink,
    /// As NetworkX's `read_gml` reads it.
    Gml,
    /// As NetworkX's `read_graphml` reads it.
    GraphMl,
}

/// Returns a network as a graph, and remarks about the data that the graph could not hold.
///
/// Cables whose two links are alike are undirected edges if the network consists only of them; otherwise every link
/// is a directed edge. Read again with [`HostSelector::None`](crate::HostSelector::None), it has the same nodes and links.
///
/// ```
/// use wayleave_formats::{GraphFormat, parse_builder, write_graph};
/// let network = parse_builder("star:hosts=2")?.network;
/// let (text, left_out) = write_graph(&network, "pair", GraphFormat::NodeLink);
/// assert!(text.contains(r#"{"source": "h1", "target": "s1", "rate_bps": 1000000000, "delay_ns": 0}"#), "{text}");
/// assert!(left_out.is_empty());
/// # Ok::<(), wayleave_formats::InputErrors>(())
/// ```
pub fn write_graph(network: &Network, name: &str, format: GraphFormat) -> (String, Vec<Remark>) {
    let (directed, edges) = edges(network);
    let mut writer = Writer { text: String::new(), network, directed, name };
    match format {
        GraphFormat::NodeLink => writer.node_link(&edges),
        GraphFormat::Gml => writer.gml(&edges),
        GraphFormat::GraphMl => writer.graphml(&edges),
    }
    (writer.text, left_out(network))
}

/// One link of each cable if all are cables with two links alike, otherwise every link.
fn edges(network: &Network) -> (bool, Vec<LinkId>) {
    let all: Vec<(LinkId, &Link)> = network.links().collect();
    let alike = |a: &Link, b: &Link| {
        (a.from, a.to, a.rate, a.propagation, a.mtu) == (b.to, b.from, b.rate, b.propagation, b.mtu)
    };
    let cables = all.chunks(2).all(|pair| matches!(pair, [(_, a), (_, b)] if alike(a, b)));
    let step = if cables { 2 } else { 1 };
    (!cables, all.iter().step_by(step).map(|(id, _)| *id).collect())
}

fn left_out(network: &Network) -> Vec<Remark> {
    let usual = Cabling::default();
    let mut left_out = Vec::new();
    let ports = network.links().any(|(id, link)| {
        let port = match network.node(link.from).kind {
            NodeKind::Host => usual.host_port_of(link.rate, link.mtu),
            NodeKind::Switch => usual.switch_port.clone(),
        };
        network.queues(id) != port.queues
    });
    if ports {
        left_out.push(Remark::LeftOut("graph formats cannot store queues, buffers and delay budgets".to_owned()));
    }
    if network.nodes().any(|(_, node)| node.processing + node.jitter > Time::ZERO) {
        left_out.push(Remark::LeftOut("graph formats cannot store the processing and jitter of nodes".to_owned()));
    }
    left_out
}

fn kind(kind: NodeKind) -> &'static str {
    match kind {
        NodeKind::Host => "host",
        NodeKind::Switch => "switch",
    }
}

struct Writer<'n> {
    text: String,
    network: &'n Network,
    directed: bool,
    name: &'n str,
}

impl Writer<'_> {
    fn push(&mut self, arguments: std::fmt::Arguments<'_>) {
        // Writing to a String does not fail.
        let _ = self.text.write_fmt(arguments);
    }

    /// Rate, delay and, if it is not the usual one, the MTU.
    fn numbers(&self, link: &Link) -> Vec<(&'static str, u64)> {
        let mut numbers = vec![("rate_bps", link.rate.bits_per_second()), ("delay_ns", link.propagation.as_nanos())];
        if link.mtu != Cabling::default().mtu {
            numbers.push(("mtu", link.mtu.get()));
        }
        numbers
    }

    /// The interfaces at both ends, as attributes that the readers know.
    fn interfaces(&self, link: LinkId) -> Vec<(&'static str, &str)> {
        let name = |link: Option<LinkId>| self.network.interfaces().get(&link?).map(String::as_str);
        let names = [name(Some(link)), name(self.network.reverse(link))];
        INTERFACES[0].into_iter().zip(names).filter_map(|(key, name)| Some((key, name?))).collect()
    }

    /// The number of a link among those between its nodes: the key of a multigraph.
    fn key(&self, link: &Link) -> u64 {
        let number = link.name.rsplit_once('#').and_then(|(_, number)| number.parse::<u64>().ok());
        number.map_or(0, |number| number - 1)
    }

    fn is_multigraph(&self) -> bool {
        self.network.links().any(|(_, link)| self.key(link) > 0)
    }

    fn node_name(&self, id: NodeId) -> &str {
        &self.network.node(id).name
    }

    fn node_link(&mut self, edges: &[LinkId]) {
        let (network, directed, multigraph) = (self.network, self.directed, self.is_multigraph());
        let name = json(self.name);
        self.push(format_args!("{{\n  \"directed\": {directed},\n  \"multigraph\": {multigraph},\n"));
        self.push(format_args!("  \"graph\": {{\"name\": {name}}},\n  \"nodes\": ["));
        for (id, node) in network.nodes() {
            let comma = if id.0 == 0 { "" } else { "," };
            self.push(format_args!("{comma}\n    {{\"id\": {}, \"kind\": \"{}\"}}", json(&node.name), kind(node.kind)));
        }
        self.push(format_args!("\n  ],\n  \"edges\": ["));
        for (index, &id) in edges.iter().enumerate() {
            let link = network.link(id);
            let comma = if index == 0 { "" } else { "," };
            let (from, to) = (json(self.node_name(link.from)), json(self.node_name(link.to)));
            self.push(format_args!("{comma}\n    {{\"source\": {from}, \"target\": {to}"));
            for (key, value) in self.numbers(link) {
                self.push(format_args!(", \"{key}\": {value}"));
            }
            let interfaces: String =
                self.interfaces(id).iter().map(|(key, name)| format!(", \"{key}\": {}", json(name))).collect();
            self.push(format_args!("{interfaces}"));
            if multigraph {
                self.push(format_args!(", \"key\": {}", self.key(link)));
            }
            self.push(format_args!("}}"));
        }
        self.push(format_args!("\n  ]\n}}\n"));
    }

    fn gml(&mut self, edges: &[LinkId]) {
        let (network, directed, multigraph) = (self.network, u8::from(self.directed), u8::from(self.is_multigraph()));
        self.push(format_args!("graph [\n  directed {directed}\n  multigraph {multigraph}\n"));
        self.push(format_args!("  name \"{}\"\n", gml(self.name)));
        for (id, node) in network.nodes() {
            let (name, kind) = (gml(&node.name), kind(node.kind));
            self.push(format_args!("  node [\n    id {}\n    label \"{name}\"\n    kind \"{kind}\"\n  ]\n", id.0));
        }
        for &id in edges {
            let link = network.link(id);
            self.push(format_args!("  edge [\n    source {}\n    target {}\n", link.from.0, link.to.0));
            if multigraph == 1 {
                self.push(format_args!("    key {}\n", self.key(link)));
            }
            for (key, value) in self.numbers(link) {
                self.push(format_args!("    {key} {value}\n"));
            }
            let interfaces: String =
                self.interfaces(id).iter().map(|(key, name)| format!("    {key} \"{}\"\n", gml(name))).collect();
            self.push(format_args!("{interfaces}  ]\n"));
        }
        self.push(format_args!("]\n"));
    }

    fn graphml(&mut self, edges: &[LinkId]) {
        let network = self.network;
        self.push(format_args!("<?xml version=\"1.0\" encoding=\"utf-8\"?>\n"));
        self.push(format_args!("<graphml xmlns=\"http://graphml.graphdrawing.org/xmlns\">\n"));
        for (id, owner, name, of) in [
            ("name", "graph", "name", "string"),
            ("label", "node", "label", "string"),
            ("kind", "node", "kind", "string"),
            ("rate_bps", "edge", "rate_bps", "long"),
            ("delay_ns", "edge", "delay_ns", "long"),
            ("mtu", "edge", "mtu", "long"),
            (INTERFACES[0][0], "edge", INTERFACES[0][0], "string"),
            (INTERFACES[0][1], "edge", INTERFACES[0][1], "string"),
        ] {
            self.push(format_args!("  <key id=\"{id}\" for=\"{owner}\" attr.name=\"{name}\" attr.type=\"{of}\"/>\n"));
        }
        let default = if self.directed { "directed" } else { "undirected" };
        self.push(format_args!("  <graph edgedefault=\"{default}\">\n"));
        self.push(format_args!("    <data key=\"name\">{}</data>\n", xml(self.name)));
        for (id, node) in network.nodes() {
            let (name, kind) = (xml(&node.name), kind(node.kind));
            self.push(format_args!("    <node id=\"n{}\"><data key=\"label\">{name}</data>", id.0));
            self.push(format_args!("<data key=\"kind\">{kind}</data></node>\n"));
        }
        for &id in edges {
            let link = network.link(id);
            let interfaces: String = self
                .interfaces(id)
                .iter()
                .map(|(key, name)| format!("<data key=\"{key}\">{}</data>", xml(name)))
                .collect();
            // NetworkX distinguishes parallel edges by the id.
            let id = if self.is_multigraph() { format!("id=\"{}\" ", self.key(link)) } else { String::new() };
            self.push(format_args!("    <edge {id}source=\"n{}\" target=\"n{}\">", link.from.0, link.to.0));
            for (key, value) in self.numbers(link) {
                self.push(format_args!("<data key=\"{key}\">{value}</data>"));
            }
            self.push(format_args!("{interfaces}</edge>\n"));
        }
        self.push(format_args!("  </graph>\n</graphml>\n"));
    }
}

/// A string of JSON, with its quotation marks.
fn json(text: &str) -> String {
    // Turning text into JSON does not fail.
    serde_json::to_string(text).unwrap_or_default()
}

/// Escapes a text for GML quotation marks; GML is ASCII.
fn gml(text: &str) -> String {
    escaped(text, |c| c.is_ascii() && !c.is_control() && !matches!(c, '"' | '&'))
}

/// Escapes a text for the content of XML elements.
fn xml(text: &str) -> String {
    let text: String = text.chars().map(|c| if is_xml(c) { c } else { '\u{fffd}' }).collect();
    escaped(&text, |c| !matches!(c, '&' | '<' | '>' | '"') && !c.is_control() && c != '\u{85}' && c != '\u{2028}')
}

/// The characters of XML 1.0.
fn is_xml(c: char) -> bool {
    matches!(c, '\t' | '\n' | '\r' | ' '..='\u{d7ff}' | '\u{e000}'..='\u{fffd}' | '\u{10000}'..)
}

/// With character references for all that is not plain.
fn escaped(text: &str, is_plain: impl Fn(char) -> bool) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            c if is_plain(c) => escaped.push(c),
            '"' => escaped.push_str("&quot;"),
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            c => {
                let _ = write!(escaped, "&#{};", u32::from(c));
            }
        }
    }
    escaped
}
