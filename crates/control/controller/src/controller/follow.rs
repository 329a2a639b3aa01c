//! A controller that follows another one by reading the records that it writes.
//!
//! Nothing is decided or proven here: the leader has done so, and the next leader reads all records and derives every
//! promise again. Frequent changes are applied record by record. A change that affects the meaning of other records
//! (a policy, an element that is down) is not, and all records have to be read.

use std::collections::{BTreeMap, BTreeSet};

use wayleave_contracts::vm_mac;
use wayleave_protocol::{DEFAULT_TENANT, Id};

use super::Controller;
use super::load::{ReplacementOrder, number, parse, read_contract, unreadable};
use crate::clock::Timestamps;
use crate::contract_record::HeldReservation;
use crate::journal::Counters;
use crate::load_error::LoadError;
use crate::macs;
use crate::output::{RecordChange, RecordKind};
use crate::quota::QuotaUsage;
use crate::record::{NodeRecord, TenantRecord, VmRecord};
use crate::setup::UnfitPolicy;
use crate::vms::VmState;

/// Changes of records that cannot be followed: all records have to be read again, and this controller must not be used any longer.
#[derive(Debug)]
pub enum FollowError {
    /// Records of this kind change what others mean.
    Kind(RecordKind),
    /// Links are down, on which the placement of reservations depends.
    Down,
    /// They do not fit what is known.
    Load(LoadError),
}

impl std::fmt::Display for FollowError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Kind(kind) => write!(f, "a {} record was changed", kind.name()),
            Self::Down => f.write_str("something is down"),
            Self::Load(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for FollowError {}

impl From<LoadError> for FollowError {
    fn from(error: LoadError) -> Self {
        Self::Load(error)
    }
}

impl Controller {
    /// Takes over changes of records that another controller has made, of one commit or several, in order. This controller was loaded from the records before, and decides nothing.
    ///
    /// # Errors
    /// If all records have to be read again.
    pub fn follow(&mut self, now: Timestamps, changes: &[RecordChange]) -> Result<(), FollowError> {
        if self.elements.iter().next().is_some() {
            return Err(FollowError::Down);
        }
        self.journal_mut().set_now(now);
        // Of several changes of a record the last one counts.
        let last: BTreeMap<(RecordKind, &str), Option<&str>> =
            changes.iter().map(|change| ((change.kind, &*change.key), change.body.as_deref())).collect();
        // All old reservations of the changed contracts are released first: a new one is reserved beside the
        // unchanged ones only.
        for &(kind, key) in last.keys() {
            match kind {
                RecordKind::Contract => self.let_contract_go(number(kind, key)?),
                RecordKind::Release => self.let_release_go(number(kind, key)?),
                _ => {}
            }
        }
        let (mut again, mut shares, mut changed) = (Vec::new(), Vec::new(), BTreeSet::new());
        for ((kind, key), body) in last {
            match (kind, body) {
                (RecordKind::Contract, Some(body)) => {
                    let (grant, held, _) = read_contract(&self.network, kind, key, body, None)?;
                    let serial = grant.serial;
                    match held {
                        HeldReservation::Routes(reserved) => {
                            again.extend(reserved.and_then(|one| ReplacementOrder::of(serial, one)))
                        }
                        HeldReservation::Share(share) => shares.extend(share.map(|share| (serial, share))),
                    }
                    changed.insert(serial);
                    self.enforcement_mut().contracts_mut().insert(grant);
                }
                (RecordKind::Release, Some(body)) => self.read_release(key, body, UnfitPolicy::Refuse, &mut again)?,
                (RecordKind::Contract | RecordKind::Release, None) => {}
                _ => self.follow_other(kind, key, body)?,
            }
        }
        self.reserve_again(again)?;
        self.hold_shares(shares)?;
        for serial in changed {
            self.show(serial)?;
        }
        // Timers that become due are handled by the leader.
        while self.enforcement_mut().pop_due().is_some() {}
        Ok(())
    }

    /// A contract holds nothing and is not there any more.
    fn let_contract_go(&mut self, serial: u64) {
        let Some(grant) = self.contracts().get(serial) else { return };
        let (flow, share) = (grant.flow(), grant.share());
        let used = (!grant.is_ended).then(|| (grant.id.tenant.clone(), QuotaUsage::of(&grant.order.contract)));
        if let Some((tenant, used)) = used {
            self.admission.tenants_mut().0.subtract(&tenant, used);
        }
        let enforcement = self.enforcement_mut();
        if let Some(flow) = flow {
            enforcement.scheme_ledger_mut().release(flow);
        }
        if let Some(share) = share {
            enforcement.scheme_ledger_mut().release_share(share);
        }
        enforcement.contracts_mut().remove(serial);
    }

    fn let_release_go(&mut self, number: u64) {
        if let Some(flow) = self.enforcement_mut().forget_release(number) {
            self.enforcement_mut().scheme_ledger_mut().release(flow);
        }
    }

    /// Updates the state of a contract that was read, and the usage of its tenant.
    fn show(&mut self, serial: u64) -> Result<(), LoadError> {
        self.enforcement_mut().show(serial);
        let Some(grant) = self.contracts().get(serial).filter(|grant| !grant.is_ended) else { return Ok(()) };
        let (id, used) = (grant.id.clone(), QuotaUsage::of(&grant.order.contract));
        if self.admission.tenants_mut().0.count(&id.tenant, used) {
            return Ok(());
        }
        Err(LoadError::Dangling { record: format!("contract {id}"), other: format!("tenant {}", id.tenant) })
    }

    /// Takes over a record that holds nothing in the ledger.
    fn follow_other(&mut self, kind: RecordKind, key: &str, body: Option<&str>) -> Result<(), FollowError> {
        match (kind, body) {
            (RecordKind::Controller, Some(body)) => {
                self.journal_mut().restore(parse::<Counters>(kind, key, body)?);
                // As after a load.
                self.journal_mut().next_generation();
            }
            (RecordKind::Tenant, Some(body)) => {
                let record = parse::<TenantRecord>(kind, key, body)?;
                let (quota, created_after) = (record.quota(), record.created_after);
                self.admission.tenants_mut().0.replace(key, quota, record.revision, created_after);
                match record.numbers {
                    Some(numbers) => self.journal_mut().restore_own(key, numbers),
                    None => self.journal_mut().forget_own(key),
                }
            }
            (RecordKind::Tenant, None) => {
                self.admission.tenants_mut().0.forget(key);
                self.journal_mut().forget_own(key);
            }
            (RecordKind::Token, Some(body)) => self.tokens.insert(key.to_owned(), parse(kind, key, body)?),
            (RecordKind::Token, None) => self.tokens.forget(key),
            (RecordKind::Vm, body) => {
                let id = Id::parse(key, DEFAULT_TENANT).map_err(|error| unreadable(kind, key, error.to_string()))?;
                let Some(body) = body else {
                    self.vms.remove(&id);
                    return Ok(());
                };
                let record = parse::<VmRecord>(kind, key, body)?;
                let Some(host) = self.network.find_node(&record.host) else {
                    let record_of = format!("VM {id}");
                    return Err(LoadError::Missing { record: record_of, what: "node", name: record.host }.into());
                };
                let mac = record.mac.as_deref().map(vm_mac).transpose();
                let mac = mac.map_err(|error| unreadable(kind, key, error.to_string()))?;
                let mac = mac.unwrap_or_else(|| macs::of_old(&id));
                self.vms.insert(id, VmState { host, mac, revision: record.revision });
            }
            (RecordKind::Node, Some(body)) => {
                let record = parse::<NodeRecord>(kind, key, body)?;
                if let Some(node) = self.network.find_node(key) {
                    record.put(self.enforcement_mut().nodes_mut().entry(node));
                }
            }
            (RecordKind::Answer, Some(body)) => self.answers.insert(key.to_owned(), parse(kind, key, body)?),
            (RecordKind::Answer, None) => self.answers.forget(key),
            // Of old formats records are only deleted, when a contract is written again.
            (RecordKind::OldLatency | RecordKind::OldShare, None) => drop(self.old_records.remove(&number(kind, key)?)),
            (RecordKind::History, _) => {}
            (RecordKind::Contract | RecordKind::Release, _) => {}
            (
                RecordKind::Policy
                | RecordKind::Down
                | RecordKind::Controller
                | RecordKind::Node
                | RecordKind::OldLatency
                | RecordKind::OldShare,
                _,
            ) => {
                return Err(FollowError::Kind(kind));
            }
        }
        Ok(())
    }
}
