//! Settings of EyeQ in a scenario.

use wayleave_scheme_api::{ClassId, ParamType, Parameters, Value, ValueKind, nested, params};
use wayleave_units::{Bytes, Rate, Time};

use super::{Marks, MeterParams, Params, Staleness};
use crate::hosts::HostSetup;

/// A size, also of nothing.
const SIZE: ValueKind = ValueKind::Bytes { least: Bytes::ZERO, most: Bytes::MAX };

params! {
    /// Settings of EyeQ. Defaults are those of [`Params`].
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct Settings {
        /// Measurement interval of arrivals, T.
        pub interval: Time = Params::default().interval, "interval", ValueKind::TIME, "Parley, Table 1: T";
        /// Gain of the control equation, alpha, in steps of 0.01.
        pub alpha_percent: u8 = MeterParams::default().alpha_percent, "alpha", ValueKind::Hundredths { least: 1, most: 100 },
            "Parley, Table 1: alpha";
        /// Effect of congestion marks on the advertised rate R.
        pub marks: Marks = MeterParams::default().marks, "marks", ValueKind::Word(Marks::WORDS), "Parley, 3.2.1";
        /// Marking threshold K of the released variant.
        pub mark_bytes: Bytes = MeterParams::default().mark_bytes, "markBytes", ValueKind::BYTES, "EyeQ's released program";
        /// Minimum rate in feedback to a sender.
        pub floor: Rate = MeterParams::default().floor, "minRate", ValueKind::RATE, "EyeQ's paper; its last release: 10Mbit";
        /// Received amount of a class after which it sends one feedback message.
        pub sample: Bytes = Params::default().sample, "sample", ValueKind::BYTES, "Parley, 3.2.1";
        /// Additional feedback of the rate R to senders.
        pub feedback: Staleness = Params::default().staleness, "staleFeedback", ValueKind::Word(Staleness::WORDS), "ours";
        /// Percentage of the line rate that the meters divide.
        pub receive_percent: u8 = Params::default().receive_percent, "receivePercent",
            ValueKind::Percent { least: 1, most: 100 }, "EyeQ's released program: 9 of 10 Gbit/s";
        /// Burst of a pair's rate limiter.
        pub pair_burst: Bytes = Params::default().pair_burst, "pairBurst", ValueKind::BYTES,
            "Parley, 4: the limiters of Fig. 9";
        /// Burst of a class's rate limiter.
        pub class_burst: Bytes = Params::default().class_burst, "classBurst", ValueKind::BYTES,
            "as for a pair; Parley, section 7, gives the cases for more";
        /// Bursts of individual services, in place of the class burst.
        pub bursts: Vec<(String, Bytes)> = Vec::new(), "bursts", ValueKind::ByService(&SIZE), "Parley, section 7";
        /// Weights of services at senders.
        pub sender_weights: Vec<(String, u32)> = Vec::new(), "senderWeights", ValueKind::ByService(&ValueKind::COUNT),
            "Parley, 3.2.1: w_sender", { default: "1" };
    }
}

impl Settings {
    /// The parameters of a machine with these services.
    pub(crate) fn params(&self, setup: &HostSetup<'_>) -> Params {
        let usual = Params::default();
        let (policy, services) = (setup.policy, setup.services);
        let class = |service: usize| services.class_at(policy, Some(service));
        let parent = |service: usize| Some((class(service), class(policy.parent(service)?)));
        Params {
            meter: MeterParams {
                alpha_percent: self.alpha_percent,
                marks: self.marks,
                mark_bytes: self.mark_bytes,
                floor: self.floor,
                ..usual.meter
            },
            staleness: self.feedback,
            interval: self.interval,
            sample: self.sample,
            receive_percent: self.receive_percent,
            pair_burst: self.pair_burst,
            class_burst: self.class_burst,
            class_bursts: named(&self.bursts, setup),
            sender_weights: named(&self.sender_weights, setup),
            parents: (0..policy.services().len()).filter_map(parent).collect(),
            ..usual
        }
    }
}

fn named<T: Copy>(list: &[(String, T)], setup: &HostSetup<'_>) -> Vec<(ClassId, T)> {
    list.iter().filter_map(|(name, value)| Some((setup.services.class(name)?, *value))).collect()
}

/// Within a scheme that has it for a machine shaper.
impl ParamType for Settings {
    fn from_value(value: Value) -> Option<Self> {
        if let Value::Scheme(given) = value { Self::with(&given).ok() } else { None }
    }

    fn to_value(&self) -> Value {
        nested(self)
    }
}
