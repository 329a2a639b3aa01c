//! Packets that were noted where they were sent and where they arrived.

use super::Host;
use crate::error::Error;
use crate::samples::{self, PacketSample};

impl Host {
    /// Returns the samples since the last call, in order. Samples that do not fit into the buffer are counted
    /// ([`super::PacketOutcome::Unsampled`]).
    pub fn samples(&mut self) -> Vec<PacketSample> {
        samples::read(&mut self.samples)
    }

    /// Sets the number of bits by which packets are chosen; with `None` no packet is.
    ///
    /// # Errors
    /// If the kernel refuses.
    pub fn sample(&mut self, level: Option<u32>) -> Result<(), Error> {
        self.set.sample = samples::setting(level);
        self.write_settings()
    }
}
