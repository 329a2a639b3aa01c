//! Keys of contracts that a data plane does not carry out, each by name and with a reason. Every other key has its effect there, or concerns no
//! data plane (`docs/reference/keys.md` has the table).

use std::collections::BTreeMap;
use std::fmt;

use crate::{Contract, Excess};

/// A data plane that carries contracts out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum DataPlane {
    /// The simulator, for a scenario that names contracts.
    Simulator,
    /// Agents of Linux hosts, instructed by a controller.
    Agents,
    /// Hosts of a lab without a controller.
    Lab,
    /// Switches with a rendered configuration.
    Rendered,
}

/// A key of a contract that a data plane does not carry out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct UnsupportedKey {
    /// The key as in files, with its value where other values are supported.
    pub key: &'static str,
    /// Reason, as the second half of a sentence.
    pub why: &'static str,
}

impl fmt::Display for UnsupportedKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} has no effect: {}", self.key, self.why)
    }
}

/// Returns `true` for a key that was written.
type Gives<'a> = &'a dyn Fn(&str) -> bool;

/// A key with the contracts that have it, and a reason for each data plane that does not carry it out.
struct Limit {
    key: &'static str,
    is_in: fn(&Contract, Gives<'_>) -> bool,
    simulator: Option<&'static str>,
    agents: Option<&'static str>,
    lab: Option<&'static str>,
    rendered: Option<&'static str>,
}

const SHAPED: &str = "senders of a scenario keep to their token buckets, so no packet exceeds one";
const AGENT_FILE: &str = "agents treat excess packets as their own file says (excess: wait or drop)";
const LAB_DROPS: &str = "packets beyond the bucket are dropped";
const BY_HOSTS: &str = "switches do not identify contracts: hosts have to enforce it";
const ALL_AT_ONCE: &str = "all contracts are active from the start, without end";
const NOT_REROUTED: &str = "nothing is decided again when something fails";

const LIMITS: [Limit; 16] = [
    Limit {
        key: "excess: wait",
        is_in: |contract, _| excess(contract) == Some(Excess::Wait),
        simulator: None,
        agents: None,
        lab: Some(LAB_DROPS),
        rendered: None,
    },
    Limit {
        key: "excess: drop",
        is_in: |contract, _| excess(contract) == Some(Excess::Drop),
        simulator: Some(SHAPED),
        agents: Some(AGENT_FILE),
        lab: None,
        rendered: Some(BY_HOSTS),
    },
    Limit {
        key: "excess: demote",
        is_in: |contract, _| excess(contract) == Some(Excess::Demote),
        simulator: Some(SHAPED),
        agents: Some(AGENT_FILE),
        lab: Some(LAB_DROPS),
        rendered: Some(BY_HOSTS),
    },
    Limit {
        key: "protection",
        is_in: |contract, _| contract.as_latency().is_some_and(|terms| terms.protection > 1),
        simulator: Some("packets take the first of its routes"),
        agents: None,
        lab: Some("packets take the first of its routes"),
        rendered: Some("a host has to send every packet over each of its routes"),
    },
    Limit {
        key: "match",
        is_in: |_, gives| gives("match"),
        simulator: Some("a traffic names its contract, whatever its packets are"),
        agents: None,
        lab: None,
        rendered: Some("hosts have to choose its packets, and to set their codepoint"),
    },
    Limit {
        key: "priority",
        is_in: |_, gives| gives("priority"),
        simulator: Some(NOT_REROUTED),
        agents: None,
        lab: Some(NOT_REROUTED),
        rendered: Some(NOT_REROUTED),
    },
    Limit {
        key: "starts",
        is_in: |_, gives| gives("starts"),
        simulator: Some(ALL_AT_ONCE),
        agents: None,
        lab: Some(ALL_AT_ONCE),
        rendered: Some(ALL_AT_ONCE),
    },
    Limit {
        key: "ends",
        is_in: |_, gives| gives("ends"),
        simulator: Some(ALL_AT_ONCE),
        agents: None,
        lab: Some(ALL_AT_ONCE),
        rendered: Some(ALL_AT_ONCE),
    },
    Limit {
        key: "bandwidth.min",
        is_in: |contract, _| matches!(contract, Contract::Bandwidth(_)),
        simulator: None,
        agents: None,
        lab: None,
        rendered: Some("switches have a queue for all minima, which hosts have to divide"),
    },
    Limit {
        key: "bandwidth.max",
        is_in: |contract, _| matches!(contract, Contract::Bandwidth(terms) if terms.max.is_some()),
        simulator: None,
        agents: None,
        lab: None,
        rendered: Some(BY_HOSTS),
    },
    Limit {
        key: "bandwidth.weight",
        is_in: |contract, _| matches!(contract, Contract::Bandwidth(terms) if terms.weight.is_some()),
        simulator: None,
        agents: None,
        lab: None,
        rendered: Some(BY_HOSTS),
    },
    Limit {
        key: "bandwidth.within",
        is_in: |contract, _| matches!(contract, Contract::Bandwidth(terms) if terms.within.is_some()),
        simulator: None,
        agents: Some("agents divide links ten times a second, and no time is kept"),
        lab: None,
        rendered: Some(BY_HOSTS),
    },
    Limit {
        key: "bestEffort.max",
        is_in: |contract, _| matches!(contract, Contract::BestEffort(terms) if terms.max.is_some()),
        simulator: None,
        agents: None,
        lab: None,
        rendered: Some(BY_HOSTS),
    },
    Limit {
        key: "objective.weight",
        is_in: |contract, _| matches!(contract, Contract::Objective(_)),
        simulator: None,
        agents: None,
        lab: None,
        rendered: Some("switches have a queue for all objectives, which hosts have to divide"),
    },
    Limit {
        key: "objective.goal",
        is_in: |contract, _| matches!(contract, Contract::Objective(terms) if terms.deadline.is_none()),
        simulator: None,
        agents: Some("its flows divide its share as their transports do"),
        lab: None,
        rendered: Some(BY_HOSTS),
    },
    Limit {
        key: "objective.deadline",
        is_in: |contract, _| matches!(contract, Contract::Objective(terms) if terms.deadline.is_some()),
        simulator: None,
        agents: Some("its flows divide its share as their transports do"),
        lab: None,
        rendered: Some(BY_HOSTS),
    },
];

fn excess(contract: &Contract) -> Option<Excess> {
    contract.as_latency().map(|terms| terms.excess)
}

impl DataPlane {
    /// Returns the keys of a contract that this data plane does not carry out. `gives` returns `true` for the keys `match`, `priority`, `starts`
    /// and `ends` that were written, which no [`Contract`] has.
    pub fn not_carried_out(self, contract: &Contract, gives: Gives<'_>) -> Vec<UnsupportedKey> {
        let of = |limit: &Limit| match self {
            Self::Simulator => limit.simulator,
            Self::Agents => limit.agents,
            Self::Lab => limit.lab,
            Self::Rendered => limit.rendered,
        };
        let limits = LIMITS.iter().filter(|limit| (limit.is_in)(contract, gives));
        limits.filter_map(|limit| Some(UnsupportedKey { key: limit.key, why: of(limit)? })).collect()
    }
}

/// Returns a sentence for each key that some contracts have and a data plane does not carry out: with the name of the first contract and the
/// number of all.
///
/// ```
/// use wayleave_contracts::{UnsupportedKey, sentences};
/// let ends = UnsupportedKey { key: "ends", why: "all contracts are active from the start, without end" };
/// let found = [("a", ends), ("b", ends)];
/// assert_eq!(sentences(found), ["ends of 2 contracts (a, ...) has no effect: all contracts are active from the start, without end"]);
/// ```
pub fn sentences<'a>(found: impl IntoIterator<Item = (&'a str, UnsupportedKey)>) -> Vec<String> {
    let mut all: BTreeMap<UnsupportedKey, (&str, usize)> = BTreeMap::new();
    for (name, what) in found {
        all.entry(what).or_insert((name, 0)).1 += 1;
    }
    let sentence = |(UnsupportedKey { key, why }, (first, count)): (UnsupportedKey, (&str, usize))| {
        let whose = if count == 1 { format!("contract {first}") } else { format!("{count} contracts ({first}, ...)") };
        format!("{key} of {whose} has no effect: {why}")
    };
    all.into_iter().map(sentence).collect()
}
