//! What `verify` puts to the test: everything that a session has admitted, or that a plan says.

mod plan;

pub(crate) use plan::read as read_plan;

use std::sync::Arc;

use wayleave_contracts::WireOverhead;
use wayleave_ledger::{BestEffort, Ledger, Model};
use wayleave_topology::{FlowId, Link, LinkId, Network, Route};
use wayleave_units::{Bytes, Time};
use wayleave_verify::{Background, Claim, Duplication, Promise, Protected};

use crate::session::Session;

/// Everything that the ledger promises.
pub(crate) fn of_session(session: &Session) -> Claim {
    let ledger = session.ledger();
    let network = &session.network;
    let delays: Vec<Vec<Option<Time>>> = network
        .links()
        .map(|(link, _)| ledger.report(link).iter().map(|report| report.delay_bound()).collect())
        .collect();
    let (mut promises, mut protected) = (Vec::new(), Vec::new());
    for flows in session.admitted() {
        let first = promises.len();
        promises.extend(flows.into_iter().filter_map(|flow| promise(session, ledger, flow, &delays)));
        protected.extend(together(first..promises.len()));
    }
    let largest = |link: &Link| ledger.model().largest_frame(link);
    let background = background(network, ledger.model().best_effort, largest);
    Claim { network: network.clone(), background, promises, protected }
}

/// Several routes carry the same packets.
fn together(routes: std::ops::Range<usize>) -> Option<Protected> {
    (routes.len() > 1).then(|| Protected { routes: routes.collect(), duplication: Duplication::On })
}

fn promise(session: &Session, ledger: &Ledger, flow: FlowId, delays: &[Vec<Option<Time>>]) -> Option<Promise> {
    let reservation = ledger.flow(flow)?;
    let (route, demand) = (&reservation.route, &reservation.demand);
    let waits = route.hops.iter().map(|hop| *delays.get(hop.link.index())?.get(usize::from(hop.queue))?);
    let waits: Option<Time> = waits.sum();
    Some(Promise {
        name: session.route_name(flow),
        route: route.clone(),
        rate: demand.rate,
        burst: demand.burst,
        frame: frame(route, demand.max_frame, |link| ledger.largest_frame(link)),
        bound: session.scheme.placement().bound(route),
        today: waits.map(|waits| waits + constant(&session.network, route)),
    })
}

/// The largest frame of a flow: what it says itself, and what every link on the way carries.
fn frame(route: &Route, own: Option<Bytes>, largest: impl Fn(LinkId) -> Bytes) -> Bytes {
    let carried = route.hops.iter().map(|hop| largest(hop.link));
    carried.chain(own).min().unwrap_or(Bytes::ZERO)
}

/// What no queue is to blame for: propagation, and processing of the source and of every switch.
fn constant(network: &Network, route: &Route) -> Time {
    let links = route.hops.iter().map(|hop| network.link(hop.link));
    links.map(|link| link.propagation + network.node(link.from).processing).sum()
}

fn background(network: &Arc<Network>, best_effort: BestEffort, largest: impl Fn(&Link) -> Bytes) -> Background {
    match best_effort {
        BestEffort::LowestQueue => {
            Background::Saturating { largest: network.links().map(|(_, link)| largest(link)).collect() }
        }
        BestEffort::Dropped => Background::Dropped,
    }
}

/// The largest frame of a link, where a plan says what its model counts.
fn largest_of(max_frame: Option<u64>, tags: Option<u32>, link: &Link) -> Bytes {
    let overhead = tags.map_or(WireOverhead::Ignored, |tags| WireOverhead::Counted { tags });
    Model { max_frame: max_frame.map(Bytes::new), overhead, ..Model::default() }.largest_frame(link)
}
