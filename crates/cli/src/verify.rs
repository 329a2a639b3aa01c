//! What `verify` puts to the test: everything that a session has admitted, or that a plan says.

mod plan;

pub(crate) use plan::read as read_plan;

use std::sync::Arc;

use wayleave_contracts::WireOverhead;
use wayleave_ledger::{BestEffort, Model};
use wayleave_scenarios::SharedService;
use wayleave_schemes::standing::{self, Held, Standing};
use wayleave_topology::{FlowId, Hop, Link, LinkId, Network, Route};
use wayleave_units::{Bytes, Time};
use wayleave_verify::{Background, Claim, Duplication, Promise, Protected};

use crate::session::Session;

/// Everything that a session promises.
pub(crate) fn of_session(session: &Session) -> Claim {
    let network = &session.network;
    let delays: Vec<Vec<Option<Time>>> = session.ledger().map_or_else(Vec::new, |ledger| {
        let of = |(link, _)| ledger.report(link).iter().map(|report| report.delay_bound()).collect();
        network.links().map(of).collect()
    });
    let (mut promises, mut protected) = (Vec::new(), Vec::new());
    for flows in session.admitted() {
        let first = promises.len();
        let held = flows.into_iter().filter_map(|flow| Some((flow, session.scheme.held(flow)?)));
        promises.extend(held.map(|(flow, held)| promise(session, flow, held, &delays)));
        protected.extend(together(first..promises.len()));
    }
    let services = services(session);
    // What shares a service has no queue of its own: nothing without a contract is let in.
    let best_effort = if services.is_empty() { session.model.best_effort } else { BestEffort::Dropped };
    let background = background(network, best_effort, |link| session.model.largest_frame(link));
    Claim { network: network.clone(), background, promises, protected, services }
}

/// Several routes carry the same packets.
fn together(routes: std::ops::Range<usize>) -> Option<Protected> {
    (routes.len() > 1).then(|| Protected { routes: routes.collect(), duplication: Duplication::On })
}

/// Switches that the scheme takes for one shared service each (Loko).
fn services(session: &Session) -> Vec<SharedService> {
    let services = session.scheme.shared_services().into_iter();
    let shared = |service: standing::SharedService| SharedService {
        switch: service.switch,
        rate: service.rate,
        processing: service.latency,
        buffer: service.buffer,
    };
    services.map(shared).collect()
}

fn promise(session: &Session, flow: FlowId, held: Held<'_>, delays: &[Vec<Option<Time>>]) -> Promise {
    let Held { route, demand, released, .. } = held;
    let wait = |hop: &Hop| *delays.get(hop.link.index())?.get(usize::from(hop.queue))?;
    let waits: Option<Time> = route.hops.iter().map(wait).sum();
    Promise {
        name: session.route_name(flow),
        route: route.clone(),
        rate: demand.rate,
        burst: demand.burst,
        frame: frame(route, demand.max_frame, |link| session.model.largest_frame(session.network.link(link))),
        // Packets are watched from the shaper's release on.
        bound: released,
        today: waits.map(|waits| waits + constant(&session.network, route)),
    }
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
