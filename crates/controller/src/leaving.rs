//! Routes that a contract has left, or is leaving, while packets may still be on them.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use wayleave_ledger::Reservation;
use wayleave_topology::{FlowId, LinkId, NodeId, Route};
use wayleave_units::Time;

use crate::book::Place;

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

    /// Those that have to be empty before packets may be sent on these routes: what they had is free in the ledger, and
    /// may be what the routes were given.
    pub(crate) fn in_the_way_of<'a>(&self, routes: impl Iterator<Item = &'a Route>) -> BTreeSet<u64> {
        let links = routes.flat_map(|route| route.hops.iter().map(|hop| hop.link));
        links.filter_map(|link| self.freed.get(&link)).flatten().copied().collect()
    }
}

fn forget<K: std::hash::Hash + Eq>(index: &mut HashMap<K, BTreeSet<u64>>, key: K, number: u64) {
    if let Some(numbers) = index.get_mut(&key) {
        numbers.remove(&number);
        if numbers.is_empty() {
            index.remove(&key);
        }
    }
}

/// Whether two routes meet again behind the point where they part. There, packets that were sent on a slow one and later
/// packets on a fast one can come together, more than one token bucket lets through.
pub(crate) fn rejoins(old: &[Reservation], new: &[Route]) -> bool {
    let after = |old: &Route, new: &Route| {
        let common = old.hops.iter().zip(&new.hops).take_while(|(one, other)| one == other).count();
        let later = || new.hops[common..].iter().map(|hop| hop.link);
        old.hops[common..].iter().any(|hop| later().any(|link| link == hop.link))
    };
    old.iter().any(|old| new.iter().any(|new| after(&old.route, new)))
}
