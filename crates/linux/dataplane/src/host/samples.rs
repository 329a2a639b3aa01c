//! Packets that were noted where they were sent and where they arrived.

use super::Host;
use crate::error::Error;
use crate::samples::{self, Sample};

impl Host {
    /// What was noted since the last time, in order. What does not fit between two times is counted ([`super::Reason::Unsampled`]).
    pub fn samples(&mut self) -> Vec<Sample> {
        samples::read(&mut self.samples)
    }

    /// From now on packets are chosen by so many bits, or none are.
    ///
    /// # Errors
    /// If the kernel refuses.
    pub fn sample(&mut self, level: Option<u32>) -> Result<(), Error> {
        self.set.sample = samples::setting(level);
        self.write_settings()
    }
}
