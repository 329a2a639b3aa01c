//! From what a controller has changed to what readers will see, once it is on disk.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use serde::Serialize;
use wayleave_controller::{Change, Controller, Grant, Id, Kind, Output, SharedGrant, State, Token, in_shares};
use wayleave_store::Record;
use wayleave_topology::{LinkId, NodeId};

use crate::links::Stale;
use crate::render;
use crate::view::{Bucket, ContractObject, Edit, Holder, Object, VmObject};

/// What of a contract has to be known when it is gone.
struct Known {
    id: Id,
    /// Whose agent is told something of it.
    sender: Option<NodeId>,
    links: Box<[LinkId]>,
}

impl Known {
    fn of(controller: &Controller, serial: u64) -> Option<Self> {
        if let Some(grant) = controller.shared_of(serial) {
            let links = controller.share_of(grant).map(|share| controller.ledger().links_of_share(share));
            return Some(Self { id: grant.id.clone(), sender: None, links: links.unwrap_or_default().into() });
        }
        let grant = controller.grant_of(serial)?;
        let hops = controller.routes(grant).into_iter().flat_map(|(_, route)| route.hops);
        Some(Self { id: grant.id.clone(), sender: Some(grant.sender()), links: hops.map(|hop| hop.link).collect() })
    }
}

/// Keeps track of what changes touch.
pub(crate) struct Stage {
    known: BTreeMap<u64, Known>,
    pub(crate) stale: Stale,
}

fn json(value: &impl Serialize) -> Bytes {
    serde_json::to_vec(value).unwrap_or_default().into()
}

impl Stage {
    /// Of a controller that was just loaded.
    pub(crate) fn new(controller: &Controller) -> Self {
        Self { known: BTreeMap::new(), stale: Stale::all(controller.network()) }
    }

    /// What readers will see of a controller that was loaded from these records. What it has changed since is in its output.
    ///
    /// Contracts are what there is most of, and each can be drawn without the others: several threads do.
    pub(crate) fn begin(&mut self, controller: &Controller, records: Vec<Record>) -> Vec<Edit> {
        let (mut edits, mut tenants) = (Vec::with_capacity(records.len() * 3), BTreeSet::new());
        let mut serials = Vec::with_capacity(records.len());
        for Record { kind, key, body } in records {
            match (Kind::of(&kind), key.parse()) {
                (Some(kind @ (Kind::Contract | Kind::Shared)), Ok(serial)) => {
                    edits.push(Edit::Record(kind, key, true));
                    serials.push(serial);
                }
                (Some(kind), _) => {
                    self.edit(controller, &Change { kind, key, body: Some(body) }, &mut edits, &mut tenants);
                }
                (None, _) => {}
            }
        }
        let draw = |&serial: &u64| {
            let known = Known::of(controller, serial)?;
            let object = object_of(controller, &known.id);
            Some((serial, known, object))
        };
        for (serial, known, object) in in_shares(&serials, draw).into_iter().flatten() {
            edits.push(Edit::Contract(known.id.clone(), object));
            self.known.insert(serial, known);
        }
        edits.extend(tenants.into_iter().map(|name| tenant(controller, name)));
        edits
    }

    /// What readers will see of these changes.
    pub(crate) fn edits(&mut self, controller: &Controller, output: &Output) -> Vec<Edit> {
        let mut edits = Vec::with_capacity(output.changes.len() * 2);
        let mut tenants = BTreeSet::new();
        for change in &output.changes {
            self.edit(controller, change, &mut edits, &mut tenants);
        }
        edits.extend(tenants.into_iter().map(|name| tenant(controller, name)));
        edits
    }

    fn edit(
        &mut self,
        controller: &Controller,
        change: &Change,
        edits: &mut Vec<Edit>,
        tenants: &mut BTreeSet<String>,
    ) {
        let Change { kind, key, body } = change;
        if !matches!(kind, Kind::Answer | Kind::Token | Kind::History) {
            edits.push(Edit::Record(*kind, key.clone(), body.is_some()));
        }
        match kind {
            Kind::Contract | Kind::Shared => {
                let Ok(serial) = key.parse() else { return };
                self.contract(controller, serial, edits, tenants);
            }
            Kind::Tenant => drop(tenants.insert(key.clone())),
            Kind::Policy => {
                let policy = controller.policy(key);
                let object = policy.map(|state| Object {
                    revision: state.revision,
                    json: json(&render::policy(controller.network(), state)),
                });
                edits.push(Edit::Policy(key.clone(), object));
                // What is held may be other on any link that any policy needs.
                self.stale = Stale::all(controller.network());
            }
            Kind::Vm => {
                let Ok(id) = key.parse::<Id>() else { return };
                let object =
                    |vm| Object { revision: vm_revision(vm), json: json(&render::vm(controller.network(), &id, vm)) };
                let vm = controller.vm(&id).map(|vm| VmObject { object: object(vm), host: vm.host, mac: vm.mac });
                edits.push(Edit::Vm(id, vm));
            }
            Kind::Token => {
                let token = controller.tokens().find(|token| token.id == *key).and_then(holder);
                edits.push(Edit::Token(key.clone(), token));
            }
            Kind::Node => {
                let Ok(node) = controller.node(key) else { return };
                if let Some(state) = controller.node_state(node) {
                    edits.push(Edit::Node(node, state.clone()));
                    edits.push(Edit::Wake(node));
                }
            }
            Kind::Down => {
                let down = controller.down().map(|(element, why)| (element.clone(), why.to_owned()));
                edits.push(Edit::Down(down.collect()));
            }
            Kind::Controller | Kind::Release | Kind::Answer | Kind::History => {}
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
        let now = Known::of(controller, serial);
        let Some(known) = now.as_ref().or(before.as_ref()) else { return };
        let id = known.id.clone();
        edits.extend(known.sender.map(Edit::Wake));
        tenants.insert(id.tenant.clone());
        self.stale.add(before.iter().chain(&now).flat_map(|known| known.links.iter().copied()));
        let object = object_of(controller, &id);
        edits.push(Edit::Contract(id, object));
        if let Some(now) = now {
            self.known.insert(serial, now);
        }
    }
}

fn tenant(controller: &Controller, name: String) -> Edit {
    let tenant = controller.tenant(&name).ok();
    let object = tenant.map(|tenant| Object { revision: tenant.revision, json: json(&render::tenant(&name, tenant)) });
    Edit::Tenant(name, object)
}

fn vm_revision(vm: &wayleave_controller::VmState) -> u64 {
    vm.revision
}

/// The contract that has a name, as it is answered: of several the one that has not ended.
pub(crate) fn object_of(controller: &Controller, id: &Id) -> Option<ContractObject> {
    let flow = controller.grant(id);
    let share = controller.shared(id).filter(|_| flow.is_none_or(Grant::is_ended));
    share.map(|grant| shared_object(controller, grant)).or_else(|| flow.map(|grant| contract_object(controller, grant)))
}

fn shared_object(controller: &Controller, grant: &SharedGrant) -> ContractObject {
    ContractObject {
        object: Object { revision: grant.revision, json: json(&render::shared(controller, grant)) },
        state: grant.state,
        is_configured: false,
        is_effective: false,
        is_late: false,
        rule: (grant.state == State::Admitted).then(|| Arc::new(render::shared_rule(controller, grant))),
    }
}

/// A latency contract as it is answered.
pub(crate) fn contract_object(controller: &Controller, grant: &Grant) -> ContractObject {
    let (configured, effective) = grant.versions();
    ContractObject {
        object: Object { revision: grant.revision, json: json(&render::contract(controller, grant)) },
        state: grant.state,
        is_configured: configured.is_some(),
        is_effective: configured.is_some() && configured == effective,
        is_late: grant.violation.is_some(),
        rule: None,
    }
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
        Arc::new(Holder { id: token.id.clone(), hash, role: token.role.clone(), expires: token.expires, bucket }),
    ))
}
