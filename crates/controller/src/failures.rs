//! What fails, what goes another way then, and what comes back.
//!
//! Contracts that lose all their routes give up their places and look for others, those of higher priority first (among equals the
//! older). Who finds none gets its old place back if that still fits beside those who found one: then it comes back
//! for certain when what failed is repaired. Protected contracts with a route left need nothing.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use wayleave_roles::Decision;
use wayleave_topology::{LinkId, NodeId, NodeKind};

use crate::apply::routes;
use crate::book::Place;
use crate::command::{ElementName, Fault, Outcome, Reply};
use crate::controller::{Controller, Dirty};
use crate::decision::Decided;
use crate::down::Down;
use crate::event::EventKind;
use crate::grant::{Grant, Trouble};
use crate::leaving::Room;
use crate::timers::Due;
use wayleave_protocol::Id;

/// A contract that lost its routes.
struct Homeless {
    serial: u64,
    /// What it had.
    place: Place,
    /// What it leaves, if it was used.
    leaving: Option<u64>,
}

impl Controller {
    pub(crate) fn set_element(&mut self, element: ElementName, down: Option<String>) -> Result<Reply, Fault> {
        let element = self.one_name(element)?;
        let said_up = down.is_none();
        let seen = self.down.get(&element).map(|down| down.seen().clone()).unwrap_or_default();
        let reply = self.turn(&element, Down::of(down, seen));
        // What its agent saw last is no news any more: it begins anew.
        if let ElementName::Node(name) = element
            && !said_up
        {
            self.forget_what_is_seen(&name, &BTreeSet::new());
        }
        Ok(reply)
    }

    /// The agent of a node sees which of its links have no carrier.
    pub(crate) fn see(&mut self, name: &str, epoch: u64, without_carrier: Vec<String>) -> Result<Reply, Fault> {
        let node = self.node(name)?;
        self.check_epoch(node, epoch)?;
        let mut cables = BTreeSet::new();
        for link in without_carrier {
            let of = |link: LinkId| [self.network.link(link).from, self.network.link(link).to].contains(&node);
            match self.network.find_link(&link) {
                Some(id) if of(id) => cables.insert(self.one_name(ElementName::Link(link))?),
                _ => {
                    let message = format!("{link} is no link of {name}: a node can speak of its own links");
                    return Err(Fault::Invalid { field: "withoutCarrier", message });
                }
            };
        }
        self.forget_what_is_seen(name, &cables);
        for cable in cables {
            let before = self.down.get(&cable).cloned().unwrap_or_default();
            if !before.seen().contains(name) {
                self.turn(&cable, Some(before.seen_by(name)));
            }
        }
        Ok(Reply::Done { outcome: Outcome::Changed, revision: self.counters.revision })
    }

    /// What a node saw does not count any more, but for these.
    fn forget_what_is_seen(&mut self, name: &str, still: &BTreeSet<ElementName>) {
        let is_over = |(element, down): &(&ElementName, &Down)| down.seen().contains(name) && !still.contains(*element);
        let over: Vec<ElementName> = self.down.iter().filter(is_over).map(|(element, _)| element.clone()).collect();
        for element in over {
            let down = self.down.get(&element).cloned().and_then(|down| down.not_seen_by(name));
            self.turn(&element, down);
        }
    }

    /// An element is down for these reasons from now on, or not down.
    fn turn(&mut self, element: &ElementName, down: Option<Down>) -> Reply {
        let (mut rerouted, mut degraded, mut restored) = (Vec::new(), Vec::new(), Vec::new());
        let is_down = down.is_some();
        let why = down.as_ref().map(|down| down.why().to_owned()).unwrap_or_default();
        let was_down = match down {
            Some(down) => self.down.insert(element.clone(), down).is_some(),
            None => self.down.remove(element).is_some(),
        };
        self.mark(Dirty::Down(element.clone()));
        if was_down == is_down {
            return Reply::Changed { rerouted, degraded, restored };
        }
        let revision = self.next_revision();
        let kind = if is_down { EventKind::Down } else { EventKind::Up };
        self.event(kind, &element.to_string(), None, revision, why);
        let turned = self.turn_links(element);
        if is_down {
            // First, so that what its contracts leave is known to be left.
            let homeless = self.evict(&turned);
            let silent = match element {
                ElementName::Node(name) => self.network.find_node(name).map(|node| self.silence(node)),
                ElementName::Link(_) => None,
            };
            self.rehouse(homeless, element, &mut rerouted, &mut degraded);
            silent.into_iter().flatten().for_each(|serial| self.advance(serial));
        } else {
            self.bring_back(&mut restored);
        }
        Reply::Changed { rerouted, degraded, restored }
    }

    /// A cable has one name, whichever direction was meant.
    fn one_name(&self, element: ElementName) -> Result<ElementName, Fault> {
        match element {
            ElementName::Node(name) => self.node(&name).map(|_| ElementName::Node(name)),
            ElementName::Link(name) => match self.network.find_link(&name) {
                Some(link) => Ok(ElementName::Link(self.network.link(self.network.cable(link)).name.clone())),
                None => Err(Fault::NotFound { what: "link", name }),
            },
        }
    }

    /// The directed links of an element.
    pub(crate) fn links_of(&self, element: &ElementName) -> Vec<LinkId> {
        match element {
            ElementName::Link(name) => {
                let link = self.network.find_link(name);
                link.into_iter().flat_map(|link| [Some(link), self.network.reverse(link)]).flatten().collect()
            }
            ElementName::Node(name) => {
                let of_node = |node: NodeId| [self.network.links_from(node), self.network.links_into(node)].concat();
                self.network.find_node(name).map(of_node).unwrap_or_default()
            }
        }
    }

    /// Closes and opens the links of an element, as all that is down asks for; which of them turned.
    pub(crate) fn turn_links(&mut self, element: &ElementName) -> Vec<LinkId> {
        let down: BTreeSet<LinkId> = self.down.keys().flat_map(|element| self.links_of(element)).collect();
        let mut turned = Vec::new();
        for link in self.links_of(element) {
            let is_closed = down.contains(&link);
            if self.book.ledger().is_closed(link) != is_closed {
                self.book.turn(link, is_closed);
                turned.push(link);
            }
        }
        turned
    }

    /// Whether a contract has a place with no route that is open from end to end.
    fn is_cut(&self, grant: &Grant) -> bool {
        let ledger = self.book.ledger();
        let routes = self.routes(grant);
        let is_open = |route: &wayleave_topology::Route| route.hops.iter().all(|hop| !ledger.is_closed(hop.link));
        !routes.iter().any(|(_, route)| is_open(route))
    }

    /// Contracts that these links have cut give up their places, in the order in which they are placed anew.
    fn evict(&mut self, closed: &[LinkId]) -> Vec<Homeless> {
        let ledger = self.book.ledger();
        let flows = closed.iter().flat_map(|&link| ledger.flows_on(link).iter().map(|&(_, flow)| flow));
        let serials: BTreeSet<u64> = flows.map(|flow| self.book.owner(flow)).collect();
        let cut = |grant: &&Grant| !grant.is_ended && grant.flow.is_some() && self.is_cut(grant);
        let mut cut: Vec<&Grant> = serials.iter().filter_map(|serial| self.grants.get(serial)).filter(cut).collect();
        cut.sort_by_key(|grant| (Reverse(grant.order.priority), grant.serial));
        let cut: Vec<u64> = cut.into_iter().map(|grant| grant.serial).collect();
        cut.into_iter().filter_map(|serial| self.evict_one(serial)).collect()
    }

    fn evict_one(&mut self, serial: u64) -> Option<Homeless> {
        let grant = self.grants.get_mut(&serial)?;
        let flow = grant.flow?;
        let is_pinned = grant.is_pinned();
        let place = self.book.place(flow, is_pinned)?;
        let leaving = self.leave_now(serial, place.clone());
        self.book.release(flow);
        let grant = self.grants.get_mut(&serial)?;
        (grant.flow, grant.sender.run) = (None, None);
        Some(Homeless { serial, place, leaving })
    }

    /// Looks for other places; who finds none keeps the old one if it still fits, and is degraded.
    fn rehouse(
        &mut self,
        homeless: Vec<Homeless>,
        element: &ElementName,
        rerouted: &mut Vec<Id>,
        degraded: &mut Vec<Id>,
    ) {
        let mut without = Vec::new();
        for one in homeless {
            let Some(grant) = self.grants.get(&one.serial) else { continue };
            let (id, request) = (grant.id.clone(), wayleave_schemes::request(&grant.order.contract, &self.model));
            match self.book.admit(&request) {
                Ok(decision) => {
                    self.settle(one.serial, &decision, one.leaving);
                    let revision = self.grants.get(&one.serial).map_or(0, |grant| grant.revision);
                    let detail = format!("{element} is down; bound {}", decision.bound);
                    self.event(EventKind::Rerouted, &id.to_string(), Some(id.tenant.clone()), revision, detail);
                    rerouted.push(id);
                }
                Err(refusal) => without.push((one, id, request, refusal)),
            }
        }
        for (one, id, request, refusal) in without {
            let why = refusal.reason().code().to_owned();
            let flow = self.book.put_back_if_it_fits(one.place, &request, one.serial);
            if let Some(flow) = flow {
                // It is not in force: moving it would help nobody.
                self.book.pin(flow, true);
            }
            let Some(grant) = self.grants.get_mut(&one.serial) else { continue };
            grant.flow = flow;
            grant.sender.stop = Some(grant.sender.next_version());
            grant.trouble = Some(Trouble::Failed { element: element.to_string(), keeps_place: flow.is_some(), why });
            let order = grant.order.clone();
            self.record(&id, order, request, Decided::Refused(refusal));
            self.touch(one.serial);
            self.advance(one.serial);
            degraded.push(id);
        }
        self.retry_later();
    }

    /// A contract without a place has found one; `left` is what it leaves.
    fn settle(&mut self, serial: u64, decision: &Decision, left: Option<u64>) {
        self.book_moves(decision);
        self.book.own(decision.flow, serial);
        let demand = self.book.ledger().flow(decision.flow).map(|reservation| reservation.demand);
        let mut waits_for = self.in_the_way(&routes(decision), left.zip(demand), Room::Known);
        // Others that lost their routes may wait for what it leaves: it stops, and nobody waits for himself.
        if !waits_for.is_empty() {
            waits_for.extend(left);
        }
        if let Some(grant) = self.grants.get_mut(&serial) {
            (grant.flow, grant.bound, grant.trouble) = (Some(decision.flow), decision.bound, None);
        }
        self.run(serial, waits_for);
        self.advance(serial);
    }

    /// Contracts that something failing has degraded, in the order in which they are helped.
    fn failed(&self) -> Vec<u64> {
        let is_failed = |grant: &&Grant| matches!(grant.trouble, Some(Trouble::Failed { .. })) && !grant.is_ended;
        let mut failed: Vec<&Grant> = self.grants.values().filter(is_failed).collect();
        failed.sort_by_key(|grant| (Reverse(grant.order.priority), grant.serial));
        failed.into_iter().map(|grant| grant.serial).collect()
    }

    /// Something is up again, or has been released: who kept its place goes back to it, and who lost it looks for one.
    fn bring_back(&mut self, restored: &mut Vec<Id>) {
        let failed = self.failed();
        // Places that were kept come first: they need nobody's leave.
        for &serial in &failed {
            let Some(grant) = self.grants.get(&serial) else { continue };
            let Some(flow) = grant.flow.filter(|_| !self.is_cut(grant)) else { continue };
            let (id, is_pinned) = (grant.id.clone(), grant.order.contract.route.is_some());
            self.book.pin(flow, is_pinned);
            let routes: Vec<_> = self.routes(grant).into_iter().map(|(_, route)| route).collect();
            let waits_for = self.in_the_way(&routes, None, Room::Known);
            if let Some(grant) = self.grants.get_mut(&serial) {
                grant.trouble = None;
            }
            self.run(serial, waits_for);
            self.advance(serial);
            restored.push(id);
        }
        for serial in failed {
            let Some(grant) = self.grants.get(&serial).filter(|grant| grant.trouble.is_some()) else { continue };
            let (id, kept) = (grant.id.clone(), grant.flow);
            let request = wayleave_schemes::request(&grant.order.contract, &self.model);
            if let Ok(decision) = self.book.admit(&request) {
                if let Some(flow) = kept {
                    self.book.release(flow);
                }
                self.settle(serial, &decision, None);
                restored.push(id);
            }
        }
    }

    /// Degraded contracts are tried again.
    pub(crate) fn retry(&mut self) {
        self.bring_back(&mut Vec::new());
        self.retry_later();
    }

    pub(crate) fn retry_later(&mut self) {
        if !self.failed().is_empty() && !self.timers.has(Due::Retry) {
            self.timers.at(self.now.steady + self.timing.retry_every, Due::Retry);
        }
    }

    /// Whether a switch or host is down itself, not only its links.
    pub fn is_down(&self, node: NodeId) -> bool {
        self.down.contains_key(&ElementName::Node(self.network.node(node).name.clone()))
    }

    /// Whether a node is a switch.
    pub fn is_switch(&self, node: NodeId) -> bool {
        self.network.node(node).kind == NodeKind::Switch
    }
}
