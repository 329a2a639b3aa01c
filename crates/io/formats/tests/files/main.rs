//! Tests of all kinds of files: meaning, error messages, and writing.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests assert by panicking")]

mod agent;
mod benchmark;
mod common;
mod contracts;
mod errors;
mod errors_syntax;
mod errors_topology;
mod events;
mod fuzz_parsers;
mod gml;
mod goal;
mod graphs;
mod imports;
mod kinds;
mod labs;
mod not_carried_out;
mod orders;
mod other_tools;
mod policy;
mod properties;
mod renamed_keys;
mod robust;
mod saihu;
mod scale;
mod scenario;
mod scenario_errors;
mod schemas;
mod spreadsheets;
mod tenants;
mod topology;
mod unused_keys;
