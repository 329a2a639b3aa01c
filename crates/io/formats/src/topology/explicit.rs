//! Topologies that list their nodes and links.

use std::collections::HashMap;

use wayleave_topology::builders::Cabling;
use wayleave_topology::{
    LinkId, LinkSpec, Network, NetworkBuilder, NetworkError, Node as NetworkNode, NodeId, NodeKind, PortSpec,
};
use wayleave_units::{Bytes, Rate, Time};

use super::port::{self, Keys};
use crate::fields::{Fields, Shape};
use crate::location::Span;
use crate::messages::{MAX_NAMES, did_you_mean, did_you_mean_one_of, nearest, quoted};
use crate::names::differs_by_number_only;
use crate::problem::{Message, ProblemKind, Problems};
use crate::tree::{Node, Value};

pub(crate) const DEFAULTS: Shape = Shape {
    what: "defaults",
    keys: &["rate", "delay", "mtu", "queues", "buffer", "budgets", "hostQueues", "hostBuffer", "hostBudgets"],
};
pub(crate) const NODE: Shape = Shape { what: "a node", keys: &["name", "kind", "processing", "jitter"] };
pub(crate) const LINK: Shape = Shape {
    what: "a link",
    keys: &[
        "between",
        "from",
        "to",
        "interface",
        "interfaces",
        "rate",
        "delay",
        "mtu",
        "queues",
        "buffer",
        "budgets",
        "hostQueues",
        "hostBuffer",
        "hostBudgets",
    ],
};

/// Maximum number of links that may join two nodes in one direction.
const MAX_PARALLEL: u32 = 64;

/// Reads `defaults`, `nodes` and `links`.
pub(super) fn read(spec: &Fields<'_, '_>, problems: &mut Problems<'_>) -> Option<Network> {
    let mut states_host_queues = false;
    let defaults = match spec.get("defaults") {
        Some(node) => {
            let fields = Fields::read(node, &DEFAULTS, problems)?;
            states_host_queues = port::states_count(&fields, Keys::Host);
            read_cabling(&fields, problems)
        }
        None => Some(Cabling::default()),
    };
    let mut reader = Reader {
        defaults: defaults.clone().unwrap_or_default(),
        states_host_queues,
        builder: NetworkBuilder::default(),
        nodes: HashMap::new(),
        parallel: HashMap::new(),
    };
    for node in spec.require("nodes", problems)?.expect_list("nodes", problems)? {
        reader.add_node(node, problems);
    }
    for link in spec.get("links").and_then(|links| links.expect_list("links", problems)).unwrap_or_default() {
        reader.add_link(link, problems);
    }
    defaults.map(|_| reader.builder.build())
}

/// Reads the defaults of all links; also used by the builders.
pub(crate) fn read_cabling(fields: &Fields<'_, '_>, problems: &mut Problems<'_>) -> Option<Cabling> {
    let usual = Cabling::default();
    let line = read_line(fields, &usual, problems);
    let switch_port = port::read(fields, Keys::Plain, NodeKind::Switch, &usual.switch_port, problems);
    let host_port = port::read(fields, Keys::Host, NodeKind::Host, &usual.host_port, problems);
    let Line { rate, propagation, mtu } = line?;
    Some(Cabling { rate, propagation, mtu, switch_port: switch_port?, host_port: host_port? })
}

struct Line {
    rate: Rate,
    propagation: Time,
    mtu: Bytes,
}

fn read_line(fields: &Fields<'_, '_>, inherited: &Cabling, problems: &mut Problems<'_>) -> Option<Line> {
    let rate = match fields.get("rate") {
        Some(node) => read_rate(node, problems),
        None => Some(inherited.rate),
    };
    let propagation = match fields.get("delay") {
        Some(node) => node.quantity(problems),
        None => Some(inherited.propagation),
    };
    let mtu = match fields.get("mtu") {
        Some(node) => node.quantity(problems),
        None => Some(inherited.mtu),
    };
    if let (Some(mtu), Some(node)) = (mtu, fields.get("mtu"))
        && !(64..=65_535).contains(&mtu.get())
    {
        let message = || format!("an MTU of {mtu}: expected 64B to 65535B (1500B is usual)");
        problems.report(ProblemKind::Impossible, node.span, message);
        return None;
    }
    Some(Line { rate: rate?, propagation: propagation?, mtu: mtu? })
}

/// A line rate, above zero.
pub(super) fn read_rate(node: &Node<'_>, problems: &mut Problems<'_>) -> Option<Rate> {
    let rate = node.quantity(problems)?;
    if rate == Rate::ZERO {
        let message = "a link needs a rate above zero, such as 10Gbit";
        problems.report(ProblemKind::Impossible, node.span, || message);
        return None;
    }
    Some(rate)
}

/// One end of a link.
struct End<'n> {
    name: &'n str,
    span: Span,
    id: NodeId,
    kind: NodeKind,
}

struct Reader<'n> {
    defaults: Cabling,
    /// `true` if the defaults state the number of queues of hosts; otherwise it depends on each link.
    states_host_queues: bool,
    builder: NetworkBuilder,
    nodes: HashMap<&'n str, Declared>,
    parallel: HashMap<(NodeId, NodeId), u32>,
}

/// Direction of a link in its description.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Direction {
    /// `from` and `to`.
    One,
    /// `between`.
    Both,
}

/// A node of the file; one that is wrong in itself still has its name, so that its links are not wrong as well.
#[derive(Clone, Copy)]
struct Declared {
    span: Span,
    kind: NodeKind,
    id: Option<NodeId>,
}

impl<'n> Reader<'n> {
    fn add_node(&mut self, node: &'n Node<'_>, problems: &mut Problems<'_>) {
        let mark = problems.mark();
        let Some(fields) = Fields::read(node, &NODE, problems) else { return };
        let name = fields.require("name", problems).and_then(|node| node.expect_text(problems));
        let kind = fields.require("kind", problems).and_then(|node| read_kind(node, problems));
        let processing = optional(&fields, "processing", problems);
        let jitter = optional(&fields, "jitter", problems);
        if let Some(name) = name {
            let span = fields.value_span("name");
            self.declare(name, span, kind, processing.zip(jitter), problems);
            problems.explain_since(mark, || format!("node {}", quoted(name)));
        }
    }

    fn declare(
        &mut self,
        name: &'n str,
        span: Span,
        kind: Option<NodeKind>,
        times: Option<(Time, Time)>,
        problems: &mut Problems<'_>,
    ) {
        if let Some(first) = self.nodes.get(name) {
            let source = problems.source();
            problems.report(ProblemKind::DuplicateName, span, || {
                let line = source.line_of(first.span);
                format!("the name {} is already used on line {line}", quoted(name))
            });
            return;
        }
        let mut id = None;
        if let (Some(kind), Some((processing, jitter))) = (kind, times) {
            match self.builder.add(NetworkNode { name: name.to_owned(), kind, processing, jitter }) {
                Ok(added) => id = Some(added),
                Err(error) => problems.report(ProblemKind::Impossible, span, || error.to_string()),
            }
        }
        self.nodes.insert(name, Declared { span, kind: kind.unwrap_or(NodeKind::Switch), id });
    }

    fn add_link(&mut self, node: &'n Node<'_>, problems: &mut Problems<'_>) {
        let mark = problems.mark();
        let Some(fields) = Fields::read(node, &LINK, problems) else { return };
        let Some((ends, direction)) = self.ends(&fields, problems) else { return };
        self.join(&fields, &ends, direction, problems);
        let [from, to] = &ends;
        problems.explain_since(mark, || format!("link {} to {}", quoted(from.name), quoted(to.name)));
    }

    /// The nodes at the two ends.
    fn ends(&self, fields: &Fields<'n, '_>, problems: &mut Problems<'_>) -> Option<([End<'n>; 2], Direction)> {
        if let Some(node) = fields.get("between") {
            for key in ["from", "to"].into_iter().filter(|key| fields.get(key).is_some()) {
                let message = || format!("between gives both ends: it cannot be combined with {key}");
                problems.report(ProblemKind::WrongType, fields.key_span(key), message);
            }
            let ends = node.expect_list("two nodes", problems)?;
            let [a, b] = ends else {
                let message = || format!("a link is between two nodes, not {}", ends.len());
                problems.report(ProblemKind::WrongType, node.span, message);
                return None;
            };
            let (a, b) = (self.end(a, problems), self.end(b, problems));
            return Some(([a?, b?], Direction::Both));
        }
        if fields.get("from").is_none() && fields.get("to").is_none() {
            problems.report(ProblemKind::MissingKey, fields.at, || {
                (
                    "a link needs its two ends",
                    "write `between: [a, b]` for both directions, or `from: a, to: b` for one",
                )
            });
            return None;
        }
        let from = fields.require("from", problems).and_then(|node| self.end(node, problems));
        let to = fields.require("to", problems).and_then(|node| self.end(node, problems));
        Some(([from?, to?], Direction::One))
    }

    fn end(&self, node: &'n Node<'_>, problems: &mut Problems<'_>) -> Option<End<'n>> {
        let name = node.expect_text(problems)?;
        let Some(declared) = self.nodes.get(name) else {
            problems.report(ProblemKind::UnknownName, node.span, || self.unknown(name));
            return None;
        };
        Some(End { name, span: node.span, id: declared.id?, kind: declared.kind })
    }

    fn unknown(&self, name: &str) -> Message {
        let names = self.nodes.keys().copied().take(MAX_NAMES);
        let near = nearest(name, names).filter(|near| !differs_by_number_only(name, near));
        let message = format!("there is no node {}{}", quoted(name), did_you_mean(near));
        match near {
            Some(_) => message.into(),
            None => (message, "every node of a link must be in the list of nodes").into(),
        }
    }

    fn join(
        &mut self,
        fields: &Fields<'_, '_>,
        [from, to]: &[End<'_>; 2],
        direction: Direction,
        problems: &mut Problems<'_>,
    ) -> Option<()> {
        refuse_host_keys(fields, [from, to], direction, problems);
        let line = read_line(fields, &self.defaults, problems);
        let host_keys = if direction == Direction::Both { Keys::Host } else { Keys::Plain };
        let host_port = match &line {
            Some(line) if !self.states_host_queues && !port::states_count(fields, host_keys) => {
                self.defaults.host_port_of(line.rate, line.mtu)
            }
            _ => self.defaults.host_port.clone(),
        };
        let ports = self.ports(fields, [from, to], (direction, &host_port), problems);
        let (Line { rate, propagation, mtu }, (port, back)) = (line?, ports?);
        let count = self.parallel.entry((from.id, to.id)).or_default();
        *count += 1;
        if *count > MAX_PARALLEL {
            let message = || format!("more than {MAX_PARALLEL} links in this direction between the two nodes");
            problems.report(ProblemKind::TooLarge, fields.at, message);
            return None;
        }
        let spec = LinkSpec { from: from.id, to: to.id, rate, propagation, mtu, port };
        let added = match back {
            Some(back) => {
                *self.parallel.entry((to.id, from.id)).or_default() += 1;
                self.builder.add_cable(spec, back).map(|(there, back)| vec![there, back])
            }
            None => self.builder.add_link(spec).map(|link| vec![link]),
        };
        let ends = from.span.to(to.span);
        let links = added.map_err(|error| report_link(&error, fields, ends, problems)).ok()?;
        self.name_interfaces(fields, &links, problems)
    }

    /// Reads `interfaces` of a cable or `interface` of one direction: names for the ports that the links leave.
    fn name_interfaces(
        &mut self,
        fields: &Fields<'_, '_>,
        links: &[LinkId],
        problems: &mut Problems<'_>,
    ) -> Option<()> {
        let (key, other) = if links.len() == 2 { ("interfaces", "interface") } else { ("interface", "interfaces") };
        if fields.get(other).is_some() {
            let message = || match links.len() {
                2 => "a link with `between` has two ports: write interfaces: [eth1, eth2]",
                _ => "a link with `from` and `to` has one port: write interface: eth1",
            };
            problems.report(ProblemKind::WrongType, fields.key_span(other), message);
        }
        let node = fields.get(key)?;
        let names: Vec<&Node<'_>> = match links.len() {
            2 => node.expect_list("two interface names", problems)?.iter().collect(),
            _ => vec![node],
        };
        if names.len() != links.len() {
            let message = || format!("a link has two ports, not {}: expected two interface names", names.len());
            problems.report(ProblemKind::WrongType, node.span, message);
            return None;
        }
        for (&link, name) in links.iter().zip(names) {
            // `[~, eth2]` names one of both.
            if matches!(name.value, Value::Null) {
                continue;
            }
            let text = name.expect_text(problems)?;
            if let Err(error) = self.builder.name_interface(link, text) {
                problems.report(ProblemKind::Impossible, name.span, || error.to_string());
            }
        }
        Some(())
    }

    fn ports(
        &self,
        fields: &Fields<'_, '_>,
        [from, to]: [&End<'_>; 2],
        (direction, host_port): (Direction, &PortSpec),
        problems: &mut Problems<'_>,
    ) -> Option<(PortSpec, Option<PortSpec>)> {
        let mut port = |node: &End<'_>| match node.kind {
            NodeKind::Switch => port::read(fields, Keys::Plain, node.kind, &self.defaults.switch_port, problems),
            NodeKind::Host => {
                let keys = if direction == Direction::Both { Keys::Host } else { Keys::Plain };
                port::read(fields, keys, node.kind, host_port, problems)
            }
        };
        let first = port(from);
        match direction {
            Direction::One => Some((first?, None)),
            Direction::Both => {
                let back = port(to);
                Some((first?, Some(back?)))
            }
        }
    }
}

/// `hostQueues` and its like describe the host's port of a `between`.
fn refuse_host_keys(fields: &Fields<'_, '_>, ends: [&End<'_>; 2], direction: Direction, problems: &mut Problems<'_>) {
    let Some(key) = Keys::Host.all().into_iter().find(|key| fields.get(key).is_some()) else { return };
    let has_host = ends.iter().any(|end| end.kind == NodeKind::Host);
    if direction == Direction::Both && has_host {
        return;
    }
    problems.report(ProblemKind::Impossible, fields.key_span(key), || match direction {
        Direction::Both => format!("{key} describes the port of a host, and no end of this link is one"),
        Direction::One => format!("a link in one direction has one port: {key} is written without \"host\""),
    });
}

fn optional(fields: &Fields<'_, '_>, key: &str, problems: &mut Problems<'_>) -> Option<Time> {
    match fields.get(key) {
        Some(node) => node.quantity(problems),
        None => Some(Time::ZERO),
    }
}

fn read_kind(node: &Node<'_>, problems: &mut Problems<'_>) -> Option<NodeKind> {
    match node.expect_text(problems)? {
        "host" => Some(NodeKind::Host),
        "switch" => Some(NodeKind::Switch),
        other => {
            problems.report(ProblemKind::BadValue, node.span, || {
                let meant = did_you_mean_one_of(other, &["host", "switch"]);
                format!("unknown kind of node {}{meant}", quoted(other))
            });
            None
        }
    }
}

/// Reports the network's error about a link at its position in the file.
fn report_link(error: &NetworkError, fields: &Fields<'_, '_>, ends: Span, problems: &mut Problems<'_>) {
    let span = match error {
        NetworkError::SelfLoop(_) | NetworkError::HostToHost(..) => ends,
        NetworkError::ZeroRate(_) | NetworkError::FastRate { .. } => fields.value_span("rate"),
        NetworkError::BadMtu { .. } => fields.value_span("mtu"),
        NetworkError::QueueCount { .. } => fields.value_span("queues"),
        NetworkError::BadBudget { .. } => fields.value_span("budgets"),
        _ => fields.at,
    };
    problems.report(ProblemKind::Impossible, span, || error.to_string());
}
