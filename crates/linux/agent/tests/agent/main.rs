//! The agent: its drivers against fakes, and its cables. Drivers over the kernel: `kernel.rs`. Agents as processes, with a controller: the tests of crate `cli`.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests assert by panicking")]

mod cables;
#[path = "../common/mod.rs"]
mod common;
mod division;
mod fake;
mod host;
mod machine;
mod shares;
