//! `wayleave describe`: everything about one object, for people.

use std::borrow::Cow;
use std::io::Write;

use crate::client::{Names, RequestError, did_you_mean};
use clap::{Args, ValueEnum};
use wayleave_explain::human;
use wayleave_protocol::agent::{SampledPackets, Traffic};
use wayleave_protocol::contract::{Contract, Kind as Promise, State};
use wayleave_protocol::network::{Connection, Host, Link, Node, QueueClass};
use wayleave_protocol::policy::Policy;
use wayleave_protocol::problem::Code;
use wayleave_protocol::tenant::{Tenant, Vm};
use wayleave_protocol::traffic::ContractTraffic;
use wayleave_units::readable;

use crate::client::show::lists::{Row, UNKNOWN, labels, reserved_and_left, rows};
use crate::client::show::{bytes as size, cell, limit, rate, route, short, time, word, write_fields, write_rows};
use crate::client::{Service, Target, encode};
use crate::commands::events;
use crate::exit::{self, Exit};
use crate::failure::Failure;
use crate::output::out;

const EXAMPLE: &str = "\
Examples:
  wayleave describe contract acme:web-db
  wayleave describe link 'h1->pod1-edge1'
  wayleave describe host h1";

/// Number of events about an object that are shown.
const EVENTS: usize = 10;

/// Show all details of a contract, VM, tenant, policy, host, node or link
#[derive(Args, Clone, Debug)]
#[command(after_help = EXAMPLE, after_long_help = exit::after(EXAMPLE))]
pub(crate) struct DescribeArgs {
    /// Kind of the object
    #[arg(value_enum, value_name = "WHAT")]
    kind: Kind,
    /// Name, or TENANT:NAME of a contract or a VM
    #[arg(value_name = "NAME")]
    name: String,
    #[command(flatten)]
    target: Target,
}

#[derive(ValueEnum, Clone, Copy, Debug)]
enum Kind {
    /// Terms, state, versions, proof and event history
    Contract,
    Vm,
    Tenant,
    /// Guarantees and reservations
    Policy,
    Host,
    Node,
    Link,
}

/// Runs the command.
pub(crate) fn run(args: &DescribeArgs) -> Result<Exit, Failure> {
    let service = &args.target.service()?;
    let mut out = out();
    let (object, name) = (&mut out, args.name.as_str());
    let subjects = match args.kind {
        Kind::Contract => contract(object, service, name)?,
        Kind::Vm => vm(object, service, name)?,
        Kind::Tenant => tenant(object, service, name)?,
        Kind::Policy => policy(object, service, name)?,
        Kind::Host => host(object, service, name)?,
        Kind::Node => node(object, service, name)?,
        Kind::Link => link(object, service, name)?,
    };
    happened(&mut out, service, &subjects)?;
    out.flush()?;
    Ok(Exit::Fine)
}

/// Objects whose events are shown.
type Subjects = Vec<String>;

fn find<T: serde::de::DeserializeOwned>(
    service: &Service,
    what: &str,
    path: &str,
    name: &str,
    names: Names,
) -> Result<T, Failure> {
    let found = service.get::<T>(&format!("{path}/{}", encode(name)));
    found.map_err(|error| did_you_mean(service, error, what, name, names))
}

fn contract(out: &mut impl Write, service: &Service, name: &str) -> Result<Subjects, Failure> {
    let names = Names::OfTenants("/v1/contracts");
    let contract: Contract = find(service, "contract", "/v1/contracts", &service.id(name), names)?;
    let path = format!("/v1/contracts/{}/traffic", encode(&contract.id));
    // Contracts are counted by agents that enforce them.
    let counters = if contract.status.reason.as_deref() != Some("NOT_ENFORCED") {
        match service.get::<ContractTraffic>(&path) {
            Ok(counters) => Some(counters),
            // A follower has no counters, and neither has a controller that knows no leader: the contract itself is shown.
            Err(error) if [Code::NotLeader, Code::Unavailable].iter().any(|&code| is_problem(&error, code)) => None,
            Err(error) => return Err(error.into()),
        }
    } else {
        Some(ContractTraffic::default())
    };
    let mut fields = terms(&contract, counters.is_none());
    match &counters {
        // Best effort is not counted by contract.
        _ if contract.status.kind == Promise::BestEffort => {}
        None => fields.push(("sent", ELSEWHERE.to_owned())),
        Some(counters) if counters.hosts > 0 => fields.extend(counted(counters)),
        Some(_) => {}
    }
    write_fields(out, &fields)?;
    writeln!(out)?;
    // Best effort has no placement and no promise; its explanation states this.
    let is_best_effort = contract.status.kind == Promise::BestEffort;
    let is_placed = is_best_effort || !contract.status.routes.is_empty() || contract.status.certainty.is_some();
    if !is_placed {
        writeln!(out, "It has no route now, so there is no bound to explain.")?;
    } else {
        let path = format!("/v1/contracts/{}/explanation", encode(&contract.id));
        match service.text(&path, "text/plain") {
            Ok(text) => write!(out, "{text}")?,
            // It is deleted, or a failure has cut its routes: a reservation that it still has promises nothing now.
            Err(error) if is_problem(&error, Code::Conflict) => {
                writeln!(out, "It has no proof now: it is deleted, or its route has failed or no longer fits.")?;
            }
            Err(error) => return Err(error.into()),
        }
    }
    Ok(vec![contract.id])
}

/// Returns `true` if a server has answered with a problem of this code.
fn is_problem(error: &RequestError, code: Code) -> bool {
    error.problem().is_some_and(|problem| problem.code == code)
}

/// Text for figures that need reports of agents, at a controller that receives none.
pub(crate) const ELSEWHERE: &str = "unknown here: agents report to the leader";

/// Counters of a contract.
fn counted(counters: &ContractTraffic) -> Vec<(&'static str, String)> {
    let Some(traffic) = &counters.traffic else {
        return vec![("sent", "unknown: no agent reports its counters".to_owned())];
    };
    let Traffic { packets, bytes, delayed, waiting, queue_full, oversized, waited_ns, followed, .. } = traffic;
    if packets + waiting + queue_full + oversized == 0 {
        return vec![("sent", format!("no packets{}", of_hosts(counters)))];
    }
    let mean = waited_ns.checked_div(*delayed).unwrap_or(0);
    let mut fields = vec![
        ("sent", format!("{}, {} on the wire{}", human::count(*packets, "packet"), size(*bytes), of_hosts(counters))),
        ("waited", format!("{delayed} waited for tokens, {} on average; {waiting} queued now", time(mean))),
        ("dropped", format!("{queue_full} because the queue was full, {oversized} because they were too large")),
    ];
    fields.extend(followed.iter().flat_map(in_flight_rows));
    fields
}

/// Number of hosts that the counters are of, where some report none.
fn of_hosts(counters: &ContractTraffic) -> String {
    match counters.hosts - counters.reporting {
        0 => String::new(),
        _ => format!(" (counters of {} of {} hosts; the others are unknown)", counters.reporting, counters.hosts),
    }
}

/// Returns statistics of packets on their path.
fn in_flight_rows(followed: &SampledPackets) -> Vec<(&'static str, String)> {
    let SampledPackets { packets, lost, timed, late, worst_ns, clock_error_ns, ref lost_behind } = *followed;
    let places: Vec<String> = lost_behind.iter().map(|(node, lost)| format!("; {lost} behind {node}")).collect();
    let places = places.concat();
    let losses =
        ("lost", format!("{lost} of {} traced to the receiver's host{places}", human::count(packets, "packet")));
    let error = match clock_error_ns {
        0 => String::new(),
        error => format!("; clock error up to {}", time(error)),
    };
    let late = match timed {
        0 if lost == packets => "unknown: no traced packet has arrived".to_owned(),
        0 => "unknown: at least one of the hosts reports no clock error".to_owned(),
        timed => {
            let timed = human::count(timed, "packet");
            format!("{late} of {timed} above the bound; the slowest took {}{error}", time(worst_ns))
        }
    };
    vec![losses, ("late", late)]
}

fn terms(contract: &Contract, is_elsewhere: bool) -> Vec<(&'static str, String)> {
    let Contract { id, spec, status } = contract;
    let mut fields = vec![("contract", id.clone()), ("kind", word(&status.kind))];
    fields.extend(promised(contract));
    let optional = [
        ("priority", spec.priority.map(|priority| priority.to_string())),
        ("protection", spec.protection.map(|routes| format!("{routes} disjoint routes"))),
        ("starts", spec.starts.clone()),
        ("ends", spec.ends.clone()),
        ("only for", spec.matching.as_ref().map(matching)),
        ("labels", Some(labels(spec)).filter(|labels| !labels.is_empty())),
    ];
    fields.extend(optional.into_iter().filter_map(|(name, value)| Some((name, value?))));
    fields.extend(status.routes.iter().map(|one| ("route", route(one).replace('\u{a0}', " "))));
    let state = word(&status.state);
    let state = match &status.message {
        Some(message) if message.starts_with(&state) => message.clone(),
        Some(message) => format!("{state}: {message}"),
        None => state,
    };
    fields.push(("state", state));
    match status.kind {
        Promise::Latency => fields.extend(enforced(contract, is_elsewhere)),
        Promise::Bandwidth | Promise::Objective | Promise::BestEffort => {
            fields.extend(confirmed(contract, is_elsewhere))
        }
    }
    if status.pending_releases > 0 {
        fields.push(("waits for", human::count(status.pending_releases, "route") + " to drain"));
    }
    fields.push(("admitted", format!("{} by decision {}", status.created, status.decision)));
    fields.push(("revision", status.revision.to_string()));
    fields
}

/// Returns the terms and the promise.
fn promised(contract: &Contract) -> Vec<(&'static str, String)> {
    let Contract { spec, status, .. } = contract;
    let mut fields = Vec::new();
    let ends = spec.members();
    match (&status.from_host, &status.to_host) {
        (Some(from), Some(to)) => {
            let name = |at: usize| ends.get(at).copied().unwrap_or_default();
            fields.extend([("from", end(name(0), from)), ("to", end(name(1), to))]);
        }
        _ => {
            let members = ends.iter().zip(&status.hosts).map(|(name, host)| end(name, host));
            fields.push(("members", members.collect::<Vec<_>>().join("; ")));
        }
    }
    let bandwidth = spec.bandwidth.as_ref();
    let objective = spec.objective.as_ref();
    let max = bandwidth.map_or(spec.best_effort.as_ref().and_then(|one| one.max.as_deref()), |one| one.max.as_deref());
    let bound = status.bound_ns.zip(status.deadline_ns);
    let text = |value: &str| readable(value).into_owned();
    let optional = [
        ("rate", spec.rate.as_deref().map(text)),
        ("burst", spec.burst.as_deref().map(text)),
        ("deadline", spec.deadline.as_deref().map(text)),
        ("bound", bound.map(|(bound, deadline)| format!("{} of {}", time(bound), limit(deadline)))),
        ("minimum", bandwidth.map(|one| text(&one.min))),
        ("maximum", max.map(text)),
        ("weight", bandwidth.and_then(|one| Some(one.weight?.to_string()))),
        ("within", bandwidth.and_then(|one| one.within.as_deref().map(text))),
        ("delivery within", status.within_ns.map(time)),
        ("goal", objective.and_then(|one| one.goal.clone())),
        ("deadline", objective.and_then(|one| one.deadline.as_deref().map(text))),
        ("weight", objective.map(|one| format!("{} on every link", readable(&one.weight)))),
        ("certainty", certainty(contract)),
    ];
    fields.extend(optional.into_iter().filter_map(|(name, value)| Some((name, value?))));
    fields
}

/// Returns the certainty of the promise of a contract of another kind than latency.
fn certainty(contract: &Contract) -> Option<String> {
    let Contract { spec, status, .. } = contract;
    match status.certainty.as_deref() {
        Some("measured") => Some("measured: from measurements, not a guarantee".to_owned()),
        Some("proven") => Some("proven: all guarantees fit on every link".to_owned()),
        Some(other) => Some(other.to_owned()),
        None => spec.best_effort.as_ref().map(|_| "no guarantee".to_owned()),
    }
}

/// Returns the known enforcement at the sender.
fn enforced(contract: &Contract, is_elsewhere: bool) -> Vec<(&'static str, String)> {
    let status = &contract.status;
    let late = status
        .measured
        .as_ref()
        .map(|late| format!("{}, the slowest took {} (last reported {})", late.packets, time(late.worst_ns), late.at));
    let none = match status.reason.as_deref() {
        Some("NOT_ENFORCED") => "unknown: no agents",
        _ if is_elsewhere => ELSEWHERE,
        _ => "none reported",
    };
    let mut fields = rule_versions(contract, is_elsewhere);
    fields.push(("late packets", late.unwrap_or_else(|| none.to_owned())));
    fields
}

/// Version of the rule that is to be in force, and of the one that all its hosts have confirmed.
fn rule_versions(contract: &Contract, is_elsewhere: bool) -> Vec<(&'static str, String)> {
    let status = &contract.status;
    vec![
        ("configured", version(status.configured, "none expected")),
        ("effective", version(status.effective, confirmed_none(contract, is_elsewhere))),
    ]
}

/// Effect of a minimum or a weight, as far as it is known.
fn confirmed(contract: &Contract, is_elsewhere: bool) -> Vec<(&'static str, String)> {
    let mut fields = rule_versions(contract, is_elsewhere);
    if contract.status.kind != Promise::BestEffort {
        fields.push(("measured", "unknown: agents count traffic sent, not demand".to_owned()));
    }
    fields
}

fn end(name: &str, host: &str) -> String {
    if name == host { format!("host {host}") } else { format!("{name}, on host {host}") }
}

fn version(version: Option<u64>, none: &str) -> String {
    version.map_or_else(|| none.to_owned(), |version| format!("rule version {version}"))
}

/// Text for the absent version of a rule. That hosts have not confirmed it is known only while the leader waits for them.
fn confirmed_none(contract: &Contract, is_elsewhere: bool) -> &'static str {
    match (contract.status.state, contract.status.reason.as_deref()) {
        (_, Some("NOT_ENFORCED")) => "none: no agents",
        (_, Some("FOLLOWER")) => ELSEWHERE,
        _ if is_elsewhere => ELSEWHERE,
        (_, Some("RATE_EXCEEDED")) => "unknown: counters show more than the rule lets through",
        (_, Some("SILENT")) => "unknown: an agent is silent",
        (State::Pending | State::Admitted, _) | (_, Some("UNCONFIRMED")) => "not confirmed by all hosts",
        _ => "unknown: not all hosts confirm a rule now",
    }
}

/// Returns the keys of a match, as in a file.
fn matching(matching: &wayleave_protocol::contract::Match) -> String {
    let value = serde_json::to_value(matching).unwrap_or_default();
    let keys = value.as_object().into_iter().flatten();
    let text = |value: &serde_json::Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    keys.map(|(key, value)| format!("{key} {}", text(value))).collect::<Vec<_>>().join(", ")
}

fn vm(out: &mut impl Write, service: &Service, name: &str) -> Result<Subjects, Failure> {
    let vm: Vm = find(service, "VM", "/v1/vms", &service.id(name), Names::OfTenants("/v1/vms"))?;
    write_fields(
        out,
        &[("VM", vm.id.clone()), ("host", vm.host), ("MAC", vm.mac), ("revision", vm.revision.to_string())],
    )?;
    let of_it = |contract: &Contract| contract.spec.members().contains(&vm.name.as_str());
    let mut contracts: Vec<Contract> = service.list("/v1/contracts", &[("tenant", Some(&vm.tenant))], usize::MAX)?;
    contracts.retain(of_it);
    writeln!(out)?;
    write_rows(out, Contract::HEADINGS, rows(&contracts), "no contracts start or end here")?;
    Ok(vec![format!("vm {}", vm.id)])
}

fn tenant(out: &mut impl Write, service: &Service, name: &str) -> Result<Subjects, Failure> {
    let tenant: Tenant = find(service, "tenant", "/v1/tenants", name, Names::OfAll("/v1/tenants"))?;
    let of = |used: &str, most: Option<&str>| {
        let used = readable(used);
        most.map_or_else(|| format!("{used} (no limit)"), |most| format!("{used} of {}", readable(most)))
    };
    let most = tenant.quota.contracts.map(|most| most.to_string());
    write_fields(
        out,
        &[
            ("tenant", tenant.name.clone()),
            ("contracts", of(&tenant.usage.contracts.to_string(), most.as_deref())),
            ("rate", of(&tenant.usage.rate, tenant.quota.rate.as_deref())),
            ("burst", of(&tenant.usage.burst, tenant.quota.burst.as_deref())),
            ("revision", tenant.revision.to_string()),
        ],
    )?;
    let vms: Vec<Vm> = service.list("/v1/vms", &[("tenant", Some(name))], usize::MAX)?;
    writeln!(out)?;
    write_rows(out, Vm::HEADINGS, rows(&vms), Vm::NONE)?;
    Ok(vec![format!("tenant {name}")])
}

fn policy(out: &mut impl Write, service: &Service, name: &str) -> Result<Subjects, Failure> {
    let policy: Policy = find(service, "policy", "/v1/policies", name, Names::OfAll("/v1/policies"))?;
    let mut fields = vec![("policy", policy.name.clone()), ("level", policy.spec.level.clone())];
    fields.extend((!policy.spec.nodes.is_empty()).then(|| ("nodes", policy.spec.nodes.join(", "))));
    fields.extend(policy.spec.peak.as_deref().map(|peak| ("peak", readable(peak).into_owned())));
    fields.push(("revision", policy.revision.to_string()));
    write_fields(out, &fields)?;
    writeln!(out)?;
    let text = |text: Option<&String>| cell(text.map_or(Cow::Borrowed("-"), |text| readable(text)));
    let services = policy.spec.services.iter().flat_map(|service| {
        let both = [("transmit", &service.transmit), ("receive", &service.receive)];
        both.map(|(direction, terms)| {
            let weight = terms.weight.map_or_else(|| "1".to_owned(), |weight| weight.to_string());
            let parent = cell(service.parent.as_deref().unwrap_or("-"));
            let (min, max) = (text(terms.min.as_ref()), text(terms.max.as_ref()));
            vec![cell(&service.name), parent, cell(direction), min, max, cell(weight)]
        })
    });
    let headings = ["service", "part of", "direction", "min", "max", "weight"];
    write_rows(out, &headings, services.collect(), "no services")?;
    writeln!(out)?;
    let needs = policy
        .needs
        .iter()
        .map(|need| vec![cell(&need.place), cell(&need.direction), cell(readable(&need.min)), cell(need.links)]);
    write_rows(out, &["reserved at", "direction", "total of minima", "links"], needs.collect(), "no reservations")?;
    Ok(vec![format!("policy {name}")])
}

fn node_fields(node: &Node) -> Vec<(&'static str, String)> {
    let agent = match &node.agent {
        None => "has never connected".to_owned(),
        Some(agent) => {
            let state = match agent.connection {
                Some(Connection::Silent) => "silent: no heartbeat for too long",
                Some(Connection::Open) => "open",
                Some(Connection::NotSinceStart) => "not connected since this controller started",
                Some(Connection::Ended) => "ended",
                None => "state unknown here: agents report to the leader",
            };
            format!("session {}, {state}", agent.epoch)
        }
    };
    let why = node.reason.as_ref().map_or_else(String::new, |reason| format!(": {reason}"));
    let mut fields = vec![
        ("node", node.name.clone()),
        ("kind", node.kind.clone()),
        ("state", word(&node.state) + &why),
        ("agent", agent),
    ];
    if let Some(agent) = node.agent.as_ref().filter(|_| node.kind != "host") {
        let words = match agent.connection {
            None => ELSEWHERE,
            Some(_) if agent.set_up => "done: forwards by tags",
            Some(_) => "not yet",
        };
        fields.push(("set up", words.to_owned()));
    }
    fields.push(("links", node.links.join(" ")));
    fields
}

fn node(out: &mut impl Write, service: &Service, name: &str) -> Result<Subjects, Failure> {
    let node: Node = find(service, "node", "/v1/nodes", name, Names::OfAll("/v1/hosts"))?;
    write_fields(out, &node_fields(&node))?;
    Ok(of_node(name))
}

fn host(out: &mut impl Write, service: &Service, name: &str) -> Result<Subjects, Failure> {
    let host: Host = find(service, "host", "/v1/hosts", name, Names::OfAll("/v1/hosts"))?;
    let mut fields = node_fields(&host.node);
    let vms: Vec<&str> = host.vms.iter().map(|vm| short(vm)).collect();
    fields.push(("VMs", if vms.is_empty() { "none".to_owned() } else { vms.join(" ") }));
    write_fields(out, &fields)?;
    let mut contracts: Vec<Contract> = service.list("/v1/contracts", &[], usize::MAX)?;
    contracts.retain(|contract| {
        let status = &contract.status;
        let ends = [&status.from_host, &status.to_host].into_iter().flatten();
        ends.chain(&status.hosts).any(|host| host == name)
    });
    writeln!(out)?;
    write_rows(out, Contract::HEADINGS, rows(&contracts), "no contracts start or end here")?;
    Ok(of_node(name))
}

fn link(out: &mut impl Write, service: &Service, name: &str) -> Result<Subjects, Failure> {
    let link: Link = find(service, "link", "/v1/links", name, Names::OfAll("/v1/links"))?;
    let why = link.down_reason.as_ref().map_or_else(String::new, |reason| format!(": {reason}"));
    let mut fields = vec![
        ("link", link.name.clone()),
        ("state", word(&link.state) + &why),
        ("rate", rate(link.rate_bps)),
        ("propagation", time(link.propagation_ns)),
        ("MTU", format!("{} B", link.mtu_bytes)),
    ];
    for capacity in link.capacity.iter().flatten() {
        let label = match capacity.class {
            QueueClass::Guaranteed => "minima",
            QueueClass::Objective => "weights",
            _ => "latency",
        };
        fields.push((label, reserved_and_left(capacity)));
    }
    if link.capacity.is_none() {
        fields.push(("reserved", UNKNOWN.to_owned()));
    }
    write_fields(out, &fields)?;
    writeln!(out)?;
    write_rows(out, wayleave_protocol::network::Queue::HEADINGS, rows(&link.queues), "no queues")?;
    let contracts: Vec<Contract> = service.list("/v1/contracts", &[("link", Some(&link.name))], usize::MAX)?;
    writeln!(out)?;
    write_rows(out, Contract::HEADINGS, rows(&contracts), "no contracts use this link")?;
    // Both directions of a cable fail together, under the name of one of them.
    Ok(vec![format!("link {name}"), format!("link {}->{}", link.to, link.from)])
}

/// Returns the objects of a node's events: of the node, and of its agent.
fn of_node(name: &str) -> Subjects {
    vec![format!("node {name}"), name.to_owned()]
}

/// The last events about these objects, where a server remembers them.
fn happened(out: &mut impl Write, service: &Service, subjects: &[String]) -> Result<(), Failure> {
    if service.is_local() {
        return Ok(());
    }
    let events: Vec<_> =
        events::past(service, None)?.into_iter().filter(|event| subjects.contains(&event.object)).collect();
    writeln!(out, "\nEvent history")?;
    if events.is_empty() {
        writeln!(out, "  no events")?;
    }
    for event in &events[events.len().saturating_sub(EVENTS)..] {
        writeln!(out, "  {}", events::line(event))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn effective(state: &str, reason: &str, is_elsewhere: bool) -> String {
        let contract = serde_json::json!({ "id": "default:a", "spec": {}, "status": {
            "state": state, "kind": "latency", "reason": reason, "serial": 1, "revision": 1, "decision": 1,
            "created": "2026-01-01T00:00:00Z", "routes": [], "hosts": [], "pendingReleases": 0 } });
        let contract: Contract = serde_json::from_value(contract).unwrap();
        let versions = rule_versions(&contract, is_elsewhere);
        versions.into_iter().find(|(name, _)| *name == "effective").unwrap().1
    }

    /// Catches: an absent version that is read as "its host has stopped sending", or as "not confirmed".
    #[test]
    fn an_absent_effective_version_is_a_fact_only_while_confirmations_are_awaited() {
        for (state, reason) in [("pending", "WAITS"), ("admitted", "NOT_CONFIRMED"), ("degraded", "UNCONFIRMED")] {
            assert_eq!(effective(state, reason, false), "not confirmed by all hosts", "{state}");
        }
        for (state, reason) in [
            ("released", ""),
            ("violated", "LATE_PACKETS"),
            ("degraded", "FAILURE"),
            ("degraded", "UNFIT"),
            ("degraded", "SILENT"),
            ("degraded", "NOT_CARRIED_OUT"),
            ("admitted", "RATE_EXCEEDED"),
        ] {
            let text = effective(state, reason, false);
            assert!(text.starts_with("unknown: "), "{state} {reason}: {text}");
        }
        for (state, reason) in [("violated", "LATE_PACKETS"), ("degraded", "NOT_CARRIED_OUT"), ("pending", "WAITS")] {
            assert_eq!(effective(state, reason, true), ELSEWHERE, "{state} {reason}");
        }
        assert_eq!(effective("admitted", "NOT_ENFORCED", false), "none: no agents");
    }

    /// Catches: "done" by the leader's records.
    #[test]
    fn the_set_up_of_a_switch_is_unknown_where_its_agent_does_not_report() {
        let set_up = |connection: Option<&str>| {
            let node = serde_json::json!({ "name": "s1", "kind": "switch", "state": "unknown", "links": [],
                "agent": { "epoch": 1, "connection": connection, "setUp": true } });
            let node: Node = serde_json::from_value(node).unwrap();
            node_fields(&node).into_iter().find(|(name, _)| *name == "set up").unwrap().1
        };
        assert_eq!(set_up(Some("open")), "done: forwards by tags");
        assert_eq!(set_up(None), ELSEWHERE);
    }

    /// Catches: hosts without a clock error as the reason, where no packet has arrived.
    #[test]
    fn packets_that_were_all_lost_have_no_delay() {
        let late = |packets, lost| {
            let followed = SampledPackets { packets, lost, ..SampledPackets::default() };
            in_flight_rows(&followed).into_iter().find(|(name, _)| *name == "late").unwrap().1
        };
        assert_eq!(late(5, 5), "unknown: no traced packet has arrived");
        assert_eq!(late(5, 4), "unknown: at least one of the hosts reports no clock error");
    }
}
