//! Construction of a policy: a list of services becomes a tree, or errors that name the services.

use std::collections::HashMap;

use wayleave_topology::{Network, NodeId};
use wayleave_units::Rate;

use super::tree::{is_point, stated_bandwidth};
use super::{Bandwidth, Direction, Policy, PolicyError, PolicyFault, PolicyLevel, ServiceSpec, membership};
use crate::names::Named;

impl Policy {
    /// A policy of services at the contention points of a level: at `nodes`, or at all of that level if there are none.
    /// `peak` limits the load of each of them in each direction.
    ///
    /// # Errors
    /// Everything that is wrong, by service.
    pub fn new(
        network: &Network,
        name: &str,
        level: PolicyLevel,
        nodes: Vec<NodeId>,
        peak: Option<Rate>,
        services: Vec<ServiceSpec>,
    ) -> Result<Self, Vec<PolicyError>> {
        let mut errors = Vec::new();
        for &node in nodes.iter().filter(|&&node| !is_point(network, level, node)) {
            let fault = PolicyFault::WrongNode { node: network.node(node).name.clone(), level };
            errors.push(PolicyError { service: None, fault });
        }
        let mut fault = |service, fault| errors.push(PolicyError { service: Some(service), fault });
        let parents = parents(&services, &mut fault);
        let order = order(&services, &parents);
        loops(&services, &parents, &order, &mut fault);
        if !errors.is_empty() {
            return Err(errors);
        }
        let policy = Self { name: name.to_owned(), level, nodes, peak, services, parents, order };
        let mut fault = |service, fault| errors.push(PolicyError { service: Some(service), fault });
        membership::check(&policy, network, &mut fault);
        policy.check_terms(&mut fault);
        if errors.is_empty() { Ok(policy) } else { Err(errors) }
    }

    fn check_terms(&self, fault: &mut impl FnMut(usize, PolicyFault)) {
        for (index, service) in self.services.iter().enumerate() {
            for pair in service.changes.windows(2).filter(|pair| pair[0].at >= pair[1].at) {
                fault(index, PolicyFault::ChangeOrder(pair[1].at));
            }
        }
        let mut reported = vec![false; self.services.len()];
        let times = std::iter::once(None).chain(self.change_times().into_iter().map(Some));
        for (direction, at) in times.flat_map(|at| Direction::ALL.map(|direction| (direction, at))) {
            let stated: Vec<Bandwidth> =
                self.services.iter().map(|service| stated_bandwidth(service, direction, at)).collect();
            let below = self.minima_below(&stated, |_| true);
            for (service, (stated, children)) in stated.iter().zip(below).enumerate() {
                let min = stated.min.unwrap_or(children);
                let found = match stated.max {
                    Some(max) if max < min => Some(PolicyFault::MaxBelowMin { direction, min, max, at }),
                    _ if children > min => Some(PolicyFault::Minima { direction, children, min, at }),
                    _ => None,
                };
                // Reported once, for the first direction and time with this error.
                if let Some(found) = found.filter(|_| !std::mem::replace(&mut reported[service], true)) {
                    fault(service, found);
                }
            }
        }
    }
}

fn parents(services: &[ServiceSpec], fault: &mut impl FnMut(usize, PolicyFault)) -> Vec<Option<usize>> {
    let mut places: HashMap<&str, usize> = HashMap::new();
    for (index, service) in services.iter().enumerate() {
        if let Err(error) = Named::Service.check(&service.name) {
            fault(index, PolicyFault::Name(error));
        }
        if places.contains_key(service.name.as_str()) {
            fault(index, PolicyFault::SameName);
        } else {
            places.insert(&service.name, index);
        }
    }
    let mut found = Vec::new();
    for (index, service) in services.iter().enumerate() {
        let parent = service.parent.as_ref().map(|parent| (parent, places.get(parent.as_str()).copied()));
        if let Some((parent, None)) = parent {
            fault(index, PolicyFault::UnknownParent(parent.clone()));
        }
        found.push(parent.and_then(|(_, place)| place));
    }
    found
}

/// Parents first, siblings by name; what hangs in a loop is missing.
fn order(services: &[ServiceSpec], parents: &[Option<usize>]) -> Vec<usize> {
    let mut below: Vec<Vec<usize>> = vec![Vec::new(); services.len()];
    let mut open: Vec<usize> = Vec::new();
    for (index, parent) in parents.iter().enumerate() {
        match parent {
            Some(parent) => below[*parent].push(index),
            None => open.push(index),
        }
    }
    let by_name = |list: &mut Vec<usize>| list.sort_by(|&one, &other| services[other].name.cmp(&services[one].name));
    by_name(&mut open);
    let mut order = Vec::new();
    while let Some(service) = open.pop() {
        order.push(service);
        let mut children = std::mem::take(&mut below[service]);
        by_name(&mut children);
        open.append(&mut children);
    }
    order
}

fn loops(
    services: &[ServiceSpec],
    parents: &[Option<usize>],
    order: &[usize],
    fault: &mut impl FnMut(usize, PolicyFault),
) {
    let mut seen = vec![false; services.len()];
    order.iter().for_each(|&service| seen[service] = true);
    for start in 0..services.len() {
        let mut line = Vec::new();
        let mut at = start;
        while !std::mem::replace(&mut seen[at], true) {
            line.push(at);
            // Every service that is not in the order has a parent.
            at = parents[at].unwrap_or(at);
        }
        // A new loop closes on its own line; a branch that hangs on an old one does not.
        if let Some(begin) = line.iter().position(|&service| service == at) {
            let names = line[begin..].iter().chain([&at]).map(|&service| services[service].name.clone());
            fault(at, PolicyFault::Loop(names.collect()));
        }
    }
}
