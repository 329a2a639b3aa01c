//! The calculus: curves, whole networks, and linear programs that know better bounds.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests assert by panicking")]

mod curves;
mod lp;
mod network;
