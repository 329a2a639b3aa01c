//! The scheme that decides, and which contract each of its flows belongs to.

use std::collections::{BTreeMap, BTreeSet};

use wayleave_ledger::{Ledger, Reservation, ReservedShare};
use wayleave_scheme_api::{Admission, Certainty, Decision, Refusal, Request, ShareDecision, ShareRequest};
use wayleave_schemes::admitted::AdmittedSet;
use wayleave_schemes::placement::{PlacedFlow, Placement};
use wayleave_schemes::registry::Scheme;
use wayleave_topology::{FlowId, Hop, LinkId, MAX_BUDGET, ShareId};
use wayleave_units::Time;

/// The owner of a flow that belongs to no contract.
pub(crate) const NO_OWNER: u64 = 0;

/// A scheme with the owners of its flows: the serial numbers of contracts.
pub(crate) struct SchemeLedger {
    scheme: Scheme,
    owners: Vec<u64>,
    share_owners: BTreeMap<ShareId, u64>,
    /// Shares of contracts that have ended, each held until this time, by the steady clock.
    left_shares: BTreeMap<ShareId, Time>,
}

/// State of a book, except what its scheme remembers of searches.
pub(crate) struct SchemeLedgerState {
    placed: PlacedFlow,
    owners: Vec<u64>,
    share_owners: BTreeMap<ShareId, u64>,
    left_shares: BTreeMap<ShareId, Time>,
}

/// Reservation of a contract, with the state that is needed to restore it.
#[derive(Clone, Debug)]
pub(crate) struct UndoReservation {
    /// One for each route, the longest first.
    pub(crate) reservations: Vec<Reservation>,
    pub(crate) deadline: Time,
    pub(crate) is_pinned: bool,
}

impl SchemeLedger {
    /// Around a scheme that keeps a ledger of queues; `None` for others.
    pub(crate) fn new(scheme: Scheme) -> Option<Self> {
        scheme.queues()?;
        Some(Self { scheme, owners: Vec::new(), share_owners: BTreeMap::new(), left_shares: BTreeMap::new() })
    }

    /// A copy of all that is held.
    pub(crate) fn held(&self) -> SchemeLedgerState {
        let (owners, share_owners) = (self.owners.clone(), self.share_owners.clone());
        SchemeLedgerState {
            placed: self.placement().placed(),
            owners,
            share_owners,
            left_shares: self.left_shares.clone(),
        }
    }

    /// Holds this, and nothing else.
    pub(crate) fn take_over(&mut self, held: SchemeLedgerState) {
        self.placement_mut().take_over(held.placed);
        (self.owners, self.share_owners, self.left_shares) = (held.owners, held.share_owners, held.left_shares);
    }

    pub(crate) fn scheme(&self) -> &Scheme {
        &self.scheme
    }

    pub(crate) fn scheme_mut(&mut self) -> &mut Scheme {
        &mut self.scheme
    }

    pub(crate) fn placement(&self) -> &Placement {
        let Some(placement) = self.scheme.queues() else { unreachable!("a book is made of nothing else") };
        placement
    }

    fn placement_mut(&mut self) -> &mut Placement {
        let Some(placement) = self.scheme.queues_mut() else { unreachable!("a book is made of nothing else") };
        placement
    }

    pub(crate) fn ledger(&self) -> &Ledger {
        self.placement().ledger()
    }

    pub(crate) fn admit(&mut self, request: &Request) -> Result<Decision, Refusal> {
        self.scheme.admit(request)
    }

    /// Takes back what nothing was decided after.
    pub(crate) fn take_back(&mut self, decision: &Decision) {
        self.placement_mut().take_back(decision);
    }

    pub(crate) fn release(&mut self, flow: FlowId) {
        self.scheme.release(flow);
    }

    /// Returns the reservation of a contract.
    pub(crate) fn reserved(&self, flow: FlowId, is_pinned: bool) -> Option<UndoReservation> {
        let placement = self.placement();
        let routes = placement.routes_of(flow);
        let reservations = routes.into_iter().filter_map(|flow| placement.ledger().flow(flow).cloned()).collect();
        Some(UndoReservation { reservations, deadline: placement.deadline(flow)?, is_pinned })
    }

    /// Puts back what a contract had.
    pub(crate) fn put_back(&mut self, reserved: UndoReservation, owner: u64) -> Option<FlowId> {
        let flow = self.placement_mut().put_back(reserved.reservations, reserved.deadline, reserved.is_pinned)?;
        self.own(flow, owner);
        Some(flow)
    }

    /// The same if it still fits, links that are down included.
    pub(crate) fn put_back_if_it_fits(
        &mut self,
        reserved: UndoReservation,
        query: &Request,
        owner: u64,
    ) -> Option<FlowId> {
        let links = reserved.reservations.iter().flat_map(|one| one.route.hops.iter().map(|hop| hop.link));
        let closed: Vec<LinkId> = links.filter(|&link| self.ledger().is_closed(link)).collect();
        self.turn(&closed, false);
        let query = wayleave_schemes::routing::RouteQuery::of(query);
        let mut flows: Vec<FlowId> = Vec::new();
        // Each reservation is checked beside the previous ones, since several routes can share a host's link.
        let fits = reserved.reservations.iter().all(|reservation| {
            let fits = self.placement().check(&query, &reservation.route).is_ok();
            if fits {
                let alone = UndoReservation { reservations: vec![reservation.clone()], ..reserved };
                flows.extend(self.put_back(alone, NO_OWNER));
            }
            fits
        });
        flows.into_iter().rev().for_each(|flow| self.release(flow));
        self.turn(&closed, true);
        let links: Vec<LinkId> = reserved.reservations.iter().flat_map(Reservation::links).collect();
        let flow = if fits { self.put_back(reserved, owner) } else { None };
        // Hoses use other links again, which may not leave as much as was asked for with all of them.
        let breaks = |&link: &LinkId| !self.ledger().is_closed(link) && !self.ledger().keeps_shares(link);
        if flow.is_some() && links.iter().any(breaks) {
            flow.into_iter().for_each(|flow| self.release(flow));
            return None;
        }
        flow
    }

    /// Reserves the routes of pending releases, each from a hop on, as far as they use these links, if all of that fits beside everything else.
    pub(crate) fn hold<'a>(
        &mut self,
        left: impl Iterator<Item = (&'a Reservation, usize)>,
        links: &BTreeSet<LinkId>,
    ) -> Option<Vec<FlowId>> {
        let mut held = Vec::new();
        for (reservation, first) in left {
            let is_meant = |index: usize, hop: Hop| index >= first && links.contains(&hop.link);
            let Some(flows) = self.placement_mut().hold(reservation, is_meant) else {
                self.release_holds(held);
                return None;
            };
            held.extend(flows);
        }
        Some(held)
    }

    /// Takes back what [`Self::hold`] has reserved.
    pub(crate) fn release_holds(&mut self, held: Vec<FlowId>) {
        self.placement_mut().release_holds(held);
    }

    /// From now on the flows of a contract belong to this one.
    pub(crate) fn own(&mut self, flow: FlowId, owner: u64) {
        for flow in self.placement().routes_of(flow) {
            if self.owners.len() <= flow.index() {
                self.owners.resize(flow.index() + 1, NO_OWNER);
            }
            self.owners[flow.index()] = owner;
        }
    }

    /// The contract that a flow belongs to.
    pub(crate) fn owner(&self, flow: FlowId) -> u64 {
        self.owners.get(flow.index()).copied().unwrap_or(NO_OWNER)
    }

    pub(crate) fn admit_share(&mut self, request: &ShareRequest) -> Result<ShareDecision, Refusal> {
        self.scheme.admit_share(request)
    }

    /// Releases a share and returns it.
    pub(crate) fn release_share(&mut self, id: ShareId) -> Option<ReservedShare> {
        self.share_owners.remove(&id);
        let share = self.ledger().share(id).cloned();
        self.scheme.release_share(id);
        share
    }

    /// Marks the share of an ended contract as held until its last packets have left. Returns the time at which it is
    /// free, counted from `now`.
    pub(crate) fn leave_share(&mut self, id: ShareId, now: Time) -> Option<Time> {
        let drain = self.ledger().share_drain(self.ledger().share(id)?);
        let until = now + drain.min(MAX_BUDGET);
        self.share_owners.remove(&id);
        self.left_shares.insert(id, until);
        Some(until)
    }

    /// Shares of contracts that have ended, with the times until which they are held, by the steady clock.
    pub(crate) fn left_shares(&self) -> impl Iterator<Item = (ShareId, Time)> + '_ {
        self.left_shares.iter().map(|(&id, &until)| (id, until))
    }

    /// Frees the shares of ended contracts whose hold is over. Returns `true` if there were any.
    pub(crate) fn free_left_shares(&mut self, now: Time) -> bool {
        let over: Vec<ShareId> =
            self.left_shares.iter().filter(|&(_, &until)| until <= now).map(|(&id, _)| id).collect();
        for &id in &over {
            self.left_shares.remove(&id);
            self.scheme.release_share(id);
        }
        !over.is_empty()
    }

    /// Holds again what a contract held, without asking whether it fits.
    pub(crate) fn put_share_back(&mut self, share: ReservedShare, owner: u64) -> Option<ShareId> {
        let id = self.placement_mut().put_share_back(share)?;
        self.own_share(id, owner);
        Some(id)
    }

    /// From now on a share belongs to this contract.
    pub(crate) fn own_share(&mut self, share: ShareId, owner: u64) {
        self.share_owners.insert(share, owner);
    }

    /// The contract that a share belongs to.
    pub(crate) fn owner_of_share(&self, share: ShareId) -> u64 {
        self.share_owners.get(&share).copied().unwrap_or(NO_OWNER)
    }

    /// Returns the time after which the minimum of a share is reached, as the network is now.
    pub(crate) fn share_bound(&self, share: ShareId) -> Option<Time> {
        self.scheme.share_bound(share)
    }

    /// Returns the certainty of a share, as the network is now.
    pub(crate) fn certainty(&self, share: ShareId) -> Option<Certainty> {
        self.scheme.certainty(share)
    }

    /// From now on the flows of a contract may not be moved to admit others, or may.
    pub(crate) fn pin(&mut self, flow: FlowId, is_pinned: bool) {
        self.placement_mut().pin(flow, is_pinned);
    }

    /// Returns the bound promised to a contract.
    pub(crate) fn promised(&self, flow: FlowId) -> Time {
        self.placement().promised(flow).unwrap_or(Time::ZERO)
    }

    /// Closes links for flows, or opens them again, all at once.
    pub(crate) fn turn(&mut self, links: &[LinkId], closed: bool) {
        if !links.is_empty() {
            self.placement_mut().turn(links, closed);
        }
    }
}
