//! Hypothetical questions: the state after something failed, recovered, was requested, ended or drained.
//!
//! The question is put to a controller that was made for it ([`Controller::copy`], or `Controller::load`, with
//! [`EnforcedBy::Nobody`]) and is discarded afterwards. That controller executes the commands, and the differences
//! are the answer. Between two steps time passes until all packets have left the released routes, since the answer is
//! about the final state.
//!
//! [`EnforcedBy::Nobody`]: crate::EnforcedBy::Nobody

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::Arc;

use wayleave_contracts::{ContractKind, ContractRequest};
use wayleave_ledger::ReservedShare;
use wayleave_protocol::Id;
use wayleave_topology::{Hop, LinkId, NodeId};
use wayleave_units::Time;

use super::Controller;
use crate::clock::Timestamps;
use crate::command::{
    Command, CommandError, Effect, ElementName, ItemResult, Mode, Precondition, Reply, VmRequest, id_of,
};
use crate::grant::AdmittedContract;
use crate::journal::DirtyRecord;
use crate::releases::{PendingRelease, Phase};
use crate::what_if::{WhatIf, WhatIfOutcome};

/// Compared part of a contract: `true` if a failure has withdrawn it, and the hops of its routes, with [`END`] behind each route.
type Place<'a> = (bool, &'a [Hop]);

/// End mark behind the hops of a route; no network has such a link.
const END: Hop = Hop { link: LinkId(u32::MAX), queue: u8::MAX };

/// Placement of all contracts.
#[derive(Default)]
struct Places {
    hops: Vec<Hop>,
    /// Contracts in the order of their serial numbers, with where their hops begin and end.
    grants: Vec<(Arc<AdmittedContract>, Range<usize>)>,
}

impl Places {
    /// Returns the contract that had this serial number, and its placement.
    fn of(&self, serial: u64) -> Option<(&AdmittedContract, Place<'_>)> {
        let at = self.grants.binary_search_by_key(&serial, |(grant, _)| grant.serial).ok()?;
        let (grant, range) = &self.grants[at];
        Some((grant, (grant.is_failed(), &self.hops[range.clone()])))
    }
}

impl Controller {
    /// Executes the commands of a question, and returns the differences.
    ///
    /// # Errors
    /// If the question names an object that does not exist.
    pub fn ask(&mut self, now: Timestamps, what_if: WhatIf) -> Result<WhatIfOutcome, CommandError> {
        if let Some(id) = what_if.delete.iter().find(|id| self.version_of(id).is_none()) {
            return Err(CommandError::NotFound { what: "contract", name: id.to_string() });
        }
        let before = self.places();
        let mut outcome = WhatIfOutcome::default();
        for element in what_if.fail {
            self.step(now, Command::SetElement { element, down: Some("what if".to_owned()) })?;
        }
        for element in what_if.restore {
            self.step(now, Command::SetElement { element, down: None })?;
        }
        for id in what_if.delete {
            self.step(now, Command::Delete { ids: vec![(id.clone(), Precondition::None)] })?;
            outcome.deleted.push(id);
        }
        self.apply_for(now, what_if.apply, &mut outcome, true)?;
        self.drain(now, &what_if.drain, &mut outcome)?;
        self.compare(&before, &mut outcome);
        Ok(outcome)
    }

    /// Executes one step, and lets time pass until all packets of released routes have left. A release whose sender
    /// waits for its start stays pending: the calendar does not advance here.
    fn step(&mut self, now: Timestamps, command: Command) -> Result<Reply, CommandError> {
        let reply = self.handle(Timestamps { steady: self.enforcement().now().steady, ..now }, command)?;
        self.drain_releases(now);
        // The drained routes may have made room for degraded contracts.
        self.admission.retry();
        self.drain_releases(now);
        Ok(reply)
    }

    fn drain_releases(&mut self, now: Timestamps) {
        let drains = |release: &PendingRelease| matches!(release.phase, Phase::Draining(_));
        while self.enforcement().releases().iter().any(|(_, release)| drains(release)) {
            let Some(due) = self.due().0 else { break };
            self.tick(Timestamps { steady: due, ..now });
        }
        self.admission.free_left_shares(Time::MAX);
    }

    fn places(&self) -> Places {
        let mut places = Places::default();
        for grant in self.contracts().iter_shared().filter(|grant| !grant.is_ended()) {
            let begin = places.hops.len();
            self.hops_of(grant, &mut places.hops);
            places.grants.push((grant.clone(), begin..places.hops.len()));
        }
        places
    }

    fn hops_of(&self, grant: &AdmittedContract, hops: &mut Vec<Hop>) {
        for (_, route) in self.enforcement().routes_of(grant) {
            hops.extend(&route.hops);
            hops.push(END);
        }
        if let Some(ReservedShare::Pair { route, .. }) = self.share_of(grant) {
            hops.extend(&route.hops);
        }
    }

    fn apply_for(
        &mut self,
        now: Timestamps,
        orders: Vec<ContractRequest>,
        outcome: &mut WhatIfOutcome,
        is_asked: bool,
    ) -> Result<(), CommandError> {
        for order in orders {
            let (mode, effect) = (Mode::Each, Effect::Commit);
            let reply = self.step(now, Command::Apply { orders: vec![(order, Precondition::None)], mode, effect })?;
            let Reply::Each(applied) = reply else { continue };
            for ItemResult { id, result, .. } in applied {
                match result {
                    Ok(_) if is_asked => outcome.admitted.push(id),
                    Ok(_) => {}
                    Err(fault) => outcome.refused.push((id, fault)),
                }
            }
        }
        Ok(())
    }

    /// Puts all VMs of some hosts elsewhere. Contracts of the hosts themselves have nowhere to go: they are degraded.
    fn drain(&mut self, now: Timestamps, hosts: &[String], outcome: &mut WhatIfOutcome) -> Result<(), CommandError> {
        let nodes = hosts.iter().map(|name| self.host(name)).collect::<Result<BTreeSet<NodeId>, CommandError>>()?;
        let vms: Vec<(Id, NodeId)> =
            self.vms().filter(|(_, vm)| nodes.contains(&vm.host)).map(|(id, vm)| (id.clone(), vm.host)).collect();
        let moves = |tenant: &str, end: &str| vms.iter().any(|(id, _)| id.tenant == tenant && id.name == end);
        let ends = |grant: &AdmittedContract| grant.order.members.iter().any(|end| moves(&grant.id.tenant, end));
        let mut grants: Vec<&AdmittedContract> =
            self.contracts().iter().filter(|grant| !grant.is_ended() && ends(grant)).collect();
        grants.sort_by(|one, other| one.id.cmp(&other.id));
        let mut orders: Vec<ContractRequest> = grants.into_iter().map(|grant| grant.order.clone()).collect();
        // Contracts of higher priority are placed first, and among equals latency contracts.
        orders.sort_by_key(|order| (Reverse(order.priority), order.kind() != ContractKind::Latency));
        for order in &orders {
            let ids = vec![(id_of(order), Precondition::None)];
            self.step(now, Command::Delete { ids })?;
        }
        for (id, _) in &vms {
            self.step(now, Command::DeleteVm { id: id.clone(), check: Precondition::None })?;
        }
        for name in hosts {
            let (element, down) = (ElementName::Node(name.clone()), Some("drained".to_owned()));
            self.step(now, Command::SetElement { element, down })?;
        }
        for (id, from) in vms {
            let put =
                Command::PutVm { id: id.clone(), placement: VmRequest::Fit, mac: None, check: Precondition::None };
            let _ = self.step(now, put);
            let to = self.vm(&id).map(|vm| vm.host);
            outcome.placed.push((id, from, to));
        }
        for order in &mut orders {
            let id = id_of(order);
            let host = |(_, name, now): (_, &str, NodeId)| self.end_of(&id, name).unwrap_or(now);
            let hosts: Vec<NodeId> = order.placed_members().into_iter().map(host).collect();
            *order = order.clone().on(&hosts);
        }
        self.apply_for(now, orders, outcome, false)
    }

    fn host(&self, name: &str) -> Result<NodeId, CommandError> {
        let node = self.node(name).ok().filter(|&node| !self.is_switch(node));
        node.ok_or_else(|| CommandError::NotFound { what: "host", name: name.to_owned() })
    }

    /// Compares what was written down as changed: nothing else can be different.
    fn compare(&self, before: &Places, outcome: &mut WhatIfOutcome) {
        let changed = self.journal().dirty().iter().filter_map(|dirty| match dirty {
            DirtyRecord::Contract(serial) => before.of(*serial),
            _ => None,
        });
        let changed: BTreeMap<&Id, _> = changed.map(|(grant, place)| (&*grant.id, (grant, place))).collect();
        for (id, (old_grant, old)) in changed {
            let Some(grant) = self.grant(id).filter(|grant| !grant.is_ended()) else { continue };
            let mut hops = Vec::new();
            self.hops_of(grant, &mut hops);
            let after: Place<'_> = (grant.is_failed(), &hops);
            let id = id.clone();
            let certainties = old_grant.valid_certainty().zip(grant.valid_certainty());
            if let Some((from, to)) = certainties.filter(|(from, to)| from != to) {
                outcome.certainty.push((id.clone(), from, to));
            }
            if old == after {
                continue;
            }
            match (old.0, after.0) {
                (false, true) => outcome.degraded.push(id),
                (true, false) => outcome.restored.push(id),
                (false, false) if !outcome.admitted.contains(&id) => outcome.rerouted.push(id),
                _ => {}
            }
        }
    }
}
