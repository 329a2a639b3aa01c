//! What is on disk, as readers get it.
//!
//! Most contracts are never read between two changes, and their documents are longer than what they are drawn from: so contracts are drawn
//! when somebody reads them, by the thread that answers.

use std::sync::Arc;

use bytes::Bytes;
use serde::Serialize;
use wayleave_contracts::Priority;
use wayleave_controller::{Controller, Grant, Id, State};
use wayleave_protocol::agent::SharedRule;
use wayleave_protocol::contract::{Contract, Kind};
use wayleave_topology::{LinkId, Network, NodeId};

use crate::render::{self, Bounded};

/// An object as it is answered.
#[derive(Clone, Debug)]
pub(crate) struct Object {
    pub(crate) revision: u64,
    pub(crate) json: Bytes,
}

/// As it is answered, without memory that is not used.
pub(crate) fn json(value: &impl Serialize) -> Bytes {
    serde_json::to_vec(value).unwrap_or_default().into_boxed_slice().into()
}

/// A contract.
#[derive(Debug)]
pub(crate) enum ContractObject {
    /// About latency; the terms are shared with the controller.
    Latency { grant: Arc<Grant>, routes: Box<[Bounded]> },
    /// Of another kind, of which there are few: drawn.
    Other {
        id: Arc<Id>,
        document: Box<Contract>,
        links: Box<[LinkId]>,
        /// What agents of its members are told, if it is admitted.
        rule: Option<Arc<SharedRule>>,
    },
}

impl ContractObject {
    /// Of the contract with this serial number.
    pub(crate) fn of(controller: &Controller, serial: u64) -> Option<Self> {
        if let Some(grant) = controller.shared_of(serial) {
            let links = controller.share_of(grant).map(|share| controller.ledger().links_of_share(share));
            let document = Box::new(render::shared(controller, grant));
            let id = Arc::new(grant.id.clone());
            let is_admitted = grant.state == State::Admitted;
            let rule = is_admitted.then(|| Arc::new(render::shared_rule(controller, grant)));
            return Some(Self::Other { id, document, links: links.unwrap_or_default().into(), rule });
        }
        let grant = controller.grant_of(serial)?;
        Some(Self::Latency { grant: grant.clone(), routes: render::routes(controller, grant) })
    }

    pub(crate) fn id(&self) -> &Arc<Id> {
        match self {
            Self::Latency { grant, .. } => &grant.id,
            Self::Other { id, .. } => id,
        }
    }

    pub(crate) fn revision(&self) -> u64 {
        match self {
            Self::Latency { grant, .. } => grant.revision,
            Self::Other { document, .. } => document.status.revision,
        }
    }

    pub(crate) fn state(&self) -> State {
        match self {
            Self::Latency { grant, .. } => grant.state,
            Self::Other { document, .. } => document.status.state,
        }
    }

    /// What it promises.
    pub(crate) fn kind(&self) -> Kind {
        match self {
            Self::Latency { .. } => Kind::Latency,
            Self::Other { document, .. } => document.status.kind,
        }
    }

    /// From 0 to 100.
    pub(crate) fn priority(&self) -> u8 {
        match self {
            Self::Latency { grant, .. } => grant.order.priority.get(),
            Self::Other { document, .. } => document.spec.priority.unwrap_or(Priority::default().get()),
        }
    }

    /// The number of one about latency, by which hosts tell what they have seen of it.
    pub(crate) fn serial(&self) -> Option<u64> {
        match self {
            Self::Latency { grant, .. } => Some(grant.serial),
            Self::Other { .. } => None,
        }
    }

    /// Of one about latency, in ns.
    pub(crate) fn bound_and_deadline(&self) -> Option<(u64, u64)> {
        match self {
            Self::Latency { grant, .. } => Some((grant.bound.as_nanos(), grant.order.contract.deadline.as_nanos())),
            Self::Other { .. } => None,
        }
    }

    /// What agents of its members are told of one of another kind than latency.
    pub(crate) fn rule(&self) -> Option<&Arc<SharedRule>> {
        match self {
            Self::Latency { .. } => None,
            Self::Other { rule, .. } => rule.as_ref(),
        }
    }

    /// Whose agent is told something of it.
    pub(crate) fn sender(&self) -> Option<NodeId> {
        match self {
            Self::Latency { grant, .. } => Some(grant.sender()),
            Self::Other { .. } => None,
        }
    }

    /// The links on which it has something.
    pub(crate) fn links(&self) -> impl Iterator<Item = LinkId> + '_ {
        let (routes, links): (&[Bounded], &[LinkId]) = match self {
            Self::Latency { routes, .. } => (routes, &[]),
            Self::Other { links, .. } => (&[], links),
        };
        routes.iter().flat_map(|one| one.route.hops.iter().map(|hop| hop.link)).chain(links.iter().copied())
    }

    /// The rule that is to be kept, and the one that its sender has confirmed.
    fn versions(&self) -> (Option<u64>, Option<u64>) {
        match self {
            Self::Latency { grant, .. } => grant.versions(),
            Self::Other { .. } => (None, None),
        }
    }

    pub(crate) fn is_configured(&self) -> bool {
        self.versions().0.is_some()
    }

    pub(crate) fn is_effective(&self) -> bool {
        let (configured, effective) = self.versions();
        configured.is_some() && configured == effective
    }

    pub(crate) fn is_late(&self) -> bool {
        matches!(self, Self::Latency { grant, .. } if grant.violation.is_some())
    }

    /// The contract with what has become of it.
    pub(crate) fn document(&self, network: &Network) -> Contract {
        match self {
            Self::Latency { grant, routes } => render::contract(network, grant, routes),
            Self::Other { document, .. } => (**document).clone(),
        }
    }

    /// As a reader is shown it. Serial numbers count over all tenants, so tenants are shown none.
    pub(crate) fn json(&self, network: &Network, only: Option<&str>) -> Bytes {
        let mut document = self.document(network);
        if only.is_some() {
            document.status.serial = 0;
        }
        json(&document)
    }
}
