//! Objects on disk, in the form for readers.
//!
//! Most contracts are never read between two changes, and their documents are longer than their source. So a contract
//! is rendered when it is read, by the thread that answers.

use std::sync::Arc;

use bytes::Bytes;
use serde::Serialize;
use wayleave_contracts::Labels;
use wayleave_controller::{AdmittedContract, Controller, DegradedReason, Id, State};
use wayleave_protocol::agent::ShareRule;
use wayleave_protocol::contract::{Contract, Kind};
use wayleave_topology::{LinkId, Network, NodeId};

use crate::caveat::{Caveat, Caveats};
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

/// A contract; its terms are shared with the controller.
#[derive(Debug)]
pub(crate) struct ContractObject {
    grant: Arc<AdmittedContract>,
    routes: Box<[Bounded]>,
    /// Links on which a contract of another kind than latency has something.
    links: Box<[LinkId]>,
    /// Switches with agents whose queues it uses.
    switches: Box<[NodeId]>,
    /// Rule for the agents of the members of such a contract, if it is admitted.
    rule: Option<Arc<ShareRule>>,
    /// Hosts have agents.
    has_agents: bool,
    /// Reason that no packet conforms to it.
    unusable: Option<Box<str>>,
    /// The caveat for which it is shown as admitted, or without the version that its hosts confirmed; with the contract
    /// as it is recorded.
    caveat: Option<(Caveat, Arc<Self>)>,
}

impl ContractObject {
    /// Of the contract with this serial number.
    pub(crate) fn of(controller: &Controller, serial: u64) -> Option<Self> {
        let grant = controller.grant_of(serial)?;
        let links = controller.share_of(grant).map(|share| controller.ledger().links_of_share(share));
        Some(Self {
            grant: grant.clone(),
            routes: render::routes(controller, grant),
            links: links.unwrap_or_default().into(),
            switches: controller.switches_of(grant).into_iter().collect(),
            rule: grant.is_announced_to_hosts().then(|| Arc::new(render::shared_rule(controller, grant))),
            has_agents: controller.has_agents(),
            unusable: render::unusable(controller, grant).map(String::into),
            caveat: None,
        })
    }

    /// Returns a contract as it is shown.
    pub(crate) fn shown(self: Arc<Self>, caveats: &Caveats) -> Arc<Self> {
        let recorded = match &self.caveat {
            Some((_, recorded)) => recorded.clone(),
            None => self,
        };
        // Without agents there is nothing to confirm.
        let caveat = caveats.of(&recorded.grant, &recorded.switches);
        let Some(caveat) = caveat.filter(|_| recorded.has_agents || recorded.state() != State::Admitted) else {
            return recorded;
        };
        let grant = match &caveat {
            Caveat::NotSinceStart(nodes) | Caveat::Unreported(nodes) => recorded.grant.until_confirmed(nodes),
            Caveat::Follower | Caveat::Excess(_) => recorded.grant.as_admitted(),
        };
        Arc::new(Self {
            grant: Arc::new(grant),
            routes: recorded.routes.clone(),
            links: recorded.links.clone(),
            switches: recorded.switches.clone(),
            rule: recorded.rule.clone(),
            has_agents: recorded.has_agents,
            unusable: recorded.unusable.clone(),
            caveat: Some((caveat, recorded)),
        })
    }

    /// Returns `true` if the contract differs from its revision.
    pub(crate) fn is_provisional(&self) -> bool {
        self.caveat.is_some()
    }

    /// Returns the reason for which it differs from its record.
    pub(crate) fn caveat(&self) -> Option<&Caveat> {
        self.caveat.as_ref().map(|(caveat, _)| caveat)
    }

    /// Returns `true` if it is unknown whether its rule is in force: its counters show more than the rule lets through, or
    /// agents report to another controller, or are silent.
    pub(crate) fn is_effect_unknown(&self) -> bool {
        matches!(self.caveat, Some((Caveat::Follower | Caveat::Excess(_), _))) || self.grant.is_confirmation_outdated()
    }

    /// Returns the contract as it is recorded.
    pub(crate) fn recorded(&self) -> &Self {
        self.caveat.as_ref().map_or(self, |(_, recorded)| recorded)
    }

    /// Returns the reason for its state: a stable code, and a message.
    pub(crate) fn reason(&self, network: &Network) -> (Option<&'static str>, Option<String>) {
        let is_admitted_by_caveat = |recorded: &Self| recorded.state() == State::Enforced;
        let caveat = self.caveat.as_ref().filter(|(_, recorded)| is_admitted_by_caveat(recorded));
        let of_caveat = caveat.and_then(|(caveat, _)| caveat.reason(network));
        let (reason, message) = of_caveat.map_or_else(|| self.reason_of_state(network), |reason| Some(reason).unzip());
        match &self.unusable {
            None => (reason, message),
            Some(why) => (reason.or(Some(render::UNUSABLE)), Some(render::with_unusable(message, why))),
        }
    }

    /// Returns the reason for the state: as recorded, if only the confirmation of its rule is unknown.
    fn reason_of_state(&self, network: &Network) -> (Option<&'static str>, Option<String>) {
        let grant = match &self.caveat {
            Some((_, recorded)) if recorded.state() != State::Enforced => &recorded.grant,
            _ => &self.grant,
        };
        let (reason, message) = render::reason(network, grant, self.has_agents, &self.switches);
        let is_follower = matches!(self.caveat, Some((Caveat::Follower, _)));
        (
            reason,
            message.map(|message| if is_follower { format!("by the leader's records: {message}") } else { message }),
        )
    }

    pub(crate) fn id(&self) -> &Arc<Id> {
        &self.grant.id
    }

    /// As the controller had it.
    pub(crate) fn grant(&self) -> &Arc<AdmittedContract> {
        &self.grant
    }

    pub(crate) fn revision(&self) -> u64 {
        self.grant.revision
    }

    pub(crate) fn state(&self) -> State {
        self.grant.state
    }

    /// Returns the kind of its promise.
    pub(crate) fn kind(&self) -> Kind {
        self.grant.order.kind().into()
    }

    /// Words to find it by.
    pub(crate) fn labels(&self) -> &Labels {
        &self.grant.order.labels
    }

    /// From 0 to 100.
    pub(crate) fn priority(&self) -> u8 {
        self.grant.order.priority.get()
    }

    /// Returns the serial number of a latency contract, by which hosts report their observations.
    pub(crate) fn serial(&self) -> Option<u64> {
        self.grant.terms().map(|_| self.grant.serial)
    }

    /// Of one about latency, in ns.
    pub(crate) fn bound_and_deadline(&self) -> Option<(u64, u64)> {
        Some((self.grant.valid_bound()?.as_nanos(), self.grant.terms()?.deadline.as_nanos()))
    }

    /// Returns `true` if its promise is no guarantee: it is based on measurements, or agents enforce a part only.
    pub(crate) fn is_best_estimate(&self) -> bool {
        self.grant.is_measured() || !matches!(self.kind(), Kind::Latency | Kind::BestEffort)
    }

    /// Returns `true` if hosts have agents.
    pub(crate) fn has_agents(&self) -> bool {
        self.has_agents
    }

    /// Returns the rule for the agents of the members, for a contract of another kind than latency.
    pub(crate) fn rule(&self) -> Option<&Arc<ShareRule>> {
        self.rule.as_ref()
    }

    /// Returns the node whose agent receives operations for the contract.
    pub(crate) fn sender(&self) -> Option<NodeId> {
        self.grant.sender()
    }

    /// The links on which it has something.
    pub(crate) fn links(&self) -> impl Iterator<Item = LinkId> + '_ {
        let of_routes = self.grant.terms().map_or(&[][..], |_| &self.routes[..]);
        of_routes.iter().flat_map(|one| one.route.hops.iter().map(|hop| hop.link)).chain(self.links.iter().copied())
    }

    /// Returns the switches with agents whose queues it uses.
    pub(crate) fn switches(&self) -> &[NodeId] {
        &self.switches
    }

    pub(crate) fn is_configured(&self) -> bool {
        self.grant.versions().0.is_some()
    }

    pub(crate) fn is_effective(&self) -> bool {
        let (configured, effective) = self.grant.versions();
        self.has_agents && self.state() == State::Enforced && configured.is_some() && configured == effective
    }

    pub(crate) fn is_late(&self) -> bool {
        self.grant.violation().is_some()
    }

    /// Returns the contract with its status. Serial numbers count over all tenants, so tenants are shown none.
    pub(crate) fn document(&self, network: &Network, is_tenants: bool) -> Contract {
        let mut document = render::contract(network, &self.grant, &self.routes, self.has_agents, self.reason(network));
        // An installed rule whose packets belong to another contract has no effect.
        let is_carried_out = !matches!(self.grant.degraded_reason, Some(DegradedReason::NotCarriedOut { .. }));
        if self.is_effect_unknown() || !is_carried_out {
            document.status.effective = None;
        }
        if is_tenants {
            document.status.serial = 0;
        }
        document
    }

    /// Returns the same as JSON.
    pub(crate) fn json(&self, network: &Network, only: Option<&str>) -> Bytes {
        json(&self.document(network, only.is_some()))
    }
}
