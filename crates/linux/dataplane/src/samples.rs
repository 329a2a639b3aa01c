//! Packets that were noted where they were sent, where they arrived, and at switches on their route: bpf/samples.h.

use aya::maps::{MapData, RingBuf};
use wayleave_units::Time;

use crate::layout::{SAMPLE, u64_at};

/// A packet that was noted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PacketSample {
    /// Its number: the same everywhere.
    pub number: u64,
    /// Time by the kernel's clock that counts from its start (CLOCK_MONOTONIC). A contract's delay counts from the
    /// sending host.
    pub at: Time,
    /// Contract of the packet at its sender; `None` where it arrived or was forwarded.
    pub sent: Option<Sent>,
}

/// Contract for which a packet was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sent {
    /// The contract.
    pub serial: u64,
    /// Delay bound.
    pub bound: Time,
}

/// Returns the samples since the last call, in order.
pub(crate) fn read(ring: &mut RingBuf<MapData>) -> Vec<PacketSample> {
    let mut all = Vec::new();
    while let Some(item) = ring.next() {
        let Some(bytes) = item.get(..SAMPLE) else { continue };
        let [number, at, serial, bound] = [0, 8, 16, 24].map(|field| u64_at(bytes, field));
        let sent = (serial != 0).then_some(Sent { serial, bound: Time::from_nanos(bound) });
        all.push(PacketSample { number, at: Time::from_nanos(at), sent });
    }
    all
}

/// Encodes the number of bits by which packets are chosen for the programs.
pub(crate) fn setting(level: Option<u32>) -> u32 {
    level.map_or(0, |level| 1 + level.min(31))
}
