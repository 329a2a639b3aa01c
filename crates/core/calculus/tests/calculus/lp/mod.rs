//! What the programs say, held against other ways to get there.

mod fifo;
mod simulated;
mod upper;
