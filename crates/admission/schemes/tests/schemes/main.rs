//! The schemes from outside, and the search for their parameters.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests assert by panicking")]

mod claims;
mod tune;
