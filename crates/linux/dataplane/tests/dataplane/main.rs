//! The eBPF programs and queues in this kernel, and against their models.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests assert by panicking")]

mod changes;
mod differential;
mod forwarding;
mod holding;
mod host;
mod interfaces;
mod model;
mod names;
mod neighbours;
mod objects;
mod ovs;
mod priorities;
mod registers;
mod switch;
mod world;
