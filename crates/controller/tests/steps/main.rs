//! The controller, one step after the other.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests assert by panicking")]

mod smoke;
mod what_if;
