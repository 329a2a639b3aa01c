//! `wayleave serve` as a process over a ledger on disk: killed at every write and sync, and over disks and ledgers that fail.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests assert by panicking")]

mod client;
mod cycles;
mod process;
mod refusals;
