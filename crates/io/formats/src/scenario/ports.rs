//! Behaviour of ports, spreading of packets over paths, and switches with one service for all ports.

use wayleave_scenarios::{Buffering, Discipline, Ecn, PortBehaviour, PortEcn, Routing, SharedService};
use wayleave_schemes::switch::red;
use wayleave_schemes::switches::SWITCHES;
use wayleave_schemes::transports::PATHS;
use wayleave_topology::{Network, NodeId, NodeKind};
use wayleave_units::Time;

use super::scalars::{flag, number, queue, refuse_beside, small, unknown_word};
use super::schemes::{self, SchemeChoice};
use crate::fields::{Fields, Shape};
use crate::messages::{MAX_NAMES, did_you_mean, nearest, quoted, shortened};
use crate::names::differs_by_number_only;
use crate::problem::{Message, ProblemKind, Problems};
use crate::tree::{Node, Value};

pub(crate) const PORTS: Shape =
    Shape { what: "the behaviour of ports", keys: &["discipline", "buffer", "ecn", "telemetry"] };
pub(crate) const WEIGHTED: Shape =
    Shape { what: "a queueing discipline", keys: &["deficitRoundRobin", "strict", "weighted"] };
pub(crate) const SHARED_BUFFER: Shape = Shape { what: "a buffer", keys: &["shared", "alpha"] };
pub(crate) const MARKING: SchemeChoice = SchemeChoice { what: "marking", word: "marking", all: SWITCHES };
pub(crate) const ROUTING: SchemeChoice = SchemeChoice { what: "a routing scheme", word: "routing", all: PATHS };
pub(crate) const SERVICE: Shape = Shape { what: "a shared service", keys: &["switch", "rate", "processing", "buffer"] };

const DISCIPLINES: [&str; 4] = ["fifo", "strict-priority", "smallest-remaining-first", "deficitRoundRobin"];

/// Reads the ports of switches or hosts; absent keys keep their defaults.
pub(super) fn read(node: &Node<'_>, problems: &mut Problems<'_>) -> Option<PortBehaviour> {
    let fields = Fields::read(node, &PORTS, problems)?;
    let usual = PortBehaviour::default();
    let discipline = fields.get("discipline").map(|node| read_discipline(node, problems));
    let buffering = fields.get("buffer").map(|node| read_buffer(node, problems));
    let ecn = fields.get("ecn").map(|node| read_port_ecn(node, problems));
    let telemetry = fields.get("telemetry").map(|node| flag(node, problems));
    Some(PortBehaviour {
        discipline: discipline.unwrap_or(Some(usual.discipline))?,
        buffering: buffering.unwrap_or(Some(usual.buffering))?,
        ecn: ecn.unwrap_or(Some(usual.ecn))?,
        telemetry: telemetry.unwrap_or(Some(usual.telemetry))?,
    })
}

fn read_discipline(node: &Node<'_>, problems: &mut Problems<'_>) -> Option<Discipline> {
    if let Value::Mapping(_) = node.value {
        return read_weighted(node, problems);
    }
    match node.expect_text(problems)? {
        "fifo" => Some(Discipline::Fifo),
        "strict-priority" => Some(Discipline::StrictPriority),
        "smallest-remaining-first" => Some(Discipline::SmallestRemainingFirst),
        "deficitRoundRobin" => {
            let message = "deficit round robin needs weights: write `{ deficitRoundRobin: [4, 2, 1] }`";
            problems.report(ProblemKind::WrongType, node.span, || message);
            None
        }
        other => {
            unknown_word(node, "discipline", other, &DISCIPLINES, problems);
            None
        }
    }
}

/// By weight, all queues or those below strict ones.
fn read_weighted(node: &Node<'_>, problems: &mut Problems<'_>) -> Option<Discipline> {
    let fields = Fields::read(node, &WEIGHTED, problems)?;
    if let Some(weights) = fields.get("deficitRoundRobin") {
        refuse_beside(&fields, &["strict", "weighted"], "deficitRoundRobin", problems);
        return read_weights(weights, problems).map(|weights| Discipline::DeficitRoundRobin { weights });
    }
    if fields.get("strict").is_none() && fields.get("weighted").is_none() {
        fields.require("deficitRoundRobin", problems);
        return None;
    }
    fields.require_all(["strict", "weighted"], problems);
    let strict = fields.get("strict").and_then(|node| queue(node, problems));
    let weights = fields.get("weighted").and_then(|node| read_weights(node, problems));
    Some(Discipline::StrictOverWeighted { strict: strict?, weights: weights? })
}

fn read_weights(node: &Node<'_>, problems: &mut Problems<'_>) -> Option<Vec<u32>> {
    let weights = node.expect_list("weights, highest queue first,", problems)?;
    let weights: Vec<Option<u32>> = weights.iter().map(|weight| small(weight, problems)).collect();
    weights.into_iter().collect()
}

fn read_buffer(node: &Node<'_>, problems: &mut Problems<'_>) -> Option<Buffering> {
    if let Value::Mapping(_) = node.value {
        let fields = Fields::read(node, &SHARED_BUFFER, problems)?;
        let total = fields.require("shared", problems)?.quantity(problems)?;
        let alpha = match fields.get("alpha") {
            Some(node) => number(node, problems)?,
            None => 1.0,
        };
        return Some(Buffering::Shared { total, alpha });
    }
    match node.expect_text(problems)? {
        "as-built" => Some(Buffering::AsBuilt),
        "unlimited" => Some(Buffering::Unlimited),
        other if other.starts_with(|c: char| c.is_alphabetic()) => {
            unknown_word(node, "buffer", other, &["as-built", "unlimited", "a size such as 97kB"], problems);
            None
        }
        _ => node.quantity(problems).map(Buffering::EachQueue),
    }
}

/// For all queues, or a list with one entry for each.
fn read_port_ecn(node: &Node<'_>, problems: &mut Problems<'_>) -> Option<PortEcn> {
    let Value::Sequence(items) = &node.value else { return read_ecn(node, problems).map(PortEcn::Same) };
    let queues: Vec<Option<Option<Ecn>>> = items.iter().map(|item| read_ecn(item, problems)).collect();
    queues.into_iter().collect::<Option<_>>().map(PortEcn::PerQueue)
}

/// Reads a scheme with its parameters. The parameters of random early detection are accepted without its name, and a
/// size is a threshold.
fn read_ecn(node: &Node<'_>, problems: &mut Problems<'_>) -> Option<Option<Ecn>> {
    let is_scheme = |key: Option<&str>| {
        key.is_some_and(|key| SWITCHES.iter().any(|scheme| key == scheme.name || key == schemes::camel(scheme.name)))
    };
    let (scheme, given) = match &node.value {
        Value::Mapping(entries) if !entries.iter().any(|entry| is_scheme(entry.key.text())) => {
            (&red::DESCRIPTOR, schemes::read_parameters(node, &red::DESCRIPTOR, None, problems)?)
        }
        Value::Mapping(_) => schemes::read(node, &MARKING, None, problems)?,
        _ if node.text() == Some("none") => return Some(None),
        _ if is_scheme(node.text()) => schemes::read(node, &MARKING, None, problems)?,
        _ => return node.quantity(problems).map(|size| Some(Ecn::above(size))),
    };
    Ecn::of(scheme.name, &given).map(Some)
}

/// Reads how packets are spread over paths.
pub(super) fn read_routing(node: &Node<'_>, problems: &mut Problems<'_>) -> Option<Routing> {
    let (scheme, given) = schemes::read(node, &ROUTING, None, problems)?;
    Routing::of(scheme.name, &given)
}

/// Reads shared services, and for each the item of the list that it comes from.
pub(super) fn read_services(
    node: &Node<'_>,
    network: &Network,
    problems: &mut Problems<'_>,
) -> (Vec<SharedService>, Vec<usize>) {
    let (mut services, mut from) = (Vec::new(), Vec::new());
    for (index, item) in node.expect_list("shared services", problems).unwrap_or_default().iter().enumerate() {
        let Some((switches, service)) = read_service(item, network, problems) else { continue };
        for switch in switches {
            services.push(SharedService { switch, ..service });
            from.push(index);
        }
    }
    (services, from)
}

fn read_service(
    node: &Node<'_>,
    network: &Network,
    problems: &mut Problems<'_>,
) -> Option<(Vec<NodeId>, SharedService)> {
    let fields = Fields::read(node, &SERVICE, problems)?;
    fields.require_all(["switch", "rate", "buffer"], problems);
    let switches = fields.get("switch").and_then(|node| read_switches(node, network, problems));
    let rate = fields.get("rate").and_then(|node| node.quantity(problems));
    let buffer = fields.get("buffer").and_then(|node| node.quantity(problems));
    let processing = fields.get("processing").map_or(Some(Time::ZERO), |node| node.quantity(problems));
    let switches = switches?;
    let (rate, processing, buffer) = (rate?, processing?, buffer?);
    let switch = *switches.first()?;
    Some((switches, SharedService { switch, rate, processing, buffer }))
}

/// `all`, a switch, or a list of switches.
fn read_switches(node: &Node<'_>, network: &Network, problems: &mut Problems<'_>) -> Option<Vec<NodeId>> {
    let items = match &node.value {
        Value::Sequence(items) => &items[..],
        _ if node.text() == Some("all") && network.find_node("all").is_none() => {
            return Some(network.switches().collect());
        }
        _ => std::slice::from_ref(node),
    };
    let switches: Vec<Option<NodeId>> = items.iter().map(|item| read_switch(item, network, problems)).collect();
    let switches: Vec<NodeId> = switches.into_iter().collect::<Option<_>>()?;
    if switches.is_empty() {
        problems.report(ProblemKind::Impossible, node.span, || "a list without switches");
        return None;
    }
    Some(switches)
}

/// The name of a switch.
pub(super) fn read_switch(node: &Node<'_>, network: &Network, problems: &mut Problems<'_>) -> Option<NodeId> {
    let name = node.expect_text(problems)?;
    let Some(id) = network.find_node(name) else {
        problems.report(ProblemKind::UnknownName, node.span, || unknown_switch(name, network));
        return None;
    };
    if network.node(id).kind != NodeKind::Switch {
        problems.report(ProblemKind::Impossible, node.span, || format!("{name} is a host: expected a switch"));
        return None;
    }
    Some(id)
}

fn unknown_switch(name: &str, network: &Network) -> Message {
    let switches = || network.switches().map(|switch| network.node(switch).name.as_str());
    let near = nearest(name, switches().take(MAX_NAMES)).filter(|near| !differs_by_number_only(name, near));
    let message = format!("there is no switch {}{}", quoted(name), did_you_mean(near));
    let named: Vec<String> = switches().take(3).map(shortened).collect();
    match (near, switches().count()) {
        (Some(_), _) => message.into(),
        (None, 0) => (message, "the network has no switches").into(),
        (None, 1..=3) => (message, format!("the switches are {}", named.join(", "))).into(),
        (None, count) => (message, format!("the network has {count} switches: {} ...", named.join(", "))).into(),
    }
}
