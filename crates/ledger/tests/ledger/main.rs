//! Tests of the ledger.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests assert by panicking")]

mod loads;
mod capacity;
mod queues;
mod shares;
