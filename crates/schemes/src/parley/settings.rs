//! What a scenario can say of Parley.

use wayleave_roles::{Kind, Setting, Value, params};
use wayleave_topology::NodeId;
use wayleave_units::{Rate, Time};

use super::Params;
use crate::eyeq;

params! {
    /// What is said of Parley. Defaults are those of [`Params::PUBLISHED`].
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct Settings {
        /// The machines'.
        pub shaper: eyeq::Settings = eyeq::Settings::default(), "shaper", Kind::Scheme(&eyeq::DESCRIPTOR), "Table 1",
            { default: "" };
        /// T_rack.
        pub rack_interval: Time = Params::PUBLISHED.rack_interval, "rackInterval", Kind::TIME, "Table 1",
            { note: "The other intervals and time-outs of brokers keep their ratio to it." };
        /// T_fabric alone.
        pub fabric_interval: Option<Time> = None, "fabricInterval", Kind::TIME, "Table 1: 10s, ten times T_rack";
        /// What uses less in a rack is not told one by one.
        pub heavy_in_rack: Rate = Params::PUBLISHED.heavy_in_rack, "heavyInRack", Kind::ANY_RATE, "section 3.3";
        /// What uses less in the fabric is not told one by one.
        pub heavy_in_fabric: Rate = Params::PUBLISHED.heavy_in_fabric, "heavyInFabric", Kind::ANY_RATE, "section 3.3";
        /// The host of the fabric broker.
        pub fabric_broker: FabricBrokerAt = FabricBrokerAt::default(), "fabricBroker", Kind::Host, "ours",
            { note: "If absent it is outside of the network, 100us away." };
    }
}

/// Where the fabric broker is. There is one if there is a fabric policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FabricBrokerAt {
    /// Outside the network: every message to it and from it takes so long, and none is lost in queues.
    Outside(Time),
    /// At a host: messages are packets.
    Host(NodeId),
}

impl Default for FabricBrokerAt {
    /// 100 us away: next to nothing beside the 10 s between two messages of a rack.
    fn default() -> Self {
        Self::Outside(Time::from_micros(100))
    }
}

impl Setting for FabricBrokerAt {
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
        Params {
            fabric_interval: self.fabric_interval.unwrap_or(scaled.fabric_interval),
            heavy_in_rack: self.heavy_in_rack,
            heavy_in_fabric: self.heavy_in_fabric,
            ..scaled
        }
    }
}
