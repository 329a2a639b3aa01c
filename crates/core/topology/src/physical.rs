//! Elements that fail as a whole: a cable with both its directions, a switch with all its cables.

use std::collections::HashMap;

use crate::network::{Link, LinkId, Network, NodeId, NodeKind};
use crate::route::Route;

/// Something that fails as a whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum FailureElement {
    /// A cable, by one of its directions.
    Cable(LinkId),
    /// A switch.
    Switch(NodeId),
}

impl Network {
    /// The other direction of a link's cable; `None` if it has none.
    pub fn reverse(&self, link: LinkId) -> Option<LinkId> {
        self.reverse[link.index()]
    }

    /// One name for both directions of a cable: the one with the smaller index.
    pub fn cable(&self, link: LinkId) -> LinkId {
        self.reverse(link).map_or(link, |reverse| reverse.min(link))
    }

    /// Returns the human-readable name of an element: the link in the direction in which it is given, or the switch.
    pub fn element_name(&self, element: FailureElement) -> &str {
        match element {
            FailureElement::Cable(link) => &self.link(link).name,
            FailureElement::Switch(node) => &self.node(node).name,
        }
    }

    /// Returns `true` if a route breaks when an element fails.
    pub fn uses(&self, route: &Route, element: FailureElement) -> bool {
        match element {
            FailureElement::Cable(link) => route.hops.iter().any(|hop| self.cable(hop.link) == self.cable(link)),
            FailureElement::Switch(node) => route.hops.iter().any(|hop| {
                let link = self.link(hop.link);
                link.from == node || link.to == node
            }),
        }
    }

    /// Every cable and every switch of a route, in its order.
    pub fn elements(&self, route: &Route) -> Vec<FailureElement> {
        let mut elements = Vec::with_capacity(2 * route.hops.len());
        for hop in &route.hops {
            elements.push(FailureElement::Cable(hop.link));
            let to = self.link(hop.link).to;
            if self.node(to).kind == NodeKind::Switch {
                elements.push(FailureElement::Switch(to));
            }
        }
        elements
    }
}

/// Returns, per link, the other direction of its cable. Directions that were added as a cable follow one another;
/// remaining single directions between two nodes are paired in order. That is the cautious choice: two directions
/// that are taken for one cable fail together.
pub(crate) fn pair(links: &[Link]) -> Vec<Option<LinkId>> {
    let mut reverse = vec![None; links.len()];
    let mut at = 0;
    while at + 1 < links.len() {
        if (links[at].from, links[at].to) == (links[at + 1].to, links[at + 1].from) {
            (reverse[at], reverse[at + 1]) = (Some(LinkId(at as u32 + 1)), Some(LinkId(at as u32)));
            at += 1;
        }
        at += 1;
    }
    let mut waiting: HashMap<(NodeId, NodeId), Vec<usize>> = HashMap::new();
    for (index, link) in links.iter().enumerate() {
        if reverse[index].is_some() {
            continue;
        }
        let opposite = waiting.entry((link.to, link.from)).or_default();
        if opposite.is_empty() {
            waiting.entry((link.from, link.to)).or_default().push(index);
        } else {
            let other = opposite.remove(0);
            (reverse[index], reverse[other]) = (Some(LinkId(other as u32)), Some(LinkId(index as u32)));
        }
    }
    reverse
}
