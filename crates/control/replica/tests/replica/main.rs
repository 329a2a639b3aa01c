//! Controllers that share an etcd: in a seeded world, and with a real one.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests assert by panicking")]

mod between;
mod log;
mod model;
mod seeded;
