//! Policies: `kind: Policy`, who shares the bandwidth of machines, racks or the fabric.

use std::num::NonZeroU32;

use wayleave_contracts::{
    Bandwidth, Division, FlowObjective, Named, PerDirection, Policy, PolicyError, PolicyLevel, ServiceSpec, TimedTerms,
};
use wayleave_topology::{Network, NodeId};

use crate::contracts::read_match;
use crate::document::{self, DocumentKind};
use crate::fields::{Fields, Shape};
use crate::location::Span;
use crate::messages::{did_you_mean, nearest, one_of, quoted};
use crate::names::unknown_node;
use crate::problem::{InputErrors, Problem, ProblemKind, Problems};
use crate::source::Source;
use crate::tenants;
use crate::tree::Node;

pub(crate) const POLICY_SPEC: Shape =
    Shape { what: "the spec of a Policy", keys: &["level", "nodes", "peak", "services"] };
pub(crate) const SERVICE: Shape = Shape {
    what: "a service",
    keys: &[
        "name",
        "parent",
        "tenant",
        "match",
        "endpoints",
        "min",
        "max",
        "weight",
        "transmit",
        "receive",
        "changes",
        "share",
        "objective",
    ],
};
pub(crate) const BANDWIDTH: Shape = Shape { what: "a direction", keys: &["min", "max", "weight"] };
pub(crate) const CHANGE: Shape =
    Shape { what: "a change", keys: &["at", "min", "max", "weight", "transmit", "receive"] };

/// A policy, with the positions of its parts.
#[derive(Clone, Debug)]
pub struct PolicyFile {
    /// The policy.
    pub policy: Policy,
    source: Source,
    spec: Span,
}

impl PolicyFile {
    /// Returns the source from which it was read.
    pub fn source(&self) -> &Source {
        &self.source
    }

    /// Something that was found out about the policy as a whole, as a problem at its place in the file.
    pub fn finding(&self, message: &str) -> Problem {
        Problem::at(&self.source, self.spec, ProblemKind::Finding, message)
    }
}

/// Reads a policy for a network.
///
/// ```
/// use wayleave_formats::{Source, parse_builder, read_policy};
/// let network = parse_builder("leaf-spine:leaves=2,spines=2")?.network;
/// let text = "
/// apiVersion: wayleave/v1
/// kind: Policy
/// spec:
///   level: rack
///   peak: 15Gbit
///   services:
///     - { name: a, max: 10Gbit, match: { protocol: tcp, destinationPort: 80 } }
///     - { name: b, min: 5Gbit, match: { protocol: tcp, destinationPort: 81 } }
/// ";
/// let file = read_policy(&Source::new("policy.yaml", text), &network)?;
/// assert_eq!(file.policy.services().len(), 2);
/// # Ok::<(), wayleave_formats::InputErrors>(())
/// ```
///
/// # Errors
/// Everything that is wrong with the file, in order of place.
pub fn read_policy(source: &Source, network: &Network) -> Result<PolicyFile, InputErrors> {
    let mut problems = Problems::new(source);
    let file = read_document(source, network, &mut problems);
    problems.finish(file)
}

/// A service, with the positions of its fields.
struct Placed {
    service: ServiceSpec,
    at: Span,
    fields: Vec<(&'static str, Span)>,
}

fn read_document(source: &Source, network: &Network, problems: &mut Problems<'_>) -> Option<PolicyFile> {
    let document = document::read(source.text(), DocumentKind::Policy, problems, |_, _| {})?;
    let policy = read_policy_spec(&document.name, &document.spec, None, network, problems)?;
    Some(PolicyFile { policy, source: source.clone(), spec: document.spec.span })
}

/// Reads the `spec` of a policy; its level is optional if `usual` is given.
pub(crate) fn read_policy_spec(
    name: &str,
    node: &Node<'_>,
    usual: Option<PolicyLevel>,
    network: &Network,
    problems: &mut Problems<'_>,
) -> Option<Policy> {
    let spec = Fields::read(node, &POLICY_SPEC, problems)?;
    spec.require_all(usual.is_none().then_some("level").into_iter().chain(["services"]), problems);
    let mark = problems.mark();
    let level = spec.get("level").map_or(usual, |node| level(node, problems));
    let nodes = spec.get("nodes").map_or(Some(Vec::new()), |list| hosts("nodes", list, network, problems));
    let peak = spec.get("peak").and_then(|node| node.quantity(problems));
    let list = spec.get("services").and_then(|node| node.expect_list("services", problems)).unwrap_or_default();
    let mut placed = Vec::new();
    for (index, node) in list.iter().enumerate() {
        let mark = problems.mark();
        placed.extend(service(node, network, problems));
        problems.explain_since(mark, || format!("service {}", index + 1));
    }
    // Consequences of a field that could not be read are not reported.
    if problems.mark() > mark {
        return None;
    }
    let services = placed.iter().map(|placed| placed.service.clone()).collect();
    match Policy::new(network, name, level?, nodes?, peak, services) {
        Ok(policy) => Some(policy),
        Err(errors) => {
            errors.into_iter().for_each(|error| report(&error, &placed, &spec, problems));
            None
        }
    }
}

fn report(error: &PolicyError, placed: &[Placed], spec: &Fields<'_, '_>, problems: &mut Problems<'_>) {
    let field = error.fault.field();
    let Some(index) = error.service else {
        problems.report(ProblemKind::Impossible, spec.value_span(field), || error.fault.to_string());
        return;
    };
    let Placed { service, at, fields } = &placed[index];
    // A fault of an absent field is reported at the service itself.
    let span = fields.iter().find(|(key, _)| *key == field).map_or(*at, |(_, span)| *span);
    let mark = problems.mark();
    problems.report(ProblemKind::Impossible, span, || error.fault.to_string());
    problems.explain_since(mark, || format!("service {}", quoted(&service.name)));
}

fn level(node: &Node<'_>, problems: &mut Problems<'_>) -> Option<PolicyLevel> {
    let text = node.expect_text(problems)?;
    let found = PolicyLevel::NAMED.into_iter().find(|(name, _)| *name == text);
    if found.is_none() {
        problems.report(ProblemKind::BadValue, node.span, || {
            let names = PolicyLevel::NAMED.map(|(name, _)| name);
            let near = did_you_mean(nearest(text, names));
            (format!("unknown level {}{near}", quoted(text)), format!("{} is expected", one_of(&names)))
        });
    }
    found.map(|(_, level)| level)
}

/// Nodes by their names.
fn hosts(key: &str, node: &Node<'_>, network: &Network, problems: &mut Problems<'_>) -> Option<Vec<NodeId>> {
    let mut nodes = Vec::new();
    for item in node.expect_list(key, problems)? {
        let Some(name) = item.expect_text(problems) else { continue };
        match network.find_node(name) {
            Some(node) => nodes.push(node),
            None => problems.report(ProblemKind::UnknownName, item.span, || unknown_node(name, network)),
        }
    }
    Some(nodes)
}

fn service(node: &Node<'_>, network: &Network, problems: &mut Problems<'_>) -> Option<Placed> {
    let fields = Fields::read(node, &SERVICE, problems)?;
    fields.require_all(["name"], problems);
    let text = |key, problems: &mut Problems<'_>| fields.text(key, problems).map(str::to_owned);
    let changes = fields.get("changes").and_then(|node| node.expect_list("changes", problems)).unwrap_or_default();
    let service = ServiceSpec {
        name: text("name", problems).unwrap_or_default(),
        parent: text("parent", problems),
        tenant: tenants::name(&fields, "tenant", Named::Tenant, problems),
        filter: fields.get("match").and_then(|node| read_match(node, problems)),
        endpoints: fields
            .get("endpoints")
            .and_then(|node| hosts("endpoints", node, network, problems))
            .unwrap_or_default(),
        bandwidth: directions(&fields, problems),
        changes: changes.iter().filter_map(|node| change(node, problems)).collect(),
        division: division(&fields, problems),
    };
    let places = SERVICE.keys.iter().filter(|key| fields.get(key).is_some()).map(|&key| (key, fields.value_span(key)));
    Some(Placed { service, at: fields.value_span("name"), fields: places.collect() })
}

/// `share` and `objective`: an objective is nothing without a share.
fn division(fields: &Fields<'_, '_>, problems: &mut Problems<'_>) -> Option<Division> {
    let share = fields.get("share").map(|node| node.quantity(problems));
    let objective = fields.get("objective").map(|node| objective(node, problems));
    if share.is_none() && objective.is_some() {
        problems.report(ProblemKind::MissingKey, fields.value_span("objective"), || {
            (
                "the service has an objective and no share",
                "give its part of the network as a rate, as in share: 300Mbit",
            )
        });
    }
    Some(Division { share: share??, objective: objective.map_or(Some(None), |objective| objective.map(Some))? })
}

fn objective(node: &Node<'_>, problems: &mut Problems<'_>) -> Option<FlowObjective> {
    let text = node.expect_text(problems)?;
    let found = FlowObjective::NAMED.into_iter().find(|(name, _)| *name == text);
    if found.is_none() {
        problems.report(ProblemKind::BadValue, node.span, || {
            let names = FlowObjective::NAMED.map(|(name, _)| name);
            let near = did_you_mean(nearest(text, names));
            (format!("unknown objective {}{near}", quoted(text)), format!("{} is expected", one_of(&names)))
        });
    }
    found.map(|(_, objective)| objective)
}

fn change(node: &Node<'_>, problems: &mut Problems<'_>) -> Option<TimedTerms> {
    let fields = Fields::read(node, &CHANGE, problems)?;
    let at = fields.require("at", problems).and_then(|node| node.quantity(problems));
    let bandwidth = directions(&fields, problems);
    if bandwidth == PerDirection::default() && at.is_some() {
        problems.report(ProblemKind::MissingKey, fields.at, || {
            ("this changes nothing", "give min, max or weight, for both directions or below transmit or receive")
        });
    }
    Some(TimedTerms { at: at?, bandwidth })
}

/// Reads `min`, `max` and `weight` for both directions, and their replacements in `transmit` and `receive`.
fn directions(fields: &Fields<'_, '_>, problems: &mut Problems<'_>) -> PerDirection<Bandwidth> {
    let both = bandwidth(fields, problems);
    let mut own = |key| {
        let own = fields.get(key).and_then(|node| Fields::read(node, &BANDWIDTH, problems));
        let own = own.map(|fields| bandwidth(&fields, problems)).unwrap_or_default();
        Bandwidth { min: own.min.or(both.min), max: own.max.or(both.max), weight: own.weight.or(both.weight) }
    };
    PerDirection { transmit: own("transmit"), receive: own("receive") }
}

fn bandwidth(fields: &Fields<'_, '_>, problems: &mut Problems<'_>) -> Bandwidth {
    let min = fields.get("min").and_then(|node| node.quantity(problems));
    let max = fields.get("max").and_then(|node| node.quantity(problems));
    let weight = fields.get("weight").and_then(|node| weight(node, problems));
    Bandwidth { min, max, weight }
}

fn weight(node: &Node<'_>, problems: &mut Problems<'_>) -> Option<NonZeroU32> {
    let count = node.count(problems)?;
    let weight = u32::try_from(count).ok().and_then(NonZeroU32::new);
    if weight.is_none() {
        problems.report(ProblemKind::BadValue, node.span, || {
            format!("the weight {count} is not accepted: expected a whole number from 1 to {}", u32::MAX)
        });
    }
    weight
}
