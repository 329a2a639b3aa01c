//! Parameters that are fixed at the start.

use wayleave_scheme_api::{ValueKind, params, words};
use wayleave_units::{Bytes, Time};

params! {
    /// QJump's parameters.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct Params {
        /// Number of applications that may send at the highest priority, n.
        pub applications: u32 = 32, "applications", ValueKind::Count { least: 1, most: 1_000_000 },
            "Chameleon, section 5.1.1", { option: "qjump-n", value_name: "COUNT" };
        /// Maximum packet size, P; each application may send one packet per epoch.
        pub packet: Bytes = Bytes::new(1500), "packet", PACKET, "Chameleon, section 5.1.1", { option: "qjump-packet" };
        /// Cumulative processing delay along the route.
        pub epsilon: Time = Time::from_micros(4), "epsilon", ValueKind::Time { least: Time::ZERO, most: Time::MAX },
            "Chameleon, section 5.1.1", { option: "qjump-epsilon" };
        /// Treatment of a contract that asks for more than one packet per epoch.
        pub reading: Reading = Reading::Refused, "reading", ValueKind::Word(Reading::WORDS), "Chameleon, section 2.1.1",
            { option: "qjump-reading", value_name: "HOW" };
    }
}

/// From the smallest frame to the largest MTU with a long tag stack.
const PACKET: ValueKind = ValueKind::Bytes { least: Bytes::new(64), most: Bytes::new(66_000) };

/// Treatment of a flow that asks for more than the unit rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Reading {
    /// The contract is refused (Chameleon, section 2.1.1).
    #[default]
    Refused,
    /// It takes several shares.
    Charged,
    /// It takes one share, and its shaper holds it to the unit rate.
    Flat,
}

words! {
    Reading {
        Refused = "refused", "The contract is refused";
        Charged = "charged", "The contract is charged as many shares of the epoch as it needs";
        Flat = "flat", "The contract is charged one share, and its shaper limits it to one packet per epoch: its rate is not guaranteed";
    }
}
