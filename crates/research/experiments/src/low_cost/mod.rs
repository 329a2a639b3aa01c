//! Low-cost switches, simulated, as black boxes (Loko, CoNEXT 2019, slides): [`wayleave::switch_benchmark`] measures
//! one of them (step 1), and the experiments let the flows that a scheme has admitted send over a network of them.
//! The figures of Loko use it.
//!
//! A device is only observed through packets: the input of its ports, and the output with its times. So a benchmark
//! of a model is the benchmark of a switch on a table.

mod comparison;
mod experiment;

pub(crate) use comparison::{
    COMPARED, FlowSize, LokoFill, SchemeResult, burst, compare, line, loko, requests, scalability,
};
pub(crate) use experiment::{PacketCounts, Trial, run};
