//! Steps 2 and 3: from the worst measurements to a model, and from the model to the allocation of a switch.
//! Calculations use integers: allocations are rounded down, delays are rounded up.

use wayleave_topology::devices::{MissingMeasurements, PacketScenario, Table};
use wayleave_units::{Amount, Bytes, Rate, Time};

/// The deterministic model of a service: a rate-latency curve and a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ServiceModel {
    /// R: the least throughput.
    pub rate: Rate,
    /// T: the longest processing time, a packet's own service included.
    pub processing: Time,
    /// T - l / R: the latency of the curve, beside a packet's own service.
    pub latency: Time,
    /// Size of the buffer.
    pub buffer: Bytes,
    /// The largest packet that it is about.
    pub largest_packet: Bytes,
}

impl ServiceModel {
    /// Step 2: the worst of a scenario.
    ///
    /// # Errors
    /// What was not measured.
    pub fn of(table: &Table, scenario: &PacketScenario) -> Result<Self, MissingMeasurements> {
        let worst = table.worst(scenario)?;
        Ok(Self {
            rate: worst.throughput.0,
            processing: worst.delay.0,
            latency: worst.latency.0,
            buffer: worst.buffer.0,
            largest_packet: scenario.largest_packet(),
        })
    }
}

/// Rate that a switch accepts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum AcceptedRate {
    /// All of R.
    #[default]
    FullRate,
    /// R / 5.
    FifthRate,
    /// This much.
    Rate(Rate),
}

/// Rate and burst that a switch accepts, and the delay that it promises.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Allocation {
    /// r: the sum of rates.
    pub rate: Rate,
    /// b: the sum of bursts, the largest with which the backlog stays within the buffer.
    pub burst: Bytes,
    /// D: no packet waits longer.
    pub delay: Time,
}

/// Reason why a rate cannot be allocated.
#[derive(thiserror::Error, Clone, Copy, Debug, PartialEq, Eq)]
pub enum AllocationError {
    /// Above R, or zero.
    #[error(
        "a switch cannot be allocated {asked:#}: expected more than zero and at most {most:#}, the measured throughput"
    )]
    Rate {
        /// Requested rate.
        asked: Rate,
        /// R.
        most: Rate,
    },
    /// The traffic that arrives at this rate during the service's latency fills the buffer.
    #[error(
        "at {asked:#} no burst is possible: {comes:#} arrive while the first packet is processed, and the buffer holds {buffer:#}"
    )]
    Buffer {
        /// Requested rate.
        asked: Rate,
        /// Amount that arrives.
        comes: Bytes,
        /// Size of the buffer.
        buffer: Bytes,
    },
}

impl Allocation {
    /// Step 3: the largest burst with `b + r (T - l / R) <= buffer`, and `D = T + b / R`.
    ///
    /// # Errors
    /// If the rate is above R, or leaves no burst.
    pub fn new(model: &ServiceModel, share: AcceptedRate) -> Result<Self, AllocationError> {
        let rate = match share {
            AcceptedRate::FullRate => model.rate,
            AcceptedRate::FifthRate => Rate::from_bits_per_second(model.rate.bits_per_second() / 5),
            AcceptedRate::Rate(rate) => rate,
        };
        if rate == Rate::ZERO || rate > model.rate {
            return Err(AllocationError::Rate { asked: rate, most: model.rate });
        }
        let comes = bytes(rate * model.latency);
        let burst = model.buffer.saturating_sub(comes);
        if burst == Bytes::ZERO {
            return Err(AllocationError::Buffer { asked: rate, comes, buffer: model.buffer });
        }
        let waits = Amount::from(burst).time_at(model.rate).unwrap_or(Time::MAX);
        Ok(Self { rate, burst, delay: model.processing + waits })
    }
}

/// Whole bytes, rounded up.
fn bytes(amount: Amount) -> Bytes {
    Bytes::new(u64::try_from(amount.bytes_rounded_up()).unwrap_or(u64::MAX))
}
