//! What is fixed at the start.

use wayleave_units::{Bytes, Time};

/// QJump's parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Params {
    /// n: how many applications may send in the highest priority; at least 1.
    pub applications: u32,
    /// P: the largest packet; at least 1 B.
    pub packet: Bytes,
    /// The cumulative processing on the way.
    pub epsilon: Time,
    /// What a rate above the unit rate means.
    pub reading: Reading,
}

impl Default for Params {
    /// Chameleon, section 5.1.1.
    fn default() -> Self {
        Self { applications: 32, packet: Bytes::new(1500), epsilon: Time::from_micros(4), reading: Reading::Refused }
    }
}

/// What becomes of a flow that asks for more than the unit rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Reading {
    /// It is refused (Chameleon, section 2.1.1).
    #[default]
    Refused,
    /// It takes several shares.
    Charged,
    /// It takes one share, and its shaper holds it to the unit rate.
    Flat,
}
