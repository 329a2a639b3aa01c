//! The admission role for contracts of every kind.

use std::sync::Arc;

use wayleave_ledger::{Ledger, LedgerError, Model, Share, ShareDenial, Spread};
use wayleave_roles::{
    Admission, Among, Certainty, Decision, Refusal, Request, ShareDecision, ShareRefusal, ShareRequest,
};
use wayleave_topology::{Class, FlowId, Hop, Network, NodeId, Route, ShareId};
use wayleave_units::{Rate, Time};

use super::ways::{Way, Ways};
use super::{Paths, Settings};
use crate::chameleon::{self, Chameleon};
use crate::placement::Placement;
use crate::standing::stands_on_its_placement;

/// Admits contracts of every kind: latency contracts by Chameleon, shares of the classes below beside them.
///
/// ```
/// use std::sync::Arc;
/// use wayleave_ledger::Model;
/// use wayleave_roles::{Admission, Among, Certainty, ShareRequest};
/// use wayleave_schemes::fabric::{Fabric, Settings};
/// use wayleave_topology::Classes;
/// use wayleave_topology::builders::{FatTree, build};
/// use wayleave_units::Rate;
///
/// let network = build::fat_tree(&FatTree::default())?.with_classes(Classes::default())?;
/// let (from, to) = (network.find_node("h1").ok_or("no host")?, network.find_node("h16").ok_or("no host")?);
/// let mut fabric = Fabric::new(Arc::new(network), Model::default(), Default::default(), &Settings::default())?;
/// let request = ShareRequest { among: Among::Pair(from, to), min: Rate::from_mbit(100), within: None };
/// let decision = fabric.admit_share(&request).map_err(|refusal| format!("{refusal:?}"))?;
/// assert_eq!(decision.certainty, Certainty::Proven);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Fabric {
    chameleon: Chameleon,
    ways: Ways,
    spread: Spread,
    token_period: Time,
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
        let ledger = Ledger::new(network, model, budgets)?.with_shares(settings.guaranteed_budget);
        let spread = match settings.paths {
            Paths::One => Spread::OnePath,
            Paths::All => Spread::AllPaths,
        };
        let chameleon = Chameleon::on(ledger, params);
        Ok(Self { chameleon, ways: Ways::default(), spread, token_period: settings.token_period })
    }

    /// What is reserved, and where.
    pub fn placement(&self) -> &Placement {
        self.chameleon.placement()
    }

    /// The same, for questions that use the searches' memory.
    pub fn placement_mut(&mut self) -> &mut Placement {
        self.chameleon.placement_mut()
    }

    fn ledger(&self) -> &Ledger {
        self.placement().ledger()
    }

    /// The share that a request would hold, or why it cannot.
    fn share(&self, ways: &mut Ways, request: &ShareRequest) -> Result<(Share, Option<Time>), ShareRefusal> {
        if !self.ledger().has_shares() {
            return Err(ShareRefusal::NoClasses);
        }
        let is_timed = request.within.is_some();
        let (share, budgets) = match &request.among {
            Among::Pair(from, to) => self.pair(ways, (*from, *to), request)?,
            Among::Hose(members) => {
                let budgets = self.ledger().hose_budget(members).unwrap_or(Time::ZERO);
                let (min, members, spread) = (request.min, members.clone(), self.spread);
                (Share::Hose { min, members, spread, is_timed }, budgets)
            }
            Among::Objective(members) => {
                (Share::Objective { weight: request.min, members: members.clone() }, Time::ZERO)
            }
        };
        if let Some(denial) = self.ledger().share_denial(&share) {
            return Err(self.refusal(&share, denial));
        }
        let bound = request.within.map(|within| (within, self.bound(budgets)));
        match bound {
            Some((within, bound)) if bound > within => Err(ShareRefusal::TooSlow { bound, within }),
            bound => Ok((share, bound.map(|(_, bound)| bound))),
        }
    }

    /// After so long a minimum is there: no packet waits longer than the budgets; hosts react within two round trips, and have their
    /// tokens within a period.
    fn bound(&self, budgets: Time) -> Time {
        let any = self.ledger().network().links().next().and_then(|(link, _)| self.ledger().shared_link(link));
        let round_trip = any.map_or(Time::ZERO, |link| link.round_trip);
        let nanos = [budgets, round_trip, round_trip, self.token_period].map(Time::as_nanos);
        Time::from_nanos(nanos.into_iter().fold(0, u64::saturating_add))
    }

    /// A pair on the shortest way with most room.
    fn pair(
        &self,
        ways: &mut Ways,
        (from, to): (NodeId, NodeId),
        request: &ShareRequest,
    ) -> Result<(Share, Time), ShareRefusal> {
        let (ledger, is_timed) = (self.ledger(), request.within.is_some());
        let class = Class::Guaranteed;
        // A link whose delay is beyond its budget is as bad as one without room.
        let is_late = |link| is_timed && ledger.link_denial(link, class, Rate::ZERO, true).is_some();
        let room = |link| if is_late(link) { 0 } else { ledger.left_for(link, class).bits_per_second() };
        let Way { links, .. } = ways.widest(ledger.network(), from, to, room).ok_or(ShareRefusal::Disconnected)?;
        let queue = ledger.network().classes().map_or(0, |classes| classes.queue_of(class));
        // A host queues its classes in memory, below the queues that the topology gives its port.
        let queue_of = |link| queue.min(ledger.network().queues(link).len().saturating_sub(1) as u8);
        let budgets = links.iter().filter_map(|&link| ledger.share_budget(link)).map(Time::as_nanos).sum();
        let route = Route { hops: links.into_iter().map(|link| Hop { link, queue: queue_of(link) }).collect() };
        Ok((Share::Pair { min: request.min, route, is_timed }, Time::from_nanos(budgets)))
    }

    fn refusal(&self, share: &Share, denial: ShareDenial) -> ShareRefusal {
        match denial {
            ShareDenial::Closed(link) => ShareRefusal::Down { link },
            ShareDenial::Delay { link, bound, budget } => ShareRefusal::Delay { link, bound, budget },
            ShareDenial::Rate { link, asked, left } => {
                let fits = self.largest_that_fits(share);
                ShareRefusal::Rate { class: share.class(), link, asked, left, fits }
            }
        }
    }

    /// The largest minimum, or weight, with which a share would fit as it is; zero if none would.
    fn largest_that_fits(&self, share: &Share) -> Rate {
        let (Share::Pair { min, .. } | Share::Hose { min, .. } | Share::Objective { weight: min, .. }) = share;
        let with = |bits| {
            let min = Rate::from_bits_per_second(bits);
            match share.clone() {
                Share::Pair { route, is_timed, .. } => Share::Pair { min, route, is_timed },
                Share::Hose { members, spread, is_timed, .. } => Share::Hose { min, members, spread, is_timed },
                Share::Objective { members, .. } => Share::Objective { weight: min, members },
            }
        };
        let (mut fits, mut not) = (0, min.bits_per_second());
        while not - fits > 1 {
            let middle = fits + (not - fits) / 2;
            if self.ledger().share_denial(&with(middle)).is_none() { fits = middle } else { not = middle }
        }
        Rate::from_bits_per_second(fits)
    }

    fn certainty(&self, share: &Share) -> Certainty {
        match share {
            Share::Hose { spread: Spread::OnePath, .. } => Certainty::Measured,
            Share::Hose { members, .. } if !self.ledger().spreads_evenly(members) => Certainty::Measured,
            _ => Certainty::Proven,
        }
    }
}

stands_on_its_placement!(Fabric);

impl Admission for Fabric {
    fn admit(&mut self, request: &Request) -> Result<Decision, Refusal> {
        self.chameleon.admit(request)
    }

    fn admit_or_not(&mut self, request: &Request) -> Option<Decision> {
        self.chameleon.admit_or_not(request)
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

    fn admit_share(&mut self, request: &ShareRequest) -> Result<ShareDecision, ShareRefusal> {
        let mut ways = std::mem::take(&mut self.ways);
        let found = self.share(&mut ways, request);
        self.ways = ways;
        let (share, within) = found?;
        let certainty = self.certainty(&share);
        let route = if let Share::Pair { route, .. } = &share { Some(route.clone()) } else { None };
        let ledger = self.chameleon.placement_mut().ledger_mut();
        let share = ledger.reserve_share(share).ok_or(ShareRefusal::NoClasses)?;
        Ok(ShareDecision { share, route, certainty, within })
    }

    fn release_share(&mut self, share: ShareId) -> bool {
        self.chameleon.placement_mut().ledger_mut().release_share(share).is_some()
    }

    fn would_admit_share(&self, request: &ShareRequest) -> Result<(), ShareRefusal> {
        self.share(&mut Ways::default(), request).map(|_| ())
    }
}
