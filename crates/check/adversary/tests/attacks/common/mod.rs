//! Helpers shared by the tests: from a ledger to a claim.

use std::sync::Arc;

use wayleave_adversary::{AdmittedClaim, Background, PacketOrder, Promise};
use wayleave_contracts::BucketDemand;
use wayleave_ledger::{BestEffort, JitterModel, Ledger, Model};
use wayleave_topology::{Hop, LinkSpec, Network, NetworkBuilder, NodeId, NodeKind, PortSpec, Route};
use wayleave_units::{Bytes, Rate, Time};

/// Everything that a ledger holds.
pub(crate) fn claim(ledger: &Ledger) -> AdmittedClaim {
    let network = ledger.network().clone();
    let links = || network.links().map(|(id, _)| id);
    let delays: Vec<Vec<Option<Time>>> =
        links().map(|link| ledger.report(link).iter().map(|queue| queue.delay_bound()).collect()).collect();
    let promises = ledger.flows().map(|(flow, reservation)| {
        let (route, demand) = (&reservation.route, &reservation.demand);
        let constant = constant(&network, route);
        let waits = route.hops.iter().map(|hop| delays[hop.link.index()][usize::from(hop.queue)]);
        let largest = route.hops.iter().map(|hop| ledger.largest_frame(hop.link)).min().unwrap();
        Promise {
            name: format!("flow {}", flow.0),
            route: route.clone(),
            rate: demand.rate,
            burst: demand.burst,
            frame: demand.max_frame.map_or(largest, |frame| frame.min(largest)),
            bound: route.hops.iter().map(|&hop| ledger.budget(hop)).sum::<Time>() + constant,
            today: waits.sum::<Option<Time>>().map(|waits| waits + constant),
        }
    });
    let promises = promises.collect();
    let background = match ledger.model().best_effort {
        BestEffort::LowestQueue => {
            Background::Saturating { largest: links().map(|link| ledger.largest_frame(link)).collect() }
        }
        BestEffort::Dropped => Background::Dropped,
    };
    let order = match ledger.model().jitter {
        JitterModel::Ordered => PacketOrder::Kept,
        JitterModel::Any => PacketOrder::Free,
    };
    AdmittedClaim::new(network, background, promises).with_order(order)
}

/// Propagation, and processing of the source and of every switch.
pub(crate) fn constant(network: &Network, route: &Route) -> Time {
    let links = route.hops.iter().map(|hop| network.link(hop.link));
    links.map(|link| link.propagation + network.node(link.from).processing).sum()
}

/// A network that is laid cable by cable, with three queues at every port and buffers without limit.
#[derive(Default)]
pub(crate) struct Plan {
    builder: NetworkBuilder,
}

impl Plan {
    fn node(&mut self, name: &str) -> NodeId {
        let kind = if name.starts_with('s') { NodeKind::Switch } else { NodeKind::Host };
        self.builder.find_node(name).unwrap_or_else(|| self.builder.add_node(name, kind).unwrap())
    }

    /// Joins two nodes; those whose names begin with s are switches.
    pub(crate) fn cable(mut self, a: &str, b: &str, rate: Rate, propagation: Time) -> Self {
        let (from, to) = (self.node(a), self.node(b));
        let port = PortSpec::uniform(3, Bytes::MAX);
        let mtu = Bytes::new(1500);
        let spec = LinkSpec { from, to, rate, propagation, mtu, port: port.clone() };
        self.builder.add_cable(spec, port).unwrap();
        self
    }

    pub(crate) fn build(self) -> Arc<Network> {
        Arc::new(self.builder.build())
    }
}

/// Hosts around one switch, 1 Gbit/s each.
pub(crate) fn star(hosts: u32) -> Arc<Network> {
    let join = |plan: Plan, n| plan.cable(&format!("h{n}"), "s1", Rate::from_gbit(1), Time::ZERO);
    (1..=hosts).fold(Plan::default(), join).build()
}

/// A ledger in which every queue that contracts may use has this budget.
pub(crate) fn ledger(network: &Arc<Network>, model: Model, budget: Time) -> Ledger {
    let budgets = network.links().map(|(_, link)| vec![budget; model.contract_queues(network, link)]).collect();
    Ledger::new(network.clone(), model, budgets).unwrap()
}

/// A route along nodes, in one queue of every port.
pub(crate) fn route(network: &Network, nodes: &str, queue: u8) -> Route {
    let names: Vec<&str> = nodes.split(' ').collect();
    let hop = |pair: &[&str]| Hop { link: network.find_link(&format!("{}->{}", pair[0], pair[1])).unwrap(), queue };
    Route { hops: names.windows(2).map(hop).collect() }
}

/// A contract's terms.
pub(crate) fn demand(rate: Rate, burst: u64) -> BucketDemand {
    BucketDemand { rate, burst: Bytes::new(burst), max_frame: None }
}
