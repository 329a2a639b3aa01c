//! Lists of the objects on disk.

use std::sync::Arc;

use wayleave_contracts::LabelSelector;
use wayleave_controller::Id;
use wayleave_protocol::contract::{Kind, State};
use wayleave_protocol::network::Link;
use wayleave_protocol::problem::Problem;
use wayleave_topology::{LinkId, NodeId};

use crate::answer::{HttpReply, Outcome, invalid};
use crate::handlers::network::{host_shape, json, link_shape, queue_shapes};
use crate::http::call::AuthorizedRequest;
use crate::http::page::Page;
use crate::rendered::ContractObject;
use crate::state::Shared;

/// Returns the tenant whose objects a list shows: the requested tenant, as far as the client may see it.
fn tenant(call: &AuthorizedRequest) -> Option<String> {
    let asked = call.query.text("tenant");
    match (call.only_tenant(), asked) {
        // Of another tenant there is nothing to see. No tenant has such a name.
        (Some(own), Some(asked)) if own != asked => Some(String::new()),
        (Some(own), _) => Some(own.to_owned()),
        (None, asked) => asked.map(str::to_owned),
    }
}

fn after(call: &AuthorizedRequest, page: &Page) -> Result<Option<Id>, Box<Problem>> {
    let id = |text: &String| {
        Id::parse(text, call.tenant()).map_err(|_| invalid("after", "expected the value of `next` of a page"))
    };
    page.after.as_ref().map(id).transpose()
}

pub(crate) fn contracts(shared: &Arc<Shared>, call: &AuthorizedRequest) -> Outcome {
    let page = Page::read(&call.query)?;
    let (tenant, after) = (tenant(call), after(call, &page)?);
    let filter = Filter::read(shared, call)?;
    // One more than is shown reveals that there is a next page.
    let most = page.limit.saturating_add(1);
    let mut items = Vec::new();
    shared.each_contract_after(tenant.as_deref(), after.map(Arc::new), |contract| {
        if filter.shows(contract) {
            items.push(contract.clone());
        }
        items.len() < most
    });
    Ok(contract_page(shared, call.only_tenant(), &page, items))
}

fn contract_page(shared: &Shared, only: Option<&str>, page: &Page, items: Vec<Arc<ContractObject>>) -> HttpReply {
    page.of(items.iter().map(|contract| (contract.id(), contract.json(shared.network(), only))))
}

/// Filter for the requested contracts; all of these conditions have to be met.
#[derive(Debug, Default)]
struct Filter {
    state: Option<State>,
    kind: Option<Kind>,
    /// Of a link that is not there, or not to be known of, no contract has anything.
    link: Option<Option<LinkId>>,
    text: Option<String>,
    labels: Option<LabelSelector>,
}

impl Filter {
    fn read(shared: &Shared, call: &AuthorizedRequest) -> Result<Self, Box<Problem>> {
        fn known<T: serde::de::DeserializeOwned>(
            call: &AuthorizedRequest,
            name: &'static str,
            expected: &str,
        ) -> Result<Option<T>, Box<Problem>> {
            let known = |text: &str| serde_json::from_value::<T>(text.into()).map_err(|_| invalid(name, expected));
            call.query.text(name).map(known).transpose()
        }
        let link = match (call.query.text("link"), call.only_tenant()) {
            (None, _) => None,
            (Some(name), None) => Some(Some(shared.link(name)?)),
            // The names of links are hidden from tenants.
            (Some(name), Some(_)) => Some(shared.network().find_link(name)),
        };
        let labels = call.query.text("labels").map(str::parse::<LabelSelector>).transpose();
        Ok(Self {
            state: known(call, "state", "expected pending, admitted, enforced, degraded, violated or released")?,
            kind: known(call, "kind", "expected latency, bandwidth, objective or best-effort")?,
            link,
            text: call.query.text("text").map(str::to_owned),
            labels: labels.map_err(|why| invalid("labels", why))?,
        })
    }

    fn shows(&self, contract: &ContractObject) -> bool {
        self.state.is_none_or(|state| contract.state() == state)
            && self.kind.is_none_or(|kind| contract.kind() == kind)
            && self.link.is_none_or(|link| link.is_some_and(|link| contract.links().any(|one| one == link)))
            && self.text.as_ref().is_none_or(|text| names(contract.id(), text))
            && self.labels.as_ref().is_none_or(|labels| labels.chooses(contract.labels()))
    }
}

/// Returns `true` if `tenant:name` contains a text.
fn names(id: &Id, text: &str) -> bool {
    // Nearly always one of both does, and no text has to be made of them.
    id.name.contains(text) || id.tenant.contains(text) || (text.contains(':') && id.to_string().contains(text))
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

pub(crate) fn links(shared: &Arc<Shared>, call: &AuthorizedRequest) -> Outcome {
    let (page, network) = (Page::read(&call.query)?, shared.network());
    let first = LinkId(skip(&page, |name| network.find_link(name), |link| link.0)?);
    let tables = shared.view.read();
    let links = network.links().filter(|&(link, _)| link >= first);
    let shape = |id| Link { measured: shared.load.measured(id), ..link_shape(network, &tables, id) };
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
