//! Order of a tunnel's packets: first sessions with a part of the slot, then sessions that share the rate left over.

use std::collections::BTreeSet;

use wayleave_scheme_api::LocalFlow;
use wayleave_units::Time;

/// A session's claim on a slot.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Claim {
    /// x*, in bit/s.
    pub(super) rate: u64,
    /// Rank among the sessions that ask, the least first; `None` asks for nothing.
    pub(super) rank: Option<u64>,
    /// Rank among the sessions that share the rate left over.
    pub(super) spare: (u8, u64),
}

/// State of a session.
#[derive(Clone, Copy, Debug, Default)]
struct SessionPosition {
    is_known: bool,
    claim: Claim,
    /// Bits that it may still send of its part; below zero after its last packet of a slot, which counts in the next.
    budget: i64,
    /// `true` if it has packets here.
    waits: bool,
}

/// The order of a tunnel's sessions. Each packet costs a few steps in trees of the sessions that have packets, each slot
/// sorts all.
#[derive(Debug, Default)]
pub(super) struct SessionOrder {
    places: Vec<SessionPosition>,
    granted: BTreeSet<(u64, u32)>,
    spare: BTreeSet<((u8, u64), u32)>,
    /// Part of the given rate that sessions got; in bit/s.
    used: u64,
}

/// Returns the bits of `time` at a rate.
fn bits(rate: u64, time: Time) -> i64 {
    let bits = u128::from(rate) * u128::from(time.as_nanos()) / 1_000_000_000;
    i64::try_from(bits).unwrap_or(i64::MAX)
}

impl SessionOrder {
    /// A slot begins: the first sessions whose rates together do not exceed `given` get their parts. Sessions that are not
    /// named keep their place among those that share the rest.
    pub(super) fn begin_slot(&mut self, claims: Vec<(LocalFlow, Claim)>, given: u64, slot: Time) {
        self.granted.clear();
        for place in &mut self.places {
            place.budget = place.budget.min(0);
        }
        for &(flow, claim) in &claims {
            self.set_claim(flow, claim);
        }
        let asking = claims.iter().filter_map(|(flow, claim)| Some((claim.rank?, flow.0, claim.rate)));
        let mut asking: Vec<(u64, u32, u64)> = asking.collect();
        asking.sort_unstable();
        self.used = 0;
        for (_, flow, rate) in asking {
            let used = self.used.saturating_add(rate);
            if used > given {
                break;
            }
            self.used = used;
            self.grant(flow, bits(rate, slot));
        }
    }

    /// Adds the claim of a session that begins within a slot: it asks for its part of the rest of the slot.
    pub(super) fn join(&mut self, flow: LocalFlow, claim: Claim, given: u64, rest: Time) {
        self.set_claim(flow, claim);
        let used = self.used.saturating_add(claim.rate);
        if claim.rank.is_some() && used <= given {
            self.used = used;
            self.grant(flow.0, bits(claim.rate, rest));
        }
    }

    /// Changes a session's rank among those that share the rate left over.
    pub(super) fn reorder(&mut self, flow: LocalFlow, spare: (u8, u64)) {
        let Some(place) = self.places.get(flow.index()).filter(|place| place.is_known) else { return };
        let claim = Claim { spare, ..place.claim };
        self.set_claim(flow, claim);
    }

    /// Returns `true` if a session's claim is known.
    pub(super) fn knows(&self, flow: LocalFlow) -> bool {
        self.places.get(flow.index()).is_some_and(|place| place.is_known)
    }

    /// A session has a packet more.
    pub(super) fn queued(&mut self, flow: LocalFlow) {
        let Some(place) = self.places.get_mut(flow.index()) else { return };
        if place.is_known && !place.waits {
            place.waits = true;
            self.enter(flow.0);
        }
    }

    /// A packet has left.
    pub(super) fn departed(&mut self, flow: LocalFlow, bytes: u32, has_more: bool) {
        self.take_out(flow.0);
        let Some(place) = self.places.get_mut(flow.index()) else { return };
        place.waits = has_more && place.is_known;
        if place.budget > 0 {
            place.budget -= 8 * i64::from(bytes);
        }
        self.enter(flow.0);
    }

    /// A session has ended.
    pub(super) fn leave(&mut self, flow: LocalFlow) {
        self.take_out(flow.0);
        if let Some(place) = self.places.get_mut(flow.index()) {
            *place = SessionPosition::default();
        }
    }

    /// The first session that has packets and something left of its part.
    pub(super) fn first_granted(&self) -> Option<LocalFlow> {
        self.granted.first().map(|&(_, flow)| LocalFlow(flow))
    }

    /// Returns the first session with packets among those that share the rate left over.
    pub(super) fn first_of_spare(&self) -> Option<LocalFlow> {
        self.spare.first().map(|&(_, flow)| LocalFlow(flow))
    }

    fn set_claim(&mut self, flow: LocalFlow, claim: Claim) {
        self.take_out(flow.0);
        if self.places.len() <= flow.index() {
            self.places.resize(flow.index() + 1, SessionPosition::default());
        }
        let place = &mut self.places[flow.index()];
        (place.is_known, place.claim) = (true, claim);
        self.enter(flow.0);
    }

    fn grant(&mut self, flow: u32, bits: i64) {
        self.take_out(flow);
        if let Some(place) = self.places.get_mut(flow as usize) {
            place.budget = place.budget.saturating_add(bits);
        }
        self.enter(flow);
    }

    /// Inserts a session that has packets into the order.
    fn enter(&mut self, flow: u32) {
        let Some(place) = self.places.get(flow as usize).filter(|place| place.waits) else { return };
        self.spare.insert((place.claim.spare, flow));
        if let Some(rank) = place.claim.rank.filter(|_| place.budget > 0) {
            self.granted.insert((rank, flow));
        }
    }

    /// Removes a session from the order before its keys change.
    fn take_out(&mut self, flow: u32) {
        let Some(place) = self.places.get(flow as usize).filter(|place| place.waits) else { return };
        self.spare.remove(&(place.claim.spare, flow));
        if let Some(rank) = place.claim.rank {
            self.granted.remove(&(rank, flow));
        }
    }
}
