//! A plan as in its file, and the lookup of its names in a network.

use std::collections::{BTreeMap, HashMap};
use std::num::NonZeroU32;
use std::sync::Arc;

use serde::Deserialize;
use serde::de::IgnoredAny;
use wayleave_adversary::AttackBucket;
use wayleave_contracts::Contract;
use wayleave_formats::Source;
use wayleave_ledger::Model;
use wayleave_recheck::HoseCharge;
use wayleave_topology::{Hop, LinkId, Network, NodeId, Route};
use wayleave_units::{Bytes, Rate, Time};

use crate::contracts::Contracts;

/// A plan with the network, model and contracts that it is compared with.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct PlanFile<'a> {
    pub(super) source: &'a Source,
    pub(super) network: &'a Arc<Network>,
    pub(super) model: &'a Model,
    pub(super) contracts: Option<&'a Contracts>,
}

impl<'a> PlanFile<'a> {
    /// Returns a plan for this network. A plan of another network model is refused. Terms of contracts are those in the plan.
    pub const fn new(source: &'a Source, network: &'a Arc<Network>, model: &'a Model) -> Self {
        Self { source, network, model, contracts: None }
    }

    /// Takes the terms of contracts from these, and not from the plan.
    #[must_use]
    pub fn with_contracts(self, contracts: impl Into<Option<&'a Contracts>>) -> Self {
        Self { contracts: contracts.into(), ..self }
    }
}

/// Keys that a reader does not use, by name.
#[derive(Deserialize)]
pub(super) struct UnusedKeys(BTreeMap<String, IgnoredAny>);

impl UnusedKeys {
    /// Refuses every key that is not among `known`: a plan contains them, and nothing depends on them.
    pub(super) fn check(&self, known: &[&str]) -> Result<(), String> {
        match self.0.keys().find(|key| !known.contains(&key.as_str())) {
            Some(key) => {
                Err(format!("unknown key \"{key}\": remove it, or create the plan again with `wayleave plan`"))
            }
            None => Ok(()),
        }
    }
}

/// Keys at the top level that nothing depends on, or that are compared elsewhere.
pub(super) const UNUSED_OF_A_PLAN: [&str; 2] = ["wayleave", "summary"];

/// Keys of a request that explain its decision.
pub(super) const UNUSED_OF_A_REQUEST: [&str; 4] = ["other_bindings", "tried", "disjoint", "copy"];

#[derive(Deserialize)]
pub(super) struct Plan {
    pub(super) scheme: Scheme,
    pub(super) topology: Topology,
    pub(super) model: Counted,
    pub(super) requests: Vec<Entry>,
    pub(super) queues: Vec<Queue>,
    #[serde(default)]
    pub(super) changed_certainty: Vec<ChangedCertainty>,
    #[serde(default)]
    pub(super) short_buffers: Vec<StatedBuffer>,
    #[serde(flatten)]
    pub(super) unused: UnusedKeys,
}

/// A buffer that is stated as too small.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct StatedBuffer {
    pub(super) link: String,
    pub(super) buffer_bytes: u64,
    pub(super) needed_bytes: u64,
}

/// A promise whose certainty is another one in the end than when it was decided.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ChangedCertainty {
    pub(super) name: String,
    pub(super) from: String,
    pub(super) to: String,
}

#[derive(Deserialize)]
pub(super) struct Scheme {
    pub(super) name: String,
    pub(super) paths: Option<String>,
    pub(super) hose_charge: Option<String>,
    pub(super) guaranteed_budget_ns: Option<u64>,
    pub(super) token_period_ns: Option<u64>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Topology {
    pub(super) name: String,
    pub(super) hosts: usize,
    pub(super) switches: usize,
    pub(super) links: usize,
}

#[derive(Deserialize)]
pub(super) struct Counted {
    pub(super) residual: String,
    pub(super) max_frame_bytes: Option<u64>,
    pub(super) tags: Option<u32>,
    pub(super) best_effort: bool,
    pub(super) shaping: bool,
    /// Order assumption. Plans of versions without this field promised for nodes that preserve the order.
    #[serde(default)]
    pub(super) jitter: NodeJitter,
}

/// Assumed effect of the jitter of nodes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum NodeJitter {
    #[default]
    Ordered,
    Any,
}

impl NodeJitter {
    /// As the option takes it.
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Ordered => "ordered",
            Self::Any => "any",
        }
    }
}

/// A request, or the end of a contract.
#[derive(Deserialize)]
pub(super) struct Entry {
    pub(super) name: String,
    pub(super) decision: String,
    pub(super) tenant: Option<String>,
    pub(super) reason: Option<String>,
    pub(super) message: Option<IgnoredAny>,
    pub(super) binding: Option<IgnoredAny>,
    /// The links and switches that all routes of a protected contract have in common.
    pub(super) shared: Option<Vec<String>>,
    pub(super) longest_wait_ns: Option<u64>,
    pub(super) event: Option<String>,
    #[serde(default)]
    pub(super) at_ns: u64,
    pub(super) held_until_ns: Option<u64>,
    pub(super) from: Option<String>,
    pub(super) to: Option<String>,
    pub(super) rate_bps: Option<u64>,
    pub(super) burst_bytes: Option<u64>,
    pub(super) deadline_ns: Option<u64>,
    pub(super) protection: Option<usize>,
    pub(super) reserved: Option<Reserved>,
    pub(super) route: Option<Vec<Step>>,
    pub(super) bound_ns: Option<u64>,
    #[serde(default)]
    pub(super) terms: Vec<Term>,
    #[serde(default)]
    pub(super) copies: Vec<Further>,
    #[serde(default)]
    pub(super) moved: Vec<Move>,
    pub(super) activate_after_ns: Option<u64>,
    pub(super) old_terms_end_after_ns: Option<u64>,
    #[serde(flatten)]
    pub(super) share: ShareTerms,
    #[serde(flatten)]
    pub(super) unused: UnusedKeys,
}

/// A further route of a protected contract.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Further {
    pub(super) route: Vec<Step>,
    pub(super) bound_ns: u64,
    #[serde(default)]
    pub(super) terms: Vec<Term>,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Reserved {
    pub(super) rate_bps: u64,
    pub(super) burst_bytes: u64,
    pub(super) max_frame_bytes: Option<u64>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Step {
    pub(super) link: String,
    pub(super) queue: u8,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Term {
    pub(super) kind: String,
    pub(super) at: Option<String>,
    pub(super) queue: Option<u8>,
    pub(super) delay_ns: u64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Move {
    pub(super) name: String,
    pub(super) from: Vec<Step>,
    pub(super) to: Vec<Step>,
    pub(super) after_ns: Option<u64>,
}

#[derive(Deserialize)]
pub(super) struct Queue {
    pub(super) link: String,
    pub(super) queue: u8,
    pub(super) budget_ns: u64,
    pub(super) buffer_bytes: u64,
    pub(super) flows: usize,
    pub(super) delay_bound_ns: Option<u64>,
    pub(super) backlog_bound_bytes: Option<u64>,
}

/// The fields that only contracts of other kinds than latency have.
#[derive(Deserialize)]
pub(super) struct ShareTerms {
    pub(super) kind: Option<String>,
    #[serde(default)]
    pub(super) members: Vec<String>,
    pub(super) between: Option<String>,
    pub(super) objective: Option<String>,
    pub(super) min_bps: Option<u64>,
    pub(super) max_bps: Option<u64>,
    pub(super) weight: Option<NonZeroU32>,
    pub(super) within_ns: Option<u64>,
    pub(super) there_within_ns: Option<u64>,
    pub(super) there_within_certainty: Option<String>,
    pub(super) class: Option<String>,
    pub(super) certainty: Option<String>,
}

impl ShareTerms {
    /// Returns `true` if they belong to a contract of another kind than latency.
    pub(super) fn is_other_kind(&self) -> bool {
        self.kind.is_some()
    }
}

/// Reads the parts of a plan.
pub(super) struct Reader<'a> {
    pub(super) network: &'a Arc<Network>,
    pub(super) model: &'a Model,
    pub(super) contracts: Option<HashMap<&'a str, &'a Contract>>,
    /// Use of paths by hoses and the charge for it, by the scheme of the plan.
    pub(super) charge: HoseCharge,
}

impl<'a> Reader<'a> {
    pub(super) fn new(file: &PlanFile<'a>, scheme: &Scheme) -> Self {
        let charge = match (scheme.paths.as_deref(), scheme.hose_charge.as_deref()) {
            (Some("all"), _) => HoseCharge::EvenSplits,
            (_, Some("every-path")) => HoseCharge::EveryPath,
            _ => HoseCharge::ChosenPaths,
        };
        let by_name = |contracts: &'a Contracts| {
            contracts.all().map(|(_, contract)| (contract.name(), contract)).collect::<HashMap<_, _>>()
        };
        Self { network: file.network, model: file.model, contracts: file.contracts.map(by_name), charge }
    }

    pub(super) fn route(&self, steps: &[Step]) -> Result<Route, String> {
        let hop = |step: &Step| Ok(Hop { link: self.link(&step.link)?, queue: step.queue });
        Ok(Route { hops: steps.iter().map(hop).collect::<Result<_, String>>()? })
    }

    pub(super) fn link(&self, name: &str) -> Result<LinkId, String> {
        self.network.find_link(name).ok_or_else(|| format!("link {name} is not in --topology"))
    }

    pub(super) fn node(&self, name: &str) -> Result<NodeId, String> {
        self.network.find_node(name).ok_or_else(|| format!("node {name} is not in --topology"))
    }
}

/// A number of ns that is a time.
pub(super) fn time(nanos: u64, of: &str) -> Result<Time, String> {
    Some(Time::from_nanos(nanos))
        .filter(|&time| time <= LONGEST)
        .ok_or_else(|| format!("{of} has a time of {nanos} ns: expected at most {LONGEST:#}"))
}

/// Sums of a few of these are still times.
pub(super) const LONGEST: Time = Time::from_millis(1_000_000_000);

pub(super) fn bytes(bytes: u64, of: &str) -> Result<Bytes, String> {
    Some(Bytes::new(bytes))
        .filter(|&bytes| bytes <= Bytes::MAX)
        .ok_or_else(|| format!("{of} has a size of {bytes} B: expected at most {:#}", Bytes::MAX))
}

pub(super) fn bucket(rate: u64, burst: u64, of: &str) -> Result<AttackBucket, String> {
    let rate = Some(Rate::from_bits_per_second(rate)).filter(|&rate| rate <= Rate::MAX);
    let rate = rate.ok_or_else(|| format!("{of} has a rate above {:#}", Rate::MAX))?;
    for (key, value) in [("rate_bps", rate.bits_per_second()), ("burst_bytes", burst)] {
        if value == 0 {
            return Err(format!("{of} has {key} 0, which lets no packet pass: expected the value of `wayleave plan`"));
        }
    }
    Ok(AttackBucket { rate, burst: bytes(burst, of)? })
}
