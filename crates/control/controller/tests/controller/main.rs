//! The controller: its steps one by one, and in a world of faults by seed.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests assert by panicking")]

mod steps;
mod world;
