//! `GET /v1/contracts`: filters, orders, pages, and the export as CSV.

use std::sync::Arc;

use bytes::Bytes;
use wayleave_contracts::{Contract, LabelSelector};
use wayleave_controller::Id;
use wayleave_protocol::contract::{Kind, State};
use wayleave_protocol::problem::Problem;
use wayleave_topology::{LinkId, Network, NodeId};

use crate::answer::{HttpReply, Outcome, invalid};
use crate::first_of::FirstOf;
use crate::handlers::contract_order::{ContractOrder, Place, headroom_ppm, reserved_bps};
use crate::handlers::lists::{host, link, tenant};
use crate::handlers::traffic::MeasuredRates;
use crate::http::call::AuthorizedRequest;
use crate::http::csv::Csv;
use crate::http::page::Page;
use crate::rendered::{ContractObject, json};
use crate::state::Shared;

/// Columns of the export. Rates are in bit/s on the wire.
const HEADINGS: &[&str] = &[
    "id",
    "tenant",
    "name",
    "kind",
    "state",
    "reason",
    "hosts",
    "rateBps",
    "burstBytes",
    "deadlineNs",
    "boundNs",
    "headroomPpm",
    "measuredBps",
    "measuredHosts",
    "countingHosts",
    "certainty",
    "priority",
    "created",
    "labels",
];

pub(crate) fn list(shared: &Arc<Shared>, call: &AuthorizedRequest) -> Outcome {
    let (page, order) = (Page::read(&call.query)?, ContractOrder::read(call));
    let (tenant, filter) = (tenant(shared, call)?, Filter::read(shared, call)?);
    if page.is_csv {
        return Ok(export(shared, tenant.as_deref(), &filter, order));
    }
    let after = page.after.as_ref().map(|text| order.parse(text, call.tenant())).transpose()?;
    if order.is_stored() {
        return stored(shared, call, &page, (order, after), tenant.as_deref(), &filter);
    }
    let rates = MeasuredRates::of(shared, shared.load.now().0);
    // One more than is shown reveals that there is a next page.
    let mut first = FirstOf::new(page.limit.saturating_add(1));
    shared.each_contract(tenant.as_deref(), |contract| {
        if filter.shows(contract) {
            let place = order.place(contract, || rates.of_contract(contract.grant()));
            if after.as_ref().is_none_or(|after| place > *after) {
                first.add(place, || contract.clone());
            }
        }
    });
    let items = first.into_sorted();
    let shown = |(place, contract): &(Place, Arc<ContractObject>)| (place.text(), document(shared, call, contract));
    Ok(page.of(items.iter().map(shown)))
}

/// Returns a page in the order in which contracts are stored.
fn stored(
    shared: &Shared,
    call: &AuthorizedRequest,
    page: &Page,
    (order, after): (ContractOrder, Option<Place>),
    tenant: Option<&str>,
    filter: &Filter,
) -> Outcome {
    let most = page.limit.saturating_add(1);
    let mut items: Vec<Arc<ContractObject>> = Vec::new();
    shared.each_contract_after(tenant, after.map(|after| after.id), |contract| {
        if filter.shows(contract) {
            items.push(contract.clone());
        }
        items.len() < most
    });
    let place = |contract: &ContractObject| order.place(contract, || None).text();
    Ok(page.of(items.iter().map(|contract| (place(contract), document(shared, call, contract)))))
}

/// Returns the document of a contract with its measured rate.
fn document(shared: &Shared, call: &AuthorizedRequest, contract: &ContractObject) -> Bytes {
    let is_tenants = call.only_tenant().is_some();
    let mut document = contract.document(shared.network(), is_tenants);
    let counters = shared.counters(contract.grant(), is_tenants);
    document.status.rate_bps = counters.rate_bps;
    (document.status.counting_hosts, document.status.reporting_hosts) =
        (Some(counters.hosts), Some(counters.reporting));
    json(&document)
}

/// Returns all contracts that the filter shows, as CSV.
fn export(shared: &Shared, tenant: Option<&str>, filter: &Filter, order: ContractOrder) -> HttpReply {
    let rates = MeasuredRates::of(shared, shared.load.now().0);
    let mut items: Vec<(Place, Arc<ContractObject>)> = Vec::new();
    shared.each_contract(tenant, |contract| {
        if filter.shows(contract) {
            let place = order.place(contract, || rates.of_contract(contract.grant()));
            items.push((place, contract.clone()));
        }
    });
    items.sort_by(|(one, _), (other, _)| one.cmp(other));
    let mut csv = Csv::new(HEADINGS);
    for (_, contract) in &items {
        let measured = rates.of_hosts(contract.grant());
        write(&mut csv, shared.network(), contract, measured);
    }
    csv.into_reply()
}

fn write(
    csv: &mut Csv,
    network: &Network,
    contract: &ContractObject,
    (measured, measured_hosts, counting_hosts): (Option<u64>, usize, usize),
) {
    let grant = contract.grant();
    // Not the whole document, which takes most of the time of an export.
    let (reason, _) = contract.reason(network);
    let terms = grant.terms();
    let hosts: Vec<&str> =
        grant.order.contract.hosts().into_iter().map(|host| network.node(host).name.as_str()).collect();
    csv.text(&grant.id.to_string());
    csv.text(&grant.id.tenant);
    csv.text(&grant.id.name);
    csv.text(contract.kind().name());
    csv.text(contract.state().name());
    csv.value(reason);
    csv.text(&hosts.join(" "));
    csv.value(reserved_bps(&grant.order.contract));
    csv.value(terms.map(|terms| terms.burst.get()));
    csv.value(terms.map(|terms| terms.deadline.as_nanos()));
    csv.value(grant.valid_bound().map(|bound| bound.as_nanos()));
    csv.value(headroom_ppm(grant));
    csv.value(measured);
    csv.value(Some(measured_hosts));
    csv.value(Some(counting_hosts));
    csv.value(grant.valid_certainty().map(|certainty| certainty.name()));
    csv.value(Some(contract.priority()));
    csv.text(&grant.created.to_string());
    let labels: Vec<String> = contract.labels().iter().map(|(key, value)| format!("{key}={value}")).collect();
    csv.text(&labels.join(","));
    csv.end_line();
}

/// Filter for the requested contracts; all of these conditions have to be met.
#[derive(Debug, Default)]
struct Filter {
    state: Option<State>,
    kind: Option<Kind>,
    link: Option<LinkId>,
    host: Option<OnNode>,
    text: Option<String>,
    labels: Option<LabelSelector>,
}

/// A node with its links.
#[derive(Debug)]
struct OnNode {
    node: NodeId,
    /// `true` for a link that begins or ends there, by number.
    links: Vec<bool>,
}

impl OnNode {
    fn new(network: &Network, node: NodeId) -> Self {
        let links = network.links().map(|(_, link)| link.from == node || link.to == node).collect();
        Self { node, links }
    }

    /// Returns `true` for an end or a member at the node, and for a reservation on a link of the node.
    fn has(&self, contract: &ContractObject) -> bool {
        has_end(&contract.grant().order.contract, self.node)
            || contract.links().any(|link| self.links.get(link.index()).is_some_and(|&is_there| is_there))
    }
}

/// Returns `true` if a contract has an end or a member at a node.
fn has_end(contract: &Contract, node: NodeId) -> bool {
    match contract {
        Contract::Latency(terms) => terms.from == node || terms.to == node,
        other => other.hosts().contains(&node),
    }
}

impl Filter {
    fn read(shared: &Shared, call: &AuthorizedRequest) -> Result<Self, Box<Problem>> {
        let network = shared.network();
        let text = |name| call.query.text(name);
        let labels = text("labels").map(str::parse::<LabelSelector>).transpose();
        Ok(Self {
            state: State::ALL.into_iter().find(|state| Some(state.name()) == text("state")),
            kind: Kind::ALL.into_iter().find(|kind| Some(kind.name()) == text("kind")),
            link: link(shared, call)?,
            host: host(shared, call)?.map(|host| OnNode::new(network, host)),
            text: text("text").map(str::to_owned),
            labels: labels.map_err(|why| invalid("labels", why))?,
        })
    }

    fn shows(&self, contract: &ContractObject) -> bool {
        self.state.is_none_or(|state| contract.state() == state)
            && self.kind.is_none_or(|kind| contract.kind() == kind)
            && self.link.is_none_or(|link| contract.links().any(|one| one == link))
            && self.host.as_ref().is_none_or(|host| host.has(contract))
            && self.text.as_ref().is_none_or(|text| names(contract.id(), text))
            && self.labels.as_ref().is_none_or(|labels| labels.chooses(contract.labels()))
    }
}

/// Returns `true` if `tenant:name` contains a text.
pub(crate) fn names(id: &Id, text: &str) -> bool {
    // Nearly always one of both does, and no text has to be made of them.
    id.name.contains(text) || id.tenant.contains(text) || (text.contains(':') && id.to_string().contains(text))
}
