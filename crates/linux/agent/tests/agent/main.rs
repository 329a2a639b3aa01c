//! The agent: its drivers against fakes and the kernel, and its cables. Agents as processes, with a controller: the tests of crate `cli`.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests assert by panicking")]

mod cables;
mod common;
mod division;
mod host;
mod kernel;
mod machine;
mod shares;
