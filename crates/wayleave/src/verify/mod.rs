//! An admitted set under the worst traffic that its contracts allow, packet by packet: everything that a session has
//! admitted, or that a plan says.

mod output;
mod plan;

use std::sync::Arc;

use wayleave_contracts::WireOverhead;
use wayleave_ledger::{BestEffort, Jitter, Model};
use wayleave_scenarios::SharedService;
use wayleave_schemes::standing::{self, Held, Standing};
use wayleave_topology::{FlowId, Hop, Link, LinkId, Network, Route};
use wayleave_units::{Bytes, Time};
use wayleave_verify::{Attack, Background, Claim, Duplication, Effort, Fault, Order, Promise, Protected, Report};

use crate::error::Error;
use crate::progress::{Cancel, Progress, Silent, Step};
use crate::session::Session;

pub use plan::read as read_plan;

/// How promises are put to the test.
#[derive(Clone, Debug)]
pub struct VerifyOptions {
    /// How hard to try; its seed decides every random number.
    pub effort: Effort,
    /// The contract that the search for worse phases is for; without one, the contract that came closest to its limit.
    pub flow: Option<String>,
    /// This attack only.
    pub replay: Option<Attack>,
    /// What is broken on purpose after admission, to show that the check can fail.
    pub fault: Option<Fault>,
    /// The words that a command begins with which makes an attack again; `--replay ATTACK` is added.
    pub command: Vec<String>,
}

impl Default for VerifyOptions {
    fn default() -> Self {
        let command = ["wayleave", "verify"].map(str::to_owned).to_vec();
        Self { effort: Effort::USUAL, flow: None, replay: None, fault: None, command }
    }
}

/// A verification, and what it is about.
#[derive(Clone, Debug)]
pub struct Verified {
    /// What was promised, with what was broken on purpose.
    pub claim: Claim,
    /// What was seen.
    pub report: Report,
    /// How hard was tried.
    pub effort: Effort,
    /// The number of the promise that the search was for, if a contract was named.
    pub chosen: Option<usize>,
    /// What was broken on purpose.
    pub fault: Option<Fault>,
    command: Vec<String>,
}

/// Replays promises packet by packet with the worst traffic that the contracts allow.
///
/// # Errors
/// If a contract is named that is not among the promises, or the attack does not fit them.
pub fn verify(claim: &Claim, options: &VerifyOptions) -> Result<Verified, Error> {
    verify_watched(claim, options, &mut Silent, &Cancel::default())
}

/// The same for somebody who wants to know how far it has come, or to stop it: what was seen until then is returned.
///
/// # Errors
/// As for [`verify()`].
pub fn verify_watched(
    claim: &Claim,
    options: &VerifyOptions,
    progress: &mut dyn Progress,
    cancel: &Cancel,
) -> Result<Verified, Error> {
    let claim = match options.fault {
        None => claim.clone(),
        Some(fault) => {
            let broken = claim.broken_by(fault);
            broken.map_err(|error| Error::Internal(format!("the network cannot be rebuilt: {error}")))?
        }
    };
    let chosen = options.flow.as_ref().map(|name| number_of(&claim, name)).transpose()?;
    let effort = options.effort;
    let mut done = 0;
    let step = |_, total: u64| {
        done += 1;
        progress.step(Step::Items { done, total });
        !cancel.is_cancelled()
    };
    let report = match &options.replay {
        Some(attack) => wayleave_verify::replay(&claim, &effort, attack),
        None => wayleave_verify::verify(&claim, &effort, chosen, step),
    };
    let report = report.map_err(|error| Error::Usage(error.to_string()))?;
    Ok(Verified { claim, report, effort, chosen, fault: options.fault, command: options.command.clone() })
}

/// The number of the promise of a contract.
fn number_of(claim: &Claim, name: &str) -> Result<usize, Error> {
    if let Some(number) = claim.promises.iter().position(|promise| promise.name == name) {
        return Ok(number);
    }
    let names = claim.promises.iter().map(|promise| promise.name.as_str());
    let hint = wayleave_explain::sentences::nearest(name, names).map(|near| format!("; did you mean \"{near}\"?"));
    Err(Error::Usage(format!("no contract \"{name}\" is admitted{}", hint.unwrap_or_default())))
}

/// Everything that a session promises.
pub fn of_session(session: &Session) -> Claim {
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
    let order = order_of(session.model.jitter);
    Claim { network: network.clone(), background, promises, protected, order, services }
}

/// Whether nodes keep the order of packets, as a model has it.
fn order_of(jitter: Jitter) -> Order {
    match jitter {
        Jitter::Ordered => Order::Kept,
        Jitter::Any => Order::Free,
    }
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
