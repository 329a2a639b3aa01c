//! The commands, one file each.

pub(crate) mod analyze;
pub(crate) mod bench;
pub(crate) mod benchmark;
pub(crate) mod completions;
pub(crate) mod config;
pub(crate) mod demo;
pub(crate) mod explain;
pub(crate) mod ledger;
pub(crate) mod plan;
pub(crate) mod reproduce;
pub(crate) mod requests;
pub(crate) mod schema;
pub(crate) mod serve;
pub(crate) mod sim;
pub(crate) mod topology;
pub(crate) mod trace;
pub(crate) mod tune;
pub(crate) mod verify;
