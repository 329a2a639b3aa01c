//! Brokers in virtual time: a script, and a world of faults by seed.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests assert by panicking")]

mod script;
mod toy;
mod world;
