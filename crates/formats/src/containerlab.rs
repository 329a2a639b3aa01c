//! Containerlab's topology files: `topology` with `nodes` and `links`; rates and delays stand in the `vars` of links.
//!
//! Links are written briefly (`endpoints: ["a:eth1", "b:eth1"]`) or at length (`type: veth`, endpoints with `node` and
//! `interface`). What leaves the lab (`host`, `mgmt-net`, `macvlan` and the like) is left out, with a warning.
//!
//! Every node is a host or a switch: by its label `wayleave.role`, its `group` if that is a word for one of them, or its
//! kind. Bridges and network operating systems are switches. Kinds that run anything (`linux`, virtual machines, traffic
//! generators) are hosts, unless such a node has links to two or more nodes of which one is of such a kind as well:
//! two hosts cannot be joined, so it has to forward.

use std::borrow::Cow;
use std::collections::HashMap;

use wayleave_topology::NodeKind;

use crate::graph::{Graph, GraphEdge, GraphEnd, GraphNode, ImportOptions, Remark, kind_of_word};
use crate::messages::{did_you_mean_one_of, quoted};
use crate::nodelink::load;
use crate::problem::{ProblemKind, Problems};
use crate::tree::{Entry, Node, Value};

/// The label that says what a node is.
const ROLE: &str = "wayleave.role";

/// Kinds that are no network elements (containerlab's manual, "Kinds").
const STATIONS: [&str; 10] = [
    "linux",
    "ext-container",
    "generic_vm",
    "freebsd",
    "openbsd",
    "k8s-kind",
    "keysight_ixia-c-one",
    "ixia-c-one",
    "spirent_stc",
    "vr-linux",
];

/// Ends of links that are no nodes of the lab (containerlab's manual, "Topology definition").
const OUTSIDE: [&str; 6] = ["host", "mgmt-net", "macvlan", "vxlan", "vxlan-stitch", "dummy"];

pub(crate) fn read<'t>(text: &'t str, _: &ImportOptions, problems: &mut Problems<'_>) -> Option<Graph<'t>> {
    let root = load(text, problems)?;
    let Some(topology) = root.field("topology") else {
        problems.report(ProblemKind::MissingKey, root.span, || {
            ("the key \"topology\" is missing", "a containerlab file has a name, and a topology with nodes and links")
        });
        return None;
    };
    let Some(Node { value: Value::Mapping(nodes), .. }) = topology.field("nodes") else {
        let message = "a topology needs the key \"nodes\", a mapping from names to nodes";
        problems.report(ProblemKind::MissingKey, topology.span, || message);
        return None;
    };
    let mut graph = Graph { name: root.field_text("name").map(str::to_owned), at: topology.span, ..Graph::default() };
    let mut lab = Lab { topology, roles: HashMap::new(), left_out: Vec::new() };
    for Entry { key, value } in nodes.iter().filter(|entry| entry.key.text() != Some("<<")) {
        graph.nodes.extend(lab.node(key, value, problems));
    }
    if let Some(links) = topology.field("links") {
        for link in links.expect_list("links", problems).unwrap_or_default() {
            graph.edges.extend(lab.link(link, problems));
        }
    }
    lab.decide(&mut graph);
    graph.remarks.extend(lab.remark());
    Some(graph)
}

/// What a node seems to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Role {
    /// By a label, a group or the kind.
    Known(NodeKind),
    /// A host, unless it has to forward.
    Station,
    /// The machine that the lab runs on.
    Outside,
}

struct Lab<'n, 'a> {
    topology: &'n Node<'a>,
    /// By name.
    roles: HashMap<Cow<'a, str>, Role>,
    /// Links that leave the lab.
    left_out: Vec<String>,
}

impl<'n, 'a> Lab<'n, 'a> {
    fn node(&mut self, key: &Node<'a>, node: &'n Node<'a>, problems: &mut Problems<'_>) -> Option<GraphNode<'a>> {
        let Value::Scalar(name) = &key.value else {
            let message = || format!("the name of a node is expected here, not {}", key.description());
            problems.report(ProblemKind::WrongType, key.span, message);
            return None;
        };
        let role = self.role(node, problems);
        self.roles.insert(name.clone(), role);
        let kind = match role {
            Role::Known(kind) => Some(kind),
            Role::Station => None,
            Role::Outside => return None,
        };
        Some(GraphNode { id: name.clone(), at: key.span, attributes: Vec::new(), kind })
    }

    fn role(&self, node: &'n Node<'a>, problems: &mut Problems<'_>) -> Role {
        let defaults = self.topology.field("defaults");
        let inherited = |of: &str, name: Option<&str>| self.topology.field(of).and_then(|all| all.field(name?));
        let group_name = node.field_text("group").or_else(|| defaults.and_then(|node| node.field_text("group")));
        let group = inherited("groups", group_name);
        let kind_name = [Some(node), group, defaults].into_iter().flatten().find_map(|node| node.field_text("kind"));
        let kind = inherited("kinds", kind_name);
        let label = [Some(node), group, kind, defaults].into_iter().flatten();
        let label = label.filter_map(|node| node.field("labels")?.field(ROLE)).next();
        if let Some(label) = label {
            match label.text().and_then(kind_of_word) {
                Some(kind) => return Role::Known(kind),
                None => problems.report(ProblemKind::BadValue, label.span, || {
                    format!("the label {ROLE} is host or switch, not {}", quoted(label.text().unwrap_or_default()))
                }),
            }
        }
        match (group_name.and_then(kind_of_word), kind_name) {
            (Some(kind), _) => Role::Known(kind),
            (None, Some("host")) => Role::Outside,
            (None, Some(kind)) if STATIONS.contains(&kind) => Role::Station,
            (None, Some(_)) => Role::Known(NodeKind::Switch),
            // Containerlab refuses a node without a kind; here it may be anything.
            (None, None) => Role::Station,
        }
    }

    fn link(&mut self, link: &Node<'a>, problems: &mut Problems<'_>) -> Option<GraphEdge<'a>> {
        if let Some(node) = link.field("type") {
            let kind = node.expect_text(problems)?;
            if OUTSIDE.contains(&kind) {
                let whose = link.field("endpoint").and_then(|end| end.field_text("node").or_else(|| end.text()));
                self.left_out.push(format!("{} ({kind})", quoted(whose.unwrap_or("a link"))));
                return None;
            }
            if kind != "veth" {
                let known: Vec<&str> = ["veth"].into_iter().chain(OUTSIDE).collect();
                problems.report(ProblemKind::BadValue, node.span, || {
                    format!("unknown type of link {}{}", quoted(kind), did_you_mean_one_of(kind, &known))
                });
                return None;
            }
        }
        let Some(endpoints) = link.field("endpoints") else {
            let hint = "write `endpoints: [\"a:eth1\", \"b:eth1\"]`";
            problems.report(ProblemKind::MissingKey, link.span, || ("a link needs its two endpoints", hint));
            return None;
        };
        let list = endpoints.expect_list("two endpoints", problems)?;
        let [from, to] = list else {
            let message = || format!("a link has two endpoints, not {}", list.len());
            problems.report(ProblemKind::WrongType, endpoints.span, message);
            return None;
        };
        let (from, to) = (endpoint(from, problems), endpoint(to, problems));
        let ends = [from?, to?];
        let outside = |end: &GraphEnd<'_>| match self.roles.get(&end.id) {
            Some(role) => *role == Role::Outside,
            None => OUTSIDE.contains(&&*end.id),
        };
        if ends.iter().any(outside) {
            self.left_out.push(format!("{} to {}", quoted(&ends[0].id), quoted(&ends[1].id)));
            return None;
        }
        let mut attributes = link.field("vars").map(|vars| vars.attributes(&[])).unwrap_or_default();
        attributes.extend(link.attributes(&["endpoints", "type", "vars", "labels"]));
        Some(GraphEdge { ends, directed: false, at: link.span, attributes })
    }

    /// What stations are: hosts, or switches if they have to forward.
    fn decide(&self, graph: &mut Graph<'_>) {
        let mut neighbours: HashMap<&str, Vec<&str>> = HashMap::new();
        for edge in &graph.edges {
            let [from, to] = &edge.ends;
            neighbours.entry(&from.id).or_default().push(&to.id);
            neighbours.entry(&to.id).or_default().push(&from.id);
        }
        let is_station = |id: &str| matches!(self.roles.get(id), Some(Role::Station | Role::Known(NodeKind::Host)));
        let forwards = |id: &str| {
            let others = neighbours.get(id).map(Vec::as_slice).unwrap_or_default();
            others.iter().any(|other| *other != others[0]) && others.iter().any(|other| is_station(other))
        };
        let kinds: Vec<NodeKind> = graph
            .nodes
            .iter()
            .map(|node| match node.kind {
                Some(kind) => kind,
                None if forwards(&node.id) => NodeKind::Switch,
                None => NodeKind::Host,
            })
            .collect();
        let guessed = graph.nodes.iter().zip(&kinds).filter(|(node, _)| node.kind.is_none());
        let guessed: Vec<(&str, NodeKind)> = guessed.map(|(node, kind)| (&*node.id, *kind)).collect();
        let remark = about(&guessed);
        graph.nodes.iter_mut().zip(kinds).for_each(|(node, kind)| node.kind = Some(kind));
        graph.remarks.extend(remark);
    }

    fn remark(&self) -> Option<Remark> {
        const LISTED: usize = 8;
        let mut listed: Vec<String> = self.left_out.iter().take(LISTED).cloned().collect();
        if self.left_out.len() > LISTED {
            listed.push(format!("{} more", self.left_out.len() - LISTED));
        }
        let text = format!("links that leave the lab were left out: {}", listed.join(", "));
        (!listed.is_empty()).then_some(Remark::LeftOut(text))
    }
}

/// `NODE:INTERFACE`, or a mapping with both.
fn endpoint<'a>(node: &Node<'a>, problems: &mut Problems<'_>) -> Option<GraphEnd<'a>> {
    if let Value::Mapping(_) = node.value {
        let Some(Node { value: Value::Scalar(id), span }) = node.field("node") else {
            problems.report(ProblemKind::MissingKey, node.span, || "an endpoint needs the key \"node\"");
            return None;
        };
        return Some(GraphEnd { id: id.clone(), at: *span });
    }
    let text = node.expect_text(problems)?;
    let Some((name, _)) = text.split_once(':') else {
        let message = || format!("{} is no endpoint: NODE:INTERFACE is expected", quoted(text));
        problems.report(ProblemKind::BadValue, node.span, message);
        return None;
    };
    Some(GraphEnd { id: Cow::Owned(name.to_owned()), at: node.span })
}

/// What nodes of kinds that run anything were taken for.
fn about(guessed: &[(&str, NodeKind)]) -> Option<Remark> {
    const LISTED: usize = 8;
    let of = |wanted: NodeKind, what: &str| {
        let names: Vec<&str> = guessed.iter().filter(|(_, kind)| *kind == wanted).map(|(name, _)| *name).collect();
        let mut listed: Vec<String> = names.iter().take(LISTED).map(|name| quoted(name)).collect();
        if names.len() > LISTED {
            listed.push(format!("{} more", names.len() - LISTED));
        }
        (!listed.is_empty()).then(|| format!("{what}: {}", listed.join(", ")))
    };
    let both = [of(NodeKind::Host, "hosts"), of(NodeKind::Switch, "switches, since they have to forward")];
    let both: Vec<String> = both.into_iter().flatten().collect();
    let text = format!("taken for {} (a label {ROLE}: host or switch says otherwise)", both.join("; for "));
    (!both.is_empty()).then_some(Remark::Assumed(text))
}
