//! A machine or a broker of a scheme, from a scenario.

use rand::rngs::ChaCha8Rng;
use std::sync::Arc;
use wayleave_contracts::{ContentionPoint, Direction};

use wayleave_roles::{BrokerId, ClassId, PairSpec};
use wayleave_scenarios::{EdgeScheme, Parley, Scenario, Sharing};
use wayleave_schemes::custom::{AnyPairPath, AnyTunnel};
use wayleave_schemes::edges::AnyEdge;
use wayleave_schemes::elasticswitch::{self, ElasticSwitch};
use wayleave_schemes::eyeq::{self, Eyeq, Line};
use wayleave_schemes::parley::{self, Policies, Services, Shaper, ShaperPlace};
use wayleave_schemes::static_limits::{self, StaticLimits};
use wayleave_topology::NodeId;
use wayleave_units::Rate;

use super::EdgeId;
use crate::custom::{Custom, CustomScheme, HostPlace};
use crate::{clock, random};

/// Which policies everybody has: a run begins with the first ones, and terms that change keep the numbers of services.
pub(super) const EPOCH: u32 = 1;

/// The policies as brokers know them.
pub(super) fn policies(sharing: &Sharing) -> Policies<'_> {
    Policies { machine: Some(&sharing.machine), rack: sharing.rack.as_ref(), fabric: sharing.fabric.as_ref() }
}

/// A scheme of a run.
pub(super) struct Scheme {
    kind: EdgeScheme,
    custom: Option<Arc<dyn CustomScheme>>,
    first_broker: BrokerId,
}

impl std::fmt::Debug for Scheme {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Scheme").field("kind", &self.kind).finish_non_exhaustive()
    }
}

impl Scheme {
    pub(super) fn new(kind: &EdgeScheme, custom: &Custom<'_>, first_broker: BrokerId) -> Self {
        let custom = match kind {
            EdgeScheme::Custom(name) => custom.schemes.get(name).cloned(),
            _ => None,
        };
        Self { kind: kind.clone(), custom, first_broker }
    }

    /// The tunnel of a pair that leaves a host.
    pub(super) fn tunnel(&self, from: NodeId, pair: &PairSpec) -> Option<AnyTunnel> {
        self.custom.as_ref()?.tunnel(from, pair).map(AnyTunnel::Custom)
    }

    /// What spreads the packets of a pair.
    pub(super) fn path(&self, from: NodeId, pair: &PairSpec) -> Option<AnyPairPath> {
        self.custom.as_ref()?.path(from, pair).map(AnyPairPath::Custom)
    }
}

/// The machine of a scheme at a host, the one with this number.
pub(super) fn edge(
    scenario: &Scenario,
    sharing: &Sharing,
    services: &Services,
    scheme: &Scheme,
    (node, number): (NodeId, EdgeId),
    rng: &mut ChaCha8Rng,
) -> AnyEdge {
    match &scheme.kind {
        EdgeScheme::Custom(_) => {
            let Line { transmit, receive } = line(scenario, sharing, node);
            let network = &scenario.network;
            let place = HostPlace { network, node, transmit, receive, first_broker: scheme.first_broker };
            match &scheme.custom {
                Some(custom) => AnyEdge::Custom(custom.host(&place)),
                None => unlimited(),
            }
        }
        EdgeScheme::StaticLimits(settings) => {
            let usual = static_limits::Params::default();
            let burst = settings.burst.unwrap_or(usual.burst);
            StaticLimits::new(static_limits::Params { pair: settings.pair, burst }).into()
        }
        EdgeScheme::Eyeq(settings) => {
            let params = eyeq_params(settings, sharing, services);
            match Eyeq::new(line(scenario, sharing, node), params) {
                Ok(eyeq) => eyeq.into(),
                Err(_) => unlimited(),
            }
        }
        EdgeScheme::ElasticSwitch(settings) => {
            let usual = elasticswitch::Params::default();
            let params = elasticswitch::Params {
                partition_period: settings.period.unwrap_or(usual.partition_period),
                rate_period: settings.period.unwrap_or(usual.rate_period),
                headroom_percent: settings.headroom_percent.unwrap_or(usual.headroom_percent),
                burst: settings.burst.unwrap_or(usual.burst),
                ..usual
            };
            ElasticSwitch::new(line(scenario, sharing, node).transmit, params).into()
        }
        EdgeScheme::Parley(settings) => {
            let params = parley_params(settings);
            let interval = clock::from_time(params.rack_interval);
            let phase = (random::unit(rng) * interval as f64) as u64;
            let place = ShaperPlace {
                broker: BrokerId(number),
                rack: rack_of(scenario, node),
                epoch: EPOCH,
                phase: clock::to_time(phase),
            };
            let shaper = eyeq_params(&settings.shaper, sharing, services);
            match Shaper::new(line(scenario, sharing, node), shaper, params, place) {
                Ok(shaper) => shaper.into(),
                Err(_) => unlimited(),
            }
        }
    }
}

/// Where a scheme has no machine to give, which its constructors say never to happen.
fn unlimited() -> AnyEdge {
    StaticLimits::new(static_limits::Params::default()).into()
}

/// A machine's links, at most the policy's peak.
fn line(scenario: &Scenario, sharing: &Sharing, node: NodeId) -> Line {
    let rate = |direction| {
        let capacity = ContentionPoint::Machine(node).capacity(&scenario.network, direction);
        sharing.machine.peak().map_or(capacity, |peak| peak.min(capacity))
    };
    Line { transmit: rate(Direction::Transmit), receive: rate(Direction::Receive) }
}

/// The hosts at the same switch.
fn rack_of(scenario: &Scenario, node: NodeId) -> Vec<NodeId> {
    let network = &scenario.network;
    let switch = network.switches().find(|&switch| ContentionPoint::Rack(switch).holds(network, node));
    let is_here = |&host: &NodeId| switch.is_some_and(|switch| ContentionPoint::Rack(switch).holds(network, host));
    network.hosts().filter(is_here).collect()
}

fn eyeq_params(settings: &wayleave_scenarios::Eyeq, sharing: &Sharing, services: &Services) -> eyeq::Params {
    let usual = eyeq::Params::default();
    let policy = &sharing.machine;
    let class = |service: usize| services.class_at(policy, Some(service));
    let parent = |service: usize| Some((class(service), class(policy.parent(service)?)));
    eyeq::Params {
        meter: eyeq::MeterParams {
            alpha_percent: settings.alpha_percent.unwrap_or(usual.meter.alpha_percent),
            ..usual.meter
        },
        interval: settings.interval.unwrap_or(usual.interval),
        sample: settings.sample.unwrap_or(usual.sample),
        receive_percent: settings.receive_percent.unwrap_or(usual.receive_percent),
        pair_burst: settings.pair_burst.unwrap_or(usual.pair_burst),
        class_burst: settings.class_burst.unwrap_or(usual.class_burst),
        class_bursts: named(&settings.bursts, services),
        sender_weights: named(&settings.sender_weights, services),
        parents: (0..policy.services().len()).filter_map(parent).collect(),
        ..usual
    }
}

fn named<T: Copy>(list: &[(String, T)], services: &Services) -> Vec<(ClassId, T)> {
    list.iter().filter_map(|(name, value)| Some((services.class(name)?, *value))).collect()
}

/// Parley's parameters.
pub(super) fn parley_params(settings: &Parley) -> parley::Params {
    let usual = parley::Params::PUBLISHED;
    let scaled = settings.rack_interval.map_or(usual, |interval| usual.every(interval));
    parley::Params {
        fabric_interval: settings.fabric_interval.unwrap_or(scaled.fabric_interval),
        heavy_in_rack: settings.heavy_in_rack.unwrap_or(usual.heavy_in_rack),
        heavy_in_fabric: settings.heavy_in_fabric.unwrap_or(usual.heavy_in_fabric),
        ..scaled
    }
}

/// What the links of a contention point that are up carry in a direction.
pub(super) fn capacity(
    network: &wayleave_topology::Network,
    point: ContentionPoint,
    direction: Direction,
    is_up: impl Fn(wayleave_topology::LinkId) -> bool,
) -> Rate {
    let links = point.links(network, direction).into_iter().filter(|&link| is_up(link));
    links.fold(Rate::ZERO, |sum, link| sum.checked_add(network.link(link).rate).unwrap_or(Rate::MAX))
}
