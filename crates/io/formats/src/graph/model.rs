//! A graph as its file describes it, and the options of its import.

use std::borrow::Cow;
use std::collections::HashSet;

use wayleave_topology::NodeKind;
use wayleave_units::{Bytes, Rate, Time};

use super::number::{DelayUnit, RateUnit};
use super::remark::Remark;
use super::unused::Unused;
use crate::location::Span;
use crate::tree::{Entry, Node, Value};

/// User's values for data that a file lacks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ImportOptions {
    /// The rate of links that have none.
    pub(crate) default_rate: Option<Rate>,
    /// The delay of links that have none; without it they have none, 0 ns.
    pub(crate) default_delay: Option<Time>,
    /// The MTU of links that have none; without it they have the default of their format, or 1500 bytes.
    pub(crate) default_mtu: Option<Bytes>,
    /// Makes a key that is not used an error.
    pub(crate) strict: bool,
    /// `true` if links without a delay get that of light in a fibre along the great circle between their ends.
    pub(crate) delay_from_places: bool,
    /// Unit of a rate without one.
    pub(crate) rate_unit: Option<RateUnit>,
    /// Unit of a delay without one.
    pub(crate) delay_unit: Option<DelayUnit>,
    /// Rule that selects hosts.
    pub(crate) hosts: HostSelector,
    /// The rate of the links of attached hosts; without it that of the fastest link of their switch.
    pub(crate) host_rate: Option<Rate>,
}

impl ImportOptions {
    /// Sets the rate of links that have none.
    #[must_use]
    pub fn with_default_rate(self, default_rate: impl Into<Option<Rate>>) -> Self {
        Self { default_rate: default_rate.into(), ..self }
    }

    /// Sets the delay of links that have none.
    #[must_use]
    pub fn with_default_delay(self, default_delay: impl Into<Option<Time>>) -> Self {
        Self { default_delay: default_delay.into(), ..self }
    }

    /// Sets the MTU of links that have none.
    #[must_use]
    pub fn with_default_mtu(self, default_mtu: impl Into<Option<Bytes>>) -> Self {
        Self { default_mtu: default_mtu.into(), ..self }
    }

    /// Sets the treatment of a key that is not used: `true` makes it an error.
    #[must_use]
    pub fn with_strict(self, strict: bool) -> Self {
        Self { strict, ..self }
    }

    /// Sets the delay of links without one to that of light in a fibre between their ends, if `true`.
    #[must_use]
    pub fn with_delay_from_places(self, delay_from_places: bool) -> Self {
        Self { delay_from_places, ..self }
    }

    /// Sets the unit of a rate without one.
    #[must_use]
    pub fn with_rate_unit(self, rate_unit: impl Into<Option<RateUnit>>) -> Self {
        Self { rate_unit: rate_unit.into(), ..self }
    }

    /// Sets the unit of a delay without one.
    #[must_use]
    pub fn with_delay_unit(self, delay_unit: impl Into<Option<DelayUnit>>) -> Self {
        Self { delay_unit: delay_unit.into(), ..self }
    }

    /// Sets the rule that selects hosts.
    #[must_use]
    pub fn with_hosts(self, hosts: HostSelector) -> Self {
        Self { hosts, ..self }
    }

    /// Sets the rate of the links of attached hosts.
    #[must_use]
    pub fn with_host_rate(self, host_rate: impl Into<Option<Rate>>) -> Self {
        Self { host_rate: host_rate.into(), ..self }
    }
}

/// Rule that selects hosts, in addition to those that the file declares.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum HostSelector {
    /// As the file declares; one host is attached to every node if the file declares none.
    #[default]
    Auto,
    /// Nodes with one neighbour.
    Leaves,
    /// None but those that the file names.
    None,
    /// This number of hosts is attached to every switch that has a link; their names are `<switch>-h1` and so on.
    Attach(u32),
}

/// The most hosts that are attached to a node.
pub const MAX_HOSTS_PER_NODE: u32 = 10_000;

/// Nodes and edges as a file lists them.
#[derive(Debug, Default)]
pub(crate) struct Graph<'t> {
    /// Name in the file.
    pub(crate) name: Option<String>,
    /// Position for problems of the whole graph.
    pub(crate) at: Span,
    /// A rate or a delay here is that of edges without their own.
    pub(crate) attributes: Vec<Attribute<'t>>,
    pub(crate) nodes: Vec<GraphNode<'t>>,
    pub(crate) edges: Vec<GraphEdge<'t>>,
    /// Omissions of its reader.
    pub(crate) remarks: Vec<Remark>,
    /// Keys that its reader does not use.
    pub(crate) unused: Unused,
}

/// A node of a file.
#[derive(Debug)]
pub(crate) struct GraphNode<'t> {
    /// Identifier in edges.
    pub(crate) id: Cow<'t, str>,
    pub(crate) at: Span,
    pub(crate) attributes: Vec<Attribute<'t>>,
    /// Its kind, if the format itself states it.
    pub(crate) kind: Option<NodeKind>,
}

/// An edge of a file.
#[derive(Debug)]
pub(crate) struct GraphEdge<'t> {
    pub(crate) ends: [GraphEnd<'t>; 2],
    /// One direction only.
    pub(crate) directed: bool,
    pub(crate) at: Span,
    pub(crate) attributes: Vec<Attribute<'t>>,
}

/// An end of an edge: the id of a node, where the edge names it, and the port there.
#[derive(Debug)]
pub(crate) struct GraphEnd<'t> {
    pub(crate) id: Cow<'t, str>,
    pub(crate) at: Span,
    /// The node's name of the port.
    pub(crate) interface: Option<Cow<'t, str>>,
    /// Attributes of the direction that leaves this end; they replace those of the edge.
    pub(crate) attributes: Vec<Attribute<'t>>,
    /// MTU of the direction that leaves this end where the file gives none, and whose default it is.
    pub(crate) usual_mtu: Option<(Bytes, &'static str)>,
}

impl<'t> GraphEnd<'t> {
    /// Returns an end with no more data than the node.
    pub(crate) fn new(id: Cow<'t, str>, at: Span) -> Self {
        Self { id, at, interface: None, attributes: Vec::new(), usual_mtu: None }
    }
}

/// A name and a value.
#[derive(Debug)]
pub(crate) struct Attribute<'t> {
    pub(crate) key: Cow<'t, str>,
    /// `None` for values that are neither text nor number: they are never read.
    pub(crate) value: Option<Cow<'t, str>>,
    pub(crate) at: Span,
}

/// Attributes that name the interfaces at the two ends of an edge; the first pair is used for writing.
pub(super) const INTERFACES: [[&str; 2]; 3] = [
    ["source_interface", "target_interface"],
    ["sourceInterface", "targetInterface"],
    ["from_interface", "to_interface"],
];

impl GraphEdge<'_> {
    /// Makes interfaces of attributes that name them; an interface that the format itself gives stays.
    pub(super) fn take_interfaces(&mut self) {
        let Self { ends, attributes, .. } = self;
        attributes.retain(|attribute| {
            let at = INTERFACES.iter().find_map(|pair| pair.iter().position(|key| *key == attribute.key));
            match (at, &attribute.value) {
                (Some(at), Some(name)) if ends[at].interface.is_none() => {
                    ends[at].interface = (!name.is_empty()).then(|| name.clone());
                    false
                }
                _ => true,
            }
        });
    }
}

impl<'a> Node<'a> {
    /// The value of a key of a mapping whose other keys do not matter; null counts as absent. Merge keys (`<<`), which
    /// people use in the files of other tools, are followed.
    pub(crate) fn field(&self, key: &str) -> Option<&Self> {
        let Value::Mapping(entries) = &self.value else { return None };
        let own = entries.iter().find(|entry| entry.key.text() == Some(key)).map(|entry| &entry.value);
        let merged = || {
            let merged = &entries.iter().find(|entry| entry.key.text() == Some("<<"))?.value;
            match &merged.value {
                Value::Sequence(several) => several.iter().find_map(|one| one.field(key)),
                _ => merged.field(key),
            }
        };
        own.or_else(merged).filter(|node| !matches!(node.value, Value::Null))
    }

    /// The entries of a mapping, then those that its merge keys (`<<`) add: a key of the mapping itself comes before one
    /// that is merged, and an earlier merged mapping before a later one.
    pub(crate) fn entries(&self) -> Vec<&Entry<'a>> {
        let mut entries = Vec::new();
        self.collect_entries(&mut entries, &mut HashSet::new());
        entries
    }

    fn collect_entries<'n>(&'n self, found: &mut Vec<&'n Entry<'a>>, keys: &mut HashSet<&'n str>) {
        let Value::Mapping(entries) = &self.value else { return };
        let (merges, own): (Vec<_>, Vec<_>) = entries.iter().partition(|entry| entry.key.text() == Some("<<"));
        found.extend(own.into_iter().filter(|entry| entry.key.text().is_none_or(|key| keys.insert(key))));
        for merge in merges {
            match &merge.value.value {
                Value::Sequence(several) => several.iter().for_each(|one| one.collect_entries(found, keys)),
                _ => merge.value.collect_entries(found, keys),
            }
        }
    }

    /// The text of a key of such a mapping.
    pub(crate) fn field_text(&self, key: &str) -> Option<&str> {
        self.field(key)?.text()
    }

    /// The entries of a mapping as attributes, without some keys; what is null is absent.
    pub(crate) fn attributes(&self, without: &[&str]) -> Vec<Attribute<'a>> {
        let attribute = |Entry { key, value }: &Entry<'a>| {
            let Value::Scalar(name) = &key.value else { return None };
            let text = match &value.value {
                Value::Null => return None,
                Value::Scalar(text) => Some(text.clone()),
                _ => None,
            };
            let wanted = !without.contains(&&**name);
            wanted.then(|| Attribute { key: name.clone(), value: text, at: value.span })
        };
        self.entries().into_iter().filter_map(attribute).collect()
    }
}
