//! The schemes from outside, one file for each claim.

mod common;
mod corner_cases;
mod cyclic;
mod jumbo;
mod nearest;
mod published;
mod quiet;
mod refusals;
mod rollback;
mod scarcity;
mod search;
mod survey;
mod transports;
