//! Algorithm 1: a session asks for the rate that completes it at its deadline.

use wayleave_scheme_api::LocalFlow;
use wayleave_units::Time;

use super::session::{self, Session, Sessions};
use super::turns::Claim;
use crate::host::scc::{MissedDeadline, Params, SparePolicy};

/// Urgency of a session, with the time that counts for it (delta).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Urgency {
    /// It can be in time.
    Until(Time),
    /// It has no deadline, or has missed it, or cannot keep it any more.
    Whenever,
}

/// At a host with this line, in bit/s.
fn urgency(session: &Session, now: Time, line: u64, params: &Params) -> Urgency {
    let left = session.deadline().map(|at| at.saturating_sub(now));
    match left.map(|left| (left, left.max(params.decision_slot))) {
        Some((left, counted)) if left > Time::ZERO && session::rate(session.left(), counted) <= line => {
            Urgency::Until(counted)
        }
        Some(_) if params.missed_deadline == MissedDeadline::Urgent => Urgency::Until(params.decision_slot),
        _ => Urgency::Whenever,
    }
}

/// Returns x*: M over delta, in bit/s. A session without a feasible deadline asks for one packet per slot,
/// independent of its length: more would be at the cost of sessions with feasible deadlines.
fn wanted(session: &Session, now: Time, line: u64, params: &Params) -> u64 {
    match urgency(session, now, line, params) {
        Urgency::Until(left) => session::rate(session.left_or_packet(), left),
        Urgency::Whenever => session::rate(session.packet(), params.decision_slot),
    }
}

/// W', the sum of all x*.
pub(super) fn weight(sessions: &Sessions, now: Time, line: u64, params: &Params) -> u64 {
    let all = sessions.iter_active().map(|(_, session)| wanted(session, now, line, params));
    all.fold(0, u64::saturating_add)
}

/// Returns a session's claim on a slot: the cheapest come first.
pub(super) fn claim(session: &Session, now: Time, line: u64, params: &Params) -> Claim {
    let rate = wanted(session, now, line, params);
    match urgency(session, now, line, params) {
        Urgency::Until(_) => {
            let order = match params.spare_rate {
                SparePolicy::Cheapest => rate,
                SparePolicy::EarliestDeadline => session.deadline().map_or(u64::MAX, Time::as_nanos),
            };
            Claim { rate, rank: Some(rate), spare: (0, order) }
        }
        Urgency::Whenever => Claim { rate, rank: None, spare: (1, session.left()) },
    }
}

/// Returns the claims of all sessions on a slot.
pub(super) fn claims(sessions: &Sessions, now: Time, line: u64, params: &Params) -> Vec<(LocalFlow, Claim)> {
    sessions.iter_active().map(|(flow, session)| (flow, claim(session, now, line, params))).collect()
}
