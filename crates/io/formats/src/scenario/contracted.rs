//! `contract` of a traffic: what belongs to an admitted contract goes where the contract does, in its queue, between its hosts.

use wayleave_scenarios::{Deadline, Endpoint, FlowEndpoints, OfContract, PacketKind, Tenants, Traffic, Workload};
use wayleave_topology::{Network, NodeId};

use super::scalars::refuse_beside;
use crate::fields::Fields;
use crate::messages::{did_you_mean, nearest, quoted};
use crate::problem::{ProblemKind, Problems};
use crate::tree::Node;

/// Returns the terms of the contract that a traffic names, if there is such a contract.
pub(super) fn read(
    fields: &Fields<'_, '_>,
    tenants: Option<&Tenants>,
    problems: &mut Problems<'_>,
) -> Option<OfContract> {
    let node = fields.get("contract")?;
    let name = node.expect_text(problems)?;
    refuse_beside(
        fields,
        &["service", "toService", "queue", "route"],
        "traffic with a contract, which defines it",
        problems,
    );
    let Some(tenants) = tenants else {
        let message =
            || "no contracts are named: `contracts: FILE` beside `traffic` names those of the scenario".to_owned();
        problems.report(ProblemKind::UnknownName, node.span, message);
        return None;
    };
    let found = tenants.of_contract(name);
    if found.is_none() {
        problems.report(ProblemKind::UnknownName, node.span, || {
            let near = did_you_mean(nearest(name, tenants.names()));
            format!("there is no contract {} in the scenario's `contracts`{near}", quoted(name))
        });
    }
    found
}

/// Returns the default ends of a traffic: those of a pair, or all members.
pub(super) fn ends(of: &OfContract, is_random: bool) -> FlowEndpoints<Endpoint> {
    let all = || of.hosts.iter().map(|&host| Endpoint::from(host)).collect::<Vec<_>>();
    match (of.is_pair, &of.hosts[..]) {
        (true, &[from, to]) => FlowEndpoints::Pairs(vec![(from.into(), to.into())]),
        _ if is_random => FlowEndpoints::Random(all(), all()),
        _ => FlowEndpoints::AllToAll(all(), all()),
    }
}

/// Gives a traffic the terms of its contract, and reports conflicts with them.
pub(super) fn apply(
    of: &OfContract,
    traffic: &mut Traffic,
    network: &Network,
    at: &Node<'_>,
    problems: &mut Problems<'_>,
) {
    (traffic.service, traffic.queue) = (Some(of.service.clone()), Some(of.queue));
    let name = |host: NodeId| network.node(host).name.clone();
    if let Some(host) = outside(of, &traffic.ends) {
        let hosts: Vec<String> = of.hosts.iter().take(8).map(|&host| name(host)).collect();
        problems.report(ProblemKind::Impossible, at.span, || match of.is_pair {
            true => format!("the contract is for what {} sends to {}", hosts[0], hosts[1]),
            false => format!("{} is not a member of the contract: expected {}", name(host), hosts.join(", ")),
        });
    }
    if let Some((route, rate, burst)) = &of.latency {
        traffic.route = Some(route.clone());
        let fits = matches!(&traffic.workload, Workload::Packets { kind: PacketKind::TokenBucket { rate: own, burst: bucket, .. }, .. }
            if own <= rate && bucket <= burst);
        if !fits {
            problems.report(ProblemKind::Impossible, at.span, || {
                format!(
                    "a shaper holds the contract to {rate} with bursts of {burst}: give `tokenBucket: {{ rate: {rate}, burst: {burst} }}` or less"
                )
            });
        }
    }
    if let Workload::Flows(flows) = &mut traffic.workload
        && flows.deadline.is_none()
        && flows.sizes.is_some()
    {
        flows.deadline = of.deadline.map(Deadline::Fixed);
    }
    let transport = match &mut traffic.workload {
        Workload::Flows(flows) => &mut flows.transport,
        Workload::Job(job) => &mut job.transport,
        Workload::Packets { .. } | Workload::Listed { .. } => return,
    };
    transport.get_or_insert_with(|| of.transport.clone());
}

/// A host that the contract is not for; of a pair, in that place.
fn outside(of: &OfContract, ends: &FlowEndpoints<Endpoint>) -> Option<NodeId> {
    let is_member = |end: &Endpoint| of.hosts.contains(&end.host);
    let member = |ends: &[Endpoint]| ends.iter().find(|end| !is_member(end)).map(|end| end.host);
    match (ends, of.is_pair, &of.hosts[..]) {
        (FlowEndpoints::Pairs(pairs), true, &[from, to]) => {
            let wrong = pairs.iter().find(|pair| (pair.0.host, pair.1.host) != (from, to));
            wrong.map(|pair| pair.0.host)
        }
        (FlowEndpoints::AllToAll(from, to) | FlowEndpoints::Random(from, to), true, &[first, second]) => {
            let wrong = |ends: &[Endpoint], host| ends.iter().find(|end| end.host != host).map(|end| end.host);
            wrong(from, first).or_else(|| wrong(to, second))
        }
        (FlowEndpoints::Permutation(ends), true, _) => ends.first().map(|end| end.host),
        (FlowEndpoints::Pairs(pairs), ..) => {
            pairs.iter().flat_map(|pair| [&pair.0, &pair.1]).find(|end| !is_member(end)).map(|end| end.host)
        }
        (FlowEndpoints::Permutation(ends), ..) => member(ends),
        (FlowEndpoints::AllToAll(from, to) | FlowEndpoints::Random(from, to), ..) => {
            member(from).or_else(|| member(to))
        }
    }
}
