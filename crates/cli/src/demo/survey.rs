//! From networks and ledgers to plain data.

use std::collections::HashSet;

use wayleave_contracts::LatencyContract;
use wayleave_ledger::QueueReport;
use wayleave_scheme_api::{Binding, Refusal};
use wayleave_schemes::admitted::AdmittedSet;
use wayleave_topology::{FlowId, LinkId, Network, NodeKind};
use wayleave_units::{Human, Rate, Time};

use wayleave::Error;
use wayleave::Session;
use wayleave_report::findings::{
    BoundTerms, DrawnLink, DrawnNode, LevelRole, LinkTier, LinkUse, NodeTier, PortKind, ProofHop, QueueLevel,
    RequestRow,
};
use wayleave_report::scale::ShareOfWhole;

/// The nodes with their tiers, by the names that the builder of fat trees gives.
pub(super) fn nodes(network: &Network) -> Result<Vec<DrawnNode>, Error> {
    let strange = |name: &str| Error::Internal(format!("{name} is not a node of a fat tree"));
    let pod_of = |name: &str| name.strip_prefix("pod")?.split_once('-')?.0.parse::<usize>().ok()?.checked_sub(1);
    let node = |(id, node): (_, &wayleave_topology::Node)| {
        // A host is where its switch is.
        let switch = network.links_to_switches(id).first().map(|&link| &network.node(network.link(link).to).name);
        let name = node.name.clone();
        let (tier, pod) = match node.kind {
            NodeKind::Host => (NodeTier::Host, switch.and_then(|switch| pod_of(switch))),
            NodeKind::Switch if name.contains("-agg") => (NodeTier::Aggregation, pod_of(&name)),
            NodeKind::Switch if name.contains("-edge") => (NodeTier::Edge, pod_of(&name)),
            NodeKind::Switch => (NodeTier::Core, None),
        };
        if pod.is_none() && tier != NodeTier::Core { Err(strange(&name)) } else { Ok(DrawnNode { name, tier, pod }) }
    };
    network.nodes().map(node).collect()
}

/// The links with their kinds.
pub(super) fn links(network: &Network, nodes: &[DrawnNode]) -> Result<Vec<DrawnLink>, Error> {
    use NodeTier::{Aggregation, Core, Edge, Host};
    let link = |(_, link): (_, &wayleave_topology::Link)| {
        let (from, to) = (link.from.index(), link.to.index());
        let tier = match (nodes[from].tier, nodes[to].tier) {
            (Host, Edge) => LinkTier::HostToEdge,
            (Edge, Aggregation) => LinkTier::EdgeToAggregation,
            (Aggregation, Core) => LinkTier::AggregationToCore,
            (Core, Aggregation) => LinkTier::CoreToAggregation,
            (Aggregation, Edge) => LinkTier::AggregationToEdge,
            (Edge, Host) => LinkTier::EdgeToHost,
            _ => return Err(Error::Internal(format!("{} is not a link of a fat tree", link.name))),
        };
        Ok(DrawnLink { name: link.name.clone(), from, to, tier, rate: link.rate })
    };
    network.links().map(link).collect()
}

/// A request as it is read; `index` counts from 0.
pub(super) fn ask(network: &Network, index: usize, contract: &LatencyContract) -> RequestRow {
    RequestRow {
        number: index + 1,
        name: contract.name.clone(),
        from: network.node(contract.from).name.clone(),
        to: network.node(contract.to).name.clone(),
        rate: contract.rate,
        burst: contract.burst,
        deadline: contract.deadline,
    }
}

/// Returns the obstacle to a request, for a sentence after "but".
pub(super) fn obstacle(session: &Session, contract: &LatencyContract, refusal: &Refusal) -> String {
    let Refusal::Blocked { binding, .. } = refusal else {
        return wayleave_explain::sentences::refusal(session.network(), contract, refusal);
    };
    let (link, queue) = (&session.network().link(binding.link()).name, binding.queue());
    if matches!(binding, Binding::Down { .. }) {
        return format!("no feasible route: {link} is down");
    }
    let broken = wayleave_explain::sentences::shortfall(binding);
    format!("no feasible route: even on the best one, queue {queue} of {link} {broken}")
}

/// Returns the used share of a queue's delay budget; without a bound, more than the whole budget.
fn used(report: &QueueReport) -> ShareOfWhole {
    let nanos = |time: Time| time.as_nanos() as f64;
    report
        .delay_bound()
        .map_or(ShareOfWhole::of(1.0, 1.0), |delay| ShareOfWhole::of(nanos(delay), nanos(report.budget)))
}

/// Returns the reservations on every link.
pub(super) fn link_uses(session: &Session) -> Vec<LinkUse> {
    let Some(ledger) = session.ledger() else { return Vec::new() };
    let of = |(id, _): (LinkId, _)| {
        let fullest = ShareOfWhole::max(ledger.report(id).iter().map(used));
        LinkUse { reserved: ledger.reserved(id), flows: ledger.flows_on(id).len(), fullest }
    };
    session.network().links().map(of).collect()
}

/// The queues of hosts' ports, then those of switches' ports, by priority; all ports of a kind look alike here.
pub(super) fn levels(session: &Session) -> Vec<QueueLevel> {
    let Some(ledger) = session.ledger() else { return Vec::new() };
    let network = session.network();
    let kind = |place| if place == PortKind::Host { NodeKind::Host } else { NodeKind::Switch };
    let links = |place| {
        let of_kind = network.links().filter(move |(_, link)| network.node(link.from).kind == kind(place));
        of_kind.map(|(id, _)| id).collect::<Vec<LinkId>>()
    };
    let mut levels = Vec::new();
    for place in [PortKind::Host, PortKind::Switch] {
        let links = links(place);
        let reports: Vec<Vec<QueueReport>> = links.iter().map(|&link| ledger.report(link)).collect();
        let usable = reports.first().map_or(0, Vec::len);
        let queues = links.first().map_or(0, |&link| network.queues(link).len());
        let is_best_effort = |queue: usize| {
            links.first().is_some_and(|&link| queue >= session.model().contract_queues(network, network.link(link)))
        };
        for queue in 0..queues {
            let role = match queue {
                queue if queue < usable => contracts_of(session, &reports, queue),
                queue if is_best_effort(queue) => LevelRole::BestEffort,
                _ => LevelRole::Unused,
            };
            levels.push(QueueLevel { place, queue, role });
        }
    }
    levels
}

/// One priority over all ports of a kind.
fn contracts_of(session: &Session, reports: &[Vec<QueueReport>], queue: usize) -> LevelRole {
    let same = || reports.iter().filter_map(|queues| queues.get(queue));
    let ports: HashSet<LinkId> = same().map(|report| report.link).collect();
    let passes = |hop: &wayleave_topology::Hop| usize::from(hop.queue) == queue && ports.contains(&hop.link);
    let held = session.scheme().flows().into_iter().filter_map(|flow| session.scheme().held(flow));
    let flows = held.filter(|held| held.route.hops.iter().any(passes)).count();
    LevelRole::Contracts {
        budget: same().map(|report| report.budget).max().unwrap_or(Time::ZERO),
        used_most: ShareOfWhole::max(same().map(used)),
        used_mean: ShareOfWhole::mean(same().map(used)),
        flows,
    }
}

/// A bound that shows much: a clock's flow between pods, the first of those through the most different priorities.
pub(super) fn proof(
    session: &Session,
    requests: &[LatencyContract],
    flows: &[Option<FlowId>],
    nodes: &[DrawnNode],
) -> Option<BoundTerms> {
    let placement = session.scheme().queues()?;
    let ledger = placement.ledger();
    let crosses = |contract: &LatencyContract| nodes[contract.from.index()].pod != nodes[contract.to.index()].pod;
    let admitted = requests.iter().zip(flows).enumerate().filter_map(|(index, (contract, &flow))| {
        let route = &ledger.flow(flow?)?.route;
        Some((index, contract, route)).filter(|_| contract.name.starts_with("ptp") && crosses(contract))
    });
    let varied = |&(index, _, route): &(usize, &LatencyContract, &wayleave_topology::Route)| {
        let priorities: HashSet<u8> = route.hops.iter().map(|hop| hop.queue).collect();
        (priorities.len(), std::cmp::Reverse(index))
    };
    let (index, contract, route) = admitted.max_by_key(varied)?;
    let hops: Vec<ProofHop> = route
        .hops
        .iter()
        .filter_map(|hop| {
            let report = ledger.report(hop.link).into_iter().nth(usize::from(hop.queue))?;
            let link = session.network().link(hop.link).name.clone();
            let (worst_now, flows) = (report.delay_bound()?, report.flows as usize);
            Some(ProofHop { link, queue: hop.queue, budget: report.budget, worst_now, flows })
        })
        .collect();
    let bound = placement.bound(route);
    let constants = bound.saturating_sub(hops.iter().map(|hop| hop.budget).sum());
    Some(BoundTerms { ask: ask(session.network(), index, contract), hops, constants, bound })
}

/// Returns the parameters of the model.
pub(super) fn parameters(session: &Session, reroute_limit: u32) -> Vec<(&'static str, String)> {
    let Some(ledger) = session.ledger() else { return Vec::new() };
    let network = session.network();
    let port = network.links().find(|(_, link)| network.node(link.from).kind == NodeKind::Switch);
    let Some((id, link)) = port else { return Vec::new() };
    let buffers = network.queues(id).first().map_or(String::new(), |queue| format!("{:#}", queue.buffer));
    let budgets: Vec<String> = ledger.budgets(id).map(|budget| format!("{budget:#}")).collect();
    let fastest = network.links().map(|(_, link)| link.rate).max().unwrap_or(Rate::ZERO);
    let frame = ledger.largest_frame(id).up();
    let (hosts, switches) = (network.hosts().count(), network.switches().count());
    let cables = network.links().len() / 2;
    let queues = network.port(link.port).queues.len();
    let (budgets, rate) = (budgets.join(", "), fastest.up());
    let text = str::to_owned;
    vec![
        ("network", format!("{hosts} hosts, {switches} switches, {cables} cables of {rate}")),
        ("queues", format!("{queues} per switch port with {buffers} each, strict priority; one per host port")),
        ("best effort", text("the lowest queue of every switch port is reserved for traffic without a contract")),
        (
            "delay budgets",
            format!("Wayleave: {budgets} by priority, and 500 us on host ports; Silo: 100 us on every port"),
        ),
        (
            "rerouting",
            format!(
                "at most {reroute_limit} admitted flows are tried for a request; moves that do not help are undone"
            ),
        ),
        ("wire bytes", format!("preamble, gap, FCS and up to six tags are counted; a frame has at most {frame}")),
        ("arrivals", text("arrivals from a link are bounded by the token buckets of its flows, and by the line rate")),
        (
            "service",
            text("the line rate less the queues above, one frame in transmission, and one frame for packetization"),
        ),
        (
            "a request fits if",
            text(
                "in its queue on every link, and in each lower queue that holds flows, delay and backlog stay within \
                 budget and buffer; and the budgets add up to no more than its deadline",
            ),
        ),
        (
            "requests",
            text(
                "flow types and mixes of Tables 1 and 2 in Chameleon (Van Bemten et al., CoNEXT 2020), between random \
                 pairs of hosts",
            ),
        ),
    ]
}
