//! The server as its clients see it, on a loopback port in this process.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests assert by panicking")]

mod access;
mod agents;
mod alive;
mod attack;
mod certificates;
mod checks;
mod common;
mod contracts;
mod counters;
mod dashboard;
mod disclosure;
mod disk;
mod events;
mod excess;
mod exposition;
mod history;
mod hostile;
mod http;
mod kinds;
mod lists;
mod load;
mod logs;
mod objects;
mod openapi;
mod openapi_fuzz;
mod pages;
mod past;
mod policies;
mod quotas;
mod reports;
mod rest_names;
mod restart;
mod statements;
mod traffic;
mod watching;
