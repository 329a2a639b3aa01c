//! The table of alerts. A test compares it with the rules for Prometheus.

use std::time::Duration;

use wayleave_protocol::alert::Severity::{self, Critical, Warning};

use crate::alert_counters::Counter;

/// An alert with its condition.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rule {
    pub(super) name: &'static str,
    pub(super) severity: Severity,
    /// The alert fires once its condition was met for this long.
    pub(super) hold: Duration,
    pub(super) condition: Condition,
    /// The condition in the language of Prometheus.
    pub(super) expression: &'static str,
    /// One sentence; `{value}` and `{node}` are replaced.
    pub(super) summary: &'static str,
    pub(super) description: &'static str,
}

/// Condition of an alert.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Condition {
    /// This controller cannot write, and no other one leads.
    NotReady,
    /// No controller runs.
    Absent,
    /// A number is above 0.
    AboveZero(Figure),
    /// A counter has increased by more than `above` within a window; each node on its own, if nodes have counters.
    Increase { of: Counter, within: Duration, above: u64 },
    /// More than one commit in a hundred of a window was slow.
    SlowCommits { within: Duration },
}

/// Number that is known at any time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Figure {
    SilentAgents,
    Violated,
    Degraded,
    Unconfirmed,
    Exceeding,
    Down,
    Unobserved,
}

const fn minutes(count: u64) -> Duration {
    Duration::from_secs(60 * count)
}

const fn increase(of: Counter, within: Duration, above: u64) -> Condition {
    Condition::Increase { of, within, above }
}

/// All alerts, in the order of the file.
pub(super) const RULES: &[Rule] = &[
    Rule {
        name: "WayleaveNotReady",
        severity: Critical,
        hold: minutes(1),
        condition: Condition::NotReady,
        expression: "max by (job) (wayleave_ready) == 0",
        summary: "The controller cannot write its ledger and accepts no changes.",
        description: "For the reason see `wayleave status` and the controller's log. Rules in hosts and switches stay in force.",
    },
    Rule {
        name: "WayleaveControllerGone",
        severity: Critical,
        hold: minutes(2),
        condition: Condition::Absent,
        expression: "absent(wayleave_ready)",
        summary: "No controller is running.",
        description: "Rules in hosts and switches stay in force; failures are not handled until it is back.",
    },
    Rule {
        name: "WayleaveAgentSilent",
        severity: Critical,
        hold: Duration::from_secs(30),
        condition: Condition::AboveZero(Figure::SilentAgents),
        expression: "wayleave_agents_silent > 0 and on (job, instance) (wayleave_ready == 1)",
        summary: "Nodes with silent agents: {value}.",
        description: "Nothing is known of their contracts' enforcement. `wayleave status` names the nodes.",
    },
    Rule {
        name: "WayleaveContractsViolated",
        severity: Critical,
        hold: Duration::ZERO,
        condition: Condition::AboveZero(Figure::Violated),
        expression: "wayleave_contracts{state=\"violated\"} > 0 and on (job, instance) (wayleave_ready == 1)",
        summary: "Contracts with packets beyond their delay bound: {value}.",
        description: "`wayleave get contracts --state violated` lists them.",
    },
    Rule {
        name: "WayleaveContractsDegraded",
        severity: Warning,
        hold: minutes(1),
        condition: Condition::AboveZero(Figure::Degraded),
        expression: "sum(wayleave_contracts_degraded{reason!~\"SILENT|UNCONFIRMED\"} and on (job, instance) (wayleave_ready == 1)) > 0",
        summary: "Degraded contracts, by a failure or since an agent cannot install their rules: {value}.",
        description: "`wayleave status` lists them with reasons.",
    },
    Rule {
        name: "WayleaveContractsUnknown",
        severity: Warning,
        hold: minutes(1),
        condition: Condition::AboveZero(Figure::Unconfirmed),
        expression: "sum(wayleave_contracts_degraded{reason=~\"SILENT|UNCONFIRMED\"} and on (job, instance) (wayleave_ready == 1)) > 0",
        summary: "Contracts that agents have not confirmed, or whose agents are silent: {value}.",
        description: "Their guarantees may hold or not. `wayleave status` lists them with the hosts of these agents.",
    },
    Rule {
        name: "WayleaveRateExceeded",
        severity: Warning,
        hold: Duration::ZERO,
        condition: Condition::AboveZero(Figure::Exceeding),
        expression: "wayleave_contracts_rate_exceeded > 0 and on (job, instance) (wayleave_ready == 1)",
        summary: "Contracts of which counters show more than their rules let through: {value}.",
        description: "They count as not enforced. `wayleave status` names the hosts: restart their agents.",
    },
    Rule {
        name: "WayleaveElementsDown",
        severity: Warning,
        hold: minutes(1),
        condition: Condition::AboveZero(Figure::Down),
        expression: "wayleave_elements_down > 0 and on (job, instance) (wayleave_ready == 1)",
        summary: "Links and nodes that are down: {value}.",
        description: "Contracts are rerouted as long as capacity is available.",
    },
    Rule {
        name: "WayleaveElementsUnobserved",
        severity: Warning,
        hold: minutes(1),
        condition: Condition::AboveZero(Figure::Unobserved),
        expression: "wayleave_elements_unobserved > 0 and on (job, instance) (wayleave_ready == 1)",
        summary: "Links and nodes that were last reported down, and may still be: {value}.",
        description: "No connected agent observes them. `wayleave status` names them; start the agents of their nodes.",
    },
    Rule {
        name: "WayleaveQueueFull",
        severity: Warning,
        hold: minutes(10),
        condition: increase(Counter::QueueFull, minutes(5), 0),
        expression: "sum(rate(wayleave_contract_packets_total{became=\"queue-full\"}[5m])) > 0",
        summary: "Sending hosts drop packets of contracts persistently: queues are full, or tokens are used up.",
        description: "Senders exceed their contracts, or the rate that the links of their hosts have left. `wayleave describe contract NAME` shows the counters.",
    },
    Rule {
        name: "WayleaveRepairs",
        severity: Warning,
        hold: Duration::ZERO,
        condition: increase(Counter::Repairs, minutes(10), 3),
        expression: "sum by (node) (increase(wayleave_repairs_total[10m])) > 3",
        summary: "Rules and queues of the agent on {node} are changed repeatedly by another program.",
        description: "`wayleave events` lists the repairs. Find the program that configures the same interfaces.",
    },
    Rule {
        name: "WayleavePacketsLost",
        severity: Warning,
        hold: minutes(5),
        condition: increase(Counter::Lost, minutes(5), 0),
        expression: "sum(rate(wayleave_contract_packets_total{became=\"lost\"}[5m])) > 0",
        summary: "Packets of contracts leave their hosts and do not arrive.",
        description: "`wayleave describe contract NAME` shows how many traced packets were lost, and behind which node.",
    },
    Rule {
        name: "WayleaveWrongAddresses",
        severity: Warning,
        hold: minutes(5),
        condition: increase(Counter::WrongAddresses, minutes(5), 0),
        expression: "sum by (node) (rate(wayleave_host_packets_total{became=~\"spoofed|forged\"}[5m])) > 0",
        summary: "Endpoints of {node} send with foreign addresses or tags.",
        description: "`wayleave status` names them; the packets are dropped.",
    },
    Rule {
        name: "WayleaveCommitsSlow",
        severity: Warning,
        hold: minutes(10),
        condition: Condition::SlowCommits { within: minutes(5) },
        expression: "histogram_quantile(0.99, sum by (le) (rate(wayleave_ledger_commit_seconds_bucket[5m]))) > 0.5",
        summary: "Commits take longer than half a second.",
        description: "The disk of the ledger is slow or shared; every change waits for it.",
    },
];
