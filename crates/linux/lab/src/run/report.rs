//! Results of a run.

use std::collections::BTreeMap;

use wayleave_units::{Time, count};

use super::actions::ActionResult;
use super::ending::{Ending, GuaranteeResult, RunCompletion};
use super::flows::Flows;
use super::operator::ReportedContract;
use super::shares::ShareReport;
use crate::sentinel::Stalls;
use crate::traffic::{Arrival, Bounds, FlowReport};

/// Reason for which a contract cannot be measured.
const SMALL_BUCKET: &str = "its bucket is smaller than a packet with a timestamp (114 B)";

/// Packets that did not arrive.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Losses {
    /// The bucket did not let them pass.
    pub shaped: u64,
    /// Everything else: queues, and cables that were cut.
    pub network: u64,
}

/// Outcome of a contract's packets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ContractReport {
    /// The contract as it was before.
    pub contract: ReportedContract,
    /// Its state in the end.
    pub state: String,
    /// Number of times that it was moved.
    pub moved: usize,
    /// Maximum time for which its packets wait for tokens on their host, if its sender ignores its bucket. The
    /// promise counts from the end of this wait, and delays from the sender: this is added to the bounds of its
    /// packets.
    pub waits: Time,
    /// Its packets.
    pub flow: FlowReport,
    /// Packets that did not arrive; `None` if some did not, and the shaper's counter is unknown.
    pub losses: Option<Losses>,
    /// Packets later than the bound while a processor stalled for long enough.
    pub excused: u64,
    /// Packets later than the bound that were sent while nothing is known to have been promised: between a cut and its
    /// repair by another route, while the contract was stopped, or after an action with unknown consequences.
    pub unpromised: u64,
    /// Packets later than the bound.
    pub violations: u64,
    /// Result of the guarantee.
    pub result: GuaranteeResult,
}

impl ContractReport {
    /// The longest that it was promised: other routes have other bounds.
    pub fn bound(&self) -> Time {
        self.flow.bounds.as_ref().map_or(self.contract.bound, Bounds::longest)
    }
}

/// Results of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunReport {
    /// Reason for which it ended.
    pub end: RunCompletion,
    /// Programs of the lab that had exited at its end.
    pub exited: Vec<String>,
    /// By contract, in the order of the file.
    pub contracts: Vec<ContractReport>,
    /// Contracts that sent nothing, because their bucket is too small for a packet that carries its time of sending.
    pub silent: Vec<String>,
    /// Throughput of the members of contracts of other kinds.
    pub shares: Vec<ShareReport>,
    /// Best effort.
    pub floods: Vec<FlowReport>,
    /// Actions of the run.
    pub actions: Vec<ActionResult>,
    /// Stalls of processors.
    pub stalls: Stalls,
}

impl RunReport {
    /// Packets of contracts that came later than promised, those apart for which the machine accounts.
    pub fn violations(&self) -> u64 {
        self.contracts.iter().map(|one| one.violations).sum()
    }

    /// Returns the packets of contracts that are known to be lost behind their shapers, of contracts that were promised
    /// something all the time: the proof knows of no queue that is full.
    pub fn lost(&self) -> u64 {
        let has_gap = |one: &ContractReport| {
            !one.contract.is_in_effect() || self.actions.iter().any(|action| action.interrupts(&one.contract.id))
        };
        let lost = |one: &ContractReport| one.losses.map_or(0, |losses| losses.network);
        self.contracts.iter().filter(|one| !has_gap(one)).map(lost).sum()
    }

    /// Returns the number of contracts of which no packet was observed: nothing is known of their bounds.
    pub fn untested(&self) -> usize {
        self.contracts.iter().filter(|one| one.flow.worst().is_none()).count() + self.silent.len()
    }

    /// Returns the number of pairs of members that got less than their minimum.
    pub fn short(&self) -> usize {
        self.shares.iter().map(|one| one.short().len()).sum()
    }

    /// Returns the contracts whose guarantee is unknown, each with the reason.
    pub fn unknown(&self) -> Vec<(&str, &str)> {
        let latency = self.contracts.iter().filter_map(|one| match &one.result {
            GuaranteeResult::Unknown(why) => Some((one.contract.id.as_str(), why.as_str())),
            _ => None,
        });
        let silent = self.silent.iter().map(|id| (id.as_str(), SMALL_BUCKET));
        let shares = self.shares.iter().filter_map(|one| Some((one.promise.id.as_str(), one.unknown()?)));
        latency.chain(silent).chain(shares).collect()
    }

    /// Returns the number of times that a contract is known to have been moved.
    pub fn moves(&self) -> usize {
        self.actions.iter().filter_map(|action| action.outcome.as_ref().ok()).map(|outcome| outcome.moved.len()).sum()
    }

    /// Returns the number of actions whose consequences are unknown.
    pub fn unfinished(&self) -> usize {
        self.actions.iter().filter(|action| action.is_unfinished()).count()
    }
}

/// Counters of packets that shapers have dropped, by serial number of the contract, before a run and after it.
pub(super) struct ShaperCounters {
    pub(super) before: BTreeMap<u64, u64>,
    /// The error is the reason for which they are unknown.
    pub(super) after: Result<BTreeMap<u64, u64>, String>,
}

impl ShaperCounters {
    /// Returns the losses of a contract that lost this many packets; the error is the reason for which the shaper's
    /// part is unknown.
    fn split(&self, contract: &ReportedContract, lost: u64) -> Result<Losses, String> {
        // Without losses no counter is needed, and best effort has no shaper.
        if lost == 0 || contract.state == "best effort" {
            return Ok(Losses { shaped: 0, network: lost });
        }
        let lost_packets = count(lost, "packet");
        let unknown =
            |why: &str| format!("{lost_packets} did not arrive, and the counter of its shaper is unknown: {why}");
        let after = self.after.as_ref().map_err(|why| unknown(why))?;
        let after = after.get(&contract.serial).ok_or_else(|| unknown("its host has none"))?;
        let before = self.before.get(&contract.serial).copied().unwrap_or(0);
        let shaped = after.checked_sub(before).ok_or_else(|| unknown("it was reset during the run"))?.min(lost);
        Ok(Losses { shaped, network: lost - shaped })
    }
}

/// Returns the report of a run. Throughput of shares is not part of it yet.
pub(super) fn of(
    flows: &Flows,
    reports: Vec<FlowReport>,
    stalls: &Stalls,
    ending: &Ending,
    shaped: &ShaperCounters,
    actions: Vec<ActionResult>,
) -> RunReport {
    let (mut contracts, mut floods) = (Vec::new(), Vec::new());
    for (contract, flow) in flows.contracts.iter().zip(reports) {
        match contract {
            Some(contract) => {
                contracts.push(contract_report(
                    contract,
                    flow,
                    flows.wait(&contract.id),
                    stalls,
                    ending,
                    shaped,
                    &actions,
                ));
            }
            None => floods.push(flow),
        }
    }
    RunReport {
        end: ending.end.clone(),
        exited: ending.exited.clone(),
        contracts,
        shares: Vec::new(),
        silent: flows.silent.clone(),
        floods,
        actions,
        stalls: stalls.clone(),
    }
}

fn contract_report(
    contract: &ReportedContract,
    mut flow: FlowReport,
    waits: Time,
    stalls: &Stalls,
    ending: &Ending,
    shaped: &ShaperCounters,
    actions: &[ActionResult],
) -> ContractReport {
    let id = contract.id.as_str();
    if let Some(bounds) = &mut flow.bounds {
        for (action, promised) in actions.iter().filter_map(|one| Some((one, one.promised(id)?))) {
            bounds.change(action.began, action.ended(), promised + waits);
        }
    }
    let (excused, others) = flow.late_by_stalls(stalls);
    let has_gap = |late: &Arrival| !contract.is_in_effect() || actions.iter().any(|one| one.breaks(id, late.sent));
    let (unpromised, others): (Vec<Arrival>, Vec<Arrival>) = others.into_iter().partition(has_gap);
    let losses = shaped.split(contract, flow.lost());
    let (state, not_in_effect) = ending.state(id);
    let is_interrupted = !contract.is_in_effect() || actions.iter().any(|action| action.interrupts(id));
    let has_lost = !is_interrupted && losses.as_ref().is_ok_and(|losses| losses.network > 0);
    let unfinished = || {
        let action = actions.iter().find(|action| action.is_unfinished())?;
        Some(format!("the consequences of an action are unknown: {}", action.outcome.as_ref().err()?))
    };
    let unknown = || {
        let at_start = (!contract.is_in_effect()).then(|| format!("{} at the start", contract.explained()));
        let unmeasured = || flow.worst().is_none().then(|| "no packet arrived".to_owned());
        at_start.or_else(unmeasured).or(not_in_effect).or_else(unfinished).or_else(|| losses.clone().err())
    };
    let result = match !others.is_empty() || has_lost {
        true => GuaranteeResult::Violated,
        false => unknown().map_or(GuaranteeResult::Kept, GuaranteeResult::Unknown),
    };
    ContractReport {
        state,
        moved: actions.iter().filter(|action| action.promised(id).is_some()).count(),
        waits,
        losses: losses.ok(),
        excused: excused.len() as u64,
        unpromised: unpromised.len() as u64,
        violations: others.len() as u64,
        result,
        contract: contract.clone(),
        flow,
    }
}

#[cfg(test)]
mod tests {
    use super::super::actions::NetworkAction;
    use super::super::operator::tests::contract;
    use super::*;

    fn flow(delays: Vec<u64>, sent: u64) -> FlowReport {
        let arrivals =
            delays.iter().zip(0..).map(|(&delay, number)| Arrival { number, sent: 1_000, received: 1_000 + delay });
        FlowReport {
            name: "f".to_owned(),
            sent,
            reordered: 0,
            duplicates: 0,
            foreign: 0,
            bounds: Some(Bounds::of(Time::from_millis(1))),
            arrivals: arrivals.collect(),
            delays,
        }
    }

    fn ending(contracts: Result<Vec<ReportedContract>, String>) -> Ending {
        Ending { end: RunCompletion::Complete, contracts, exited: Vec::new() }
    }

    fn judged(
        before: &ReportedContract,
        flow: FlowReport,
        ending: &Ending,
        actions: &[ActionResult],
    ) -> ContractReport {
        let shaped = ShaperCounters { before: BTreeMap::new(), after: Ok(BTreeMap::from([(1, 0)])) };
        contract_report(before, flow, Time::ZERO, &Stalls::default(), ending, &shaped, actions)
    }

    fn unknown(report: &ContractReport) -> &str {
        match &report.result {
            GuaranteeResult::Unknown(why) => why,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_guarantee_is_kept_only_if_measured_and_in_effect_until_the_end() {
        let enforced = contract("default:a", "enforced", None);
        let whole = ending(Ok(vec![enforced.clone()]));
        let result = |delays, sent, ending: &Ending| judged(&enforced, flow(delays, sent), ending, &[]);
        assert_eq!(result(vec![10], 1, &whole).result, GuaranteeResult::Kept);
        assert_eq!(result(vec![10, 2_000_000], 2, &whole).result, GuaranteeResult::Violated);
        assert_eq!(result(vec![10], 2, &whole).result, GuaranteeResult::Violated, "a packet was lost");
        assert_eq!(unknown(&result(vec![], 0, &whole)), "no packet arrived");
        let silent = ending(Ok(vec![contract("default:a", "degraded", Some("SILENT"))]));
        assert_eq!(unknown(&result(vec![10], 1, &silent)), "degraded (SILENT) at the end");
        let lost = result(vec![10], 1, &ending(Err("connection refused".to_owned())));
        assert_eq!(lost.state, "unknown");
        assert_eq!(unknown(&lost), "its state at the end is unknown: connection refused");
        assert_eq!(unknown(&result(vec![10], 1, &ending(Ok(Vec::new())))), "it was deleted during the run");
        let degraded = contract("default:a", "degraded", Some("FAILURE"));
        let never = judged(&degraded, flow(vec![2_000_000], 2), &whole, &[]);
        assert_eq!((never.violations, never.unpromised), (0, 1), "nothing was promised");
        assert_eq!(unknown(&never), "degraded (FAILURE) at the start");
    }

    #[test]
    fn packets_after_an_action_with_unknown_consequences_violate_nothing() {
        let enforced = contract("default:a", "enforced", None);
        let whole = ending(Ok(vec![enforced.clone()]));
        let cut = |began| ActionResult {
            kind: NetworkAction::Cut,
            what: "s1->s2".to_owned(),
            began,
            outcome: Err("stopped".to_owned()),
        };
        let after = judged(&enforced, flow(vec![2_000_000], 2), &whole, &[cut(900)]);
        assert_eq!((after.violations, after.unpromised, after.moved), (0, 1, 0));
        assert_eq!(unknown(&after), "the consequences of an action are unknown: stopped");
        let before = judged(&enforced, flow(vec![2_000_000], 1), &whole, &[cut(1_001)]);
        assert_eq!((before.violations, before.result), (1, GuaranteeResult::Violated), "it was sent before the cut");
        let nothing = judged(&enforced, flow(vec![10], 1), &whole, &[ActionResult::failed("refused".to_owned())]);
        assert_eq!(nothing.result, GuaranteeResult::Kept);
    }

    #[test]
    fn losses_are_split_by_a_counter_that_is_known() {
        let one = contract("default:a", "enforced", None);
        let split = |before: &[(u64, u64)], after: Result<BTreeMap<u64, u64>, String>, lost| {
            ShaperCounters { before: before.iter().copied().collect(), after }.split(&one, lost)
        };
        assert_eq!(split(&[(1, 5)], Ok(BTreeMap::from([(1, 7)])), 3), Ok(Losses { shaped: 2, network: 1 }));
        assert_eq!(split(&[(1, 5)], Err("no host".to_owned()), 0), Ok(Losses { shaped: 0, network: 0 }));
        let unknown = [
            split(&[(1, 5)], Ok(BTreeMap::from([(1, 4)])), 3),
            split(&[(1, 5)], Ok(BTreeMap::new()), 3),
            split(&[(1, 5)], Err("no host".to_owned()), 3),
        ];
        assert!(unknown.iter().all(Result::is_err), "{unknown:?}");
    }
}
