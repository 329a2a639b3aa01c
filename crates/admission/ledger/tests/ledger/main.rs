//! Tests of the ledger.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests assert by panicking")]

mod capacity;
mod loads;
mod queues;
mod shares;
