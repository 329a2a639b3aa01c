//! Packets that were noted where they were sent and where they arrived: bpf/samples.h.

use wayleave_units::Time;

use super::Host;
use crate::error::Error;
use crate::layout::{SAMPLE, u64_at};

/// A packet that was noted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sample {
    /// Its number: the same at both ends.
    pub number: u64,
    /// When, by the kernel's clock that counts from its start (CLOCK_MONOTONIC). A contract's delay counts from here.
    pub at: Time,
    /// What it was sent for; `None` where it arrived.
    pub sent: Option<Sent>,
}

/// What a packet was sent for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sent {
    /// The contract.
    pub serial: u64,
    /// It may take so long.
    pub bound: Time,
}

impl Host {
    /// What was noted since the last time, in order. What does not fit between two times is counted ([`super::Reason::Unsampled`]).
    pub fn samples(&mut self) -> Vec<Sample> {
        let mut all = Vec::new();
        while let Some(item) = self.samples.next() {
            let Some(bytes) = item.get(..SAMPLE) else { continue };
            let [number, at, serial, bound] = [0, 8, 16, 24].map(|field| u64_at(bytes, field));
            let sent = (serial != 0).then_some(Sent { serial, bound: Time::from_nanos(bound) });
            all.push(Sample { number, at: Time::from_nanos(at), sent });
        }
        all
    }

    /// From now on packets are chosen by so many bits, or none are.
    ///
    /// # Errors
    /// If the kernel refuses.
    pub fn sample(&mut self, level: Option<u32>) -> Result<(), Error> {
        self.set.sample = level.map_or(0, |level| 1 + level.min(31));
        self.write_settings()
    }
}
