//! Lists of the objects on disk.

use std::sync::Arc;

use wayleave_controller::Id;
use wayleave_protocol::network::Link;
use wayleave_protocol::problem::Problem;
use wayleave_topology::{LinkId, NodeId, NodeKind};

use crate::answer::{Outcome, not_found, unknown_name};
use crate::handlers::export;
use crate::handlers::network::{host_shape, json, link_shape, queue_shapes};
use crate::http::call::AuthorizedRequest;
use crate::http::page::{Page, no_cursor};
use crate::rendered::ContractObject;
use crate::state::{AT_A_TIME, Shared};

/// Returns the tenant whose objects a list shows: the requested tenant, or the client's own.
///
/// # Errors
/// If the tenant does not exist. To a tenant, no other one exists, so that it cannot learn their names.
pub(crate) fn tenant(shared: &Shared, call: &AuthorizedRequest) -> Result<Option<String>, Box<Problem>> {
    let asked = call.query.text("tenant");
    match (call.only_tenant(), asked) {
        (Some(own), Some(asked)) if own != asked => Err(not_found("tenant", asked)),
        (Some(own), _) => Ok(Some(own.to_owned())),
        (None, None) => Ok(None),
        (None, Some(asked)) => {
            let tables = shared.view.read();
            if !tables.tenants.contains_key(asked) {
                return Err(unknown_name("tenant", asked, tables.tenants.keys().map(String::as_str)));
            }
            Ok(Some(asked.to_owned()))
        }
    }
}

/// Returns the link of a filter.
///
/// # Errors
/// If it does not exist. Names of links are hidden from tenants: to a tenant, links without its contracts do not exist.
pub(crate) fn link(shared: &Shared, call: &AuthorizedRequest) -> Result<Option<LinkId>, Box<Problem>> {
    let Some(name) = call.query.text("link") else { return Ok(None) };
    let network = shared.network();
    let link = network.find_link(name);
    match call.only_tenant() {
        None => {
            let names = || network.links().map(|(_, link)| link.name.as_str());
            link.map(Some).ok_or_else(|| unknown_name("link", name, names()))
        }
        Some(own) => {
            let is_used =
                |link: &LinkId| any_contract(shared, own, |contract| contract.links().any(|one| one == *link));
            link.filter(is_used).map(Some).ok_or_else(|| not_found("link", name))
        }
    }
}

/// Returns the host or switch of a filter.
///
/// # Errors
/// If it does not exist. To a tenant, switches without its contracts do not exist.
pub(crate) fn host(shared: &Shared, call: &AuthorizedRequest) -> Result<Option<NodeId>, Box<Problem>> {
    let Some(name) = call.query.text("host") else { return Ok(None) };
    let network = shared.network();
    let node = network.find_node(name);
    let is_host = |node: NodeId| network.node(node).kind == NodeKind::Host;
    let is_known = |node: &NodeId| match call.only_tenant() {
        Some(own) if !is_host(*node) => {
            let ends_there = |link: LinkId| [network.link(link).from, network.link(link).to].contains(node);
            any_contract(shared, own, |contract| contract.links().any(ends_there))
        }
        _ => true,
    };
    let names = network.nodes().filter(|(id, _)| call.only_tenant().is_none() || is_host(*id));
    let names = names.map(|(_, node)| node.name.as_str());
    node.filter(is_known).map(Some).ok_or_else(|| unknown_name("host or switch", name, names))
}

fn any_contract(shared: &Shared, tenant: &str, is_one: impl Fn(&ContractObject) -> bool) -> bool {
    let mut is_found = false;
    shared.each_contract_after(Some(tenant), None, |contract| {
        is_found = is_one(contract);
        !is_found
    });
    is_found
}

pub(crate) fn vms(shared: &Arc<Shared>, call: &AuthorizedRequest) -> Outcome {
    let page = Page::read(&call.query)?;
    let (tenant, host) = (tenant(shared, call)?, host(shared, call)?);
    let after = page.after_name("vms")?.map(|text| Id::parse(text, call.tenant()).map_err(|_| no_cursor(text)));
    let after = after.transpose()?;
    let tables = shared.view.read();
    let items = tables.vms_of(tenant.as_deref(), after.as_ref());
    let items = items.filter(|(_, vm)| host.is_none_or(|host| vm.host == host));
    Ok(page.of(items.map(|(id, vm)| (Page::next("vms", id), vm.object.json.clone()))))
}

pub(crate) fn tenants(shared: &Arc<Shared>, call: &AuthorizedRequest) -> Outcome {
    let page = Page::read(&call.query)?;
    let only = call.only_tenant();
    let after = page.after_name("tenants")?;
    let tables = shared.view.read();
    let behind = |name: &str| after.is_none_or(|after| name > after);
    let items = tables.tenants.iter().filter(|(name, _)| behind(name) && only.is_none_or(|only| only == *name));
    if page.is_csv {
        let documents: Vec<bytes::Bytes> = items.map(|(_, tenant)| tenant.object.json.clone()).collect();
        drop(tables);
        return Ok(export::tenants(documents.iter().map(|json| &**json)));
    }
    Ok(page.of(items.map(|(name, tenant)| (Page::next("tenants", name), tenant.object.json.clone()))))
}

pub(crate) fn policies(shared: &Arc<Shared>, call: &AuthorizedRequest) -> Outcome {
    let page = Page::read(&call.query)?;
    let after = page.after_name("policies")?;
    let tables = shared.view.read();
    let behind = |name: &str| after.is_none_or(|after| name > after);
    let items = tables.policies.iter().filter(|(name, _)| behind(name));
    Ok(page.of(items.map(|(name, policy)| (Page::next("policies", name), policy.json.clone()))))
}

pub(crate) fn tokens(shared: &Arc<Shared>, call: &AuthorizedRequest) -> Outcome {
    let page = Page::read(&call.query)?;
    let after = page.after_name("tokens")?;
    let tables = shared.view.read();
    let behind = |name: &str| after.is_none_or(|after| name > after);
    let items = tables.tokens.iter().filter(|(name, _)| behind(name));
    Ok(page.of(items.map(|(name, (token, _))| (Page::next("tokens", name), token.json.clone()))))
}

/// Returns the number of items before the page, for a list in the order of the topology.
fn skip<T>(page: &Page, find: impl Fn(&str) -> Option<T>, number: impl Fn(T) -> u32) -> Result<u32, Box<Problem>> {
    match &page.after {
        None => Ok(0),
        Some(name) => match find(name) {
            Some(item) => Ok(number(item) + 1),
            None => Err(no_cursor(name)),
        },
    }
}

pub(crate) fn hosts(shared: &Arc<Shared>, call: &AuthorizedRequest) -> Outcome {
    let (page, network) = (Page::read(&call.query)?, shared.network());
    let first = NodeId(skip(&page, |name| network.find_node(name), |node| node.0)?);
    let is_known = shared.receives_reports();
    let tables = shared.view.read();
    let hosts = network.hosts().filter(|&host| host >= first);
    let shape = |host| json(&host_shape(network, &tables, host, call.only_tenant(), is_known));
    Ok(page.of(hosts.map(|host| (&network.node(host).name, shape(host)))))
}

/// Returns all links. The lock of the view is released at intervals, so that the engine need not wait for the end.
fn every_link(shared: &Shared) -> impl Iterator<Item = Link> + use<> {
    let network = shared.network();
    let all: Vec<LinkId> = network.links().map(|(link, _)| link).collect();
    let some = |from: usize| {
        let links = &all[from..all.len().min(from + AT_A_TIME)];
        let measured = shared.measured(links);
        let tables = shared.view.read();
        let shapes = links.iter().zip(measured);
        shapes.map(|(&link, measured)| Link { measured, ..link_shape(network, &tables, link) }).collect::<Vec<_>>()
    };
    let parts: Vec<Vec<Link>> = (0..all.len()).step_by(AT_A_TIME).map(some).collect();
    parts.into_iter().flatten()
}

pub(crate) fn links(shared: &Arc<Shared>, call: &AuthorizedRequest) -> Outcome {
    let (page, network) = (Page::read(&call.query)?, shared.network());
    if page.is_csv {
        return Ok(export::links(every_link(shared)));
    }
    let first = LinkId(skip(&page, |name| network.find_link(name), |link| link.0)?);
    let is_known = shared.receives_reports();
    let tables = shared.view.read();
    let links = network.links().filter(|&(link, _)| link >= first);
    let measured = |id| if is_known { shared.load.measured(id) } else { None };
    let shape = |id| Link { measured: measured(id), ..link_shape(network, &tables, id) };
    Ok(page.of(links.map(|(id, link)| (&link.name, json(&shape(id))))))
}

pub(crate) fn queues(shared: &Arc<Shared>, call: &AuthorizedRequest) -> Outcome {
    let (page, network) = (Page::read(&call.query)?, shared.network());
    let only = link(shared, call)?;
    let after = match &page.after {
        None => None,
        Some(text) => {
            let (link, queue) = text.rsplit_once(':').ok_or_else(|| no_cursor(text))?;
            let link = network.find_link(link).ok_or_else(|| no_cursor(text))?;
            Some((link, queue.parse::<u8>().map_err(|_| no_cursor(text))?))
        }
    };
    let first = after.map_or(LinkId(0), |(link, _)| link);
    let tables = shared.view.read();
    let links = network.links().map(|(link, _)| link).filter(|&link| only.is_none_or(|only| only == link));
    let queues = links
        .filter(|&link| link >= first)
        .flat_map(|link| queue_shapes(network, &tables, link).into_iter().map(move |queue| (link, queue)));
    let queues = queues.filter(|(link, queue)| after.is_none_or(|after| (*link, queue.queue) > after));
    Ok(page.of(queues.map(|(_, queue)| (format!("{}:{}", queue.link, queue.queue), json(&queue)))))
}
