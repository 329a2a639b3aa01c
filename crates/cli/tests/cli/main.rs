//! The `wayleave` command as a process: what it prints and refuses, brokers, and servers that are killed.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests assert by panicking")]

mod brokers;
mod command;
mod crash;
mod keys;
