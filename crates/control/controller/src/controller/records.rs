//! The records of a controller.

use super::Controller;
use crate::contract_record::{ContractRecord, HeldReservation};
use crate::grant::KindState;
use crate::journal::DirtyRecord;
use crate::output::{RecordChange, RecordKind};
use crate::policy_spec::{PolicyRecord, spec};
use crate::record::{DownRecord, NodeRecord, ReleaseRecord, TenantRecord, VmRecord, key, put};

impl Controller {
    /// Every record as it is, to make another controller like this one and ask it what would happen.
    pub fn records(&self) -> Vec<RecordChange> {
        let enforcement = self.enforcement();
        let mut all = vec![DirtyRecord::Counters];
        all.extend(self.tenants().map(|(name, _)| DirtyRecord::Tenant(name.to_owned())));
        all.extend(self.tokens.all().map(|token| DirtyRecord::Token(token.id.clone())));
        all.extend(self.vms().map(|(id, _)| DirtyRecord::Vm(id.clone())));
        all.extend(self.contracts().iter().map(|grant| DirtyRecord::Contract(grant.serial)));
        all.extend(self.policies().map(|(name, _)| DirtyRecord::Policy(name.to_owned())));
        all.extend(enforcement.releases().iter().map(|(number, _)| DirtyRecord::Release(number)));
        all.extend(self.elements.iter().map(|(element, _)| DirtyRecord::Down(element.clone())));
        all.extend(enforcement.nodes().ids().map(DirtyRecord::Node));
        all.extend(self.answers.keys().cloned().map(DirtyRecord::Answer));
        all.iter().map(|dirty| self.change(dirty)).collect()
    }

    /// Changes that write something as it is now. A contract that was read from an old record has two: the old record goes.
    pub(super) fn changes(&mut self, dirty: &DirtyRecord) -> impl Iterator<Item = RecordChange> + use<> {
        let old = if let DirtyRecord::Contract(serial) = dirty { self.old_records.remove(serial) } else { None };
        let change = self.change(dirty);
        let old = old.map(|kind| RecordChange { kind, key: change.key.clone(), body: None });
        old.into_iter().chain([change])
    }

    /// The record of something, as it is now.
    fn change(&self, dirty: &DirtyRecord) -> RecordChange {
        let (network, enforcement) = (&*self.network, self.enforcement());
        match dirty {
            DirtyRecord::Counters => {
                put(RecordKind::Controller, "counters".to_owned(), Some(self.journal().counters()))
            }
            DirtyRecord::Tenant(name) => {
                let numbers = self.journal().own(name);
                let record = self.admission.tenants().get(name).map(|tenant| TenantRecord::of(tenant, numbers));
                put(RecordKind::Tenant, name.clone(), record.as_ref())
            }
            DirtyRecord::Token(id) => put(RecordKind::Token, id.clone(), self.tokens.get(id)),
            DirtyRecord::Vm(id) => {
                let record = self.vms.get(id).map(|vm| VmRecord::of(network, vm));
                put(RecordKind::Vm, id.to_string(), record.as_ref())
            }
            DirtyRecord::Contract(serial) => {
                let record = self.contracts().get(*serial).map(|grant| {
                    let reserved = |flow| enforcement.scheme_ledger().reserved(flow, false);
                    let held = match &grant.held {
                        KindState::Latency(latency) => HeldReservation::Routes(latency.flow.and_then(reserved)),
                        KindState::Share(_) => HeldReservation::Share(self.share_of(grant).cloned()),
                    };
                    ContractRecord::of(network, grant, &held)
                });
                put(RecordKind::Contract, key(*serial), record.as_ref())
            }
            DirtyRecord::Policy(name) => {
                let record = self
                    .admission
                    .policies()
                    .get(name)
                    .map(|state| PolicyRecord { revision: state.revision, spec: spec(network, &state.policy) });
                put(RecordKind::Policy, name.clone(), record.as_ref())
            }
            DirtyRecord::Release(number) => {
                let record = enforcement.releases().get(*number).map(|release| ReleaseRecord::of(network, release));
                put(RecordKind::Release, key(*number), record.as_ref())
            }
            DirtyRecord::Down(element) => {
                let record = self.elements.get(element).map(|down| DownRecord::of(element, down));
                put(RecordKind::Down, element.to_string(), record.as_ref())
            }
            DirtyRecord::Node(node) => {
                let record = enforcement.nodes().get(*node).and_then(NodeRecord::of);
                put(RecordKind::Node, network.node(*node).name.clone(), record.as_ref())
            }
            DirtyRecord::Answer(key) => put(RecordKind::Answer, key.clone(), self.answers.get(key)),
        }
    }
}
