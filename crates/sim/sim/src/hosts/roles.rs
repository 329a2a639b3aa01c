//! A machine or a broker of a scheme, from a scenario.

use rand::rngs::ChaCha8Rng;
use std::sync::Arc;
use wayleave_contracts::{ContentionPoint, Direction};

use wayleave_scenarios::{HostSchemeConfig, Scenario, Sharing};
use wayleave_scheme_api::{CustomPath, CustomTunnel, PairSpec};
use wayleave_schemes::brokers::{BrokerNetwork, BrokerSetup, BrokerSpec, BrokerSpecs};
use wayleave_schemes::host::eyeq::LineParams;
use wayleave_schemes::host::static_limits::{self, StaticLimits};
use wayleave_schemes::hosts::{AnyBroker, AnyHost, HostSetup, TunnelSetup};
use wayleave_schemes::services::{Policies, Services};
use wayleave_topology::NodeId;
use wayleave_units::{Rate, Time};

use crate::custom::{Custom, CustomScheme, HostPlace};
use crate::{clock, random};

/// Epoch of the policies: a run begins with the first ones, and terms that change keep the numbers of services.
pub(super) const EPOCH: u32 = 1;

/// The policies as brokers know them.
pub(super) fn policies(sharing: &Sharing) -> Policies<'_> {
    Policies { machine: Some(&sharing.machine), rack: sharing.rack.as_ref(), fabric: sharing.fabric.as_ref() }
}

/// A scheme of a run.
pub(super) struct Scheme {
    kind: HostSchemeConfig,
    custom: Option<Arc<dyn CustomScheme>>,
}

impl std::fmt::Debug for Scheme {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Scheme").field("kind", &self.kind).finish_non_exhaustive()
    }
}

impl Scheme {
    pub(super) fn new(kind: &HostSchemeConfig, custom: &Custom<'_>) -> Self {
        let custom = match kind {
            HostSchemeConfig::Custom(name) => custom.schemes.get(name).cloned(),
            _ => None,
        };
        Self { kind: kind.clone(), custom }
    }

    /// The brokers that it needs.
    pub(super) fn brokers(&self, around: &BrokerNetwork<'_>) -> Vec<BrokerSpec> {
        match &self.custom {
            Some(custom) => custom.brokers(around),
            None => self.kind.brokers(around),
        }
    }

    /// The broker of a seat, as it starts.
    pub(super) fn broker(&self, setup: &BrokerSetup<'_>) -> Option<AnyBroker> {
        match &self.custom {
            Some(custom) => custom.broker(setup).map(AnyBroker::Custom),
            // A broker with nothing to divide is none.
            None => self.kind.broker(setup).ok(),
        }
    }

    /// The tunnel of a pair that leaves a host.
    pub(super) fn tunnel(&self, setup: &TunnelSetup<'_>) -> Option<CustomTunnel> {
        match &self.custom {
            Some(custom) => custom.tunnel(setup.from, setup.pair),
            None => self.kind.tunnel(setup),
        }
    }

    /// Returns the path scheme for the packets of a pair.
    pub(super) fn path(&self, from: NodeId, pair: &PairSpec) -> Option<CustomPath> {
        self.custom.as_ref()?.path(from, pair)
    }
}

/// The machine of a scheme at a host.
pub(super) fn host(
    scenario: &Scenario,
    sharing: &Sharing,
    services: &Services,
    (scheme, brokers, left): (&Scheme, BrokerSpecs<'_>, &[Rate]),
    node: NodeId,
    rng: &mut ChaCha8Rng,
) -> AnyHost {
    match &scheme.kind {
        HostSchemeConfig::Custom(_) => {
            let LineParams { transmit, receive } = line(scenario, sharing, left, node);
            let network = &scenario.network;
            let place = HostPlace { network, node, transmit, receive, first_broker: brokers.first };
            match &scheme.custom {
                Some(custom) => AnyHost::Custom(custom.host(&place)),
                None => unlimited(),
            }
        }
        kind => {
            let phase = &mut |interval: Time| {
                let interval = clock::from_time(interval);
                clock::to_time((random::unit(rng) * interval as f64) as u64)
            };
            let mut setup = HostSetup {
                line: line(scenario, sharing, left, node),
                policy: &sharing.machine,
                services,
                node,
                brokers,
                rack: &rack_of(scenario, node),
                epoch: EPOCH,
                phase,
            };
            kind.host(&mut setup).unwrap_or_else(|_| unlimited())
        }
    }
}

/// Returns a host without limits, in case a scheme cannot build its machine; according to its constructors that never
/// happens.
fn unlimited() -> AnyHost {
    StaticLimits::new(static_limits::Params::default()).into()
}

/// Returns the rates of a machine's links for a scheme, at most the policy's peak: the whole rate of a link that is
/// not in `left`.
pub(super) fn line(scenario: &Scenario, sharing: &Sharing, left: &[Rate], node: NodeId) -> LineParams {
    let rate = |direction| {
        let capacity = capacity(&scenario.network, ContentionPoint::Machine(node), direction, left, |_| true);
        sharing.machine.peak().filter(|_| sharing.applies_to(node)).map_or(capacity, |peak| peak.min(capacity))
    };
    LineParams { transmit: rate(Direction::Transmit), receive: rate(Direction::Receive) }
}

/// The hosts at the same switch.
fn rack_of(scenario: &Scenario, node: NodeId) -> Vec<NodeId> {
    let network = &scenario.network;
    let switch = network.switches().find(|&switch| ContentionPoint::Rack(switch).holds(network, node));
    let is_here = |&host: &NodeId| switch.is_some_and(|switch| ContentionPoint::Rack(switch).holds(network, host));
    network.hosts().filter(is_here).collect()
}

/// Returns a scheme's rate on the links of a contention point that are up, in a direction.
pub(super) fn capacity(
    network: &wayleave_topology::Network,
    point: ContentionPoint,
    direction: Direction,
    left: &[Rate],
    is_up: impl Fn(wayleave_topology::LinkId) -> bool,
) -> Rate {
    let links = point.links(network, direction).into_iter().filter(|&link| is_up(link));
    let rate = |link: wayleave_topology::LinkId| left.get(link.index()).copied().unwrap_or(network.link(link).rate);
    links.fold(Rate::ZERO, |sum, link| sum.checked_add(rate(link)).unwrap_or(Rate::MAX))
}
