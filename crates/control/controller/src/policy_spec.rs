//! A policy as a document with names, as it is on disk and in answers; and back.

use std::num::NonZeroU32;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use wayleave_contracts::{
    Bandwidth, Direction, Division, FlowObjective, Match, PerDirection, Policy, PolicyLevel, ServiceSpec, TimedTerms,
};
use wayleave_protocol::policy::{PolicyChange, PolicyNeed, PolicyService, PolicySpec, PolicyTerms};
use wayleave_topology::{Network, NodeId};
use wayleave_units::Rate;

/// A policy on disk.
#[derive(Serialize, Deserialize)]
pub(crate) struct PolicyRecord {
    pub(crate) revision: u64,
    pub(crate) spec: PolicySpec,
}

/// Returns the content of a policy as a document.
pub fn spec(network: &Network, policy: &Policy) -> PolicySpec {
    let names = |nodes: &[NodeId]| nodes.iter().map(|&node| network.node(node).name.clone()).collect();
    let service = |service: &ServiceSpec| PolicyService {
        name: service.name.clone(),
        parent: service.parent.clone(),
        tenant: service.tenant.clone(),
        matching: service.filter.map(Into::into),
        endpoints: names(&service.endpoints),
        transmit: terms(&service.bandwidth.transmit),
        receive: terms(&service.bandwidth.receive),
        changes: service.changes.iter().map(change).collect(),
        share: service.division.map(|division| division.share.to_string()),
        objective: service.division.and_then(|division| Some(division.objective?.name().to_owned())),
    };
    PolicySpec {
        level: policy.level().name().to_owned(),
        nodes: names(policy.nodes()),
        peak: policy.peak().map(|peak| peak.to_string()),
        services: policy.services().iter().map(service).collect(),
    }
}

/// Returns the needs of a policy on links where they are not zero.
pub fn needs(network: &Network, policy: &Policy) -> Vec<PolicyNeed> {
    let needs = policy.needs(network).into_iter().filter(|need| need.min > Rate::ZERO);
    let need = |need: wayleave_contracts::PolicyNeed| PolicyNeed {
        place: need.point.describe(network),
        direction: need.direction.name().to_owned(),
        min: need.min.to_string(),
        links: need.links.len() as u64,
    };
    needs.map(need).collect()
}

fn terms(terms: &Bandwidth) -> PolicyTerms {
    PolicyTerms {
        min: terms.min.map(|min| min.to_string()),
        max: terms.max.map(|max| max.to_string()),
        weight: terms.weight.map(NonZeroU32::get),
    }
}

fn change(change: &TimedTerms) -> PolicyChange {
    let [transmit, receive] = Direction::ALL.map(|direction| terms(change.bandwidth.get(direction)));
    PolicyChange { at: change.at.to_string(), transmit, receive }
}

/// Returns the policy of a document, or the reason that it is invalid.
pub(crate) fn policy(network: &Network, name: &str, spec: &PolicySpec) -> Result<Policy, String> {
    let level = named(PolicyLevel::NAMED, &spec.level, "level")?;
    let services = spec.services.iter().map(|stated| service(network, stated)).collect::<Result<_, _>>()?;
    let policy = Policy::new(network, name, level, nodes(network, &spec.nodes)?, read(spec.peak.as_ref())?, services);
    policy.map_err(|errors| {
        let faults: Vec<String> = errors.iter().map(|error| error.fault.to_string()).collect();
        faults.join("; ")
    })
}

fn service(network: &Network, stated: &PolicyService) -> Result<ServiceSpec, String> {
    let objective =
        stated.objective.as_deref().map(|name| named(FlowObjective::NAMED, name, "objective")).transpose()?;
    let division = read(stated.share.as_ref())?.map(|share| Division { share, objective });
    let change = |stated: &PolicyChange| -> Result<TimedTerms, String> {
        let at = stated.at.parse().map_err(|_| format!("{} is not a duration", stated.at))?;
        Ok(TimedTerms { at, bandwidth: both(&stated.transmit, &stated.receive)? })
    };
    Ok(ServiceSpec {
        name: stated.name.clone(),
        parent: stated.parent.clone(),
        tenant: stated.tenant.clone(),
        filter: stated.matching.as_ref().map(Match::try_from).transpose()?,
        endpoints: nodes(network, &stated.endpoints)?,
        bandwidth: both(&stated.transmit, &stated.receive)?,
        changes: stated.changes.iter().map(change).collect::<Result<_, _>>()?,
        division,
    })
}

fn both(transmit: &PolicyTerms, receive: &PolicyTerms) -> Result<PerDirection<Bandwidth>, String> {
    let one = |terms: &PolicyTerms| -> Result<Bandwidth, String> {
        let weight = terms.weight.and_then(NonZeroU32::new);
        Ok(Bandwidth { min: read(terms.min.as_ref())?, max: read(terms.max.as_ref())?, weight })
    };
    Ok(PerDirection { transmit: one(transmit)?, receive: one(receive)? })
}

fn nodes(network: &Network, names: &[String]) -> Result<Vec<NodeId>, String> {
    let node = |name: &String| network.find_node(name).ok_or_else(|| format!("the network has no node {name}"));
    names.iter().map(node).collect()
}

fn named<T: Copy, const N: usize>(all: [(&'static str, T); N], name: &str, what: &str) -> Result<T, String> {
    let found = all.into_iter().find(|(known, _)| *known == name);
    found.map(|(_, found)| found).ok_or_else(|| format!("{name} is not a {what}"))
}

fn read<T: FromStr>(text: Option<&String>) -> Result<Option<T>, String> {
    text.map(|text| text.parse().map_err(|_| format!("{text} cannot be read"))).transpose()
}
