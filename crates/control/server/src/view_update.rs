//! Edits of the readers' view after a commit, derived from a controller's changes.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};

use wayleave_contracts::ContractRequest;
use wayleave_controller::{CommandOutput, Controller, Id, RecordChange, RecordKind, Token, in_shares};
use wayleave_store::StoredRecord;

use crate::links::OutdatedLinks;
use crate::past::ChangedContract;
use crate::read_view::{Bucket, Edit, Holder, TenantObject, VmObject};
use crate::render;
use crate::rendered::{ContractObject, Object, json};

/// Tracks the objects that changes affect.
pub(crate) struct Stage {
    /// Contracts by serial number, as readers will see them with the next commit.
    known: BTreeMap<u64, Arc<ContractObject>>,
    /// Other records, without histories, tokens and answers.
    records: BTreeSet<(RecordKind, String)>,
    pub(crate) stale: OutdatedLinks,
}

impl Stage {
    /// Of a controller that was just loaded.
    pub(crate) fn new(controller: &Controller) -> Self {
        Self { known: BTreeMap::new(), records: BTreeSet::new(), stale: OutdatedLinks::all(controller.network()) }
    }

    /// Returns the edits for a controller that was loaded from these records. Its later changes are in its output.
    ///
    /// Contracts are the most numerous objects and independent of each other: several threads render them.
    pub(crate) fn begin(&mut self, controller: &Controller, records: Vec<StoredRecord>) -> Vec<Edit> {
        let (mut edits, mut tenants) = (Vec::with_capacity(records.len() * 3), BTreeSet::new());
        let mut serials = Vec::with_capacity(records.len());
        for StoredRecord { kind, key, body } in records {
            match (RecordKind::of(&kind), key.parse()) {
                (Some(RecordKind::Contract | RecordKind::OldLatency | RecordKind::OldShare), Ok(serial)) => {
                    serials.push(serial)
                }
                (Some(kind), _) => {
                    self.edit(controller, &RecordChange { kind, key, body: Some(body) }, &mut edits, &mut tenants);
                }
                (None, _) => {}
            }
        }
        let look = |&serial: &u64| {
            let object = Arc::new(ContractObject::of(controller, serial)?);
            let is_named = named(controller, object.id()) == Some(serial);
            Some((serial, object, is_named))
        };
        for (serial, object, is_named) in in_shares(&serials, look).into_iter().flatten() {
            if is_named {
                edits.push(Edit::Contract(object.id().clone(), Some(object.clone())));
            }
            self.known.insert(serial, object);
        }
        edits.extend(tenants.into_iter().map(|name| tenant(controller, name)));
        edits.push(self.count());
        edits
    }

    /// Returns the edits for these changes.
    pub(crate) fn edits(&mut self, controller: &Controller, output: &CommandOutput) -> Vec<Edit> {
        let mut edits = Vec::with_capacity(output.changes.len() * 2);
        let mut tenants = BTreeSet::new();
        for change in &output.changes {
            self.edit(controller, change, &mut edits, &mut tenants);
        }
        edits.extend(tenants.into_iter().map(|name| tenant(controller, name)));
        edits.push(self.count());
        edits
    }

    /// Returns the contracts that an output creates, changes or ends, before readers see it. Rules, routes and states
    /// are not examined.
    pub(crate) fn changed_contracts(&self, controller: &Controller, output: &CommandOutput) -> Vec<ChangedContract> {
        let mut orders: BTreeMap<&Id, (Option<&ContractRequest>, Option<&ContractRequest>)> = BTreeMap::new();
        for change in output.changes.iter().filter(|change| change.kind == RecordKind::Contract) {
            let Ok(serial) = change.key.parse() else { continue };
            let before = self.known.get(&serial).map(|known| known.grant()).filter(|grant| !grant.is_ended());
            let now = controller.grant_of(serial).filter(|grant| !grant.is_ended());
            let (was, is) = (before.map(|grant| &grant.order), now.map(|grant| &grant.order));
            let Some(grant) = before.or(now).filter(|_| was != is) else { continue };
            // A contract that moves with its VM ends under one serial number and begins under another.
            let known = orders.entry(&*grant.id).or_default();
            *known = (known.0.or(was), known.1.or(is));
        }
        let spec = |order| render::spec(controller.network(), order);
        let changed = orders.into_iter().filter_map(|(id, (was, is))| {
            let before = was.map(spec);
            // A contract whose VM is on another host has other nodes and the same terms.
            let is_same = before.is_some() && is.map(spec) == before;
            (!is_same).then(|| ChangedContract { id: id.clone(), before })
        });
        changed.collect()
    }

    fn count(&self) -> Edit {
        Edit::Records((self.known.len() + self.records.len()) as u64)
    }

    fn edit(
        &mut self,
        controller: &Controller,
        change: &RecordChange,
        edits: &mut Vec<Edit>,
        tenants: &mut BTreeSet<String>,
    ) {
        let RecordChange { kind, key, body } = change;
        match kind {
            RecordKind::Answer
            | RecordKind::Token
            | RecordKind::History
            | RecordKind::Contract
            | RecordKind::OldLatency
            | RecordKind::OldShare => {}
            _ if body.is_some() => drop(self.records.insert((*kind, key.clone()))),
            _ => drop(self.records.remove(&(*kind, key.clone()))),
        }
        match kind {
            RecordKind::Contract => {
                let Ok(serial) = key.parse() else { return };
                self.contract(controller, serial, edits, tenants);
            }
            RecordKind::Tenant => drop(tenants.insert(key.clone())),
            RecordKind::Policy => {
                let policy = controller.policy(key);
                let object = policy.map(|state| Object {
                    revision: state.revision,
                    json: json(&render::policy(controller.network(), state)),
                });
                edits.push(Edit::Policy(key.clone(), object));
                // The reservations of any link that a policy needs may have changed.
                self.stale = OutdatedLinks::all(controller.network());
            }
            RecordKind::Vm => {
                let Ok(id) = key.parse::<Id>() else { return };
                let object =
                    |vm| Object { revision: vm_revision(vm), json: json(&render::vm(controller.network(), &id, vm)) };
                let vm = controller.vm(&id).map(|vm| VmObject { object: object(vm), host: vm.host, mac: vm.mac });
                edits.push(Edit::Vm(id, vm));
            }
            RecordKind::Token => {
                let token = controller.tokens().find(|token| token.id == *key).and_then(holder);
                edits.push(Edit::Token(key.clone(), token));
            }
            RecordKind::Node => {
                let Ok(node) = controller.node(key) else { return };
                if let Some(state) = controller.node_state(node) {
                    edits.push(Edit::Node(node, key.clone(), state.clone()));
                    edits.push(Edit::Wake(node));
                }
            }
            RecordKind::Down => {
                let down = controller.down().map(|(element, down)| (element.clone(), down.clone()));
                edits.push(Edit::Down(down.collect()));
            }
            RecordKind::Controller
            | RecordKind::OldLatency
            | RecordKind::OldShare
            | RecordKind::Release
            | RecordKind::Answer
            | RecordKind::History => {}
        }
    }

    fn contract(
        &mut self,
        controller: &Controller,
        serial: u64,
        edits: &mut Vec<Edit>,
        tenants: &mut BTreeSet<String>,
    ) {
        let before = self.known.remove(&serial);
        let now = ContractObject::of(controller, serial).map(Arc::new);
        let Some(known) = now.as_ref().or(before.as_ref()) else { return };
        let id = known.id().clone();
        edits.extend(known.sender().map(Edit::Wake));
        tenants.insert(id.tenant.clone());
        self.stale.add(before.iter().chain(&now).flat_map(|known| known.links()));
        if let Some(now) = now {
            self.known.insert(serial, now);
        }
        // Another contract may have the name: one before, or one since. As it was then is as it is now, or it has an edit of its own.
        let object = named(controller, &id).and_then(|serial| match self.known.get(&serial) {
            Some(object) => Some(object.clone()),
            None => ContractObject::of(controller, serial).map(Arc::new),
        });
        edits.push(Edit::Contract(id, object));
    }
}

fn tenant(controller: &Controller, name: String) -> Edit {
    let tenant = controller.tenant(&name).ok();
    let object = tenant.map(|tenant| TenantObject {
        object: Object { revision: tenant.revision, json: json(&render::tenant(&name, tenant)) },
        created_after: tenant.created_after,
    });
    Edit::Tenant(name, object)
}

fn vm_revision(vm: &wayleave_controller::VmState) -> u64 {
    vm.revision
}

/// The serial number of the contract that has a name, as it is answered: of several the one that has not ended.
fn named(controller: &Controller, id: &Id) -> Option<u64> {
    controller.grant(id).map(|grant| grant.serial)
}

/// The holder of a token; `None` if its hash cannot be read.
fn holder(token: &Token) -> Option<(Object, Arc<Holder>)> {
    let mut hash = [0; 32];
    for (at, byte) in hash.iter_mut().enumerate() {
        *byte = u8::from_str_radix(token.hash.get(2 * at..2 * at + 2)?, 16).ok()?;
    }
    let object = Object { revision: token.revision, json: json(&render::token(token)) };
    let bucket = Mutex::new(Bucket { level: 0.0, at: None });
    Some((
        object,
        Arc::new(Holder {
            id: token.id.clone(),
            hash,
            role: token.role.clone(),
            expires: token.expires,
            warning: render::token_warning(token),
            bucket,
        }),
    ))
}
