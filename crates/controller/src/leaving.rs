//! Routes that a contract has left, or is leaving, while packets may still be on them.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use wayleave_contracts::Demand;
use wayleave_ledger::Reservation;
use wayleave_topology::{FlowId, LinkId, NodeId, Route};
use wayleave_units::Time;

use crate::book::Place;
use crate::controller::Controller;

/// A route (or several, of a protected contract) that is being left.
#[derive(Clone, Debug)]
pub(crate) struct Leaving {
    pub(crate) serial: u64,
    /// Who sends there.
    pub(crate) node: NodeId,
    /// What was reserved there.
    pub(crate) place: Place,
    /// Once the sender has this version, or a later one, it sends nothing more there.
    pub(crate) until: u64,
    /// How long packets are under way there at most.
    pub(crate) drain: Time,
    pub(crate) phase: Phase,
    /// The reservation, if it is kept in the ledger until then. If not, who needs the room has to wait.
    pub(crate) held: Option<FlowId>,
}

/// How far it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    /// The sender may still send.
    Waiting,
    /// It does not; the last packets have left at this time, by the steady clock.
    Draining(Time),
}

impl Leaving {
    pub(crate) fn links(&self) -> impl Iterator<Item = LinkId> {
        self.place.reservations.iter().flat_map(|one| one.route.hops.iter().map(|hop| hop.link))
    }
}

/// Of more routes that were left nobody asks whether they fit, so that thousands of contracts which lose a switch together do not
/// each ask of all others; a few milliseconds' waiting costs less.
const MOST_ASKED: usize = 64;

/// Whether packets can only be where the ledger and routes that were left say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Room {
    /// They can.
    Known,
    /// Some contracts have other places in the ledger already, and have not left their old ones: they come after, and need not be
    /// waited for, since they were there when this was decided. But nobody has asked whether they fit beside what was left before.
    Unknown,
}

/// All of them.
#[derive(Default)]
pub(crate) struct Leavings {
    by_number: BTreeMap<u64, Leaving>,
    of_contract: HashMap<u64, BTreeSet<u64>>,
    /// By link, those that are free in the ledger already.
    freed: HashMap<LinkId, BTreeSet<u64>>,
}

impl Leavings {
    pub(crate) fn insert(&mut self, number: u64, leaving: Leaving) {
        self.of_contract.entry(leaving.serial).or_default().insert(number);
        if leaving.held.is_none() {
            for link in leaving.links() {
                self.freed.entry(link).or_default().insert(number);
            }
        }
        self.by_number.insert(number, leaving);
    }

    /// From a record: what was held is not free, although its flow is not there yet.
    pub(crate) fn insert_loaded(&mut self, number: u64, leaving: Leaving, was_held: bool) {
        if was_held {
            self.of_contract.entry(leaving.serial).or_default().insert(number);
            self.by_number.insert(number, leaving);
        } else {
            self.insert(number, leaving);
        }
    }

    /// What holds it in the ledger.
    pub(crate) fn hold(&mut self, number: u64, flow: Option<FlowId>) {
        if let Some(leaving) = self.by_number.get_mut(&number) {
            leaving.held = flow;
        }
    }

    pub(crate) fn remove(&mut self, number: u64) -> Option<Leaving> {
        let leaving = self.by_number.remove(&number)?;
        forget(&mut self.of_contract, leaving.serial, number);
        if leaving.held.is_none() {
            for link in leaving.links() {
                forget(&mut self.freed, link, number);
            }
        }
        Some(leaving)
    }

    pub(crate) fn get(&self, number: u64) -> Option<&Leaving> {
        self.by_number.get(&number)
    }

    pub(crate) fn set_phase(&mut self, number: u64, phase: Phase) {
        if let Some(leaving) = self.by_number.get_mut(&number) {
            leaving.phase = phase;
        }
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (u64, &Leaving)> {
        self.by_number.iter().map(|(&number, leaving)| (number, leaving))
    }

    /// Those of a contract.
    pub(crate) fn of(&self, serial: u64) -> impl Iterator<Item = (u64, &Leaving)> {
        let numbers = self.of_contract.get(&serial).into_iter().flatten();
        numbers.filter_map(|&number| Some((number, self.by_number.get(&number)?)))
    }

    /// Those on these links whose reservation is free in the ledger.
    fn freed_on(&self, links: &BTreeSet<LinkId>) -> BTreeSet<u64> {
        links.iter().filter_map(|link| self.freed.get(link)).flatten().copied().collect()
    }
}

impl Controller {
    /// What has to be empty before packets may be sent on these routes, which are reserved: places that were left, are free in the
    /// ledger, and do not fit beside all that is reserved there. All of them do where that cannot be asked ([`Room::Unknown`]),
    /// or of too many.
    ///
    /// `from` is the one that the sender changes over from without a stop. As far as its old route is the new one, all of its packets
    /// have passed one bucket and have waited in the same queues, so there the larger of both reservations holds for all of them; only
    /// behind the point where the routes part do both count. Who uses the rest of the larger one, should that be the old, waits.
    pub(crate) fn in_the_way(&mut self, routes: &[Route], from: Option<(u64, Demand)>, room: Room) -> BTreeSet<u64> {
        let links: BTreeSet<LinkId> = routes.iter().flat_map(|route| route.hops.iter().map(|hop| hop.link)).collect();
        let left = self.leavings.freed_on(&links);
        if room == Room::Unknown || left.len() > MOST_ASKED {
            return left;
        }
        let mut left = Vec::from_iter(left);
        // Nobody has to stop if somebody else can be waited for.
        left.sort_by_key(|&number| from.is_none_or(|(from, _)| from != number));
        let (mut held, mut waits_for) = (Vec::new(), BTreeSet::new());
        for number in left {
            let Some(leaving) = self.leavings.get(number) else { continue };
            let demand = from.filter(|&(from, _)| from == number).map(|(_, demand)| demand);
            let shared = demand.map_or_else(Vec::new, |demand| shared(&leaving.place.reservations, routes, demand));
            let all = leaving.place.reservations.iter().zip(shared.into_iter().chain(std::iter::repeat(0)));
            match self.book.hold(all, &links) {
                Some(flows) => held.push(flows),
                None => _ = waits_for.insert(number),
            }
        }
        held.into_iter().rev().for_each(|flows| self.book.let_go(flows));
        waits_for
    }
}

/// How many hops each of these routes has in common with one of the new ones, from the sender on; each new one counts for one old.
/// None where neither bucket is the larger in both rate and burst.
fn shared(old: &[Reservation], new: &[Route], demand: Demand) -> Vec<usize> {
    let mut free: Vec<&Route> = new.iter().collect();
    let most = |reservation: &Reservation| {
        let old = (reservation.demand.rate, reservation.demand.burst);
        let is_comparable =
            old.0 <= demand.rate && old.1 <= demand.burst || old.0 >= demand.rate && old.1 >= demand.burst;
        let common =
            |new: &Route| reservation.route.hops.iter().zip(&new.hops).take_while(|(old, new)| old == new).count();
        let (at, hops) = free.iter().map(|new| common(new)).enumerate().max_by_key(|&(_, hops)| hops)?;
        is_comparable.then(|| {
            free.swap_remove(at);
            hops
        })
    };
    old.iter().map(most).map(Option::unwrap_or_default).collect()
}

fn forget<K: std::hash::Hash + Eq>(index: &mut HashMap<K, BTreeSet<u64>>, key: K, number: u64) {
    if let Some(numbers) = index.get_mut(&key) {
        numbers.remove(&number);
        if numbers.is_empty() {
            index.remove(&key);
        }
    }
}
