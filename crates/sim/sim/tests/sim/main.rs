//! The simulator against hand-computed cases, and in random scenarios.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests assert by panicking")]

mod packet_path;
mod random_scenarios;
mod truth;
