//! Contracts of other kinds than latency in a run: every member sends as much as it can, and counters show its
//! throughput.
//!
//! Member *i* sends to member *i + 1*, the last one to the first; of a pair the sender to the receiver. So every
//! member has its whole minimum to send and to receive. Packets that arrive in the second half of a run count: agents
//! need seconds until they know the contracts.

use std::time::Duration;

use wayleave_contracts::{Contract, ContractKind, ContractRequest, Endpoints};
use wayleave_units::{Bytes, Rate};

use super::ending::{Ending, GuaranteeResult};
use super::operator::{DEFAULT_TENANT, ReportedContract};
use crate::error::LabError;
use crate::plan::LabPlan;
use crate::traffic::{LabFlow, LabLoad};

/// The first port at which members receive: contracts about latency have those from 20,000 on.
const FIRST_PORT: u16 = 40_000;
/// Minimum duration of a measurement: agents divide the line ten times a second, and a shorter one could miss a
/// minimum that is kept on average.
const MIN_MEASURED: Duration = Duration::from_secs(1);
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
    /// Bytes on the wire that arrived during the measurement.
    pub arrived: Bytes,
}

/// Time during which packets of shares were counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MeasuredTime {
    /// Duration of the measurement.
    pub lasted: Duration,
    /// Part of it during which processors stalled.
    pub stalled: Duration,
}

impl MeasuredTime {
    /// Returns the duration without stalls.
    fn ran(self) -> Duration {
        self.lasted.saturating_sub(self.stalled)
    }

    /// Checks that this time suffices to compare rates with minima.
    ///
    /// # Errors
    /// The reason why it does not.
    pub(super) fn sufficient(self) -> Result<Self, String> {
        let (measured, least) = (self.ran().as_millis(), MIN_MEASURED.as_millis());
        if self.ran() >= MIN_MEASURED {
            return Ok(self);
        }
        Err(format!(
            "measured for only {measured} ms of the second half of the run, without stalls; at least {least} ms are needed"
        ))
    }
}

/// Throughput of the members of a contract.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShareReport {
    /// The promise.
    pub promise: SharedPromise,
    /// `true` if it was admitted when the traffic began.
    pub is_admitted: bool,
    /// State at the end.
    pub state: String,
    /// Reason for which its minimum is not known to have been in effect until the end; `None` if it was.
    pub gap: Option<String>,
    /// Time of the measurement, or the reason for which rates are unknown.
    pub measured: Result<MeasuredTime, String>,
    /// By pair.
    pub pairs: Vec<PairReport>,
}

impl ShareReport {
    /// Returns the rate of a pair, on the wire; `None` if it was not measured.
    pub fn rate(&self, pair: &PairReport) -> Option<Rate> {
        let nanos = self.measured.as_ref().ok()?.lasted.as_nanos().max(1);
        let rate = u128::from(pair.arrived.get()) * 8_000_000_000 / nanos;
        let rate = u64::try_from(rate).unwrap_or(u64::MAX).min(Rate::MAX.bits_per_second());
        Some(Rate::from_bits_per_second(rate))
    }

    /// Returns the results of the pairs that were promised a minimum.
    pub fn results(&self) -> Vec<(&PairReport, GuaranteeResult)> {
        let is_promised = self.is_admitted && self.promise.min > Rate::ZERO;
        let pairs = self.pairs.iter().filter(|_| is_promised);
        pairs.map(|pair| (pair, self.result(pair))).collect()
    }

    fn result(&self, pair: &PairReport) -> GuaranteeResult {
        let measured = match &self.measured {
            Ok(measured) => measured.ran().as_nanos(),
            Err(why) => return GuaranteeResult::Unknown(why.clone()),
        };
        let promised = u128::from(self.promise.min.bits_per_second() / 100 * KEPT_PERCENT) * measured;
        match &self.gap {
            _ if u128::from(pair.arrived.get()) * 8_000_000_000 < promised => GuaranteeResult::Violated,
            Some(why) => GuaranteeResult::Unknown(why.clone()),
            None => GuaranteeResult::Kept,
        }
    }

    /// Returns the pairs that got less than their minimum, excluding stalls.
    pub fn short(&self) -> Vec<&PairReport> {
        let results = self.results().into_iter();
        results.filter(|(_, result)| *result == GuaranteeResult::Violated).map(|(pair, _)| pair).collect()
    }

    /// Returns the reason for which minima are unknown, or for which a best-effort contract was not measured; `None`
    /// if all are known or nothing was promised.
    pub fn unknown(&self) -> Option<&str> {
        let measured = self.measured.as_ref().err().or(self.gap.as_ref()).filter(|_| self.is_admitted);
        measured.map(String::as_str)
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
/// the end of the measurement. `admitted` has the contracts at the beginning of the traffic.
pub(super) fn reports(
    promises: &[SharedPromise],
    specs: &[LabFlow],
    (before, after): (&[u64], &[u64]),
    measured: &Result<MeasuredTime, String>,
    admitted: &[ReportedContract],
    ending: &Ending,
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
        let begun = admitted.iter().find(|one| one.id == promise.id);
        let (state, gap) = match begun {
            Some(_) => ending.state(&promise.id),
            None => ("not admitted".to_owned(), None),
        };
        let at_start = begun.filter(|one| !one.is_in_effect()).map(|one| format!("{} at the start", one.explained()));
        let (promise, measured) = (promise.clone(), measured.clone());
        ShareReport { is_admitted: begun.is_some(), promise, state, gap: at_start.or(gap), measured, pairs }
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

    fn report(arrived: &[u64]) -> ShareReport {
        let pair =
            |&arrived: &u64| PairReport { from: "a".to_owned(), to: "b".to_owned(), arrived: Bytes::new(arrived) };
        let promise = SharedPromise {
            id: "acme:db".to_owned(),
            kind: ContractKind::Bandwidth,
            min: Rate::from_mbit(2),
            pairs: Vec::new(),
        };
        ShareReport {
            promise,
            is_admitted: true,
            state: "enforced".to_owned(),
            gap: None,
            measured: Ok(MeasuredTime { lasted: Duration::from_secs(4), stalled: Duration::ZERO }),
            pairs: arrived.iter().map(pair).collect(),
        }
    }

    #[test]
    fn a_minimum_is_judged_by_arrivals_while_the_machine_was_running() {
        let mut report = report(&[950_000, 949_999]);
        assert_eq!(report.rate(&report.pairs[0]), Some(Rate::from_bits_per_second(1_900_000)));
        assert_eq!(report.short(), [&report.pairs[1]]);
        let stalled = Duration::from_millis(10);
        report.measured = Ok(MeasuredTime { lasted: Duration::from_secs(4), stalled });
        assert_eq!(report.short(), [&report.pairs[0]; 0]);
        report.is_admitted = false;
        assert!(report.results().is_empty() && report.unknown().is_none(), "nothing was promised");
    }

    #[test]
    fn a_minimum_that_was_missed_is_short_although_its_contract_is_degraded() {
        let mut report = report(&[0, 5_000_000]);
        report.gap = Some("degraded (FAILURE) at the end".to_owned());
        let results: Vec<GuaranteeResult> = report.results().into_iter().map(|(_, result)| result).collect();
        assert_eq!(results, [GuaranteeResult::Violated, GuaranteeResult::Unknown(report.gap.clone().unwrap())]);
        assert_eq!((report.short().len(), report.unknown()), (1, Some("degraded (FAILURE) at the end")));
    }

    #[test]
    fn rates_and_minima_without_a_measurement_are_unknown() {
        let brief = MeasuredTime { lasted: Duration::from_millis(1_100), stalled: Duration::from_millis(101) };
        let why = brief.sufficient().unwrap_err();
        assert!(why.starts_with("measured for only 999 ms"), "{why}");
        assert!(MeasuredTime { stalled: Duration::from_millis(100), ..brief }.sufficient().is_ok());
        let mut report = report(&[0]);
        report.measured = Err(why.clone());
        assert_eq!((report.rate(&report.pairs[0]), report.short().len()), (None, 0));
        assert_eq!(report.results()[0].1, GuaranteeResult::Unknown(why.clone()));
        assert_eq!(report.unknown(), Some(why.as_str()));
    }
}
