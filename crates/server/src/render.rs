//! From the controller's types to the documents of the interface.

use wayleave_contracts::{Accounting, Excess, Order, Priority};
use wayleave_controller::{self as controller, Controller, Decided, DecisionRecord, Grant, Trouble};
use wayleave_explain::sentences;
use wayleave_protocol::contract::{Contract, ContractSpec, ContractStatus, Hop, Late, Match, Route};
use wayleave_protocol::decision::{Decision, Verdict};
use wayleave_protocol::event::Event;
use wayleave_protocol::tenant;
use wayleave_topology::Network;

use wayleave_schemes::standing::Standing as _;

use crate::access::{sees, tenant_of};
use crate::answer::quota_short;

/// What was asked, with the keys of a file.
pub(crate) fn spec(network: &Network, order: &Order) -> ContractSpec {
    let contract = &order.contract;
    let hop = |hop: &wayleave_topology::Hop| format!("{}:{}", network.link(hop.link).name, hop.queue);
    let (accounting, min_frame) = match contract.accounting {
        Accounting::Wire => (None, None),
        Accounting::Frame { min_frame } => (Some("frame".to_owned()), Some(min_frame.to_string())),
    };
    ContractSpec {
        name: Some(contract.name.clone()),
        tenant: contract.tenant.clone(),
        from: order.from.clone(),
        to: order.to.clone(),
        rate: contract.rate.to_string(),
        burst: contract.burst.to_string(),
        deadline: contract.deadline.to_string(),
        accounting,
        min_frame,
        max_frame: contract.max_frame.map(|frame| frame.to_string()),
        route: contract.route.as_ref().map(|route| route.hops.iter().map(hop).collect()),
        protection: Some(u32::from(contract.protection)).filter(|&routes| routes > 1),
        excess: Some(contract.excess)
            .filter(|&excess| excess != Excess::default())
            .map(|excess| excess.name().to_owned()),
        priority: Some(order.priority).filter(|&priority| priority != Priority::default()).map(Priority::get),
        starts: order.starts.map(|time| time.to_string()),
        ends: order.ends.map(|time| time.to_string()),
        matching: order.matching.map(Match::from),
    }
}

/// A contract with what has become of it.
pub(crate) fn contract(controller: &Controller, grant: &Grant) -> Contract {
    let network = &**controller.network();
    let bound = |route| controller.scheme().queues().map_or(0, |queues| queues.bound(route).as_nanos());
    let routes = controller.routes(grant);
    let routes =
        routes.iter().map(|(_, route)| Route { hops: Hop::named(network, route), bound_ns: bound(route) }).collect();
    let (reason, message) = reason(grant);
    let (configured, effective) = grant.versions();
    let measured = grant.violation.map(|late| Late {
        packets: late.packets,
        worst_ns: late.worst.as_nanos(),
        at: late.at.to_string(),
    });
    let contract = &grant.order.contract;
    let status = ContractStatus {
        state: grant.state,
        reason: reason.map(str::to_owned),
        message,
        bound_ns: grant.bound.as_nanos(),
        deadline_ns: contract.deadline.as_nanos(),
        from_host: network.node(contract.from).name.clone(),
        to_host: network.node(contract.to).name.clone(),
        routes,
        serial: grant.serial,
        revision: grant.revision,
        decision: grant.decision,
        created: grant.created.to_string(),
        configured,
        effective,
        measured,
        waits_for: grant.waits_for() as u64,
    };
    let mut spec = spec(network, &grant.order);
    spec.tenant = Some(grant.id.tenant.clone());
    Contract { id: grant.id.to_string(), spec, status }
}

/// Why a contract is in its state: a stable code, and a message.
fn reason(grant: &Grant) -> (Option<&'static str>, Option<String>) {
    match grant.state {
        controller::State::Degraded => match &grant.trouble {
            Some(trouble @ Trouble::Failed { element, keeps_place, why }) => {
                let back = if *keeps_place {
                    "its place is kept: it comes back when that is up again"
                } else {
                    "its place was given to others: it is tried again every few seconds"
                };
                (Some(trouble.code()), Some(format!("{element} is down, and there is no other route ({why}); {back}")))
            }
            Some(trouble @ Trouble::Unconfirmed) => {
                (Some(trouble.code()), Some("its host has not confirmed its rule in time".to_owned()))
            }
            Some(trouble @ Trouble::Silent) => {
                let message =
                    "the agent of its host has not been heard of for too long: its rule may not be in force any more";
                (Some(trouble.code()), Some(message.to_owned()))
            }
            None => (None, None),
        },
        controller::State::Violated => {
            let message = grant
                .violation
                .map(|late| format!("{} packets came too late, the slowest after {}", late.packets, late.worst));
            (Some("LATE_PACKETS"), message)
        }
        controller::State::Pending if grant.waits_for() > 0 => {
            let message = format!("{} routes that were left have to be empty first", grant.waits_for());
            (Some("WAITS"), Some(message))
        }
        controller::State::Pending => {
            let starts = grant.order.starts.map(|starts| format!("it starts at {starts}"));
            (Some("NOT_STARTED").filter(|_| starts.is_some()), starts)
        }
        _ => (None, None),
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

/// A tenant with what it has.
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
        controller::Role::Operator => (tenant::Role::Operator, None, None),
        controller::Role::Tenant { tenant } => (tenant::Role::Tenant, Some(tenant.clone()), None),
        controller::Role::Agent { node } => (tenant::Role::Agent, None, Some(node.clone())),
        controller::Role::Reader { tenant } => (tenant::Role::Reader, tenant.clone(), None),
    };
    let expires = token.expires.map(|expires| expires.to_string());
    let spec = tenant::TokenSpec { role, tenant, node, label: token.label.clone(), expires };
    tenant::Token { id: token.id.clone(), spec, revision: token.revision }
}

/// A decision.
pub(crate) fn decision(network: &Network, record: &DecisionRecord, role: &controller::Role) -> Decision {
    let (verdict, bound_ns, moved, message) = match &record.decided {
        Decided::Admitted { bound, moved } => (Verdict::Admitted, Some(bound.as_nanos()), &moved[..], None),
        Decided::Refused(refusal) => {
            let contract = &record.order.contract;
            let clause = match tenant_of(role) {
                None => sentences::refusal(network, contract, refusal),
                // What links carry is others' business.
                Some(_) => sentences::refusal_to_tenant(network, contract, refusal),
            };
            (Verdict::Refused, None, &[][..], Some(sentences::sentence(&clause)))
        }
        Decided::Quota(short) => (Verdict::Refused, None, &[][..], Some(quota_short(short))),
    };
    let mut asked = spec(network, &record.order);
    asked.tenant = Some(record.id.tenant.clone());
    Decision {
        number: record.number,
        at: record.at.to_string(),
        contract: record.id.to_string(),
        asked,
        verdict,
        bound_ns,
        moved: moved.iter().filter(|id| sees(role, id)).map(ToString::to_string).collect(),
        reason: record.decided.reason().map(str::to_owned),
        message,
    }
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
