//! One kind of traffic: its name, its ends, its schedule, its routes, and its `workload`.

use std::collections::{BTreeSet, HashMap};

use wayleave_scenarios::{FlowEndpoints, ScenarioVm, Tenants, Traffic, TransportConfig, Workload};
use wayleave_topology::{Hop, Network, Route};

use super::active;
use super::contracted;
use super::endpoints::Names;
use super::ends::{self, DefaultPairs};
use super::files::Files;
use super::job;
use super::network::Numbered;
use super::scalars::queue;
use super::workload::{self, WorkloadKind};
use crate::contracts::{hop, text_of};
use crate::fields::{Fields, Shape};
use crate::location::Span;
use crate::messages::quoted;
use crate::problem::{ProblemKind, Problems};
use crate::tree::Node;

pub(crate) const TRAFFIC: Shape = Shape {
    what: "a traffic source",
    keys: &[
        "name",
        "from",
        "to",
        "pairs",
        "tokenBucket",
        "constantRate",
        "onOff",
        "poisson",
        "frame",
        "load",
        "perSecond",
        "every",
        "uniform",
        "periodic",
        "after",
        "rpc",
        "flows",
        "job",
        "sizes",
        "deadline",
        "sendSchedule",
        "transport",
        "contract",
        "service",
        "toService",
        "queue",
        "start",
        "stop",
        "active",
        "route",
    ],
};

/// Reads all traffic, and the contracts to which parts of the traffic belong.
pub(super) fn read(
    node: &Node<'_>,
    numbered: &Numbered,
    (vms, tenants): (&[ScenarioVm], Option<&Tenants>),
    transport: &TransportConfig,
    files: &mut Files<'_>,
    problems: &mut Problems<'_>,
) -> (Vec<Traffic>, BTreeSet<String>) {
    let ends = Names::new(&numbered.network, vms);
    let mut contracts = BTreeSet::new();
    let mut names: HashMap<String, Span> = HashMap::new();
    let mut traffic = Vec::new();
    for (index, item) in node.expect_list("traffic", problems).unwrap_or_default().iter().enumerate() {
        let mark = problems.mark();
        let Some(fields) = Fields::read(item, &TRAFFIC, problems) else { continue };
        let name = fields.require("name", problems).and_then(|node| node.expect_text(problems));
        if let Some(name) = name {
            check_name(name, fields.value_span("name"), &mut names, problems);
        }
        contracts.extend(fields.get("contract").and_then(Node::text).map(str::to_owned));
        let known = (numbered, &ends, tenants);
        let read = read_one(&fields, name.unwrap_or_default(), known, transport, files, problems);
        problems.explain_since(mark, || match name {
            Some(name) => format!("traffic {}", quoted(name)),
            None => format!("traffic {}", index + 1),
        });
        traffic.extend(read);
    }
    (traffic, contracts)
}

fn check_name(name: &str, span: Span, names: &mut HashMap<String, Span>, problems: &mut Problems<'_>) {
    let source = problems.source();
    match names.get(name) {
        None => drop(names.insert(name.to_owned(), span)),
        Some(&first) => problems.report(ProblemKind::DuplicateName, span, || {
            format!("the name {} is already used on line {}", quoted(name), source.line_of(first))
        }),
    }
}

fn read_one(
    fields: &Fields<'_, '_>,
    name: &str,
    (numbered, names, tenants): (&Numbered, &Names<'_>, Option<&Tenants>),
    transport: &TransportConfig,
    files: &mut Files<'_>,
    problems: &mut Problems<'_>,
) -> Option<Traffic> {
    let network: &Network = &numbered.network;
    let what = workload::what(fields, problems);
    let of = contracted::read(fields, tenants, problems);
    let workload = what.and_then(|what| match what {
        WorkloadKind::Job => job::read(fields, names, of.as_ref(), transport, files, problems).map(Workload::Job),
        _ => workload::read(what, fields, numbered, transport, files, problems),
    });
    let has_ends = ["from", "to", "pairs"].iter().any(|key| fields.get(key).is_some());
    let usual = match what? {
        WorkloadKind::Load | WorkloadKind::PerSecond | WorkloadKind::Periodic | WorkloadKind::After => {
            DefaultPairs::Random
        }
        _ => DefaultPairs::AllToAll,
    };
    let ends = match (what?, &of) {
        (WorkloadKind::Job, _) => match &workload {
            Some(Workload::Job(job)) => Some(FlowEndpoints::Pairs(job.pairs())),
            _ => None,
        },
        (WorkloadKind::Listed, _) => Some(FlowEndpoints::Pairs(Vec::new())),
        (_, Some(of)) if !has_ends => Some(contracted::ends(of, usual == DefaultPairs::Random)),
        _ => ends::read(fields, usual, names, problems),
    };
    let queue = fields.get("queue").map(|node| queue(node, problems));
    let start = fields.get("start").map(|node| node.quantity(problems));
    let stop = fields.get("stop").map(|node| node.quantity(problems));
    let active = fields.get("active").map(|node| {
        let start = start.flatten().unwrap_or_default();
        active::read(node, start, problems)
    });
    let route = fields.get("route").map(|node| read_route(node, network, problems));
    let mut traffic = Traffic {
        name: name.to_owned(),
        ends: ends?,
        workload: workload?,
        service: fields.text("service", problems).map(str::to_owned),
        to_service: fields.text("toService", problems).map(str::to_owned),
        queue: queue.map_or(Some(None), |queue| queue.map(Some))?,
        start: start.unwrap_or(Some(wayleave_units::Time::ZERO))?,
        stop: stop.map_or(Some(None), |stop| stop.map(Some))?,
        active: active.map_or(Some(None), |active| active.map(Some))?,
        route: route.map_or(Some(None), |route| route.map(Some))?,
        copies: None,
    };
    if let Some((of, node)) = of.as_ref().zip(fields.get("contract")) {
        contracted::apply(of, &mut traffic, network, node, problems);
    }
    Some(traffic)
}

fn read_route(node: &Node<'_>, network: &Network, problems: &mut Problems<'_>) -> Option<Route> {
    let items = node.expect_list("hops (LINK:QUEUE)", problems)?;
    let hops: Vec<Option<Hop>> =
        items.iter().map(|item| text_of(item, problems).and_then(|text| hop(&text, network, problems))).collect();
    hops.into_iter().collect::<Option<_>>().map(|hops| Route { hops })
}
