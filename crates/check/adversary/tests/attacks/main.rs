//! Promises under attack: those that hold, and those that are wrong.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests assert by panicking")]

mod bottlenecks;
mod classes;
mod common;
mod interfaces;
mod jitter;
mod links;
mod loko;
mod mutations;
mod protected;
mod qjump;
mod random_sets;
mod statements;
mod tenants;
