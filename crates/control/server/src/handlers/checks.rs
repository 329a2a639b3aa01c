//! `/v1/checks`: probes through the network, sent and seen by the agents of its nodes.

use std::sync::Arc;
use std::time::Duration;

use wayleave_controller::{DEFAULT_TENANT, Id};
use wayleave_protocol::check::{CheckSpec, MAX_PROBES, Probes};
use wayleave_protocol::contract::{Contract, ContractSpec, Match};
use wayleave_protocol::problem::{Code, Problem};
use wayleave_topology::NodeKind;

use crate::answer::{HttpReply, Outcome, invalid, not_found, problem};
use crate::checks::{Busy, CheckTarget, Checks};
use crate::clock::wall;
use crate::http::call::AuthorizedRequest;
use crate::secret::hex;
use crate::state::Shared;

/// Default number of probes.
const COUNT: u32 = 10;
/// Interval at which the end of a check is polled.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// Ends a check when its client no longer waits, also if the client has disconnected.
struct Ends<'a>(&'a Checks, &'a str);

impl Drop for Ends<'_> {
    fn drop(&mut self) {
        self.0.end(self.1);
    }
}

pub(crate) async fn run(shared: Arc<Shared>, call: AuthorizedRequest) -> Outcome {
    let asked = read(&shared, call.json()?)?;
    let mut id = [0; 8];
    getrandom::fill(&mut id).map_err(|error| problem(Code::Internal, format!("no random numbers: {error}")))?;
    let id = hex(&id);
    let hosts = asked.ends.clone();
    let about = format!("{} > {}", asked.probes.from, asked.probes.to);
    shared.checks.begin(&id, asked).map_err(|busy| {
        let detail = match busy {
            Busy::All => "too many checks are running: retry in some seconds",
            Busy::Host => "a check from this host is running: retry in some seconds",
        };
        problem(Code::RateLimited, detail)
    })?;
    let ends = Ends(&shared.checks, &id);
    if let Some(note) = call.note() {
        shared.refusals.add(note.answered(wall(), 200, &about));
    }
    let mut ending = shared.ending.clone();
    let check = loop {
        if let Some(check) = shared.checks.ended(&id, shared.network()) {
            break check;
        }
        tokio::select! {
            () = tokio::time::sleep(POLL_INTERVAL) => {}
            _ = ending.changed() => return Err(problem(Code::Unavailable, "the server is shutting down")),
        }
    };
    drop(ends);
    // If one of the two ends could not take part, the result of every probe is unknown.
    let is_of = |why: &&String| hosts.iter().any(|host| why.starts_with(&format!("{host}: ")));
    match check.unobserved_nodes.iter().find(is_of) {
        Some(why) => Err(problem(Code::Conflict, why.clone())),
        None => Ok(HttpReply::json(200, &check)),
    }
}

fn read(shared: &Shared, spec: CheckSpec) -> Result<CheckTarget, Box<Problem>> {
    let CheckSpec { from, to, contract, matching, count } = spec;
    let count = count.unwrap_or(COUNT);
    if !(1..=MAX_PROBES).contains(&count) {
        return Err(invalid("count", format!("expected 1 to {MAX_PROBES}")));
    }
    let (tenant, from, to, matching) = match (contract, from, to) {
        (Some(_), ..) if matching.is_some() => {
            return Err(invalid("match", "the contract has its own match: do not give another".to_owned()));
        }
        (Some(contract), None, None) => of_contract(shared, &contract, None)?,
        (Some(contract), Some(from), Some(to)) => of_contract(shared, &contract, Some((from, to)))?,
        (None, Some(from), Some(to)) => (DEFAULT_TENANT.to_owned(), from, to, matching),
        _ => return Err(invalid("from", "expected from and to, a contract, or all of them".to_owned())),
    };
    if let Some(matching) = &matching {
        let read = wayleave_contracts::Match::try_from(matching).map_err(|why| invalid("match", why))?;
        read.validate().map_err(|why| invalid("match", why.to_string()))?;
    }
    let [(from, sender), (to, receiver)] = [end(shared, &tenant, "from", &from)?, end(shared, &tenant, "to", &to)?];
    if from == to {
        return Err(invalid("to", format!("{to} is also the sender")));
    }
    let network = shared.network();
    let tables = shared.view.read();
    let is_asked = |name: &str, kind: NodeKind| kind == NodeKind::Switch || name == sender || name == receiver;
    let nodes = tables.nodes.iter().filter(|(_, state)| state.is_there());
    let nodes = nodes.map(|(&node, _)| network.node(node)).filter(|node| is_asked(&node.name, node.kind));
    let nodes: std::collections::BTreeSet<String> = nodes.map(|node| node.name.clone()).collect();
    for host in [&sender, &receiver] {
        if !nodes.contains(host) {
            let detail = format!("the agent of {host} is not connected: `wayleave status` lists silent agents");
            return Err(problem(Code::Conflict, detail));
        }
    }
    Ok(CheckTarget { probes: Probes { from, to, matching, count }, ends: [sender, receiver], nodes })
}

/// Tenant, ends and match of a contract. One with members needs the two of them that are meant.
fn of_contract(
    shared: &Shared,
    contract: &str,
    chosen: Option<(String, String)>,
) -> Result<(String, String, String, Option<Match>), Box<Problem>> {
    let id = Id::parse(contract, DEFAULT_TENANT).map_err(|error| invalid("contract", error.to_string()))?;
    let found = shared.view.read().contract(&id).cloned().ok_or_else(|| not_found("contract", &id.to_string()))?;
    let document: Contract = serde_json::from_slice(&found.json(shared.network(), None))
        .map_err(|error| problem(Code::Internal, error.to_string()))?;
    let matching = document.spec.matching.clone();
    let (from, to) = match (between(document.spec), chosen) {
        (Between::Pair(from, to), None) => (from, to),
        (Between::Pair(from, to), Some(_)) => {
            let detail = format!("{id} is from {from} to {to}: do not give from and to as well");
            return Err(invalid("contract", detail));
        }
        (Between::Members(members), Some((from, to))) => {
            let outsider = [("from", &from), ("to", &to)].into_iter().find(|(_, end)| !members.contains(end));
            if let Some((field, end)) = outsider {
                return Err(invalid(field, format!("{end} is not a member of {id}: {}", members.join(", "))));
            }
            (from, to)
        }
        (Between::Members(members), None) => {
            let detail = format!("{id} has several members: give two of them as from and to: {}", members.join(", "));
            return Err(invalid("contract", detail));
        }
    };
    Ok((id.tenant, from, to, matching))
}

/// Between whom packets of a contract go.
enum Between {
    Pair(String, String),
    Members(Vec<String>),
}

fn between(spec: ContractSpec) -> Between {
    let ContractSpec { from, to, bandwidth, objective, best_effort, .. } = spec;
    let (pair, hose) = bandwidth.map_or((None, None), |terms| (terms.from.zip(terms.to), terms.hose));
    match from.zip(to).or(pair) {
        Some((from, to)) => Between::Pair(from, to),
        None => {
            let members = hose.or(objective.map(|terms| terms.members)).or(best_effort.map(|terms| terms.members));
            Between::Members(members.unwrap_or_default())
        }
    }
}

/// An end as agents call it, and its host: a VM, or the interface of a host itself.
fn end(shared: &Shared, tenant: &str, field: &str, name: &str) -> Result<(String, String), Box<Problem>> {
    let id = Id::parse(name, tenant).map_err(|error| invalid(field, error.to_string()))?;
    let network = shared.network();
    if let Some(vm) = shared.view.read().vms.get(&id) {
        return Ok((id.to_string(), network.node(vm.host).name.clone()));
    }
    let host = name.strip_prefix("host:").unwrap_or(name);
    match network.find_node(host).filter(|&node| network.node(node).kind == NodeKind::Host) {
        Some(_) => Ok((format!("host:{host}"), host.to_owned())),
        None => Err(not_found("VM or host", name)),
    }
}
