//! A rack broker's state of its own machine: counters become demands.

use wayleave_contracts::Direction;
use wayleave_scheme_api::ClassId;
use wayleave_sharing::{DemandEstimator, EstimatorParams, UsageObservation};
use wayleave_units::{Bytes, Rate, Time};

use crate::usage_report::{Limited, MeteredUsage, ServiceUsageReport, UsageReport};

/// A machine's services as its own broker sees them.
#[derive(Clone, Debug)]
pub(super) struct LocalDemand {
    services: Vec<Service>,
    /// A maximum is filled from here on, as a limit is.
    full_percent: u8,
    /// Time of the last report, by the machine's clock.
    at: Option<Time>,
}

#[derive(Clone, Debug)]
struct Service {
    counted: [Count; 2],
    metered: MeteredUsage,
    /// `true` if its meter limited senders throughout the last interval.
    is_held: bool,
    wants: [DemandEstimator; 2],
    /// On all traffic, in and out of the rack.
    limit: [Option<Rate>; 2],
    /// Rate that the machine received in place of a limit: the maximum at the uplinks.
    ceiling: [Option<Rate>; 2],
    /// Traffic over the uplinks in the last interval, and all traffic.
    mix: [Count; 2],
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Count {
    uplink: u64,
    total: u64,
}

impl LocalDemand {
    pub(super) fn new(classes: usize, params: EstimatorParams) -> Self {
        let service = Service {
            counted: [Count::default(); 2],
            metered: MeteredUsage::default(),
            is_held: false,
            wants: [const { DemandEstimator::new(EstimatorParams::RACK) }; 2].map(|_| DemandEstimator::new(params)),
            limit: [None; 2],
            ceiling: [None; 2],
            mix: [Count::default(); 2],
        };
        Self { services: vec![service; classes], full_percent: params.full_percent, at: None }
    }

    /// Processes a report. Returns `true` if demands are now known: a first report only sets the base of the
    /// counters.
    pub(super) fn observe(&mut self, now: Time, report: &UsageReport) -> bool {
        let Some(last) = self.at else {
            self.begin(report);
            return false;
        };
        let nanos = report.at.saturating_sub(last).as_nanos();
        if nanos == 0 || self.has_restarted(report) {
            // The machine counts from zero again, or repeats a report.
            if nanos > 0 || report.at < last {
                self.begin(report);
            }
            return false;
        }
        if let Some(limits) = &report.limits {
            self.set_limits(limits);
        }
        for service in &mut self.services {
            service.mix = [Count::default(); 2];
            service.is_held = false;
        }
        for usage in &report.services {
            let Some(service) = self.services.get_mut(usage.class.index()) else { continue };
            service.is_held = is_held(service.metered, usage.metered, self.full_percent);
            service.metered = usage.metered;
            for (direction, count) in counts(usage).into_iter().enumerate() {
                let before = std::mem::replace(&mut service.counted[direction], count);
                service.mix[direction] =
                    Count { uplink: count.uplink - before.uplink, total: count.total - before.total };
            }
        }
        for service in &mut self.services {
            service.observe(now, nanos, self.full_percent);
        }
        self.at = Some(report.at);
        true
    }

    /// Returns the demand of a service on the uplinks.
    pub(super) fn demand(&self, class: usize) -> [Rate; 2] {
        [0, 1].map(|direction| self.services[class].wants[direction].demand())
    }

    /// Returns `true` if a service has a limit.
    pub(super) fn is_limited(&self, class: usize) -> bool {
        self.services[class].limit.iter().any(Option::is_some)
    }

    /// Limits a service to a share of the uplinks. Returns its limit on all traffic, if traffic inside the rack keeps
    /// its part.
    pub(super) fn limit(&mut self, class: usize, shares: [Option<Rate>; 2]) -> [Option<Rate>; 2] {
        let service = &mut self.services[class];
        for (direction, share) in shares.into_iter().enumerate() {
            service.limit[direction] = share.map(|share| with_inside(share, service.mix[direction]));
        }
        service.limit
    }

    /// Returns the limits to set. A service without a limit is limited to its maximum at the uplinks, unless it was
    /// seen to send inside the rack alone. A maximum counts as a limit only if it is filled: below it the demand is
    /// the usage.
    pub(super) fn held(
        &mut self,
        class: usize,
        limits: [Option<Rate>; 2],
        ceilings: [Option<Rate>; 2],
    ) -> [Option<Rate>; 2] {
        let service = &mut self.services[class];
        [0, 1].map(|direction| {
            let mix = service.mix[direction];
            let ceiling = ceilings[direction].filter(|_| mix.uplink > 0 || mix.total == 0);
            service.ceiling[direction] =
                ceiling.filter(|_| limits[direction].is_none()).map(|ceiling| with_inside(ceiling, mix));
            limits[direction].or(service.ceiling[direction])
        })
    }

    fn set_limits(&mut self, limits: &[Limited]) {
        for service in &mut self.services {
            service.limit = [None; 2];
        }
        for limited in limits {
            if let Some(service) = self.services.get_mut(limited.class.index()) {
                let is_ceiling = service.ceiling.map(|ceiling| ceiling.is_some());
                service.limit = [0, 1].map(|direction| limited.limit[direction].filter(|_| !is_ceiling[direction]));
            }
        }
    }

    fn begin(&mut self, report: &UsageReport) {
        for service in &mut self.services {
            service.counted = [Count::default(); 2];
            service.metered = MeteredUsage::default();
        }
        for usage in &report.services {
            if let Some(service) = self.services.get_mut(usage.class.index()) {
                service.counted = counts(usage);
                service.metered = usage.metered;
            }
        }
        self.at = Some(report.at);
    }

    fn has_restarted(&self, report: &UsageReport) -> bool {
        report.services.iter().any(|usage| {
            let before = self.services.get(usage.class.index()).map(|service| service.counted);
            let pairs = before.into_iter().flatten().zip(counts(usage));
            pairs.into_iter().any(|(before, now)| now.uplink < before.uplink || now.total < before.total)
        })
    }

    /// Returns all classes that the brokers know.
    pub(super) fn classes(&self) -> impl Iterator<Item = ClassId> + use<> {
        (0..self.services.len() as u32).map(ClassId)
    }
}

impl Service {
    fn observe(&mut self, now: Time, nanos: u64, full_percent: u8) {
        for direction in 0..2 {
            let mix = self.mix[direction];
            let usage = rate(mix.uplink, nanos);
            let is_filled = |ceiling: &Rate| {
                let filled = u128::from(part(*ceiling, mix).bits_per_second()) * u128::from(full_percent);
                mix.uplink > 0 && u128::from(usage.bits_per_second()) * 100 >= filled
            };
            let limit = self.limit[direction].or(self.ceiling[direction].filter(is_filled));
            let limit = limit.map(|limit| if mix.uplink == 0 { limit } else { part(limit, mix) });
            // The service is held back by a limit that it fills.
            let is_held = direction == Direction::Receive as usize && self.is_held && usage > Rate::ZERO;
            let limit = if is_held { Some(limit.map_or(usage, |limit| limit.min(usage))) } else { limit };
            self.wants[direction].observe(now, UsageObservation { usage, limit });
        }
    }
}

fn counts(usage: &ServiceUsageReport) -> [Count; 2] {
    let count = |uplink: Bytes, total: Bytes| Count { uplink: uplink.get(), total: total.get().max(uplink.get()) };
    [count(usage.uplink[0], usage.total[0]), count(usage.uplink[1], usage.total[1])]
}

/// Returns `true` if a meter limited senders between two counts for at least `full_percent` of the intervals.
fn is_held(before: MeteredUsage, now: MeteredUsage, full_percent: u8) -> bool {
    let intervals = now.intervals.saturating_sub(before.intervals);
    let held = now.held.saturating_sub(before.held);
    intervals > 0 && u128::from(held) * 100 >= u128::from(intervals) * u128::from(full_percent)
}

/// Returns the rate of `bytes` in `nanos` nanoseconds; at least one nanosecond.
fn rate(bytes: u64, nanos: u64) -> Rate {
    let bits = u128::from(bytes) * 8_000_000_000 / u128::from(nanos.max(1));
    Rate::from_bits_per_second(u64::try_from(bits).unwrap_or(u64::MAX))
}

/// The uplinks' part of a limit on everything.
fn part(limit: Rate, mix: Count) -> Rate {
    scaled(limit, mix.uplink, mix.total)
}

/// A limit on everything of which the uplinks' part is the share.
fn with_inside(share: Rate, mix: Count) -> Rate {
    if mix.uplink == 0 { share } else { scaled(share, mix.total, mix.uplink) }
}

fn scaled(rate: Rate, times: u64, by: u64) -> Rate {
    let scaled = u128::from(rate.bits_per_second()) * u128::from(times) / u128::from(by.max(1));
    Rate::from_bits_per_second(u64::try_from(scaled).unwrap_or(u64::MAX))
}
