//! What a scenario can say of ElasticSwitch.

use wayleave_roles::{Kind, params};
use wayleave_units::{Bytes, Time};

use super::Params;

params! {
    /// What is said of ElasticSwitch. What is `None` is as in [`Params`].
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct Settings {
        /// Between two partitions of guarantees, and between two steps of rates.
        pub period: Option<Time> = None, "period", Kind::TIME, "from memory of the paper", { default: "15ms" };
        /// How much of a line is never guaranteed.
        pub headroom_percent: Option<u8> = None, "headroomPercent", Kind::Percent { least: 0, most: 99 },
            "from memory of the paper", { default: "10" };
        /// Of the limiter of a pair.
        pub burst: Option<Bytes> = None, "burst", Kind::BYTES, "ours", { default: "64kB" };
    }
}

impl Settings {
    /// The parameters that follow.
    pub(super) fn params(&self) -> Params {
        let usual = Params::default();
        Params {
            partition_period: self.period.unwrap_or(usual.partition_period),
            rate_period: self.period.unwrap_or(usual.rate_period),
            headroom_percent: self.headroom_percent.unwrap_or(usual.headroom_percent),
            burst: self.burst.unwrap_or(usual.burst),
            ..usual
        }
    }
}
