//! Estimate of a service's demand while a limit hides it.
//!
//! Parley's brokers take measured usage for demand (section 3.2.2: "aggregates service-level bandwidth usages across
//! machines in a rack, uses these values as 'demands'"). A limited service cannot use more than its limit, so its
//! usage does not show the rate that it would like to have, and section 3.2.2 assumes that demands "were computed
//! before". The paper leaves the method open. Three readings were considered:
//!
//! - Usage is demand, always. The service would then get all that it "wants" in the next round, lose its limit,
//!   burst, and get the limit again in the round after that, for ever.
//! - A service that fills a limit wants everything. Its share comes at once, but the part that it does not use is
//!   taken from its siblings for a whole round, each time.
//! - A service that fills a limit wants a multiple of the limit. The share grows by that factor every round, and the
//!   waste is at most the factor times the usage.
//!
//! Here it is the third, and [`EstimatorParams::growth`] is the multiple. Machine shapers take twice the limit.
//! Parley's brokers take 255 times, which in effect is the second reading: a service whose guess of twice the limit
//! is satisfied would lose its limit for a round and take all that it can, and a round of brokers is a second, or
//! ten.
//!
//! | the interval | estimated demand |
//! |---|---|
//! | it had no limit | its usage |
//! | it used at least `full` of its limit | `growth` times its limit, and at least `least` |
//! | it used less | halfway from the last estimate, at most its limit, down to its usage, for each `period` that has passed |
//!
//! Section 3.4 is the reason for which nothing is smoothed without a limit: such services must be able to ramp up
//! quickly.

use wayleave_units::{Rate, Time};

use crate::tree::MAX_RATE;

/// Estimation of the demand of a limited service. The paper gives the period alone; the other values are ours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EstimatorParams {
    /// The broker's interval (Parley, Table 1: 1 s for the rack, 10 s for the fabric).
    pub period: Time,
    /// A limit counts as filled from this many per cent on: shapers and meters are not exact. Section 6.3 mentions
    /// allocations within 0.01 % once converged, and some 15 iterations before that.
    pub full_percent: u8,
    /// Demand of a service that fills its limit, as a multiple of the limit: 2 for machine shapers, 255 for Parley's
    /// brokers.
    pub growth: u8,
    /// And at least this much, so that a service with a tiny limit leaves it: the 1 Mbit/s to which demands are tracked in section
    /// 6.2.
    pub least: Rate,
}

impl EstimatorParams {
    /// For a rack broker.
    pub const RACK: Self =
        Self { period: Time::from_millis(1_000), full_percent: 90, growth: 2, least: Rate::from_mbit(1) };
    /// For the fabric broker.
    pub const FABRIC: Self = Self { period: Time::from_millis(10_000), ..Self::RACK };
}

/// Usage and limit of a service since the observation before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UsageObservation {
    /// Its mean rate.
    pub usage: Rate,
    /// The limit that it had.
    pub limit: Option<Rate>,
}

/// The demand of one service in one direction: a machine without a clock.
///
/// ```
/// use wayleave_sharing::{DemandEstimator, EstimatorParams, UsageObservation};
/// use wayleave_units::{Rate, Time};
/// let mut service = DemandEstimator::new(EstimatorParams::RACK);
/// let mbit = Rate::from_mbit;
/// let second = |seconds: u64| Time::from_millis(1_000 * seconds);
/// // 700 Mbit/s and no limit: that is what it wants.
/// assert_eq!(service.observe(second(1), UsageObservation { usage: mbit(700), limit: None }), mbit(700));
/// // It fills a limit of 400 Mbit/s: it wants more.
/// assert_eq!(service.observe(second(2), UsageObservation { usage: mbit(399), limit: Some(mbit(400)) }), mbit(800));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DemandEstimator {
    params: EstimatorParams,
    state: State,
}

/// Known state of a service.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// Nothing yet.
    Unseen,
    /// It wanted `demand` at a time.
    Estimated { demand: Rate, at: Time },
}

impl DemandEstimator {
    /// Of a service that has not been seen.
    pub const fn new(params: EstimatorParams) -> Self {
        Self { params, state: State::Unseen }
    }

    /// Estimated demand of the service: nothing before the first observation.
    pub const fn demand(&self) -> Rate {
        match self.state {
            State::Unseen => Rate::ZERO,
            State::Estimated { demand, .. } => demand,
        }
    }

    /// Takes an observation and returns the demand after it. Observations that come out of order count as if no time
    /// had passed.
    pub fn observe(&mut self, now: Time, seen: UsageObservation) -> Rate {
        let last = match self.state {
            State::Unseen => now,
            State::Estimated { at, .. } => at,
        };
        let (demand, at) = match seen.limit {
            None => (seen.usage, now),
            Some(limit) if self.is_full(seen.usage, limit) => (self.grown(limit), now),
            Some(limit) => {
                let periods = now.saturating_sub(last).as_nanos() / self.params.period.as_nanos().max(1);
                (self.decayed(seen.usage, limit, periods), last + self.params.period * periods)
            }
        };
        let demand = demand.min(MAX_RATE);
        self.state = State::Estimated { demand, at: at.max(last) };
        demand
    }

    fn is_full(&self, usage: Rate, limit: Rate) -> bool {
        let percent = |rate: Rate, percent: u8| u128::from(rate.bits_per_second()) * u128::from(percent);
        percent(usage, 100) >= percent(limit, self.params.full_percent)
    }

    fn grown(&self, limit: Rate) -> Rate {
        let grown = limit.bits_per_second().saturating_mul(u64::from(self.params.growth));
        Rate::from_bits_per_second(grown).max(self.params.least)
    }

    fn decayed(&self, usage: Rate, limit: Rate, periods: u64) -> Rate {
        // A service that does not fill a limit does not want more, at any earlier estimate.
        let above = self.demand().min(limit).saturating_sub(usage).bits_per_second();
        // Rounded down, so that it arrives.
        let left = u32::try_from(periods).ok().and_then(|periods| above.checked_shr(periods)).unwrap_or(0);
        usage + Rate::from_bits_per_second(left)
    }
}
