//! `/v1/agents/{node}`: the messages between the controller and the agents of nodes.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;
use wayleave_controller::{Command, CommandError, Controller, ElementName, Id, Principal, Reply};
use wayleave_protocol::agent::{
    Confirmations, Measured, Messages, Neighbour, Neighbours, Reports, Session, SessionSpec, ShareRule, Shares,
};
use wayleave_protocol::network::{Agent, Node};
use wayleave_protocol::problem::{Code, Problem};
use wayleave_topology::{Class, LinkId, Network, NodeId, NodeKind, Route};

use crate::account::OpenOne;
use crate::agent_figures::{self, Bounds, SampledTerms};
use crate::agent_text::made_plain;
use crate::answer::{HttpReply, Outcome, fault, invalid, not_found, problem};
use crate::handlers::network::{json, node_shape};
use crate::handlers::status::of_nodes;
use crate::http::call::AuthorizedRequest;
use crate::http::condition::is_known;
use crate::http::page::{Page, no_cursor};
use crate::load::{ReadTime, line_of_host};
use crate::metrics::Limit;
use crate::read_view::{Tables, VmObject};
use crate::state::Shared;
use crate::work::Executor;

/// The node of the address, if the sender may speak for it.
fn node(shared: &Shared, call: &AuthorizedRequest) -> Result<String, Box<Problem>> {
    let name = call.name();
    match call.role() {
        Principal::Agent { node } if node != name => Err(not_found("node", name)),
        _ => shared.node(name).map(|_| name.to_owned()),
    }
}

pub(crate) fn list(shared: &Arc<Shared>, call: &AuthorizedRequest) -> Outcome {
    let (page, network) = (Page::read(&call.query)?, shared.network());
    let after = match &page.after {
        None => None,
        Some(name) => {
            let node = network.find_node(name);
            Some(node.ok_or_else(|| no_cursor(name))?)
        }
    };
    let has_problems = call.query.flag("problems");
    let is_known = shared.receives_reports();
    let tables = shared.view.read();
    let mut problems: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (node, what) in of_nodes(shared, &tables) {
        problems.entry(node).or_default().push(what);
    }
    let nodes = tables.nodes.keys().filter(|&&node| after.is_none_or(|after| node > after));
    let agents = nodes.filter_map(|&node| {
        let Node { name, kind, state, agent, .. } = node_shape(network, &tables, node, is_known);
        let problems = problems.remove(&name).unwrap_or_default();
        let agent = Agent { problems, node: name, kind, state, session: agent? };
        let is_fine = agent.session.open == Some(true) && agent.problems.is_empty();
        (!(has_problems && is_fine)).then_some(agent)
    });
    Ok(page.of(agents.map(|agent| (agent.node.clone(), json(&agent)))))
}

/// The highest version of an installed rule: later versions are counted from it.
const MAX_VERSION: u64 = u64::MAX >> 1;

pub(crate) async fn begin(shared: Arc<Shared>, call: AuthorizedRequest) -> Outcome {
    let node = node(&shared, &call)?;
    let SessionSpec { after, installed } = call.json()?;
    if let Some((serial, version)) = installed.iter().find(|(_, version)| *version > MAX_VERSION) {
        return Err(invalid(
            "installed",
            format!("version {version} of rule {serial}: expected at most {MAX_VERSION}"),
        ));
    }
    let (counted, load) = (shared.counted.clone(), shared.load.clone());
    let work = move |executor: &mut Executor<'_>| {
        let generation = executor.controller.generation();
        let name = node.clone();
        match executor.handle(Command::Begin { node, after, installed }).map_err(fault)? {
            Reply::Begun { epoch } => {
                counted.on_session(load.now().0, &name);
                Ok(HttpReply::json(200, &Session { epoch, generation }))
            }
            _ => Ok(HttpReply::nothing()),
        }
    };
    shared.submit(&call, work).await
}

/// Number of the view that neighbours are drawn from.
fn neighbours_revision(tables: &Tables) -> u64 {
    tables.first_tag.wrapping_add(tables.around)
}

pub(crate) async fn neighbours(shared: Arc<Shared>, call: AuthorizedRequest) -> Outcome {
    node(&shared, &call)?;
    let revision = neighbours_revision(&shared.view.read());
    if is_known(&call.headers, revision) {
        return Ok(HttpReply { status: 304, ..HttpReply::nothing() }.tagged(revision));
    }
    shared.read(call, all_neighbours).await
}

fn all_neighbours(shared: &Arc<Shared>, _call: &AuthorizedRequest) -> Outcome {
    let (network, tables) = (shared.network(), shared.view.read());
    let neighbour = |(id, vm): (&Id, &VmObject)| Neighbour {
        id: id.to_string(),
        host: network.node(vm.host).name.clone(),
        mac: vm.mac.to_string(),
    };
    let mut neighbours = Neighbours { generation: tables.generation, ..Neighbours::default() };
    neighbours.vms = tables.vms.iter().map(neighbour).collect();
    for element in tables.down.keys() {
        match element {
            ElementName::Node(name) => neighbours.down_nodes.push(name.clone()),
            ElementName::Link(name) => neighbours.down_links.extend(cable(network, name)),
        }
    }
    Ok(HttpReply::json(200, &neighbours).tagged(neighbours_revision(&tables)))
}

pub(crate) async fn shares(shared: Arc<Shared>, call: AuthorizedRequest) -> Outcome {
    let name = node(&shared, &call)?;
    let network = shared.network();
    let mut shares = Shares { secret: shared.agents_secret.text().to_owned(), ..Shares::default() };
    {
        let tables = shared.view.read();
        let left = |links: &[LinkId]| -> Option<u64> {
            let left = links.iter().map(|&link| {
                let reserved = tables.figures(link)?.of(Class::Latency)?.reserved.bits_per_second();
                Some(network.link(link).rate.bits_per_second().saturating_sub(reserved))
            });
            left.sum()
        };
        let host = shared.node(&name)?;
        // An agent keeps what it has until this is known.
        let unknown = || problem(Code::Unavailable, "the load of this host's links is not computed yet: retry");
        shares.transmit_bps = left(network.links_from(host)).ok_or_else(unknown)?;
        shares.receive_bps = left(network.links_into(host)).ok_or_else(unknown)?;
        let rules = tables.shares_on.get(&name).into_iter().flat_map(BTreeMap::values);
        shares.contracts = rules.map(|rule| ShareRule::clone(rule)).collect();
    }
    let members = shares.contracts.iter().flat_map(|rule| &rule.members).map(|member| &member.host);
    let others: BTreeSet<&String> = members.filter(|host| **host != name).collect();
    let at = |host: &String| Some((host.clone(), shared.counted.peer_address(host)?));
    shares.peers = others.into_iter().filter_map(at).collect();
    let tag = digest(&shares);
    if is_known(&call.headers, tag) {
        return Ok(HttpReply { status: 304, ..HttpReply::nothing() }.tagged(tag));
    }
    Ok(HttpReply::json(200, &shares).tagged(tag))
}

/// Returns a number that changes with the content (FNV-1a).
fn digest(shares: &Shares) -> u64 {
    let text = serde_json::to_vec(shares).unwrap_or_default();
    text.iter().fold(0xcbf2_9ce4_8422_2325, |hash, &byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

/// The names of both directions of a cable.
fn cable(network: &Network, name: &str) -> Vec<String> {
    let Some(link) = network.find_link(name) else { return vec![name.to_owned()] };
    let both = [Some(link), network.reverse(link)];
    both.into_iter().flatten().map(|id| network.link(id).name.clone()).collect()
}

/// Returns the terms of a latency contract with which the samples of its sender have to agree.
fn sampled_terms(controller: &Controller, serial: u64) -> Option<SampledTerms> {
    let grant = controller.grant_of(serial)?;
    let (terms, network) = (grant.terms()?, controller.network());
    let name = |node: NodeId| network.node(node).name.clone();
    let via = |route: &Route| {
        let ends = route.hops.iter().map(|hop| network.link(hop.link).to);
        ends.filter(|&node| node != terms.to).map(name).collect()
    };
    let via = controller.routes(grant).iter().map(|(_, route)| via(route)).collect();
    let (lowest, only) = (controller.lowest_bound(serial)?, controller.only_bound(serial));
    let bounds = Bounds { name: grant.id.to_string(), lowest, only };
    Some(SampledTerms { ends: [name(terms.from), name(terms.to)], via, bounds })
}

/// Requests of one node that wait for messages. An agent has one; those of connections that broke are there until they end.
const WAITING_OF_NODE: usize = 8;

/// Place of one more request of a node that waits.
fn wait_of(shared: &Shared, node: &String) -> Result<OpenOne<String>, Box<Problem>> {
    shared.waiting_agents.take(node, WAITING_OF_NODE, usize::MAX).map_err(|_| {
        shared.metrics.limited(Limit::Connections);
        let detail = format!("{WAITING_OF_NODE} requests of node {node} already wait for messages: let one finish");
        problem(Code::RateLimited, detail)
    })
}

pub(crate) async fn messages(shared: Arc<Shared>, call: AuthorizedRequest) -> Outcome {
    let name = node(&shared, &call)?;
    let notifier = shared.view.notifier(shared.node(&name)?);
    let asked = call.query.number("epoch");
    let seconds = call.query.number("wait").unwrap_or(0);
    let until = Instant::now() + Duration::from_secs(seconds);
    let _own = if seconds > 0 { Some(wait_of(&shared, &name)?) } else { None };
    let _wait = if seconds > 0 { call.wait(&shared.metrics)? } else { None };
    let mut ending = shared.ending.clone();
    loop {
        // Listens first, so that what comes between looking and waiting is not missed.
        let notified = notifier.notified();
        tokio::pin!(notified);
        notified.as_mut().enable();
        let is_over = Instant::now() >= until || *ending.borrow();
        let answer = poll(&shared, &call, name.clone(), asked, is_over).await?;
        if answer.status != 204 {
            return Ok(answer);
        }
        tokio::select! {
            () = notified => {}
            () = tokio::time::sleep_until(until) => {}
            _ = ending.changed() => {}
        }
    }
}

/// Returns the pending operations; 204 if there are none and the wait is not over.
async fn poll(shared: &Shared, call: &AuthorizedRequest, name: String, asked: Option<u64>, is_over: bool) -> Outcome {
    let work = move |executor: &mut Executor<'_>| {
        let controller = &*executor.controller;
        let state = controller.node(&name).ok().and_then(|node| controller.node_state(node));
        let current = state.filter(|state| state.is_open).map(|state| state.epoch);
        let Some(epoch) = current.filter(|&epoch| asked.is_none_or(|asked| asked == epoch)) else {
            return Err(fault(CommandError::StaleEpoch { current }));
        };
        let operations = controller.outbox(&name);
        if operations.is_empty() && !is_over {
            return Ok(HttpReply::nothing());
        }
        Ok(HttpReply::json(200, &Messages { epoch, generation: controller.generation(), operations }))
    };
    shared.read_view(call, work).await
}

pub(crate) async fn confirm(shared: Arc<Shared>, call: AuthorizedRequest) -> Outcome {
    let node = node(&shared, &call)?;
    let Confirmations { epoch, done } = call.json()?;
    let work = move |executor: &mut Executor<'_>| {
        executor.handle(Command::Confirm { node, epoch, done }).map_err(fault)?;
        Ok(HttpReply::nothing())
    };
    shared.submit(&call, work).await
}

/// Problem of a host that does not list the contracts that it cannot enforce.
const LACKS_PROBLEMS: &str =
    "its last report lacks `contractProblems`: minutes of its contracts are unknown; restart its agent, or upgrade it";

pub(crate) async fn report(shared: Arc<Shared>, call: AuthorizedRequest) -> Outcome {
    let node = node(&shared, &call)?;
    let mut reports = made_plain(call.json()?, &call.body);
    let bounded = agent_figures::bound(&mut reports);
    let Reports {
        epoch,
        mut measured,
        without_carrier,
        repairs,
        traffic,
        packets,
        links,
        samples,
        troubles,
        hears_at,
        checks: check_reports,
        beat,
        leaves,
        rules_in_force,
        enforces,
        contract_problems,
    } = reports;
    let (counted, checks, load) = (shared.counted.clone(), shared.checks.clone(), shared.load.clone());
    let work = move |executor: &mut Executor<'_>| {
        if let Some(without_carrier) = without_carrier {
            executor.handle(Command::See { node: node.clone(), epoch, without_carrier }).map_err(fault)?;
        }
        let repaired = repairs.len();
        let lists_problems = contract_problems.is_some();
        // Before the heartbeat, after which contracts of an agent that was silent may be enforced.
        if beat {
            let (in_force, problems) = (rules_in_force, contract_problems);
            executor
                .handle(Command::ReportRules { node: node.clone(), epoch, in_force, enforces, problems })
                .map_err(fault)?;
        }
        if beat || !repairs.is_empty() {
            executor.handle(Command::Heartbeat { node: node.clone(), epoch, repairs }).map_err(fault)?;
            executor.metrics.repaired(&node, repaired);
        }
        let controller = &executor.controller;
        let measured_by = controller.network().find_node(&node);
        let tenant_of = |one: &Measured| {
            let grant = controller.grant_of(one.serial).filter(|_| one.packets > 0)?;
            (Some(grant.terms()?.to) == measured_by).then(|| grant.id.tenant.clone())
        };
        let tenants: BTreeSet<String> = measured.iter().filter_map(tenant_of).collect();
        let contradictions = counted.leave_out_contradictions(&node, &mut measured, |serial| {
            let (name, lowest) = (controller.grant_of(serial)?.id.to_string(), controller.lowest_bound(serial)?);
            Some(Bounds { name, lowest, only: controller.only_bound(serial) })
        });
        let samples = samples.map(|mut samples| {
            let foreign =
                agent_figures::leave_out_samples(&node, &mut samples, |serial| sampled_terms(controller, serial));
            (samples, foreign)
        });
        // Of a session that is over, nothing is taken.
        executor.handle(Command::Measure { node: node.clone(), epoch, measured }).map_err(fault)?;
        counted.on_measured(&node, tenants);
        let (now, network) = (load.now(), executor.controller.network());
        if let Some(id) = network.find_node(&node) {
            if repaired > 0 {
                load.on_repairs(now, id);
            }
            load.on_contradictions(now, id, &contradictions.serials);
            if beat {
                load.on_heartbeat(now, id);
                let is_lacking = !lists_problems && network.node(id).kind == NodeKind::Host;
                let lacking = is_lacking.then(|| LACKS_PROBLEMS.to_owned());
                let foreign = samples.as_ref().and_then(|(_, foreign)| foreign.clone());
                let ignored = bounded.into_iter().chain(contradictions.problems()).chain(lacking).chain(foreign);
                let ignored: Vec<String> = ignored.collect();
                counted.set_ignored(&node, ignored);
            }
            let read = match &links {
                Some(links) => load.check_reading(now, id, links.read_ns),
                None => ReadTime::Arrival(now.0),
            };
            if let Some(mut traffic) = traffic {
                let controller = &executor.controller;
                traffic.retain_mut(|one| {
                    let named = one.contract.take();
                    let grant = controller.grant_of(one.serial);
                    named.is_none_or(|named| grant.is_some_and(|grant| grant.id.to_string() == named))
                });
                counted.put(now.0, &node, read, line_of_host(network, id), traffic);
            }
            if let Some(links) = links {
                load.put_links(now, read, network, id, links.counters);
            }
        }
        if let Some(packets) = packets {
            counted.put_packets(&node, packets);
        }
        if let Some((samples, _)) = samples {
            counted.put_samples(load.steady(now.0), &node, &samples);
        }
        if let Some(troubles) = troubles {
            counted.set_problems(&node, troubles);
        }
        if let Some(address) = hears_at {
            counted.set_peer_address(&node, address);
        }
        if leaves {
            executor.handle(Command::Leave { node, epoch }).map_err(fault)?;
            return Ok(HttpReply::nothing());
        }
        let tasks = checks.on_reports(&node, check_reports.unwrap_or_default());
        Ok(if tasks.checks.is_empty() { HttpReply::nothing() } else { HttpReply::json(200, &tasks) })
    };
    shared.submit(&call, work).await
}
