//! Physical networks of Saihu, in the XML of WoPANets: nodes, links and flows, of which every output port becomes a server.
//!
//! A link has one direction in Saihu's files, and both in those of WoPANets: a flow that takes a link against its direction
//! leaves by its `toPort`.

use std::collections::HashMap;

use roxmltree::Node;
use wayleave_calculus::network::{CurveServer, LineShaping, Multiplexing, Options, Packetizer, ServerFlow};
use wayleave_calculus::{ArrivalCurve, BucketCurve, RateLatency, Rational, ServiceCurve};

use super::parts::{Parts, PortNetworkFile};
use super::units::{Measure, Units};
use crate::graph::Unused;
use crate::location::Span;
use crate::messages::{MAX_NAMES, did_you_mean, did_you_mean_one_of, nearest, quoted};
use crate::problem::{ProblemKind, Problems};
use crate::source::Source;
use crate::xml::{self, head, note_unused};

/// Words of `technology`. The last three make analyses of xTFA faster or tighter, and no network another one.
const TECHNOLOGIES: [&str; 7] = ["FIFO", "ARBITRARY", "IS", "PK", "CEIL", "MOH", "TDMI"];
const SERVICE: [&str; 2] = ["service-latency", "service-rate"];
const CAPACITY: &str = "transmission-capacity";
const LARGEST: &str = "maximum-packet-size";

pub(super) fn read(source: &Source, problems: &mut Problems<'_>) -> Option<PortNetworkFile> {
    let document = xml::parse(source.text(), problems)?;
    let root = document.root_element();
    if root.tag_name().name() != "elements" {
        let message = || format!("the first element is {}, and elements is expected", quoted(root.tag_name().name()));
        problems.report(ProblemKind::WrongKind, head(root), message);
        return None;
    }
    let mut physical = Physical { network: None, nodes: HashMap::new(), names: Vec::new(), links: HashMap::new() };
    let elements = || root.children().filter(Node::is_element);
    // Links name nodes and flows name links, in any order.
    for element in elements() {
        match element.tag_name().name() {
            "network" if physical.network.is_none() => physical.network = Some(element),
            "network" => problems.report(ProblemKind::Syntax, head(element), || "a second network begins here"),
            "station" | "switch" => physical.node(element, problems),
            "link" | "flow" => {}
            other => {
                let near = did_you_mean_one_of(other, &["network", "station", "switch", "link", "flow"]);
                problems.report(ProblemKind::UnknownKey, head(element), || {
                    format!("unknown element {}{near}", quoted(other))
                });
            }
        }
    }
    for link in elements().filter(|element| element.has_tag_name("link")) {
        physical.link(link, problems);
    }
    for flow in elements().filter(|element| element.has_tag_name("flow")) {
        physical.add_reverse_links(flow);
    }
    let options = physical.options(problems);
    let remarks = unused(root).remarks(problems);
    let mut parts = Parts::default();
    let ports = physical.servers(&mut parts, problems);
    for flow in elements().filter(|element| element.has_tag_name("flow")) {
        physical.flow(flow, &ports, &mut parts, problems);
    }
    let name =
        physical.network.and_then(|network| network.attribute("name")).unwrap_or_else(|| source.stem()).to_owned();
    if problems.mark() > 0 {
        return None;
    }
    parts.build(problems).map(|network| PortNetworkFile { name, network, options, remarks })
}

/// Attributes and elements that are not used.
fn unused(root: Node<'_, '_>) -> Unused {
    let service = [SERVICE[0], SERVICE[1], CAPACITY];
    let mut unused = Unused::default();
    for element in root.children().filter(Node::is_element) {
        let (owner, own, inside): (_, &[&str], &[&str]) = match element.tag_name().name() {
            "network" => ("the network", &["name", "technology", LARGEST], &[]),
            "station" | "switch" => ("nodes", &["name"], &[]),
            "link" => ("links", &["name", "from", "to", "fromPort", "toPort"], &[]),
            "flow" => ("flows", &["name", "source", "arrival-curve", "lb-burst", "lb-rate", LARGEST], &["target"]),
            _ => continue,
        };
        let is_flow = owner == "flows";
        let used: Vec<&str> = own.iter().chain(service.iter().filter(|_| !is_flow)).copied().collect();
        note_unused(&mut unused, owner, element, &used, inside);
        for target in element.children().filter(|child| is_flow && child.has_tag_name("target")) {
            note_unused(&mut unused, "targets", target, &["name"], &["path"]);
            for step in target.children().filter(|child| child.has_tag_name("path")) {
                note_unused(&mut unused, "paths", step, &["node"], &[]);
            }
        }
    }
    unused
}

/// Elements of nodes and links as written.
struct Physical<'a, 'i> {
    network: Option<Node<'a, 'i>>,
    nodes: HashMap<&'a str, Node<'a, 'i>>,
    /// In the order of the file.
    names: Vec<&'a str>,
    /// The links that leave a node.
    links: HashMap<&'a str, Vec<PortLink<'a, 'i>>>,
}

/// One direction of a link.
#[derive(Clone, Copy)]
struct PortLink<'a, 'i> {
    to: &'a str,
    /// The port that it leaves.
    port: &'a str,
    element: Node<'a, 'i>,
}

/// Servers by node and port.
type Ports<'a> = HashMap<(&'a str, &'a str), usize>;

impl<'a, 'i> Physical<'a, 'i> {
    fn node(&mut self, element: Node<'a, 'i>, problems: &mut Problems<'_>) {
        let Some(name) = required(element, "name", problems) else { return };
        if let Some(first) = self.nodes.get(name) {
            let line = problems.source().line_of(head(*first));
            let message = || format!("the name {} is already used on line {line}", quoted(name));
            problems.report(ProblemKind::DuplicateName, head(element), message);
            return;
        }
        self.nodes.insert(name, element);
        self.names.push(name);
    }

    fn link(&mut self, element: Node<'a, 'i>, problems: &mut Problems<'_>) {
        let ends = ["from", "to"].map(|end| self.known(element, end, problems));
        if let [Some(from), Some(to)] = ends {
            let port = element.attribute("fromPort").unwrap_or("o0");
            self.links.entry(from).or_default().push(PortLink { to, port, element });
        }
    }

    /// Adds the other direction of links that a flow takes against theirs.
    fn add_reverse_links(&mut self, flow: Node<'a, 'i>) {
        let Some(source) = flow.attribute("source") else { return };
        for target in flow.children().filter(|child| child.has_tag_name("target")) {
            let mut at = source;
            for step in target.children().filter(|child| child.has_tag_name("path")) {
                let Some(next) = step.attribute("node") else { break };
                let back = self.link_between(at, next).is_none().then(|| self.link_between(next, at)).flatten();
                if let Some(PortLink { element, .. }) = back {
                    let port = element.attribute("toPort").unwrap_or("o0");
                    self.links.entry(at).or_default().push(PortLink { to: next, port, element });
                }
                at = next;
            }
        }
    }

    fn link_between(&self, from: &str, to: &str) -> Option<PortLink<'a, 'i>> {
        self.links.get(from)?.iter().find(|link| link.to == to).copied()
    }

    /// An attribute that names a node.
    fn known(&self, element: Node<'a, 'i>, key: &str, problems: &mut Problems<'_>) -> Option<&'a str> {
        let name = required(element, key, problems)?;
        if !self.nodes.contains_key(name) {
            problems.report(ProblemKind::UnknownName, place(element, key), || {
                let near = nearest(name, self.nodes.keys().copied().take(MAX_NAMES));
                format!("there is no station or switch {}{}", quoted(name), did_you_mean(near))
            });
            return None;
        }
        Some(name)
    }

    fn options(&self, problems: &mut Problems<'_>) -> Options {
        let technology = self.network.and_then(|network| network.attribute("technology")).unwrap_or("FIFO");
        let words: Vec<&str> = technology.split('+').map(str::trim).filter(|word| !word.is_empty()).collect();
        for word in words.iter().filter(|word| !TECHNOLOGIES.contains(word)) {
            let at = self.network.map_or(Span::default(), |network| place(network, "technology"));
            let near = did_you_mean_one_of(word, &TECHNOLOGIES);
            problems.report(ProblemKind::BadValue, at, || format!("unknown technology {}{near}", quoted(word)));
        }
        let has = |word| words.contains(&word);
        Options {
            shaping: if has("IS") { LineShaping::On } else { LineShaping::Off },
            packetizer: if has("PK") { Packetizer::On } else { Packetizer::Off },
            multiplexing: if has("FIFO") { Multiplexing::Fifo } else { Multiplexing::Arbitrary },
        }
    }

    /// A server for each output port with a service; ports without one are those of sources and sinks.
    fn servers(&self, parts: &mut Parts, problems: &mut Problems<'_>) -> Ports<'a> {
        let mut servers = Ports::new();
        for &node in &self.names {
            for PortLink { port, element: link, .. } in self.links.get(node).into_iter().flatten() {
                if servers.contains_key(&(node, *port)) {
                    continue;
                }
                // An attribute of a link overrides that of its node, which overrides that of the network.
                let of = [Some(*link), self.nodes.get(node).copied(), self.network];
                let find = |key: &str| of.into_iter().flatten().find(|element| element.attribute(key).is_some());
                let [latency, rate] = SERVICE.map(find);
                let Some(rate) = rate else { continue };
                let latency =
                    latency.map_or(Some(Rational::default()), |at| value(at, SERVICE[0], Measure::Time, problems));
                let rate_of = value(rate, SERVICE[1], Measure::Rate, problems);
                let (Some(latency), Some(rate_of)) = (latency, rate_of) else { continue };
                let Ok(service) = ServiceCurve::from_pieces([RateLatency::new(rate_of, &latency)]) else { continue };
                let mut server = CurveServer::new(&format!("{node}-{port}"), service);
                if let Some(line) = find(CAPACITY).and_then(|at| value(at, CAPACITY, Measure::Rate, problems)) {
                    if line == Rational::default() {
                        let message =
                            "a capacity of zero lets nothing through: a rate above zero is expected, or no capacity";
                        problems.report(ProblemKind::Impossible, head(*link), || message);
                        continue;
                    }
                    server = server.with_line(line);
                }
                servers.insert((node, *port), parts.add_server(server, head(*link)));
            }
        }
        servers
    }

    /// A flow, or one for each of its targets: whether copies of one packet are meant or packets of their own, a bound for these is one for those.
    fn flow(&self, element: Node<'a, 'i>, ports: &Ports<'a>, parts: &mut Parts, problems: &mut Problems<'_>) {
        let (Some(name), Some(source)) = (required(element, "name", problems), self.known(element, "source", problems))
        else {
            return;
        };
        match element.attribute("arrival-curve") {
            None | Some("leaky-bucket") => {}
            Some(other) => {
                let message = || (format!("the arrival curve {} is not read", quoted(other)), "leaky-bucket is");
                problems.report(ProblemKind::BadValue, place(element, "arrival-curve"), message);
                return;
            }
        }
        let of = |key: &str, measure, problems: &mut Problems<'_>| {
            required(element, key, problems).and_then(|_| value(element, key, measure, problems))
        };
        let (burst, rate) = (of("lb-burst", Measure::Data, problems), of("lb-rate", Measure::Rate, problems));
        let largest = [Some(element), self.network].into_iter().flatten().find(|at| at.attribute(LARGEST).is_some());
        let max_packet = largest.map_or(Some(Rational::default()), |at| value(at, LARGEST, Measure::Data, problems));
        let (Some(burst), Some(rate), Some(max_packet)) = (burst, rate, max_packet) else { return };
        let Ok(arrival) = ArrivalCurve::from_pieces([BucketCurve { rate, burst }]) else { return };
        let targets: Vec<Node<'a, 'i>> = element.children().filter(|child| child.has_tag_name("target")).collect();
        if targets.is_empty() {
            problems.report(ProblemKind::MissingKey, head(element), || format!("flow {} has no target", quoted(name)));
        }
        for (number, target) in targets.iter().enumerate() {
            let Some(path) = self.path(source, *target, ports, problems) else { continue };
            let name = match targets.len() {
                1 => name.to_owned(),
                _ => target
                    .attribute("name")
                    .map_or_else(|| format!("{name}_p{number}"), |target| format!("{name}_{target}")),
            };
            let (arrival, max_packet) = (arrival.clone(), max_packet.clone());
            parts.add_flow(ServerFlow { name, arrival, max_packet, paths: vec![path] }, head(element));
        }
    }

    /// The servers from a source along a target's nodes.
    fn path(
        &self,
        source: &'a str,
        target: Node<'a, 'i>,
        ports: &Ports<'a>,
        problems: &mut Problems<'_>,
    ) -> Option<Vec<usize>> {
        let (mut at, mut path) = (source, Vec::new());
        for step in target.children().filter(|child| child.has_tag_name("path")) {
            let next = self.known(step, "node", problems)?;
            let Some(PortLink { port, .. }) = self.link_between(at, next) else {
                problems.report(ProblemKind::Impossible, place(step, "node"), || {
                    format!("there is no link from {} to {}", quoted(at), quoted(next))
                });
                return None;
            };
            path.extend(ports.get(&(at, port)));
            at = next;
        }
        Some(path)
    }
}

fn required<'a>(element: Node<'a, '_>, key: &str, problems: &mut Problems<'_>) -> Option<&'a str> {
    let value = element.attribute(key).filter(|value| !value.is_empty());
    if value.is_none() {
        let message = || format!("this {} has no {}", element.tag_name().name(), quoted(key));
        problems.report(ProblemKind::MissingKey, head(element), message);
    }
    value
}

/// Returns the position of an attribute's value.
fn place(element: Node<'_, '_>, key: &str) -> Span {
    element.attribute_node(key).map_or_else(|| head(element), |attribute| Span::new(attribute.range_value()))
}

/// A number with its unit. Saihu's documentation takes data without a unit for bytes, and its program for bits.
fn value(element: Node<'_, '_>, key: &str, measure: Measure, problems: &mut Problems<'_>) -> Option<Rational> {
    let text = element.attribute(key)?.trim();
    let read = Units::basic().number(measure, text);
    if measure == Measure::Data
        && text.ends_with(|c: char| c.is_ascii_digit() || c == '.')
        && read != Some(Rational::default())
    {
        let message = || (format!("{} has no unit", quoted(text)), "write B for bytes or b for bits: readers differ");
        problems.report(ProblemKind::BadValue, place(element, key), message);
        return None;
    }
    if read.is_none() {
        let message =
            || format!("{} is not accepted: a number such as {} is expected", quoted(text), measure.examples());
        problems.report(ProblemKind::BadValue, place(element, key), message);
    }
    read
}
