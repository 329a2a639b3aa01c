//! Services of a policy as a tree.

use wayleave_sharing::ServiceTerms;
use wayleave_topology::{Network, NodeId, NodeKind};
use wayleave_units::{Rate, WallTime};

use super::{Bandwidth, Direction, PolicyLevel, ServiceSpec};

/// A valid policy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Policy {
    /// Name of the service.
    pub(super) name: String,
    pub(super) level: PolicyLevel,
    pub(super) nodes: Vec<NodeId>,
    pub(super) peak: Option<Rate>,
    /// As they were given.
    pub(super) services: Vec<ServiceSpec>,
    pub(super) parents: Vec<Option<usize>>,
    /// Parents first, siblings by name: no order of a file shows.
    pub(super) order: Vec<usize>,
}

impl Policy {
    /// Returns a policy without services, which applies to all contention points of a level.
    pub const fn empty(level: PolicyLevel) -> Self {
        Self {
            name: String::new(),
            level,
            nodes: Vec::new(),
            peak: None,
            services: Vec::new(),
            parents: Vec::new(),
            order: Vec::new(),
        }
    }

    /// Returns its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The level that it is for.
    pub fn level(&self) -> PolicyLevel {
        self.level
    }

    /// The nodes that it is for; all of its level if there are none.
    pub fn nodes(&self) -> &[NodeId] {
        &self.nodes
    }

    /// The most load of each of its contention points in each direction.
    pub fn peak(&self) -> Option<Rate> {
        self.peak
    }

    /// The services, as they were given.
    pub fn services(&self) -> &[ServiceSpec] {
        &self.services
    }

    /// The services by their places in the list: parents first, siblings by name.
    pub fn order(&self) -> &[usize] {
        &self.order
    }

    /// The parent of a service.
    pub fn parent(&self, service: usize) -> Option<usize> {
        self.parents[service]
    }

    /// A service with those of which it is a part, as Parley writes it (section 3.2.1): `service:user`.
    pub fn path(&self, service: usize) -> String {
        let mut names: Vec<&str> = self.line(service).map(|service| self.services[service].name.as_str()).collect();
        names.reverse();
        names.join(":")
    }

    /// The times at which something changes, in order.
    pub fn change_times(&self) -> Vec<WallTime> {
        let mut times: Vec<WallTime> =
            self.services.iter().flat_map(|service| &service.changes).map(|c| c.at).collect();
        times.sort_unstable();
        times.dedup();
        times
    }

    /// The terms of each service at a time, by its place in the list. `None` is before all changes.
    pub fn terms(&self, direction: Direction, now: Option<WallTime>) -> Vec<ServiceTerms> {
        self.terms_where(direction, now, |_| true)
    }

    /// The terms, where some services only are present: the others' minima are not needed there.
    pub(super) fn terms_where(
        &self,
        direction: Direction,
        now: Option<WallTime>,
        is_here: impl Fn(usize) -> bool,
    ) -> Vec<ServiceTerms> {
        let stated: Vec<Bandwidth> =
            self.services.iter().map(|service| stated_bandwidth(service, direction, now)).collect();
        let below = self.minima_below(&stated, is_here);
        let terms = stated.iter().zip(below).map(|(stated, below)| ServiceTerms {
            min: stated.min.unwrap_or(below),
            max: stated.max,
            weight: stated.weight.unwrap_or(std::num::NonZeroU32::MIN),
        });
        terms.collect()
    }

    /// A service, its parent, and so on.
    pub(super) fn line(&self, service: usize) -> impl Iterator<Item = usize> {
        std::iter::successors(Some(service), |&service| self.parents[service])
    }

    /// The minima of the services below each, together.
    pub(super) fn minima_below(&self, stated: &[Bandwidth], is_here: impl Fn(usize) -> bool) -> Vec<Rate> {
        let mut below = vec![Rate::ZERO; stated.len()];
        for &service in self.order.iter().rev().filter(|&&service| is_here(service)) {
            let min = stated[service].min.unwrap_or(below[service]);
            if let Some(parent) = self.parents[service] {
                below[parent] = below[parent].checked_add(min).unwrap_or(Rate::MAX);
            }
        }
        below
    }
}

/// Returns `true` if a node is a contention point of a level.
pub(super) fn is_point(network: &Network, level: PolicyLevel, node: NodeId) -> bool {
    let is_host = |node: NodeId| network.node(node).kind == NodeKind::Host;
    match level {
        PolicyLevel::Machine => is_host(node),
        PolicyLevel::Rack => {
            !is_host(node) && network.links_from(node).iter().any(|&link| is_host(network.link(link).to))
        }
        PolicyLevel::Fabric => false,
    }
}

/// Returns the terms of a service at a time.
pub(super) fn stated_bandwidth(service: &ServiceSpec, direction: Direction, now: Option<WallTime>) -> Bandwidth {
    let past = service.changes.iter().filter(|change| now.is_some_and(|now| change.at <= now));
    past.fold(*service.bandwidth.get(direction), |stated, change| {
        let new = change.bandwidth.get(direction);
        Bandwidth { min: new.min.or(stated.min), max: new.max.or(stated.max), weight: new.weight.or(stated.weight) }
    })
}
