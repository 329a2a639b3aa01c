//! A table of measurements, and the worst of a scenario.

use std::collections::BTreeMap;
use std::fmt;

use wayleave_units::{Amount, Bytes, Rate, Time};

use crate::devices::{Case, PacketScenario};

/// Measurement of one combination.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Measurement {
    /// The most that gets through.
    pub throughput: Rate,
    /// Time of a single packet from its last bit in to the end of its processing by the switch, which is included.
    pub delay: Time,
    /// Buffer capacity in packets.
    pub buffer: u32,
}

/// Measurements by combination.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Table {
    measurements: BTreeMap<Case, Measurement>,
}

/// The worst of a scenario, each with the combination that it was measured at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WorstMeasurements {
    /// R: the least throughput.
    pub throughput: (Rate, Case),
    /// T: the longest delay.
    pub delay: (Time, Case),
    /// The longest that a packet takes beyond its own service at the throughput of its case: T - l / R.
    pub latency: (Time, Case),
    /// The least that can be held: packets times their size.
    pub buffer: (Bytes, Case),
}

/// Combinations of a scenario that were not measured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MissingMeasurements {
    /// The first of them; `None` for a scenario without combinations.
    pub first: Option<Case>,
    /// Number of missing combinations.
    pub count: usize,
}

impl fmt::Display for MissingMeasurements {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.first, self.count) {
            (None, _) => write!(f, "the scenario has no combination: expected one value of every dimension"),
            (Some(first), 1) => write!(f, "the table has no measurement of {first}, which the scenario needs"),
            (Some(first), count) => {
                write!(f, "the table lacks {count} combinations that the scenario needs, first {first}")
            }
        }
    }
}

impl std::error::Error for MissingMeasurements {}

impl Table {
    /// Enters a measurement; the one that it replaces.
    pub fn enter(&mut self, case: Case, measurement: Measurement) -> Option<Measurement> {
        self.measurements.insert(case, measurement)
    }

    /// Returns the measurement of a combination.
    pub fn get(&self, case: &Case) -> Option<&Measurement> {
        self.measurements.get(case)
    }

    /// Everything, in order of the dimensions.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&Case, &Measurement)> {
        self.measurements.iter()
    }

    /// Step 2: the worst over a scenario.
    ///
    /// # Errors
    /// Which combinations were not measured. Others may be missing.
    pub fn worst(&self, scenario: &PacketScenario) -> Result<WorstMeasurements, MissingMeasurements> {
        let mut worst: Option<WorstMeasurements> = None;
        let (mut first, mut count) = (None, 0);
        for case in scenario.cases() {
            match self.get(&case) {
                Some(measurement) => worst = Some(measurement.worst_with(case, worst)),
                None => {
                    first = first.or(Some(case));
                    count += 1;
                }
            }
        }
        worst.filter(|_| count == 0).ok_or(MissingMeasurements { first, count })
    }
}

impl Measurement {
    /// Returns the time to serve a packet at the throughput, rounded down.
    fn service(&self, packet: Bytes) -> Time {
        let nanos = Amount::from(packet).nanobits() / i128::from(self.throughput.bits_per_second().max(1));
        Time::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
    }

    fn worst_with(&self, case: Case, other: Option<WorstMeasurements>) -> WorstMeasurements {
        let latency = self.delay.saturating_sub(self.service(case.packet));
        let buffer = case.packet * u64::from(self.buffer);
        let Some(other) = other else {
            return WorstMeasurements {
                throughput: (self.throughput, case),
                delay: (self.delay, case),
                latency: (latency, case),
                buffer: (buffer, case),
            };
        };
        WorstMeasurements {
            throughput: other.throughput.min((self.throughput, case)),
            delay: longer(other.delay, (self.delay, case)),
            latency: longer(other.latency, (latency, case)),
            buffer: other.buffer.min((buffer, case)),
        }
    }
}

/// The longer of two; of equals the first.
fn longer(a: (Time, Case), b: (Time, Case)) -> (Time, Case) {
    if b.0 > a.0 { b } else { a }
}
