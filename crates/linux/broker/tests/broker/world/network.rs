//! Two racks of four hosts with four sorts of traffic.

use std::num::{NonZeroU16, NonZeroU32};
use std::sync::Arc;

use wayleave_broker::BrokerConfig;
use wayleave_contracts::{Bandwidth, Match, PerDirection, Policy, PolicyLevel, Protocol, ServiceSpec};
use wayleave_schemes::host::parley::Settings;
use wayleave_schemes::hosts::HostSchemeConfig;
use wayleave_topology::Network;
use wayleave_topology::builders::{Cabling, LeafSpine, build};
use wayleave_units::Rate;

pub(crate) const HOSTS: u64 = 4;
pub(crate) const RACKS: u64 = 2;

/// The guarantee of service b in each rack.
pub(crate) const GUARANTEE: Rate = Rate::from_gbit(8);

fn network() -> Network {
    let cabling = Cabling { rate: Rate::from_gbit(10), ..Cabling::default() };
    let spec = LeafSpine { leaves: RACKS, spines: 1, hosts_per_leaf: HOSTS, parallel: 3, uplink_rate: None, cabling };
    build::leaf_spine(&spec).unwrap()
}

fn service(name: &str, port: u16, bandwidth: Bandwidth) -> ServiceSpec {
    let filter = Match { protocol: Some(Protocol::TCP), destination_port: NonZeroU16::new(port), ..Match::default() };
    let bandwidth = PerDirection { transmit: bandwidth, receive: bandwidth };
    ServiceSpec { name: name.to_owned(), filter: Some(filter), bandwidth, ..ServiceSpec::default() }
}

/// Section 6.3's policy in small, with a third service of more weight, and a peak that leaves room for one machine
/// without limits. The fluid is exact, so a limit counts as filled at 99 %.
pub(crate) fn setup(with_fabric: bool) -> Arc<BrokerConfig> {
    let network = network();
    let gbit = |rate| Some(Rate::from_gbit(rate));
    let default = Bandwidth::default();
    let services = vec![
        service("a", 1, Bandwidth { max: gbit(6), ..default }),
        service("b", 2, Bandwidth { min: Some(GUARANTEE), ..default }),
        service("c", 3, Bandwidth { weight: NonZeroU32::new(3), ..default }),
    ];
    let of = |level, peak, services| Policy::new(&network, "p", level, Vec::new(), peak, services).unwrap();
    let mut policies = vec![of(PolicyLevel::Rack, gbit(16), services)];
    if with_fabric {
        let limited = service("a", 1, Bandwidth { max: gbit(7), ..default });
        policies.push(of(PolicyLevel::Fabric, None, vec![limited]));
    }
    let scheme = HostSchemeConfig::Parley(Settings { limit_saturation_percent: 99, ..Settings::default() });
    Arc::new(BrokerConfig::new(network, policies, scheme, 7).unwrap())
}
