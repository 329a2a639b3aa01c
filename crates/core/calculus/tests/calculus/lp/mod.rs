//! Results of the programs, compared with other methods.

mod fifo;
mod simulated;
mod upper;
