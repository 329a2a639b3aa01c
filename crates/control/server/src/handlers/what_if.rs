//! `/v1/what-if`.

use std::collections::BTreeMap;
use std::sync::Arc;

use wayleave_controller::{
    self as controller, AdmittedContract, CommandError, Controller, ControllerConfig, ElementName, Id, Principal,
    RecordChange, Timestamps,
};
use wayleave_formats::{Addressed, Source, VmLocations, read_order};
use wayleave_ledger::ReservedShare;
use wayleave_protocol::problem::Problem;
use wayleave_protocol::what_if::{
    BrokenContract, MovedContract, PlacedContract, Recertified, WhatIfQuery, WhatIfResult,
};
use wayleave_topology::{NodeId, Route};
use wayleave_units::Time;

use crate::answer::{HttpReply, Outcome, fault, input_errors, invalid, unknown_name};
use crate::clock::wall;
use crate::http::call::AuthorizedRequest;
use crate::render;
use crate::state::Shared;
use crate::trial::try_records;

/// VMs as the controller that is asked has them.
struct Forked<'a>(&'a Controller);

impl VmLocations for Forked<'_> {
    fn host_of(&self, tenant: Option<&str>, name: &str) -> Option<NodeId> {
        let id = Id::new(tenant.unwrap_or(controller::DEFAULT_TENANT), name);
        self.0.vm(&id).map(|vm| vm.host)
    }
}

pub(crate) async fn ask(shared: Arc<Shared>, call: AuthorizedRequest) -> Outcome {
    let query: WhatIfQuery = call.json()?;
    let most = call.query.number("limit").and_then(|limit| usize::try_from(limit).ok());
    shared.try_out(&call, move |controller| answer(controller, &query, most)).await
}

/// The answer of a controller that is made of these records for one query, as an operator gets it: status and body.
pub fn what_if(setup: &ControllerConfig, records: &[RecordChange], query: &str) -> (u16, Vec<u8>) {
    let query = serde_json::from_str::<WhatIfQuery>(query).map_err(|error| invalid("body", error.to_string()));
    let outcome = query.and_then(|query| {
        let records = records.iter().filter_map(|one| Some((one.kind, one.key.as_str(), one.body.as_deref()?)));
        try_records(setup, records, |controller| answer(controller, &query, None))
    });
    let answer = outcome.unwrap_or_else(HttpReply::from);
    (answer.status, answer.body.to_vec())
}

/// Returns the answer with at most `most` items of each list.
fn answer(controller: &mut Controller, query: &WhatIfQuery, most: Option<usize>) -> Outcome {
    let what_if = read(controller, query)?;
    let now = Timestamps { steady: Time::ZERO, wall: wall() };
    let outcome = controller.ask(now, what_if).map_err(fault)?;
    Ok(HttpReply::json(200, &shape(controller, outcome, most)))
}

fn read(controller: &Controller, query: &WhatIfQuery) -> Result<controller::WhatIf, Box<Problem>> {
    let element = |name: &String| element(controller, name);
    let id = |text: &String| contract(controller, text);
    let order = |(at, spec): (usize, &wayleave_protocol::contract::ContractSpec)| {
        let text = serde_json::to_string(spec).unwrap_or_default();
        let source = Source::new("contract", text);
        let places = Forked(controller);
        let read = read_order(&source, controller.network(), &places, Addressed::default());
        let mut order = read.map_err(|errors| {
            let mut problem = input_errors(&errors);
            problem.detail =
                format!("apply, contract {}: {}", at + 1, problem.errors.first().map_or("", |one| &one.detail));
            // Lines and columns would be those of a text that the client has not written.
            problem.errors.iter_mut().for_each(|error| (error.line, error.column) = (None, None));
            problem
        })?;
        order.or_tenant(controller::DEFAULT_TENANT);
        Ok(order)
    };
    Ok(controller::WhatIf {
        fail: query.fail.iter().map(element).collect::<Result<_, _>>()?,
        restore: query.restore.iter().map(element).collect::<Result<_, _>>()?,
        delete: query.delete.iter().map(id).collect::<Result<_, _>>()?,
        apply: query.apply.iter().enumerate().map(order).collect::<Result<_, Box<Problem>>>()?,
        drain: query.drain.iter().map(|name| host(controller, name)).collect::<Result<_, _>>()?,
    })
}

/// Returns the name of a contract that exists.
fn contract(controller: &Controller, text: &str) -> Result<Id, Box<Problem>> {
    let id = Id::parse(text, controller::DEFAULT_TENANT).map_err(|error| invalid("delete", error.to_string()))?;
    if controller.grant(&id).is_some_and(|grant| !grant.is_ended()) {
        return Ok(id);
    }
    let known = controller.grants().filter(|grant| !grant.is_ended());
    let known: Vec<String> = known.map(|grant| grant.id.to_string()).collect();
    Err(unknown_name("contract", &id.to_string(), known.iter().map(String::as_str)))
}

/// Returns the name of a host that exists.
fn host(controller: &Controller, name: &str) -> Result<String, Box<Problem>> {
    let network = controller.network();
    let names = || network.hosts().map(|host| network.node(host).name.as_str());
    if names().any(|known| known == name) {
        return Ok(name.to_owned());
    }
    Err(unknown_name("host", name, names()))
}

/// A node or a link of this name; no link is called like a node.
fn element(controller: &Controller, name: &str) -> Result<ElementName, Box<Problem>> {
    let network = controller.network();
    if network.find_node(name).is_some() {
        return Ok(ElementName::Node(name.to_owned()));
    }
    match network.find_link(name) {
        Some(_) => Ok(ElementName::Link(name.to_owned())),
        None => {
            let links = network.links().map(|(_, link)| link.name.as_str());
            let nodes = network.nodes().map(|(_, node)| node.name.as_str());
            Err(unknown_name("link or node", name, links.chain(nodes)))
        }
    }
}

fn shape(controller: &Controller, outcome: controller::WhatIfOutcome, most: Option<usize>) -> WhatIfResult {
    let host = |node: NodeId| controller.network().node(node).name.clone();
    let mut omitted = BTreeMap::new();
    let mut few = Few { most: most.unwrap_or(usize::MAX), omitted: &mut omitted };
    let result = WhatIfResult {
        rerouted: few.of("rerouted", outcome.rerouted, |id| moved(controller, id)),
        restored: few.of("restored", outcome.restored, |id| moved(controller, id)),
        admitted: few.of("admitted", outcome.admitted, |id| moved(controller, id)),
        degraded: few.of("degraded", outcome.degraded, |id| degraded(controller, &id)),
        refused: few.of("refused", outcome.refused, |(id, fault)| refused(controller, &id, fault)),
        deleted: few.of("deleted", outcome.deleted, |id| id.to_string()),
        certainty: few.of("certainty", outcome.certainty, |(id, from, to)| Recertified {
            id: id.to_string(),
            from: from.name().to_owned(),
            to: to.name().to_owned(),
        }),
        placed: few.of("placed", outcome.placed, |(id, from, to)| PlacedContract {
            id: id.to_string(),
            from: host(from),
            to: to.map(host),
        }),
        omitted: BTreeMap::new(),
    };
    WhatIfResult { omitted, ..result }
}

/// The first items of each list, and the number of those left out.
struct Few<'a> {
    most: usize,
    omitted: &'a mut BTreeMap<String, u64>,
}

impl Few<'_> {
    fn of<T, U>(&mut self, key: &str, items: Vec<T>, shape: impl Fn(T) -> U) -> Vec<U> {
        let left = items.len().saturating_sub(self.most);
        if left > 0 {
            self.omitted.insert(key.to_owned(), left as u64);
        }
        items.into_iter().take(self.most).map(shape).collect()
    }
}

fn moved(controller: &Controller, id: Id) -> MovedContract {
    let grant = controller.grant(&id).filter(|grant| !grant.is_ended());
    let link = |hop: &wayleave_topology::Hop| controller.network().link(hop.link).name.clone();
    let links = |route: &Route| route.hops.iter().map(link).collect::<Vec<_>>();
    let routes = match grant.and_then(|grant| controller.share_of(grant)) {
        Some(ReservedShare::Pair { route, .. }) => vec![links(route)],
        Some(_) => Vec::new(),
        None => {
            grant.map(|grant| controller.routes(grant)).unwrap_or_default().iter().map(|(_, one)| links(one)).collect()
        }
    };
    MovedContract {
        id: id.to_string(),
        bound_ns: grant.and_then(AdmittedContract::valid_bound).map(|bound| bound.as_nanos()),
        certainty: grant.and_then(AdmittedContract::valid_certainty).map(|certainty| certainty.name().to_owned()),
        routes,
    }
}

fn degraded(controller: &Controller, id: &Id) -> BrokenContract {
    let grant = controller.grant(id).filter(|grant| !grant.is_ended());
    // The words that the contract's status would have.
    let text = |grant: &AdmittedContract| {
        let reason = grant.degraded_reason.as_ref()?;
        Some(render::degraded_text(controller.network(), grant, reason))
    };
    let (reason, message) = grant.and_then(text).unwrap_or_default();
    BrokenContract { id: id.to_string(), reason: reason.to_owned(), message }
}

fn refused(controller: &Controller, id: &Id, refusal: CommandError) -> BrokenContract {
    let message = match &refusal {
        CommandError::Refused { decision, .. } => {
            let record = controller.decision(&id.tenant, *decision);
            record.and_then(|record| render::decision(controller.network(), record, &Principal::Operator).message)
        }
        _ => None,
    };
    let problem = fault(refusal);
    let message = message.unwrap_or_else(|| problem.detail.clone());
    BrokenContract { id: id.to_string(), reason: problem.code.text().to_owned(), message }
}
