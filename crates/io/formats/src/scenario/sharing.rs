//! Sharing by hosts: a scheme, the policies of its levels, faults of messages, and changes during the run.

use wayleave_contracts::{Policy, PolicyLevel};
use wayleave_scenarios::{BrokerAt, HostSchemeConfig, MessageFaults, SchemeOf, Sharing, SharingChange, SharingEvent};
use wayleave_schemes::hosts::HOSTS;
use wayleave_topology::Network;

use super::ends::read_host;
use super::files::Files;
use super::scalars::{exactly_one, number, queue};
use super::schemes::{self, SchemeChoice};
use crate::fields::{Fields, Shape};
use crate::policy::{read_policy, read_policy_spec};
use crate::problem::Problems;
use crate::tree::{Node, Value};

pub(crate) const SHARING: Shape = Shape {
    what: "sharing",
    keys: &[
        "scheme",
        "otherSchemes",
        "machine",
        "rack",
        "fabric",
        "idleTimeout",
        "packetQueue",
        "queue",
        "faults",
        "events",
    ],
};
pub(crate) const SCHEME: SchemeChoice = SchemeChoice { what: "a scheme", word: "scheme", all: HOSTS };
pub(crate) const OTHER_SCHEME: Shape = Shape { what: "a further scheme", keys: &["scheme", "services"] };
pub(crate) const FAULTS: Shape = Shape { what: "message faults", keys: &["loss", "duplicate", "delay", "probeLoss"] };
pub(crate) const EVENT: Shape = Shape { what: "an event", keys: &["at", "stop", "start", "policy", "interval"] };

/// Name of the fabric broker, where a broker is named.
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
    let idle_timeout = fields.get("idleTimeout").map(|node| node.quantity(problems));
    let packet_queue = fields.get("packetQueue").map(|node| node.quantity(problems));
    let queue = fields.get("queue").map(|node| queue(node, problems));
    let faults = fields.get("faults").map(|node| read_faults(node, problems));
    let events = fields.get("events").and_then(|node| node.expect_list("events", problems)).unwrap_or_default();
    let events: Vec<Option<SharingEvent>> =
        events.iter().map(|node| read_event(node, network, files, problems)).collect();
    let other_schemes =
        fields.get("otherSchemes").and_then(|node| node.expect_list("further schemes", problems)).unwrap_or_default();
    let other_schemes: Vec<Option<SchemeOf>> =
        other_schemes.iter().map(|node| read_other_scheme(node, network, problems)).collect();
    let usual = Sharing::new(scheme?, machine?);
    Some(Sharing {
        other_schemes: other_schemes.into_iter().collect::<Option<_>>()?,
        rack: rack.map_or(Some(None), |rack| rack.map(Some))?,
        fabric: fabric.map_or(Some(None), |fabric| fabric.map(Some))?,
        idle_timeout: idle_timeout.unwrap_or(Some(usual.idle_timeout))?,
        packet_queue: packet_queue.unwrap_or(Some(usual.packet_queue))?,
        queue: queue.map_or(Some(None), |queue| queue.map(Some))?,
        faults: faults.unwrap_or(Some(usual.faults))?,
        events: events.into_iter().collect::<Option<_>>()?,
        ..usual
    })
}

/// Reads a policy: the name of a file, or the contents of its `spec`.
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
fn read_other_scheme(node: &Node<'_>, network: &Network, problems: &mut Problems<'_>) -> Option<SchemeOf> {
    let fields = Fields::read(node, &OTHER_SCHEME, problems)?;
    fields.require_all(["scheme", "services"], problems);
    let scheme = fields.get("scheme").and_then(|node| read_scheme(node, network, problems));
    let services = fields.get("services").and_then(|node| node.expect_list("services", problems))?;
    let services: Vec<Option<String>> =
        services.iter().map(|node| node.expect_text(problems).map(str::to_owned)).collect();
    Some(SchemeOf { scheme: scheme?, services: services.into_iter().collect::<Option<_>>()? })
}

fn read_scheme(node: &Node<'_>, network: &Network, problems: &mut Problems<'_>) -> Option<HostSchemeConfig> {
    let (scheme, given) = schemes::read(node, &SCHEME, Some(network), problems)?;
    HostSchemeConfig::of(scheme.name, &given)
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
