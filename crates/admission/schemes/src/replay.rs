//! Decisions that were made before, put in place again: every route is checked where it goes, and none is searched for.
//!
//! What a ledger holds depends on the flows alone, not on how they got there. So whoever has the decisions of a list has everything that
//! is asked of a scheme with queues after the list, at the price of a check for each queue of each route.

use wayleave_scheme_api::{Decision, Move, Refusal, Request};
use wayleave_topology::{FlowId, Route, RouteError};
use wayleave_units::Time;

use crate::placement::Placement;
use crate::protection;
use crate::routing::Query;

/// A decision that admits a request, as somebody states it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlannedDecision {
    /// The admitted flows that were moved, in their order.
    pub moved: Vec<PlannedMove>,
    /// The routes: one, or one for each copy of a protected request, the longest first.
    pub routes: Vec<Route>,
    /// What was promised.
    pub bound: Time,
}

/// A flow that was moved to make room.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlannedMove {
    /// Which.
    pub flow: FlowId,
    /// Where it was.
    pub from: Route,
    /// Where it went.
    pub to: Route,
}

/// Why a stated decision cannot have been made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReplayError {
    /// There are more or fewer routes than were asked for.
    Routes {
        /// How many are stated.
        stated: usize,
        /// How many were asked for.
        asked: u8,
    },
    /// The request says which route, and this is another.
    OtherRoute,
    /// The hops are no route between the ends of the request.
    NoRoute(RouteError),
    /// The route does not let the request in.
    Refused(Refusal),
    /// The route has another bound here.
    Bound {
        /// What is stated.
        stated: Time,
        /// What it is here.
        here: Time,
    },
    /// A flow that is said to be moved is not where it is said to come from, or may not be moved, or may not go there.
    Move(FlowId),
}

impl Placement {
    /// Reserves what a stated decision says, after checking it; of refused requests nothing is stated. After a misfit the
    /// placement may hold a part of it, and is of no more use.
    ///
    /// # Errors
    /// Why it cannot have been decided so.
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
                let found = self.check(&Query::of(request), only).map_err(ReplayError::Refused)?;
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
