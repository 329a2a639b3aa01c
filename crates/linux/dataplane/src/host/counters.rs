//! Packet counters.

use std::collections::BTreeMap;
use std::path::Path;

use aya::maps::{Array, Map, MapData, PerCpuArray};
use wayleave_units::{Bytes, Time};

use super::Host;
use super::reason::PacketOutcome;
use crate::error::Error;
use crate::layout::{BUCKET, RULE, WAITS, rule_name, u32_at, u64_at};
use crate::programs::Pins;

/// Packets of a contract.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ContractPackets {
    /// Sent; of copies one is counted.
    pub packets: u64,
    /// Wire bytes of them, as the bucket was charged.
    pub bytes: Bytes,
    /// Dropped: the bucket was too low, or as many packets waited as may.
    pub shaped: u64,
    /// Dropped: larger than the contract's largest frame.
    pub oversized: u64,
    /// Tokens in the bucket, in nanobits, as of the last packet.
    pub tokens: u64,
    /// Packets that had to wait for tokens.
    pub delayed: u64,
    /// Packets that wait now.
    pub waiting: u64,
    /// Waiting times of packets.
    pub waits: QueueDelays,
}

/// Waiting times of packets for their tokens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct QueueDelays {
    /// Packets by the time they waited, class `n` up to `SHORTEST_WAIT_US << n` (bpf/maps.h), and longer than the one before.
    pub counts: [u64; WAITS],
    /// Sum of all waiting times.
    pub sum: Time,
}

/// Everything that was counted since the pins were made.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Packets, by outcome.
    pub reasons: BTreeMap<PacketOutcome, u64>,
    /// By contract, since it was installed.
    pub contracts: BTreeMap<u64, ContractPackets>,
}

impl Counters {
    /// Returns the number of packets with an outcome.
    pub fn of(&self, reason: PacketOutcome) -> u64 {
        self.reasons.get(&reason).copied().unwrap_or(0)
    }
}

/// Delays of a contract's packets that arrived here, from one clock: sender and receiver are agents of one kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Measured {
    /// The contract.
    pub serial: u64,
    /// Packets.
    pub packets: u64,
    /// Packets that took longer than the bound.
    pub late: u64,
    /// The longest delay.
    pub worst: Time,
}

impl Counters {
    /// Opens the counters of a host that another process owns, from its folder of pins.
    ///
    /// # Errors
    /// If nothing of this version is pinned there, or the kernel refuses.
    pub fn watch(folder: &Path) -> Result<Self, Error> {
        let failed = |error| Error::failed("opening the counters of a host", error);
        let pins = Pins::of(folder);
        let array = |name| pins.map(name).map(Map::Array);
        let rules: Array<MapData, [u8; RULE]> = Array::try_from(array("rules")?).map_err(failed)?;
        let buckets = Array::try_from(array("buckets")?).map_err(failed)?;
        let counters = PerCpuArray::try_from(Map::PerCpuArray(pins.map("counters")?)).map_err(failed)?;
        let mut slots = Vec::new();
        for slot in 0..rules.len() {
            let (serial, _) = rule_name(&rules.get(&slot, 0).map_err(failed)?);
            slots.extend((serial != 0).then_some((serial, slot)));
        }
        read(&counters, &buckets, slots)
    }
}

/// `slots` has the serials of contracts with the places of their buckets.
fn read(
    counters: &PerCpuArray<MapData, [u64; PacketOutcome::ALL.len()]>,
    buckets: &Array<MapData, [u8; BUCKET]>,
    slots: impl IntoIterator<Item = (u64, u32)>,
) -> Result<Counters, Error> {
    let failed = |error| Error::failed("reading the counters", error);
    let values = counters.get(&0, 0).map_err(failed)?;
    let sum = |at: usize| values.iter().map(|counts| counts[at]).sum();
    let reasons = PacketOutcome::ALL.iter().enumerate().map(|(at, &reason)| (reason, sum(at))).collect();
    let contract = |slot: u32| buckets.get(&slot, 0).map(|bytes| contract(&bytes)).map_err(failed);
    let contracts = slots.into_iter().map(|(serial, slot)| Ok((serial, contract(slot)?)));
    Ok(Counters { reasons, contracts: contracts.collect::<Result<_, Error>>()? })
}

impl Host {
    /// Returns the counters.
    ///
    /// # Errors
    /// If the kernel refuses.
    pub fn counters(&self) -> Result<Counters, Error> {
        read(&self.counters, &self.buckets, self.slots.iter().map(|(&serial, &(slot, _))| (serial, slot)))
    }

    /// Delays that were measured here since the pins were made, by contract; contracts without packets are left out.
    ///
    /// # Errors
    /// If the kernel refuses.
    pub fn measured(&self) -> Result<Vec<Measured>, Error> {
        let entries = self.measured.iter().map(|entry| {
            let (serial, value) = entry.map_err(|error| Error::failed("reading the delays", error))?;
            let [packets, late, worst] = [0, 8, 16].map(|at| u64_at(&value, at));
            Ok(Measured { serial, packets, late, worst: Time::from_nanos(worst) })
        });
        entries.collect()
    }
}

/// `struct bucket` of bpf/maps.h.
fn contract(bytes: &[u8; BUCKET]) -> ContractPackets {
    let [tokens, packets, wire, shaped, oversized] = [0, 16, 24, 32, 40].map(|at| u64_at(bytes, at));
    let counts = std::array::from_fn(|class| u64_at(bytes, 80 + 8 * class));
    let sum = Time::from_nanos(u64_at(bytes, 72).saturating_mul(1_000));
    ContractPackets {
        packets,
        bytes: Bytes::new(wire),
        shaped,
        oversized,
        tokens,
        delayed: u64_at(bytes, 64),
        waiting: u64::from(u32_at(bytes, 48)),
        waits: QueueDelays { counts, sum },
    }
}
