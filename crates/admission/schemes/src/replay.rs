//! Replay of earlier decisions: every route is checked, and none is searched for.
//!
//! The content of a ledger depends on the flows alone, not on their order of arrival. The decisions of a list
//! therefore give the complete state of a scheme with queues after the list. The price is a check for each queue of
//! each route.

use wayleave_scheme_api::{Decision, Move, Refusal, Request};
use wayleave_topology::{FlowId, Route, RouteError};
use wayleave_units::Time;

use crate::placement::Placement;
use crate::protection;
use crate::routing::RouteQuery;

/// An earlier decision that admits a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlannedDecision {
    /// The admitted flows that were moved, in their order.
    pub moved: Vec<PlannedMove>,
    /// The routes: one, or one for each copy of a protected request, the longest first.
    pub routes: Vec<Route>,
    /// Promised bound.
    pub bound: Time,
}

/// A flow that was moved to make room.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlannedMove {
    /// The flow.
    pub flow: FlowId,
    /// Its old route.
    pub from: Route,
    /// Its new route.
    pub to: Route,
}

/// Reason why a stated decision cannot have been made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReplayError {
    /// There are more or fewer routes than were asked for.
    Routes {
        /// Number of stated routes.
        stated: usize,
        /// Number of requested routes.
        asked: u8,
    },
    /// The request defines the route, and this is another.
    OtherRoute,
    /// The hops are no route between the ends of the request.
    NoRoute(RouteError),
    /// The route does not let the request in.
    Refused(Refusal),
    /// The route has another bound here.
    Bound {
        /// Stated bound.
        stated: Time,
        /// Bound computed here.
        here: Time,
    },
    /// A flow that is stated as moved is not on the stated old route, or may not be moved, or does not fit on the new
    /// route.
    Move(FlowId),
}

impl Placement {
    /// Reserves the routes of a stated decision, after checking it; refused requests have no stated decision. After a
    /// misfit the placement may hold a part of the decision, and must be discarded.
    ///
    /// # Errors
    /// Reason why it cannot have been decided so.
    pub fn decide_as_stated(&mut self, request: &Request, stated: &PlannedDecision) -> Result<Decision, ReplayError> {
        let (count, asked) = (stated.routes.len(), request.protection);
        if count != usize::from(asked.max(1)) {
            return Err(ReplayError::Routes { stated: count, asked });
        }
        let network = self.network().clone();
        for route in &stated.routes {
            route.validate(&network, request.from, request.to).map_err(ReplayError::NoRoute)?;
        }
        let moved = stated.moved.iter().map(|one| self.move_as_stated(one)).collect::<Result<Vec<Move>, _>>()?;
        let decision = match stated.routes.as_slice() {
            [only] if request.route.as_ref().is_some_and(|pinned| pinned != only) => {
                return Err(ReplayError::OtherRoute);
            }
            [only] => {
                let found = self.check(&RouteQuery::of(request), only).map_err(ReplayError::Refused)?;
                self.reserve(request, found)
            }
            routes => {
                let copies = protection::along(self, request, routes).map_err(ReplayError::Refused)?;
                copies.decide(self).ok_or(ReplayError::Refused(Refusal::Disconnected))?
            }
        };
        if decision.bound != stated.bound {
            return Err(ReplayError::Bound { stated: stated.bound, here: decision.bound });
        }
        Ok(Decision { moved, ..decision })
    }

    fn move_as_stated(&mut self, stated: &PlannedMove) -> Result<Move, ReplayError> {
        let flow = stated.flow;
        let is_there = self.ledger().flow(flow).is_some_and(|held| held.route == stated.from);
        let query = self.query_of(flow).filter(|_| is_there && self.may_move(flow)).ok_or(ReplayError::Move(flow))?;
        stated.to.validate(self.network(), query.from, query.to).map_err(ReplayError::NoRoute)?;
        let found = self.check(&query, &stated.to).map_err(ReplayError::Refused)?;
        self.move_to(flow, found.route).map(Move::from).ok_or(ReplayError::Move(flow))
    }
}
