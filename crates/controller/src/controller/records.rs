//! The records of a controller.

use super::Controller;
use crate::journal::Dirty;
use crate::output::{Change, Kind};
use crate::policy_spec::{PolicyRecord, spec};
use crate::record::{ContractRecord, DownRecord, NodeRecord, ReleaseRecord, TenantRecord, VmRecord, key, put};
use crate::shared_record::SharedRecord;

impl Controller {
    /// Every record as it is, to make another controller like this one and ask it what would happen.
    pub fn records(&self) -> Vec<Change> {
        let enforcement = self.enforcement();
        let mut all = vec![Dirty::Counters];
        all.extend(self.tenants().map(|(name, _)| Dirty::Tenant(name.to_owned())));
        all.extend(self.tokens.all().map(|token| Dirty::Token(token.id.clone())));
        all.extend(self.vms().map(|(id, _)| Dirty::Vm(id.clone())));
        all.extend(self.contracts().iter().map(|grant| Dirty::Contract(grant.serial)));
        all.extend(self.admission.shared().iter().map(|grant| Dirty::Shared(grant.serial)));
        all.extend(self.policies().map(|(name, _)| Dirty::Policy(name.to_owned())));
        all.extend(enforcement.releases().iter().map(|(number, _)| Dirty::Release(number)));
        all.extend(self.elements.iter().map(|(element, _)| Dirty::Down(element.clone())));
        all.extend(enforcement.nodes().ids().map(Dirty::Node));
        all.extend(self.answers.keys().cloned().map(Dirty::Answer));
        all.iter().map(|dirty| self.change(dirty)).collect()
    }

    /// The record of something, as it is now.
    pub(super) fn change(&self, dirty: &Dirty) -> Change {
        let (network, enforcement) = (&*self.network, self.enforcement());
        match dirty {
            Dirty::Counters => put(Kind::Controller, "counters".to_owned(), Some(self.journal().counters())),
            Dirty::Tenant(name) => {
                let numbers = self.journal().own(name);
                let record = self.admission.tenants().get(name).map(|tenant| TenantRecord::of(tenant, numbers));
                put(Kind::Tenant, name.clone(), record.as_ref())
            }
            Dirty::Token(id) => put(Kind::Token, id.clone(), self.tokens.get(id)),
            Dirty::Vm(id) => {
                let record = self.vms.get(id).map(|vm| VmRecord::of(network, vm));
                put(Kind::Vm, id.to_string(), record.as_ref())
            }
            Dirty::Contract(serial) => {
                let record = self.contracts().get(*serial).map(|grant| {
                    let reserved = grant.flow.and_then(|flow| enforcement.book().reserved(flow, false));
                    ContractRecord::of(network, grant, reserved.as_ref())
                });
                put(Kind::Contract, key(*serial), record.as_ref())
            }
            Dirty::Shared(serial) => {
                let record = self.admission.shared().get(*serial).map(|grant| {
                    let share = grant.share.and_then(|share| self.ledger().share(share));
                    SharedRecord::of(network, grant, share)
                });
                put(Kind::Shared, key(*serial), record.as_ref())
            }
            Dirty::Policy(name) => {
                let record = self
                    .admission
                    .policies()
                    .get(name)
                    .map(|state| PolicyRecord { revision: state.revision, spec: spec(network, &state.policy) });
                put(Kind::Policy, name.clone(), record.as_ref())
            }
            Dirty::Release(number) => {
                let record = enforcement.releases().get(*number).map(|release| ReleaseRecord::of(network, release));
                put(Kind::Release, key(*number), record.as_ref())
            }
            Dirty::Down(element) => {
                let record = self.elements.get(element).map(|down| DownRecord::of(element, down));
                put(Kind::Down, element.to_string(), record.as_ref())
            }
            Dirty::Node(node) => {
                let record = enforcement.nodes().get(*node).and_then(NodeRecord::of);
                put(Kind::Node, network.node(*node).name.clone(), record.as_ref())
            }
            Dirty::Answer(key) => put(Kind::Answer, key.clone(), self.answers.get(key)),
        }
    }
}
