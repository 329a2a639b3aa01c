//! Policies of hosts and racks for the tenants of a figure.

use std::num::NonZeroU16;

use wayleave_contracts::{Bandwidth, Match, PerDirection, Policy, PolicyLevel, Protocol, ServiceSpec};
use wayleave_topology::Network;
use wayleave_units::Rate;

use crate::failed::Failed;

/// Returns a service that is identified by its listening port.
pub(crate) fn service(name: &str, port: u16, bandwidth: PerDirection<Bandwidth>) -> ServiceSpec {
    let filter = Match { protocol: Some(Protocol::TCP), destination_port: NonZeroU16::new(port), ..Match::default() };
    ServiceSpec { name: name.to_owned(), filter: Some(filter), bandwidth, ..ServiceSpec::default() }
}

/// Returns a minimum in both directions.
pub(crate) fn minimum(min: Option<Rate>) -> PerDirection<Bandwidth> {
    let bandwidth = Bandwidth { min, ..Bandwidth::default() };
    PerDirection { transmit: bandwidth, receive: bandwidth }
}

/// Returns a policy at all points of a level.
pub(crate) fn policy(
    network: &Network,
    level: PolicyLevel,
    peak: Option<Rate>,
    services: Vec<ServiceSpec>,
) -> Result<Policy, Failed> {
    Policy::new(network, level.name(), level, Vec::new(), peak, services).map_err(|errors| {
        Failed::Broken(errors.iter().map(|error| error.fault.to_string()).collect::<Vec<_>>().join("; "))
    })
}
