//! The admission role for contracts of every kind.

use std::sync::Arc;

use wayleave_ledger::{Ledger, LedgerError, Model, Share, ShareDenial, Spread};
use wayleave_roles::{
    Admission, Among, Certainty, Decision, Refusal, Request, ShareDecision, ShareRefusal, ShareRequest,
};
use wayleave_topology::{Class, FlowId, Hop, Network, NodeId, Route, ShareId};
use wayleave_units::{Amount, Bytes, Rate, Time};

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
    /// The largest frame of any link.
    largest_frame: Bytes,
    /// The longest round trip without queues.
    round_trip: Time,
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
        let links = || ledger.network().links().map(|(link, _)| link);
        let largest_frame = links().map(|link| ledger.largest_frame(link)).max().unwrap_or(Bytes::ZERO);
        let round_trip = links().find_map(|link| ledger.shared_link(link)).map_or(Time::ZERO, |link| link.round_trip);
        let (ways, token_period) = (Ways::default(), settings.token_period);
        Ok(Self { chameleon: Chameleon::on(ledger, params), ways, spread, token_period, largest_frame, round_trip })
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
        let (min, is_timed) = (request.min, request.within.is_some());
        let share = match &request.among {
            Among::Pair(from, to) => self.pair(ways, (*from, *to), request)?,
            Among::Hose(members) => Share::Hose { min, members: members.clone(), spread: self.spread, is_timed },
            Among::Objective(members) => Share::Objective { weight: min, members: members.clone() },
        };
        if let Some(denial) = self.ledger().share_denial(&share) {
            return Err(self.refusal(&share, denial));
        }
        match request.within.zip(self.bound(&share)) {
            Some((within, bound)) if bound > within => Err(ShareRefusal::TooSlow { bound, within }),
            bound => Ok((share, bound.map(|(_, bound)| bound))),
        }
    }

    /// After so long a minimum is there: no packet waits longer than the budgets; what was sent before comes back within two round
    /// trips, and tokens within a period; and a minimum is whole packets, one for each receiver that a member may divide it among.
    fn bound(&self, share: &Share) -> Option<Time> {
        let ledger = self.ledger();
        let (min, budgets, receivers) = match share {
            Share::Pair { min, route, is_timed: true } => {
                let budgets = route.hops.iter().filter_map(|hop| ledger.share_budget(hop.link)).map(Time::as_nanos);
                (*min, Time::from_nanos(budgets.sum()), 1)
            }
            Share::Hose { min, members, is_timed: true, .. } => {
                let budgets = ledger.hose_budget(members).unwrap_or(Time::ZERO);
                (*min, budgets, (members.len() as u64).saturating_sub(1))
            }
            _ => return None,
        };
        let frames = Bytes::new(self.largest_frame.get().saturating_mul(receivers));
        let packets = Amount::from(frames).time_at(min).unwrap_or(Time::MAX);
        let nanos = [budgets, self.round_trip, self.round_trip, self.token_period, packets].map(Time::as_nanos);
        Some(Time::from_nanos(nanos.into_iter().fold(0, u64::saturating_add)))
    }

    /// A pair on the shortest way with most room.
    fn pair(
        &self,
        ways: &mut Ways,
        (from, to): (NodeId, NodeId),
        request: &ShareRequest,
    ) -> Result<Share, ShareRefusal> {
        let (ledger, is_timed) = (self.ledger(), request.within.is_some());
        let class = Class::Guaranteed;
        // A link whose delay is beyond its budget is as bad as one without room.
        let is_late = |link| is_timed && ledger.pair_denial(link, Rate::ZERO, true).is_some();
        let room = |link| if is_late(link) { 0 } else { ledger.left_for(link, class).bits_per_second() };
        let Way { links, .. } = ways.widest(ledger.network(), from, to, room).ok_or(ShareRefusal::Disconnected)?;
        let queue = ledger.network().classes().map_or(0, |classes| classes.queue_of(class));
        // A host queues its classes in memory, below the queues that the topology gives its port.
        let queue_of = |link| queue.min(ledger.network().queues(link).len().saturating_sub(1) as u8);
        let route = Route { hops: links.into_iter().map(|link| Hop { link, queue: queue_of(link) }).collect() };
        Ok(Share::Pair { min: request.min, route, is_timed })
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

    fn certainty_of(&self, share: &Share) -> Certainty {
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
        let certainty = self.certainty_of(&share);
        let route = if let Share::Pair { route, .. } = &share { Some(route.clone()) } else { None };
        let ledger = self.chameleon.placement_mut().ledger_mut();
        let share = ledger.reserve_share(share).ok_or(ShareRefusal::NoClasses)?;
        Ok(ShareDecision { share, route, certainty, within })
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

    fn would_admit_share(&self, request: &ShareRequest) -> Result<(), ShareRefusal> {
        self.share(&mut Ways::default(), request).map(|_| ())
    }
}
