//! The admission role for contracts of every kind.

use std::sync::Arc;

use wayleave_ledger::{HoseCharge, Ledger, LedgerError, Model, PathSpread, ReservedShare, ShareDenial};
use wayleave_scheme_api::{
    Admission, Certainty, Decision, Refusal, Request, ShareDecision, ShareMembers, ShareRequest,
};
use wayleave_topology::{Class, FlowId, Hop, Network, NodeId, Route, ShareId};
use wayleave_units::{Amount, Bytes, Time};

use super::path_cache::{CandidatePath, PathCache};
use super::{Charge, Paths, Settings};
use crate::admission::chameleon::{self, Chameleon};
use crate::admitted::stands_on_its_placement;
use crate::placement::Placement;

/// Preference of a pair among several paths.
#[derive(Clone, Copy)]
enum Preference {
    /// The widest.
    Room,
    /// The fastest with enough room.
    Delay,
}

/// Admits contracts of every kind: latency contracts by Chameleon, shares of the classes below beside them.
///
/// ```
/// use std::sync::Arc;
/// use wayleave_ledger::Model;
/// use wayleave_scheme_api::{Admission, ShareMembers, Certainty, ShareRequest};
/// use wayleave_schemes::admission::fabric::{Fabric, Settings};
/// use wayleave_topology::Classes;
/// use wayleave_topology::builders::{FatTree, build};
/// use wayleave_units::Rate;
///
/// let network = build::fat_tree(&FatTree::default())?.with_classes(Classes::default())?;
/// let (from, to) = (network.find_node("h1").ok_or("no host")?, network.find_node("h16").ok_or("no host")?);
/// let mut fabric = Fabric::new(Arc::new(network), Model::default(), Default::default(), &Settings::default())?;
/// let request = ShareRequest { among: ShareMembers::Pair(from, to), min: Rate::from_mbit(100), within: None };
/// let decision = fabric.admit_share(&request).map_err(|refusal| format!("{refusal:?}"))?;
/// assert_eq!(decision.certainty, Certainty::Proven);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Fabric {
    chameleon: Chameleon,
    path_cache: PathCache,
    spread: PathSpread,
    token_period: Time,
    /// The largest frame of any link.
    largest_frame: Bytes,
}

impl Fabric {
    /// With nothing admitted.
    ///
    /// # Errors
    /// If the allocation does not fit the queues of the network.
    pub fn new(
        network: Arc<Network>,
        model: Model,
        params: chameleon::Params,
        settings: &Settings,
    ) -> Result<Self, LedgerError> {
        let budgets = params.allocation.budgets(&network, &model);
        let charge = match settings.hose_charge {
            Charge::Split => HoseCharge::Split,
            Charge::EveryPath => HoseCharge::EveryPath,
        };
        let ledger = Ledger::new(network, model, budgets)?.with_shares(settings.guaranteed_budget, charge);
        let spread = match settings.paths {
            Paths::One => PathSpread::OnePath,
            Paths::All => PathSpread::AllPaths,
        };
        let links = || ledger.network().links().map(|(link, _)| link);
        let largest_frame = links().map(|link| ledger.largest_frame(link)).max().unwrap_or(Bytes::ZERO);
        let (path_cache, token_period) = (PathCache::default(), settings.token_period);
        Ok(Self { chameleon: Chameleon::on(ledger, params), path_cache, spread, token_period, largest_frame })
    }

    /// Returns the reservations and their routes.
    pub fn placement(&self) -> &Placement {
        self.chameleon.placement()
    }

    /// Returns the reservations mutably, for queries that use the search memory.
    pub fn placement_mut(&mut self) -> &mut Placement {
        self.chameleon.placement_mut()
    }

    fn ledger(&self) -> &Ledger {
        self.placement().ledger()
    }

    /// Returns the share that a request would hold and its delay bound, or the reason for a refusal.
    fn share(
        &self,
        path_cache: &mut PathCache,
        request: &ShareRequest,
    ) -> Result<(ReservedShare, Option<Time>), Refusal> {
        if !self.ledger().has_shares() {
            return Err(Refusal::NoClasses);
        }
        let (min, is_timed) = (request.min, request.within.is_some());
        let share = match &request.among {
            ShareMembers::Pair(from, to) => {
                let widest = self.pair(path_cache, (*from, *to), request, Preference::Room)?;
                let is_late = request.within.zip(self.bound(&widest)).is_some_and(|(within, bound)| bound > within);
                let mut fastest = || self.pair(path_cache, (*from, *to), request, Preference::Delay).ok();
                if is_late { fastest().unwrap_or(widest) } else { widest }
            }
            ShareMembers::Hose(members) => {
                ReservedShare::Hose { min, members: members.clone(), spread: self.spread, is_timed }
            }
            ShareMembers::Objective(members) => ReservedShare::Objective { weight: min, members: members.clone() },
        };
        if let Some(denial) = self.ledger().share_denial(&share) {
            return Err(self.refusal(&share, denial));
        }
        match request.within.zip(self.bound(&share)) {
            Some((within, bound)) if bound > within => Err(Refusal::SlowMinimum { bound, within }),
            bound => Ok((share, bound.map(|(_, bound)| bound))),
        }
    }

    /// Time after which a minimum is there: no packet waits longer than the budgets of its path; what was sent before comes back within
    /// two round trips of its slowest path, and tokens within a period; and a minimum is whole packets, one for each receiver that a
    /// member may divide it among.
    fn bound(&self, share: &ReservedShare) -> Option<Time> {
        let receivers = match share {
            ReservedShare::Pair { is_timed: true, .. } => 1,
            ReservedShare::Hose { members, is_timed: true, .. } => (members.len() as u64).saturating_sub(1),
            _ => return None,
        };
        let paths = self.ledger().share_paths(share);
        let frames = Bytes::new(self.largest_frame.get().saturating_mul(receivers));
        let packets = Amount::from(frames).time_at(share.min()).unwrap_or(Time::MAX);
        let nanos = [paths.budget, paths.round_trip, paths.round_trip, self.token_period, packets].map(Time::as_nanos);
        Some(Time::from_nanos(nanos.into_iter().fold(0, u64::saturating_add)))
    }

    /// A pair on one of the open paths with the fewest links.
    fn pair(
        &self,
        path_cache: &mut PathCache,
        (from, to): (NodeId, NodeId),
        request: &ShareRequest,
        preference: Preference,
    ) -> Result<ReservedShare, Refusal> {
        let (ledger, is_timed) = (self.ledger(), request.within.is_some());
        let (network, class) = (ledger.network(), Class::Guaranteed);
        // A link whose delay is beyond its budget is as bad as one without room.
        let is_late = |link| is_timed && ledger.is_late(link);
        let room = |link| {
            let left = if is_late(link) { 0 } else { ledger.left_for(link, class).bits_per_second() };
            match preference {
                Preference::Room => left,
                Preference::Delay if left < request.min.bits_per_second() => 0,
                // The path whose slowest link is fastest.
                Preference::Delay => {
                    let frame = ledger.largest_frame(link);
                    u64::MAX - network.transit_time(network.link(link), frame).as_nanos()
                }
            }
        };
        let is_open = |link| !ledger.is_closed(link);
        path_cache.follow(ledger.link_turns());
        let Some(CandidatePath { links, .. }) = path_cache.widest(network, (from, to), is_open, room) else {
            let any = PathCache::default().widest(network, (from, to), |_| true, |_| 0).ok_or(Refusal::Disconnected)?;
            let down = any.links.into_iter().find(|&link| ledger.is_closed(link));
            return Err(down.map_or(Refusal::Disconnected, |link| Refusal::LinkDown { link }));
        };
        let queue = network.classes().map_or(0, |classes| classes.queue_of(class));
        // A host queues its classes in memory, below the queues that the topology gives its port.
        let queue_of = |link| queue.min(network.queues(link).len().saturating_sub(1) as u8);
        let route = Route { hops: links.into_iter().map(|link| Hop { link, queue: queue_of(link) }).collect() };
        Ok(ReservedShare::Pair { min: request.min, route, is_timed })
    }

    fn refusal(&self, share: &ReservedShare, denial: ShareDenial) -> Refusal {
        match denial {
            ShareDenial::NoPath { .. } => Refusal::Disconnected,
            ShareDenial::Closed(link) => Refusal::LinkDown { link },
            ShareDenial::Delay { link, bound, budget } => Refusal::ClassDelay { link, bound, budget },
            ShareDenial::Rate { link, asked, left } => {
                let fits = self.ledger().largest_that_fits(share);
                Refusal::ClassRate { class: share.class(), link, asked, left, fits }
            }
        }
    }

    fn certainty_of(&self, share: &ReservedShare) -> Certainty {
        if self.ledger().is_proven(share) { Certainty::Proven } else { Certainty::Measured }
    }
}

stands_on_its_placement!(Fabric);

impl Admission for Fabric {
    fn admit(&mut self, request: &Request) -> Result<Decision, Refusal> {
        self.chameleon.admit(request)
    }

    fn try_admit(&mut self, request: &Request) -> Option<Decision> {
        self.chameleon.try_admit(request)
    }

    fn release(&mut self, flow: FlowId) -> Option<Route> {
        self.chameleon.release(flow)
    }

    fn change(&mut self, flow: FlowId, request: &Request) -> Option<Result<Decision, Refusal>> {
        self.chameleon.change(flow, request)
    }

    fn would_admit(&mut self, request: &Request) -> bool {
        self.chameleon.would_admit(request)
    }

    fn admit_share(&mut self, request: &ShareRequest) -> Result<ShareDecision, Refusal> {
        let mut path_cache = std::mem::take(&mut self.path_cache);
        let found = self.share(&mut path_cache, request);
        self.path_cache = path_cache;
        let (share, within) = found?;
        let route = if let ReservedShare::Pair { route, .. } = &share { Some(route.clone()) } else { None };
        let ledger = self.chameleon.placement_mut().ledger_mut();
        let id = ledger.reserve_share(share.clone()).ok_or(Refusal::NoClasses)?;
        Ok(ShareDecision { share: id, route, certainty: self.certainty_of(&share), within })
    }

    fn release_share(&mut self, share: ShareId) -> bool {
        self.chameleon.placement_mut().ledger_mut().release_share(share).is_some()
    }

    fn share_bound(&self, share: ShareId) -> Option<Time> {
        self.ledger().share(share).and_then(|share| self.bound(share))
    }

    fn token_period(&self) -> Option<Time> {
        Some(self.token_period)
    }

    fn certainty(&self, share: ShareId) -> Option<Certainty> {
        self.ledger().share(share).map(|share| self.certainty_of(share))
    }

    fn would_admit_share(&self, request: &ShareRequest) -> Result<(), Refusal> {
        self.share(&mut PathCache::default(), request).map(|_| ())
    }
}
