//! Settings of PicNIC' in a scenario.

use wayleave_scheme_api::{ValueKind, params};
use wayleave_units::{Bytes, Rate, Time};

use crate::host::eyeq::{MeterParams, Params};

params! {
    /// Settings of PicNIC'. All other values are EyeQ's.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct Settings {
        /// Percentage of the line rate that the meters divide.
        pub target_percent: u8 = 95, "targetPercent", ValueKind::Percent { least: 1, most: 100 }, "uFAB, 2.2";
        /// Minimum rate that corresponds to a weight of 1, for sender queues and transports.
        pub unit_bandwidth: Rate = Rate::from_mbit(500), "unitBandwidth", ValueKind::RATE, "ours: divides uFAB's minima (docs/theory/sharing.md)";
        /// Measurement interval of arrivals, T of EyeQ.
        pub interval: Time = Params::default().interval, "interval", ValueKind::TIME, "Parley, Table 1: T";
        /// Gain of EyeQ's control equation, alpha, in steps of 0.01.
        pub alpha_percent: u8 = MeterParams::default().alpha_percent, "alpha", ValueKind::Hundredths { least: 1, most: 100 },
            "Parley, Table 1: alpha";
        /// Received amount of a class after which it sends one feedback message.
        pub sample: Bytes = Params::default().sample, "sample", ValueKind::BYTES, "Parley, 3.2.1";
        /// Burst of the rate limiters of pairs, and of classes with a maximum.
        pub burst: Bytes = Params::default().pair_burst, "burst", ValueKind::BYTES, "Parley, 4: the limiters of Fig. 9";
    }
}

impl Settings {
    /// The parameters of the meters.
    pub fn meter(&self) -> Params {
        let usual = Params::default();
        Params {
            meter: MeterParams { alpha_percent: self.alpha_percent, ..usual.meter },
            interval: self.interval,
            sample: self.sample,
            receive_percent: self.target_percent,
            pair_burst: self.burst,
            class_burst: self.burst,
            ..usual
        }
    }
}
