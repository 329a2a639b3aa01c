//! Links and nodes that are down, with the reasons.

use std::collections::{BTreeMap, BTreeSet};

use wayleave_topology::{LinkId, Network, NodeId};

use crate::command::ElementName;

/// Reason that an element is down: an operator declared it, or agents at its ends see no carrier. It is up when
/// neither holds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Down {
    declared: Option<String>,
    /// Nodes whose agents see no carrier.
    seen: BTreeSet<String>,
    /// Both as a text.
    why: String,
}

impl Down {
    /// `None` if there is no reason.
    pub(crate) fn of(declared: Option<String>, seen: BTreeSet<String>) -> Option<Self> {
        let carrier = || (!seen.is_empty()).then(|| format!("no carrier at {}", listed(&seen)));
        let why = declared.clone().or_else(carrier)?;
        Some(Self { declared, seen, why })
    }

    /// Returns the state after one more node has observed it.
    pub(crate) fn seen_by(mut self, node: &str) -> Self {
        self.seen.insert(node.to_owned());
        Self::of(self.declared, self.seen).unwrap_or_default()
    }

    /// The same without what a node saw; `None` if there is no reason left.
    pub(crate) fn not_seen_by(mut self, node: &str) -> Option<Self> {
        self.seen.remove(node);
        Self::of(self.declared, self.seen)
    }

    pub(crate) fn declared(&self) -> Option<&str> {
        self.declared.as_deref()
    }

    /// Returns the nodes whose agents reported it; `None` if an operator declared it.
    pub fn observers(&self) -> Option<&BTreeSet<String>> {
        if self.declared.is_some() { None } else { Some(&self.seen) }
    }

    pub(crate) fn seen(&self) -> &BTreeSet<String> {
        &self.seen
    }

    /// Returns the reason as a clause.
    pub fn why(&self) -> &str {
        &self.why
    }

    /// Returns the reason as a clause that distinguishes the nodes that report it now from those that did earlier; `None` if
    /// all of them do, or none, or an operator declared it.
    pub fn why_in_part(&self, reports: impl Fn(&str) -> bool) -> Option<String> {
        let (now, earlier): (BTreeSet<&String>, BTreeSet<&String>) =
            self.observers()?.iter().partition(|node| reports(node));
        let is_part = !now.is_empty() && !earlier.is_empty();
        is_part.then(|| format!("no carrier at {}, and at {} when last reported", listed(now), listed(earlier)))
    }
}

/// Names in a sentence.
fn listed<'a>(nodes: impl IntoIterator<Item = &'a String>) -> String {
    Vec::from_iter(nodes.into_iter().map(String::as_str)).join(" and ")
}

/// Everything that is down.
#[derive(Clone, Default)]
pub(crate) struct Elements {
    down: BTreeMap<ElementName, Down>,
}

impl Elements {
    pub(crate) fn get(&self, element: &ElementName) -> Option<&Down> {
        self.down.get(element)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (&ElementName, &Down)> {
        self.down.iter()
    }

    /// An element is down from now on, or up; whether it was down before.
    pub(crate) fn set(&mut self, element: ElementName, down: Option<Down>) -> bool {
        match down {
            Some(down) => self.down.insert(element, down).is_some(),
            None => self.down.remove(&element).is_some(),
        }
    }

    /// The elements that a node sees without carrier.
    pub(crate) fn seen_by(&self, node: &str) -> Vec<ElementName> {
        self.iter().filter(|(_, down)| down.seen().contains(node)).map(|(element, _)| element.clone()).collect()
    }

    /// Returns the directed links that are down because of these elements.
    pub(crate) fn links(&self, network: &Network) -> BTreeSet<LinkId> {
        self.down.keys().flat_map(|element| links_of(network, element)).collect()
    }
}

/// The directed links of an element.
pub(crate) fn links_of(network: &Network, element: &ElementName) -> Vec<LinkId> {
    match element {
        ElementName::Link(name) => {
            let link = network.find_link(name);
            link.into_iter().flat_map(|link| [Some(link), network.reverse(link)]).flatten().collect()
        }
        ElementName::Node(name) => {
            let of_node = |node: NodeId| [network.links_from(node), network.links_into(node)].concat();
            network.find_node(name).map(of_node).unwrap_or_default()
        }
    }
}
