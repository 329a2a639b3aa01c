//! The admission role: a request becomes a placement or a refusal.
//!
//! A plain function over the present reservations, without time: it runs with the ledger, in the controller or in a
//! plan. Chameleon (CoNEXT 2020, sections 3 and 4.1.3, Fig. 6), Silo and QJump as its baselines (5.1), and Loko
//! (CoNEXT 2019, step 3: per-switch usage against an allocation) play it. The controller passes the consequences of a
//! decision, a bucket and a route, to the hosts as messages of the [`Host`](crate::Host) role.

use alloc::vec::Vec;

use wayleave_topology::{FlowId, NodeId, Route, ShareId};
use wayleave_units::{Bytes, Rate, Time};

use crate::refusal::Refusal;
use crate::share::{Certainty, ShareDecision, ShareRequest};

/// Request to an admission scheme: a token bucket in wire bytes, with a deadline.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// The sending host.
    pub from: NodeId,
    /// The receiving host.
    pub to: NodeId,
    /// Long-term rate on the wire.
    pub rate: Rate,
    /// Burst on the wire.
    pub burst: Bytes,
    /// No packet may take longer.
    pub deadline: Time,
    /// The largest frame on the wire, where it is known: links that cannot carry it are not used.
    pub max_frame: Option<Bytes>,
    /// The only route that will do, if it is pinned.
    pub route: Option<Route>,
    /// Over how many physically disjoint routes every packet is sent at once; 1 is a single route, without protection.
    pub protection: u8,
}

/// An admitted request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decision {
    /// Its reservation.
    pub flow: FlowId,
    /// Its route.
    pub route: Route,
    /// The further routes of a protected request, disjoint from the first and from one another where that is possible:
    /// every packet is sent over all of them. Each has a reservation of its own, and none takes longer than the first.
    pub copies: Vec<DisjointRoute>,
    /// No packet takes longer: the budgets of the route's queues and the constants of its links and nodes. Of several
    /// routes the first takes longest, and it counts, since the others may have failed.
    pub bound: Time,
    /// Flows that were moved to make room, in the order in which they have to be moved. A flow can be moved twice.
    pub moved: Vec<Move>,
    /// Transition of its sender from earlier terms to these, if it had any. The time at which a flow may start on its
    /// routes depends on the other traffic in flight, which the driver knows.
    pub handover: Handover,
}

/// Transition of a sender from earlier terms to new ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Handover {
    /// There were none.
    New,
    /// The new ones fit beside them: the old routes are left when the new ones are taken.
    Beside,
    /// The new ones fit only without them: the old routes are left first.
    Instead,
}

impl Handover {
    /// Time at which the old routes are left, counted from the decision, if the new ones are taken after `start`;
    /// `None` if there are no old routes.
    pub fn old_terms_end(self, start: Time) -> Option<Time> {
        match self {
            Self::New => None,
            Self::Beside => Some(start),
            Self::Instead => Some(Time::ZERO),
        }
    }
}

/// One of the further routes of a protected request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DisjointRoute {
    /// Its reservation.
    pub flow: FlowId,
    /// Route of this copy of every packet.
    pub route: Route,
    /// This copy takes no longer.
    pub bound: Time,
}

/// An admitted flow that changes its route.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Move {
    /// The flow.
    pub flow: FlowId,
    /// The route that it leaves.
    pub from: Route,
    /// The route that it takes.
    pub to: Route,
    /// Its place in the order of the route that it leaves: to take the move back is to put it there in its old order.
    pub placed: u64,
}

/// Admits, refuses, changes and releases: a plain function over what is reserved.
pub trait Admission {
    /// Admits the request, or returns the obstacle and leaves everything as it was.
    ///
    /// # Errors
    /// The binding constraint.
    fn admit(&mut self, request: &Request) -> Result<Decision, Refusal>;

    /// That decision for callers that do not ask for the reason of a refusal. Schemes for which the reason takes
    /// longer than the decision leave it out.
    fn try_admit(&mut self, request: &Request) -> Option<Decision> {
        self.admit(request).ok()
    }

    /// Ends a flow, with all its copies; its route, or `None` if there is no such flow.
    fn release(&mut self, flow: FlowId) -> Option<Route>;

    /// Gives a flow other terms (and another index), or returns the obstacle and leaves it with its own; `None` if
    /// there is no such flow.
    ///
    /// # Errors
    /// The binding constraint.
    fn change(&mut self, flow: FlowId, request: &Request) -> Option<Result<Decision, Refusal>>;

    /// Returns `true` if [`Admission::admit`] would admit the request now; leaves everything as it is.
    fn would_admit(&mut self, request: &Request) -> bool;

    /// Admits a share of the classes below the latency queues, or returns the obstacle and leaves everything as it
    /// was. Schemes for latency contracts alone refuse all.
    ///
    /// # Errors
    /// The binding constraint.
    fn admit_share(&mut self, request: &ShareRequest) -> Result<ShareDecision, Refusal> {
        let _ = request;
        Err(Refusal::OnlyLatency)
    }

    /// Ends a share; whether there was one.
    fn release_share(&mut self, share: ShareId) -> bool {
        let _ = share;
        false
    }

    /// Time after which the minimum of a share is available; `None` if there is no such share, or no time was asked
    /// for.
    fn share_bound(&self, share: ShareId) -> Option<Time> {
        let _ = share;
        None
    }

    /// Period in which hosts renew tokens, on which [`Admission::share_bound`] rests; `None` where no shares are
    /// admitted.
    fn token_period(&self) -> Option<Time> {
        None
    }

    /// Degree of certainty about a share as the network is now; `None` if there is no such share.
    fn certainty(&self, share: ShareId) -> Option<Certainty> {
        let _ = share;
        None
    }

    /// Checks that [`Admission::admit_share`] would admit the request now; leaves everything as it is.
    ///
    /// # Errors
    /// The binding constraint.
    fn would_admit_share(&self, request: &ShareRequest) -> Result<(), Refusal> {
        let _ = request;
        Err(Refusal::OnlyLatency)
    }
}
