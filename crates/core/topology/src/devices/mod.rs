//! Measured switches, after Loko (A. Van Bemten and others, CoNEXT 2019, slides): the dimensions of their processing,
//! a table of measurements, and a model of a device to measure where there is none.
//!
//! | slides | here |
//! |---|---|
//! | step 1, the six dimensions | [`Case`], one combination; [`PacketScenario`], a subset of each dimension |
//! | step 1, "measure throughput, per-packet delay and buffer capacity for each combination" | [`Measurement`], [`Table`] |
//! | step 2, "take the worst for a given scenario" | [`Table::worst`] |
//! | the Zodiac FX | [`SoftwareSwitch`], a model of this switch |

mod dimensions;
mod software;
mod table;
mod text;

pub use dimensions::{Action, Case, ENTRIES, MatchType, PACKETS, PacketScenario, Priorities, UsedEntry};
pub use software::SoftwareSwitch;
pub use table::{Measurement, MissingMeasurements, Table, WorstMeasurements};
