//! Ending contracts.

use crate::command::{Applied, Check, Fault, Outcome, Reply};
use crate::controller::{Controller, Dirty};
use crate::leaving::{Leaving, Phase};
use wayleave_protocol::Id;

impl Controller {
    pub(crate) fn delete(&mut self, ids: Vec<(Id, Check)>) -> Vec<Applied> {
        let each = |(id, check): (Id, Check)| {
            let result = self.delete_one(&id, check);
            Applied { id, result, decision: None }
        };
        ids.into_iter().map(each).collect()
    }

    fn delete_one(&mut self, id: &Id, check: Check) -> Result<Outcome, Fault> {
        let found = self.grant(id).filter(|grant| !grant.is_ended).map(|grant| (grant.serial, grant.revision));
        check.hold(found.map(|(_, revision)| revision))?;
        let Some((serial, _)) = found else { return Ok(Outcome::Absent) };
        self.end(serial);
        Ok(Outcome::Deleted)
    }

    /// Ends a contract: its sender is told to stop, and its reservation is held until its last packets have left.
    pub(crate) fn end(&mut self, serial: u64) {
        let Some(grant) = self.grants.get_mut(&serial) else { return };
        if std::mem::replace(&mut grant.is_ended, true) {
            return;
        }
        let may_run = grant.sender.may_run();
        grant.sender.run = None;
        let stop = grant.sender.next_version();
        grant.sender.stop = Some(stop);
        let (flow, tenant) = (grant.flow.take(), grant.id.tenant.clone());
        let (contract, node) = (grant.order.contract.clone(), grant.sender());
        if let Some(tenant) = self.tenants.get_mut(&tenant) {
            tenant.usage.subtract(&contract);
        }
        if let Some(flow) = flow {
            match self.book.place(flow, contract.route.is_some()).filter(|_| may_run) {
                Some(place) => {
                    // What is held for its last packets is nobody's to move.
                    self.book.pin(flow, true);
                    let drain = self.book.promised(flow);
                    self.counters.leaving += 1;
                    let number = self.counters.leaving;
                    let (until, phase, held) = (stop, Phase::Waiting, Some(flow));
                    self.leavings.insert(number, Leaving { serial, node, place, until, drain, phase, held });
                    self.mark(Dirty::Leaving(number));
                }
                // Nothing was ever sent: nothing has to leave.
                None => self.book.release(flow),
            }
        }
        self.touch(serial);
        self.advance(serial);
    }

    /// Ends the hold of a contract whose sender does not answer.
    pub(crate) fn forget(&mut self, id: &Id) -> Result<Reply, Fault> {
        let missing = || Fault::NotFound { what: "contract", name: id.to_string() };
        let serials: Vec<u64> =
            self.grants.values().filter(|grant| grant.id == *id).map(|grant| grant.serial).collect();
        let ended: Vec<u64> = serials.iter().copied().filter(|serial| self.grants[serial].is_ended).collect();
        if serials.is_empty() {
            return Err(missing());
        }
        if ended.is_empty() {
            let message = format!("contract {id} is not being released: delete it first");
            return Err(Fault::Invalid { field: "force", message });
        }
        for serial in ended {
            self.is_silent(serial);
        }
        Ok(Reply::Done { outcome: Outcome::Deleted, revision: self.counters.revision })
    }

    /// The sender of a contract certainly sends nothing: it is down, or its rule is gone.
    pub(crate) fn is_silent(&mut self, serial: u64) {
        self.note_silence(serial);
        self.advance(serial);
    }

    /// The same, before anything is told again.
    pub(crate) fn note_silence(&mut self, serial: u64) {
        // What it sent last may be under way, and what it sends on may be given to others before it is told to send again.
        let sent =
            self.grants.get(&serial).and_then(|grant| Some((grant.flow?, grant.is_pinned(), grant.sender.told?)));
        if let Some((flow, is_pinned, told)) = sent
            && let Some(place) = self.book.place(flow, is_pinned)
        {
            self.leave(serial, place, told.version);
        }
        let Some(grant) = self.grants.get_mut(&serial) else { return };
        let node = grant.sender();
        grant.sender.told = None;
        grant.sender.confirmed = None;
        grant.sender.asked = None;
        if let Some(state) = self.nodes.get_mut(&node) {
            state.waiting.remove(&serial);
        }
        self.mark(Dirty::Contract(serial));
        let left: Vec<u64> = self.leavings.of(serial).map(|(number, _)| number).collect();
        self.stopped(&left);
    }

    /// The time has come at which a contract starts or ends.
    pub(crate) fn started_or_ended(&mut self, serial: u64) {
        let Some(grant) = self.grants.get(&serial) else { return };
        if grant.order.ends.is_some_and(|ends| ends <= self.now.wall) {
            self.end(serial);
        } else {
            self.advance(serial);
        }
    }
}
