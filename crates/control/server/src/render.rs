//! From the controller's types to the documents of the interface.

use std::num::NonZeroU32;

use wayleave_contracts::{
    Accounting, Contract, ContractRequest, DataPlane, Endpoints, Excess, LatencyContract, Priority, Unusable,
};
use wayleave_controller::{
    self as controller, AdmittedContract, ContractPromise, Controller, Decided, DecisionRecord, DegradedReason,
    PolicyState, QuotaShort, policy_needs, policy_spec,
};
use wayleave_explain::sentences;
use wayleave_ledger::ReservedShare;
use wayleave_protocol::agent::{Member, ShareRule};
use wayleave_protocol::contract::{
    self, BandwidthSpec, BestEffortSpec, ContractSpec, ContractStatus, Hop, LatePackets, Match, ObjectiveSpec, Route,
};
use wayleave_protocol::decision::{Decision, DecisionOutcome};
use wayleave_protocol::event::Event;
use wayleave_protocol::policy::Policy;
use wayleave_protocol::tenant;
use wayleave_topology::{Network, NodeId};
use wayleave_units::{Bytes, Human, Rate, Time};

use wayleave_schemes::admitted::AdmittedSet as _;

use crate::access::{sees, tenant_of};
use crate::certificate_name::unmatched;

/// Returns the order, with the keys of a file.
pub(crate) fn spec(network: &Network, order: &ContractRequest) -> ContractSpec {
    let spec = ContractSpec {
        name: Some(order.name().to_owned()),
        tenant: order.tenant().map(str::to_owned),
        priority: Some(order.priority).filter(|&priority| priority != Priority::default()).map(Priority::get),
        starts: order.starts.map(|time| time.to_string()),
        ends: order.ends.map(|time| time.to_string()),
        labels: order.labels.clone(),
        matching: order.matching.map(Match::from),
        ..ContractSpec::default()
    };
    let members = order.members.clone();
    match &order.contract {
        Contract::Latency(terms) => latency_spec(network, order, terms, spec),
        Contract::Bandwidth(terms) => {
            let is_pair = matches!(terms.between, Endpoints::Pair(..));
            let end = |at: usize| members.get(at).cloned().filter(|_| is_pair);
            let bandwidth = BandwidthSpec {
                from: end(0),
                to: end(1),
                hose: Some(members.clone()).filter(|_| !is_pair),
                min: terms.min.to_string(),
                max: terms.max.map(|max| max.to_string()),
                weight: terms.weight.map(NonZeroU32::get),
                within: terms.within.map(|within| within.to_string()),
            };
            ContractSpec { bandwidth: Some(bandwidth), ..spec }
        }
        Contract::Objective(terms) => {
            let goal = terms.deadline.is_none().then(|| terms.objective.name().to_owned());
            let deadline = terms.deadline.map(|deadline| deadline.to_string());
            let objective = ObjectiveSpec { goal, deadline, members, weight: terms.min.to_string() };
            ContractSpec { objective: Some(objective), ..spec }
        }
        Contract::BestEffort(terms) => {
            let best_effort = BestEffortSpec { members, max: terms.max.map(|max| max.to_string()) };
            ContractSpec { best_effort: Some(best_effort), ..spec }
        }
    }
}

fn latency_spec(
    network: &Network,
    order: &ContractRequest,
    terms: &LatencyContract,
    spec: ContractSpec,
) -> ContractSpec {
    let hop = |hop: &wayleave_topology::Hop| format!("{}:{}", network.link(hop.link).name, hop.queue);
    let (accounting, min_frame) = match terms.accounting {
        Accounting::Wire => (None, None),
        Accounting::Frame { min_frame } => (Some("frame".to_owned()), Some(min_frame.to_string())),
    };
    let excess = Some(terms.excess).filter(|&excess| excess != Excess::default());
    ContractSpec {
        from: Some(order.from().to_owned()),
        to: Some(order.to().to_owned()),
        rate: Some(terms.rate.to_string()),
        burst: Some(terms.burst.to_string()),
        deadline: Some(terms.deadline.to_string()),
        accounting,
        min_frame,
        max_frame: terms.max_frame.map(|frame| frame.to_string()),
        route: terms.route.as_ref().map(|route| route.hops.iter().map(hop).collect()),
        protection: Some(u32::from(terms.protection)).filter(|&routes| routes > 1),
        excess: excess.map(|excess| excess.name().to_owned()),
        ..spec
    }
}

/// A route of a contract, and its promised bound.
#[derive(Clone, Debug)]
pub(crate) struct Bounded {
    pub(crate) route: wayleave_topology::Route,
    pub(crate) bound: Option<Time>,
}

/// The routes that a contract has, the longest first.
pub(crate) fn routes(controller: &Controller, grant: &AdmittedContract) -> Box<[Bounded]> {
    if let Some(ReservedShare::Pair { route, .. }) = controller.share_of(grant) {
        return Box::new([Bounded { route: route.clone(), bound: None }]);
    }
    let bound = |route: &_| controller.scheme().queues().map(|queues| queues.bound(route));
    let routes = controller.routes(grant).into_iter();
    routes.map(|(_, route)| Bounded { bound: bound(&route), route }).collect()
}

/// Returns a contract with these routes, its state, and the reason for that.
pub(crate) fn contract(
    network: &Network,
    grant: &AdmittedContract,
    routes: &[Bounded],
    has_agents: bool,
    (reason, message): (Option<&'static str>, Option<String>),
) -> contract::Contract {
    let shown =
        |one: &Bounded| Route { hops: Hop::named(network, &one.route), bound_ns: one.bound.map(Time::as_nanos) };
    let (configured, confirmed) = grant.versions();
    // Without agents there is no confirmation.
    let effective = confirmed.filter(|_| has_agents);
    let measured = grant.violation().map(|late| LatePackets {
        packets: late.packets,
        worst_ns: late.worst.as_nanos(),
        at: late.at.to_string(),
    });
    let contract = &grant.order.contract;
    let names: Vec<String> = contract.hosts().into_iter().map(|host| network.node(host).name.clone()).collect();
    let has_ends = match contract {
        Contract::Latency(_) => true,
        Contract::Bandwidth(terms) => matches!(terms.between, Endpoints::Pair(..)),
        Contract::Objective(_) | Contract::BestEffort(_) => false,
    };
    let end = |at: usize| names.get(at).cloned().filter(|_| has_ends);
    let status = ContractStatus {
        state: grant.state,
        kind: contract.kind().into(),
        reason: reason.map(str::to_owned),
        message,
        certainty: grant.valid_certainty().map(|certainty| certainty.name().to_owned()),
        within_ns: grant.valid_within().map(Time::as_nanos),
        bound_ns: grant.valid_bound().map(Time::as_nanos),
        deadline_ns: grant.terms().map(|terms| terms.deadline.as_nanos()),
        from_host: end(0),
        to_host: end(1),
        hosts: if has_ends { Vec::new() } else { names.clone() },
        routes: routes.iter().map(shown).collect(),
        serial: grant.serial,
        revision: grant.revision,
        decision: grant.decision,
        created: grant.created.to_string(),
        configured,
        effective,
        measured,
        rate_bps: None,
        counting_hosts: None,
        reporting_hosts: None,
        pending_releases: grant.waits_for() as u64,
    };
    let mut spec = spec(network, &grant.order);
    spec.tenant = Some(grant.id.tenant.clone());
    contract::Contract { id: grant.id.to_string(), spec, status }
}

/// Code of the reason for a contract whose state has no other.
pub(crate) const UNUSABLE: &str = "NO_PACKET_CONFORMS";

/// Returns the reason that no packet, or none a day, conforms to a latency contract.
pub(crate) fn unusable(controller: &Controller, grant: &AdmittedContract) -> Option<String> {
    Some(match grant.terms()?.unusable(controller.model().overhead)? {
        Unusable::Burst { burst, frame } => {
            format!(
                "the burst, {burst}, is below the smallest frame, {frame} on the wire: none of the packets conforms"
            )
        }
        Unusable::Rate { rate, frame } => format!("the rate, {rate}, is below one frame of {frame} a day"),
    })
}

/// Returns the message of a contract to which no packet conforms.
pub(crate) fn with_unusable(message: Option<String>, why: &str) -> String {
    message.map_or_else(|| why.to_owned(), |message| format!("{message}; {why}"))
}

/// Returns the rule of a contract of another kind than latency for the agents of its members.
pub(crate) fn shared_rule(controller: &Controller, grant: &AdmittedContract) -> ShareRule {
    let network = &**controller.network();
    let contract = &grant.order.contract;
    let members = grant.order.members.iter().zip(contract.hosts());
    let member = |(name, host): (&String, NodeId)| Member { name: name.clone(), host: network.node(host).name.clone() };
    let (min, max, weight) = match contract {
        Contract::Bandwidth(terms) => (terms.min, terms.max, terms.weight.map(NonZeroU32::get)),
        Contract::Objective(terms) => (terms.min, None, None),
        Contract::BestEffort(terms) => (Rate::ZERO, terms.max, Some(1)),
        Contract::Latency(_) => (Rate::ZERO, None, Some(1)),
    };
    // A weight that is not given is the minimum in Mbit/s (wayleave_contracts::BandwidthContract).
    let usual = u32::try_from(min.bits_per_second() / 1_000_000).unwrap_or(u32::MAX).max(1);
    let route = match controller.share_of(grant) {
        Some(ReservedShare::Pair { route, .. }) => Some(Hop::named(network, route)),
        _ => None,
    };
    ShareRule {
        serial: grant.serial,
        version: grant.rule_version(),
        id: grant.id.to_string(),
        kind: contract.kind().into(),
        members: members.map(member).collect(),
        min_bps: min.bits_per_second(),
        max_bps: max.map(Rate::bits_per_second),
        weight: weight.unwrap_or(usual),
        route,
    }
}

/// Reason for which a contract that is admitted is not enforced, or only in part.
fn enforcement(
    network: &Network,
    grant: &AdmittedContract,
    has_agents: bool,
) -> (Option<&'static str>, Option<String>) {
    let contract = &grant.order.contract;
    if !has_agents {
        let message = "admitted, not enforced: this controller has no agents (--enforcement none)".to_owned();
        return (Some("NOT_ENFORCED"), Some(message));
    }
    let missing = match contract {
        _ if grant.state == controller::State::Enforced && grant.cut_routes() > 0 => {
            let all = grant.terms().map_or(0, |terms| terms.protection);
            let message =
                format!("{} of {all} disjoint routes are down: the others keep the guarantee", grant.cut_routes());
            return (Some("PROTECTION_LOST"), Some(message));
        }
        _ if grant.state == controller::State::Admitted => {
            let hosts: Vec<NodeId> = match contract {
                Contract::Latency(terms) => vec![terms.from],
                _ => grant.unconfirmed().collect(),
            };
            let message = format!("admitted, not enforced yet: {} to confirm it", agents_of(network, &hosts));
            return (Some("NOT_CONFIRMED"), Some(message));
        }
        Contract::Latency(_) | Contract::BestEffort(_) => None,
        Contract::Objective(_) | Contract::Bandwidth(_) => {
            Some("agents enforce its share on the host uplinks; links between switches rely on the queue of its class")
        }
    };
    let keys = DataPlane::Agents.not_carried_out(contract, &|key| grant.order.gives(key));
    let parts = missing.map(str::to_owned).into_iter().chain(keys.iter().map(ToString::to_string));
    let parts: Vec<String> = parts.collect();
    if parts.is_empty() { (None, None) } else { (Some("ENFORCED_IN_PART"), Some(parts.join("; "))) }
}

/// The agents of some nodes: `the agent of h1 has`, `the agents of h1, h2, h3, h4 and 3 more have`.
pub(crate) fn agents_of(network: &Network, hosts: &[NodeId]) -> String {
    match hosts {
        [] => "the agent of its host has".to_owned(),
        [one] => format!("the agent of {} has", network.node(*one).name),
        _ => format!("the agents of {} have", names_of(network, hosts)),
    }
}

fn pending(network: &Network, grant: &AdmittedContract, switches: &[NodeId]) -> (Option<&'static str>, Option<String>) {
    let (waits_for, starts) = (grant.waits_for(), grant.order.starts);
    if waits_for > 0 {
        let routes =
            if waits_for == 1 { "one previous route has" } else { &format!("{waits_for} previous routes have") };
        return (Some("WAITS"), Some(format!("waits until {routes} drained")));
    }
    let starts = starts.map(|starts| match crate::clock::wall() >= starts {
        true => {
            format!("starts at {starts}: this time has passed by the local clock, which is not trusted yet")
        }
        false => format!("starts at {starts}"),
    });
    if starts.is_some() {
        return (Some("NOT_STARTED"), starts);
    }
    if let Some(host) = grant.stopping_sender() {
        let agent = agents_of(network, &[host]);
        return (Some("WAITS"), Some(format!("waits: {agent} not confirmed yet that the previous rule is removed")));
    }
    let waits = (!switches.is_empty()).then(|| {
        format!("waits until each switch on its links has confirmed its queues ({})", names_of(network, switches))
    });
    (waits.is_some().then_some("WAITS"), waits)
}

/// The names of some nodes: `s1`, `s1, s2 and 3 more`.
fn names_of(network: &Network, nodes: &[NodeId]) -> String {
    const SHOWN: usize = 4;
    let names: Vec<&str> = nodes.iter().take(SHOWN).map(|&node| network.node(node).name.as_str()).collect();
    match (names.as_slice(), nodes.len().saturating_sub(SHOWN)) {
        ([others @ .., last], 0) if !others.is_empty() => format!("{} and {last}", others.join(", ")),
        (names, 0) => names.join(", "),
        (names, more) => format!("{} and {more} more", names.join(", ")),
    }
}

fn silent(network: &Network, nodes: &[NodeId]) -> String {
    let (agents, whose) = (agents_of(network, nodes), if nodes.len() > 1 { "their" } else { "its" });
    format!("{agents} been silent for too long: whether {whose} rules and queues are in force is unknown")
}

/// Returns the reason that a contract is not kept.
pub(crate) fn degraded_text(
    network: &Network,
    grant: &AdmittedContract,
    degraded_reason: &DegradedReason,
) -> (&'static str, String) {
    let message = match degraded_reason {
        DegradedReason::Failed { element, keeps_place, why } => {
            let back = if *keeps_place {
                "its reservation is kept: it is restored when the element is up again"
            } else {
                "its reservation was released: it is retried every few seconds"
            };
            format!("it cannot use {element}, and {}; {back}", sentences::no_other_place(why))
        }
        DegradedReason::Unfit { why } => format!(
            "re-evaluated at startup with this version and the present network, and refused: {}; it is retried every few seconds",
            sentences::refusal_clause(why)
        ),
        DegradedReason::Unconfirmed => {
            let hosts: Vec<NodeId> = grant.unconfirmed_sender().into_iter().chain(grant.unconfirmed()).collect();
            match hosts.is_empty() {
                true => "a switch on its links has not confirmed its queues".to_owned(),
                false => format!("{} not confirmed it", agents_of(network, &hosts)),
            }
        }
        DegradedReason::Silent { nodes } => silent(network, nodes),
        DegradedReason::NotCarriedOut { host, why } => {
            format!("the agent of {} cannot carry it out: {why}", network.node(*host).name)
        }
    };
    (degraded_reason.code(), message)
}

/// Returns the reason for a contract's state: a stable code, and a message. `switches` are those with agents whose queues
/// it uses.
pub(crate) fn reason(
    network: &Network,
    grant: &AdmittedContract,
    has_agents: bool,
    switches: &[NodeId],
) -> (Option<&'static str>, Option<String>) {
    match grant.state {
        controller::State::Degraded => {
            grant.degraded_reason.as_ref().map(|degraded_reason| degraded_text(network, grant, degraded_reason)).unzip()
        }
        controller::State::Violated => (Some("LATE_PACKETS"), grant.violation().map(|late| late.text())),
        controller::State::Pending => pending(network, grant, switches),
        controller::State::Released => (None, None),
        controller::State::Admitted | controller::State::Enforced => enforcement(network, grant, has_agents),
    }
}

/// A quota, what is not limited left out.
pub(crate) fn quota(quota: &wayleave_contracts::Quota) -> tenant::Quota {
    tenant::Quota {
        rate: quota.rate.map(|rate| rate.to_string()),
        burst: quota.burst.map(|burst| burst.to_string()),
        contracts: quota.contracts,
    }
}

/// Returns a tenant with its usage.
pub(crate) fn tenant(name: &str, state: &controller::TenantState) -> tenant::Tenant {
    let usage = tenant::Usage {
        rate: state.usage.rate().to_string(),
        burst: state.usage.burst().to_string(),
        contracts: state.usage.contracts(),
    };
    tenant::Tenant { name: name.to_owned(), quota: quota(&state.quota), usage, revision: state.revision }
}

/// A VM with its host.
pub(crate) fn vm(network: &Network, id: &controller::Id, state: &controller::VmState) -> tenant::Vm {
    tenant::Vm {
        id: id.to_string(),
        name: id.name.clone(),
        tenant: id.tenant.clone(),
        host: network.node(state.host).name.clone(),
        mac: state.mac.to_string(),
        revision: state.revision,
    }
}

/// A token without its hash.
pub(crate) fn token(token: &controller::Token) -> tenant::Token {
    let (role, tenant, node) = match &token.role {
        controller::Principal::Operator => (tenant::Role::Operator, None, None),
        controller::Principal::Tenant { tenant } => (tenant::Role::Tenant, Some(tenant.clone()), None),
        controller::Principal::Agent { node } => (tenant::Role::Agent, None, Some(node.clone())),
        controller::Principal::Reader { tenant } => (tenant::Role::Reader, tenant.clone(), None),
    };
    let expires = token.expires.map(|expires| expires.to_string());
    let certificate = token.certificate.clone();
    let spec = tenant::TokenSpec { role, tenant, node, label: token.label.clone(), expires, certificate };
    tenant::Token { id: token.id.clone(), spec, revision: token.revision, warning: token_warning(token) }
}

/// Returns the reason that no client can use a token; `None` if one can.
pub(crate) fn token_warning(token: &controller::Token) -> Option<String> {
    let name = token.certificate.as_deref()?;
    let why = unmatched(name)?;
    Some(format!("no certificate can use it, for {name}: {why}, and delete this token"))
}

/// A decision.
pub(crate) fn decision(network: &Network, record: &DecisionRecord, role: &controller::Principal) -> Decision {
    let is_tenant = tenant_of(role).is_some();
    // The load of links is hidden from tenants.
    let message = match &record.decided {
        Decided::Refused(refusal) => {
            let clause = if is_tenant { sentences::refusal_of_to_tenant } else { sentences::refusal_of };
            Some(sentences::sentence(&clause(network, &record.order.contract, refusal)))
        }
        Decided::Quota(short) => Some(quota_short(short)),
        Decided::Admitted(_) => None,
    };
    let (bound_ns, certainty, moved) = match &record.decided {
        Decided::Admitted(ContractPromise::Delay { bound, moved }) => (Some(bound.as_nanos()), None, &moved[..]),
        Decided::Admitted(ContractPromise::Share { certainty, .. }) => (None, *certainty, &[][..]),
        Decided::Refused(_) | Decided::Quota(_) => (None, None, &[][..]),
    };
    let mut asked = spec(network, &record.order);
    asked.tenant = Some(record.id.tenant.clone());
    Decision {
        number: record.number,
        at: record.at.to_string(),
        contract: record.id.to_string(),
        asked,
        verdict: if record.decided.reason().is_some() { DecisionOutcome::Refused } else { DecisionOutcome::Admitted },
        bound_ns,
        certainty: certainty.map(|certainty| certainty.name().to_owned()),
        moved: moved.iter().filter(|id| sees(role, id)).map(ToString::to_string).collect(),
        reason: record.decided.reason().map(str::to_owned),
        message,
    }
}

/// The message for a quota that is used up.
pub(crate) fn quota_short(short: &QuotaShort) -> String {
    let QuotaShort { what, asked, most } = short;
    let sum = u64::try_from(*asked).unwrap_or(u64::MAX);
    let [most, asked] = match *what {
        "rate" => [Rate::from_bits_per_second(*most).down(), Rate::from_bits_per_second(sum).up()],
        "burst" => [Bytes::new(*most).down(), Bytes::new(sum).up()],
        _ => [most.to_string(), asked.to_string()],
    };
    format!("quota exceeded: {what} is limited to {most}, and this contract would raise it to {asked}")
}

/// Something that has happened.
pub(crate) fn event(event: &controller::Event) -> Event {
    Event {
        number: event.number,
        at: event.at.to_string(),
        kind: event.kind.name().to_owned(),
        object: event.object.clone(),
        tenant: event.tenant.clone(),
        revision: event.revision,
        detail: event.detail.clone(),
    }
}

/// Returns a policy of services, with its needs.
pub(crate) fn policy(network: &Network, state: &PolicyState) -> Policy {
    Policy {
        name: state.policy.name().to_owned(),
        spec: policy_spec(network, &state.policy),
        needs: policy_needs(network, &state.policy),
        revision: state.revision,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wayleave_topology::builders::{Cabling, build};

    #[test]
    fn one_silent_agent_and_several_have_their_own_rules() {
        let network = build::star(2, Cabling::default()).unwrap();
        let hosts: Vec<NodeId> = network.hosts().collect();
        let (one, two) = (silent(&network, &hosts[..1]), silent(&network, &hosts));
        assert!(one.starts_with("the agent of h1 has been silent for too long: whether its rules"), "{one}");
        assert!(two.starts_with("the agents of h1 and h2 have been silent for too long: whether their rules"), "{two}");
    }
}
