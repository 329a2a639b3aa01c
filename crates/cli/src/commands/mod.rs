//! The commands, one file each.

pub(crate) mod analyze;
pub(crate) mod apply;
pub(crate) mod bench;
pub(crate) mod benchmark;
pub(crate) mod completions;
pub(crate) mod delete;
pub(crate) mod demo;
pub(crate) mod describe;
pub(crate) mod element;
pub(crate) mod events;
pub(crate) mod explain;
pub(crate) mod get;
pub(crate) mod ledger;
pub(crate) mod login;
pub(crate) mod plan;
pub(crate) mod reproduce;
pub(crate) mod requests;
pub(crate) mod schema;
pub(crate) mod sim;
pub(crate) mod status;
pub(crate) mod token;
pub(crate) mod topology;
pub(crate) mod trace;
pub(crate) mod tune;
pub(crate) mod verify;
pub(crate) mod what_if;
