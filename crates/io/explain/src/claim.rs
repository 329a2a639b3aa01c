//! Promises of a scheme in the form of the independent calculator (`wayleave-recheck`).

use wayleave_ledger::{
    HoseCharge as Charge, JitterModel, Ledger, PathSpread, QueueBounds, ReservedShare, Residual, Shaping,
};
use wayleave_recheck::{
    Claim, ClaimedQueue, HeldShare, HoseCharge, JitterTerm, PacketiserTerm, PromisedFlow, PromisedShare, ShareTimes,
    StatedCertainty,
};
use wayleave_scheme_api::{Admission as _, Certainty};
use wayleave_schemes::admitted::AdmittedSet;
use wayleave_schemes::placement::Placement;
use wayleave_topology::{FlowId, NodeKind, ShareId};
use wayleave_units::{Bytes, Time};

use crate::Context;
use crate::sentences::route_name;

/// Everything that the ledger promises; `None` for schemes that reserve no queues.
pub fn claim<'a>(context: &Context<'a>) -> Option<Claim<'a>> {
    let placement = context.scheme.queues()?;
    let (ledger, network) = (placement.ledger(), context.network);
    let links = || network.links().map(|(id, _)| id);
    let claimed = |bounds: QueueBounds| ClaimedQueue {
        link: bounds.link,
        queue: bounds.queue,
        // Without a bound no figure can be claimed; the calculator reports this.
        delay: bounds.delay.unwrap_or(Time::ZERO),
        backlog: bounds.backlog.unwrap_or(Bytes::ZERO),
    };
    let (mut flows, mut disjoint) = (Vec::new(), Vec::new());
    for flow in context.scheme.flows() {
        let routes = context.scheme.routes_of(flow);
        if routes.first() != Some(&flow) {
            continue;
        }
        let first = flows.len();
        let named = routes.into_iter().enumerate();
        flows.extend(named.filter_map(|(route, flow)| {
            promise(context, placement, flow, route_name(context.names.name_of(flow), route))
        }));
        disjoint.extend((flows.len() - first > 1).then(|| (first..flows.len()).collect()));
    }
    Some(Claim {
        network,
        budgets: links().map(|link| ledger.budgets(link).collect()).collect(),
        max_frame: links().map(|link| ledger.largest_frame(link)).collect(),
        packetiser: PacketiserTerm::Subtracted,
        jitter: match context.model.jitter {
            JitterModel::Ordered => JitterTerm::Ordered,
            JitterModel::Any => JitterTerm::Any,
        },
        shaping: context.model.shaping == Shaping::InputLinks,
        flows,
        disjoint,
        claimed_queues: links().flat_map(|link| ledger.bounds(link)).map(claimed).collect(),
        exact_claims: context.model.residual == Residual::Full,
    })
}

/// Returns the promises to classes below the latency queues; none if a scheme holds no shares.
pub fn claimed_shares(context: &Context<'_>) -> Vec<PromisedShare> {
    let Some(ledger) = context.scheme.queues().map(Placement::ledger) else { return Vec::new() };
    let promised = ledger.shares().filter(|&(id, _)| context.names.is_promised_share(id));
    promised.filter_map(|(id, share)| promised_share(context, id, share)).collect()
}

/// Returns the promise of one share.
pub fn promised_share(context: &Context<'_>, id: ShareId, share: &ReservedShare) -> Option<PromisedShare> {
    let network = context.network;
    let promised = || {
        let (min, held) = match share {
            ReservedShare::Pair { min, route, .. } => {
                let (first, last) = (route.hops.first()?, route.hops.last()?);
                let ends = (network.link(first.link).from, network.link(last.link).to);
                let is_host = |node| network.node(node).kind == NodeKind::Host;
                let held = match &route.hops[..] {
                    // Of policies: a minimum of a link alone.
                    [only] if !(is_host(ends.0) && is_host(ends.1)) => HeldShare::Link(only.link),
                    _ => HeldShare::Pair(ends.0, ends.1, route.clone()),
                };
                (*min, held)
            }
            ReservedShare::Hose { min, members, spread, .. } => {
                let every_path = context.ledger().and_then(Ledger::hose_charge) == Some(Charge::EveryPath);
                let charge = match spread {
                    PathSpread::AllPaths => HoseCharge::EvenSplits,
                    PathSpread::OnePath if every_path => HoseCharge::EveryPath,
                    PathSpread::OnePath => HoseCharge::ChosenPaths,
                };
                (*min, HeldShare::Hose { members: members.clone(), charge })
            }
            ReservedShare::Objective { weight, members } => (*weight, HeldShare::Objective(members.clone())),
        };
        let name = context.names.name_of_share(id).to_owned();
        let there_within = context.scheme.share_bound(id);
        let certainty = context.scheme.certainty(id).map(|certainty| match certainty {
            Certainty::Proven => StatedCertainty::Proven,
            Certainty::Measured => StatedCertainty::Measured,
        });
        Some(PromisedShare { name, min, held, there_within, certainty })
    };
    promised()
}

/// Returns the figures that times of minima depend on; `None` if a scheme holds no shares.
pub fn share_times(context: &Context<'_>) -> Option<ShareTimes> {
    let token_period = context.scheme.token_period()?;
    let ledger = context.scheme.queues().map(Placement::ledger)?;
    let links = || context.network.links().map(|(id, _)| id);
    let budgets = links().map(|link| ledger.share_budget(link).unwrap_or(Time::ZERO)).collect();
    Some(ShareTimes { budgets, token_period })
}

fn promise(context: &Context<'_>, placement: &Placement, flow: FlowId, name: String) -> Option<PromisedFlow> {
    let reservation = placement.ledger().flow(flow)?;
    let (first, last) = (reservation.route.hops.first()?, reservation.route.hops.last()?);
    Some(PromisedFlow {
        name,
        from: context.network.link(first.link).from,
        to: context.network.link(last.link).to,
        route: reservation.route.clone(),
        covered: 0,
        rate: reservation.demand.rate,
        burst: reservation.demand.burst,
        deadline: placement.deadline(flow)?,
        promised_bound: placement.bound(&reservation.route),
    })
}
