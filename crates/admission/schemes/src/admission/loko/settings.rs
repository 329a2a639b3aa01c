//! Settings of Loko: the measurements, their scenario, and the share that is given away.

use std::str::FromStr;

use wayleave_scheme_api::{ParamType, Value, ValueKind, params, words};
use wayleave_topology::devices::PacketScenario;
use wayleave_units::Rate;

use super::{AcceptedRate, Services, SwitchAccounting};

params! {
    /// Settings of Loko.
    #[derive(Clone, Debug, PartialEq)]
    pub struct Settings {
        /// Benchmark table of the switches.
        pub table: Option<String> = None, "table", ValueKind::Text { check: |_| Ok(()) }, "ours", {
            option: "loko-table", value_name: "FILE",
            default: "a simulated Zodiac FX is measured, as `wayleave characterize-switch` does",
        };
        /// Traffic and configuration of the network: proof-of-concept, whole, or values such as
        /// entries=17,match=five-tuple,packet=306B.
        pub scenario: DeviceScenario = DeviceScenario::default(), "scenario",
            ValueKind::Text { check: |text| text.parse::<DeviceScenario>().map(|_| ()) }, "slides, proof of concept",
            { option: "loko-scenario", value_name: "SCENARIO" };
        /// Rate that every switch accepts: full, fifth, or a rate.
        pub allocation: AcceptedRate = AcceptedRate::FullRate, "allocation",
            ValueKind::Text { check: |text| text.parse::<AcceptedRate>().map(|_| ()) }, "slides, step 3",
            { option: "loko-allocation", value_name: "full|fifth|RATE" };
        /// Method of adding up reservations at a switch.
        pub counting: SwitchAccounting = SwitchAccounting::Sound, "counting", ValueKind::Word(SwitchAccounting::WORDS), "ours",
            { option: "loko-counting", value_name: "HOW" };
        /// Unit with its own service.
        pub services: Services = Services::PerSwitch, "services", ValueKind::Word(Services::WORDS), "slides, step 0",
            { option: "loko-services", value_name: "WHAT" };
    }
}

words! {
    SwitchAccounting {
        Sound = "sound", "Bursts grow along the route, and links are checked in addition to services";
        Published = "published", "As on the slides: bursts as requested, and only services are checked";
    }
}

words! {
    Services {
        PerSwitch = "switch", "One per switch: a processor behind an integrated switch";
        PerPort = "port", "One per port: switches that forward at line rate";
    }
}

/// Device scenario, as it was written.
#[derive(Clone, Debug, PartialEq)]
pub struct DeviceScenario {
    text: String,
    /// The combinations of values of the dimensions.
    pub scenario: PacketScenario,
}

impl Default for DeviceScenario {
    /// The proof of concept of the slides.
    fn default() -> Self {
        Self { text: "proof-of-concept".to_owned(), scenario: PacketScenario::proof_of_concept() }
    }
}

impl FromStr for DeviceScenario {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Ok(Self { text: text.to_owned(), scenario: text.parse()? })
    }
}

impl ParamType for DeviceScenario {
    fn from_value(value: Value) -> Option<Self> {
        if let Value::Text(text) = value { text.parse().ok() } else { None }
    }

    fn to_value(&self) -> Value {
        Value::Text(self.text.clone())
    }
}

impl FromStr for AcceptedRate {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "full" => Ok(Self::FullRate),
            "fifth" => Ok(Self::FifthRate),
            rate => match rate.parse::<Rate>() {
                Ok(rate) => Ok(Self::Rate(rate)),
                Err(error) => Err(format!("full, fifth, or a rate is expected: {error}")),
            },
        }
    }
}

impl ParamType for AcceptedRate {
    fn from_value(value: Value) -> Option<Self> {
        if let Value::Text(text) = value { text.parse().ok() } else { None }
    }

    fn to_value(&self) -> Value {
        Value::Text(match self {
            Self::FullRate => "full".to_owned(),
            Self::FifthRate => "fifth".to_owned(),
            Self::Rate(rate) => rate.to_string(),
        })
    }
}
