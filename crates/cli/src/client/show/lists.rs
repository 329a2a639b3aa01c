//! The rows of lists.

use comfy_table::{Cell, Color};
use wayleave_explain::human;
use wayleave_protocol::contract::{Contract, ContractSpec};
use wayleave_protocol::decision::{Decision, DecisionOutcome};
use wayleave_protocol::network::{ClassCapacity, Connection, Host, Link, ObservedState, Queue, QueueClass};
use wayleave_protocol::policy::Policy;
use wayleave_protocol::tenant::{Tenant, Token, Vm};
use wayleave_units::{Bytes, readable};

use super::{bytes, cell, coloured, element_state, limit, rate, rate_left, short, state, time, word};

/// A sort of object that has a table.
pub(crate) trait Row {
    const HEADINGS: &'static [&'static str];
    /// Text for an empty list.
    const NONE: &'static str;

    fn cells(&self) -> Vec<Cell>;
}

/// The rows of a list.
pub(crate) fn rows<T: Row>(items: &[T]) -> Vec<Vec<Cell>> {
    items.iter().map(Row::cells).collect()
}

impl Row for Contract {
    const HEADINGS: &'static [&'static str] =
        &["contract", "between", "rate", "state", "bound / deadline", "reason or route"];
    const NONE: &'static str = "no contracts";

    fn cells(&self) -> Vec<Cell> {
        let status = &self.status;
        let why = super::reason(status).map_or_else(|| super::cell_of_routes(self), cell);
        vec![
            cell(short(&self.id)),
            cell(super::between(&self.spec)),
            cell(super::asked_rate(&self.spec)),
            state(status),
            cell(super::known(status)),
            why,
        ]
    }
}

/// A contract with everything that was asked for.
pub(crate) struct WideContract(pub(crate) Contract);

impl Row for WideContract {
    const HEADINGS: &'static [&'static str] =
        &["contract", "kind", "members", "terms", "priority", "state", "bound / deadline", "route", "reason"];
    const NONE: &'static str = Contract::NONE;

    fn cells(&self) -> Vec<Cell> {
        let Contract { id, spec, status } = &self.0;
        let separator = if status.from_host.is_some() { " -> " } else { ", " };
        vec![
            cell(short(id)),
            cell(status.kind.name()),
            cell(spec.members().join(separator)),
            cell(terms(spec)),
            cell(spec.priority.map_or_else(|| "50".to_owned(), |priority| priority.to_string())),
            state(status),
            cell(super::known(status)),
            super::cell_of_routes(&self.0),
            cell(status.reason.as_deref().unwrap_or_default()),
        ]
    }
}

/// Terms of a contract without its members: `rate 10 Mbit/s, burst 3 kB, deadline 5 ms`, or `at least 1 Gbit/s, at
/// most 2 Gbit/s, within 5 ms`.
fn terms(spec: &ContractSpec) -> String {
    let mut terms = Vec::new();
    let mut add =
        |name: &str, value: Option<&str>| terms.extend(value.map(|value| format!("{name} {}", readable(value))));
    add("rate", spec.rate.as_deref());
    add("burst", spec.burst.as_deref());
    add("deadline", spec.deadline.as_deref());
    if let Some(bandwidth) = &spec.bandwidth {
        add("at least", Some(&bandwidth.min));
        add("at most", bandwidth.max.as_deref());
        add("weight", bandwidth.weight.map(|weight| weight.to_string()).as_deref());
        add("within", bandwidth.within.as_deref());
    }
    if let Some(objective) = &spec.objective {
        add("deadline", objective.deadline.as_deref());
        add("goal", objective.goal.as_deref());
        add("weight", Some(&objective.weight));
    }
    add("starts", spec.starts.as_deref());
    add("ends", spec.ends.as_deref());
    add("labels", Some(labels(spec)).filter(|labels| !labels.is_empty()).as_deref());
    if terms.is_empty() { "-".to_owned() } else { terms.join(", ") }
}

/// Labels as `-l` takes them: `app=web,tier=db`.
pub(crate) fn labels(spec: &ContractSpec) -> String {
    let labels = spec.labels.iter().map(|(key, value)| format!("{key}={value}"));
    labels.collect::<Vec<_>>().join(",")
}

impl Row for Vm {
    const HEADINGS: &'static [&'static str] = &["VM", "host", "MAC"];
    const NONE: &'static str = "no VMs";

    fn cells(&self) -> Vec<Cell> {
        vec![cell(short(&self.id)), cell(&self.host), cell(&self.mac)]
    }
}

/// `12 of 100`, or `12` if nothing limits it.
fn of(used: &str, most: Option<&str>) -> String {
    let used = readable(used);
    most.map_or_else(|| used.to_string(), |most| format!("{used} of {}", readable(most)))
}

impl Row for Tenant {
    const HEADINGS: &'static [&'static str] = &["tenant", "contracts", "rate", "burst"];
    const NONE: &'static str = "no tenants";

    fn cells(&self) -> Vec<Cell> {
        let most = self.quota.contracts.map(|most| most.to_string());
        vec![
            cell(&self.name),
            cell(of(&self.usage.contracts.to_string(), most.as_deref())),
            cell(of(&self.usage.rate, self.quota.rate.as_deref())),
            cell(of(&self.usage.burst, self.quota.burst.as_deref())),
        ]
    }
}

impl Row for Policy {
    const HEADINGS: &'static [&'static str] = &["policy", "level", "services", "reserved at"];
    const NONE: &'static str = "no policies";

    fn cells(&self) -> Vec<Cell> {
        let mut places: Vec<&str> = self.needs.iter().map(|need| need.place.as_str()).collect();
        places.dedup();
        let shown = match places[..] {
            [] => "no reservations".to_owned(),
            [one] => one.to_owned(),
            [first, ..] => format!("{first} and {} more", places.len() - 1),
        };
        vec![cell(&self.name), cell(&self.spec.level), cell(self.spec.services.len()), cell(shown)]
    }
}

impl Row for Host {
    const HEADINGS: &'static [&'static str] = &["host", "state", "agent", "VMs"];
    const NONE: &'static str = "no hosts";

    fn cells(&self) -> Vec<Cell> {
        let agent = match &self.node.agent {
            None => "none yet",
            Some(agent) => match agent.connection {
                Some(Connection::Open) => "there",
                Some(Connection::Silent) => "silent",
                Some(Connection::NotSinceStart) => "not connected since this controller started",
                Some(Connection::Ended) => "ended",
                None => "unknown",
            },
        };
        let vms: Vec<&str> = self.vms.iter().map(|vm| short(vm)).collect();
        vec![cell(&self.node.name), element_state(self.node.state), cell(agent), cell(vms.join(" "))]
    }
}

/// Reserved and available rate of a link for one class of contracts: `200 Mbit/s, 607 Mbit/s available`.
fn class_capacity(link: &Link, class: QueueClass) -> String {
    let Some(capacity) = &link.capacity else { return UNKNOWN.to_owned() };
    let of = capacity.iter().find(|capacity| capacity.class == class);
    of.map_or_else(|| "-".to_owned(), reserved_and_left)
}

/// The same of a class that the link has.
pub(crate) fn reserved_and_left(capacity: &ClassCapacity) -> String {
    format!("{}, {} available", rate(capacity.reserved_bps), rate_left(capacity.available_bps))
}

/// A figure that the controller has not computed.
pub(crate) const UNKNOWN: &str = "unknown";

fn or_unknown<T>(value: Option<T>, shown: impl FnOnce(T) -> String) -> String {
    value.map_or_else(|| UNKNOWN.to_owned(), shown)
}

impl Row for Link {
    const HEADINGS: &'static [&'static str] =
        &["link", "state", "rate", "latency", "minima", "weights", "used", "routes", "why"];
    const NONE: &'static str = "no links";

    fn cells(&self) -> Vec<Cell> {
        vec![
            cell(&self.name),
            element_state(self.state),
            cell(rate(self.rate_bps)),
            cell(class_capacity(self, QueueClass::Latency)),
            cell(class_capacity(self, QueueClass::Guaranteed)),
            cell(class_capacity(self, QueueClass::Objective)),
            cell(or_unknown(self.used_ppm, |ppm| format!("{} %", ppm.div_ceil(10_000)))),
            cell(or_unknown(self.routes, |routes| routes.to_string())),
            cell(self.down_reason.as_deref().unwrap_or_default()),
        ]
    }
}

impl Row for Queue {
    const HEADINGS: &'static [&'static str] = &["queue", "class", "bound / budget", "backlog / buffer"];
    const NONE: &'static str = "no queues";

    fn cells(&self) -> Vec<Cell> {
        let bound = self.delay_ns.map_or_else(|| "-".to_owned(), time);
        let budget = self.budget_ns.map_or_else(|| "-".to_owned(), limit);
        let class = match self.class {
            QueueClass::Latency => "latency",
            QueueClass::Guaranteed => "minima",
            QueueClass::Objective => "objectives",
            QueueClass::BestEffort => "best effort",
            QueueClass::Unknown => UNKNOWN,
        };
        let backlog = self.backlog_bytes.map_or_else(|| "-".to_owned(), bytes);
        let buffer = human::buffer(Bytes::new(self.buffer_bytes));
        vec![
            cell(format!("{}:{}", self.link, self.queue)),
            cell(class),
            cell(format!("{bound} / {budget}")),
            cell(format!("{backlog} / {buffer}")),
        ]
    }
}

/// A node of the topology, with its current state.
#[derive(Debug, serde::Serialize)]
pub(crate) struct NodeLine {
    pub(crate) name: String,
    pub(crate) kind: &'static str,
    pub(crate) state: ObservedState,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) reason: Option<String>,
}

impl Row for NodeLine {
    const HEADINGS: &'static [&'static str] = &["node", "kind", "state", "why"];
    const NONE: &'static str = "no nodes";

    fn cells(&self) -> Vec<Cell> {
        let why = self.reason.as_deref().unwrap_or_default();
        vec![cell(&self.name), cell(self.kind), element_state(self.state), cell(why)]
    }
}

impl Row for Decision {
    const HEADINGS: &'static [&'static str] = &["decision", "when", "contract", "verdict", "bound", "why"];
    const NONE: &'static str = "no decisions yet";

    fn cells(&self) -> Vec<Cell> {
        let (text, colour) = match self.verdict {
            DecisionOutcome::Admitted => ("admitted".to_owned(), Color::Green),
            DecisionOutcome::Refused => (self.reason.clone().unwrap_or_else(|| word(&self.verdict)), Color::Red),
        };
        let moved = match self.moved.as_slice() {
            [] => String::new(),
            moved => format!("moved: {}", moved.iter().map(|id| short(id)).collect::<Vec<_>>().join(" ")),
        };
        vec![
            cell(self.number),
            cell(&self.at),
            cell(short(&self.contract)),
            coloured(&text, Some(colour)),
            cell(self.bound_ns.map(time).or_else(|| self.certainty.clone()).unwrap_or_else(|| "-".to_owned())),
            cell(self.message.clone().unwrap_or(moved)),
        ]
    }
}

impl Row for Token {
    const HEADINGS: &'static [&'static str] = &["token", "role", "of", "for"];
    const NONE: &'static str = "no tokens";

    fn cells(&self) -> Vec<Cell> {
        let of = self.spec.tenant.as_deref().or(self.spec.node.as_deref()).unwrap_or_default();
        let label = match (&*self.spec.label, &self.warning) {
            (label, None) => label.to_owned(),
            ("", Some(warning)) => warning.clone(),
            (label, Some(warning)) => format!("{label} ({warning})"),
        };
        vec![cell(&self.id), cell(word(&self.spec.role)), cell(of), cell(label)]
    }
}
