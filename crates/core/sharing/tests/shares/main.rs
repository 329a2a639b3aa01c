//! Shares of trees, and the results that they are held against.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests assert by panicking")]

mod common;
mod estimate;
mod linear;
mod properties;
mod publication;
