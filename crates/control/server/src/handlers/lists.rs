//! Lists of the objects on disk.

use std::sync::Arc;

use wayleave_controller::Id;
use wayleave_protocol::network::Link;
use wayleave_protocol::problem::Problem;
use wayleave_topology::{LinkId, NodeId};

use crate::answer::{Outcome, invalid};
use crate::handlers::export;
use crate::handlers::network::{host_shape, json, link_shape, queue_shapes};
use crate::http::call::AuthorizedRequest;
use crate::http::page::Page;
use crate::state::{AT_A_TIME, Shared};

/// Returns the tenant whose objects a list shows: the requested tenant, as far as the client may see it.
pub(crate) fn tenant(call: &AuthorizedRequest) -> Option<String> {
    let asked = call.query.text("tenant");
    match (call.only_tenant(), asked) {
        // Of another tenant there is nothing to see. No tenant has such a name.
        (Some(own), Some(asked)) if own != asked => Some(String::new()),
        (Some(own), _) => Some(own.to_owned()),
        (None, asked) => asked.map(str::to_owned),
    }
}

pub(crate) fn after(call: &AuthorizedRequest, page: &Page) -> Result<Option<Id>, Box<Problem>> {
    let id = |text: &String| {
        Id::parse(text, call.tenant()).map_err(|_| invalid("after", "expected the value of `next` of a page"))
    };
    page.after.as_ref().map(id).transpose()
}

pub(crate) fn vms(shared: &Arc<Shared>, call: &AuthorizedRequest) -> Outcome {
    let page = Page::read(&call.query)?;
    let (tenant, after) = (tenant(call), after(call, &page)?);
    let host = call.query.text("host").map(|host| shared.node(host)).transpose()?;
    let tables = shared.view.read();
    let items = tables.vms_of(tenant.as_deref(), after.as_ref());
    let items = items.filter(|(_, vm)| host.is_none_or(|host| vm.host == host));
    Ok(page.of(items.map(|(id, vm)| (id, vm.object.json.clone()))))
}

pub(crate) fn tenants(shared: &Arc<Shared>, call: &AuthorizedRequest) -> Outcome {
    let page = Page::read(&call.query)?;
    let only = call.only_tenant();
    let tables = shared.view.read();
    let behind = |name: &str| page.after.as_deref().is_none_or(|after| name > after);
    let items = tables.tenants.iter().filter(|(name, _)| behind(name) && only.is_none_or(|only| only == *name));
    if page.is_csv {
        let documents: Vec<bytes::Bytes> = items.map(|(_, tenant)| tenant.json.clone()).collect();
        drop(tables);
        return Ok(export::tenants(documents.iter().map(|json| &**json)));
    }
    Ok(page.of(items.map(|(name, tenant)| (name, tenant.json.clone()))))
}

pub(crate) fn policies(shared: &Arc<Shared>, call: &AuthorizedRequest) -> Outcome {
    let page = Page::read(&call.query)?;
    let tables = shared.view.read();
    let behind = |name: &str| page.after.as_deref().is_none_or(|after| name > after);
    let items = tables.policies.iter().filter(|(name, _)| behind(name));
    Ok(page.of(items.map(|(name, policy)| (name, policy.json.clone()))))
}

pub(crate) fn tokens(shared: &Arc<Shared>, call: &AuthorizedRequest) -> Outcome {
    let page = Page::read(&call.query)?;
    let tables = shared.view.read();
    let behind = |name: &str| page.after.as_deref().is_none_or(|after| name > after);
    let items = tables.tokens.iter().filter(|(name, _)| behind(name));
    Ok(page.of(items.map(|(name, (token, _))| (name, token.json.clone()))))
}

/// Returns the number of items before the page, for a list in the order of the topology.
fn skip<T>(page: &Page, find: impl Fn(&str) -> Option<T>, number: impl Fn(T) -> u32) -> Result<u32, Box<Problem>> {
    match &page.after {
        None => Ok(0),
        Some(name) => match find(name) {
            Some(item) => Ok(number(item) + 1),
            None => Err(invalid("after", "expected the value of `next` of a page")),
        },
    }
}

pub(crate) fn hosts(shared: &Arc<Shared>, call: &AuthorizedRequest) -> Outcome {
    let (page, network) = (Page::read(&call.query)?, shared.network());
    let first = NodeId(skip(&page, |name| network.find_node(name), |node| node.0)?);
    let tables = shared.view.read();
    let hosts = network.hosts().filter(|&host| host >= first);
    let shape = |host| json(&host_shape(network, &tables, host, call.only_tenant()));
    Ok(page.of(hosts.map(|host| (&network.node(host).name, shape(host)))))
}

/// Returns all links. The lock of the view is released at intervals, so that the engine need not wait for the end.
fn every_link(shared: &Shared) -> impl Iterator<Item = Link> + use<> {
    let network = shared.network();
    let all: Vec<LinkId> = network.links().map(|(link, _)| link).collect();
    let some = |from: usize| {
        let links = &all[from..all.len().min(from + AT_A_TIME)];
        let measured: Vec<_> = links.iter().map(|&link| shared.load.measured(link)).collect();
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
    let tables = shared.view.read();
    let links = network.links().filter(|&(link, _)| link >= first);
    let shape = |id| Link { measured: shared.load.measured(id), ..link_shape(network, &tables, id) };
    if page.is_csv {
        return Ok(export::links(links.map(|(id, _)| shape(id))));
    }
    Ok(page.of(links.map(|(id, link)| (&link.name, json(&shape(id))))))
}

pub(crate) fn queues(shared: &Arc<Shared>, call: &AuthorizedRequest) -> Outcome {
    let (page, network) = (Page::read(&call.query)?, shared.network());
    let only = call.query.text("link").map(|link| shared.link(link)).transpose()?;
    let wrong = || invalid("after", "expected the value of `next` of a page");
    let after = match &page.after {
        None => None,
        Some(text) => {
            let (link, queue) = text.rsplit_once(':').ok_or_else(wrong)?;
            let link = network.find_link(link).ok_or_else(wrong)?;
            Some((link, queue.parse::<u8>().map_err(|_| wrong())?))
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
