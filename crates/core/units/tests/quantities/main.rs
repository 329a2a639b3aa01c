//! Quantities and times.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests assert by panicking")]

mod human;
mod quantities;
mod wall;
