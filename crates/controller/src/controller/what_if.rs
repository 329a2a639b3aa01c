//! What would be if something failed, came back, were asked for, ended or emptied.
//!
//! The question is put to a controller that was made for it (`Controller::load` with [`Southbound::Assumed`]) and is thrown away
//! afterwards: it does what is asked, and what is different then is the answer. Between two steps time passes until no release is
//! pending, since the answer is about the state after all of it.
//!
//! [`Southbound::Assumed`]: crate::Southbound::Assumed

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use wayleave_contracts::AnyOrder;
use wayleave_ledger::Share;
use wayleave_protocol::Id;
use wayleave_protocol::contract::State;
use wayleave_topology::{NodeId, Route};

use super::Controller;
use crate::clock::Now;
use crate::command::{Applied, Check, Command, Effect, ElementName, Fault, Mode, Reply, VmWish, id_of};
use crate::question::{Prospect, Question};

/// What is compared of a contract.
#[derive(PartialEq, Eq)]
struct Snapshot {
    is_degraded: bool,
    routes: Vec<Route>,
}

impl Controller {
    /// Does what is asked, and says what is different then.
    ///
    /// # Errors
    /// If something is asked about that is not there.
    pub fn ask(&mut self, now: Now, question: Question) -> Result<Prospect, Fault> {
        let before = self.snapshots();
        let mut prospect = Prospect::default();
        for element in question.fail {
            self.step(now, Command::SetElement { element, down: Some("what if".to_owned()) })?;
        }
        for element in question.restore {
            self.step(now, Command::SetElement { element, down: None })?;
        }
        for id in question.delete {
            if !before.contains_key(&id) {
                return Err(Fault::NotFound { what: "contract", name: id.to_string() });
            }
            self.step(now, Command::Delete { ids: vec![(id.clone(), Check::None)] })?;
            prospect.deleted.push(id);
        }
        self.apply_for(now, question.apply, &mut prospect, true)?;
        self.drain(now, &question.drain, &mut prospect)?;
        self.compare(&before, &mut prospect);
        Ok(prospect)
    }

    /// One step, and time until no release is pending.
    fn step(&mut self, now: Now, command: Command) -> Result<Reply, Fault> {
        let reply = self.handle(Now { steady: self.enforcement().now().steady, ..now }, command)?;
        while self.enforcement().releases().iter().next().is_some() {
            let Some(due) = self.due().0 else { break };
            self.tick(Now { steady: due, ..now });
        }
        Ok(reply)
    }

    fn snapshots(&self) -> BTreeMap<Id, Snapshot> {
        let there = self.grants().filter(|grant| !grant.is_ended());
        let place = |grant| self.routes(grant).into_iter().map(|(_, route)| route).collect();
        let flows = there.map(|grant| {
            let is_degraded = grant.state == State::Degraded;
            (grant.id.clone(), Snapshot { is_degraded, routes: place(grant) })
        });
        let route = |share: &Share| if let Share::Pair { route, .. } = share { Some(route.clone()) } else { None };
        let shares = self.shared_grants().map(|grant| {
            let routes = self.share_of(grant).and_then(route).into_iter().collect();
            (grant.id.clone(), Snapshot { is_degraded: grant.state == State::Degraded, routes })
        });
        flows.chain(shares).collect()
    }

    fn apply_for(
        &mut self,
        now: Now,
        orders: Vec<AnyOrder>,
        prospect: &mut Prospect,
        is_asked: bool,
    ) -> Result<(), Fault> {
        for order in orders {
            let (mode, effect) = (Mode::Each, Effect::Commit);
            let reply = self.step(now, Command::Apply { orders: vec![(order, Check::None)], mode, effect })?;
            let Reply::Each(applied) = reply else { continue };
            for Applied { id, result, .. } in applied {
                match result {
                    Ok(_) if is_asked => prospect.admitted.push(id),
                    Ok(_) => {}
                    Err(fault) => prospect.refused.push((id, fault)),
                }
            }
        }
        Ok(())
    }

    /// Puts all VMs of some hosts elsewhere. Contracts of the hosts themselves have nowhere to go: they are degraded.
    fn drain(&mut self, now: Now, hosts: &[String], prospect: &mut Prospect) -> Result<(), Fault> {
        let nodes = hosts.iter().map(|name| self.host(name)).collect::<Result<BTreeSet<NodeId>, Fault>>()?;
        let vms: Vec<(Id, NodeId)> =
            self.vms().filter(|(_, vm)| nodes.contains(&vm.host)).map(|(id, vm)| (id.clone(), vm.host)).collect();
        let moves = |tenant: &str, end: &str| vms.iter().any(|(id, _)| id.tenant == tenant && id.name == end);
        let flows = self.grants().filter(|grant| !grant.is_ended());
        let flows = flows.map(|grant| (&grant.id, AnyOrder::Latency(grant.order.clone())));
        let shares = self.shared_grants().map(|grant| (&grant.id, AnyOrder::Shared(grant.order.clone())));
        let is_moved =
            |(id, order): &(&Id, AnyOrder)| order.members().iter().any(|(_, name, _)| moves(&id.tenant, name));
        let mut orders: Vec<AnyOrder> = flows.chain(shares).filter(is_moved).map(|(_, order)| order).collect();
        // Those of higher priority find their places first.
        orders.sort_by_key(|order| Reverse(order.priority()));
        for order in &orders {
            let ids = vec![(id_of(order), Check::None)];
            self.step(now, Command::Delete { ids })?;
        }
        for (id, _) in &vms {
            self.step(now, Command::DeleteVm { id: id.clone(), check: Check::None })?;
        }
        for name in hosts {
            let (element, down) = (ElementName::Node(name.clone()), Some("drained".to_owned()));
            self.step(now, Command::SetElement { element, down })?;
        }
        for (id, from) in vms {
            let put = Command::PutVm { id: id.clone(), wish: VmWish::Fit, mac: None, check: Check::None };
            let _ = self.step(now, put);
            let to = self.vm(&id).map(|vm| vm.host);
            prospect.placed.push((id, from, to));
        }
        for order in &mut orders {
            let id = id_of(order);
            let host = |(_, name, now): (_, &str, NodeId)| self.end_of(&id, name).unwrap_or(now);
            let hosts: Vec<NodeId> = order.members().into_iter().map(host).collect();
            *order = order.clone().on(&hosts);
        }
        self.apply_for(now, orders, prospect, false)
    }

    fn host(&self, name: &str) -> Result<NodeId, Fault> {
        let node = self.node(name).ok().filter(|&node| !self.is_switch(node));
        node.ok_or_else(|| Fault::NotFound { what: "host", name: name.to_owned() })
    }

    fn compare(&self, before: &BTreeMap<Id, Snapshot>, prospect: &mut Prospect) {
        for (id, after) in self.snapshots() {
            let Some(old) = before.get(&id).filter(|old| **old != after) else { continue };
            match (old.is_degraded, after.is_degraded) {
                (false, true) => prospect.degraded.push(id),
                (true, false) => prospect.restored.push(id),
                (false, false) if !prospect.admitted.contains(&id) => prospect.rerouted.push(id),
                _ => {}
            }
        }
    }
}
