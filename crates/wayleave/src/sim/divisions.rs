//! Traffic that divisions of SCC got out of their demand, and the degree to which their objectives were met.

use wayleave_contracts::FlowObjective;
use wayleave_scenarios::Scenario;
use wayleave_sim::{Outcome, SharingOutcome};

use wayleave_report::sim::result::{Distribution, DivisionResult, TrafficResult};

/// Of every division that sent something, in the order of their names.
pub(super) fn divisions(
    scenario: &Scenario,
    outcome: &Outcome,
    sharing: &SharingOutcome,
    traffic: &[TrafficResult],
) -> Vec<DivisionResult> {
    let Some(policy) = scenario.sharing.as_ref().map(|sharing| &sharing.machine) else { return Vec::new() };
    let seconds = outcome.counted.as_nanos() as f64 / 1e9;
    let named = policy.services().iter().filter_map(|service| Some((service, service.division?)));
    let mut results: Vec<DivisionResult> = named
        .filter_map(|(service, division)| {
            let got = sharing.service(&service.name)?;
            let bytes: u64 = got.machines.iter().map(|machine| machine.sent.get()).sum();
            let is_own = |index: usize| scenario.traffic[index].service.as_ref() == Some(&service.name);
            let own: Vec<&TrafficResult> =
                traffic.iter().enumerate().filter(|&(index, _)| is_own(index)).map(|(_, traffic)| traffic).collect();
            let mut result = DivisionResult {
                name: service.name.clone(),
                objective: division.objective.map(|objective| objective.name().to_owned()),
                share_bps: division.share.bits_per_second(),
                wanted_bps: wanted(outcome, sharing, &service.name),
                due_bps: 0,
                carried_bps: if seconds > 0.0 { (bytes as f64 * 8.0 / seconds) as u64 } else { 0 },
                deadlines_met: own.iter().map(|traffic| traffic.deadlines_met).sum(),
                deadlines_missed: own.iter().map(|traffic| traffic.deadlines_missed).sum(),
                mean_ps: None,
                p99_ps: None,
            };
            (result.mean_ps, result.p99_ps) = times(division.objective, &own);
            (bytes > 0).then_some(result)
        })
        .collect();
    owe(&mut results);
    results.sort_by(|one, other| one.name.cmp(&other.name));
    results
}

/// Returns the traffic that entered the tunnels of a service; `None` if the demand exceeded the traffic that left, so
/// that the tunnels still held packets at the end.
fn wanted(outcome: &Outcome, sharing: &SharingOutcome, service: &str) -> Option<u64> {
    let own = || sharing.tunnels.iter().filter(|tunnel| tunnel.service.as_deref() == Some(service));
    if own().any(|tunnel| tunnel.counts.queued.get() > 0) {
        return None;
    }
    let arrived: u128 = own().map(|tunnel| u128::from(tunnel.counts.arrived.get())).sum();
    let bits = (arrived * 8 * 1_000_000_000).checked_div(u128::from(outcome.simulated.as_nanos()))?;
    Some(u64::try_from(bits).unwrap_or(u64::MAX))
}

/// Divides the total carried traffic among the divisions: weighted max-min fair, with their demands.
fn owe(results: &mut [DivisionResult]) {
    let mut left: u128 = results.iter().map(|result| u128::from(result.carried_bps)).sum();
    let mut open: Vec<usize> = (0..results.len()).collect();
    while !open.is_empty() {
        let weights: u128 = open.iter().map(|&at| u128::from(results[at].share_bps)).sum();
        let part = |at: usize| left * u128::from(results[at].share_bps) / weights.max(1);
        let content: Vec<usize> = open
            .iter()
            .copied()
            .filter(|&at| results[at].wanted_bps.is_some_and(|most| u128::from(most) <= part(at)))
            .collect();
        let all_want_more = content.is_empty();
        let parts: Vec<(usize, u128)> = if all_want_more {
            open.iter().map(|&at| (at, part(at))).collect()
        } else {
            content.iter().map(|&at| (at, u128::from(results[at].wanted_bps.unwrap_or(0)))).collect()
        };
        for (at, part) in parts {
            results[at].due_bps = u64::try_from(part).unwrap_or(u64::MAX);
            left = left.saturating_sub(part);
            open.retain(|&other| other != at);
        }
    }
}

/// Returns the mean and the 99th percentile of the objective's metric: packets for latency, flows for completion. The
/// 99th percentile is that of the slowest traffic.
fn times(objective: Option<FlowObjective>, own: &[&TrafficResult]) -> (Option<f64>, Option<u64>) {
    let of = |traffic: &'_ TrafficResult| -> Option<Distribution> {
        match objective? {
            FlowObjective::Latency => traffic.delay_ps.clone(),
            FlowObjective::Completion | FlowObjective::Deadline => traffic.completion_ps.clone(),
        }
    };
    let known: Vec<Distribution> = own.iter().filter_map(|traffic| of(traffic)).collect();
    let count: u64 = known.iter().map(|times| times.count).sum();
    let sum: f64 = known.iter().map(|times| times.mean * times.count as f64).sum();
    ((count > 0).then(|| sum / count as f64), known.iter().map(|times| times.p99).max())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn result(share: u64, wanted_bps: Option<u64>, carried_bps: u64) -> DivisionResult {
        DivisionResult {
            name: String::new(),
            objective: None,
            share_bps: share,
            wanted_bps,
            due_bps: 0,
            carried_bps,
            deadlines_met: 0,
            deadlines_missed: 0,
            mean_ps: None,
            p99_ps: None,
        }
    }

    /// 1,000 for weights 1, 3 and 6: who wants 120 of 300 is content, and 880 are shared 1 to 6.
    #[test]
    fn unused_shares_are_due_to_the_others_by_their_weights() {
        let mut results = [result(1, None, 400), result(3, Some(120), 100), result(6, None, 500)];
        owe(&mut results);
        assert_eq!(results.map(|result| result.due_bps), [125, 120, 754]);
    }
}
