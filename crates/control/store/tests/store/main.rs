//! The ledger on disk, and what kills, power cuts and damage do to it.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests assert by panicking")]

mod breaking;
mod common;
mod ledger;
