//! Flows that follow others: the followed traffic, and a check that every receiver has a next one.

use super::TrafficError;
use crate::{DependentFlows, Endpoint, FlowArrivals, FlowEndpoints, Onward, Scenario, Traffic, Workload};

/// Checks a traffic that follows another one.
pub(super) fn check(traffic: &Traffic, after: &DependentFlows, scenario: &Scenario) -> Result<(), TrafficError> {
    let place = scenario.traffic.iter().position(|other| other.name == traffic.name).unwrap_or(0);
    let above = &scenario.traffic[..place];
    let Some(before) = above.iter().find(|other| other.name == after.traffic) else {
        let known = above.iter().map(|other| other.name.clone()).collect();
        return Err(TrafficError::FollowsNothing { traffic: after.traffic.clone(), known });
    };
    let ends_are_known = |reliable: &crate::Reliable| match &reliable.arrivals {
        FlowArrivals::Rpc(_) => false,
        FlowArrivals::After(_) => true,
        _ => reliable.sizes.is_some(),
    };
    match &before.workload {
        Workload::Flows(reliable) if ends_are_known(reliable) => {}
        _ => return Err(TrafficError::FollowsNoEnd { traffic: after.traffic.clone() }),
    }
    let FlowEndpoints::Random(from, to) = &traffic.ends else { return Err(TrafficError::FollowsPairs) };
    let unrelated = |all: &[Endpoint], of: &[Endpoint]| all.iter().find(|end| !of.contains(end)).copied();
    let unknown = |key, end: Endpoint| {
        let endpoint = scenario.name_of(end).to_owned();
        Err(TrafficError::FollowsUnrelated { key, endpoint, traffic: after.traffic.clone() })
    };
    if let Some(end) = unrelated(&receivers(&before.ends), from) {
        return unknown("from", end);
    }
    match after.to {
        Onward::Sender => unrelated(&senders(&before.ends), to).map_or(Ok(()), |end| unknown("to", end)),
        Onward::Drawn(0) => Err(TrafficError::Zero { key: "after", what: "the number of flows that follow" }),
        Onward::Drawn(wanted) => {
            let others = |end: &Endpoint| to.iter().filter(|other| other.host != end.host).count();
            match from.iter().find(|end| others(end) < wanted as usize) {
                None => Ok(()),
                Some(end) => Err(TrafficError::TooFewReceivers {
                    sender: scenario.name_of(*end).to_owned(),
                    receivers: others(end),
                    wanted,
                }),
            }
        }
    }
}

fn senders(ends: &FlowEndpoints<Endpoint>) -> Vec<Endpoint> {
    match ends {
        FlowEndpoints::Pairs(pairs) => pairs.iter().map(|pair| pair.0).collect(),
        FlowEndpoints::Permutation(all) => all.clone(),
        FlowEndpoints::AllToAll(from, _) | FlowEndpoints::Random(from, _) => from.clone(),
    }
}

fn receivers(ends: &FlowEndpoints<Endpoint>) -> Vec<Endpoint> {
    match ends {
        FlowEndpoints::Pairs(pairs) => pairs.iter().map(|pair| pair.1).collect(),
        FlowEndpoints::Permutation(all) => all.clone(),
        FlowEndpoints::AllToAll(_, to) | FlowEndpoints::Random(_, to) => to.clone(),
    }
}
