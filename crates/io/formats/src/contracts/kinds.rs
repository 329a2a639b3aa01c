//! Contracts of other kinds than latency: the values of `bandwidth`, `objective` and `bestEffort`.

use std::num::NonZeroU32;

use wayleave_contracts::{
    BandwidthContract, BestEffortContract, Contract, ContractKind, Endpoints, FlowObjective, ObjectiveContract,
};
use wayleave_topology::{Network, NodeId};
use wayleave_units::{Rate, Time};

use super::field::ContractField;
use super::places::VmLocations;
use super::text::{Text, text_of};
use super::written::WrittenBody;
use crate::fields::{Fields, Quantity, Shape, quantity};
use crate::location::Span;
use crate::messages::{did_you_mean_one_of, quoted};
use crate::names::unknown_end;
use crate::problem::{ProblemKind, Problems};
use crate::tree::Node;

pub(crate) const BANDWIDTH: Shape =
    Shape { what: "bandwidth", keys: &["from", "to", "hose", "min", "max", "weight", "within"] };
pub(crate) const OBJECTIVE: Shape = Shape { what: "an objective", keys: &["deadline", "goal", "members", "weight"] };
pub(crate) const BEST_EFFORT: Shape = Shape { what: "best effort", keys: &["members", "max"] };

/// Value of the key of a kind, with the positions of its parts.
#[derive(Clone, Debug)]
pub(crate) struct KindBody<'a> {
    pub(crate) kind: ContractKind,
    /// Its key in the file.
    pub(super) key: &'static str,
    pub(super) span: Span,
    texts: Vec<(&'static str, Text<'a>)>,
    pub(super) members: Vec<Text<'a>>,
}

/// Minimum of a contract that states a maximum alone, unless the maximum is less.
const MIN_BESIDE_MAX: Rate = Rate::from_mbit(1);

/// The fields whose values are bodies, with their kinds.
pub(super) const BODIES: [(ContractField, ContractKind, &Shape); 3] = [
    (ContractField::Bandwidth, ContractKind::Bandwidth, &BANDWIDTH),
    (ContractField::Objective, ContractKind::Objective, &OBJECTIVE),
    (ContractField::BestEffort, ContractKind::BestEffort, &BEST_EFFORT),
];

impl<'a> KindBody<'a> {
    /// From a mapping; `None`, with a problem, if it is none.
    pub(super) fn read(
        field: ContractField,
        (kind, shape): (ContractKind, &'static Shape),
        node: &Node<'a>,
        problems: &mut Problems<'_>,
    ) -> Option<Self> {
        let fields = Fields::read(node, shape, problems)?;
        let mut body = Self { kind, key: field.key(), span: node.span, texts: Vec::new(), members: Vec::new() };
        for &key in shape.keys {
            let Some(value) = fields.get(key) else { continue };
            if key == "hose" || key == "members" {
                let hosts = value.expect_list("hosts", problems)?;
                body.members = hosts.iter().filter_map(|host| text_of(host, problems)).collect();
                body.texts.push((key, Text { text: "".into(), span: value.span }));
            } else if let Some(text) = text_of(value, problems) {
                body.texts.push((key, text));
            }
        }
        let required: &[&'static str] = match kind {
            ContractKind::Bandwidth if body.get("hose").is_some() => &["min"],
            ContractKind::Bandwidth => &["from", "to", "min"],
            ContractKind::Objective => &["members", "weight"],
            ContractKind::BestEffort | ContractKind::Latency => &["members"],
        };
        let has_min = |key: &&'static str| *key == "min" && body.get("max").is_some();
        let hint = |key: &str| match (kind, key) {
            (ContractKind::Bandwidth, "from" | "to") => Some("write from: h1, to: h2, or hose: [h1, h2, h3]"),
            (ContractKind::Bandwidth, _) => Some("write min: 500Mbit, or max: 1Gbit for a limit without a minimum"),
            _ => None,
        };
        fields.require_with(required.iter().copied().filter(|key| !has_min(key)), hint, problems);
        body.add_min();
        Some(body)
    }

    /// The bandwidth of a pair of these texts; a problem if it has no minimum.
    pub(super) fn pair(span: Span, texts: Vec<(&'static str, Text<'a>)>, problems: &mut Problems<'_>) -> Self {
        let (kind, key) = (ContractKind::Bandwidth, ContractField::Bandwidth.key());
        if texts.iter().all(|(key, _)| *key != "min" && *key != "max") {
            problems.report(ProblemKind::MissingKey, span, || {
                (
                    "bandwidth needs \"min\" or \"max\", and both are empty",
                    "write a rate such as 500Mbit in one of them",
                )
            });
        }
        let mut body = Self { kind, key, span, texts, members: Vec::new() };
        body.add_min();
        body
    }

    /// Adds the minimum of a contract that states a maximum alone: probes and acknowledgements need a little.
    fn add_min(&mut self) {
        if self.kind != ContractKind::Bandwidth || self.get("min").is_some() {
            return;
        }
        let Some(max) = self.get("max") else { return };
        let is_less = max.text.parse::<Rate>().is_ok_and(|max| max < MIN_BESIDE_MAX);
        let text = if is_less { max.text.clone() } else { MIN_BESIDE_MAX.to_string().into() };
        let min = Text { text, span: max.span };
        self.texts.push(("min", min));
    }

    fn get(&self, key: &str) -> Option<&Text<'a>> {
        self.texts.iter().find(|(known, _)| *known == key).map(|(_, text)| text)
    }

    /// Returns the position of a key; that of the whole body if the key is absent.
    pub(super) fn span_of(&self, key: &str) -> Option<Span> {
        self.get(key).map(|text| text.span)
    }

    fn quantity<T: Quantity>(&self, key: &str, problems: &mut Problems<'_>) -> Option<T> {
        let text = self.get(key)?;
        quantity(&text.text, text.span, problems)
    }

    /// `Some(None)` where it is absent.
    fn optional<T: Quantity>(&self, key: &str, problems: &mut Problems<'_>) -> Option<Option<T>> {
        match self.get(key) {
            None => Some(None),
            Some(_) => self.quantity(key, problems).map(Some),
        }
    }

    fn between(&self, ends: &EndpointLookup<'_>, problems: &mut Problems<'_>) -> Option<Endpoints> {
        let Some(hose) = self.get("hose") else {
            let from = ends.find(self.get("from")?, problems);
            let to = ends.find(self.get("to")?, problems);
            return Some(Endpoints::Pair(from?, to?));
        };
        if let Some(beside) = ["from", "to"].into_iter().find_map(|key| self.get(key)) {
            problems.report(ProblemKind::WrongType, beside.span, || {
                let message = "one contract cannot be both a pair and a hose";
                (message, "give either from and to, or hose with its members")
            });
            return None;
        }
        let _ = hose;
        self.hosts(ends, problems).map(Endpoints::Hose)
    }

    fn hosts(&self, ends: &EndpointLookup<'_>, problems: &mut Problems<'_>) -> Option<Vec<NodeId>> {
        let hosts: Vec<Option<NodeId>> = self.members.iter().map(|member| ends.find(member, problems)).collect();
        hosts.into_iter().collect()
    }

    /// The names of its members with their places: the sender and the receiver, or the list.
    pub(super) fn member_spans(&self) -> impl Iterator<Item = (String, Span)> {
        let ends = ["from", "to"].into_iter().filter_map(|key| self.get(key));
        ends.chain(&self.members).map(|text| (text.text.clone().into_owned(), text.span))
    }

    pub(super) fn names(&self) -> Vec<String> {
        self.member_spans().map(|(name, _)| name).collect()
    }

    /// Returns the unparsed text of each key.
    pub(super) fn written(&self) -> WrittenBody {
        let texts = self.texts.iter().filter(|(key, _)| *key != "hose" && *key != "members");
        let members = self.texts.iter().find(|(key, _)| *key == "hose" || *key == "members");
        let names = || self.members.iter().map(|member| member.text.clone().into_owned()).collect();
        WrittenBody {
            kind: self.kind,
            texts: texts.map(|(key, text)| (*key, text.text.clone().into_owned())).collect(),
            members: members.map(|(key, _)| (*key, names())),
        }
    }

    fn weight(&self, problems: &mut Problems<'_>) -> Option<Option<NonZeroU32>> {
        let Some(given) = self.get("weight") else { return Some(None) };
        let weight = given.text.parse().ok();
        if weight.is_none() {
            problems.report(ProblemKind::BadValue, given.span, || {
                format!(
                    "{} is not a weight: expected a whole number from 1 to {}, such as 10",
                    quoted(&given.text),
                    u32::MAX
                )
            });
        }
        weight.map(Some)
    }

    /// Returns the objective of its flows: the named one, or deadlines if one is given.
    fn goal(&self, deadline: Option<Time>, problems: &mut Problems<'_>) -> Option<FlowObjective> {
        let named =
            |text: &str| FlowObjective::NAMED.iter().find(|(name, _)| *name == text).map(|&(_, objective)| objective);
        match (self.get("goal"), deadline) {
            (None, Some(_)) => Some(FlowObjective::Deadline),
            (None, None) => {
                problems.report(ProblemKind::MissingKey, self.span, || {
                    let message = "an objective needs the key \"deadline\" or \"goal\"";
                    (message, "write deadline: 20ms, or goal: completion, or goal: latency")
                });
                None
            }
            (Some(goal), _) => {
                let objective = named(&goal.text);
                if objective.is_none() {
                    problems.report(ProblemKind::BadValue, goal.span, || {
                        let names = FlowObjective::NAMED.map(|(name, _)| name);
                        format!("unknown goal {}{}", quoted(&goal.text), did_you_mean_one_of(&goal.text, &names))
                    });
                }
                objective
            }
        }
    }

    pub(super) fn contract(
        &self,
        named: (String, Option<String>),
        ends: &EndpointLookup<'_>,
        problems: &mut Problems<'_>,
    ) -> Option<Contract> {
        let (name, tenant) = named;
        match self.kind {
            ContractKind::Bandwidth => {
                let between = self.between(ends, problems);
                let min = self.quantity("min", problems);
                let max = self.optional("max", problems);
                let weight = self.weight(problems);
                let within = self.optional("within", problems);
                let contract = BandwidthContract {
                    name,
                    tenant,
                    between: between?,
                    min: min?,
                    max: max?,
                    weight: weight?,
                    within: within?,
                };
                Some(contract.into())
            }
            ContractKind::Objective => {
                let members = self.hosts(ends, problems);
                let weight = self.quantity("weight", problems);
                let deadline = self.optional("deadline", problems)?;
                let objective = self.goal(deadline, problems);
                let (objective, members, min) = (objective?, members?, weight?);
                Some(ObjectiveContract { name, tenant, objective, deadline, members, min }.into())
            }
            ContractKind::BestEffort | ContractKind::Latency => {
                let members = self.hosts(ends, problems);
                let max = self.optional("max", problems)?;
                Some(BestEffortContract { name, tenant, members: members?, max }.into())
            }
        }
    }
}

/// Resolves the ends of contracts.
pub(super) struct EndpointLookup<'n> {
    pub(super) network: &'n Network,
    pub(super) places: &'n dyn VmLocations,
    pub(super) tenant: Option<&'n str>,
}

impl EndpointLookup<'_> {
    /// A VM, or else a node.
    fn find(&self, name: &Text<'_>, problems: &mut Problems<'_>) -> Option<NodeId> {
        let node = self.places.host_of(self.tenant, &name.text).or_else(|| self.network.find_node(&name.text));
        if node.is_none() {
            problems.report(ProblemKind::UnknownName, name.span, || {
                unknown_end(&name.text, self.network, &self.places.names(self.tenant))
            });
        }
        node
    }
}
