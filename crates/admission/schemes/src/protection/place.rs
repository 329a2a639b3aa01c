//! Finding and reserving the routes of a protected request: all of them, or none.

use std::cmp::Reverse;
use std::sync::Arc;

use wayleave_scheme_api::{Decision, DisjointRoute, Handover, Move, Refusal, Request};
use wayleave_topology::{FlowId, LinkId, Route};
use wayleave_units::Bytes;

use super::disjoint::{self, Disjoint};
use super::{Detached, MAX_CHOICES};
use crate::placement::{MovedFlow, Placement};
use crate::reservations::{PathOutcome, best_of_path};
use crate::routing::{FoundRoute, RouteQuery};

/// Route of a request or of one of its copies, and the flows moved for it, with their old reservations.
pub(crate) struct RouteWithMoves {
    pub(crate) found: FoundRoute,
    pub(crate) moved: Vec<MovedFlow>,
}

/// Copies that are reserved already.
pub(crate) struct Copies {
    placed: Vec<Placed>,
}

struct Placed {
    flow: FlowId,
    found: FoundRoute,
    moved: Vec<MovedFlow>,
}

impl Copies {
    fn add(&mut self, placement: &mut Placement, request: &Request, RouteWithMoves { found, moved }: RouteWithMoves) {
        let flow = placement.reserve_copy(request, found.route.clone());
        self.placed.push(Placed { flow, found, moved });
    }

    /// Takes everything back, last first.
    pub(crate) fn undo(self, placement: &mut Placement) {
        for placed in self.placed.into_iter().rev() {
            placement.release(placed.flow);
            placement.undo_moves(placed.moved);
        }
    }

    /// They belong together from now on.
    pub(crate) fn decide(self, placement: &mut Placement) -> Option<Decision> {
        let mut moved = Vec::new();
        let mut routes = Vec::new();
        for placed in self.placed {
            moved.extend(placed.moved.into_iter().map(Move::from));
            routes.push(DisjointRoute { flow: placed.flow, route: placed.found.route, bound: placed.found.delay });
        }
        // The promise is that of the longest route, so it comes first.
        routes.sort_by_key(|copy| Reverse(copy.bound));
        placement.join(&routes.iter().map(|copy| copy.flow).collect::<Vec<_>>());
        limit_frames(placement, &routes);
        let bound = routes.iter().map(|copy| copy.bound).max()?;
        let mut routes = routes.into_iter();
        let DisjointRoute { flow, route, .. } = routes.next()?;
        Some(Decision { flow, route, copies: routes.collect(), bound, moved, handover: Handover::New })
    }
}

/// Limits frames if routes carry different sizes: frames larger than the smallest limit would use some routes only.
/// They are not promised, and their host drops them.
fn limit_frames(placement: &mut Placement, routes: &[DisjointRoute]) {
    let ledger = placement.ledger();
    let narrowest = |copy: &DisjointRoute| copy.route.hops.iter().map(|hop| ledger.network().link(hop.link).mtu).min();
    let carried: Vec<Bytes> = routes.iter().filter_map(narrowest).collect();
    let (Some(&least), Some(&most)) = (carried.iter().min(), carried.iter().max()) else { return };
    if least == most {
        return;
    }
    // A packet is charged for the longest of its stacks, and for the tag with its sequence number.
    let switches = routes.iter().map(|copy| copy.route.hops.len().saturating_sub(1)).max().unwrap_or(0);
    let limit = ledger.model().frame_with_tags(least, switches as u32 + 1);
    for copy in routes {
        placement.limit_frame(copy.flow, limit);
    }
}

/// Returns the maximum number of switches of a protected route, if one with `links` links exceeds it. A copy carries
/// one tag more than its switches: that of its sequence number.
fn too_many_tags(placement: &Placement, links: usize) -> Option<u32> {
    let most = placement.ledger().model().max_switches()?.saturating_sub(1);
    (links > most as usize + 1).then_some(most)
}

/// Finds routes as in the paper: a route, then another one without the elements of the first, and so on. On failure
/// the state is unchanged. The error is the number of routes that were found, one of too many switches included.
pub(crate) fn one_by_one(
    placement: &mut Placement,
    request: &Request,
    mut find: impl FnMut(&mut Placement, &RouteQuery) -> Option<RouteWithMoves>,
) -> Result<Copies, usize> {
    let network = placement.network().clone();
    let detached = Detached::of(&network, request.from, request.to);
    let mut closed = vec![false; network.links().len()];
    let mut copies = Copies { placed: Vec::new() };
    for number in 0..usize::from(request.protection) {
        let closed_now = (number > 0).then(|| Arc::from(closed.as_slice()));
        let query = RouteQuery { closed: closed_now, ..RouteQuery::of(request) };
        // On one switch the second route would be the first.
        let room = if detached.is_hopeless && number > 0 { None } else { find(placement, &query) };
        let Some(room) = room else {
            copies.undo(placement);
            return Err(number);
        };
        if too_many_tags(placement, room.found.route.hops.len()).is_some() {
            placement.undo_moves(room.moved);
            copies.undo(placement);
            return Err(number + 1);
        }
        detached.close(&network, &room.found.route, &mut closed);
        copies.add(placement, request, room);
    }
    Ok(copies)
}

/// Chooses all paths together on the physical graph, then the best queues of each.
///
/// # Errors
/// If there are too few paths, or else the obstacle on the first choice; the state is unchanged.
pub(crate) fn along_disjoint_paths(placement: &mut Placement, request: &Request) -> Result<Copies, Refusal> {
    let network = placement.network().clone();
    let detached = Detached::of(&network, request.from, request.to);
    let query = RouteQuery::of(request);
    let mut excluded = vec![false; network.links().len()];
    let mut reason = None;
    for _ in 0..MAX_CHOICES {
        let weight = |link: LinkId| {
            let is_usable = !excluded[link.index()] && query.carries(placement.ledger(), link);
            placement.least_through(link).filter(|_| is_usable)
        };
        let ends = (request.from, request.to);
        let paths = match disjoint::find(&network, ends, &detached, request.protection, weight) {
            Disjoint::Paths(paths) => paths,
            Disjoint::Cut { most, cut } => {
                let too_few = Refusal::TooFewDisjoint { asked: request.protection, most, cut };
                return Err(reason.unwrap_or(too_few));
            }
        };
        let (copies, stopped) = fill(placement, request, &query, &paths);
        let Some(refusal) = stopped else { return Ok(copies) };
        let number = copies.placed.len() as u8 + 1;
        copies.undo(placement);
        let is_over = !exclude(&refusal, &mut excluded);
        reason.get_or_insert_with(|| Refusal::Copy {
            copy: number,
            of: request.protection,
            refusal: Box::new(refusal),
        });
        if is_over {
            break;
        }
    }
    Err(reason.unwrap_or(Refusal::Disconnected))
}

/// Reserves routes that were chosen before, in order, each if it has room.
///
/// # Errors
/// The promises that the first route without room would break. Earlier routes stay reserved.
pub(crate) fn along(placement: &mut Placement, request: &Request, routes: &[Route]) -> Result<Copies, Refusal> {
    let query = RouteQuery::of(request);
    let mut copies = Copies { placed: Vec::new() };
    for route in routes {
        let found = placement.check(&query, route)?;
        copies.add(placement, request, RouteWithMoves { found, moved: Vec::new() });
    }
    Ok(copies)
}

/// Reserves path after path, until one has no room.
fn fill(
    placement: &mut Placement,
    request: &Request,
    query: &RouteQuery,
    paths: &[Vec<LinkId>],
) -> (Copies, Option<Refusal>) {
    let mut copies = Copies { placed: Vec::new() };
    for path in paths {
        match on_path(placement, query, path) {
            Ok(found) => copies.add(placement, request, RouteWithMoves { found, moved: Vec::new() }),
            Err(refusal) => return (copies, Some(refusal)),
        }
    }
    (copies, None)
}

/// Returns the best queues of a path, or the obstacle there.
fn on_path(placement: &Placement, query: &RouteQuery, path: &[LinkId]) -> Result<FoundRoute, Refusal> {
    if let Some(limit) = too_many_tags(placement, path.len()) {
        return Err(Refusal::TooManySwitches { limit });
    }
    match best_of_path(placement, query, path) {
        PathOutcome::Open { route, bound } => Ok(FoundRoute { route, delay: bound }),
        PathOutcome::Blocked { route, bound, bindings } => {
            let mut bindings = bindings.into_iter();
            Err(match bindings.next() {
                Some(binding) => Refusal::Blocked { route, binding, others: bindings.collect() },
                None => Refusal::TooSlow { route, bound, deadline: query.deadline },
            })
        }
        PathOutcome::TooSlow { fastest } => {
            Err(Refusal::Deadline { fastest, least: placement.least_possible(query), deadline: query.deadline })
        }
        PathOutcome::TooManySwitches { limit } => Err(Refusal::TooManySwitches { limit }),
        PathOutcome::NoQueue { .. } | PathOutcome::FrameTooLarge { .. } => Err(Refusal::Disconnected),
    }
}

/// Leaves out the links that let the flow in nowhere; false if there is nothing to be learnt.
fn exclude(refusal: &Refusal, excluded: &mut [bool]) -> bool {
    let Refusal::Blocked { binding, others, .. } = refusal else { return false };
    for binding in std::iter::once(binding).chain(others) {
        excluded[binding.link().index()] = true;
    }
    true
}
