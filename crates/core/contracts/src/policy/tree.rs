//! A list of services becomes a tree, or an error that says which service and why.

use std::collections::HashMap;
use std::fmt;

use wayleave_sharing::Terms;
use wayleave_topology::{Network, NodeId, NodeKind};
use wayleave_units::{Rate, WallTime};

use super::{Bandwidth, Direction, PolicyLevel, Service, membership};
use crate::NameError;
use crate::names::Named;

/// A valid policy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Policy {
    /// What it is called.
    pub(super) name: String,
    pub(super) level: PolicyLevel,
    pub(super) nodes: Vec<NodeId>,
    pub(super) peak: Option<Rate>,
    /// As they were given.
    pub(super) services: Vec<Service>,
    pub(super) parents: Vec<Option<usize>>,
    /// Parents first, siblings by name: no order of a file shows.
    pub(super) order: Vec<usize>,
}

/// What is wrong with a service.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PolicyError {
    /// The service, by its place in the list; without one it is the policy.
    pub service: Option<usize>,
    /// What is wrong.
    pub fault: PolicyFault,
}

/// What can be wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PolicyFault {
    /// A name that cannot stand in a file or on a command line.
    Name(NameError),
    /// Another service has this name.
    SameName,
    /// No service has the parent's name.
    UnknownParent(String),
    /// The services are parents of one another: names, in order.
    Loop(Vec<String>),
    /// The policy's node is of the wrong kind for its level.
    WrongNode {
        /// The node.
        node: String,
        /// What is expected.
        level: PolicyLevel,
    },
    /// An endpoint is a switch.
    NotAHost(String),
    /// An endpoint is none of the parent's.
    OutsideParent {
        /// The endpoint.
        endpoint: String,
        /// The parent.
        parent: String,
    },
    /// The filter says nothing, or contradicts itself.
    Filter(crate::MatchError),
    /// No packet of an ancestor can pass the filter.
    NoPacket {
        /// The ancestor.
        ancestor: String,
    },
    /// A packet could belong to both siblings.
    DoubleMembership {
        /// The other.
        other: String,
        /// A host at which it could, if the services name hosts.
        at: Option<String>,
    },
    /// The maximum is below the minimum.
    MaxBelowMin {
        /// The direction.
        direction: Direction,
        /// The minimum, as it is given or as the children need it.
        min: Rate,
        /// The maximum.
        max: Rate,
        /// From when on, if not from the beginning.
        at: Option<WallTime>,
    },
    /// The children's minima are together above the parent's.
    Minima {
        /// The direction.
        direction: Direction,
        /// The children's minima together.
        children: Rate,
        /// The parent's.
        min: Rate,
        /// From when on, if not from the beginning.
        at: Option<WallTime>,
    },
    /// Two changes at one time, or one before the one above it.
    ChangeOrder(WallTime),
}

impl PolicyFault {
    /// The field of a service (or of the policy) that it is about.
    pub fn field(&self) -> &'static str {
        match self {
            Self::Name(_) | Self::SameName => "name",
            Self::UnknownParent(_) | Self::Loop(_) => "parent",
            Self::WrongNode { .. } => "nodes",
            Self::NotAHost(_) | Self::OutsideParent { .. } => "endpoints",
            Self::Filter(_) | Self::NoPacket { .. } | Self::DoubleMembership { .. } => "match",
            Self::MaxBelowMin { at: None, .. } => "max",
            Self::Minima { at: None, .. } => "min",
            Self::MaxBelowMin { .. } | Self::Minima { .. } | Self::ChangeOrder(_) => "changes",
        }
    }
}

impl fmt::Display for PolicyFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let from = |at: &Option<WallTime>| at.map_or(String::new(), |at| format!(" from {at} on"));
        match self {
            Self::Name(error) => error.fmt(f),
            Self::SameName => f.write_str("this name is taken: every service of a policy needs a name of its own"),
            Self::UnknownParent(parent) => write!(f, "there is no service \"{parent}\" in this policy"),
            Self::Loop(names) => {
                write!(f, "services are parts of one another: {}; one of them needs another parent", names.join(" < "))
            }
            Self::WrongNode { node, level: PolicyLevel::Machine } => {
                write!(f, "{node} is a switch: a policy of machines names hosts")
            }
            Self::WrongNode { node, level: PolicyLevel::Rack } => {
                write!(
                    f,
                    "{node} has no hosts below it: a policy of racks names the switches that hosts are attached to"
                )
            }
            Self::WrongNode { node, level: PolicyLevel::Fabric } => {
                write!(f, "{node} is one node: a policy of the fabric is for all of them, leave out nodes")
            }
            Self::NotAHost(node) => write!(f, "{node} is a switch: the endpoints of a service are hosts"),
            Self::OutsideParent { endpoint, parent } => {
                write!(f, "{endpoint} is no endpoint of \"{parent}\": add it there, or leave it out here")
            }
            Self::Filter(error) => error.fmt(f),
            Self::NoPacket { ancestor } => {
                write!(f, "no packet of \"{ancestor}\" can be meant: its match and this one contradict one another")
            }
            Self::DoubleMembership { other, at } => {
                let at = at.as_ref().map_or(String::new(), |host| format!(" at {host}"));
                write!(
                    f,
                    "a packet{at} could belong to \"{other}\" as well: give both a match or endpoints that no packet shares, \
                     or make one the parent of the other"
                )
            }
            Self::MaxBelowMin { direction, min, max, at } => {
                let (direction, from) = (direction.name(), from(at));
                write!(f, "the maximum {max} to {direction} is below the minimum {min}{from}: raise max or lower min")
            }
            Self::Minima { direction, children, min, at } => {
                let (direction, from) = (direction.name(), from(at));
                write!(
                    f,
                    "the services below it are guaranteed {children} to {direction} together{from}, and it is guaranteed {min}: \
                     raise min to {children}, leave it out, or lower theirs"
                )
            }
            Self::ChangeOrder(at) => {
                write!(f, "{at} is not after the change before it: order them by time, one for each time")
            }
        }
    }
}

impl std::error::Error for PolicyFault {}

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
        services: Vec<Service>,
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

    /// What it is called.
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
    pub fn services(&self) -> &[Service] {
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

    /// Whether a tenant may add, change and remove a service: one of those above it is delegated to the tenant.
    pub fn is_delegated_to(&self, service: usize, tenant: &str) -> bool {
        self.line(service).skip(1).any(|above| self.services[above].tenant.as_deref() == Some(tenant))
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
    pub fn terms(&self, direction: Direction, now: Option<WallTime>) -> Vec<Terms> {
        self.terms_where(direction, now, |_| true)
    }

    /// The terms, where some services only are present: the others' minima are not needed there.
    pub(super) fn terms_where(
        &self,
        direction: Direction,
        now: Option<WallTime>,
        is_here: impl Fn(usize) -> bool,
    ) -> Vec<Terms> {
        let said: Vec<Bandwidth> = self.services.iter().map(|service| said(service, direction, now)).collect();
        let below = self.minima_below(&said, is_here);
        let terms = said.iter().zip(below).map(|(said, below)| Terms {
            min: said.min.unwrap_or(below),
            max: said.max,
            weight: said.weight.unwrap_or(std::num::NonZeroU32::MIN),
        });
        terms.collect()
    }

    /// A service, its parent, and so on.
    pub(super) fn line(&self, service: usize) -> impl Iterator<Item = usize> {
        std::iter::successors(Some(service), |&service| self.parents[service])
    }

    /// The minima of the services below each, together.
    fn minima_below(&self, said: &[Bandwidth], is_here: impl Fn(usize) -> bool) -> Vec<Rate> {
        let mut below = vec![Rate::ZERO; said.len()];
        for &service in self.order.iter().rev().filter(|&&service| is_here(service)) {
            let min = said[service].min.unwrap_or(below[service]);
            if let Some(parent) = self.parents[service] {
                below[parent] = below[parent].checked_add(min).unwrap_or(Rate::MAX);
            }
        }
        below
    }

    fn check_terms(&self, fault: &mut impl FnMut(usize, PolicyFault)) {
        for (index, service) in self.services.iter().enumerate() {
            for pair in service.changes.windows(2).filter(|pair| pair[0].at >= pair[1].at) {
                fault(index, PolicyFault::ChangeOrder(pair[1].at));
            }
        }
        let mut told = vec![false; self.services.len()];
        let times = std::iter::once(None).chain(self.change_times().into_iter().map(Some));
        for (direction, at) in times.flat_map(|at| Direction::ALL.map(|direction| (direction, at))) {
            let said: Vec<Bandwidth> = self.services.iter().map(|service| said(service, direction, at)).collect();
            let below = self.minima_below(&said, |_| true);
            for (service, (said, children)) in said.iter().zip(below).enumerate() {
                let min = said.min.unwrap_or(children);
                let found = match said.max {
                    Some(max) if max < min => Some(PolicyFault::MaxBelowMin { direction, min, max, at }),
                    _ if children > min => Some(PolicyFault::Minima { direction, children, min, at }),
                    _ => None,
                };
                // Said once, for the first direction and time at which it is so.
                if let Some(found) = found.filter(|_| !std::mem::replace(&mut told[service], true)) {
                    fault(service, found);
                }
            }
        }
    }
}

/// Whether a node is a contention point of a level.
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

/// What is said of a service at a time.
fn said(service: &Service, direction: Direction, now: Option<WallTime>) -> Bandwidth {
    let past = service.changes.iter().filter(|change| now.is_some_and(|now| change.at <= now));
    past.fold(*service.bandwidth.get(direction), |said, change| {
        let new = change.bandwidth.get(direction);
        Bandwidth { min: new.min.or(said.min), max: new.max.or(said.max), weight: new.weight.or(said.weight) }
    })
}

fn parents(services: &[Service], fault: &mut impl FnMut(usize, PolicyFault)) -> Vec<Option<usize>> {
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
fn order(services: &[Service], parents: &[Option<usize>]) -> Vec<usize> {
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

fn loops(services: &[Service], parents: &[Option<usize>], order: &[usize], fault: &mut impl FnMut(usize, PolicyFault)) {
    let mut seen = vec![false; services.len()];
    order.iter().for_each(|&service| seen[service] = true);
    for start in 0..services.len() {
        let mut line = Vec::new();
        let mut at = start;
        while !std::mem::replace(&mut seen[at], true) {
            line.push(at);
            // Nobody that is not in the order is without a parent.
            at = parents[at].unwrap_or(at);
        }
        // A new loop closes on its own line; a branch that hangs on an old one does not.
        if let Some(begin) = line.iter().position(|&service| service == at) {
            let names = line[begin..].iter().chain([&at]).map(|&service| services[service].name.clone());
            fault(at, PolicyFault::Loop(names.collect()));
        }
    }
}
