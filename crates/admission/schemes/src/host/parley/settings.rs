//! Settings of Parley in a scenario.

use wayleave_scheme_api::{ParamType, Value, ValueKind, params};
use wayleave_sharing::EstimatorParams;
use wayleave_topology::NodeId;
use wayleave_units::{Rate, Time};

use super::Params;
use crate::host::eyeq;

params! {
    /// Settings of Parley. Defaults are those of [`Params::PUBLISHED`].
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct Settings {
        /// Shaper of each machine.
        pub shaper: eyeq::Settings = eyeq::Settings::default(), "shaper", ValueKind::Scheme(&eyeq::DESCRIPTOR), "Table 1",
            { default: "" };
        /// T_rack: interval at which a machine reports its counters, and its rack broker divides.
        pub rack_interval: Time = Params::PUBLISHED.rack_interval, "rackInterval", ValueKind::TIME, "Table 1",
            { option: "interval", note: "The other intervals and time-outs of brokers keep their ratio to it." };
        /// T^t_rack: time without a report after which a machine is removed from the rack.
        pub rack_timeout: Option<Time> = None, "rackTimeout", ValueKind::TIME, "Table 1: 5s, five times T_rack",
            { option: "timeout", default: "five times the rack's interval" };
        /// T_fabric: interval at which racks query the fabric broker.
        pub fabric_interval: Option<Time> = None, "fabricInterval", ValueKind::TIME, "Table 1: 10s, ten times T_rack",
            { option: "fabric-interval", default: "ten times the rack's interval" };
        /// T^t_fabric: time without a message after which racks and the fabric broker remove each other.
        pub fabric_timeout: Option<Time> = None, "fabricTimeout", ValueKind::TIME, "Table 1: 50s, five times T_fabric",
            { option: "fabric-timeout", default: "five times the fabric's interval" };
        /// Usage in a rack below which a service is not reported individually.
        pub rack_report_threshold: Rate = Params::PUBLISHED.rack_report_threshold, "rackReportThreshold", ValueKind::ANY_RATE, "section 3.3";
        /// Usage in the fabric below which a service is not reported individually.
        pub fabric_report_threshold: Rate = Params::PUBLISHED.fabric_report_threshold, "fabricReportThreshold", ValueKind::ANY_RATE, "section 3.3";
        /// Utilisation from which on a limit counts as full.
        pub limit_saturation_percent: u8 = Params::PUBLISHED.demand.full_percent, "limitSaturation", ValueKind::Hundredths { least: 1, most: 100 },
            "ours: shapers and meters are not exact",
            { note: "A service with a full limit is assumed to need more." };
        /// Host of the fabric broker.
        pub fabric_broker: FabricBrokerAt = FabricBrokerAt::default(), "fabricBroker", ValueKind::Host, "ours",
            { note: "If absent, it is outside the network, 100 us away." };
    }
}

/// Location of the fabric broker. There is one if there is a fabric policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FabricBrokerAt {
    /// Outside the network: every message to it and from it takes this time, and none is lost in queues.
    Outside(Time),
    /// At a host: messages are packets.
    Host(NodeId),
}

impl Default for FabricBrokerAt {
    /// 100 us away: negligible beside the 10 s between two messages of a rack.
    fn default() -> Self {
        Self::Outside(Time::from_micros(100))
    }
}

impl ParamType for FabricBrokerAt {
    fn from_value(value: Value) -> Option<Self> {
        match value {
            Value::Node(node) => Some(Self::Host(node)),
            Value::Absent => Some(Self::default()),
            _ => None,
        }
    }

    fn to_value(&self) -> Value {
        match self {
            Self::Host(node) => Value::Node(*node),
            Self::Outside(_) => Value::Absent,
        }
    }
}

impl Settings {
    /// The parameters of brokers and of shapers beside EyeQ's.
    pub fn params(&self) -> Params {
        let scaled = Params::PUBLISHED.every(self.rack_interval);
        // A time-out follows from its own interval, in the ratio of Table 1.
        let fabric_interval = self.fabric_interval.unwrap_or(scaled.fabric_interval);
        let fabric_timeout = self.fabric_interval.map_or(scaled.fabric_timeout, times_five);
        Params {
            rack_timeout: self.rack_timeout.unwrap_or(scaled.rack_timeout),
            fabric_interval,
            fabric_timeout: self.fabric_timeout.unwrap_or(fabric_timeout),
            rack_report_threshold: self.rack_report_threshold,
            fabric_report_threshold: self.fabric_report_threshold,
            demand: EstimatorParams { full_percent: self.limit_saturation_percent, ..scaled.demand },
            ..scaled
        }
    }

    /// Checks that each timeout is above its message interval, so that no sender is forgotten between two messages.
    pub(super) fn check_together(&self) -> Result<(), String> {
        let params = self.params();
        let pairs = [
            ("the rack's interval", params.rack_interval, params.rack_timeout),
            ("the fabric's interval", params.fabric_interval, params.fabric_timeout),
        ];
        match pairs.into_iter().find(|(_, interval, timeout)| timeout <= interval) {
            Some((name, interval, timeout)) => Err(format!(
                "a timeout of {timeout} is not above {name}, {interval}: all senders would be removed between two messages"
            )),
            None => Ok(()),
        }
    }
}

fn times_five(interval: Time) -> Time {
    Time::from_nanos(interval.as_nanos().saturating_mul(5))
}
