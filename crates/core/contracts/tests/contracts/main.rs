//! Contracts, orders and policies.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests assert by panicking")]

mod contracts;
mod orders;
mod policies;
