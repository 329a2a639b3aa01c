//! Links and nodes that fail, by declaration or as agents see it, and that are repaired.

use std::collections::BTreeSet;

use wayleave_topology::{LinkId, NodeId, NodeKind};

use super::Controller;
use crate::admission::{Cause, Consequences};
use crate::command::{CommandError, ElementName, Outcome, Reply};
use crate::elements::{Down, links_of};
use crate::event::EventKind;
use crate::journal::DirtyRecord;

impl Controller {
    pub(crate) fn set_element(&mut self, element: ElementName, down: Option<String>) -> Result<Reply, CommandError> {
        let element = self.one_name(element)?;
        let is_up = down.is_none();
        let seen = self.elements.get(&element).map(|down| down.seen().clone()).unwrap_or_default();
        let reply = self.turn(&element, Down::of(down, seen));
        // The last observations of its agent are outdated: it begins a new session.
        if let ElementName::Node(name) = element
            && !is_up
        {
            self.forget_what_is_seen(&name, &BTreeSet::new());
        }
        Ok(reply)
    }

    /// The agent of a node sees which of its links have no carrier.
    pub(crate) fn see(&mut self, name: &str, epoch: u64, without_carrier: Vec<String>) -> Result<Reply, CommandError> {
        let node = self.node(name)?;
        self.enforcement().check_epoch(node, epoch)?;
        let mut cables = BTreeSet::new();
        for link in without_carrier {
            let of = |link: LinkId| [self.network.link(link).from, self.network.link(link).to].contains(&node);
            match self.network.find_link(&link) {
                Some(id) if of(id) => cables.insert(self.one_name(ElementName::Link(link))?),
                _ => {
                    let message = format!("{link} is not a link of {name}: a node can report only its own links");
                    return Err(CommandError::Invalid { field: "withoutCarrier", message });
                }
            };
        }
        self.enforcement_mut().observe_links(node);
        self.forget_what_is_seen(name, &cables);
        for cable in cables {
            let before = self.elements.get(&cable).cloned().unwrap_or_default();
            if !before.seen().contains(name) {
                self.turn(&cable, Some(before.seen_by(name)));
            }
        }
        Ok(Reply::Done { outcome: Outcome::Changed, revision: self.journal().revision() })
    }

    /// Discards the observations of a node, except these.
    fn forget_what_is_seen(&mut self, name: &str, still: &BTreeSet<ElementName>) {
        for element in self.elements.seen_by(name).into_iter().filter(|element| !still.contains(element)) {
            let down = self.elements.get(&element).cloned().and_then(|down| down.not_seen_by(name));
            self.turn(&element, down);
        }
    }

    /// An element is down for these reasons from now on, or not down.
    fn turn(&mut self, element: &ElementName, down: Option<Down>) -> Reply {
        let mut consequences = Consequences::default();
        let is_down = down.is_some();
        let why = down.as_ref().map(|down| down.why().to_owned()).unwrap_or_default();
        let was_down = self.elements.set(element.clone(), down);
        self.journal_mut().mark(DirtyRecord::Down(element.clone()));
        if was_down != is_down {
            let revision = self.journal_mut().next_revision();
            let kind = if is_down { EventKind::Down } else { EventKind::Up };
            self.journal_mut().event(kind, &element.to_string(), None, revision, why);
            let turned = self.turn_links(element);
            if is_down {
                self.has_failed(element, &turned, &mut consequences);
            } else {
                self.has_been_repaired(&mut consequences);
            }
            let cause = format!("{element} is {}", if is_down { "down" } else { "up" });
            self.admission.refresh_protection(Some(&turned), &cause);
        }
        let Consequences { rerouted, degraded, restored } = consequences;
        Reply::Changed { rerouted, degraded, restored }
    }

    fn has_failed(&mut self, element: &ElementName, closed: &[LinkId], consequences: &mut Consequences) {
        // First, so that the releases of its contracts are pending.
        let displaced = self.admission.displace(closed);
        let silent = match element {
            ElementName::Node(name) => self.network.find_node(name).map(|node| self.enforcement_mut().silence(node)),
            ElementName::Link(_) => None,
        };
        self.admission.place_displaced(displaced, Cause::Down(&element.to_string()), consequences);
        silent.into_iter().flatten().for_each(|serial| self.enforcement_mut().advance(serial));
    }

    /// A repair changes paths as well: while something else is down, hoses may come to links that have too little for them.
    fn has_been_repaired(&mut self, consequences: &mut Consequences) {
        if let Some(other) = self.elements.iter().next().map(|(element, _)| element.to_string()) {
            let displaced = self.admission.displace(&[]);
            self.admission.place_displaced(displaced, Cause::Down(&other), consequences);
        }
        self.admission.restore(consequences);
    }

    /// A cable has one name, whichever direction was meant.
    fn one_name(&self, element: ElementName) -> Result<ElementName, CommandError> {
        match element {
            ElementName::Node(name) => self.node(&name).map(|_| ElementName::Node(name)),
            ElementName::Link(name) => match self.network.find_link(&name) {
                Some(link) => Ok(ElementName::Link(self.network.link(self.network.cable(link)).name.clone())),
                None => Err(CommandError::NotFound { what: "link", name }),
            },
        }
    }

    /// Closes and opens the links of an element, as all that is down asks for; those that changed.
    pub(super) fn turn_links(&mut self, element: &ElementName) -> Vec<LinkId> {
        let down = self.elements.links(&self.network);
        let mut links = links_of(&self.network, element);
        links.retain(|link| self.ledger().is_closed(*link) != down.contains(link));
        for is_closed in [false, true] {
            let turned: Vec<LinkId> = links.iter().copied().filter(|link| down.contains(link) == is_closed).collect();
            self.enforcement_mut().scheme_ledger_mut().turn(&turned, is_closed);
        }
        links
    }

    /// Returns `true` if a switch or host is down itself, not only its links.
    pub fn is_down(&self, node: NodeId) -> bool {
        self.elements.get(&ElementName::Node(self.network.node(node).name.clone())).is_some()
    }

    /// Returns `true` if a node is a switch.
    pub fn is_switch(&self, node: NodeId) -> bool {
        self.network.node(node).kind == NodeKind::Switch
    }
}
