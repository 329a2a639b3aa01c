//! Roles of a lab's nodes: hosts, and those that forward.
//!
//! A label `wayleave.role`, a `group` that names one of both roles, or a kind decides. Bridges and network operating
//! systems are switches. Kinds that run anything (`linux`, virtual machines, traffic generators) are decided in this
//! order:
//!
//! 1. with one neighbour, a host;
//! 2. a switch if the file shows that it forwards: a sysctl, a command in `exec`, or the image of a router; a host if
//!    a sysctl disables forwarding;
//! 3. a switch if it has to forward: it is joined to a host, or nothing else joins its neighbours;
//! 4. a host with several links if all of its neighbours are switches.
//!
//! The role of all other nodes is unknown: that is an error that asks for the label. `--hosts leaves` decides it too.

use std::collections::{HashMap, HashSet};

use wayleave_topology::NodeKind;

use crate::graph::{Graph, HostSelector, ImportOptions, Remark, kind_of_word};
use crate::messages::quoted;
use crate::problem::{ProblemKind, Problems};
use crate::tree::{Node, Value};

/// Label with the role of a node.
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

/// Words in the names of images of routers and switches.
const ROUTERS: [&str; 14] = [
    "frr",
    "frrouting",
    "quagga",
    "bird",
    "bird2",
    "vyos",
    "openbgpd",
    "holo",
    "cumulus",
    "cx",
    "openwrt",
    "vpp",
    "ovs",
    "openvswitch",
];

/// Sysctls that make Linux forward.
const FORWARDING: [&str; 3] = ["net.ipv4.ip_forward", "net.ipv4.conf.all.forwarding", "net.ipv6.conf.all.forwarding"];

/// The most nodes that are tested for being the only ones that join their neighbours: a lab has tens, a hostile file any number.
const MAX_SEARCHES: usize = 1_000;

/// The role that a node seems to have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    /// By a label, a group or the kind.
    Known(NodeKind),
    /// A kind that runs anything; `true` if the file shows that it forwards, `false` if it shows the contrary.
    Station(Option<bool>),
    /// The machine that the lab runs on.
    Outside,
}

/// A node with its inherited settings: from its group, its kind and the defaults, in this order.
pub(super) struct Settings<'n, 'a> {
    levels: Vec<&'n Node<'a>>,
    group: Option<&'n str>,
    pub(super) kind: Option<&'n str>,
}

impl<'n, 'a> Settings<'n, 'a> {
    pub(super) fn of(topology: &'n Node<'a>, node: &'n Node<'a>) -> Self {
        let defaults = topology.field("defaults");
        let inherited = |of: &str, name: Option<&str>| topology.field(of).and_then(|all| all.field(name?));
        let group_name = node.field_text("group").or_else(|| defaults.and_then(|node| node.field_text("group")));
        let group = inherited("groups", group_name);
        let kind_name = [Some(node), group, defaults].into_iter().flatten().find_map(|node| node.field_text("kind"));
        let kind = inherited("kinds", kind_name);
        let levels = [Some(node), group, kind, defaults].into_iter().flatten().collect();
        Self { levels, group: group_name, kind: kind_name }
    }

    pub(super) fn role(&self, problems: &mut Problems<'_>) -> Role {
        let label = self.levels.iter().find_map(|node| node.field("labels")?.field(ROLE));
        if let Some(label) = label {
            match label.text().and_then(kind_of_word) {
                Some(kind) => return Role::Known(kind),
                None => problems.report(ProblemKind::BadValue, label.span, || {
                    format!("the label {ROLE} is host or switch, not {}", quoted(label.text().unwrap_or_default()))
                }),
            }
        }
        match (self.group.and_then(kind_of_word), self.kind) {
            (Some(kind), _) => Role::Known(kind),
            (None, Some("host")) => Role::Outside,
            (None, Some(kind)) if !STATIONS.contains(&kind) => Role::Known(NodeKind::Switch),
            // Containerlab refuses a node without a kind; here it may be anything.
            (None, _) => Role::Station(self.forwards()),
        }
    }

    /// The file's statement that it forwards, or does not; `None` without one.
    fn forwards(&self) -> Option<bool> {
        let sysctl = |name: &str| self.levels.iter().find_map(|node| node.field("sysctls")?.field_text(name));
        let values: Vec<bool> = FORWARDING.iter().filter_map(|name| sysctl(name)).map(|value| value != "0").collect();
        let commands = self.levels.iter().find_map(|node| node.field("exec"));
        let is_switched_on = commands.is_some_and(|exec| commands_switch_forwarding_on(exec));
        let image = self.levels.iter().find_map(|node| node.field_text("image"));
        match (values.contains(&true) || is_switched_on, values.is_empty()) {
            (true, _) => Some(true),
            (false, false) => Some(false),
            (false, true) => image.filter(|image| is_router(image)).map(|_| true),
        }
    }
}

/// Returns `true` if labels hold nothing but the role.
pub(super) fn is_role_alone(labels: &Node<'_>) -> bool {
    labels.entries().iter().all(|entry| entry.key.text() == Some(ROLE))
}

/// The commands of an `exec`.
pub(super) fn commands<'n>(exec: &'n Node<'_>) -> impl Iterator<Item = &'n str> {
    let list: &[Node<'_>] = match &exec.value {
        Value::Sequence(items) => items,
        _ => std::slice::from_ref(exec),
    };
    list.iter().filter_map(Node::text)
}

/// Returns `true` if a command changes rates, delays or MTUs: `tc`, or `ip link ... mtu`.
pub(super) fn shapes(command: &str) -> bool {
    let words: Vec<&str> = command.split(|c: char| c.is_whitespace() || "\"';&".contains(c)).collect();
    ["tc", "mtu", "ethtool", "netem", "wondershaper"].iter().any(|word| words.contains(word))
}

fn commands_switch_forwarding_on(exec: &Node<'_>) -> bool {
    // `sysctl -w net.ipv4.ip_forward=1`, `echo 1 > /proc/sys/net/ipv4/ip_forward`
    commands(exec).any(|command| {
        let compact: String = command.chars().filter(|c| !c.is_whitespace()).collect();
        let names = FORWARDING.iter().flat_map(|name| [(*name).to_owned(), name.replace('.', "/")]);
        names.into_iter().any(|name| {
            compact.contains(&format!("{name}=1")) || (compact.contains("echo1>") && compact.contains(&name))
        })
    })
}

/// Returns `true` if an image is that of a router, by a word of its name without its tag: `quay.io/frrouting/frr:9.1`.
fn is_router(image: &str) -> bool {
    let path = image.split('@').next().unwrap_or_default();
    let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
    let name = name.split(':').next().unwrap_or_default();
    // The registry is no part of the name: it has a dot or a port.
    let folders = folder.split('/').filter(|part| !part.contains('.') && !part.contains(':'));
    let mut words = folders.chain([name]).flat_map(|part| part.split(|c: char| !c.is_ascii_alphanumeric()));
    words.any(|word| ROUTERS.contains(&word.to_ascii_lowercase().as_str()))
}

/// The reason for a node's role.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reason {
    OneNeighbour,
    MarkedNotForwarding,
    AmongSwitches,
    MarkedForwarding,
    HasToForward,
    Leaves,
}

impl Reason {
    const ALL: [(Self, &str); 6] = [
        (Self::OneNeighbour, "hosts"),
        (Self::MarkedNotForwarding, "hosts, since their sysctls switch forwarding off"),
        (Self::AmongSwitches, "hosts with several links that are not marked as forwarding"),
        (Self::MarkedForwarding, "switches, by their image, sysctls or exec"),
        (Self::HasToForward, "switches, since they have to forward"),
        (Self::Leaves, "switches, by --hosts leaves"),
    ];

    const fn kind(self) -> NodeKind {
        match self {
            Self::OneNeighbour | Self::MarkedNotForwarding | Self::AmongSwitches => NodeKind::Host,
            Self::MarkedForwarding | Self::HasToForward | Self::Leaves => NodeKind::Switch,
        }
    }
}

/// Decides the roles of stations, and records the reasons.
pub(super) fn decide(
    graph: &mut Graph<'_>,
    roles: &HashMap<&str, Role>,
    options: &ImportOptions,
    problems: &mut Problems<'_>,
) {
    let mut stations = Stations::new(graph, roles);
    stations.by_file();
    stations.by_need();
    stations.among_switches();
    if options.hosts == HostSelector::Leaves {
        stations.undecided().into_iter().for_each(|node| stations.set(node, Reason::Leaves));
    }
    let open = stations.undecided();
    if let Some(&first) = open.first() {
        let names: Vec<String> = open.iter().take(8).map(|&node| quoted(&graph.nodes[node].id)).collect();
        problems.report(ProblemKind::MissingKey, graph.nodes[first].at, || {
            let more = if open.len() > names.len() { " and others" } else { "" };
            (
                format!("the file does not define whether {}{more} forward: their kind allows both", names.join(", ")),
                format!(
                    "add labels: {{ {ROLE}: host }} or {ROLE}: switch, or import with --hosts leaves if they forward"
                ),
            )
        });
    }
    let Stations { kinds, reasons, .. } = stations;
    graph.remarks.extend(about(graph, &reasons));
    graph.nodes.iter_mut().zip(kinds).for_each(|(node, kind)| node.kind = kind);
}

struct Stations {
    neighbours: Vec<Vec<usize>>,
    /// By index of node; `None` while it is open.
    kinds: Vec<Option<NodeKind>>,
    reasons: Vec<Option<Reason>>,
    forwards: Vec<Option<bool>>,
}

impl Stations {
    fn new(graph: &Graph<'_>, roles: &HashMap<&str, Role>) -> Self {
        let index: HashMap<&str, usize> = graph.nodes.iter().enumerate().map(|(at, node)| (&*node.id, at)).collect();
        let mut neighbours = vec![Vec::new(); graph.nodes.len()];
        for edge in &graph.edges {
            let [from, to] = edge.ends.each_ref().map(|end| index.get(&*end.id).copied());
            if let (Some(from), Some(to)) = (from, to)
                && from != to
            {
                neighbours[from].push(to);
                neighbours[to].push(from);
            }
        }
        for list in &mut neighbours {
            list.sort_unstable();
            list.dedup();
        }
        let forwards = graph.nodes.iter().map(|node| match roles.get(&*node.id) {
            Some(Role::Station(forwards)) => *forwards,
            _ => None,
        });
        let forwards = forwards.collect();
        let kinds = graph.nodes.iter().map(|node| node.kind).collect();
        Self { neighbours, kinds, reasons: vec![None; graph.nodes.len()], forwards }
    }

    fn set(&mut self, node: usize, reason: Reason) {
        self.kinds[node] = Some(reason.kind());
        self.reasons[node] = Some(reason);
    }

    fn undecided(&self) -> Vec<usize> {
        (0..self.kinds.len()).filter(|&node| self.kinds[node].is_none()).collect()
    }

    fn by_file(&mut self) {
        for node in self.undecided() {
            match (self.neighbours[node].len(), self.forwards[node]) {
                (0 | 1, _) => self.set(node, Reason::OneNeighbour),
                (_, Some(true)) => self.set(node, Reason::MarkedForwarding),
                (_, Some(false)) => self.set(node, Reason::MarkedNotForwarding),
                (_, None) => {}
            }
        }
    }

    fn by_need(&mut self) {
        let undecided = self.undecided();
        // Each of them is a search through the lab.
        let searched = undecided.len() <= MAX_SEARCHES;
        let has_to = |node: usize| {
            let others = &self.neighbours[node];
            let serves_host = others.iter().any(|&other| self.kinds[other] == Some(NodeKind::Host));
            serves_host || (searched && !self.are_joined_without(node))
        };
        let forwarding: Vec<usize> = undecided.into_iter().filter(|&node| has_to(node)).collect();
        forwarding.into_iter().for_each(|node| self.set(node, Reason::HasToForward));
    }

    /// Returns `true` if the neighbours of a node reach each other over others; hosts forward nothing.
    fn are_joined_without(&self, node: usize) -> bool {
        let Some(&start) = self.neighbours[node].first() else { return true };
        let (mut seen, mut open) = (HashSet::from([node, start]), vec![start]);
        while let Some(at) = open.pop() {
            for &next in &self.neighbours[at] {
                if self.kinds[next] != Some(NodeKind::Host) && seen.insert(next) {
                    open.push(next);
                }
            }
        }
        self.neighbours[node].iter().all(|other| seen.contains(other))
    }

    fn among_switches(&mut self) {
        let all_switches =
            |node: usize| self.neighbours[node].iter().all(|&other| self.kinds[other] == Some(NodeKind::Switch));
        let hosts: Vec<usize> = self.undecided().into_iter().filter(|&node| all_switches(node)).collect();
        hosts.into_iter().for_each(|node| self.set(node, Reason::AmongSwitches));
    }
}

/// The roles that nodes of general kinds were given.
fn about(graph: &Graph<'_>, reasons: &[Option<Reason>]) -> Option<Remark> {
    const LISTED: usize = 8;
    let of = |(reason, what): (Reason, &str)| {
        let with = graph.nodes.iter().zip(reasons).filter(|(_, its)| **its == Some(reason));
        let names: Vec<&str> = with.map(|(node, _)| &*node.id).collect();
        let mut listed: Vec<String> = names.iter().take(LISTED).map(|name| quoted(name)).collect();
        if names.len() > LISTED {
            listed.push(format!("{} more", names.len() - LISTED));
        }
        (!listed.is_empty()).then(|| format!("{what}: {}", listed.join(", ")))
    };
    let all: Vec<String> = Reason::ALL.into_iter().filter_map(of).collect();
    let text = format!("taken for {} (a label {ROLE}: host or switch overrides this)", all.join("; for "));
    (!all.is_empty()).then_some(Remark::Assumed(text))
}
