//! What a scenario can say of ElasticSwitch.

use wayleave_roles::{Kind, params};
use wayleave_units::{Bytes, Time};

use super::Params;

params! {
    /// What is said of ElasticSwitch. Defaults are those of [`Params`].
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct Settings {
        /// Between two partitions of guarantees, and between two steps of rates.
        pub period: Time = Params::default().partition_period, "period", Kind::TIME, "from memory of the paper";
        /// How much of a line is never guaranteed.
        pub headroom_percent: u8 = Params::default().headroom_percent, "headroomPercent",
            Kind::Percent { least: 0, most: 99 }, "from memory of the paper";
        /// Of the limiter of a pair.
        pub burst: Bytes = Params::default().burst, "burst", Kind::BYTES, "ours";
    }
}

impl Settings {
    /// The parameters that follow.
    pub(super) fn params(&self) -> Params {
        Params {
            partition_period: self.period,
            rate_period: self.period,
            headroom_percent: self.headroom_percent,
            burst: self.burst,
            ..Params::default()
        }
    }
}
