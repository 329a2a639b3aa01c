//! The agent: its drivers against fakes and the kernel, its cables, and a controller with agents as processes.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests assert by panicking")]

mod cables;
mod common;
mod host;
mod kernel;
mod machine;
mod process;
