//! Topologies from a builder: `{ kind: fat-tree, k: 4 }` in a file, `fat-tree:k=4` on a command line.

use std::borrow::Cow;
use std::ops::Range;

use wayleave_topology::builders::{Cabling, Chain, FatTree, LeafSpine, build, testbeds};
use wayleave_topology::{Network, NetworkError};
use wayleave_units::Rate;

use super::explicit::{read_cabling, read_rate};
use super::named::Topology;
use super::port::{self, Keys};
use crate::fields::{Fields, Shape};
use crate::location::Span;
use crate::messages::{did_you_mean, nearest, one_of, quoted};
use crate::problem::{ProblemKind, Problems};
use crate::tree::{Entry, Node, Value};

/// The keys of one builder: its own, and those that all have but testbeds.
macro_rules! builder {
    ($what:literal, $($key:literal),+) => {
        Shape {
            what: $what,
            keys: &[
                "kind", $($key),+, "rate", "delay", "mtu", "queues", "buffer", "budgets", "hostQueues", "hostBuffer",
                "hostBudgets",
            ],
        }
    };
}

/// Kind, keys and meaning of `hosts` of every builder.
pub(crate) static BUILDERS: [(&str, Shape, &str); 6] = [
    (
        "fat-tree",
        builder!(
            "a fat tree",
            "k",
            "pods",
            "coresPerAggregation",
            "hostsPerEdge",
            "hosts",
            "parallel",
            "aggregationRate",
            "coreRate"
        ),
        "hostsPerEdge",
    ),
    (
        "leaf-spine",
        builder!("a leaf-spine network", "leaves", "spines", "hostsPerLeaf", "hosts", "parallel", "uplinkRate"),
        "hostsPerLeaf",
    ),
    ("line", builder!("a line", "switches", "hostsPerSwitch", "hosts"), "hostsPerSwitch"),
    ("ring", builder!("a ring", "switches", "hostsPerSwitch", "hosts"), "hostsPerSwitch"),
    ("star", builder!("a star", "hosts"), "hosts"),
    ("testbed", Shape { what: "a testbed", keys: &["kind", "name"] }, "name"),
];

/// The most cables that are built: one line must not take all memory (a leaf-spine of 100000 by 100000 would).
const MAX_CABLES: u64 = 1_000_000;

/// Builds what a mapping describes.
pub(super) fn read(node: &Node<'_>, problems: &mut Problems<'_>) -> Option<Network> {
    let kind = kind_of(node, problems)?;
    let (name, shape, hosts) = BUILDERS.iter().find(|(name, ..)| *name == kind)?;
    let fields = Fields::read(node, shape, problems)?;
    if *name == "testbed" {
        return testbed(&fields, problems);
    }
    if *hosts != "hosts" && fields.get("hosts").is_some() && fields.get(hosts).is_some() {
        let message = || format!("hosts is short for {hosts}: give only one of them");
        problems.report(ProblemKind::DuplicateKey, fields.key_span("hosts"), message);
    }
    let cabling = read_cabling(&fields, problems);
    let plan = Plan::read(name, hosts, &fields, problems);
    let (mut cabling, plan) = (cabling?, plan?);
    if !port::states_count(&fields, Keys::Host) {
        cabling.host_port = cabling.host_port_of(cabling.rate, cabling.mtu);
    }
    if let Some(cables) = plan.cables().filter(|&cables| cables > MAX_CABLES) {
        problems.report(ProblemKind::TooLarge, fields.value_span("kind"), || {
            format!("this network would have {cables} cables: at most {MAX_CABLES} are built")
        });
        return None;
    }
    match plan.build(cabling) {
        Ok(network) => Some(network),
        Err(error) => {
            let span = match error {
                NetworkError::Parameter { name, .. } => span_of_parameter(name, hosts, &fields),
                _ => fields.at,
            };
            problems.report(ProblemKind::Impossible, span, || error.to_string());
            None
        }
    }
}

/// Builds what one line describes.
pub(super) fn parse(text: &str, problems: &mut Problems<'_>) -> Option<Topology> {
    let node = parse_line(text, problems)?;
    let network = read(&node, problems)?;
    let Value::Mapping(entries) = &node.value else { return None };
    let value = |key: &str| entries.iter().find(|entry| entry.key.text() == Some(key))?.value.text();
    let name = value("name").or_else(|| value("kind"))?.to_owned();
    Some(Topology { name, network })
}

/// `KIND:KEY=VALUE,...` as a mapping.
fn parse_line<'a>(text: &'a str, problems: &mut Problems<'_>) -> Option<Node<'a>> {
    let (kind, rest) = text.split_once(':').unwrap_or((text, ""));
    let mut entries = vec![entry("kind", word(text, 0..0), scalar(text, 0..kind.len()))];
    let mut at = kind.len() + 1;
    for part in rest.split(',').filter(|_| !rest.trim().is_empty()) {
        let range = at..at + part.len();
        at = range.end + 1;
        if let Some(setting) = setting(text, range.clone()) {
            entries.push(setting);
        } else if kind.trim() == "testbed" {
            entries.push(entry("name", word(text, range.clone()), scalar(text, range)));
        } else {
            let message = || format!("{} is not a setting: expected KEY=VALUE", quoted(part.trim()));
            problems.report(ProblemKind::Syntax, word(text, range), message);
            return None;
        }
    }
    Some(Node { span: Span::new(0..text.len()), value: Value::Mapping(entries) })
}

/// `KEY=VALUE`; budgets are lists.
fn setting(text: &str, range: Range<usize>) -> Option<Entry<'_>> {
    let equals = range.start + text[range.clone()].find('=')?;
    let (key, value) = (word(text, range.start..equals), equals + 1..range.end);
    let name = &text[key.range()];
    let is_list = matches!(name, "budgets" | "hostBudgets");
    Some(entry(name, key, if is_list { list(text, value) } else { scalar(text, value) }))
}

/// The span of a part of a line without the spaces around it.
fn word(text: &str, range: Range<usize>) -> Span {
    let part = &text[range.clone()];
    let start = range.start + part.len() - part.trim_start().len();
    Span::new(start..start + part.trim().len())
}

fn scalar(text: &str, range: Range<usize>) -> Node<'_> {
    let span = word(text, range);
    Node { span, value: Value::Scalar(Cow::Borrowed(&text[span.range()])) }
}

/// Values joined by `+`.
fn list(text: &str, range: Range<usize>) -> Node<'_> {
    let mut at = range.start;
    let items = text[range.clone()].split('+').map(|part| {
        let item = scalar(text, at..at + part.len());
        at += part.len() + 1;
        item
    });
    let value = Value::Sequence(items.collect());
    Node { span: word(text, range), value }
}

fn entry<'a>(key: &'a str, span: Span, value: Node<'a>) -> Entry<'a> {
    Entry { key: Node { span, value: Value::Scalar(Cow::Borrowed(key)) }, value }
}

fn kind_of<'n>(node: &'n Node<'_>, problems: &mut Problems<'_>) -> Option<&'n str> {
    let kinds = BUILDERS.each_ref().map(|(name, ..)| *name);
    let Value::Mapping(entries) = &node.value else {
        let hint = "write `{ kind: fat-tree, k: 4 }`";
        let message = || (format!("a builder is a mapping, not {}", node.description()), hint);
        problems.report(ProblemKind::WrongType, node.span, message);
        return None;
    };
    let Some(entry) = entries.iter().find(|entry| entry.key.text() == Some("kind")) else {
        let message = || format!("a builder needs a kind: {}", one_of(&kinds));
        problems.report(ProblemKind::MissingKey, node.span, message);
        return None;
    };
    let kind = entry.value.expect_text(problems)?;
    if kinds.contains(&kind) {
        return Some(kind);
    }
    problems.report(ProblemKind::BadValue, entry.value.span, || {
        let near = did_you_mean(nearest(kind, kinds));
        let message = format!("unknown builder {}{near}", quoted(kind));
        let hint = match testbeds::ALL.iter().find(|(name, _)| *name == kind) {
            Some((name, _)) => format!("a testbed is written `testbed:{name}`, or `{{ kind: testbed, name: {name} }}`"),
            None => format!("the builders are {}", kinds.join(", ")),
        };
        (message, hint)
    });
    None
}

fn testbed(fields: &Fields<'_, '_>, problems: &mut Problems<'_>) -> Option<Network> {
    let node = fields.require("name", problems)?;
    let name = node.expect_text(problems)?;
    match testbeds::by_name(name) {
        Some(Ok(network)) => Some(network),
        Some(Err(error)) => {
            problems.report(ProblemKind::Impossible, node.span, || error.to_string());
            None
        }
        None => {
            problems.report(ProblemKind::UnknownName, node.span, || {
                let names: Vec<&str> = testbeds::ALL.iter().map(|(name, _)| *name).collect();
                let near = did_you_mean(nearest(name, names.iter().copied()));
                (
                    format!("there is no testbed {}{near}", quoted(name)),
                    format!("the testbeds are {}", names.join(", ")),
                )
            });
            None
        }
    }
}

/// A builder's parameters, with the cabling still to come.
enum Plan {
    FatTree(FatTree),
    LeafSpine(LeafSpine),
    Line(Chain),
    Ring(Chain),
    Star(u64),
}

impl Plan {
    fn read(name: &str, hosts: &'static str, fields: &Fields<'_, '_>, problems: &mut Problems<'_>) -> Option<Self> {
        let before = problems.mark();
        let hosts = if fields.get("hosts").is_some() { "hosts" } else { hosts };
        let given_hosts = fields.count(hosts, problems);
        let plan = match name {
            "fat-tree" => Self::FatTree(read_fat_tree(given_hosts, fields, problems)),
            "leaf-spine" => Self::LeafSpine(read_leaf_spine(given_hosts, fields, problems)),
            "star" => {
                fields.require("hosts", problems)?;
                Self::Star(given_hosts?)
            }
            "ring" => Self::Ring(read_chain(given_hosts, fields, problems)),
            _ => Self::Line(read_chain(given_hosts, fields, problems)),
        };
        (problems.mark() == before).then_some(plan)
    }

    /// Returns the number of cables; `None` if the builder itself refuses a parameter.
    fn cables(&self) -> Option<u64> {
        let sized = |count: u64| Some(count).filter(|&count| count <= 100_000);
        match self {
            Self::FatTree(spec) => {
                let k = Some(spec.k).filter(|&k| k <= 64)?;
                let edges = sized(spec.pods.unwrap_or(k))? * k / 2;
                let parallel = Some(spec.parallel).filter(|&parallel| parallel <= 64)?;
                let cores = sized(spec.cores_per_aggregation.unwrap_or(k / 2))?;
                Some(edges * (k / 2 * parallel + cores + sized(spec.hosts_per_edge.unwrap_or(k / 2))?))
            }
            Self::LeafSpine(spec) => {
                let (leaves, spines) = (sized(spec.leaves)?, sized(spec.spines)?);
                let parallel = Some(spec.parallel).filter(|&parallel| parallel <= 64)?;
                Some(leaves * spines * parallel + leaves * sized(spec.hosts_per_leaf)?)
            }
            Self::Line(spec) | Self::Ring(spec) => {
                let switches = sized(spec.switches)?;
                Some(switches + switches * sized(spec.hosts_per_switch)?)
            }
            Self::Star(hosts) => sized(*hosts),
        }
    }

    fn build(self, cabling: Cabling) -> Result<Network, NetworkError> {
        match self {
            Self::FatTree(spec) => build::fat_tree(&FatTree { cabling, ..spec }),
            Self::LeafSpine(spec) => build::leaf_spine(&LeafSpine { cabling, ..spec }),
            Self::Line(spec) => build::line(&Chain { cabling, ..spec }),
            Self::Ring(spec) => build::ring(&Chain { cabling, ..spec }),
            Self::Star(hosts) => build::star(hosts, cabling),
        }
    }
}

fn read_fat_tree(hosts: Option<u64>, fields: &Fields<'_, '_>, problems: &mut Problems<'_>) -> FatTree {
    let usual = FatTree::default();
    FatTree {
        k: fields.count("k", problems).unwrap_or(usual.k),
        pods: fields.count("pods", problems),
        cores_per_aggregation: fields.count("coresPerAggregation", problems),
        parallel: fields.count("parallel", problems).unwrap_or(usual.parallel),
        hosts_per_edge: hosts,
        aggregation_rate: rate(fields, "aggregationRate", problems),
        core_rate: rate(fields, "coreRate", problems),
        ..usual
    }
}

fn read_leaf_spine(hosts: Option<u64>, fields: &Fields<'_, '_>, problems: &mut Problems<'_>) -> LeafSpine {
    let usual = LeafSpine::default();
    LeafSpine {
        leaves: fields.count("leaves", problems).unwrap_or(usual.leaves),
        spines: fields.count("spines", problems).unwrap_or(usual.spines),
        hosts_per_leaf: hosts.unwrap_or(usual.hosts_per_leaf),
        parallel: fields.count("parallel", problems).unwrap_or(usual.parallel),
        uplink_rate: rate(fields, "uplinkRate", problems),
        ..usual
    }
}

fn read_chain(hosts: Option<u64>, fields: &Fields<'_, '_>, problems: &mut Problems<'_>) -> Chain {
    let usual = Chain::default();
    Chain {
        switches: fields.count("switches", problems).unwrap_or(usual.switches),
        hosts_per_switch: hosts.unwrap_or(usual.hosts_per_switch),
        ..usual
    }
}

fn rate(fields: &Fields<'_, '_>, key: &str, problems: &mut Problems<'_>) -> Option<Rate> {
    read_rate(fields.get(key)?, problems)
}

/// Returns the position of a parameter that `wayleave-topology` refuses, by the name in its error.
fn span_of_parameter(name: &str, hosts: &str, fields: &Fields<'_, '_>) -> Span {
    let key = match name {
        "k" | "pods" | "leaves" | "spines" | "switches" => name,
        "cores per aggregation switch" => "coresPerAggregation",
        "switches of a ring" => "switches",
        "parallel links" => "parallel",
        _ if fields.get("hosts").is_some() => "hosts",
        _ => hosts,
    };
    fields.value_span(key)
}
