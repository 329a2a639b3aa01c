//! Containerlab's topology files: `topology` with `nodes` and `links`; rates and delays are in the `vars` of links,
//! or of endpoints for the direction that leaves the endpoint.
//!
//! Links are written briefly (`endpoints: ["a:eth1", "b:eth1"]`) or at length (`type: veth`, endpoints with `node`
//! and `interface`). `veth-stitch` is a veth link with a namespace between its ends, for captures
//! (`links/link_veth_stitched.go` of containerlab). Links that leave the lab (`host`, `mgmt-net`, `macvlan` and the
//! like) are left out, with a warning.
//!
//! A link without an MTU has 9500 bytes (`DefaultLinkMTU` of containerlab's `links` package; the manual, "tools veth
//! create"). The port of a SONiC node has 9100 (sonic-buildimage, `minigraph.py`: "set default port MTU as 9100").
//! Interface names are kept; `eth1` of SONiC is its port `Ethernet0`, `eth2` is `Ethernet4` (the manual, "SONiC":
//! "Interfaces mapping").
//!
//! The roles of nodes are decided in [`roles`].

mod roles;

use std::borrow::Cow;
use std::collections::HashMap;

use wayleave_units::Bytes;

use self::roles::Role;
use crate::graph::{Graph, GraphEdge, GraphEnd, GraphNode, ImportOptions, Remark, Unused};
use crate::messages::{did_you_mean_one_of, quoted};
use crate::nodelink::load;
use crate::problem::{ProblemKind, Problems};
use crate::tree::{Entry, Node, Value};

/// Types of links between two nodes of the lab.
const INSIDE: [&str; 2] = ["veth", "veth-stitch"];

/// Ends of links that are no nodes of the lab (containerlab's manual, "Topology definition").
const OUTSIDE: [&str; 6] = ["host", "mgmt-net", "macvlan", "vxlan", "vxlan-stitch", "dummy"];

/// MTU of a veth link that has none.
const VETH_MTU: (Bytes, &str) = (Bytes::new(9500), "containerlab's default");

/// MTU of a SONiC port that has none.
const SONIC_MTU: (Bytes, &str) = (Bytes::new(9100), "SONiC's default");

pub(crate) fn read<'t>(text: &'t str, options: &ImportOptions, problems: &mut Problems<'_>) -> Option<Graph<'t>> {
    let root = load(text, problems)?;
    let Some(topology) = root.field("topology") else {
        problems.report(ProblemKind::MissingKey, root.span, || {
            ("the key \"topology\" is missing", "a containerlab file has a name, and a topology with nodes and links")
        });
        return None;
    };
    let nodes = topology.field("nodes").filter(|nodes| matches!(nodes.value, Value::Mapping(_)));
    let Some(nodes) = nodes else {
        let message = "a topology needs the key \"nodes\", a mapping from names to nodes";
        problems.report(ProblemKind::MissingKey, topology.span, || message);
        return None;
    };
    let mut graph = Graph { name: root.field_text("name").map(str::to_owned), at: topology.span, ..Graph::default() };
    let mut lab =
        Lab { topology, nodes: HashMap::new(), left_out: Vec::new(), renamed: (None, 0), unused: Unused::default() };
    lab.note_unused(&root);
    for Entry { key, value } in nodes.entries() {
        graph.nodes.extend(lab.node(key, value, problems));
    }
    if let Some(links) = topology.field("links") {
        for link in links.expect_list("links", problems).unwrap_or_default() {
            graph.edges.extend(lab.link(link, problems));
        }
    }
    let given: HashMap<&str, Role> = lab.nodes.iter().map(|(name, node)| (&**name, node.role)).collect();
    roles::decide(&mut graph, &given, options, problems);
    graph.remarks.extend(lab.remark());
    graph.remarks.extend(lab.renamed_remark());
    graph.unused = lab.unused;
    Some(graph)
}

/// The properties of a node before its links are read.
struct LabNode {
    role: Role,
    is_sonic: bool,
    /// Set if `ethN` means a port of SONiC: that of [`sonic_port`].
    has_sonic_ports: bool,
}

struct Lab<'n, 'a> {
    topology: &'n Node<'a>,
    /// By name.
    nodes: HashMap<Cow<'a, str>, LabNode>,
    /// Links that leave the lab.
    left_out: Vec<String>,
    /// SONiC interfaces that were named after their ports: the first one, and their number.
    renamed: (Option<String>, usize),
    unused: Unused,
}

impl<'n, 'a> Lab<'n, 'a> {
    /// Notes the keys outside of nodes and links that are not used.
    fn note_unused(&mut self, root: &Node<'a>) {
        self.unused_of("the lab", root, &["name", "topology"]);
        self.unused_of("the topology", self.topology, &["nodes", "links", "defaults", "kinds", "groups"]);
        if let Some(defaults) = self.topology.field("defaults") {
            self.unused_of_settings("defaults", defaults);
        }
        for (of, owner) in [("kinds", "kinds"), ("groups", "groups")] {
            for Entry { value, .. } in self.topology.field(of).map(Node::entries).unwrap_or_default() {
                self.unused_of_settings(owner, value);
            }
        }
    }

    fn unused_of(&mut self, owner: &'static str, node: &Node<'a>, used: &[&str]) {
        for Entry { key, value } in node.entries() {
            // Keys that begin so hold anchors for others (YAML's "x-" convention).
            let key_text = key.text().unwrap_or_default();
            if !used.contains(&key_text) && !key_text.starts_with("x-") && !key_text.starts_with('.') {
                self.unused.add(owner, key_text, key.span.to(value.span));
            }
        }
    }

    /// Records the unused keys of a node, or of the settings that nodes inherit.
    fn unused_of_settings(&mut self, owner: &'static str, node: &Node<'a>) {
        // `type` is a model of the kind's chassis here.
        self.unused_of(owner, node, &["kind", "group", "type", "exec", "labels"]);
        if let Some(labels) = node.field("labels").filter(|labels| !roles::is_role_alone(labels)) {
            self.unused.add(owner, "labels", labels.span);
        }
        let Some(exec) = node.field("exec") else { return };
        match roles::commands(exec).any(roles::shapes) {
            true => self.unused.add_stated(owner, "exec", exec.span),
            false => self.unused.add(owner, "exec", exec.span),
        }
    }

    fn node(&mut self, key: &Node<'a>, node: &'n Node<'a>, problems: &mut Problems<'_>) -> Option<GraphNode<'a>> {
        let Value::Scalar(name) = &key.value else {
            let message = || format!("the name of a node is expected here, not {}", key.description());
            problems.report(ProblemKind::WrongType, key.span, message);
            return None;
        };
        self.unused_of_settings("nodes", node);
        let settings = roles::Settings::of(self.topology, node);
        let role = settings.role(problems);
        let kind = settings.kind.unwrap_or_default();
        let lab_node = LabNode {
            role,
            is_sonic: kind.contains("sonic"),
            has_sonic_ports: matches!(kind, "sonic-vs" | "sonic-vm"),
        };
        self.nodes.insert(name.clone(), lab_node);
        let kind = match role {
            Role::Known(kind) => Some(kind),
            Role::Station(_) => None,
            Role::Outside => return None,
        };
        Some(GraphNode { id: name.clone(), at: key.span, attributes: Vec::new(), kind })
    }

    fn link(&mut self, link: &Node<'a>, problems: &mut Problems<'_>) -> Option<GraphEdge<'a>> {
        if let Some(node) = link.field("type") {
            let kind = node.expect_text(problems)?;
            if OUTSIDE.contains(&kind) {
                let whose = link.field("endpoint").and_then(|end| end.field_text("node").or_else(|| end.text()));
                self.left_out.push(format!("{} ({kind})", quoted(whose.unwrap_or("a link"))));
                return None;
            }
            if !INSIDE.contains(&kind) {
                let known: Vec<&str> = INSIDE.into_iter().chain(OUTSIDE).collect();
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
        let (from, to) = (self.endpoint(from, problems), self.endpoint(to, problems));
        let ends = [from?, to?];
        let outside = |end: &GraphEnd<'_>| match self.nodes.get(&end.id) {
            Some(node) => node.role == Role::Outside,
            None => OUTSIDE.contains(&&*end.id),
        };
        if ends.iter().any(outside) {
            self.left_out.push(format!("{} to {}", quoted(&ends[0].id), quoted(&ends[1].id)));
            return None;
        }
        let mut attributes = self.vars("links", link);
        attributes.extend(link.attributes(&["endpoints", "type", "vars"]));
        Some(GraphEdge { ends, directed: false, at: link.span, attributes })
    }

    /// `NODE:INTERFACE`, or a mapping with both.
    fn endpoint(&mut self, node: &Node<'a>, problems: &mut Problems<'_>) -> Option<GraphEnd<'a>> {
        let mut end = if let Value::Mapping(_) = node.value {
            let Some(Node { value: Value::Scalar(id), span }) = node.field("node") else {
                problems.report(ProblemKind::MissingKey, node.span, || "an endpoint needs the key \"node\"");
                return None;
            };
            let interface = node.field_text("interface").map(|name| Cow::Owned(name.to_owned()));
            let mut attributes = self.vars("ends of links", node);
            attributes.extend(node.attributes(&["node", "interface", "vars"]));
            GraphEnd { interface, attributes, ..GraphEnd::new(id.clone(), *span) }
        } else {
            let text = node.expect_text(problems)?;
            let Some((name, interface)) = text.split_once(':') else {
                let message = || format!("{} is not an endpoint: NODE:INTERFACE is expected", quoted(text));
                problems.report(ProblemKind::BadValue, node.span, message);
                return None;
            };
            let interface = (!interface.is_empty()).then(|| Cow::Owned(interface.to_owned()));
            GraphEnd { interface, ..GraphEnd::new(Cow::Owned(name.to_owned()), node.span) }
        };
        let of = self.nodes.get(&end.id);
        end.usual_mtu = Some(if of.is_some_and(|node| node.is_sonic) { SONIC_MTU } else { VETH_MTU });
        if of.is_some_and(|node| node.has_sonic_ports)
            && let Some(port) = end.interface.as_deref().and_then(sonic_port)
        {
            let change = || {
                format!(
                    "{} of {} is {}",
                    quoted(end.interface.as_deref().unwrap_or_default()),
                    quoted(&end.id),
                    quoted(&port)
                )
            };
            self.renamed.0.get_or_insert_with(change);
            self.renamed.1 += 1;
            end.interface = Some(Cow::Owned(port));
        }
        Some(end)
    }

    /// The `vars` of a link or an endpoint.
    fn vars(&mut self, owner: &'static str, of: &Node<'a>) -> Vec<crate::graph::Attribute<'a>> {
        let Some(vars) = of.field("vars") else { return Vec::new() };
        if !matches!(vars.value, Value::Mapping(_)) {
            self.unused.add(owner, "vars", vars.span);
        }
        vars.attributes(&[])
    }

    fn renamed_remark(&self) -> Option<Remark> {
        let (first, count) = (self.renamed.0.as_ref()?, self.renamed.1);
        let more = if count > 1 { format!(" ({} more)", count - 1) } else { String::new() };
        Some(Remark::Assumed(format!("interfaces of SONiC nodes are named after their ports: {first}{more}")))
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

/// The port of SONiC that is wired to `ethN`: ports have four lanes each, and their numbers count lanes.
fn sonic_port(interface: &str) -> Option<String> {
    let number: u32 = interface.strip_prefix("eth")?.parse().ok()?;
    Some(format!("Ethernet{}", number.checked_sub(1)?.checked_mul(4)?))
}
