//! Model of the acknowledged state: answers to clients, in the order in which they were put on disk, compared with
//! the controller.
//!
//! The model is independent of the controller's implementation: contracts are names with their last requested terms.

use std::collections::BTreeMap;

use wayleave_contracts::ContractRequest;
use wayleave_controller::{Controller, Effect, Id, ItemResult, Mode, Outcome, Precondition};
use wayleave_topology::NodeId;
use wayleave_units::WallTime;

/// Acknowledged objects.
#[derive(Clone, Default)]
pub(crate) struct Model {
    contracts: BTreeMap<Id, ContractRequest>,
    revisions: BTreeMap<Id, u64>,
    /// By key, what was answered when it was carried out.
    keys: BTreeMap<String, String>,
    revision: u64,
    /// The latest time ever passed to the controller.
    pub(crate) latest: Option<WallTime>,
}

impl Model {
    pub(crate) fn ids(&self) -> Vec<Id> {
        self.contracts.keys().cloned().collect()
    }

    pub(crate) fn order(&self, id: &Id) -> Option<&ContractRequest> {
        self.contracts.get(id)
    }

    pub(crate) fn revision(&self, id: &Id) -> Option<u64> {
        self.revisions.get(id).copied()
    }

    fn expire(&mut self, id: &Id) {
        let may_have_ended =
            |order: &ContractRequest| order.ends.zip(self.latest).is_some_and(|(ends, latest)| ends <= latest);
        if self.contracts.get(id).is_some_and(may_have_ended) {
            self.contracts.remove(id);
        }
    }

    /// A list of contracts was decided and put on disk.
    pub(crate) fn applied(
        &mut self,
        orders: &[(ContractRequest, Precondition)],
        mode: Mode,
        effect: Effect,
        applied: &[ItemResult],
    ) -> Result<(), String> {
        if mode == Mode::AllOrNothing && applied.iter().any(|one| one.result.is_err()) {
            return applied.iter().try_for_each(|one| match one.result {
                Ok(_) => Err(format!("{} stands, and others of its list do not", one.id)),
                Err(_) => Ok(()),
            });
        }
        for ((order, check), one) in orders.iter().zip(applied) {
            let Ok(outcome) = one.result else { continue };
            let known = self.contracts.get(&one.id).cloned();
            let is_there = known.is_some();
            let right = match outcome {
                Outcome::Created => *check != Precondition::Present,
                Outcome::Changed => is_there && *check != Precondition::Absent,
                Outcome::Unchanged => {
                    known.as_ref().is_some_and(|known| is_same(known, order)) && *check != Precondition::Absent
                }
                Outcome::Deleted | Outcome::Absent | Outcome::Refused => false,
            };
            if outcome == Outcome::Created && is_there {
                self.expire(&one.id);
                if self.contracts.contains_key(&one.id) {
                    return Err(format!("{} is there twice", one.id));
                }
            }
            if !right {
                return Err(format!("{}: {outcome:?}, with {check:?} and {known:?} before", one.id));
            }
            if effect == Effect::Commit {
                self.contracts.insert(one.id.clone(), order.clone());
            }
        }
        Ok(())
    }

    /// A list of contracts was deleted.
    pub(crate) fn deleted(&mut self, applied: &[ItemResult]) -> Result<(), String> {
        for one in applied {
            match one.result {
                Ok(Outcome::Deleted) if self.contracts.remove(&one.id).is_none() => {
                    return Err(format!("{} was deleted, and was not there", one.id));
                }
                Ok(Outcome::Absent) => {
                    self.expire(&one.id);
                    if self.contracts.contains_key(&one.id) {
                        return Err(format!("{} is lost", one.id));
                    }
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// A request with a key was carried out, or answered from memory.
    pub(crate) fn answered(&mut self, key: &str, answer: &str, from_memory: bool) -> Result<(), String> {
        match self.keys.get(key) {
            Some(_) if !from_memory => Err(format!("request {key} was carried out twice")),
            Some(known) if known != answer => Err(format!("request {key} was answered {answer}, and {known} before")),
            None if from_memory => Err(format!("the answer to request {key} came from nowhere")),
            _ => {
                self.keys.insert(key.to_owned(), answer.to_owned());
                Ok(())
            }
        }
    }

    /// Checks that the controller has exactly the acknowledged objects.
    pub(crate) fn agrees(&mut self, controller: &Controller) -> Result<(), String> {
        for id in self.ids() {
            if controller.version_of(&id).is_none() {
                self.expire(&id);
                if self.contracts.contains_key(&id) {
                    return Err(format!("{id} is lost"));
                }
            }
        }
        let grants = controller.grants().filter(|grant| !grant.is_ended());
        for (id, notices, now) in grants.map(|grant| (&*grant.id, grant.order.clone(), grant.revision)) {
            match self.contracts.get(id) {
                None => return Err(format!("{id} is there, and no client was told so")),
                Some(order) if here(controller, id, order) != notices => {
                    return Err(format!("{id} has other terms than were told"));
                }
                Some(_) => {}
            }
            let revision = self.revisions.entry(id.clone()).or_default();
            if now < *revision {
                return Err(format!("{id} went back from revision {revision} to {now}"));
            }
            *revision = now;
        }
        if controller.revision() < self.revision {
            return Err(format!("revisions went back from {} to {}", self.revision, controller.revision()));
        }
        self.revision = controller.revision();
        Ok(())
    }
}

/// Returns `true` if two orders are equal: a VM that both name may have moved between them.
fn is_same(known: &ContractRequest, order: &ContractRequest) -> bool {
    if known.members != order.members {
        return false;
    }
    let hosts: Vec<NodeId> = order.placed_members().into_iter().map(|(_, _, host)| host).collect();
    known.clone().on(&hosts) == *order
}

/// The order with its ends on the hosts where they are now: contracts move with their VMs.
fn here(controller: &Controller, id: &Id, order: &ContractRequest) -> ContractRequest {
    let host = |(_, name, notices): (_, &str, NodeId)| controller.end_of(id, name).unwrap_or(notices);
    let hosts: Vec<NodeId> = order.placed_members().into_iter().map(host).collect();
    order.clone().on(&hosts)
}
