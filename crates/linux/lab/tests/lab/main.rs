//! Labs on this machine, and real packets through them.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests assert by panicking")]

mod common;
mod fat_tree;
mod hosts;
mod lab;
mod traffic;
