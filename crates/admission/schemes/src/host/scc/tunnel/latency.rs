//! Algorithm 3: a session asks for the rate that reduces its queue to the target within a slot.

use wayleave_scheme_api::LocalFlow;

use super::session::{self, Session, Sessions};
use super::turns::Claim;
use crate::host::scc::params::FRAME;
use crate::host::scc::{LatencyFloor, Params};

/// Packets of each flow in a round trip (IV-C: the initial window of existing transports).
const WINDOW: u64 = 10;

/// epsilon Q*, in bytes.
fn excluded(session: &Session, params: &Params) -> u64 {
    target(session, params).saturating_mul(u64::from(params.epsilon_percent)) / 100
}

/// Q*, in bytes.
fn target(session: &Session, params: &Params) -> u64 {
    u64::from(params.target_packets).saturating_mul(session.packet())
}

/// x*, in bit/s.
fn wanted(session: &Session, params: &Params) -> u64 {
    let excess = session.queue().bytes.get().saturating_sub(excluded(session, params));
    session::rate(excess, params.decision_slot)
}

/// Returns the rate that a tunnel needs whatever its weight, in bit/s: at least "10 N_f" packets per round trip (IV-C). A tunnel without
/// flows keeps the rate of one, so that the first packets of the next flow do not wait for an action of the host.
pub(super) fn floor_rate(sessions: &Sessions, params: &Params) -> u64 {
    let of_window = |bytes: u64| session::rate(WINDOW * bytes, params.round_trip);
    let counts = |session: &Session| match params.latency_floor {
        LatencyFloor::Weight => false,
        LatencyFloor::FirstWindow => session.sent() < WINDOW * session.packet(),
        LatencyFloor::AllFlows => true,
    };
    if params.latency_floor == LatencyFloor::Weight {
        return 0;
    }
    if sessions.active() == 0 {
        return of_window(FRAME);
    }
    let counted = sessions.iter_active().filter(|(_, session)| counts(session));
    counted.map(|(_, session)| of_window(session.packet())).fold(0, u64::saturating_add)
}

/// W': the sum of all x*, and at least ten packets of each flow in a round trip.
pub(super) fn weight(sessions: &Sessions, params: &Params) -> u64 {
    let (mut queues, mut least) = (0_u64, 0_u64);
    for (_, session) in sessions.iter_active() {
        queues = queues.saturating_add(wanted(session, params));
        least = least.saturating_add(session::rate(WINDOW * session.packet(), params.round_trip));
    }
    queues.max(least)
}

/// Returns the claims of all sessions on a slot: the largest V = Q + Q* - 2 epsilon Q* comes first.
pub(super) fn claims(sessions: &Sessions, params: &Params) -> Vec<(LocalFlow, Claim)> {
    let claim = |session: &Session| {
        let rate = wanted(session, params);
        // Q* - 2 epsilon Q* is the same for all sessions whose packets are as large; V is never below -Q*.
        let queue = session.queue().bytes.get();
        let value = queue + 2 * target(session, params) - 2 * excluded(session, params);
        Claim { rate, rank: (rate > 0).then_some(u64::MAX - value), spare: (0, 0) }
    };
    sessions.iter_active().map(|(flow, session)| (flow, claim(session))).collect()
}

/// Returns the claim of a session that begins within a slot: it shares the rate that is left over.
pub(super) fn late_claim() -> Claim {
    Claim::default()
}
