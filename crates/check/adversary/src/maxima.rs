//! Maxima under test: a run in which all contracts with a maximum always have traffic, and the result for each maximum.
//!
//! A maximum is tested in a direction at a host if a run carries at least 90 % of it in the counted half, and the links
//! could have carried at least 110 % of it. Whole frames and the burst, which may exceed a maximum, are deducted first.
//! A run with less traffic has not shown that anything limits it. On links without that margin the links may be the
//! limit. In both cases the maximum is not tested.

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

/// Returns a run in which the contracts with a maximum send alone, each host to one other, all the time. It lasts
/// until whole frames and bursts no longer hide a maximum, as far as the effort allows. `None` without maxima.
pub(crate) fn attack(tenants: &Tenants, whole: &ClassClaim, effort: &Effort) -> Option<ClassClaim> {
    let counted = whole.maxima.iter().map(|promise| needed_ns(whole, promise)).max()?;
    let shortest = whole.scenario.duration.as_nanos();
    let hosts = whole.scenario.network.hosts().count().max(1) as u64;
    let stretch = (STRETCH_OF_HOST / hosts).clamp(*STRETCH.start(), *STRETCH.end());
    let longest = shortest.saturating_mul(stretch).min(most_ns(whole, effort));
    let wanted = u64::try_from(counted.saturating_mul(2)).unwrap_or(u64::MAX);
    let duration = wanted.min(longest).max(shortest);
    let mut scenario = whole.scenario.clone();
    scenario.traffic = tenants.senders_at_maxima();
    scenario.duration = Time::from_nanos(duration);
    scenario.record.carried_from = Time::from_nanos(duration / 2);
    Some(ClassClaim {
        scenario,
        minima: Vec::new(),
        in_flight: Vec::new(),
        shares: Vec::new(),
        weights: Vec::new(),
        contention: None,
        ..whole.clone()
    })
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

/// Shortens a run to at most this time, or to the time of the other runs.
pub(crate) fn shorten(claim: &mut ClassClaim, longest: Time, others: Time) {
    let duration = claim.scenario.duration.min(longest.max(others));
    claim.scenario.duration = duration;
    claim.scenario.record.carried_from = Time::from_nanos(duration.as_nanos() / 2);
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
