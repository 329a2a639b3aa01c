//! Contracts of other kinds than latency in a run: every member sends as much as it can, and counters show its
//! throughput.
//!
//! Member *i* sends to member *i + 1*, the last one to the first; of a pair the sender to the receiver. So every
//! member has its whole minimum to send and to receive. Packets that arrive in the second half of a run count: agents
//! need seconds until they know the contracts.

use std::time::Duration;

use wayleave_contracts::{Contract, ContractKind, ContractRequest, Endpoints};
use wayleave_units::{Bytes, Rate};

use super::operator::DEFAULT_TENANT;
use crate::error::LabError;
use crate::plan::LabPlan;
use crate::traffic::{LabFlow, LabLoad};

/// The first port at which members receive: contracts about latency have those from 20,000 on.
const FIRST_PORT: u16 = 40_000;
/// Of each packet: a full frame.
const PAYLOAD: usize = 1_458;
/// Bytes on the wire around a frame. Tags are not counted, so the throughput is never overestimated.
const OVERHEAD: u64 = 24;
/// Percentage from which a minimum counts as kept: agents divide nine tenths of a line ten times a second, by whole
/// packets.
const KEPT_PERCENT: u64 = 95;

/// A contract of another kind than latency that was offered to the controller.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SharedPromise {
    /// `tenant:name`.
    pub id: String,
    /// Kind of its promise.
    pub kind: ContractKind,
    /// Of each pair that sends here, on the wire; zero of best effort.
    pub min: Rate,
    /// Pairs of sender and receiver, by the names of endpoints.
    pub pairs: Vec<(String, String)>,
}

impl SharedPromise {
    /// Of an order.
    pub fn of(plan: &LabPlan, order: &ContractRequest) -> Self {
        let tenant = order.contract.tenant().unwrap_or(DEFAULT_TENANT);
        let end = |name: &String| {
            let vm = format!("{tenant}:{name}");
            if plan.endpoint(&vm).is_some() { vm } else { format!("host:{name}") }
        };
        let ends: Vec<String> = order.members.iter().map(end).collect();
        let (min, is_pair) = match &order.contract {
            Contract::Bandwidth(terms) => (terms.min, matches!(terms.between, Endpoints::Pair(..))),
            Contract::Objective(terms) => (terms.min, false),
            Contract::BestEffort(_) | Contract::Latency(_) => (Rate::ZERO, false),
        };
        let next = |at: usize| Some((ends.get(at)?.clone(), ends.get((at + 1) % ends.len())?.clone()));
        let senders = if is_pair { 1 } else { ends.len() };
        let id = format!("{tenant}:{}", order.contract.name());
        Self { id, kind: order.contract.kind(), min, pairs: (0..senders).filter_map(next).collect() }
    }
}

/// Throughput of a member of a contract.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PairReport {
    /// Sender.
    pub from: String,
    /// Receiver.
    pub to: String,
    /// Bytes on the wire that arrived while it counted.
    pub arrived: Bytes,
}

/// Throughput of the members of a contract.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShareReport {
    /// The promise.
    pub promise: SharedPromise,
    /// `true` if it was admitted.
    pub is_admitted: bool,
    /// Duration of the measurement.
    pub lasted: Duration,
    /// Part of that during which processors stalled.
    pub stalled: Duration,
    /// By pair.
    pub pairs: Vec<PairReport>,
}

impl ShareReport {
    /// Returns the rate of a pair, on the wire.
    pub fn rate(&self, pair: &PairReport) -> Rate {
        let nanos = self.lasted.as_nanos().max(1);
        let rate = u128::from(pair.arrived.get()) * 8_000_000_000 / nanos;
        Rate::from_bits_per_second(u64::try_from(rate).unwrap_or(u64::MAX).min(Rate::MAX.bits_per_second()))
    }

    /// The pairs that got less than their minimum, as far as the machine let them.
    pub fn short(&self) -> Vec<&PairReport> {
        let ran = self.lasted.saturating_sub(self.stalled).as_nanos();
        let promised = u128::from(self.promise.min.bits_per_second() / 100 * KEPT_PERCENT) * ran;
        let is_short = |pair: &&PairReport| u128::from(pair.arrived.get()) * 8_000_000_000 < promised;
        if self.is_admitted { self.pairs.iter().filter(is_short).collect() } else { Vec::new() }
    }
}

/// Returns the rate at which a member sends: that of the slowest line, but at least twice its minimum, which can be above
/// that line where links have several rates.
fn offered(min: Rate, line: Rate) -> Rate {
    line.max(Rate::from_bits_per_second(min.bits_per_second().saturating_mul(2)).min(Rate::MAX))
}

/// The flows of these contracts, in the order of their pairs.
pub(super) fn flows(plan: &LabPlan, promises: &[SharedPromise], line: Rate) -> Result<Vec<LabFlow>, LabError> {
    let mut flows = Vec::new();
    for promise in promises {
        for (from, to) in &promise.pairs {
            let find = |id: &str| {
                plan.endpoint(id).cloned().ok_or_else(|| {
                    let contract = &promise.id;
                    LabError::Controller(format!(
                        "contract {contract} has endpoint {id}, which this lab does not have: create it with `wayleave lab up --endpoint`"
                    ))
                })
            };
            let port = u16::try_from(flows.len()).ok().and_then(|at| FIRST_PORT.checked_add(at));
            let many = || LabError::Controller("the contracts have more members than there are UDP ports".to_owned());
            flows.push(LabFlow {
                name: promise.id.clone(),
                from: find(from)?,
                to: find(to)?,
                port: port.ok_or_else(many)?,
                source_port: None,
                payload: PAYLOAD,
                overhead: OVERHEAD,
                load: LabLoad::Constant { rate: offered(promise.min, line) },
                bound: None,
            });
        }
    }
    Ok(flows)
}

/// Returns the reports; `before` and `after` are the packets of each flow that had arrived at the beginning and at
/// the end of the measurement.
pub(super) fn reports(
    promises: &[SharedPromise],
    specs: &[LabFlow],
    (before, after): (&[u64], &[u64]),
    lasted: Duration,
    stalled: Duration,
    is_admitted: impl Fn(&str) -> bool,
) -> Vec<ShareReport> {
    let arrived = |(spec, (before, after)): (&LabFlow, (&u64, &u64))| {
        Bytes::new(after.saturating_sub(*before) * spec.wire_bytes())
    };
    let mut flows = specs.iter().zip(before.iter().zip(after)).map(arrived);
    let mut report = |promise: &SharedPromise| {
        let pair = |(from, to): &(String, String)| {
            Some(PairReport { from: from.clone(), to: to.clone(), arrived: flows.next()? })
        };
        let pairs = promise.pairs.iter().filter_map(pair).collect();
        ShareReport { is_admitted: is_admitted(&promise.id), promise: promise.clone(), lasted, stalled, pairs }
    };
    promises.iter().map(&mut report).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_member_offers_more_than_its_minimum_even_above_the_slowest_line() {
        let line = Rate::from_mbit(10);
        assert_eq!(offered(Rate::from_mbit(1), line), line);
        assert_eq!(offered(Rate::from_mbit(20), line), Rate::from_mbit(40));
        assert_eq!(offered(Rate::MAX, line), Rate::MAX);
    }

    #[test]
    fn a_minimum_is_judged_by_arrivals_while_the_machine_was_running() {
        let pair = |arrived| PairReport { from: "a".to_owned(), to: "b".to_owned(), arrived: Bytes::new(arrived) };
        let promise = SharedPromise {
            id: "acme:db".to_owned(),
            kind: ContractKind::Bandwidth,
            min: Rate::from_mbit(2),
            pairs: Vec::new(),
        };
        let mut report = ShareReport {
            promise,
            is_admitted: true,
            lasted: Duration::from_secs(4),
            stalled: Duration::ZERO,
            pairs: vec![pair(950_000), pair(949_999)],
        };
        assert_eq!(report.rate(&report.pairs[0]), Rate::from_bits_per_second(1_900_000));
        assert_eq!(report.short(), [&report.pairs[1]]);
        report.stalled = Duration::from_millis(10);
        assert_eq!(report.short(), [&report.pairs[0]; 0]);
        report.is_admitted = false;
        report.stalled = Duration::ZERO;
        assert_eq!(report.short(), [&report.pairs[0]; 0], "nothing was promised");
    }
}
