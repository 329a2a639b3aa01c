//! How hosts share: a scheme, the policies of its levels, faults of messages, and what changes on the way.

use wayleave_contracts::{Policy, PolicyLevel};
use wayleave_scenarios::{
    BrokerAt, EdgeScheme, ElasticSwitch, Eyeq, FabricBrokerAt, MessageFaults, Parley, SchemeOf, Sharing, SharingChange,
    SharingEvent, StaticLimits,
};
use wayleave_topology::Network;
use wayleave_units::Bytes;

use super::ends::read_host;
use super::files::Files;
use super::scalars::{exactly_one, number, queue, small, unknown_word};
use crate::fields::{Fields, Shape};
use crate::policy::{read_policy, read_policy_spec};
use crate::problem::{ProblemKind, Problems};
use crate::tree::{Node, Value};

pub(crate) const SHARING: Shape = Shape {
    what: "sharing",
    keys: &["scheme", "also", "machine", "rack", "fabric", "idle", "packetQueue", "queue", "faults", "events"],
};
pub(crate) const SCHEME: Shape = Shape { what: "a scheme", keys: &["staticLimits", "eyeq", "elasticswitch", "parley"] };
pub(crate) const STATIC_LIMITS: Shape = Shape { what: "fixed limits", keys: &["pair", "burst"] };
pub(crate) const EYEQ: Shape = Shape {
    what: "EyeQ",
    keys: &["interval", "alpha", "sample", "receivePercent", "pairBurst", "classBurst", "bursts", "senderWeights"],
};
pub(crate) const ELASTICSWITCH: Shape = Shape { what: "ElasticSwitch", keys: &["period", "headroomPercent", "burst"] };
pub(crate) const PARLEY: Shape = Shape {
    what: "Parley",
    keys: &["shaper", "rackInterval", "fabricInterval", "heavyInRack", "heavyInFabric", "fabricBroker"],
};
pub(crate) const ALSO: Shape = Shape { what: "a further scheme", keys: &["scheme", "services"] };
pub(crate) const FAULTS: Shape =
    Shape { what: "faults of messages", keys: &["loss", "duplicate", "delay", "probeLoss"] };
pub(crate) const EVENT: Shape = Shape { what: "an event", keys: &["at", "stop", "start", "policy", "interval"] };

const SCHEMES: [&str; 4] = ["static-limits", "eyeq", "elasticswitch", "parley"];

/// What the fabric broker is called where a broker is named.
const FABRIC: &str = "fabric";

/// Reads how hosts share.
pub(super) fn read(
    node: &Node<'_>,
    network: &Network,
    files: &mut Files<'_>,
    problems: &mut Problems<'_>,
) -> Option<Sharing> {
    let fields = Fields::read(node, &SHARING, problems)?;
    fields.require_all(["scheme", "machine"], problems);
    let scheme = fields.get("scheme").and_then(|node| read_scheme(node, network, problems));
    let mut policy = |key, level, problems: &mut Problems<'_>| {
        fields.get(key).map(|node| read_level(node, Some(level), network, files, problems))
    };
    let machine = policy("machine", PolicyLevel::Machine, problems).flatten();
    let rack = policy("rack", PolicyLevel::Rack, problems);
    let fabric = policy("fabric", PolicyLevel::Fabric, problems);
    let idle = fields.get("idle").map(|node| node.quantity(problems));
    let packet_queue = fields.get("packetQueue").map(|node| node.quantity(problems));
    let queue = fields.get("queue").map(|node| queue(node, problems));
    let faults = fields.get("faults").map(|node| read_faults(node, problems));
    let events = fields.get("events").and_then(|node| node.expect_list("events", problems)).unwrap_or_default();
    let events: Vec<Option<SharingEvent>> =
        events.iter().map(|node| read_event(node, network, files, problems)).collect();
    let also = fields.get("also").and_then(|node| node.expect_list("further schemes", problems)).unwrap_or_default();
    let also: Vec<Option<SchemeOf>> = also.iter().map(|node| read_also(node, network, problems)).collect();
    let usual = Sharing::new(scheme?, machine?);
    Some(Sharing {
        also: also.into_iter().collect::<Option<_>>()?,
        rack: rack.map_or(Some(None), |rack| rack.map(Some))?,
        fabric: fabric.map_or(Some(None), |fabric| fabric.map(Some))?,
        idle: idle.unwrap_or(Some(usual.idle))?,
        packet_queue: packet_queue.unwrap_or(Some(usual.packet_queue))?,
        queue: queue.unwrap_or(Some(usual.queue))?,
        faults: faults.unwrap_or(Some(usual.faults))?,
        events: events.into_iter().collect::<Option<_>>()?,
        ..usual
    })
}

/// A policy: the name of a file, or what would stand in its `spec`.
fn read_level(
    node: &Node<'_>,
    level: Option<PolicyLevel>,
    network: &Network,
    files: &mut Files<'_>,
    problems: &mut Problems<'_>,
) -> Option<Policy> {
    if let Value::Mapping(_) = node.value {
        let name = level.map_or("policy", PolicyLevel::name);
        return read_policy_spec(name, node, level, network, problems);
    }
    files.read(node, problems, |source| read_policy(source, network)).map(|file| file.policy)
}

/// A further scheme, and the services that are its own.
fn read_also(node: &Node<'_>, network: &Network, problems: &mut Problems<'_>) -> Option<SchemeOf> {
    let fields = Fields::read(node, &ALSO, problems)?;
    fields.require_all(["scheme", "services"], problems);
    let scheme = fields.get("scheme").and_then(|node| read_scheme(node, network, problems));
    let services = fields.get("services").and_then(|node| node.expect_list("services", problems))?;
    let services: Vec<Option<String>> =
        services.iter().map(|node| node.expect_text(problems).map(str::to_owned)).collect();
    Some(SchemeOf { scheme: scheme?, services: services.into_iter().collect::<Option<_>>()? })
}

fn read_scheme(node: &Node<'_>, network: &Network, problems: &mut Problems<'_>) -> Option<EdgeScheme> {
    if let Value::Mapping(_) = node.value {
        let fields = Fields::read(node, &SCHEME, problems)?;
        return match exactly_one(&fields, "a scheme", SCHEME.keys, problems)? {
            ("staticLimits", node) => read_static_limits(node, problems).map(EdgeScheme::StaticLimits),
            ("eyeq", node) => read_eyeq(node, problems).map(EdgeScheme::Eyeq),
            ("elasticswitch", node) => read_elasticswitch(node, problems).map(EdgeScheme::ElasticSwitch),
            (_, node) => read_parley(node, network, problems).map(EdgeScheme::Parley),
        };
    }
    match node.expect_text(problems)? {
        "static-limits" => Some(EdgeScheme::StaticLimits(StaticLimits::default())),
        "eyeq" => Some(EdgeScheme::Eyeq(Eyeq::default())),
        "elasticswitch" => Some(EdgeScheme::ElasticSwitch(ElasticSwitch::default())),
        "parley" => Some(EdgeScheme::Parley(Parley::default())),
        other => {
            unknown_word(node, "scheme", other, &SCHEMES, problems);
            None
        }
    }
}

fn read_static_limits(node: &Node<'_>, problems: &mut Problems<'_>) -> Option<StaticLimits> {
    let fields = Fields::read(node, &STATIC_LIMITS, problems)?;
    let pair = optional(fields.get("pair").map(|node| node.quantity(problems)));
    let burst = optional(fields.get("burst").map(|node| node.quantity(problems)));
    Some(StaticLimits { pair: pair?, burst: burst? })
}

fn read_eyeq(node: &Node<'_>, problems: &mut Problems<'_>) -> Option<Eyeq> {
    let fields = Fields::read(node, &EYEQ, problems)?;
    let interval = optional(fields.get("interval").map(|node| node.quantity(problems)));
    let alpha = optional(fields.get("alpha").map(|node| read_alpha(node, problems)));
    let sample = optional(fields.get("sample").map(|node| node.quantity(problems)));
    let receive = optional(fields.get("receivePercent").map(|node| percent(node, problems)));
    let pair_burst = optional(fields.get("pairBurst").map(|node| node.quantity(problems)));
    let class_burst = optional(fields.get("classBurst").map(|node| node.quantity(problems)));
    let bursts: Option<Vec<(String, Bytes)>> =
        fields.get("bursts").map_or(Some(Vec::new()), |node| by_service(node, problems, |node, p| node.quantity(p)));
    let weights = fields.get("senderWeights").map_or(Some(Vec::new()), |node| by_service(node, problems, small));
    Some(Eyeq {
        interval: interval?,
        alpha_percent: alpha?,
        sample: sample?,
        receive_percent: receive?,
        pair_burst: pair_burst?,
        class_burst: class_burst?,
        bursts: bursts?,
        sender_weights: weights?,
    })
}

fn read_elasticswitch(node: &Node<'_>, problems: &mut Problems<'_>) -> Option<ElasticSwitch> {
    let fields = Fields::read(node, &ELASTICSWITCH, problems)?;
    let period = optional(fields.get("period").map(|node| node.quantity(problems)));
    let headroom = optional(fields.get("headroomPercent").map(|node| percent(node, problems)));
    let burst = optional(fields.get("burst").map(|node| node.quantity(problems)));
    Some(ElasticSwitch { period: period?, headroom_percent: headroom?, burst: burst? })
}

fn read_parley(node: &Node<'_>, network: &Network, problems: &mut Problems<'_>) -> Option<Parley> {
    let fields = Fields::read(node, &PARLEY, problems)?;
    let shaper = fields.get("shaper").map_or(Some(Eyeq::default()), |node| read_eyeq(node, problems));
    let rack_interval = optional(fields.get("rackInterval").map(|node| node.quantity(problems)));
    let fabric_interval = optional(fields.get("fabricInterval").map(|node| node.quantity(problems)));
    let heavy_in_rack = optional(fields.get("heavyInRack").map(|node| node.quantity(problems)));
    let heavy_in_fabric = optional(fields.get("heavyInFabric").map(|node| node.quantity(problems)));
    let broker = fields
        .get("fabricBroker")
        .map_or(Some(FabricBrokerAt::default()), |node| read_host(node, network, problems).map(FabricBrokerAt::Host));
    Some(Parley {
        shaper: shaper?,
        rack_interval: rack_interval?,
        fabric_interval: fabric_interval?,
        heavy_in_rack: heavy_in_rack?,
        heavy_in_fabric: heavy_in_fabric?,
        fabric_broker: broker?,
    })
}

fn read_faults(node: &Node<'_>, problems: &mut Problems<'_>) -> Option<MessageFaults> {
    let fields = Fields::read(node, &FAULTS, problems)?;
    let usual = MessageFaults::default();
    let loss = fields.get("loss").map_or(Some(usual.loss), |node| number(node, problems));
    let duplicate = fields.get("duplicate").map_or(Some(usual.duplicate), |node| number(node, problems));
    let delay = fields.get("delay").map_or(Some(usual.delay), |node| node.quantity(problems));
    let probe_loss = fields.get("probeLoss").map_or(Some(usual.probe_loss), |node| number(node, problems));
    Some(MessageFaults { loss: loss?, duplicate: duplicate?, delay: delay?, probe_loss: probe_loss? })
}

fn read_event(
    node: &Node<'_>,
    network: &Network,
    files: &mut Files<'_>,
    problems: &mut Problems<'_>,
) -> Option<SharingEvent> {
    let fields = Fields::read(node, &EVENT, problems)?;
    let at = fields.require("at", problems).and_then(|node| node.quantity(problems));
    let what = match exactly_one(&fields, "an event", &["stop", "start", "policy", "interval"], problems)? {
        ("stop", node) => read_broker(node, network, problems).map(SharingChange::Stops),
        ("start", node) => read_broker(node, network, problems).map(SharingChange::Starts),
        ("policy", node) => read_level(node, None, network, files, problems).map(Box::new).map(SharingChange::Policy),
        (_, node) => node.quantity(problems).map(SharingChange::Interval),
    };
    Some(SharingEvent { at: at?, what: what? })
}

/// A host, for its rack broker, or `fabric`.
fn read_broker(node: &Node<'_>, network: &Network, problems: &mut Problems<'_>) -> Option<BrokerAt> {
    if node.text() == Some(FABRIC) && network.find_node(FABRIC).is_none() {
        return Some(BrokerAt::Fabric);
    }
    read_host(node, network, problems).map(BrokerAt::Machine)
}

/// A mapping from names of services.
fn by_service<T>(
    node: &Node<'_>,
    problems: &mut Problems<'_>,
    mut read: impl FnMut(&Node<'_>, &mut Problems<'_>) -> Option<T>,
) -> Option<Vec<(String, T)>> {
    let Value::Mapping(entries) = &node.value else {
        let message = || format!("values by services are expected here, not {}", node.description());
        problems.report(ProblemKind::WrongType, node.span, message);
        return None;
    };
    let mut values = Vec::new();
    for entry in entries {
        let name = entry.key.expect_text(problems);
        values.push(name.map(str::to_owned).zip(read(&entry.value, problems)));
    }
    values.into_iter().collect()
}

fn read_alpha(node: &Node<'_>, problems: &mut Problems<'_>) -> Option<u8> {
    let alpha = number(node, problems)?;
    let percent = alpha * 100.0;
    let whole = percent.round();
    if (0.0..=100.0).contains(&whole) && (percent - whole).abs() < 1e-6 {
        return Some(whole as u8);
    }
    let message = || format!("alpha {alpha} is not accepted: a number from 0.01 to 1 in steps of 0.01 is expected");
    problems.report(ProblemKind::BadValue, node.span, message);
    None
}

fn percent(node: &Node<'_>, problems: &mut Problems<'_>) -> Option<u8> {
    // More than 100 is refused with all else that no run could mean.
    node.count(problems).map(|count| u8::try_from(count).unwrap_or(u8::MAX))
}

/// What is absent is as usual; what is wrong is wrong.
fn optional<T>(read: Option<Option<T>>) -> Option<Option<T>> {
    read.map_or(Some(None), |value| value.map(Some))
}
