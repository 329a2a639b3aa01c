//! Explanations of QJump's decisions: shares, epochs and levels.

use wayleave_scheme_api::{Refusal, Request, Value};
use wayleave_topology::FlowId;
use wayleave_units::Human;

use super::admission::{CONTENTION, EPSILON, SHAPER};
use super::{PriorityLevel, Qjump};
use crate::admitted::{AdmittedSet, Term};
use crate::explanation::Section;

/// Returns the text of a refusal.
pub(super) fn refusal(refusal: &Refusal) -> Option<String> {
    let words = match refusal {
        Refusal::RateCap { asked, most: unit } => {
            format!("one packet per epoch is {}, but {} is required", unit.down(), asked.up())
        }
        Refusal::Rounds { rounds: 1, bound, deadline } => {
            format!("a network epoch is {}, above the deadline {deadline:#}", bound.up())
        }
        Refusal::Rounds { rounds, bound, deadline } => {
            let bound = bound.up();
            format!("a burst of {rounds} packets takes {rounds} epochs, {bound}, above the deadline {deadline:#}")
        }
        Refusal::Shares { asked: 1, all, .. } => format!("all {all} shares of the epoch are taken (--qjump-n)"),
        Refusal::Shares { asked, left, all } => {
            format!("{asked} shares of the epoch are required, but only {left} of {all} are left (--qjump-n)")
        }
        Refusal::PacketTooLarge { frame, most } => {
            format!(
                "the contract's largest frame, {frame:#} on the wire, is above the largest packet, {most:#} (--qjump-packet, --loko-scenario)"
            )
        }
        Refusal::ShortRound { takes, round } => format!(
            "one packet of every application takes up to {}, but an epoch is only {}: increase --qjump-n or --qjump-epsilon",
            takes.up(),
            round.down()
        ),
        _ => return None,
    };
    Some(words)
}

/// Returns the text of a term: `2 n P / R` with its values, or the time that a burst spends in the shaper.
pub(super) fn term(qjump: &Qjump, term: Term) -> Option<String> {
    match term {
        Term::Own(CONTENTION, _) => {
            let (params, rate) = (qjump.params(), qjump.epoch().rate());
            Some(format!("2 n P / R, with n = {}, P = {:#}, R = {rate:#}", params.applications, params.packet))
        }
        Term::Own(EPSILON, _) => Some("epsilon, processing along the route".to_owned()),
        Term::Own(SHAPER, time) => {
            let epochs = time.as_nanos() / qjump.epoch().length().as_nanos().max(1);
            let plural = if epochs == 1 { "" } else { "s" };
            Some(format!("{epochs} epoch{plural} in the shaper before the last packet"))
        }
        _ => None,
    }
}

/// Returns the shares that an admitted flow holds.
pub(super) fn admitted(qjump: &Qjump, request: &Request, flow: FlowId) -> Section {
    let held = qjump.held(flow).filter(|held| held.demand.rate < request.rate);
    let sentence = held.map(|held| {
        let (held, asked) = (held.demand.rate.down(), request.rate.up());
        format!("Its shaper passes {held} of {asked}: the latency is guaranteed, not the rate.")
    });
    Section { sentence, ..shares(qjump, Some(flow)) }
}

/// Returns the free shares, and the level that would admit a refused rate.
pub(super) fn refused(qjump: &Qjump, refusal: &Refusal) -> Section {
    let sentence = if let Refusal::RateCap { asked, .. } = refusal {
        let PriorityLevel { factor, limit, .. } = qjump.epoch().level_for(*asked);
        let limit = limit.map_or_else(|| "any rate".to_owned(), |limit| limit.down());
        Some(format!("A level with throughput factor {factor} passes {limit} and has no latency bound."))
    } else {
        None
    };
    Section { sentence, ..shares(qjump, None) }
}

fn shares(qjump: &Qjump, flow: Option<FlowId>) -> Section {
    let (unit, packet) = (qjump.epoch().unit().down(), qjump.params().packet);
    let (left, all) = (qjump.shares_left(), qjump.shares());
    let own = flow.and_then(|flow| qjump.shares_of(flow)).map_or_else(String::new, |own| format!("{own} for it, "));
    Section {
        title: format!(
            "Shares of the epoch: each is one packet of {packet:#} per epoch of {}, or {unit}",
            qjump.epoch().length().up()
        ),
        lines: vec![format!("{own}{} of {all} taken, {left} left", all - left)],
        ..Section::default()
    }
}

/// Returns the epoch and its free shares.
pub(super) fn granted_shares(qjump: &Qjump) -> Value {
    let epoch = qjump.epoch();
    Value::Record(vec![
        ("length", Value::Time(epoch.length())),
        ("contention", Value::Time(epoch.contention())),
        ("epsilon", Value::Time(epoch.epsilon())),
        ("unit", Value::Rate(epoch.unit())),
        ("shares", Value::Count(qjump.shares())),
        ("shares_left", Value::Count(qjump.shares_left())),
    ])
}
