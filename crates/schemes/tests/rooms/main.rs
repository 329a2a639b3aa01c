//! The schemes from outside, one file for each claim.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests assert by panicking")]

mod common;
mod corner_cases;
mod cyclic;
mod jumbo;
mod nearest;
mod published;
mod refusals;
mod rollback;
mod scarcity;
mod search;
mod survey;
mod transports;
