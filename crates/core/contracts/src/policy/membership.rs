//! To which service a packet belongs, and that it cannot be two.

use std::collections::HashSet;
use std::net::IpAddr;
use std::num::NonZeroU16;

use wayleave_topology::{Network, NodeId, NodeKind};

use super::{Policy, PolicyFault};
use crate::{Match, Protocol};

/// Fields of a packet that distinguish services.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PacketFields {
    /// The protocol above IP.
    pub protocol: Protocol,
    /// The sender's address.
    pub source_address: IpAddr,
    /// The sender's port, of a protocol that has ports.
    pub source_port: Option<NonZeroU16>,
    /// The receiver's address.
    pub destination_address: IpAddr,
    /// The receiver's port, of a protocol that has ports.
    pub destination_port: Option<NonZeroU16>,
}

impl Policy {
    /// The innermost service to which a packet at a host belongs. The packet is charged to it and to all that it is a part of.
    pub fn classify(&self, host: NodeId, packet: &PacketFields) -> Option<usize> {
        let is_in = |service: usize| {
            let service = &self.services[service];
            (service.endpoints.is_empty() || service.endpoints.contains(&host))
                && service.filter.is_none_or(|filter| passes(filter, packet))
        };
        // Parents come first, so the last one is the innermost; no two siblings have one packet.
        self.order.iter().rev().copied().find(|&service| self.line(service).all(is_in))
    }

    /// The hosts of a service: its own, or those of the nearest service above that names some. `None`: any.
    pub(super) fn endpoints(&self, service: usize) -> Option<&[NodeId]> {
        let lists = self.line(service).map(|service| self.services[service].endpoints.as_slice());
        lists.into_iter().find(|endpoints| !endpoints.is_empty())
    }
}

fn passes(filter: Match, packet: &PacketFields) -> bool {
    let Match { protocol, source_address, source_port, destination_address, destination_port } = filter;
    protocol.is_none_or(|protocol| protocol == packet.protocol)
        && source_address.is_none_or(|address| address == packet.source_address)
        && source_port.is_none_or(|port| Some(port) == packet.source_port)
        && destination_address.is_none_or(|address| address == packet.destination_address)
        && destination_port.is_none_or(|port| Some(port) == packet.destination_port)
}

/// Returns `true` if some packet passes both.
fn meet(one: Match, other: Match) -> bool {
    fn agree<T: PartialEq>(one: Option<T>, other: Option<T>) -> bool {
        one.is_none() || other.is_none() || one == other
    }
    let families = [one.source_address, one.destination_address, other.source_address, other.destination_address];
    let mut families = families.into_iter().flatten().map(|address| address.is_ipv4());
    let family = families.next();
    agree(one.protocol, other.protocol)
        && agree(one.source_address, other.source_address)
        && agree(one.source_port, other.source_port)
        && agree(one.destination_address, other.destination_address)
        && agree(one.destination_port, other.destination_port)
        && families.all(|next| Some(next) == family)
}

/// Every endpoint is a host of the parent's, every filter can be passed, and no packet belongs to two siblings.
pub(super) fn check(policy: &Policy, network: &Network, fault: &mut impl FnMut(usize, PolicyFault)) {
    let name = |node: NodeId| network.node(node).name.clone();
    for (index, service) in policy.services.iter().enumerate() {
        for &node in service.endpoints.iter().filter(|&&node| network.node(node).kind != NodeKind::Host) {
            fault(index, PolicyFault::NotAHost(name(node)));
        }
        if let Some(Err(error)) = service.filter.map(Match::validate) {
            fault(index, PolicyFault::Filter(error));
        }
        let Some(parent) = policy.parents[index] else { continue };
        if let Some(allowed) = policy.endpoints(parent) {
            let allowed: HashSet<NodeId> = allowed.iter().copied().collect();
            if let Some(&endpoint) = service.endpoints.iter().find(|&endpoint| !allowed.contains(endpoint)) {
                let parent = policy.services[parent].name.clone();
                fault(index, PolicyFault::OutsideParent { endpoint: name(endpoint), parent });
            }
        }
        let filter = |service: usize| policy.services[service].filter.unwrap_or_default();
        let contradicted = policy.line(parent).find(|&above| !meet(filter(above), filter(index)));
        if let Some(ancestor) = contradicted {
            fault(index, PolicyFault::NoPacket { ancestor: policy.services[ancestor].name.clone() });
        }
    }
    for (index, service) in policy.services.iter().enumerate() {
        for other in 0..index {
            if policy.parents[other] != policy.parents[index] {
                continue;
            }
            let filters = [index, other].map(|service| policy.services[service].filter.unwrap_or_default());
            if meet(filters[0], filters[1])
                && let Some(at) = shared_endpoint(&service.endpoints, &policy.services[other].endpoints)
            {
                let other = policy.services[other].name.clone();
                fault(index, PolicyFault::DoubleMembership { other, at: at.map(name) });
                break;
            }
        }
    }
}

/// Returns a host at which two services can both be: `Some(None)` if neither names hosts.
fn shared_endpoint(one: &[NodeId], other: &[NodeId]) -> Option<Option<NodeId>> {
    match (one.first(), other.first()) {
        (None, None) => Some(None),
        (Some(&host), None) | (None, Some(&host)) => Some(Some(host)),
        (Some(_), Some(_)) => {
            let all: HashSet<NodeId> = other.iter().copied().collect();
            one.iter().copied().find(|host| all.contains(host)).map(Some)
        }
    }
}
