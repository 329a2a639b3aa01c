//! The ledger on disk under kills, power cuts and damage.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests assert by panicking")]

mod breaking;
mod common;
mod ledger;
