//! Maxima under test: a run in which all contracts with a maximum always have traffic, and the result for each maximum.
//!
//! A maximum is tested in a direction at a host if a run carries at least 90 % of it in the counted half, and the links
//! could have carried at least 110 % of it. Whole frames and the burst, which may exceed a maximum, are deducted first.
//! A run with less traffic has not shown that anything limits it. On links without that margin the links may be the
//! limit. In both cases the maximum is not tested.
//!
//! Windows begin with the minimum and grow with each answer: from 1 to 600 Mbit/s in 0.2 s at a round trip of 50 us. The
//! run is therefore repeated with twice its length while windows still grow ([`run_until_tested`]).

use std::collections::BTreeSet;
use std::ops::RangeInclusive;

use wayleave_scenarios::{LimitedTraffic, Tenants};
use wayleave_topology::NodeId;
use wayleave_units::{Rate, Time};

use crate::classes::{ClassClaim, ClassReport, FRAMES_OF_PAIR, largest_frame};
use crate::effort::Effort;
use crate::terms::{MaximumPromise, MaximumThroughput, TrafficDirection};

/// Amount that a maximum carries in the counted half, as a multiple of what may exceed it: then the deduction leaves
/// more than 90 %.
const ALLOWANCES: u128 = 20;

/// Bounds of the length of the run, as a multiple of the other runs: timers of hosts take time without packets, so more
/// hosts have shorter runs.
const STRETCH: RangeInclusive<u64> = 100..=1_000;
/// Multiple for one host.
const STRETCH_OF_HOST: u64 = 5_000;

/// Links of a path, for the work of a run, and bits of a full frame.
const LINKS_OF_A_PATH: u128 = 4;
const FRAME_BITS: u128 = 12_000;

/// Result for a maximum at a host in one direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TestedMaximum {
    /// The number of the promise in the claim of all tenants.
    pub promise: usize,
    /// Limited direction.
    pub direction: TrafficDirection,
    /// The throughput of the run that tests the maximum best; `None` without a run.
    pub throughput: Option<MaximumThroughput>,
}

impl TestedMaximum {
    /// Returns `true` if a run has shown that the maximum is enforced or exceeded.
    pub fn is_tested(&self) -> bool {
        self.throughput.is_some_and(|throughput| throughput.is_tested())
    }
}

/// Returns a run in which the contracts with a maximum send alone, each host to one other, all the time, with its maximum
/// length. It lasts until whole frames and bursts no longer hide a maximum, as far as the effort allows. `None` without
/// maxima.
pub(crate) fn attack(tenants: &Tenants, whole: &ClassClaim, effort: &Effort) -> Option<(ClassClaim, Time)> {
    let counted = whole.maxima.iter().map(|promise| needed_ns(whole, promise)).max()?;
    let shortest = whole.scenario.duration.as_nanos();
    let hosts = whole.scenario.network.hosts().count().max(1) as u64;
    let stretch = (STRETCH_OF_HOST / hosts).clamp(*STRETCH.start(), *STRETCH.end());
    let longest = shortest.saturating_mul(stretch).min(most_ns(whole, effort));
    let wanted = u64::try_from(counted.saturating_mul(2)).unwrap_or(u64::MAX);
    let mut claim = ClassClaim {
        minima: Vec::new(),
        in_flight: Vec::new(),
        shares: Vec::new(),
        weights: Vec::new(),
        contention: None,
        ..whole.clone()
    };
    claim.scenario.traffic = tenants.senders_at_maxima();
    set_duration(&mut claim, Time::from_nanos(wanted.min(longest).max(shortest)));
    Some((claim, Time::from_nanos(longest)))
}

/// Sets the length of a run, whose second half counts.
pub(crate) fn set_duration(claim: &mut ClassClaim, duration: Time) {
    claim.scenario.duration = duration;
    claim.scenario.record.carried_from = Time::from_nanos(duration.as_nanos() / 2);
}

/// Increase of the throughput with the length of a run, per cent, below which windows do not grow any more.
const GROWTH_PERCENT: u64 = 10;

/// Runs a claim for the time `first`, and again for twice the time, up to `longest`, while a maximum is not tested
/// although the links could carry it and its throughput grows. Returns the report of the longest complete run; `None`
/// without a complete run.
pub(crate) fn run_until_tested<E>(
    first: Time,
    longest: Time,
    mut run: impl FnMut(Time) -> Result<Option<ClassReport>, E>,
) -> Result<Option<ClassReport>, E> {
    let Some(mut report) = run(first)? else { return Ok(None) };
    let mut duration = first * 2;
    while duration <= longest && report.is_sound() {
        let untested: Vec<_> = report.maxima.iter().filter(|(_, throughput)| throughput.may_grow()).collect();
        let before: u64 = untested.iter().map(|(_, throughput)| throughput.carried).sum();
        if untested.is_empty() {
            break;
        }
        let Some(longer) = run(duration)? else { break };
        let now = |(place, _): &(&_, &MaximumThroughput)| longer.maxima.get(place).map_or(0, |now| now.carried);
        let after: u64 = untested.iter().map(now).sum();
        report = ClassReport { runs: report.runs + longer.runs, ..longer };
        if after * 100 < before * (100 + GROWTH_PERCENT) {
            break;
        }
        duration = duration * 2;
    }
    Ok(Some(report))
}

/// Returns the counted time that a maximum needs.
fn needed_ns(whole: &ClassClaim, promise: &MaximumPromise) -> u128 {
    let allowance =
        largest_frame(whole, promise.host).saturating_mul(FRAMES_OF_PAIR).saturating_add(promise.burst.get());
    let max = u128::from(promise.max.bits_per_second().max(1));
    (u128::from(allowance) * 8_000_000_000 * ALLOWANCES).div_ceil(max)
}

/// Returns the time in which all maxima together take the packets of the effort.
fn most_ns(whole: &ClassClaim, effort: &Effort) -> u64 {
    let sent = whole.maxima.iter().filter(|promise| promise.limits != LimitedTraffic::Received);
    time_of(effort, sent.map(|promise| promise.max).collect())
}

/// Returns the time in which the hosts with a maximum take the packets of the effort without it: at the rate of their
/// lines.
pub(crate) fn most_without_limits(whole: &ClassClaim, effort: &Effort) -> Time {
    let network = &whole.scenario.network;
    let hosts: BTreeSet<NodeId> = whole.maxima.iter().map(|promise| promise.host).collect();
    let lines = hosts.into_iter().flat_map(|host| network.links_from(host)).map(|&link| network.link(link).rate);
    Time::from_nanos(time_of(effort, lines.collect()))
}

/// Returns the time, in ns, in which these rates together take the packets of the effort.
fn time_of(effort: &Effort, rates: Vec<Rate>) -> u64 {
    let bits: u128 = rates.into_iter().map(|rate| u128::from(rate.bits_per_second())).sum();
    let most = u128::from(effort.packet_hops) * FRAME_BITS * 1_000_000_000 / (bits * LINKS_OF_A_PATH).max(1);
    u64::try_from(most).unwrap_or(u64::MAX)
}

/// Returns the result for each maximum of a claim over all runs.
pub(crate) fn tested<'a>(
    whole: &ClassClaim,
    reports: impl Iterator<Item = &'a ClassReport> + Clone,
) -> Vec<TestedMaximum> {
    let of = |(number, promise): (usize, &MaximumPromise)| {
        let reports = reports.clone();
        promise
            .directions()
            .iter()
            .map(move |&direction| {
                let place = (promise.service.clone(), promise.host, direction);
                let runs = reports.clone().filter_map(|report| report.maxima.get(&place).copied());
                TestedMaximum { promise: number, direction, throughput: runs.reduce(MaximumThroughput::better) }
            })
            .collect::<Vec<_>>()
    };
    whole.maxima.iter().enumerate().flat_map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs a maximum whose links could carry `able` per mille of it, with this throughput by length in ms. Returns the
    /// lengths of the runs, and the report.
    fn lengths(able: u64, carried: impl Fn(u64) -> u64, longest: u64) -> (Vec<u64>, ClassReport) {
        let mut lengths = Vec::new();
        let place = ("m".to_owned(), NodeId(0), TrafficDirection::Sent);
        let report = run_until_tested(Time::from_millis(100), Time::from_millis(longest), |duration| {
            let millis = duration.as_nanos() / 1_000_000;
            lengths.push(millis);
            let throughput = MaximumThroughput { carried: carried(millis), able };
            let maxima = [(place.clone(), throughput)].into();
            Ok::<_, ()>(Some(ClassReport { runs: 1, maxima, ..ClassReport::default() }))
        });
        (lengths, report.unwrap().unwrap())
    }

    #[test]
    fn a_run_is_repeated_with_twice_its_length_while_windows_grow() {
        let (runs, report) = lengths(1_500, |millis| (millis * 2).min(990), 10_000);
        assert_eq!((runs, report.runs), (vec![100, 200, 400, 800], 4));
        assert!(report.maxima.values().all(MaximumThroughput::is_tested));
        assert_eq!(lengths(1_500, |millis| millis * 2, 399).0, [100, 200], "no longer than the effort allows");
        assert_eq!(lengths(1_500, |_| 75, 10_000).0, [100, 200], "windows that do not grow");
        assert_eq!(lengths(1_050, |_| 75, 10_000).0, [100], "links that could not carry the maximum");
        assert_eq!(lengths(1_500, |_| 900, 10_000).0, [100], "a maximum that is tested");
    }
}
