//! Resolution of the names of a rule into the interfaces, addresses and tags that a data plane needs.

use std::collections::BTreeMap;

use wayleave_contracts::Match;
use wayleave_dataplane::host::{HostPath, HostRule, Sender};
use wayleave_dataplane::switch::{port_of, queue_of};
use wayleave_packet_format::{BucketDemand, MAX_TAGS, Mac, PacketSelector, Tag};
use wayleave_protocol::Id;
use wayleave_protocol::agent::Rule;
use wayleave_protocol::contract as document;
use wayleave_topology::{Class, Hop, LinkId, Network, NodeId, Route};
use wayleave_units::{Bytes, Rate, Time};

use crate::environment::Environment;
use crate::machine::DriverError;

/// Resolution of the names on a host.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ResolvedHost {
    /// Interfaces of VMs and of the host itself, by name.
    pub endpoints: BTreeMap<String, u32>,
    /// Interfaces of links that leave the host.
    pub uplinks: BTreeMap<LinkId, u32>,
}

/// Checks that a rule can be resolved in this network, independently of the interfaces that exist.
///
/// # Errors
/// If the rule is of another network or another version of the protocol. A rule of a newer network can be read once
/// the node has that network.
pub fn check(rule: &Rule, network: &Network) -> Result<(), DriverError> {
    tenant(rule)?;
    matching(rule)?;
    routes(rule, network).map(drop)
}

fn tenant(rule: &Rule) -> Result<String, DriverError> {
    let id: Id = rule.id.parse().map_err(|error| DriverError::Never(format!("{}: {error}", rule.id)))?;
    Ok(id.tenant)
}

fn matching(rule: &Rule) -> Result<Match, DriverError> {
    match_of(rule.matching.as_ref()).map_err(DriverError::Never)
}

/// A match of a document; that of all packets if there is none.
pub(crate) fn match_of(matching: Option<&document::Match>) -> Result<Match, String> {
    Ok(matching.map(Match::try_from).transpose()?.unwrap_or_default())
}

fn routes(rule: &Rule, network: &Network) -> Result<Vec<Route>, DriverError> {
    let route = |hops: &Vec<document::Hop>| {
        document::Hop::route(network, hops)
            .map_err(|link| DriverError::Later(format!("the network of this node has no link {link}")))
    };
    rule.routes.iter().map(route).collect()
}

/// Returns the host to which the packets of a rule go, and the nodes on their route if all take one route.
pub fn receiver(rule: &Rule, network: &Network) -> Option<(String, Vec<String>)> {
    let routes = routes(rule, network).ok()?;
    let name = |link: LinkId| network.node(network.link(link).to).name.clone();
    let host_path = |route: &Route| route.hops.iter().map(|hop| name(hop.link)).collect::<Vec<_>>();
    let mut host_paths = routes.iter().map(host_path);
    let (mut first, others) = (host_paths.next()?, host_paths.count());
    let last = first.pop()?;
    Some((last, if others == 0 { first } else { Vec::new() }))
}

/// Resolves a rule of this host.
///
/// # Errors
/// If an end or an interface is not there yet, or if tags cannot express the route.
pub fn resolve(
    rule: &Rule,
    environment: &Environment,
    host: NodeId,
    here: &ResolvedHost,
) -> Result<HostRule, DriverError> {
    let (tenant, matching, routes) = (tenant(rule)?, matching(rule)?, routes(rule, environment.network())?);
    let from = environment.end(&tenant, &rule.from);
    let from_here: Vec<&String> =
        from.iter().filter(|(_, location)| location.host == host).map(|(name, _)| name).collect();
    if from_here.is_empty() {
        return Err(DriverError::Later(format!("{} is not known on this host", rule.from)));
    }
    let senders: Vec<u32> = from_here.iter().filter_map(|name| here.endpoints.get(*name).copied()).collect();
    if senders.is_empty() {
        return Err(DriverError::Later(format!("the interface of {} does not exist", rule.from)));
    }
    let to = environment.end(&tenant, &rule.to);
    if to.is_empty() {
        return Err(DriverError::Later(format!("{} is not known", rule.to)));
    }
    let pairs = senders.iter().flat_map(|&ifindex| to.iter().map(move |(_, location)| (ifindex, location)));
    let senders = pairs.map(|(ifindex, location)| Sender { ifindex, selector: selector(matching, location.mac) });
    let routes = routes.iter().filter(|route| !route.hops.is_empty());
    let paths: Vec<HostPath> =
        routes.map(|route| host_path(environment.network(), &route.hops, here)).collect::<Result<_, _>>()?;
    Ok(HostRule {
        senders: senders.collect(),
        demand: BucketDemand {
            rate: Rate::from_bits_per_second(rule.rate_bps),
            burst: Bytes::new(rule.burst_bytes),
            max_frame: rule.max_frame_bytes.map(Bytes::new),
        },
        paths,
        bound: Time::from_nanos(rule.bound_ns),
    })
}

fn selector(matching: Match, mac: Mac) -> PacketSelector {
    PacketSelector {
        destination: Some(mac),
        protocol: matching.protocol.map(wayleave_contracts::Protocol::number),
        source_address: matching.source_address,
        source_port: matching.source_port.map(std::num::NonZeroU16::get),
        destination_address: matching.destination_address,
        destination_port: matching.destination_port.map(std::num::NonZeroU16::get),
    }
}

fn host_path(network: &Network, hops: &[Hop], here: &ResolvedHost) -> Result<HostPath, DriverError> {
    let Some((first, rest)) = hops.split_first() else {
        return Err(DriverError::Never("a route without links".to_owned()));
    };
    let name = || network.link(first.link).name.clone();
    let uplink = here.uplinks.get(&first.link).copied();
    let uplink = uplink.ok_or_else(|| DriverError::Later(format!("the interface of {} does not exist", name())))?;
    let tags: Vec<Tag> = rest.iter().map(|hop| tag(network, *hop)).collect::<Result<_, _>>()?;
    if tags.len() > MAX_TAGS {
        return Err(DriverError::Never(format!("route with {} switches: the limit is {MAX_TAGS} tags", tags.len())));
    }
    let mtu = hops.iter().map(|hop| network.link(hop.link).mtu).min().unwrap_or(Bytes::MAX);
    Ok(HostPath { uplink, queue: first.queue, tags, mtu })
}

fn tag(network: &Network, hop: Hop) -> Result<Tag, DriverError> {
    Tag::new(port_of(network, hop.link), hop.queue)
        .map_err(|error| DriverError::Never(format!("{}: {error}", network.link(hop.link).name)))
}

/// Returns a best-effort route over these links: the host's own class below all contracts, and the lowest queue of
/// every switch. `None` if its interface does not exist, or if tags cannot express it.
pub fn best_effort(network: &Network, links: &[LinkId], here: &ResolvedHost) -> Option<HostPath> {
    let hop = |&link: &LinkId| Hop { link, queue: queue_of(network, link, Class::BestEffort) };
    let hops: Vec<Hop> = links.iter().map(hop).collect();
    host_path(network, &hops, here).ok()
}
