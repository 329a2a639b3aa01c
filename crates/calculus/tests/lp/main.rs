//! What the programs say, held against other ways to get there.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests assert by panicking")]

mod fifo;
mod simulated;
mod upper;
