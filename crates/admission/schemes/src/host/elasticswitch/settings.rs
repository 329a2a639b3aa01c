//! Settings of ElasticSwitch in a scenario.

use wayleave_scheme_api::{ValueKind, params};
use wayleave_units::{Bytes, Time};

use super::Params;

params! {
    /// Settings of ElasticSwitch. Defaults are those of [`Params`].
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct Settings {
        /// Period of guarantee partitioning and of rate allocation.
        pub partition_period: Time = Params::default().partition_period, "partitionPeriod", ValueKind::TIME, "from memory of the paper";
        /// Percentage of the line rate that is never guaranteed.
        pub headroom_percent: u8 = Params::default().headroom_percent, "headroomPercent",
            ValueKind::Percent { least: 0, most: 99 }, "from memory of the paper";
        /// Factor of the cubic growth curve, in guarantees per cubic second.
        pub growth: u64 = Params::default().growth, "growth", ValueKind::Count { least: 1, most: 10_000 }, "ours";
        /// Hold time without growth after congestion, for a pair that is guaranteed the whole line; longer for smaller
        /// guarantees.
        pub min_hold: Time = Params::default().min_hold, "minHold", ValueKind::TIME, "ours; the rule is from memory of the paper";
        /// Maximum hold time after congestion.
        pub max_hold: Time = Params::default().max_hold, "maxHold", ValueKind::TIME, "ours";
        /// Burst of a pair's rate limiter.
        pub burst: Bytes = Params::default().burst, "burst", ValueKind::BYTES, "ours";
    }
}

impl Settings {
    /// The parameters that follow.
    pub(super) fn params(&self) -> Params {
        Params {
            partition_period: self.partition_period,
            rate_period: self.partition_period,
            headroom_percent: self.headroom_percent,
            growth: self.growth,
            min_hold: self.min_hold,
            max_hold: self.max_hold,
            burst: self.burst,
            ..Params::default()
        }
    }
}
