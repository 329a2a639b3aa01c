//! Parameters that are fixed at the start.

use wayleave_sharing::EstimatorParams;
use wayleave_units::{Rate, Time};

/// Parley's parameters, for machines, rack brokers and the fabric broker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Params {
    /// T_rack: interval at which a machine reports its usage, and its rack broker divides (Table 1).
    pub rack_interval: Time,
    /// T_fabric: interval at which a rack's leader reports its demands (Table 1).
    pub fabric_interval: Time,
    /// T^t_rack: a machine without a message from its rack broker for this time falls back to its own policy. A
    /// machine without a message to the brokers of the rack for this time is removed (Table 1).
    pub rack_timeout: Time,
    /// T^t_fabric: the same between racks and the fabric broker (Table 1).
    pub fabric_timeout: Time,
    /// Services that use less in a rack are not reported individually (3.3).
    pub rack_report_threshold: Rate,
    /// Services that use less in the fabric are not reported individually (3.3).
    pub fabric_report_threshold: Rate,
    /// Share of the links' capacity that is divided, in per cent: 95, unless the policy's peak is less. The text
    /// gives no value, and its examples share all; section 6.3 limits the load to 60 of 80 Gbit/s. Only its usage
    /// shows the demand of an unlimited service. On a full link a service that is squeezed below its share would
    /// appear satisfied for ever. With room it shows its demand by growing.
    pub uplink_percent: u8,
    /// Demand estimation of a limited service. 255 times a limit is in effect unlimited: its share of the whole
    /// arrives in the next round, and if it does not fill that share, the round after shows it.
    pub demand: EstimatorParams,
}

impl Params {
    /// Table 1 and section 3.3. Their last two values are ours.
    pub const PUBLISHED: Self = Self {
        rack_interval: Time::from_millis(1_000),
        fabric_interval: Time::from_millis(10_000),
        rack_timeout: Time::from_millis(5_000),
        fabric_timeout: Time::from_millis(50_000),
        rack_report_threshold: Rate::from_mbit(100),
        fabric_report_threshold: Rate::from_gbit(1),
        uplink_percent: 95,
        demand: EstimatorParams { growth: u8::MAX, ..EstimatorParams::RACK },
    };

    /// The same ratios with another T_rack, as in section 6.2 ("10 times per second").
    #[must_use]
    pub fn every(self, rack_interval: Time) -> Self {
        let times = |interval: Time| {
            let scaled = u128::from(interval.as_nanos()) * u128::from(rack_interval.as_nanos());
            Time::from_nanos(
                u64::try_from(scaled / u128::from(self.rack_interval.as_nanos().max(1))).unwrap_or(u64::MAX),
            )
        };
        Self {
            rack_interval,
            fabric_interval: times(self.fabric_interval),
            rack_timeout: times(self.rack_timeout),
            fabric_timeout: times(self.fabric_timeout),
            demand: EstimatorParams { period: times(self.demand.period), ..self.demand },
            ..self
        }
    }
}

impl Default for Params {
    fn default() -> Self {
        Self::PUBLISHED
    }
}
