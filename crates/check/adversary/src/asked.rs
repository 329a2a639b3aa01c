//! Flows of a statement, as the recheck asks for them.

use wayleave_recheck::{Claim as Asked, JitterTerm, PacketiserTerm, PromisedFlow};
use wayleave_scenarios::PacketOrder;
use wayleave_topology::{Network, Route};
use wayleave_units::Time;

use crate::bucket::AttackBucket;
use crate::reservations::ContractLocation;
use crate::statement::{Admitted, Exactness, Lines, ModelAccounting, Statement};

/// A contract's name, with the number of its route if it is a further one.
pub(crate) fn route_name(contract: &str, route: usize) -> String {
    if route == 0 { contract.to_owned() } else { format!("{contract}, route {}", route + 1) }
}

/// Returns the bucket that counts for a contract: the reserved one, or the requested one if there is no reservation.
pub(crate) fn bucket(counting: &ModelAccounting, admitted: &Admitted) -> AttackBucket {
    admitted.reserved.or(counting.on_the_wire(&admitted.asked))
}

/// One flow of a place, as it is derived.
pub(crate) fn flow(statement: &Statement, place: &ContractLocation<'_>, number: usize, route: &Route) -> PromisedFlow {
    let admitted = place.admitted;
    let AttackBucket { rate, burst } = bucket(&statement.counting, admitted);
    // A flow that has moved was promised to be as fast as before.
    let promised = admitted.routes.get(number).or(admitted.routes.first());
    let is_moved = promised.is_none_or(|stated| stated.route != *route);
    let bound = constants(&statement.network, route).checked_add(budgets(statement, route)).unwrap_or(Time::MAX);
    PromisedFlow {
        name: match place.held_until {
            None => route_name(&admitted.name, number),
            Some(_) => format!("{} (released, and still held)", route_name(&admitted.name, number)),
        },
        from: admitted.from,
        to: admitted.to,
        route: route.clone(),
        covered: 0,
        rate,
        burst,
        deadline: admitted.asked.deadline,
        promised_bound: promised.filter(|_| !is_moved).map_or(bound, |stated| stated.bound),
    }
}

/// Propagation, and processing of the source and of every switch; nothing for links that are not there.
pub(crate) fn constants(network: &Network, route: &Route) -> Time {
    let known = route.hops.iter().filter(|hop| hop.link.index() < network.links().len());
    let links = known.map(|hop| network.link(hop.link));
    links.map(|link| link.propagation + network.node(link.from).processing).sum()
}

/// Returns the stated maximum delay of a route's queues.
pub(crate) fn budgets(statement: &Statement, route: &Route) -> Time {
    let claimed = |hop: &wayleave_topology::Hop| Some(statement.queue(hop.link, hop.queue)?.budget);
    route.hops.iter().filter_map(claimed).sum()
}

/// Flows on the network of a statement, with its budgets.
pub(crate) fn asked(statement: &Statement, flows: Vec<PromisedFlow>) -> Asked<'_> {
    let network = &statement.network;
    let mut budgets = vec![Vec::new(); network.links().len()];
    for claimed in &statement.queues {
        // Queues of a link are stated in order; `check_queues` finds violations of the order.
        if budgets[claimed.link.index()].len() == usize::from(claimed.queue) {
            budgets[claimed.link.index()].push(claimed.budget);
        }
    }
    Asked {
        network,
        budgets,
        max_frame: network.links().map(|(_, link)| statement.counting.largest_frame(link.mtu)).collect(),
        packetiser: PacketiserTerm::Subtracted,
        jitter: match statement.counting.order {
            PacketOrder::Kept => JitterTerm::Ordered,
            PacketOrder::Free => JitterTerm::Any,
        },
        shaping: statement.counting.lines == Lines::Shape,
        flows,
        disjoint: Vec::new(),
        claimed_queues: Vec::new(),
        exact_claims: statement.counting.figures == Exactness::Exact,
    }
}
